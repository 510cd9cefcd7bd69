/*
 * Which places a step visits, and what it writes there: the same on every board, and computable by
 * who reads the results.
 */
#include "agent.h"

/* Steele, Lea, Flood: Fast Splittable Pseudorandom Number Generators, 2014. */
uint64_t splitmix64(uint64_t *state)
{
    uint64_t z = *state += UINT64_C(0x9E3779B97F4A7C15);

    z = (z ^ z >> 30) * UINT64_C(0xBF58476D1CE4E5B9);
    z = (z ^ z >> 27) * UINT64_C(0x94D049BB133111EB);
    return z ^ z >> 31;
}

struct pattern pattern_of(const struct step *step, uint64_t capacity, uint64_t unit)
{
    uint64_t length = step_number(step, "length");
    const char *order = step_text(step, "order");
    struct pattern pattern = { 0 };

    pattern.offset = step_number(step, "offset");
    pattern.size = step_number(step, "size");
    if (pattern.size == 0)
        pattern.size = unit;
    if (pattern.offset > capacity)
        length = 0;
    else if (length == 0 || length > capacity - pattern.offset)
        length = capacity - pattern.offset;
    pattern.places = pattern.size ? length / pattern.size : 0;
    pattern.count = step_number(step, "count");
    if (pattern.count == 0)
        pattern.count = pattern.places;
    pattern.state = step_number(step, "seed");
    pattern.order = strcmp(order, "random") == 0 ? 'x' : order[0];
    return pattern;
}

int pattern_begin(struct pattern *pattern, const struct step *step, uint64_t capacity,
                  uint64_t unit)
{
    uint64_t length = step_number(step, "length");

    *pattern = pattern_of(step, capacity, unit);
    if (pattern->offset > capacity || length > capacity - pattern->offset)
        return record_fail("the range %" PRIu64 " + %" PRIu64 " exceeds the %" PRIu64
                           " bytes of the device",
                           pattern->offset, length, capacity);
    if (unit == 0 || pattern->size % unit || pattern->offset % unit)
        return record_fail("offset %" PRIu64 " and size %" PRIu64 " must be multiples of %" PRIu64,
                           pattern->offset, pattern->size, unit);
    if (pattern->places == 0)
        return record_fail("a range of %" PRIu64 " bytes has no room for %" PRIu64,
                           length ? length : capacity - pattern->offset, pattern->size);
    return 0;
}

int pattern_next(struct pattern *pattern, uint64_t *at)
{
    if (pattern->done == pattern->count)
        return 0;
    uint64_t place = pattern->done++ % pattern->places;
    if (pattern->order == 'r')
        place = pattern->places - 1 - place;
    else if (pattern->order == 'x')
        place = splitmix64(&pattern->state) % pattern->places;
    *at = pattern->offset + place * pattern->size;
    return 1;
}

ssize_t transfer_at(int fd, void *memory, size_t size, uint64_t at, int writes)
{
    return writes ? pwrite(fd, memory, size, (off_t)at) : pread(fd, memory, size, (off_t)at);
}

int plan_data(const struct step *step, uint64_t at, unsigned char *memory, size_t size,
              size_t *wrong)
{
    const char *kind = step_text(step, "data");
    int is_random = kind[0] == 'r' || kind[0] == 0;
    uint64_t state = step_number(step, "seed") ^ at, word = kind[0] == 'z' ? 0 : UINT64_MAX;

    for (size_t i = 0; i < size; i++) {
        if (is_random && i % 8 == 0)
            word = splitmix64(&state);
        if (wrong == 0)
            memory[i] = (unsigned char)(word >> i % 8 * 8);
        else if (memory[i] != (unsigned char)(word >> i % 8 * 8)) {
            *wrong = i;
            return 0;
        }
    }
    return 1;
}
