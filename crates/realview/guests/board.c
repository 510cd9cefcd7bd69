/*
 * Uses each device of the board, and prints through UART 0 what it saw: the same on QEMU and here. The
 * card must be of 4 MB or more; its blocks 5 to 7 are written, its block 3 is read.
 */
#include "guest.h"

#define UART(offset) REGISTER(UART0 + (offset))
#define TIMER(offset) REGISTER(TIMER0 + (offset))
#define MCI(offset) REGISTER(0x10005000u + (offset))
#define RTC REGISTER(0x10017000u)

static void put(const char *text)
{
    while (*text) {
        while (UART(0x18) & 1 << 5)
            ;
        UART(0x00) = (uint8_t)*text++;
    }
}

static void put_number(uint32_t value)
{
    char digits[11];
    char *at = digits + sizeof digits;
    *--at = 0;
    do {
        *--at = (char)('0' + value % 10);
        value /= 10;
    } while (value);
    put(at);
}

static void tell(const char *name, uint32_t value)
{
    put(name);
    put(": ");
    put_number(value);
    put("\n");
}

static void check(int good, const char *what)
{
    if (!good) {
        put("failed: ");
        put(what);
        put("\n");
        finish(1);
    }
}

/* Interrupts: counts by number. */
static volatile uint32_t count[96];
static volatile uint8_t received[64];
static volatile uint32_t received_count;

static void serve_uart(void)
{
    while (!(UART(0x18) & 1 << 4)) {
        uint32_t byte = UART(0x00);
        if (received_count < sizeof received)
            received[received_count++] = (uint8_t)byte;
    }
    UART(0x44) = UART(0x40);
}

static void serve(struct frame *frame)
{
    (void)frame;
    uint32_t id = REGISTER(GIC_CPU + 0x0c);
    if (id >= 96)
        return;
    count[id]++;
    if (id == 36)
        TIMER(0x0c) = 1;
    if (id == 37)
        REGISTER(0x1001200c) = 1;
    if (id == 44)
        serve_uart();
    if (id == 49)
        MCI(0x3c) = 0;
    REGISTER(GIC_CPU + 0x10) = id;
}

static void enable(uint32_t id)
{
    REGISTER(GIC_DISTRIBUTOR + 0x100 + id / 32 * 4) = 1u << id % 32;
}

static void interrupts(void)
{
    on_exception[IRQ] = serve;
    REGISTER(GIC_DISTRIBUTOR) = 1;
    REGISTER(GIC_CPU + 0x04) = 0xff;
    REGISTER(GIC_CPU) = 1;
    enable(36);
    enable(37);
    enable(44);
    enable(49);
    interrupts_on();
}

static void timers(void)
{
    TIMER(0x00) = 1000;
    TIMER(0x08) = 0xe2;
    while (count[36] < 10)
        wait_for_interrupt();
    TIMER(0x08) = 0;
    tell("ticks", count[36]);
    REGISTER(0x10012020) = 500;
    REGISTER(0x10012028) = 0x83;
    REGISTER(0x10012000) = 1500;
    REGISTER(0x10012008) = 0x83;
    while (!(REGISTER(0x10012010) & 1) || !(REGISTER(0x10012030) & 1))
        ;
    tell("one-shot value", REGISTER(0x10012004));
    REGISTER(0x10012008) = 0;
    REGISTER(0x10012028) = 0;
    REGISTER(0x1001202c) = 1;
    uint32_t before = SYS_24MHZ;
    TIMER(0x00) = 2000;
    TIMER(0x08) = 0xc2;
    while (!(TIMER(0x10) & 1))
        ;
    uint32_t passed = SYS_24MHZ - before;
    check(passed > 24 * 1990 && passed < 24 * 20000, "2000 us are 48000 ticks of 24 MHz");
    TIMER(0x08) = 0;
    TIMER(0x0c) = 1;
}

/* The card. */
enum { RESPONSE = 1 << 6, LONG = 1 << 7 };

static int command(uint32_t index, uint32_t argument, uint32_t flags)
{
    MCI(0x38) = 0x7ff;
    MCI(0x08) = argument;
    MCI(0x0c) = index | flags | 1 << 10;
    uint32_t status;
    do
        status = MCI(0x34);
    while (!(status & 0xc5));
    return (status & 4) == 0;
}

static uint32_t address, large;

static void find_card(void)
{
    MCI(0x00) = 0x83;
    MCI(0x04) = 0x100;
    check(command(0, 0, 0), "CMD0");
    check(command(8, 0x1aa, RESPONSE) && MCI(0x14) == 0x1aa, "CMD8");
    do {
        check(command(55, 0, RESPONSE), "CMD55");
        check(command(41, 0x40ff8000, RESPONSE), "ACMD41");
    } while (!(MCI(0x14) >> 31));
    large = MCI(0x14) >> 30 & 1;
    check(command(2, 0, RESPONSE | LONG), "CMD2");
    check(command(3, 0, RESPONSE), "CMD3");
    address = MCI(0x14) & 0xffff0000;
    check(command(9, address, RESPONSE | LONG), "CMD9");
    uint32_t version = MCI(0x14) >> 30, mib;
    if (version == 1) {
        mib = (((MCI(0x18) & 0x3f) << 16 | MCI(0x1c) >> 16) + 1) / 2;
    } else {
        uint32_t length = MCI(0x18) >> 16 & 15;
        uint32_t size = (MCI(0x18) & 0x3ff) << 2 | MCI(0x1c) >> 30;
        uint32_t shift = MCI(0x1c) >> 15 & 7;
        mib = ((size + 1) << (shift + 2 + length - 9)) / 2048;
    }
    tell("card of MiB", mib);
    tell("by block", large);
    check(command(7, address, RESPONSE), "CMD7");
    check(command(55, address, RESPONSE) && command(6, 2, RESPONSE), "ACMD6");
    check(command(16, 512, RESPONSE), "CMD16");
    check(command(13, address, RESPONSE), "CMD13");
    tell("state", MCI(0x14) >> 9 & 15);
}

static uint32_t place(uint32_t block)
{
    return large ? block : block * 512;
}

static void read_blocks(uint32_t block, uint32_t *to, uint32_t blocks)
{
    MCI(0x24) = 0xffffffff;
    MCI(0x28) = blocks * 512;
    MCI(0x2c) = 0x93;
    check(command(blocks > 1 ? 18 : 17, place(block), RESPONSE), "read command");
    for (uint32_t left = blocks * 128; left; left--) {
        while (!(MCI(0x34) & 1 << 21))
            check(!(MCI(0x34) & 0xa), "read data");
        *to++ = MCI(0x80);
    }
    while (!(MCI(0x34) & 1 << 8))
        ;
    if (blocks > 1)
        check(command(12, 0, RESPONSE), "CMD12");
}

static void write_blocks(uint32_t block, const uint32_t *from, uint32_t blocks)
{
    check(command(blocks > 1 ? 25 : 24, place(block), RESPONSE), "write command");
    MCI(0x24) = 0xffffffff;
    MCI(0x28) = blocks * 512;
    MCI(0x2c) = 0x91;
    for (uint32_t left = blocks * 128; left; left--) {
        while (MCI(0x34) & 1 << 16)
            ;
        MCI(0x80) = *from++;
    }
    while (!(MCI(0x34) & 1 << 8))
        ;
    if (blocks > 1)
        check(command(12, 0, RESPONSE), "CMD12");
}

static uint32_t sum(const uint32_t *words, uint32_t length)
{
    uint32_t result = 0;
    while (length--)
        result = (result << 1 | result >> 31) ^ *words++;
    return result;
}

static uint32_t buffer[384], again[384];

static void card(void)
{
    find_card();
    read_blocks(3, buffer, 1);
    tell("block 3", sum(buffer, 128));
    for (uint32_t i = 0; i < 384; i++)
        buffer[i] = i * 2654435761u;
    write_blocks(5, buffer, 1);
    write_blocks(6, buffer + 128, 2);
    read_blocks(5, again, 3);
    check(sum(again, 384) == sum(buffer, 384), "what was written is read");
    tell("blocks 5 to 7", sum(again, 384));
    MCI(0x38) = 0x7ff;
    MCI(0x3c) = 1 << 6;
    command(13, address, RESPONSE);
    while (!count[49])
        ;
    tell("card interrupts", count[49]);
    check(!command(63, 0, RESPONSE), "CMD63 is not answered");
}

static void uart(void)
{
    UART(0x38) = 1 << 5;
    put("!");
    while (!count[44])
        ;
    UART(0x38) = 1 << 4 | 1 << 6;
    /* QEMU may drop what came before the FIFO was switched on. */
    while (!received_count || received[received_count - 1] != '.')
        wait_for_interrupt();
    put(" received: ");
    for (uint32_t i = received_count - 5; i < received_count; i++) {
        char text[2] = {(char)received[i], 0};
        put(text);
    }
    UART(0x38) = 0;
}

int main(void)
{
    UART(0x2c) = 0x70;
    UART(0x30) = 0x301;
    put("hello\n");
    tell("identity", REGISTER(0x10000000) >> 16);
    tell("processor", REGISTER(0x10000084));
    tell("date", RTC);
    interrupts();
    timers();
    card();
    uart();
    tell("interrupts 36", count[36]);
    return 42;
}
