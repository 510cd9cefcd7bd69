/*
 * What the parts of the program `tests` share. A test is a function that runs
 * in a process of its own, in a directory of its own that is empty; it returns
 * if all was right. Its children may fail() too.
 */
#ifndef TESTS_H
#define TESTS_H

#include "types.h"
#include "user.h"

struct test {
    const char *name;
    void (*run)(void);
};

/* Each ends with a test without a name. */
extern const struct test file_tests[];
extern const struct test directory_tests[];
extern const struct test process_tests[];
extern const struct test memory_tests[];
extern const struct test pipe_tests[];
extern const struct test schedule_tests[];
extern const struct test protection_tests[];

/* Reports the test as failed, ends this process. */
void fail(const char *why, int line) __attribute__((noreturn));

#define CHECK(condition) \
    do { \
        if (!(condition)) \
            fail(#condition, __LINE__); \
    } while (0)

/* fork that works, or the test fails. */
int fork_checked(void);

/* Waits for so many children. */
void wait_for(int children);

/* Does a child process do it, and live to tell? */
int survives(void (*try)(uint), uint with);

/* The same of an access to memory. */
int can_read(uint at);
int can_write(uint at);
int can_execute(uint at);

/* Numbers from 0 to below, by a state that a test keeps. */
uint random_below(uint *state, uint below);

void fill(char *to, int bytes, int seed);
int is_filled(const char *from, int bytes, int seed);

/* A file of so many bytes, filled by seed. */
void make_file(const char *path, int bytes, int seed);
void check_file(const char *path, int bytes, int seed);

#endif
