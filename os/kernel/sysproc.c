/* System calls on processes, and those of the evaluation (evaluate.h). */
#include "evaluate.h"
#include "kernel.h"
#include "proc.h"

int sys_fork(void)
{
    return fork();
}

int sys_exit(void)
{
    exit();
}

int sys_wait(void)
{
    return wait();
}

int sys_kill(void)
{
    int pid;

    argument(0, &pid);
    return kill(pid);
}

int sys_getpid(void)
{
    return cpu.proc->pid;
}

int sys_sbrk(void)
{
    uint old = cpu.proc->size;
    int bytes;

    argument(0, &bytes);
    return grow(bytes) < 0 ? -1 : (int)old;
}

int sys_sleep(void)
{
    int count;

    argument(0, &count);
    return count < 0 ? -1 : sleep_ticks(count);
}

int sys_uptime(void)
{
    return (int)ticks;
}

/* Its arguments are fetched in place: it is to be as short as can be. */
int sys_chg(void)
{
    const struct trapframe *frame = cpu.proc->frame;

    return chg((int)frame->r[0], (int)frame->r[1]);
}

int sys_priority(void)
{
    int pid, level;

    argument(0, &pid);
    argument(1, &level);
    return priority(pid, level);
}

int sys_yield(void)
{
    yield();
    return 0;
}

int sys_tune(void)
{
    int what, value;

    argument(0, &what);
    argument(1, &value);
    return tune(what, value);
}

int sys_counters(void)
{
    void *to;

    if (argument_pointer(0, &to, sizeof(struct counters)) < 0
        || (uint)to % sizeof(ulong64) != 0)
        return -1;
    count(to);
    return 0;
}

int sys_mark(void)
{
    int value;

    argument(0, &value);
    leds((uint)value);
    return 0;
}

int sys_halt(void)
{
    int code;

    argument(0, &code);
    machine_halt(code);
}

/* What a kernel whose arguments are on the stack does at any call: it
   fetches one from where the caller's stack pointer is said to be. */
int sys_badstack(void)
{
    int at, value;

    argument(0, &at);
    user_int((uint)at, &value);
    return -1;
}
