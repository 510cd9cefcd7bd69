/*
 * wc [FILE...]: counts lines, words, bytes of each file, or of what it reads.
 */
#include "types.h"
#include "fcntl.h"
#include "user.h"

static char buffer[512];

static void count(int fd, const char *name)
{
    int lines = 0, words = 0, bytes = 0, inside = 0, got;

    while ((got = read(fd, buffer, sizeof buffer)) > 0) {
        for (int i = 0; i < got; i++) {
            int space = strchr(" \t\r\n\v", buffer[i]) || !buffer[i];

            lines += buffer[i] == '\n';
            words += !space && !inside;
            inside = !space;
        }
        bytes += got;
    }
    if (got < 0) {
        printf(2, "wc: cannot read %s\n", name);
        exit();
    }
    printf(1, "%d %d %d %s\n", lines, words, bytes, name);
}

int main(int argc, char **argv)
{
    if (argc < 2)
        count(0, "");
    for (int i = 1; i < argc; i++) {
        int fd = open(argv[i], O_RDONLY);

        if (fd < 0) {
            printf(2, "wc: cannot open %s\n", argv[i]);
            exit();
        }
        count(fd, argv[i]);
        close(fd);
    }
    exit();
}
