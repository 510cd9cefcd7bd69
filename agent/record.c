/*
 * What happens in the step that runs: counts, latencies, and what the operation tells. The
 * histogram has a class for every latency below 128 ns, and above for what shares the highest seven
 * bits, so that it is right within 1.6 %.
 */
#include "output.h"

#include <pthread.h>
#include <time.h>

#define CLASSES (128 + 64 * 57)
#define MESSAGE_MAX 400
#define STACK_BYTES (128u << 10)

static struct {
    uint64_t counts[CLASSES];
    uint64_t operations, bytes, sum, least, most;
    uint64_t start, end, limit;
    uint64_t *each; /* 0 unless every latency is asked for */
    size_t each_room;
    int wants_each, is_stopped, is_failed;
    char message[MESSAGE_MAX];
} record;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
/* Held until all threads of a step have been started. */
static pthread_mutex_t gate = PTHREAD_MUTEX_INITIALIZER;

uint64_t now_ns(void)
{
    struct timespec now;

#ifdef CLOCK_MONOTONIC_RAW
    if (clock_gettime(CLOCK_MONOTONIC_RAW, &now))
#endif
        clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

uint64_t since(uint64_t start)
{
    return now_ns() - start;
}

static unsigned class_of(uint64_t ns)
{
    unsigned shift = 0;

    while (ns >> shift >= 128)
        shift++;
    return shift ? 64 + shift * 64 + (unsigned)(ns >> shift) - 64 : (unsigned)ns;
}

static uint64_t least_of(unsigned class)
{
    return class < 128 ? class : (uint64_t)(class % 64 + 64) << (class / 64 - 1);
}

void record_begin(const struct step *step)
{
    uint64_t limit = step_number(step, "limit_ms");

    record.wants_each = step_number(step, "each") != 0;
    record.start = now_ns();
    record.end = 0;
    record.limit = limit ? record.start + limit * 1000000 : UINT64_MAX;
}

static void remember(uint64_t ns)
{
    if (record.operations == record.each_room) {
        size_t room = record.each_room ? record.each_room * 2 : 1024;
        uint64_t *each = realloc(record.each, room * sizeof *each);

        if (each == 0) {
            record.wants_each = 0;
            record.is_failed = 1;
            snprintf(record.message, sizeof record.message, "no memory for every latency");
            return;
        }
        record.each = each;
        record.each_room = room;
    }
    record.each[record.operations] = ns;
}

void record_operation(uint64_t ns, uint64_t bytes)
{
    pthread_mutex_lock(&lock);
    if (record.wants_each)
        remember(ns);
    record.counts[class_of(ns)]++;
    record.operations++;
    record.bytes += bytes;
    record.sum += ns;
    if (record.operations == 1 || ns < record.least)
        record.least = ns;
    if (ns > record.most)
        record.most = ns;
    pthread_mutex_unlock(&lock);
}

void record_end(void)
{
    if (record.end == 0)
        record.end = now_ns();
}

int record_fail_with(int error, const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    pthread_mutex_lock(&lock);
    if (!record.is_failed) {
        int length = vsnprintf(record.message, MESSAGE_MAX, format, arguments);

        record.is_failed = 1;
        if (error && length >= 0 && length < MESSAGE_MAX)
            snprintf(record.message + length, (size_t)(MESSAGE_MAX - length), ": %s",
                     strerror(error));
    }
    pthread_mutex_unlock(&lock);
    va_end(arguments);
    return -1;
}

int record_stopped(void)
{
    if (interrupted() || now_ns() >= record.limit)
        record.is_stopped = 1;
    return record.is_stopped || record.is_failed;
}

struct start {
    pthread_t thread;
    void (*work)(void *item);
    void *item;
};

static void *wait_and_work(void *argument)
{
    struct start *start = argument;

    pthread_mutex_lock(&gate);
    pthread_mutex_unlock(&gate);
    start->work(start->item);
    return 0;
}

void run_together(const struct step *step, unsigned count, void (*work)(void *item), void *items,
                  size_t size)
{
    struct start *starts = calloc(count, sizeof *starts);
    unsigned started = 0;
    pthread_attr_t attributes;

    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, STACK_BYTES);
    pthread_mutex_lock(&gate);
    while (starts && started < count) {
        struct start *start = &starts[started];

        start->work = work;
        start->item = (char *)items + started * size;
        if (pthread_create(&start->thread, &attributes, wait_and_work, start))
            break;
        started++;
    }
    if (started < count)
        record_fail("%u threads cannot be started", count);
    record_begin(step);
    pthread_mutex_unlock(&gate);
    while (started)
        pthread_join(starts[--started].thread, 0);
    pthread_attr_destroy(&attributes);
    free(starts);
}

int record_describe(void)
{
    static const char *const states[] = { "failed", "done", "stopped" };
    int state = record.is_failed ? -1 : record.is_stopped;

    record_end();
    tell_text("state", states[state + 1]);
    if (record.is_failed)
        tell_text("error", record.message);
    tell_number("operations", record.operations);
    tell_number("bytes", record.bytes);
    tell_number("elapsed_ns", record.end - record.start);
    if (record.operations) {
        tell_number("sum_ns", record.sum);
        tell_number("min_ns", record.least);
        tell_number("max_ns", record.most);
        tell(",\"histogram\":[");
        for (unsigned i = 0; i < CLASSES; i++)
            if (record.counts[i])
                tell("%s[%" PRIu64 ",%" PRIu64 "]", comma(), least_of(i), record.counts[i]);
        tell("]");
    }
    if (record.wants_each && record.operations) {
        tell(",\"each_ns\":[");
        for (uint64_t i = 0; i < record.operations; i++)
            tell("%s%" PRIu64, comma(), record.each[i]);
        tell("]");
    }
    free(record.each);
    memset(&record, 0, sizeof record);
    return state;
}
