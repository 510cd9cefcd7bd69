/*
 * Who runs. A process that gives up the processor picks the next one itself and
 * switches to it directly; there is no thread of the scheduler in between. When
 * nobody is runnable it waits for interrupts on its own stack, as nobody
 * (cpu.proc is 0), until somebody is.
 *
 * The first runnable process of the best level runs, for a time slice of
 * slice_ticks timer interrupts, then goes to the end of its level's queue. A
 * process of a better level takes the processor as soon as it becomes runnable:
 * at the end of the interrupt that woke it, or where the caller of wakeup lets
 * interrupts on again (lock.c).
 *
 * proc_lock protects all of this, and is held over a switch: the process that
 * is switched to releases it. A process that is RUNNABLE is in the queue of its
 * level, one that is SLEEPING in that of its channel, all others in none.
 *
 * A wakeup is late: it only notes the channel. It comes as soon as interrupts
 * may be let in, in portions of a few sleepers with interrupts in between.
 * Whoever sleeps looks again at what he waits for, so one wakeup too many does
 * no harm.
 */
#include "evaluate.h"
#include "contract.h"
#include "kernel.h"
#include "proc.h"
#include "space.h"

#define CHANNELS 32         /* queues of sleepers, by a hash of the channel */
#define WHEEL 32            /* moments that sleepers can wait for */
#define PORTION 3           /* sleepers that are looked at at once */
#define LATE 16             /* wakeups that can be late */

/* Not in its callers, so that what is always run fits into what can be locked
   in a cache (kernel.ld). */
#define APART __attribute__((noinline))

/* Sleepers, in the order in which they came. */
struct sleepers {
    struct link link;
    uint count;
};

struct cpu cpu;
uint ticks;
uint switches;
int slice_ticks = 1;
int chg_mode = CHG_AT_ONCE;

static struct link ready[LEVELS];
static uint ready_levels;           /* bit n: somebody is in ready[n] */
static struct sleepers asleep[CHANNELS];
static void *late[LATE];            /* channels; the first cpu.late of them */
static uint late_left;              /* sleepers for the first to look at */
static char wheel[WHEEL];           /* channels: of ticks modulo WHEEL */

static APART void wake_late(void);

static void put_before(struct link *place, struct link *link)
{
    link->next = place;
    link->prev = place->prev;
    place->prev->next = link;
    place->prev = link;
}

static void take_out(struct link *link)
{
    link->next->prev = link->prev;
    link->prev->next = link->next;
}

/* The first one; a process begins with its link. */
static struct proc *first_of(const struct link *queue)
{
    return (struct proc *)queue->next;
}

void schedule_init(void)
{
    for (int i = 0; i < LEVELS; i++)
        ready[i].next = ready[i].prev = &ready[i];
    for (int i = 0; i < CHANNELS; i++)
        asleep[i].link.next = asleep[i].link.prev = &asleep[i].link;
}

static struct sleepers *sleepers(const void *channel)
{
    uint at = (uint)channel;

    return &asleep[(at ^ at >> 5 ^ at >> 12) % CHANNELS];
}

void make_runnable(struct proc *proc)
{
    requires_interrupts_off();
    proc->state = RUNNABLE;
    put_before(&ready[proc->level], &proc->link);
    ready_levels |= 1u << proc->level;
    if (cpu.proc && proc->level < cpu.proc->level)
        cpu.wanted = 1;
}

static void ready_take(struct proc *proc)
{
    requires_interrupts_off();
    struct link *queue = &ready[proc->level];

    take_out(&proc->link);
    if (queue->next == queue)
        ready_levels &= ~(1u << proc->level);
}

/* From here to be_back interrupts may be let in: who comes finds nobody running
   and the lock free, and whoever is runnable stays so. */
static int be_nobody(void)
{
    requires_lock(&proc_lock);
    int were_on = cpu.were_on;

    cpu.proc = 0;
    proc_lock.held = 0;
    cpu.depth--;
    return were_on;
}

static void be_back(int were_on)
{
    requires_interrupts_off();
    cpu.depth++;
    cpu.were_on = were_on;
    proc_lock.held = 1;
}

/* Waits until somebody is runnable. */
static void idle(void)
{
    requires_lock(&proc_lock);
    int were_on = be_nobody();

    for (;;) {
        if (cpu.late)
            wake_late();
        if (ready_levels != 0)
            break;
        wait_for_interrupt();
        interrupts_on();
        interrupts_off();
    }
    be_back(were_on);
}

/* The long part of a switch to a space that takes one. */
static APART void prepare(struct space *space)
{
    requires_lock(&proc_lock);
    int were_on = be_nobody();

    interrupts_on();
    space_prepare(space);
    interrupts_off();
    be_back(were_on);
}

/* The first process of the best level, which it takes out of its queue. */
static struct proc *pick(void)
{
    requires_lock(&proc_lock);
    struct proc *proc;
    int prepared = 0;

    for (;;) {
        if (ready_levels == 0)
            idle();
        proc = first_of(&ready[__builtin_ctz(ready_levels)]);
        if (prepared || space_is_near(proc->space))
            break;
        prepare(proc->space);
        prepared = 1;
    }
    ready_take(proc);
    proc->slice = slice_ticks;
    return proc;
}

/* Goes on with `next`, which is in no queue; returns when `me` is switched
   to. */
static void switch_to(struct proc *me, struct proc *next)
{
    requires_lock(&proc_lock);
    int were_on = cpu.were_on;

    if (!proc_lock.held || cpu.depth != 1)
        panic("switch_to: not with just proc_lock");
    cpu.wanted = 0;
    cpu.proc = next;
    next->state = RUNNING;
    if (next != me) {
        switches++;
        space_activate(next->space);
        swtch(&me->context, next->context);
    }
    cpu.were_on = were_on;
}

void sched(void)
{
    requires_lock(&proc_lock);
    struct proc *me = cpu.proc;

    if (me->state == RUNNING)
        panic("sched: still running");
    switch_to(me, pick());
}

void schedule_start(void)
{
    struct context *boot;
    struct proc *next;

    requires_interrupts_off();
    acquire(&proc_lock);
    next = pick();
    cpu.proc = next;
    next->state = RUNNING;
    space_activate(next->space);
    swtch(&boot, next->context);
    panic("schedule_start: came back");
}

void yield(void)
{
    REQUIRES(cpu.proc != 0 && cpu.depth == 0);
    acquire(&proc_lock);
    make_runnable(cpu.proc);
    sched();
    release(&proc_lock);
}

/* For the end of interrupts, and for pop_off: interrupts are off. Those that
   are let in leave what they want to the loop here, so that they do not nest
   deeper than this; whoever ran meanwhile may have left wakeups. */
void preempt(void)
{
    requires_interrupts_off();
    if (cpu.letting_in)
        return;
    for (;;) {
        cpu.letting_in = 1;
        interrupts_on();
        interrupts_off();
        if (cpu.late)
            wake_late();
        cpu.letting_in = 0;
        if (!cpu.wanted || !cpu.proc)
            return;
        yield();
    }
}

/* Gives `lock` back while it sleeps, and for a moment after that. `lock`
   protects what the caller waits for; who changes that wakes the channel after
   the change, so no wakeup comes between the caller's look and its sleep. */
void sleep(void *channel, struct spinlock *lock)
{
    struct proc *me = cpu.proc;

    if (me == 0 || lock == 0)
        panic("sleep: without process or lock");
    requires_lock(lock);
    REQUIRES(cpu.depth == 1);
    if (lock != &proc_lock) {
        acquire(&proc_lock);
        release(lock);
    }
    me->channel = channel;
    me->state = SLEEPING;
    put_before(&sleepers(channel)->link, &me->link);
    sleepers(channel)->count++;
    sched();
    me->channel = 0;
    release(&proc_lock);
    acquire(lock);
}

APART void proc_wake(struct proc *proc)
{
    requires_interrupts_off();
    take_out(&proc->link);
    sleepers(proc->channel)->count--;
    make_runnable(proc);
}

/* Looks at a portion of the first `left` sleepers; those on other channels go
   to the end, so that the rest is first. Returns how many are left: none when
   nobody sleeps any more, of whom some may have been killed meanwhile. */
static uint wake_some(void *channel, uint left)
{
    requires_interrupts_off();
    struct sleepers *queue = sleepers(channel);

    for (uint i = 0; i < PORTION && left > 0 && queue->count > 0; i++, left--) {
        struct proc *proc = first_of(&queue->link);

        if (proc->channel == channel) {
            proc_wake(proc);
        } else {
            take_out(&proc->link);
            put_before(&queue->link, &proc->link);
        }
    }
    return queue->count > 0 ? left : 0;
}

/* A portion of the first wakeup that is late. The next one begins behind it:
   two at once in a queue would not know any more what is first. */
static void wake_more(void)
{
    requires_interrupts_off();
    late_left = wake_some(late[0], late_left);
    if (late_left > 0)
        return;
    cpu.late--;
    for (int i = 0; i < cpu.late; i++)
        late[i] = late[i + 1];
    if (cpu.late > 0)
        late_left = sleepers(late[0])->count;
}

/* Interrupts are off and nobody holds proc_lock, which is as good as holding
   it. */
static APART void wake_late(void)
{
    requires_interrupts_off();
    REQUIRES(!holding(&proc_lock));
    while (cpu.late > 0) {
        wake_more();
        interrupts_on();
        interrupts_off();
    }
}

/* Interrupts are off. */
static void be_late(void *channel)
{
    requires_interrupts_off();
    uint count = sleepers(channel)->count;

    if (count == 0)
        return;
    while (cpu.late == LATE)
        wake_more();
    if (cpu.late == 0)
        late_left = count;
    late[cpu.late++] = channel;
}

/* At once if no lock is held; else when the last one is released. */
void wakeup(void *channel)
{
    push_off();
    be_late(channel);
    pop_off();
}

/* 0, or -1 if the process was killed meanwhile. */
int sleep_ticks(int count)
{
    uint until;
    int result = 0;

    acquire(&proc_lock);
    until = ticks + (uint)count;
    while ((int)(until - ticks) > 0 && result == 0) {
        if (cpu.proc->killed)
            result = -1;
        else
            sleep(&wheel[until % WHEEL], &proc_lock);
    }
    release(&proc_lock);
    return result;
}

/* The heir will be the first of its level. */
static APART void honour_heir(struct proc *me)
{
    requires_lock(&proc_lock);
    struct proc *heir = proc_find(me->heir);

    me->heir = 0;
    if (heir && heir->state == RUNNABLE) {
        ready_take(heir);
        put_before(ready[heir->level].next, &heir->link);
        ready_levels |= 1u << heir->level;
    }
}

/* The time and the switch are two sections without interrupts: others that
   wait have their turn in between, and late wakeups. */
void tick(void)
{
    requires_interrupts_off();
    struct proc *me = cpu.proc;

    acquire(&proc_lock);
    ticks++;
    be_late(&wheel[ticks % WHEEL]);
    if (me && (--me->slice <= 0 || me->heir)) {
        cpu.wanted = 1;
        if (me->heir)
            honour_heir(me);
    }
    release(&proc_lock);
    preempt();
}

/* As published: the switch comes with the next timer interrupt, for which
   the caller waits here. */
static APART void wait_for_tick(struct proc *me, int heir)
{
    requires_lock(&proc_lock);
    me->slice = 0;
    me->heir = heir;
    release(&proc_lock);
    push_off();
    while (me->heir) {
        wait_for_interrupt();
        pop_off();
        push_off();
    }
    pop_off();
    acquire(&proc_lock);
}

/* The peer goes on at once, whatever its level, if it is runnable; the caller
   stays runnable. */
static void hand_over(struct proc *me, struct proc *peer)
{
    requires_lock(&proc_lock);
    if (chg_mode == CHG_AT_TICK) {
        wait_for_tick(me, peer->pid);
        return;
    }
    make_runnable(me);
    if (peer->state == RUNNABLE) {
        if (!space_is_near(peer->space))
            prepare(peer->space);
        ready_take(peer);
        peer->slice = slice_ticks;
    } else {
        peer = pick();
    }
    switch_to(me, peer);
}

int chg(int pid, int value)
{
    struct proc *me = cpu.proc, *peer;
    int message = -1;

    acquire(&proc_lock);
    peer = proc_find(pid);
    if (peer) {
        peer->message = value;
        if (peer != me)
            hand_over(me, peer);
        message = me->message;
        me->message = 0;
    }
    release(&proc_lock);
    return message;
}

int priority(int pid, int level)
{
    struct proc *proc;
    int old = -1;

    acquire(&proc_lock);
    proc = proc_find(pid);
    if (proc && level >= 0 && level < LEVELS) {
        old = proc->level;
        if (proc->state == RUNNABLE)
            ready_take(proc);
        proc->level = level;
        if (proc->state == RUNNABLE)
            make_runnable(proc);
        if (ready_levels & ((1u << cpu.proc->level) - 1))
            cpu.wanted = 1;
    }
    release(&proc_lock);
    return old;
}
