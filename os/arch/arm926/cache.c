/* Maintenance of caches and TLB: see cache.h. Loops may be interrupted. */
#include "cache.h"

void writes_drain(void)
{
    __asm__ volatile("mcr p15, 0, %0, c7, c10, 4" ::"r"(0) : "memory");
}

void data_clean(const void *from, uint bytes)
{
    uint end = (uint)from + bytes;
    for (uint at = (uint)from & ~(LINE - 1u); at < end; at += LINE)
        __asm__ volatile("mcr p15, 0, %0, c7, c10, 1" ::"r"(at) : "memory");
    writes_drain();
}

/* Invalidates four lines of the cache whose operation by MVA it is. */
#define INVALIDATE_4(operation, at) \
    __asm__ volatile("mcr p15, 0, %0, c7, " operation ", 1\n\t" \
                     "mcr p15, 0, %1, c7, " operation ", 1\n\t" \
                     "mcr p15, 0, %2, c7, " operation ", 1\n\t" \
                     "mcr p15, 0, %3, c7, " operation ", 1" ::"r"(at), \
                     "r"((at) + LINE), "r"((at) + 2 * LINE), \
                     "r"((at) + 3 * LINE) \
                     : "memory")

void data_invalidate(uint from, uint bytes)
{
    for (uint at = from; at - from < bytes; at += 4 * LINE)
        INVALIDATE_4("c6", at);
}

void code_invalidate(uint from, uint bytes)
{
    for (uint at = from; at - from < bytes; at += 4 * LINE)
        INVALIDATE_4("c5", at);
}

/* Test, clean and invalidate: each step looks at some lines and cleans at most
   one; Z is set when no line is dirty, and the cache is empty then. */
void data_flush(void)
{
    __asm__ volatile("1: mrc p15, 0, r15, c7, c14, 3\n\t"
                     "bne 1b" ::
                         : "cc", "memory");
    writes_drain();
}

void code_invalidate_all(void)
{
    __asm__ volatile("mcr p15, 0, %0, c7, c5, 0" ::"r"(0) : "memory");
}

void tlb_invalidate_all(void)
{
    __asm__ volatile("mcr p15, 0, %0, c8, c7, 0" ::"r"(0) : "memory");
}
