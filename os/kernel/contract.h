/*
 * Contracts that are checked where a function is entered: whether interrupts
 * are off or on, which lock is held, whether it may sleep. A kernel that is
 * built with CHECKS=1 panics with the function and what does not hold; in the
 * usual one nothing is left of these.
 */
#ifndef CONTRACT_H
#define CONTRACT_H

#include "lock.h"

#ifdef CHECKED
#define REQUIRES(fact) \
    ((fact) ? (void)0 : contract_broken(__func__, #fact))
#else
#define REQUIRES(fact) ((void)0)
#endif

#define requires_interrupts_off() REQUIRES(!interrupts_are_on())
#define requires_interrupts_on() REQUIRES(interrupts_are_on())
#define requires_lock(lock) REQUIRES(holding(lock))
#define requires_sleeplock(lock) REQUIRES(sleeplock_holding(lock))

/* A process runs, and no lock is held that keeps interrupts off. */
#define requires_sleep_allowed() REQUIRES(may_sleep())

/* contract.c */
void contract_broken(const char *function, const char *fact);
int may_sleep(void);

#endif
