/* mkdir DIRECTORY...: makes directories. */
#include "types.h"
#include "user.h"

int main(int argc, char **argv)
{
    if (argc < 2)
        printf(2, "usage: mkdir DIRECTORY...\n");
    for (int i = 1; i < argc; i++)
        if (mkdir(argv[i]) < 0) {
            printf(2, "mkdir: cannot make %s\n", argv[i]);
            break;
        }
    exit();
}
