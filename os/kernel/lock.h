/*
 * Locks: a spinlock keeps interrupts off (there is one processor, so that alone
 * keeps others out; holding one twice is a panic); a sleep lock lets its holder
 * sleep.
 */
#ifndef LOCK_H
#define LOCK_H

#include "types.h"

struct spinlock {
    int held;
    const char *name;       /* for people */
};

struct sleeplock {
    int held;
    struct spinlock lock;   /* over this structure */
    const char *name;       /* for people */
    int pid;                /* holder */
};

void lock_init(struct spinlock *lock, const char *name);
void acquire(struct spinlock *lock);
void release(struct spinlock *lock);
int holding(const struct spinlock *lock);
void push_off(void);
void pop_off(void);

void sleeplock_init(struct sleeplock *lock, const char *name);
void sleeplock_acquire(struct sleeplock *lock);
void sleeplock_release(struct sleeplock *lock);
int sleeplock_holding(struct sleeplock *lock);

#endif
