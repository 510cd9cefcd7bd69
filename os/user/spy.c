/*
 * spy [WORKERS [EXECS [SEED]]]: tries to read the memory of others while they
 * get and lose domains: beside WORKERS processes that execute this program
 * anew, EXECS times in all, and bear a badge in their memory. A try is a process
 * of its own, since it is to be killed: it reads where the badge is in a slot by
 * chance, which it may only if that slot is its own. Prints how many tries read
 * another's memory, and `UNSEEN` if none did.
 */
#include "types.h"
#include "memlayout.h"
#include "param.h"
#include "user.h"

#define WORKERS 24
#define EXECS 240
#define AT_ONCE 6                       /* tries */
#define WORKERS_MOST (NPROC - 5 - AT_ONCE)  /* beside init, shell, its others */
#define LEVEL 2         /* of priority: goes before the workers, at a tick */
#define SLOTS_BESIDE 6  /* of others, and second ones, while exec has two */

static volatile uint badge;
static uint seed = 1;

/* Told through a pipe by the spy, and by tries that were not killed. */
struct found {
    enum { TRIED, OWN, FOREIGN, KINDS } what;
    uint slot;
    uint badge;
};

static int told[2];

static void fail(const char *why)
{
    printf(1, "FAIL spy: %s\n", why);
    exit();
}

static uint below(uint limit)
{
    seed = seed * 1664525u + 1013904223u;
    return (seed >> 8) % limit;
}

/* Executes itself `left` times more. */
static void work(int left)
{
    char number[12], *at = number + sizeof number - 1;
    char *again[] = { "spy", "work", 0, 0 };

    badge = (uint)getpid();
    if (left == 0)
        exit();
    *at = 0;
    for (left--; left >= 10; left /= 10)
        *--at = (char)('0' + left % 10);
    *--at = (char)('0' + left);
    again[2] = at;
    exec("/spy", again);
    fail("a worker cannot execute it");
}

/* Is this the slot that the process runs in? */
static int is_own(const volatile uint *alias)
{
    badge = 0x12345678;
    if (*alias != 0x12345678)
        return 0;
    badge = 0x9abcdef0;
    return *alias == 0x9abcdef0;
}

/* Waits till whoever was stopped has gone on; lives on only if the slot can be
   read. */
static void try_in_child(uint slot)
{
    const volatile uint *alias =
        (volatile uint *)(slot * SLOT_SIZE + (uint)&badge);
    struct found found = { .slot = slot };

    sleep(AT_ONCE);
    found.badge = *alias;
    found.what = is_own(alias) ? OWN : FOREIGN;
    write(told[1], &found, sizeof found);
    exit();
}

/* Until it is killed: at a tick, which stops a worker wherever it is, a process
   begins, and needs a domain. */
static void spy(uint slots)
{
    const struct found tried = { .what = TRIED };

    priority(getpid(), LEVEL);
    for (;;) {
        for (int i = 0; i < AT_ONCE; i++) {
            uint slot = 1 + below(slots);
            int pid;

            sleep(1 + (int)below(2));
            pid = fork();
            if (pid == 0)
                try_in_child(slot);
            if (pid < 0)
                fail("no process for a try");
            write(told[1], &tried, sizeof tried);
        }
        for (int i = 0; i < AT_ONCE; i++)
            wait();
    }
}

/* In a process of its own: starts the workers, and ends the spy when all have
   ended. */
static void watch(int workers, int execs, int spy_pid)
{
    close(told[1]);
    for (int i = 0; i < workers; i++) {
        int pid = fork();

        if (pid < 0)
            fail("so many processes there cannot be");
        if (pid == 0)
            work(execs / workers + (i < execs % workers));
    }
    while (wait() >= 0)
        ;
    kill(spy_pid);
    exit();
}

static void start(int workers, int execs)
{
    int pid;

    if (pipe(told) < 0 || (pid = fork()) < 0)
        fail("it cannot begin");
    if (pid == 0)
        spy((uint)workers + SLOTS_BESIDE);
    if (fork() == 0)
        watch(workers, execs, pid);
    close(told[1]);
}

int main(int argc, char **argv)
{
    int workers = argc > 1 ? atoi(argv[1]) : WORKERS;
    int execs = argc > 2 ? atoi(argv[2]) : EXECS;
    uint counts[KINDS] = { 0 };
    struct found found;

    if (argc > 2 && strcmp(argv[1], "work") == 0)
        work(execs);
    if (workers < 1 || workers > WORKERS_MOST)
        fail("usage: spy [WORKERS [EXECS [SEED]]]");
    seed = argc > 3 ? (uint)atoi(argv[3]) : 1;
    start(workers, execs);
    while (read(told[0], &found, sizeof found) == sizeof found) {
        counts[found.what]++;
        if (found.what == FOREIGN)
            printf(1, "FAIL spy: read %x in slot %d\n", found.badge,
                   found.slot);
    }
    while (wait() >= 0)
        ;
    sleep(20);                  /* init takes in the last tries, and says so */
    printf(1, "spy: %d tries, %d in its own slot, %d in another's\n",
           counts[TRIED], counts[OWN], counts[FOREIGN]);
    if (counts[TRIED] > 0 && counts[FOREIGN] == 0)
        printf(1, "UNSEEN\n");
    exit();
}
