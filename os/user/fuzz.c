/*
 * fuzz SEED [CALLS [PROCESSES]]: every call of syscalls.list but halt, at
 * random, with arguments that are right, at a limit, or hostile, by PROCESSES
 * processes and their children at once. After a while all that still live are
 * killed, wherever they are. Then as many pages and descriptors must be free
 * as before. The same seed makes the same calls. Prints `fuzz: WHOLE`, or FAIL
 * lines; whether the file system is whole says fsck.
 */
#include "types.h"
#include "stat.h"
#include "evaluate.h"
#include "fcntl.h"
#include "memlayout.h"
#include "param.h"
#include "syscall.h"
#include "user.h"

#define CALLS 200
#define PROCESSES 6
#define TICKS 60                /* after which all are killed */
#define CHILD_CALLS 12          /* that a child makes before it ends */
#define BUFFER 3000
#define PATIENCE 200            /* ticks till what was lost is taken in */

static uint seed;
static int first;               /* process; the later ones are of the fuzzer */
static char buffer[BUFFER];
static int is_child;

static uint below(uint limit)
{
    seed = seed * 1664525u + 1013904223u;
    return (seed >> 8) % limit;
}

static uint number(void)
{
    static const uint edges[] = {
        0, 1, 2, 3, 7, 8, 15, 16, 63, 64, 511, 512, 513, 4095, 4096, 4097,
        SLOT_SIZE, 0x7fff, 0x8000, 0xffff, 0x7fffffff, 0x80000000, 0xffffffff,
        KERNBASE, DEVICES, VECTORS,
    };

    return below(3) ? below(700) : edges[below(sizeof edges / sizeof *edges)];
}

/* Memory of its own mostly, or its edges, or what is anybody's. */
static void *pointer(void)
{
    uint end = (uint)sbrk(0);

    switch (below(12)) {
    case 0: return (void *)(end - below(12));
    case 1: return (void *)number();
    case 2: return (void *)((1 + below(SLOTS)) * SLOT_SIZE + below(8192));
    case 3: return (void *)(KERNBASE + below(0x200000));
    case 4: return (void *)(end + below(3 * PAGE));
    default: return buffer + below(8);
    }
}

static char *path(void)
{
    static char *const paths[] = {
        "a", "b", "c", "d", "a/b", "b/a", "/fuzz.d/a", "..", ".", "/", "//",
        "", "../fuzz.d/c", "a/../b", "fourteen-bytes", "fourteen-bytes-more",
        "/echo", "nothing/nothing",
    };

    if (below(20) == 0)
        return pointer();
    return paths[below(sizeof paths / sizeof *paths)];
}

/* Of this fuzzer, or of nobody. */
static int process(void)
{
    static const int none[] = { 0, -1, 0x7fffffff, (int)0x80000000 };

    if (below(4) == 0)
        return none[below(4)];
    return first + 1 + (int)below(30);
}

static int descriptor(void)
{
    return below(10) ? (int)below(8) : (int)number();
}

static int bytes(void)
{
    return below(8) ? (int)below(BUFFER - 8) : (int)number();
}

static void end_child(void)
{
    exit();
}

static void run_child(void);

static void do_fork(void)
{
    if (is_child || fork() != 0)
        return;
    is_child = 1;
    run_child();
}

/* In a child, which is another program if that succeeds. */
static void do_exec(void)
{
    static char *programs[] = {
        "/echo", "/cat", "/fuzz.d/a", "/started", "/", "/nothing", 0
    };
    char *list[] = { "echo", "x", 0 };
    char *program = programs[below(7)];

    if (is_child || fork() != 0)
        return;
    exec(program ? program : pointer(), below(4) ? list : pointer());
    end_child();
}

static void do_tune(void)
{
    static const int ticks[] = { -1, 0, 99, 100, 300, 1000, 20000, 10000001 };
    static const int few[] = { -1, 0, 1, 2, 9, 95, 96, 0x7fffffff };

    switch (below(8)) {
    case TUNE_TICK: tune(TUNE_TICK, ticks[below(8)]); break;
    case TUNE_SLICE: tune(TUNE_SLICE, few[below(5)]); break;
    case TUNE_FCSE: tune(TUNE_FCSE, (int)below(3) - 1); break;
    case TUNE_CHG: tune(TUNE_CHG, (int)below(4) - 1); break;
    case TUNE_LOCKDOWN: tune(TUNE_LOCKDOWN, (int)below(3) - 1); break;
    case TUNE_SLOTS: tune(TUNE_SLOTS, few[below(8)]); break;
    default: tune((int)number() + 6, (int)number());
    }
}

static void do_sbrk(void)
{
    switch (below(4)) {
    case 0: sbrk((int)(below(5) * PAGE)); break;
    case 1: sbrk(-(int)below(2 * PAGE)); break;
    case 2: sbrk((int)below(300)); break;
    default:
        if (below(10) == 0 && sbrk((int)number()) != (char *)-1)
            sbrk(0);
    }
}

/* The stack may be gone, when memory was given back: from there on a call must
   not use it more than this. */
static void call(uint which)
{
    switch (which) {
    case SYS_fork: do_fork(); break;
    case SYS_exit: if (is_child) exit(); break;
    case SYS_wait: if (below(4) == 0) wait(); break;
    case SYS_pipe: pipe(pointer()); break;
    case SYS_read: read(descriptor(), pointer(), bytes()); break;
    case SYS_kill: kill(process()); break;
    case SYS_exec: do_exec(); break;
    case SYS_fstat: fstat(descriptor(), pointer()); break;
    case SYS_chdir: chdir(path()); break;
    case SYS_dup: dup(descriptor()); break;
    case SYS_getpid: getpid(); break;
    case SYS_sbrk: do_sbrk(); break;
    case SYS_sleep: sleep(below(3) ? (int)below(3) : (int)number()); break;
    case SYS_uptime: uptime(); break;
    case SYS_open: open(path(), (int)(below(8) ? below(4) : number())
                        | (below(2) ? O_CREATE : 0)); break;
    case SYS_write: write(descriptor(), pointer(), bytes()); break;
    case SYS_mknod: mknod(path(), (short)number(), (short)number()); break;
    case SYS_unlink: unlink(path()); break;
    case SYS_link: link(path(), path()); break;
    case SYS_mkdir: mkdir(path()); break;
    case SYS_close: close(descriptor()); break;
    case SYS_chg: chg(process(), (int)number()); break;
    case SYS_priority: priority(process(), (int)number()); break;
    case SYS_tune: do_tune(); break;
    case SYS_counters: counters(pointer()); break;
    case SYS_mark: mark((int)number()); break;
    case SYS_badstack: badstack(pointer()); break;
    case SYS_yield: yield(); break;
    default: break;
    }
}

static void run_calls(int count)
{
    for (int i = 0; i < count; i++)
        call(1 + below(SYS_yield));
}

static void run_child(void)
{
    run_calls(CHILD_CALLS);
    end_child();
}

/* Without the console: what it writes would be read as what others say. */
static void live(uint own_seed, int count)
{
    for (int fd = 0; fd < NOFILE; fd++)
        close(fd);
    seed = own_seed;
    chdir("/fuzz.d");
    run_calls(count);
    exit();
}

static int pages_free(void)
{
    struct counters now;

    return counters(&now) < 0 ? -1 : (int)now.pages_free;
}

static void fail(const char *why)
{
    printf(1, "FAIL fuzz: %s\n", why);
}

/* Kills every process that began since. */
static void end_all(void)
{
    int last = fork();

    if (last == 0)
        exit();
    for (int pid = first + 1; pid < last; pid++)
        kill(pid);
    while (wait() >= 0)
        ;
}

static void run_all(int processes, int count, uint all_seed)
{
    for (int i = 0; i < processes; i++)
        if (fork() == 0)
            live(all_seed * 64 + (uint)i, count);
    sleep(TICKS);
    end_all();
    end_all();
}

static void check(int pages)
{
    int fd;

    for (int i = 0; i < PATIENCE && pages_free() != pages; i++)
        sleep(1);
    if (pages_free() != pages)
        fail("pages are lost");
    fd = open("/fuzz.f", O_CREATE | O_RDWR);
    if (fd < 0 || write(fd, "whole", 5) != 5)
        printf(1, "fuzz: the disk is full\n");
    close(fd);
    unlink("/fuzz.f");
    if (fd != 3)
        printf(1, "fuzz: descriptor %d\n", fd);
}

int main(int argc, char **argv)
{
    static const int whats[] = {
        TUNE_FCSE, TUNE_TICK, TUNE_SLICE, TUNE_CHG, TUNE_LOCKDOWN, TUNE_SLOTS
    };
    int count = argc > 2 ? atoi(argv[2]) : CALLS;
    int processes = argc > 3 ? atoi(argv[3]) : PROCESSES;
    int before[6], pages;

    if (argc < 2 || processes < 1 || processes > NPROC / 4) {
        fail("usage: fuzz SEED [CALLS [PROCESSES]]");
        exit();
    }
    for (uint i = 0; i < 6; i++)
        before[i] = tune(whats[i], -1);
    mkdir("/fuzz.d");
    pages = pages_free();
    first = getpid();
    priority(first, 0);         /* before whatever level they give themselves */
    run_all(processes, count, (uint)atoi(argv[1]));
    for (uint i = 0; i < 6; i++)
        tune(whats[i], before[i]);
    check(pages);
    printf(1, "fuzz: WHOLE\n");
    exit();
}
