/*
 * The disk lies: numbers of the super block, the log, inodes, the free map,
 * directories and tables of blocks are changed at random, or the image is cut.
 * Whatever the kernel makes of it, it neither panics nor waits for ever nor
 * leaves the disk; programs get -1.
 */
#include <unistd.h>

#include "model.h"
#include "tests.h"

#define TASKS 4
#define OPERATIONS 60
#define SECONDS 20              /* in which it must be over */

static struct superblock sb;

static void operate(int number)
{
    (void)number;
    kernel_do_random(OPERATIONS);
}

static void populate(void *unused)
{
    (void)unused;
    boot();
    operate(0);
    operate(0);
}

/* What numbers on a disk are, and what they are not. */
static uint number_random(void)
{
    static const uint edges[] = {
        0, 1, 2, 15, 16, 0x7FFF, 0x8000, 0xFFFF, 0x10000, 0x7FFFFFFF,
        0x80000000, 0xFFFFFFFF, MAXFILE * BSIZE, MAXFILE * BSIZE + 1,
    };
    switch (below(4)) {
    case 0: return edges[below(sizeof(edges) / sizeof(edges[0]))];
    case 1: return below(UINT32_MAX);
    case 2: return sb.size - 4 + below(8);
    default: return below(sb.size);
    }
}

static void put(size_t at, uint value, uint bytes)
{
    if (at + bytes <= disk_bytes)
        memcpy(disk + at, &value, bytes);
}

/* A field of an inode, of the first ones mostly. */
static void lie_in_inode(void)
{
    uint inum = below(3) == 0 ? below(sb.ninodes) : 1 + below(16);
    size_t at = (size_t)sb.inodestart * BSIZE + inum * sizeof(struct dinode);
    if (below(2) == 0)
        put(at + 2 * below(4), number_random(), 2);
    else
        put(at + 8 + 4 * below(14), number_random(), 4);
}

/* An entry of a directory, or of a table, wherever data are. */
static void lie_in_data(void)
{
    uint first = sb.bmapstart + sb.size / BPB + 1;
    size_t at = (size_t)(first + below(24)) * BSIZE;
    if (below(2) == 0)
        put(at + 16 * below(8), number_random(), 2);
    else
        put(at + 4 * below(BSIZE / 4), number_random(), 4);
}

static void lie_in_log(void)
{
    size_t at = (size_t)sb.logstart * BSIZE;
    put(at, below(2) ? 1 + below(40) : number_random(), 4);
    for (uint i = below(8); i > 0; i--)
        put(at + 4 * i, number_random(), 4);
}

static void lie(void)
{
    switch (below(12)) {
    case 0: put(BSIZE + 4 * below(7), number_random(), 4); break;
    case 1: lie_in_log(); break;
    case 2: case 3:
        put((size_t)sb.bmapstart * BSIZE + below(64), below(256), 1);
        break;
    case 4: case 5: case 6: lie_in_data(); break;
    case 7: disk_bytes = below(10) ? disk_bytes
                                   : BSIZE * (2 + below(sb.size)); break;
    default: lie_in_inode();
    }
}

static void run(void *unused)
{
    (void)unused;
    alarm(SECONDS);
    memcpy(&sb, disk + BSIZE, sizeof(sb));
    for (uint i = 1 + below(12); i > 0; i--)
        lie();
    boot();
    run_tasks(TASKS, operate);
}

void test_lies(void *unused)
{
    (void)unused;
    share_disk();
    if (!in_child(populate, 0))
        fail("the operations themselves fail");
    if (!in_child(run, 0))
        fail("with a disk that lies");
}
