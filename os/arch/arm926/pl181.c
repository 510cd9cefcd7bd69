/*
 * The memory card in the board's slot, by the PL181 (ARM DDI 0205B) and the
 * commands of the SD Physical Layer Simplified Specification. Blocks of 512
 * bytes are moved one at a time through the FIFO, by polling, with interrupts
 * on.
 *
 * The PL181 cannot stop the card: a reader that is kept away for longer than
 * the FIFO lasts (64 bytes: 43 us at 12 MHz on one data line) loses data, and
 * a writer the same. The flags tell, the transfer fails, and the caller
 * (disk.c) tries it again. One caller at a time; addresses of buffers are
 * those of words.
 */
#include "contract.h"
#include "machine.h"
#include "board.h"

#define MCI DEVICE(0x10005000)
#define MCI_POWER REGISTER(MCI + 0x00)
#define MCI_CLOCK REGISTER(MCI + 0x04)
#define MCI_ARGUMENT REGISTER(MCI + 0x08)
#define MCI_COMMAND REGISTER(MCI + 0x0C)
#define MCI_RESPONSE(n) REGISTER(MCI + 0x14 + 4 * (n))
#define MCI_DATA_TIMER REGISTER(MCI + 0x24)
#define MCI_DATA_LENGTH REGISTER(MCI + 0x28)
#define MCI_DATA_CONTROL REGISTER(MCI + 0x2C)
#define MCI_STATUS REGISTER(MCI + 0x34)
#define MCI_CLEAR REGISTER(MCI + 0x38)
#define MCI_FIFO REGISTER(MCI + 0x80)

#define POWER_UP 0x02
#define POWER_ON 0x03
#define CLOCK_ENABLE 0x100
#define CLOCK_400_KHZ (CLOCK_ENABLE | 29)   /* of 24 MHz / 2 (1 + n) */
#define CLOCK_12_MHZ (CLOCK_ENABLE | 0)

#define COMMAND_ENABLE (1 << 10)
#define COMMAND_RESPONSE (1 << 6)
#define COMMAND_LONG (1 << 7)

#define DATA_ENABLE 1
#define DATA_FROM_CARD 2
#define DATA_512 (9 << 4)

#define STATUS_COMMAND_CRC (1 << 0)         /* also: an answer without one */
#define STATUS_COMMAND_TIMEOUT (1 << 2)
#define STATUS_COMMAND_ANSWERED (1 << 6)
#define STATUS_COMMAND_SENT (1 << 7)
#define STATUS_DATA_FAILED 0x23A  /* CRC, timeout, under-, overrun, start bit */
#define STATUS_DATA_END (1 << 8)
#define STATUS_SEND_HALF_EMPTY (1 << 14)
#define STATUS_RECEIVE_HALF_FULL (1 << 15)
#define STATUS_RECEIVE_ANY (1 << 21)
#define STATUS_ALL 0x7FF

/* Of a card's status (section 4.10.1). */
#define CARD_ERRORS 0xFDF98008u
#define CARD_READY (1 << 8)
#define CARD_STATE(status) ((status) >> 9 & 15)
#define CARD_TRANSFER 4

#define WORDS 128                           /* of a block */
#define HALF_FIFO 8

enum answer { ANSWER_NONE, ANSWER_SHORT, ANSWER_LONG };

static struct {
    uint address;       /* RCA << 16 */
    int by_block;       /* high capacity: addressed by block, else by byte */
} card;

/* Whether so many milliseconds have passed since `start`. */
static int is_over(uint start, uint milliseconds)
{
    return SYS_24MHZ - start > milliseconds * 24000;
}

/* Sends a command. 0, or -1 if it is not answered. */
static int command(uint index, uint what, enum answer answer)
{
    uint bits = COMMAND_ENABLE | index, status, start = SYS_24MHZ;
    if (answer != ANSWER_NONE)
        bits |= COMMAND_RESPONSE;
    if (answer == ANSWER_LONG)
        bits |= COMMAND_LONG;
    MCI_CLEAR = STATUS_ALL;
    MCI_ARGUMENT = what;
    MCI_COMMAND = bits;
    do {
        status = MCI_STATUS;
        if ((status & STATUS_COMMAND_TIMEOUT) || is_over(start, 100))
            return -1;
    } while (!(status & (STATUS_COMMAND_ANSWERED | STATUS_COMMAND_SENT |
                         STATUS_COMMAND_CRC)));
    return 0;
}

/* A command whose answer is the card's status. 0, or -1 if it holds an error.
   */
static int command_checked(uint index, uint what)
{
    if (command(index, what, ANSWER_SHORT) < 0 ||
        (MCI_STATUS & STATUS_COMMAND_CRC))
        return -1;
    return MCI_RESPONSE(0) & CARD_ERRORS ? -1 : 0;
}

/* Until the card has written what it got. */
static int wait_until_ready(void)
{
    uint start = SYS_24MHZ, status;
    do {
        if (is_over(start, 1000) || command_checked(13, card.address) < 0)
            return -1;
        status = MCI_RESPONSE(0);
    } while (!(status & CARD_READY) || CARD_STATE(status) != CARD_TRANSFER);
    return 0;
}

/* ACMD41 until the card has started up. Cards from version 2 on know CMD8. */
static int start_up(void)
{
    uint start = SYS_24MHZ;
    command(0, 0, ANSWER_NONE);
    int is_new = command(8, 0x1AA, ANSWER_SHORT) == 0 &&
                 (MCI_RESPONSE(0) & 0xFF) == 0xAA;
    do {
        if (is_over(start, 1000) || command_checked(55, 0) < 0 ||
            command(41, 0x00FF8000 | (uint)is_new << 30, ANSWER_SHORT) < 0)
            return -1;
    } while (!(MCI_RESPONSE(0) & 1u << 31));
    card.by_block = (MCI_RESPONSE(0) & 1u << 30) != 0;
    return 0;
}

/* Bits of the 128-bit register that was answered. */
static uint register_bits(uint high, uint low)
{
    uint value = 0;
    for (uint bit = high + 1; bit-- > low;)
        value = value << 1 | (MCI_RESPONSE(3 - bit / 32) >> bit % 32 & 1);
    return value;
}

/* Blocks of the card, by its CSD (sections 5.3.2 and 5.3.3). */
static uint capacity(void)
{
    if (register_bits(127, 126) == 1)
        return (register_bits(69, 48) + 1) << 10;
    uint length = register_bits(83, 80), multiplier = register_bits(49, 47);
    return (register_bits(73, 62) + 1) << (multiplier + 2 + length - 9);
}

uint card_init(void)
{
    MCI_CLOCK = CLOCK_400_KHZ;
    MCI_POWER = POWER_UP;
    MCI_POWER = POWER_ON;
    MCI_DATA_TIMER = ~0u;       /* what takes too long is seen here */
    if (start_up() < 0 || command(2, 0, ANSWER_LONG) < 0 ||
        command(3, 0, ANSWER_SHORT) < 0)
        return 0;
    card.address = MCI_RESPONSE(0) & 0xFFFF0000;
    if (command(9, card.address, ANSWER_LONG) < 0)
        return 0;
    uint blocks = capacity();
    MCI_CLOCK = CLOCK_12_MHZ;
    if (command_checked(7, card.address) < 0 || command_checked(16, 512) < 0)
        return 0;
    return blocks;
}

static uint address_of(uint block)
{
    return card.by_block ? block : block * 512;
}

/* Ends the data path; after a failure the card, too, may still be at it. */
static int data_end(int result)
{
    MCI_DATA_CONTROL = 0;
    if (result < 0)
        command(12, 0, ANSWER_SHORT);
    return result;
}

static int receive(uint *to)
{
    uint done = 0, start = SYS_24MHZ;
    while (done < WORDS) {
        uint status = MCI_STATUS;
        uint ready = status & STATUS_RECEIVE_HALF_FULL ? HALF_FIFO
                   : status & STATUS_RECEIVE_ANY ? 1 : 0;
        if ((status & STATUS_DATA_FAILED) || is_over(start, 1000))
            return -1;
        for (; ready > 0 && done < WORDS; ready--)
            to[done++] = MCI_FIFO;
    }
    return 0;
}

static int send(const uint *from)
{
    uint done = 0, start = SYS_24MHZ, status;
    do {
        status = MCI_STATUS;
        if ((status & STATUS_DATA_FAILED) || is_over(start, 1000))
            return -1;
        if (done < WORDS && (status & STATUS_SEND_HALF_EMPTY)) {
            for (uint i = 0; i < HALF_FIFO; i++)
                MCI_FIFO = from[done++];
        }
    } while (done < WORDS || !(status & STATUS_DATA_END));
    return 0;
}

/* The data path waits for the card before the card begins to send. */
int card_read(uint block, void *to)
{
    requires_interrupts_on();
    MCI_CLEAR = STATUS_ALL;
    MCI_DATA_LENGTH = 512;
    MCI_DATA_CONTROL = DATA_ENABLE | DATA_FROM_CARD | DATA_512;
    if (command_checked(17, address_of(block)) < 0)
        return data_end(-1);
    return data_end(receive(to));
}

/* Returns when the card has stored the block. */
int card_write(uint block, const void *from)
{
    requires_interrupts_on();
    if (command_checked(24, address_of(block)) < 0)
        return data_end(-1);
    MCI_CLEAR = STATUS_ALL;     /* QEMU: a command alone raises DATA_END */
    MCI_DATA_LENGTH = 512;
    MCI_DATA_CONTROL = DATA_ENABLE | DATA_512;
    if (data_end(send(from)) < 0)
        return -1;
    return wait_until_ready();
}
