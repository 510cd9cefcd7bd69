/*
 * malloc and free. Memory is a row of blocks, each of which knows its own size
 * and that of the one before it, so that freeing joins neighbours at once.
 * Free blocks are in lists by size: list n has those of 2^n bytes up to twice
 * that. A block is a multiple of 8 bytes at a multiple of 8, which LDRD and
 * STRD need. Memory that was once taken from the system is not given back.
 */
#include "types.h"
#include "user.h"

struct block {
    uint bytes;             /* of it, with this header; + USED */
    uint before;            /* bytes of the block before it; 0: none */
    struct block *next;     /* in the list, if it is free: */
    struct block *prev;     /* here begins what a program gets */
};

#define USED 1u
#define HEADER 8u           /* bytes before what a program gets */
#define LEAST sizeof(struct block)
#define GROWTH 32768u       /* least that is asked of the system */
#define LISTS 32

static struct block *lists[LISTS];
static struct block *end;   /* behind all others, a header only; 0: none yet */

static struct block *behind(const struct block *block)
{
    return (struct block *)((char *)block + (block->bytes & ~USED));
}

static uint list_of(uint bytes)
{
    return 31 - (uint)__builtin_clz(bytes);
}

static void put(struct block *block, uint bytes)
{
    struct block **list = &lists[list_of(bytes)];

    block->bytes = bytes;
    behind(block)->before = bytes;
    block->prev = 0;
    block->next = *list;
    if (*list)
        (*list)->prev = block;
    *list = block;
}

static void take(struct block *block)
{
    if (block->prev)
        block->prev->next = block->next;
    else
        lists[list_of(block->bytes)] = block->next;
    if (block->next)
        block->next->prev = block->prev;
}

/* A block becomes free, together with free neighbours. */
static void join(struct block *block)
{
    struct block *after = behind(block);
    uint bytes = block->bytes & ~USED;

    if (!(after->bytes & USED)) {
        take(after);
        bytes += after->bytes;
    }
    if (block->before > 0) {
        struct block *left = (struct block *)((char *)block - block->before);

        if (!(left->bytes & USED)) {
            take(left);
            bytes += left->bytes;
            block = left;
        }
    }
    put(block, bytes);
}

/* Another block at the end of memory; what was the end becomes part of it,
   unless the program itself has taken memory in between. */
static int get_more(uint bytes)
{
    uint top = (uint)sbrk(0);
    uint pad = (8 - top % 8) % 8;
    uint ask = (bytes < GROWTH ? GROWTH : bytes) + HEADER + pad;
    struct block *block = end;

    if ((int)bytes < 0 || (int)ask < 0 || sbrk((int)ask) == (char *)-1)
        return -1;
    if (block == 0 || (uint)block + HEADER != top) {
        block = (struct block *)(top + pad);
        block->before = 0;
    }
    end = (struct block *)(top + ask - HEADER);
    end->bytes = USED;
    block->bytes = (uint)end - (uint)block;
    join(block);
    return 0;
}

/* In the list of its size not each block is large enough; in the others
   each is. */
static struct block *find(uint bytes)
{
    for (uint list = list_of(bytes); list < LISTS; list++)
        for (struct block *block = lists[list]; block; block = block->next)
            if (block->bytes >= bytes)
                return block;
    return 0;
}

void *malloc(uint bytes)
{
    uint need = (bytes + HEADER + 7) & ~7u;
    struct block *block;
    uint all;

    if (need < bytes)
        return 0;
    if (need < LEAST)
        need = LEAST;
    while ((block = find(need)) == 0)
        if (get_more(need) < 0)
            return 0;
    take(block);
    all = block->bytes;
    if (all - need >= LEAST) {
        block->bytes = need;
        behind(block)->before = need;
        put(behind(block), all - need);
        all = need;
    }
    block->bytes = all | USED;
    return (char *)block + HEADER;
}

void free(void *place)
{
    if (place)
        join((struct block *)((char *)place - HEADER));
}
