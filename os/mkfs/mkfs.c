/*
 * mkfs: makes an image of a file system in xv6's layout (fs.h).
 *
 *   mkfs [-s BLOCKS] [-i INODES] IMAGE FILE...
 *
 * What begins with '-' is an option, so such an image is ./-NAME. Status 0: the
 * image is made; 1: it cannot be; 2: usage.
 *
 * The files go to the root directory, in this order, under their names without
 * directories and without a leading '_'. The same arguments give the same
 * bytes, and blocks and inodes are handed out in the order of xv6's mkfs. One
 * thing differs: the size of the root directory is rounded up to whole blocks,
 * where xv6 adds a further block, which is not there, to one that is full.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "types.h"
#include "fs.h"
#include "param.h"
#include "stat.h"

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__,
               "the layout is little-endian");

#define INODES 200
#define INODES_MOST 0xFFFFu     /* numbers of a directory's entries */

static struct superblock sb;
static uchar *image;
static uint next_inode = ROOTINO;
static uint next_block;

static void usage(FILE *to, int status)
{
    fputs("usage: mkfs [-s BLOCKS] [-i INODES] IMAGE FILE...\n", to);
    exit(status);
}

static void fail(const char *what, const char *name)
{
    fprintf(stderr, "mkfs: %s: %s\n", name, what);
    exit(1);
}

static uchar *block_at(uint block)
{
    return image + (size_t)block * BSIZE;
}

static struct dinode *inode_at(uint inum)
{
    return (struct dinode *)block_at(IBLOCK(inum, sb)) + inum % IPB;
}

static uint block_new(const char *name)
{
    if (next_block == sb.size)
        fail("no block is left for it", name);
    return next_block++;
}

static uint inode_new(short type, const char *name)
{
    if (next_inode == sb.ninodes)
        fail("no inode is left for it", name);
    struct dinode *inode = inode_at(next_inode);
    inode->type = type;
    inode->nlink = 1;
    return next_inode++;
}

/* The block of a file, which it gets if it has none. */
static uint block_of(struct dinode *inode, uint index, const char *name)
{
    if (index >= MAXFILE)
        fail("it is longer than a file may be", name);
    uint *at = &inode->addrs[index];
    if (index >= NDIRECT) {
        if (inode->addrs[NDIRECT] == 0)
            inode->addrs[NDIRECT] = block_new(name);
        at = (uint *)block_at(inode->addrs[NDIRECT]) + (index - NDIRECT);
    }
    if (*at == 0)
        *at = block_new(name);
    return *at;
}

static void append(uint inum, const uchar *from, uint bytes, const char *name)
{
    struct dinode *inode = inode_at(inum);
    while (bytes > 0) {
        uint within = inode->size % BSIZE;
        uint part = BSIZE - within < bytes ? BSIZE - within : bytes;
        uint block = block_of(inode, inode->size / BSIZE, name);
        memcpy(block_at(block) + within, from, part);
        inode->size += part;
        from += part;
        bytes -= part;
    }
}

static void enter(uint dir, const char *name, uint inum)
{
    struct dirent entry = { .inum = (ushort)inum };
    if (strlen(name) > DIRSIZ)
        fail("its name is too long", name);
    memcpy(entry.name, name, strlen(name));
    append(dir, (uchar *)&entry, sizeof(entry), name);
}

/* Where the file's name on the disk begins in its path. */
static const char *name_of(const char *path)
{
    const char *slash = strrchr(path, '/');
    const char *name = slash ? slash + 1 : path;
    return *name == '_' ? name + 1 : name;
}

/* Among the entries of the root. */
static int is_there(const char *name)
{
    struct dinode *root = inode_at(ROOTINO);
    uint count = root->size / sizeof(struct dirent);
    uint per_block = BSIZE / sizeof(struct dirent);
    for (uint i = 0; i < count; i++) {
        uint block = block_of(root, i / per_block, name);
        struct dirent *entries = (struct dirent *)block_at(block);
        if (strncmp(entries[i % per_block].name, name, DIRSIZ) == 0)
            return 1;
    }
    return 0;
}

static void add_file(const char *path)
{
    uchar data[BSIZE];
    size_t bytes;
    const char *name = name_of(path);
    if (*name == 0)
        fail("it has no name", path);
    if (is_there(name))
        fail("there is a file of this name already", path);
    FILE *file = fopen(path, "rb");
    if (file == 0)
        fail("cannot be opened", path);
    uint inum = inode_new(T_FILE, name);
    enter(ROOTINO, name, inum);
    while ((bytes = fread(data, 1, sizeof(data), file)) > 0)
        append(inum, data, (uint)bytes, name);
    if (ferror(file))
        fail("cannot be read", path);
    fclose(file);
}

/* Everything in front of the next block is in use. */
static void write_bitmap(void)
{
    for (uint block = 0; block < next_block; block++)
        block_at(BBLOCK(block, sb))[block % BPB / 8] |=
            (uchar)(1 << block % 8);
}

static void check_number(const char *option, uint found, uint least, uint most)
{
    if (found >= least && found <= most)
        return;
    fprintf(stderr, "mkfs: %s is %u, expected is a number from %u to %u\n",
            option, found, least, most);
    exit(1);
}

static void layout(uint blocks, uint inodes)
{
    uint inode_blocks = inodes / IPB + 1;
    uint bitmap_blocks = blocks / BPB + 1;
    uint before = 2 + LOGSIZE + inode_blocks + bitmap_blocks;
    check_number("-i", inodes, 2, INODES_MOST);
    check_number("-s", blocks, before + 1, SIZE_MOST);
    sb.size = blocks;
    sb.nblocks = blocks - before;
    sb.ninodes = inodes;
    sb.nlog = LOGSIZE;
    sb.logstart = 2;
    sb.inodestart = sb.logstart + LOGSIZE;
    sb.bmapstart = sb.inodestart + inode_blocks;
    next_block = before;
}

static void write_image(const char *path)
{
    FILE *file = fopen(path, "wb");
    if (file == 0)
        fail("cannot be made", path);
    if (fwrite(image, BSIZE, sb.size, file) != sb.size || fclose(file) != 0)
        fail("cannot be written", path);
}

static uint number(const char *text)
{
    size_t digits = strspn(text, "0123456789");
    if (digits == 0 || text[digits] != 0 || digits > 9)
        fail("is not a number that fits", text);
    return (uint)atoi(text);
}

int main(int argc, char **argv)
{
    uint blocks = FSSIZE, inodes = INODES;
    int at = 1;
    for (; at < argc && argv[at][0] == '-'; at += 2) {
        if (strcmp(argv[at], "--help") == 0)
            usage(stdout, 0);
        if (at + 1 == argc)
            usage(stderr, 2);
        if (strcmp(argv[at], "-s") == 0)
            blocks = number(argv[at + 1]);
        else if (strcmp(argv[at], "-i") == 0)
            inodes = number(argv[at + 1]);
        else
            usage(stderr, 2);
    }
    if (at >= argc)
        usage(stderr, 2);
    layout(blocks, inodes);
    image = calloc(sb.size, BSIZE);
    if (image == 0)
        fail("no memory", argv[at]);
    memcpy(block_at(1), &sb, sizeof(sb));
    uint root = inode_new(T_DIR, "/");
    enter(root, ".", root);
    enter(root, "..", root);
    for (int file = at + 1; file < argc; file++)
        add_file(argv[file]);
    struct dinode *inode = inode_at(root);
    inode->size = (inode->size + BSIZE - 1) / BSIZE * BSIZE;
    write_bitmap();
    write_image(argv[at]);
    return 0;
}
