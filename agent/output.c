/*
 * Writes lines of JSON; see docs/formats/measurement.md. A line is written by
 * one call where the descriptor takes it, and what cannot be written ends the
 * plan: results that nobody gets are not worth the wear.
 */
#include "output.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int output_fd = STDOUT_FILENO;

uint32_t crc32_of(uint32_t crc, const void *bytes, size_t length)
{
    static uint32_t table[256];
    const unsigned char *byte = bytes, *end = byte + length;
    uint32_t i, j, value;

    if (table[1] == 0)
        for (i = 0; i < 256; i++) {
            value = i;
            for (j = 0; j < 8; j++)
                value = value >> 1 ^ (value & 1 ? 0xEDB88320u : 0);
            table[i] = value;
        }
    crc = ~crc;
    while (byte < end)
        crc = crc >> 8 ^ table[(crc ^ *byte++) & 0xFF];
    return ~crc;
}

/* Room for `more` bytes and a zero. */
static void reserve(struct text *text, size_t more)
{
    size_t room = text->room ? text->room : 256;
    char *bytes;

    while (room <= text->length + more)
        room *= 2;
    if (room == text->room)
        return;
    bytes = realloc(text->bytes, room);
    if (bytes == 0) {
        fprintf(stderr, "boardlab-agent: there is no memory for the results\n");
        exit(EXIT_PARTIAL);
    }
    text->bytes = bytes;
    text->room = room;
}

void text_format(struct text *text, const char *format, ...)
{
    va_list arguments;
    int length;

    va_start(arguments, format);
    length = vsnprintf(0, 0, format, arguments);
    va_end(arguments);
    if (length < 0)
        return;
    reserve(text, (size_t)length);
    va_start(arguments, format);
    vsnprintf(text->bytes + text->length, (size_t)length + 1, format,
              arguments);
    va_end(arguments);
    text->length += (size_t)length;
}

void text_string(struct text *text, const char *string)
{
    text_format(text, "\"");
    for (; *string; string++) {
        unsigned char byte = (unsigned char)*string;

        if (byte == '"' || byte == '\\')
            text_format(text, "\\%c", byte);
        else if (byte < ' ' || byte > '~')
            text_format(text, "\\u%04x", byte);
        else
            text_format(text, "%c", byte);
    }
    text_format(text, "\"");
}

int text_write_line(struct text *text)
{
    size_t done = 0;

    text_format(text, ",\"crc\":\"%08lx\"}\n",
                (unsigned long)crc32_of(0, text->bytes, text->length));
    while (done < text->length) {
        ssize_t written = write(output_fd, text->bytes + done,
                                text->length - done);

        if (written < 0 && errno == EINTR)
            continue;
        if (written <= 0) {
            fprintf(stderr, "boardlab-agent: the results cannot be written: "
                    "%s\n", strerror(errno));
            return -1;
        }
        done += (size_t)written;
    }
    text->length = 0;
    return 0;
}
