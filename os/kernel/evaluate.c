/* What the evaluation sets and counts: see evaluate.h. */
#include "evaluate.h"
#include "kernel.h"
#include "proc.h"
#include "space.h"

extern char kernel_end[];       /* kernel.ld */

static int tick_period = TICK_MICROSECONDS;

/* The old value; sets a new one that lies in [least, most]. -1 for another
   one. */
static int exchange(int *place, int value, int least, int most)
{
    int old = *place;

    if (value < 0)
        return old;
    if (value < least || value > most)
        return -1;
    *place = value;
    return old;
}

static int set_tick(int value)
{
    int old = exchange(&tick_period, value, TICK_LEAST, TICK_MOST);

    if (old >= 0 && value >= 0)
        timer_init((uint)value);
    return old;
}

int tune(int what, int value)
{
    switch (what) {
    case TUNE_FCSE:
        return space_set_fcse(value);
    case TUNE_TICK:
        return set_tick(value);
    case TUNE_SLICE:
        return exchange(&slice_ticks, value, 1, SLICE_MOST);
    case TUNE_CHG:
        return exchange(&chg_mode, value, CHG_AT_TICK, CHG_AT_ONCE);
    case TUNE_LOCKDOWN:
        return space_set_lockdown(value);
    case TUNE_SLOTS:
        return space_set_slots(value);
    default:
        return -1;
    }
}

void count(struct counters *to)
{
    memset(to, 0, sizeof(*to));
    space_count(to);
    to->cycles = cycles_now();
    to->frequency = cycles_frequency();
    to->switches = switches;
    to->ticks = ticks;
    to->calls = calls;
    to->blocks_read = blocks_read;
    to->pages_free = pages_free();
    to->pages_kernel = (PAGE_UP(kernel_end) - KERNEL_START) / PAGE;
}
