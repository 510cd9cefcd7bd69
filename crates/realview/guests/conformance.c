/*
 * What QEMU and the hardware do differently where the manuals define a value: one line for each row,
 * `name value`. crates/realview/tests/conformance.rs has what the manuals say of each.
 *
 * First with the caches off, so that only the MMU is seen; then with the caches on.
 */
#include "guest.h"

/* Two megabytes with 0xa and 0xb in their first words, and an address that is mapped to one of them.
   Its entry of the TLB shares a set with no other that is used. */
#define A 0x05000000u
#define B 0x05100000u
#define PLACE 0x30500000u
#define WORD(address) (*(volatile uint32_t *)(address))

static volatile uint32_t fault_address, fault_status;

static void on_data_abort(struct frame *frame)
{
    fault_address = MRC(0, 6, 0, 0);
    fault_status = MRC(0, 5, 0, 0);
    frame->pc += 4;
}

static void row(const char *name, uint32_t value)
{
    print(name);
    print(" ");
    print_hex(value);
    print("\n");
}

static void barrier(void)
{
    MCR(0, 7, 10, 4, 0);
}

/* Changes what memory says of PLACE, and leaves the TLB alone. */
static void redirect(uint32_t to)
{
    table[PLACE >> 20] = to | SECTION_UNCACHED;
    MCR(0, 7, 10, 1, &table[PLACE >> 20]);
    barrier();
}

static void pid(uint32_t number)
{
    MCR(0, 13, 0, 0, number << 25);
}

static void translation(void)
{
    WORD(A) = 0xa;
    WORD(B) = 0xb;
    /* The program itself, its data and the vectors lie below 32 MB: they are mapped in each slot. */
    map(1u << 25, 0, SECTION_CACHED);
    map(3u << 25, 0, SECTION_CACHED);

    map(PLACE, A, SECTION_UNCACHED);
    (void)WORD(PLACE);
    redirect(B);
    pid(1);
    pid(0);
    row("stale-entry-after-pid-write", WORD(PLACE));

    map(PLACE, A, SECTION_UNCACHED);
    (void)WORD(PLACE);
    redirect(B);
    MCR(0, 3, 0, 0, 3);
    MCR(0, 3, 0, 0, 1);
    row("stale-entry-after-domain-write", WORD(PLACE));

    map(PLACE, A, SECTION_UNCACHED);
    (void)WORD(PLACE);
    redirect(B);
    MCR(0, 2, 0, 0, table);
    row("stale-entry-after-table-write", WORD(PLACE));

    MCR(0, 8, 7, 1, PLACE);
    redirect(A);
    MCR(0, 10, 0, 0, 1);
    (void)WORD(PLACE);
    MCR(0, 10, 0, 0, 1u << 26);
    redirect(B);
    MCR(0, 8, 7, 0, 0);
    row("locked-entry-after-invalidate-all", WORD(PLACE));
    MCR(0, 8, 7, 1, PLACE);
    row("locked-entry-after-invalidate-single", WORD(PLACE));
}

/* Six additions behind a write of the process number: of 1 in the old slot, of 16 in the new one. */
static void delay(void)
{
    static const uint32_t code[] = {
        0xee0d1f10, /* mcr p15, 0, r1, c13, c0, 0 */
        0xe2800001, 0xe2800001, 0xe2800001, 0xe2800001, 0xe2800001, 0xe2800001,
        0xee0d2f10, /* mcr p15, 0, r2, c13, c0, 0 */
        0xe1a00000, 0xe1a00000, 0xe1a00000, 0xe12fff1e,
    };
    const uint32_t here = 0x00300000, there = 0x00400000;
    for (uint32_t i = 0; i < sizeof code / 4; i++) {
        WORD(here + 4 * i) = code[i];
        WORD(there + 4 * i) = code[i] == 0xe2800001 ? 0xe2800010 : code[i];
    }
    map(here | 1u << 25, there, SECTION_CACHED);
    uint32_t (*run)(uint32_t, uint32_t, uint32_t) = (void *)here;
    row("fetches-behind-pid-write", run(0, 1u << 25, 0));
}

static void faults(void)
{
    map(3u << 25 | 0x00100000, 0, 0);
    pid(3);
    (void)WORD(0x00100000);
    pid(0);
    row("fault-address-under-fcse", fault_address);
    row("fault-status-under-fcse", fault_status & 0xff);
}

static void unaligned(void)
{
    on_exception[DATA_ABORT] = on_data_abort;
    static volatile uint32_t words[4] __attribute__((aligned(16)));
    uint32_t value, at = (uint32_t)words;
    words[0] = 0x44332211;
    words[1] = 0x88776655;
    __asm__ volatile("ldr %0, [%1]" : "=r"(value) : "r"(at + 1) : "memory");
    row("load-of-an-unaligned-word", value);
    __asm__ volatile("ldr %0, [%1]" : "=r"(value) : "r"(at + 2) : "memory");
    row("load-of-a-half-aligned-word", value);
    /* Zero if it aborts, also below. */
    value = 0;
    __asm__ volatile("swp %0, %1, [%2]" : "+&r"(value) : "r"(0x44332211), "r"(at + 3) : "memory");
    row("swap-of-an-unaligned-word", value);
    words[0] = 0x44332211;
    words[1] = 0x88776655;
    __asm__ volatile("str %0, [%1]" ::"r"(0xddccbbaa), "r"(at + 1) : "memory");
    row("store-of-an-unaligned-word", words[0]);
    row("word-behind-an-unaligned-store", words[1]);
    words[0] = 0x44332211;
    words[1] = 0x88776655;
    value = 0;
    __asm__ volatile("ldm %1, {%0}" : "+r"(value) : "r"(at + 2) : "memory");
    row("load-multiple-from-an-unaligned-base", value);
}

static void program_counter(void)
{
    register uint32_t value __asm__("r4");
    uint32_t at;
    /* mov r4, pc, lsl r4: the assembler does not like it. */
    __asm__ volatile("mov r4, #0\n\t"
                     "adr %1, 1f\n"
                     "1:\t.inst 0xe1a0441f\n\t"
                     : "=&r"(value), "=&r"(at));
    row("pc-with-a-shift-by-a-register", value - at);
    __asm__ volatile("adr %1, 1f\n"
                     "1:\tmov %0, pc, lsl #0\n\t"
                     : "=&r"(value), "=&r"(at));
    row("pc-with-a-shift-by-a-constant", value - at);
}

static void virtual_caches(void)
{
    const uint32_t shared = 0x05200000, first = 0x30600000, second = 0x30700000;
    const uint32_t uncached = 0x30800000;
    map(first, shared, SECTION_CACHED);
    map(second, shared, SECTION_CACHED);
    map(uncached, shared, SECTION_UNCACHED);
    WORD(uncached) = 0x11;
    (void)WORD(first);
    (void)WORD(second);
    WORD(first) = 0x22;
    row("synonym-in-another-line", WORD(second));
    row("memory-behind-a-dirty-line", WORD(uncached));
    MCR(0, 7, 10, 1, first);
    barrier();
    row("memory-behind-a-cleaned-line", WORD(uncached));

    map(PLACE, A, SECTION_UNCACHED);
    (void)WORD(PLACE);
    (void)WORD(&table[PLACE >> 20]);
    WORD(&table[PLACE >> 20]) = B | SECTION_UNCACHED;
    MCR(0, 8, 7, 1, PLACE);
    row("walk-past-a-dirty-descriptor", WORD(PLACE));
    MCR(0, 7, 10, 1, &table[PLACE >> 20]);
    barrier();
    MCR(0, 8, 7, 1, PLACE);
    row("walk-after-cleaning-the-descriptor", WORD(PLACE));
}

/* mov r0, #value; bx lr, through the data cache. */
static void write_code(uint32_t at, uint32_t value)
{
    (void)WORD(at);
    WORD(at) = 0xe3a00000 | value;
    WORD(at + 4) = 0xe12fff1e;
}

static void clean_code(uint32_t at)
{
    MCR(0, 7, 10, 1, at);
    barrier();
}

static void instruction_cache(void)
{
    const uint32_t at = 0x00500000;
    uint32_t (*run)(void) = (void *)at;
    write_code(at, 1);
    clean_code(at);
    MCR(0, 7, 5, 0, 0);
    run();
    write_code(at, 2);
    clean_code(at);
    row("code-without-invalidation", run());
    MCR(0, 7, 5, 0, 0);
    row("code-after-invalidation", run());
    write_code(at, 3);
    MCR(0, 7, 5, 0, 0);
    row("code-without-cleaning", run());
    clean_code(at);
}

/* How often test, clean and invalidate is done with forty dirty lines: one line each time at most. */
static void test_and_clean(void)
{
    caches_flush();
    for (uint32_t i = 0; i < 40; i++) {
        (void)WORD(0x00600000 + 32 * i);
        WORD(0x00600000 + 32 * i) = i;
    }
    uint32_t count = 0;
    __asm__ volatile("1:\tadd %0, %0, #1\n\t"
                     "mrc p15, 0, r15, c7, c14, 3\n\t"
                     "bne 1b"
                     : "+r"(count)::"cc", "memory");
    row("test-and-clean-at-least-once-a-dirty-line", count >= 40);
}

int main(void)
{
    row("cache-type", MRC(0, 0, 0, 1));
    row("reserved-bits-of-the-control-register", MRC(0, 1, 0, 0) & 0xffff0c78);
    unaligned();
    program_counter();
    mmu_start(0);
    translation();
    delay();
    faults();
    MCR(0, 7, 7, 0, 0);
    MCR(0, 1, 0, 0, MRC(0, 1, 0, 0) | CONTROL_DATA_CACHE | CONTROL_INSTRUCTION_CACHE);
    virtual_caches();
    instruction_cache();
    test_and_clean();
    return 0;
}
