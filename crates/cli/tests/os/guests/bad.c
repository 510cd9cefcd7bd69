/* Ends badly, as -DHOW says. */
#include "guest.h"

static __attribute__((noinline)) void undefined(void)
{
    uint32_t vectors = 0;
    /* A compiler may take it that nothing is at address 0, if it knows that this is 0. */
    __asm__ volatile("" : "+r"(vectors));
    for (unsigned number = 0; number < 8; number++)
        REGISTER(vectors + 4 * number) = 0;
    __asm__ volatile(".word 0xe7f000f0");
}

static __attribute__((noinline)) void display(void)
{
    REGISTER(0x10020000) = 1;
}

static __attribute__((noinline)) void forever(void)
{
    for (;;)
        wait_for_interrupt();
}

int main(void)
{
    switch (HOW) {
    case 1:
        undefined();
        break;
    case 2:
        display();
        break;
    case 3:
        forever();
        break;
    default:
        for (;;)
            ;
    }
    return 0;
}
