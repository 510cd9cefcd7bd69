/*
 * The life of processes: made by fork (the first one by proc_start_init), ended
 * by exit, seen for the last time by wait of their parent, or of process 1 if
 * the parent ended before. proc_lock protects what proc.h names; the rest of a
 * process belongs to itself while it lives, to its maker before, and to its
 * parent's wait after.
 *
 * Loops over the whole table take the lock for each entry anew, so that
 * interrupts are never off for long.
 */
#include "contract.h"
#include "kernel.h"
#include "fs.h"
#include "proc.h"
#include "space.h"

struct spinlock proc_lock = {0, "proc"};
struct proc procs[NPROC];

#define STACK_END 0x57ac6e4du   /* lowest word of a kernel stack */

static struct proc *first;      /* process 1 */
static int next_pid = 1;

/* Where new processes begin: in the middle of a switch, with proc_lock held. */
static void enter_child(void)
{
    requires_lock(&proc_lock);
    cpu.were_on = 1;
    release(&proc_lock);
    trap_return();
}

/* There is nothing to run: the disk is to blame, or what it holds. */
static void __attribute__((noreturn)) give_up(const char *why)
{
    printf("init: %s\n", why);
    machine_halt(1);
}

static void enter_first(void)
{
    requires_lock(&proc_lock);
    static char *arguments[] = {"init", 0};

    cpu.were_on = 1;
    release(&proc_lock);
    fs_init(ROOTDEV);
    cpu.proc->cwd = namei("/");
    if (cpu.proc->cwd == 0 || exec("/init", arguments) < 0)
        give_up("/init cannot be executed");
    trap_return();
}

/* Takes the entry of the next pid that has a free one. */
static struct proc *claim(void)
{
    for (int tries = 0; tries < NPROC; tries++) {
        struct proc *proc;
        int pid, found;

        acquire(&proc_lock);
        pid = next_pid;
        next_pid = pid == 0x7fffffff ? 1 : pid + 1;
        proc = &procs[(uint)pid % NPROC];
        found = proc->state == UNUSED;
        if (found) {
            proc->state = EMBRYO;
            proc->pid = pid;
        }
        release(&proc_lock);
        if (found)
            return proc;
    }
    return 0;
}

/* Gives back all that a process that does not run holds, and its entry. */
static void discard(struct proc *proc)
{
    if (proc->space)
        space_free(proc->space);
    if (proc->kstack) {
        if (*(uint *)proc->kstack != STACK_END)
            panic("discard: the kernel stack was too small");
        page_free(proc->kstack);
    }
    proc->space = 0;
    proc->kstack = 0;
    acquire(&proc_lock);
    proc->pid = 0;
    proc->state = UNUSED;
    release(&proc_lock);
}

/* A process with a kernel stack on which it will begin in `enter`. */
static struct proc *make(void (*enter)(void))
{
    struct proc *proc = claim();
    uint top;

    if (proc == 0)
        return 0;
    proc->parent = proc->dead = 0;
    proc->children = proc->killed = proc->message = proc->heir = 0;
    proc->channel = 0;
    proc->level = LEVEL_USUAL;
    proc->space = 0;
    proc->size = proc->guard = 0;
    memset(proc->files, 0, sizeof(proc->files));
    proc->cwd = 0;
    proc->kstack = page_alloc();
    if (proc->kstack == 0) {
        discard(proc);
        return 0;
    }
    *(uint *)proc->kstack = STACK_END;
    top = (uint)proc->kstack + KSTACKSIZE - sizeof(struct trapframe);
    proc->frame = (struct trapframe *)top;
    /* C code wants its stack aligned to 8 bytes once the context is off it. */
    proc->context = (struct context *)(top & ~7u) - 1;
    memset(proc->context, 0, sizeof(*proc->context));
    proc->context->lr = (uint)enter;
    return proc;
}

void proc_start_init(void)
{
    schedule_init();
    first = make(enter_first);
    if (first == 0 || first->pid != 1)
        panic("proc_start_init: no process 1");
    safestrcpy(first->name, "init", sizeof(first->name));
    acquire(&proc_lock);
    make_runnable(first);
    release(&proc_lock);
}

int fork(void)
{
    requires_sleep_allowed();
    struct proc *me = cpu.proc, *child = make(enter_child);
    int pid;

    if (child == 0)
        return -1;
    child->space = space_new();
    if (child->space == 0
        || space_copy(child->space, me->space, me->size, me->guard) < 0) {
        discard(child);
        return -1;
    }
    child->size = me->size;
    child->guard = me->guard;
    *child->frame = *me->frame;
    child->frame->r[0] = 0;
    for (int fd = 0; fd < NOFILE; fd++)
        if (me->files[fd])
            child->files[fd] = file_dup(me->files[fd]);
    child->cwd = idup(me->cwd);
    safestrcpy(child->name, me->name, sizeof(child->name));
    pid = child->pid;
    acquire(&proc_lock);
    child->level = me->level;
    child->parent = me;
    me->children++;
    make_runnable(child);
    release(&proc_lock);
    return pid;
}

static void add_dead(struct proc *parent, struct proc *child)
{
    requires_lock(&proc_lock);
    child->next_dead = parent->dead;
    parent->dead = child;
    wakeup(parent);
}

/* Process 1 becomes the parent of all children of `me`. */
static void give_children_away(struct proc *me)
{
    requires_sleep_allowed();
    for (struct proc *child = procs; child < &procs[NPROC]; child++) {
        acquire(&proc_lock);
        if (child->state != UNUSED && child->parent == me) {
            child->parent = first;
            first->children++;
            me->children--;
            if (child->state == ZOMBIE)
                add_dead(first, child);
        }
        release(&proc_lock);
    }
    me->dead = 0;
}

/* Its memory and kernel stack, on which it still runs, stay until its parent
   waits. */
void exit(void)
{
    requires_sleep_allowed();
    struct proc *me = cpu.proc;

    if (me == first)
        give_up("it has ended");
    for (int fd = 0; fd < NOFILE; fd++) {
        if (me->files[fd])
            file_close(me->files[fd]);
        me->files[fd] = 0;
    }
    begin_op();
    iput(me->cwd);
    end_op();
    me->cwd = 0;
    give_children_away(me);
    acquire(&proc_lock);
    me->state = ZOMBIE;
    add_dead(me->parent, me);
    sched();
    panic("exit: a zombie runs");
}

int wait(void)
{
    requires_sleep_allowed();
    struct proc *me = cpu.proc, *child;
    int pid;

    acquire(&proc_lock);
    while (me->dead == 0) {
        if (me->children == 0 || me->killed) {
            release(&proc_lock);
            return -1;
        }
        sleep(me, &proc_lock);
    }
    child = me->dead;
    me->dead = child->next_dead;
    me->children--;
    child->parent = 0;
    pid = child->pid;
    release(&proc_lock);
    discard(child);
    return pid;
}

/* It ends when it next would return to user mode; a sleep it is in ends
   early. Process 1 takes in the others' children and cannot be killed. */
int kill(int pid)
{
    struct proc *proc;

    acquire(&proc_lock);
    proc = pid == first->pid ? 0 : proc_find(pid);
    if (proc) {
        proc->killed = 1;
        if (proc->state == SLEEPING)
            proc_wake(proc);
    }
    release(&proc_lock);
    return proc ? 0 : -1;
}

int grow(int bytes)
{
    requires_sleep_allowed();
    struct proc *me = cpu.proc;
    uint size = me->size + (uint)bytes;

    if (bytes >= 0) {
        if (size < me->size || size > KERNBASE)
            return -1;
        if (space_grow(me->space, me->size, size) < 0)
            return -1;
    } else {
        if (size > me->size)
            return -1;
        space_shrink(me->space, me->size, size);
        if (me->guard >= PAGE_UP(size))
            me->guard = 0;
    }
    me->size = size;
    return 0;
}

/* Without the lock: it is asked for when the system seems to be stuck. */
void proc_list(void)
{
    static const char *const names[] = {
        "unused", "embryo", "sleep ", "runble", "run   ", "zombie",
    };

    for (const struct proc *proc = procs; proc < &procs[NPROC]; proc++)
        if (proc->state != UNUSED)
            printf("%d %s %s\n", proc->pid, names[proc->state], proc->name);
}
