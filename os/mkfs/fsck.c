/*
 * fsck: checks an image of a file system (check.c).
 *
 *   fsck [--replay] IMAGE
 *
 * A log that was committed and not yet written to its places is taken into
 * account; --replay writes it there, in the image, first. Says what is wrong,
 * a line each. Status 0: consistent; 1: not; 2: it could not be checked.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"

static uchar *read_all(const char *path, size_t *bytes)
{
    FILE *file = fopen(path, "rb");
    long length;
    if (file == 0 || fseek(file, 0, SEEK_END) != 0 ||
        (length = ftell(file)) < 0 || fseek(file, 0, SEEK_SET) != 0)
        return 0;
    *bytes = (size_t)length;
    uchar *image = malloc(*bytes + 1);
    if (image != 0 && fread(image, 1, *bytes, file) != *bytes)
        return 0;
    fclose(file);
    return image;
}

static int write_all(const char *path, const uchar *image, size_t bytes)
{
    FILE *file = fopen(path, "r+b");
    if (file == 0)
        return -1;
    int short_write = fwrite(image, 1, bytes, file) != bytes;
    return fclose(file) != 0 || short_write ? -1 : 0;
}

int main(int argc, char **argv)
{
    int replay = argc == 3 && strcmp(argv[1], "--replay") == 0;
    const char *path = argv[argc - 1];
    size_t bytes;
    if (argc == 2 && strcmp(path, "--help") == 0) {
        puts("usage: fsck [--replay] IMAGE");
        return 0;
    }
    if ((argc != 2 && !replay) || path[0] == '-') {
        fputs("usage: fsck [--replay] IMAGE\n", stderr);
        return 2;
    }
    uchar *image = read_all(path, &bytes);
    if (image == 0) {
        fprintf(stderr, "fsck: %s cannot be read\n", path);
        return 2;
    }
    int length = log_length(image, bytes);
    if (length == -1)
        puts("log: its header is not one");
    if (length > 0) {
        printf("note: the log holds %d blocks%s\n", length,
               replay ? ", now written to their places" : "");
        log_replay(image);
        if (replay && write_all(path, image, bytes) < 0) {
            fprintf(stderr, "fsck: %s cannot be written\n", path);
            return 2;
        }
    }
    struct findings found = check_image(image, bytes, stdout);
    found.errors += length == -1;
    printf("%s: %u errors, %u notes\n", path, found.errors, found.notes);
    return found.errors > 0;
}
