/*
 * hostile [LIVE [KB]]: tries to reach what is not its own, while LIVE
 * processes live (at least the 4 that it takes). It reads and writes one byte
 * at every MB of the 4 GB (or every KB kilobytes), at each of the first pages
 * of all slots, and at each page of the kernel with its disk; each try is a
 * process of its own, since it is to be killed. What it gets must be its own
 * memory: by its address, or by the address of the slot that it runs in. From
 * time to time the others check that theirs is as they left it. Prints
 * `ISOLATED`, or FAIL lines.
 */
#include "types.h"
#include "evaluate.h"
#include "memlayout.h"
#include "param.h"
#include "user.h"

#define OTHERS_OF_LIVE 4        /* init, shell, this one, the one that tries */
#define PAGES_OF_SLOT 8         /* that are tried; programs are smaller */
#define TRIES_BETWEEN_CHECKS 512
#define SECRET_BYTES 256

static uint end_of_memory;
static volatile uint marker;
static char secret[SECRET_BYTES];
static int victims;
static int go[2], found[2];     /* pipes to the victims and back */
static uint tried, own, breaches;

static void fail(const char *why)
{
    printf(1, "FAIL hostile: %s\n", why);
    exit();
}

static void fill_secret(int who)
{
    for (int i = 0; i < SECRET_BYTES; i++)
        secret[i] = (char)(who * 37 + i * 11);
}

static int secret_is_kept(int who)
{
    for (int i = 0; i < SECRET_BYTES; i++)
        if (secret[i] != (char)(who * 37 + i * 11))
            return 0;
    return 1;
}

static void live_as_victim(int who)
{
    char byte;

    fill_secret(who);
    close(go[1]);
    while (read(go[0], &byte, 1) == 1)
        write(found[1], secret_is_kept(who) ? "." : "X", 1);
    exit();
}

static void make_victims(void)
{
    if (pipe(go) < 0 || pipe(found) < 0)
        fail("no pipe");
    for (int i = 0; i < victims; i++) {
        int pid = fork();

        if (pid < 0)
            fail("so many processes there cannot be");
        if (pid == 0)
            live_as_victim(i);
    }
}

static void ask_victims(void)
{
    char byte;

    for (int i = 0; i < victims; i++)
        write(go[1], "?", 1);
    for (int i = 0; i < victims; i++)
        if (read(found[0], &byte, 1) != 1 || byte != '.') {
            printf(1, "FAIL hostile: a process lost its memory\n");
            breaches++;
        }
}

/* Is `at` an address of this process's memory, its usual one or through
   its slot? Then what is stored here is seen there. */
static int is_own(uint at)
{
    uint slot = at & ~(SLOT_SIZE - 1);
    volatile uint *alias = (volatile uint *)(slot + (uint)&marker);

    if (at < end_of_memory)
        return 1;
    if (slot >= (SLOTS + 1) * SLOT_SIZE || at - slot >= end_of_memory)
        return 0;
    marker = 0x12345678;
    if (*alias != 0x12345678)
        return 0;
    marker = 0x9abcdef0;
    return *alias == 0x9abcdef0;
}

/* In a process that lives on only if it could. The byte is stored as it
   was read: it may be of this process's own code. */
static void try_in_child(uint at, int writing, int to)
{
    volatile char *place = (volatile char *)at;

    if (writing)
        *place = at < end_of_memory ? *place : 0;
    else
        (void)*place;
    write(to, is_own(at) ? "o" : "B", 1);
    exit();
}

static void try(uint at, int writing)
{
    int ends[2], pid;
    char what = 0;

    if (pipe(ends) < 0 || (pid = fork()) < 0)
        fail("no process for a try");
    if (pid == 0)
        try_in_child(at, writing, ends[1]);
    close(ends[1]);
    read(ends[0], &what, 1);
    close(ends[0]);
    wait();
    tried++;
    own += what == 'o';
    if (what == 'B') {
        printf(1, "FAIL hostile: %s %x\n", writing ? "wrote" : "read", at);
        breaches++;
    }
}

static void scan(uint from, uint bytes, uint step)
{
    for (uint at = 0; at < bytes; at += step) {
        try(from + at, 0);
        try(from + at, 1);
        if (tried % TRIES_BETWEEN_CHECKS == 0)
            ask_victims();
        if (at + step < at)
            return;
    }
}

int main(int argc, char **argv)
{
    uint kb = argc > 2 ? (uint)atoi(argv[2]) : 1024;
    int live = argc > 1 ? atoi(argv[1]) : OTHERS_OF_LIVE;
    struct counters now;

    if (kb < 1 || live > NPROC)
        fail("usage: hostile [LIVE [KB]]");
    victims = live > OTHERS_OF_LIVE ? live - OTHERS_OF_LIVE : 0;
    end_of_memory = PAGE_UP(sbrk(0));
    counters(&now);
    fill_secret(99);
    make_victims();
    scan(0, 0xffffffffu, kb * 1024);
    for (uint slot = 1; slot <= SLOTS; slot++)
        scan(slot * SLOT_SIZE, PAGES_OF_SLOT * PAGE, PAGE);
    scan(KERNBASE, now.pages_kernel * PAGE, PAGE);
    scan(VECTORS, 0x10000, PAGE);
    ask_victims();
    close(go[1]);
    for (int i = 0; i < victims; i++)
        wait();
    if (!secret_is_kept(99))
        fail("own memory changed");
    printf(1, "hostile: %d live, %d tries, %d of them in own memory\n",
           OTHERS_OF_LIVE + victims, tried, own);
    if (breaches)
        fail("it got through");
    printf(1, "ISOLATED\n");
    exit();
}
