/* Says hello with the caches off and on, and takes a data abort on the way. */
#include "guest.h"

static volatile uint32_t aborts;

static void skip(struct frame *frame)
{
    aborts++;
    frame->pc += 4;
}

int main(void)
{
    print("hello\n");
    mmu_start(CONTROL_DATA_CACHE | CONTROL_INSTRUCTION_CACHE);
    table[0xe00] = 0;
    MCR(0, 7, 10, 1, &table[0xe00]);
    MCR(0, 7, 10, 4, 0);
    MCR(0, 8, 7, 0, 0);
    on_exception[DATA_ABORT] = skip;
    REGISTER(0xe0000000u);
    print("aborts: ");
    print_unsigned(aborts);
    print("\n");
    return aborts == 1 ? 0 : 1;
}
