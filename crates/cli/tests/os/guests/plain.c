/* Prints, computes, and ends with the code of -DCODE. */
#include "guest.h"

volatile unsigned total;

__attribute__((noinline)) unsigned square(unsigned value)
{
    return value * value;
}

int main(void)
{
    print("hello\n");
    for (unsigned i = 1; i <= 10; i++)
        total += square(i);
    print_unsigned(total);
    print("\n");
    return CODE;
}
