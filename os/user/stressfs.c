/* stressfs: five processes write and read a file each, all at once. */
#include "types.h"
#include "stat.h"
#include "fcntl.h"
#include "fs.h"
#include "user.h"

#define BLOCKS 20

static char data[BSIZE];

/* 1 if the file holds what was written. */
static int holds(const char *name)
{
    char got[BSIZE];
    int fd = open(name, O_RDONLY);
    int right = fd >= 0;

    for (int i = 0; right && i < BLOCKS; i++) {
        right = read(fd, got, sizeof got) == (int)sizeof got;
        for (uint byte = 0; right && byte < sizeof got; byte++)
            right = got[byte] == data[byte];
    }
    close(fd);
    return right;
}

int main(void)
{
    char name[] = "stressfs0";
    int fd, number;

    printf(1, "stressfs starting\n");
    for (number = 0; number < 4; number++)
        if (fork() > 0)
            break;
    memset(data, 'a' + number, sizeof data);
    name[sizeof name - 2] = (char)('0' + number);

    printf(1, "write %d\n", number);
    fd = open(name, O_CREATE | O_RDWR);
    for (int i = 0; i < BLOCKS; i++)
        if (write(fd, data, sizeof data) != (int)sizeof data)
            printf(1, "stressfs: cannot write %s\n", name);
    close(fd);

    printf(1, "read %d\n", number);
    if (!holds(name))
        printf(1, "stressfs: %s is wrong\n", name);
    wait();
    exit();
}
