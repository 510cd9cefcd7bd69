/*
 * Tests of the file system on the host:
 *
 *   fs-test IMAGE model|cut|tasks|reuse|limits|check|faults|lies [SEED [COUNT]]
 *
 * IMAGE is an empty file system of mkfs. model: random operations answer as
 * the model does. cut: wherever the power fails, what was finished is there
 * and the rest is not, and the file system is consistent. tasks: the same for
 * many tasks at once, as far as consistency goes. limits: tables that are full,
 * an image of xv6 with a block missing. check: fsck finds each kind of damage.
 * faults: the disk fails. lies: its contents are damaged.
 * Takes COUNT seeds from SEED on, each in a process of its own.
 */
#include "model.h"
#include "tests.h"

static uchar *image;
static size_t image_bytes;

static struct superblock super(void)
{
    struct superblock sb;
    memcpy(&sb, image + BSIZE, sizeof(sb));
    return sb;
}

void start(void)
{
    struct superblock sb = super();
    disk_load(image, image_bytes);
    model_start(sb.nblocks, sb.ninodes);
    boot();
}

const uchar *empty_image(size_t *bytes)
{
    *bytes = image_bytes;
    return image;
}

static void read_image(const char *path)
{
    FILE *file = fopen(path, "rb");
    image = malloc(1 << 24);
    if (file == 0)
        fail("%s cannot be read", path);
    image_bytes = fread(image, 1, 1 << 24, file);
    fclose(file);
}

static const struct {
    const char *name;
    void (*body)(void *);
    int count;              /* seeds that it takes if nothing is said */
} tests[] = {
    { "model", test_model, 60 },
    { "cut", test_cut, 12 },
    { "tasks", test_tasks, 200 },
    { "reuse", test_reuse, 200 },
    { "limits", test_limits, 8 },
    { "check", test_check, 1 },
    { "faults", test_faults, 200 },
    { "lies", test_lies, 600 },
};

int main(int argc, char **argv)
{
    if (argc < 3) {
        fputs("usage: fs-test IMAGE TEST [SEED [COUNT]]\n", stderr);
        return 2;
    }
    read_image(argv[1]);
    for (uint i = 0; i < sizeof(tests) / sizeof(tests[0]); i++) {
        if (strcmp(argv[2], tests[i].name) != 0)
            continue;
        uint64_t first = argc > 3 ? strtoull(argv[3], 0, 10) : 1;
        int count = argc > 4 ? atoi(argv[4]) : argc > 3 ? 1 : tests[i].count;
        int failed = 0;
        for (int k = 0; k < count; k++) {
            seed(first + (uint64_t)k);
            failed += !in_child(tests[i].body, 0);
        }
        printf("%s: %d seeds, %d failed\n", argv[2], count, failed);
        return failed > 0;
    }
    fprintf(stderr, "fs-test: no test %s\n", argv[2]);
    return 2;
}
