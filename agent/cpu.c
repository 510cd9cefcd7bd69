/*
 * What the CPU and the kernel take: memory, checksums, the clock, sleeping, and
 * switches between processes as lmbench's lat_ctx makes them.
 */
#include "agent.h"
#include "output.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

static const struct key memory_keys[] = {
    { "size", KEY_NUMBER, "1048576", 0, 1, 1u << 30 },
    { "count", KEY_NUMBER, "100", 0, 1, INT64_MAX },
    COMMON_KEYS, NO_MORE_KEYS
};
static const struct key timer_keys[] = {
    { "count", KEY_NUMBER, "100000", 0, 1, INT64_MAX },
    COMMON_KEYS, NO_MORE_KEYS
};

static void run_copy(const struct step *step, struct record *record)
{
    uint64_t count = step_number(step, "count"), i;
    size_t size = (size_t)step_number(step, "size");
    char *from = malloc(size), *to = malloc(size);

    if (from == 0 || to == 0) {
        record_fail(record, "no memory for 2 x %lu bytes", (unsigned long)size);
    } else {
        memset(from, 1, size);
        memset(to, 2, size);
        record_begin(record, step);
        for (i = 0; i < count && !record_stopped(record); i++) {
            uint64_t start = now_ns();

            memcpy(to, from, size);
            from[i % size] = to[i / 2 % size];
            record_operation(record, now_ns() - start, size);
        }
    }
    free(from);
    free(to);
}

static void run_timer(const struct step *step, struct record *record)
{
    uint64_t count = step_number(step, "count"), i, last = now_ns(), now;
    struct timespec resolution;

    for (i = 0; i < count && !record_stopped(record); i++) {
        last = now_ns();
        now = now_ns();
        record_operation(record, now - last, 0);
    }
    if (clock_getres(CLOCK_MONOTONIC, &resolution) == 0)
        record_number(record, "resolution_ns", (uint64_t)resolution.tv_nsec);
}

const struct operation cpu_operations[] = {
    { "cpu.copy", 0, memory_keys, run_copy },
    { "cpu.timer", 0, timer_keys, run_timer },
    { 0, 0, 0, 0 }
};
