/*
 * What the evaluation measures.
 *
 *   bench set NAME VALUE           tune(): fcse, tick, slice, chg, lockdown, slots
 *   bench count                    all of counters()
 *   bench chg N WHEN [DELAY]       N switches by chg between two processes, WHEN tick or once,
 *                                  from DELAY microseconds behind a tick on
 *   bench ring HOW N KB LAPS       a ring of N processes that pass a token by HOW, chg or pipe;
 *                                  whoever has it sums KB kilobytes of its own. After lmbench's
 *                                  lat_ctx: the same work without switching comes first
 *   bench null N                   N times the shortest system call
 *   bench exec N KB                N times fork, exec, exit and wait with an empty buffer cache,
 *                                  then N times again, of a program of KB kilobytes
 *   bench latency N                N times sleep to the next tick, at the highest priority
 *   bench load                     runs for ever: pipes, memory, files, processes
 *   bench large MB                 runs for ever in so much memory
 *
 * Each prints lines `NAME VALUE UNIT`, by the clock of counters(); an instrument outside
 * sees marks at the same places and measures better: a mark() costs one call.
 */
#include "types.h"
#include "fcntl.h"
#include "fs.h"
#include "param.h"
#include "evaluate.h"
#include "user.h"

enum mark {
    MARK_HOT = 1,       /* the work alone begins */
    MARK_HOT_END,
    MARK_BEGIN,         /* what is measured begins */
    MARK_END,
    MARK_AWAKE,         /* latency: awake again */
    MARK_EXEC,          /* exec: before the call */
    MARK_STARTED        /* exec: the new program runs; see started.c */
};

#define WARM_LAPS 2

static void fail(const char *what)
{
    printf(2, "bench: %s\n", what);
    exit();
}

static ulong64 cycles(void)
{
    struct counters now;

    counters(&now);
    return now.cycles;
}

static uint frequency(void)
{
    struct counters now;

    counters(&now);
    return now.frequency;
}

/* printf knows no 64 bits. */
static void tell(const char *name, ulong64 value, const char *unit)
{
    char digits[24];
    int at = sizeof digits;

    digits[--at] = 0;
    do {
        digits[--at] = (char)('0' + value % 10);
        value /= 10;
    } while (value);
    printf(1, "%s %s %s\n", name, digits + at, unit);
}

static void tell_time(const char *name, ulong64 from, ulong64 to)
{
    tell(name, (to - from) * 1000 / (frequency() / 1000000), "ns");
}

static int same(const char *a, const char *b)
{
    return strcmp(a, b) == 0;
}

static void set(const char *name, int value)
{
    static const char *const names[] = { "fcse", "tick", "slice", "chg", "lockdown", "slots" };

    for (uint i = 0; i < sizeof names / sizeof *names; i++) {
        if (!same(name, names[i]))
            continue;
        tune((int)i, value);
        if (tune((int)i, -1) != value)
            fail("it was not set");
        return;
    }
    fail("set what?");
}

static void count(void)
{
    struct counters now;

    counters(&now);
    tell("cycles", now.cycles, "cycles");
    tell("frequency", now.frequency, "Hz");
    tell("switches", now.switches, "switches");
    tell("flushes", now.flushes, "switches");
    tell("domains_taken", now.domains_taken, "domains");
    tell("moved", now.moved, "processes");
    tell("ticks", now.ticks, "ticks");
    tell("calls", now.calls, "calls");
    tell("blocks_read", now.blocks_read, "blocks");
    tell("pages_free", now.pages_free, "pages");
    tell("pages_kernel", now.pages_kernel, "pages");
}

/* The ring. */

struct ring {
    int pipes;          /* the token goes through pipes, else by chg */
    int next;           /* pid of the next process */
    int in, out;        /* ends of the pipes from the one before, to the next */
    int *data;          /* what is summed */
    int words;
};

static volatile int sum;

static void work(const struct ring *ring)
{
    int total = 0;

    for (int i = 0; i < ring->words; i++)
        total += ring->data[i];
    sum = total;
}

static void send(const struct ring *ring)
{
    int token = 0;

    if (write(ring->out, &token, sizeof token) != sizeof token)
        fail("the token was not sent");
}

static void receive(const struct ring *ring)
{
    int token;

    if (read(ring->in, &token, sizeof token) != sizeof token)
        fail("the token did not come");
}

/* Once around the ring, as its first process sees it. */
static void lap(const struct ring *ring)
{
    work(ring);
    if (!ring->pipes) {
        if (chg(ring->next, sum) < 0)
            fail("the next process is gone");
        return;
    }
    send(ring);
    receive(ring);
}

/* All laps of another process, which waits for the others of its ring to end. */
static void follow(const struct ring *ring, int laps)
{
    while (laps-- > 0) {
        if (ring->pipes)
            receive(ring);
        work(ring);
        if (ring->pipes)
            send(ring);
        else
            chg(ring->next, sum);
    }
    wait();
    exit();
}

/* Makes the others of a ring of `count`, each by the one before it; returns in all of them
   the place in the ring, 0 in the caller. */
static int join(struct ring *ring, int count)
{
    int home = getpid(), back = ring->out;

    for (int place = 0; place + 1 < count; place++) {
        int ends[2] = { -1, -1 };
        int pid;

        if (ring->pipes && pipe(ends) < 0)
            fail("no pipe");
        pid = fork();
        if (pid < 0)
            fail("no process");
        if (pid > 0) {
            ring->next = pid;
            ring->out = ends[1];
            close(ends[0]);
            return place;
        }
        close(ring->in);
        close(ends[1]);
        ring->in = ends[0];
    }
    ring->next = home;
    ring->out = back;
    return count - 1;
}

static ulong64 hot(const struct ring *ring, int laps)
{
    ulong64 from = 0;

    for (int i = -WARM_LAPS; i < laps; i++) {
        if (i == 0) {
            from = cycles();
            mark(MARK_HOT);
        }
        work(ring);
        if (ring->pipes) {
            send(ring);
            receive(ring);
        }
    }
    mark(MARK_HOT_END);
    return cycles() - from;
}

static ulong64 switching(const struct ring *ring, int laps)
{
    ulong64 from = 0;

    for (int i = -WARM_LAPS; i < laps; i++) {
        if (i == 0) {
            from = cycles();
            mark(MARK_BEGIN);
        }
        lap(ring);
    }
    mark(MARK_END);
    return cycles() - from;
}

static void ring_bench(int pipes, int count, int kb, int laps)
{
    struct ring ring = { .pipes = pipes, .in = -1, .out = -1 };
    int ends[2];
    ulong64 alone, all;

    if (count < 2 || kb < 0 || laps < 1)
        fail("ring of whom?");
    ring.words = kb * 1024 / (int)sizeof *ring.data;
    ring.data = (int *)sbrk(kb * 1024);
    if (ring.data == (int *)-1)
        fail("no memory");
    if (pipes) {
        if (pipe(ends) < 0)
            fail("no pipe");
        ring.in = ends[0];
        ring.out = ends[1];
    }
    tune(TUNE_CHG, CHG_AT_ONCE);
    alone = hot(&ring, laps);
    if (join(&ring, count) > 0)
        follow(&ring, WARM_LAPS + laps);
    all = switching(&ring, laps);
    wait();
    alone *= (uint)count;
    tell("ring_switches", (ulong64)count * (uint)laps, "switches");
    tell_time("ring", 0, all);
    tell_time("ring_net", 0, all > alone ? all - alone : 0);
}

/* Comes back just behind a tick, and `delay` microseconds. It spins: a sleeper would let
   the others run. */
static void await_tick(uint delay)
{
    int now = uptime();
    ulong64 until;

    while (uptime() == now)
        ;
    until = cycles() + (ulong64)delay * frequency() / 1000000;
    while (cycles() < until)
        ;
}

static void chg_bench(int switches, int when, uint delay)
{
    struct ring ring = { .in = -1, .out = -1 };
    struct counters before, after;

    if (switches < 2 || switches % 2)
        fail("an even number of switches");
    tune(TUNE_CHG, when);
    if (join(&ring, 2) > 0)
        follow(&ring, WARM_LAPS + switches / 2);
    for (int i = 0; i < WARM_LAPS; i++)
        lap(&ring);
    await_tick(delay);
    counters(&before);
    mark(MARK_BEGIN);
    for (int i = 0; i < switches / 2; i++)
        lap(&ring);
    mark(MARK_END);
    counters(&after);
    wait();
    tell("chg_switches", after.switches - before.switches, "switches");
    tell("chg_flushes", after.flushes - before.flushes, "switches");
    tell("chg_ticks", after.ticks - before.ticks, "ticks");
    tell_time("chg", before.cycles, after.cycles);
}

static void null_bench(int calls)
{
    ulong64 from = cycles();

    mark(MARK_BEGIN);
    for (int i = 0; i < calls; i++)
        getpid();
    mark(MARK_END);
    tell_time("null", from, cycles());
}

/* Starting programs. */

#define PROGRAM "bench.program"
#define OTHER "bench.other"

/* A file of so many bytes: those of the file `from`, if there is one, then zeros. Returns
   where they lie in memory, to be changed and then kept. */
static char *file_begin(const char *from, uint bytes)
{
    char *data = sbrk((int)bytes);
    int fd = from ? open(from, O_RDONLY) : -1;

    if (data == (char *)-1)
        fail("no memory");
    memset(data, 0, bytes);
    if (from && (fd < 0 || read(fd, data, (int)bytes) <= 0 || close(fd) < 0))
        fail("no program to be started");
    return data;
}

static void file_keep(const char *name, char *data, uint bytes)
{
    int fd = open(name, O_CREATE | O_RDWR);

    if (fd < 0 || write(fd, data, (int)bytes) != (int)bytes)
        fail("the file was not written");
    close(fd);
    sbrk(-(int)bytes);
}

/* A copy of the program `started` that fills so many bytes. It has one segment (user.ld),
   which becomes longer by zeros, so that all of it is read to start it. */
static void make_program(uint bytes)
{
    enum { HEADERS = 28, OFFSET = 4, FILE_SIZE = 16, MEMORY_SIZE = 20 };
    char *data = file_begin("started", bytes);
    char *segment = data + *(uint *)(data + HEADERS);
    uint begin = *(uint *)(segment + OFFSET);
    uint end = begin + *(uint *)(segment + FILE_SIZE);

    if (end >= bytes || *(uint *)(segment + MEMORY_SIZE) > bytes - begin)
        fail("the program is larger");
    memset(data + end, 0, bytes - end);
    *(uint *)(segment + FILE_SIZE) = *(uint *)(segment + MEMORY_SIZE) = bytes - begin;
    file_keep(PROGRAM, data, bytes);
}

/* Reads another file, which is as large as the buffer cache. */
static void displace(void)
{
    static char block[BSIZE];
    int fd = open(OTHER, O_RDONLY), blocks = 0;

    while (read(fd, block, sizeof block) == sizeof block)
        blocks++;
    if (blocks != NBUF)
        fail("the other file cannot be read");
    close(fd);
}

static void start(void)
{
    static char *arguments[] = { PROGRAM, 0 };
    int pid = fork();

    if (pid == 0) {
        mark(MARK_EXEC);
        exec(arguments[0], arguments);
        fail("no exec");
    }
    if (pid < 0 || wait() != pid)
        fail("no process");
}

/* Starts the program so often, each time with the cache displaced if `cold`. */
static void starts(const char *what, int times, int cold)
{
    ulong64 spent = 0, blocks = 0;

    for (int i = 0; i < times; i++) {
        struct counters before, after;

        if (cold)
            displace();
        counters(&before);
        mark(MARK_BEGIN);
        start();
        mark(MARK_END);
        counters(&after);
        spent += after.cycles - before.cycles;
        blocks += after.blocks_read - before.blocks_read;
    }
    printf(1, "%s_", what);
    tell("blocks", blocks, "blocks");
    printf(1, "%s_", what);
    tell_time("starts", 0, spent);
}

static void exec_bench(int times, int kb)
{
    if (times < 1 || kb < 1)
        fail("what program?");
    make_program((uint)kb * 1024);
    file_keep(OTHER, file_begin(0, NBUF * BSIZE), NBUF * BSIZE);
    starts("cold", times, 1);
    starts("warm", times, 0);
    unlink(PROGRAM);
    unlink(OTHER);
}

static void latency_bench(int times)
{
    priority(getpid(), 0);
    for (int i = 0; i < times; i++) {
        sleep(1);
        mark(MARK_AWAKE);
    }
    tell("latency_samples", (uint)times, "samples");
}

/* The load. */

static void load_pipes(void)
{
    struct ring ring = { .pipes = 1 };
    int ends[2];

    if (pipe(ends) < 0)
        fail("no pipe");
    ring.in = ends[0];
    ring.out = ends[1];
    if (join(&ring, 3) > 0)
        follow(&ring, 0x7fffffff);
    for (;;)
        lap(&ring);
}

static void load_memory(void)
{
    uint bytes = 64 * 1024, seed = 1;
    char *data = sbrk((int)bytes);

    if (data == (char *)-1)
        fail("no memory");
    for (;;) {
        seed = seed * 1664525 + 1013904223;
        data[seed >> 16]++;
    }
}

static void large(int megabytes)
{
    uint bytes = (uint)megabytes << 20, seed = 1;
    char *data = sbrk((int)bytes);

    if (megabytes <= 0 || data == (char *)-1)
        fail("no memory");
    for (;;) {
        seed = seed * 1664525 + 1013904223;
        data[seed % bytes]++;
    }
}

static void load_files(void)
{
    static char block[512];

    for (;;) {
        int fd = open("bench.load", O_CREATE | O_RDWR);

        for (int i = 0; i < 8; i++)
            write(fd, block, sizeof block);
        close(fd);
        unlink("bench.load");
    }
}

static void load_processes(void)
{
    for (;;) {
        if (fork() == 0)
            exit();
        wait();
    }
}

static void load(void)
{
    static void (*const kinds[])(void) = { load_pipes, load_memory, load_files, load_processes };

    for (uint i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (fork() == 0)
            kinds[i]();
    while (wait() >= 0)
        ;
}

static int when(const char *name)
{
    if (same(name, "tick"))
        return CHG_AT_TICK;
    if (!same(name, "once"))
        fail("tick or once?");
    return CHG_AT_ONCE;
}

static int run(int words, char **word)
{
    if (words == 4 && same(word[1], "set"))
        set(word[2], atoi(word[3]));
    else if (words == 2 && same(word[1], "count"))
        count();
    else if (words >= 4 && same(word[1], "chg"))
        chg_bench(atoi(word[2]), when(word[3]), words > 4 ? (uint)atoi(word[4]) : 0);
    else if (words == 6 && same(word[1], "ring"))
        ring_bench(same(word[2], "pipe"), atoi(word[3]), atoi(word[4]), atoi(word[5]));
    else if (words == 3 && same(word[1], "null"))
        null_bench(atoi(word[2]));
    else if (words == 4 && same(word[1], "exec"))
        exec_bench(atoi(word[2]), atoi(word[3]));
    else if (words == 3 && same(word[1], "latency"))
        latency_bench(atoi(word[2]));
    else if (words == 2 && same(word[1], "load"))
        load();
    else if (words == 3 && same(word[1], "large"))
        large(atoi(word[2]));
    else
        return 0;
    return 1;
}

int main(int argc, char **argv)
{
    if (!run(argc, argv))
        fail("set, count, chg, ring, null, exec, latency, load, large: see bench.c");
    exit();
}
