/* Prints what UART 0 receives up to a full stop, by polling. */
#include "guest.h"

int main(void)
{
    volatile uint32_t *data = (volatile uint32_t *)UART0;
    volatile uint32_t *flags = (volatile uint32_t *)(UART0 + 0x18);
    REGISTER(UART0 + 0x30) = 0x301;
    for (;;) {
        while (*flags & 0x10)
            ;
        uint32_t character = *data;
        *data = character;
        if (character == '.')
            return 0;
    }
}
