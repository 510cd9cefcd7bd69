/* What space.c, table.c and slot.c share: how an address space is kept. */
#ifndef SPACES_H
#define SPACES_H

#include "memlayout.h"
#include "mmu.h"
#include "types.h"

/*
 * A space has second-level tables in groups of four, which fill a page and map
 * 4 MB; the groups go without a gap from address 0 to the highest page. In a
 * slot its first-level descriptors are part of the master table, where they are
 * faults while the space has no domain; else it has a table of its own, a copy
 * of the master's upper part, and is in domain 1.
 */
struct space {
    struct space *next; /* if it is not in use */
    uint *first;        /* descriptor of its address 0; 0: not in use */
    uint base;          /* what FCSE adds: PID * 32 MB; 0: no slot */
    uint domain;        /* 0: none */
    uint access;        /* domain register while it is active */
    uint used;          /* activations when it last became active, or got its
                           domain; 0: neither */
    uint groups;        /* of second-level tables */
    uint top;           /* no page lies here or above */
};

#define GROUP 0x400000u                 /* bytes that a group maps */
#define GROUP_ENTRIES 4                 /* its first-level descriptors */
#define OWN_DOMAIN 1
#define ACCESS(domain) (1u | 1u << 2 * (domain))

extern uint master_table[4096];

/* table.c */
uint *table_new(void);                  /* first-level; 0: no memory */
void table_free(uint *table);
uint *table_entry(const struct space *space, uint at);
int table_add(struct space *space, uint at);    /* group of at; 0, or -1 */
void table_trim(struct space *space);   /* frees the groups above top */
void table_relink(struct space *space); /* says the domain anew */
void table_hang(uint *table, const struct space *space);    /* its groups */
void tables_clean(const struct space *space, uint from, uint to);

/* slot.c: interrupts are off. */
uint slot_take(void);                   /* base, or 0 if there is none */
void slot_leave(struct space *space);   /* gives slot and domain back */
uint domain_claim(struct space *space);  /* whose owner it is from here on */
void domain_enter(struct space *space, uint domain);    /* if it still is */
int slots_set(int slots);
uint domains_taken(void);
int slot_is_taken(uint pid);
const struct space *domain_owner(uint domain);

/* check.c: of all spaces, used or not. */
#ifdef CHECKED
void spaces_check(const struct space *spaces, uint count,
                  const struct space *active, const uint *loaded);
#else
#define spaces_check(spaces, count, active, loaded) ((void)0)
#endif

#endif
