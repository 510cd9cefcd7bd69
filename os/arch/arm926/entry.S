/*
 * The vectors, and the way into the kernel and out of it: one page, seen at
 * VECTORS, so that an exception needs no jump through memory.
 *
 * From user mode each exception builds a struct trapframe at the top of the
 * process's kernel stack, which is the stack of supervisor mode and empty while
 * a program runs. An interrupt of the kernel keeps what a call may change, on
 * the same stack. The other modes have no stack but a few words (r13 points
 * to them), which hold r0, the return address and the status until the
 * kernel's stack is reached. Handlers are called with interrupts off, and
 * come back so.
 */
#include "param.h"

    .syntax unified
    .arm

/* Of struct trapframe. */
    .equ FRAME_SP, 52
    .equ FRAME_LR, 56
    .equ FRAME_PC, 60
    .equ FRAME_PSR, 64
    .equ FRAME_SIZE, 72

    .section .vectors, "ax"
    .global vectors
vectors:
    b .                                 @ reset comes elsewhere
    b enter_undefined
    b enter_call
    b enter_prefetch_abort
    b enter_data_abort
    b .
    b enter_interrupt
    b .                                 @ no FIQ is ever enabled

/* A call, from a program: number in r7, arguments in r0 to r3. In the kernel
   it is a semihosting call that nobody serves. */
enter_call:
    sub sp, sp, #FRAME_SIZE
    str lr, [sp, #FRAME_PC]
    mrs lr, spsr
    tst lr, #15
    bne refuse_call
    str lr, [sp, #FRAME_PSR]
    stmia sp, {r0-r14}^
    mov r0, sp
    mov lr, pc
    ldr pc, =trap_call

/* To the program whose frame sp points to. */
leave:
    ldr lr, [sp, #FRAME_PSR]
    msr spsr_cxsf, lr
    ldr lr, [sp, #FRAME_PC]
    ldmia sp, {r0-r14}^
    nop                                 @ no banked register right behind it
    add sp, sp, #FRAME_SIZE
    movs pc, lr

    .global trap_return
/* void trap_return(void): to the program whose frame is at the top of this
   kernel stack. */
trap_return:
    msr cpsr_c, #0xd3
    mov r0, sp, lsr #12
    mov r0, r0, lsl #12
    add r0, r0, #KSTACKSIZE
    sub sp, r0, #FRAME_SIZE
    b leave

refuse_call:
    ldr lr, [sp, #FRAME_PC]
    add sp, sp, #FRAME_SIZE
    mvn r0, #0
    movs pc, lr

/* Leaves an exception's own mode: r0, the address to go on at, and the status
   go to the mode's words; r0 points to them then. Goes on in supervisor mode,
   at `kernel` if it came from there. */
    .macro leave_mode back, kernel
    .if \back
    sub lr, lr, #\back
    .endif
    stmia sp, {r0, lr}
    mrs r0, spsr
    str r0, [sp, #8]
    tst r0, #15
    mov r0, sp
    msr cpsr_c, #0xd3
    bne \kernel
    .endm

/* Builds the program's frame; r0 points to its words, and to the frame then. */
    .macro build_frame
    sub sp, sp, #FRAME_SIZE
    stmia sp, {r0-r14}^
    ldmia r0, {r1-r3}
    str r1, [sp]
    str r2, [sp, #FRAME_PC]
    str r3, [sp, #FRAME_PSR]
    mov r0, sp
    .endm

enter_interrupt:
    leave_mode 4, interrupt_of_kernel
    build_frame
    adr lr, leave
    ldr pc, =trap_interrupt_of_user

interrupt_of_kernel:
    sub sp, sp, #32                     @ psr r0 r1 r2 r3 r12 lr pc
    str lr, [sp, #24]
    add lr, sp, #8
    stmia lr, {r1-r3, r12}
    ldmia r0, {r1-r3}
    str r1, [sp, #4]
    str r2, [sp, #28]
    str r3, [sp]
    and r1, sp, #4                      @ calls want a multiple of 8
    sub sp, sp, r1
    push {r1, r2}
    mov lr, pc
    ldr pc, =trap_interrupt
    pop {r1, r2}
    add sp, sp, r1
    pop {r0}
    msr spsr_cxsf, r0
    ldmia sp!, {r0-r3, r12, lr, pc}^

    .ltorg
    .balign 32
    .global vectors_hot_end
vectors_hot_end:

/* A fault: of a program, for trap_fault(frame, number); of the kernel, for
   trap_kernel_fault(frame, number) on a stack of its own. That one comes back
   only if it was probe() that failed. */
    .macro enter_fault name, back, number
\name:
    leave_mode \back, 1f
    build_frame
    mov r1, #\number
    adr lr, leave
    ldr pc, =trap_fault
1:  str r1, [r0, #12]
    str sp, [r0, #16]
    str lr, [r0, #20]
    mov r1, #\number
    b fault_of_kernel
    .endm

    enter_fault enter_undefined, 0, 1
    enter_fault enter_prefetch_abort, 4, 3
    enter_fault enter_data_abort, 8, 4

fault_of_kernel:
    ldr sp, =fault_stack_end - FRAME_SIZE
    stmia sp, {r0-r12}
    ldr r2, [r0]
    str r2, [sp]
    ldr r2, [r0, #12]
    str r2, [sp, #4]
    ldr r2, [r0, #16]
    str r2, [sp, #FRAME_SP]
    ldr r2, [r0, #20]
    str r2, [sp, #FRAME_LR]
    ldr r2, [r0, #4]
    str r2, [sp, #FRAME_PC]
    ldr r2, [r0, #8]
    str r2, [sp, #FRAME_PSR]
    mov r0, sp
    mov lr, pc
    ldr pc, =trap_kernel_fault
    ldr lr, [sp, #FRAME_LR]
    ldr sp, [sp, #FRAME_SP]
    mov r0, #0
    bx lr

    .global probe, probe_access
/* int probe(volatile uint *at): 1 if memory answers there. Interrupts are off
   and registers are the caller's, so that a fault can simply return 0. */
probe:
    mov r1, r0
    mov r0, #1
probe_access:
    ldr r1, [r1]
    bx lr
    .ltorg