/*
 * What board this is, and in which state.
 */
#include "output.h"

const char *read_line(char *line, size_t size, const char *format, ...)
{
    (void)size; (void)format;
    line[0] = 0;
    return line;
}

void board_describe(struct text *text)
{
    text_format(text, ",\"board\":{},\"clock\":{}");
}

void board_state(struct text *text)
{
    (void)text;
}
