/*
 * What may be written: only what the user named, what nothing uses, and what
 * has no data on it, unless the user says so. target_check() decides it for
 * the whole plan before anything is done; target_open() does it again for what
 * was opened, so that nothing can be put in its place.
 */
#include "target.h"

#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#define MTD_WRITEABLE 0x400

const struct key device_keys[] = { DEVICE, NO_MORE_KEYS };
const struct key place_keys[] = { DEVICE, PATTERN_KEYS("0"), NO_MORE_KEYS };

static struct target *targets;

/* What the operations whose names begin so need. */
static const struct {
    const char *family, *kinds, *expected;
} needs[] = {
    { "mtd.", "m", "an MTD character device (/dev/mtdN)" },
    { "block.", "b", "a block device" },
    { "ata.", "bs", "a disk or its sg device" },
    { "scsi.", "bs", "a disk or its sg device" },
    { "mmc.", "b", "a card (/dev/mmcblkN)" },
    { "fs.mount", "bmu", "a block device, MTD device or UBI volume" },
    { "fs.", "d", "a directory" },
};

static uint64_t number_at(const char *dir, const char *attribute)
{
    char line[80];

    return strtoull(read_line(line, sizeof line, "%s/%s", dir, attribute), 0,
                    0);
}

/* The folder of a device in sysfs; of sg, that of its only block device. */
static char *folder_of(const struct stat *status, char *kind)
{
    char path[PATH_MAX], *dir, *subsystem;
    glob_t blocks;

    snprintf(path, sizeof path, "/sys/dev/%s/%u:%u",
             S_ISBLK(status->st_mode) ? "block" : "char",
             major(status->st_rdev), minor(status->st_rdev));
    dir = realpath(path, 0);
    *kind = S_ISBLK(status->st_mode) ? 'b' : 0;
    if (dir == 0 || *kind)
        return dir;
    strcat(path, "/subsystem");
    subsystem = realpath(path, 0);
    path[strlen(path) - strlen("/subsystem")] = 0;
    strcat(path, "/device/block/*");
    if (subsystem && strcmp(strrchr(subsystem, '/'), "/mtd") == 0) {
        *kind = 'm';
    } else if (subsystem && strcmp(strrchr(subsystem, '/'), "/ubi") == 0) {
        *kind = number_at(dir, "data_bytes") ? 'u' : 0;
    } else if (subsystem && strstr(subsystem, "/scsi_generic")
               && glob(path, 0, 0, &blocks) == 0) {
        *kind = blocks.gl_pathc == 1 ? 's' : 0;
        free(dir);
        dir = realpath(blocks.gl_pathv[0], 0);
        globfree(&blocks);
    }
    free(subsystem);
    return dir;
}

static void measure(struct target *target)
{
    const char *dir = target->dir;
    struct statvfs filesystem;

    switch (target->kind) {
    case 'b': case 's':
        target->capacity = number_at(dir, "size") * 512;
        target->unit = number_at(dir, "queue/logical_block_size");
        if (target->unit == 0)
            target->unit = number_at(dir, "../queue/logical_block_size");
        read_line(target->sequence, sizeof target->sequence, "%s/diskseq", dir);
        break;
    case 'm':
        target->capacity = number_at(dir, "size");
        target->unit = number_at(dir, "erasesize");
        break;
    case 'u':
        target->capacity = number_at(dir, "data_bytes");
        break;
    case 'd':
        if (statvfs(target->name, &filesystem) == 0)
            target->capacity = (uint64_t)filesystem.f_blocks
                * filesystem.f_frsize;
    }
    if (target->unit == 0)
        target->unit = 512;
}

/* Looks at what has the name now. */
static void look(struct target *target)
{
    char to[100] = "", *found = target->found;
    size_t size = sizeof target->found;
    struct stat status;

    if (lstat(target->name, &status)) {
        snprintf(found, size, "nothing that can be looked at (%s)",
                 strerror(errno));
    } else if (S_ISLNK(status.st_mode)) {
        if (readlink(target->name, to, sizeof to - 1) < 0)
            to[0] = '?';
        snprintf(found, size, "a symbolic link to %s (name that)", to);
    } else if (S_ISDIR(status.st_mode)) {
        snprintf(found, size, "a directory");
        target->kind = 'd';
        target->dev = status.st_dev;
        target->inode = status.st_ino;
    } else if (S_ISBLK(status.st_mode) || S_ISCHR(status.st_mode)) {
        target->dev = status.st_rdev;
        target->dir = folder_of(&status, &target->kind);
        if (target->dir == 0)
            target->kind = 0;
        snprintf(found, size, "%s", target->dir == 0
                 ? "a device that /sys does not show" : target->kind == 'b'
                 ? "a block device" : target->kind == 'm' ? "an MTD device"
                 : target->kind == 'u' ? "a UBI volume" : target->kind == 's'
                 ? "an sg device" : "a character device of another kind");
    } else {
        snprintf(found, size, S_ISFIFO(status.st_mode) ? "a FIFO"
                 : S_ISREG(status.st_mode) ? "a regular file" : "a socket");
    }
    measure(target);
}

struct target *target_named(const char *name)
{
    struct target *target = targets;

    while (target && strcmp(target->name, name))
        target = target->next;
    return target;
}

/* What the plan mounts at that path, or 0. */
static struct target *mounted_at(const struct plan *plan, const char *path)
{
    const struct step *step = plan->steps, *end = step + plan->step_count;

    for (; step < end; step++)
        if (strcmp(step->operation->name, "fs.mount") == 0
            && strcmp(step_text(step, "path"), path) == 0)
            return target_named(step_target(step));
    return 0;
}

/* The first target that is the same device or filesystem. */
static struct target *worn_by(const struct plan *plan, struct target *target)
{
    struct target *other, *mounted = target->kind == 'd'
        ? mounted_at(plan, target->name) : 0;

    if (mounted)
        target = mounted;
    for (other = targets; other != target; other = other->next)
        if (other->kind == target->kind && target->kind == 'd'
            ? other->dev == target->dev : other->dir && target->dir
                && strcmp(other->dir, target->dir) == 0)
            return other;
    return target;
}

/* Looks at all targets of the plan, once. */
static void look_at_all(const struct plan *plan)
{
    static int is_done;
    struct target **end = &targets, *target;
    int i;

    for (i = 0; i < plan->step_count && !is_done; i++) {
        const char *name = step_target(&plan->steps[i]);

        if (name == 0 || target_named(name))
            continue;
        *end = calloc(1, sizeof **end);
        if (*end == 0) {
            fprintf(stderr, "boardlab-agent: no memory for the targets\n");
            exit(EXIT_REFUSED);
        }
        (*end)->name = name;
        look(*end);
        end = &(*end)->next;
    }
    for (target = targets; target && !is_done; target = target->next)
        target->worn = worn_by(plan, target);
    if (!is_done)
        wear_add(plan);
    is_done = 1;
}

/* --- What the plan may do ----------------------------------------------- */

/* Where target_check() says why. */
static char *why;
static size_t why_size;

static int refuse(const char *name, const char *found, const char *expected)
{
    snprintf(why, why_size, "%s: found %s, expected %s", name, found, expected);
    return -1;
}

static int check_kind(const struct step *step, const struct target *target)
{
    const char *operation = step->operation->name, *card;
    struct target path = { 0 };
    size_t i = 0;

    while (strncmp(operation, needs[i].family, strlen(needs[i].family)))
        i++;
    card = strrchr(target->dir ? target->dir : "/", '/') + 1;
    if (target->kind == 0 || strchr(needs[i].kinds, target->kind) == 0
        || (strncmp(operation, "mmc.", 4) == 0
            && (strncmp(card, "mmcblk", 6)
                || card[6 + strspn(card + 6, "0123456789")])))
        return refuse(target->name, target->found, needs[i].expected);
    /* of a partition or a volume they would address the disk below it */
    if ((operation[0] == 'a' || operation[0] == 's')
        && number_at(target->dir, "device/scsi_level") == 0)
        return refuse(target->name, "a partition, volume or other disk",
                      "the whole disk of SCSI, ATA or USB");
    if (strcmp(operation, "fs.mount"))
        return 0;
    path.name = step_text(step, "path");
    look(&path);
    free(path.dir);
    return path.kind == 'd' ? 0
        : refuse(path.name, path.found, "a directory to mount at");
}

/* Opens a device so that nobody else can take it. Of sg, the block device. */
static int claim(const struct target *target)
{
    int flags = O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK, fd;
    char node[PATH_MAX];
    struct stat status;
    size_t i;

    if (target->kind != 's')
        return open(target->name, O_RDWR | flags
                    | (target->kind == 'b' ? O_EXCL : 0));
    snprintf(node, sizeof node, "/dev%s", strrchr(target->dir, '/'));
    for (i = 5; node[i]; i++)
        node[i] = node[i] == '!' ? '/' : node[i];
    fd = open(node, O_RDONLY | O_EXCL | flags);
    if (fd >= 0 && (fstat(fd, &status) || !S_ISBLK(status.st_mode)
                    || device_number(target->dir) != status.st_rdev)) {
        close(fd);
        errno = ENODEV;
        return -1;
    }
    return fd;
}

static int check_folder(const struct plan *plan, const struct target *target)
{
    char path[PATH_MAX];
    struct stat status;

    snprintf(path, sizeof path, "%s/boardlab-agent", target->name);
    if (mounted_at(plan, target->name))
        return 0;               /* it is not there yet */
    if (lstat(path, &status) == 0)
        return refuse(path, "a file or folder", "none: remove it");
    return access(target->name, W_OK | X_OK) == 0 ? 0
        : refuse(target->name, strerror(errno), "a directory to write to");
}

static int check_device(const struct target *target, int with_data)
{
    const char *name = target->name, *data;
    char found[240];
    int fd;

    if (target->kind == 'm' ? !(number_at(target->dir, "flags") & MTD_WRITEABLE)
        : number_at(target->dir, "ro") == 1)
        return refuse(name, "a read-only device", "one that can be written");
    if (target->capacity == 0)
        return refuse(name, "no bytes: perhaps no medium", "a capacity");
    if (device_in_use(target, found, sizeof found))
        return refuse(name, found, "a device that nothing uses");
    fd = claim(target);
    if (fd < 0)
        return refuse(name, strerror(errno), errno == EBUSY
                      ? "a device that nothing uses"
                      : "a device that this user can write");
    data = with_data ? 0 : device_data(target, fd);
    close(fd);
    snprintf(found, sizeof found, "%s on it", data ? data : "");
    return data ? refuse(name, found, "no data: only --destroy-data allows to "
                         "write here") : 0;
}

static int is_named(const char **list, int count, const char *name)
{
    while (count--)
        if (strcmp(list[count], name) == 0)
            return 1;
    return 0;
}

static int check_write(const struct plan *plan, const struct target *target,
                       const struct permissions *allowed)
{
    int with_data = is_named(allowed->destroy_data, allowed->destroy_data_count,
                             target->name);
    uint64_t cycles = wear_cycles(target->worn);
    char found[60];

    if (!with_data && !is_named(allowed->destroy, allowed->destroy_count,
                                target->name))
        return refuse(target->name, "no permission to write",
                      "--destroy with this target as the plan names it");
    snprintf(found, sizeof found, "a wear of %llu cycles",
             (unsigned long long)cycles);
    if (cycles > allowed->max_cycles)
        return refuse(target->name, found, "at most --max-cycles");
    return target->kind == 'd' ? check_folder(plan, target)
        : check_device(target, with_data);
}

int target_check(const struct plan *plan, const struct permissions *allowed,
                 const struct step **step, char *text, size_t size)
{
    int i;

    why = text;
    why_size = size;
    look_at_all(plan);
    for (i = 0; i < plan->step_count; i++) {
        struct target *target;

        *step = &plan->steps[i];
        if (step_target(*step) == 0)
            continue;
        target = target_named(step_target(*step));
        if (check_kind(*step, target))
            return -1;
        if (step_writes(*step) && !target->is_checked
            && check_write(plan, target, allowed))
            return -1;
        target->is_checked |= step_writes(*step);
    }
    *step = 0;
    return 0;
}

/* Whether what is open is what was checked, and is not used since. */
static int is_as_checked(const struct target *target, int fd, int writes,
                         char *found, size_t size)
{
    struct target now = { 0 };
    struct stat status;
    int is;

    snprintf(found, size, "another one");
    if (fstat(fd, &status))
        return 0;
    if (target->kind == 'd')
        return S_ISDIR(status.st_mode) && (target->worn->kind != 'd'
            || (status.st_dev == target->dev && status.st_ino == target->inode));
    now.name = target->name;
    look(&now);
    is = now.kind == target->kind && now.dev == target->dev
        && status.st_rdev == target->dev
        && S_ISBLK(status.st_mode) == (target->kind == 'b')
        && strcmp(now.dir, target->dir) == 0
        && now.capacity == target->capacity
        && strcmp(now.sequence, target->sequence) == 0
        && !(writes && device_in_use(target, found, size));
    free(now.dir);
    return is;
}

int target_open(const struct step *step, struct record *record, int flags)
{
    static int claimed = -1;    /* the block device of an sg device */
    const struct target *target = target_named(step_target(step));
    int fd = -1, writes = step_writes(step);
    char found[240];

    if (claimed >= 0)
        close(claimed);
    claimed = -1;
    if (target == 0 || (writes && !target->is_checked))
        return record_fail(record, "%s was not checked", step_target(step));
    if (writes && target->kind == 's')
        claimed = claim(target);
    if (!writes || target->kind != 's' || claimed >= 0)
        fd = open(target->name, flags | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK
                  | (writes && target->kind == 'b' ? O_EXCL : 0));
    if (fd < 0)
        return record_fail_errno(record, "%s cannot be opened, though it was "
                                 "checked", target->name);
    if (!is_as_checked(target, fd, writes, found, sizeof found)) {
        close(fd);
        return record_fail(record, "%s: found %s; it changed after the check",
                           target->name, found);
    }
    fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) & ~O_NONBLOCK);
    return fd;
}

void target_wear(const struct plan *plan,
                 void (*each)(void *data, const char *target, uint64_t cycles,
                              uint64_t endurance), void *data)
{
    const struct target *target;
    int i;

    look_at_all(plan);
    for (target = targets; target; target = target->next) {
        uint64_t endurance = 0;

        for (i = 0; i < plan->endurance_count; i++)
            if (strcmp(plan->endurances[i].target, target->name) == 0)
                endurance = plan->endurances[i].cycles;
        if (target->is_written)
            each(data, target->name, wear_cycles(target), endurance);
    }
}
