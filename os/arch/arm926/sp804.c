/* The timer of tick(): counts microseconds down, again and again. Source: ARM
   DDI 0271D, chapter 3; its clock on this board is 1 MHz. */
#include "board.h"
#include "kernel.h"

#define LOAD REGISTER(TIMER0 + 0x00)
#define CONTROL REGISTER(TIMER0 + 0x08)
#define CLEAR REGISTER(TIMER0 + 0x0c)

#define ON_PERIODIC_INTERRUPT_32 0xe2

void timer_init(uint microseconds)
{
    CONTROL = 0;
    LOAD = microseconds;
    CLEAR = 1;
    CONTROL = ON_PERIODIC_INTERRUPT_32;
    gic_enable(INTERRUPT_TIMER0);
}

void timer_served(void)
{
    CLEAR = 1;
}
