/*
 * The power fails at every single write to the disk of a run of random
 * operations: before it, or in its middle with only the first or the second
 * half of the block written. The kernel starts again, and once more for each
 * write of that recovery before which the power fails again. Then the file
 * system is consistent, nothing is left over, and it holds what it held after
 * the last operation that had ended, or what a further transaction of the next
 * one made of it.
 */
#include "model.h"
#include "tests.h"

#define OPERATIONS 60
#define OUTCOMES_MOST 4096
#define TEXTS_MOST (64u << 20)

enum tear { NOTHING, FIRST_HALF, SECOND_HALF, TEARS };

/* What the tree may be. */
struct outcome {
    uint from;              /* so many writes have reached the disk, or more */
    uint until;             /* fewer than these: then the operation has ended */
    char *text;
};

/* Shared by all processes of the test. */
static struct outcomes {
    uint count;
    uint text_bytes;
    struct outcome outcome[OUTCOMES_MOST];
    char texts[TEXTS_MOST];
} *outcomes;
static struct record *run;          /* writes of the operations */
static struct record *recovery;     /* writes of the kernel's last start */

struct cut {
    uint after;             /* writes of the run that reached the disk whole */
    enum tear tear;         /* how much of the next one did */
    uint again;             /* the same of the recovery, if that is cut, too */
};

/* An outcome that the operation to be done next may leave. */
static void outcome_add(void)
{
    char *text = model_text();
    uint bytes = (uint)strlen(text) + 1;
    if (outcomes->count == OUTCOMES_MOST ||
        bytes > TEXTS_MOST - outcomes->text_bytes)
        fail("too many outcomes");
    struct outcome *outcome = &outcomes->outcome[outcomes->count++];
    outcome->from = run->count;
    outcome->until = UINT32_MAX;
    outcome->text = memcpy(outcomes->texts + outcomes->text_bytes, text, bytes);
    outcomes->text_bytes += bytes;
    free(text);
}

static void record_run(void *unused)
{
    static struct answer model, kernel;
    (void)unused;
    start();
    recording = run;
    model_between = outcome_add;
    outcome_add();
    for (int i = 0; i < OPERATIONS; i++) {
        struct operation operation = operation_random();
        uint first = outcomes->count - 1;
        model_do(&operation, &model);
        outcome_add();
        kernel_do(&operation, &kernel);
        if (model.result != kernel.result)
            fail("%s: the answers differ", operation_text(&operation));
        for (uint k = first; k + 1 < outcomes->count; k++)
            outcomes->outcome[k].until = run->count;
    }
}

static void apply(const struct write *write, uint from, uint to)
{
    memcpy(disk + (size_t)write->block * BSIZE + from, write->data + from,
           to - from);
}

static void apply_cut(const struct cut *cut)
{
    size_t bytes;
    const uchar *image = empty_image(&bytes);
    disk_load(image, bytes);
    for (uint i = 0; i < cut->after; i++)
        apply(&run->writes[i], 0, BSIZE);
    if (cut->tear == FIRST_HALF)
        apply(&run->writes[cut->after], 0, BSIZE / 2);
    if (cut->tear == SECOND_HALF)
        apply(&run->writes[cut->after], BSIZE / 2, BSIZE);
    for (uint i = 0; i < cut->again; i++)
        apply(&recovery->writes[i], 0, BSIZE);
}

static void recover(void *argument)
{
    const struct cut *cut = argument;
    apply_cut(cut);
    if (cut->again == 0) {
        recovery->count = 0;
        recording = recovery;
    }
    boot();
    recording = 0;
    if (check_disk("after recovery") != 0)
        fail("something is left over");
    char *text = tree_text();
    for (uint i = 0; i < outcomes->count; i++) {
        const struct outcome *outcome = &outcomes->outcome[i];
        if (outcome->from <= cut->after && cut->after < outcome->until &&
            strcmp(outcome->text, text) == 0)
            return;
    }
    fail("the tree is none that may be there:\n%s", text);
}

static void check_cut(struct cut cut)
{
    uint writes = 0;
    do {
        if (!in_child(recover, &cut))
            fail("power cut after %u of %u writes, tear %d, and after %u of "
                 "%u writes of the recovery", cut.after, run->count,
                 cut.tear, cut.again, writes);
        writes = recovery->count;
        cut.again++;
    } while (cut.tear == NOTHING && cut.again < writes);
}

void test_cut(void *unused)
{
    (void)unused;
    outcomes = shared(sizeof(*outcomes));
    run = shared(sizeof(*run));
    recovery = shared(sizeof(*recovery));
    if (!in_child(record_run, 0))
        fail("the operations themselves fail");
    for (uint after = 0; after < run->count; after++) {
        for (enum tear tear = NOTHING; tear < TEARS; tear++)
            check_cut((struct cut){ .after = after, .tear = tear });
    }
    check_cut((struct cut){ .after = run->count });
}
