/*
 * What uses a device, and what is on it. Devices are compared by their numbers and not by their
 * names. What cannot be found out counts as used.
 */
#include "target.h"

#include <glob.h>
#include <limits.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#define MTD_BLOCK_MAJOR 31 /* mounts of MTD device N are mounts of 31:N */

static int has(const char *dir, const char *attribute)
{
    char path[PATH_MAX];

    snprintf(path, sizeof path, "%s/%s", dir, attribute);
    return access(path, F_OK) == 0;
}

size_t find_files(char *first, size_t size, const char *pattern, ...)
{
    char text[PATH_MAX];
    va_list arguments;
    size_t count = 0;
    glob_t found;

    va_start(arguments, pattern);
    vsnprintf(text, sizeof text, pattern, arguments);
    va_end(arguments);
    if (glob(text, 0, 0, &found) == 0) {
        count = found.gl_pathc;
        snprintf(first, size, "%s", found.gl_pathv[0]);
        globfree(&found);
    }
    return count;
}

static int is_mtd(const char *dir)
{
    return has(dir, "erasesize");
}

/* Whether sysfs shows a block device or an MTD device there. */
static int is_device(const char *dir)
{
    return has(dir, "dev")
        && (is_mtd(dir) || (has(dir, "size") && (has(dir, "queue") || has(dir, "partition"))));
}

dev_t device_number(const char *dir)
{
    unsigned major = 0, minor = 0;
    char line[80];

    sscanf(read_line(line, sizeof line, "%s/dev", dir), "%u:%u", &major, &minor);
    return is_mtd(dir) ? makedev(MTD_BLOCK_MAJOR, minor / 2) : makedev(major, minor);
}

static int is_node_of(const char *path, dev_t number)
{
    struct stat status;

    return path[0] == '/' && stat(path, &status) == 0 && S_ISBLK(status.st_mode)
        && status.st_rdev == number;
}

/* By a list of mounts, or by that of swap, which has nodes only. */
static int is_listed(const char *list, int is_swap, dev_t number, char *at, size_t size)
{
    FILE *file = fopen(list, "r");
    char *line = 0, first[512], source[512];
    size_t room = 0;
    int is = 0;

    if (file == 0) {
        snprintf(at, size, "perhaps: %s cannot be read", list);
        return !is_swap; /* a kernel without swap has no list */
    }
    while (!is && getline(&line, &room, file) > 0) {
        const char *rest = strstr(line, " - ");
        unsigned major = 0, minor = 0;

        if (is_swap) {
            is = sscanf(line, "%511s", first) == 1 && is_node_of(first, number);
        } else if (sscanf(line, "%*s %*s %u:%u %*s %511s", &major, &minor, first) == 3) {
            is = makedev(major, minor) == number
                || (rest && sscanf(rest + 3, "%*s %511s", source) == 1
                    && is_node_of(source, number));
        }
    }
    if (is)
        snprintf(at, size, "%.100s", first);
    free(line);
    fclose(file);
    return is;
}

/* Whether a file of that pattern has this text, or the node's path. */
static int is_told(const char *pattern, const char *text, dev_t number, char *by, size_t size)
{
    char line[PATH_MAX];
    glob_t found;
    int is = 0;

    if (glob(pattern, 0, 0, &found))
        return 0;
    for (size_t i = 0; i < found.gl_pathc && !is; i++) {
        read_line(line, sizeof line, "%s", found.gl_pathv[i]);
        is = text ? strcmp(line, text) == 0 : is_node_of(line, number);
        if (is)
            snprintf(by, size, "%.100s", found.gl_pathv[i]);
    }
    globfree(&found);
    return is;
}

/* Whether this one device is used. */
static int is_used(const char *dir, char *found, size_t size)
{
    char first[PATH_MAX], at[120] = "", number_of_mtd[24];
    dev_t number = device_number(dir);
    const char *format;

    snprintf(number_of_mtd, sizeof number_of_mtd, "%u", minor(number));
    if (number == 0) {
        format = "%s without a number in /sys";
    } else if (is_listed("/proc/self/mountinfo", 0, number, at, sizeof at)
               || (access("/proc/1/mountinfo", R_OK) == 0
                   && is_listed("/proc/1/mountinfo", 0, number, at, sizeof at))) {
        format = "%s mounted (%s): unmount it";
    } else if (is_listed("/proc/swaps", 1, number, at, sizeof at)) {
        format = "%s in use as swap: end that by swapoff";
    } else if (is_told("/sys/block/*/loop/backing_file", 0, number, at, sizeof at)) {
        format = "%s under a loop device (%s): end that by losetup -d";
    } else if (is_mtd(dir)
               && is_told("/sys/class/ubi/*/mtd_num", number_of_mtd, 0, at, sizeof at)) {
        format = "%s attached to UBI (%s): end that by ubidetach";
    } else if (find_files(first, sizeof first, "%s/holders/*", dir)) {
        snprintf(at, sizeof at, "%.100s", strrchr(first, '/') + 1);
        format = "%s held by %s (dm, md, LVM or similar): end that";
    } else {
        return 0;
    }
    snprintf(found, size, format, strrchr(dir, '/') + 1, at);
    return 1;
}

/* Partitions, the block device of an MTD device, partitions of MTD. */
static int part_in_use(const char *dir, int depth, char *found, size_t size)
{
    char path[PATH_MAX];
    struct stat status;
    glob_t parts;
    int is = 0;

    snprintf(path, sizeof path, "%s/*/dev", dir);
    if (depth > 4 || glob(path, 0, 0, &parts))
        return 0;
    for (size_t i = 0; i < parts.gl_pathc && !is; i++) {
        char *part = parts.gl_pathv[i];

        *strrchr(part, '/') = 0;
        if (lstat(part, &status) == 0 && S_ISDIR(status.st_mode) && is_device(part))
            is = is_used(part, found, size) || part_in_use(part, depth + 1, found, size);
    }
    globfree(&parts);
    return is;
}

int device_in_use(const struct target *target, char *found, size_t size)
{
    const char *dir = target->dir;
    char up[PATH_MAX];

    if (target->kind == 'u')
        return 0; /* UBI refuses what is written elsewhere */
    snprintf(up, sizeof up, "%s", dir);
    for (; is_device(up); *strrchr(up, '/') = 0)
        if (is_used(up, found, size))
            return 1;
    return part_in_use(dir, 0, found, size);
}

/* --- Data --------------------------------------------------------------- */

#define HEAD 128 /* bytes that are read of every erase block */

/*
 * Magic bytes; a `?` is any byte. They are at an offset from the beginning, or from the end where
 * that is a multiple of `align`.
 */
/* clang-format off */
#define MAGIC(name, offset, magic) { name, offset, 0, sizeof magic - 1, magic }
#define AT_END(name, back, align, magic) { name, back, align, sizeof magic - 1, magic }
static const struct {
    const char *name;
    unsigned offset, align, length;
    const char *magic;
} magics[] = {
    MAGIC("LUKS", 0, "LUKS\xba\xbe"), MAGIC("XFS", 0, "XFSB"), MAGIC("SquashFS", 0, "hsqs"),
    MAGIC("SquashFS", 0, "sqsh"), MAGIC("cramfs", 0, "\x45\x3d\xcd\x28"),
    MAGIC("romfs", 0, "-rom1fs-"), MAGIC("cramfs", 0, "\x28\xcd\x3d\x45"), MAGIC("UBI", 0, "UBI#"),
    MAGIC("UBIFS", 0, "\x31\x18\x10\x06"), MAGIC("JFFS2", 0, "\x85\x19?\xe0"),
    MAGIC("JFFS2", 0, "\x85\x19?\x20"), MAGIC("JFFS2", 0, "\x19\x85\xe0?"),
    MAGIC("JFFS2", 0, "\x19\x85\x20?"), MAGIC("a U-Boot image", 0, "\x27\x05\x19\x56"),
    MAGIC("a device tree or FIT image", 0, "\xd0\x0d\xfe\xed"),
    MAGIC("md RAID", 0, "\xfc\x4e\x2b\xa9"), MAGIC("exFAT", 3, "EXFAT   "),
    MAGIC("NTFS", 3, "NTFS    "), MAGIC("LVM2", 0x18, "LVM2 001"), MAGIC("APFS", 32, "NXSB"),
    MAGIC("FAT", 54, "FAT1"), MAGIC("FAT", 82, "FAT32"), MAGIC("a GPT", 512, "EFI PART"),
    MAGIC("a boot sector or partition table (MBR)", 510, "\x55\xaa"),
    MAGIC("a Sun disk label", 508, "\xda\xbe"), MAGIC("LVM2", 0x218, "LVM2 001"),
    MAGIC("LVM2", 0x418, "LVM2 001"), MAGIC("LVM2", 0x618, "LVM2 001"),
    MAGIC("HFS+", 0x400, "H+\0"), MAGIC("EROFS", 0x400, "\xe2\xe1\xf5\xe0"),
    MAGIC("JFS", 0x8000, "JFS1"), MAGIC("F2FS", 0x400, "\x10\x20\xf5\xf2"),
    MAGIC("NILFS2", 0x406, "44"), MAGIC("ext2, ext3 or ext4", 0x438, "\x53\xef"),
    MAGIC("a GPT", 4096, "EFI PART"), MAGIC("md RAID", 4096, "\xfc\x4e\x2b\xa9"),
    MAGIC("bcachefs or bcache", 4096 + 24, "\xc6\x85\x73\xf6"), MAGIC("swap", 4096 - 10, "SWAP"),
    MAGIC("swap", 4096 - 10, "S1SUSPEND"), MAGIC("swap", 8192 - 10, "SWAP"),
    MAGIC("swap", 16384 - 10, "SWAP"), MAGIC("swap", 32768 - 10, "SWAP"),
    MAGIC("swap", 65536 - 10, "SWAP"),
    MAGIC("ZFS", 0x4000, "\1?\0\0\0\0\0\0\0\0\0\1"), /* vdev's nvlist */
    MAGIC("ISO 9660", 0x8001, "CD001"), MAGIC("UDF", 0x8001, "BEA01"),
    MAGIC("ReiserFS", 0x10034, "ReIsEr"), MAGIC("Btrfs", 0x10040, "_BHRfS_M"),
    AT_END("a GPT", 512, 512, "EFI PART"), AT_END("a GPT", 4096, 4096, "EFI PART"),
    AT_END("md RAID", 8192, 4096, "\xfc\x4e\x2b\xa9"), /* 1.0 */
    AT_END("md RAID", 65536, 65536, "\xfc\x4e\x2b\xa9"), /* 0.90 */
    AT_END("md RAID", 65536, 65536, "\xa9\x2b\x4e\xfc"),
};
/* clang-format on */

/*
 * What is in the `size` bytes at `base`, at its beginning or anywhere. Flash may have places that
 * cannot be read; they have no data.
 */
static const char *data_at(int fd, uint64_t base, uint64_t size, int anywhere, int is_flash)
{
    char head[HEAD], bytes[16];
    int has_head = pread(fd, head, HEAD, (off_t)base) == HEAD;

    for (size_t i = 0; i < COUNT_OF(magics); i++) {
        uint64_t at = magics[i].offset, length = magics[i].length;
        const char *found = bytes, *magic = magics[i].magic;

        if (magics[i].align)
            at = size / magics[i].align * magics[i].align - at;
        if (at > size || length > size - at)
            continue;
        if (at + length <= HEAD && has_head)
            found = head + at;
        else if (!anywhere)
            continue;
        else if (pread(fd, bytes, (size_t)length, (off_t)(base + at)) != (ssize_t)length) {
            if (is_flash)
                continue;
            return "something that cannot be read";
        }
        while (length && (*magic == '?' || *magic == *found)) {
            length--;
            magic++;
            found++;
        }
        if (length == 0)
            return magics[i].name;
    }
    return 0;
}

const char *device_data(const struct target *target, int fd)
{
    int is_flash = target->kind == 'm';
    char first[PATH_MAX];

    if (find_files(first, sizeof first, "%s/*/partition", target->dir))
        return "partitions";
    const char *data = data_at(fd, 0, target->capacity, 1, is_flash);
    for (uint64_t block = target->unit; is_flash && data == 0 && block < target->capacity;
         block += target->unit)
        data = data_at(fd, block, target->unit, 0, 1);
    return data;
}
