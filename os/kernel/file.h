/* Open files, inodes in memory, and devices: see file.c and fs.c. */
#ifndef FILE_H
#define FILE_H

#include "fs.h"
#include "lock.h"
#include "param.h"
#include "types.h"

struct pipe;

enum file_type { FILE_NONE, FILE_PIPE, FILE_INODE };

struct file {
    enum file_type type;
    int refs;               /* descriptors; under file.c's lock */
    int readable;
    int writable;
    struct pipe *pipe;      /* of FILE_PIPE */
    struct inode *inode;    /* of FILE_INODE */
    uint offset;            /* where it goes on; under the inode's lock */
    struct file *next;      /* free one; under file.c's lock */
};

struct inode {
    uint dev;               /* which inode of which device, while refs > 0 */
    uint inum;
    int refs;               /* under the table's lock, as are the chains */
    struct inode *chain;    /* next one with the same hash, or free one */
    struct sleeplock lock;  /* over all that follows */
    uint age;               /* the table's, when it was read; 0: it is not */
    int unlinked;           /* it lost its last link since */
    short type;             /* as in struct dinode */
    short major;
    short minor;
    short nlink;
    uint size;
    uint addrs[NDIRECT + 1];
};

/* What is behind inodes of type T_DEV, by major number. A file's lock is not
   held while these run; they return bytes, or -1. */
struct device {
    int (*read)(char *to, int bytes);
    int (*write)(const char *from, int bytes);
};
extern struct device devices[NDEV];

#endif
