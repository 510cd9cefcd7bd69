/*
 * Lockdown: what a switch of processes needs of the kernel stays in the TLB and
 * in one way of each cache, whatever else runs. kernel.ld gathers it.
 *
 * The TLB keeps the kernel's first megabytes, the devices and the vectors in
 * its lockable part, which invalidating all spares. A cache way that is locked
 * is filled no more, but emptied like the others: so the caches are not
 * invalidated as a whole while this is on, and filled anew where that cannot be
 * helped. Source: ARM DDI 0198D, pages 2-28 to 2-33.
 */
#include "contract.h"
#include "kernel.h"
#include "lockdown.h"
#include "memlayout.h"

#define LINE 32
#define ONLY_FIRST_WAY 0xfffe           /* c9: the others are locked */
#define FIRST_WAY_LOCKED 0xfff1
#define NONE_LOCKED 0xfff0

extern char vectors[], vectors_hot_end[], hot_code[], hot_code_end[];
extern char hot_data[], hot_data_end[];

int lockdown_on;

static const uint translations[] = {
    KERNBASE, KERNBASE + 0x100000, KERNBASE + 0x200000, DEVICES, VECTORS,
};

#define TRANSLATIONS (sizeof translations / sizeof translations[0])

/* The next translation that is missing goes to lockable entry `victim`: that of
   `at`, which is the only one missing. The first one is that of this code. */
static void lock_translation(uint victim, uint at)
{
    uint value;
    push_off();
    __asm__ volatile("mcr p15, 0, %1, c10, c0, 0\n\t"
                     "mcr p15, 0, %2, c8, c7, 1\n\t"
                     "ldr %0, [%2]\n\t"
                     "mcr p15, 0, %3, c10, c0, 0"
                     : "=&r"(value)
                     : "r"(victim << 26 | 1), "r"(at), "r"(0)
                     : "memory");
    pop_off();
}

/* The code lies in one line, so that nothing but the line wanted is filled
   while only the first way is open. */
static void lock_code(const char *from, const char *to)
{
    for (; from < to; from += LINE) {
        push_off();
        __asm__ volatile("b 1f\n\t"
                         ".balign 32\n"
                         "1: mcr p15, 0, %0, c9, c0, 1\n\t"
                         "mcr p15, 0, %1, c7, c5, 1\n\t"
                         "mcr p15, 0, %1, c7, c13, 1\n\t"
                         "mcr p15, 0, %2, c9, c0, 1" ::"r"(ONLY_FIRST_WAY),
                         "r"(from), "r"(FIRST_WAY_LOCKED)
                         : "memory");
        pop_off();
    }
}

static void lock_data(const char *from, const char *to)
{
    uint value;
    for (; from < to; from += LINE) {
        push_off();
        __asm__ volatile("mcr p15, 0, %1, c9, c0, 0\n\t"
                         "mcr p15, 0, %2, c7, c14, 1\n\t"
                         "ldr %0, [%2]\n\t"
                         "mcr p15, 0, %3, c9, c0, 0"
                         : "=&r"(value)
                         : "r"(ONLY_FIRST_WAY), "r"(from),
                           "r"(FIRST_WAY_LOCKED)
                         : "memory");
        pop_off();
    }
}

void lockdown_renew(void)
{
    lock_code(vectors, vectors_hot_end);
    lock_code(hot_code, hot_code_end);
    lock_data(hot_data, hot_data_end);
}

static void unlock(void)
{
    requires_interrupts_on();
    for (uint i = 0; i < TRANSLATIONS; i++)
        __asm__ volatile("mcr p15, 0, %0, c8, c7, 1" ::"r"(translations[i])
                         : "memory");
    __asm__ volatile("mcr p15, 0, %0, c9, c0, 0\n\t"
                     "mcr p15, 0, %0, c9, c0, 1" ::"r"(NONE_LOCKED)
                     : "memory");
}

static void lock_all(void)
{
    requires_interrupts_on();
    for (uint i = 0; i < TRANSLATIONS; i++)
        lock_translation(i, translations[i]);
    lockdown_renew();
}

/* One process at a time: it takes longer than a time slice may. */
int lockdown_set(int value)
{
    requires_sleep_allowed();
    static struct sleeplock changing;

    sleeplock_acquire(&changing);
    int before = lockdown_on;
    if (value >= 0 && (value != 0) != before) {
        lockdown_on = value != 0;
        if (lockdown_on)
            lock_all();
        else
            unlock();
    }
    sleeplock_release(&changing);
    return before;
}
