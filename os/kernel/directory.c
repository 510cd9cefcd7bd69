/*
 * Directories and paths. A directory is a file of entries of fixed size; its
 * locks and operations are those of inodes (fs.c).
 *
 * A directory that was removed while someone still has it as its current one
 * is empty for good: nothing is found in it, not even ".." (whose inode may
 * serve another purpose by now), and nothing is entered.
 *
 * A path is walked with one lock at a time: that of the directory in which the
 * next name is looked up. So ".." cannot block two walks against each other.
 */
#include "contract.h"
#include "kernel.h"
#include "buf.h"
#include "file.h"
#include "fs.h"
#include "proc.h"
#include "stat.h"

#define PER_BLOCK (BSIZE / sizeof(struct dirent))

int namecmp(const char *a, const char *b)
{
    return strncmp(a, b, DIRSIZ);
}

/* What one search of a directory tells. */
struct found {
    uint inum;          /* of the name; 0 if it is not there */
    uint offset;        /* of its entry */
    uint free;          /* offset where a new entry may go */
};

static void search_block(const struct dirent *entries, uint count,
                         const char *name, uint base, struct found *found)
{
    for (uint i = 0; i < count; i++) {
        uint offset = base + i * (uint)sizeof(struct dirent);
        if (entries[i].inum == 0) {
            if (offset < found->free)
                found->free = offset;
        } else if (namecmp(name, entries[i].name) == 0) {
            found->inum = entries[i].inum;
            found->offset = offset;
            return;
        }
    }
}

/* 0; -1 if it is no directory, or cannot be read to its end. */
static int search(struct inode *dir, const char *name, struct found *found)
{
    requires_sleeplock(&dir->lock);
    *found = (struct found){ .free = dir->size };
    if (dir->type != T_DIR)
        return -1;
    uint end = dir->nlink > 0 ? dir->size : 0;
    for (uint base = 0; base < end && found->inum == 0; base += BSIZE) {
        uint count = (end - base) / sizeof(struct dirent);
        struct buf *buf;
        if (iblock(dir, base / BSIZE, &buf) < 0)
            return -1;
        if (buf == 0) {
            found->free = base < found->free ? base : found->free;
            continue;
        }
        search_block((const struct dirent *)buf->data,
                     count < PER_BLOCK ? count : PER_BLOCK, name, base,
                     found);
        brelse(buf);
    }
    return 0;
}

/* The inode of a name in a locked directory into *inode, and where the entry
   is; no inode if the name is not there. 0, or -1. */
int dirlookup(struct inode *dir, const char *name, struct inode **inode,
              uint *offset)
{
    struct found found;
    *inode = 0;
    if (search(dir, name, &found) < 0)
        return -1;
    if (offset)
        *offset = found.offset;
    if (found.inum == 0)
        return 0;
    *inode = iget(dir->dev, found.inum);
    return *inode == 0 ? -1 : 0;
}

/* Enters a name. 0; -1 if it is there, the directory is removed or there is no
   space. */
int dirlink(struct inode *dir, const char *name, uint inum)
{
    struct found found;
    struct dirent entry = { .inum = (ushort)inum };
    if (search(dir, name, &found) < 0 || found.inum != 0 || dir->nlink < 1)
        return -1;
    strncpy(entry.name, name, DIRSIZ);
    uint bytes = sizeof(entry);
    return writei(dir, (char *)&entry, found.free, bytes) == (int)bytes
        ? 0 : -1;
}

/* Clears the entry that dirlookup found. */
int dirunlink(struct inode *dir, uint offset)
{
    struct dirent entry = { 0 };
    uint bytes = sizeof(entry);
    return writei(dir, (char *)&entry, offset, bytes) == (int)bytes ? 0 : -1;
}

/* Whether a locked directory has no entries but "." and "..", as far as it can
   be read. */
int dirempty(struct inode *dir)
{
    struct dirent entry;
    uint bytes = sizeof(entry);
    for (uint at = 2 * bytes; at < dir->size; at += bytes) {
        if (readi(dir, (char *)&entry, at, bytes) != (int)bytes ||
            entry.inum != 0)
            return 0;
    }
    return 1;
}

/* Takes the first name off a path: copies it, cut to DIRSIZ bytes, and returns
   the rest without leading slashes; 0 if there is no name. */
static const char *name_take(const char *path, char *name)
{
    int length = 0;
    while (*path == '/')
        path++;
    if (*path == 0)
        return 0;
    for (; *path != '/' && *path != 0; path++) {
        if (length < DIRSIZ)
            name[length++] = *path;
    }
    if (length < DIRSIZ)
        name[length] = 0;
    while (*path == '/')
        path++;
    return path;
}

/* The inode that a path leads to, or with `parent` the directory that holds
   its last name. Not locked. */
static struct inode *walk(const char *path, int parent, char *name)
{
    struct inode *inode = *path == '/' ? iget(ROOTDEV, ROOTINO)
                                       : idup(cpu.proc->cwd);
    while (inode != 0 && (path = name_take(path, name)) != 0) {
        struct inode *next = 0;
        if (ilock(inode) < 0) {
            iput(inode);
            return 0;
        }
        if (inode->type == T_DIR && parent && *path == 0) {
            iunlock(inode);
            return inode;
        }
        if (inode->type == T_DIR)
            dirlookup(inode, name, &next, 0);
        iunlockput(inode);
        inode = next;
    }
    if (inode != 0 && parent) {
        iput(inode);
        return 0;
    }
    return inode;
}

struct inode *namei(const char *path)
{
    char name[DIRSIZ];
    return walk(path, 0, name);
}

/* `name` gets DIRSIZ bytes. */
struct inode *nameiparent(const char *path, char *name)
{
    return walk(path, 1, name);
}
