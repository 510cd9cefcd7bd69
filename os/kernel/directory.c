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

static struct found search(struct inode *dir, const char *name)
{
    struct found found = { .free = dir->size };
    if (dir->type != T_DIR)
        panic("search: no directory");
    uint end = dir->nlink > 0 ? dir->size : 0;
    for (uint base = 0; base < end && found.inum == 0; base += BSIZE) {
        uint count = (end - base) / sizeof(struct dirent);
        struct buf *buf = iblock(dir, base / BSIZE);
        if (buf == 0) {
            found.free = base < found.free ? base : found.free;
            continue;
        }
        search_block((const struct dirent *)buf->data,
                     count < PER_BLOCK ? count : PER_BLOCK, name, base,
                     &found);
        brelse(buf);
    }
    return found;
}

/* The inode of a name in a locked directory, and where the entry is; 0 if
   there is none. */
struct inode *dirlookup(struct inode *dir, const char *name, uint *offset)
{
    struct found found = search(dir, name);
    if (offset)
        *offset = found.offset;
    return found.inum == 0 ? 0 : iget(dir->dev, found.inum);
}

/* Enters a name. 0; -1 if it is there, the directory is removed or there is no
   space. */
int dirlink(struct inode *dir, const char *name, uint inum)
{
    struct found found = search(dir, name);
    struct dirent entry = { .inum = (ushort)inum };
    if (found.inum != 0 || dir->nlink < 1)
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

/* Whether a locked directory has no entries but "." and "..". */
int dirempty(struct inode *dir)
{
    struct dirent entry;
    uint bytes = sizeof(entry);
    for (uint at = 2 * bytes; at < dir->size; at += bytes) {
        if (readi(dir, (char *)&entry, at, bytes) != (int)bytes)
            panic("dirempty: entry cut short");
        if (entry.inum != 0)
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
        ilock(inode);
        if (inode->type == T_DIR && parent && *path == 0) {
            iunlock(inode);
            return inode;
        }
        if (inode->type == T_DIR)
            next = dirlookup(inode, name, 0);
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
