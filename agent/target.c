/*
 * What may be written: only what the user named, what nothing uses, and what has no data on it,
 * unless the user says so. target_check() decides it for the whole plan before anything is done;
 * target_open() does it again for what was opened, so that nothing can be put in its place.
 */
#include "target.h"
#include "output.h"

#include <limits.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/sysmacros.h>

#define MTD_WRITEABLE 0x400

const struct key device_keys[] = { DEVICE, END_OF_KEYS };
const struct key place_keys[] = { DEVICE, PATTERN("0"), END_OF_KEYS };

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

    return strtoull(read_line(line, sizeof line, "%s/%s", dir, attribute), 0, 0);
}

static void set_kind(struct target *target, char kind, const char *found)
{
    target->kind = kind;
    snprintf(target->found, sizeof target->found, "%s", found);
}

/* Looks at a device in sysfs; of sg, at its only block device. */
static void look_at_device(struct target *target, const struct stat *status)
{
    const char *type = S_ISBLK(status->st_mode) ? "block" : "char";
    unsigned major = major(status->st_rdev), minor = minor(status->st_rdev);
    char path[PATH_MAX], *subsystem;

    target->dev = status->st_rdev;
    snprintf(path, sizeof path, "/sys/dev/%s/%u:%u", type, major, minor);
    target->dir = realpath(path, 0);
    if (target->dir == 0) {
        set_kind(target, 0, "a device that /sys does not show");
        return;
    }
    if (S_ISBLK(status->st_mode)) {
        set_kind(target, 'b', "a block device");
        return;
    }
    set_kind(target, 0, "a character device of another kind");
    subsystem = realpath(strcat(path, "/subsystem"), 0);
    if (subsystem && strcmp(strrchr(subsystem, '/'), "/mtd") == 0) {
        set_kind(target, 'm', "an MTD device");
    } else if (subsystem && strcmp(strrchr(subsystem, '/'), "/ubi") == 0) {
        if (number_at(target->dir, "data_bytes"))
            set_kind(target, 'u', "a UBI volume");
    } else if (subsystem && strstr(subsystem, "/scsi_generic")
               && find_files(path, sizeof path, "%s/device/block/*", target->dir) == 1) {
        free(target->dir);
        target->dir = realpath(path, 0);
        if (target->dir)
            set_kind(target, 's', "an sg device");
    }
    free(subsystem);
}

static void measure(struct target *target)
{
    const char *dir = target->dir;
    struct statvfs filesystem;

    if (target->kind == 'd' && statvfs(target->name, &filesystem) == 0) {
        target->capacity = (uint64_t)filesystem.f_blocks * filesystem.f_frsize;
    } else if (target->kind == 'u') {
        target->capacity = number_at(dir, "data_bytes");
    } else if (target->kind == 'm') {
        target->capacity = number_at(dir, "size");
        target->unit = number_at(dir, "erasesize");
    } else if (target->kind == 'b' || target->kind == 's') {
        target->capacity = number_at(dir, "size") * 512;
        target->unit = number_at(dir, "queue/logical_block_size");
        if (target->unit == 0)
            target->unit = number_at(dir, "../queue/logical_block_size");
        read_line(target->sequence, sizeof target->sequence, "%s/diskseq", dir);
    }
    if (target->unit == 0)
        target->unit = 512;
}

/* Looks at what has the name now. */
static void look(struct target *target)
{
    size_t size = sizeof target->found;
    struct stat status;
    char to[100] = "";

    if (lstat(target->name, &status)) {
        snprintf(target->found, size, "nothing that can be looked at (%s)", strerror(errno));
    } else if (S_ISLNK(status.st_mode)) {
        if (readlink(target->name, to, sizeof to - 1) < 0)
            to[0] = '?';
        snprintf(target->found, size, "a symbolic link to %s (name that)", to);
    } else if (S_ISDIR(status.st_mode)) {
        set_kind(target, 'd', "a directory");
        target->dev = status.st_dev;
        target->inode = status.st_ino;
    } else if (S_ISBLK(status.st_mode) || S_ISCHR(status.st_mode)) {
        look_at_device(target, &status);
    } else if (S_ISFIFO(status.st_mode)) {
        set_kind(target, 0, "a FIFO");
    } else {
        set_kind(target, 0, S_ISREG(status.st_mode) ? "a regular file" : "a socket");
    }
    measure(target);
}

static struct target *target_named(const char *name)
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
            return step->target;
    return 0;
}

/* Whether two targets are the same device or filesystem. */
static int is_same(const struct target *one, const struct target *other)
{
    if (one->kind == 'd' && other->kind == 'd')
        return one->dev == other->dev;
    return one->dir && other->dir && strcmp(one->dir, other->dir) == 0;
}

void target_look(const struct plan *plan)
{
    struct target **end = &targets, *target;

    for (struct step *step = plan->steps; step < plan->steps + plan->step_count; step++) {
        const char *device = step_text(step, "device");
        const char *name = *device ? device : step_text(step, "path");

        step->target = target_named(name);
        if (*name == 0 || step->target)
            continue;
        step->target = target = calloc(1, sizeof *target);
        if (target == 0) {
            complain("no memory for the targets");
            exit(EXIT_REFUSED);
        }
        target->name = name;
        look(target);
        *end = target;
        end = &target->next;
    }
    for (target = targets; target; target = target->next) {
        struct target *mounted = target->kind == 'd' ? mounted_at(plan, target->name) : 0;
        struct target *own = mounted ? mounted : target;

        target->worn = targets;
        while (target->worn != own && !is_same(target->worn, own))
            target->worn = target->worn->next;
    }
    wear_add(plan);
}

void target_wear(const struct plan *plan)
{
    for (const struct target *target = targets; target; target = target->next) {
        uint64_t endurance = 0, cycles = wear_cycles(target);
        char share[40] = "";

        if (!target->is_written)
            continue;
        for (int i = 0; i < plan->endurance_count; i++)
            if (strcmp(plan->endurances[i].target, target->name) == 0)
                endurance = plan->endurances[i].cycles;
        tell("%s{", comma());
        tell_text("target", target->name);
        tell_number("cycles", cycles);
        if (endurance) {
            tell_number("endurance", endurance);
            snprintf(share, sizeof share, " of %" PRIu64, endurance);
        }
        tell("}");
        complain("%s: the plan takes %" PRIu64 " cycle%s%s", target->name, cycles,
                 cycles == 1 ? "" : "s", share);
    }
}

/* --- What the plan may do ----------------------------------------------- */

/* Why the plan is refused. */
static char why[PATH_MAX + 400];

static int refuse(const char *name, const char *found, const char *expected)
{
    snprintf(why, sizeof why, "%s: found %s, expected %s", name, found, expected);
    return -1;
}

/* Whether a folder of sysfs is that of a whole card: mmcblkN. */
static int is_card(const char *dir)
{
    const char *name = strrchr(dir ? dir : "/", '/') + 1;

    return strncmp(name, "mmcblk", 6) == 0 && name[6 + strspn(name + 6, "0123456789")] == 0;
}

static int check_kind(const struct step *step)
{
    const char *operation = step->operation->name;
    const struct target *target = step->target;
    struct target path = { .name = step_text(step, "path") };
    size_t i = 0;

    while (strncmp(operation, needs[i].family, strlen(needs[i].family)))
        i++;
    if (target->kind == 0 || strchr(needs[i].kinds, target->kind) == 0
        || (strncmp(operation, "mmc.", 4) == 0 && !is_card(target->dir)))
        return refuse(target->name, target->found, needs[i].expected);
    /* of a partition or a volume they would address the disk below it */
    if ((operation[0] == 'a' || operation[0] == 's')
        && number_at(target->dir, "device/scsi_level") == 0)
        return refuse(target->name, "a partition, volume or other disk",
                      "the whole disk of SCSI, ATA or USB");
    if (strcmp(operation, "fs.mount"))
        return 0;
    look(&path);
    free(path.dir);
    if (path.kind == 'd')
        return 0;
    return refuse(path.name, path.found, "a directory to mount at");
}

/* Opens a device so that nobody else can take it. Of sg, the block device. */
static int claim(const struct target *target)
{
    int flags = O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK, fd;
    char node[PATH_MAX];
    struct stat status;

    if (target->kind != 's')
        return open(target->name, O_RDWR | flags | (target->kind == 'b' ? O_EXCL : 0));
    snprintf(node, sizeof node, "/dev%s", strrchr(target->dir, '/'));
    for (char *at = node + 5; *at; at++)
        *at = *at == '!' ? '/' : *at;
    fd = open(node, O_RDONLY | O_EXCL | flags);
    if (fd >= 0
        && (fstat(fd, &status) || !S_ISBLK(status.st_mode)
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
        return 0; /* it is not there yet */
    if (lstat(path, &status) == 0)
        return refuse(path, "a file or folder", "none: remove it");
    if (access(target->name, W_OK | X_OK))
        return refuse(target->name, strerror(errno), "a directory to write to");
    return 0;
}

static int check_device(const struct target *target, int with_data)
{
    const char *name = target->name, *data = 0;
    char found[240];

    if (target->kind == 'm' ? !(number_at(target->dir, "flags") & MTD_WRITEABLE)
                            : number_at(target->dir, "ro") == 1)
        return refuse(name, "a read-only device", "one that can be written");
    if (target->capacity == 0)
        return refuse(name, "no bytes: perhaps no medium", "a capacity");
    if (device_in_use(target, found, sizeof found))
        return refuse(name, found, "a device that nothing uses");
    int fd = claim(target);
    if (fd < 0)
        return refuse(name, strerror(errno),
                      errno == EBUSY ? "a device that nothing uses"
                                     : "a device that this user can write");
    if (!with_data)
        data = device_data(target, fd);
    close(fd);
    if (data == 0)
        return 0;
    snprintf(found, sizeof found, "%s on it", data);
    return refuse(name, found, "no data: only --destroy-data allows to write here");
}

static int check_write(const struct plan *plan, const struct target *target,
                       const struct permissions *allowed)
{
    int is_named = 0, with_data = 0;
    uint64_t cycles = wear_cycles(target->worn);
    char found[60];

    for (int i = 0; i < allowed->count; i++)
        if (strcmp(allowed->destroy[i].target, target->name) == 0) {
            is_named = 1;
            with_data |= allowed->destroy[i].with_data;
        }
    if (!is_named)
        return refuse(target->name, "no permission to write",
                      "--destroy with this target as the plan names it");
    snprintf(found, sizeof found, "a wear of %" PRIu64 " cycle%s", cycles, cycles == 1 ? "" : "s");
    if (cycles > allowed->max_cycles)
        return refuse(target->name, found, "at most --max-cycles");
    return target->kind == 'd' ? check_folder(plan, target) : check_device(target, with_data);
}

const char *target_check(const struct plan *plan, const struct permissions *allowed,
                         const struct step **step)
{
    const struct step *end = plan->steps + plan->step_count;

    for (*step = plan->steps; *step < end; ++*step) {
        struct target *target = (*step)->target;

        if (target == 0)
            continue;
        if (check_kind(*step))
            return why;
        if (step_writes(*step) && !target->is_checked && check_write(plan, target, allowed))
            return why;
        target->is_checked |= step_writes(*step);
    }
    return 0;
}

/* Whether what is open is what was checked, and is not used since. */
static int is_as_checked(const struct target *target, int fd, int writes, char *found, size_t size)
{
    struct target now = { .name = target->name };
    struct stat status;

    snprintf(found, size, "another one");
    if (fstat(fd, &status))
        return 0;
    if (target->kind == 'd')
        return S_ISDIR(status.st_mode)
            && (target->worn->kind != 'd'
                || (status.st_dev == target->dev && status.st_ino == target->inode));
    look(&now);
    int is = now.kind == target->kind && now.dev == target->dev && status.st_rdev == target->dev
        && S_ISBLK(status.st_mode) == (target->kind == 'b') && strcmp(now.dir, target->dir) == 0
        && now.capacity == target->capacity && strcmp(now.sequence, target->sequence) == 0
        && !(writes && device_in_use(target, found, size));
    free(now.dir);
    return is;
}

int target_open(const struct step *step, int flags)
{
    static int claimed = -1; /* the block device of an sg device */
    const struct target *target = step->target;
    int fd = -1, writes = step_writes(step);
    char found[240];

    if (claimed >= 0)
        close(claimed);
    claimed = -1;
    if (writes && !target->is_checked)
        return record_fail("%s was not checked", target->name);
    if (step_number(step, "direct"))
        flags |= O_DIRECT;
    if (writes && target->kind == 'b')
        flags |= O_EXCL;
    if (writes && target->kind == 's')
        claimed = claim(target);
    if (!writes || target->kind != 's' || claimed >= 0)
        fd = open(target->name, flags | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0)
        return record_fail_errno("%s cannot be opened, though it was checked", target->name);
    if (!is_as_checked(target, fd, writes, found, sizeof found)) {
        close(fd);
        return record_fail("%s: found %s; it changed after the check", target->name, found);
    }
    fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) & ~O_NONBLOCK);
    return fd;
}
