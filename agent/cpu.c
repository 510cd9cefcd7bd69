/*
 * What the CPU and the kernel take: memory, checksums, the clock, sleeping, and switches between
 * processes as lmbench's lat_ctx makes them.
 */
#include "output.h"

#include <linux/futex.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>

#ifndef SYS_futex /* an architecture younger than 2038 */
#define SYS_futex SYS_futex_time64
#endif
#define PROCESSES_MAX 1024
#define SECOND_NS UINT64_C(1000000000)

#define COUNT(fallback) NUMBER("count", fallback, 1, INT64_MAX)

static const struct key memory_keys[] = { NUMBER("size", "1048576", 1, 1u << 30), COUNT("100"),
                                          REPEATED, END_OF_KEYS };
static const struct key timer_keys[] = { COUNT("100000"), REPEATED, END_OF_KEYS };
static const struct key sleep_keys[] = { NUMBER("time_ns", "1000000", 0, INT64_MAX), COUNT("1000"),
                                         REPEATED, END_OF_KEYS };
static const struct key ring_keys[] = { NUMBER("processes", "2", 2, PROCESSES_MAX), COUNT("100000"),
                                        REPEATED, END_OF_KEYS };

/* cpu.copy, from the first half of a memory to the second one; cpu.crc. */
static void run_memory(const struct step *step)
{
    int is_copy = strcmp(step->operation->name, "cpu.copy") == 0;
    size_t size = (size_t)step_number(step, "size");
    unsigned char *from = malloc(size << is_copy);
    uint64_t count = step_number(step, "count");
    uint32_t crc = crc32_of(0, "", 0); /* makes its table */

    if (from == 0) {
        record_fail("no memory for %d x %zu bytes", is_copy + 1, size);
        return;
    }
    memset(from, 2, size << is_copy);
    plan_data(step, 0, from, size, 0);
    record_begin(step);
    for (uint64_t i = 0; i < count && !record_stopped(); i++) {
        uint64_t start = now_ns();

        if (is_copy) {
            memcpy(from + size, from, size);
            from[i % size] = from[size + i / 2 % size];
        } else {
            crc = crc32_of(crc, from, size);
        }
        record_operation(since(start), size);
    }
    record_end();
    if (!is_copy)
        tell_number("crc32", crc);
    free(from);
}

static void run_timer(const struct step *step)
{
    uint64_t count = step_number(step, "count");
    struct timespec resolution;

    for (uint64_t i = 0; i < count && !record_stopped(); i++)
        record_operation(since(now_ns()), 0);
    if (clock_getres(CLOCK_MONOTONIC, &resolution) == 0)
        tell_number("resolution_ns", (uint64_t)resolution.tv_nsec);
}

/* The clock that sleeping goes by; that of now_ns() may run at another rate. */
static uint64_t monotonic_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * SECOND_NS + (uint64_t)now.tv_nsec;
}

static void run_sleep(const struct step *step)
{
    uint64_t count = step_number(step, "count");

    for (uint64_t i = 0; i < count && !record_stopped(); i++) {
        uint64_t end = monotonic_ns() + step_number(step, "time_ns"), now;

        while ((now = monotonic_ns()) < end && !record_stopped()) {
            uint64_t nap = end - now > SECOND_NS ? now + SECOND_NS : end;
            struct timespec until = { (time_t)(nap / SECOND_NS), (long)(nap % SECOND_NS) };

            clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, 0);
        }
        if (now >= end)
            record_operation(now - end, 0);
    }
}

/*
 * A ring of processes, of which the agent is the first: each waits for the token and passes it on.
 * In memory that they share, each leaves how long the token took to it, from before it was passed
 * on to when it was taken.
 */
struct ring {
    volatile uint64_t sent_ns, hop_ns[PROCESSES_MAX];
    volatile int turn[PROCESSES_MAX]; /* futexes: 1 has the token */
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
        if (syscall(SYS_futex, turn, FUTEX_WAIT, 0, (void *)0) && errno == EINTR)
            return -1;
    *turn = 0;
    __sync_synchronize();
    place->ring->hop_ns[place->number] = since(place->ring->sent_ns);
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

    if (pipe(ends))
        return -1;
    pid_t pid = fork();
    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        sigfillset(&all); /* the agent ends its processes */
        sigprocmask(SIG_BLOCK, &all, 0);
        close(place->out); /* that of the agent: the ring ends with it */
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
static void run_ring(const struct step *step)
{
    struct ring *ring =
        mmap(0, sizeof *ring, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    int processes = (int)step_number(step, "processes"), made = 0, ends[2];
    int is_futex = strcmp(step->operation->name, "cpu.futex") == 0;
    uint64_t count = step_number(step, "count"), hops = 0;
    pid_t pids[PROCESSES_MAX];

    if (ring == MAP_FAILED || pipe(ends)) {
        record_fail_errno("no shared memory, or no pipe");
        return;
    }
    struct place place = { ring, 0, 0, is_futex, ends[0], ends[1] };
    while (made < processes - 1) {
        place.number = made + 1;
        place.next = (made + 2) % processes;
        pids[made] = add_process(&place, getpid());
        if (pids[made] < 0) {
            record_fail_errno("process %d of the ring", made + 1);
            break;
        }
        made++;
    }
    place.number = 0;
    place.next = 1;
    record_begin(step);
    while (hops < count && !record_stopped()) {
        if (pass(&place) || take(&place)) {
            if (!record_stopped())
                record_fail("a process of the ring ended");
            break;
        }
        for (int i = 1; i <= processes && hops < count; i++, hops++)
            record_operation(ring->hop_ns[i % processes], 0);
    }
    record_end();
    while (made--) {
        kill(pids[made], SIGKILL);
        waitpid(pids[made], 0, 0);
    }
    close(place.in);
    close(place.out);
    munmap(ring, sizeof *ring);
}

const struct operation cpu_operations[] = {
    { "cpu.copy", 0, memory_keys, UNOPENED, run_memory },
    { "cpu.crc", 0, memory_keys, UNOPENED, run_memory },
    { "cpu.timer", 0, timer_keys, UNOPENED, run_timer },
    { "cpu.sleep", 0, sleep_keys, UNOPENED, run_sleep },
    { "cpu.pipe", 0, ring_keys, UNOPENED, run_ring },
    { "cpu.futex", 0, ring_keys, UNOPENED, run_ring },
    { 0, 0, 0, 0, 0 },
};
