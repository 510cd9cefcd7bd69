/* What the kernel's files tell each other, file by file. */
#ifndef KERNEL_H
#define KERNEL_H

#include "lock.h"
#include "machine.h"
#include "memlayout.h"
#include "param.h"
#include "types.h"

struct buf;
struct counters;
struct dirent;
struct file;
struct inode;
struct pipe;
struct proc;
struct stat;
struct superblock;

/* alloc.c: pages of RAM by their address in the straight map; not cleared. */
void alloc_init(void *from, void *to);
void *page_alloc(void);                 /* 0 if there is none */
void page_free(void *page);             /* the kernel used it */
void page_return(void *page);           /* no cache holds anything of it */
void *pages_alloc_4(void);              /* four, at a multiple of their size */
uint pages_free(void);

/* options.c */
void options_init(void);
int option(const char *name);           /* its value, or the usual one */

/* string.c */
void *memset(void *to, int value, uint bytes);
void *memmove(void *to, const void *from, uint bytes);
void *memcpy(void *to, const void *from, uint bytes);
int memcmp(const void *a, const void *b, uint bytes);
int strncmp(const char *a, const char *b, uint most);
char *strncpy(char *to, const char *from, int bytes);
char *safestrcpy(char *to, const char *from, int bytes);    /* always ends it */
uint strlen(const char *text);

/* printf.c: %d %u %x %p %s %c */
void printf(const char *format, ...);
void panic(const char *text) __attribute__((noreturn));

/* console.c: device 1 */
#define CONSOLE 1
void console_init(void);
void console_interrupt(void);           /* characters came */
void console_put(int c);

/* syscall.c */
extern uint calls;                      /* system calls since boot */
void syscall(void);
int argument(int number, int *value);           /* as passed; 0, or -1 */
int argument_pointer(int number, void **value, int bytes); /* of user memory */
int argument_string(int number, char **value);  /* its length, or -1 */
int user_int(uint at, int *value);              /* word of user memory */
int user_string(uint at, char **value);
int user_range(uint at, uint bytes);            /* 1: all of it may be used */

/* disk.c: the block device of each dev number */
extern uint blocks_read;                /* since boot */
void disk_init(void);
uint disk_blocks(uint dev);
int disk_read(uint dev, uint block, void *to);  /* 0, or -1 */
int disk_write(uint dev, uint block, const void *from);

/* bio.c */
void bio_init(void);
struct buf *bread(uint dev, uint block);    /* locked; 0 if it fails */
struct buf *bfresh(uint dev, uint block);   /* the same, cleared, not read */
void brelse(struct buf *buf);
void bpin(struct buf *buf);             /* keeps it in memory until bunpin */
void bunpin(struct buf *buf);
void bdrop(struct buf *buf);            /* bunpin, and it is read anew */

/* log.c */
void log_init(int dev, const struct superblock *super);
void log_write(struct buf *buf);
int log_is_writable(void);              /* the same within an operation */
void begin_op(void);
int end_op(void);                       /* 0; -1: it has not happened */

/* fs.c: all that may fail for lack of inodes, blocks or memory, or because of
   what the disk says or does not say, returns 0 or -1 */
void fs_init(int dev);                  /* in a process: it may sleep */
struct inode *ialloc(uint dev, short type);
struct inode *iget(uint dev, uint inum);
int iblock(struct inode *inode, uint index, struct buf **buf); /* 0: a hole */
struct inode *idup(struct inode *inode);
int ilock(struct inode *inode);         /* -1: it is not locked */
void iunlock(struct inode *inode);
void iput(struct inode *inode);
void iunlockput(struct inode *inode);
int iupdate(struct inode *inode);
void inodes_forget(void);               /* what memory says of them */
int readi(struct inode *inode, char *to, uint offset, uint bytes);
int writei(struct inode *inode, const char *from, uint offset, uint bytes);
void stati(struct inode *inode, struct stat *to);

/* directory.c */
int dirlink(struct inode *dir, const char *name, uint inum);
int dirlookup(struct inode *dir, const char *name, struct inode **inode,
              uint *offset);
int dirunlink(struct inode *dir, uint offset);
int dirempty(struct inode *dir);
int namecmp(const char *a, const char *b);
struct inode *namei(const char *path);
struct inode *nameiparent(const char *path, char *name);

/* file.c */
void file_init(void);
struct file *file_alloc(void);
struct file *file_dup(struct file *file);
void file_close(struct file *file);
int file_read(struct file *file, char *to, int bytes);
int file_write(struct file *file, const char *from, int bytes);
int file_stat(struct file *file, struct stat *to);

/* pipe.c */
int pipe_alloc(struct file **reader, struct file **writer);
void pipe_close(struct pipe *pipe, int writable);
int pipe_read(struct pipe *pipe, char *to, int bytes);
int pipe_write(struct pipe *pipe, const char *from, int bytes);

/* evaluate.c: tune(), counters() */
#define TICK_MICROSECONDS 10000         /* between timer interrupts, at boot */
int tune(int what, int value);
void count(struct counters *to);

#endif
