/*
 * Start-up of a guest program, and its exception entries.
 *
 * All exceptions meet in one C function: void exception(unsigned number, struct frame *frame), which
 * finds the handler in `on_exception` (guest.h). The frame is r0 to r12, lr of the interrupted mode is
 * left alone, the address to return to, and the status to return to.
 */
    .syntax unified
    .arm

    .section .vectors, "ax"
    .global vectors
vectors:
    ldr pc, =start
    ldr pc, =enter_undefined
    ldr pc, =enter_software_interrupt
    ldr pc, =enter_prefetch_abort
    ldr pc, =enter_data_abort
    nop
    ldr pc, =enter_irq
    ldr pc, =enter_fiq
    .ltorg
    .global vectors_end
vectors_end:

    .section .text.start, "ax"
    .global start
/* void start(void): entered in supervisor mode with interrupts masked, MMU and caches off. */
start:
    msr cpsr_c, #0xd1
    ldr sp, =stack_fiq
    msr cpsr_c, #0xd2
    ldr sp, =stack_irq
    msr cpsr_c, #0xd7
    ldr sp, =stack_abort
    msr cpsr_c, #0xdb
    ldr sp, =stack_undefined
    msr cpsr_c, #0xd3
    ldr sp, =stack_supervisor
    msr cpsr_c, #0xdf
    ldr sp, =stack_system
    ldr r0, =bss_start
    ldr r1, =bss_end
    mov r2, #0
1:  cmp r0, r1
    strlo r2, [r0], #4
    blo 1b
    bl main
    bl finish
    .ltorg

/* Each entry: lr is corrected to where execution goes on by default, then the frame is made. */
    .macro entry name, number, correction
\name:
    .if \correction
    sub lr, lr, #\correction
    .endif
    sub sp, sp, #8
    stm sp, {lr}
    mrs lr, spsr
    str lr, [sp, #4]
    push {r0-r12}
    mov r0, #\number
    mov r1, sp
    bl exception
    ldr r0, [sp, #56]
    msr spsr_cxsf, r0
    pop {r0-r12}
    ldr lr, [sp]
    add sp, sp, #8
    movs pc, lr
    .endm

    entry enter_undefined, 1, 0
    entry enter_software_interrupt, 2, 0
    entry enter_prefetch_abort, 3, 4
    entry enter_data_abort, 4, 8
    entry enter_irq, 6, 4
    entry enter_fiq, 7, 4
    .ltorg
