/*
 * Six ways to lose coherence on a core with virtual caches. FAULT says which maintenance is left out:
 *
 *   0  none: all is as it should be, and nothing may be reported
 *   1  new code is not cleaned to memory        (data cache clean)
 *   2  old code is not invalidated              (instruction cache invalidate)
 *   3  a dirty line is read by another address  (data cache clean)
 *   4  a clean line is older than its synonym   (data cache invalidate)
 *   5  a descriptor is dirty at a walk          (data cache clean)
 *   6  a descriptor changed, the TLB did not    (TLB invalidate)
 *   7  a dirty line is thrown away              (data cache clean before the invalidate)
 *   8  an address gets other memory             (data cache clean and invalidate)
 *   9  code is mapped over other code           (instruction cache invalidate)
 *
 * Each part runs in any case; the exit code is 0 when the run came to its end, whatever it read.
 */
#include "guest.h"

#ifndef FAULT
#define FAULT 0
#endif

#define ALIAS_ONE 0x40000000u
#define ALIAS_TWO 0x50000000u
#define PAGE 0x06000000u

/* In memory: eight times bx lr, so that stale code comes back. */
static uint32_t code[8] __attribute__((aligned(32))) = {
    0xe12fff1eu, 0xe12fff1eu, 0xe12fff1eu, 0xe12fff1eu,
    0xe12fff1eu, 0xe12fff1eu, 0xe12fff1eu, 0xe12fff1eu,
};

static void clean(uint32_t at)
{
    MCR(0, 7, 10, 1, at);
    MCR(0, 7, 10, 4, 0);
}

/* Writes a function that returns `value`, and calls it. */
static uint32_t patch_and_call(uint32_t value)
{
    volatile uint32_t *words = code;
    words[0] = 0xe3a00000u | value; /* mov r0, #value */
    words[1] = 0xe12fff1eu;         /* bx lr */
    if (FAULT != 1)
        clean((uint32_t)code);
    if (FAULT != 2)
        MCR(0, 7, 5, 1, code);
    return ((uint32_t(*)(void))code)();
}

static void code_part(void)
{
    print_unsigned(patch_and_call(1));
    print_unsigned(patch_and_call(2));
}

static void synonym_part(void)
{
    map(ALIAS_ONE, PAGE, SECTION_CACHED);
    map(ALIAS_TWO, PAGE, SECTION_CACHED);
    REGISTER(ALIAS_ONE); /* reads allocate, writes do not */
    if (FAULT == 4)
        REGISTER(ALIAS_TWO); /* and stays in the cache */
    REGISTER(ALIAS_ONE) = 7;
    if (FAULT != 3)
        clean(ALIAS_ONE);
    print_unsigned(REGISTER(ALIAS_TWO));
    caches_flush();
}

static void descriptor_part(void)
{
    REGISTER(PAGE) = 1;
    REGISTER(PAGE + 0x100000) = 2;
    caches_flush();
    map(ALIAS_ONE, PAGE, SECTION_UNCACHED);
    print_unsigned(REGISTER(ALIAS_ONE));
    volatile uint32_t *entry = &table[ALIAS_ONE >> 20];
    (void)*entry; /* so that the write hits, and stays in the cache */
    *entry = (PAGE + 0x100000) | SECTION_UNCACHED;
    if (FAULT != 5)
        clean((uint32_t)entry);
    if (FAULT != 6)
        MCR(0, 8, 7, 1, ALIAS_ONE);
    print_unsigned(REGISTER(ALIAS_ONE));
}

static void invalidate_part(void)
{
    (void)REGISTER(PAGE);
    REGISTER(PAGE) = 3;
    if (FAULT != 7)
        clean(PAGE);
    MCR(0, 7, 6, 1, PAGE);
    print_unsigned(REGISTER(PAGE));
}

static void remap_part(void)
{
    REGISTER(PAGE) = 4;
    REGISTER(PAGE + 0x100000) = 5;
    caches_flush();
    map(ALIAS_ONE, PAGE, SECTION_CACHED);
    print_unsigned(REGISTER(ALIAS_ONE));
    if (FAULT != 8)
        MCR(0, 7, 14, 1, ALIAS_ONE);
    map(ALIAS_ONE, PAGE + 0x100000, SECTION_CACHED);
    print_unsigned(REGISTER(ALIAS_ONE));
}

static void code_remap_part(void)
{
    for (uint32_t i = 0; i < 2; i++) {
        REGISTER(PAGE + i * 0x100000) = 0xe3a00006u + i; /* mov r0, #6 + i */
        REGISTER(PAGE + i * 0x100000 + 4) = 0xe12fff1eu; /* bx lr */
    }
    caches_flush();
    for (uint32_t i = 0; i < 2; i++) {
        map(ALIAS_TWO, PAGE + i * 0x100000, SECTION_CACHED);
        if (FAULT != 9)
            MCR(0, 7, 5, 0, 0);
        print_unsigned(((uint32_t(*)(void))ALIAS_TWO)());
    }
}

int main(void)
{
    mmu_start(CONTROL_DATA_CACHE | CONTROL_INSTRUCTION_CACHE);
    (void)*(volatile uint32_t *)code;
    code_part();
    synonym_part();
    descriptor_part();
    invalidate_part();
    remap_part();
    code_remap_part();
    print("\n");
    return 0;
}
