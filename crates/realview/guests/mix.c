/*
 * What speed is measured on: sorting, CRC-32 by table, and a product of matrices, with the MMU and
 * both caches on. ROUNDS says how often; the checksum at the end makes all of it needed.
 */
#define ORDER 48
#include "kernels.h"

#ifndef ROUNDS
#define ROUNDS 20
#endif

#define NUMBERS 4096

static uint32_t numbers[NUMBERS];

int main(void)
{
    mmu_start(CONTROL_DATA_CACHE | CONTROL_INSTRUCTION_CACHE);
    crc_prepare();
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
