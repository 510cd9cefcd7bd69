/*
 * The instructions of x86 that xv6's user library names, in C: with these its
 * ulib.c compiles as it is. What only its kernel uses is not here.
 */
#ifndef X86_H
#define X86_H

#include "types.h"

/* Stores `count` bytes of value `value`. */
static inline void stosb(void *to, int value, int count)
{
    volatile uchar *at = to;

    while (count-- > 0)
        *at++ = (uchar)value;
}

/* Stores `count` words of value `value`. */
static inline void stosl(void *to, int value, int count)
{
    volatile int *at = to;

    while (count-- > 0)
        *at++ = value;
}

/* Puts `value` to *at, returns what was there, in one step. */
static inline uint xchg(volatile uint *at, uint value)
{
    uint old;

    __asm__ volatile("swp %0, %1, [%2]"
                     : "=&r"(old)
                     : "r"(value), "r"(at)
                     : "memory");
    return old;
}

#endif
