/*
 * Shows numbers on the LEDs between pieces of work: from straight code, from a hot loop, from an
 * interrupt handler, and by a store to a buffered region. Prints nothing.
 */
#include "guest.h"

#define LEDS REGISTER(0x10000008u)
#define TIMER(offset) REGISTER(TIMER0 + (offset))

static volatile uint32_t interrupts;
static uint32_t numbers[2048];

static void handle(struct frame *frame)
{
    (void)frame;
    uint32_t number = REGISTER(GIC_CPU + 0x0c);
    TIMER(0x0c) = 0;
    LEDS = 0x10000 + interrupts++;
    REGISTER(GIC_CPU + 0x10) = number;
}

static uint32_t work(uint32_t seed)
{
    uint32_t sum = seed;
    for (uint32_t i = 0; i < 2048; i++) {
        sum = sum * 1664525u + 1013904223u;
        numbers[sum >> 21] += sum;
    }
    return sum;
}

int main(void)
{
    LEDS = 1;
    mmu_start(CONTROL_DATA_CACHE | CONTROL_INSTRUCTION_CACHE);
    on_exception[IRQ] = handle;
    REGISTER(GIC_CPU) = 1;
    REGISTER(GIC_CPU + 4) = 0xf0;
    REGISTER(GIC_DISTRIBUTOR) = 1;
    REGISTER(GIC_DISTRIBUTOR + 0x104) = 1u << (INTERRUPT_TIMER0 - 32);
    TIMER(0x00) = 500;
    TIMER(0x08) = 0xe2;
    interrupts_on();
    uint32_t sum = 0;
    for (uint32_t i = 0; i < 20; i++) {
        sum = work(sum + i);
        LEDS = 0x100 + i;
    }
    for (uint32_t i = 0; i < 1000; i++)
        LEDS = 0x1000 + i;
    interrupts_off();
    map(0x10000000u, 0x10000000u, SECTION_BUFFERED);
    LEDS = 2;
    sum = work(sum);
    LEDS = 3;
    return interrupts > 3 ? (int)(sum & 0x7f) : 200;
}
