/*
 * Mounted filesystems: mounting, listing, the phases of tiobench 0.3.3, fsync
 * and small files. Steps work in the folder `boardlab-agent` below their path:
 * the first that writes there makes it, the last of the path removes it, and
 * undo() does where the plan ends early. All else below the path is left alone.
 */
#include "agent.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#define FOLDER "boardlab-agent"
#define PATHS_MAX 16
#define THREADS_MAX 64
#define MTD_MAJOR 90

#define PATH { "path", KEY_PATH, 0, 0, 0, 0 }

static const struct key mount_keys[] = {
    DEVICE, PATH, { "type", KEY_WORD, 0, 0, 0, 0 },
    { "options", KEY_WORD, "ro", 0, 0, 0 }, NO_MORE_KEYS
};
static const struct key unmount_keys[] = { PATH, NO_MORE_KEYS };
static const struct key list_keys[] = { PATH, COMMON_KEYS, NO_MORE_KEYS };
static const struct key tiobench_keys[] = {
    PATH, { "phase", KEY_WORD, 0, "sequential_write random_write "
            "sequential_read random_read", 0, 0 },
    { "threads", KEY_NUMBER, "1", 0, 1, THREADS_MAX },
    { "operations", KEY_NUMBER, "1000", 0, 1, INT64_MAX },
    { "length", KEY_NUMBER, "0", 0, 0, INT64_MAX },
    { "size", KEY_NUMBER, "4096", 0, 1, 1u << 30 },
    { "seed", KEY_NUMBER, "1", 0, 0, INT64_MAX },
    COMMON_KEYS, NO_MORE_KEYS
};
static const struct key file_keys[] = {
    PATH, { "count", KEY_NUMBER, "100", 0, 1, 1000000 },
    { "size", KEY_NUMBER, "4096", 0, 0, 1u << 30 },
    COMMON_KEYS, NO_MORE_KEYS
};

/* What is mounted at paths, and paths with a folder. Free: device is 0. */
static struct used {
    const char *path, *device;  /* of a folder: what was mounted, or "" */
    int undo;
} mounts[PATHS_MAX], folders[PATHS_MAX];

static struct used *used_at(struct used *list, const char *path)
{
    struct used *end = list + PATHS_MAX;

    for (; list < end; list++)
        if (list->device && strcmp(list->path, path) == 0)
            return list;
    return 0;
}

static const char *mounted_at(const char *path)
{
    const struct used *mount = used_at(mounts, path);

    return mount ? mount->device : "";
}

/* Takes an entry whose end is `back`, or returns 0 after record_fail(). */
static struct used *use(struct used *list, const char *path,
                        const char *device, int (*back)(const char *path),
                        const char *what, struct record *record)
{
    struct used *end = list + PATHS_MAX;
    char text[PATH_MAX + 40];

    if (used_at(list, path)) {
        record_fail(record, "%s %s: already so", what, path);
        return 0;
    }
    while (list < end && list->device)
        list++;
    snprintf(text, sizeof text, "%s %s", what, path);
    if (list == end || (list->undo = undo(back, path, text)) < 0) {
        record_fail(record, "%s %s: too many or too long to take it back",
                    what, path);
        return 0;
    }
    list->path = path;
    list->device = device;
    return list;
}

/* What was changed is as it was, or never came to be. */
static void forget(struct used *used)
{
    used->device = 0;
    undo_now(used->undo);
}

/* --- The folder ---------------------------------------------------------- */

static int remove_folder(const char *path)
{
    struct used *folder = used_at(folders, path);
    char name[PATH_MAX];
    struct dirent *entry;
    int fd, removed = 1;
    DIR *dir;

    if (folder == 0)
        return 0;
    snprintf(name, sizeof name, "%s/" FOLDER, path);
    fd = open(name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    dir = fd < 0 ? 0 : fdopendir(fd);
    if (dir == 0)
        return -1;
    while (removed) {           /* a removal can hide what comes next */
        removed = 0;
        rewinddir(dir);
        while ((entry = readdir(dir)) != 0)
            removed += unlinkat(fd, entry->d_name, 0) == 0;
    }
    closedir(dir);
    if (rmdir(name))
        return -1;
    folder->device = 0;
    return 0;
}

/* Whether no later step uses the folder of this one on what is mounted now. */
static int is_last_use(const struct step *step)
{
    const struct step *end = plan_running->steps + plan_running->step_count;
    const char *path = step_text(step, "path");

    while (++step < end) {
        if (strcmp(step_text(step, "path"), path))
            continue;
        if (step->operation->keys == mount_keys
            && strcmp(step_target(step), mounted_at(path)))
            return 1;
        if (step->operation->keys == file_keys
            || step->operation->keys == tiobench_keys)
            return 0;
    }
    return 1;
}

/* Makes the folder in the directory `at`. Returns -1 when it failed. */
static int make_folder(const char *path, int at, struct record *record)
{
    struct used *folder = use(folders, path, mounted_at(path), remove_folder,
                              FOLDER " in", record);

    if (folder && mkdirat(at, FOLDER, 0700) == 0)
        return 0;
    if (folder) {
        record_fail_errno(record, "%s/" FOLDER " cannot be made", path);
        forget(folder);
    }
    return -1;
}

/* Opens the folder of a step, after making it if need be. */
static int open_folder(const struct step *step, struct record *record)
{
    const char *path = step_text(step, "path");
    int at = target_open(step, record, O_RDONLY | O_DIRECTORY), fd = -1;

    if (at < 0)
        return -1;
    if (!step_writes(step) || used_at(folders, path)
        || make_folder(path, at, record) == 0) {
        fd = openat(at, FOLDER, O_RDONLY | O_DIRECTORY | O_NOFOLLOW
                    | O_CLOEXEC);
        if (fd < 0)
            record_fail_errno(record, "%s/" FOLDER, path);
    }
    close(at);
    return fd;
}

static void close_folder(const struct step *step, struct record *record,
                         int fd)
{
    struct used *folder = used_at(folders, step_text(step, "path"));

    record_end(record);
    close(fd);
    if (folder && is_last_use(step) && remove_folder(folder->path) == 0)
        forget(folder);
}

/* --- Mounts -------------------------------------------------------------- */

static int unmount(const char *path)
{
    struct used *mount = used_at(mounts, path);

    if (mount && umount(path))
        return -1;
    if (mount)
        mount->device = 0;
    return 0;
}

/* At the end of the plan: without the folders that are still there. */
static int unmount_at_end(const char *path)
{
    size_t length = strlen(path);
    int i;

    for (i = 0; i < PATHS_MAX; i++)
        if (folders[i].device && strncmp(folders[i].path, path, length) == 0
            && strchr("/", folders[i].path[length]))
            remove_folder(folders[i].path);
    return unmount(path);
}

/* Takes the options that are flags out of `text`; the others go to `data`. */
static unsigned long mount_flags(const char *text, char *data)
{
    static const struct { const char *name; unsigned long flag; } known[] = {
        { "ro", MS_RDONLY }, { "rw", 0 }, { "sync", MS_SYNCHRONOUS },
        { "noatime", MS_NOATIME }, { "nodiratime", MS_NODIRATIME },
        { "relatime", MS_RELATIME }, { 0, 0 }
    };
    char words[LINE_MAX_BYTES], *rest = words, *word;
    unsigned long flags = 0;
    size_t i;

    *data = 0;
    snprintf(words, sizeof words, "%s", text);
    while ((word = strsep(&rest, ",")) != 0) {
        for (i = 0; known[i].name && strcmp(known[i].name, word);)
            i++;
        flags |= known[i].flag;
        if (known[i].name == 0)
            strcat(strcat(data, *data ? "," : ""), word);
    }
    return flags;
}

const char *mount_option(const char *type)
{
    static const char *const quiet[] = {
        "cramfs", "erofs", "exfat", "ext2", "iso9660", "jffs2", "msdos",
        "romfs", "squashfs", "tmpfs", "ubifs", "udf", "vfat",
    };
    static const char *const journalled[] = {
        "btrfs", "ext3", "ext4", "f2fs", "nilfs2", "xfs",
    };
    size_t i;

    for (i = 0; i < sizeof quiet / sizeof *quiet; i++)
        if (strcmp(type, quiet[i]) == 0)
            return "";
    for (i = 0; i < sizeof journalled / sizeof *journalled; i++)
        if (strcmp(type, journalled[i]) == 0)
            return "norecovery";
    return 0;
}

static void run_mount(const struct step *step, struct record *record)
{
    const char *path = step_text(step, "path"), *device = step_target(step);
    char options[LINE_MAX_BYTES + 16], source[PATH_MAX];
    struct used *mounted;
    struct stat status;
    unsigned long flags;
    uint64_t start;
    int fd = target_open(step, record, O_RDONLY);

    if (fd < 0)
        return;
    snprintf(source, sizeof source, "%s", device);
    if (fstat(fd, &status) == 0 && S_ISCHR(status.st_mode)
        && major(status.st_rdev) == MTD_MAJOR)
        snprintf(source, sizeof source, "mtd%u", minor(status.st_rdev) / 2);
    close(fd);                  /* the filesystem wants it for itself */
    mounted = use(mounts, path, device, unmount_at_end, "mount at", record);
    if (mounted == 0)
        return;
    flags = mount_flags(step_text(step, "options"), options);
    if (!step_writes(step) && *mount_option(step_text(step, "type")))
        strcat(strcat(options, *options ? "," : ""), "norecovery");
    record_begin(record, step);
    start = now_ns();
    if (mount(source, path, step_text(step, "type"), flags, options)) {
        record_fail_errno(record, "%s at %s", source, path);
        forget(mounted);
    } else {
        record_operation(record, now_ns() - start, 0);
    }
}

static void run_unmount(const struct step *step, struct record *record)
{
    const char *path = step_text(step, "path");
    struct used *mounted = used_at(mounts, path);
    uint64_t start = now_ns();

    if (mounted == 0) {
        record_fail(record, "the plan has not mounted %s", path);
    } else if (unmount(path)) {
        record_fail_errno(record, "%s", path);
    } else {
        record_operation(record, now_ns() - start, 0);
        forget(mounted);
    }
}

/* --- Listing ------------------------------------------------------------- */

/* For nftw(), which has no argument to hand through. */
static struct record *listing;
static uint64_t listed[2];      /* entries, folders */

/* What `ls -l` reads of an entry besides its status, which nftw() reads. */
static int list_entry(const char *path, const struct stat *status, int type,
                      struct FTW *where)
{
    char to[PATH_MAX];

    (void)status; (void)where;
    if (type == FTW_DNR || type == FTW_NS
        || (type == FTW_SL && readlink(path, to, sizeof to) < 0))
        record_fail(listing, "%s cannot be read", path);
    listed[type == FTW_D]++;
    return record_stopped(listing);
}

static void run_list(const struct step *step, struct record *record)
{
    int fd = target_open(step, record, O_RDONLY | O_DIRECTORY), ended;
    uint64_t start;

    if (fd < 0)
        return;
    close(fd);
    listing = record;
    listed[0] = listed[1] = 0;
    record_begin(record, step);
    start = now_ns();
    ended = nftw(step_text(step, "path"), list_entry, 16, FTW_PHYS);
    if (ended < 0)
        record_fail_errno(record, "%s", step_text(step, "path"));
    else if (ended == 0)
        record_operation(record, now_ns() - start, 0);
    record_number(record, "files", listed[0]);
    record_number(record, "folders", listed[1]);
}

/* --- tiobench ------------------------------------------------------------ */

struct worker {
    const struct step *step;
    struct record *record;
    pthread_mutex_t *gate;      /* held until all can start */
    pthread_t thread;
    int folder, number, writes, is_random;
    char *memory;               /* zeros, as tiobench writes */
    uint64_t blocks, fsync_ns;
};

/* Reads or writes one block. Returns 0, or -1 when the step ends. */
static int transfer(const struct worker *worker, int fd, uint64_t block)
{
    size_t size = (size_t)step_number(worker->step, "size");
    off_t at = (off_t)(block * size);
    uint64_t start = now_ns();
    ssize_t done = worker->writes ? pwrite(fd, worker->memory, size, at)
        : pread(fd, worker->memory, size, at);

    if (done == (ssize_t)size) {
        record_operation(worker->record, now_ns() - start, size);
        return 0;
    }
    if (done >= 0)
        errno = worker->writes ? ENOSPC : ENODATA;  /* a part of the block */
    if (!interrupted())
        record_fail_errno(worker->record, "%lu bytes at %llu of file %d",
                          (unsigned long)size, (unsigned long long)at,
                          worker->number);
    return -1;
}

static void *work(void *argument)
{
    struct worker *worker = argument;
    uint64_t state = step_number(worker->step, "seed")
        + (unsigned)worker->number;
    uint64_t count = worker->is_random
        ? step_number(worker->step, "operations") : worker->blocks, i, start;
    char name[40];
    int fd;

    pthread_mutex_lock(worker->gate);
    pthread_mutex_unlock(worker->gate);
    snprintf(name, sizeof name, "tiobench.%d", worker->number);
    fd = openat(worker->folder, name, !worker->writes ? O_RDONLY
                : worker->is_random ? O_WRONLY : O_RDWR | O_CREAT | O_TRUNC,
                0600);
    if (fd < 0) {
        record_fail_errno(worker->record, "%s", name);
        return 0;
    }
    for (i = 0; i < count && !record_stopped(worker->record); i++)
        if (transfer(worker, fd, worker->is_random
                     ? splitmix64(&state) % (worker->blocks - 1) : i))
            break;
    start = now_ns();
    if (worker->writes && fsync(fd))
        record_fail_errno(worker->record, "fsync of %s", name);
    worker->fsync_ns = now_ns() - start;
    close(fd);
    return 0;
}

static void run_tiobench(const struct step *step, struct record *record)
{
    pthread_mutex_t gate = PTHREAD_MUTEX_INITIALIZER;
    int threads = (int)step_number(step, "threads"), made, i;
    const char *phase = step_text(step, "phase");
    struct worker workers[THREADS_MAX], first = { 0 };
    uint64_t longest = 0;

    first.step = step;
    first.record = record;
    first.gate = &gate;
    first.writes = strstr(phase, "write") != 0;
    first.is_random = strstr(phase, "random") != 0;
    first.blocks = step_number(step, "length") / step_number(step, "size");
    if (first.blocks < 2) {
        record_fail(record, "found a length of less than two blocks");
        return;
    }
    first.folder = open_folder(step, record);
    if (first.folder < 0)
        return;
    pthread_mutex_lock(&gate);
    for (made = 0; made < threads && !record_stopped(record); made++) {
        workers[made] = first;
        workers[made].number = made;
        workers[made].memory = calloc(1, (size_t)step_number(step, "size"));
        if (workers[made].memory && pthread_create(&workers[made].thread, 0,
                                                   work, &workers[made]) == 0)
            continue;
        record_fail(record, "no memory for thread %d", made);
        free(workers[made].memory);
        made--;
    }
    record_begin(record, step);
    pthread_mutex_unlock(&gate);
    for (i = 0; i < made; i++) {
        pthread_join(workers[i].thread, 0);
        free(workers[i].memory);
        if (workers[i].fsync_ns > longest)
            longest = workers[i].fsync_ns;
    }
    record_end(record);
    if (first.writes)
        record_number(record, "fsync_ns", longest);
    close_folder(step, record, first.folder);
}

/* --- Small files --------------------------------------------------------- */

/* All bytes of a file through a descriptor. Returns 0, or -1 with errno. */
static int move_all(int fd, char *memory, size_t size, int writes)
{
    ssize_t done = 1;

    for (; size && done > 0; size -= (size_t)done) {
        done = writes ? write(fd, memory, size) : read(fd, memory, size);
        if (done <= 0)
            break;
        memory += done;
    }
    if (done == 0)
        errno = ENODATA;
    return size ? -1 : 0;
}

/* One operation, after the first letter of its name, or 'u' to unlink. */
static int act(char what, int at, const char *name, char *memory, size_t size)
{
    struct stat status;
    int fd, result;

    if (what == 'f')            /* here `at` is the file itself */
        return move_all(at, memory, size, 1) || fsync(at) ? -1 : 0;
    if (what == 's')
        return fstatat(at, name, &status, AT_SYMLINK_NOFOLLOW);
    if (what == 'u')
        return unlinkat(at, name, 0);
    fd = openat(at, name, what == 'c' ? O_WRONLY | O_CREAT | O_EXCL : O_RDONLY,
                0600);
    if (fd < 0)
        return -1;
    result = move_all(fd, memory, size, what == 'c');
    return close(fd) || result ? -1 : 0;
}

static void run_files(const struct step *step, struct record *record)
{
    char what = strcmp(step->operation->name, "fs.remove")
        ? step->operation->name[3] : 'u', name[40];
    uint64_t count = step_number(step, "count"), i, start;
    size_t size = (size_t)step_number(step, "size");
    int folder = open_folder(step, record), at = folder;
    char *memory = malloc(size + 1);

    if (folder >= 0 && what == 'f')
        at = openat(folder, "fsync", O_WRONLY | O_CREAT | O_APPEND, 0600);
    if (memory == 0 || at < 0)
        record_fail_errno(record, "memory for %lu bytes, or a file of them",
                          (unsigned long)size);
    record_begin(record, step);
    for (i = 0; i < count && !record_stopped(record); i++) {
        snprintf(name, sizeof name, "file.%llu", (unsigned long long)i);
        if (what == 'c' || what == 'f')
            data_fill(step, i * size, memory, size);
        start = now_ns();
        if (act(what, at, name, memory, size) == 0)
            record_operation(record, now_ns() - start,
                             what == 's' || what == 'u' ? 0 : size);
        else if (!interrupted())
            record_fail_errno(record, "%s", what == 'f' ? "fsync" : name);
    }
    free(memory);
    if (at >= 0 && at != folder)
        close(at);
    if (folder >= 0)
        close_folder(step, record, folder);
}

const struct operation file_operations[] = {
    { "fs.mount", 1, mount_keys, run_mount },
    { "fs.unmount", 0, unmount_keys, run_unmount },
    { "fs.list", 0, list_keys, run_list },
    { "fs.tiobench", 1, tiobench_keys, run_tiobench },
    { "fs.fsync", 1, file_keys, run_files },
    { "fs.create", 1, file_keys, run_files },
    { "fs.stat", 0, file_keys, run_files },
    { "fs.read", 0, file_keys, run_files },
    { "fs.remove", 1, file_keys, run_files },
    { 0, 0, 0, 0 }
};
