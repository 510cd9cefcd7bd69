/*
 * What all files of the agent share: plans, records, operations and targets.
 * C99 and POSIX with Linux' headers; nothing else.
 *
 * One thread runs the plan. Operations report to a record, which counts and
 * times; the output writes a line for each. Nothing is written to a target
 * before target_check() of all steps has passed, and all that a step changes
 * beyond data is put back through undo().
 */
#ifndef AGENT_H
#define AGENT_H

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#define AGENT_VERSION "0.1.0"
#define LINE_MAX_BYTES 4096
#define STEPS_MAX 10000
#define PAIRS_MAX 32

/* Exit status. */
enum { EXIT_COMPLETE = 0, EXIT_PARTIAL = 1, EXIT_USAGE = 2, EXIT_REFUSED = 3 };

/* --- plan.c ------------------------------------------------------------ */

enum key_type { KEY_NUMBER, KEY_FLAG, KEY_WORD, KEY_PATH };

/* A key of an operation. A list of keys ends with a name of 0. */
struct key {
    const char *name;
    enum key_type type;
    const char *fallback;       /* as it is written; 0: the key is needed */
    const char *words;          /* of KEY_WORD: "one two three"; 0: any text */
    uint64_t least, most;       /* of KEY_NUMBER */
};

struct pair {
    const char *key;
    char *value;                /* decoded */
    uint64_t number;            /* of numbers and flags */
    int given;                  /* 0: the fallback */
};

struct step {
    const char *name;
    const char *text;           /* the line of the plan */
    int line;
    const struct operation *operation;
    struct pair pairs[PAIRS_MAX];
    int pair_count;
};

struct endurance {
    char *target;
    uint64_t cycles;
};

struct plan {
    struct step *steps;
    int step_count;
    struct endurance *endurances;
    int endurance_count;
    const char *scenario;       /* "" when the plan names none */
    uint32_t crc;
};

/* Reads a plan. Returns 0, or -1 after a message with line and column. */
int plan_read(struct plan *plan, const char *name, char *text, size_t length);

/* The plan that is run, for steps that depend on later ones. */
extern const struct plan *plan_running;

/* The value of a key that the operation declares. */
uint64_t step_number(const struct step *step, const char *key);
const char *step_text(const struct step *step, const char *key);
int step_given(const struct step *step, const char *key);

/* The device or the path that the step is about; 0 when it has none. */
const char *step_target(const struct step *step);

/* --- record.c ---------------------------------------------------------- */

struct record;

/* Nanoseconds of the clock that all latencies are taken with. */
uint64_t now_ns(void);

/* Begins to time; for limit_ms and elapsed_ns. */
void record_begin(struct record *record, const struct step *step);

/* One completed operation. Threads may call it at the same time. */
void record_operation(struct record *record, uint64_t ns, uint64_t bytes);

/* Ends elapsed_ns; otherwise the end of the step does. */
void record_end(struct record *record);

/* A number or a text for `values`. */
void record_number(struct record *record, const char *name, uint64_t value);
void record_string(struct record *record, const char *name, const char *value);

/* The step failed; the first message counts. Returns -1. */
int record_fail(struct record *record, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* As record_fail, with the text of errno after the message. */
int record_fail_errno(struct record *record, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Whether the step has to end: its limit is over, or a signal came. */
int record_stopped(struct record *record);

/* --- pattern.c --------------------------------------------------------- */

/* The places of a step in the order of its operations. */
struct pattern {
    uint64_t offset, size, places, count;
    uint64_t done;              /* places handed out */
    uint64_t state;             /* of splitmix64 */
    int order;                  /* 's', 'r' or 'x': random */
};

uint64_t splitmix64(uint64_t *state);

/*
 * The pattern of a step on a device of `capacity` bytes whose smallest unit is
 * `unit`. Returns -1 after record_fail() where the range does not fit.
 */
int pattern_begin(struct pattern *pattern, const struct step *step,
                  struct record *record, uint64_t capacity, uint64_t unit);

/* The next place, or 0 at the end. */
int pattern_next(struct pattern *pattern, uint64_t *at);

/* The data of a step at byte `at`: into memory of `size` bytes. */
void data_fill(const struct step *step, uint64_t at, void *memory, size_t size);

/* Whether memory has the data of the step at `at`; the first wrong byte. */
int data_equal(const struct step *step, uint64_t at, const void *memory,
               size_t size, size_t *wrong);

/* What operations are about, for the lists of their keys. */
#define DEVICE { "device", KEY_PATH, 0, 0, 0, 0 }
/* The keys of patterns, for the same lists. */
#define PATTERN_KEYS(count_fallback) \
    { "offset", KEY_NUMBER, "0", 0, 0, INT64_MAX }, \
    { "length", KEY_NUMBER, "0", 0, 0, INT64_MAX }, \
    { "size", KEY_NUMBER, "0", 0, 0, 1u << 30 }, \
    { "count", KEY_NUMBER, count_fallback, 0, 0, INT64_MAX }, \
    { "order", KEY_WORD, "sequential", "sequential reverse random", 0, 0 }, \
    { "seed", KEY_NUMBER, "1", 0, 0, INT64_MAX }, \
    { "data", KEY_WORD, "random", "random zero ff", 0, 0 }, \
    COMMON_KEYS
#define COMMON_KEYS \
    { "limit_ms", KEY_NUMBER, "0", 0, 0, INT64_MAX / 1000000 }, \
    { "each", KEY_FLAG, "0", 0, 0, 1 }
#define NO_MORE_KEYS { 0, KEY_FLAG, 0, 0, 0, 0 }

/* --- operations: mtd.c block.c ata.c mmc.c files.c cpu.c ---------------- */

struct operation {
    const char *name;
    int writes;                 /* needs --destroy */
    const struct key *keys;
    /* Runs a step; what goes wrong is in the record. */
    void (*run)(const struct step *step, struct record *record);
};

extern const struct operation mtd_operations[], block_operations[],
    ata_operations[], mmc_operations[], file_operations[], cpu_operations[];

/* The operation of that name, or 0. */
const struct operation *operation_named(const char *name);
/*
 * What keeps a read-only mount of a filesystem of this type from writing, as
 * the replay of a journal would: an option, or "" where nothing is needed. 0
 * where it is not known.
 */
const char *mount_option(const char *type);
/* Whether a step writes: of some operations the keys decide. */
int step_writes(const struct step *step);

/* --- target.c ---------------------------------------------------------- */

struct permissions {
    const char **destroy;       /* --destroy: targets as the plan names them */
    int destroy_count;
    const char **destroy_data;  /* --destroy-data: though it has data on it */
    int destroy_data_count;
    uint64_t max_cycles;        /* --max-cycles */
};

/*
 * Whether the plan may be done: all targets that are written are named, are what
 * they must be, and are not in use. Returns 0, or -1 with why in `why`.
 * Remembers what every target was, for target_open().
 */
int target_check(const struct plan *plan, const struct permissions *allowed,
                 const struct step **step, char *why, size_t size);

/*
 * Opens the target of a step: exclusively when it writes, and only if it still
 * is what target_check() found, so that a link or a device that was changed
 * between is refused. Returns the descriptor, or -1 after record_fail().
 */
int target_open(const struct step *step, struct record *record, int flags);

/*
 * Wear of the whole plan: for every target the cycles of its most worn block.
 * `each` is called for every target that is written.
 */
void target_wear(const struct plan *plan,
                 void (*each)(void *data, const char *target, uint64_t cycles,
                              uint64_t endurance), void *data);

/* --- undo.c ------------------------------------------------------------ */

/*
 * `back(argument)` is called at the end of the plan, however it ends, and by
 * the signals that can be caught; the last one first. It returns 0 when it is
 * as it was. `what` is told in `restored`. Returns a number for undo_now().
 */
int undo(int (*back)(const char *argument), const char *argument,
         const char *what);

/* Does it now, and not at the end. Returns what `back` returned. */
int undo_now(int number);

/* Whether a signal asked for the end. */
int interrupted(void);

/* --- board.c ----------------------------------------------------------- */

/* Reads the first line of a file below /sys or /proc; "" when there is none. */
const char *read_line(char *line, size_t size, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

#endif
