/*
 * A trivial model of the file system for one process: arrays in memory, no
 * disk, no cache, no log. It knows how many blocks and inodes there are, so it
 * says of every operation whether it succeeds.
 */
#ifndef MODEL_H
#define MODEL_H

#include "host.h"

enum kind {
    OPEN, CLOSE, READ, WRITE, DUP, FSTAT, LINK, UNLINK, MKDIR, MKNOD, CHDIR,
    KINDS
};

#define PATH_MOST 64
#define IO_MOST 9000

/* One operation, as it is asked of the model and of the kernel. */
struct operation {
    enum kind kind;
    char path[PATH_MOST];
    char other[PATH_MOST];      /* second path */
    int fd;
    int value;                  /* bytes, mode or major */
    uint fill;                  /* from which the bytes to write are made */
};

/* What it answers. */
struct answer {
    int result;
    uchar data[IO_MOST];        /* that were read, `result` bytes */
    struct stat stat;           /* of fstat */
};

struct operation operation_random(void);
const char *operation_text(const struct operation *operation);
void fill_bytes(uchar *to, int bytes, uint from);

/* An empty file system of so many data blocks and inode numbers. */
void model_start(uint blocks, uint inodes);
void model_do(const struct operation *operation, struct answer *answer);
void kernel_do(const struct operation *operation, struct answer *answer);
/* That many at random, whatever they answer; no file is open behind them. */
void kernel_do_random(int operations);
char *model_text(void);

/* Called when a transaction of an operation has ended and another one follows.
   */
extern void (*model_between)(void);

#endif
