/*
 * Translation tables of programs. The walk reads memory, not the data cache: so
 * whatever is written where lines may be, because it is read as well, is
 * cleaned. A fresh page is in no cache, and writes allocate no lines: nothing
 * to clean. A fault is never kept in the TLB: nothing to invalidate where a
 * page comes to a place that has none.
 */
#include "spaces.h"

#include "cache.h"
#include "contract.h"
#include "kernel.h"

#define OWN_PART (KERNBASE >> 20)       /* descriptors of user addresses */
#define TABLE_BYTES 16384

uint *table_new(void)
{
    uint *table = pages_alloc_4();
    if (!table)
        return 0;
    memset(table, 0, OWN_PART * sizeof *table);
    memmove(table + OWN_PART, master_table + OWN_PART,
            TABLE_BYTES - OWN_PART * sizeof *table);
    return table;
}

void table_free(uint *table)
{
    for (uint at = 0; at < TABLE_BYTES; at += PAGE)
        page_free((char *)table + at);
}

/* The page of group `group`. */
static char *group_page(const struct space *space, uint group)
{
    return P2V(COARSE_ADDRESS(space->first[group * GROUP_ENTRIES]));
}

uint *table_entry(const struct space *space, uint at)
{
    if (at / GROUP >= space->groups)
        return 0;
    uint *table = (uint *)group_page(space, at / GROUP);
    return table + at % GROUP / PAGE;
}

/* A fault without a domain. */
static uint descriptor(uint domain, uint table)
{
    return domain ? table | COARSE | COARSE_DOMAIN(domain) : table;
}

int table_add(struct space *space, uint at)
{
    while (space->groups <= at / GROUP) {
        char *page = page_alloc();
        if (!page)
            return -1;
        memset(page, 0, PAGE);
        push_off();
        uint *entry = space->first + space->groups * GROUP_ENTRIES;
        for (uint i = 0; i < GROUP_ENTRIES; i++)
            entry[i] = descriptor(space->domain, V2P(page) + i * PAGE / 4);
        data_clean(entry, GROUP_ENTRIES * sizeof *entry);
        space->groups++;
        pop_off();
    }
    return 0;
}

void table_trim(struct space *space)
{
    while (space->groups * GROUP >= space->top + GROUP) {
        push_off();
        uint group = --space->groups;
        char *page = group_page(space, group);
        uint *entry = space->first + group * GROUP_ENTRIES;
        for (uint i = 0; i < GROUP_ENTRIES; i++)
            entry[i] = 0;
        data_clean(entry, GROUP_ENTRIES * sizeof *entry);
        pop_off();
        page_free(page);
    }
}

static void link_groups(uint *table, const struct space *space, uint domain)
{
    uint entries = space->groups * GROUP_ENTRIES;
    for (uint i = 0; i < entries; i++)
        table[i] = descriptor(domain, COARSE_ADDRESS(space->first[i]));
    data_clean(table, entries * sizeof *table);
}

void table_relink(struct space *space)
{
    requires_interrupts_off();
    link_groups(space->first, space, space->domain);
}

void table_hang(uint *table, const struct space *space)
{
    link_groups(table, space, OWN_DOMAIN);
}

/* The second-level descriptors of [from, to). */
void tables_clean(const struct space *space, uint from, uint to)
{
    while (from < to && from / GROUP < space->groups) {
        uint part = GROUP - from % GROUP;
        if (part > to - from)
            part = to - from;
        data_clean(table_entry(space, from),
                   (part + PAGE - 1) / PAGE * sizeof(uint));
        from += part;
    }
}
