/*
 * Buffer cache: blocks of disks in memory, each at most once, so that it is
 * also where processes that use the same block wait for each other.
 *
 * bread returns the block's buffer locked, or 0 if the disk cannot be read;
 * bfresh does so without reading, for who writes all of it; brelse gives it
 * back; in between nobody else has it. A block that is pinned stays in memory,
 * so that bread of it does not fail. bdrop gives a pinned one back whose
 * changes are not to be. Who changes a buffer hands it to log_write. The
 * cache keeps the blocks that were used last: a buffer without references
 * waits in a list sorted by the time of its last use and is taken from its old
 * end. If all buffers are in use, bread waits; that ends, because an operation
 * holds at most two buffers at a time and the log pins fewer than there are
 * (see NBUF).
 *
 * `cache.lock` protects chains, list, references and what a buffer is for; a
 * buffer's sleep lock protects its data. Both are found by a hash and the end
 * of a list, not by a search of all buffers, because a spinlock keeps
 * interrupts off.
 */
#include "contract.h"
#include "kernel.h"
#include "buf.h"
#include "fs.h"
#include "proc.h"

#define CHAINS 32

static struct {
    struct spinlock lock;
    struct buf bufs[NBUF];
    struct buf *chains[CHAINS]; /* by block number */
    struct buf *newest;         /* without references */
    struct buf *oldest;
    int waiting;                /* someone waits for a free buffer */
    uchar data[NBUF][BSIZE] __attribute__((aligned(32)));
} cache;

static void list_add(struct buf *buf)
{
    requires_lock(&cache.lock);
    buf->newer = 0;
    buf->older = cache.newest;
    if (cache.newest)
        cache.newest->newer = buf;
    else
        cache.oldest = buf;
    cache.newest = buf;
}

static void list_remove(struct buf *buf)
{
    requires_lock(&cache.lock);
    if (buf->newer)
        buf->newer->older = buf->older;
    else
        cache.newest = buf->older;
    if (buf->older)
        buf->older->newer = buf->newer;
    else
        cache.oldest = buf->newer;
}

static void chain_remove(struct buf *buf)
{
    requires_lock(&cache.lock);
    struct buf **at = &cache.chains[buf->block % CHAINS];
    while (*at != 0 && *at != buf)
        at = &(*at)->chain;
    if (*at != 0)
        *at = buf->chain;
}

void bio_init(void)
{
    lock_init(&cache.lock, "buffers");
    for (int i = 0; i < NBUF; i++) {
        sleeplock_init(&cache.bufs[i].lock, "buffer");
        cache.bufs[i].data = cache.data[i];
        acquire(&cache.lock);
        list_add(&cache.bufs[i]);
        release(&cache.lock);
    }
}

/* A reference to the block's buffer; its data are valid or not. */
static struct buf *buf_get(uint dev, uint block)
{
    struct buf **chain = &cache.chains[block % CHAINS];
    struct buf *buf;
    acquire(&cache.lock);
    for (;;) {
        for (buf = *chain; buf != 0; buf = buf->chain) {
            if (buf->block == block && buf->dev == dev)
                break;
        }
        if (buf != 0 || cache.oldest != 0)
            break;
        cache.waiting = 1;
        sleep(&cache, &cache.lock);
    }
    if (buf == 0) {
        buf = cache.oldest;
        chain_remove(buf);
        buf->dev = dev;
        buf->block = block;
        buf->valid = 0;
        buf->chain = *chain;
        *chain = buf;
    }
    if (buf->refs++ == 0)
        list_remove(buf);
    release(&cache.lock);
    return buf;
}

static void buf_put(struct buf *buf)
{
    acquire(&cache.lock);
    if (--buf->refs == 0) {
        list_add(buf);
        if (cache.waiting) {
            cache.waiting = 0;
            wakeup(&cache);
        }
    }
    release(&cache.lock);
}

struct buf *bread(uint dev, uint block)
{
    requires_sleep_allowed();
    struct buf *buf = buf_get(dev, block);
    sleeplock_acquire(&buf->lock);
    if (!buf->valid) {
        if (disk_read(dev, block, buf->data) < 0) {
            printf("bread: block %u cannot be read\n", block);
            brelse(buf);
            return 0;
        }
        buf->valid = 1;
    }
    return buf;
}

struct buf *bfresh(uint dev, uint block)
{
    requires_sleep_allowed();
    struct buf *buf = buf_get(dev, block);
    sleeplock_acquire(&buf->lock);
    memset(buf->data, 0, BSIZE);
    buf->valid = 1;
    return buf;
}

void brelse(struct buf *buf)
{
    if (!sleeplock_holding(&buf->lock))
        panic("brelse: not held");
    sleeplock_release(&buf->lock);
    buf_put(buf);
}

void bpin(struct buf *buf)
{
    acquire(&cache.lock);
    buf->refs++;
    release(&cache.lock);
}

void bunpin(struct buf *buf)
{
    buf_put(buf);
}

void bdrop(struct buf *buf)
{
    sleeplock_acquire(&buf->lock);
    buf->valid = 0;
    sleeplock_release(&buf->lock);
    buf_put(buf);
}
