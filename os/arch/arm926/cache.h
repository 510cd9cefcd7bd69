/*
 * Maintenance of caches and TLB: every operation that the kernel uses, and
 * nothing that it does not.
 *
 * Both caches are indexed and tagged by the modified virtual address (MVA):
 * programs in slots are at PID * 32 MB, the others at 0, the kernel where it
 * is. A line is written back to the memory that it came from. Only reads
 * allocate lines: a write to a page that has none goes to memory. Walks of
 * the tables and fetches do not see the data cache. FCSE does not apply to
 * the addresses given here. Source: ARM DDI 0198D, pages 2-21 to 2-27.
 */
#ifndef CACHE_H
#define CACHE_H

#include "types.h"

#define LINE 32

/* By MVA, multiples of a line. */
void data_clean(const void *from, uint bytes);      /* and is in memory then */
void data_invalidate(uint from, uint bytes);        /* without writing back */
void code_invalidate(uint from, uint bytes);

/* All of the cache. */
void data_flush(void);                  /* cleaned and invalidated */
void code_invalidate_all(void);

/* Whatever was written is in memory. */
void writes_drain(void);

/* All translations that are not locked. */
void tlb_invalidate_all(void);

#endif
