/*
 * What the evaluation measures: see `commands` at the end, which `bench` alone prints. `set`
 * is tune(), `count` counters(). Of the others:
 *
 *   chg        switches by chg between two processes
 *   ring       processes pass a token by HOW; whoever has it sums KB kilobytes of its own. After
 *              lmbench's lat_ctx: the same work without switching comes first
 *   null       the shortest system call
 *   exec       fork, exec, exit and wait, N times with an empty buffer cache, then N times again,
 *              of a program of KB kilobytes
 *   latency    sleeps to the next tick, at the highest priority
 *   load       runs for ever: pipes, memory, files, processes; large: in so much memory
 *
 * Each prints lines `NAME VALUE UNIT`, by the clock of counters(); an instrument outside
 * sees marks at the same places and measures better: a mark() costs one call.
 */
#include "types.h"
#include "fcntl.h"
#include "fs.h"
#include "param.h"
#include "evaluate.h"
#include "memlayout.h"
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
#define TIMES_MOST 100000000            /* of whatever is repeated */
#define MEGABYTES_MOST 256              /* of RAM that the kernel knows of */
/* In a ring with this process, beside init and the shell, and with two files for each pipe
   beside the console. */
#define PROCESSES_MOST (NPROC - 2)
#define PIPES_MOST ((NFILE - 1) / 2)
#define KB_MOST ((int)(MAXFILE * BSIZE / 1024)) /* of a file */

static int others[NPROC];       /* of a ring, made by this process */
static int made;                /* the first of them */

/* Ends the others of the ring. */
static void end_others(void)
{
    for (int i = 0; i < made; i++)
        kill(others[i]);
    for (; made > 0; made--)
        wait();
}

static void fail(const char *what)
{
    printf(2, "bench: %s\n", what);
    end_others();
    exit();
}

/* Decimal digits of a number from least to most; anything else is refused. */
static int number(const char *name, const char *text, int least, int most)
{
    int value = 0;
    const char *at = text;

    for (; *at >= '0' && *at <= '9' && value <= most; at++)
        value = value > most / 10 ? most + 1 : value * 10 + (*at - '0');
    if (at == text || *at || value < least || value > most) {
        printf(2, "bench: %s is '%s', expected is a whole number from %d to %d\n", name, text,
               least, most);
        exit();
    }
    return value;
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

/* 0 or 1: which of two words; anything else is refused. */
static int choice(const char *name, const char *text, const char *first, const char *second)
{
    if (!same(text, first) && !same(text, second)) {
        printf(2, "bench: %s is '%s', expected is %s or %s\n", name, text, first, second);
        exit();
    }
    return same(text, second);
}

static void set(char **word)
{
    static const struct {
        const char *name;
        int least, most;
    } kinds[] = {
        { "fcse", 0, 1 },
        { "tick", TICK_LEAST, TICK_MOST },
        { "slice", 1, SLICE_MOST },
        { "chg", CHG_AT_TICK, CHG_AT_ONCE },
        { "lockdown", 0, 1 },
        { "slots", 0, SLOTS },
    };

    for (int i = 0; i < (int)(sizeof kinds / sizeof *kinds); i++) {
        int value;

        if (!same(word[0], kinds[i].name))
            continue;
        value = number(kinds[i].name, word[1], kinds[i].least, kinds[i].most);
        tune(i, value);
        if (tune(i, -1) != value)
            fail("it was not set");
        return;
    }
    fail("NAME is none of fcse, tick, slice, chg, lockdown, slots");
}

static void count(char **word)
{
    struct counters now;

    (void)word;
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

/* One code for all processes, and for the same work without switching. */
static __attribute__((noinline)) void work(const struct ring *ring)
{
    int total = 0;

    for (int i = 0; i < ring->words; i++)
        total += ring->data[i];
    sum = total;
}

static int send(const struct ring *ring)
{
    int token = 0;

    return write(ring->out, &token, sizeof token) == sizeof token;
}

static int receive(const struct ring *ring)
{
    int token;

    return read(ring->in, &token, sizeof token) == sizeof token;
}

/* The token goes around once, by pipes. */
static void around(const struct ring *ring)
{
    if (!send(ring) || !receive(ring))
        fail("the token was lost");
}

/* Once around the ring, as its first process sees it. */
static void lap(const struct ring *ring)
{
    work(ring);
    if (ring->pipes)
        around(ring);
    else if (chg(ring->next, sum) < 0)
        fail("the next process is gone");
}

/* Another process, until the first one ends it, or a neighbour is gone. */
static void follow(const struct ring *ring)
{
    int here = 1;

    while (here) {
        here = !ring->pipes || receive(ring);
        work(ring);
        here = here && (ring->pipes ? send(ring) : chg(ring->next, sum) >= 0);
    }
    exit();
}

/* Makes the others of a ring of `count`, from the last to the first, so that each knows the
   next one. They do not come back. */
static void join(struct ring *ring, int count)
{
    ring->next = getpid();
    while (made + 1 < count) {
        int ends[2] = { -1, -1 };
        int pid;

        if (ring->pipes && pipe(ends) < 0)
            fail("no pipe");
        pid = fork();
        if (pid < 0)
            fail("no process");
        if (pid == 0) {
            made = 0;
            close(ring->in);
            close(ends[1]);
            ring->in = ends[0];
            follow(ring);
        }
        close(ends[0]);
        close(ring->out);
        ring->out = ends[1];
        ring->next = others[made++] = pid;
    }
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
        if (ring->pipes)
            around(ring);
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

static void ring_bench(char **word)
{
    int pipes = choice("HOW", word[0], "chg", "pipe");
    int count = number("N", word[1], 2, pipes ? PIPES_MOST : PROCESSES_MOST);
    int kb = number("KB", word[2], 0, MEGABYTES_MOST * 1024);
    int laps = number("LAPS", word[3], 1, TIMES_MOST);
    struct ring ring = { .pipes = pipes, .in = -1, .out = -1 };
    int ends[2];
    ulong64 alone, all;

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
    join(&ring, count);
    all = switching(&ring, laps);
    end_others();
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

static void chg_bench(char **word)
{
    int switches = number("N", word[0], 2, TIMES_MOST);
    int when = choice("WHEN", word[1], "tick", "once") ? CHG_AT_ONCE : CHG_AT_TICK;
    int delay = word[2] ? number("DELAY", word[2], 0, TICK_MOST) : 0;
    struct ring ring = { .in = -1, .out = -1 };
    struct counters before, after;

    if (switches % 2)
        fail("N is odd: both processes switch equally often");
    tune(TUNE_CHG, when);
    join(&ring, 2);
    for (int i = 0; i < WARM_LAPS; i++)
        lap(&ring);
    await_tick((uint)delay);
    counters(&before);
    mark(MARK_BEGIN);
    for (int i = 0; i < switches / 2; i++)
        lap(&ring);
    mark(MARK_END);
    counters(&after);
    end_others();
    tell("chg_switches", after.switches - before.switches, "switches");
    tell("chg_flushes", after.flushes - before.flushes, "switches");
    tell("chg_ticks", after.ticks - before.ticks, "ticks");
    tell_time("chg", before.cycles, after.cycles);
}

static void null_bench(char **word)
{
    int calls = number("N", word[0], 1, TIMES_MOST);
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

static void remove_files(void)
{
    unlink(PROGRAM);
    unlink(OTHER);
}

static void fail_start(const char *what)
{
    remove_files();
    fail(what);
}

/* A file of so many bytes: those of the file `from`, if there is one, then zeros. Returns
   where they lie in memory, to be changed and then kept. */
static char *file_begin(const char *from, uint bytes)
{
    char *data = sbrk((int)bytes);
    int fd = from ? open(from, O_RDONLY) : -1;

    if (data == (char *)-1)
        fail_start("no memory");
    memset(data, 0, bytes);
    if (from && (fd < 0 || read(fd, data, (int)bytes) <= 0 || close(fd) < 0))
        fail_start("no program to be started");
    return data;
}

static void file_keep(const char *name, char *data, uint bytes)
{
    int fd = open(name, O_CREATE | O_RDWR);

    if (fd < 0 || write(fd, data, (int)bytes) != (int)bytes)
        fail_start("the file was not written");
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
        fail("KB is too small: the program is larger");
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
        fail_start("the other file cannot be read");
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
        fail_start("no process");
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

static void exec_bench(char **word)
{
    int times = number("N", word[0], 1, TIMES_MOST);
    int kb = number("KB", word[1], 1, KB_MOST);

    make_program((uint)kb * 1024);
    file_keep(OTHER, file_begin(0, NBUF * BSIZE), NBUF * BSIZE);
    starts("cold", times, 1);
    starts("warm", times, 0);
    remove_files();
}

static void latency_bench(char **word)
{
    int times = number("N", word[0], 1, TIMES_MOST);

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
    join(&ring, 3);
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

static void large(char **word)
{
    uint bytes = (uint)number("MB", word[0], 1, MEGABYTES_MOST) << 20, seed = 1;
    char *data = sbrk((int)bytes);

    if (data == (char *)-1)
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

static void load(char **word)
{
    static void (*const kinds[])(void) = { load_pipes, load_memory, load_files, load_processes };

    (void)word;
    for (uint i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (fork() == 0)
            kinds[i]();
    while (wait() >= 0)
        ;
}

static const struct command {
    const char *name;
    int least, most;            /* words behind the name */
    void (*run)(char **word);   /* of these words, behind which is a 0 */
    const char *usage;
} commands[] = {
    { "set", 2, 2, set, " NAME VALUE    of fcse, tick, slice, chg, lockdown, slots" },
    { "count", 0, 0, count, "    all that the kernel counts" },
    { "chg", 2, 3, chg_bench,
      " N tick|once [DELAY]    N switches, from DELAY us behind a tick on" },
    { "ring", 4, 4, ring_bench,
      " chg|pipe N KB LAPS    N processes in turn, each sums KB kilobytes" },
    { "null", 1, 1, null_bench, " N    the shortest system call" },
    { "exec", 2, 2, exec_bench, " N KB    N starts of a program of KB kilobytes, cold and warm" },
    { "latency", 1, 1, latency_bench, " N    N times sleep to the next tick" },
    { "load", 0, 0, load, "    for ever pipes, memory, files, processes" },
    { "large", 1, 1, large, " MB    for ever in so much memory" },
};

/* Of one command, or of all. */
static void usage(const struct command *of)
{
    for (uint i = 0; i < sizeof commands / sizeof *commands; i++)
        if (!of || of == &commands[i])
            printf(2, "usage: bench %s%s\n", commands[i].name, commands[i].usage);
    exit();
}

int main(int argc, char **argv)
{
    const struct command *command = 0;

    for (uint i = 0; argc > 1 && i < sizeof commands / sizeof *commands; i++)
        if (same(argv[1], commands[i].name))
            command = &commands[i];
    if (!command || argc - 2 < command->least || argc - 2 > command->most)
        usage(command);
    command->run(argv + 2);
    exit();
}
