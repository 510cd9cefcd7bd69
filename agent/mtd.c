/*
 * Flash through the character devices of MTD. Places in bad blocks, which are known before the
 * first operation, are skipped and counted. read() of the kernel hides what ECC did, so its
 * statistics before and after are compared; an error of ECC is counted, and the step goes on.
 */
#include "target.h"

#include <mtd/mtd-user.h>
#include <sys/ioctl.h>

static const struct key read_keys[] = { DEVICE, PATTERN("0"), FLAG("verify", "0"), END_OF_KEYS };

struct flash {
    const struct step *step;
    int is_old; /* a kernel without 64-bit calls */
    int is_erase, is_oob, writes;
    uint64_t capacity;
    struct mtd_info_user info;
    struct nand_ecclayout_user layout;
    struct mtd_ecc_stats ecc; /* before the step */
    struct pattern pattern;
    unsigned char *is_bad; /* a byte a block */
    unsigned char *memory; /* of an operation */
    size_t size;           /* its bytes */
    uint64_t errors, wrong, first_wrong;
};

/* Requests are int in musl: as constants, some would not fit. */
static int control(const struct flash *flash, unsigned long request, void *argument)
{
    return ioctl(flash->step->fd, request, argument);
}

static int look_at_flash(struct flash *flash, const struct step *step)
{
    const char *name = step->operation->name;

    *flash = (struct flash){ .step = step,
                             .writes = step_writes(step),
                             .is_erase = strcmp(name, "mtd.erase") == 0,
                             .is_oob = strstr(name, "_oob") != 0,
                             .capacity = step->target->capacity };
    if (control(flash, MEMGETINFO, &flash->info))
        return record_fail_errno("MEMGETINFO");
    if (flash->capacity == 0) /* a kernel that does not show it in sysfs */
        flash->capacity = flash->info.size;
    if (flash->info.erasesize == 0 || flash->info.writesize == 0)
        return record_fail("found a flash of type %d, expected one with blocks", flash->info.type);
    control(flash, ECCGETSTATS, &flash->ecc);
    return 0;
}

/* Finds and counts the bad blocks from `offset` to `end`. */
static int find_bad(struct flash *flash, uint64_t offset, uint64_t end)
{
    uint64_t size = flash->info.erasesize, bad = 0;

    flash->is_bad = calloc((size_t)(flash->capacity / size) + 1, 1);
    if (flash->is_bad == 0)
        return record_fail("no memory for a byte for every block");
    for (uint64_t block = offset / size; block * size < end; block++) {
        loff_t at = (loff_t)(block * size);

        if (record_stopped())
            break;
        flash->is_bad[block] = control(flash, MEMGETBADBLOCK, &at) > 0;
        bad += flash->is_bad[block];
    }
    tell_number("bad_blocks", bad);
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
static void tell_ecc(const struct flash *flash, struct mtd_ecc_stats before)
{
    struct mtd_ecc_stats now;

    if (control(flash, ECCGETSTATS, &now))
        return;
    tell_number("corrected", now.corrected - before.corrected);
    tell_number("failed", now.failed - before.failed);
}

static void run_info(const struct step *step)
{
    static const struct mtd_ecc_stats none;
    struct flash flash;

    if (look_at_flash(&flash, step))
        return;
    tell_number("bytes", flash.capacity);
    tell_number("erasesize", flash.info.erasesize);
    tell_number("writesize", flash.info.writesize);
    tell_number("oobsize", flash.info.oobsize);
    tell_files(step->target->dir,
               "name type subpagesize oobavail ecc_strength ecc_step_size bitflip_threshold");
    find_bad(&flash, 0, flash.capacity);
    tell_ecc(&flash, none);
    free(flash.is_bad);
}

/* Checks the range and gets what the step needs. Returns -1 when it failed. */
static int prepare(struct flash *flash)
{
    uint32_t unit = flash->is_erase ? flash->info.erasesize : flash->info.writesize;
    struct pattern *pattern = &flash->pattern;

    if (pattern_begin(pattern, flash->step, flash->capacity, unit))
        return -1;
    flash->size = flash->is_oob ? flash->info.oobsize : (size_t)pattern->size;
    if (flash->size == 0)
        return record_fail("the flash has no OOB");
    if ((flash->is_erase || flash->is_oob) && pattern->size != unit)
        return record_fail("found size %" PRIu64 ", expected %" PRIu32, pattern->size, unit);
    if (flash->is_oob && flash->writes && control(flash, ECCGETLAYOUT, &flash->layout))
        return record_fail_errno("which OOB bytes are free");
    flash->memory = malloc(flash->is_erase ? 1 : flash->size);
    if (flash->memory == 0)
        return record_fail("no memory for %zu bytes", flash->size);
    return find_bad(flash, pattern->offset, pattern->offset + pattern->places * pattern->size);
}

/* The data of the plan; what is not free in OOB stays as it is. */
static void fill(struct flash *flash, uint64_t at)
{
    const struct nand_oobfree *oob = flash->layout.oobfree;

    plan_data(flash->step, at, flash->memory, flash->size, 0);
    for (uint32_t i = 0; flash->is_oob && i < flash->size; i++) {
        int area = 0;

        while (area < MTD_MAX_OOBFREE_ENTRIES && i - oob[area].offset >= oob[area].length)
            area++;
        if (area == MTD_MAX_OOBFREE_ENTRIES)
            flash->memory[i] = 0xFF;
    }
}

/* A call of today, or where the kernel does not know it, the older one. */
static int call(struct flash *flash, uint64_t at, unsigned long request, void *argument,
                unsigned long old_request, void *old_argument)
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

    if (flash->is_erase)
        return call(flash, at, MEMERASE64, &erase, MEMERASE, &old_erase);
    if (flash->is_oob && flash->writes)
        return call(flash, at, MEMWRITEOOB64, &page, MEMWRITEOOB, &old_page);
    if (flash->is_oob)
        return call(flash, at, MEMREADOOB64, &page, MEMREADOOB, &old_page);
    ssize_t done = transfer_at(flash->step->fd, flash->memory, flash->size, at, flash->writes);
    if (done >= 0)
        errno = EIO; /* where it was less */
    return done == (ssize_t)flash->size ? 0 : -1;
}

static void operate(struct flash *flash, uint64_t at)
{
    uint64_t start = now_ns(), ns;
    int failed = act(flash, at) ? errno : 0;
    size_t wrong;

    ns = since(start);
    if (failed && failed != EBADMSG && failed != EUCLEAN) {
        record_fail_with(failed, "%zu bytes at %" PRIu64, flash->size, at);
        return;
    }
    record_operation(ns, flash->size);
    flash->errors += failed != 0;
    if (step_number(flash->step, "verify")
        && !plan_data(flash->step, at, flash->memory, flash->size, &wrong) && flash->wrong++ == 0)
        flash->first_wrong = at + wrong;
}

static void run_range(const struct step *step)
{
    uint64_t at, skipped = 0;
    struct flash flash;

    if (look_at_flash(&flash, step) == 0 && prepare(&flash) == 0) {
        record_begin(step);
        while (!record_stopped() && pattern_next(&flash.pattern, &at)) {
            if (is_in_bad(&flash, at, flash.pattern.size)) {
                skipped++;
                continue;
            }
            if (flash.writes && !flash.is_erase)
                fill(&flash, at);
            operate(&flash, at);
        }
        record_end();
        tell_number("skipped", skipped);
        tell_number("errors", flash.errors);
        tell_ecc(&flash, flash.ecc);
        if (flash.wrong)
            record_fail("%" PRIu64 " reads are not what the seed gives, the first at byte %" PRIu64,
                        flash.wrong, flash.first_wrong);
    }
    free(flash.memory);
    free(flash.is_bad);
}

const struct operation mtd_operations[] = {
    { "mtd.info", 0, device_keys, O_RDONLY, run_info },
    { "mtd.read", 0, read_keys, O_RDONLY, run_range },
    { "mtd.program", 1, place_keys, O_RDWR, run_range },
    { "mtd.erase", 1, place_keys, O_RDWR, run_range },
    { "mtd.read_oob", 0, place_keys, O_RDONLY, run_range },
    { "mtd.write_oob", 1, place_keys, O_RDWR, run_range },
    { 0, 0, 0, 0, 0 },
};
