/*
 * What the CPU and the kernel take: memory, checksums, the clock, sleeping, and
 * switches between processes as lmbench's lat_ctx makes them.
 */
#include "agent.h"
#include "output.h"

#include <errno.h>
#include <linux/futex.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#ifndef SYS_futex               /* an architecture younger than 2038 */
#define SYS_futex SYS_futex_time64
#endif
#define PROCESSES_MAX 1024
#define SECOND_NS UINT64_C(1000000000)

#define COUNT(fallback) { "count", KEY_NUMBER, fallback, 0, 1, INT64_MAX }

static const struct key memory_keys[] = {
    { "size", KEY_NUMBER, "1048576", 0, 1, 1u << 30 },
    COUNT("100"), COMMON_KEYS, NO_MORE_KEYS
};
static const struct key timer_keys[] = {
    COUNT("100000"), COMMON_KEYS, NO_MORE_KEYS
};
static const struct key sleep_keys[] = {
    { "time_ns", KEY_NUMBER, "1000000", 0, 0, INT64_MAX },
    COUNT("1000"), COMMON_KEYS, NO_MORE_KEYS
};
static const struct key ring_keys[] = {
    { "processes", KEY_NUMBER, "2", 0, 2, PROCESSES_MAX },
    COUNT("100000"), COMMON_KEYS, NO_MORE_KEYS
};

/* cpu.copy and cpu.crc. */
static void run_memory(const struct step *step, struct record *record)
{
    int is_copy = strcmp(step->operation->name, "cpu.copy") == 0;
    uint64_t count = step_number(step, "count"), i;
    size_t size = (size_t)step_number(step, "size");
    unsigned char *from = malloc(size), *to = is_copy ? malloc(size) : from;
    uint32_t crc = crc32_of(0, "", 0);      /* makes its table */

    if (from == 0 || to == 0) {
        record_fail(record, "no memory for %d x %lu bytes", is_copy + 1,
                    (unsigned long)size);
    } else {
        memset(to, 2, size);
        data_fill(step, 0, from, size);
        record_begin(record, step);
        for (i = 0; i < count && !record_stopped(record); i++) {
            uint64_t start = now_ns();

            if (is_copy) {
                memcpy(to, from, size);
                from[i % size] = to[i / 2 % size];
            } else {
                crc = crc32_of(crc, from, size);
            }
            record_operation(record, now_ns() - start, size);
        }
        record_end(record);
        if (!is_copy)
            record_number(record, "crc32", crc);
    }
    if (is_copy)
        free(to);
    free(from);
}

static void run_timer(const struct step *step, struct record *record)
{
    uint64_t count = step_number(step, "count"), i, last = now_ns(), now;
    struct timespec resolution;

    for (i = 0; i < count && !record_stopped(record); i++) {
        last = now_ns();
        now = now_ns();
        record_operation(record, now - last, 0);
    }
    if (clock_getres(CLOCK_MONOTONIC, &resolution) == 0)
        record_number(record, "resolution_ns", (uint64_t)resolution.tv_nsec);
}

/* The clock that sleeping goes by; that of now_ns() may run at another rate. */
static uint64_t monotonic_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * SECOND_NS + (uint64_t)now.tv_nsec;
}

static void run_sleep(const struct step *step, struct record *record)
{
    uint64_t count = step_number(step, "count"), i, end, now, nap;
    struct timespec until;

    for (i = 0; i < count && !record_stopped(record); i++) {
        end = monotonic_ns() + step_number(step, "time_ns");
        while ((now = monotonic_ns()) < end && !record_stopped(record)) {
            nap = end - now > SECOND_NS ? now + SECOND_NS : end;
            until.tv_sec = (time_t)(nap / SECOND_NS);
            until.tv_nsec = (long)(nap % SECOND_NS);
            clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, 0);
        }
        if (now >= end)
            record_operation(record, now - end, 0);
    }
}

/*
 * A ring of processes, of which the agent is the first: each waits for the
 * token and passes it on. In memory that they share, each leaves how long the
 * token took to it, from before it was passed on to when it was taken.
 */
struct ring {
    volatile uint64_t sent_ns, hop_ns[PROCESSES_MAX];
    volatile int turn[PROCESSES_MAX];   /* futexes: 1 has the token */
};

/* One process of a ring, and its pipes from and to its neighbours. */
struct place {
    struct ring *ring;
    int number, next, is_futex, in, out;
};

/* Waits for the token. Returns -1 when the ring ended, or by a signal. */
static int take(struct place *place)
{
    volatile int *turn = &place->ring->turn[place->number];
    char token;

    if (!place->is_futex && read(place->in, &token, 1) != 1)
        return -1;
    while (place->is_futex && *turn == 0)
        if (syscall(SYS_futex, turn, FUTEX_WAIT, 0, (void *)0)
            && errno == EINTR)
            return -1;
    *turn = 0;
    __sync_synchronize();
    place->ring->hop_ns[place->number] = now_ns() - place->ring->sent_ns;
    return 0;
}

static int pass(struct place *place)
{
    volatile int *turn = &place->ring->turn[place->next];

    place->ring->sent_ns = now_ns();
    if (!place->is_futex)
        return write(place->out, "", 1) == 1 ? 0 : -1;
    __sync_synchronize();
    *turn = 1;
    syscall(SYS_futex, turn, FUTEX_WAKE, 1);
    return 0;
}

/* Makes a process that reads what the last one writes. */
static pid_t add_process(struct place *place, pid_t agent)
{
    sigset_t all;
    int ends[2];
    pid_t pid;

    if (pipe(ends))
        return -1;
    pid = fork();
    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        sigfillset(&all);       /* the agent ends its processes */
        sigprocmask(SIG_BLOCK, &all, 0);
        close(place->out);      /* that of the agent: the ring ends with it */
        close(ends[0]);
        place->out = ends[1];
        while (getppid() == agent && take(place) == 0 && pass(place) == 0)
            continue;
        _exit(0);
    }
    close(place->in);
    close(ends[1]);
    place->in = ends[0];
    return pid;
}

/* cpu.pipe and cpu.futex. */
static void run_ring(const struct step *step, struct record *record)
{
    int processes = (int)step_number(step, "processes"), made = 0, i, ends[2];
    uint64_t count = step_number(step, "count"), hops = 0;
    struct place place = { 0, 0, 0, 0, 0, 0 };
    pid_t pids[PROCESSES_MAX];

    place.is_futex = strcmp(step->operation->name, "cpu.futex") == 0;
    place.ring = mmap(0, sizeof *place.ring, PROT_READ | PROT_WRITE,
                      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (place.ring == MAP_FAILED || pipe(ends)) {
        record_fail_errno(record, "no shared memory, or no pipe");
        return;
    }
    place.in = ends[0];
    place.out = ends[1];
    while (made < processes - 1) {
        place.number = made + 1;
        place.next = (made + 2) % processes;
        pids[made] = add_process(&place, getpid());
        if (pids[made] < 0) {
            record_fail_errno(record, "process %d of the ring", made + 1);
            break;
        }
        made++;
    }
    place.number = 0;
    place.next = 1;
    record_begin(record, step);
    while (hops < count && !record_stopped(record)) {
        if (pass(&place) || take(&place)) {
            if (!record_stopped(record))
                record_fail(record, "a process of the ring ended");
            break;
        }
        for (i = 1; i <= processes && hops < count; i++, hops++)
            record_operation(record, place.ring->hop_ns[i % processes], 0);
    }
    record_end(record);
    while (made--) {
        kill(pids[made], SIGKILL);
        waitpid(pids[made], 0, 0);
    }
    close(place.in);
    close(place.out);
    munmap(place.ring, sizeof *place.ring);
}

const struct operation cpu_operations[] = {
    { "cpu.copy", 0, memory_keys, run_memory },
    { "cpu.crc", 0, memory_keys, run_memory },
    { "cpu.timer", 0, timer_keys, run_timer },
    { "cpu.sleep", 0, sleep_keys, run_sleep },
    { "cpu.pipe", 0, ring_keys, run_ring },
    { "cpu.futex", 0, ring_keys, run_ring },
    { 0, 0, 0, 0 }
};
