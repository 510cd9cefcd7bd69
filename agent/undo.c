/*
 * What a plan changes beyond data is put back at its end, and when a signal
 * asks for the end. Only kill -9 and a power cut leave it changed.
 */
#include "agent.h"
#include "output.h"
#include "undo.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#define CHANGES_MAX 16
#define ARGUMENT_MAX 512

static struct {
    int (*back)(const char *argument);
    char argument[ARGUMENT_MAX];
    char what[ARGUMENT_MAX];
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
    struct sigaction action;
    size_t i;

    memset(&action, 0, sizeof action);
    action.sa_handler = interrupt;  /* without SA_RESTART: calls end */
    for (i = 0; i < sizeof signals / sizeof *signals; i++)
        sigaction(signals[i], &action, 0);
    action.sa_handler = SIG_IGN;    /* the failed write tells */
    sigaction(SIGPIPE, &action, 0);
}

int interrupted(void)
{
    return was_interrupted != 0;
}

int undo(int (*back)(const char *argument), const char *argument,
         const char *what)
{
    while (change_count && changes[change_count - 1].back == 0)
        change_count--;         /* done with: many steps can mount */
    if (change_count == CHANGES_MAX || strlen(argument) >= ARGUMENT_MAX
        || strlen(what) >= ARGUMENT_MAX)
        return -1;
    changes[change_count].back = back;
    strcpy(changes[change_count].argument, argument);
    strcpy(changes[change_count].what, what);
    return change_count++;
}

int undo_now(int number)
{
    int (*back)(const char *) = changes[number].back;

    changes[number].back = 0;
    return back ? back(changes[number].argument) : 0;
}

int undo_all(struct text *told)
{
    const char *comma = "";
    int failures = 0;

    while (change_count--) {
        int failed;

        if (changes[change_count].back == 0)
            continue;
        failed = undo_now(change_count) != 0;
        failures += failed;
        text_format(told, "%s{\"what\":", comma);
        text_string(told, changes[change_count].what);
        if (failed) {
            text_format(told, ",\"error\":");
            text_string(told, strerror(errno));
        }
        text_format(told, "}");
        comma = ",";
    }
    change_count = 0;
    return failures;
}
