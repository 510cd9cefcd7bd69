/*
 * tests: what the system promises to programs, one function each. Runs all
 * tests or those that are named; prints `ok NAME` or `FAIL NAME why`, and at
 * the end ALL TESTS PASSED or how many failed. Behind each test as many pages
 * must be free as before it: what it got, it gave back, however its processes
 * ended.
 */
#include "tests.h"

#include "fcntl.h"
#include "fs.h"
#include "param.h"
#include "evaluate.h"

#define DIRECTORY "tests.dir"

static int report;      /* end of the pipe that tells how a test ended */

static const struct {
    const char *name;
    const struct test *tests;
} groups[] = {
    { "files", file_tests },         { "directories", directory_tests },
    { "processes", process_tests },  { "schedule", schedule_tests },
    { "memory", memory_tests },      { "pipes", pipe_tests },
    { "protection", protection_tests },
};

#define GROUPS ((int)(sizeof groups / sizeof *groups))

/* A process that cannot say why it fails must not say that it is right. */
void fail(const char *why, int line)
{
    char number[12];
    char *at = number + sizeof number - 1;

    *at = 0;
    do {
        *--at = (char)('0' + line % 10);
        line /= 10;
    } while (line);
    write(report, "F", 1);
    write(report, at, (int)strlen(at));
    write(report, ": ", 2);
    write(report, why, (int)strlen(why));
    exit();
}

static int pages_free(void)
{
    struct counters now;

    return counters(&now) < 0 ? -1 : (int)now.pages_free;
}

/* Processes that lost their parent are taken in by init, which needs to run. */
static int pages_missing(int before)
{
    for (int i = 0; i < 20 && pages_free() != before; i++)
        sleep(1);
    return before - pages_free();
}

static void run_in_child(const struct test *test, const int *ends)
{
    close(ends[0]);
    report = ends[1];
    if (chdir(DIRECTORY) < 0)
        fail("no directory to run in", __LINE__);
    test->run();
    write(report, ".", 1);
    exit();
}

/* Reads how the test ended; 1 if well. */
static int read_report(int from, char *why, int most)
{
    int used = 0, got;

    while ((got = read(from, why + used, most - 1 - used)) > 0)
        used += got;
    why[used] = 0;
    return strcmp(why, ".") == 0;
}

/* 1 if it failed. */
static int run(const struct test *test)
{
    int before = pages_free(), ends[2], right, missing;
    static char why[400];

    if (mkdir(DIRECTORY) < 0 || pipe(ends) < 0) {
        printf(1, "FAIL %s cannot be prepared\n", test->name);
        return 1;
    }
    if (fork() == 0)
        run_in_child(test, ends);
    close(ends[1]);
    right = read_report(ends[0], why, sizeof why);
    close(ends[0]);
    wait();
    if (!right) {
        printf(1, "FAIL %s %s\n", test->name,
               why[0] == 'F' ? why + 1 : "its process was killed");
        unlink(DIRECTORY);
        return 1;
    }
    if (unlink(DIRECTORY) < 0) {
        printf(1, "FAIL %s left files\n", test->name);
        return 1;
    }
    missing = pages_missing(before);
    if (missing) {
        printf(1, "FAIL %s lost %d pages\n", test->name, missing);
        return 1;
    }
    printf(1, "ok %s\n", test->name);
    return 0;
}

static int is_named(const char *name, int argc, char **argv)
{
    for (int i = 1; i < argc; i++)
        if (strcmp(name, argv[i]) == 0)
            return 1;
    return argc == 1;
}

static int is_known(const char *name)
{
    for (int group = 0; group < GROUPS; group++) {
        if (strcmp(name, groups[group].name) == 0)
            return 1;
        for (const struct test *test = groups[group].tests; test->name; test++)
            if (strcmp(name, test->name) == 0)
                return 1;
    }
    return 0;
}

int main(int argc, char **argv)
{
    int failed = 0, ran = 0;

    for (int i = 1; i < argc; i++)
        if (!is_known(argv[i])) {
            printf(1, "FAIL: there is no test %s\n", argv[i]);
            exit();
        }
    for (int group = 0; group < GROUPS; group++) {
        int all = is_named(groups[group].name, argc, argv);

        for (const struct test *test = groups[group].tests; test->name; test++)
            if (all || is_named(test->name, argc, argv)) {
                ran++;
                failed += run(test);
            }
    }
    if (failed)
        printf(1, "%d of %d tests FAILED\n", failed, ran);
    else
        printf(1, "%d tests, ALL TESTS PASSED\n", ran);
    exit();
}

int fork_checked(void)
{
    int pid = fork();

    if (pid < 0)
        fail("no further process", __LINE__);
    return pid;
}

void wait_for(int children)
{
    while (children-- > 0)
        CHECK(wait() > 0);
}

int survives(void (*try)(uint), uint at)
{
    int ends[2];
    char byte;
    int got;

    CHECK(pipe(ends) == 0);
    if (fork_checked() == 0) {
        try(at);
        write(ends[1], "!", 1);
        exit();
    }
    close(ends[1]);
    got = read(ends[0], &byte, 1);
    close(ends[0]);
    wait_for(1);
    CHECK(got >= 0);
    return got == 1;
}

static void read_byte(uint at)
{
    (void)*(volatile uchar *)at;
}

static void write_byte(uint at)
{
    *(volatile uchar *)at = 1;
}

static void execute(uint at)
{
    ((void (*)(void))at)();
}

int can_read(uint at)
{
    return survives(read_byte, at);
}

int can_write(uint at)
{
    return survives(write_byte, at);
}

int can_execute(uint at)
{
    return survives(execute, at);
}

uint random_below(uint *state, uint below)
{
    *state = *state * 1664525 + 1013904223;
    return (*state >> 8) % below;
}

void fill(char *to, int bytes, int seed)
{
    for (int i = 0; i < bytes; i++)
        to[i] = (char)(seed * 31 + i * 7 + (i >> 8));
}

int is_filled(const char *from, int bytes, int seed)
{
    for (int i = 0; i < bytes; i++)
        if (from[i] != (char)(seed * 31 + i * 7 + (i >> 8)))
            return 0;
    return 1;
}

static int part_of(int bytes)
{
    return bytes < BSIZE ? bytes : BSIZE;
}

void make_file(const char *path, int bytes, int seed)
{
    char data[BSIZE];
    int fd = open(path, O_CREATE | O_RDWR);

    CHECK(fd >= 0);
    for (int at = 0; at < bytes; at += (int)sizeof data) {
        int part = part_of(bytes - at);

        fill(data, part, seed + at);
        CHECK(write(fd, data, part) == part);
    }
    CHECK(close(fd) == 0);
}

void check_file(const char *path, int bytes, int seed)
{
    char data[BSIZE];
    int fd = open(path, O_RDONLY);

    CHECK(fd >= 0);
    for (int at = 0; at < bytes; at += (int)sizeof data) {
        int part = part_of(bytes - at);

        CHECK(read(fd, data, sizeof data) == part);
        CHECK(is_filled(data, part, seed + at));
    }
    CHECK(read(fd, data, 1) == 0);
    CHECK(close(fd) == 0);
}
