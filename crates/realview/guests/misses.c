/*
 * Ten small programs for comparing counts of misses, one for each value of PROGRAM. CONTROL adds
 * bits to the control register (round robin). Each runs with MMU and caches on, and with PAGES the
 * first 4 MB in small pages.
 */
#if PROGRAM == 2
#define ORDER 32
#endif
#include "kernels.h"

#ifndef CONTROL
#define CONTROL 0
#endif

#if PROGRAM == 0
/* Sorting by exchange of words in 16 KB. */
static uint32_t numbers[4096];

static uint32_t run(void)
{
    for (int i = 0; i < 1500; i++)
        numbers[i] = random_number();
    sort(numbers, numbers + 1499);
    return numbers[700];
}

#elif PROGRAM == 1
/* CRC-32 by table over 24 KB of bytes. */
static uint8_t data[24 * 1024];

static uint32_t run(void)
{
    crc_prepare();
    for (uint32_t i = 0; i < sizeof data; i += 4)
        data[i] = (uint8_t)random_number();
    return crc32(data, sizeof data);
}

#elif PROGRAM == 2
/* A product of matrices, by columns. */
static uint32_t run(void)
{
    for (int i = 0; i < ORDER * ORDER; i++)
        (&left[0][0])[i] = (&right[0][0])[i] = (int32_t)random_number();
    multiply();
    return (uint32_t)product[3][5];
}

#elif PROGRAM == 3
/* Strings: lengths, copies, a search; bytes throughout. */
static char text[12000], copy[12000];

static uint32_t run(void)
{
    uint32_t found = 0;
    for (uint32_t i = 0; i < sizeof text - 1; i++)
        text[i] = (char)('a' + random_number() % 26);
    for (int round = 0; round < 2; round++) {
        memcpy(copy, text, sizeof text);
        for (const char *at = copy; *at; at++)
            found += at[0] == 'c' && at[1] == 'a';
    }
    return found;
}

#elif PROGRAM == 4
/* A walk along a list whose nodes lie in random order over 64 KB. */
struct node {
    struct node *next;
    uint32_t value[7];
};
static struct node nodes[2048];
static uint16_t order[2048];

static uint32_t run(void)
{
    uint32_t sum = 0;
    for (uint32_t i = 0; i < 2048; i++)
        order[i] = (uint16_t)i;
    for (uint32_t i = 2047; i > 0; i--) {
        uint32_t other = random_number() % (i + 1);
        uint16_t swapped = order[i];
        order[i] = order[other];
        order[other] = swapped;
    }
    for (uint32_t i = 0; i < 2047; i++)
        nodes[order[i]].next = &nodes[order[i + 1]];
    for (int round = 0; round < 6; round++)
        for (struct node *at = &nodes[order[0]]; at; at = at->next)
            sum += at->value[round]++;
    return sum;
}

#elif PROGRAM == 5
/* Strides from a byte to beyond a page, read and written, over 3 MB. */
static uint32_t run(void)
{
    volatile uint8_t *memory = (volatile uint8_t *)free_memory;
    uint32_t sum = 0;
    for (uint32_t stride = 1; stride <= 8192; stride *= 2)
        for (uint32_t i = 0, at = 0; i < 1600; i++, at = (at + stride) % (3u << 20)) {
            sum += memory[at];
            if (i % 3 == 0)
                memory[at] = (uint8_t)i;
        }
    return sum;
}

#elif PROGRAM == 6
/* Recursion with deep stacks. */
static __attribute__((noinline)) uint32_t ways(uint32_t m, uint32_t n)
{
    volatile uint32_t kept[6] = {m, n};
    if (m == 0)
        return n + 1;
    if (n == 0)
        return ways(m - 1, 1);
    return ways(m - 1, ways(m, kept[1] - 1));
}

static uint32_t run(void)
{
    return ways(2, 40) + ways(3, 3);
}

#elif PROGRAM == 7
/* Thumb code: the sieve of Eratosthenes, and calls between the states. */
static uint8_t composite[20000];

static __attribute__((target("thumb"), noinline)) uint32_t sieve(uint32_t limit)
{
    uint32_t count = 0;
    for (uint32_t i = 2; i < limit; i++) {
        if (composite[i])
            continue;
        count++;
        for (uint32_t j = i + i; j < limit; j += i)
            composite[j] = 1;
    }
    return count;
}

static uint32_t run(void)
{
    return sieve(100) + sieve(sizeof composite);
}

#elif PROGRAM == 8
/* Processes by FCSE: the code in each slot, data of each slot apart, some of it written through. */
static uint32_t run(void)
{
    uint32_t sum = 0;
    for (uint32_t pid = 1; pid < 6; pid++) {
        map(pid << 25, 0, SECTION_CACHED);
        map(pid << 25 | 0x100000, 0x04000000 + (pid << 20),
            pid & 1 ? SECTION_CACHED : SECTION_WRITE_THROUGH);
    }
    for (uint32_t round = 0; round < 60; round++) {
        uint32_t pid = round % 6;
        /* The stack and the globals lie below 32 MB too: they are the same bytes in each slot, but
           other lines, so that they go to memory first. */
        caches_flush();
        MCR(0, 13, 0, 0, pid << 25);
        volatile uint32_t *data = (volatile uint32_t *)0x100000;
        for (uint32_t i = 0; i < 256; i++)
            data[i * 9 % 2048] += i + pid;
        sum += data[9];
        caches_flush();
    }
    MCR(0, 13, 0, 0, 0);
    return sum;
}

#elif PROGRAM == 9
/* One megabyte of each kind of memory in turn, in small pages and sections; operations on single lines. */
static uint32_t pages[256] __attribute__((aligned(1024)));

static uint32_t run(void)
{
    uint32_t sum = 0;
    static const uint32_t kinds[4] = {0xffe, 0xffa, 0xff6, 0xff2};
    for (uint32_t i = 0; i < 256; i++) {
        pages[i] = (0x05000000 + (i << 12)) | kinds[i % 4];
        MCR(0, 7, 10, 1, &pages[i]);
    }
    table[0x300] = (uint32_t)pages | 0x11;
    MCR(0, 7, 10, 1, &table[0x300]);
    MCR(0, 7, 10, 4, 0);
    for (uint32_t round = 0; round < 3; round++)
        for (uint32_t page = 0; page < 256; page += 1 + round) {
            volatile uint32_t *data = (volatile uint32_t *)(0x30000000 + (page << 12));
            for (uint32_t i = 0; i < 24; i++)
                data[i * 5] += page;
            sum += data[round];
            MCR(0, 7, 14, 1, data);
            MCR(0, 7, 6, 1, data + 40);
            MCR(0, 8, 6, 1, data);
        }
    return sum;
}
#endif

#ifdef PAGES
static uint32_t small[4][256] __attribute__((aligned(1024)));
#endif

int main(void)
{
    mmu_start(CONTROL_DATA_CACHE | CONTROL_INSTRUCTION_CACHE | CONTROL);
#ifdef PAGES
    for (uint32_t i = 0; i < 1024; i++)
        small[i / 256][i % 256] = i << 12 | 0xffe;
    caches_flush();
    for (uint32_t i = 0; i < 4; i++)
        table[i] = (uint32_t)small[i] | 0x11;
    caches_flush();
    MCR(0, 8, 7, 0, 0);
#endif
    print_hex(run());
    return 0;
}
