/*
 * The pages of RAM behind the kernel: one bit each, set if it is free.
 *
 * Nothing is written into a free page, and none is in a cache by any address:
 * so whoever gets one may map it anywhere without maintenance. page_free() sees
 * to that for a page that the kernel used; a page of a program is given back by
 * page_return() once its lines are gone. Single pages come from the lowest free
 * place, groups of four from the highest one, so that they seldom get in each
 * other's way. Locked inside; any context may call.
 */
#include "contract.h"
#include "kernel.h"

#define MOST (256u << 20)               /* bytes of RAM that are known of */
#define WORDS (MOST / PAGE / 32)

static struct {
    struct spinlock lock;
    uint free[WORDS];           /* bit n % 32 of word n / 32: physical page n */
    uint words[WORDS / 32];     /* bit n % 32 of word n / 32: of free[n] */
    uint count;                 /* free pages */
} pool = {.lock = {0, "alloc"}};

static void put(uint number)
{
    uint word = number / 32;
    pool.free[word] |= 1u << number % 32;
    pool.words[word / 32] |= 1u << word % 32;
    pool.count++;
}

static void *take(uint word, uint bit, uint pages)
{
    requires_lock(&pool.lock);
    pool.free[word] &= ~(((1u << pages) - 1) << bit);
    if (!pool.free[word])
        pool.words[word / 32] &= ~(1u << word % 32);
    pool.count -= pages;
    return P2V((word * 32 + bit) * PAGE);
}

void alloc_init(void *from, void *to)
{
    uint end = V2P(to) / PAGE;
    for (uint number = V2P(from) / PAGE; number < end; number++)
        put(number);
}

void *page_alloc(void)
{
    void *page = 0;
    acquire(&pool.lock);
    for (uint i = 0; i < WORDS / 32; i++)
        if (pool.words[i]) {
            uint word = i * 32 + (uint)__builtin_ctz(pool.words[i]);
            uint bit = (uint)__builtin_ctz(pool.free[word]);
            page = take(word, bit, 1);
            break;
        }
    release(&pool.lock);
    return page;
}

/* Four free neighbours in this word. */
static void *take_4(uint word)
{
    requires_lock(&pool.lock);
    for (uint bit = 0; bit < 32; bit += 4)
        if ((pool.free[word] >> bit & 15) == 15)
            return take(word, bit, 4);
    return 0;
}

/* The lock is given back at each word: with little memory it is a long way. */
void *pages_alloc_4(void)
{
    void *pages = 0;
    for (uint word = WORDS; word-- > 0 && !pages;)
        if (pool.free[word]) {
            acquire(&pool.lock);
            pages = take_4(word);
            release(&pool.lock);
        }
    return pages;
}

void page_return(void *page)
{
    uint number = V2P(page) / PAGE;
    acquire(&pool.lock);
    if (pool.free[number / 32] >> number % 32 & 1)
        panic("page_return: page is free already");
    put(number);
    release(&pool.lock);
}

void page_free(void *page)
{
    page_forget(page);
    page_return(page);
}

uint pages_free(void)
{
    return pool.count;
}
