/* Tests of memory: growing, shrinking, copies by fork, what happens when
   it ends. */
#include "tests.h"

#include "evaluate.h"
#include "memlayout.h"

#define MB (1024 * 1024)
#define BIG (100 * MB)
#define NONE ((char *)-1)

static char uninitialized[10000];
static int initialized = 4711;

static void begins_as_linked(void)
{
    for (uint i = 0; i < sizeof uninitialized; i++)
        CHECK(uninitialized[i] == 0);
    CHECK(initialized == 4711);
}

static void grows_by_bytes(void)
{
    char *end = sbrk(0);

    for (int i = 0; i < 5000; i++) {
        CHECK(sbrk(1) == end + i);
        CHECK(end[i] == 0);
        end[i] = 1;
    }
    if (fork_checked() == 0) {
        CHECK(sbrk(1) == end + 5000);
        exit();
    }
    CHECK(sbrk(1) == end + 5000);
    wait_for(1);
}

static void comes_zeroed_and_goes(void)
{
    char *place = sbrk(16 * (int)PAGE);

    CHECK(place != NONE);
    memset(place, 0x55, 16 * PAGE);
    CHECK(sbrk(-8 * (int)PAGE) == place + 16 * PAGE);
    CHECK(sbrk(0) == place + 8 * PAGE);
    CHECK(!can_read((uint)place + 9 * PAGE));
    CHECK(sbrk(8 * (int)PAGE) == place + 8 * PAGE);
    for (uint i = 0; i < 8 * PAGE; i++)
        CHECK(place[i] == 0x55);
    for (uint i = PAGE; i < 8 * PAGE; i++)
        CHECK(place[8 * PAGE + i] == 0);
}

static void refuses_nonsense(void)
{
    char *end = sbrk(0);

    CHECK(sbrk(0x7fffffff) == NONE);
    CHECK(sbrk((int)0x80000000) == NONE);
    CHECK(sbrk(-(int)(uint)end - 1) == NONE);
    CHECK(sbrk(1024 * MB) == NONE);
    CHECK(sbrk(0) == end);
}

/* 100 MB, more than a slot of FCSE holds. */
static void grows_large(void)
{
    char *end = sbrk((int)PAGE) + PAGE;
    int more = BIG - (int)(uint)end;

    fill(end - 500, 500, 1);
    CHECK(sbrk(more) == end);
    CHECK(is_filled(end - 500, 500, 1));
    for (uint at = (uint)end; at < BIG; at += MB) {
        CHECK(*(volatile char *)at == 0);
        *(volatile char *)at = 7;
    }
    *(volatile char *)(BIG - 1) = 99;
    CHECK(sbrk(-(int)PAGE) == (char *)BIG && sbrk((int)PAGE) != NONE);
    CHECK(*(volatile char *)(BIG - 1) == 0);
    CHECK(sbrk(-more) == (char *)BIG);
    CHECK(is_filled(end - 500, 500, 1));
    CHECK(!can_read(60 * MB) && !can_read(BIG - 1));
}

/* A large process has children, and shrinks; all keep what they had. */
static void large_ones_fork(void)
{
    char *end = sbrk((int)PAGE) + PAGE;
    int more = 34 * MB - (int)(uint)end;

    fill(end - PAGE, (int)PAGE, 4);
    CHECK(sbrk(more) == end);
    fill((char *)(33 * MB), 5000, 2);
    if (fork_checked() == 0) {
        CHECK(is_filled((char *)(33 * MB), 5000, 2));
        fill((char *)(33 * MB), 5000, 3);
        yield();
        CHECK(is_filled((char *)(33 * MB), 5000, 3));
        exit();
    }
    yield();
    wait_for(1);
    CHECK(is_filled((char *)(33 * MB), 5000, 2));
    CHECK(sbrk(-more) == (char *)(34 * MB));
    if (fork_checked() == 0) {
        fill(end - PAGE, (int)PAGE, 9);
        exit();
    }
    wait_for(1);
    CHECK(is_filled(end - PAGE, (int)PAGE, 4));
}

/* A large process buries a small one while its own memory, in the cache, is at
   addresses that are also those of slots. */
static void large_ones_bury_small_ones(void)
{
    enum { WORDS = 500 };
    char *arguments[] = { "/echo", 0 };
    uint step = SLOT_SIZE / sizeof(uint);
    volatile uint *memory = 0;
    int ends[2];
    char byte;

    CHECK(sbrk(33 * MB - (int)(uint)sbrk(0)) != NONE && pipe(ends) == 0);
    if (fork_checked() == 0) {
        close(1);
        exec(arguments[0], arguments);
        fail("exec", __LINE__);
    }
    close(ends[1]);
    CHECK(read(ends[0], &byte, 1) == 0);
    CHECK(sbrk(104 * MB - (int)(uint)sbrk(0)) != NONE);
    for (uint i = 0; i < WORDS; i++)
        for (uint slot = 1; slot <= 3; slot++)
            memory[slot * step + i] += i + slot;
    wait_for(1);
    for (uint i = 0; i < WORDS; i++)
        for (uint slot = 1; slot <= 3; slot++)
            CHECK(memory[slot * step + i] == i + slot);
}

static void fork_copies(void)
{
    enum { BYTES = 5 * 4096 };
    char *place = sbrk(BYTES);
    int pid;

    CHECK(place != NONE);
    fill(place, BYTES, 5);
    pid = fork_checked();
    if (pid == 0) {
        CHECK(is_filled(place, BYTES, 5));
        fill(place, BYTES, 6);
        initialized = 1;
        yield();
        CHECK(is_filled(place, BYTES, 6) && initialized == 1);
        exit();
    }
    yield();
    CHECK(is_filled(place, BYTES, 5) && initialized == 4711);
    fill(place, BYTES, 7);
    wait_for(1);
    CHECK(is_filled(place, BYTES, 7));
}

/* More processes than domains, and than slots if these are few. */
static void many_keep_their_memory(void)
{
    enum { PROCESSES = 40, BYTES = 3 * 4096, ROUNDS = 5 };
    char *place = sbrk(BYTES);

    CHECK(place != NONE);
    for (int i = 0; i < PROCESSES; i++) {
        if (fork_checked())
            continue;
        for (int round = 0; round < ROUNDS; round++) {
            fill(place, BYTES, i + round);
            yield();
            CHECK(is_filled(place, BYTES, i + round));
        }
        exit();
    }
    wait_for(PROCESSES);
}

/* With all memory in use forks and execs fail, and none of it is lost. */
static void malloc_till_the_end(void)
{
    void *last = 0, *next;
    int blocks = 0, forks = 0, pid;

    while ((next = malloc(100001)) != 0) {
        *(void **)next = last;
        last = next;
        blocks++;
    }
    CHECK(blocks > 100);
    for (int step = 1024 * (int)PAGE; step >= (int)PAGE; step /= 2)
        while (sbrk(step) != NONE)
            ;
    while ((pid = fork()) > 0 && forks < 3)
        forks++;
    if (pid == 0)
        exit();
    CHECK(forks == 0);
    CHECK(exec("/echo", (char *[]){ "/echo", 0 }) == -1);
    while (last) {
        next = *(void **)last;
        free(last);
        last = next;
    }
    CHECK((last = malloc(20 * 1024)) != 0);
    free(last);
}

static void malloc_keeps_apart(void)
{
    enum { BLOCKS = 64 };
    static char *blocks[BLOCKS];
    static int bytes[BLOCKS];
    uint state = 1;

    for (int i = 0; i < 3000; i++) {
        int which = (int)random_below(&state, BLOCKS);

        if (blocks[which]) {
            CHECK(is_filled(blocks[which], bytes[which], which));
            free(blocks[which]);
            blocks[which] = 0;
            continue;
        }
        bytes[which] = (int)random_below(&state, 700);
        blocks[which] = malloc((uint)bytes[which]);
        CHECK(blocks[which] && (uint)blocks[which] % 8 == 0);
        fill(blocks[which], bytes[which], which);
    }
    CHECK((uint)sbrk(0) < MB);
}

/* Those that get none must give back what they got of it. */
static void memory_ends_for_all(void)
{
    enum { CHILDREN = 10 };
    int pids[CHILDREN], ends[2];
    char *more;
    char byte;

    CHECK(pipe(ends) == 0);
    for (int i = 0; i < CHILDREN; i++) {
        pids[i] = fork();
        if (pids[i] == 0) {
            sbrk(BIG - (int)(uint)sbrk(0));
            write(ends[1], "x", 1);
            for (;;)
                sleep(1000);
        }
        if (pids[i] > 0)
            CHECK(read(ends[0], &byte, 1) == 1);
    }
    more = sbrk((int)PAGE);
    for (int i = 0; i < CHILDREN; i++)
        if (pids[i] > 0) {
            CHECK(kill(pids[i]) == 0);
            wait_for(1);
        }
    CHECK(more != NONE);
    close(ends[0]);
    close(ends[1]);
}

/* System calls take memory up to the last byte of a process, and across
   pages. */
static void last_bytes_are_usable(void)
{
    char *end;
    int ends[2];

    CHECK(sbrk((int)PAGE - (int)((uint)sbrk(0) % PAGE)) != NONE);
    end = sbrk(0);
    CHECK(pipe(ends) == 0);
    CHECK(write(ends[1], "abcd", 4) == 4);
    CHECK(read(ends[0], end - 4, 4) == 4 && end[-1] == 'd');
    CHECK(write(ends[1], end - 4, 4) == 4);
    CHECK(read(ends[0], end - 3, 4) == -1);
    strcpy(end - 5, "echo");
    CHECK(open(end - 5, 0) == -1);
    end[-1] = 'x';
    CHECK(open(end - 5, 0) == -1);
    CHECK(sbrk((int)PAGE) == end);
    memset(end - 100, 'y', 200);
    CHECK(write(ends[1], end - 100, 200) == 200);
    memset(end - 100, 0, 200);
    CHECK(read(ends[0], end - 100, 4) == 4 && end[-100] == 'a');
    CHECK(read(ends[0], end - 100, 200) == 200);
    CHECK(end[-100] == 'y' && end[99] == 'y');
    close(ends[0]);
    close(ends[1]);
}

const struct test memory_tests[] = {
    { "begins_as_linked", begins_as_linked },
    { "grows_by_bytes", grows_by_bytes },
    { "comes_zeroed_and_goes", comes_zeroed_and_goes },
    { "refuses_nonsense", refuses_nonsense },
    { "grows_large", grows_large },
    { "large_ones_fork", large_ones_fork },
    { "large_ones_bury_small_ones", large_ones_bury_small_ones },
    { "fork_copies", fork_copies },
    { "many_keep_their_memory", many_keep_their_memory },
    { "malloc_till_the_end", malloc_till_the_end },
    { "malloc_keeps_apart", malloc_keeps_apart },
    { "memory_ends_for_all", memory_ends_for_all },
    { "last_bytes_are_usable", last_bytes_are_usable },
    { 0, 0 },
};
