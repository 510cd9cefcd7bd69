/*
 * Slots of FCSE and the domains that keep them apart.
 *
 * FCSE puts the program with PID n at n * 32 MB of one address space, where it
 * could reach the slots of others. So each slot has a domain, and the domain
 * register lets in the kernel's and the active slot's only. There are 15 for up
 * to 95 slots: one that has none is taken out of the master table, and gets a
 * domain when it is activated, from the slot that was not active for longest.
 * Interrupts are off in all of these, or nobody runs and interrupts only wake.
 */
#include "spaces.h"

#include "cache.h"
#include "kernel.h"

static struct {
    uint allowed;                   /* slots that may be taken */
    uchar taken[SLOTS + 1];         /* by PID */
    struct space *owner[DOMAINS];   /* of a domain; none of domain 0 */
    uint count;                     /* domains taken from others so far */
} slots = {.allowed = SLOTS};

uint slot_take(void)
{
    for (uint pid = 1; pid <= slots.allowed; pid++)
        if (!slots.taken[pid]) {
            slots.taken[pid] = 1;
            return pid * SLOT_SIZE;
        }
    return 0;
}

void slot_leave(struct space *space)
{
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

void domain_take(struct space *space)
{
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
    space->domain = domain;
    space->access = ACCESS(domain);
    table_relink(space);
}

int slots_set(int allowed)
{
    int before = (int)slots.allowed;
    if (allowed >= 0)
        slots.allowed = allowed < SLOTS ? (uint)allowed : SLOTS;
    return before;
}

uint domains_taken(void)
{
    return slots.count;
}
