/*
 * What every guest program has: a console and an exit by semihosting, exception handlers, CP15,
 * the MMU with 1 MB sections, the board's registers. No other library is linked but libgcc.
 */
#ifndef GUEST_H
#define GUEST_H

#include <stddef.h>
#include <stdint.h>

/* The program; its result is the exit code. In system mode, interrupts masked, MMU and caches off. */
int main(void);

/* Console (semihosting SYS_WRITE0) and the end of the run (SYS_EXIT_EXTENDED). */
void print(const char *text);
void print_unsigned(uint32_t value);
void print_hex(uint32_t value);
_Noreturn void finish(int code);
uint32_t semihost(uint32_t operation, const void *argument);

/* An interrupted program: changing `pc` changes where it goes on. */
struct frame {
    uint32_t r[13];
    uint32_t pc;
    uint32_t cpsr;
};

enum { UNDEFINED = 1, SOFTWARE_INTERRUPT, PREFETCH_ABORT, DATA_ABORT, IRQ = 6, FIQ };

/* By vector; where there is none, the exception is printed and the run ends with code 100 + vector.
   `pc` of a frame: after an undefined instruction or SWI the next instruction, after aborts and
   interrupts the instruction itself. */
extern void (*volatile on_exception[8])(struct frame *frame);

/* CP15. Operands are constants. */
#define MRC(op1, crn, crm, op2)                                                                   \
    ({                                                                                            \
        uint32_t value_;                                                                          \
        __asm__ volatile("mrc p15, " #op1 ", %0, c" #crn ", c" #crm ", " #op2                     \
                         : "=r"(value_)::"memory");                                               \
        value_;                                                                                   \
    })
#define MCR(op1, crn, crm, op2, value)                                                            \
    __asm__ volatile("mcr p15, " #op1 ", %0, c" #crn ", c" #crm ", " #op2 ::"r"(                  \
                         (uint32_t)(value))                                                       \
                     : "memory", "cc")

/* The first-level table, and descriptors of sections: full access for user and system, domain 0. */
extern uint32_t table[4096];
#define SECTION_CACHED (0xc1eu)        /* write-back */
#define SECTION_WRITE_THROUGH (0xc1au) /* write-through */
#define SECTION_BUFFERED (0xc16u)      /* uncached, buffered */
#define SECTION_UNCACHED (0xc12u)      /* uncached, unbuffered */
#define SECTION_PRIVILEGED (0x41eu)    /* write-back, no access for user mode */

enum { CONTROL_MMU = 1, CONTROL_ALIGNMENT = 2, CONTROL_DATA_CACHE = 4,
       CONTROL_INSTRUCTION_CACHE = 0x1000, CONTROL_HIGH_VECTORS = 0x2000,
       CONTROL_ROUND_ROBIN = 0x4000 };

/* Maps all memory one to one, 256 MB of RAM write-back and the rest uncached, domain 0 as client, and
   switches on the MMU with these further bits of the control register. */
void mmu_start(uint32_t control);
/* Maps the megabyte of `va` to that of `pa` with a SECTION_ value; drains the table to memory and
   drops what the TLB knew. */
void map(uint32_t va, uint32_t pa, uint32_t section);
/* Cleans and invalidates the data cache, invalidates the instruction cache. */
void caches_flush(void);

static inline void interrupts_on(void)
{
    __asm__ volatile("msr cpsr_c, #0x1f" ::: "memory");
}

static inline void interrupts_off(void)
{
    __asm__ volatile("msr cpsr_c, #0xdf" ::: "memory");
}

static inline void wait_for_interrupt(void)
{
    MCR(0, 7, 0, 4, 0);
}

/* The board. */
#define REGISTER(address) (*(volatile uint32_t *)(address))
#define SYS_24MHZ REGISTER(0x1000005c)
#define UART0 0x10009000u
#define TIMER0 0x10011000u
#define GIC_CPU 0x10040000u
#define GIC_DISTRIBUTOR 0x10041000u
#define INTERRUPT_TIMER0 36u

extern char free_memory[];

void *memset(void *to, int value, size_t length);
void *memcpy(void *to, const void *from, size_t length);

#endif
