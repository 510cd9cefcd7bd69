/* Maintenance by address: see cache.h. Loops may be interrupted. */
#include "cache.h"

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
