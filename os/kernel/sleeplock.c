/*
 * Locks whose holder may sleep: for what lasts as long as a disk takes.
 * Interrupts are on while one is held. Not to be taken in an interrupt.
 */
#include "contract.h"
#include "kernel.h"
#include "proc.h"

void sleeplock_init(struct sleeplock *lock, const char *name)
{
    lock_init(&lock->lock, name);
    lock->name = name;
    lock->held = 0;
    lock->pid = 0;
}

void sleeplock_acquire(struct sleeplock *lock)
{
    requires_sleep_allowed();
    acquire(&lock->lock);
    while (lock->held)
        sleep(lock, &lock->lock);
    lock->held = 1;
    lock->pid = cpu.proc->pid;
    release(&lock->lock);
}

void sleeplock_release(struct sleeplock *lock)
{
    requires_sleep_allowed();
    acquire(&lock->lock);
    if (!lock->held)
        panic("sleeplock_release: not held");
    lock->held = 0;
    lock->pid = 0;
    wakeup(lock);
    release(&lock->lock);
}

int sleeplock_holding(struct sleeplock *lock)
{
    return lock->held && lock->pid == cpu.proc->pid;
}
