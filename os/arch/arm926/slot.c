/*
 * Slots of FCSE and the domains that keep them apart.
 *
 * FCSE puts the program with PID n at n * 32 MB of one address space, where it
 * could reach the slots of others. So each slot has a domain, and the domain
 * register lets in the kernel's and the active slot's only. There are 15 for up
 * to 95 slots: one that has none is taken out of the master table, and gets a
 * domain when it is activated, from the slot that was not active for longest.
 *
 * A domain has one owner at most, which changes in one go: domain_claim chooses
 * it, cuts off whoever had it and writes the new owner down; domain_enter says
 * it to the owner's tables, unless the domain was lost between the two. Until
 * then the owner is out of the master table, and is not to be activated.
 * Interrupts are off in all of these.
 */
#include "spaces.h"

#include "cache.h"
#include "contract.h"
#include "kernel.h"

static struct {
    uint allowed;                   /* slots that may be taken */
    uchar taken[SLOTS + 1];         /* by PID */
    struct space *owner[DOMAINS];   /* of a domain; none of domain 0 */
    uint count;                     /* domains taken from others so far */
} slots = {.allowed = SLOTS};

uint slot_take(void)
{
    requires_interrupts_off();
    for (uint pid = 1; pid <= slots.allowed; pid++)
        if (!slots.taken[pid]) {
            slots.taken[pid] = 1;
            return pid * SLOT_SIZE;
        }
    return 0;
}

void slot_leave(struct space *space)
{
    requires_interrupts_off();
    slots.owner[space->domain] = 0;
    slots.taken[space->base / SLOT_SIZE] = 0;
}

/* The free one, or the one that was not used for longest. */
static uint choose(void)
{
    uint best = 1;
    for (uint domain = 1; domain < DOMAINS; domain++) {
        if (!slots.owner[domain])
            return domain;
        if ((int)(slots.owner[domain]->used - slots.owner[best]->used) < 0)
            best = domain;
    }
    return best;
}

uint domain_claim(struct space *space)
{
    requires_interrupts_off();
    uint domain = choose();
    struct space *before = slots.owner[domain];
    if (before) {
        before->domain = 0;
        table_relink(before);
        /* What the TLB knows of it would let the new owner in. */
        tlb_invalidate_all();
        slots.count++;
    }
    slots.owner[domain] = space;
    return domain;
}

void domain_enter(struct space *space, uint domain)
{
    requires_interrupts_off();
    if (slots.owner[domain] != space)
        return;
    space->domain = domain;
    space->access = ACCESS(domain);
    table_relink(space);
}

int slots_set(int allowed)
{
    requires_interrupts_off();
    int before = (int)slots.allowed;
    if (allowed >= 0)
        slots.allowed = allowed < SLOTS ? (uint)allowed : SLOTS;
    return before;
}

uint domains_taken(void)
{
    requires_interrupts_off();
    return slots.count;
}

int slot_is_taken(uint pid)
{
    requires_interrupts_off();
    return slots.taken[pid];
}

const struct space *domain_owner(uint domain)
{
    requires_interrupts_off();
    return slots.owner[domain];
}
