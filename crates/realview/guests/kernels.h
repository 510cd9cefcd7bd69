/*
 * What mix.c and misses.c both compute: random numbers, sorting, CRC-32 by table, and with ORDER a
 * product of matrices of so many rows.
 */
#ifndef KERNELS_H
#define KERNELS_H

#include "guest.h"

#define KERNEL static __attribute__((unused))

static uint32_t state = 1;

KERNEL uint32_t random_number(void)
{
    state ^= state << 13;
    state ^= state >> 17;
    state ^= state << 5;
    return state;
}

/* Sorts the words from `from` to `to`, both included; the larger part last, so that the stack stays small. */
KERNEL void sort(uint32_t *from, uint32_t *to)
{
    while (from < to) {
        uint32_t pivot = from[(to - from) / 2];
        uint32_t *low = from, *high = to;
        while (low <= high) {
            while (*low < pivot)
                low++;
            while (*high > pivot)
                high--;
            if (low <= high) {
                uint32_t swapped = *low;
                *low++ = *high;
                *high-- = swapped;
            }
        }
        if (high - from < to - low) {
            sort(from, high);
            from = low;
        } else {
            sort(low, to);
            to = high;
        }
    }
}

KERNEL uint32_t crc_table[256];

KERNEL void crc_prepare(void)
{
    for (uint32_t i = 0; i < 256; i++) {
        uint32_t value = i;
        for (int bit = 0; bit < 8; bit++)
            value = value >> 1 ^ (value & 1 ? 0xedb88320u : 0);
        crc_table[i] = value;
    }
}

KERNEL uint32_t crc32(const uint8_t *data, size_t length)
{
    uint32_t crc = ~0u;
    while (length--)
        crc = crc >> 8 ^ crc_table[(crc ^ *data++) & 255];
    return ~crc;
}

#ifdef ORDER
static int32_t left[ORDER][ORDER], right[ORDER][ORDER], product[ORDER][ORDER];

static void multiply(void)
{
    for (int i = 0; i < ORDER; i++)
        for (int j = 0; j < ORDER; j++) {
            int32_t sum = 0;
            for (int k = 0; k < ORDER; k++)
                sum += left[i][k] * right[k][j];
            product[i][j] = sum;
        }
}
#endif

#endif
