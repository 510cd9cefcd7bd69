/*
 * The registers of the system control coprocessor that the kernel uses, but for
 * the operations on caches and TLB (see cache.h). Source: ARM DDI 0198D,
 * chapter 2.
 */
#ifndef CP15_H
#define CP15_H

#include "mmu.h"
#include "types.h"

/* c1. */
static inline void data_cache_on(void)
{
    uint value;
    __asm__ volatile("mrc p15, 0, %0, c1, c0, 0" : "=r"(value));
    value |= CONTROL_DATA_CACHE;
    __asm__ volatile("mcr p15, 0, %0, c1, c0, 0" ::"r"(value) : "memory");
}

/* c2: physical address of the first-level table. */
static inline void table_base_set(uint physical)
{
    __asm__ volatile("mcr p15, 0, %0, c2, c0, 0" ::"r"(physical) : "memory");
}

static inline uint table_base(void)
{
    uint value;
    __asm__ volatile("mrc p15, 0, %0, c2, c0, 0" : "=r"(value));
    return value & ~0x3fffu;
}

/* c3: two bits a domain, 0 nobody, 1 as the descriptors say. */
static inline void domains_set(uint value)
{
    __asm__ volatile("mcr p15, 0, %0, c3, c0, 0" ::"r"(value) : "memory");
}

static inline uint domains(void)
{
    uint value;
    __asm__ volatile("mrc p15, 0, %0, c3, c0, 0" : "=r"(value));
    return value;
}

/* c5: why the last data access, or the last fetch, failed. */
static inline uint data_fault_status(void)
{
    uint value;
    __asm__ volatile("mrc p15, 0, %0, c5, c0, 0" : "=r"(value));
    return value;
}

static inline uint fetch_fault_status(void)
{
    uint value;
    __asm__ volatile("mrc p15, 0, %0, c5, c0, 1" : "=r"(value));
    return value;
}

/* c6: where; the modified address, on QEMU the program's own. */
static inline uint fault_address(void)
{
    uint value;
    __asm__ volatile("mrc p15, 0, %0, c6, c0, 0" : "=r"(value));
    return value;
}

/* c13: the process number is the upper seven bits. Data use it at once; the
   two instructions behind it are still fetched with the old one, which
   does not matter above 32 MB. */
static inline void pid_set(uint shifted)
{
    __asm__ volatile("mcr p15, 0, %0, c13, c0, 0" ::"r"(shifted) : "memory");
}

static inline uint pid(void)
{
    uint value;
    __asm__ volatile("mrc p15, 0, %0, c13, c0, 0" : "=r"(value));
    return value;
}

#endif
