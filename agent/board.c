/*
 * What board this is, and in which state.
 */
#include "output.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

const char *read_line(char *line, size_t size, const char *format, ...)
{
    char path[PATH_MAX];
    va_list arguments;
    FILE *file;

    va_start(arguments, format);
    vsnprintf(path, sizeof path, format, arguments);
    va_end(arguments);
    file = fopen(path, "r");
    line[0] = 0;
    if (file && fgets(line, (int)size, file))
        line[strcspn(line, "\n")] = 0;
    if (file)
        fclose(file);
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
