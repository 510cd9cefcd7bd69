/* echo [WORD...]: writes the words, a space between them. */
#include "types.h"
#include "user.h"

int main(int argc, char **argv)
{
    for (int i = 1; i < argc; i++)
        printf(1, "%s%s", argv[i], i + 1 < argc ? " " : "\n");
    exit();
}
