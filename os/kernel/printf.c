/*
 * Messages of the kernel, on the console, each character at once: also from
 * interrupts and with locks held. What two print at the same time may be mixed.
 */
#include <stdarg.h>

#include "kernel.h"

static void put_number(uint value, uint base)
{
    static const char digits[] = "0123456789abcdef";
    char text[10];          /* of 2^32 - 1 */
    int count = 0;

    do {
        text[count++] = digits[value % base];
        value /= base;
    } while (value > 0);
    while (count > 0)
        console_put(text[--count]);
}

static void put_signed(int value)
{
    if (value < 0)
        console_put('-');
    put_number(value < 0 ? 0u - (uint)value : (uint)value, 10);
}

static void put_text(const char *text)
{
    if (text == 0)
        text = "(null)";
    while (*text)
        console_put(*text++);
}

static void put_pointer(uint value)
{
    put_text("0x");
    for (int shift = 28; shift >= 0; shift -= 4)
        put_number(value >> shift & 15, 16);
}

void printf(const char *format, ...)
{
    va_list list;

    va_start(list, format);
    for (; *format; format++) {
        if (*format != '%' || format[1] == 0) {
            console_put(*format);
            continue;
        }
        switch (*++format) {
        case 'd': put_signed(va_arg(list, int)); break;
        case 'u': put_number(va_arg(list, uint), 10); break;
        case 'x': put_number(va_arg(list, uint), 16); break;
        case 'p': put_pointer(va_arg(list, uint)); break;
        case 's': put_text(va_arg(list, const char *)); break;
        case 'c': console_put(va_arg(list, int)); break;
        case '%': console_put('%'); break;
        default:            /* shown, so that it is seen */
            console_put('%');
            console_put(*format);
        }
    }
    va_end(list);
}

void panic(const char *text)
{
    interrupts_off();
    printf("panic: %s\n", text);
    machine_halt(1);
}
