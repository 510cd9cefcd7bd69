/* ln OLD NEW: gives a file a further name. */
#include "types.h"
#include "user.h"

int main(int argc, char **argv)
{
    if (argc != 3)
        printf(2, "usage: ln OLD NEW\n");
    else if (link(argv[1], argv[2]) < 0)
        printf(2, "ln: cannot link %s to %s\n", argv[2], argv[1]);
    exit();
}
