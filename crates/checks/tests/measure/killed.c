/*
 * Preloaded, it kills a program by SIGKILL at one of its lines: at the write
 * number KILL_WRITE to standard output, of which KILL_BYTES bytes are written
 * before.
 */
#define _GNU_SOURCE
#include <signal.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

ssize_t write(int fd, const void *bytes, size_t size)
{
    static long writes;
    const char *at = getenv("KILL_WRITE"), *most = getenv("KILL_BYTES");

    if (fd == STDOUT_FILENO && at && ++writes == atol(at)) {
        size_t left = most ? (size_t)atol(most) : size;

        syscall(SYS_write, fd, bytes, left < size ? left : size);
        kill(getpid(), SIGKILL);
    }
    return syscall(SYS_write, fd, bytes, size);
}
