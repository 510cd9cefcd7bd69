/*
 * Lines of JSON with their checksum; see docs/formats/measurement.md.
 */
#ifndef OUTPUT_H
#define OUTPUT_H

#include "agent.h"

/* The descriptor that lines go to. */
extern int output_fd;

/* A line under construction; it grows as needed. */
struct text {
    char *bytes;
    size_t length, room;
};

void text_format(struct text *text, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* A string of JSON with its quotes; bytes that are not printable ASCII become \u00xx. */
void text_string(struct text *text, const char *string);
/* Adds the checksum, writes the line and empties it. Returns -1 when it cannot be written. */
int text_write_line(struct text *text);

uint32_t crc32_of(uint32_t crc, const void *bytes, size_t length);

/* Fields about the board and its clock: `,"board":{...},"clock":{...}`. */
void board_describe(struct text *text);
/* `,"cpu_khz":...,"temperature_mc":...` as far as the kernel tells. */
void board_state(struct text *text);

struct record *record_new(void);
/* The fields of a step that ended. Returns 0 done, 1 stopped, -1 failed. */
int record_describe(struct record *record, struct text *text);

#endif
