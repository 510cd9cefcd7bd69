/*
 * Address spaces (see space.h).
 *
 * In a slot of FCSE a space is switched to by two registers: PID and domains.
 * Without one it has its own first-level table, and its addresses mean other
 * memory than before: caches and TLB are emptied, as on any ARM926. `active` is
 * the one that user addresses mean; it stays so while the kernel idles.
 *
 * Caches. A free page has no lines (alloc.c). A page of a program is written
 * through its kernel address only as long as it never was active, which
 * allocates no lines; after that it is used by the program's addresses only, by
 * the kernel too. So there are never two addresses with lines of the same
 * memory. When a page is taken from a space its lines go without being written
 * back, those of its code too, and its translation. Only then is it free. A
 * space that was left for another table has nothing in caches and TLB.
 *
 * A space is changed by its process, or before that runs; what all spaces share
 * is changed with interrupts off.
 */
#include "space.h"

#include "cache.h"
#include "contract.h"
#include "cp15.h"
#include "evaluate.h"
#include "kernel.h"
#include "lockdown.h"
#include "spaces.h"

/* Above this all of a cache costs less than its lines one by one. */
#define BY_LINE (8 * PAGE)

static struct space spaces[2 * NPROC];  /* exec holds two for a moment */
static struct space *unused;            /* those not in use, by `next` */
static struct space *active;
static uint *loaded = master_table;     /* first-level table in use */

static struct {
    int fcse;           /* new spaces go to slots */
    int ahead;          /* clean the cache ahead of a switch that flushes it */
    uint count;         /* activations */
    uint flushes;       /* of these, with another table */
    uint moved;         /* spaces that left their slot */
} state;

void space_init(void)
{
    master_table[0] = 0;    /* start.S ran there; no program's table has it */
    for (struct space *space = spaces; space < spaces + 2 * NPROC; space++) {
        space->next = unused;
        unused = space;
    }
    state.fcse = option("fcse");
    state.ahead = option("ahead");
    space_set_slots(option("slots"));
}

static void give_back(struct space *space)
{
    push_off();
    space->first = 0;
    space->next = unused;
    unused = space;
    pop_off();
}

struct space *space_new(void)
{
    push_off();
    struct space *space = unused;
    uint base = 0;
    if (space) {
        unused = space->next;
        base = state.fcse ? slot_take() : 0;
    }
    pop_off();
    if (!space)
        return 0;
    memset(space, 0, sizeof *space);
    space->base = base;
    if (base) {
        space->first = master_table + (base >> 20);
        return space;
    }
    space->domain = OWN_DOMAIN;
    space->access = ACCESS(OWN_DOMAIN);
    space->first = table_new();
    if (space->first)
        return space;
    give_back(space);
    return 0;
}

/* Whether caches and TLB may know of it: not if it never was active, nor if
   another table was loaded since. Under an own table the addresses of a slot
   may be the running process's own, whose lines must stay. */
static int is_known(const struct space *space)
{
    if (space->base)
        return space->used != 0 && loaded == master_table;
    return space == active;
}

/* Nothing of the addresses is in a cache any more. */
static void forget_lines(const struct space *space, uint from, uint to)
{
    uint at = space->base + from;
    if (to - from <= BY_LINE || lockdown_on) {
        data_invalidate(at, to - from);
        code_invalidate(at, to - from);
    } else {
        data_flush();
        code_invalidate_all();
    }
}

/* Takes the pages of [from, to) away; the tables stay. The TLB comes last:
   until the tables say so in memory, anyone in another slot who tries these
   addresses brings the translations back, though not for himself. It goes as a
   whole: QEMU knows its entries by the program's addresses. */
static void unmap(struct space *space, uint from, uint to)
{
    if (is_known(space))
        forget_lines(space, from, to);
    for (uint at = from; at < to; at += PAGE) {
        uint *entry = table_entry(space, at);
        if (entry && *entry) {
            page_return(P2V(PAGE_ADDRESS(*entry)));
            *entry = 0;
        }
    }
    tables_clean(space, from, to);
    if (is_known(space))
        tlb_invalidate_all();
}

void space_free(struct space *space)
{
    if (space == active)
        panic("space: active one is freed");
    unmap(space, 0, space->top);
    space->top = 0;
    table_trim(space);          /* before anybody else has the slot */
    if (space->base) {
        push_off();
        slot_leave(space);
        give_back(space);
        pop_off();
    } else {
        table_free(space->first);
        give_back(space);
    }
}

/* Another first-level table, or another space in an own table: from here on
   user addresses mean other memory, and lines of before must not be hit. */
static void load(struct space *space)
{
    requires_interrupts_off();
    data_flush();
    code_invalidate_all();
    loaded = space->base ? master_table : space->first;
    table_base_set(V2P(loaded));
    pid_set(space->base);
    domains_set(space->access);
    tlb_invalidate_all();
    if (lockdown_on)
        lockdown_renew();
    state.flushes++;
}

/* In a slot, as the one before. */
static int is_beside(const struct space *space)
{
    return space->base && loaded == master_table;
}

int space_is_near(const struct space *space)
{
    if (!space)
        return 1;
    if (space->base ? space->domain && is_beside(space) : space == active)
        return 1;
    return !state.ahead;
}

/* In two sections, with interrupts let in between. The domain may be lost again
   before it is entered or the space is activated, but not as the first one. */
static void get_domain(struct space *space)
{
    push_off();
    uint domain = domain_claim(space);
    space->used = state.count;
    pop_off();
    push_off();
    domain_enter(space, domain);
    pop_off();
}

/* What becomes dirty from here on is left to the activation. */
void space_prepare(struct space *space)
{
    requires_interrupts_on();
    if (!space->domain)
        get_domain(space);
    if (!is_beside(space))
        data_clean_all();
}

void space_activate(struct space *space)
{
    requires_interrupts_off();
    if (!space || space == active)
        return;
    active = space;
    space->used = ++state.count;
    if (!space->domain)
        domain_enter(space, domain_claim(space));
    if (is_beside(space)) {
        domains_set(space->access);
        pid_set(space->base);
    } else {
        load(space);
    }
    spaces_check(spaces, 2 * NPROC, active, loaded);
}

/* From a slot to an own table, which it is alone to use: the groups of tables
   are hung in there, while the slot has them still. */
static int move_out(struct space *space)
{
    uint *table = table_new();
    if (!table)
        return -1;
    table_hang(table, space);
    if (space == active)
        data_clean_all();
    push_off();
    slot_leave(space);
    for (uint i = 0; i < space->groups * GROUP_ENTRIES; i++)
        space->first[i] = 0;
    space->base = 0;
    space->domain = OWN_DOMAIN;
    space->access = ACCESS(OWN_DOMAIN);
    space->first = table;
    state.moved++;
    /* What the TLB, memory and the caches know of the slot goes with this; of a
       space that never was active there is nothing, and faults in memory. */
    if (space == active)
        load(space);
    pop_off();
    return 0;
}

/* Puts a page at `at`, which the caller cleans the tables for. */
static int map(struct space *space, uint at, void *page)
{
    if (space->base && at >= SLOT_SIZE && move_out(space) < 0)
        return -1;
    if (table_add(space, at) < 0)
        return -1;
    uint *entry = table_entry(space, at);
    if (*entry)
        panic("space: page is mapped already");
    *entry = V2P(page) | PAGE_USER;
    if (space->top < at + PAGE)
        space->top = at + PAGE;
    return 0;
}

int space_grow(struct space *space, uint from, uint to)
{
    if (to < from || to > KERNBASE)
        return -1;
    if ((to - from) / PAGE > pages_free())
        return -1;
    for (uint at = PAGE_UP(from); at < to; at += PAGE) {
        void *page = page_alloc();
        if (page)
            memset(page, 0, PAGE);
        if (!page || map(space, at, page) < 0) {
            if (page)
                page_return(page);
            space_shrink(space, at, from);
            return -1;
        }
    }
    tables_clean(space, PAGE_UP(from), to);
    return 0;
}

void space_shrink(struct space *space, uint from, uint to)
{
    uint start = PAGE_UP(to);
    if (start < PAGE_UP(from)) {
        unmap(space, start, PAGE_UP(from));
        space->top = start;
    }
    table_trim(space);
}

int space_copy(struct space *to, struct space *from, uint size, uint guard)
{
    for (uint at = 0; at < size; at += PAGE) {
        uint *entry = table_entry(from, at);
        if (!entry || !*entry || (guard && at == PAGE_DOWN(guard)))
            continue;
        void *page = page_alloc();
        if (!page)
            return -1;
        /* By the program's address, where its lines are. */
        memmove(page, (const void *)at, PAGE);
        if (map(to, at, page) < 0) {
            page_return(page);
            return -1;
        }
    }
    tables_clean(to, 0, size);
    return 0;
}

void space_guard(struct space *space, uint at)
{
    unmap(space, PAGE_DOWN(at), PAGE_DOWN(at) + PAGE);
}

int space_write(struct space *space, uint at, const void *from, uint bytes)
{
    const char *source = from;
    while (bytes > 0) {
        uint *entry = table_entry(space, at);
        if (!entry || !*entry)
            return -1;
        uint part = PAGE - at % PAGE;
        if (part > bytes)
            part = bytes;
        memmove((char *)P2V(PAGE_ADDRESS(*entry)) + at % PAGE, source, part);
        at += part;
        source += part;
        bytes -= part;
    }
    return 0;
}

/* Its lines of code went when the slot, or the table, was left: what matters is
   that memory has the new code. */
void space_code_ready(struct space *space)
{
    (void)space;
    writes_drain();
}

void page_forget(void *page)
{
    data_invalidate((uint)page, PAGE);
}

int space_set_fcse(int on)
{
    int before = state.fcse;
    if (on >= 0)
        state.fcse = on != 0;
    return before;
}

int space_set_slots(int slots)
{
    push_off();
    int before = slots_set(slots);
    pop_off();
    return before;
}

int space_set_lockdown(int on)
{
    return lockdown_set(on);
}

void space_count(struct counters *to)
{
    push_off();
    to->flushes = state.flushes;
    to->domains_taken = domains_taken();
    to->moved = state.moved;
    pop_off();
}
