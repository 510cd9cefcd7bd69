/* rm FILE...: takes names away, of empty directories too. */
#include "types.h"
#include "user.h"

int main(int argc, char **argv)
{
    if (argc < 2)
        printf(2, "usage: rm FILE...\n");
    for (int i = 1; i < argc; i++)
        if (unlink(argv[i]) < 0) {
            printf(2, "rm: cannot remove %s\n", argv[i]);
            break;
        }
    exit();
}
