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
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifndef BLKDISCARD
#define BLKDISCARD _IO(0x12, 119)
#endif
#define STACK_BYTES (128u << 10)

#define TRANSFER_KEYS DEVICE, PATTERN_KEYS("0"), \
    { "direct", KEY_FLAG, "1", 0, 0, 1 }, \
    { "depth", KEY_NUMBER, "1", 0, 1, 1024 }, \
    { "engine", KEY_WORD, "sync", "sync threads aio", 0, 0 }

static const struct key read_keys[] = {
    TRANSFER_KEYS, { "verify", KEY_FLAG, "0", 0, 0, 1 }, NO_MORE_KEYS
};
static const struct key write_keys[] = {
    TRANSFER_KEYS, { "sync", KEY_WORD, "none", "none each end", 0, 0 },
    NO_MORE_KEYS
};
static const struct key flush_keys[] = {
    DEVICE, PATTERN_KEYS("100"), NO_MORE_KEYS
};
static const struct key cache_keys[] = {
    DEVICE, { "mode", KEY_WORD, 0, "on off", 0, 0 }, NO_MORE_KEYS
};

void tell_files(struct record *record, const char *dir, const char *files)
{
    char line[400], name[64];

    while (sscanf(files, "%63s", name) == 1) {
        const char *last = strrchr(name, '/') ? strrchr(name, '/') + 1 : name;

        files += strspn(files, " ") + strlen(name);
        read_line(line, sizeof line, "%s/%s", dir, name);
        if (*line && line[strspn(line, "0123456789")] == 0 && strlen(line) < 19)
            record_number(record, last, strtoull(line, 0, 10));
        else if (*line)
            record_string(record, last, line);
    }
}

static void run_info(const struct step *step, struct record *record)
{
    const struct target *target = target_named(step_target(step));
    int fd = target_open(step, record, O_RDONLY);

    if (fd < 0)
        return;
    close(fd);
    record_number(record, "bytes", target->capacity);
    tell_files(record, target->dir, "queue/logical_block_size "
               "queue/physical_block_size queue/minimum_io_size "
               "queue/optimal_io_size queue/rotational queue/nr_requests "
               "queue/max_sectors_kb queue/max_hw_sectors_kb "
               "queue/read_ahead_kb queue/discard_granularity "
               "queue/discard_max_bytes queue/scheduler queue/write_cache "
               "device/queue_depth device/model device/vendor device/rev "
               "device/name device/serial device/type cache_type partition");
}

uint64_t since(uint64_t start)
{
    uint64_t now = now_ns();

    return now > start ? now - start : 1;
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

/* Counts an operation of that latency; 0 has failed. Returns 0 to go on. */
static int count(struct transfer *transfer, const char *memory, uint64_t at,
                 uint64_t ns)
{
    size_t wrong;

    if (ns == 0)
        return -1;
    record_operation(transfer->record, ns, transfer->size);
    if (step_number(transfer->step, "verify")
        && !data_equal(transfer->step, at, memory, transfer->size, &wrong))
        return record_fail(transfer->record, "byte %llu is not what the seed "
                           "gives", (unsigned long long)at + wrong);
    return 0;
}

/* The latency of what ended with a number of bytes or a negative errno. */
static uint64_t latency(struct transfer *transfer, uint64_t at, uint64_t start,
                        int64_t done)
{
    if (done == (int64_t)transfer->size)
        return since(start);
    errno = done < 0 ? (int)-done : EIO;
    record_fail_errno(transfer->record, "%lu bytes at %llu",
                      (unsigned long)transfer->size, (unsigned long long)at);
    return 0;
}

static uint64_t operate(struct transfer *transfer, char *memory, uint64_t at)
{
    uint64_t start = now_ns();
    ssize_t done = transfer->writes
        ? pwrite(transfer->fd, memory, transfer->size, (off_t)at)
        : pread(transfer->fd, memory, transfer->size, (off_t)at);

    if (done >= 0 && step_text(transfer->step, "sync")[0] == 'e'
        && step_text(transfer->step, "sync")[1] == 'a')
        done = fdatasync(transfer->fd) ? -1 : done;
    return latency(transfer, at, start, done < 0 ? -(int64_t)errno : done);
}

/* One operation after the other; one thread of several. */
static void *transfer_in_turn(void *argument)
{
    struct transfer *transfer = argument;
    char *memory;
    uint64_t at;

    pthread_mutex_lock(&transfer->lock);
    memory = transfer->memory + --transfer->slots * transfer->size;
    pthread_mutex_unlock(&transfer->lock);
    while (next_place(transfer, memory, &at)
           && count(transfer, memory, at,
                    transfer->operate(transfer, memory, at)) == 0)
        ;
    return 0;
}

static void transfer_by_threads(struct transfer *transfer)
{
    pthread_t *threads = calloc(transfer->depth, sizeof *threads);
    unsigned started = 0;
    pthread_attr_t attributes;

    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, STACK_BYTES);
    while (threads && started < transfer->depth
           && pthread_create(&threads[started], &attributes, transfer_in_turn,
                             transfer) == 0)
        started++;
    if (started < transfer->depth)
        record_fail(transfer->record, "%u threads cannot be started",
                    transfer->depth);
    while (started)
        pthread_join(threads[--started], 0);
    pthread_attr_destroy(&attributes);
    free(threads);
}

/* An operation of the kernel's asynchronous I/O. */
struct slot {
    struct iocb control;
    uint64_t at, start;
};

/* Submits the next operation. Returns how many it submitted: 0 or 1. */
static unsigned submit(struct transfer *transfer, aio_context_t context,
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
    record_fail_errno(transfer->record, "io_submit");
    return 0;
}

static void transfer_by_aio(struct transfer *transfer)
{
    struct slot *slots = calloc(transfer->depth, sizeof *slots), *slot;
    unsigned outstanding = 0, i;
    aio_context_t context = 0;
    struct io_event event;

    if (slots == 0 || syscall(SYS_io_setup, (long)transfer->depth, &context)) {
        record_fail_errno(transfer->record, "io_setup");
        free(slots);
        return;
    }
    for (i = 0; i < transfer->depth; i++)
        outstanding += submit(transfer, context, &slots[i],
                              transfer->memory + i * transfer->size);
    while (outstanding) {
        char *memory;

        if (syscall(SYS_io_getevents, context, 1L, 1L, &event, (void *)0) != 1) {
            if (errno == EINTR)
                continue;       /* what is outstanding still ends */
            record_fail_errno(transfer->record, "io_getevents");
            break;              /* io_destroy waits for it */
        }
        slot = (struct slot *)(uintptr_t)event.data;
        memory = (char *)(uintptr_t)slot->control.aio_buf;
        outstanding--;
        if (count(transfer, memory, slot->at, latency(
                transfer, slot->at, slot->start, event.res)) == 0)
            outstanding += submit(transfer, context, slot, memory);
    }
    syscall(SYS_io_destroy, context);
    free(slots);
}

static void transfer_all(struct transfer *transfer)
{
    const char *sync = step_text(transfer->step, "sync");
    uint64_t start;

    if (!transfer->writes && !step_number(transfer->step, "direct")) {
        /* what the page cache has is not the device's speed */
        posix_fadvise(transfer->fd, 0, 0, POSIX_FADV_DONTNEED);
        ioctl(transfer->fd, BLKFLSBUF, 0);
    }
    record_begin(transfer->record, transfer->step);
    if (step_text(transfer->step, "engine")[0] == 'a')
        transfer_by_aio(transfer);
    else if (transfer->depth > 1)
        transfer_by_threads(transfer);
    else
        transfer_in_turn(transfer);
    if (strcmp(sync, "end") == 0) {
        start = now_ns();
        if (fdatasync(transfer->fd))
            record_fail_errno(transfer->record, "fdatasync");
        record_number(transfer->record, "sync_ns", since(start));
    }
    record_end(transfer->record);
}

static uint64_t discard(struct transfer *transfer, char *memory, uint64_t at)
{
    uint64_t range[2], start = now_ns();

    (void)memory;
    range[0] = at;
    range[1] = transfer->size;
    return latency(transfer, at, start, ioctl(transfer->fd, BLKDISCARD, range)
                   ? -(int64_t)errno : (int64_t)transfer->size);
}

void transfer_run(const struct step *step, struct record *record, int flags,
                  uint64_t (*one)(struct transfer *, char *, uint64_t))
{
    const struct target *target = target_named(step_target(step));
    struct transfer transfer = { 0 };
    long page = sysconf(_SC_PAGESIZE);
    void *memory = 0;

    transfer.step = step;
    transfer.record = record;
    transfer.target = target;
    transfer.operate = one;
    transfer.writes = step_writes(step) && one != discard;
    transfer.depth = step_number(step, "depth")
        ? (unsigned)step_number(step, "depth") : 1;
    transfer.slots = transfer.depth;
    transfer.fd = target_open(step, record, flags);
    if (transfer.fd < 0)
        return;
    pthread_mutex_init(&transfer.lock, 0);
    if (pattern_begin(&transfer.pattern, step, record, target->capacity,
                      target->unit) == 0) {
        transfer.size = (size_t)transfer.pattern.size;
        if (one == discard)     /* has no data */
            memory = malloc(1);
        else if (transfer.size > SIZE_MAX / 2 / transfer.depth
            || posix_memalign(&memory, page > 4096 ? (size_t)page : 4096,
                              transfer.size * transfer.depth))
            record_fail(record, "no memory for %u x %lu bytes", transfer.depth,
                        (unsigned long)transfer.size);
        transfer.memory = memory;
        if (memory)
            transfer_all(&transfer);
    }
    pthread_mutex_destroy(&transfer.lock);
    free(memory);
    close(transfer.fd);
}

static void run_transfer(const struct step *step, struct record *record)
{
    const char *engine = step_text(step, "engine");
    int direct = step_number(step, "direct") ? O_DIRECT : 0;

    if (engine[0] == 's' && step_number(step, "depth") > 1)
        record_fail(record, "engine=sync has one operation outstanding: depth "
                    "needs engine=threads or engine=aio");
    else if (engine[0] == 'a'
             && (!direct || strcmp(step_text(step, "sync"), "each") == 0))
        record_fail(record, "engine=aio is only for direct=1 and not for "
                    "sync=each: use engine=threads");
    else
        transfer_run(step, record, direct | (step_writes(step) ? O_RDWR
                                             : O_RDONLY), operate);
}

/* Writes at the beginning of the range, again and again. */
static uint64_t flush(struct transfer *transfer, char *memory, uint64_t at)
{
    uint64_t start;
    ssize_t done;

    at = transfer->pattern.offset;
    done = pwrite(transfer->fd, memory, transfer->size, (off_t)at);
    start = now_ns();
    if (done >= 0 && fdatasync(transfer->fd))
        done = -1;
    return latency(transfer, at, start, done < 0 ? -(int64_t)errno : done);
}

static void run_flush(const struct step *step, struct record *record)
{
    transfer_run(step, record, O_RDWR | O_DIRECT, flush);
}

static void run_discard(const struct step *step, struct record *record)
{
    transfer_run(step, record, O_RDWR, discard);
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
        ? "write back" : "write through";
    const char *dir = target_named(step_target(step))->dir;
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
    { "block.info", 0, device_keys, run_info },
    { "block.read", 0, read_keys, run_transfer },
    { "block.write", 1, write_keys, run_transfer },
    { "block.flush", 1, flush_keys, run_flush },
    { "block.discard", 1, place_keys, run_discard },
    { "block.cache", 1, cache_keys, run_cache },
    { 0, 0, 0, 0 }
};
