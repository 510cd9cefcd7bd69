/*
 * Block devices: reads and writes with a number of operations outstanding, by one call after the
 * other, by threads or by the kernel's asynchronous I/O; flushes, discards and the write cache.
 * Latencies are from the call to its return, or from io_submit to the event; making and comparing
 * data is outside of them, but within the time of the step.
 */
#include "target.h"

#include <limits.h>
#include <linux/fs.h>
#include <pthread.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>

#ifndef BLKDISCARD
#define BLKDISCARD _IO(0x12, 119)
#endif

#define TRANSFER                                                                                   \
    DEVICE, PATTERN("0"), FLAG("direct", "1"), NUMBER("depth", "1", 1, 1024),                      \
        WORD("engine", "sync", "sync threads aio")

static const struct key read_keys[] = { TRANSFER, FLAG("verify", "0"), END_OF_KEYS };
static const struct key write_keys[] = { TRANSFER, WORD("sync", "none", "none each end"),
                                         END_OF_KEYS };
static const struct key flush_keys[] = { DEVICE, PATTERN("100"), END_OF_KEYS };
static const struct key cache_keys[] = { DEVICE, WORD("mode", 0, "on off"), END_OF_KEYS };

/* Of the pattern of the step that is run. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

void tell_files(const char *dir, const char *files)
{
    char line[400], name[64];

    while (sscanf(files, "%63s", name) == 1) {
        const char *last = strrchr(name, '/') ? strrchr(name, '/') + 1 : name;

        files += strspn(files, " ") + strlen(name);
        read_line(line, sizeof line, "%s/%s", dir, name);
        if (*line && line[strspn(line, "0123456789")] == 0 && strlen(line) < 19)
            tell_number(last, strtoull(line, 0, 10));
        else if (*line)
            tell_text(last, line);
    }
}

static void run_info(const struct step *step)
{
    tell_number("bytes", step->target->capacity);
    tell_files(step->target->dir,
               "queue/logical_block_size queue/physical_block_size queue/minimum_io_size "
               "queue/optimal_io_size queue/rotational queue/nr_requests queue/max_sectors_kb "
               "queue/max_hw_sectors_kb queue/read_ahead_kb queue/discard_granularity "
               "queue/discard_max_bytes queue/scheduler queue/write_cache device/queue_depth "
               "device/model device/vendor device/rev device/name device/serial device/type "
               "cache_type partition");
}

/* The next place with its data, or 0 at the end. */
static int next_place(struct slot *slot)
{
    struct transfer *transfer = slot->transfer;
    int is_one;

    if (record_stopped())
        return 0;
    pthread_mutex_lock(&lock);
    is_one = pattern_next(&transfer->pattern, &slot->at);
    pthread_mutex_unlock(&lock);
    if (is_one && transfer->writes)
        plan_data(transfer->step, slot->at, slot->memory, transfer->size, 0);
    return is_one;
}

/* The latency of what ended with a number of bytes or with errno, or -1 after record_fail(). */
static int64_t latency(const struct slot *slot, int64_t done)
{
    uint64_t ns = since(slot->start);
    size_t size = slot->transfer->size;

    if (done == (int64_t)size)
        return (int64_t)ns;
    if (done >= 0)
        errno = EIO;
    return record_fail_errno("%zu bytes at %" PRIu64, size, slot->at);
}

/* Counts an operation of that latency; a negative one has failed. Returns 0 to go on. */
static int count(const struct slot *slot, int64_t ns)
{
    const struct transfer *transfer = slot->transfer;
    size_t wrong;

    if (ns < 0)
        return -1;
    record_operation((uint64_t)ns, transfer->size);
    if (step_number(transfer->step, "verify")
        && !plan_data(transfer->step, slot->at, slot->memory, transfer->size, &wrong))
        return record_fail("byte %" PRIu64 " is not what the seed gives", slot->at + wrong);
    return 0;
}

static int64_t operate(struct slot *slot)
{
    const struct transfer *transfer = slot->transfer;
    int fd = transfer->step->fd;

    slot->start = now_ns();
    ssize_t done = transfer_at(fd, slot->memory, transfer->size, slot->at, transfer->writes);
    if (done >= 0 && transfer->syncs && fdatasync(fd))
        done = -1;
    return latency(slot, done);
}

/* One operation after the other. */
static void transfer_in_turn(void *item)
{
    struct slot *slot = item;

    while (next_place(slot) && count(slot, slot->transfer->operate(slot)) == 0)
        continue;
}

/* Submits the next operation. Returns how many it submitted: 0 or 1. */
static unsigned submit(aio_context_t context, struct slot *slot)
{
    const struct transfer *transfer = slot->transfer;
    struct iocb *control = &slot->control;

    if (!next_place(slot))
        return 0;
    *control = (struct iocb){ .aio_fildes = (uint32_t)transfer->step->fd,
                              .aio_data = (uintptr_t)slot,
                              .aio_lio_opcode = transfer->writes ? IOCB_CMD_PWRITE : IOCB_CMD_PREAD,
                              .aio_buf = (uintptr_t)slot->memory,
                              .aio_nbytes = transfer->size,
                              .aio_offset = (int64_t)slot->at };
    slot->start = now_ns();
    if (syscall(SYS_io_submit, context, 1L, &control) == 1)
        return 1;
    record_fail_errno("io_submit");
    return 0;
}

static void transfer_by_aio(struct transfer *transfer)
{
    unsigned outstanding = 0;
    aio_context_t context = 0;
    struct io_event event;

    if (syscall(SYS_io_setup, (long)transfer->depth, &context)) {
        record_fail_errno("io_setup");
        return;
    }
    for (unsigned i = 0; i < transfer->depth; i++)
        outstanding += submit(context, &transfer->slots[i]);
    while (outstanding) {
        struct slot *slot;

        if (syscall(SYS_io_getevents, context, 1L, 1L, &event, (void *)0) != 1) {
            if (errno == EINTR)
                continue; /* what is outstanding still ends */
            record_fail_errno("io_getevents");
            break; /* io_destroy waits for it */
        }
        slot = (struct slot *)(uintptr_t)event.data;
        errno = event.res < 0 ? (int)-event.res : 0;
        outstanding--;
        if (count(slot, latency(slot, event.res)) == 0)
            outstanding += submit(context, slot);
    }
    syscall(SYS_io_destroy, context);
}

static void transfer_all(struct transfer *transfer)
{
    const struct step *step = transfer->step;

    if (!transfer->writes && !step_number(step, "direct")) {
        /* what the page cache has is not the device's speed */
        posix_fadvise(step->fd, 0, 0, POSIX_FADV_DONTNEED);
        ioctl(step->fd, BLKFLSBUF, 0);
    }
    record_begin(step);
    if (strcmp(step_text(step, "engine"), "aio") == 0)
        transfer_by_aio(transfer);
    else if (transfer->depth > 1)
        run_together(step, transfer->depth, transfer_in_turn, transfer->slots,
                     sizeof *transfer->slots);
    else
        transfer_in_turn(transfer->slots);
    if (strcmp(step_text(step, "sync"), "end") == 0) {
        uint64_t start = now_ns();

        if (fdatasync(step->fd))
            record_fail_errno("fdatasync");
        tell_number("sync_ns", since(start));
    }
    record_end();
}

static int64_t discard(struct slot *slot)
{
    uint64_t range[2] = { slot->at, slot->transfer->size };

    slot->start = now_ns();
    return latency(slot,
                   ioctl(slot->transfer->step->fd, BLKDISCARD, range) ? -1 : (int64_t)range[1]);
}

/* The slots and their memory. Returns -1 after record_fail(). */
static int allocate(struct transfer *transfer, void **memory)
{
    size_t size = transfer->operate == discard ? 1 : transfer->size; /* discards have no data */
    unsigned depth = transfer->depth;

    transfer->slots = calloc(depth, sizeof *transfer->slots);
    if (transfer->slots == 0 || size > SIZE_MAX / 2 / depth
        || posix_memalign(memory, (size_t)sysconf(_SC_PAGESIZE), size * depth))
        return record_fail("no memory for %u x %zu bytes", depth, size);
    for (unsigned i = 0; i < depth; i++) {
        transfer->slots[i].transfer = transfer;
        transfer->slots[i].memory = (unsigned char *)*memory + i * size;
    }
    return 0;
}

void transfer_run(const struct step *step, int64_t (*one)(struct slot *slot))
{
    unsigned depth = (unsigned)step_number(step, "depth");
    struct transfer transfer = { .step = step,
                                 .depth = depth ? depth : 1,
                                 .operate = one,
                                 .writes = step_writes(step) && one != discard,
                                 .syncs = strcmp(step_text(step, "sync"), "each") == 0 };
    void *memory = 0;

    if (pattern_begin(&transfer.pattern, step, step->target->capacity, step->target->unit))
        return;
    transfer.size = (size_t)transfer.pattern.size;
    if (allocate(&transfer, &memory) == 0)
        transfer_all(&transfer);
    free(transfer.slots);
    free(memory);
}

static void run_transfer(const struct step *step)
{
    const char *engine = step_text(step, "engine");
    int is_aio = strcmp(engine, "aio") == 0, is_each = strcmp(step_text(step, "sync"), "each") == 0;

    if (strcmp(engine, "sync") == 0 && step_number(step, "depth") > 1)
        record_fail(
            "engine=sync has one operation outstanding: depth needs engine=threads or engine=aio");
    else if (is_aio && (is_each || !step_number(step, "direct")))
        record_fail("engine=aio is only for direct=1 and not for sync=each: use engine=threads");
    else
        transfer_run(step, operate);
}

/* Writes at the beginning of the range, again and again. */
static int64_t flush(struct slot *slot)
{
    const struct transfer *transfer = slot->transfer;
    int fd = transfer->step->fd;

    slot->at = transfer->pattern.offset;
    ssize_t done = transfer_at(fd, slot->memory, transfer->size, slot->at, 1);
    slot->start = now_ns();
    if (done >= 0 && fdatasync(fd))
        done = -1;
    return latency(slot, done);
}

/* block.flush and block.discard. */
static void run_other(const struct step *step)
{
    transfer_run(step, step->operation->keys == flush_keys ? flush : discard);
}

/* Writes a text to a file of sysfs. */
static int write_attribute(const char *path, const char *text)
{
    int fd = open(path, O_WRONLY | O_CLOEXEC);
    ssize_t done = fd < 0 ? -1 : write(fd, text, strlen(text));

    if (fd >= 0)
        close(fd);
    return done < 0 ? -1 : 0;
}

static void run_cache(const struct step *step)
{
    int is_on = strcmp(step_text(step, "mode"), "on") == 0;
    const char *mode = is_on ? "write back" : "write through", *dir = step->target->dir;
    char found[PATH_MAX], line[40], *path, *old; /* these live on, to be put back */

    if (find_files(found, sizeof found, "%s/device/scsi_disk/*/cache_type", dir) == 0)
        snprintf(found, sizeof found, "%s/cache_type", dir);
    path = strdup(found);
    old = strdup(read_line(line, sizeof line, "%s", found));
    if (path == 0 || old == 0)
        record_fail("no memory for the state of the write cache");
    else if (*old == 0)
        record_fail("the kernel has no switch for this device's write cache (it has for SCSI, "
                    "SATA, USB and virtio disks)");
    else if (strcmp(old, mode)
             && undo(write_attribute, path, old, "write cache of", step->target->name) == 0) {
        if (write_attribute(path, mode))
            record_fail_errno("%s of %s", mode, path);
        else if (strcmp(read_line(line, sizeof line, "%s", path), mode))
            record_fail("the write cache is %s still", line);
    }
    tell_text("was", old ? old : "");
}

const struct operation block_operations[] = {
    { "block.info", 0, device_keys, O_RDONLY, run_info },
    { "block.read", 0, read_keys, O_RDONLY, run_transfer },
    { "block.write", 1, write_keys, O_RDWR, run_transfer },
    { "block.flush", 1, flush_keys, O_RDWR | O_DIRECT, run_other },
    { "block.discard", 1, place_keys, O_RDWR, run_other },
    { "block.cache", 1, cache_keys, O_RDWR, run_cache },
    { 0, 0, 0, 0, 0 },
};
