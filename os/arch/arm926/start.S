/*
 * From the boot loader to main().
 *
 * Entered at its physical address, in supervisor mode with interrupts masked,
 * MMU and caches off, with nothing in caches and TLB, as a reset leaves them.
 * It clears .bss, makes the master table (256 MB of RAM at KERNBASE, the
 * devices, the vectors, and this code where it runs now), gives each mode its
 * stack, and switches on the instruction cache and the MMU.
 */
#include "memlayout.h"
#include "mmu.h"

    .syntax unified
    .arm

    .section .text.start, "ax"
    .global start
/* void start(void); */
start:
    msr cpsr_c, #0xd3
    mrc p15, 0, r1, c1, c0, 0
    orr r1, r1, #CONTROL_CODE_CACHE
    mcr p15, 0, r1, c1, c0, 0           @ needs no MMU
    mov r0, #0
    ldr r7, =KERNBASE
    ldr r1, =bss_start
    sub r1, r1, r7
    ldr r2, =bss_end
    sub r2, r2, r7
1:  cmp r1, r2
    strlo r0, [r1], #4
    blo 1b

    ldr r4, =master_table
    sub r4, r4, r7
    add r1, r4, #(KERNBASE >> 20) * 4
    ldr r2, =SECTION_KERNEL
    str r2, [r4]                        @ here, till main() takes it away
    add r3, r1, #256 * 4
2:  str r2, [r1], #4
    add r2, r2, #0x100000
    cmp r1, r3
    blo 2b
    ldr r1, =DEVICES >> 18
    ldr r2, =DEVICES_PHYSICAL + SECTION_DEVICE
    str r2, [r4, r1]
    ldr r1, =vectors_table
    sub r1, r1, r7
    add r2, r1, #COARSE_KERNEL
    ldr r3, =VECTORS >> 20 << 2
    str r2, [r4, r3]
    ldr r2, =vectors_physical + PAGE_KERNEL
    str r2, [r1, #(VECTORS >> 12 & 0xff) * 4]

    mcr p15, 0, r4, c2, c0, 0
    mov r1, #1                          @ client of domain 0, the kernel's
    mcr p15, 0, r1, c3, c0, 0
    mcr p15, 0, r0, c13, c0, 0          @ PID 0
    mrc p15, 0, r1, c1, c0, 0
    ldr r2, =CONTROL_ON
    orr r1, r1, r2
    mcr p15, 0, r1, c1, c0, 0
    ldr pc, =high

high:
    msr cpsr_c, #0xd2
    ldr sp, =irq_words
    msr cpsr_c, #0xd7
    ldr sp, =abort_words
    msr cpsr_c, #0xdb
    ldr sp, =undefined_words
    msr cpsr_c, #0xd3
    ldr sp, =boot_stack_end
    mov lr, #0
    ldr pc, =main
    .ltorg

    .bss
    .balign 16384
    .global master_table
/* uint master_table[4096]: first-level table of the kernel and the slots. */
master_table:
    .space 16384
/* uint vectors_table[256]: second-level table of the megabyte with VECTORS. */
    .balign 1024
vectors_table:
    .space 1024
    .balign 32
/* Where entry.S keeps what it cannot keep in registers, mode by mode. */
irq_words:
    .space 32
abort_words:
    .space 32
undefined_words:
    .space 32
    .space 2048
boot_stack_end:
    .space 2048
    .global fault_stack_end
fault_stack_end:
