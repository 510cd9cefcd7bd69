/*
 * What the evaluation asks of the kernel beyond xv6's calls.
 *
 * chg(pid, value): leaves value for process pid and switches to it: at once
 * (CHG_AT_ONCE), or at the next timer interrupt (CHG_AT_TICK), in which case the caller
 * waits in the kernel with a time slice of 0. Returns, when the caller runs again,
 * the value that was last left for it (0 if none); -1 if there is no such process.
 * priority(pid, level): 0 (first) to 7; returns the old one. tune: see below;
 * returns the old value, and sets the new one unless it is negative.
 * mark(value): shows value on the board's LEDs (SYS_LED), where instruments on the
 * outside see it; returns 0. halt(code): ends the machine. badstack(sp): traps into the
 * kernel with the stack pointer sp and arguments to be fetched from there: what xv6's
 * usertests do by hand; returns -1 or is killed.
 * yield(): lets others of its priority run.
 */
#ifndef EVALUATE_H
#define EVALUATE_H

#include "types.h"

enum tune {
    TUNE_FCSE,      /* new address spaces: 1 in slots, 0 with own tables */
    TUNE_TICK,      /* microseconds between timer interrupts */
    TUNE_SLICE,     /* ticks of a time slice */
    TUNE_CHG,       /* CHG_ */
    TUNE_LOCKDOWN,  /* 1: kernel's translations and a cache way are locked */
    TUNE_SLOTS      /* slots that may be used, 0 to SLOTS */
};

#define TICK_LEAST 100          /* below, nothing else would run */
#define TICK_MOST 10000000
#define SLICE_MOST 1000000

enum { CHG_AT_TICK, CHG_AT_ONCE };

/* Since boot. */
struct counters {
    ulong64 cycles;         /* of the core on the simulator; else of 24 MHz */
    uint frequency;         /* of cycles, in Hz */
    uint switches;          /* from a process to another one */
    uint flushes;           /* of these: with caches and TLB flushed */
    uint domains_taken;     /* domains taken from a process for another one */
    uint moved;             /* processes moved from a slot to an own table */
    uint ticks;             /* timer interrupts */
    uint calls;             /* system calls */
    uint blocks_read;       /* from the disk, into buffers */
    uint pages_free;        /* physical pages */
    uint pages_kernel;      /* pages of the kernel image and the RAM disk */
};

#endif
