/* started: shows that it runs. `bench exec` starts copies of it. */
#include "types.h"
#include "user.h"

#define MARK_STARTED 7      /* as in bench.c */

int main(void)
{
    mark(MARK_STARTED);
    exit();
}
