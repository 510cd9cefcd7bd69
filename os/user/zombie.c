/* zombie: ends before its child, which process 1 then has to take in. */
#include "types.h"
#include "user.h"

int main(void)
{
    if (fork() > 0)
        sleep(5);
    exit();
}
