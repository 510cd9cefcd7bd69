/*
 * File system: blocks, inodes and their contents, in the layout of fs.h.
 *
 * An inode has a number on the disk and, while someone uses it, a place in the
 * table of inodes. iget and idup give a reference, iput takes it back; ilock
 * reads the inode if need be and lets its holder use all fields and the
 * contents; iunlock ends that. References last long (open file, current
 * directory), locks are short, and a lock is taken only while a reference is
 * held. An inode that has neither links nor references is freed by iput with
 * its contents. Inodes that lost their last link but were in use when the
 * power failed are freed by fs_init.
 *
 * Whoever changes anything, and so everybody who calls iput, is between
 * begin_op and end_op. What cannot be had for lack of space is answered by 0
 * or -1, and then nothing is kept of it. The largest number of blocks that one
 * operation changes, MAXOPBLOCKS, counts on a free map of BITMAP_MOST blocks.
 *
 * `table.lock` protects chains and references, an inode's sleep lock the rest
 * of it.
 */
#include "kernel.h"
#include "buf.h"
#include "file.h"
#include "fs.h"
#include "stat.h"

#define CHAINS 16
#define SUPER 1             /* block of the super block */

static struct superblock sb;

static struct {
    struct spinlock lock;
    struct inode inodes[NINODE];
    struct inode *chains[CHAINS];   /* in use, by number */
    struct inode *free;
} table;

/* Blocks */

/* The first free block, cleared and taken; 0 if there is none. */
static uint block_new(uint dev)
{
    for (uint base = 0; base < sb.size; base += BPB) {
        uint end = sb.size - base < BPB ? sb.size - base : BPB;
        struct buf *map = bread(dev, BBLOCK(base, sb));
        uint bit = 0;
        while (bit < end && (map->data[bit / 8] & (1 << bit % 8)) != 0)
            bit += map->data[bit / 8] == 0xFF ? 8 : 1;
        if (bit < end) {
            map->data[bit / 8] |= (uchar)(1 << bit % 8);
            log_write(map);
            brelse(map);
            struct buf *buf = bread(dev, base + bit);
            memset(buf->data, 0, BSIZE);
            log_write(buf);
            brelse(buf);
            return base + bit;
        }
        brelse(map);
    }
    return 0;
}

static void block_free(uint dev, uint block)
{
    struct buf *map = bread(dev, BBLOCK(block, sb));
    uint bit = block % BPB;
    if ((map->data[bit / 8] & (1 << bit % 8)) == 0)
        panic("block_free: it is free");
    map->data[bit / 8] &= (uchar)~(1 << bit % 8);
    log_write(map);
    brelse(map);
}

/* Inodes on the disk */

static struct dinode *dinode_at(struct buf *buf, uint inum)
{
    return (struct dinode *)buf->data + inum % IPB;
}

struct inode *ialloc(uint dev, short type)
{
    for (uint inum = ROOTINO; inum < sb.ninodes; inum++) {
        struct buf *buf = bread(dev, IBLOCK(inum, sb));
        struct dinode *disk = dinode_at(buf, inum);
        if (disk->type != 0) {
            brelse(buf);
            continue;
        }
        struct inode *inode = iget(dev, inum);
        if (inode != 0) {
            memset(disk, 0, sizeof(*disk));
            disk->type = type;
            log_write(buf);
        }
        brelse(buf);
        return inode;
    }
    return 0;
}

/* Writes a locked inode's fields to the disk. */
void iupdate(struct inode *inode)
{
    struct buf *buf = bread(inode->dev, IBLOCK(inode->inum, sb));
    struct dinode *disk = dinode_at(buf, inode->inum);
    disk->type = inode->type;
    disk->major = inode->major;
    disk->minor = inode->minor;
    disk->nlink = inode->nlink;
    disk->size = inode->size;
    memmove(disk->addrs, inode->addrs, sizeof(disk->addrs));
    log_write(buf);
    brelse(buf);
}

static void inode_read(struct inode *inode)
{
    struct buf *buf = bread(inode->dev, IBLOCK(inode->inum, sb));
    const struct dinode *disk = dinode_at(buf, inode->inum);
    inode->type = disk->type;
    inode->major = disk->major;
    inode->minor = disk->minor;
    inode->nlink = disk->nlink;
    inode->size = disk->size;
    memmove(inode->addrs, disk->addrs, sizeof(inode->addrs));
    brelse(buf);
    inode->valid = 1;
}

/* Frees the contents of a locked inode. */
static void truncate(struct inode *inode)
{
    for (uint i = 0; i < NDIRECT; i++) {
        if (inode->addrs[i] != 0)
            block_free(inode->dev, inode->addrs[i]);
    }
    if (inode->addrs[NDIRECT] != 0) {
        struct buf *buf = bread(inode->dev, inode->addrs[NDIRECT]);
        const uint *entries = (const uint *)buf->data;
        for (uint i = 0; i < NINDIRECT; i++) {
            if (entries[i] != 0)
                block_free(inode->dev, entries[i]);
        }
        brelse(buf);
        block_free(inode->dev, inode->addrs[NDIRECT]);
    }
    memset(inode->addrs, 0, sizeof(inode->addrs));
    inode->size = 0;
}

/* Inodes in memory */

/* A reference to an inode, which is not read yet; 0 if the table is full. */
struct inode *iget(uint dev, uint inum)
{
    struct inode **chain = &table.chains[inum % CHAINS];
    struct inode *inode;
    acquire(&table.lock);
    for (inode = *chain; inode != 0; inode = inode->chain) {
        if (inode->inum == inum && inode->dev == dev)
            break;
    }
    if (inode == 0 && table.free != 0) {
        inode = table.free;
        table.free = inode->chain;
        inode->dev = dev;
        inode->inum = inum;
        inode->valid = 0;
        inode->chain = *chain;
        *chain = inode;
    }
    if (inode != 0)
        inode->refs++;
    release(&table.lock);
    return inode;
}

struct inode *idup(struct inode *inode)
{
    acquire(&table.lock);
    inode->refs++;
    release(&table.lock);
    return inode;
}

void ilock(struct inode *inode)
{
    if (inode->refs < 1)
        panic("ilock: no reference");
    sleeplock_acquire(&inode->lock);
    if (!inode->valid) {
        inode_read(inode);
        if (inode->type == 0)
            panic("ilock: free inode");
        if (inode->size > MAXFILE * BSIZE)
            panic("ilock: larger than a file can be");
    }
}

void iunlock(struct inode *inode)
{
    if (!sleeplock_holding(&inode->lock))
        panic("iunlock: not held");
    sleeplock_release(&inode->lock);
}

/* Frees an inode without links on the disk, by its last reference: nobody else
   can come to know it meanwhile. */
static void inode_free(struct inode *inode)
{
    sleeplock_acquire(&inode->lock);
    truncate(inode);
    inode->type = 0;
    iupdate(inode);
    inode->valid = 0;
    sleeplock_release(&inode->lock);
}

/* Whether a reference is the last one is asked and acted upon in one go, lest
   two that are given back at once each take the other for the last. It is asked
   again when the inode was freed: by then another file may have had the number,
   and lost its last link. */
void iput(struct inode *inode)
{
    acquire(&table.lock);
    while (inode->refs == 1 && inode->valid && inode->nlink == 0) {
        release(&table.lock);
        inode_free(inode);
        acquire(&table.lock);
    }
    if (--inode->refs == 0) {
        struct inode **at = &table.chains[inode->inum % CHAINS];
        while (*at != inode)
            at = &(*at)->chain;
        *at = inode->chain;
        inode->chain = table.free;
        table.free = inode;
    }
    release(&table.lock);
}

void iunlockput(struct inode *inode)
{
    iunlock(inode);
    iput(inode);
}

/* Contents of inodes */

/* Number of a file's block in the table `entries`, which it gets if it has
   none; 0 if there is no space. *fresh tells whether it is new. */
static uint entry_new(uint dev, uint *entry, int *fresh)
{
    *fresh = *entry == 0;
    if (*fresh)
        *entry = block_new(dev);
    return *entry;
}

/* The same for a block behind the direct ones. */
static uint indirect_new(struct inode *inode, uint index)
{
    uint *table_entry = &inode->addrs[NDIRECT];
    int fresh_table, fresh;
    if (entry_new(inode->dev, table_entry, &fresh_table) == 0)
        return 0;
    struct buf *buf = bread(inode->dev, *table_entry);
    uint block = entry_new(inode->dev, (uint *)buf->data + index, &fresh);
    if (fresh && block != 0)
        log_write(buf);
    brelse(buf);
    if (block == 0 && fresh_table) {
        block_free(inode->dev, *table_entry);
        *table_entry = 0;
    }
    return block;
}

static uint block_for_write(struct inode *inode, uint index)
{
    int fresh;
    if (index >= NDIRECT)
        return indirect_new(inode, index - NDIRECT);
    return entry_new(inode->dev, &inode->addrs[index], &fresh);
}

/* The buffer of a block of a locked inode; 0 if nothing was ever written
   there. */
struct buf *iblock(struct inode *inode, uint index)
{
    uint block = 0;
    if (index < NDIRECT) {
        block = inode->addrs[index];
    } else if (index < MAXFILE && inode->addrs[NDIRECT] != 0) {
        struct buf *buf = bread(inode->dev, inode->addrs[NDIRECT]);
        block = ((const uint *)buf->data)[index - NDIRECT];
        brelse(buf);
    }
    return block == 0 ? 0 : bread(inode->dev, block);
}

static uint part_of_block(uint offset, uint bytes)
{
    uint part = BSIZE - offset % BSIZE;
    return part < bytes ? part : bytes;
}

/* Bytes read from a locked inode, fewer at its end; -1 behind it. */
int readi(struct inode *inode, char *to, uint offset, uint bytes)
{
    if (offset > inode->size || offset + bytes < offset)
        return -1;
    if (bytes > inode->size - offset)
        bytes = inode->size - offset;
    for (uint done = 0, part; done < bytes; done += part) {
        part = part_of_block(offset + done, bytes - done);
        struct buf *buf = iblock(inode, (offset + done) / BSIZE);
        if (buf == 0) {
            memset(to + done, 0, part);
            continue;
        }
        memmove(to + done, buf->data + (offset + done) % BSIZE, part);
        brelse(buf);
    }
    return (int)bytes;
}

/* Bytes written to a locked inode, fewer if the disk is full; -1 if they do
   not follow what is there or make it too long. */
int writei(struct inode *inode, const char *from, uint offset, uint bytes)
{
    uint done = 0, part;
    if (offset > inode->size || offset + bytes < offset ||
        offset + bytes > MAXFILE * BSIZE)
        return -1;
    for (; done < bytes; done += part) {
        part = part_of_block(offset + done, bytes - done);
        uint block = block_for_write(inode, (offset + done) / BSIZE);
        if (block == 0)
            break;
        struct buf *buf = bread(inode->dev, block);
        memmove(buf->data + (offset + done) % BSIZE, from + done, part);
        log_write(buf);
        brelse(buf);
    }
    if (offset + done > inode->size)
        inode->size = offset + done;
    if (done > 0)
        iupdate(inode);         /* of a hole filled, too */
    return (int)done;
}

void stati(struct inode *inode, struct stat *to)
{
    to->type = inode->type;
    to->dev = (int)inode->dev;
    to->ino = inode->inum;
    to->nlink = inode->nlink;
    to->size = inode->size;
}

/* Start */

static void check_superblock(void)
{
    uint inode_blocks = sb.ninodes / IPB + 1;
    uint bitmap_blocks = sb.size / BPB + 1;
    if (sb.size < 2 || sb.ninodes < 2 || sb.ninodes > 0xFFFF ||
        sb.logstart < SUPER + 1 || sb.inodestart < sb.logstart + sb.nlog ||
        sb.bmapstart < sb.inodestart + inode_blocks ||
        sb.size < sb.bmapstart + bitmap_blocks)
        panic("fs_init: no file system");
    if (sb.size > SIZE_MOST)
        panic("fs_init: file system too large");
}

/* Frees inodes that were in use without a link when the power failed. */
static void free_orphans(uint dev)
{
    uint orphans = 0;
    for (uint inum = ROOTINO; inum < sb.ninodes; inum++) {
        struct buf *buf = bread(dev, IBLOCK(inum, sb));
        const struct dinode *disk = dinode_at(buf, inum);
        int orphan = disk->type != 0 && disk->nlink == 0;
        brelse(buf);
        if (!orphan)
            continue;
        struct inode *inode = iget(dev, inum);
        begin_op();
        ilock(inode);
        iunlockput(inode);
        end_op();
        orphans++;
    }
    if (orphans > 0)
        printf("fs: freed %u inodes without links\n", orphans);
}

void fs_init(int dev)
{
    lock_init(&table.lock, "inodes");
    for (int i = 0; i < NINODE; i++) {
        sleeplock_init(&table.inodes[i].lock, "inode");
        table.inodes[i].chain = table.free;
        table.free = &table.inodes[i];
    }
    struct buf *buf = bread((uint)dev, SUPER);
    memmove(&sb, buf->data, sizeof(sb));
    brelse(buf);
    check_superblock();
    log_init(dev, &sb);
    free_orphans((uint)dev);
}
