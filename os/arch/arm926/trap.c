/*
 * Exceptions, as entry.S hands them on: calls, interrupts, faults.
 *
 * A program's fault ends it, with a message. A fault of the kernel is a panic
 * with all registers, but in probe(), which asks for it.
 */
#include "board.h"
#include "cp15.h"
#include "contract.h"
#include "kernel.h"
#include "proc.h"
#include "traps.h"

void trap_call(struct trapframe *frame);
void trap_interrupt(void);
void trap_interrupt_of_user(struct trapframe *frame);
void trap_fault(struct trapframe *frame, uint number);
void trap_kernel_fault(struct trapframe *frame, uint number);

static const char *const names[] = {
    [T_UNDEFINED] = "undefined instruction",
    [T_PREFETCH_ABORT] = "prefetch abort",
    [T_DATA_ABORT] = "data abort",
};

void trap_call(struct trapframe *frame)
{
    requires_interrupts_off();
    struct proc *proc = cpu.proc;
    proc->frame = frame;
    interrupts_on();
    syscall();
    if (proc->killed)
        exit();
    interrupts_off();
}

/* The end of the interrupt is told before the handler, which may go on with
   another process. */
void trap_interrupt(void)
{
    requires_interrupts_off();
    uint interrupt = gic_begin();
    if (interrupt == INTERRUPT_TIMER0) {
        timer_served();
        gic_end(interrupt);
        tick();
    } else if (interrupt == INTERRUPT_UART0) {
        gic_end(interrupt);
        console_interrupt();
    }
    requires_interrupts_off();
}

void trap_interrupt_of_user(struct trapframe *frame)
{
    requires_interrupts_off();
    cpu.proc->frame = frame;
    trap_interrupt();
    if (cpu.proc->killed) {
        interrupts_on();
        exit();
    }
}

/* What the core says of a fault; another one overwrites it. */
struct fault {
    uint number;
    uint address;   /* of a data abort: as the core modified it */
    uint status;
};

static struct fault read_fault(uint number)
{
    struct fault fault = {.number = number};
    if (number == T_DATA_ABORT) {
        fault.address = fault_address();
        fault.status = data_fault_status();
    } else if (number == T_PREFETCH_ABORT) {
        fault.status = fetch_fault_status();
    }
    return fault;
}

static void tell(const struct fault *fault, uint pc)
{
    printf("%s at %x", names[fault->number], pc);
    if (fault->number == T_DATA_ABORT)
        printf(", address %x", fault->address);
    if (fault->number != T_UNDEFINED)
        printf(", status %x", fault->status);
}

/* Interrupts are on as soon as what the core says is kept: a message takes
   long. */
void trap_fault(struct trapframe *frame, uint number)
{
    requires_interrupts_off();
    struct proc *proc = cpu.proc;
    struct fault fault = read_fault(number);
    proc->frame = frame;
    interrupts_on();
    printf("pid %d %s: ", proc->pid, proc->name);
    tell(&fault, frame->pc);
    printf("; killed\n");
    exit();
}

void trap_kernel_fault(struct trapframe *frame, uint number)
{
    struct fault fault = read_fault(number);
    if (number == T_DATA_ABORT && frame->pc == (uint)probe_access)
        return;
    printf("kernel: ");
    tell(&fault, frame->pc);
    printf("\npsr %x sp %x lr %x\n", frame->psr, frame->sp, frame->lr);
    for (int i = 0; i < 13; i++)
        printf("r%d %x%s", i, frame->r[i], i % 4 == 3 ? "\n" : " ");
    panic("trap: fault of the kernel");
}
