/* What the file system needs of the rest of the kernel, on the host: see
   host.h. */
#include <stdarg.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

#include "host.h"
#include "../../mkfs/check.h"

#define TASKS 16
#define STACK (256 * 1024)

struct task {
    ucontext_t context;
    struct proc proc;           /* its descriptors, directory, state */
    intptr_t arguments[4];      /* of its system call */
    char *stack;
    void (*body)(int number);
};

struct cpu cpu;
uchar *disk;
size_t disk_bytes;
struct record *recording;

static struct task tasks[TASKS];
static struct task *current = &tasks[0];
static int locks_held;
static uint64_t random_state = 1, random_seed;

/* Random numbers: xorshift. */

void seed(uint64_t value)
{
    random_seed = value;
    random_state = value * 0x9E3779B97F4A7C15u + 1;
}

uint below(uint limit)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return (uint)(random_state >> 32) % limit;
}

void fail(const char *format, ...)
{
    va_list list;
    va_start(list, format);
    fprintf(stderr, "seed %llu: ", (unsigned long long)random_seed);
    vfprintf(stderr, format, list);
    fputc('\n', stderr);
    va_end(list);
    _exit(1);
}

void panic(const char *text)
{
    fail("panic: %s", text);
}

void contract_broken(const char *function, const char *fact)
{
    fail("%s: %s does not hold", function, fact);
}

int may_sleep(void)
{
    return locks_held == 0;
}

int interrupts_are_on(void)
{
    return locks_held == 0;
}

int holding(const struct spinlock *lock)
{
    return lock->held;
}

/* The kernel ends without a file system: no fault, and nothing to go on
   with. */
void machine_halt(int code)
{
    (void)code;
    _exit(0);
}

void kernel_printf(const char *format, ...)
{
    (void)format;
}

void *kernel_memset(void *to, int value, uint bytes)
{
    return memset(to, value, bytes);
}

void *kernel_memmove(void *to, const void *from, uint bytes)
{
    return memmove(to, from, bytes);
}

int kernel_strncmp(const char *a, const char *b, uint most)
{
    return strncmp(a, b, most);
}

char *kernel_strncpy(char *to, const char *from, int bytes)
{
    memset(to, 0, (size_t)bytes);
    memcpy(to, from, strnlen(from, (size_t)bytes));
    return to;
}

/* Tasks */

uint between_switches = 4;

static void switch_to_any(void)
{
    struct task *from = current;
    uint ready = 0, chosen;
    for (int i = 0; i < TASKS; i++)
        ready += tasks[i].proc.state == RUNNABLE;
    if (ready == 0)
        fail("all tasks sleep");
    if (locks_held != 0)
        fail("a task switches with a spinlock held");
    chosen = below(ready);
    for (int i = 0; i < TASKS; i++) {
        if (tasks[i].proc.state == RUNNABLE && chosen-- == 0) {
            current = &tasks[i];
            break;
        }
    }
    cpu.proc = &current->proc;
    if (from != current)
        swapcontext(&from->context, &current->context);
}

static void maybe_switch(void)
{
    if (locks_held == 0 && below(between_switches) == 0)
        switch_to_any();
}

static void task_start(void)
{
    current->body((int)(current - tasks));
    current->proc.state = ZOMBIE;
    switch_to_any();
}

void run_tasks(int count, void (*body)(int number))
{
    for (int i = 1; i <= count; i++) {
        struct task *task = &tasks[i];
        task->body = body;
        task->stack = malloc(STACK);
        task->proc = (struct proc){ .state = EMBRYO };
        task->proc.cwd = idup(tasks[0].proc.cwd);
        getcontext(&task->context);
        task->context.uc_stack.ss_sp = task->stack;
        task->context.uc_stack.ss_size = STACK;
        makecontext(&task->context, task_start, 0);
        task->proc.state = RUNNABLE;
    }
    for (int i = 1; i <= count; i++) {
        while (tasks[i].proc.state != ZOMBIE)
            switch_to_any();
        tasks[i].proc.state = UNUSED;
        begin_op();
        iput(tasks[i].proc.cwd);
        end_op();
        free(tasks[i].stack);
    }
}

void kernel_sleep(void *channel, struct spinlock *lock)
{
    current->proc.channel = channel;
    current->proc.state = SLEEPING;
    lock->held = 0;
    if (--locks_held != 0)
        fail("sleep with two spinlocks held");
    switch_to_any();
    acquire(lock);
}

void wakeup(void *channel)
{
    for (int i = 0; i < TASKS; i++) {
        struct proc *proc = &tasks[i].proc;
        if (proc->state == SLEEPING && proc->channel == channel)
            proc->state = RUNNABLE;
    }
}

/* Locks */

void lock_init(struct spinlock *lock, const char *name)
{
    *lock = (struct spinlock){ .name = name };
}

void acquire(struct spinlock *lock)
{
    if (lock->held)
        fail("spinlock %s is taken twice", lock->name);
    lock->held = 1;
    locks_held++;
}

void release(struct spinlock *lock)
{
    if (!lock->held)
        fail("spinlock %s is released and not held", lock->name);
    lock->held = 0;
    locks_held--;
    maybe_switch();
}

void sleeplock_init(struct sleeplock *lock, const char *name)
{
    *lock = (struct sleeplock){ .name = name };
    lock_init(&lock->lock, name);
}

void sleeplock_acquire(struct sleeplock *lock)
{
    acquire(&lock->lock);
    while (lock->held)
        kernel_sleep(lock, &lock->lock);
    lock->held = 1;
    lock->pid = (int)(current - tasks) + 1;
    release(&lock->lock);
}

void sleeplock_release(struct sleeplock *lock)
{
    acquire(&lock->lock);
    lock->held = 0;
    wakeup(lock);
    release(&lock->lock);
}

int sleeplock_holding(struct sleeplock *lock)
{
    return lock->held && lock->pid == (int)(current - tasks) + 1;
}

/* Disk */

void *shared(size_t bytes)
{
    void *at = mmap(0, bytes, PROT_READ | PROT_WRITE,
                    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (at == MAP_FAILED)
        fail("the host has no memory left");
    return at;
}

void disk_load(const uchar *image, size_t bytes)
{
    if (disk == 0)
        disk = malloc(bytes);
    memcpy(disk, image, bytes);
    disk_bytes = bytes;
}

uint disk_blocks(uint dev)
{
    return dev == ROOTDEV ? (uint)(disk_bytes / BSIZE) : 0;
}

int (*disk_fails)(uint block, int writing);

static int is_failing(uint block, int writing)
{
    maybe_switch();
    return disk_fails(block, writing);
}

int disk_read(uint dev, uint block, void *to)
{
    if (dev != ROOTDEV || (size_t)block * BSIZE + BSIZE > disk_bytes)
        fail("block %u is read", block);
    if (disk_fails && is_failing(block, 0))
        return -1;
    memcpy(to, disk + (size_t)block * BSIZE, BSIZE);
    maybe_switch();
    return 0;
}

int disk_write(uint dev, uint block, const void *from)
{
    if (dev != ROOTDEV || (size_t)block * BSIZE + BSIZE > disk_bytes)
        fail("block %u is written", block);
    if (disk_fails && is_failing(block, 1))
        return -1;
    memcpy(disk + (size_t)block * BSIZE, from, BSIZE);
    if (recording) {
        struct write *write = &recording->writes[recording->count++];
        if (recording->count > WRITES_MOST)
            fail("too many writes are recorded");
        write->block = block;
        memcpy(write->data, from, BSIZE);
    }
    maybe_switch();
    return 0;
}

void boot(void)
{
    tasks[0].proc.state = RUNNABLE;
    cpu.proc = &tasks[0].proc;
    bio_init();
    file_init();
    fs_init(ROOTDEV);
    tasks[0].proc.cwd = iget(ROOTDEV, ROOTINO);
}

int in_child(void (*body)(void *), void *argument)
{
    int status;
    pid_t child = fork();
    if (child < 0)
        fail("the host has no process left");
    if (child == 0) {
        body(argument);
        _exit(0);
    }
    waitpid(child, &status, 0);
    if (WIFSIGNALED(status))
        fprintf(stderr, "ended by signal %d\n", WTERMSIG(status));
    return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

uint check_disk(const char *when)
{
    char *text;
    size_t bytes;
    FILE *out = open_memstream(&text, &bytes);
    int length = log_length(disk, disk_bytes);
    struct findings found = check_image(disk, disk_bytes, out);
    fclose(out);
    if (length != 0)
        fail("%s: the log's length is %d", when, length);
    if (found.errors != 0)
        fail("%s: fsck finds %u errors:\n%s", when, found.errors, text);
    free(text);
    return found.notes;
}

/* System calls */

int argument(int number, int *value)
{
    *value = (int)current->arguments[number];
    return 0;
}

int argument_pointer(int number, void **value, int bytes)
{
    *value = (void *)current->arguments[number];
    return bytes < 0 ? -1 : 0;
}

int argument_string(int number, char **value)
{
    *value = (char *)current->arguments[number];
    return (int)strlen(*value);
}

/* Calls that the tests do not make. */
int user_int(uint at, int *value)
{
    (void)at, (void)value;
    return -1;
}

int user_string(uint at, char **value)
{
    (void)at, (void)value;
    return -1;
}

int exec(char *path, char **arguments)
{
    (void)path, (void)arguments;
    return -1;
}

int pipe_alloc(struct file **reader, struct file **writer)
{
    (void)reader, (void)writer;
    return -1;
}

void pipe_close(struct pipe *pipe, int writable)
{
    (void)pipe, (void)writable;
}

int pipe_read(struct pipe *pipe, char *to, int bytes)
{
    (void)pipe, (void)to, (void)bytes;
    return -1;
}

int pipe_write(struct pipe *pipe, const char *from, int bytes)
{
    (void)pipe, (void)from, (void)bytes;
    return -1;
}

static int call(int (*what)(void), intptr_t a, intptr_t b, intptr_t c)
{
    current->arguments[0] = a;
    current->arguments[1] = b;
    current->arguments[2] = c;
    return what();
}

int sys_open(void), sys_close(void), sys_read(void), sys_write(void);
int sys_dup(void), sys_fstat(void), sys_link(void), sys_unlink(void);
int sys_mkdir(void), sys_mknod(void), sys_chdir(void);

int call_open(const char *path, int mode)
{
    return call(sys_open, (intptr_t)path, mode, 0);
}

int call_close(int fd)
{
    return call(sys_close, fd, 0, 0);
}

int call_read(int fd, void *to, int bytes)
{
    return call(sys_read, fd, (intptr_t)to, bytes);
}

int call_write(int fd, const void *from, int bytes)
{
    return call(sys_write, fd, (intptr_t)from, bytes);
}

int call_dup(int fd)
{
    return call(sys_dup, fd, 0, 0);
}

int call_fstat(int fd, struct stat *to)
{
    return call(sys_fstat, fd, (intptr_t)to, 0);
}

int call_link(const char *old, const char *new)
{
    return call(sys_link, (intptr_t)old, (intptr_t)new, 0);
}

int call_unlink(const char *path)
{
    return call(sys_unlink, (intptr_t)path, 0, 0);
}

int call_mkdir(const char *path)
{
    return call(sys_mkdir, (intptr_t)path, 0, 0);
}

int call_mknod(const char *path, int major, int minor)
{
    return call(sys_mknod, (intptr_t)path, major, minor);
}

int call_chdir(const char *path)
{
    return call(sys_chdir, (intptr_t)path, 0, 0);
}
