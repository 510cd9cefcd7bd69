/*
 * What all files of the agent share: plans, the record of a step, operations and targets. C99 and
 * POSIX with Linux' headers; nothing else.
 *
 * One thread runs the plan. Operations report to record.c, which counts and times; the output
 * writes a line for each. Nothing is written to a target before target_check() of all steps has
 * passed, and all that a step changes beyond data is put back through undo().
 */
#ifndef AGENT_H
#define AGENT_H

/* What nearly all files need of libc. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define AGENT_VERSION "0.1.0"
#define LINE_MAX_BYTES 4096
#define STEPS_MAX 10000
#define KEYS_MAX 32
#define TARGETS_MAX 128

#define COUNT_OF(array) (sizeof(array) / sizeof *(array))

/* Exit status. */
enum { EXIT_COMPLETE = 0, EXIT_PARTIAL = 1, EXIT_USAGE = 2, EXIT_REFUSED = 3 };

/* --- plan.c ------------------------------------------------------------ */

enum key_type { KEY_NUMBER, KEY_FLAG, KEY_WORD, KEY_PATH };

/* A key of an operation. A list of keys ends with a name of 0. */
struct key {
    const char *name;
    enum key_type type;
    const char *fallback; /* as it is written; 0: the key is needed */
    const char *words;    /* of KEY_WORD: "one two three"; 0: any text */
    uint64_t least, most; /* of KEY_NUMBER */
};

struct value {
    const char *text; /* decoded; 0: not yet */
    uint64_t number;  /* of numbers and flags */
};

struct step {
    const char *name;
    const char *text; /* the line of the plan */
    const struct operation *operation;
    struct target *target;         /* what it is about, or 0 */
    int fd;                        /* of the target while it runs, or -1 */
    struct value values[KEYS_MAX]; /* of the keys of the operation */
};

struct endurance {
    const char *target;
    uint64_t cycles;
};

struct plan {
    struct step *steps;
    int step_count;
    struct endurance *endurances;
    int endurance_count;
    const char *scenario; /* "" when the plan names none */
    uint32_t crc;
};

/* Reads a plan. Returns 0, or -1 after a message with line and column. */
int plan_read(struct plan *plan, const char *name, char *text, size_t length);

/* The plan that is run, for steps that depend on later ones. */
extern const struct plan *plan_running;

/* The value of a key: 0 or "" where the operation does not have it. */
uint64_t step_number(const struct step *step, const char *key);
const char *step_text(const struct step *step, const char *key);

/* A decimal number below 2^63. Returns 0, or -1 where it is none. */
int parse_number(const char *text, uint64_t *number);

/* Whether a word is in a list such as "one two" or "one,two". */
int has_word(const char *list, char separator, const char *word);

/* --- record.c: what happens in the step that runs ----------------------- */

/* Nanoseconds of the clock that all latencies are taken with. */
uint64_t now_ns(void);

/* Nanoseconds since then. */
uint64_t since(uint64_t start);

/* Begins to time; for limit_ms and elapsed_ns. */
void record_begin(const struct step *step);

/* One completed operation. Threads may call it at the same time. */
void record_operation(uint64_t ns, uint64_t bytes);

/* Ends elapsed_ns; otherwise the end of the step does. */
void record_end(void);

/* The step failed; the first message counts. Returns -1. */
#define record_fail(...) record_fail_with(0, __VA_ARGS__)
/* As record_fail, with the text of errno after the message. */
#define record_fail_errno(...) record_fail_with(errno, __VA_ARGS__)
int record_fail_with(int error, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Whether the step has to end: its limit is over, or a signal came. */
int record_stopped(void);

/*
 * Does `work` on every one of `count` items of that size in a thread of its own. They begin
 * together, and so does the time of the step. Where not all threads can be had, the step fails.
 */
void run_together(const struct step *step, unsigned count, void (*work)(void *item), void *items,
                  size_t size);

/* --- output.c ---------------------------------------------------------- */

/* A field of an object, for operations a value: a number, a text, bytes as hexadecimal digits. */
void tell_number(const char *name, uint64_t value);
void tell_text(const char *name, const char *value);
void tell_bytes(const char *name, const unsigned char *bytes, size_t size);

/* --- pattern.c --------------------------------------------------------- */

/* The places of a step in the order of its operations. */
struct pattern {
    uint64_t offset, size, places, count;
    uint64_t done;  /* places handed out */
    uint64_t state; /* of splitmix64 */
    int order;      /* 's', 'r' or 'x': random */
};

uint64_t splitmix64(uint64_t *state);

/*
 * The pattern of a step on a device of `capacity` bytes whose smallest unit is `unit`. What of its
 * range is not on the device is cut off; no places may be left.
 */
struct pattern pattern_of(const struct step *step, uint64_t capacity, uint64_t unit);

/* The same. Returns -1 after record_fail() where the range does not fit. */
int pattern_begin(struct pattern *pattern, const struct step *step, uint64_t capacity,
                  uint64_t unit);

/* The next place, or 0 at the end. */
int pattern_next(struct pattern *pattern, uint64_t *at);

/* pwrite() or pread(). */
ssize_t transfer_at(int fd, void *memory, size_t size, uint64_t at, int writes);

/*
 * The data of a step at byte `at`: into memory of `size` bytes. With `wrong`, compares them
 * instead: returns 0 where they differ, and the first wrong byte.
 */
int plan_data(const struct step *step, uint64_t at, unsigned char *memory, size_t size,
              size_t *wrong);

/* --- operations: mtd.c block.c ata.c mmc.c files.c cpu.c ---------------- */

#define UNOPENED (-1)

struct operation {
    const char *name;
    int writes; /* needs --destroy */
    const struct key *keys;
    int flags; /* the target is open so while it runs; UNOPENED: it opens none, or itself */
    /* Runs a step; what goes wrong is in the record. */
    void (*run)(const struct step *step);
};

/* Keys for the lists of operations. */
/* clang-format off */
#define NUMBER(name, fallback, least, most) { name, KEY_NUMBER, fallback, 0, least, most }
#define FLAG(name, fallback) { name, KEY_FLAG, fallback, 0, 0, 1 }
#define WORD(name, fallback, words) { name, KEY_WORD, fallback, words, 0, 0 }
#define DEVICE { "device", KEY_PATH, 0, 0, 0, 0 }
#define PATH { "path", KEY_PATH, 0, 0, 0, 0 }
#define REPEATED NUMBER("limit_ms", "0", 0, INT64_MAX / 1000000), FLAG("each", "0")
#define PATTERN(count_fallback) \
    NUMBER("offset", "0", 0, INT64_MAX), \
    NUMBER("length", "0", 0, INT64_MAX), \
    NUMBER("size", "0", 0, 1u << 30), \
    NUMBER("count", count_fallback, 0, INT64_MAX), \
    WORD("order", "sequential", "sequential reverse random"), \
    NUMBER("seed", "1", 0, INT64_MAX), \
    WORD("data", "random", "random zero ff"), \
    REPEATED
#define END_OF_KEYS { 0, KEY_FLAG, 0, 0, 0, 0 }
/* clang-format on */

extern const struct operation mtd_operations[], block_operations[], ata_operations[],
    mmc_operations[], file_operations[], cpu_operations[];

/* The operation of that name, or 0. */
const struct operation *operation_named(const char *name);

/*
 * What keeps a read-only mount of a filesystem of this type from writing, as the replay of a
 * journal would: an option, or "" where nothing is needed. 0 where it is not known.
 */
const char *mount_option(const char *type);

/* Whether a step writes: of some operations the keys decide. */
int step_writes(const struct step *step);

/* --- target.c ---------------------------------------------------------- */

struct permissions {
    struct {
        const char *target; /* as the plan names it */
        int with_data;      /* --destroy-data, not --destroy: though it has data on it */
    } destroy[TARGETS_MAX];
    int count;
    uint64_t max_cycles; /* --max-cycles */
};

/* Looks at all targets of the plan, for the functions below. */
void target_look(const struct plan *plan);

/*
 * Whether the plan may be done: all targets that are written are named, are what they must be, and
 * are not in use. Returns 0, or why not, and for which step. Remembers what every target was, for
 * target_open().
 */
const char *target_check(const struct plan *plan, const struct permissions *allowed,
                         const struct step **step);

/*
 * Opens the target of a step: exclusively when it writes, and only if it still is what
 * target_check() found, so that a link or a device that was changed between is refused. Returns the
 * descriptor, or -1 after record_fail().
 */
int target_open(const struct step *step, int flags);

/* --- undo.c ------------------------------------------------------------ */

/* Puts a target back as it was. Returns 0, or -1 with errno. */
typedef int back_function(const char *target, const char *detail);

/*
 * `back(target, detail)` is called at the end of the plan, however it ends, and by the signals that
 * can be caught; the last one first. `what` and `name` are told in `restored`. All texts live on.
 * Returns -1 after record_fail() where there are too many.
 */
int undo(back_function *back, const char *target, const char *detail, const char *what,
         const char *name);

/* The detail of what `back` is to put back of that target, or 0. */
const char *undo_detail(back_function *back, const char *target);

/* That target is as it was, or never changed. */
void undo_forget(back_function *back, const char *target);

/* Puts back now what `back` is to put back in that folder. */
void undo_below(back_function *back, const char *folder);

/* Whether a signal asked for the end. */
int interrupted(void);

/* --- board.c ----------------------------------------------------------- */

/* Reads the first line of a file below /sys or /proc; "" when there is none. */
const char *read_line(char *line, size_t size, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

#endif
