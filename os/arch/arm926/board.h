/* Devices of the RealView EB board, as the kernel sees them, and what the
   files of arch/ tell each other. Source: ARM DUI 0303. */
#ifndef BOARD_H
#define BOARD_H

#include "memlayout.h"
#include "types.h"

#define DEVICE(physical) ((physical) - DEVICES_PHYSICAL + DEVICES)
#define REGISTER(address) (*(volatile uint *)(address))

#define SYS DEVICE(0x10000000)
#define SYS_LED REGISTER(SYS + 0x08)
#define SYS_24MHZ REGISTER(SYS + 0x5c)
#define UART0 DEVICE(0x10009000)
#define TIMER0 DEVICE(0x10011000)
#define GIC_CPU DEVICE(0x10040000)
#define GIC_DISTRIBUTOR DEVICE(0x10041000)

#define INTERRUPT_TIMER0 36
#define INTERRUPT_UART0 44

/* gic.c */
void gic_init(void);
void gic_enable(uint interrupt);
uint gic_begin(void);                   /* the interrupt that is served now */
void gic_end(uint interrupt);

/* sp804.c: its interrupt is served. */
void timer_served(void);

/* semihosting.c */
void semihosting_init(void);
int semihosting(uint operation, void *argument);    /* -1 if nobody serves */

/* entry.S */
int probe(volatile uint *at);
extern char probe_access[];

#endif
