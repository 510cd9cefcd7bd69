/*
 * Finds out the caches and the TLB of the core by timing alone: no ID register is read, and nothing of
 * what is looked for is known here but that sizes are powers of two.
 *
 * Loads follow a list through memory, so that each waits for the one before; what a step takes on
 * average tells whether the list's lines (or pages) stay in the cache (or TLB). On the instruction side the
 * list is one of branches. The clock ticks 24 million times a second, so each time is that of thousands
 * of steps.
 *
 *   line   two places at a distance in each of many blocks: they cost twice as much when the
 *          distance is a line
 *   size   the longest list of neighbouring lines that stays
 *   ways   the most lines that stay at a distance of the whole size, which all go to one set
 *   TLB    the most neighbouring pages that cost no more than the same lines in one section; then how many
 *          more if the rest are locked
 *
 * WRITE_THROUGH and ROUND_ROBIN say how the memory is mapped and the caches replace; the search does not know.
 * Prints a line for each: what it is, and the number, 0 for what was not found (as on an emulator without
 * caches, whose numbers mean nothing). The exit code is 0 when the run came to its end.
 */
#include "guest.h"

#ifdef WRITE_THROUGH
#define SECTION SECTION_WRITE_THROUGH
#define SMALL_PAGE 0xffau
#else
#define SECTION SECTION_CACHED
#define SMALL_PAGE 0xffeu
#endif

#ifdef ROUND_ROBIN
#define REPLACEMENT CONTROL_ROUND_ROBIN
#else
#define REPLACEMENT 0
#endif

#define KIB 1024u
#define MIB (1024u * KIB)

/* Where lists lie: 16 MB of memory, and 1 MB of it again as pages and as a section. */
#define LISTS (16 * MIB)
#define PAGED 0x40000000u
#define WHOLE 0x50000000u

#define LARGEST_LINE 256u
#define LARGEST_CACHE (512 * KIB)
#define MOST_WAYS 32u
#define MOST_PAGES 128u
#define MOST_LOCKED 16u
#define PAGE (4 * KIB)

static uint32_t pages[256] __attribute__((aligned(1024)));

/* A list, on one of the two sides: `take` goes round it so many times, more or less. */
struct side {
    void (*link)(uint32_t at, uint32_t next);
    void (*close)(uint32_t at, uint32_t first);
    void (*take)(uint32_t first, uint32_t steps);
};

/* Follows a list of loads for `steps` steps. The loop lies in one line, so that nothing is fetched. */
static __attribute__((noinline)) void load_steps(uint32_t first, uint32_t steps)
{
    uint32_t left = (steps + 3) / 4;
    __asm__ volatile("b 1f\n\t"
                     ".balign 32\n"
                     "1:\tldr %0, [%0]\n\t"
                     "ldr %0, [%0]\n\t"
                     "ldr %0, [%0]\n\t"
                     "ldr %0, [%0]\n\t"
                     "subs %1, %1, #1\n\t"
                     "bne 1b\n\t"
                     : "+r"(first), "+r"(left)::"cc", "memory");
}

static void load_link(uint32_t at, uint32_t next)
{
    REGISTER(at) = next;
}

/* A branch to the next place; at the end of the list r0 counts the rounds. */
static void branch_link(uint32_t at, uint32_t next)
{
    REGISTER(at) = 0xea000000u | ((next - at - 8) >> 2 & 0xffffffu);
}

static void branch_close(uint32_t at, uint32_t first)
{
    REGISTER(at) = 0xe2500001u;                                              /* subs r0, r0, #1 */
    REGISTER(at + 4) = 0x1a000000u | ((first - at - 12) >> 2 & 0xffffffu); /* bne first */
    REGISTER(at + 8) = 0xe12fff1eu;                                          /* bx lr */
}

static uint32_t branches; /* places of the list of branches */

static void branch_steps(uint32_t first, uint32_t steps)
{
    ((void (*)(uint32_t))first)(steps / branches + 1);
}

static const struct side data = {load_link, load_link, load_steps};
static const struct side instructions = {branch_link, branch_close, branch_steps};

static uint32_t ticks(const struct side *side, uint32_t first, uint32_t steps)
{
    uint32_t before = SYS_24MHZ;
    side->take(first, steps);
    return SYS_24MHZ - before;
}

/* The mean time of a step, in 65536ths of a tick, once the list has been gone round `warm` times: the difference of a
   long walk and a short one, so that what the beginning costs does not count. */
static uint32_t time(const struct side *side, uint32_t first, uint32_t count, uint32_t warm)
{
    uint32_t steps = count * 4;
    if (steps < 8192)
        steps = 8192;
    branches = count;
    side->take(first, count * warm);
    uint32_t begin = ticks(side, first, steps);
    uint32_t all = ticks(side, first, 3 * steps);
    return all > begin ? (uint32_t)(((uint64_t)(all - begin) << 16) / (2 * steps)) + 1 : 1;
}

/* A list of `count` places, `stride` apart. */
static uint32_t time_strided(const struct side *side, uint32_t count, uint32_t stride)
{
    uint32_t at = LISTS;
    for (uint32_t left = count; left > 1; left--, at += stride)
        side->link(at, at + stride);
    side->close(at, LISTS);
    caches_flush();
    return time(side, LISTS, count, 16);
}

/* Blocks of 1 KB, more than any cache holds, with two places each. */
static uint32_t time_blocks(const struct side *side, uint32_t distance)
{
    uint32_t count = 2 * MIB / KIB;
    for (uint32_t block = 0; block < count; block++) {
        uint32_t at = LISTS + block * KIB;
        side->link(at, at + distance);
        if (block + 1 < count)
            side->link(at + distance, at + KIB);
        else
            side->close(at + distance, LISTS);
    }
    caches_flush();
    return time(side, LISTS, 2 * count, 1);
}

/* Whether `measured` is more than `percent` of `base`. */
static int exceeds(uint32_t measured, uint32_t base, uint32_t percent)
{
    return (uint64_t)measured * 100 > (uint64_t)base * percent;
}

static uint32_t find_line(const struct side *side)
{
    uint32_t together = time_blocks(side, 4);
    for (uint32_t distance = 8; distance <= LARGEST_LINE; distance *= 2)
        if (exceeds(time_blocks(side, distance), together, 150))
            return distance;
    return 0;
}

static uint32_t find_size(const struct side *side, uint32_t line)
{
    uint32_t hit = time_strided(side, 8, line);
    for (uint32_t size = KIB; size <= LARGEST_CACHE; size *= 2)
        if (exceeds(time_strided(side, size / line, line), hit, 120))
            return size / 2;
    return 0;
}

static uint32_t find_ways(const struct side *side, uint32_t line, uint32_t size)
{
    for (uint32_t count = 2; count <= MOST_WAYS; count++)
        if (exceeds(time_strided(side, count, size), time_strided(side, count, line), 120))
            return count - 1;
    return 0;
}

static uint32_t find(const char *name, const struct side *side)
{
    uint32_t line = find_line(side);
    uint32_t size = line ? find_size(side, line) : 0;
    uint32_t ways = size ? find_ways(side, line, size) : 0;
    print(name);
    print(" line ");
    print_unsigned(line);
    print("\n");
    print(name);
    print(" size ");
    print_unsigned(size);
    print("\n");
    print(name);
    print(" ways ");
    print_unsigned(ways);
    print("\n");
    return line;
}

/* The place in page `number` of a list of lines that lie apart in any cache. */
static uint32_t in_page(uint32_t number, uint32_t line)
{
    return number * PAGE + number * line % PAGE;
}

/* The same memory by small pages and as one section. */
static void map_pages(void)
{
    for (uint32_t i = 0; i < 256; i++)
        pages[i] = (LISTS + i * PAGE) | SMALL_PAGE;
    table[PAGED >> 20] = (uint32_t)pages | 0x11u;
    map(WHOLE, LISTS, SECTION);
    caches_flush();
    MCR(0, 8, 7, 0, 0);
}

/* The time of a step over `count` pages from `base` on, of which the last `locked` are locked in the TLB. */
static uint32_t time_pages(uint32_t base, uint32_t count, uint32_t line, uint32_t locked)
{
    caches_flush();
    for (uint32_t i = 0; i < count; i++)
        REGISTER(base + in_page(i, line)) = base + in_page(i + 1 < count ? i + 1 : 0, line);
    caches_flush();
    for (uint32_t i = 0; i < count; i++)
        MCR(0, 8, 7, 1, base + i * PAGE);
    MCR(0, 8, 7, 0, 0);
    if (locked) {
        load_steps(base, 4); /* so that nothing but the pages is looked up below */
        MCR(0, 10, 0, 0, 1);
        for (uint32_t i = count - locked; i < count; i++)
            REGISTER(base + in_page(i, line));
        MCR(0, 10, 0, 0, 0);
    }
    return time(&data, base, count, 16);
}

/* Whether so many pages cost more than their lines do in a section. */
static int misses(uint32_t count, uint32_t line, uint32_t locked)
{
    uint32_t whole = time_pages(WHOLE, count, line, 0);
    return exceeds(time_pages(PAGED, count, line, locked), whole, 101);
}

static void find_pages(uint32_t line)
{
    map_pages();
    uint32_t most = 0;
    for (uint32_t step = MOST_PAGES / 2; step; step /= 2)
        if (!misses(most + step, line, 0))
            most += step;
    if (most == MOST_PAGES - 1)
        most = 0;
    uint32_t locked = 0;
    while (most && locked < MOST_LOCKED && !misses(most + locked + 1, line, locked + 1))
        locked++;
    print("tlb entries ");
    print_unsigned(most);
    print("\ntlb lockable ");
    print_unsigned(locked < MOST_LOCKED ? locked : 0);
    print("\n");
}

int main(void)
{
    mmu_start(CONTROL_DATA_CACHE | CONTROL_INSTRUCTION_CACHE | REPLACEMENT);
    for (uint32_t at = LISTS; at < 2 * LISTS; at += MIB)
        map(at, at, SECTION);
    uint32_t line = find("data", &data);
    find("instruction", &instructions);
    find_pages(line ? line : 32);
    return 0;
}
