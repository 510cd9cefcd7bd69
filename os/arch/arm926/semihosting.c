/*
 * What a host outside of the machine does for the kernel: options, cycles, the
 * end of the run. Without a host that serves such calls (a semihosting call
 * comes back as an exception, and returns -1) there are no options, the board's
 * clock of 24 MHz counts, and the end is a sleep. Source: ARM DUI 0203J,
 * chapter 8.
 */
#include "board.h"
#include "kernel.h"

#define SYS_GET_CMDLINE 0x15
#define SYS_EXIT_EXTENDED 0x20
#define SYS_ELAPSED 0x30
#define SYS_TICKFREQ 0x31

#define APPLICATION_EXIT 0x20026
#define BOARD_CLOCK 24000000u
/* A host with this rate counts its own nanoseconds, not our cycles. */
#define NANOSECONDS 1000000000u

static char words[256];         /* a command line, its spaces made zeros */
static uint words_end;          /* bytes of it */
static uint frequency;          /* of cycles_now() */
static int host_counts;         /* the host knows the cycles */
static ulong64 board_count;     /* of the board's clock, all bits */

int semihosting(uint operation, void *argument)
{
    register uint r0 __asm__("r0") = operation;
    register void *r1 __asm__("r1") = argument;
    __asm__ volatile("svc 0x123456" : "+r"(r0) : "r"(r1) : "memory", "lr");
    return (int)r0;
}

static void read_words(void)
{
    uint block[2] = {(uint)words, sizeof words};
    if (semihosting(SYS_GET_CMDLINE, block) != 0)
        return;
    words_end = block[1] < sizeof words ? block[1] : sizeof words - 1;
    for (uint i = 0; i < words_end; i++)
        if (words[i] == ' ')
            words[i] = 0;
    words[words_end] = 0;
}

void semihosting_init(void)
{
    read_words();
    int rate = semihosting(SYS_TICKFREQ, 0);
    host_counts = rate != -1 && (uint)rate != NANOSECONDS;
    frequency = host_counts ? (uint)rate : BOARD_CLOCK;
}

const char *command_word(uint number)
{
    uint at = 0;
    while (at < words_end && number-- > 0)
        at += strlen(words + at) + 1;
    return at < words_end ? words + at : 0;
}

/* The board's clock has 32 bits and turns over every 179 seconds: who counts
   by it asks more often than that. */
ulong64 cycles_now(void)
{
    ulong64 cycles;
    push_off();
    if (host_counts) {
        semihosting(SYS_ELAPSED, &cycles);
    } else {
        board_count += SYS_24MHZ - (uint)board_count;
        cycles = board_count;
    }
    pop_off();
    return cycles;
}

uint cycles_frequency(void)
{
    return frequency;
}

void machine_halt(int code)
{
    uint block[2] = {APPLICATION_EXIT, (uint)code};
    interrupts_off();
    semihosting(SYS_EXIT_EXTENDED, block);
    for (;;)
        wait_for_interrupt();
}
