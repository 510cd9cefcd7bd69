/*
 * Flash through the character devices of MTD. Places in bad blocks, which are
 * known before the first operation, are skipped and counted. read() of the
 * kernel hides what ECC did, so its statistics before and after are compared;
 * an error of ECC is counted, and the step goes on.
 */
#include "target.h"

#include <errno.h>
#include <fcntl.h>
#include <mtd/mtd-user.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

static const struct key read_keys[] = {
    DEVICE, PATTERN_KEYS("0"), { "verify", KEY_FLAG, "0", 0, 0, 1 },
    NO_MORE_KEYS
};

struct flash {
    int fd, is_old;             /* old: a kernel without 64-bit calls */
    int is_erase, is_oob, writes;
    uint64_t capacity;
    struct mtd_info_user info;
    struct nand_ecclayout_user layout;
    struct mtd_ecc_stats ecc;   /* before the step */
    unsigned char *is_bad;      /* a byte a block */
    unsigned char *memory;      /* of an operation */
    size_t size;                /* its bytes */
    uint64_t errors, wrong, first_wrong;
};

/* Requests are int in musl: as constants, some would not fit. */
static int control(const struct flash *flash, unsigned long request,
                   void *argument)
{
    return ioctl(flash->fd, request, argument);
}

static int open_flash(struct flash *flash, const struct step *step,
                      struct record *record)
{
    const char *name = step->operation->name;

    memset(flash, 0, sizeof *flash);
    flash->writes = step_writes(step);
    flash->is_erase = strcmp(name, "mtd.erase") == 0;
    flash->is_oob = strstr(name, "_oob") != 0;
    flash->fd = target_open(step, record, flash->writes ? O_RDWR : O_RDONLY);
    if (flash->fd < 0)
        return -1;
    flash->capacity = target_named(step_target(step))->capacity;
    if (control(flash, MEMGETINFO, &flash->info))
        return record_fail_errno(record, "MEMGETINFO");
    if (flash->capacity == 0)   /* a kernel that does not show it in sysfs */
        flash->capacity = flash->info.size;
    if (flash->info.erasesize == 0 || flash->info.writesize == 0)
        return record_fail(record, "found a flash of type %d, expected one "
                           "with blocks", flash->info.type);
    control(flash, ECCGETSTATS, &flash->ecc);
    return 0;
}

static void close_flash(struct flash *flash)
{
    free(flash->memory);
    free(flash->is_bad);
    if (flash->fd >= 0)
        close(flash->fd);
}

/* Finds and counts the bad blocks from `offset` to `end`. */
static int find_bad(struct flash *flash, struct record *record,
                    uint64_t offset, uint64_t end)
{
    uint64_t size = flash->info.erasesize, block = offset / size, bad = 0;

    flash->is_bad = calloc((size_t)(flash->capacity / size) + 1, 1);
    if (flash->is_bad == 0)
        return record_fail(record, "no memory for a byte for every block");
    for (; block * size < end && !record_stopped(record); block++) {
        loff_t at = (loff_t)(block * size);

        flash->is_bad[block] = control(flash, MEMGETBADBLOCK, &at) > 0;
        bad += flash->is_bad[block];
    }
    record_number(record, "bad_blocks", bad);
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

    if (control(flash, ECCGETSTATS, &now))
        return;
    record_number(record, "corrected", now.corrected - before.corrected);
    record_number(record, "failed", now.failed - before.failed);
}

static void run_info(const struct step *step, struct record *record)
{
    static const struct mtd_ecc_stats none;
    struct flash flash;

    if (open_flash(&flash, step, record) == 0) {
        record_number(record, "bytes", flash.capacity);
        record_number(record, "erasesize", flash.info.erasesize);
        record_number(record, "writesize", flash.info.writesize);
        record_number(record, "oobsize", flash.info.oobsize);
        tell_files(record, target_named(step_target(step))->dir,
                   "name type subpagesize oobavail ecc_strength ecc_step_size "
                   "bitflip_threshold");
        find_bad(&flash, record, 0, flash.capacity);
        tell_ecc(&flash, record, none);
    }
    close_flash(&flash);
}

/* Checks the range and gets what the step needs. Returns -1 when it failed. */
static int prepare(struct flash *flash, const struct step *step,
                   struct record *record, struct pattern *pattern)
{
    uint32_t unit = flash->is_erase ? flash->info.erasesize
        : flash->info.writesize;

    if (pattern_begin(pattern, step, record, flash->capacity, unit))
        return -1;
    flash->size = flash->is_oob ? flash->info.oobsize : (size_t)pattern->size;
    if (flash->size == 0)
        return record_fail(record, "the flash has no OOB");
    if ((flash->is_erase || flash->is_oob) && pattern->size != unit)
        return record_fail(record, "found size %llu, expected %lu",
                           (unsigned long long)pattern->size,
                           (unsigned long)unit);
    if (flash->is_oob && flash->writes
        && control(flash, ECCGETLAYOUT, &flash->layout))
        return record_fail_errno(record, "which OOB bytes are free");
    flash->memory = malloc(flash->is_erase ? 1 : flash->size);
    if (flash->memory == 0)
        return record_fail(record, "no memory for %lu bytes",
                           (unsigned long)flash->size);
    return find_bad(flash, record, pattern->offset,
                    pattern->offset + pattern->places * pattern->size);
}

/* The data of the plan; what is not free in OOB stays as it is. */
static void fill(struct flash *flash, const struct step *step, uint64_t at)
{
    uint32_t i, area;

    data_fill(step, at, flash->memory, flash->size);
    for (i = 0; flash->is_oob && i < flash->size; i++) {
        const struct nand_oobfree *oob = flash->layout.oobfree;

        for (area = 0; area < MTD_MAX_OOBFREE_ENTRIES; area++)
            if (i - oob[area].offset < oob[area].length)
                break;
        if (area == MTD_MAX_OOBFREE_ENTRIES)
            flash->memory[i] = 0xFF;
    }
}

/* A call of today, or where the kernel does not know it, the older one. */
static int call(struct flash *flash, uint64_t at, unsigned long request,
                void *argument, unsigned long old_request, void *old_argument)
{
    if (!flash->is_old && control(flash, request, argument) == 0)
        return 0;
    flash->is_old = flash->is_old || errno == ENOTTY;
    if (!flash->is_old || at > UINT32_MAX)
        return -1;
    return control(flash, old_request, old_argument);
}

/* One operation. Returns 0, or -1 with errno. */
static int act(struct flash *flash, uint64_t at)
{
    uint32_t block = flash->info.erasesize, oob = flash->info.oobsize;
    struct erase_info_user64 erase = { at, block };
    struct erase_info_user old_erase = { (uint32_t)at, block };
    struct mtd_oob_buf64 page = { at, 0, oob, (uintptr_t)flash->memory };
    struct mtd_oob_buf old_page = { (uint32_t)at, oob, flash->memory };
    ssize_t done;

    if (flash->is_erase)
        return call(flash, at, MEMERASE64, &erase, MEMERASE, &old_erase);
    if (flash->is_oob && flash->writes)
        return call(flash, at, MEMWRITEOOB64, &page, MEMWRITEOOB, &old_page);
    if (flash->is_oob)
        return call(flash, at, MEMREADOOB64, &page, MEMREADOOB, &old_page);
    done = flash->writes
        ? pwrite(flash->fd, flash->memory, flash->size, (off_t)at)
        : pread(flash->fd, flash->memory, flash->size, (off_t)at);
    if (done >= 0)
        errno = EIO;            /* where it was less */
    return done == (ssize_t)flash->size ? 0 : -1;
}

static void operate(struct flash *flash, const struct step *step,
                    struct record *record, uint64_t at)
{
    uint64_t start = now_ns(), end;
    int failed = act(flash, at) ? errno : 0;
    size_t wrong;

    end = now_ns();
    if (failed && failed != EBADMSG && failed != EUCLEAN) {
        errno = failed;
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

static void run_range(const struct step *step, struct record *record)
{
    struct pattern pattern;
    struct flash flash;
    uint64_t at, skipped = 0;

    if (open_flash(&flash, step, record) == 0
        && prepare(&flash, step, record, &pattern) == 0) {
        record_begin(record, step);
        while (!record_stopped(record) && pattern_next(&pattern, &at)) {
            if (is_in_bad(&flash, at, pattern.size)) {
                skipped++;
                continue;
            }
            if (flash.writes && !flash.is_erase)
                fill(&flash, step, at);
            operate(&flash, step, record, at);
        }
        record_end(record);
        record_number(record, "skipped", skipped);
        record_number(record, "errors", flash.errors);
        tell_ecc(&flash, record, flash.ecc);
        if (flash.wrong)
            record_fail(record, "%llu reads are not what the seed gives, the "
                        "first at byte %llu", (unsigned long long)flash.wrong,
                        (unsigned long long)flash.first_wrong);
    }
    close_flash(&flash);
}

const struct operation mtd_operations[] = {
    { "mtd.info", 0, device_keys, run_info },
    { "mtd.read", 0, read_keys, run_range },
    { "mtd.program", 1, place_keys, run_range },
    { "mtd.erase", 1, place_keys, run_range },
    { "mtd.read_oob", 0, place_keys, run_range },
    { "mtd.write_oob", 1, place_keys, run_range },
    { 0, 0, 0, 0 }
};
