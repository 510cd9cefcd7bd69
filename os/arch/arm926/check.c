/*
 * What must hold whenever a space has become active, in a kernel that is built
 * with CHECKS=1: a slot and a domain have one space at most, the tables and
 * the core's registers say what the spaces say, and so the domain register lets
 * in nobody but the active one.
 */
#ifdef CHECKED
#include "contract.h"
#include "cp15.h"
#include "kernel.h"
#include "spaces.h"

/* It is in the master table with its domain, or is nothing but faults there. */
static void check_tables(const struct space *space)
{
    uint entries = space->groups * GROUP_ENTRIES;
    uint expected = space->domain ? COARSE | COARSE_DOMAIN(space->domain) : 0;

    for (uint i = 0; i < entries; i++)
        REQUIRES(space->first[i] - COARSE_ADDRESS(space->first[i])
                 == expected);
}

static void check_in_slot(const struct space *space)
{
    REQUIRES(space->first == master_table + (space->base >> 20));
    REQUIRES(slot_is_taken(space->base / SLOT_SIZE));
    if (space->domain == 0)
        return;
    REQUIRES(domain_owner(space->domain) == space);
    REQUIRES(space->access == ACCESS(space->domain));
}

static void check_space(const struct space *space)
{
    if (space->base) {
        check_in_slot(space);
    } else {
        REQUIRES(space->domain == OWN_DOMAIN);
        REQUIRES(space->access == ACCESS(OWN_DOMAIN));
    }
    check_tables(space);
}

/* Who was given a domain, and who was not yet told, is alone to have it. */
static void check_domains(void)
{
    for (uint domain = 1; domain < DOMAINS; domain++) {
        const struct space *owner = domain_owner(domain);

        if (owner == 0)
            continue;
        REQUIRES(owner->first && owner->base);
        REQUIRES(owner->domain == domain || owner->domain == 0);
    }
}

static void check_slots(const struct space *spaces, uint count)
{
    uchar seen[SLOTS + 1] = {0};

    for (const struct space *space = spaces; space < spaces + count; space++) {
        if (space->first == 0 || space->base == 0)
            continue;
        REQUIRES(!seen[space->base / SLOT_SIZE]);
        seen[space->base / SLOT_SIZE] = 1;
    }
}

void spaces_check(const struct space *spaces, uint count,
                  const struct space *active, const uint *loaded)
{
    requires_interrupts_off();
    for (const struct space *space = spaces; space < spaces + count; space++)
        if (space->first)
            check_space(space);
    check_slots(spaces, count);
    check_domains();
    REQUIRES(loaded == (active->base ? master_table : active->first));
    REQUIRES(active->domain != 0);
    REQUIRES(table_base() == V2P(loaded));
    REQUIRES(domains() == active->access);
    REQUIRES(pid() == active->base);
}

#else
typedef int check_unused;
#endif
