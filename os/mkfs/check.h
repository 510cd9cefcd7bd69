/* Checks of a file system's image in the host's memory: see check.c. */
#ifndef CHECK_H
#define CHECK_H

#include <stdio.h>

#include "types.h"

struct findings {
    uint errors;        /* what no file system may have */
    uint notes;         /* what the next start mends, or does not matter */
};

/* Blocks of the log that wait to be written to their places; -1 if the log is
   not one, -2 if the super block is not one (check_image says why). */
int log_length(const uchar *image, size_t bytes);

/* Writes them there and empties the log. */
void log_replay(uchar *image);

/* Says everything that is wrong, a line each. The log counts as empty. */
struct findings check_image(const uchar *image, size_t bytes, FILE *out);

#endif
