/* Tests of processes: life and death, time, priorities, chg, exec. */
#include "tests.h"

#include "evaluate.h"
#include "fcntl.h"
#include "param.h"

static void forks_end_in_turn(void)
{
    for (int i = 0; i < 100; i++) {
        int pid = fork_checked();

        if (pid == 0)
            exit();
        CHECK(wait() == pid);
    }
    CHECK(wait() == -1);
}

static void processes_end(void)
{
    int made = 0, pid;

    while ((pid = fork()) > 0 && made <= NPROC)
        made++;
    if (pid == 0) {
        sleep(1000);
        exit();
    }
    CHECK(made > 10 && made < NPROC);
    CHECK(fork() == -1);
    for (int i = pid = getpid() + 1; i < pid + 2 * NPROC; i++)
        kill(i);
    wait_for(made);
    CHECK(wait() == -1);
}

/* They never call the system. */
static void spinners_share_and_die(void)
{
    int pids[3], ends[2];
    char byte;

    CHECK(pipe(ends) == 0);
    for (int i = 0; i < 3; i++)
        if ((pids[i] = fork_checked()) == 0) {
            if (i == 2)
                write(ends[1], "x", 1);
            for (;;)
                ;
        }
    CHECK(read(ends[0], &byte, 1) == 1);
    for (int i = 0; i < 3; i++)
        CHECK(kill(pids[i]) == 0);
    wait_for(3);
    close(ends[0]);
    close(ends[1]);
}

static void sleepers_and_waiters_die(void)
{
    int sleeper, waiter;

    if ((sleeper = fork_checked()) == 0) {
        sleep(100000);
        fail("it woke", __LINE__);
    }
    if ((waiter = fork_checked()) == 0) {
        int child = fork_checked();

        if (child == 0) {
            sleep(3);
            exit();
        }
        wait();
        sleep(100000);
        fail("it woke", __LINE__);
    }
    sleep(1);
    CHECK(kill(sleeper) == 0 && kill(waiter) == 0);
    wait_for(2);
    CHECK(kill(sleeper) == -1 && kill(1000000) == -1);
}

/* init takes it in: its pid is then unknown. */
static void orphans_are_taken_in(void)
{
    int ends[2], orphan;

    CHECK(pipe(ends) == 0);
    if (fork_checked() == 0) {
        orphan = fork_checked();
        if (orphan == 0)
            sleep(3);
        else
            write(ends[1], &orphan, sizeof orphan);
        exit();
    }
    CHECK(read(ends[0], &orphan, sizeof orphan) == (int)sizeof orphan);
    wait_for(1);
    CHECK(wait() == -1);
    for (int i = 0; i < 50 && kill(orphan) == 0; i++)
        sleep(1);
    CHECK(kill(orphan) == -1);
    close(ends[0]);
    close(ends[1]);
}

static void sleep_lasts(void)
{
    int before = uptime(), passed;

    CHECK(sleep(0) == 0);
    CHECK(sleep(10) == 0);
    passed = uptime() - before;
    CHECK(passed >= 10 && passed <= 13);
}

static void pids_are_new(void)
{
    int last = getpid();

    for (int i = 0; i < 80; i++) {
        int pid = fork_checked();

        if (pid == 0)
            exit();
        CHECK(pid > last);
        last = pid;
        wait_for(1);
    }
}

/* A process of an earlier level runs as soon as it can, one of a later
   only when all others sleep. */
static void priorities(void)
{
    int ends[2], me = getpid();
    char order[3];

    CHECK(pipe(ends) == 0);
    CHECK(priority(me, 0) >= 0 && priority(me, 0) == 0);
    for (int i = 0; i < 3; i++) {
        int pid = fork_checked();

        if (pid == 0) {
            write(ends[1], &"cab"[i], 1);
            exit();
        }
        CHECK(priority(pid, "\7\1\4"[i]) >= 0);
    }
    wait_for(3);
    CHECK(read(ends[0], order, 3) == 3);
    CHECK(order[0] == 'a' && order[1] == 'b' && order[2] == 'c');
    CHECK(priority(1000000, 1) == -1);
    CHECK(priority(me, 8) == -1 && priority(me, -1) <= 0);
    close(ends[0]);
    close(ends[1]);
}

/* Values come and go with the switch, in both modes. */
static void chg_brings_values(void)
{
    int me = getpid(), old = tune(TUNE_CHG, -1);

    for (int mode = CHG_AT_TICK; mode <= CHG_AT_ONCE; mode++) {
        int other;

        tune(TUNE_CHG, mode);
        other = fork_checked();
        if (other == 0)
            for (int value = 0;;)
                value = chg(me, value + 1);
        chg(other, 100);
        for (int i = 0; i < 10; i++)
            CHECK(chg(other, 10 * i) == 10 * i + 1);
        CHECK(kill(other) == 0);
        wait_for(1);
        CHECK(chg(other, 1) == -1);
    }
    CHECK(chg(1000000, 1) == -1);
    tune(TUNE_CHG, old);
}

static void chg_at_once_needs_no_tick(void)
{
    struct counters before, after;
    int me = getpid(), old = tune(TUNE_CHG, CHG_AT_ONCE);
    int other = fork_checked();

    if (other == 0)
        for (;;)
            chg(me, 1);
    chg(other, 1);
    CHECK(counters(&before) == 0);
    for (int i = 0; i < 50; i++)
        chg(other, 1);
    CHECK(counters(&after) == 0);
    CHECK(after.switches - before.switches >= 100);
    CHECK(after.ticks - before.ticks < 10);
    kill(other);
    wait_for(1);
    tune(TUNE_CHG, old);
}

/* What a program prints, up to most bytes; 0-terminated. */
static int output_of(char **arguments, char *to, int most)
{
    int ends[2], used = 0, got;

    CHECK(pipe(ends) == 0);
    if (fork_checked() == 0) {
        close(1);
        dup(ends[1]);
        close(ends[0]);
        close(ends[1]);
        exec(arguments[0], arguments);
        fail("exec came back", __LINE__);
    }
    close(ends[1]);
    while ((got = read(ends[0], to + used, most - 1 - used)) > 0)
        used += got;
    to[used] = 0;
    close(ends[0]);
    wait_for(1);
    return used;
}

static void exec_passes_arguments(void)
{
    static char *many[MAXARG + 1];
    char got[200];

    many[0] = "/echo";
    for (int i = 1; i < MAXARG - 1; i++)
        many[i] = (char *)"abcdefghij" + i % 10;
    CHECK(output_of(many, got, sizeof got) > 0);
    for (int i = 1, at = 0; i < MAXARG - 1; i++) {
        for (const char *c = many[i]; *c; c++)
            CHECK(got[at++] == *c);
        CHECK(got[at++] == (i + 1 < MAXARG - 1 ? ' ' : '\n'));
    }
    CHECK(output_of((char *[]){ "/echo", "x", 0 }, got, sizeof got) == 2);
    CHECK(got[0] == 'x');
}

static void exec_refuses(void)
{
    static char large[900], *arguments[MAXARG + 2];

    CHECK(exec("/missing", (char *[]){ "missing", 0 }) == -1);
    make_file("text", 1000, 1);
    CHECK(exec("text", (char *[]){ "text", 0 }) == -1);
    CHECK(unlink("text") == 0);
    CHECK(exec(".", (char *[]){ ".", 0 }) == -1);
    CHECK(exec("/console", (char *[]){ "console", 0 }) == -1);
    memset(large, 'x', sizeof large - 1);
    for (int i = 0; i < 10; i++)
        arguments[i] = large;
    CHECK(exec("/echo", arguments) == -1);
    for (int i = 0; i < MAXARG + 1; i++)
        arguments[i] = "x";
    CHECK(exec("/echo", arguments) == -1);
}

/* The programs differ, their addresses are the same: stale code would be
   seen. */
/* A file of 2,000 segments, which all load the same bytes. */
static void make_long_program(const char *path)
{
    enum { HEADER = 52, TABLE = 4096, COUNT = 2000, WORDS = 8 };
    static uint image[TABLE / sizeof(uint) + WORDS * COUNT];
    static const uint segment[WORDS] = { 1, 0, 0, 0, 64000, 64000, 7, 0 };
    int file = open("/echo", O_RDONLY);

    CHECK(read(file, image, HEADER) == HEADER);
    close(file);
    image[7] = TABLE;
    image[11] = (image[11] & 0xffff0000) | COUNT;
    for (int i = 0; i < COUNT; i++)
        memmove(&image[TABLE / sizeof(uint) + WORDS * i], segment,
                sizeof segment);
    file = open(path, O_CREATE | O_WRONLY);
    CHECK(write(file, image, sizeof image) == sizeof image);
    close(file);
}

static void a_long_exec_can_be_killed(void)
{
    int pid, start;

    make_long_program("long");
    pid = fork_checked();
    if (pid == 0) {
        exec("long", (char *[]){ "long", 0 });
        fail("exec came back", __LINE__);
    }
    sleep(2);
    start = uptime();
    CHECK(kill(pid) == 0);
    wait_for(1);
    unlink("long");
    CHECK((uptime() - start) * tune(TUNE_TICK, -1) <= 50 * 1000);
}

static void exec_of_several_in_turn(void)
{
    char got[100];

    for (int i = 0; i < 10; i++) {
        CHECK(output_of((char *[]){ "/echo", "12", 0 }, got, sizeof got) == 3);
        CHECK(got[0] == '1' && got[1] == '2');
        make_file("wc.in", 7, 0);
        CHECK(output_of((char *[]){ "/wc", "wc.in", 0 }, got, sizeof got) > 4);
        CHECK(strchr(got, '7') != 0);
        CHECK(unlink("wc.in") == 0);
        CHECK(output_of((char *[]){ "/echo", 0 }, got, sizeof got) == 0);
    }
}

/* Registers and flags survive interrupts and switches. */
static void spin_with_registers(uint seed, int until)
{
    while (uptime() < until) {
        uint wrong;

        __asm__ volatile("mov r8, %1\n"
                         "    add r0, r8, #1\n    add r1, r8, #2\n"
                         "    add r2, r8, #3\n    add r3, r8, #4\n"
                         "    add r4, r8, #5\n    add r5, r8, #6\n"
                         "    add r6, r8, #7\n    add r12, r8, #8\n"
                         "    mov r9, #20480\n"
                         "1:  subs r9, r9, #1\n    bne 1b\n"
                         "    movs r10, #0\n"
                         "    bne 2f\n"
                         "    sub r0, r0, r8\n    sub r1, r1, r8\n"
                         "    sub r2, r2, r8\n    sub r3, r3, r8\n"
                         "    sub r4, r4, r8\n    sub r5, r5, r8\n"
                         "    sub r6, r6, r8\n    sub r12, r12, r8\n"
                         "    add r0, r0, r1\n    add r2, r2, r3\n"
                         "    add r4, r4, r5\n    add r6, r6, r12\n"
                         "    add r0, r0, r2\n    add r4, r4, r6\n"
                         "    add r0, r0, r4\n"
                         "    subs %0, r0, #36\n"
                         "    b 3f\n"
                         "2:  mov %0, #1\n"
                         "3:\n"
                         : "=r"(wrong)
                         : "r"(seed)
                         : "r0", "r1", "r2", "r3", "r4", "r5", "r6", "r8", "r9",
                           "r10", "r12", "cc");
        CHECK(wrong == 0);
    }
}

static void registers_are_kept(void)
{
    int until = uptime() + 12;

    for (int i = 0; i < 3; i++)
        if (fork_checked() == 0) {
            spin_with_registers(0x10203040u * (uint)(i + 1), until);
            exit();
        }
    wait_for(3);
}

/* r1 to r12 behind a system call are what they were. */
static void calls_keep_registers(void)
{
    uint wrong;

    __asm__ volatile("mov r1, #1\n    mov r2, #2\n    mov r3, #3\n"
                     "    mov r4, #4\n    mov r5, #5\n    mov r6, #6\n"
                     "    mov r8, #8\n    mov r9, #9\n    mov r12, #12\n"
                     "    mov r10, r7\n"
                     "    mov r7, #14\n"
                     "    svc 0\n"
                     "    sub %0, r7, #14\n"
                     "    mov r7, r10\n"
                     "    add r1, r1, r2\n    add r3, r3, r4\n"
                     "    add r5, r5, r6\n    add r8, r8, r9\n"
                     "    add r1, r1, r3\n    add r5, r5, r8\n"
                     "    add r1, r1, r5\n    add r1, r1, r12\n"
                     "    sub r1, r1, #50\n"
                     "    orr %0, %0, r1\n"
                     : "=&r"(wrong)
                     :
                     : "r0", "r1", "r2", "r3", "r4", "r5", "r6", "r8", "r9",
                       "r10", "r12", "cc", "memory");
    CHECK(wrong == 0);
}

static void tree(int depth)
{
    for (int i = 0; depth > 0 && i < 2; i++)
        if (fork_checked() == 0) {
            tree(depth - 1);
            wait_for(depth > 1 ? 2 : 0);
            exit();
        }
}

static void a_tree_of_processes(void)
{
    tree(4);
    wait_for(2);
    CHECK(wait() == -1);
}

const struct test process_tests[] = {
    { "forks_end_in_turn", forks_end_in_turn },
    { "processes_end", processes_end },
    { "spinners_share_and_die", spinners_share_and_die },
    { "sleepers_and_waiters_die", sleepers_and_waiters_die },
    { "orphans_are_taken_in", orphans_are_taken_in },
    { "sleep_lasts", sleep_lasts },
    { "pids_are_new", pids_are_new },
    { "priorities", priorities },
    { "chg_brings_values", chg_brings_values },
    { "chg_at_once_needs_no_tick", chg_at_once_needs_no_tick },
    { "exec_passes_arguments", exec_passes_arguments },
    { "exec_refuses", exec_refuses },
    { "a_long_exec_can_be_killed", a_long_exec_can_be_killed },
    { "exec_of_several_in_turn", exec_of_several_in_turn },
    { "registers_are_kept", registers_are_kept },
    { "calls_keep_registers", calls_keep_registers },
    { "a_tree_of_processes", a_tree_of_processes },
    { 0, 0 },
};
