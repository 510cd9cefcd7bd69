/*
 * Pipes: bytes from writers to readers through PIPE_SIZE bytes. A read takes
 * what is there, and sleeps while nothing is and somebody may still write; a
 * write sleeps while there is no room, and fails once nobody can read. The
 * pipe's lock protects all of it. As it keeps interrupts off, at most CHUNK
 * bytes are copied at once, writes of more than that may be mixed with others,
 * and the other side is woken behind it: who looked before sleeps already.
 */
#include "contract.h"
#include "kernel.h"
#include "file.h"
#include "proc.h"

#define PIPE_SIZE 512u
#define CHUNK 128u

struct pipe {
    struct spinlock lock;
    uint taken;             /* bytes ever read */
    uint put;               /* bytes ever written */
    int readable;           /* somebody can read */
    int writable;           /* somebody can write */
    char data[PIPE_SIZE];   /* byte n at n modulo PIPE_SIZE */
};

int pipe_alloc(struct file **reader, struct file **writer)
{
    requires_sleep_allowed();
    struct pipe *pipe = page_alloc();

    *reader = file_alloc();
    *writer = file_alloc();
    if (pipe == 0 || *reader == 0 || *writer == 0) {
        if (*reader)
            file_close(*reader);
        if (*writer)
            file_close(*writer);
        if (pipe)
            page_free(pipe);
        return -1;
    }
    lock_init(&pipe->lock, "pipe");
    pipe->taken = pipe->put = 0;
    pipe->readable = pipe->writable = 1;
    (*reader)->type = (*writer)->type = FILE_PIPE;
    (*reader)->pipe = (*writer)->pipe = pipe;
    (*reader)->readable = (*writer)->writable = 1;
    (*reader)->writable = (*writer)->readable = 0;
    return 0;
}

void pipe_close(struct pipe *pipe, int writable)
{
    requires_sleep_allowed();
    int last;

    acquire(&pipe->lock);
    if (writable) {
        pipe->writable = 0;
        wakeup(&pipe->taken);
    } else {
        pipe->readable = 0;
        wakeup(&pipe->put);
    }
    last = !pipe->readable && !pipe->writable;
    release(&pipe->lock);
    if (last)
        page_free(pipe);
}

static uint least(uint a, uint b)
{
    return a < b ? a : b;
}

/* Bytes that can be copied at once from or to `position` of `most`. */
static uint piece(uint position, uint most)
{
    return least(least(most, CHUNK), PIPE_SIZE - position % PIPE_SIZE);
}

int pipe_write(struct pipe *pipe, const char *from, int bytes)
{
    requires_sleep_allowed();
    uint done = 0, all = (uint)bytes;

    while (done < all) {
        uint room, count;

        acquire(&pipe->lock);
        while (pipe->put == pipe->taken + PIPE_SIZE) {
            if (!pipe->readable || cpu.proc->killed)
                break;
            sleep(&pipe->put, &pipe->lock);
        }
        if (!pipe->readable || cpu.proc->killed) {
            release(&pipe->lock);
            return -1;
        }
        room = pipe->taken + PIPE_SIZE - pipe->put;
        count = piece(pipe->put, least(room, all - done));
        memmove(pipe->data + pipe->put % PIPE_SIZE, from + done, count);
        pipe->put += count;
        done += count;
        release(&pipe->lock);
        wakeup(&pipe->taken);
    }
    return bytes;
}

int pipe_read(struct pipe *pipe, char *to, int bytes)
{
    requires_sleep_allowed();
    uint done = 0, all = (uint)bytes;

    acquire(&pipe->lock);
    while (pipe->taken == pipe->put && pipe->writable) {
        if (cpu.proc->killed) {
            release(&pipe->lock);
            return -1;
        }
        sleep(&pipe->taken, &pipe->lock);
    }
    while (done < all && pipe->taken != pipe->put) {
        uint count = piece(pipe->taken,
                           least(pipe->put - pipe->taken, all - done));

        memmove(to + done, pipe->data + pipe->taken % PIPE_SIZE, count);
        pipe->taken += count;
        done += count;
        release(&pipe->lock);
        wakeup(&pipe->put);
        acquire(&pipe->lock);
    }
    release(&pipe->lock);
    return (int)done;
}
