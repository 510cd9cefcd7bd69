/*
 * boardlab-agent: does a plan on this board and writes what it measured, a
 * line of JSON a step. See README.md, docs/formats/measurement-plan.md and
 * docs/formats/measurement.md.
 */
#include "agent.h"
#include "output.h"
#include "undo.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PLAN_MAX_BYTES (16u << 20)
#define TARGETS_MAX 64

static const char usage[] =
    "usage: boardlab-agent [OPTION]... PLAN\n"
    "does PLAN (- is standard input) and writes the measurements to standard "
    "output\n"
    "  --destroy TARGET       write to TARGET, a device or a path as the plan "
    "names it\n"
    "  --destroy-data TARGET  the same, though there is data on it\n"
    "  --max-cycles N         refuse plans that wear a block more often (10)\n"
    "  --out FILE             write to FILE, which must not exist\n"
    "  --check                check the plan and its targets; do nothing\n"
    "  --version              the versions of the agent and of plans\n"
    "exit status: 0 complete, 1 partial, 2 usage or plan, 3 refused\n";

const struct plan *plan_running;

struct options {
    struct permissions allowed;
    const char *plan, *out;
    int check_only;
};

static const struct operation *const families[] = {
    mtd_operations, block_operations, ata_operations, mmc_operations,
    file_operations, cpu_operations,
};

const struct operation *operation_named(const char *name)
{
    const struct operation *operation;
    size_t i;

    for (i = 0; i < sizeof families / sizeof *families; i++)
        for (operation = families[i]; operation->name; operation++)
            if (strcmp(operation->name, name) == 0)
                return operation;
    return 0;
}

static int is_read_only(const char *options)
{
    const char *at;

    for (at = options; at; at = strchr(at, ',') ? strchr(at, ',') + 1 : 0)
        if (strncmp(at, "ro", 2) == 0 && (at[2] == ',' || at[2] == 0))
            return 1;
    return 0;
}

int step_writes(const struct step *step)
{
    if (strcmp(step->operation->name, "fs.mount") == 0)
        return !is_read_only(step_text(step, "options"))
            || mount_option(step_text(step, "type")) == 0;
    return step->operation->writes;
}

static int misused(const char *what, const char *argument)
{
    fprintf(stderr, "boardlab-agent: %s `%s`\n%s", what, argument, usage);
    return -1;
}

static int add_target(const char **list, int *count, const char *target)
{
    if (*count == TARGETS_MAX)
        return misused("more than 64 targets at", target);
    list[(*count)++] = target;
    return 0;
}

/* Takes one option with its value. Returns -1 after a message. */
static int take(struct options *options, const char *option, const char *value)
{
    struct permissions *allowed = &options->allowed;
    char *end;

    if (value == 0)
        return misused("no value after", option);
    if (strcmp(option, "--destroy") == 0)
        return add_target(allowed->destroy, &allowed->destroy_count, value);
    if (strcmp(option, "--destroy-data") == 0)
        return add_target(allowed->destroy_data, &allowed->destroy_data_count,
                          value);
    if (strcmp(option, "--out") == 0) {
        options->out = value;
        return 0;
    }
    if (strcmp(option, "--max-cycles"))
        return misused("unknown option", option);
    errno = 0;
    allowed->max_cycles = strtoull(value, &end, 10);
    if (*value < '0' || *value > '9' || *end || errno)
        return misused("not a number of cycles:", value);
    return 0;
}

static int read_options(struct options *options, int count, char **arguments)
{
    int i;

    for (i = 1; i < count; i++) {
        const char *argument = arguments[i];

        if (strcmp(argument, "--help") == 0) {
            fputs(usage, stdout);
            exit(EXIT_COMPLETE);
        } else if (strcmp(argument, "--version") == 0) {
            printf("boardlab-agent %s, plans of version 1\n", AGENT_VERSION);
            exit(EXIT_COMPLETE);
        } else if (strcmp(argument, "--check") == 0) {
            options->check_only = 1;
        } else if (argument[0] == '-' && argument[1]) {
            if (take(options, argument, arguments[i + 1]))
                return -1;
            i++;
        } else if (options->plan) {
            return misused("a second plan", argument);
        } else {
            options->plan = argument;
        }
    }
    return options->plan ? 0 : misused("no plan", "");
}

/* The text of a plan, which lives to the end. */
static char *read_text(const char *name, size_t *length)
{
    int fd = strcmp(name, "-") ? open(name, O_RDONLY) : STDIN_FILENO;
    char *text = malloc(PLAN_MAX_BYTES + 1);
    ssize_t got = 1;

    *length = 0;
    if (fd < 0 || text == 0) {
        fprintf(stderr, "boardlab-agent: %s: %s\n", name, strerror(errno));
        return 0;
    }
    while (got > 0 && *length <= PLAN_MAX_BYTES) {
        got = read(fd, text + *length, PLAN_MAX_BYTES + 1 - *length);
        *length += got > 0 ? (size_t)got : 0;
    }
    if (got < 0 || *length > PLAN_MAX_BYTES) {
        fprintf(stderr, "boardlab-agent: %s: %s\n", name,
                got < 0 ? strerror(errno) : "more than 16 MiB");
        return 0;
    }
    return text;
}

static void describe_wear(void *data, const char *target, uint64_t cycles,
                          uint64_t endurance)
{
    struct text *text = data;

    fprintf(stderr, "boardlab-agent: %s: the plan takes %llu cycles", target,
            (unsigned long long)cycles);
    if (endurance)
        fprintf(stderr, " of %llu", (unsigned long long)endurance);
    fputc('\n', stderr);
    text_format(text, "%s{\"target\":",
                text->bytes[text->length - 1] == '[' ? "" : ",");
    text_string(text, target);
    text_format(text, ",\"cycles\":%llu", (unsigned long long)cycles);
    if (endurance)
        text_format(text, ",\"endurance\":%llu", (unsigned long long)endurance);
    text_format(text, "}");
}

static int write_head(const struct plan *plan)
{
    struct text text = { 0, 0, 0 };

    text_format(&text, "{\"boardlab_measurement\":1,\"agent\":\"%s\","
                "\"plan\":{\"scenario\":", AGENT_VERSION);
    text_string(&text, plan->scenario);
    text_format(&text, ",\"steps\":%d,\"crc32\":\"%08lx\"}", plan->step_count,
                (unsigned long)plan->crc);
    board_describe(&text);
    text_format(&text, ",\"wear\":[");
    target_wear(plan, describe_wear, &text);
    text_format(&text, "]");
    return text_write_line(&text);
}

static int write_refusal(const struct step *step, const char *why)
{
    struct text text = { 0, 0, 0 };

    fprintf(stderr, "boardlab-agent: refused: %s%s%s\n",
            step ? step->name : "", step ? ": " : "", why);
    text_format(&text, "{\"refused\":");
    text_string(&text, why);
    if (step) {
        text_format(&text, ",\"step\":");
        text_string(&text, step->name);
    }
    text_write_line(&text);
    return EXIT_REFUSED;
}

/* Returns 0 done, 1 stopped, -1 failed, -2 when nobody can be told. */
static int run_step(const struct step *step)
{
    struct record *record = record_new();
    struct text text = { 0, 0, 0 };
    int state;

    text_format(&text, "{\"begin\":");
    text_string(&text, step->name);
    text_format(&text, ",\"line\":");
    text_string(&text, step->text);
    if (record == 0 || text_write_line(&text))
        return -2;
    record_begin(record, step);
    step->operation->run(step, record);
    text_format(&text, "{\"step\":");
    text_string(&text, step->name);
    state = record_describe(record, &text);
    board_state(&text);
    if (text_write_line(&text))
        state = -2;
    free(text.bytes);
    return state;
}

static int run_plan(const struct plan *plan)
{
    struct text text = { 0, 0, 0 };
    const char *end = "complete";
    int done = 0, failures = 0, i, state = 0;

    plan_running = plan;
    for (i = 0; i < plan->step_count && !interrupted() && state != -2; i++) {
        state = run_step(&plan->steps[i]);
        done += state == 0 || (state == 1 && !interrupted());
        failures += state < 0;
    }
    if (failures)
        end = "failed";
    if (interrupted())
        end = "interrupted";
    text_format(&text, "{\"end\":\"%s\",\"steps\":%d,\"done\":%d,\"restored\":[",
                end, plan->step_count, done);
    failures += undo_all(&text);
    text_format(&text, "]");
    if (text_write_line(&text) || failures || interrupted())
        return EXIT_PARTIAL;
    return EXIT_COMPLETE;
}

int main(int count, char **arguments)
{
    static const char *destroy[TARGETS_MAX], *destroy_data[TARGETS_MAX];
    struct options options = {
        { destroy, 0, destroy_data, 0, 10 }, 0, 0, 0
    };
    const struct step *step = 0;
    struct plan plan;
    char why[400], *text;
    size_t length;

    if (read_options(&options, count, arguments))
        return EXIT_USAGE;
    text = read_text(options.plan, &length);
    if (text == 0 || plan_read(&plan, options.plan, text, length))
        return EXIT_USAGE;
    if (options.out)
        output_fd = open(options.out, O_WRONLY | O_CREAT | O_EXCL, 0666);
    if (output_fd < 0) {
        fprintf(stderr, "boardlab-agent: %s: %s\n", options.out,
                strerror(errno));
        return EXIT_USAGE;
    }
    watch_signals();
    if (write_head(&plan))
        return EXIT_PARTIAL;
    if (target_check(&plan, &options.allowed, &step, why, sizeof why))
        return write_refusal(step, why);
    return options.check_only ? EXIT_COMPLETE : run_plan(&plan);
}
