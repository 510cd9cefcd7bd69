/* The core: awaiting interrupts, frames of programs. */
#include "kernel.h"

#define MODE_USER 0x10

/* The core wakes up even if interrupts are off. */
void wait_for_interrupt(void)
{
    __asm__ volatile("mcr p15, 0, %0, c7, c0, 4" ::"r"(0) : "memory");
}

void frame_init(struct trapframe *frame, uint pc, uint sp)
{
    memset(frame, 0, sizeof *frame);
    frame->pc = pc;
    frame->sp = sp;
    frame->psr = MODE_USER | STATUS_NO_FIQ;
}

int frame_is_user(const struct trapframe *frame)
{
    return (frame->psr & 0x1f) == MODE_USER;
}
