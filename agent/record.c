/*
 * What happened in a step: counts, latencies, and what the operation tells.
 * The histogram has a class for every latency below 128 ns, and above for what
 * shares the highest seven bits, so that it is right within 1.6 %.
 */
#include "agent.h"
#include "output.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define CLASSES (128 + 64 * 57)
#define MESSAGE_MAX 400

struct record {
    pthread_mutex_t lock;
    uint64_t counts[CLASSES];
    uint64_t operations, bytes, sum, least, most;
    uint64_t start, end, limit;
    uint64_t *each;             /* 0 unless every latency is asked for */
    size_t each_room;
    int wants_each, is_stopped, is_failed;
    char message[MESSAGE_MAX];
    struct text values;
};

uint64_t now_ns(void)
{
    struct timespec now;

#ifdef CLOCK_MONOTONIC_RAW
    if (clock_gettime(CLOCK_MONOTONIC_RAW, &now))
#endif
        clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
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
    unsigned shift = class < 128 ? 0 : class / 64 - 1;

    return shift ? (uint64_t)(class % 64 + 64) << shift : class;
}

struct record *record_new(void)
{
    struct record *record = calloc(1, sizeof *record);

    if (record) {
        pthread_mutex_init(&record->lock, 0);
        record->least = UINT64_MAX;
    }
    return record;
}

void record_begin(struct record *record, const struct step *step)
{
    uint64_t limit = step_number(step, "limit_ms");

    record->wants_each = step_number(step, "each") != 0;
    record->start = now_ns();
    record->end = 0;
    record->limit = limit ? record->start + limit * 1000000 : UINT64_MAX;
}

static void remember(struct record *record, uint64_t ns)
{
    size_t room = record->each_room ? record->each_room * 2 : 1024;

    if (record->operations == record->each_room) {
        uint64_t *each = realloc(record->each, room * sizeof *each);

        if (each == 0) {
            record->wants_each = 0;
            snprintf(record->message, sizeof record->message,
                     "no memory for every latency");
            record->is_failed = 1;
            return;
        }
        record->each = each;
        record->each_room = room;
    }
    record->each[record->operations] = ns;
}

void record_operation(struct record *record, uint64_t ns, uint64_t bytes)
{
    pthread_mutex_lock(&record->lock);
    if (record->wants_each)
        remember(record, ns);
    record->counts[class_of(ns)]++;
    record->operations++;
    record->bytes += bytes;
    record->sum += ns;
    if (ns < record->least)
        record->least = ns;
    if (ns > record->most)
        record->most = ns;
    pthread_mutex_unlock(&record->lock);
}

void record_end(struct record *record)
{
    if (record->end == 0)
        record->end = now_ns();
}

void record_number(struct record *record, const char *name, uint64_t value)
{
    text_format(&record->values, "%s", record->values.length ? "," : "");
    text_string(&record->values, name);
    text_format(&record->values, ":%llu", (unsigned long long)value);
}

void record_string(struct record *record, const char *name, const char *value)
{
    text_format(&record->values, "%s", record->values.length ? "," : "");
    text_string(&record->values, name);
    text_format(&record->values, ":");
    text_string(&record->values, value);
}

static int fail(struct record *record, const char *format, va_list arguments,
                const char *reason)
{
    size_t length;

    pthread_mutex_lock(&record->lock);
    if (!record->is_failed) {
        record->is_failed = 1;
        vsnprintf(record->message, sizeof record->message, format, arguments);
        length = strlen(record->message);
        if (reason)
            snprintf(record->message + length,
                     sizeof record->message - length, ": %s", reason);
    }
    pthread_mutex_unlock(&record->lock);
    return -1;
}

int record_fail(struct record *record, const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    fail(record, format, arguments, 0);
    va_end(arguments);
    return -1;
}

int record_fail_errno(struct record *record, const char *format, ...)
{
    const char *reason = strerror(errno);
    va_list arguments;

    va_start(arguments, format);
    fail(record, format, arguments, reason);
    va_end(arguments);
    return -1;
}

int record_stopped(struct record *record)
{
    if (interrupted() || now_ns() >= record->limit)
        record->is_stopped = 1;
    return record->is_stopped || record->is_failed;
}

int record_describe(struct record *record, struct text *text)
{
    const char *state = record->is_failed ? "failed"
        : record->is_stopped ? "stopped" : "done";
    const char *comma = "";
    unsigned i;
    size_t n;

    record_end(record);
    text_format(text, ",\"state\":\"%s\"", state);
    if (record->is_failed) {
        text_format(text, ",\"error\":");
        text_string(text, record->message);
    }
    text_format(text, ",\"operations\":%llu,\"bytes\":%llu,\"elapsed_ns\":%llu",
                (unsigned long long)record->operations,
                (unsigned long long)record->bytes,
                (unsigned long long)(record->end - record->start));
    if (record->operations) {
        text_format(text, ",\"sum_ns\":%llu,\"min_ns\":%llu,\"max_ns\":%llu",
                    (unsigned long long)record->sum,
                    (unsigned long long)record->least,
                    (unsigned long long)record->most);
        text_format(text, ",\"histogram\":[");
        for (i = 0; i < CLASSES; i++)
            if (record->counts[i]) {
                text_format(text, "%s[%llu,%llu]", comma,
                            (unsigned long long)least_of(i),
                            (unsigned long long)record->counts[i]);
                comma = ",";
            }
        text_format(text, "]");
    }
    if (record->wants_each && record->each) {
        text_format(text, ",\"each_ns\":[");
        for (n = 0; n < record->operations; n++)
            text_format(text, "%s%llu", n ? "," : "",
                        (unsigned long long)record->each[n]);
        text_format(text, "]");
    }
    if (record->values.length)
        text_format(text, ",\"values\":{%s}", record->values.bytes);
    i = record->is_failed ? 2 : (unsigned)record->is_stopped;
    free(record->values.bytes);
    free(record->each);
    pthread_mutex_destroy(&record->lock);
    free(record);
    return i == 2 ? -1 : (int)i;
}
