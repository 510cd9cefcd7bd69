/*
 * Reads plans; see docs/formats/measurement-plan.md. The text is cut into
 * fields in place and lives as long as the plan. A plan comes from anybody:
 * every error says where it is, what was found and what was expected.
 */
#include "agent.h"
#include "output.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NAME_MAX_BYTES 64

/* Where the reader is. */
struct reader {
    const char *name;           /* of the file */
    int line;
    char *start;                /* of the line */
};

static int refuse(const struct reader *reader, const char *at,
                  const char *found, const char *expected)
{
    fprintf(stderr, "boardlab-agent: %s:%d:%d: found %s, expected %s\n",
            reader->name, reader->line, (int)(at - reader->start) + 1, found,
            expected);
    return -1;
}

/* As refuse(), with a field in quotes, cut off where it is long. */
static int refuse_field(const struct reader *reader, const char *field,
                        const char *expected)
{
    char found[80];

    if (*field == 0)
        return refuse(reader, field, "the end of the line", expected);
    snprintf(found, sizeof found, "`%.60s`", field);
    return refuse(reader, field, found, expected);
}

/* The next field, ended by a zero, or an empty one. */
static char *next_field(char **rest)
{
    char *field = *rest + strspn(*rest, " ");
    char *end = field + strcspn(field, " ");

    *rest = *end ? end + 1 : end;
    *end = 0;
    return field;
}

static int parse_number(const char *digits, uint64_t *number)
{
    uint64_t value = 0;

    if (*digits == 0)
        return -1;
    for (; *digits; digits++) {
        unsigned digit = (unsigned)(*digits - '0');

        if (digit > 9 || value > ((uint64_t)INT64_MAX - digit) / 10)
            return -1;
        value = value * 10 + digit;
    }
    *number = value;
    return 0;
}

static int hex(char digit)
{
    if (digit >= '0' && digit <= '9')
        return digit - '0';
    return digit >= 'A' && digit <= 'F' ? digit - 'A' + 10 : -1;
}

/* Decodes %XX in place. Returns -1 for a wrong code and for a zero byte. */
static int decode(char *value)
{
    char *to = value;

    for (; *value; value++, to++) {
        *to = *value;
        if (*value != '%')
            continue;
        if (hex(value[1]) < 0 || hex(value[2]) < 0)
            return -1;
        *to = (char)(hex(value[1]) * 16 + hex(value[2]));
        if (*to == 0)
            return -1;
        value += 2;
    }
    *to = 0;
    return 0;
}

static int is_name(const char *name)
{
    static const char allowed[] = "abcdefghijklmnopqrstuvwxyz"
        "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-";
    size_t length = strlen(name);

    return length >= 1 && length <= NAME_MAX_BYTES
        && strspn(name, allowed) == length;
}

static int is_one_of(const char *words, const char *word)
{
    size_t length = strlen(word);

    while (*words) {
        size_t this = strcspn(words, " ");

        if (this == length && memcmp(words, word, length) == 0)
            return 1;
        words += this + (words[this] == ' ');
    }
    return 0;
}

/* Checks a decoded value against its key. */
static int check_value(const struct reader *reader, const struct key *key,
                       struct pair *pair, const char *at)
{
    char expected[160];

    switch (key->type) {
    case KEY_FLAG:
        if (strcmp(pair->value, "0") && strcmp(pair->value, "1"))
            return refuse_field(reader, at, "0 or 1");
        pair->number = pair->value[0] == '1';
        return 0;
    case KEY_WORD:
        if (key->words == 0 || is_one_of(key->words, pair->value))
            return 0;
        snprintf(expected, sizeof expected, "one of: %s", key->words);
        return refuse_field(reader, at, expected);
    case KEY_PATH:
        if (pair->value[0] == '/')
            return 0;
        return refuse_field(reader, at, "an absolute path");
    case KEY_NUMBER:
        break;
    }
    if (parse_number(pair->value, &pair->number) == 0
        && pair->number >= key->least && pair->number <= key->most)
        return 0;
    snprintf(expected, sizeof expected, "a number from %llu to %llu",
             (unsigned long long)key->least, (unsigned long long)key->most);
    return refuse_field(reader, at, expected);
}

static const struct key *key_named(const struct operation *operation,
                                   const char *name)
{
    const struct key *key;

    for (key = operation->keys; key->name; key++)
        if (strcmp(key->name, name) == 0)
            return key;
    return 0;
}

static struct pair *pair_of(const struct step *step, const char *key)
{
    int i;

    for (i = 0; i < step->pair_count; i++)
        if (strcmp(step->pairs[i].key, key) == 0)
            return (struct pair *)&step->pairs[i];
    return 0;
}

/* One KEY=VALUE of a step. */
static int read_pair(const struct reader *reader, struct step *step,
                     char *field)
{
    char *equals = strchr(field, '=');
    const struct key *key;
    struct pair *pair;

    if (equals == 0)
        return refuse_field(reader, field, "KEY=VALUE");
    *equals = 0;
    if (strncmp(field, "predict.", 8) == 0)
        return 0;
    key = key_named(step->operation, field);
    if (key == 0) {
        char expected[600] = "a key of the operation:";

        for (key = step->operation->keys; key->name; key++) {
            strncat(expected, " ", sizeof expected - strlen(expected) - 1);
            strncat(expected, key->name,
                    sizeof expected - strlen(expected) - 1);
        }
        return refuse_field(reader, field, expected);
    }
    if (pair_of(step, field))
        return refuse_field(reader, field, "every key once");
    pair = &step->pairs[step->pair_count++];
    pair->key = key->name;
    pair->value = equals + 1;
    pair->given = 1;
    if (decode(pair->value))
        return refuse_field(reader, equals + 1, "% with two digits 0-9A-F");
    return check_value(reader, key, pair, equals + 1);
}

/* The keys that the step does not name. */
static int add_fallbacks(const struct reader *reader, struct step *step,
                         const char *end)
{
    const struct key *key;

    for (key = step->operation->keys; key->name; key++) {
        struct pair *pair;
        char expected[80];

        if (pair_of(step, key->name))
            continue;
        if (key->fallback == 0) {
            snprintf(expected, sizeof expected, "%s=...", key->name);
            return refuse(reader, end, "the end of the step", expected);
        }
        pair = &step->pairs[step->pair_count++];
        pair->key = key->name;
        pair->value = (char *)key->fallback;
        if (key->type == KEY_NUMBER || key->type == KEY_FLAG)
            parse_number(key->fallback, &pair->number);
    }
    return 0;
}

static void *grown(void *list, int count, size_t size)
{
    if ((count & (count - 1)) == 0)     /* full: its room is a power of 2 */
        list = realloc(list, (count ? 2 * (size_t)count : 1) * size);
    if (list == 0) {
        fprintf(stderr, "boardlab-agent: there is no memory for the plan\n");
        exit(EXIT_USAGE);
    }
    memset((char *)list + (size_t)count * size, 0, size);
    return list;
}

static int read_step(const struct reader *reader, struct plan *plan,
                     char *rest, const char *text)
{
    struct step *step;
    char *field = next_field(&rest);
    int i;

    if (plan->step_count == STEPS_MAX)
        return refuse(reader, reader->start, "another step", "at most 10000");
    if (!is_name(field))
        return refuse_field(reader, field,
                            "a name of 1 to 64 letters, digits, . _ -");
    for (i = 0; i < plan->step_count; i++)
        if (strcmp(plan->steps[i].name, field) == 0)
            return refuse_field(reader, field, "a name of its own");
    plan->steps = grown(plan->steps, plan->step_count, sizeof *plan->steps);
    step = &plan->steps[plan->step_count++];
    step->name = field;
    step->text = text;
    step->line = reader->line;
    field = next_field(&rest);
    step->operation = operation_named(field);
    if (step->operation == 0)
        return refuse_field(reader, field, "an operation");
    while (*(field = next_field(&rest)))
        if (read_pair(reader, step, field))
            return -1;
    return add_fallbacks(reader, step, field);
}

static int read_endurance(const struct reader *reader, struct plan *plan,
                          char *rest)
{
    struct endurance *endurance;
    char *target = next_field(&rest), *cycles = next_field(&rest);
    int i;

    if (decode(target) || target[0] != '/')
        return refuse_field(reader, target, "an absolute path");
    for (i = 0; i < plan->endurance_count; i++)
        if (strcmp(plan->endurances[i].target, target) == 0)
            return refuse_field(reader, target, "every target once");
    plan->endurances = grown(plan->endurances, plan->endurance_count,
                             sizeof *plan->endurances);
    endurance = &plan->endurances[plan->endurance_count++];
    endurance->target = target;
    if (parse_number(cycles, &endurance->cycles) || endurance->cycles == 0)
        return refuse_field(reader, cycles, "a number of cycles");
    cycles = next_field(&rest);
    return *cycles ? refuse_field(reader, cycles, "the end of the line") : 0;
}

static int read_scenario(const struct reader *reader, struct plan *plan,
                         char *rest)
{
    char *name = next_field(&rest), *more = next_field(&rest);

    if (*plan->scenario)
        return refuse(reader, reader->start, "a second scenario", "one");
    if (!is_name(name))
        return refuse_field(reader, name, "the name of a scenario");
    plan->scenario = name;
    return *more ? refuse_field(reader, more, "the end of the line") : 0;
}

/* A line without its newline, and a copy of it that is not cut up. */
static int read_line_of_plan(const struct reader *reader, struct plan *plan,
                             char *line, const char *text)
{
    char *rest = line, *word;
    size_t i, length = strlen(line);

    for (i = 0; i < length; i++)
        if (line[i] < ' ' || line[i] > '~')
            return refuse(reader, line + i, "a byte that is not printable",
                          "ASCII characters");
    if (line[0] == '#' && reader->line > 1)
        return 0;
    word = next_field(&rest);
    if (reader->line == 1) {
        char *version = next_field(&rest), *more = next_field(&rest);

        if (strcmp(word, "boardlab-plan"))
            return refuse_field(reader, word, "boardlab-plan 1");
        if (strcmp(version, "1"))
            return refuse_field(reader, version, "version 1");
        return *more ? refuse_field(reader, more, "the end of the line") : 0;
    }
    if (*word == 0)
        return 0;
    if (strcmp(word, "step") == 0)
        return read_step(reader, plan, rest, text);
    if (strcmp(word, "endurance") == 0)
        return read_endurance(reader, plan, rest);
    if (strcmp(word, "scenario") == 0)
        return read_scenario(reader, plan, rest);
    return refuse_field(reader, word, "step, scenario or endurance");
}

int plan_read(struct plan *plan, const char *name, char *text, size_t length)
{
    struct reader reader = { name, 0, text };
    char *copy = malloc(length + 1), *at = text, *end = text + length;

    memset(plan, 0, sizeof *plan);
    plan->scenario = "";
    plan->crc = crc32_of(0, text, length);
    if (copy == 0) {
        fprintf(stderr, "boardlab-agent: there is no memory for the plan\n");
        return -1;
    }
    memcpy(copy, text, length);
    copy[length] = 0;
    while (at < end || reader.line == 0) {
        char *newline = memchr(at, '\n', (size_t)(end - at));

        reader.line++;
        reader.start = at;
        if (newline == 0)
            return refuse(&reader, end, "the end of the file",
                          "a newline: the plan may be cut off");
        if (newline - at > LINE_MAX_BYTES)
            return refuse(&reader, at + LINE_MAX_BYTES, "a longer line",
                          "at most 4096 characters");
        if (memchr(at, 0, (size_t)(newline - at)))
            return refuse(&reader, at + strlen(at), "a zero byte",
                          "ASCII characters");
        *newline = 0;
        copy[newline - text] = 0;
        if (read_line_of_plan(&reader, plan, at, copy + (at - text)))
            return -1;
        at = newline + 1;
    }
    reader.start = at;
    if (plan->step_count == 0)
        return refuse(&reader, at, "no step", "at least one");
    return 0;
}

uint64_t step_number(const struct step *step, const char *key)
{
    const struct pair *pair = pair_of(step, key);

    return pair ? pair->number : 0;
}

const char *step_text(const struct step *step, const char *key)
{
    const struct pair *pair = pair_of(step, key);

    return pair ? pair->value : "";
}

int step_given(const struct step *step, const char *key)
{
    const struct pair *pair = pair_of(step, key);

    return pair ? pair->given : 0;
}

const char *step_target(const struct step *step)
{
    const struct pair *pair = pair_of(step, "device");

    if (pair == 0)
        pair = pair_of(step, "path");
    return pair ? pair->value : 0;
}
