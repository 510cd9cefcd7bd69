/*
 * How much a plan wears its targets, before it is done. Erases are counted for every block, in the
 * order that pattern.c gives them; of writes to blocks and files only the bytes count, for what
 * spreads them is in the device. Counts are doubles: they are exact up to 2^53, and no plan makes
 * them overflow.
 */
#include "target.h"

#define DRAWS_MAX (UINT64_C(1) << 24) /* of random places: seconds at most */
#define BEYOND 1e30                   /* more cycles than anybody allows */

static void add_range(struct target *target, uint64_t from, uint64_t blocks, double cycles)
{
    target->erased[from] += cycles;
    target->erased[from + blocks] -= cycles;
}

static void add_erases(const struct step *step, struct target *target)
{
    struct pattern pattern = pattern_of(step, target->capacity, target->unit);
    uint64_t first = pattern.offset / target->unit, blocks = pattern.size / target->unit;
    static uint64_t draws;
    uint64_t rest = pattern.places ? pattern.count % pattern.places : 0, at;

    if (pattern.places == 0 || pattern.size % target->unit)
        return; /* the step fails */
    if (target->erased == 0)
        target->erased =
            calloc((size_t)(target->capacity / target->unit) + 1, sizeof *target->erased);
    if (target->erased == 0) {
        target->written = BEYOND * (double)target->capacity;
        return;
    }
    if (pattern.order != 'x') {
        add_range(target, first, pattern.places * blocks, (double)(pattern.count / pattern.places));
        if (pattern.order == 'r')
            first += (pattern.places - rest) * blocks;
        add_range(target, first, rest * blocks, 1);
    } else if (pattern.count <= DRAWS_MAX - draws) {
        draws += pattern.count;
        while (pattern_next(&pattern, &at))
            add_range(target, at / target->unit, blocks, 1);
    } else { /* the worst that could be */
        add_range(target, first, pattern.places * blocks, (double)pattern.count);
    }
}

static double bytes_of(const struct step *step, const struct target *target)
{
    struct pattern pattern = pattern_of(step, target->capacity, target->unit);
    const char *name = step->operation->name, *phase = step_text(step, "phase");
    double threads = (double)step_number(step, "threads");

    if (strcmp(phase, "sequential_write") == 0)
        return threads * (double)step_number(step, "length");
    if (strcmp(phase, "random_write") == 0)
        return threads * (double)step_number(step, "operations") * (double)pattern.size;
    if (*phase
        || (strstr(name, "write") == 0 && !has_word("block.flush,fs.fsync,fs.create", ',', name)))
        return 0;
    return (double)pattern.size * (double)pattern.count;
}

void wear_add(const struct plan *plan)
{
    for (int i = 0; i < plan->step_count; i++) {
        const struct step *step = &plan->steps[i];

        if (!step_writes(step))
            continue;
        struct target *target = step->target->worn;
        target->is_written = 1;
        if (target->capacity == 0)
            continue; /* nothing is there, or nothing that wears */
        if (strcmp(step->operation->name, "mtd.erase") == 0)
            add_erases(step, target);
        else if (target->kind != 'm' || strncmp(step->operation->name, "mtd", 3))
            target->written += bytes_of(step, target);
    }
}

uint64_t wear_cycles(const struct target *target)
{
    double most = 0, cycles = 0;

    if (target->capacity == 0)
        return 0;
    for (uint64_t i = 0; target->erased && i < target->capacity / target->unit; i++) {
        cycles += target->erased[i];
        most = cycles > most ? cycles : most;
    }
    most += target->written / (double)target->capacity;
    if (most >= (double)UINT64_MAX)
        return UINT64_MAX;
    uint64_t whole = (uint64_t)most;
    return whole + (whole < most);
}
