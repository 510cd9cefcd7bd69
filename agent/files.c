/*
 * Mounted filesystems: mounting, listing, the phases of tiobench, fsync and small files.
 * Steps work in the folder `boardlab-agent` below their path: the first that writes there makes it,
 * the last of the path removes it, and undo() does where the plan ends early. All else below the
 * path is left alone.
 */
#include "target.h"

#include <dirent.h>
#include <ftw.h>
#include <limits.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#define FOLDER "boardlab-agent"
#define THREADS_MAX 64
#define FOLDER_FLAGS (O_RDONLY | O_DIRECTORY)

static const struct key mount_keys[] = { DEVICE, PATH, WORD("type", 0, 0), WORD("options", "ro", 0),
                                         END_OF_KEYS };
static const struct key unmount_keys[] = { PATH, END_OF_KEYS };
static const struct key no_keys[] = { END_OF_KEYS };
static const struct key list_keys[] = { PATH, REPEATED, END_OF_KEYS };
static const struct key tiobench_keys[] = {
    PATH,
    WORD("phase", 0, "sequential_write random_write sequential_read random_read"),
    NUMBER("threads", "1", 1, THREADS_MAX),
    NUMBER("operations", "1000", 1, INT64_MAX),
    NUMBER("length", "0", 0, INT64_MAX),
    NUMBER("size", "4096", 1, 1u << 30),
    NUMBER("seed", "1", 0, INT64_MAX),
    WORD("data", "zero", "zero random ff"),
    FLAG("presize", "0"),
    REPEATED,
    END_OF_KEYS
};
static const struct key file_keys[] = { PATH, NUMBER("count", "100", 1, 1000000),
                                        NUMBER("size", "4096", 0, 1u << 30), REPEATED,
                                        END_OF_KEYS };

/* --- The folder ---------------------------------------------------------- */

/* Removes the folder below a path, which the agent made. */
static int remove_folder(const char *path, const char *detail)
{
    char name[PATH_MAX];
    struct dirent *entry;
    int removed = 1;

    (void)detail;
    snprintf(name, sizeof name, "%s/" FOLDER, path);
    int fd = open(name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    DIR *dir = fd < 0 ? 0 : fdopendir(fd);
    if (dir == 0)
        return -1;
    while (removed) { /* a removal can hide what comes next */
        removed = 0;
        rewinddir(dir);
        while ((entry = readdir(dir)) != 0)
            removed += unlinkat(fd, entry->d_name, 0) == 0;
    }
    closedir(dir);
    return rmdir(name);
}

/* Unmounts at the end of the plan: without the folders that are still there. */
static int unmount(const char *path, const char *device)
{
    (void)device;
    undo_below(remove_folder, path);
    return umount(path);
}

/* Whether no later step uses the folder of this one on what is mounted now. */
static int is_last_use(const struct step *step)
{
    const struct step *end = plan_running->steps + plan_running->step_count;
    const char *path = step_text(step, "path"), *mounted = undo_detail(unmount, path);

    while (++step < end) {
        if (strcmp(step_text(step, "path"), path))
            continue;
        if (step->operation->keys == mount_keys
            && strcmp(step->target->name, mounted ? mounted : ""))
            return 1;
        if (step->operation->keys == file_keys || step->operation->keys == tiobench_keys)
            return 0;
    }
    return 1;
}

/* Opens the folder of a step, after making it if need be. */
static int open_folder(const struct step *step)
{
    const char *path = step->target->name;

    if (step_writes(step) && !undo_detail(remove_folder, path)) {
        if (undo(remove_folder, path, "", FOLDER " in", path))
            return -1;
        if (mkdirat(step->fd, FOLDER, 0700)) {
            undo_forget(remove_folder, path);
            return record_fail_errno("%s/" FOLDER " cannot be made", path);
        }
    }
    int fd = openat(step->fd, FOLDER, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    return fd < 0 ? record_fail_errno("%s/" FOLDER, path) : fd;
}

static void close_folder(const struct step *step, int fd)
{
    const char *path = step_text(step, "path");

    record_end();
    close(fd);
    if (undo_detail(remove_folder, path) && is_last_use(step) && remove_folder(path, "") == 0)
        undo_forget(remove_folder, path);
}

/* --- Mounts -------------------------------------------------------------- */

/* Takes the options that are flags out of `options`; the others go to `data`. */
static unsigned long mount_flags(char *options, char *data)
{
    static const char *const names[] = { "ro", "rw", "sync", "noatime", "nodiratime", "relatime" };
    static const unsigned long bits[] = { MS_RDONLY,     0,          MS_SYNCHRONOUS, MS_NOATIME,
                                          MS_NODIRATIME, MS_RELATIME };
    unsigned long flags = 0;
    char *word;

    *data = 0;
    while ((word = strsep(&options, ",")) != 0) {
        size_t i = 0;

        while (i < COUNT_OF(names) && strcmp(names[i], word))
            i++;
        if (i < COUNT_OF(names))
            flags |= bits[i];
        else if (*word)
            strcat(strcat(data, *data ? "," : ""), word);
    }
    return flags;
}

const char *mount_option(const char *type)
{
    static const char quiet[] =
        "cramfs,erofs,exfat,ext2,iso9660,jffs2,msdos,romfs,squashfs,tmpfs,ubifs,udf,vfat";
    static const char journalled[] = "btrfs,ext3,ext4,f2fs,nilfs2,xfs";

    if (has_word(quiet, ',', type))
        return "";
    return has_word(journalled, ',', type) ? "norecovery" : 0;
}

static void run_mount(const struct step *step)
{
    const char *path = step_text(step, "path"), *type = step_text(step, "type");
    char options[LINE_MAX_BYTES + 16], data[sizeof options], source[PATH_MAX];
    const struct target *target = step->target;
    int fd = target_open(step, O_RDONLY);

    if (fd < 0)
        return;
    snprintf(source, sizeof source, "%s", target->name);
    if (target->kind == 'm')
        snprintf(source, sizeof source, "mtd%u", minor(target->dev) / 2);
    close(fd); /* the filesystem wants it for itself */
    if (undo_detail(unmount, path)) {
        record_fail("mount at %s: already so", path);
        return;
    }
    if (undo(unmount, path, target->name, "mount at", path))
        return;
    snprintf(options, sizeof options, "%s,%s", step_text(step, "options"),
             step_writes(step) ? "" : mount_option(type));
    unsigned long flags = mount_flags(options, data);
    record_begin(step);
    uint64_t start = now_ns();
    if (mount(source, path, type, flags, data)) {
        record_fail_errno("%s at %s", source, path);
        undo_forget(unmount, path);
    } else {
        record_operation(since(start), 0);
    }
}

static void run_unmount(const struct step *step)
{
    const char *path = step_text(step, "path");
    uint64_t start = now_ns();

    if (undo_detail(unmount, path) == 0) {
        record_fail("the plan has not mounted %s", path);
    } else if (umount(path)) {
        record_fail_errno("%s", path);
    } else {
        record_operation(since(start), 0);
        undo_forget(unmount, path);
    }
}

/* --- Listing ------------------------------------------------------------- */

/* For nftw(), which has no argument to hand through. */
static uint64_t listed[2]; /* entries, folders */

/* What `ls -l` reads of an entry besides its status, which nftw() reads. */
static int list_entry(const char *path, const struct stat *status, int type, struct FTW *where)
{
    char to[PATH_MAX];

    (void)status;
    (void)where;
    if (type == FTW_DNR || type == FTW_NS || (type == FTW_SL && readlink(path, to, sizeof to) < 0))
        record_fail("%s cannot be read", path);
    listed[type == FTW_D]++;
    return record_stopped();
}

static void run_list(const struct step *step)
{
    uint64_t start = now_ns();

    listed[0] = listed[1] = 0;
    int ended = nftw(step->target->name, list_entry, 16, FTW_PHYS);
    if (ended < 0)
        record_fail_errno("%s", step->target->name);
    else if (ended == 0)
        record_operation(since(start), 0);
    tell_number("files", listed[0]);
    tell_number("folders", listed[1]);
}

/* --- Caches -------------------------------------------------------------- */

/* Pages, names and inodes of all filesystems, as far as nobody uses them. */
static void run_drop_caches(const struct step *step)
{
    static const char all[] = "/proc/sys/vm/drop_caches";
    uint64_t start = now_ns();
    int fd = open(all, O_WRONLY | O_CLOEXEC);

    (void)step;
    sync();
    if (fd < 0 || write(fd, "3", 1) != 1)
        record_fail_errno("%s", all);
    else
        record_operation(since(start), 0);
    if (fd >= 0)
        close(fd);
}

/* --- tiobench ------------------------------------------------------------ */

struct worker {
    const struct step *step;
    int folder, number, flags, writes, is_random;
    unsigned char *memory;
    uint64_t blocks, fsync_ns;
};

/* One thread: opens its file, reads or writes its blocks, and closes it. */
static void work(void *item)
{
    struct worker *worker = item;
    const struct step *step = worker->step;
    uint64_t state = step_number(step, "seed") + (unsigned)worker->number, start;
    uint64_t count = worker->is_random ? step_number(step, "operations") : worker->blocks;
    size_t size = (size_t)step_number(step, "size");
    char name[40];

    snprintf(name, sizeof name, "tiobench.%d", worker->number);
    int fd = openat(worker->folder, name, worker->flags, 0600);
    if (fd < 0) {
        record_fail_errno("%s", name);
        return;
    }
    if ((worker->flags & O_CREAT) && step_number(step, "presize")
        && ftruncate(fd, (off_t)(worker->blocks * size)))
        record_fail_errno("%s cannot be given its size", name);
    for (uint64_t i = 0; i < count && !record_stopped(); i++) {
        uint64_t block = worker->is_random ? splitmix64(&state) % (worker->blocks - 1) : i;

        start = now_ns();
        ssize_t done = transfer_at(fd, worker->memory, size, block * size, worker->writes);
        if (done == (ssize_t)size) {
            record_operation(since(start), size);
        } else if (!interrupted()) {
            if (done >= 0)
                errno = worker->writes ? ENOSPC : ENODATA; /* a part of the block */
            record_fail_errno("%zu bytes at %" PRIu64 " of file %d", size, block * size,
                              worker->number);
        }
    }
    start = now_ns();
    if (worker->writes && fsync(fd))
        record_fail_errno("fsync of %s", name);
    worker->fsync_ns = since(start);
    close(fd);
}

static void run_tiobench(const struct step *step)
{
    size_t threads = (size_t)step_number(step, "threads"), size = (size_t)step_number(step, "size");
    const char *phase = step_text(step, "phase");
    struct worker workers[THREADS_MAX], first = { .step = step };
    uint64_t longest = 0;

    first.blocks = step_number(step, "length") / size;
    first.is_random = strstr(phase, "random") != 0;
    first.writes = strstr(phase, "write") != 0;
    first.flags = first.writes ? O_WRONLY : O_RDONLY;
    if (strcmp(phase, "sequential_write") == 0)
        first.flags = O_RDWR | O_CREAT | O_TRUNC;
    if (first.blocks < 2) {
        record_fail("found a length of less than two blocks");
        return;
    }
    first.folder = open_folder(step);
    if (first.folder < 0)
        return;
    unsigned char *memory = calloc(threads, size);
    for (size_t i = 0; memory && i < threads; i++) {
        workers[i] = first;
        workers[i].number = (int)i;
        workers[i].memory = memory + i * size;
        plan_data(step, 0, workers[i].memory, size, 0); /* of every block: not in the time */
    }
    if (memory)
        run_together(step, (unsigned)threads, work, workers, sizeof *workers);
    else
        record_fail("no memory for %zu x %zu bytes", threads, size);
    record_end();
    for (size_t i = 0; memory && i < threads; i++)
        if (workers[i].fsync_ns > longest)
            longest = workers[i].fsync_ns;
    if (first.writes)
        tell_number("fsync_ns", longest);
    free(memory);
    close_folder(step, first.folder);
}

/* --- Small files --------------------------------------------------------- */

/* All bytes of a file through a descriptor. Returns 0, or -1 with errno. */
static int move_all(int fd, unsigned char *memory, size_t size, int writes)
{
    while (size) {
        ssize_t done = writes ? write(fd, memory, size) : read(fd, memory, size);

        if (done == 0)
            errno = ENODATA;
        if (done <= 0)
            return -1;
        memory += done;
        size -= (size_t)done;
    }
    return 0;
}

/* One operation, after the first letter of its name, or 'u' to unlink. */
static int act(char what, int at, const char *name, unsigned char *memory, size_t size)
{
    struct stat status;

    if (what == 'f') /* here `at` is the file itself */
        return move_all(at, memory, size, 1) || fsync(at) ? -1 : 0;
    if (what == 's')
        return fstatat(at, name, &status, AT_SYMLINK_NOFOLLOW);
    if (what == 'u')
        return unlinkat(at, name, 0);
    int fd = openat(at, name, what == 'c' ? O_WRONLY | O_CREAT | O_EXCL : O_RDONLY, 0600);
    if (fd < 0)
        return -1;
    int result = move_all(fd, memory, size, what == 'c');
    return close(fd) || result ? -1 : 0;
}

static void run_files(const struct step *step)
{
    const char *operation = step->operation->name;
    char what = strcmp(operation, "fs.remove") ? operation[3] : 'u', name[40];
    uint64_t count = step_number(step, "count");
    size_t size = (size_t)step_number(step, "size");
    int folder = open_folder(step), at = folder;
    unsigned char *memory = malloc(size + 1);

    if (folder >= 0 && what == 'f')
        at = openat(folder, "fsync", O_WRONLY | O_CREAT | O_APPEND, 0600);
    if (memory == 0 || at < 0)
        record_fail_errno("memory for %zu bytes, or a file of them", size);
    record_begin(step);
    for (uint64_t i = 0; i < count && !record_stopped(); i++) {
        snprintf(name, sizeof name, "file.%" PRIu64, i);
        if (what == 'c' || what == 'f')
            plan_data(step, i * size, memory, size, 0);
        uint64_t start = now_ns();
        if (act(what, at, name, memory, size) == 0)
            record_operation(since(start), what == 's' || what == 'u' ? 0 : size);
        else if (!interrupted())
            record_fail_errno("%s", what == 'f' ? "fsync" : name);
    }
    free(memory);
    if (at >= 0 && at != folder)
        close(at);
    if (folder >= 0)
        close_folder(step, folder);
}

const struct operation file_operations[] = {
    { "fs.mount", 1, mount_keys, UNOPENED, run_mount },
    { "fs.unmount", 0, unmount_keys, UNOPENED, run_unmount },
    { "fs.list", 0, list_keys, FOLDER_FLAGS, run_list },
    { "fs.drop_caches", 0, no_keys, UNOPENED, run_drop_caches },
    { "fs.tiobench", 1, tiobench_keys, FOLDER_FLAGS, run_tiobench },
    { "fs.fsync", 1, file_keys, FOLDER_FLAGS, run_files },
    { "fs.create", 1, file_keys, FOLDER_FLAGS, run_files },
    { "fs.stat", 0, file_keys, FOLDER_FLAGS, run_files },
    { "fs.read", 0, file_keys, FOLDER_FLAGS, run_files },
    { "fs.remove", 1, file_keys, FOLDER_FLAGS, run_files },
    { 0, 0, 0, 0, 0 },
};
