/*
 * What the files about targets share: targets as sysfs describes them, and how operations are kept
 * outstanding.
 */
#ifndef TARGET_H
#define TARGET_H

#include "agent.h"

#include <linux/aio_abi.h>
#include <sys/types.h>

/* A device or a directory that steps are about. */
struct target {
    const char *name; /* as the plan has it */
    /* 'b'lock device, 'm'td, 's'g, 'u'bi volume, 'd'irectory; else 0 */
    char kind;
    char found[160];         /* what is there */
    char *dir;               /* in sysfs; of sg: that of its block device */
    dev_t dev;               /* of the device; of a directory: it is on */
    ino_t inode;             /* of a directory */
    uint64_t capacity, unit; /* bytes; unit: erase block or sector */
    char sequence[24];       /* of the medium, where the kernel counts */
    struct target *next;
    struct target *worn; /* the first one on the same device */
    int is_written, is_checked;
    double written; /* bytes, by the whole plan */
    double *erased; /* by block: the change of the erase count */
};

/* Whether a device, its whole, or a part of it is used: by what. */
int device_in_use(const struct target *target, char *found, size_t size);
/* The number of a block device in sysfs; of MTD, that of its mounts. */
dev_t device_number(const char *dir);
/* What is on a device, or 0. It is open as fd. */
const char *device_data(const struct target *target, int fd);
/* How many files a pattern has; the first one into `first`. */
size_t find_files(char *first, size_t size, const char *pattern, ...)
    __attribute__((format(printf, 3, 4)));

/* Bytes that the plan writes and blocks that it erases are in the targets. */
void wear_add(const struct plan *plan);
uint64_t wear_cycles(const struct target *target);

/* --- block.c, for ata.c ------------------------------------------------- */

/* A step on places of a device, with some operations outstanding. */
struct transfer {
    const struct step *step;
    struct pattern pattern;
    int writes;         /* the memory is filled */
    int syncs;          /* each write is followed by fdatasync */
    unsigned depth;     /* operations outstanding */
    size_t size;        /* of an operation */
    struct slot *slots; /* `depth` ones */
    /* Does an operation: nanoseconds, or -1 after record_fail() */
    int64_t (*operate)(struct slot *slot);
};

/* An operation that is outstanding. */
struct slot {
    struct transfer *transfer;
    unsigned char *memory; /* of its data */
    uint64_t at, start;
    struct iocb control;
};

/* Does the step by `operate`. */
void transfer_run(const struct step *step, int64_t (*operate)(struct slot *slot));
/* `device` alone; `device` and the keys of patterns. */
extern const struct key device_keys[], place_keys[];
/* Tells files of sysfs below a folder, "one two/three", by their last names. */
void tell_files(const char *dir, const char *files);

#endif
