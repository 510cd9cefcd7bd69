/*
 * grep PATTERN [FILE...]: writes the lines that match. In a pattern `^` is the
 * line's begin, `$` its end, `.` any character, `C*` any number of C; all else
 * is itself.
 */
#include "types.h"
#include "fcntl.h"
#include "user.h"

static char buffer[1024];

static int is_one(char pattern, char c)
{
    return c && (pattern == '.' || pattern == c);
}

/* Does the text begin with the pattern? */
static int begins(const char *pattern, const char *text)
{
    for (;; pattern++, text++) {
        if (!*pattern)
            return 1;
        if (pattern[1] == '*')
            break;
        if (*pattern == '$' && !pattern[1])
            return !*text;
        if (!is_one(*pattern, *text))
            return 0;
    }
    for (;; text++) {
        if (begins(pattern + 2, text))
            return 1;
        if (!is_one(*pattern, *text))
            return 0;
    }
}

static int matches(const char *pattern, const char *text)
{
    if (*pattern == '^')
        return begins(pattern + 1, text);
    for (;; text++) {
        if (begins(pattern, text))
            return 1;
        if (!*text)
            return 0;
    }
}

/* Shows the lines of the buffer that match; returns where the unfinished last
   one begins. */
static int show_lines(const char *pattern, int used)
{
    int begin = 0;

    for (int i = 0; i < used; i++) {
        if (buffer[i] != '\n')
            continue;
        buffer[i] = 0;
        if (matches(pattern, buffer + begin)) {
            buffer[i] = '\n';
            write(1, buffer + begin, i + 1 - begin);
        }
        begin = i + 1;
    }
    return begin;
}

static void search(const char *pattern, int fd)
{
    int used = 0, got;

    while ((got = read(fd, buffer + used, sizeof buffer - 1 - used)) > 0) {
        int begin;

        used += got;
        begin = show_lines(pattern, used);
        /* A line longer than the buffer is cut. */
        if (begin == 0 && used == sizeof buffer - 1)
            begin = used;
        used -= begin;
        memmove(buffer, buffer + begin, used);
    }
    buffer[used] = 0;
    if (used && matches(pattern, buffer))
        printf(1, "%s\n", buffer);
}

int main(int argc, char **argv)
{
    if (argc < 2) {
        printf(2, "usage: grep PATTERN [FILE...]\n");
        exit();
    }
    if (argc == 2)
        search(argv[1], 0);
    for (int i = 2; i < argc; i++) {
        int fd = open(argv[i], O_RDONLY);

        if (fd < 0) {
            printf(2, "grep: cannot open %s\n", argv[i]);
            exit();
        }
        search(argv[1], fd);
        close(fd);
    }
    exit();
}
