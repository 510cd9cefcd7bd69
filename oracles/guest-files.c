/*
 * File operations from a list, and the manifest of a tree: the guest's half of the oracle.
 *
 *   guest-files run ROOT <LIST      carries out the operations of LIST below ROOT
 *   guest-files manifest ROOT       prints one line for each entry below ROOT
 *
 * Both texts are those of docs/formats/file-tree.md, which crate `workload` reads and writes too; the
 * two share no code. It is linked statically, so that the same program runs on the host.
 * It stops at the first operation that fails, unless the line begins with `?`.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/xattr.h>
#include <time.h>
#include <unistd.h>

#define FIELDS_MAX 8
#define CHUNK_MAX (1 << 20)
#define NAMES_MAX 65536

static unsigned long line_number;

static void fail(const char *format, ...)
{
	va_list arguments;

	fflush(stdout);
	fprintf(stderr, "guest-files: ");
	if (line_number)
		fprintf(stderr, "line %lu: ", line_number);
	va_start(arguments, format);
	vfprintf(stderr, format, arguments);
	va_end(arguments);
	fprintf(stderr, "\n");
	exit(1);
}

/* ---- Fields: bytes outside '!'..'~' and the backslash are written \xHH ---- */

static int hex_digit(int c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	fail("not a lower-case hexadecimal digit: '%c'", c);
	return 0;
}

/* Undoes the escapes in place. */
static void unescape(char *text)
{
	char *to = text;

	for (; *text; text++) {
		if (*text != '\\') {
			*to++ = *text;
			continue;
		}
		if (text[1] != 'x' || !text[2] || !text[3])
			fail("a backslash without xHH");
		*to++ = (char)(hex_digit(text[2]) << 4 | hex_digit(text[3]));
		text += 3;
	}
	*to = 0;
}

/* `special` are further characters to escape; a field that is just "-" would mean "none". */
static void print_escaped(const char *text, const char *special)
{
	if (!strcmp(text, "-")) {
		printf("\\x2d");
		return;
	}
	for (; *text; text++) {
		unsigned char c = (unsigned char)*text;

		if (c < 0x21 || c > 0x7e || c == '\\' || strchr(special, c))
			printf("\\x%02x", c);
		else
			putchar(c);
	}
}

static uint64_t number(const char *text, int base)
{
	char *end;
	uint64_t value = strtoull(text, &end, base);

	if (!*text || *end)
		fail("not a number: %s", text);
	return value;
}

/* ---- Content ---- */

static const char *const words[64] = {
	"the", "of", "and", "flash", "page", "block", "erase", "program", "read", "write", "node",
	"inode", "name", "file", "tree", "log", "data", "bit", "byte", "spare", "area", "driver",
	"kernel", "board", "boot", "mount", "list", "clean", "dirty", "free", "bad", "good", "with",
	"without", "from", "to", "in", "on", "at", "by", "is", "are", "was", "were", "be", "been",
	"has", "have", "had", "not", "one", "two", "three", "four", "before", "after", "between",
	"because", "however", "therefore", "collection", "wear", "level", "power"
};

enum kind { ZERO, RANDOM, TEXT, RUNS, PERCENT };

struct content {
	enum kind kind;
	unsigned percent;
	uint64_t state;		/* of the generator */
	uint64_t position;	/* bytes given so far */
	uint64_t word;		/* RANDOM, PERCENT: the 8 bytes being given */
	unsigned left;		/* RUNS, TEXT: bytes left of the current run or word */
	unsigned char byte;	/* RUNS: the byte of the run */
	const char *text;	/* TEXT: where in the current word */
	unsigned count;		/* TEXT: words so far */
};

/* SplitMix64. */
static uint64_t next(struct content *c)
{
	uint64_t z = c->state += 0x9e3779b97f4a7c15u;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
	z = (z ^ z >> 27) * 0x94d049bb133111ebu;
	return z ^ z >> 31;
}

static void content_begin(struct content *c, const char *kind, uint64_t seed)
{
	memset(c, 0, sizeof(*c));
	c->state = seed;
	if (!strcmp(kind, "zero"))
		c->kind = ZERO;
	else if (!strcmp(kind, "random"))
		c->kind = RANDOM;
	else if (!strcmp(kind, "text"))
		c->kind = TEXT;
	else if (!strcmp(kind, "runs"))
		c->kind = RUNS;
	else if (!strncmp(kind, "percent:", 8) && number(kind + 8, 10) <= 100) {
		c->kind = PERCENT;
		c->percent = (unsigned)number(kind + 8, 10);
	} else
		fail("no such content: %s", kind);
}

static unsigned char random_byte(struct content *c, uint64_t index)
{
	if (index % 8 == 0)
		c->word = next(c);
	return (unsigned char)(c->word >> index % 8 * 8);
}

static unsigned char text_byte(struct content *c)
{
	if (!c->left) {
		c->text = words[next(c) >> 58];
		c->left = (unsigned)strlen(c->text) + 1;
		c->count++;
	}
	if (--c->left)
		return (unsigned char)*c->text++;
	return c->count % 12 ? ' ' : '\n';
}

static unsigned char runs_byte(struct content *c)
{
	if (!c->left) {
		uint64_t value = next(c);

		c->byte = (unsigned char)value;
		c->left = 1 + (unsigned)(value >> 8) % 32;
	}
	c->left--;
	return c->byte;
}

static unsigned char content_byte(struct content *c)
{
	uint64_t position = c->position++;

	switch (c->kind) {
	case RANDOM:
		return random_byte(c, position);
	case TEXT:
		return text_byte(c);
	case RUNS:
		return runs_byte(c);
	case PERCENT:
		/* The first part of each 512 bytes is random, the rest zero. */
		if (position % 512 < 512 * c->percent / 100)
			return random_byte(c, position % 512);
		return 0;
	default:
		return 0;
	}
}

/* ---- Operations ---- */

static int write_all(int fd, const unsigned char *data, size_t size, off_t offset)
{
	while (size) {
		ssize_t done = pwrite(fd, data, size, offset);

		if (done < 0)
			return -1;
		data += done;
		size -= (size_t)done;
		offset += done;
	}
	return 0;
}

/* write PATH OFFSET SIZE CONTENT SEED CHUNK */
static int do_write(char **f)
{
	static unsigned char buffer[CHUNK_MAX];
	uint64_t offset = number(f[2], 10), size = number(f[3], 10), chunk = number(f[6], 10);
	struct content content;
	int fd, status = 0, error;

	if (!chunk || chunk > CHUNK_MAX)
		fail("a chunk has 1 to %d bytes", CHUNK_MAX);
	content_begin(&content, f[4], number(f[5], 10));
	fd = open(f[1], O_WRONLY);
	if (fd < 0)
		return -1;
	while (size && !status) {
		size_t part = size < chunk ? size : chunk;

		for (size_t i = 0; i < part; i++)
			buffer[i] = content_byte(&content);
		status = write_all(fd, buffer, part, (off_t)offset);
		size -= part;
		offset += part;
	}
	error = errno;
	if (close(fd) && !status)
		return -1;
	errno = error;
	return status;
}

/* read PATH OFFSET SIZE CHUNK; what is read goes nowhere */
static int do_read(char **f)
{
	static unsigned char buffer[CHUNK_MAX];
	uint64_t offset = number(f[2], 10), size = number(f[3], 10), chunk = number(f[4], 10);
	int fd = open(f[1], O_RDONLY);
	ssize_t got = 1;

	if (!chunk || chunk > CHUNK_MAX)
		fail("a chunk has 1 to %d bytes", CHUNK_MAX);
	if (fd < 0)
		return -1;
	while (size && got > 0) {
		size_t part = size < chunk ? size : chunk;

		got = pread(fd, buffer, part, (off_t)offset);
		size -= part;
		offset += part;
	}
	close(fd);
	return got < 0 ? -1 : 0;
}

static int do_file(char **f)
{
	int fd = open(f[1], O_WRONLY | O_CREAT | O_EXCL, (mode_t)number(f[2], 8));

	return fd < 0 ? -1 : close(fd);
}

static int do_fsync(char **f)
{
	int fd = open(f[1], O_RDONLY), status;

	if (fd < 0)
		return -1;
	status = fsync(fd);
	close(fd);
	return status;
}

static int do_mkdir(char **f) { return mkdir(f[1], (mode_t)number(f[2], 8)); }
static int do_truncate(char **f) { return truncate(f[1], (off_t)number(f[2], 10)); }
static int do_link(char **f) { return link(f[1], f[2]); }
static int do_symlink(char **f) { return symlink(f[1], f[2]); }
static int do_rename(char **f) { return rename(f[1], f[2]); }
static int do_unlink(char **f) { return unlink(f[1]); }
static int do_rmdir(char **f) { return rmdir(f[1]); }
static int do_chmod(char **f) { return chmod(f[1], (mode_t)number(f[2], 8)); }
static int do_removexattr(char **f) { return lremovexattr(f[1], f[2]); }

static int do_chown(char **f)
{
	return lchown(f[1], (uid_t)number(f[2], 10), (gid_t)number(f[3], 10));
}

/* mknod PATH KIND MODE MAJOR MINOR */
static int do_mknod(char **f)
{
	static const struct { char kind; mode_t type; } kinds[] = {
		{ 'p', S_IFIFO }, { 's', S_IFSOCK }, { 'c', S_IFCHR }, { 'b', S_IFBLK }
	};
	dev_t device = makedev((unsigned)number(f[4], 10), (unsigned)number(f[5], 10));

	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++)
		if (f[2][0] == kinds[i].kind && !f[2][1])
			return mknod(f[1], kinds[i].type | (mode_t)number(f[3], 8), device);
	fail("no such kind of node: %s", f[2]);
	return -1;
}

static int do_mtime(char **f)
{
	struct timespec times[2] = { { 0, 0 }, { 0, 0 } };

	times[0].tv_sec = times[1].tv_sec = (time_t)number(f[2], 10);
	return utimensat(AT_FDCWD, f[1], times, AT_SYMLINK_NOFOLLOW);
}

/* setxattr PATH NAME HEX; "-" is the empty value */
static int do_setxattr(char **f)
{
	static unsigned char value[65536];
	size_t size = 0;

	if (strcmp(f[3], "-"))
		for (const char *text = f[3]; *text; text += 2) {
			if (!text[1] || size == sizeof(value))
				fail("the value of an attribute is not hexadecimal, or too long");
			value[size++] = (unsigned char)(hex_digit(text[0]) << 4 | hex_digit(text[1]));
		}
	return lsetxattr(f[1], f[2], value, size, 0);
}

static int do_sync(char **f)
{
	(void)f;
	sync();
	return 0;
}

static int do_pause(char **f)
{
	uint64_t milliseconds = number(f[1], 10);
	struct timespec time = { (time_t)(milliseconds / 1000), (long)(milliseconds % 1000) * 1000000 };

	return nanosleep(&time, NULL);
}

/* Goes out at once: what is printed has happened when the power fails. */
static int do_say(char **f)
{
	printf("%s\n", f[1]);
	return fflush(stdout);
}

static const struct operation {
	const char *name;
	int fields;		/* with the name */
	int (*act)(char **fields);
} operations[] = {
	{ "mkdir", 3, do_mkdir }, { "file", 3, do_file }, { "write", 7, do_write },
	{ "read", 5, do_read }, { "truncate", 3, do_truncate }, { "link", 3, do_link }, { "symlink", 3, do_symlink },
	{ "mknod", 6, do_mknod }, { "chmod", 3, do_chmod }, { "chown", 4, do_chown },
	{ "mtime", 3, do_mtime }, { "setxattr", 4, do_setxattr },
	{ "removexattr", 3, do_removexattr }, { "rename", 3, do_rename },
	{ "unlink", 2, do_unlink }, { "rmdir", 2, do_rmdir }, { "fsync", 2, do_fsync },
	{ "sync", 1, do_sync }, { "pause", 2, do_pause }, { "say", 2, do_say },
};

/* Splits a line at its spaces; the count of fields. */
static int split(char *line, char **fields)
{
	int count = 0;

	for (char *field = strtok(line, " \n"); field; field = strtok(NULL, " \n")) {
		if (count == FIELDS_MAX)
			fail("more than %d fields", FIELDS_MAX);
		unescape(field);
		fields[count++] = field;
	}
	return count;
}

static void run_line(char *line)
{
	int may_fail = line[0] == '?', count;
	char *f[FIELDS_MAX];

	if (line[0] == '#')
		return;
	count = split(line + may_fail, f);
	if (!count)
		return;
	for (size_t i = 0; i < sizeof(operations) / sizeof(*operations); i++) {
		const struct operation *o = &operations[i];

		if (strcmp(o->name, f[0]))
			continue;
		if (o->fields != count)
			fail("%s has %d fields, here are %d", o->name, o->fields, count);
		if (!o->act(f))
			return;
		if (!may_fail)
			fail("%s %s: %s", f[0], count > 1 ? f[1] : "", strerror(errno));
		printf("failed %lu %s\n", line_number, strerrorname_np(errno));
		fflush(stdout);
		return;
	}
	fail("no such operation: %s", f[0]);
}

static void run(void)
{
	char *line = NULL;
	size_t size = 0;

	umask(0);
	while (getline(&line, &size, stdin) > 0) {
		line_number++;
		run_line(line);
	}
	free(line);
}

/* ---- Manifest ---- */

/* CRC-32 as in zlib: reflected, initial value and final inversion of all ones. */
static uint32_t crc32(uint32_t crc, const unsigned char *data, size_t size)
{
	static uint32_t table[256];

	if (!table[1])
		for (uint32_t i = 0; i < 256; i++) {
			table[i] = i;
			for (int bit = 0; bit < 8; bit++)
				table[i] = table[i] >> 1 ^ (table[i] & 1 ? 0xedb88320u : 0);
		}
	crc = ~crc;
	while (size--)
		crc = crc >> 8 ^ table[(crc ^ *data++) & 0xff];
	return ~crc;
}

static void print_content(const char *path)
{
	static unsigned char buffer[65536];
	uint32_t crc = 0;
	ssize_t got;
	int fd = open(path, O_RDONLY);

	if (fd < 0) {
		printf("%s", strerrorname_np(errno));
		return;
	}
	while ((got = read(fd, buffer, sizeof(buffer))) > 0)
		crc = crc32(crc, buffer, (size_t)got);
	if (got < 0)
		printf("%s", strerrorname_np(errno));
	else
		printf("%08x", crc);
	close(fd);
}

static int compare_names(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* NAME=HEX, sorted by name, or "-". */
static void print_attributes(const char *path)
{
	static char list[65536], value[65536], *names[NAMES_MAX / 2];
	ssize_t size = llistxattr(path, list, sizeof(list));
	size_t count = 0;

	for (char *name = list; size > 0 && name < list + size; name += strlen(name) + 1)
		names[count++] = name;
	if (!count) {
		printf("-");
		return;
	}
	qsort(names, count, sizeof(*names), compare_names);
	for (size_t i = 0; i < count; i++) {
		ssize_t length = lgetxattr(path, names[i], value, sizeof(value));

		if (i)
			putchar(',');
		print_escaped(names[i], "=,");
		putchar('=');
		for (ssize_t at = 0; at < length; at++)
			printf("%02x", (unsigned char)value[at]);
	}
}

static char kind_of(mode_t mode)
{
	switch (mode & S_IFMT) {
	case S_IFREG: return 'f';
	case S_IFDIR: return 'd';
	case S_IFLNK: return 'l';
	case S_IFIFO: return 'p';
	case S_IFSOCK: return 's';
	case S_IFCHR: return 'c';
	case S_IFBLK: return 'b';
	default: return '?';
	}
}

/* PATH KIND MODE UID GID NLINK SIZE MTIME DEVICE TARGET ATTRIBUTES CRC */
static void print_entry(const char *path)
{
	static char target[65536];
	struct stat s;
	char kind;

	if (lstat(path, &s)) {
		print_escaped(path, "");
		printf(" ? %s\n", strerrorname_np(errno));
		return;
	}
	kind = kind_of(s.st_mode);
	print_escaped(path, "");
	printf(" %c %04o %u %u %lu ", kind, s.st_mode & 07777, s.st_uid, s.st_gid, (unsigned long)s.st_nlink);
	if (kind == 'f' || kind == 'l')
		printf("%lld", (long long)s.st_size);
	else
		printf("-");
	printf(" %lld ", (long long)s.st_mtime);
	if (kind == 'c' || kind == 'b')
		printf("%u:%u ", major(s.st_rdev), minor(s.st_rdev));
	else
		printf("- ");
	if (kind == 'l') {
		ssize_t length = readlink(path, target, sizeof(target) - 1);

		target[length < 0 ? 0 : length] = 0;
		print_escaped(target, "");
	} else
		printf("-");
	putchar(' ');
	print_attributes(path);
	putchar(' ');
	if (kind == 'f')
		print_content(path);
	else
		printf("-");
	putchar('\n');
}

static char **paths;
static size_t path_count, path_space;

static void keep(char *path)
{
	if (path_count == path_space) {
		path_space = path_space ? path_space * 2 : 1024;
		paths = realloc(paths, path_space * sizeof(*paths));
	}
	if (!path || !paths)
		fail("out of memory");
	paths[path_count++] = path;
}

/* Keeps the paths of all that is in the folder `path` and in the folders below. */
static void collect(const char *path)
{
	DIR *folder = opendir(path);
	struct dirent *entry;
	size_t first = path_count, last;

	if (!folder)
		fail("%s: %s", path, strerror(errno));
	while ((errno = 0, entry = readdir(folder))) {
		char *child;

		if (!strcmp(entry->d_name, ".") || !strcmp(entry->d_name, ".."))
			continue;
		if (strcmp(path, ".")) {
			if (asprintf(&child, "%s/%s", path, entry->d_name) < 0)
				fail("out of memory");
		} else
			child = strdup(entry->d_name);
		keep(child);
	}
	if (errno)
		fail("%s: %s", path, strerror(errno));
	closedir(folder);
	last = path_count;
	for (size_t i = first; i < last; i++) {
		struct stat s;

		if (!lstat(paths[i], &s) && S_ISDIR(s.st_mode))
			collect(paths[i]);
	}
}

static void manifest(void)
{
	collect(".");
	qsort(paths, path_count, sizeof(*paths), compare_names);
	print_entry(".");
	for (size_t i = 0; i < path_count; i++)
		print_entry(paths[i]);
}

int main(int argc, char **argv)
{
	if (argc != 3)
		fail("usage: guest-files run|manifest ROOT");
	if (chdir(argv[2]))
		fail("%s: %s", argv[2], strerror(errno));
	if (!strcmp(argv[1], "run"))
		run();
	else if (!strcmp(argv[1], "manifest"))
		manifest();
	else
		fail("usage: guest-files run|manifest ROOT");
	return fflush(stdout) ? 1 : 0;
}
