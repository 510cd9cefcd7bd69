/*
 * The disk fails: blocks cannot be read, or from some moment on not written,
 * while tasks use the same files at once. Programs get -1, and nothing panics
 * or waits forever. At the next start, on a disk that is whole again, the file
 * system is consistent and nothing is left over; where writes failed, it holds
 * what was read until the end, and nothing could be changed since.
 */
#include "model.h"
#include "tests.h"

#define TASKS 6
#define OPERATIONS 120
#define BAD_MOST 12
#define TEXT_MOST (1u << 20)

enum trouble { READS, WRITES, ONE_WRITE, TROUBLES };

/* Shared by the processes of the test. */
static struct {
    char text[TEXT_MOST];       /* the tree at the end */
    uint failures;              /* that the disk answered */
    uint refused;               /* later operations that changed nothing */
} *seen;

static enum trouble trouble;
static uint bad[BAD_MOST], bad_count;
static uint good_writes;        /* before the first one that fails */

static int fails(uint block, int writing)
{
    int fails = 0;
    if (trouble == READS) {
        for (uint i = 0; i < bad_count && !writing; i++)
            fails |= block == bad[i];
    } else if (writing && good_writes > 0) {
        good_writes--;
    } else if (writing && (trouble == WRITES || seen->failures == 0)) {
        fails = 1;
    }
    seen->failures += (uint)fails;
    return fails;
}

static void operate(int number)
{
    (void)number;
    kernel_do_random(OPERATIONS);
}

/* Blocks that cannot be read: most of them of inodes, free map and first
   data. */
static void choose_trouble(void)
{
    trouble = (enum trouble)below(TROUBLES);
    good_writes = below(300);
    bad_count = 1 + below(BAD_MOST);
    for (uint i = 0; i < bad_count; i++)
        bad[i] = 2 + (below(3) == 0 ? below((uint)(disk_bytes / BSIZE) - 2)
                                    : 30 + below(40));
}

/* Once a write has failed nothing is changed any more, and all is read. */
static void check_closed(void)
{
    if (call_mkdir("/late") != -1 || call_open("/late", O_CREATE) != -1 ||
        call_mknod("/late", 1, 1) != -1 || call_unlink("/a") != -1)
        fail("something is changed on a disk that failed");
    char *text = tree_text();
    if (strlen(text) >= TEXT_MOST)
        fail("the tree is too large");
    strcpy(seen->text, text);
    free(text);
}

static void run(void *unused)
{
    (void)unused;
    boot();
    operate(0);
    choose_trouble();
    disk_fails = fails;
    run_tasks(TASKS, operate);
    if (trouble != READS && seen->failures > 0)
        check_closed();
    call_chdir("/");
}

static void restart(void *unused)
{
    (void)unused;
    boot();
    if (check_disk("after the restart") != 0)
        fail("after the restart: something is left over");
    char *text = tree_text();
    if (seen->text[0] != 0 && strcmp(text, seen->text) != 0)
        fail("what was read before the restart:\n%s\nand behind it:\n%s",
             seen->text, text);
    free(text);
}

/* An image in memory that the processes of the test share. */
void share_disk(void)
{
    size_t bytes;
    const uchar *image = empty_image(&bytes);
    disk = shared(bytes);
    disk_load(image, bytes);
}

void test_faults(void *unused)
{
    (void)unused;
    seen = shared(sizeof(*seen));
    share_disk();
    if (!in_child(run, 0))
        fail("with a disk that fails");
    if (!in_child(restart, 0))
        fail("after a disk that failed");
}
