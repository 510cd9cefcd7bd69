/* Console, exceptions, MMU and memory functions of guest programs: see guest.h. */
#include "guest.h"

void (*volatile on_exception[8])(struct frame *frame);

uint32_t semihost(uint32_t operation, const void *argument)
{
    register uint32_t r0 __asm__("r0") = operation;
    register const void *r1 __asm__("r1") = argument;
#ifdef __thumb__
    __asm__ volatile("svc 0xab" : "+r"(r0) : "r"(r1) : "memory", "lr");
#else
    __asm__ volatile("svc 0x123456" : "+r"(r0) : "r"(r1) : "memory", "lr");
#endif
    return r0;
}

void print(const char *text)
{
    semihost(0x04, text);
}

void print_unsigned(uint32_t value)
{
    char digits[11];
    char *at = digits + sizeof digits;
    *--at = 0;
    do {
        *--at = (char)('0' + value % 10);
        value /= 10;
    } while (value);
    print(at);
}

void print_hex(uint32_t value)
{
    char digits[11] = "0x";
    for (int i = 0; i < 8; i++)
        digits[2 + i] = "0123456789abcdef"[value >> (28 - 4 * i) & 15];
    digits[10] = 0;
    print(digits);
}

_Noreturn void finish(int code)
{
    uint32_t block[2] = {0x20026, (uint32_t)code};
    semihost(0x20, block);
    for (;;)
        ;
}

void exception(unsigned number, struct frame *frame);

void exception(unsigned number, struct frame *frame)
{
    void (*handler)(struct frame *) = on_exception[number];
    if (handler) {
        handler(frame);
        return;
    }
    print("unexpected exception ");
    print_unsigned(number);
    print(" at ");
    print_hex(frame->pc);
    print("\n");
    finish((int)(100 + number));
}

void caches_flush(void)
{
#ifdef __thumb__
#error "support.c is ARM code"
#endif
    __asm__ volatile("1: mrc p15, 0, r15, c7, c14, 3\n\tbne 1b" ::: "cc", "memory");
    MCR(0, 7, 5, 0, 0);
    MCR(0, 7, 10, 4, 0);
}

void map(uint32_t va, uint32_t pa, uint32_t section)
{
    uint32_t *entry = &table[va >> 20];
    *entry = (pa & 0xfff00000u) | section;
    MCR(0, 7, 10, 1, entry);
    MCR(0, 7, 10, 4, 0);
    MCR(0, 8, 7, 1, va);
}

void mmu_start(uint32_t control)
{
    for (uint32_t i = 0; i < 4096; i++)
        table[i] = i << 20 | (i < 256 ? SECTION_CACHED : SECTION_UNCACHED);
    MCR(0, 7, 7, 0, 0);
    MCR(0, 8, 7, 0, 0);
    MCR(0, 2, 0, 0, table);
    MCR(0, 3, 0, 0, 1);
    MCR(0, 1, 0, 0, MRC(0, 1, 0, 0) | CONTROL_MMU | control);
}

void *memset(void *to, int value, size_t length)
{
    volatile char *at = to;
    while (length--)
        *at++ = (char)value;
    return to;
}

void *memcpy(void *to, const void *from, size_t length)
{
    volatile char *at = to;
    const char *source = from;
    while (length--)
        *at++ = *source++;
    return to;
}
