/*
 * The file system on its disk: xv6's layout, little-endian.
 *
 *   block 0     boot
 *   block 1     super block
 *   logstart    log: one header block, then LOGSIZE data blocks
 *   inodestart  inodes, IPB a block
 *   bmapstart   free map, one bit a block
 *   then        data
 */
#ifndef FS_H
#define FS_H

#define ROOTINO 1       /* inode of the root directory */
#define BSIZE 512       /* bytes of a block */

struct superblock {
    uint size;          /* blocks of the file system */
    uint nblocks;       /* data blocks */
    uint ninodes;       /* inodes */
    uint nlog;          /* log blocks */
    uint logstart;      /* first log block */
    uint inodestart;    /* first inode block */
    uint bmapstart;     /* first block of the free map */
};

#define NDIRECT 12
#define NINDIRECT (BSIZE / sizeof(uint))
#define MAXFILE (NDIRECT + NINDIRECT)

struct dinode {
    short type;                 /* T_ of stat.h, 0 if free */
    short major;                /* of a device */
    short minor;
    short nlink;                /* links to it */
    uint size;                  /* bytes */
    uint addrs[NDIRECT + 1];    /* data blocks, then the indirect one */
};

#define IPB (BSIZE / sizeof(struct dinode))
#define IBLOCK(i, sb) ((i) / IPB + (sb).inodestart)
#define BPB (BSIZE * 8)
#define BBLOCK(b, sb) ((b) / BPB + (sb).bmapstart)

/* An operation may change all blocks of the free map (see fs.c): the kernel
   takes no larger file system. */
#define BITMAP_MOST 4
#define SIZE_MOST (BITMAP_MOST * BPB)   /* blocks */

#define DIRSIZ 14

struct dirent {
    ushort inum;                /* 0 if free */
    char name[DIRSIZ];          /* zeros behind a shorter one */
};

#endif
