/*
 * Limits other than space (the model knows that): more files in use than the
 * kernel has inodes in memory, a directory with a block that is not there.
 */
#include "model.h"
#include "tests.h"

#define TASKS 5
#define FILES 15                /* of each task: in all more than NINODE */

static int opened[TASKS + 1];
static int finished;

static void name_of(char *name, int task, int number)
{
    sprintf(name, "%c%d", 'a' + task, number);
}

/* Opens as many files as it gets and keeps them until all tasks have tried. */
static void open_many(int task)
{
    char name[16];
    for (int i = 0; i < FILES; i++) {
        name_of(name, task, i);
        opened[task] += call_open(name, O_CREATE | O_RDWR) >= 0;
    }
    finished++;
    while (finished < TASKS)
        call_fstat(0, &(struct stat){ 0 });
    for (int fd = 0; fd < NOFILE; fd++)
        call_close(fd);
}

static void too_many_inodes(void *unused)
{
    (void)unused;
    int sum = 0;
    start();
    run_tasks(TASKS, open_many);
    for (int i = 1; i <= TASKS; i++)
        sum += opened[i];
    if (sum < NINODE - TASKS - 1 || sum >= NINODE)
        fail("%d files are open at once", sum);
    for (int i = 1; i <= TASKS; i++) {
        char name[16];
        name_of(name, i, 0);
        int fd = call_open(name, O_RDONLY);
        if (opened[i] > 0 && fd < 0)
            fail("%s cannot be opened any more", name);
        call_close(fd);
    }
    if (check_disk("after too many files") != 0)
        fail("after too many files: something is left over");
}

/* xv6's mkfs adds a block that is not there to a root whose entries fill
   theirs. */
static void missing_block(void *unused)
{
    (void)unused;
    struct superblock sb;
    size_t bytes;
    const uchar *image = empty_image(&bytes);
    disk_load(image, bytes);
    memcpy(&sb, disk + BSIZE, sizeof(sb));
    struct dinode *root = (struct dinode *)
        (disk + IBLOCK(ROOTINO, sb) * BSIZE) + ROOTINO % IPB;
    root->size += BSIZE;
    if (check_disk("before") != 1)
        fail("the missing block is not noted");
    boot();
    for (int i = 0; i < 35; i++) {
        char name[16];
        name_of(name, 0, i);
        int fd = call_open(name, O_CREATE | O_WRONLY);
        if (fd < 0 || call_close(fd) < 0)
            fail("%s cannot be made", name);
    }
    if (check_disk("with 35 files") != 0)
        fail("the missing block is still missing");
    free(tree_text());
}

void test_limits(void *unused)
{
    (void)unused;
    if (!in_child(too_many_inodes, 0) || !in_child(missing_block, 0))
        fail("a limit");
}
