/*
 * Descriptors of the translation tables, and the control register; for C and
 * assembly. Source: ARM DDI 0100E, B3; DDI 0198D, chapters 2 and 3.
 */
#ifndef MMU_H
#define MMU_H

/* First level: sections, for the kernel only (AP 01), domain 0. */
#define SECTION_KERNEL 0x41e            /* write-back */
#define SECTION_DEVICE 0x412            /* neither cached nor buffered */

/* First level: a coarse table; its domain is shifted in. Without these bits
   it is a fault, whatever address it keeps. */
#define COARSE 0x11
#define COARSE_KERNEL COARSE
#define COARSE_DOMAIN(domain) ((domain) << 5)
#define COARSE_ADDRESS(entry) ((entry) & ~0x3ffu)
#define COARSE_PAGES 256                /* that one table maps */

/* Second level: small pages, write-back. */
#define PAGE_KERNEL 0x55e               /* AP 01 */
#define PAGE_USER 0xffe                 /* AP 11: all may do all */
#define PAGE_ADDRESS(entry) ((entry) & ~0xfffu)

/* The control register: MMU and high vectors; data cache; instruction cache. */
#define CONTROL_ON 0x2001
#define CONTROL_DATA_CACHE 4
#define CONTROL_CODE_CACHE 0x1000

#define DOMAINS 16

#endif
