/* Switching kernel stacks. */
    .syntax unified
    .arm
    .text

    .global swtch
/* void swtch(struct context **old, struct context *new): the context is what
   a call keeps, on the stack that is left; interrupts are off. */
swtch:
    push {r4-r11, lr}
    str sp, [r0]
    mov sp, r1
    pop {r4-r11, pc}
