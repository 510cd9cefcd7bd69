/* Where start.S goes: every part is started, then the first process. */
#include "kernel.h"
#include "proc.h"
#include "space.h"

extern char kernel_end[];

int main(void);

int option_number(const char *name, int usual)
{
    const char *text = option(name);
    int value = 0;
    if (!text || *text < '0' || *text > '9')
        return usual;
    for (; *text >= '0' && *text <= '9'; text++)
        value = value * 10 + (*text - '0');
    return value;
}

int main(void)
{
    machine_init();
    uart_init();
    console_init();
    alloc_init(kernel_end, P2V(memory_end()));
    space_init();
    bio_init();
    file_init();
    disk_init();
    proc_start_init();
    timer_init((uint)option_number("tick", TICK_MICROSECONDS));
    schedule_start();
}
