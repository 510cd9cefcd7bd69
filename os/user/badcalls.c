/*
 * badcalls: every bad pointer to every system call that takes one, and bad
 * numbers to the others, by a small process and by one that has outgrown its
 * slot. Each must be refused (-1), must change nothing and lose no page or
 * descriptor. Prints `ALL REFUSED`, or FAIL lines.
 */
#include "types.h"
#include "stat.h"
#include "evaluate.h"
#include "fcntl.h"
#include "memlayout.h"
#include "param.h"
#include "user.h"

#define MORE_THAN_A_SLOT 0x2800000

static uint calls, failures;
static uint stack_end;          /* behind the stack, which is one page */
static int file, pipe_ends[2];

static void expect(const char *name, uint at, int result)
{
    calls++;
    if (result == -1)
        return;
    printf(1, "FAIL badcalls: %s with %x gave %d\n", name, at, result);
    failures++;
}

static void demand(const char *what, int holds)
{
    if (holds)
        return;
    printf(1, "FAIL badcalls: %s\n", what);
    failures++;
}

static char *echo[] = { "echo", 0 };

/* `at` is no address, or no memory follows it. */
static void pointer_calls(uint at)
{
    void *bad = (void *)at;
    char *bad_argument[] = { "echo", bad, 0 };

    expect("pipe", at, pipe(bad));
    expect("read of a file", at, read(file, bad, 8));
    expect("read of a pipe", at, read(pipe_ends[0], bad, 8));
    expect("write to a file", at, write(file, bad, 8));
    expect("write to a pipe", at, write(pipe_ends[1], bad, 8));
    expect("write to the console", at, write(1, bad, 8));
    expect("exec of path", at, exec(bad, echo));
    expect("exec of list", at, exec("/echo", bad));
    expect("exec of argument", at, exec("/echo", bad_argument));
    expect("fstat", at, fstat(file, bad));
    expect("chdir", at, chdir(bad));
    expect("open", at, open(bad, O_RDONLY));
    expect("create", at, open(bad, O_CREATE | O_RDWR));
    expect("mknod", at, mknod(bad, 1, 1));
    expect("unlink", at, unlink(bad));
    expect("link from", at, link(bad, "badcalls.x"));
    expect("link to", at, link("/echo", bad));
    expect("mkdir", at, mkdir(bad));
    expect("counters", at, counters(bad));
}

/* Memory begins or ends within what the call needs. */
static void edges(uint end)
{
    for (uint back = 1; back < 8; back++) {
        void *at = (void *)(end - back);

        expect("pipe at an edge", (uint)at, pipe(at));
        expect("read at an edge", (uint)at, read(file, at, 8));
        expect("write at an edge", (uint)at, write(file, at, 8));
        expect("fstat at an edge", (uint)at, fstat(file, at));
        expect("counters at an edge", (uint)at, counters(at));
        expect("read of 2 GB", (uint)at, read(file, at, 0x7fffffff));
        expect("read of less than none", (uint)at, read(file, at, -1));
        expect("write of 2 GB", (uint)at, write(file, at, 0x7fffffff));
        expect("write of less than none", (uint)at, write(file, at, -8));
    }
}

/* Strings that memory ends before they do. */
static void strings_without_end(uint end)
{
    memset((void *)(end - 4), '/', 4);
    expect("open without end", end, open((char *)(end - 4), O_RDONLY));
    expect("chdir without end", end, chdir((char *)(end - 4)));
    expect("unlink without end", end, unlink((char *)(end - 4)));
    expect("exec without end", end, exec((char *)(end - 4), echo));
    memset((void *)(end - 4), 0, 4);
}

static void bad_pointers(void)
{
    static const uint fixed[] = {
        0x01fffff0u, SLOT_SIZE - 4, 3 * SLOT_SIZE + 0x1000000, 0x7ffffffcu,
        0x80000000u, 0xbffffff8u, KERNBASE, KERNBASE + 0x10000, 0xc0100000u,
        0xc7fffff8u, 0xc8000000u, DEVICES, DEVICES + 0x9000, 0xf1000000u,
        VECTORS, 0xfffff000u, 0xfffffff8u, 0xfffffffcu, 0xffffffffu,
    };
    uint end = (uint)sbrk(0);

    for (uint i = 0; i < sizeof fixed / sizeof *fixed; i++)
        if (fixed[i] >= end)
            pointer_calls(fixed[i]);
    pointer_calls(end);
    pointer_calls(end + PAGE);
    pointer_calls(stack_end - 2 * PAGE);
    pointer_calls(stack_end - PAGE - 1);
    edges(end);
    edges(stack_end - PAGE);
    strings_without_end(end);
}

static void bad_descriptors(void)
{
    static const int fds[] = { -1, 13, NOFILE, 1000, 0x7fffffff, -0x7fffffff };
    struct stat status;
    char byte;

    for (uint i = 0; i < sizeof fds / sizeof *fds; i++) {
        int fd = fds[i];

        expect("read", (uint)fd, read(fd, &byte, 1));
        expect("write", (uint)fd, write(fd, &byte, 1));
        expect("close", (uint)fd, close(fd));
        expect("dup", (uint)fd, dup(fd));
        expect("fstat", (uint)fd, fstat(fd, &status));
    }
}

static void bad_numbers(void)
{
    static const int pids[] = { 0, -1, 0x7fffffff, -0x7fffffff };

    for (uint i = 0; i < sizeof pids / sizeof *pids; i++) {
        expect("kill", (uint)pids[i], kill(pids[i]));
        expect("chg", (uint)pids[i], chg(pids[i], 1));
        expect("priority", (uint)pids[i], priority(pids[i], 1));
        expect("tune of nothing", (uint)pids[i], tune(100 + pids[i] / 2, 1));
    }
    expect("kill of the first process", 1, kill(1));
    expect("priority of no level", 8, priority(getpid(), 8));
    expect("sbrk", 0x7fffffff, (int)sbrk(0x7fffffff));
    expect("sbrk", 0x80000000u, (int)sbrk((int)0x80000000u));
    expect("sbrk", 1, (int)sbrk(-(int)(uint)sbrk(0) - 1));
    expect("wait", 0, wait());
    expect("tune of tick", 0, tune(TUNE_TICK, 0));
}

static void bad_names(void)
{
    static char name[2000];

    memset(name, 'n', sizeof name - 1);
    expect("open of a long name", 0, open(name, O_RDONLY));
    expect("exec of a long name", 0, exec(name, echo));
    memset(name, '/', sizeof name - 1);
    expect("unlink of slashes", 0, unlink(name));
    expect("mkdir of slashes", 0, mkdir(name));
}

/* What stands there of two new descriptors, which it closes. */
static void pipe_to(char *at)
{
    int ends[2], given = pipe((int *)at);

    memmove(ends, at, sizeof ends);
    demand("a pipe may be asked for at any address",
           given == 0 && ends[0] != ends[1] && close(ends[0]) == 0 &&
           close(ends[1]) == 0);
    memset(at, 0, sizeof ends);
}

static void status_to(char *at)
{
    struct stat status;

    demand("a file may be asked about at any address",
           fstat(1, (struct stat *)at) == 0);
    memmove(&status, at, sizeof status);
    demand("what it says must be the same",
           status.type == T_DEV && status.nlink == 1 && status.size == 0);
}

/* Where alignment matters, a call may refuse or not, but must not harm. */
static void odd_addresses(void)
{
    static char buffer[200];

    for (int i = 0; i < 4; i++) {
        pipe_to(buffer + 64 + i);
        status_to(buffer + 64 + i);
    }
    for (int i = 1; i < 4; i++) {
        counters((void *)(buffer + 64 + i));
        badstack((void *)(buffer + 64 + i));
    }
    for (int i = 0; i < 60; i++)
        demand("what is beside an odd address", !buffer[i] && !buffer[199 - i]);
}

static int pages_free(void)
{
    struct counters now;

    return counters(&now) < 0 ? -1 : (int)now.pages_free;
}

static int lowest_descriptor(void)
{
    int fd = dup(0);

    close(fd);
    return fd;
}

static void all(void)
{
    int pages = pages_free(), lowest = lowest_descriptor();
    char byte = 0;

    bad_pointers();
    bad_descriptors();
    bad_numbers();
    bad_names();
    odd_addresses();
    demand("no page may be lost", pages_free() == pages);
    demand("no descriptor may be lost", lowest_descriptor() == lowest);
    write(pipe_ends[1], "!", 1);
    demand("the pipe must be empty",
           read(pipe_ends[0], &byte, 1) == 1 && byte == '!');
    demand("no file may be made", open("badcalls.x", O_RDONLY) == -1);
}

int main(void)
{
    struct stat status;

    stack_end = (uint)sbrk(0);
    file = open("badcalls.f", O_CREATE | O_RDWR);
    if (file < 0 || pipe(pipe_ends) < 0) {
        printf(1, "FAIL badcalls: cannot begin\n");
        exit();
    }
    all();
    sbrk((int)PAGE);
    all();
    if (sbrk(MORE_THAN_A_SLOT) == (char *)-1)
        demand("memory for the second half", 0);
    all();
    demand("the file must be empty",
           fstat(file, &status) == 0 && status.size == 0);
    close(file);
    unlink("badcalls.f");
    if (failures)
        printf(1, "FAIL badcalls: %d of %d\n", failures, calls);
    else
        printf(1, "badcalls: %d calls, ALL REFUSED\n", calls);
    exit();
}
