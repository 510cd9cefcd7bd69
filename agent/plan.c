/*
 * Reads plans; see docs/formats/measurement-plan.md. The text is cut into fields in place and lives
 * as long as the plan. A plan comes from anybody: every error says where it is, what was found and
 * what was expected.
 */
#include "output.h"

#define NAME_MAX_BYTES 64

/* Where the reader is. */
struct reader {
    const char *name; /* of the file */
    int line;
    char *start; /* of the line */
};

static int refuse(const struct reader *reader, const char *at, const char *found,
                  const char *expected)
{
    return complain("%s:%d:%d: found %s, expected %s", reader->name, reader->line,
                    (int)(at - reader->start) + 1, found, expected);
}

/* As refuse(), with a field in quotes, cut off where it is long. */
static int refuse_field(const struct reader *reader, const char *field, const char *expected)
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

static int expect_end(const struct reader *reader, char *rest)
{
    char *more = next_field(&rest);

    return *more ? refuse_field(reader, more, "the end of the line") : 0;
}

int parse_number(const char *text, uint64_t *number)
{
    if (*text == 0 || text[strspn(text, "0123456789")])
        return -1;
    errno = 0;
    *number = strtoull(text, 0, 10);
    return errno || *number > INT64_MAX ? -1 : 0;
}

/* Decodes %XX in place. Returns -1 for a wrong code and for a zero byte. */
static int decode(char *value)
{
    char *to = value;

    for (; *value; value++, to++) {
        unsigned code;

        *to = *value;
        if (*value != '%')
            continue;
        if (strspn(value + 1, "0123456789ABCDEF") < 2)
            return -1;
        sscanf(value + 1, "%2x", &code);
        *to = (char)code;
        if (*to == 0)
            return -1;
        value += 2;
    }
    *to = 0;
    return 0;
}

static int is_name(const char *name)
{
    static const char allowed[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-";
    size_t length = strlen(name);

    return length >= 1 && length <= NAME_MAX_BYTES && strspn(name, allowed) == length;
}

int has_word(const char *list, char separator, const char *word)
{
    size_t length = strlen(word);

    while (list) {
        const char *end = strchr(list, separator);
        size_t this = end ? (size_t)(end - list) : strlen(list);

        if (this == length && memcmp(list, word, length) == 0)
            return 1;
        list = end ? end + 1 : 0;
    }
    return 0;
}

/* Checks a decoded value against its key. */
static int check_value(const struct reader *reader, const struct key *key, struct value *value,
                       const char *at)
{
    char expected[160];

    switch (key->type) {
    case KEY_FLAG:
        if (strcmp(value->text, "0") && strcmp(value->text, "1"))
            return refuse_field(reader, at, "0 or 1");
        value->number = value->text[0] == '1';
        return 0;
    case KEY_WORD:
        if (key->words == 0 || has_word(key->words, ' ', value->text))
            return 0;
        snprintf(expected, sizeof expected, "one of: %s", key->words);
        return refuse_field(reader, at, expected);
    case KEY_PATH:
        return value->text[0] == '/' ? 0 : refuse_field(reader, at, "an absolute path");
    case KEY_NUMBER:
        break;
    }
    if (parse_number(value->text, &value->number) == 0 && value->number >= key->least
        && value->number <= key->most)
        return 0;
    snprintf(expected, sizeof expected, "a number from %" PRIu64 " to %" PRIu64, key->least,
             key->most);
    return refuse_field(reader, at, expected);
}

static const struct key *key_named(const struct operation *operation, const char *name)
{
    for (const struct key *key = operation->keys; key->name; key++)
        if (strcmp(key->name, name) == 0)
            return key;
    return 0;
}

/* One KEY=VALUE of a step. */
static int read_pair(const struct reader *reader, struct step *step, char *field)
{
    char *equals = strchr(field, '='), expected[600] = "a key of the operation:";
    const struct key *key, *keys = step->operation->keys;

    if (equals == 0)
        return refuse_field(reader, field, "KEY=VALUE");
    *equals = 0;
    if (strncmp(field, "predict.", 8) == 0)
        return 0;
    key = key_named(step->operation, field);
    if (key == 0) {
        if (keys->name == 0)
            return refuse_field(reader, field, "the end of the line");
        for (key = keys; key->name; key++) {
            size_t length = strlen(expected);

            snprintf(expected + length, sizeof expected - length, " %s", key->name);
        }
        return refuse_field(reader, field, expected);
    }
    struct value *value = &step->values[key - keys];
    if (value->text)
        return refuse_field(reader, field, "every key once");
    value->text = equals + 1;
    if (decode(equals + 1))
        return refuse_field(reader, equals + 1, "% with two digits 0-9A-F");
    return check_value(reader, key, value, equals + 1);
}

/* The keys that the step does not name. */
static int add_fallbacks(const struct reader *reader, struct step *step, const char *end)
{
    struct value *value = step->values;
    char expected[80];

    for (const struct key *key = step->operation->keys; key->name; key++, value++) {
        if (value->text)
            continue;
        if (key->fallback == 0) {
            snprintf(expected, sizeof expected, "%s=...", key->name);
            return refuse(reader, end, "the end of the step", expected);
        }
        value->text = key->fallback;
        parse_number(value->text, &value->number);
    }
    return 0;
}

static void *grown(void *list, int count, size_t size)
{
    if ((count & (count - 1)) == 0) /* full: its room is a power of 2 */
        list = realloc(list, (count ? 2 * (size_t)count : 1) * size);
    if (list == 0) {
        complain("there is no memory for the plan");
        exit(EXIT_USAGE);
    }
    memset((char *)list + (size_t)count * size, 0, size);
    return list;
}

static int read_step(const struct reader *reader, struct plan *plan, char *rest, const char *text)
{
    char *field = next_field(&rest);

    if (plan->step_count == STEPS_MAX)
        return refuse(reader, reader->start, "another step", "at most 10000");
    if (!is_name(field))
        return refuse_field(reader, field, "a name of 1 to 64 letters, digits, . _ -");
    for (int i = 0; i < plan->step_count; i++)
        if (strcmp(plan->steps[i].name, field) == 0)
            return refuse_field(reader, field, "a name of its own");
    plan->steps = grown(plan->steps, plan->step_count, sizeof *plan->steps);
    struct step *step = &plan->steps[plan->step_count++];
    step->name = field;
    step->text = text;
    field = next_field(&rest);
    step->operation = operation_named(field);
    if (step->operation == 0)
        return refuse_field(reader, field, "an operation");
    while (*(field = next_field(&rest)))
        if (read_pair(reader, step, field))
            return -1;
    return add_fallbacks(reader, step, field);
}

static int read_endurance(const struct reader *reader, struct plan *plan, char *rest)
{
    char *target = next_field(&rest), *cycles = next_field(&rest);

    if (decode(target) || target[0] != '/')
        return refuse_field(reader, target, "an absolute path");
    for (int i = 0; i < plan->endurance_count; i++)
        if (strcmp(plan->endurances[i].target, target) == 0)
            return refuse_field(reader, target, "every target once");
    plan->endurances = grown(plan->endurances, plan->endurance_count, sizeof *plan->endurances);
    struct endurance *endurance = &plan->endurances[plan->endurance_count++];
    endurance->target = target;
    if (parse_number(cycles, &endurance->cycles) || endurance->cycles == 0)
        return refuse_field(reader, cycles, "a number of cycles");
    return expect_end(reader, rest);
}

static int read_scenario(const struct reader *reader, struct plan *plan, char *rest)
{
    char *name = next_field(&rest);

    if (*plan->scenario)
        return refuse(reader, reader->start, "a second scenario", "one");
    if (!is_name(name))
        return refuse_field(reader, name, "the name of a scenario");
    plan->scenario = name;
    return expect_end(reader, rest);
}

/* A line without its newline, and a copy of it that is not cut up. */
static int read_line_of_plan(const struct reader *reader, struct plan *plan, char *line,
                             const char *text)
{
    char *rest = line;

    for (const char *at = line; *at; at++)
        if (*at < ' ' || *at > '~')
            return refuse(reader, at, "a byte that is not printable", "ASCII characters");
    if (line[0] == '#' && reader->line > 1)
        return 0;
    char *word = next_field(&rest);
    if (reader->line == 1) {
        char *version = next_field(&rest);

        if (strcmp(word, "boardlab-plan"))
            return refuse_field(reader, word, "boardlab-plan 1");
        if (strcmp(version, "1"))
            return refuse_field(reader, version, "version 1");
        return expect_end(reader, rest);
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
    if (copy == 0)
        return complain("there is no memory for the plan");
    memcpy(copy, text, length);
    for (; at < end || reader.line == 0; at++) {
        char *newline = memchr(at, '\n', (size_t)(end - at));

        reader.line++;
        reader.start = at;
        if (newline == 0)
            return refuse(&reader, end, "the end of the file",
                          "a newline: the plan may be cut off");
        if (newline - at > LINE_MAX_BYTES)
            return refuse(&reader, at + LINE_MAX_BYTES, "a longer line", "at most 4096 characters");
        *newline = 0;
        if (strlen(at) < (size_t)(newline - at))
            return refuse(&reader, at + strlen(at), "a zero byte", "ASCII characters");
        copy[newline - text] = 0;
        if (read_line_of_plan(&reader, plan, at, copy + (at - text)))
            return -1;
        at = newline;
    }
    reader.start = at;
    return plan->step_count ? 0 : refuse(&reader, at, "no step", "at least one");
}

static const struct value *value_of(const struct step *step, const char *key)
{
    static const struct value none = { "", 0 };
    const struct key *found = key_named(step->operation, key);

    return found ? &step->values[found - step->operation->keys] : &none;
}

uint64_t step_number(const struct step *step, const char *key)
{
    return value_of(step, key)->number;
}

const char *step_text(const struct step *step, const char *key)
{
    return value_of(step, key)->text;
}
