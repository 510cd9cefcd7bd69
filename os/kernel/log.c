/*
 * Log: makes the changes of a file system operation happen all or not at all,
 * whenever the power fails.
 *
 * An operation calls begin_op, changes buffers, hands each changed one to
 * log_write while it holds it, and calls end_op. At most MAXOPBLOCKS different
 * blocks may be changed between the two. When no operation is open any more,
 * all that were open since the last time are committed together: their blocks
 * are written to the log, then its header, which is the moment when they have
 * happened, then to where they belong, and the header is cleared. Until then
 * the buffers are pinned, so none of them reaches the disk by another way.
 * When end_op of an operation returns with no other operation open, it is on
 * the disk.
 *
 *   logstart      header: n, then the numbers of the n blocks
 *   logstart + 1  the blocks
 *
 * log.lock protects all of `log` but the transaction of a commit, which
 * belongs to the process that commits: begin_op lets nobody in meanwhile.
 */
#include "contract.h"
#include "kernel.h"
#include "buf.h"
#include "fs.h"
#include "proc.h"

struct header {
    int n;                      /* blocks in the log; 0: nothing happened */
    uint block[LOGSIZE];        /* where they belong */
    uchar rest[BSIZE - (LOGSIZE + 1) * sizeof(uint)];
};

static struct {
    struct spinlock lock;
    uint dev;
    uint start;                 /* block of the header */
    int capacity;               /* blocks behind it */
    int open;                   /* operations between begin_op and end_op */
    int committing;
    int waiting;                /* someone sleeps in begin_op */
    int n;                      /* blocks of the transaction */
    struct buf *bufs[LOGSIZE];  /* they, pinned */
    struct header header;       /* as it goes to the disk */
} log;

static void write(uint block, const void *from)
{
    if (disk_write(log.dev, block, from) < 0)
        panic("log: the disk cannot be written");
}

static void write_header(int n)
{
    log.header.n = n;
    write(log.start, &log.header);
}

/* Before any buffer of the device is in use. */
static void recover(void)
{
    requires_sleep_allowed();
    static uint data[BSIZE / sizeof(uint)];
    if (disk_read(log.dev, log.start, &log.header) < 0)
        panic("log_init: the disk cannot be read");
    int n = log.header.n;
    if (n < 0 || n > log.capacity)
        panic("log_init: bad header");
    if (n == 0)
        return;
    for (int i = 0; i < n; i++) {
        if (disk_read(log.dev, log.start + 1 + (uint)i, data) < 0)
            panic("log_init: the disk cannot be read");
        write(log.header.block[i], data);
    }
    write_header(0);
    printf("log: recovered %d blocks\n", n);
}

void log_init(int dev, const struct superblock *super)
{
    lock_init(&log.lock, "log");
    log.dev = (uint)dev;
    log.start = super->logstart;
    log.capacity = LOGSIZE;
    if (super->nlog <= LOGSIZE)
        log.capacity = (int)super->nlog - 1;
    if (log.capacity < MAXOPBLOCKS)
        panic("log_init: log too small");
    recover();
}

void begin_op(void)
{
    requires_sleep_allowed();
    acquire(&log.lock);
    while (log.committing ||
           log.n + (log.open + 1) * MAXOPBLOCKS > log.capacity) {
        log.waiting = 1;
        sleep(&log, &log.lock);
    }
    log.open++;
    release(&log.lock);
}

void log_write(struct buf *buf)
{
    acquire(&log.lock);
    if (log.open < 1)
        panic("log_write: no operation");
    if (!buf->logged) {
        if (log.n >= log.capacity)
            panic("log_write: too large an operation");
        buf->logged = 1;
        log.bufs[log.n++] = buf;
        bpin(buf);
    }
    release(&log.lock);
}

/* The buffers are not locked: no operation is open that could change them. */
static void commit(void)
{
    requires_sleep_allowed();
    if (log.n == 0)
        return;
    for (int i = 0; i < log.n; i++) {
        log.header.block[i] = log.bufs[i]->block;
        write(log.start + 1 + (uint)i, log.bufs[i]->data);
    }
    write_header(log.n);
    for (int i = 0; i < log.n; i++)
        write(log.bufs[i]->block, log.bufs[i]->data);
    write_header(0);
    for (int i = 0; i < log.n; i++) {
        log.bufs[i]->logged = 0;
        bunpin(log.bufs[i]);
    }
    log.n = 0;
}

static void wake(void)
{
    requires_lock(&log.lock);
    if (log.waiting) {
        log.waiting = 0;
        wakeup(&log);
    }
}

void end_op(void)
{
    requires_sleep_allowed();
    acquire(&log.lock);
    if (--log.open > 0) {
        wake();                 /* what it reserved and did not use is free */
        release(&log.lock);
        return;
    }
    log.committing = 1;
    release(&log.lock);
    commit();
    acquire(&log.lock);
    log.committing = 0;
    wake();
    release(&log.lock);
}
