/*
 * Writes COUNT blocks of the card from FIRST on, each STEP after the one before, and then ends as HOW says.
 * The words of a block are its number times 2654435761, plus where they are in it.
 */
#include "guest.h"

#define MCI(offset) REGISTER(0x10005000u + (offset))

enum { RESPONSE = 1 << 6, LONG = 1 << 7 };

static void command(uint32_t index, uint32_t argument, uint32_t flags)
{
    uint32_t status;
    MCI(0x38) = 0x7ff;
    MCI(0x08) = argument;
    MCI(0x0c) = index | flags | 1 << 10;
    do
        status = MCI(0x34);
    while (!(status & 0xc5));
    if (status & 4)
        finish(90);
}

static void find_card(void)
{
    MCI(0x00) = 0x83;
    MCI(0x04) = 0x100;
    command(0, 0, 0);
    command(8, 0x1aa, RESPONSE);
    do {
        command(55, 0, RESPONSE);
        command(41, 0x40ff8000, RESPONSE);
    } while (!(MCI(0x14) >> 31));
    command(2, 0, RESPONSE | LONG);
    command(3, 0, RESPONSE);
    command(7, MCI(0x14) & 0xffff0000, RESPONSE);
}

static void write_block(uint32_t block)
{
    command(24, block * 512, RESPONSE);
    MCI(0x24) = 0xffffffff;
    MCI(0x28) = 512;
    MCI(0x2c) = 0x91;
    for (uint32_t word = 0; word < 128; word++) {
        while (MCI(0x34) & 1 << 16)
            ;
        MCI(0x80) = block * 2654435761u + word;
    }
    while (!(MCI(0x34) & 1 << 8))
        ;
}

static void wait_for_a_full_stop(void)
{
    REGISTER(UART0 + 0x30) = 0x301;
    do
        while (REGISTER(UART0 + 0x18) & 0x10)
            ;
    while ((REGISTER(UART0) & 0xff) != '.');
}

int main(void)
{
    find_card();
    for (uint32_t number = 0; number < COUNT; number++)
        write_block(FIRST + number * STEP);
    print("written\n");
    switch (HOW) {
    case 1:
        wait_for_a_full_stop();
        break;
    case 2:
        for (;;)
            print("and so on\n");
    case 3:
        for (unsigned number = 0; number < 8; number++)
            REGISTER(4 * number) = 0;
        __asm__ volatile(".word 0xe7f000f0");
        break;
    case 4:
        for (;;)
            ;
    case 5:
        for (;;)
            wait_for_interrupt();
    }
    return 0;
}
