/* Tests of who runs when: priorities, time slices, chg at ticks, many woken. */
#include "evaluate.h"
#include "tests.h"

static struct counters now(void)
{
    struct counters counters_now;

    CHECK(counters(&counters_now) == 0);
    return counters_now;
}

/* What a child at `level` does in the meantime of a write that wakes it:
   switches from the writer, and back. */
static uint switches_of_a_write(int level)
{
    struct counters before, after;
    int ends[2], pid;
    char byte = 'x';

    CHECK(pipe(ends) == 0);
    pid = fork_checked();
    if (pid == 0) {
        read(ends[0], &byte, 1);
        exit();
    }
    CHECK(priority(pid, level) >= 0);
    sleep(1);
    before = now();
    CHECK(write(ends[1], &byte, 1) == 1);
    after = now();
    wait_for(1);
    close(ends[0]);
    close(ends[1]);
    return after.switches - before.switches;
}

static void better_ones_run_when_woken(void)
{
    int me = getpid();

    CHECK(priority(me, 4) >= 0);
    CHECK(switches_of_a_write(3) == 2);
    CHECK(switches_of_a_write(5) == 0);
}

/* A sleeper of the best level wakes at its tick while another process is
   in a call that takes many: the kernel lets it in. */
static void calls_do_not_delay_the_best(void)
{
    int me = getpid(), pid, start;

    pid = fork_checked();
    if (pid == 0)
        for (;;) {
            sbrk(16 << 20);
            sbrk(-(16 << 20));
        }
    CHECK(priority(me, 0) >= 0);
    sleep(1);
    start = uptime();
    for (int i = 0; i < 30; i++)
        sleep(1);
    CHECK(uptime() - start <= 33);
    kill(pid);
    wait_for(1);
}

/* Two that never give up the processor change once a slice. */
static void slices_last(void)
{
    struct counters before, after;
    int pids[2], slice = tune(TUNE_SLICE, 5);

    CHECK(slice >= 1);
    for (int i = 0; i < 2; i++) {
        pids[i] = fork_checked();
        if (pids[i] == 0)
            for (;;)
                ;
    }
    before = now();
    sleep(60);
    after = now();
    for (int i = 0; i < 2; i++)
        kill(pids[i]);
    wait_for(2);
    CHECK(after.switches - before.switches >= 11);
    CHECK(after.switches - before.switches <= 15);
    CHECK(tune(TUNE_SLICE, slice) == 5);
    CHECK(tune(TUNE_SLICE, 0) == -1 && tune(TUNE_SLICE, -1) == slice);
}

/* Also those that were asked for at the start. A busy host may make some
   longer, but not always. */
static void ticks_last_as_tune_says(void)
{
    uint period = (uint)tune(TUNE_TICK, -1);
    int right = 0;

    for (int tries = 0; tries < 5 && !right; tries++) {
        struct counters before, after;
        uint took;

        CHECK(sleep(1) == 0);
        before = now();
        CHECK(sleep(5) == 0);
        after = now();
        took = (uint)((after.cycles - before.cycles)
                      / (after.frequency / 1000000));
        right = took > 4 * period && took < 6 * period;
    }
    CHECK(right);
}

/* As published: each switch waits for a tick, though nobody else wants to
   run. */
static void chg_at_ticks_takes_a_tick_each(void)
{
    int me = getpid(), old = tune(TUNE_CHG, CHG_AT_TICK), start;
    int other = fork_checked();

    if (other == 0)
        for (;;)
            chg(me, 1);
    chg(other, 1);
    start = uptime();
    for (int i = 0; i < 10; i++)
        chg(other, 1);
    CHECK(uptime() - start >= 20 && uptime() - start <= 22);
    kill(other);
    wait_for(1);
    tune(TUNE_CHG, old);
}

/* The one that is named comes before others of its level. */
static void chg_goes_before_others(void)
{
    int me = getpid(), others[3], ends[2], order[3], got;

    CHECK(pipe(ends) == 0);
    for (int mode = CHG_AT_TICK; mode <= CHG_AT_ONCE; mode++) {
        int old = tune(TUNE_CHG, mode);

        CHECK(priority(me, 0) >= 0);
        for (int i = 0; i < 3; i++) {
            others[i] = fork_checked();
            if (others[i] == 0) {
                write(ends[1], &i, sizeof i);
                exit();
            }
        }
        for (int i = 0; i < 3; i++)
            CHECK(priority(others[i], 3) >= 0);
        CHECK(priority(me, 3) >= 0);
        chg(others[2], 1);
        wait_for(3);
        got = read(ends[0], order, sizeof order);
        CHECK(got == sizeof order && order[0] == 2);
        tune(TUNE_CHG, old);
    }
    close(ends[0]);
    close(ends[1]);
}

/* One that sleeps gets its value when it wakes; who calls goes on. */
static void chg_to_a_sleeper_leaves_the_value(void)
{
    int me = getpid(), ends[2], pid, value = 0;

    CHECK(pipe(ends) == 0);
    pid = fork_checked();
    if (pid == 0) {
        read(ends[0], &value, 1);
        value = chg(me, 0);
        write(ends[1], &value, sizeof value);
        exit();
    }
    sleep(1);
    chg(pid, 77);
    CHECK(write(ends[1], "x", 1) == 1);
    sleep(2);
    CHECK(read(ends[0], &value, sizeof value) == sizeof value && value == 77);
    wait_for(1);
    CHECK(chg(me, 5) == 5 && chg(me, 6) == 6);
    close(ends[0]);
    close(ends[1]);
}

#define HERD 50             /* more than a wakeup looks at at once */

/* HERD children that do something with a pipe's ends. */
static void make_herd(const int *ends, void (*act)(const int *ends), int *pids)
{
    for (int i = 0; i < HERD; i++) {
        pids[i] = fork_checked();
        if (pids[i] == 0) {
            act(ends);
            exit();
        }
    }
}

static void sleep_to_each_tick(const int *ends)
{
    (void)ends;
    for (int i = 0; i < 5; i++)
        CHECK(sleep(1) == 0);
}

static void many_sleep_to_one_tick(void)
{
    int pids[HERD], start;

    make_herd(0, sleep_to_each_tick, pids);
    start = uptime();
    wait_for(HERD);
    CHECK(uptime() - start <= 30);
}

static void read_three(const int *ends)
{
    char byte = 0;

    for (int i = 0; i < 3; i++)
        CHECK(read(ends[0], &byte, 1) == 1 && byte == 'x');
}

static void many_read_one_pipe(void)
{
    int pids[HERD], ends[2];

    CHECK(pipe(ends) == 0);
    make_herd(ends, read_three, pids);
    sleep(2);
    for (int i = 0; i < 3 * HERD; i++)
        CHECK(write(ends[1], "x", 1) == 1);
    wait_for(HERD);
    close(ends[0]);
    close(ends[1]);
}

static void read_to_the_end(const int *ends)
{
    char byte;

    close(ends[1]);
    CHECK(read(ends[0], &byte, 1) == 0);
}

/* Some are killed while they wait, and while they are woken. */
static void many_see_the_end_of_a_pipe(void)
{
    int pids[HERD], ends[2];

    CHECK(pipe(ends) == 0);
    make_herd(ends, read_to_the_end, pids);
    sleep(2);
    for (int i = 0; i < HERD; i += 5)
        CHECK(kill(pids[i]) == 0);
    close(ends[1]);
    for (int i = 1; i < HERD; i += 5)
        kill(pids[i]);
    wait_for(HERD);
    close(ends[0]);
}

static void have_children(int rounds)
{
    for (int i = 0; i < rounds; i++) {
        if (fork_checked() == 0) {
            sleep(2);
            exit();
        }
        wait_for(1);
    }
}

static void many_wait_for_a_child(void)
{
    for (int i = 0; i < HERD / 2; i++) {
        if (fork_checked() == 0) {
            have_children(3);
            exit();
        }
    }
    wait_for(HERD / 2);
}

/* Sleepers of a tick and of pipes share the kernel's queues: whoever waits for
   one thing is not to be passed over because others wait for another. */
static void many_wait_for_this_and_that(void)
{
    enum { MANY = 24, ROUNDS = 12 };
    int ends[2], done[2], count = 0;
    char byte = 'x';

    CHECK(pipe(done) == 0);
    for (int i = 0; i < MANY; i++) {
        CHECK(pipe(ends) == 0);
        if (fork_checked() == 0) {
            close(done[0]);
            for (int round = 0; round < ROUNDS; round++) {
                CHECK(read(ends[0], &byte, 1) == 1);
                CHECK(sleep(1) == 0);
            }
            CHECK(write(done[1], &byte, 1) == 1);
            exit();
        }
        if (fork_checked() == 0) {
            for (int round = 0; round < ROUNDS; round++) {
                CHECK(write(ends[1], &byte, 1) == 1);
                CHECK(sleep(1 + i % 2) == 0);
            }
            exit();
        }
        close(ends[0]);
        close(ends[1]);
    }
    close(done[1]);
    while (read(done[0], &byte, 1) == 1)
        count++;
    close(done[0]);
    CHECK(count == MANY);
    wait_for(2 * MANY);
}

const struct test schedule_tests[] = {
    { "better_ones_run_when_woken", better_ones_run_when_woken },
    { "calls_do_not_delay_the_best", calls_do_not_delay_the_best },
    { "slices_last", slices_last },
    { "ticks_last_as_tune_says", ticks_last_as_tune_says },
    { "chg_at_ticks_takes_a_tick_each", chg_at_ticks_takes_a_tick_each },
    { "chg_goes_before_others", chg_goes_before_others },
    { "chg_to_a_sleeper_leaves_the_value", chg_to_a_sleeper_leaves_the_value },
    { "many_sleep_to_one_tick", many_sleep_to_one_tick },
    { "many_read_one_pipe", many_read_one_pipe },
    { "many_see_the_end_of_a_pipe", many_see_the_end_of_a_pipe },
    { "many_wait_for_a_child", many_wait_for_a_child },
    { "many_wait_for_this_and_that", many_wait_for_this_and_that },
    { 0, 0 },
};
