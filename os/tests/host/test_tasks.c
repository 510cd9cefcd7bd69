/*
 * Tasks use the same few files and directories at once and switch at random.
 * No lock is held too long, nothing panics, nobody sleeps forever; wherever
 * the power fails the file system is consistent; when all is closed nothing is
 * left over.
 */
#include "model.h"
#include "tests.h"

#define TASKS 6
#define OPERATIONS 150

static struct record *run;
static uint after;          /* writes before the power fails */

static void body(int number)
{
    (void)number;
    kernel_do_random(OPERATIONS);
}

/* The number of a file that is gone is given to the next one, while the task
   that lost the last link may not be through with it. */
static void make_and_lose(int number)
{
    char path[] = { '/', (char)('A' + number), 0 };
    for (int i = 0; i < OPERATIONS; i++) {
        int fd = call_open(path, O_CREATE | O_RDWR);
        call_unlink(path);
        call_close(fd);
    }
}

void test_reuse(void *unused)
{
    (void)unused;
    start();
    between_switches = 50;      /* a task does much while another one waits */
    run_tasks(3, make_and_lose);
    if (check_disk("when all tasks have ended") != 0)
        fail("when all tasks have ended: something is left over");
}

static void record_run(void *unused)
{
    (void)unused;
    start();
    recording = run;
    run_tasks(TASKS, body);
    recording = 0;
    if (check_disk("when all tasks have ended") != 0)
        fail("when all tasks have ended: something is left over");
}

static void recover(void *unused)
{
    (void)unused;
    size_t bytes;
    const uchar *image = empty_image(&bytes);
    disk_load(image, bytes);
    for (uint i = 0; i < after; i++)
        memcpy(disk + (size_t)run->writes[i].block * BSIZE,
               run->writes[i].data, BSIZE);
    boot();
    if (check_disk("after recovery") != 0)
        fail("after recovery: something is left over");
}

void test_tasks(void *unused)
{
    (void)unused;
    run = shared(sizeof(*run));
    if (!in_child(record_run, 0))
        fail("the tasks fail");
    for (after = below(100); after < run->count; after += 1 + below(100)) {
        if (!in_child(recover, 0))
            fail("power cut after %u of %u writes", after, run->count);
    }
}
