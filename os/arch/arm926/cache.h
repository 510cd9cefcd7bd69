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

/* Whatever was written is in memory. */
static inline void writes_drain(void)
{
    __asm__ volatile("mcr p15, 0, %0, c7, c10, 4" ::"r"(0) : "memory");
}

/* Cleans all of the cache; may be interrupted. A step looks at some lines and
   cleans at most one; Z is set when no line is dirty. */
static inline void data_clean_all(void)
{
    __asm__ volatile("1: mrc p15, 0, r15, c7, c10, 3\n\t"
                     "bne 1b" ::
                         : "cc", "memory");
}

/* Cleans likewise and invalidates it: in the end the cache is empty. */
static inline void data_flush(void)
{
    __asm__ volatile("1: mrc p15, 0, r15, c7, c14, 3\n\t"
                     "bne 1b" ::
                         : "cc", "memory");
    writes_drain();
}

static inline void code_invalidate_all(void)
{
    __asm__ volatile("mcr p15, 0, %0, c7, c5, 0" ::"r"(0) : "memory");
}

/* All translations that are not locked. */
static inline void tlb_invalidate_all(void)
{
    __asm__ volatile("mcr p15, 0, %0, c8, c7, 0" ::"r"(0) : "memory");
}

#endif
