/* Masking interrupts, in line: the kernel runs in supervisor mode, FIQs are
   never enabled. The compiler includes this first in each file of the kernel.
   */
#ifndef STATUS_H
#define STATUS_H

#ifndef __ASSEMBLER__
#include "types.h"

#define STATUS_SUPERVISOR 0x13
#define STATUS_NO_FIQ 0x40
#define STATUS_NO_IRQ 0x80

static inline void interrupts_on(void)
{
    __asm__ volatile("msr cpsr_c, %0" ::"I"(STATUS_SUPERVISOR | STATUS_NO_FIQ)
                     : "memory");
}

static inline void interrupts_off(void)
{
    __asm__ volatile("msr cpsr_c, %0" ::"I"(STATUS_SUPERVISOR | STATUS_NO_FIQ |
                                            STATUS_NO_IRQ)
                     : "memory");
}

static inline int interrupts_are_on(void)
{
    uint status;
    __asm__ volatile("mrs %0, cpsr" : "=r"(status)::"memory");
    return !(status & STATUS_NO_IRQ);
}

#endif
#endif
