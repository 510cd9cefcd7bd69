/* ls [PATH...]: a line a file: name, type (T_ of stat.h), inode, bytes. */
#include "types.h"
#include "stat.h"
#include "fcntl.h"
#include "fs.h"
#include "user.h"

static char path[512];

/* The last part of a path, with spaces up to DIRSIZ. */
static const char *padded_name(const char *whole)
{
    static char name[DIRSIZ + 1];
    const char *last = whole;
    uint length;

    for (const char *at = whole; *at; at++)
        if (*at == '/')
            last = at + 1;
    length = strlen(last);
    if (length >= DIRSIZ)
        return last;
    memmove(name, last, (int)length);
    memset(name + length, ' ', DIRSIZ - length);
    return name;
}

static void show(const char *name, const struct stat *file)
{
    printf(1, "%s %d %d %d\n", padded_name(name), file->type, file->ino,
           file->size);
}

static void show_entries(const char *directory, int fd)
{
    struct dirent entry;
    struct stat file;
    uint length = strlen(directory);

    if (length + 1 + DIRSIZ + 1 > sizeof path) {
        printf(2, "ls: path too long\n");
        return;
    }
    strcpy(path, directory);
    path[length++] = '/';
    while (read(fd, &entry, sizeof entry) == sizeof entry) {
        if (entry.inum == 0)
            continue;
        memmove(path + length, entry.name, DIRSIZ);
        path[length + DIRSIZ] = 0;
        if (stat(path, &file) < 0)
            printf(2, "ls: cannot stat %s\n", path);
        else
            show(path, &file);
    }
}

static void list(const char *name)
{
    int fd = open(name, O_RDONLY);
    struct stat file;

    if (fd < 0) {
        printf(2, "ls: cannot open %s\n", name);
        return;
    }
    if (fstat(fd, &file) < 0)
        printf(2, "ls: cannot stat %s\n", name);
    else if (file.type == T_DIR)
        show_entries(name, fd);
    else
        show(name, &file);
    close(fd);
}

int main(int argc, char **argv)
{
    if (argc < 2)
        list(".");
    for (int i = 1; i < argc; i++)
        list(argv[i]);
    exit();
}
