/*
 * How much a plan wears its targets, before it is done. Erases are counted for
 * every block, in the order that pattern.c gives them; of writes to blocks and
 * files only the bytes count, for what spreads them is in the device.
 */
#include "target.h"

#include <stdlib.h>
#include <string.h>

#define DRAWS_MAX (UINT64_C(1) << 24)   /* of random places: seconds at most */
#define COUNT_MAX (UINT64_C(1) << 40)   /* so that no sum overflows */

static uint64_t at_most(uint64_t value, uint64_t most)
{
    return value < most ? value : most;
}

static uint64_t product(uint64_t a, uint64_t b)
{
    return b && a > UINT64_MAX / b ? UINT64_MAX : a * b;
}

static uint64_t sum(uint64_t a, uint64_t b)
{
    return a > UINT64_MAX - b ? UINT64_MAX : a + b;
}

/* Bytes of the places of a step in its range; what does not fit is cut off. */
static uint64_t places_of(const struct step *step, const struct target *target,
                          uint64_t size)
{
    uint64_t offset = step_number(step, "offset");
    uint64_t length = step_number(step, "length");

    if (size == 0 || offset > target->capacity)
        return 0;
    if (length == 0 || length > target->capacity - offset)
        length = target->capacity - offset;
    return length / size;
}

static void add_range(uint64_t *erased, uint64_t from, uint64_t blocks,
                      uint64_t cycles)
{
    erased[from] += cycles;
    erased[from + blocks] -= cycles;
}

static void add_erases(const struct step *step, struct target *target)
{
    static uint64_t draws;
    uint64_t size = step_number(step, "size"), places, count, each, rest, i;
    uint64_t first, blocks, state = step_number(step, "seed");
    char order = step_text(step, "order")[0];
    int is_random = strcmp(step_text(step, "order"), "random") == 0;

    size = size ? size : target->unit;
    places = places_of(step, target, size);
    if (places == 0 || size % target->unit)
        return;                 /* the step fails */
    if (target->erased == 0)
        target->erased = calloc((size_t)(target->capacity / target->unit) + 1,
                                sizeof *target->erased);
    if (target->erased == 0) {
        target->written = UINT64_MAX;
        return;
    }
    first = step_number(step, "offset") / target->unit;
    blocks = size / target->unit;
    count = step_number(step, "count");
    count = at_most(count ? count : places, COUNT_MAX);
    each = count / places;
    rest = count % places;
    if (is_random && count <= DRAWS_MAX - draws) {
        draws += count;
        for (i = 0; i < count; i++)
            add_range(target->erased, first
                      + splitmix64(&state) % places * blocks, blocks, 1);
    } else if (is_random) {     /* the worst that could be */
        add_range(target->erased, first, places * blocks, count);
    } else {
        add_range(target->erased, first, places * blocks, each);
        add_range(target->erased, first + (order == 'r' ? places - rest : 0)
                  * blocks, rest * blocks, 1);
    }
}

static uint64_t bytes_of(const struct step *step, const struct target *target)
{
    const char *name = step->operation->name, *phase = step_text(step, "phase");
    uint64_t size = step_number(step, "size");
    uint64_t count = step_number(step, "count");

    if (strcmp(name, "fs.tiobench") == 0)
        return strcmp(phase, "sequential_write") == 0
            ? product(step_number(step, "threads"), step_number(step, "length"))
            : strcmp(phase, "random_write") == 0
            ? product(product(step_number(step, "threads"), size),
                      step_number(step, "operations")) : 0;
    if (strstr(name, "write") == 0 && strcmp(name, "block.flush")
        && strcmp(name, "fs.fsync") && strcmp(name, "fs.create"))
        return 0;
    size = size ? size : target->unit;
    return product(size, count ? count : places_of(step, target, size));
}

void wear_add(const struct plan *plan)
{
    int i;

    for (i = 0; i < plan->step_count; i++) {
        const struct step *step = &plan->steps[i];
        struct target *target;

        if (!step_writes(step))
            continue;
        target = target_named(step_target(step))->worn;
        target->is_written = 1;
        if (target->capacity == 0)
            continue;           /* nothing is there, or nothing that wears */
        if (strcmp(step->operation->name, "mtd.erase") == 0)
            add_erases(step, target);
        else if (target->kind != 'm' || strncmp(step->operation->name, "mtd", 3))
            target->written = sum(target->written, bytes_of(step, target));
    }
}

uint64_t wear_cycles(const struct target *target)
{
    uint64_t most = 0, cycles = 0, i;

    for (i = 0; target->erased && i < target->capacity / target->unit; i++) {
        cycles += target->erased[i];
        most = cycles > most ? cycles : most;
    }
    if (target->capacity == 0)
        return 0;
    return sum(most, target->written / target->capacity
               + (target->written % target->capacity != 0));
}
