/*
 * Flash through the character devices of MTD. Places in bad blocks, which are
 * known before the first operation, are skipped and counted. read() of the
 * kernel hides what ECC did, so its statistics before and after are compared;
 * an error of ECC is counted, and the step goes on.
 */
#include "agent.h"

#include <errno.h>
#include <fcntl.h>
#include <mtd/mtd-user.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#define DEVICE { "device", KEY_PATH, 0, 0, 0, 0 }
#define SYSFS "/sys/class/mtd/mtd%u/%s"

static const struct key info_keys[] = { DEVICE, NO_MORE_KEYS };
static const struct key range_keys[] = {
    DEVICE, PATTERN_KEYS("0"), NO_MORE_KEYS
};
static const struct key read_keys[] = {
    DEVICE, PATTERN_KEYS("0"), { "verify", KEY_FLAG, "0", 0, 0, 1 },
    NO_MORE_KEYS
};

struct flash {
    int fd, is_old;             /* old: a kernel without 64-bit calls */
    unsigned number;            /* of /dev/mtdN */
    struct mtd_info_user info;
    struct nand_ecclayout_user layout;
    struct mtd_ecc_stats ecc;   /* before the step */
    uint64_t bytes, bad, skipped, errors, wrong, first_wrong;
    unsigned char *is_bad;      /* a byte a block */
    unsigned char *memory;      /* of an operation */
    size_t size;                /* its bytes */
};

/* --- Operations: 0, or -1 with errno ------------------------------------ */

static int whole(const struct flash *flash, ssize_t done)
{
    if (done >= 0 && (size_t)done < flash->size)
        errno = EIO;
    return done == (ssize_t)flash->size ? 0 : -1;
}

static int read_place(struct flash *flash, uint64_t at)
{
    return whole(flash, pread(flash->fd, flash->memory, flash->size,
                              (off_t)at));
}

static int program_place(struct flash *flash, uint64_t at)
{
    return whole(flash, pwrite(flash->fd, flash->memory, flash->size,
                               (off_t)at));
}

/* A call of today, or where the kernel does not know it, the older one. */
static int call(struct flash *flash, uint64_t at, unsigned long request,
                void *argument, unsigned long old_request, void *old_argument)
{
    if (!flash->is_old && ioctl(flash->fd, request, argument) == 0)
        return 0;
    flash->is_old = flash->is_old || errno == ENOTTY;
    if (!flash->is_old || at > UINT32_MAX)
        return -1;
    return ioctl(flash->fd, old_request, old_argument);
}

static int erase_place(struct flash *flash, uint64_t at)
{
    struct erase_info_user64 block = { at, flash->info.erasesize };
    struct erase_info_user old = { (uint32_t)at, flash->info.erasesize };

    return call(flash, at, MEMERASE64, &block, MEMERASE, &old);
}

static int move_oob(struct flash *flash, uint64_t at, unsigned long request,
                    unsigned long old_request)
{
    uint32_t size = flash->info.oobsize, low = (uint32_t)at;
    struct mtd_oob_buf64 page = { at, 0, size, (uintptr_t)flash->memory };
    struct mtd_oob_buf old = { low, size, flash->memory };

    return call(flash, at, request, &page, old_request, &old);
}

static int read_oob(struct flash *flash, uint64_t at)
{
    return move_oob(flash, at, MEMREADOOB64, MEMREADOOB);
}

static int write_oob(struct flash *flash, uint64_t at)
{
    return move_oob(flash, at, MEMWRITEOOB64, MEMWRITEOOB);
}

/* --- Steps --------------------------------------------------------------- */

static int open_flash(struct flash *flash, const struct step *step,
                      struct record *record)
{
    struct stat status;
    char line[64];

    memset(flash, 0, sizeof *flash);
    flash->fd = target_open(step, record,
                            step_writes(step) ? O_RDWR : O_RDONLY);
    if (flash->fd < 0)
        return -1;
    if (fstat(flash->fd, &status) || ioctl(flash->fd, MEMGETINFO, &flash->info)
        || flash->info.erasesize == 0 || flash->info.writesize == 0) {
        record_fail_errno(record, "%s is no flash", step_target(step));
        close(flash->fd);
        return -1;
    }
    flash->number = minor(status.st_rdev) / 2;
    read_line(line, sizeof line, SYSFS, flash->number, "size");
    flash->bytes = strtoull(line, 0, 10);
    if (flash->bytes == 0)      /* an old kernel, and below 4 GiB */
        flash->bytes = flash->info.size;
    ioctl(flash->fd, ECCGETSTATS, &flash->ecc);
    return 0;
}

static void close_flash(struct flash *flash)
{
    free(flash->memory);
    free(flash->is_bad);
    close(flash->fd);
}

/* Finds the bad blocks from `offset` to `end`. */
static int find_bad(struct flash *flash, struct record *record,
                    uint64_t offset, uint64_t end)
{
    uint64_t size = flash->info.erasesize, block = offset / size;

    flash->is_bad = calloc((size_t)(flash->bytes / size) + 1, 1);
    if (flash->is_bad == 0)
        return record_fail(record, "no memory for a byte for every block");
    for (; block * size < end && !record_stopped(record); block++) {
        loff_t at = (loff_t)(block * size);

        flash->is_bad[block] = ioctl(flash->fd, MEMGETBADBLOCK, &at) > 0;
        flash->bad += flash->is_bad[block];
    }
    record_number(record, "bad_blocks", flash->bad);
    return 0;
}

static int is_in_bad(const struct flash *flash, uint64_t at, uint64_t size)
{
    uint64_t block = at / flash->info.erasesize;

    for (; block <= (at + size - 1) / flash->info.erasesize; block++)
        if (flash->is_bad[block])
            return 1;
    return 0;
}

/* What ECC did since `before`. */
static void tell_ecc(const struct flash *flash, struct record *record,
                     struct mtd_ecc_stats before)
{
    struct mtd_ecc_stats now;

    if (ioctl(flash->fd, ECCGETSTATS, &now))
        return;
    record_number(record, "corrected", now.corrected - before.corrected);
    record_number(record, "failed", now.failed - before.failed);
}

static void run_info(const struct step *step, struct record *record)
{
    static const char *const names[] = {
        "name", "type", "erasesize", "writesize", "oobsize", "subpagesize",
        "oobavail", "ecc_strength", "ecc_step_size", "bitflip_threshold"
    };
    static const struct mtd_ecc_stats none;
    struct flash flash;
    char line[256];
    size_t i;

    if (open_flash(&flash, step, record))
        return;
    record_number(record, "bytes", flash.bytes);
    for (i = 0; i < sizeof names / sizeof *names; i++) {
        read_line(line, sizeof line, SYSFS, flash.number, names[i]);
        if (*line && i < 2)
            record_string(record, names[i], line);
        else if (*line)
            record_number(record, names[i], strtoull(line, 0, 10));
    }
    find_bad(&flash, record, 0, flash.bytes);
    tell_ecc(&flash, record, none);
    close_flash(&flash);
}

/* The data of the plan; of OOB, what is not free stays as it is. */
static void fill(struct flash *flash, const struct step *step, uint64_t at,
                 int is_oob)
{
    uint32_t i, area;

    data_fill(step, at, flash->memory, flash->size);
    for (i = 0; is_oob && i < flash->size; i++) {
        const struct nand_oobfree *free_area = flash->layout.oobfree;

        for (area = 0; area < MTD_MAX_OOBFREE_ENTRIES; area++, free_area++)
            if (i - free_area->offset < free_area->length)
                break;
        if (area == MTD_MAX_OOBFREE_ENTRIES)
            flash->memory[i] = 0xFF;
    }
}

static void operate(struct flash *flash, const struct step *step,
                    struct record *record, uint64_t at,
                    int (*act)(struct flash *flash, uint64_t at))
{
    uint64_t start = now_ns();
    int failed = act(flash, at);
    uint64_t end = now_ns();
    size_t wrong;

    if (failed && errno != EBADMSG && errno != EUCLEAN) {
        record_fail_errno(record, "%lu bytes at %llu",
                          (unsigned long)flash->size, (unsigned long long)at);
        return;
    }
    record_operation(record, end - start, flash->size);
    flash->errors += failed != 0;
    if (step_number(step, "verify")
        && !data_equal(step, at, flash->memory, flash->size, &wrong)
        && flash->wrong++ == 0)
        flash->first_wrong = at + wrong;
}

static void tell(const struct flash *flash, struct record *record)
{
    record_end(record);
    record_number(record, "skipped", flash->skipped);
    record_number(record, "errors", flash->errors);
    tell_ecc(flash, record, flash->ecc);
    if (flash->wrong)
        record_fail(record, "%llu reads are not what the seed gives, the "
                    "first at byte %llu", (unsigned long long)flash->wrong,
                    (unsigned long long)flash->first_wrong);
}

/* Checks the range and gets what the step needs. Returns -1 when it failed. */
static int prepare(struct flash *flash, const struct step *step,
                   struct record *record, struct pattern *pattern, int is_oob)
{
    int is_erase = strcmp(step->operation->name, "mtd.erase") == 0;
    uint32_t unit = is_erase ? flash->info.erasesize : flash->info.writesize;

    if (pattern_begin(pattern, step, record, flash->bytes, unit))
        return -1;
    if ((is_erase || is_oob) && pattern->size != unit)
        return record_fail(record, "found size %llu, expected %lu",
                           (unsigned long long)pattern->size,
                           (unsigned long)unit);
    flash->size = is_oob ? flash->info.oobsize : (size_t)pattern->size;
    if (flash->size == 0)
        return record_fail(record, "the flash has no OOB");
    if (is_oob && step_writes(step)
        && ioctl(flash->fd, ECCGETLAYOUT, &flash->layout))
        return record_fail_errno(record, "which OOB bytes are free");
    flash->memory = malloc(is_erase ? 1 : flash->size);
    if (flash->memory == 0)
        return record_fail(record, "no memory for %lu bytes",
                           (unsigned long)flash->size);
    return find_bad(flash, record, pattern->offset,
                    pattern->offset + pattern->places * pattern->size);
}

static void run_range(const struct step *step, struct record *record)
{
    static const struct {
        const char *name;
        int (*act)(struct flash *flash, uint64_t at);
        int fills, is_oob;
    } *method, methods[] = {
        { "mtd.read", read_place, 0, 0 }, { "mtd.program", program_place, 1, 0 },
        { "mtd.erase", erase_place, 0, 0 }, { "mtd.read_oob", read_oob, 0, 1 },
        { "mtd.write_oob", write_oob, 1, 1 }
    };
    struct pattern pattern;
    struct flash flash;
    uint64_t at;

    for (method = methods; strcmp(method->name, step->operation->name);)
        method++;
    if (open_flash(&flash, step, record))
        return;
    if (prepare(&flash, step, record, &pattern, method->is_oob) == 0) {
        record_begin(record, step);
        while (!record_stopped(record) && pattern_next(&pattern, &at)) {
            if (is_in_bad(&flash, at, pattern.size)) {
                flash.skipped++;
                continue;
            }
            if (method->fills)
                fill(&flash, step, at, method->is_oob);
            operate(&flash, step, record, at, method->act);
        }
        tell(&flash, record);
    }
    close_flash(&flash);
}

const struct operation mtd_operations[] = {
    { "mtd.info", 0, info_keys, run_info },
    { "mtd.read", 0, read_keys, run_range },
    { "mtd.program", 1, range_keys, run_range },
    { "mtd.erase", 1, range_keys, run_range },
    { "mtd.read_oob", 0, range_keys, run_range },
    { "mtd.write_oob", 1, range_keys, run_range },
    { 0, 0, 0, 0 }
};
