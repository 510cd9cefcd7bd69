/*
 * halt [CODE]: ends the machine, with this exit code where somebody can see
 * it.
 */
#include "types.h"
#include "user.h"

int main(int argc, char **argv)
{
    halt(argc > 1 ? atoi(argv[1]) : 0);
    printf(2, "halt: the machine goes on\n");
    exit();
}
