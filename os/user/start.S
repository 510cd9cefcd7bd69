/* Where a program begins: exec leaves argc in r0 and argv in r1. */

    .section .text.start, "ax"
    .arm

/* void start(int argc, char **argv); */
    .global start
    .type start, %function
start:
    bl main
    bl exit
