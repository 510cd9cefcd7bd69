/*
 * Block devices: reads and writes with a number of operations outstanding, by
 * one call after the other, by threads or by the kernel's asynchronous I/O;
 * flushes, discards and the write cache. Latencies are from the call to its
 * return, or from io_submit to the event; making and comparing data is outside
 * of them, but within the time of the step.
 */
#include "target.h"

#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <limits.h>
#include <linux/aio_abi.h>
#include <linux/fs.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifndef BLKDISCARD
#define BLKDISCARD _IO(0x12, 119)
#endif
#define DEPTH_MAX 1024
#define STACK_BYTES (128u << 10)

#define DEVICE { "device", KEY_PATH, 0, 0, 0, 0 }
#define TRANSFER_KEYS DEVICE, PATTERN_KEYS("0"), \
    { "direct", KEY_FLAG, "1", 0, 0, 1 }, \
    { "depth", KEY_NUMBER, "1", 0, 1, DEPTH_MAX }, \
    { "engine", KEY_WORD, "sync", "sync threads aio", 0, 0 }

static const struct key info_keys[] = { DEVICE, NO_MORE_KEYS };
static const struct key read_keys[] = {
    TRANSFER_KEYS, { "verify", KEY_FLAG, "0", 0, 0, 1 }, NO_MORE_KEYS
};
static const struct key write_keys[] = {
    TRANSFER_KEYS, { "sync", KEY_WORD, "none", "none each end", 0, 0 },
    NO_MORE_KEYS
};
static const struct key flush_keys[] = {
    DEVICE, { "offset", KEY_NUMBER, "0", 0, 0, INT64_MAX },
    { "count", KEY_NUMBER, "100", 0, 1, INT64_MAX }, COMMON_KEYS, NO_MORE_KEYS
};
static const struct key discard_keys[] = {
    DEVICE, PATTERN_KEYS("0"), NO_MORE_KEYS
};
static const struct key cache_keys[] = {
    DEVICE, { "mode", KEY_WORD, 0, "on off", 0, 0 }, NO_MORE_KEYS
};

static const struct target *target_of(const struct step *step)
{
    return target_named(step_target(step));
}

static void run_info(const struct step *step, struct record *record)
{
    static const char *const texts[] = {
        "device/model", "device/vendor", "device/rev", "device/name",
        "device/serial", "device/type", "queue/scheduler", "queue/write_cache",
        "cache_type",
    };
    static const char *const numbers[] = {
        "queue/logical_block_size", "queue/physical_block_size",
        "queue/minimum_io_size", "queue/optimal_io_size", "queue/rotational",
        "queue/nr_requests", "queue/max_sectors_kb", "queue/read_ahead_kb",
        "queue/discard_granularity", "queue/discard_max_bytes",
        "device/queue_depth", "partition", "start",
    };
    const struct target *target = target_of(step);
    int fd = target_open(step, record, O_RDONLY);
    char line[200];
    size_t i;

    if (fd < 0)
        return;
    close(fd);
    record_number(record, "bytes", target->capacity);
    for (i = 0; i < sizeof numbers / sizeof *numbers; i++)
        if (*read_line(line, sizeof line, "%s/%s", target->dir, numbers[i]))
            record_number(record, strrchr(numbers[i], '/')
                          ? strrchr(numbers[i], '/') + 1 : numbers[i],
                          strtoull(line, 0, 10));
    for (i = 0; i < sizeof texts / sizeof *texts; i++)
        if (*read_line(line, sizeof line, "%s/%s", target->dir, texts[i]))
            record_string(record, strrchr(texts[i], '/')
                          ? strrchr(texts[i], '/') + 1 : texts[i], line);
}

/* The next place with its data, or 0 at the end. */
static int next_place(struct transfer *transfer, char *memory, uint64_t *at)
{
    int is_one;

    if (record_stopped(transfer->record))
        return 0;
    pthread_mutex_lock(&transfer->lock);
    is_one = pattern_next(&transfer->pattern, at);
    pthread_mutex_unlock(&transfer->lock);
    if (is_one && transfer->writes)
        data_fill(transfer->step, *at, memory, transfer->size);
    return is_one;
}

/* What `done` bytes, or a negative errno, mean for an operation. */
static int complete(struct transfer *transfer, const char *memory, uint64_t at,
                    uint64_t ns, int64_t done)
{
    const char *what = transfer->writes ? "write" : "read";
    size_t wrong;

    if (done == TOLD)
        return -1;
    if (done < 0) {
        errno = (int)-done;
        return record_fail_errno(transfer->record, "%s of %lu bytes at %llu",
                                 what, (unsigned long)transfer->size,
                                 (unsigned long long)at);
    }
    if ((uint64_t)done != transfer->size)
        return record_fail(transfer->record, "%s at %llu: %lld of %lu bytes",
                           what, (unsigned long long)at, (long long)done,
                           (unsigned long)transfer->size);
    record_operation(transfer->record, ns, transfer->size);
    if (transfer->verifies && !data_equal(transfer->step, at, memory,
                                          transfer->size, &wrong))
        return record_fail(transfer->record, "byte %llu is not what the seed "
                           "gives", (unsigned long long)at + wrong);
    return 0;
}

static int64_t operate(struct transfer *transfer, char *memory, uint64_t at)
{
    ssize_t done = transfer->writes
        ? pwrite(transfer->fd, memory, transfer->size, (off_t)at)
        : pread(transfer->fd, memory, transfer->size, (off_t)at);

    if (done >= 0 && transfer->syncs_each && fdatasync(transfer->fd))
        done = -1;
    return done < 0 ? -(int64_t)errno : done;
}

/* One operation after the other; one thread of several. */
static void *transfer_in_turn(void *argument)
{
    struct transfer *transfer = argument;
    uint64_t at, start;
    int64_t done;
    char *memory;

    pthread_mutex_lock(&transfer->lock);
    memory = transfer->memory + --transfer->slots * transfer->size;
    pthread_mutex_unlock(&transfer->lock);
    while (next_place(transfer, memory, &at)) {
        start = now_ns();
        done = transfer->operate(transfer, memory, at);
        if (done == -EINTR && record_stopped(transfer->record))
            break;
        if (complete(transfer, memory, at, now_ns() - start, done))
            break;
    }
    return 0;
}

static void transfer_by_threads(struct transfer *transfer)
{
    unsigned depth = transfer->depth, count;
    pthread_t *threads = calloc(depth, sizeof *threads);
    pthread_attr_t attributes;
    int error = threads ? 0 : ENOMEM;

    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, STACK_BYTES);
    for (count = 0; count < depth && error == 0; count += error == 0)
        error = pthread_create(&threads[count], &attributes, transfer_in_turn,
                               transfer);
    if (error)
        record_fail(transfer->record, "%u threads: %s", depth,
                    strerror(error));
    while (count)
        pthread_join(threads[--count], 0);
    pthread_attr_destroy(&attributes);
    free(threads);
}

/* An operation of the kernel's asynchronous I/O. */
struct slot {
    struct iocb control;
    uint64_t at, start;
};

/* Submits an operation. Returns 0 when there is none left, -1 on failure. */
static int submit(struct transfer *transfer, aio_context_t context,
                  struct slot *slot, char *memory)
{
    struct iocb *control = &slot->control;

    if (!next_place(transfer, memory, &slot->at))
        return 0;
    memset(control, 0, sizeof *control);
    control->aio_fildes = (uint32_t)transfer->fd;
    control->aio_lio_opcode = transfer->writes ? IOCB_CMD_PWRITE
        : IOCB_CMD_PREAD;
    control->aio_buf = (uintptr_t)memory;
    control->aio_nbytes = transfer->size;
    control->aio_offset = (int64_t)slot->at;
    control->aio_data = (uintptr_t)slot;
    slot->start = now_ns();
    if (syscall(SYS_io_submit, context, 1L, &control) == 1)
        return 1;
    return record_fail_errno(transfer->record, "io_submit");
}

static void transfer_by_aio(struct transfer *transfer)
{
    struct slot *slots = calloc(transfer->depth, sizeof *slots), *slot;
    aio_context_t context = 0;
    unsigned outstanding = 0, i;
    struct io_event event;

    if (slots == 0 || syscall(SYS_io_setup, (long)transfer->depth, &context)) {
        record_fail_errno(transfer->record, "io_setup");
        free(slots);
        return;
    }
    for (i = 0; i < transfer->depth; i++)
        if (submit(transfer, context, &slots[i],
                   transfer->memory + i * transfer->size) == 1)
            outstanding++;
    while (outstanding) {
        uint64_t end;
        char *memory;

        if (syscall(SYS_io_getevents, context, 1L, 1L, &event, (void *)0) != 1) {
            if (errno == EINTR)
                continue;
            record_fail_errno(transfer->record, "io_getevents");
            break;
        }
        end = now_ns();
        slot = (struct slot *)(uintptr_t)event.data;
        memory = (char *)(uintptr_t)slot->control.aio_buf;
        outstanding--;
        if (complete(transfer, memory, slot->at, end - slot->start,
                     event.res) == 0
            && submit(transfer, context, slot, memory) == 1)
            outstanding++;
    }
    syscall(SYS_io_destroy, context);   /* waits for what is outstanding */
    free(slots);
}

static const char *misfit(const struct transfer *transfer, const char *engine)
{
    if (engine[0] == 's' && transfer->depth > 1)
        return "engine=sync has one operation outstanding: depth needs "
            "engine=threads or engine=aio";
    if (engine[0] == 'a' && !step_number(transfer->step, "direct"))
        return "engine=aio needs direct=1: the kernel waits for the cache";
    if (engine[0] == 'a' && transfer->syncs_each)
        return "engine=aio has no sync=each: use engine=threads";
    return 0;
}

static void transfer_all(struct transfer *transfer)
{
    const char *engine = step_text(transfer->step, "engine");
    uint64_t start;

    if (!transfer->writes && !step_number(transfer->step, "direct")) {
        /* what the page cache has is not the device's speed */
        posix_fadvise(transfer->fd, 0, 0, POSIX_FADV_DONTNEED);
        ioctl(transfer->fd, BLKFLSBUF, 0);
    }
    record_begin(transfer->record, transfer->step);
    if (engine[0] == 'a')
        transfer_by_aio(transfer);
    else if (transfer->depth > 1)
        transfer_by_threads(transfer);
    else
        transfer_in_turn(transfer);
    if (strcmp(step_text(transfer->step, "sync"), "end") == 0) {
        start = now_ns();
        if (fdatasync(transfer->fd))
            record_fail_errno(transfer->record, "fdatasync");
        record_number(transfer->record, "sync_ns", now_ns() - start);
    }
    record_end(transfer->record);
}

void transfer_run(struct transfer *transfer, int flags)
{
    const struct step *step = transfer->step;
    struct record *record = transfer->record;
    long page = sysconf(_SC_PAGESIZE);
    void *memory;

    transfer->target = target_of(step);
    transfer->slots = transfer->depth;
    transfer->fd = target_open(step, record, flags);
    if (transfer->fd < 0)
        return;
    if (pattern_begin(&transfer->pattern, step, record,
                      transfer->target->capacity, transfer->target->unit) == 0) {
        transfer->size = (size_t)transfer->pattern.size;
        if (transfer->size > SIZE_MAX / 2 / transfer->depth
            || posix_memalign(&memory, page > 4096 ? (size_t)page : 4096,
                              transfer->size * transfer->depth)) {
            record_fail(record, "no memory for %u x %lu bytes",
                        transfer->depth, (unsigned long)transfer->size);
        } else {
            transfer->memory = memory;
            pthread_mutex_init(&transfer->lock, 0);
            transfer_all(transfer);
            pthread_mutex_destroy(&transfer->lock);
            free(memory);
        }
    }
    close(transfer->fd);
}

static void run_transfer(const struct step *step, struct record *record)
{
    struct transfer transfer = { 0 };
    const char *why;

    transfer.step = step;
    transfer.record = record;
    transfer.operate = operate;
    transfer.writes = step_writes(step);
    transfer.depth = (unsigned)step_number(step, "depth");
    transfer.syncs_each = strcmp(step_text(step, "sync"), "each") == 0;
    transfer.verifies = step_number(step, "verify") != 0;
    why = misfit(&transfer, step_text(step, "engine"));
    if (why)
        record_fail(record, "%s", why);
    else
        transfer_run(&transfer, (transfer.writes ? O_RDWR : O_RDONLY)
                     | (step_number(step, "direct") ? O_DIRECT : 0));
}

static void run_flush(const struct step *step, struct record *record)
{
    const struct target *target = target_of(step);
    uint64_t at = step_number(step, "offset"), count, start;
    int fd = target_open(step, record, O_RDWR | O_DIRECT);
    void *memory = 0;

    if (fd < 0)
        return;
    if (target->capacity < target->unit || at > target->capacity - target->unit
        || at % target->unit) {
        record_fail(record, "there is no sector at %llu",
                    (unsigned long long)at);
    } else if (posix_memalign(&memory, 4096, (size_t)target->unit)) {
        record_fail(record, "no memory for a sector");
    } else {
        data_fill(step, at, memory, (size_t)target->unit);
        for (count = step_number(step, "count");
             count && !record_stopped(record); count--) {
            if (pwrite(fd, memory, (size_t)target->unit, (off_t)at)
                != (ssize_t)target->unit) {
                record_fail_errno(record, "write at %llu",
                                  (unsigned long long)at);
                break;
            }
            start = now_ns();
            if (fdatasync(fd)) {
                record_fail_errno(record, "fdatasync");
                break;
            }
            record_operation(record, now_ns() - start, 0);
        }
    }
    free(memory);
    close(fd);
}

static void run_discard(const struct step *step, struct record *record)
{
    const struct target *target = target_of(step);
    uint64_t range[2], unit = target->unit, start;
    int fd = target_open(step, record, O_RDWR);
    struct pattern pattern;
    char line[40];

    if (fd < 0)
        return;
    if (!step_given(step, "size"))
        unit = strtoull(read_line(line, sizeof line, "%s/queue/"
                                  "discard_granularity", target->dir), 0, 10);
    if (unit == 0 || unit % target->unit)
        unit = target->unit;
    if (pattern_begin(&pattern, step, record, target->capacity, unit) == 0) {
        range[1] = pattern.size;
        while (!record_stopped(record) && pattern_next(&pattern, &range[0])) {
            start = now_ns();
            if (ioctl(fd, BLKDISCARD, range)) {
                record_fail_errno(record, "discard of %llu bytes at %llu",
                                  (unsigned long long)range[1],
                                  (unsigned long long)range[0]);
                break;
            }
            record_operation(record, now_ns() - start, range[1]);
        }
    }
    close(fd);
}

/* Writes a text to a file of sysfs: "PATH TEXT". */
static int write_attribute(const char *argument)
{
    const char *text = strchr(argument, ' ') + 1;
    char path[PATH_MAX];
    int fd, failed;

    snprintf(path, sizeof path, "%.*s", (int)(text - argument - 1), argument);
    fd = open(path, O_WRONLY | O_CLOEXEC);
    failed = fd < 0 || write(fd, text, strlen(text)) < 0;
    if (fd >= 0)
        close(fd);
    return failed ? -1 : 0;
}

static void run_cache(const struct step *step, struct record *record)
{
    const char *mode = strcmp(step_text(step, "mode"), "on") == 0
        ? "write back" : "write through", *dir = target_of(step)->dir;
    int fd = target_open(step, record, O_RDWR);
    char path[PATH_MAX], argument[PATH_MAX + 80], old[40], new[80];
    glob_t found = { 0 };

    if (fd < 0)
        return;
    snprintf(path, sizeof path, "%s/device/scsi_disk/*/cache_type", dir);
    if (glob(path, 0, 0, &found) == 0)
        snprintf(path, sizeof path, "%s", found.gl_pathv[0]);
    else
        snprintf(path, sizeof path, "%s/cache_type", dir);
    globfree(&found);
    read_line(old, sizeof old, "%s", path);
    if (*old == 0) {
        record_fail(record, "the kernel has no switch for this device's write "
                    "cache (it has for SCSI, SATA, USB and virtio disks)");
    } else if (strcmp(old, mode)) {
        snprintf(argument, sizeof argument, "%s %s", path, old);
        snprintf(new, sizeof new, "write cache of %.60s", step_target(step));
        if (undo(write_attribute, argument, new) < 0)
            record_fail(record, "the change could not be put back");
        snprintf(argument, sizeof argument, "%s %s", path, mode);
        if (!record_stopped(record) && write_attribute(argument))
            record_fail_errno(record, "%s of %s", mode, path);
        else if (strcmp(read_line(new, sizeof new, "%s", path), mode))
            record_fail(record, "the write cache is %s still", new);
    }
    record_string(record, "was", old);
    close(fd);
}

const struct operation block_operations[] = {
    { "block.info", 0, info_keys, run_info },
    { "block.read", 0, read_keys, run_transfer },
    { "block.write", 1, write_keys, run_transfer },
    { "block.flush", 1, flush_keys, run_flush },
    { "block.discard", 1, discard_keys, run_discard },
    { "block.cache", 1, cache_keys, run_cache },
    { 0, 0, 0, 0 }
};
