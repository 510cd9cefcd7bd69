/* The board as a whole: what there is of memory, lights, and starting up. */
#include "board.h"
#include "cp15.h"
#include "contract.h"
#include "kernel.h"

#define MEGABYTE 0x100000u
#define MOST 256            /* megabytes that start.S maps */

extern char kernel_end[];

static uint megabytes;      /* of memory */

/* Whether a word of memory keeps what is written: where there is none, the bus
   answers with an error, or (QEMU) with zeros. */
static int is_memory(volatile uint *at)
{
    requires_interrupts_off();
    if (!probe(at))
        return 0;
    uint before = *at;
    *at = ~before;
    int kept = *at == ~before;
    *at = before;
    return kept;
}

/* The data cache comes on after memory was tried out, so that a free page has
   no lines. */
void machine_init(void)
{
    megabytes = (V2P(kernel_end) + MEGABYTE - 1) / MEGABYTE;
    while (megabytes < MOST && is_memory(P2V(megabytes * MEGABYTE)))
        megabytes++;
    data_cache_on();
    gic_init();
    semihosting_init();
}

void leds(uint value)
{
    SYS_LED = value;
}

uint memory_end(void)
{
    return megabytes * MEGABYTE;
}
