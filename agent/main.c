/*
 * boardlab-agent: does a plan on this board and writes what it measured, a line of JSON a step. See
 * README.md, docs/formats/measurement-plan.md and docs/formats/measurement.md.
 */
#include "output.h"

#define PLAN_MAX_BYTES (16u << 20)

static const char usage[] =
    "usage: boardlab-agent [OPTION]... PLAN\n"
    "does PLAN (- is standard input) and writes the measurements to standard output\n"
    "  --destroy TARGET       write to TARGET, a device or a path as the plan names it\n"
    "  --destroy-data TARGET  the same, though there is data on it\n"
    "  --max-cycles N         refuse plans that wear a block more often (10)\n"
    "  --out FILE             write to FILE, which must not exist\n"
    "  --check                check the plan and its targets; do nothing\n"
    "  --version              the versions of the agent and of plans\n"
    "exit status: 0 complete, 1 partial, 2 usage or plan, 3 refused\n";

static const char version[] = "boardlab-agent " AGENT_VERSION ", plans of version 1\n";

const struct plan *plan_running;

struct options {
    struct permissions allowed;
    const char *plan, *out;
    int check_only;
};

const struct operation *operation_named(const char *name)
{
    static const struct operation *const families[] = {
        mtd_operations, block_operations, ata_operations,
        mmc_operations, file_operations,  cpu_operations,
    };

    for (size_t i = 0; i < COUNT_OF(families); i++)
        for (const struct operation *operation = families[i]; operation->name; operation++)
            if (strcmp(operation->name, name) == 0)
                return operation;
    return 0;
}

int step_writes(const struct step *step)
{
    if (strcmp(step->operation->name, "fs.mount") == 0)
        return !has_word(step_text(step, "options"), ',', "ro")
            || mount_option(step_text(step, "type")) == 0;
    return step->operation->writes;
}

static int misused(const char *what, const char *argument)
{
    complain("%s `%s`", what, argument);
    fputs(usage, stderr);
    return -1;
}

/* Takes one option with its value. Returns -1 after a message. */
static int take(struct options *options, const char *option, const char *value)
{
    struct permissions *allowed = &options->allowed;
    int with_data = strcmp(option, "--destroy-data") == 0;

    if (value == 0)
        return misused("no value after", option);
    if (with_data || strcmp(option, "--destroy") == 0) {
        if (allowed->count == TARGETS_MAX)
            return misused("more than 128 targets at", value);
        allowed->destroy[allowed->count].with_data = with_data;
        allowed->destroy[allowed->count++].target = value;
    } else if (strcmp(option, "--out") == 0) {
        options->out = value;
    } else if (strcmp(option, "--max-cycles")) {
        return misused("unknown option", option);
    } else if (parse_number(value, &allowed->max_cycles)) {
        return misused("not a number of cycles:", value);
    }
    return 0;
}

static int read_options(struct options *options, char **arguments)
{
    for (; *arguments; arguments++) {
        const char *argument = *arguments;

        if (strcmp(argument, "--help") == 0 || strcmp(argument, "--version") == 0) {
            fputs(argument[2] == 'h' ? usage : version, stdout);
            exit(EXIT_COMPLETE);
        } else if (strcmp(argument, "--check") == 0) {
            options->check_only = 1;
        } else if (argument[0] == '-' && argument[1]) {
            if (take(options, argument, *++arguments))
                return -1;
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
    FILE *file = strcmp(name, "-") ? fopen(name, "r") : stdin;
    char *text = malloc(PLAN_MAX_BYTES + 1);

    *length = file && text ? fread(text, 1, PLAN_MAX_BYTES + 1, file) : 0;
    if (file && text && !ferror(file) && *length <= PLAN_MAX_BYTES)
        return text;
    complain("%s: %s", name, *length > PLAN_MAX_BYTES ? "more than 16 MiB" : strerror(errno));
    return 0;
}

static int write_head(const struct plan *plan)
{
    tell("{\"boardlab_measurement\":1,\"agent\":\"%s\",\"plan\":{", AGENT_VERSION);
    tell_text("scenario", plan->scenario);
    tell(",\"steps\":%d,\"crc32\":\"%08" PRIx32 "\"},", plan->step_count, plan->crc);
    board_describe();
    tell(",\"wear\":[");
    target_wear(plan);
    tell("]");
    return tell_line();
}

static int write_refusal(const struct step *step, const char *why)
{
    complain("refused: %s%s%s", step ? step->name : "", step ? ": " : "", why);
    tell("{");
    tell_text("refused", why);
    if (step)
        tell_text("step", step->name);
    tell_line();
    return EXIT_REFUSED;
}

/* Returns 0 done, 1 stopped, -1 failed, -2 when nobody can be told. */
static int run_step(struct step *step)
{
    tell("{");
    tell_text("begin", step->name);
    tell_text("line", step->text);
    if (tell_line())
        return -2;
    tell("{");
    tell_text("step", step->name);
    tell(",\"values\":{");
    step->fd = -1;
    if (step->operation->flags != UNOPENED)
        step->fd = target_open(step, step->operation->flags);
    record_begin(step);
    if (step->fd >= 0 || step->operation->flags == UNOPENED)
        step->operation->run(step);
    if (step->fd >= 0)
        close(step->fd);
    tell("}");
    int state = record_describe();
    board_state();
    return tell_line() ? -2 : state;
}

static int run_plan(const struct plan *plan)
{
    const char *end = "complete";
    int done = 0, failures = 0, state = 0;

    plan_running = plan;
    for (int i = 0; i < plan->step_count && !interrupted() && state != -2; i++) {
        state = run_step(&plan->steps[i]);
        done += state == 0 || (state == 1 && !interrupted());
        failures += state < 0;
    }
    if (failures)
        end = "failed";
    if (interrupted())
        end = "interrupted";
    tell("{\"end\":\"%s\",\"steps\":%d,\"done\":%d,\"restored\":[", end, plan->step_count, done);
    failures += undo_all();
    tell("]");
    if (tell_line() || failures || interrupted())
        return EXIT_PARTIAL;
    return EXIT_COMPLETE;
}

int main(int count, char **arguments)
{
    static struct options options = { .allowed.max_cycles = 10 };
    static struct plan plan;
    const struct step *step = 0;
    size_t length;

    if (read_options(&options, arguments + (count > 0)))
        return EXIT_USAGE;
    char *text = read_text(options.plan, &length);
    if (text == 0 || plan_read(&plan, options.plan, text, length))
        return EXIT_USAGE;
    if (options.out)
        output_fd = open(options.out, O_WRONLY | O_CREAT | O_EXCL, 0666);
    if (output_fd < 0) {
        complain("%s: %s", options.out, strerror(errno));
        return EXIT_USAGE;
    }
    watch_signals();
    target_look(&plan);
    if (write_head(&plan))
        return EXIT_PARTIAL;
    const char *why = target_check(&plan, &options.allowed, &step);
    if (why)
        return write_refusal(step, why);
    return options.check_only ? EXIT_COMPLETE : run_plan(&plan);
}
