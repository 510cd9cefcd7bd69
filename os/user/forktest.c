/* forktest: forks until it fails; all that were made end and are counted. */
#include "types.h"
#include "user.h"

#define MORE_THAN_THERE_ARE 1000

int main(void)
{
    int made, pid = 0;

    printf(1, "fork test\n");
    for (made = 0; made < MORE_THAN_THERE_ARE; made++) {
        pid = fork();
        if (pid < 0)
            break;
        if (pid == 0)
            exit();
    }
    if (made == MORE_THAN_THERE_ARE) {
        printf(1, "fork claimed to work %d times!\n", made);
        exit();
    }
    for (; made > 0; made--)
        if (wait() < 0) {
            printf(1, "wait stopped early\n");
            exit();
        }
    if (wait() != -1) {
        printf(1, "wait got too many\n");
        exit();
    }
    printf(1, "fork test OK\n");
    exit();
}
