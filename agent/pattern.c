/*
 * Which places a step visits, and what it writes there: the same on every
 * board, and computable by who reads the results.
 */
#include "agent.h"

#include <string.h>

/* Steele, Lea, Flood: Fast Splittable Pseudorandom Number Generators, 2014. */
uint64_t splitmix64(uint64_t *state)
{
    uint64_t z = *state += UINT64_C(0x9E3779B97F4A7C15);

    z = (z ^ z >> 30) * UINT64_C(0xBF58476D1CE4E5B9);
    z = (z ^ z >> 27) * UINT64_C(0x94D049BB133111EB);
    return z ^ z >> 31;
}

int pattern_begin(struct pattern *pattern, const struct step *step,
                  struct record *record, uint64_t capacity, uint64_t unit)
{
    uint64_t length = step_number(step, "length");
    const char *order = step_text(step, "order");

    memset(pattern, 0, sizeof *pattern);
    pattern->offset = step_number(step, "offset");
    pattern->size = step_number(step, "size");
    if (pattern->size == 0)
        pattern->size = unit;
    if (pattern->offset > capacity || length > capacity - pattern->offset)
        return record_fail(record, "the range %llu + %llu exceeds the %llu "
                           "bytes of the device",
                           (unsigned long long)pattern->offset,
                           (unsigned long long)length,
                           (unsigned long long)capacity);
    if (length == 0)
        length = capacity - pattern->offset;
    if (unit == 0 || pattern->size % unit || pattern->offset % unit)
        return record_fail(record, "offset %llu and size %llu must be "
                           "multiples of %llu",
                           (unsigned long long)pattern->offset,
                           (unsigned long long)pattern->size,
                           (unsigned long long)unit);
    pattern->places = length / pattern->size;
    if (pattern->places == 0)
        return record_fail(record, "a range of %llu bytes has no room for "
                           "%llu", (unsigned long long)length,
                           (unsigned long long)pattern->size);
    pattern->count = step_number(step, "count");
    if (pattern->count == 0)
        pattern->count = pattern->places;
    pattern->state = step_number(step, "seed");
    pattern->order = strcmp(order, "random") == 0 ? 'x' : order[0];
    return 0;
}

int pattern_next(struct pattern *pattern, uint64_t *at)
{
    uint64_t place = pattern->done % pattern->places;

    if (pattern->done == pattern->count)
        return 0;
    pattern->done++;
    if (pattern->order == 'r')
        place = pattern->places - 1 - place;
    else if (pattern->order == 'x')
        place = splitmix64(&pattern->state) % pattern->places;
    *at = pattern->offset + place * pattern->size;
    return 1;
}

/* The data of a step: byte after byte. */
struct data {
    uint64_t state, next;
    int is_random, left;        /* bytes of `next` that were not taken */
    unsigned char fill;
};

static struct data data_of(const struct step *step, uint64_t at)
{
    const char *kind = step_text(step, "data");
    struct data data = { 0, 0, 0, 0, 0xFF };

    data.is_random = kind[0] == 'r' || kind[0] == 0;
    data.state = step_number(step, "seed") ^ at;
    if (kind[0] == 'z')
        data.fill = 0;
    return data;
}

static unsigned char data_next(struct data *data)
{
    unsigned char byte;

    if (!data->is_random)
        return data->fill;
    if (data->left == 0) {
        data->next = splitmix64(&data->state);
        data->left = 8;
    }
    byte = (unsigned char)data->next;
    data->next >>= 8;
    data->left--;
    return byte;
}

void data_fill(const struct step *step, uint64_t at, void *memory, size_t size)
{
    struct data data = data_of(step, at);
    unsigned char *byte = memory, *end = byte + size;

    while (byte < end)
        *byte++ = data_next(&data);
}

int data_equal(const struct step *step, uint64_t at, const void *memory,
               size_t size, size_t *wrong)
{
    struct data data = data_of(step, at);
    const unsigned char *byte = memory;
    size_t i;

    for (i = 0; i < size; i++)
        if (byte[i] != data_next(&data)) {
            *wrong = i;
            return 0;
        }
    return 1;
}
