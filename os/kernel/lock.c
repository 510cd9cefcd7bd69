/*
 * Spinlocks of a machine with one processor: interrupts are off while one is
 * held, so nobody can come and find it held. What is left of the lock finds
 * mistakes.
 *
 * push_off and pop_off nest. The outermost pop_off puts interrupts back as they
 * were and, when they were on, gives way to a process of a better level that
 * became runnable meanwhile: this is how a wakeup switches at once. What waits
 * for the processor until then comes before the switch.
 */
#include "contract.h"
#include "kernel.h"
#include "proc.h"

void push_off(void)
{
    int on = interrupts_are_on();

    interrupts_off();
    if (cpu.depth++ == 0)
        cpu.were_on = on;
}

void pop_off(void)
{
    requires_interrupts_off();
    if (cpu.depth < 1)
        panic("pop_off: interrupts are not held off");
    if (--cpu.depth > 0 || !cpu.were_on)
        return;
    if (cpu.wanted | cpu.late)
        preempt();
    interrupts_on();
}

void lock_init(struct spinlock *lock, const char *name)
{
    lock->held = 0;
    lock->name = name;
}

void acquire(struct spinlock *lock)
{
    push_off();
    if (lock->held)
        panic("acquire: held already");
    lock->held = 1;
}

void release(struct spinlock *lock)
{
    if (!lock->held)
        panic("release: not held");
    lock->held = 0;
    pop_off();
}

int holding(const struct spinlock *lock)
{
    return lock->held;
}
