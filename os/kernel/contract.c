/* What the checks of contract.h need; empty in the usual kernel. */
#ifdef CHECKED
#include "contract.h"
#include "kernel.h"
#include "proc.h"

void contract_broken(const char *function, const char *fact)
{
    interrupts_off();
    printf("%s: %s does not hold\n", function, fact);
    panic("contract: broken");
}

int may_sleep(void)
{
    return cpu.proc != 0 && cpu.depth == 0 && interrupts_are_on();
}

#else
typedef int contract_unused;
#endif
