/* Numbers of exceptions, by the place of their vector. */
#ifndef TRAPS_H
#define TRAPS_H

#define T_UNDEFINED 1
#define T_SYSCALL 2
#define T_PREFETCH_ABORT 3
#define T_DATA_ABORT 4
#define T_IRQ 6
#define T_FIQ 7

#endif
