/* kill PID...: ends processes. */
#include "types.h"
#include "user.h"

int main(int argc, char **argv)
{
    if (argc < 2) {
        printf(2, "usage: kill PID...\n");
        exit();
    }
    for (int i = 1; i < argc; i++)
        if (kill(atoi(argv[i])) < 0)
            printf(2, "kill: there is no process %s\n", argv[i]);
    exit();
}
