/* Random operations on the kernel and on the model, compared one by one. */
#include "model.h"
#include "tests.h"

#define OPERATIONS 3000
#define LOOK_EVERY 100

static void compare_trees(const char *when)
{
    char *model = model_text(), *kernel = tree_text();
    if (strcmp(model, kernel) != 0)
        fail("%s: the trees differ\nmodel:\n%skernel:\n%s", when, model,
             kernel);
    free(model);
    free(kernel);
}

static void compare(const struct operation *operation)
{
    static struct answer model, kernel;
    memset(&model, 0, sizeof(model));
    memset(&kernel, 0, sizeof(kernel));
    model_do(operation, &model);
    kernel_do(operation, &kernel);
    if (model.result != kernel.result)
        fail("%s: the model answers %d, the kernel %d",
             operation_text(operation), model.result, kernel.result);
    if (memcmp(model.data, kernel.data, IO_MOST) != 0 ||
        memcmp(&model.stat, &kernel.stat, sizeof(struct stat)) != 0)
        fail("%s: the answers differ", operation_text(operation));
}

void test_model(void *unused)
{
    (void)unused;
    start();
    for (int i = 1; i <= OPERATIONS; i++) {
        struct operation operation = operation_random();
        compare(&operation);
        if (i % LOOK_EVERY == 0) {
            compare_trees(operation_text(&operation));
            check_disk(operation_text(&operation));
        }
    }
    for (int fd = 0; fd < NOFILE; fd++)
        call_close(fd);
    call_chdir("/");
    if (check_disk("at the end") != 0)
        fail("at the end: something is left over");
}
