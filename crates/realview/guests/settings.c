/*
 * Everything that a board file can change, in a millisecond: more code and more data than small caches hold, more pages
 * than the TLB does, the first and the last of the memory, writes past the cache, registers, the time of day.
 */
#include "guest.h"

#define RTC REGISTER(0x10017000)

static uint32_t data[3 * 1024];
static volatile uint32_t aborts;

static void skip(struct frame *frame)
{
    aborts++;
    frame->pc += 4;
}

/* 12 KB of code. */
__attribute__((noinline)) static void code(void)
{
    __asm__ volatile(".rept 3072\n\tnop\n\t.endr");
}

static uint32_t sum(const volatile uint32_t *from, uint32_t count, uint32_t stride)
{
    uint32_t all = 0;
    for (uint32_t i = 0; i < count; i++)
        all += from[i * stride];
    return all;
}

int main(void)
{
    on_exception[4] = skip;
    print_unsigned(RTC);
    mmu_start(CONTROL_DATA_CACHE | CONTROL_INSTRUCTION_CACHE);
    uint32_t all = 0;
    for (int round = 0; round < 2; round++) {
        code();
        all += sum(data, sizeof data / sizeof data[0], 1);
        /* A word of each of 60 megabytes. */
        all += sum((const volatile uint32_t *)free_memory, 60, 1 << 18);
    }
    for (uint32_t i = 0; i < 64; i++)
        data[i * 8] = i;
    caches_flush();
    /* Is there memory at 96 MB and at 160 MB? */
    all += REGISTER(96 << 20) + REGISTER(160 << 20);
    print(" ");
    print_unsigned(aborts);
    print("\n");
    return (int)(all & 1);
}
