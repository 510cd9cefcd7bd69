/*
 * The kernel's options: words NAME=VALUE of the machine's command line. All of
 * them are looked at once, at the start: one that is not known, or whose value
 * is not one, ends the kernel with a message. Other words are left alone, and
 * the first one if it is the path of the kernel's file.
 */
#include "evaluate.h"
#include "kernel.h"

#define TOO_MUCH 1000000000     /* above all that an option may be */

static struct option {
    const char *name;
    int value;              /* at first the usual one */
    int least, most;
    const char *word;       /* the only value, in place of numbers; means 1 */
} options[] = {
    {"fcse", 1, 0, 1, 0},
    {"ahead", 1, 0, 1, 0},
    {"slots", SLOTS, 0, SLOTS, 0},
    {"tick", TICK_MICROSECONDS, TICK_LEAST, TICK_MOST, 0},
    {"disk", 0, 1, 1, "card"},
};

#define END (options + sizeof(options) / sizeof(options[0]))

/* The option whose name begins the text and ends before `stop`; 0 if there is
   none. */
static struct option *find(const char *text, char stop)
{
    for (struct option *one = options; one < END; one++) {
        uint length = strlen(one->name);

        if (strncmp(text, one->name, length) == 0 && text[length] == stop)
            return one;
    }
    return 0;
}

/* What decimal digits say, TOO_MUCH at most; -1 for anything else. */
static int number(const char *text)
{
    int value = *text ? 0 : -1;

    for (; *text && value >= 0; text++) {
        if (*text < '0' || *text > '9')
            return -1;
        value = value < TOO_MUCH / 10 ? value * 10 + *text - '0' : TOO_MUCH;
    }
    return value;
}

static void refuse_value(const struct option *one, const char *text)
{
    printf("option %s: '%s' was found, expected is ", one->name, text);
    if (one->word)
        printf("'%s'\n", one->word);
    else
        printf("a whole number from %d to %d\n", one->least, one->most);
    panic("options_init: an option's value cannot be");
}

static void refuse_name(const char *text)
{
    printf("option '%s' is not known, these are:", text);
    for (const struct option *one = options; one < END; one++)
        printf(" %s", one->name);
    printf("\n");
    panic("options_init: there is no such option");
}

static void read_option(const char *text)
{
    struct option *one = find(text, '=');

    if (one == 0)
        refuse_name(text);
    text += strlen(one->name) + 1;
    if (one->word)
        one->value = strncmp(text, one->word, strlen(one->word) + 1) == 0;
    else
        one->value = number(text);
    if (one->value < one->least || one->value > one->most)
        refuse_value(one, text);
}

static int has(const char *text, char c)
{
    while (*text && *text != c)
        text++;
    return *text == c;
}

void options_init(void)
{
    const char *text;

    for (uint i = 0; (text = command_word(i)) != 0; i++)
        if (find(text, '=') || (has(text, '=') && (i || !has(text, '/'))))
            read_option(text);
}

int option(const char *name)
{
    return find(name, 0)->value;
}
