/*
 * The kernel's file system as a program of the host: what it needs of the rest
 * of the kernel is in host.c, with a disk in memory and with tasks in place of
 * processes, which switch at random but, for the same seed, always alike.
 */
#ifndef HOST_H
#define HOST_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "renames.h"
#include "kernel.h"
#include "fcntl.h"
#include "file.h"
#include "fs.h"
#include "proc.h"
#include "stat.h"
#undef exit
#undef fork
#undef kill
#undef memcmp
#undef memcpy
#undef memmove
#undef memset
#undef printf
#undef sleep
#undef strlen
#undef strncmp
#undef strncpy
#undef syscall
#undef wait

/* Random numbers. */
void seed(uint64_t value);
uint below(uint limit);

/* Ends the program with a message that says which seed it was. */
void fail(const char *format, ...) __attribute__((noreturn));

/* A write to the disk, and a record of such, in memory that processes share.
   */
struct write {
    uint block;
    uchar data[BSIZE];
};

#define WRITES_MOST 50000

struct record {
    uint count;
    struct write writes[WRITES_MOST];
};

extern uchar *disk;
extern size_t disk_bytes;
extern struct record *recording;    /* where writes go, too, unless 0 */

/* Memory that the processes of in_child share with this one; cleared. */
void *shared(size_t bytes);

void disk_load(const uchar *image, size_t bytes);

/* Whether the disk fails to read or write this block; 0: it never does. */
extern int (*disk_fails)(uint block, int writing);

/* Starts the kernel's file system on the disk; once a process of the host. */
void boot(void);

/* Runs it in a process of its own; whether it ended well. */
int in_child(void (*body)(void *), void *argument);

/* Occasions of which a running task gives way at one. */
extern uint between_switches;

/* Runs `count` tasks till they end; the caller is the only one before and
   after. */
void run_tasks(int count, void (*body)(int number));

/* System calls of the running task. */
int call_open(const char *path, int mode);
int call_close(int fd);
int call_read(int fd, void *to, int bytes);
int call_write(int fd, const void *from, int bytes);
int call_dup(int fd);
int call_fstat(int fd, struct stat *to);
int call_link(const char *old, const char *new);
int call_unlink(const char *path);
int call_mkdir(const char *path);
int call_mknod(const char *path, int major, int minor);
int call_chdir(const char *path);

/* Everything that can be reached from the root, a line each; to be freed. Does
   not use the running task's descriptors and directory. */
char *tree_text(void);

/* Fails unless the disk holds a consistent file system; returns the notes. */
uint check_disk(const char *when);

#endif
