/*
 * check: whether an image holds a consistent file system in xv6's layout
 * (fs.h).
 *
 * Errors: a super block that is none, does not fit the image, or says more
 * blocks than the kernel takes; an inode of no type, or longer than a file may
 * be; a block number outside the data, in use twice, beyond a file's end, or
 * missing within a regular file; a block in use that
 * the free map calls free, and the reverse; a directory without "." and ".."
 * at its start, with an entry of a free inode, a name twice, an empty name or
 * one with '/', or not to be reached from the root; a number of links that is
 * not the number of names. "." counts as no link, ".." as one of the parent,
 * the root has one in place of a name.
 *
 * Notes: an inode without links that still has its contents (it was in use
 * when the power failed; the kernel frees it when it starts) and a missing
 * block of a directory (xv6's mkfs makes one in the root if its entries fill
 * their blocks).
 */
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "fs.h"
#include "param.h"
#include "stat.h"

#define SUPER 1
#define SUPER_END (SUPER * BSIZE + sizeof(struct superblock))
#define LONGEST (MAXFILE * BSIZE)   /* bytes of a file */

struct check {
    const uchar *image;
    struct superblock sb;
    uint data_start;        /* first block behind the free map */
    uint *owner;            /* inode of each block, 0 if none */
    uint *names;            /* entries of each inode but "." and ".." */
    uint *parent;           /* inode of a directory's "..", if it is one */
    uint *children;         /* directories in a directory */
    FILE *out;
    struct findings found;
};

struct log_header {
    int n;
    uint block[LOGSIZE];
};

static void error(struct check *check, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    vfprintf(check->out, format, list);
    va_end(list);
    check->found.errors++;
}

static void note(struct check *check, const char *format, uint value)
{
    fputs("note: ", check->out);
    fprintf(check->out, format, value);
    check->found.notes++;
}

/* Blocks before the data, or 0 if its parts are not one behind the other. */
static uint parts(const struct superblock *sb)
{
    unsigned long long size = sb->size, inodes = sb->ninodes;
    unsigned long long data = sb->bmapstart + size / BPB + 1;
    if (sb->logstart <= SUPER || sb->nlog < 2 || inodes < 2 ||
        inodes > 0xFFFF ||
        (unsigned long long)sb->logstart + sb->nlog > sb->inodestart ||
        sb->inodestart + inodes / IPB + 1 > sb->bmapstart ||
        sb->bmapstart >= size || data >= size)
        return 0;
    return (uint)data;
}

/* Blocks before the data, or 0 if the super block does not fit the image. */
static uint layout(const uchar *image, size_t bytes, struct superblock *sb)
{
    if (bytes < SUPER_END)
        return 0;
    memcpy(sb, image + SUPER * BSIZE, sizeof(*sb));
    if (sb->size > SIZE_MOST || bytes / BSIZE < sb->size)
        return 0;
    return parts(sb);
}

/* Why there is no layout. */
static void tell_layout(struct check *check, size_t bytes)
{
    uint size = check->sb.size;
    if (bytes < SUPER_END)
        error(check, "this is no image: the file has %zu bytes, the super "
              "block ends at %zu\n", bytes, SUPER_END);
    else if (parts(&check->sb) == 0)
        error(check, "this is no image: block %u is no super block\n", SUPER);
    else if (size > SIZE_MOST)
        error(check, "its super block says %u blocks, the kernel takes %u at "
              "most\n", size, (uint)SIZE_MOST);
    else
        error(check, "the file has %zu bytes, its super block says %u blocks "
              "of %d bytes\n", bytes, size, BSIZE);
}

static const struct log_header *header_of(const uchar *image)
{
    struct superblock sb;
    memcpy(&sb, image + SUPER * BSIZE, sizeof(sb));
    return (const struct log_header *)(image + (size_t)sb.logstart * BSIZE);
}

int log_length(const uchar *image, size_t bytes)
{
    struct superblock sb;
    if (layout(image, bytes, &sb) == 0)
        return -2;
    const struct log_header *header = header_of(image);
    if (header->n < 0 || header->n >= (int)sb.nlog || header->n > LOGSIZE)
        return -1;
    for (int i = 0; i < header->n; i++) {
        if (header->block[i] < sb.inodestart || header->block[i] >= sb.size)
            return -1;
    }
    return header->n;
}

void log_replay(uchar *image)
{
    struct log_header *header = (struct log_header *)header_of(image);
    const uchar *from = (const uchar *)header + BSIZE;
    for (int i = 0; i < header->n; i++)
        memcpy(image + (size_t)header->block[i] * BSIZE,
               from + (size_t)i * BSIZE, BSIZE);
    header->n = 0;
}

static const uchar *block_at(const struct check *check, uint block)
{
    return check->image + (size_t)block * BSIZE;
}

static const struct dinode *inode_at(const struct check *check, uint inum)
{
    const uchar *block = block_at(check, IBLOCK(inum, check->sb));
    return (const struct dinode *)block + inum % IPB;
}

/* Whether a block may be read; says what is wrong with it. */
static int take_block(struct check *check, uint inum, uint block)
{
    if (block < check->data_start || block >= check->sb.size) {
        error(check, "inode %u: block %u is outside the data\n", inum, block);
        return 0;
    }
    if (check->owner[block] != 0) {
        error(check, "block %u: inode %u uses it, and so does inode %u\n",
              block, check->owner[block], inum);
        return 0;
    }
    check->owner[block] = inum;
    return 1;
}

/* The number of a file's block, whatever it is. */
static uint block_of(const struct check *check, const struct dinode *inode,
                     uint index)
{
    uint table = inode->addrs[NDIRECT];
    if (index < NDIRECT)
        return inode->addrs[index];
    if (table < check->data_start || table >= check->sb.size)
        return 0;
    return ((const uint *)block_at(check, table))[index - NDIRECT];
}

static void check_blocks(struct check *check, uint inum)
{
    const struct dinode *inode = inode_at(check, inum);
    uint blocks = (inode->size + BSIZE - 1) / BSIZE;
    if (inode->addrs[NDIRECT] != 0) {
        take_block(check, inum, inode->addrs[NDIRECT]);
        if (blocks <= NDIRECT)
            error(check, "inode %u: it is too short for its indirect block "
                  "%u\n", inum, inode->addrs[NDIRECT]);
    }
    for (uint i = 0; i < MAXFILE; i++) {
        uint block = block_of(check, inode, i);
        if (block != 0)
            take_block(check, inum, block);
        if (block != 0 && i >= blocks)
            error(check, "inode %u: block %u is beyond its end\n", inum,
                  block);
        if (block == 0 && i < blocks && inode->type == T_DIR)
            note(check, "inode %u: a block of the directory is missing\n",
                 inum);
        else if (block == 0 && i < blocks)
            error(check, "inode %u: its block of index %u is missing\n",
                  inum, i);
    }
}

static void check_inode(struct check *check, uint inum)
{
    const struct dinode *inode = inode_at(check, inum);
    if (inode->type < 0 || inode->type > T_DEV) {
        error(check, "inode %u: type %d\n", inum, inode->type);
        return;
    }
    if (inode->size > LONGEST) {
        error(check, "inode %u: %u bytes are too many\n", inum, inode->size);
        return;
    }
    if ((inode->type == 0 || inode->type == T_DEV) && inode->size != 0)
        error(check, "inode %u: it has a size\n", inum);
    check_blocks(check, inum);
    if (inode->type != 0 && inode->nlink == 0)
        note(check, "inode %u: it has no links and is to be freed\n", inum);
}

/* The entry at an index of a directory; one of zeros if the block is not
   there. */
static struct dirent entry_at(const struct check *check,
                              const struct dinode *dir, uint index)
{
    uint per_block = BSIZE / sizeof(struct dirent);
    uint block = block_of(check, dir, index / per_block);
    struct dirent entry = { 0 };
    if (block >= check->data_start && block < check->sb.size)
        memcpy(&entry, block_at(check, block) +
               index % per_block * sizeof(entry), sizeof(entry));
    return entry;
}

static int name_is(const struct dirent *entry, const char *name)
{
    return strncmp(entry->name, name, DIRSIZ) == 0;
}

static void check_twice(struct check *check, uint inum, uint index)
{
    const struct dinode *dir = inode_at(check, inum);
    struct dirent entry = entry_at(check, dir, index);
    for (uint i = 0; i < index; i++) {
        struct dirent other = entry_at(check, dir, i);
        if (other.inum != 0 && name_is(&other, entry.name))
            error(check, "directory %u: the name %.14s is there twice\n",
                  inum, entry.name);
    }
}

static void check_entry(struct check *check, uint inum, uint index)
{
    struct dirent entry = entry_at(check, inode_at(check, inum), index);
    if (entry.inum == 0)
        return;
    if (entry.inum >= check->sb.ninodes ||
        inode_at(check, entry.inum)->type == 0) {
        error(check, "directory %u: %.14s is the free inode %u\n", inum,
              entry.name, entry.inum);
        return;
    }
    if (entry.name[0] == 0 || memchr(entry.name, '/', DIRSIZ) != 0)
        error(check, "directory %u: entry %u has no proper name\n", inum,
              index);
    check_twice(check, inum, index);
    check->names[entry.inum]++;
    if (inode_at(check, entry.inum)->type != T_DIR)
        return;
    check->children[inum]++;
    if (check->parent[entry.inum] != inum)
        error(check, "directory %u: its .. is %u and not %u, which has it\n",
              entry.inum, check->parent[entry.inum], inum);
}

/* The first two entries, before any other directory is looked at. */
static void check_dots(struct check *check, uint inum)
{
    const struct dinode *dir = inode_at(check, inum);
    struct dirent self = entry_at(check, dir, 0);
    struct dirent up = entry_at(check, dir, 1);
    if (dir->size % sizeof(struct dirent) != 0 ||
        dir->size < 2 * sizeof(struct dirent))
        error(check, "directory %u: its size is %u\n", inum, dir->size);
    if (!name_is(&self, ".") || self.inum != inum || !name_is(&up, "..") ||
        up.inum == 0 || up.inum >= check->sb.ninodes) {
        error(check, "directory %u: . and .. are not there\n", inum);
        return;
    }
    check->parent[inum] = up.inum;
}

static void check_reached(struct check *check, uint inum)
{
    uint at = inum;
    for (uint i = 0; i < check->sb.ninodes && at != ROOTINO; i++)
        at = check->parent[at];
    if (at != ROOTINO)
        error(check, "directory %u: it is not below the root\n", inum);
}

static int is_live_dir(const struct check *check, uint inum)
{
    const struct dinode *inode = inode_at(check, inum);
    return inode->type == T_DIR && inode->nlink > 0;
}

static void check_directories(struct check *check)
{
    for (uint inum = ROOTINO; inum < check->sb.ninodes; inum++) {
        if (is_live_dir(check, inum))
            check_dots(check, inum);
    }
    for (uint inum = ROOTINO; inum < check->sb.ninodes; inum++) {
        if (!is_live_dir(check, inum))
            continue;
        const struct dinode *dir = inode_at(check, inum);
        uint bytes = dir->size < LONGEST ? dir->size : LONGEST;
        for (uint i = 2; i < bytes / sizeof(struct dirent); i++)
            check_entry(check, inum, i);
        check_reached(check, inum);
    }
    if (check->parent[ROOTINO] != ROOTINO)
        error(check, "directory %u: the root is not its own ..\n", ROOTINO);
}

static void check_links(struct check *check, uint inum)
{
    const struct dinode *inode = inode_at(check, inum);
    uint links = check->names[inum] + check->children[inum];
    if (inum == ROOTINO)
        links++;
    if (inode->type != 0 && inode->nlink != (int)links)
        error(check, "inode %u: it has %u links and says %d\n", inum, links,
              inode->nlink);
    if (inode->type == T_DIR && check->names[inum] > 1)
        error(check, "directory %u: it has several names\n", inum);
}

static void check_bitmap(struct check *check)
{
    for (uint block = 0; block < check->sb.size; block++) {
        const uchar *map = block_at(check, BBLOCK(block, check->sb));
        int taken = map[block % BPB / 8] >> block % 8 & 1;
        int used = block < check->data_start || check->owner[block] != 0;
        if (used && !taken)
            error(check, "block %u: it is in use (inode %u) and the free "
                  "map calls it free\n", block, check->owner[block]);
        if (!used && taken)
            error(check, "block %u: nothing uses it and the free map says "
                  "so\n", block);
    }
}

static void check_all(struct check *check)
{
    if (inode_at(check, ROOTINO)->type != T_DIR)
        error(check, "inode %u: the root is no directory\n", ROOTINO);
    for (uint inum = ROOTINO; inum < check->sb.ninodes; inum++)
        check_inode(check, inum);
    check_directories(check);
    for (uint inum = ROOTINO; inum < check->sb.ninodes; inum++)
        check_links(check, inum);
    check_bitmap(check);
}

struct findings check_image(const uchar *image, size_t bytes, FILE *out)
{
    struct check check = { .image = image, .out = out };
    check.data_start = layout(image, bytes, &check.sb);
    if (check.data_start == 0) {
        tell_layout(&check, bytes);
        return check.found;
    }
    check.owner = calloc(check.sb.size, sizeof(uint));
    check.names = calloc(3 * check.sb.ninodes, sizeof(uint));
    if (check.owner == 0 || check.names == 0) {
        error(&check, "no memory\n");
    } else {
        check.parent = check.names + check.sb.ninodes;
        check.children = check.parent + check.sb.ninodes;
        check_all(&check);
    }
    free(check.owner);
    free(check.names);
    return check.found;
}
