/* cat [FILE...]: writes the files, or what it reads, to its output. */
#include "types.h"
#include "fcntl.h"
#include "user.h"

static char buffer[512];

static void copy(int fd, const char *name)
{
    int bytes;

    while ((bytes = read(fd, buffer, sizeof buffer)) > 0)
        if (write(1, buffer, bytes) != bytes) {
            printf(2, "cat: write error\n");
            exit();
        }
    if (bytes < 0) {
        printf(2, "cat: cannot read %s\n", name);
        exit();
    }
}

int main(int argc, char **argv)
{
    if (argc < 2)
        copy(0, "the input");
    for (int i = 1; i < argc; i++) {
        int fd = open(argv[i], O_RDONLY);

        if (fd < 0) {
            printf(2, "cat: cannot open %s\n", argv[i]);
            exit();
        }
        copy(fd, argv[i]);
        close(fd);
    }
    exit();
}
