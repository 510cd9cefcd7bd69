/* A process of FCSE number 1 in user mode that calls the system 42 times, the number of the call in r7. */
#include "guest.h"

int counted;

static __attribute__((noinline)) unsigned busy(unsigned rounds)
{
    unsigned sum = 0;
    for (unsigned i = 0; i < rounds; i++)
        sum = sum * 33 + i;
    return sum;
}

static int sys_nothing(void)
{
    return 0;
}

static int sys_count(void)
{
    return ++counted;
}

static int sys_busy(void)
{
    return (int)busy(50);
}

static int sys_end(void)
{
    print("counted ");
    print_unsigned((uint32_t)counted);
    print("\n");
    finish(0);
}

int (*const syscalls[])(void) = { 0, sys_nothing, sys_count, sys_busy, sys_end };

static void serve(struct frame *frame)
{
    frame->r[0] = (uint32_t)syscalls[frame->r[7]]();
}

static __attribute__((noinline)) int call(unsigned number)
{
    register unsigned r7 __asm__("r7") = number;
    register int r0 __asm__("r0");
    __asm__ volatile("svc 0" : "=r"(r0) : "r"(r7) : "memory", "lr");
    return r0;
}

static __attribute__((noinline)) void user(void)
{
    for (int i = 0; i < 20; i++) {
        call(1);
        call(2);
    }
    call(3);
}

int main(void)
{
    mmu_start(CONTROL_DATA_CACHE | CONTROL_INSTRUCTION_CACHE);
    on_exception[SOFTWARE_INTERRUPT] = serve;
    /* Interrupts might come before the work and behind it. */
    __asm__ volatile("msr cpsr_c, #0x53\n\tmsr cpsr_c, #0xd3");
    for (volatile int round = 0; round < 10; round++)
        ;
    __asm__ volatile("msr cpsr_c, #0x53\n\tmsr cpsr_c, #0xd3");
    map(1u << 25, 0, SECTION_CACHED);
    /* The same memory has other addresses from here on: what is dirty must be there. */
    caches_flush();
    MCR(0, 13, 0, 0, 1u << 25);
    __asm__ volatile("nop\n\tnop\n\tmsr cpsr_c, #0xd0");
    user();
    call(2);
    return call(4);
}
