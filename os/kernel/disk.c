/*
 * Disks: which block device a device number means. ROOTDEV is the RAM disk, an
 * image that is part of the kernel, or with the kernel's option "disk=card"
 * the memory card. A block is BSIZE bytes, which is also the card's block.
 *
 * Callers may sleep here. `card_lock` lets one caller at a time use the card;
 * blocks of the RAM disk need no lock, for whoever reads or writes one holds
 * its buffer.
 */
#include "contract.h"
#include "kernel.h"
#include "fs.h"

#define ATTEMPTS 3      /* at a block of the card before it counts as bad */

extern uchar ramdisk[], ramdisk_end[];

uint blocks_read;

static struct sleeplock card_lock;
static uint card_blocks;    /* 0: the RAM disk is used */

void disk_init(void)
{
    sleeplock_init(&card_lock, "card");
    if (!option("disk"))
        return;
    card_blocks = card_init();
    if (card_blocks == 0)
        panic("disk_init: no card");
    printf("disk: card of %u blocks\n", card_blocks);
}

uint disk_blocks(uint dev)
{
    if (dev != ROOTDEV)
        return 0;
    return card_blocks > 0 ? card_blocks
                           : (uint)(ramdisk_end - ramdisk) / BSIZE;
}

/* Where the block is in the RAM disk; 0 if there is none. */
static uchar *ramdisk_at(uint dev, uint block)
{
    if (dev != ROOTDEV || block >= (uint)(ramdisk_end - ramdisk) / BSIZE)
        return 0;
    return ramdisk + block * BSIZE;
}

static int card_transfer(uint block, void *to, const void *from)
{
    requires_sleep_allowed();
    int result = -1;
    if (block >= card_blocks)
        return -1;
    sleeplock_acquire(&card_lock);
    for (int i = 0; i < ATTEMPTS && result < 0; i++) {
        result = to ? card_read(block, to) : card_write(block, from);
        if (result < 0)
            printf("disk: %s block %u fails\n", to ? "reading" : "writing",
                   block);
    }
    sleeplock_release(&card_lock);
    return result;
}

int disk_read(uint dev, uint block, void *to)
{
    requires_sleep_allowed();
    blocks_read++;
    if (card_blocks > 0 && dev == ROOTDEV)
        return card_transfer(block, to, 0);
    const uchar *at = ramdisk_at(dev, block);
    if (at == 0)
        return -1;
    memmove(to, at, BSIZE);
    return 0;
}

int disk_write(uint dev, uint block, const void *from)
{
    requires_sleep_allowed();
    if (card_blocks > 0 && dev == ROOTDEV)
        return card_transfer(block, 0, from);
    uchar *at = ramdisk_at(dev, block);
    if (at == 0)
        return -1;
    memmove(at, from, BSIZE);
    return 0;
}
