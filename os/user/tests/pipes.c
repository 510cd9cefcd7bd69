/* Tests of pipes: what comes, in which order, and what happens at their
   ends. */
#include "tests.h"

#include "param.h"

static char data[8192];

/* Pieces that do not fit the pipe, read in pieces of other sizes. */
static void bytes_come_in_order(void)
{
    int ends[2], sequence = 0, part = 1, got;

    CHECK(pipe(ends) == 0);
    if (fork_checked() == 0) {
        close(ends[0]);
        for (int i = 0; i < 5; i++) {
            for (int at = 0; at < 1033; at++)
                data[at] = (char)sequence++;
            CHECK(write(ends[1], data, 1033) == 1033);
        }
        exit();
    }
    close(ends[1]);
    while ((got = read(ends[0], data, part)) > 0) {
        for (int i = 0; i < got; i++)
            CHECK(data[i] == (char)sequence++);
        part = part * 2 < (int)sizeof data ? part * 2 : (int)sizeof data;
    }
    CHECK(sequence == 5 * 1033);
    close(ends[0]);
    wait_for(1);
}

/* Bytes from and to all places in a word; the pipe's own place moves on. */
static void bytes_lie_anywhere_in_words(void)
{
    static const int counts[] = { 1, 3, 7, 8, 9, 13, 31, 33, 40, 67, 128 };
    static char back[160];
    int ends[2];

    CHECK(pipe(ends) == 0);
    for (int i = 0; i < (int)sizeof data; i++)
        data[i] = (char)(i * 7 + 1);
    for (int at = 0; at < 16 * (int)(sizeof counts / sizeof *counts); at++) {
        int count = counts[at / 16], from = at % 4, to = at / 4 % 4;

        memset(back, '#', sizeof back);
        CHECK(write(ends[1], data + from, count) == count);
        CHECK(read(ends[0], back + to, count) == count);
        for (int i = 0; i < (int)sizeof back; i++)
            CHECK(back[i] == (i >= to && i < to + count ? data[from + i - to]
                                                        : '#'));
    }
    close(ends[0]);
    close(ends[1]);
}

static void no_reader(void)
{
    int ends[2];

    CHECK(pipe(ends) == 0);
    close(ends[0]);
    CHECK(write(ends[1], "x", 1) == -1);
    close(ends[1]);
}

static void no_writer(void)
{
    int ends[2];

    CHECK(pipe(ends) == 0);
    CHECK(write(ends[1], "ab", 2) == 2);
    close(ends[1]);
    CHECK(read(ends[0], data, 10) == 2 && data[0] == 'a');
    CHECK(read(ends[0], data, 10) == 0);
    close(ends[0]);
}

static void ends_have_a_direction(void)
{
    int ends[2];

    CHECK(pipe(ends) == 0);
    CHECK(read(ends[1], data, 1) == -1);
    CHECK(write(ends[0], data, 1) == -1);
    close(ends[0]);
    close(ends[1]);
}

/* A writer that sleeps in a full pipe is told that its last reader went. */
static void reader_leaves_a_full_pipe(void)
{
    int ends[2];

    CHECK(pipe(ends) == 0);
    if (fork_checked() == 0) {
        close(ends[0]);
        CHECK(write(ends[1], data, sizeof data) < (int)sizeof data);
        exit();
    }
    close(ends[1]);
    CHECK(read(ends[0], data, 1) == 1);
    sleep(2);
    close(ends[0]);
    wait_for(1);
}

/* Processes killed while they sleep in pipes, empty and full. */
static void sleepers_can_be_killed(void)
{
    int empty[2], full[2], reader, writer;

    CHECK(pipe(empty) == 0 && pipe(full) == 0);
    if ((reader = fork_checked()) == 0) {
        read(empty[0], data, 1);
        fail("the read came back", __LINE__);
    }
    if ((writer = fork_checked()) == 0) {
        write(full[1], data, sizeof data);
        fail("the write came back", __LINE__);
    }
    sleep(2);
    CHECK(kill(reader) == 0 && kill(writer) == 0);
    wait_for(2);
    for (int i = 0; i < 2; i++) {
        close(empty[i]);
        close(full[i]);
    }
}

/* A token through a ring of processes. */
static void ring(void)
{
    enum { PROCESSES = 10, LAPS = 20 };
    int first[2], in[2], out[2], token = 0;

    CHECK(pipe(first) == 0);
    in[0] = first[0];
    for (int i = 0; i < PROCESSES; i++) {
        CHECK(pipe(out) == 0);
        if (fork_checked() == 0) {
            close(first[1]);
            close(out[0]);
            while (read(in[0], &token, sizeof token) == sizeof token) {
                token++;
                CHECK(write(out[1], &token, sizeof token) == sizeof token);
            }
            exit();
        }
        close(in[0]);
        close(out[1]);
        in[0] = out[0];
    }
    for (int i = 0; i < LAPS; i++) {
        CHECK(write(first[1], &token, sizeof token) == sizeof token);
        CHECK(read(in[0], &token, sizeof token) == sizeof token);
    }
    CHECK(token == PROCESSES * LAPS);
    close(first[1]);
    wait_for(PROCESSES);
    close(in[0]);
}

static void several_writers(void)
{
    enum { WRITERS = 4, TIMES = 50, PART = 61 };
    int ends[2], count[WRITERS] = { 0 }, got;
    char part[PART];

    CHECK(pipe(ends) == 0);
    for (int i = 0; i < WRITERS; i++)
        if (fork_checked() == 0) {
            memset(part, 'a' + i, sizeof part);
            for (int n = 0; n < TIMES; n++)
                CHECK(write(ends[1], part, PART) == PART);
            exit();
        }
    close(ends[1]);
    while ((got = read(ends[0], part, PART)) > 0)
        for (int i = 0; i < got; i++) {
            CHECK(part[i] >= 'a' && part[i] < 'a' + WRITERS);
            count[part[i] - 'a']++;
        }
    for (int i = 0; i < WRITERS; i++)
        CHECK(count[i] == TIMES * PART);
    close(ends[0]);
    wait_for(WRITERS);
}

const struct test pipe_tests[] = {
    { "bytes_come_in_order", bytes_come_in_order },
    { "bytes_lie_anywhere_in_words", bytes_lie_anywhere_in_words },
    { "no_reader", no_reader },
    { "no_writer", no_writer },
    { "ends_have_a_direction", ends_have_a_direction },
    { "reader_leaves_a_full_pipe", reader_leaves_a_full_pipe },
    { "sleepers_can_be_killed", sleepers_can_be_killed },
    { "ring", ring },
    { "several_writers", several_writers },
    { 0, 0 },
};
