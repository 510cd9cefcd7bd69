/*
 * Open files: what descriptors refer to. dup and fork share an open file and
 * with it the offset.
 *
 * `files.lock` protects references and the list of free ones; the offset
 * belongs to the lock of the inode; the other fields do not change while there
 * are references.
 */
#include "kernel.h"
#include "file.h"
#include "stat.h"

/* Blocks of data that one operation writes; with as many of the free map, an
   indirect block and an inode they are MAXOPBLOCKS. */
#define DATA_BLOCKS 4

struct device devices[NDEV];

static struct {
    struct spinlock lock;
    struct file files[NFILE];
    struct file *free;
} files;

void file_init(void)
{
    lock_init(&files.lock, "files");
    for (int i = NFILE - 1; i >= 0; i--) {
        files.files[i].next = files.free;
        files.free = &files.files[i];
    }
}

/* With one reference; 0 if all are in use. */
struct file *file_alloc(void)
{
    acquire(&files.lock);
    struct file *file = files.free;
    if (file != 0) {
        files.free = file->next;
        file->refs = 1;
    }
    release(&files.lock);
    return file;
}

struct file *file_dup(struct file *file)
{
    acquire(&files.lock);
    if (file->refs < 1)
        panic("file_dup: not open");
    file->refs++;
    release(&files.lock);
    return file;
}

/* Not within an operation: the inode's reference is given back in one. */
void file_close(struct file *file)
{
    acquire(&files.lock);
    if (file->refs < 1)
        panic("file_close: not open");
    if (--file->refs > 0) {
        release(&files.lock);
        return;
    }
    struct file closed = *file;
    file->type = FILE_NONE;
    file->next = files.free;
    files.free = file;
    release(&files.lock);
    if (closed.type == FILE_PIPE) {
        pipe_close(closed.pipe, closed.writable);
    } else if (closed.type == FILE_INODE) {
        begin_op();
        iput(closed.inode);
        end_op();
    }
}

int file_stat(struct file *file, struct stat *to)
{
    if (file->type != FILE_INODE)
        return -1;
    if (ilock(file->inode) < 0)
        return -1;
    stati(file->inode, to);
    iunlock(file->inode);
    return 0;
}

/* The device behind a file; 0 if it is no device, or one that does not exist,
   as which an inode counts that cannot be read. */
static const struct device *device_of(const struct file *file, int *is_device)
{
    struct inode *inode = file->inode;
    *is_device = 1;
    if (ilock(inode) < 0)
        return 0;
    *is_device = inode->type == T_DEV;
    int major = inode->major;
    iunlock(inode);
    return *is_device && major >= 0 && major < NDEV ? &devices[major] : 0;
}

int file_read(struct file *file, char *to, int bytes)
{
    int is_device;
    if (!file->readable || bytes < 0)
        return -1;
    if (file->type == FILE_PIPE)
        return pipe_read(file->pipe, to, bytes);
    const struct device *device = device_of(file, &is_device);
    if (is_device)
        return device && device->read ? device->read(to, bytes) : -1;
    if (ilock(file->inode) < 0)
        return -1;
    int done = readi(file->inode, to, file->offset, (uint)bytes);
    if (done > 0)
        file->offset += (uint)done;
    iunlock(file->inode);
    return done;
}

/* One operation: bytes, fewer than asked for or -1 if not all can be written.
   */
static int write_part(struct file *file, const char *from, int bytes)
{
    if (ilock(file->inode) < 0)
        return -1;
    int part = DATA_BLOCKS * BSIZE - (int)(file->offset % BSIZE);
    if (part > bytes)
        part = bytes;
    int wrote = writei(file->inode, from, file->offset, (uint)part);
    if (wrote > 0)
        file->offset += (uint)wrote;
    iunlock(file->inode);
    return wrote < part ? -1 : wrote;
}

/* In operations of a few blocks each: bytes, or -1 if not all could be
   written. */
static int inode_write(struct file *file, const char *from, int bytes)
{
    int done = 0;
    while (done < bytes) {
        begin_op();
        int wrote = write_part(file, from + done, bytes - done);
        if (end_op() < 0 || wrote < 0)
            return -1;
        done += wrote;
    }
    return bytes;
}

int file_write(struct file *file, const char *from, int bytes)
{
    int is_device;
    if (!file->writable || bytes < 0)
        return -1;
    if (file->type == FILE_PIPE)
        return pipe_write(file->pipe, from, bytes);
    const struct device *device = device_of(file, &is_device);
    if (is_device)
        return device && device->write ? device->write(from, bytes) : -1;
    return inode_write(file, from, bytes);
}
