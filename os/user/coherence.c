/*
 * Address spaces that grow, shrink, end and begin anew, at the same addresses
 * with other memory: what goes wrong here if the kernel forgets any maintenance
 * of caches or TLB. On a machine without caches it shows nothing of that; the
 * simulator's checker of coherence does (tests/maintenance.py).
 */
#include "types.h"
#include "evaluate.h"
#include "user.h"

#define PAGE 4096
#define LARGE (80 * PAGE)           /* more than caches and TLB hold */
#define MEGABYTE (1 << 20)
#define TABLE (5 * MEGABYTE)        /* takes another table */
#define CROWD 20                    /* more processes than there are domains */

static int failures;

/* Where a page begins that sbrk gave. */
static char *take(int bytes)
{
    uint end = (uint)sbrk(0);
    char *place;

    sbrk((int)(-end & (PAGE - 1)));
    place = sbrk(bytes);
    return place == (char *)-1 ? 0 : place;
}

/* Writes a function that returns `value`, and calls it. Never read before as
   data, it goes to memory at once. */
static int run_code(void *place, int value)
{
    uint *code = place;

    code[0] = 0xe3a00000u | (uint)value;    /* mov r0, #value */
    code[1] = 0xe12fff1eu;                  /* bx lr */
    return ((int (*)(void))place)();
}

/* Reads it all, so that its lines are in the cache. */
static int all_are(const volatile char *place, int bytes, int value)
{
    int right = 1;

    for (int at = 0; at < bytes; at += 16)
        if (place[at] != value)
            right = 0;
    return right;
}

/* Takes memory, makes the end of it dirty, and gives it back; its place. */
static char *use(int bytes)
{
    char *place = take(bytes);
    int dirty = bytes < LARGE ? bytes : LARGE;
    char *part = place + bytes - dirty;

    if (place == 0)
        exit();
    all_are(part, dirty, 0);
    memset(part, 7, (uint)dirty);
    all_are(part, dirty, 7);
    sbrk(-bytes);
    return place;
}

/* The children's parts: one that comes back says whether all was well; those
   that touch what they gave back must not come back. */
static int touch_page(void)
{
    return use(PAGE)[PAGE - 1];
}

static int touch_large(void)
{
    return use(LARGE)[LARGE - 1];
}

static int touch_table(void)
{
    return use(TABLE)[TABLE - 1];
}

static int write_table(void)
{
    use(TABLE)[TABLE - 1] = 1;
    return 1;
}

static int zero_after(int bytes)
{
    char *place = use(bytes);

    /* The end first: that is what the cache still has. */
    return take(bytes) == place && all_are(place + bytes - PAGE, PAGE, 0)
        && all_are(place, bytes, 0);
}

static int zero_page(void)
{
    return zero_after(PAGE);
}

static int zero_large(void)
{
    return zero_after(LARGE);
}

static int code_after(int bytes)
{
    char *place = take(bytes);

    if (run_code(place, 1) != 1)
        return 0;
    sbrk(-bytes);
    take(PAGE);
    return run_code(place, 2) == 2;
}

static int code_page(void)
{
    return code_after(PAGE);
}

static int code_large(void)
{
    return code_after(LARGE);
}

/* Beyond a slot: into an own table, and on there. */
static int outgrow(void)
{
    char *small = take(PAGE), *place;

    *small = 5;
    place = take(33 * MEGABYTE);
    if (place == 0 || *small != 5)
        return 0;
    place[32 * MEGABYTE] = 6;
    yield();
    sbrk(-MEGABYTE - PAGE);
    return place[31 * MEGABYTE] == 0 && *small == 5 && zero_large();
}

/* Says whether `part` came back and said 1. */
static int child_says(int (*part)(void))
{
    int ends[2];
    char said = 0;

    if (pipe(ends) < 0)
        return -1;
    if (fork() == 0) {
        said = (char)part();
        write(ends[1], &said, 1);
        exit();
    }
    close(ends[1]);
    read(ends[0], &said, 1);
    close(ends[0]);
    wait();
    return said;
}

static void expect(const char *name, int (*part)(void), int says)
{
    if (child_says(part) == says)
        return;
    printf(1, "coherence: %s: not %d\n", name, says);
    failures++;
}

/* Many at once, each with dirty memory and code of its own, and with
   translations that stay in the TLB while others run: at another page than
   theirs. */
static void member(int number, int end)
{
    char *place = take((number + 2) * PAGE) + number * PAGE;
    char right = 1;

    memset(place, number, PAGE);
    for (int round = 0; round < 4; round++) {
        right = right && all_are(place, PAGE, number);
        right = right && run_code(place + PAGE + 64 * round, number) == number;
        yield();
    }
    write(end, &right, 1);
    exit();
}

static void crowd(void)
{
    int ends[2], came = 0;
    char right;

    pipe(ends);
    for (int i = 0; i < CROWD; i++)
        if (fork() == 0)
            member(i + 1, ends[1]);
    close(ends[1]);
    while (read(ends[0], &right, 1) == 1)
        came += right;
    close(ends[0]);
    while (wait() > 0)
        ;
    if (came == CROWD)
        return;
    printf(1, "coherence: only %d of the crowd were right\n", came);
    failures++;
}

static void all(void)
{
    expect("touch_page", touch_page, 0);
    expect("touch_large", touch_large, 0);
    expect("touch_table", touch_table, 0);
    expect("write_table", write_table, 0);
    expect("zero_page", zero_page, 1);
    expect("zero_large", zero_large, 1);
    expect("code_page", code_page, 1);
    expect("code_large", code_large, 1);
    crowd();
}

int main(void)
{
    int fcse = tune(TUNE_FCSE, 1);

    all();
    expect("outgrow", outgrow, 1);
    tune(TUNE_FCSE, 0);
    all();
    tune(TUNE_FCSE, fcse);
    printf(1, failures ? "coherence: FAILED\n" : "coherence: ok\n");
    exit();
}
