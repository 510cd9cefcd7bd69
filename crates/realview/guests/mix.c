/*
 * What speed is measured on: sorting, CRC-32 by table, and a product of matrices, with the MMU and
 * both caches on. ROUNDS says how often; the checksum at the end makes all of it needed.
 */
#include "guest.h"

#ifndef ROUNDS
#define ROUNDS 20
#endif

#define NUMBERS 4096
#define ORDER 48

static uint32_t numbers[NUMBERS];
static uint32_t crc_table[256];
static int32_t left[ORDER][ORDER], right[ORDER][ORDER], product[ORDER][ORDER];
static uint32_t state = 1;

static uint32_t random_number(void)
{
    state ^= state << 13;
    state ^= state >> 17;
    state ^= state << 5;
    return state;
}

static void sort(uint32_t *from, uint32_t *to)
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

static uint32_t crc32(const uint8_t *data, size_t length)
{
    uint32_t crc = ~0u;
    while (length--)
        crc = crc >> 8 ^ crc_table[(crc ^ *data++) & 255];
    return ~crc;
}

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

int main(void)
{
    mmu_start(CONTROL_DATA_CACHE | CONTROL_INSTRUCTION_CACHE);
    for (uint32_t i = 0; i < 256; i++) {
        uint32_t value = i;
        for (int bit = 0; bit < 8; bit++)
            value = value >> 1 ^ (value & 1 ? 0xedb88320u : 0);
        crc_table[i] = value;
    }
    uint32_t sum = 0;
    for (int round = 0; round < ROUNDS; round++) {
        for (int i = 0; i < NUMBERS; i++)
            numbers[i] = random_number();
        sort(numbers, numbers + NUMBERS - 1);
        sum = sum * 31 + crc32((const uint8_t *)numbers, sizeof numbers);
        for (int i = 0; i < ORDER * ORDER; i++) {
            (&left[0][0])[i] = (int32_t)numbers[i] >> 16;
            (&right[0][0])[i] = (int32_t)numbers[NUMBERS - 1 - i] >> 20;
        }
        multiply();
        sum = sum * 31 + crc32((const uint8_t *)product, sizeof product);
    }
    print_hex(sum);
    print("\n");
    return 0;
}
