/*
 * Virtual memory.
 *
 *   0x00000000  32 MB of the running process, by FCSE at PID * 32 MB; a
 *               process beyond 32 MB, or without a slot, has PID 0 and may
 *               go up to KERNBASE
 *   0x02000000  slot of PID 1, of PID 2, ... 95
 *   0xC0000000  KERNBASE: all of RAM, straight
 *   0xF0000000  devices: 1 MB from physical 0x10000000, uncached
 *   0xFFFF0000  exception vectors
 */
#ifndef MEMLAYOUT_H
#define MEMLAYOUT_H

#define SLOT_SIZE 0x02000000u
#define SLOTS 95                        /* PID 1 to 95 */
#define KERNBASE 0xC0000000u
#define KERNEL_START (KERNBASE + 0x10000u)  /* of the kernel's image */
#define DEVICES 0xF0000000u             /* virtual */
#define DEVICES_PHYSICAL 0x10000000u
#define VECTORS 0xFFFF0000u
#define PAGE 4096u

#define V2P(a) ((uint)(a) - KERNBASE)
#define P2V(a) ((void *)((uint)(a) + KERNBASE))
#define PAGE_UP(a) (((uint)(a) + PAGE - 1) & ~(PAGE - 1))
#define PAGE_DOWN(a) ((uint)(a) & ~(PAGE - 1))

#endif
