/* Tries the cases of a list in a folder, and says of each whether every step gave what the list expects.
 *
 *     guest-posix FOLDER <posix.list
 *
 * How a list looks, posix.list says at its beginning. Each case gets a folder of its own. For each a line is
 * written: `ok NAME`, or `differs NAME: STEP: RESULT`. Exit status 0, unless the list or the folder is at fault.
 * Must be run by root: cases act as other users.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <limits.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/sysmacros.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/xattr.h>
#include <unistd.h>

enum { CASES = 512, STEPS = 40, WORDS = 8, FILES = 10, TEXT = 9000 };

struct trial {
  char *name;
  char *steps[STEPS];
  int count, next;
  char *differs;
};

static struct trial cases[CASES];
static int case_count;
static int files[FILES];
static DIR *opened;
static struct timespec kept;
static char result[TEXT];

static void die(const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  fputs("guest-posix: ", stderr);
  vfprintf(stderr, format, arguments);
  fputc('\n', stderr);
  va_end(arguments);
  exit(1);
}

static void say(const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(result, sizeof result, format, arguments);
  va_end(arguments);
}

/* `ok`, or the name of the error. */
static void outcome(long status) {
  say("%s", status >= 0 ? "ok" : strerrorname_np(errno));
}

static void amount(long status) {
  if (status < 0) outcome(status);
  else say("%ld", status);
}

static char *copy(const char *text) {
  char *made = strdup(text);
  if (!made) die("no memory");
  return made;
}

static char *trimmed(char *text) {
  char *end;
  while (*text == ' ' || *text == '\t') text++;
  for (end = text + strlen(text); end > text && strchr(" \t\n", end[-1]); end--) {}
  *end = 0;
  return text;
}

/* A word of a step: `~N` is N times the letter n, `~` alone nothing. */
static void expand(const char *word, char *to) {
  size_t at = 0;
  while (*word && at < TEXT - 1) {
    if (*word == '~') {
      long times = strtol(word + 1, (char **)&word, 10);
      while (times-- > 0 && at < TEXT - 1) to[at++] = 'n';
    } else {
      to[at++] = *word++;
    }
  }
  to[at] = 0;
}

static int flags_of(const char *words) {
  static const struct { const char *name; int flag; } known[] = {
    {"r", O_RDONLY}, {"w", O_WRONLY}, {"rw", O_RDWR}, {"create", O_CREAT}, {"excl", O_EXCL},
    {"trunc", O_TRUNC}, {"append", O_APPEND}, {"directory", O_DIRECTORY}, {"nofollow", O_NOFOLLOW},
    {"sync", O_SYNC}, {"nonblock", O_NONBLOCK}, {"path", O_PATH}, {"direct", O_DIRECT},
  };
  int flags = 0;
  while (*words) {
    size_t length = strcspn(words, ","), i;
    for (i = 0; i < sizeof known / sizeof *known; i++)
      if (strlen(known[i].name) == length && !strncmp(known[i].name, words, length)) break;
    if (i == sizeof known / sizeof *known) die("no flag %s", words);
    flags |= known[i].flag;
    words += length + (words[length] == ',');
  }
  return flags;
}

static int file(const char *word) {
  int number = atoi(word);
  if (number < 0 || number >= FILES) die("no file %s", word);
  return number;
}

static void time_of(const char *word, struct timespec *time) {
  if (!strcmp(word, "now")) *time = (struct timespec){0, UTIME_NOW};
  else if (!strcmp(word, "omit")) *time = (struct timespec){0, UTIME_OMIT};
  else {
    const char *dot = strchr(word, '.');
    time->tv_sec = strtoll(word, NULL, 10);
    time->tv_nsec = dot ? strtol(dot + 1, NULL, 10) : 0;
  }
}

static void field(const struct stat *found, const char *name) {
  if (!strcmp(name, "type")) {
    say("%s", S_ISREG(found->st_mode) ? "file" : S_ISDIR(found->st_mode) ? "folder"
      : S_ISLNK(found->st_mode) ? "link" : S_ISFIFO(found->st_mode) ? "fifo"
      : S_ISSOCK(found->st_mode) ? "socket" : S_ISCHR(found->st_mode) ? "character" : "block");
  } else if (!strcmp(name, "mode")) say("%o", found->st_mode & 07777);
  else if (!strcmp(name, "links")) say("%lu", (unsigned long)found->st_nlink);
  else if (!strcmp(name, "size")) say("%lld", (long long)found->st_size);
  else if (!strcmp(name, "owner")) say("%u:%u", found->st_uid, found->st_gid);
  else if (!strcmp(name, "device")) say("%u:%u", major(found->st_rdev), minor(found->st_rdev));
  else if (!strcmp(name, "mtime") || !strcmp(name, "atime")) {
    struct timespec time = name[0] == 'm' ? found->st_mtim : found->st_atim;
    if (time.tv_nsec) say("%lld.%09ld", (long long)time.tv_sec, time.tv_nsec);
    else say("%lld", (long long)time.tv_sec);
  } else die("no field %s", name);
}

/* Whether a time of a file is after the one that was kept; `keep` keeps it. */
static void compare(const char *path, const char *which, bool keep) {
  struct stat found;
  struct timespec time;
  if (lstat(path, &found)) { outcome(-1); return; }
  time = which[0] == 'm' ? found.st_mtim : which[0] == 'c' ? found.st_ctim : found.st_atim;
  if (keep) kept = time;
  say("%s", keep ? "ok" : time.tv_sec > kept.tv_sec
    || (time.tv_sec == kept.tv_sec && time.tv_nsec > kept.tv_nsec) ? "later"
    : time.tv_sec == kept.tv_sec && time.tv_nsec == kept.tv_nsec ? "same" : "earlier");
}

/* Acts as a user from now on: UID:GID, and further groups behind commas. */
static void act_as(const char *who) {
  gid_t groups[4];
  size_t count = 0;
  unsigned uid, gid;
  if (sscanf(who, "%u:%u", &uid, &gid) != 2) die("no user %s", who);
  for (const char *more = strchr(who, ','); more && count < 4; more = strchr(more + 1, ','))
    groups[count++] = (gid_t)atoi(more + 1);
  if (seteuid(0) || setgroups(count, groups) || setegid(gid) || seteuid(uid)) die("cannot act as %s", who);
  say("ok");
}

static int names_in(DIR *folder, char *list, size_t room) {
  int count = 0;
  struct dirent *entry;
  *list = 0;
  while ((entry = readdir(folder))) {
    if (!strcmp(entry->d_name, ".") || !strcmp(entry->d_name, "..")) continue;
    count++;
    if (strlen(list) + strlen(entry->d_name) + 2 < room) {
      if (*list) strcat(list, ",");
      strcat(list, entry->d_name);
    }
  }
  return count;
}

static int order(const void *a, const void *b) { return strcmp(*(char *const *)a, *(char *const *)b); }

/* The names in a folder, in alphabetical order. */
static void list(const char *path) {
  static char text[TEXT];
  char *names[1000], *name, *rest = text;
  size_t count = 0;
  DIR *folder = opendir(path);
  if (!folder) { outcome(-1); return; }
  names_in(folder, text, sizeof text);
  closedir(folder);
  while ((name = strtok_r(rest, ",", &rest)) && count < 1000) names[count++] = name;
  qsort(names, count, sizeof *names, order);
  say("%s", count ? "" : "nothing");
  for (size_t i = 0; i < count; i++) {
    if (i) strncat(result, ",", sizeof result - strlen(result) - 1);
    strncat(result, names[i], sizeof result - strlen(result) - 1);
  }
}

/* Files with numbers for names, and what a folder of so many shows: each once, also when those already read are
 * deleted on the way. */
static void many(const char *path, long count, bool remove) {
  char name[PATH_MAX + 300];
  static unsigned char seen[100000];
  long found = 0;
  struct dirent *entry;
  DIR *folder;
  memset(seen, 0, sizeof seen);
  for (long i = 0; i < count && !remove; i++) {
    snprintf(name, sizeof name, "%s/%ld", path, i);
    int made = open(name, O_CREAT | O_EXCL | O_WRONLY, 0644);
    if (made < 0) { outcome(-1); return; }
    close(made);
  }
  folder = opendir(path);
  if (!folder) { outcome(-1); return; }
  while ((entry = readdir(folder))) {
    long number = atol(entry->d_name);
    if (entry->d_name[0] == '.') continue;
    if (number < 0 || number >= count || seen[number]++) { say("%s twice", entry->d_name); closedir(folder); return; }
    found++;
    snprintf(name, sizeof name, "%s/%s", path, entry->d_name);
    if (remove && unlink(name)) { outcome(-1); closedir(folder); return; }
  }
  closedir(folder);
  say("%ld", found);
}

static void bind_socket(const char *path) {
  struct sockaddr_un address = {.sun_family = AF_UNIX};
  int made = socket(AF_UNIX, SOCK_STREAM, 0);
  strncpy(address.sun_path, path, sizeof address.sun_path - 1);
  outcome(bind(made, (struct sockaddr *)&address, sizeof address));
  close(made);
}

/* Writes text through a shared map of a file, or reads it. */
static void map(int number, long offset, const char *text, long length) {
  size_t whole = (size_t)(offset + length);
  char *bytes = mmap(NULL, whole, text ? PROT_READ | PROT_WRITE : PROT_READ, MAP_SHARED, files[number], 0);
  if (bytes == MAP_FAILED) { outcome(-1); return; }
  if (text) {
    memcpy(bytes + offset, text, (size_t)length);
    outcome(msync(bytes, whole, MS_SYNC));
  } else {
    say("%.*s", (int)length, bytes + offset);
  }
  munmap(bytes, whole);
}

/* So many bytes of a file; NUL is shown as a dot. */
static void read_at(int fd, long long offset, size_t length) {
  char bytes[TEXT];
  ssize_t got = offset < 0 ? read(fd, bytes, length) : pread(fd, bytes, length, offset);
  if (got < 0) { outcome(-1); return; }
  for (ssize_t i = 0; i < got; i++)
    if (!bytes[i]) bytes[i] = '.';
  say("%.*s", (int)got, bytes);
  if (!got) say("nothing");
}

static void by_path(const char *path, const char *flags, const char *offset, const char *what, bool writes) {
  int fd = open(path, flags_of(flags), 0644);
  if (fd < 0) { outcome(-1); return; }
  if (writes) amount(pwrite(fd, what, strlen(what), strtoll(offset, NULL, 10)));
  else read_at(fd, strtoll(offset, NULL, 10), strtoul(what, NULL, 10));
  close(fd);
}

static long octal(const char *word) { return strtol(word, NULL, 8); }
static long long number(const char *word) { return strtoll(word, NULL, 10); }

static bool on_attributes(char **w, int count) {
  static char bytes[70000];
  if (!strcmp(w[0], "setxattr")) {
    int flag = count < 5 ? 0 : !strcmp(w[4], "create") ? XATTR_CREATE : XATTR_REPLACE;
    outcome(lsetxattr(w[1], w[2], w[3], strlen(w[3]), flag));
  } else if (!strcmp(w[0], "getxattr")) {
    ssize_t got = lgetxattr(w[1], w[2], bytes, count < 4 ? sizeof bytes : (size_t)number(w[3]));
    if (got < 0) outcome(-1);
    else say("%.*s", (int)got, bytes);
  } else if (!strcmp(w[0], "listxattr")) {
    ssize_t got = llistxattr(w[1], bytes, sizeof bytes);
    long found = 0;
    for (ssize_t i = 0; i < got; i++) found += !bytes[i];
    amount(got < 0 ? got : found);
  } else if (!strcmp(w[0], "removexattr")) outcome(lremovexattr(w[1], w[2]));
  else return false;
  return true;
}

static bool on_names(char **w) {
  if (!strcmp(w[0], "create")) {
    int fd = open(w[1], O_CREAT | O_EXCL | O_WRONLY, octal(w[2]));
    outcome(fd);
    if (fd >= 0) close(fd);
  } else if (!strcmp(w[0], "mkdir")) outcome(mkdir(w[1], octal(w[2])));
  else if (!strcmp(w[0], "mkfifo")) outcome(mkfifo(w[1], octal(w[2])));
  else if (!strcmp(w[0], "character")) outcome(mknod(w[1], S_IFCHR | 0600, makedev(number(w[2]), number(w[3]))));
  else if (!strcmp(w[0], "block")) outcome(mknod(w[1], S_IFBLK | 0600, makedev(number(w[2]), number(w[3]))));
  else if (!strcmp(w[0], "socket")) bind_socket(w[1]);
  else if (!strcmp(w[0], "symlink")) outcome(symlink(w[1], w[2]));
  else if (!strcmp(w[0], "link")) outcome(linkat(AT_FDCWD, w[1], AT_FDCWD, w[2], 0));
  else if (!strcmp(w[0], "unlink")) outcome(unlink(w[1]));
  else if (!strcmp(w[0], "rmdir")) outcome(rmdir(w[1]));
  else if (!strcmp(w[0], "rename")) outcome(rename(w[1], w[2]));
  else if (!strcmp(w[0], "rename-new")) outcome(syscall(SYS_renameat2, AT_FDCWD, w[1], AT_FDCWD, w[2], 1));
  else if (!strcmp(w[0], "exchange")) outcome(syscall(SYS_renameat2, AT_FDCWD, w[1], AT_FDCWD, w[2], 2));
  else if (!strcmp(w[0], "readlink")) {
    char target[PATH_MAX];
    ssize_t got = readlink(w[1], target, sizeof target);
    if (got < 0) outcome(-1);
    else say("%.*s", (int)got, target);
  } else if (!strcmp(w[0], "list")) list(w[1]);
  else if (!strcmp(w[0], "many")) many(w[1], number(w[2]), false);
  else if (!strcmp(w[0], "drain")) many(w[1], number(w[2]), true);
  else if (!strcmp(w[0], "opendir")) outcome((opened = opendir(w[1])) ? 0 : -1);
  else if (!strcmp(w[0], "readdir")) {
    char names[TEXT];
    rewinddir(opened);
    say("%d", names_in(opened, names, sizeof names));
  } else if (!strcmp(w[0], "closedir")) outcome(closedir(opened));
  else return false;
  return true;
}

static bool on_inodes(char **w) {
  struct stat found;
  struct timespec times[2];
  if (!strcmp(w[0], "chmod")) outcome(chmod(w[1], octal(w[2])));
  else if (!strcmp(w[0], "chown")) outcome(lchown(w[1], (uid_t)number(w[2]), (gid_t)number(w[3])));
  else if (!strcmp(w[0], "truncate")) outcome(truncate(w[1], number(w[2])));
  else if (!strcmp(w[0], "utimes")) {
    time_of(w[2], &times[0]);
    time_of(w[3], &times[1]);
    outcome(utimensat(AT_FDCWD, w[1], times, AT_SYMLINK_NOFOLLOW));
  } else if (!strcmp(w[0], "stat")) {
    if (lstat(w[1], &found)) outcome(-1);
    else field(&found, w[2]);
  } else if (!strcmp(w[0], "follow")) {
    if (stat(w[1], &found)) outcome(-1);
    else field(&found, w[2]);
  } else if (!strcmp(w[0], "access")) {
    int mode = (strchr(w[2], 'r') ? R_OK : 0) | (strchr(w[2], 'w') ? W_OK : 0) | (strchr(w[2], 'x') ? X_OK : 0);
    outcome(faccessat(AT_FDCWD, w[1], mode, AT_EACCESS));
  } else if (!strcmp(w[0], "keep")) compare(w[1], w[2], true);
  else if (!strcmp(w[0], "compare")) compare(w[1], w[2], false);
  else if (!strcmp(w[0], "as")) act_as(w[1]);
  else if (!strcmp(w[0], "umask")) { umask((mode_t)octal(w[1])); say("ok"); }
  else if (!strcmp(w[0], "name-max")) {
    struct statvfs fs;
    amount(statvfs(w[1], &fs) ? -1 : (long)fs.f_namemax);
  } else return false;
  return true;
}

static bool on_files(char **w) {
  struct stat found;
  if (!strcmp(w[0], "write")) by_path(w[1], "w", w[2], w[3], true);
  else if (!strcmp(w[0], "append")) by_path(w[1], "w,append", "0", w[2], true);
  else if (!strcmp(w[0], "read")) by_path(w[1], "r", w[2], w[3], false);
  else if (!strcmp(w[0], "try")) {
    int fd = open(w[1], flags_of(w[2]), 0644);
    outcome(fd);
    if (fd >= 0) close(fd);
  } else if (!strcmp(w[0], "open")) outcome(files[file(w[1])] = open(w[2], flags_of(w[3]), 0644));
  else if (!strcmp(w[0], "close")) outcome(close(files[file(w[1])]));
  else if (!strcmp(w[0], "pwrite")) amount(pwrite(files[file(w[1])], w[3], strlen(w[3]), number(w[2])));
  else if (!strcmp(w[0], "pread")) read_at(files[file(w[1])], number(w[2]), (size_t)number(w[3]));
  else if (!strcmp(w[0], "put")) amount(write(files[file(w[1])], w[2], strlen(w[2])));
  else if (!strcmp(w[0], "get")) read_at(files[file(w[1])], -1, (size_t)number(w[2]));
  else if (!strcmp(w[0], "seek")) amount(lseek(files[file(w[1])], number(w[2]), SEEK_SET));
  else if (!strcmp(w[0], "seek-end")) amount(lseek(files[file(w[1])], number(w[2]), SEEK_END));
  else if (!strcmp(w[0], "ftruncate")) outcome(ftruncate(files[file(w[1])], number(w[2])));
  else if (!strcmp(w[0], "fsync")) outcome(fsync(files[file(w[1])]));
  else if (!strcmp(w[0], "fchmod")) outcome(fchmod(files[file(w[1])], octal(w[2])));
  else if (!strcmp(w[0], "fstat")) {
    if (fstat(files[file(w[1])], &found)) outcome(-1);
    else field(&found, w[2]);
  } else if (!strcmp(w[0], "map-write")) map(file(w[1]), number(w[2]), w[3], (long)strlen(w[3]));
  else if (!strcmp(w[0], "map-read")) map(file(w[1]), number(w[2]), NULL, number(w[3]));
  else if (!strcmp(w[0], "flock")) outcome(flock(files[file(w[1])], LOCK_EX | LOCK_NB));
  else if (!strcmp(w[0], "copy")) {
    loff_t from = 0, to = 0;
    amount(copy_file_range(files[file(w[1])], &from, files[file(w[2])], &to, (size_t)number(w[3]), 0));
  } else return false;
  return true;
}

/* Does a step, and returns whether it gave what was expected. */
static bool step(char *text) {
  static char words[WORDS][TEXT];
  char *w[WORDS] = {0}, *line = copy(text), *rest = line, *word;
  const char *expected = "ok";
  int count = 0;
  bool fits;
  while ((word = strtok_r(rest, " ", &rest))) {
    if (!strcmp(word, "=")) { expected = rest ? trimmed(rest) : ""; break; }
    if (count == WORDS) die("too many words: %s", text);
    expand(word, words[count]);
    w[count] = words[count];
    count++;
  }
  /* A step has three words behind its name at most; what is left out is empty. */
  for (int i = count; i < WORDS; i++) { words[i][0] = 0; w[i] = words[i]; }
  if (!on_names(w) && !on_inodes(w) && !on_files(w) && !on_attributes(w, count)) die("no step %s", w[0]);
  fits = false;
  for (const char *one = expected; one && !fits; one = strstr(one, " or ") ? strstr(one, " or ") + 4 : NULL) {
    static char value[TEXT], whole[TEXT];
    const char *end = strstr(one, " or ");
    snprintf(value, sizeof value, "%.*s", end ? (int)(end - one) : (int)strlen(one), one);
    expand(value, whole);
    fits = !strcmp(result, whole);
  }
  free(line);
  return fits;
}

static void load(void) {
  char *line = NULL;
  size_t room = 0;
  while (getline(&line, &room, stdin) > 0) {
    char *text = trimmed(line), *colon, *rest, *one;
    struct trial *added = &cases[case_count];
    if (!*text || *text == '#') continue;
    colon = strstr(text, ": ");
    if (!colon || case_count == CASES) die("no case: %s", text);
    *colon = 0;
    added->name = copy(text);
    for (rest = colon + 2; (one = strtok_r(rest, ";", &rest));) {
      if (added->count == STEPS) die("too many steps: %s", added->name);
      added->steps[added->count++] = copy(trimmed(one));
    }
    case_count++;
  }
  free(line);
}

/* Does the steps of a case, up to a `pause` the first time. */
static void run(struct trial *now, const char *folder, int number, bool is_second) {
  char path[PATH_MAX];
  snprintf(path, sizeof path, "%s/%d", folder, number);
  if (is_second && (now->differs || now->next == now->count)) return;
  if (!is_second && (mkdir(path, 0755) || chmod(path, 0777))) die("%s: %s", path, strerror(errno));
  if (chdir(path)) die("%s: %s", path, strerror(errno));
  umask(022);
  for (; now->next < now->count; now->next++) {
    char *text = now->steps[now->next];
    if (!strcmp(text, "pause")) {
      if (is_second) continue;
      break;
    }
    if (!step(text)) {
      if (asprintf(&now->differs, "%s: %.80s", text, result) < 0) die("no memory");
      break;
    }
  }
  act_as("0:0");
}

int main(int count, char **arguments) {
  char folder[PATH_MAX];
  struct timespec kept_of[CASES];
  if (count != 2 || !realpath(arguments[1], folder)) die("expected: guest-posix FOLDER <LIST");
  if (geteuid()) die("must be run by root");
  load();
  for (int i = 0; i < case_count; i++) {
    run(&cases[i], folder, i, false);
    kept_of[i] = kept;
  }
  /* Filesystems count times in seconds. */
  usleep(2100000);
  for (int i = 0; i < case_count; i++) {
    kept = kept_of[i];
    run(&cases[i], folder, i, true);
  }
  for (int i = 0; i < case_count; i++) {
    if (cases[i].differs) printf("differs %s: %s\n", cases[i].name, cases[i].differs);
    else printf("ok %s\n", cases[i].name);
  }
  return 0;
}
