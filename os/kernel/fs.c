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
 * The disk may fail and may say anything. A block that cannot be read, an inode
 * that cannot be, a number that leads elsewhere is an error of the call that
 * comes upon it, and nobody else's. Whoever changes several blocks sees to it
 * that those it needs later are in memory, pinned, before it changes the first.
 *
 * `table.lock` protects chains and references, an inode's sleep lock the rest
 * of it.
 */
#include "contract.h"
#include "kernel.h"
#include "buf.h"
#include "file.h"
#include "fs.h"
#include "stat.h"

#define CHAINS 16
#define SUPER 1             /* block of the super block */

static struct superblock sb;
static uint data_start;     /* first block behind the free map */

static struct {
    struct spinlock lock;
    struct inode inodes[NINODE];
    struct inode *chains[CHAINS];   /* in use, by number */
    struct inode *free;
    uint age;                       /* inodes that were read before it are not
                                       what the disk says any more */
} table = {.age = 1};

/* Blocks */

/* The block stays in memory, so that bread of it does not fail, until bunpin;
   0 if it cannot be read. */
static struct buf *pin(uint dev, uint block)
{
    struct buf *buf = bread(dev, block);
    if (buf != 0) {
        bpin(buf);
        brelse(buf);
    }
    return buf;
}

/* The first free one of the blocks that this map has, or its `end`; the map may
   call others than data free. */
static uint bit_free(const struct buf *map, uint base, uint end)
{
    uint bit = base < data_start ? data_start - base : 0;
    while (bit < end && (map->data[bit / 8] & (1 << bit % 8)) != 0)
        bit += bit % 8 == 0 && map->data[bit / 8] == 0xFF ? 8 : 1;
    return bit < end ? bit : end;
}

/* The first free block, cleared and taken; 0 if there is none. */
static uint block_new(uint dev)
{
    for (uint base = 0; base < sb.size; base += BPB) {
        uint end = sb.size - base < BPB ? sb.size - base : BPB;
        struct buf *map = bread(dev, BBLOCK(base, sb));
        if (map == 0)
            continue;
        uint bit = bit_free(map, base, end);
        if (bit < end) {
            map->data[bit / 8] |= (uchar)(1 << bit % 8);
            log_write(map);
            brelse(map);
            struct buf *buf = bfresh(dev, base + bit);
            log_write(buf);
            brelse(buf);
            return base + bit;
        }
        brelse(map);
    }
    return 0;
}

static int is_data(uint block)
{
    return block >= data_start && block < sb.size;
}

/* A block of data whose map is in memory; what is none, or free already, is
   left alone. */
static void block_free(uint dev, uint block)
{
    if (!is_data(block))
        return;
    struct buf *map = bread(dev, BBLOCK(block, sb));
    uint bit = block % BPB;
    if (map == 0)
        panic("block_free: the map is not in memory");
    if ((map->data[bit / 8] & (1 << bit % 8)) != 0) {
        map->data[bit / 8] &= (uchar)~(1 << bit % 8);
        log_write(map);
    }
    brelse(map);
}

/* A block that belongs to a file, as the disk says; 0 if it cannot be read. */
static struct buf *data_read(const struct inode *inode, uint block)
{
    if (is_data(block))
        return bread(inode->dev, block);
    printf("fs: inode %u: block %u is not one of data, %u to %u\n", inode->inum,
           block, data_start, sb.size - 1);
    return 0;
}

/* Inodes on the disk */

static struct dinode *dinode_at(struct buf *buf, uint inum)
{
    return (struct dinode *)buf->data + inum % IPB;
}

struct inode *ialloc(uint dev, short type)
{
    if (!log_is_writable())
        return 0;
    for (uint inum = ROOTINO; inum < sb.ninodes; inum++) {
        struct buf *buf = bread(dev, IBLOCK(inum, sb));
        if (buf == 0) {
            inum |= IPB - 1;    /* none of this block */
            continue;
        }
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
int iupdate(struct inode *inode)
{
    requires_sleeplock(&inode->lock);
    if (!log_is_writable())
        return -1;
    struct buf *buf = bread(inode->dev, IBLOCK(inode->inum, sb));
    if (buf == 0)
        return -1;
    struct dinode *disk = dinode_at(buf, inode->inum);
    disk->type = inode->type;
    disk->major = inode->major;
    disk->minor = inode->minor;
    disk->nlink = inode->nlink;
    disk->size = inode->size;
    memmove(disk->addrs, inode->addrs, sizeof(disk->addrs));
    log_write(buf);
    brelse(buf);
    return 0;
}

/* What makes an inode of the disk one that cannot be; 0: nothing. */
static const char *nonsense(const struct dinode *disk)
{
    if (disk->type != T_DIR && disk->type != T_FILE && disk->type != T_DEV)
        return "its type is none";
    if (disk->size > MAXFILE * BSIZE)
        return "it is larger than a file can be";
    if (disk->type == T_DIR && disk->size % sizeof(struct dirent) != 0)
        return "its size is not of whole entries";
    if (disk->nlink < 0)
        return "it has less than no links";
    return 0;
}

static int inode_read(struct inode *inode)
{
    if (inode->inum < ROOTINO || inode->inum >= sb.ninodes) {
        printf("fs: inode %u: there are %u\n", inode->inum, sb.ninodes);
        return -1;
    }
    struct buf *buf = bread(inode->dev, IBLOCK(inode->inum, sb));
    if (buf == 0)
        return -1;
    const struct dinode *disk = dinode_at(buf, inode->inum);
    const char *why = nonsense(disk);
    if (why != 0)
        printf("fs: inode %u: %s: type %d, %u bytes, %d links\n", inode->inum,
               why, disk->type, disk->size, disk->nlink);
    inode->type = disk->type;
    inode->major = disk->major;
    inode->minor = disk->minor;
    inode->nlink = disk->nlink;
    inode->size = disk->size;
    memmove(inode->addrs, disk->addrs, sizeof(inode->addrs));
    brelse(buf);
    if (why != 0)
        return -1;
    inode->age = table.age;
    return 0;
}

/* What freeing an inode needs: its block, the indirect one, the free maps. */
struct pins {
    struct buf *bufs[2 + BITMAP_MOST];
    uint count;
};

static int pins_add(struct pins *pins, uint dev, uint block)
{
    for (uint i = 0; i < pins->count; i++)
        if (pins->bufs[i]->block == block)
            return 0;
    struct buf *buf = pin(dev, block);
    if (buf == 0)
        return -1;
    pins->bufs[pins->count++] = buf;
    return 0;
}

static void pins_drop(struct pins *pins)
{
    while (pins->count > 0)
        bunpin(pins->bufs[--pins->count]);
}

static int pins_add_maps(struct pins *pins, uint dev, const uint *blocks,
                         uint count)
{
    for (uint i = 0; i < count; i++)
        if (is_data(blocks[i]) &&
            pins_add(pins, dev, BBLOCK(blocks[i], sb)) < 0)
            return -1;
    return 0;
}

/* The blocks behind the direct ones into `entries`, without what is none. */
static int indirect_read(const struct inode *inode, uint *entries)
{
    memset(entries, 0, NINDIRECT * sizeof(*entries));
    if (!is_data(inode->addrs[NDIRECT]))
        return 0;
    struct buf *buf = bread(inode->dev, inode->addrs[NDIRECT]);
    if (buf == 0)
        return -1;
    memmove(entries, buf->data, NINDIRECT * sizeof(*entries));
    brelse(buf);
    return 0;
}

/* Frees a locked inode and its contents. 0, or -1 with nothing changed: what it
   takes cannot be read. */
static int erase(struct inode *inode)
{
    requires_sleeplock(&inode->lock);
    uint dev = inode->dev, entries[NINDIRECT];
    struct pins pins = {.count = 0};
    if (indirect_read(inode, entries) < 0 ||
        pins_add(&pins, dev, IBLOCK(inode->inum, sb)) < 0 ||
        pins_add_maps(&pins, dev, inode->addrs, NDIRECT + 1) < 0 ||
        pins_add_maps(&pins, dev, entries, NINDIRECT) < 0) {
        pins_drop(&pins);
        return -1;
    }
    for (uint i = 0; i < NDIRECT; i++)
        block_free(dev, inode->addrs[i]);
    for (uint i = 0; i < NINDIRECT; i++)
        block_free(dev, entries[i]);
    block_free(dev, inode->addrs[NDIRECT]);
    memset(inode->addrs, 0, sizeof(inode->addrs));
    inode->size = 0;
    inode->type = 0;
    iupdate(inode);
    pins_drop(&pins);
    return 0;
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
        inode->age = 0;
        inode->unlinked = 0;
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

/* 0; -1 if the disk says none, or cannot be read: then it is not locked. */
int ilock(struct inode *inode)
{
    if (inode->refs < 1)
        panic("ilock: no reference");
    sleeplock_acquire(&inode->lock);
    if (inode->age == table.age || inode_read(inode) == 0)
        return 0;
    sleeplock_release(&inode->lock);
    return -1;
}

/* Memory is not what is on the disk any more: a transaction has not happened.
   No operation is open. */
void inodes_forget(void)
{
    acquire(&table.lock);
    table.age++;
    release(&table.lock);
}

void iunlock(struct inode *inode)
{
    if (!sleeplock_holding(&inode->lock))
        panic("iunlock: not held");
    sleeplock_release(&inode->lock);
}

/* Frees an inode without links on the disk, by its last reference: nobody else
   can come to know it meanwhile. What cannot be freed is left to the next start
   (free_orphans). */
static void inode_free(struct inode *inode)
{
    sleeplock_acquire(&inode->lock);
    if (erase(inode) < 0)
        printf("fs: inode %u: it cannot be freed\n", inode->inum);
    inode->age = 0;
    inode->unlinked = 0;
    sleeplock_release(&inode->lock);
}

/* Whether it goes with its last reference: it lost its last link here, and not
   just by what the disk says. */
static int is_over(const struct inode *inode)
{
    return inode->refs == 1 && inode->unlinked && inode->nlink == 0 &&
        inode->age == table.age && log_is_writable();
}

/* Whether a reference is the last one is asked and acted upon in one go, lest
   two that are given back at once each take the other for the last. It is asked
   again when the inode was freed: by then another file may have had the number,
   and lost its last link. */
void iput(struct inode *inode)
{
    acquire(&table.lock);
    while (is_over(inode)) {
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

/* The number of a file's block behind the direct ones, which it gets if it has
   none; 0 if there is no space, or the disk fails. A new one is searched for
   with no buffer held. */
static uint indirect_entry(struct inode *inode, uint index, uint *entries)
{
    struct buf *buf = data_read(inode, *entries);
    if (buf == 0)
        return 0;
    uint block = ((const uint *)buf->data)[index];
    bpin(buf);
    brelse(buf);
    if (block == 0 && (block = block_new(inode->dev)) != 0) {
        buf = bread(inode->dev, *entries);
        if (buf == 0)
            panic("indirect_entry: the block is not in memory");
        ((uint *)buf->data)[index] = block;
        log_write(buf);
        brelse(buf);
    }
    bunpin(buf);
    return block;
}

static uint indirect_new(struct inode *inode, uint index)
{
    uint *entries = &inode->addrs[NDIRECT];
    int fresh = *entries == 0;
    if (fresh && (*entries = block_new(inode->dev)) == 0)
        return 0;
    uint block = indirect_entry(inode, index, entries);
    if (block == 0 && fresh) {
        block_free(inode->dev, *entries);
        *entries = 0;
    }
    return block;
}

static uint block_for_write(struct inode *inode, uint index)
{
    if (index >= NDIRECT)
        return indirect_new(inode, index - NDIRECT);
    if (inode->addrs[index] == 0)
        inode->addrs[index] = block_new(inode->dev);
    return inode->addrs[index];
}

/* The buffer of a block of a locked inode: 0, with no buffer if nothing was
   ever written there, or -1 if the disk fails. */
int iblock(struct inode *inode, uint index, struct buf **buf)
{
    requires_sleeplock(&inode->lock);
    uint block = 0;
    *buf = 0;
    if (index < NDIRECT) {
        block = inode->addrs[index];
    } else if (index < MAXFILE && inode->addrs[NDIRECT] != 0) {
        struct buf *table = data_read(inode, inode->addrs[NDIRECT]);
        if (table == 0)
            return -1;
        block = ((const uint *)table->data)[index - NDIRECT];
        brelse(table);
    }
    if (block == 0)
        return 0;
    *buf = data_read(inode, block);
    return *buf == 0 ? -1 : 0;
}

static uint part_of_block(uint offset, uint bytes)
{
    uint part = BSIZE - offset % BSIZE;
    return part < bytes ? part : bytes;
}

/* Bytes read from a locked inode, fewer at its end, and before what cannot be
   read; -1 if that comes first, and behind the end. */
int readi(struct inode *inode, char *to, uint offset, uint bytes)
{
    requires_sleeplock(&inode->lock);
    if (offset > inode->size || offset + bytes < offset)
        return -1;
    if (bytes > inode->size - offset)
        bytes = inode->size - offset;
    for (uint done = 0, part; done < bytes; done += part) {
        struct buf *buf;
        part = part_of_block(offset + done, bytes - done);
        if (iblock(inode, (offset + done) / BSIZE, &buf) < 0)
            return done > 0 ? (int)done : -1;
        if (buf == 0) {
            memset(to + done, 0, part);
            continue;
        }
        memmove(to + done, buf->data + (offset + done) % BSIZE, part);
        brelse(buf);
    }
    return (int)bytes;
}

/* Bytes written into the blocks of an inode, fewer if the disk is full or
   fails. */
static uint write_blocks(struct inode *inode, const char *from, uint offset,
                         uint bytes)
{
    uint done = 0, part;
    for (; done < bytes; done += part) {
        part = part_of_block(offset + done, bytes - done);
        uint block = block_for_write(inode, (offset + done) / BSIZE);
        struct buf *buf = block == 0 ? 0 : data_read(inode, block);
        if (buf == 0)
            break;
        memmove(buf->data + (offset + done) % BSIZE, from + done, part);
        log_write(buf);
        brelse(buf);
    }
    return done;
}

/* Bytes written to a locked inode, fewer if the disk is full or fails; -1 if
   they do not follow what is there or make it too long, and if the inode itself
   cannot be read or written. */
int writei(struct inode *inode, const char *from, uint offset, uint bytes)
{
    requires_sleeplock(&inode->lock);
    if (offset > inode->size || offset + bytes < offset ||
        offset + bytes > MAXFILE * BSIZE || !log_is_writable())
        return -1;
    struct buf *place = pin(inode->dev, IBLOCK(inode->inum, sb));
    if (place == 0)
        return -1;
    uint done = write_blocks(inode, from, offset, bytes);
    if (offset + done > inode->size)
        inode->size = offset + done;
    if (done > 0)
        iupdate(inode);         /* of a hole filled, too */
    bunpin(place);
    return (int)done;
}

void stati(struct inode *inode, struct stat *to)
{
    memset(to, 0, sizeof(*to));     /* what lies between its fields, too */
    to->type = inode->type;
    to->dev = (int)inode->dev;
    to->ino = inode->inum;
    to->nlink = inode->nlink;
    to->size = inode->size;
}

/* Start */

/* Nothing can be done without the root file system. */
static void __attribute__((noreturn)) give_up(const char *why)
{
    printf("fs_init: %s\n", why);
    machine_halt(1);
}

/* Whether its parts lie one behind the other; sets where the data begin. */
static int superblock_is_sound(void)
{
    ulong64 inode_end = (ulong64)sb.inodestart + sb.ninodes / IPB + 1;
    ulong64 map_end = (ulong64)sb.bmapstart + sb.size / BPB + 1;
    data_start = (uint)map_end;
    return sb.ninodes >= 2 && sb.ninodes <= 0xFFFF && sb.logstart > SUPER &&
        sb.nlog >= 2 && (ulong64)sb.logstart + sb.nlog <= sb.inodestart &&
        inode_end <= sb.bmapstart && map_end <= sb.size;
}

static void superblock_read(uint dev)
{
    struct buf *buf = bread(dev, SUPER);
    if (buf == 0)
        give_up("the super block cannot be read");
    memmove(&sb, buf->data, sizeof(sb));
    brelse(buf);
    if (!superblock_is_sound())
        give_up("no file system");
    if (sb.size > SIZE_MOST)
        give_up("file system too large");
    if (sb.size <= disk_blocks(dev))
        return;
    printf("fs_init: the disk has %u blocks, the file system says %u\n",
           disk_blocks(dev), sb.size);
    sb.size = disk_blocks(dev);
    if (data_start > sb.size)
        give_up("the disk ends before its data");
}

/* Whether the inode was in use without a link when the power failed. */
static int is_orphan(uint dev, uint inum)
{
    struct buf *buf = bread(dev, IBLOCK(inum, sb));
    if (buf == 0)
        return 0;
    const struct dinode *disk = dinode_at(buf, inum);
    int orphan = disk->type != 0 && disk->nlink == 0;
    brelse(buf);
    return orphan;
}

static void free_orphans(uint dev)
{
    uint orphans = 0;
    for (uint inum = ROOTINO; inum < sb.ninodes; inum++) {
        if (!is_orphan(dev, inum))
            continue;
        struct inode *inode = iget(dev, inum);
        begin_op();
        if (ilock(inode) < 0) {
            iput(inode);
        } else {
            inode->unlinked = 1;
            iunlockput(inode);
            orphans++;
        }
        end_op();
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
    superblock_read((uint)dev);
    log_init(dev, &sb);
    if (log_is_writable())
        free_orphans((uint)dev);
}
