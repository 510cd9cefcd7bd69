/* Processes: see proc.c (life), schedule.c (who runs). */
#ifndef PROC_H
#define PROC_H

#include "contract.h"
#include "machine.h"
#include "param.h"
#include "types.h"

struct file;
struct inode;
struct space;
struct spinlock;

enum state { UNUSED, EMBRYO, SLEEPING, RUNNABLE, RUNNING, ZOMBIE };

/* In a queue: a ring through the queue's own link. */
struct link {
    struct link *next, *prev;
};

#define LEVELS 8            /* of priority; 0 first */
#define LEVEL_USUAL 3

/*
 * A process lies in the table at its pid modulo NPROC. What a switch looks at
 * comes first, so that it lies in one line of the cache.
 */
struct proc {
    /* Under proc_lock; the last two are set before it runs. */
    struct link link;           /* in a queue, if it is in one */
    enum state state;
    int pid;
    int level;                  /* priority */
    int slice;                  /* ticks left of its time slice */
    struct context *context;    /* where it goes on when it is switched to */
    struct space *space;        /* its memory */

    /* Under proc_lock. */
    int message;                /* left by chg; taken by its own chg */
    int heir;                   /* pid to run at the next tick; 0: anyone */
    int killed;                 /* to exit at the next return to user mode */
    void *channel;              /* what it sleeps on, if it does */
    struct proc *parent;
    struct proc *dead;          /* children that wait() has not seen yet */
    struct proc *next_dead;     /* of the same parent */
    int children;               /* all of them, dead ones too */

    /* Its own. */
    struct trapframe *frame;    /* at the top of its kernel stack */
    uint size;                  /* bytes of its memory */
    uint guard;                 /* page that must not be touched; 0: none */
    char *kstack;               /* lowest byte of its kernel stack */
    struct inode *cwd;          /* current directory */
    struct file *files[NOFILE]; /* open ones */
    char name[16];              /* for people */
} __attribute__((aligned(32)));

/* The one processor. */
struct cpu {
    struct proc *proc;      /* running; 0: idle */
    int depth;              /* of nested push_off */
    int were_on;            /* interrupts were on before the outermost one */
    int wanted;             /* by a process that goes before the running one */
    int late;               /* wakeups that are not through */
    int letting_in;         /* interrupts, in preempt: no switch in these */
};
extern struct cpu cpu;

/* proc.c */
extern struct spinlock proc_lock;   /* over all of the process table */
extern struct proc procs[NPROC];
void proc_start_init(void);         /* makes the first process */
int fork(void);
void exit(void) __attribute__((noreturn));
int wait(void);
int kill(int pid);
int grow(int bytes);                /* 0, or -1 */
void proc_list(void);               /* printed, for people */

/* One that is in use, or 0. Under proc_lock. */
static inline struct proc *proc_find(int pid)
{
    requires_lock(&proc_lock);
    struct proc *proc = &procs[(uint)pid % NPROC];

    return proc->pid == pid && pid > 0 ? proc : 0;
}

/* schedule.c */
extern uint ticks;                  /* timer interrupts since boot */
extern uint switches;               /* from a process to another one */
extern int slice_ticks;             /* of a new time slice */
extern int chg_mode;                /* CHG_ of evaluate.h */
void schedule_init(void);
void schedule_start(void) __attribute__((noreturn));
/* Under proc_lock, or with interrupts off and nobody having it. */
void make_runnable(struct proc *proc);
void sched(void);                   /* gives up the processor, proc_lock held */
void yield(void);
void preempt(void);                 /* yields if a better one wants to run */
void sleep(void *channel, struct spinlock *lock);
int sleep_ticks(int count);
void wakeup(void *channel);
void proc_wake(struct proc *proc);      /* a sleeping one; likewise */
/* From the timer's interrupt, which the interrupt controller must have been
   told to be served: this may switch to another process. */
void tick(void);
int chg(int pid, int value);
int priority(int pid, int level);

/* exec.c */
int exec(char *path, char **arguments);

#endif
