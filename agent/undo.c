/*
 * What a plan changes beyond data is put back at its end, and when a signal asks for the end. Only
 * kill -9 and a power cut leave it changed.
 */
#include "output.h"

#include <signal.h>

#define CHANGES_MAX 16

static struct change {
    back_function *back; /* 0: it is as it was */
    const char *target, *detail, *what, *name;
} changes[CHANGES_MAX];
static int change_count;
static volatile sig_atomic_t was_interrupted;

static void interrupt(int signal)
{
    (void)signal;
    was_interrupted = 1;
}

void watch_signals(void)
{
    static const int signals[] = { SIGINT, SIGTERM, SIGHUP };
    struct sigaction action = { .sa_handler = interrupt }; /* without SA_RESTART: calls end */

    for (size_t i = 0; i < COUNT_OF(signals); i++)
        sigaction(signals[i], &action, 0);
    action.sa_handler = SIG_IGN; /* the failed write tells */
    sigaction(SIGPIPE, &action, 0);
}

int interrupted(void)
{
    return was_interrupted != 0;
}

static struct change *change_of(back_function *back, const char *target)
{
    for (int i = 0; i < change_count; i++)
        if (changes[i].back == back && strcmp(changes[i].target, target) == 0)
            return &changes[i];
    return 0;
}

int undo(back_function *back, const char *target, const char *detail, const char *what,
         const char *name)
{
    while (change_count && changes[change_count - 1].back == 0)
        change_count--; /* done with: many steps can mount */
    if (change_count == CHANGES_MAX)
        return record_fail("%s %s: too many changes to take them back", what, name);
    changes[change_count++] = (struct change){ back, target, detail, what, name };
    return 0;
}

const char *undo_detail(back_function *back, const char *target)
{
    struct change *change = change_of(back, target);

    return change ? change->detail : 0;
}

void undo_forget(back_function *back, const char *target)
{
    struct change *change = change_of(back, target);

    if (change)
        change->back = 0;
}

void undo_below(back_function *back, const char *folder)
{
    size_t length = strlen(folder);

    for (struct change *change = changes; change < changes + change_count; change++)
        if (change->back == back && strncmp(change->target, folder, length) == 0
            && strchr("/", change->target[length]) && back(change->target, change->detail) == 0)
            change->back = 0;
}

int undo_all(void)
{
    int failures = 0;

    while (change_count) {
        struct change *change = &changes[--change_count];
        char what[LINE_MAX_BYTES];

        if (change->back == 0)
            continue;
        int error = change->back(change->target, change->detail) ? errno : 0;
        failures += error != 0;
        snprintf(what, sizeof what, "%s %s", change->what, change->name);
        tell("%s{", comma());
        tell_text("what", what);
        if (error)
            tell_text("error", strerror(error));
        tell("}");
    }
    return failures;
}
