/*
 * What the kernel asks of the machine: implemented in arch/arm926/, and nothing
 * else of it is known in kernel/.
 */
#ifndef MACHINE_H
#define MACHINE_H

#include "types.h"

/* A program that was interrupted, at the top of its kernel stack; built in
   entry.S. */
struct trapframe {
    uint r[13];
    uint sp, lr;            /* of user mode */
    uint pc;
    uint psr;
    uint unused;            /* keeps the stack a multiple of 8 */
};

/* A kernel thread that is not running: what a call keeps. Built by swtch. */
struct context {
    uint r4, r5, r6, r7, r8, r9, r10, r11;
    uint lr;
};

/* Saves the running context at *old, goes on with new. Interrupts are off. */
void swtch(struct context **old, struct context *new);

/* Returns to the program of the frame at the top of this kernel stack, whose
   KSTACKSIZE bytes are a page. */
void trap_return(void) __attribute__((noreturn));

/* A frame for a program that starts at pc with its stack at sp. */
void frame_init(struct trapframe *frame, uint pc, uint sp);
int frame_is_user(const struct trapframe *frame);

/* trap.c (arch): calls syscall() with interrupts on, tick() and
   console_interrupt() with interrupts off; a program's fault kills it. Sets
   the process's frame before syscall(), and calls exit() on the way back to a
   program that was killed. */
/* The core. */
void interrupts_on(void);
void interrupts_off(void);
int interrupts_are_on(void);
void wait_for_interrupt(void);          /* returns with interrupts as before */

/* A page that the kernel used is free from now on: nothing of it may stay in
   a cache. For page_free(). */
void page_forget(void *page);

/* The board. */
void machine_init(void);
void uart_init(void);
void uart_put(int c);                   /* waits for room */
int uart_get(void);                     /* -1 if nothing came */
void uart_listen(int on);
void timer_init(uint microseconds);     /* period of tick() */
ulong64 cycles_now(void);
uint cycles_frequency(void);
void leds(uint value);
void machine_halt(int code) __attribute__((noreturn));
uint memory_end(void);                  /* physical, behind the last byte */

/* The words of the command line, by their number; 0 behind the last one. */
const char *command_word(uint number);

/* Memory card: 0 if there is none, else 512-byte blocks. */
uint card_init(void);
int card_read(uint block, void *to);    /* 0, or -1 */
int card_write(uint block, const void *from);

#endif
