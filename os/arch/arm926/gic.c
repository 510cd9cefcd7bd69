/*
 * The interrupt controller: version 1, one core, all interrupts of the same
 * priority, so that none interrupts another one. Source: ARM IHI 0048A.
 */
#include "board.h"

#define CONTROL 0x000
#define ENABLE 0x100
#define PRIORITY 0x400
#define TARGET 0x800

#define CPU_CONTROL 0x00
#define CPU_MASK 0x04
#define CPU_ACKNOWLEDGE 0x0c
#define CPU_END 0x10

void gic_init(void)
{
    REGISTER(GIC_DISTRIBUTOR + CONTROL) = 1;
    REGISTER(GIC_CPU + CPU_MASK) = 0xff;
    REGISTER(GIC_CPU + CPU_CONTROL) = 1;
}

void gic_enable(uint interrupt)
{
    volatile uchar *bytes = (volatile uchar *)GIC_DISTRIBUTOR;
    bytes[PRIORITY + interrupt] = 0x80;
    bytes[TARGET + interrupt] = 1;
    REGISTER(GIC_DISTRIBUTOR + ENABLE + interrupt / 32 * 4) =
        1u << interrupt % 32;
}

uint gic_begin(void)
{
    return REGISTER(GIC_CPU + CPU_ACKNOWLEDGE) & 0x3ff;
}

void gic_end(uint interrupt)
{
    REGISTER(GIC_CPU + CPU_END) = interrupt;
}
