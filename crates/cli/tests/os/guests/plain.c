/* Prints, computes, and ends with the code of -DCODE; with -DL4 it sets L4 of the control register for a while. */
#include "guest.h"

volatile unsigned total;

__attribute__((noinline)) unsigned square(unsigned value)
{
    return value * value;
}

int main(void)
{
#ifdef L4
    MCR(0, 1, 0, 0, MRC(0, 1, 0, 0) | 1u << 15);
#endif
    print("hello\n");
    for (unsigned i = 1; i <= 10; i++)
        total += square(i);
    print_unsigned(total);
    print("\n");
#ifdef L4
    MCR(0, 1, 0, 0, MRC(0, 1, 0, 0) & ~(1u << 15));
#endif
    return CODE;
}
