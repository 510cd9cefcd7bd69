/*
 * The library of programs: strings, memory, and what is made of a few system
 * calls. As in xv6, memmove takes regions that overlap, atoi knows digits
 * only, and gets keeps the end of the line.
 */
#include "types.h"
#include "stat.h"
#include "fcntl.h"
#include "user.h"

char *strcpy(char *to, const char *from)
{
    char *at = to;

    while ((*at++ = *from++) != 0)
        ;
    return to;
}

int strcmp(const char *a, const char *b)
{
    while (*a && *a == *b) {
        a++;
        b++;
    }
    return (uchar)*a - (uchar)*b;
}

uint strlen(const char *text)
{
    const char *end = text;

    while (*end)
        end++;
    return (uint)(end - text);
}

char *strchr(const char *text, char c)
{
    for (; *text; text++)
        if (*text == c)
            return (char *)text;
    return 0;
}

/* Words where both are aligned: programs clear and copy megabytes. */
void *memset(void *to, int value, uint bytes)
{
    uchar *at = to;
    uint word = (uchar)value * 0x01010101u;

    for (; bytes && (uint)at % 4; bytes--)
        *at++ = (uchar)value;
    for (; bytes >= 4; bytes -= 4, at += 4)
        *(uint *)at = word;
    for (; bytes; bytes--)
        *at++ = (uchar)value;
    return to;
}

static void copy_down(uchar *to, const uchar *from, uint bytes)
{
    while (bytes--)
        to[bytes] = from[bytes];
}

static void copy_up(uchar *to, const uchar *from, uint bytes)
{
    if (((uint)to | (uint)from) % 4 == 0)
        for (; bytes >= 4; bytes -= 4, to += 4, from += 4)
            *(uint *)to = *(const uint *)from;
    for (; bytes; bytes--)
        *to++ = *from++;
}

void *memmove(void *to, const void *from, int bytes)
{
    if (bytes <= 0)
        return to;
    if ((uint)to - (uint)from < (uint)bytes)
        copy_down(to, from, (uint)bytes);
    else
        copy_up(to, from, (uint)bytes);
    return to;
}

/* The compiler calls these for structures. */
void *memcpy(void *to, const void *from, uint bytes);
void *memcpy(void *to, const void *from, uint bytes)
{
    copy_up(to, from, bytes);
    return to;
}

int memcmp(const void *a, const void *b, uint bytes);
int memcmp(const void *a, const void *b, uint bytes)
{
    const uchar *x = a, *y = b;

    for (; bytes; bytes--, x++, y++)
        if (*x != *y)
            return *x - *y;
    return 0;
}

int atoi(const char *text)
{
    int value = 0;

    for (; *text >= '0' && *text <= '9'; text++)
        value = value * 10 + (*text - '0');
    return value;
}

char *gets(char *to, int most)
{
    int n = 0;
    char c;

    while (n + 1 < most && read(0, &c, 1) == 1) {
        to[n++] = c;
        if (c == '\n' || c == '\r')
            break;
    }
    to[n] = 0;
    return to;
}

int stat(const char *path, struct stat *to)
{
    int fd = open(path, O_RDONLY);
    int result;

    if (fd < 0)
        return -1;
    result = fstat(fd, to);
    close(fd);
    return result;
}
