/*
 * Tests of protection, by samples: `hostile` goes through all addresses,
 * `badcalls` through all system calls.
 */
#include "tests.h"

#include "fcntl.h"
#include "memlayout.h"
#include "syscall.h"

static int system_call(int number)
{
    register int r0 __asm__("r0") = 0;
    int result;

    __asm__ volatile("mov r10, r7\n"
                     "    mov r7, %2\n"
                     "    svc 0\n"
                     "    mov r7, r10\n"
                     "    mov %0, r0\n"
                     : "=r"(result), "+r"(r0)
                     : "r"(number)
                     : "r10", "memory");
    return result;
}

static void unknown_calls(void)
{
    int last = 0;

    while (system_call(SYS_yield + 1 + last) == -1 && last < 5)
        last++;
    CHECK(last == 5);
    CHECK(system_call(0) == -1 && system_call(-1) == -1);
    CHECK(system_call(0x7fffffff) == -1 && system_call((int)0x80000000) == -1);
    CHECK(system_call(SYS_getpid) == getpid());
}

static void foreign_memory(void)
{
    static const uint places[] = {
        KERNBASE, KERNBASE + 0x10000, KERNBASE + 0x20000, 0xc7fff000u,
        0xc8000000u, DEVICES, DEVICES + 0x9000, DEVICES + 0x11000, VECTORS,
        VECTORS + 8, 0x10009000u, 0x80000000u, 0xfffffffcu,
    };

    for (uint i = 0; i < sizeof places / sizeof *places; i++) {
        CHECK(!can_read(places[i]));
        CHECK(!can_write(places[i]));
        CHECK(!can_execute(places[i]));
    }
}

static void beyond_the_end(void)
{
    uint end = PAGE_UP(sbrk(0));

    CHECK(can_read(end - 1) && can_write(end - 1));
    CHECK(!can_read(end) && !can_write(end) && !can_execute(end));
    CHECK(!can_read(end + 0x100000));
}

static int deep(volatile char *before, int depth)
{
    volatile char here[200];

    here[0] = before[0];
    return depth ? deep(here, depth - 1) + here[0] : 0;
}

static void go_deep(uint depth)
{
    char seed = 0;

    deep(&seed, (int)depth);
}

/* The stack is one page, and what is below it may not be touched. */
static void stack_overflow(void)
{
    char seed = 0;

    CHECK(deep(&seed, 4) == 0);
    CHECK(!survives(go_deep, 1000));
}

static void read_control_register(uint unused)
{
    uint value;

    (void)unused;
    __asm__ volatile("mrc p15, 0, %0, c1, c0, 0" : "=r"(value));
}

static void write_process_number(uint value)
{
    __asm__ volatile("mcr p15, 0, %0, c13, c0, 0" : : "r"(value));
}

static void write_domains(uint value)
{
    __asm__ volatile("mcr p15, 0, %0, c3, c0, 0" : : "r"(value));
}

static void undefined(uint unused)
{
    (void)unused;
    __asm__ volatile(".word 0xe7f000f0");
}

static void breakpoint(uint unused)
{
    (void)unused;
    __asm__ volatile("bkpt 0");
}

static void privileged_instructions(void)
{
    CHECK(!survives(read_control_register, 0));
    CHECK(!survives(write_process_number, 0x04000000u));
    CHECK(!survives(write_domains, 0xffffffffu));
    CHECK(!survives(undefined, 0));
    CHECK(!survives(breakpoint, 0));
}

/* A program may write to the status register, but only its flags change. */
static void status_register(void)
{
    uint status;

    __asm__ volatile("msr cpsr_c, #0xdf\n"
                     "    mrs %0, cpsr"
                     : "=r"(status)
                     :
                     : "cc");
    CHECK((status & 0x9fu) == 0x10u);
    CHECK(!can_read(KERNBASE));
}

/* Whatever the stack pointer is, the kernel has its own. */
static void bad_stack_pointers(void)
{
    for (uint at = 0; at <= 1100 * 1024; at += 16 * PAGE) {
        int pid = fork_checked();

        if (pid == 0) {
            badstack((int *)at);
            exit();
        }
        sleep(0);
        kill(pid);
        wait_for(1);
        CHECK(link("missing", (char *)at) == -1);
    }
    if (fork_checked() == 0) {
        badstack((int *)KERNBASE);
        badstack((int *)0xffffffffu);
        exit();
    }
    wait_for(1);
}

static void sizes_of_buffers(void)
{
    char byte[4];
    int fd = open("/init", O_RDONLY);

    CHECK(fd >= 0);
    CHECK(read(fd, sbrk(0) - 1, -1) == -1);
    CHECK(read(fd, sbrk(0) - 1, 0x7fffffff) == -1);
    CHECK(read(fd, byte, sizeof byte) == (int)sizeof byte);
    close(fd);
}

const struct test protection_tests[] = {
    { "unknown_calls", unknown_calls },
    { "foreign_memory", foreign_memory },
    { "beyond_the_end", beyond_the_end },
    { "stack_overflow", stack_overflow },
    { "privileged_instructions", privileged_instructions },
    { "status_register", status_register },
    { "bad_stack_pointers", bad_stack_pointers },
    { "sizes_of_buffers", sizes_of_buffers },
    { 0, 0 },
};
