/*
 * System calls on files: check their arguments, then call file.c, directory.c,
 * fs.c. Meaning and answers are those of xv6; what fails for lack of space
 * fails with -1 and leaves nothing behind.
 *
 * Locks are taken from a directory to what it holds. A descriptor table is
 * used by its own process only and needs none.
 */
#include "kernel.h"
#include "fcntl.h"
#include "file.h"
#include "fs.h"
#include "proc.h"
#include "stat.h"

#define LINKS_MOST 0x7FFF

/* The open file that an argument names, and its descriptor. */
static struct file *argument_file(int number, int *descriptor)
{
    int fd;
    if (argument(number, &fd) < 0 || fd < 0 || fd >= NOFILE)
        return 0;
    if (descriptor)
        *descriptor = fd;
    return cpu.proc->files[fd];
}

/* Takes over the reference; -1 if all descriptors are in use. */
static int descriptor_new(struct file *file)
{
    for (int fd = 0; fd < NOFILE; fd++) {
        if (cpu.proc->files[fd] == 0) {
            cpu.proc->files[fd] = file;
            return fd;
        }
    }
    return -1;
}

int sys_dup(void)
{
    struct file *file = argument_file(0, 0);
    if (file == 0)
        return -1;
    int fd = descriptor_new(file);
    if (fd >= 0)
        file_dup(file);
    return fd;
}

/* Arguments of read and write: where in user memory, how many bytes. */
static int argument_buffer(char **at, int *bytes)
{
    if (argument(2, bytes) < 0)
        return -1;
    return argument_pointer(1, (void **)at, *bytes);
}

int sys_read(void)
{
    struct file *file = argument_file(0, 0);
    char *to;
    int bytes;
    if (file == 0 || argument_buffer(&to, &bytes) < 0)
        return -1;
    return file_read(file, to, bytes);
}

int sys_write(void)
{
    struct file *file = argument_file(0, 0);
    char *from;
    int bytes;
    if (file == 0 || argument_buffer(&from, &bytes) < 0)
        return -1;
    return file_write(file, from, bytes);
}

int sys_close(void)
{
    int fd;
    struct file *file = argument_file(0, &fd);
    if (file == 0)
        return -1;
    cpu.proc->files[fd] = 0;
    file_close(file);
    return 0;
}

int sys_fstat(void)
{
    struct file *file = argument_file(0, 0);
    struct stat status;
    void *to;
    if (file == 0 || argument_pointer(1, &to, sizeof(status)) < 0 ||
        file_stat(file, &status) < 0)
        return -1;
    memmove(to, &status, sizeof(status));
    return 0;
}

/* 0, or -1 with nothing changed. Does not fail if the inode was updated within
   this operation: its block is in the log then, and so in memory. */
static int link_add(struct inode *inode, int links)
{
    inode->nlink = (short)(inode->nlink + links);
    if (iupdate(inode) < 0) {
        inode->nlink = (short)(inode->nlink - links);
        return -1;
    }
    inode->unlinked = inode->nlink == 0;
    return 0;
}

/* Enters an inode under a further name. */
static int enter(struct inode *inode, const char *path)
{
    char name[DIRSIZ];
    struct inode *dir = nameiparent(path, name);
    if (dir == 0)
        return -1;
    if (ilock(dir) < 0) {
        iput(dir);
        return -1;
    }
    int result = dir->dev == inode->dev ? dirlink(dir, name, inode->inum)
                                        : -1;
    iunlockput(dir);
    return result;
}

static int link(const char *old, const char *new)
{
    struct inode *inode = namei(old);
    if (inode == 0)
        return -1;
    if (ilock(inode) < 0) {
        iput(inode);
        return -1;
    }
    if (inode->type == T_DIR || inode->nlink == LINKS_MOST ||
        link_add(inode, 1) < 0) {   /* first, lest it be freed meanwhile */
        iunlockput(inode);
        return -1;
    }
    iunlock(inode);
    int result = enter(inode, new);
    if (result < 0 && ilock(inode) == 0) {
        link_add(inode, -1);
        iunlock(inode);
    }
    iput(inode);
    return result;
}

int sys_link(void)
{
    char *old, *new;
    if (argument_string(0, &old) < 0 || argument_string(1, &new) < 0)
        return -1;
    begin_op();
    int result = link(old, new);
    return end_op() < 0 ? -1 : result;
}

/* Whether a locked inode may lose its name in a locked directory; links that
   cannot be are the disk's. */
static int may_unlink(const struct inode *dir, struct inode *inode)
{
    if (inode->nlink < 1)
        return 0;
    return inode->type != T_DIR || (dir->nlink > 1 && dirempty(inode));
}

/* Takes the name of a locked inode out of a locked directory. The link goes
   first, as what may fail with nothing changed; the directory's own block is in
   memory once the entry is written. */
static int unlink_entry(struct inode *dir, uint offset, struct inode *inode)
{
    if (!may_unlink(dir, inode) || link_add(inode, -1) < 0)
        return -1;
    if (dirunlink(dir, offset) < 0) {
        link_add(inode, 1);
        return -1;
    }
    if (inode->type == T_DIR)
        link_add(dir, -1);      /* that of its ".." */
    return 0;
}

/* Removes a name from a locked directory, which may not name itself. */
static int unlink_from(struct inode *dir, const char *name)
{
    uint offset;
    struct inode *inode;
    int result = -1;
    if (namecmp(name, ".") == 0 || namecmp(name, "..") == 0 ||
        dirlookup(dir, name, &inode, &offset) < 0 || inode == 0)
        return -1;
    if (inode != dir && ilock(inode) == 0) {
        result = unlink_entry(dir, offset, inode);
        iunlock(inode);
    }
    iput(inode);
    return result;
}

/* One at a time: it locks a directory and what that holds, and on a disk that
   lies two directories may hold each other. */
int sys_unlink(void)
{
    static struct sleeplock one;
    char name[DIRSIZ], *path;
    int result = -1;
    if (argument_string(0, &path) < 0)
        return -1;
    begin_op();
    sleeplock_acquire(&one);
    struct inode *dir = nameiparent(path, name);
    if (dir != 0) {
        if (ilock(dir) == 0) {
            result = unlink_from(dir, name);
            iunlock(dir);
        }
        iput(dir);
    }
    sleeplock_release(&one);
    return end_op() < 0 ? -1 : result;
}

/* What create makes. */
struct node {
    short type;
    short major;
    short minor;
};

/* A new inode under a name that a locked directory does not have; locked, or
   0. */
static struct inode *create_in(struct inode *dir, const char *name,
                               const struct node *node)
{
    int is_dir = node->type == T_DIR;
    if (is_dir && dir->nlink == LINKS_MOST)
        return 0;
    struct inode *inode = ialloc(dir->dev, node->type);
    if (inode == 0)
        return 0;
    if (inode == dir || ilock(inode) < 0) {
        iput(inode);
        return 0;
    }
    inode->major = node->major;
    inode->minor = node->minor;
    inode->nlink = 1;           /* "." counts none */
    iupdate(inode);
    if ((is_dir && (dirlink(inode, ".", inode->inum) < 0 ||
                    dirlink(inode, "..", dir->inum) < 0)) ||
        dirlink(dir, name, inode->inum) < 0) {
        link_add(inode, -1);
        iunlockput(inode);      /* frees it */
        return 0;
    }
    if (is_dir)
        link_add(dir, 1);       /* ".." */
    return inode;
}

/* The inode of a path, made if it is not there; locked. 0 if it cannot be
   made, or is there and not both are files. */
static struct inode *create(const char *path, const struct node *node)
{
    char name[DIRSIZ];
    uint offset;
    struct inode *dir = nameiparent(path, name);
    if (dir == 0)
        return 0;
    if (ilock(dir) < 0) {
        iput(dir);
        return 0;
    }
    struct inode *inode;
    int result = dirlookup(dir, name, &inode, &offset);
    if (inode == 0) {
        inode = result == 0 ? create_in(dir, name, node) : 0;
        iunlockput(dir);
        return inode;
    }
    iunlockput(dir);
    if (ilock(inode) < 0) {
        iput(inode);
        return 0;
    }
    if (node->type == T_FILE && inode->type == T_FILE)
        return inode;
    iunlockput(inode);
    return 0;
}

/* The inode for open, locked. */
static struct inode *open_inode(const char *path, int mode)
{
    static const struct node file = { .type = T_FILE };
    if (mode & O_CREATE)
        return create(path, &file);
    struct inode *inode = namei(path);
    if (inode == 0)
        return 0;
    if (ilock(inode) < 0) {
        iput(inode);
        return 0;
    }
    if (inode->type == T_DIR && mode != O_RDONLY) {
        iunlockput(inode);
        return 0;
    }
    return inode;
}

/* A descriptor for a locked inode, whose reference it takes over. */
static int open_file(struct inode *inode, int mode)
{
    struct file *file = file_alloc();
    if (file == 0)
        return -1;
    int fd = descriptor_new(file);
    if (fd < 0) {
        file_close(file);       /* of no type: nothing is behind it */
        return -1;
    }
    file->inode = inode;
    file->offset = 0;
    file->readable = !(mode & O_WRONLY);
    file->writable = (mode & (O_WRONLY | O_RDWR)) != 0;
    file->type = FILE_INODE;
    return fd;
}

int sys_open(void)
{
    char *path;
    int mode, fd = -1;
    if (argument_string(0, &path) < 0 || argument(1, &mode) < 0)
        return -1;
    begin_op();
    struct inode *inode = open_inode(path, mode);
    if (inode != 0) {
        fd = open_file(inode, mode);
        iunlock(inode);
        if (fd < 0)
            iput(inode);
    }
    if (end_op() < 0 && (mode & O_CREATE) && fd >= 0) {
        struct file *file = cpu.proc->files[fd];
        cpu.proc->files[fd] = 0;
        file_close(file);
        return -1;
    }
    return fd;
}

/* For mkdir and mknod. */
static int make(const char *path, const struct node *node)
{
    begin_op();
    struct inode *inode = create(path, node);
    if (inode != 0)
        iunlockput(inode);
    return end_op() < 0 || inode == 0 ? -1 : 0;
}

int sys_mkdir(void)
{
    static const struct node node = { .type = T_DIR };
    char *path;
    if (argument_string(0, &path) < 0)
        return -1;
    return make(path, &node);
}

int sys_mknod(void)
{
    char *path;
    int major, minor;
    if (argument_string(0, &path) < 0 || argument(1, &major) < 0 ||
        argument(2, &minor) < 0)
        return -1;
    struct node node = {
        .type = T_DEV, .major = (short)major, .minor = (short)minor
    };
    return make(path, &node);
}

int sys_chdir(void)
{
    char *path;
    int result = -1;
    if (argument_string(0, &path) < 0)
        return -1;
    begin_op();
    struct inode *inode = namei(path);
    if (inode != 0) {
        int locked = ilock(inode) == 0;
        int is_dir = locked && inode->type == T_DIR;
        if (locked)
            iunlock(inode);
        struct inode *left = is_dir ? cpu.proc->cwd : inode;
        if (is_dir) {
            cpu.proc->cwd = inode;
            result = 0;
        }
        iput(left);
    }
    end_op();
    return result;
}

int sys_exec(void)
{
    char *path, *arguments[MAXARG];
    uint list, at;
    if (argument_string(0, &path) < 0 || argument(1, (int *)&list) < 0)
        return -1;
    for (uint i = 0; i < MAXARG; i++) {
        if (user_int(list + 4 * i, (int *)&at) < 0)
            return -1;
        if (at == 0) {
            arguments[i] = 0;
            return exec(path, arguments);
        }
        if (user_string(at, &arguments[i]) < 0)
            return -1;
    }
    return -1;
}

int sys_pipe(void)
{
    void *at;
    struct file *reader, *writer;
    if (argument_pointer(0, &at, 2 * sizeof(int)) < 0 ||
        pipe_alloc(&reader, &writer) < 0)
        return -1;
    int read_fd = descriptor_new(reader);
    int write_fd = read_fd < 0 ? -1 : descriptor_new(writer);
    if (write_fd < 0) {
        if (read_fd >= 0)
            cpu.proc->files[read_fd] = 0;
        file_close(reader);
        file_close(writer);
        return -1;
    }
    const int ends[] = { read_fd, write_fd };
    memmove(at, ends, sizeof(ends));
    return 0;
}
