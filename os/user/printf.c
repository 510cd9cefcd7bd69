/*
 * printf for programs: %d %u %x %p %s %c %%, without widths. What one call
 * prints is gathered and written at once, up to 128 bytes: a system call a
 * line, and lines of several processes do not mix.
 */
#include <stdarg.h>

#include "types.h"
#include "user.h"

struct sink {
    int fd;             /* where it goes */
    int used;           /* bytes of text that wait */
    char text[128];
};

static void flush(struct sink *sink)
{
    if (sink->used)
        write(sink->fd, sink->text, sink->used);
    sink->used = 0;
}

static void put(struct sink *sink, char c)
{
    if (sink->used == (int)sizeof sink->text)
        flush(sink);
    sink->text[sink->used++] = c;
}

static void put_number(struct sink *sink, uint value, uint base)
{
    char digits[16];
    int n = 0;

    do {
        digits[n++] = "0123456789abcdef"[value % base];
        value /= base;
    } while (value);
    while (n > 0)
        put(sink, digits[--n]);
}

static void put_signed(struct sink *sink, int value)
{
    if (value < 0)
        put(sink, '-');
    put_number(sink, value < 0 ? 0 - (uint)value : (uint)value, 10);
}

static void put_text(struct sink *sink, const char *text)
{
    for (text = text ? text : "(null)"; *text; text++)
        put(sink, *text);
}

void printf(int fd, const char *format, ...)
{
    struct sink sink = { .fd = fd, .used = 0 };
    va_list list;

    va_start(list, format);
    for (; *format; format++) {
        if (*format != '%') {
            put(&sink, *format);
            continue;
        }
        switch (*++format) {
        case 'd': put_signed(&sink, va_arg(list, int)); break;
        case 'u': put_number(&sink, va_arg(list, uint), 10); break;
        case 'x':
        case 'p': put_number(&sink, va_arg(list, uint), 16); break;
        case 's': put_text(&sink, va_arg(list, char *)); break;
        case 'c': put(&sink, (char)va_arg(list, int)); break;
        case '%': put(&sink, '%'); break;
        case 0: format--; break;
        default: put(&sink, '%'); put(&sink, *format); break;
        }
    }
    va_end(list);
    flush(&sink);
}
