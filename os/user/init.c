/*
 * The first program: opens the console for itself and all that follow, runs
 * the shell, again when it ends, and takes in the processes that lost their
 * parents.
 */
#include "types.h"
#include "stat.h"
#include "fcntl.h"
#include "user.h"

static char *arguments[] = { "sh", 0 };

static void open_console(void)
{
    if (open("console", O_RDWR) < 0) {
        mknod("console", 1, 1);
        open("console", O_RDWR);
    }
    dup(0);
    dup(0);
}

/* When there is no memory or no process left, others may give some back. */
static int fork_at_last(void)
{
    int pid;

    while ((pid = fork()) < 0)
        sleep(10);
    return pid;
}

static int start_shell(void)
{
    int pid = fork_at_last();

    if (pid == 0) {
        exec(arguments[0], arguments);
        printf(1, "init: there is no %s\n", arguments[0]);
        exit();
    }
    return pid;
}

int main(void)
{
    open_console();
    for (;;) {
        int shell, ended;

        printf(1, "init: starting sh\n");
        shell = start_shell();
        while ((ended = wait()) >= 0 && ended != shell)
            printf(1, "zombie!\n");
    }
}
