/* A block of a disk in memory: see bio.c. */
#ifndef BUF_H
#define BUF_H

#include "lock.h"
#include "types.h"

struct buf {
    struct sleeplock lock;  /* over the data and `valid` */
    uchar *data;            /* BSIZE bytes */
    int valid;              /* the data are the block's */
    int logged;             /* in the open transaction; log.c's lock */
    /* Under the cache's lock. */
    uint dev;               /* which block of which device */
    uint block;
    int refs;               /* holders and waiters; the log is one of them */
    struct buf *chain;      /* next one with the same hash */
    struct buf *older;      /* in the list of those without references */
    struct buf *newer;
};

#endif
