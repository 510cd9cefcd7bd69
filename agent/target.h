/*
 * What the files about targets share: targets as sysfs describes them, and how
 * operations are kept outstanding.
 */
#ifndef TARGET_H
#define TARGET_H

#include "agent.h"

#include <pthread.h>
#include <sys/types.h>

/* A device or a directory that steps are about. */
struct target {
    const char *name;           /* as the plan has it */
    /* 'b'lock device, 'm'td, 's'g, 'u'bi volume, 'd'irectory; else 0 */
    char kind;
    char found[160];            /* what is there, when the kind is 0 */
    char *dir;                  /* in sysfs; of sg: that of its block device */
    dev_t dev;                  /* of the device; of a directory: it is on */
    ino_t inode;                /* of a directory */
    uint64_t capacity, unit;    /* bytes; unit: erase block or sector */
    char sequence[24];          /* of the medium, where the kernel counts */
    struct target *next;
    struct target *worn;        /* the first one on the same device */
    int is_written, is_checked;
    uint64_t written;           /* bytes, by the whole plan */
    uint64_t *erased;           /* by block: the change of the erase count */
};

/* The target of that name, or 0. */
struct target *target_named(const char *name);

/* Whether a device, its whole, or a part of it is used: by what. */
int device_in_use(const struct target *target, char *found, size_t size);
/* The number of a block device in sysfs; of MTD, that of its mounts. */
dev_t device_number(const char *dir);
/* What is on a device, or 0. It is open as fd. */
const char *device_data(const struct target *target, int fd);
/* Bytes that the plan writes and blocks that it erases are in the targets. */
void wear_add(const struct plan *plan);
uint64_t wear_cycles(const struct target *target);

/* --- block.c, for ata.c ------------------------------------------------- */

/* A step on places of a device, with some operations outstanding. */
struct transfer {
    const struct step *step;
    struct record *record;
    const struct target *target;
    struct pattern pattern;
    pthread_mutex_t lock;       /* of the pattern */
    int fd, writes;             /* writes: the memory is filled */
    unsigned depth;             /* operations outstanding */
    unsigned slots;             /* parts of the memory that are not taken */
    size_t size;                /* of an operation */
    char *memory;               /* `size` bytes for each of `depth` */
    /* Does an operation: nanoseconds, or 0 after record_fail() */
    uint64_t (*operate)(struct transfer *transfer, char *memory, uint64_t at);
};

/* Opens the target with these flags and does the step by `operate`. */
void transfer_run(const struct step *step, struct record *record, int flags,
                  uint64_t (*operate)(struct transfer *, char *, uint64_t));
/* `device` alone; `device` and the keys of patterns. */
extern const struct key device_keys[], place_keys[];
/* Nanoseconds since then, and never 0. */
uint64_t since(uint64_t start);
/* Tells files of sysfs below a folder, "one two/three", by their last names. */
void tell_files(struct record *record, const char *dir, const char *files);

#endif
