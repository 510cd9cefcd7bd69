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
 * When the disk fails to be written, or the log on it is none, the file system
 * is only read from then on, until the next start: who would change it asks
 * log_is_writable first.
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
    int readable_only;          /* a disk that fails, or lies, is not written;
                                   changes only while no operation is open */
    int n;                      /* blocks of the transaction */
    struct buf *bufs[LOGSIZE];  /* they, pinned */
    struct header header;       /* as it goes to the disk */
} log;

/* Says once that nothing is written any more, and why. */
static void close_for_writing(const char *why)
{
    if (log.readable_only)
        return;
    log.readable_only = 1;
    printf("log: %s; from here on the file system is only read\n", why);
}

int log_is_writable(void)
{
    return !log.readable_only;
}

static int write(uint block, const void *from)
{
    return disk_write(log.dev, block, from);
}

static int write_header(int n)
{
    log.header.n = n;
    return write(log.start, &log.header);
}

/* Whether the header is one, of blocks that are not the log's. */
static int header_is_sound(const struct superblock *super)
{
    int n = log.header.n;
    if (n < 0 || n > log.capacity)
        return 0;
    for (int i = 0; i < n; i++) {
        if (log.header.block[i] < super->inodestart ||
            log.header.block[i] >= super->size)
            return 0;
    }
    return 1;
}

/* The blocks of the log as buffers of where they belong, pinned. Returns how
   many there are; fewer than all if one cannot be read. */
static int read_back(int n)
{
    static uint data[BSIZE / sizeof(uint)];
    for (int i = 0; i < n; i++) {
        if (disk_read(log.dev, log.start + 1 + (uint)i, data) < 0)
            return i;
        struct buf *buf = bfresh(log.dev, log.header.block[i]);
        memmove(buf->data, data, BSIZE);
        bpin(buf);
        brelse(buf);
        log.bufs[i] = buf;
    }
    return n;
}

/* Before any buffer of the device is in use. What cannot be written to its
   place stays in memory, pinned, so that it is read from there. */
static void recover(const struct superblock *super)
{
    requires_sleep_allowed();
    if (disk_read(log.dev, log.start, &log.header) < 0) {
        close_for_writing("its header cannot be read");
        return;
    }
    if (!header_is_sound(super)) {
        close_for_writing("its header is not one");
        return;
    }
    int n = log.header.n, read = read_back(n);
    if (read < n) {
        close_for_writing("a block of it cannot be read");
        for (int i = 0; i < read; i++)
            bdrop(log.bufs[i]);
        return;
    }
    for (int i = 0; i < n; i++) {
        if (write(log.bufs[i]->block, log.bufs[i]->data) < 0) {
            close_for_writing("a block of it cannot be written to its place");
            return;
        }
    }
    if (n > 0 && write_header(0) < 0)
        close_for_writing("its header cannot be written");
    for (int i = 0; i < n; i++)
        bunpin(log.bufs[i]);
    if (n > 0)
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
    recover(super);
    if (log.capacity < MAXOPBLOCKS)
        close_for_writing("it is too small for an operation");
}

void begin_op(void)
{
    requires_sleep_allowed();
    acquire(&log.lock);
    while (log.committing ||
           (!log.readable_only &&
            log.n + (log.open + 1) * MAXOPBLOCKS > log.capacity)) {
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
    if (log.readable_only)
        panic("log_write: the file system is only read");
    if (!buf->logged) {
        if (log.n >= log.capacity)
            panic("log_write: too large an operation");
        buf->logged = 1;
        log.bufs[log.n++] = buf;
        bpin(buf);
    }
    release(&log.lock);
}

/* Writes the transaction to the log; from the header on it has happened. */
static int write_log(void)
{
    for (int i = 0; i < log.n; i++) {
        log.header.block[i] = log.bufs[i]->block;
        if (write(log.start + 1 + (uint)i, log.bufs[i]->data) < 0)
            return -1;
    }
    return write_header(log.n);
}

/* Writes it to where it belongs. */
static int write_places(void)
{
    for (int i = 0; i < log.n; i++) {
        if (write(log.bufs[i]->block, log.bufs[i]->data) < 0)
            return -1;
    }
    return 0;
}

/* Ends the transaction: its buffers are given back in this way. */
static void forget(void (*give_back)(struct buf *buf))
{
    for (int i = 0; i < log.n; i++) {
        log.bufs[i]->logged = 0;
        give_back(log.bufs[i]);
    }
    log.n = 0;
}

/* The buffers are not locked for writing: no operation is open that could
   change them. What fails before the header was written has not happened, in
   memory either. What fails behind it has: the next start finds it in the log,
   until then its buffers stay in memory, pinned. 0, or -1 if it has not
   happened. */
static int commit(void)
{
    requires_sleep_allowed();
    if (log.n == 0)
        return 0;
    if (write_log() < 0) {
        close_for_writing("it cannot be written");
        forget(bdrop);
        inodes_forget();
        return -1;
    }
    if (write_places() < 0) {
        close_for_writing("a block of it cannot be written to its place");
        log.n = 0;
        return 0;
    }
    if (write_header(0) < 0)
        close_for_writing("its header cannot be written");
    forget(bunpin);
    return 0;
}

static void wake(void)
{
    requires_lock(&log.lock);
    if (log.waiting) {
        log.waiting = 0;
        wakeup(&log);
    }
}

/* 0; -1 if the operation, and whatever else was open, has not happened. */
int end_op(void)
{
    requires_sleep_allowed();
    acquire(&log.lock);
    if (--log.open > 0) {
        wake();                 /* what it reserved and did not use is free */
        release(&log.lock);
        return 0;
    }
    log.committing = 1;
    release(&log.lock);
    int result = commit();
    acquire(&log.lock);
    log.committing = 0;
    wake();
    release(&log.lock);
    return result;
}
