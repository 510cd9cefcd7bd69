/*
 * Lines of JSON with their checksum, see docs/formats/measurement.md; and what main() needs of the
 * other files.
 */
#ifndef OUTPUT_H
#define OUTPUT_H

#include "agent.h"

/* The descriptor that lines go to. */
extern int output_fd;

/* A message about the agent to standard error. Returns -1. */
int complain(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Adds to the line of JSON that is told next. */
void tell(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* A comma, or "" where the line, an object or a list has just begun. */
const char *comma(void);
/* Ends the line with its checksum and writes it. Returns -1 when it cannot be written. */
int tell_line(void);

uint32_t crc32_of(uint32_t crc, const void *bytes, size_t length);

/* Fields about the board and its clock: `"board":{...},"clock":{...}`. */
void board_describe(void);
/* `"cpu_khz":...,"temperature_mc":...` as far as the kernel tells. */
void board_state(void);
/* The wear of all targets that the plan writes, as objects; to standard error as well. */
void target_wear(const struct plan *plan);

/* The fields of a step that ended, which are forgotten. Returns 0 done, 1 stopped, -1 failed. */
int record_describe(void);

/* Makes SIGINT, SIGTERM and SIGHUP end the plan in order. */
void watch_signals(void);
/* Puts everything back, and tells it as elements of a list. Returns how many failed. */
int undo_all(void);

#endif
