/*
 * Writes lines of JSON; see docs/formats/measurement.md. A line is written by one call where the
 * descriptor takes it, and what cannot be written ends the plan: results that nobody gets are not
 * worth the wear.
 */
#include "output.h"

int output_fd = STDOUT_FILENO;

/* The line that is told next; it grows as needed. */
static char *line;
static size_t line_length, line_room;

int complain(const char *format, ...)
{
    va_list arguments;

    fputs("boardlab-agent: ", stderr);
    va_start(arguments, format);
    vfprintf(stderr, format, arguments);
    va_end(arguments);
    fputc('\n', stderr);
    return -1;
}

uint32_t crc32_of(uint32_t crc, const void *bytes, size_t length)
{
    static uint32_t table[256];
    const unsigned char *byte = bytes, *end = byte + length;

    for (uint32_t i = 0; i < 256 && table[255] == 0; i++) {
        uint32_t value = i;

        for (int bit = 0; bit < 8; bit++)
            value = value >> 1 ^ (value & 1 ? 0xEDB88320u : 0);
        table[i] = value;
    }
    crc = ~crc;
    while (byte < end)
        crc = crc >> 8 ^ table[(crc ^ *byte++) & 0xFF];
    return ~crc;
}

void tell(const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    int length = vsnprintf(0, 0, format, arguments);
    va_end(arguments);
    while (line_room < line_length + (size_t)length + 1) {
        line_room = line_room ? line_room * 2 : 4096;
        line = realloc(line, line_room);
        if (line == 0) {
            complain("there is no memory for the results");
            exit(EXIT_PARTIAL);
        }
    }
    va_start(arguments, format);
    vsnprintf(line + line_length, (size_t)length + 1, format, arguments);
    va_end(arguments);
    line_length += (size_t)length;
}

const char *comma(void)
{
    return line_length == 0 || strchr("{[", line[line_length - 1]) ? "" : ",";
}

void tell_text(const char *name, const char *value)
{
    tell("%s\"%s\":\"", comma(), name);
    for (; *value; value++) {
        unsigned char byte = (unsigned char)*value;

        if (byte == '"' || byte == '\\')
            tell("\\%c", byte);
        else
            tell(byte < ' ' || byte > '~' ? "\\u%04x" : "%c", byte);
    }
    tell("\"");
}

void tell_number(const char *name, uint64_t value)
{
    tell("%s\"%s\":%" PRIu64, comma(), name, value);
}

void tell_bytes(const char *name, const unsigned char *bytes, size_t size)
{
    tell("%s\"%s\":\"", comma(), name);
    while (size--)
        tell("%02x", *bytes++);
    tell("\"");
}

int tell_line(void)
{
    size_t done = 0;

    tell(",\"crc\":\"%08" PRIx32 "\"}\n", crc32_of(0, line, line_length));
    size_t length = line_length;
    line_length = 0;
    while (done < length) {
        ssize_t written = write(output_fd, line + done, length - done);

        if (written < 0 && errno == EINTR)
            continue;
        if (written <= 0)
            return complain("the results cannot be written: %s", strerror(errno));
        done += (size_t)written;
    }
    return 0;
}
