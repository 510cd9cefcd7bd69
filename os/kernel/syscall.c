/*
 * System calls: from the number in r7 to the function sys_NAME, and their
 * arguments in r0 to r3, the result in r0. Profilers know the array `syscalls`
 * by its name, and name the calls after its functions.
 *
 * Programs pass addresses that may be anything. What these functions have
 * accepted lies in the caller's memory, outside of its guard page, and stays
 * there during the call (a process has one thread), so that the kernel uses
 * such addresses directly.
 */
#include "contract.h"
#include "kernel.h"
#include "proc.h"

uint calls;

#define CALL(number, name) int sys_##name(void);
#include "syscall_table.h"
#undef CALL

#define CALL(number, name) [number] = sys_##name,
static int (*const syscalls[])(void) = {
#include "syscall_table.h"
};
#undef CALL

#define SYSCALLS (sizeof(syscalls) / sizeof(syscalls[0]))

void syscall(void)
{
    requires_sleep_allowed();
    struct proc *me = cpu.proc;
    uint number = me->frame->r[7];

    calls++;
    if (number < SYSCALLS && syscalls[number]) {
        me->frame->r[0] = (uint)syscalls[number]();
    } else {
        printf("%d %s: unknown system call %u\n", me->pid, me->name, number);
        me->frame->r[0] = (uint)-1;
    }
}

/* 1 if [at, at + bytes) is memory of the caller; an empty range must begin
   in it. */
int user_range(uint at, uint bytes)
{
    const struct proc *me = cpu.proc;
    uint guard = me->guard;

    if (at >= me->size || bytes > me->size - at)
        return 0;
    return guard == 0 || at >= guard + PAGE
        || (at < guard && bytes <= guard - at);
}

int user_int(uint at, int *value)
{
    if (at % sizeof(int) != 0 || !user_range(at, sizeof(int)))
        return -1;
    *value = *(const int *)at;
    return 0;
}

/* Its length without the zero that ends it, or -1 if none does. */
int user_string(uint at, char **value)
{
    const struct proc *me = cpu.proc;
    const char *text = (const char *)at, *end;

    if (!user_range(at, 0))
        return -1;
    end = (const char *)(at < me->guard ? me->guard : me->size);
    *value = (char *)at;
    for (; text < end; text++)
        if (*text == 0)
            return (int)(text - *value);
    return -1;
}

int argument(int number, int *value)
{
    *value = (int)cpu.proc->frame->r[number];
    return 0;
}

int argument_pointer(int number, void **value, int bytes)
{
    uint at = cpu.proc->frame->r[number];

    if (bytes < 0 || !user_range(at, (uint)bytes))
        return -1;
    *value = (void *)at;
    return 0;
}

int argument_string(int number, char **value)
{
    return user_string(cpu.proc->frame->r[number], value);
}
