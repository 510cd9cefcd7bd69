/* Where start.S goes: every part is started, then the first process. */
#include "evaluate.h"
#include "kernel.h"
#include "proc.h"
#include "space.h"

extern char kernel_end[];

int main(void);

int main(void)
{
    machine_init();
    uart_init();
    console_init();
    options_init();
    alloc_init(kernel_end, P2V(memory_end()));
    space_init();
    bio_init();
    file_init();
    disk_init();
    proc_start_init();
    tune(TUNE_TICK, option("tick"));
    schedule_start();
}
