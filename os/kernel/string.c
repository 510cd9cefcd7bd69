/*
 * Memory and strings. memmove and memset go by eight words where the addresses
 * allow it, so that the compiler uses LDM and STM; memmove upwards by words of
 * which each is put together of two where they do not; all others go by bytes.
 */
#include "kernel.h"

/* Else the compiler makes of the loops below calls of themselves. */
#pragma GCC optimize("no-tree-loop-distribute-patterns")

#define WORD sizeof(uint)

struct eight {
    uint words[8];          /* what one LDM takes */
};

void *memset(void *to, int value, uint bytes)
{
    uchar *at = to, *end = at + bytes;
    uint word = (uchar)value * 0x01010101u;
    struct eight eight = {{word, word, word, word, word, word, word, word}};

    while (at < end && (uint)at % WORD)
        *at++ = (uchar)value;
    for (; end - at >= (int)sizeof(eight); at += sizeof(eight))
        *(struct eight *)at = eight;
    for (; end - at >= (int)WORD; at += WORD)
        *(uint *)at = word;
    while (at < end)
        *at++ = (uchar)value;
    return to;
}

/* Of words that lie differently in `from`; both are read only where they hold a
   byte that is asked for. `to` is a word's address. Returns the end of what was
   written, less than a word before `end`. */
static uchar *copy_shifted(uchar *to, const uchar *from, const uchar *end)
{
    uint shift = 8 * ((uint)from % WORD);
    const uint *words = (const uint *)(from - shift / 8);
    uint word = *words;

    for (; end - to >= (int)WORD; to += WORD) {
        uint next = *++words;

        *(uint *)to = word >> shift | next << (32 - shift);
        word = next;
    }
    return to;
}

static void copy_up(uchar *to, const uchar *from, uint bytes)
{
    uchar *end = to + bytes;

    if (bytes < 2 * WORD) {
        while (to < end)
            *to++ = *from++;
        return;
    }
    while ((uint)to % WORD)
        *to++ = *from++;
    if ((uint)from % WORD) {
        uchar *start = to;

        to = copy_shifted(to, from, end);
        from += to - start;
    }
    while (end - to >= (int)sizeof(struct eight)) {
        *(struct eight *)to = *(const struct eight *)from;
        to += sizeof(struct eight);
        from += sizeof(struct eight);
    }
    while (end - to >= (int)WORD) {
        *(uint *)to = *(const uint *)from;
        to += WORD;
        from += WORD;
    }
    while (to < end)
        *to++ = *from++;
}

static void copy_down(uchar *start, const uchar *from, uint bytes)
{
    uchar *to = start + bytes;

    from += bytes;
    if ((((uint)to ^ (uint)from) % WORD) == 0) {
        while (to > start && (uint)to % WORD)
            *--to = *--from;
        while (to - start >= (int)WORD) {
            to -= WORD;
            from -= WORD;
            *(uint *)to = *(const uint *)from;
        }
    }
    while (to > start)
        *--to = *--from;
}

void *memmove(void *to, const void *from, uint bytes)
{
    if ((uint)to - (uint)from >= bytes)
        copy_up(to, from, bytes);
    else
        copy_down(to, from, bytes);
    return to;
}

/* The compiler calls it for assignments of structures. */
void *memcpy(void *to, const void *from, uint bytes)
{
    return memmove(to, from, bytes);
}

int memcmp(const void *a, const void *b, uint bytes)
{
    const uchar *x = a, *y = b;

    for (; bytes > 0; bytes--, x++, y++)
        if (*x != *y)
            return *x - *y;
    return 0;
}

int strncmp(const char *a, const char *b, uint most)
{
    for (; most > 0; most--, a++, b++)
        if (*a != *b || *a == 0)
            return (uchar)*a - (uchar)*b;
    return 0;
}

char *strncpy(char *to, const char *from, int bytes)
{
    char *at = to, *end = to + bytes;

    while (at < end && *from)
        *at++ = *from++;
    while (at < end)
        *at++ = 0;
    return to;
}

char *safestrcpy(char *to, const char *from, int bytes)
{
    char *at = to, *last = to + bytes - 1;

    if (bytes <= 0)
        return to;
    while (at < last && *from)
        *at++ = *from++;
    *at = 0;
    return to;
}

uint strlen(const char *text)
{
    const char *end = text;

    while (*end)
        end++;
    return (uint)(end - text);
}
