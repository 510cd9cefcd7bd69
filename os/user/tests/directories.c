/* Tests of directories: names, links, paths, and several processes in one. */
#include "tests.h"

#include "fcntl.h"
#include "fs.h"
#include "param.h"
#include "stat.h"

static int exists(const char *path)
{
    int fd = open(path, O_RDONLY);

    if (fd >= 0)
        close(fd);
    return fd >= 0;
}

static int create(const char *path)
{
    int fd = open(path, O_CREATE | O_RDWR);

    return fd < 0 ? -1 : close(fd);
}

static void create_and_remove_many(void)
{
    char name[] = "a0";

    for (int i = 0; i < 52; i++) {
        name[1] = (char)('0' + i);
        CHECK(create(name) == 0);
    }
    for (int i = 0; i < 52; i++) {
        name[1] = (char)('0' + i);
        CHECK(unlink(name) == 0 && !exists(name));
    }
}

static void make_and_leave(void)
{
    CHECK(mkdir("dir") == 0);
    CHECK(mkdir("dir") == -1);
    CHECK(chdir("dir") == 0);
    CHECK(create("file") == 0);
    CHECK(chdir("..") == 0);
    CHECK(exists("dir/file"));
    CHECK(unlink("dir") == -1);
    CHECK(unlink("dir/file") == 0);
    CHECK(unlink("dir") == 0);
    CHECK(chdir("dir") == -1);
}

/* The last reference to a directory goes by chdir, by exit, while it is
   open. */
static void removed_while_used(void)
{
    int fd;

    CHECK(mkdir("used") == 0 && chdir("used") == 0);
    CHECK(unlink("../used") == 0);
    CHECK(create("lost") == -1 || unlink("lost") == 0);
    CHECK(chdir("/tests.dir") == 0);
    if (fork_checked() == 0) {
        CHECK(mkdir("used") == 0 && chdir("used") == 0);
        CHECK(unlink("../used") == 0);
        exit();
    }
    wait_for(1);
    CHECK(mkdir("used") == 0);
    CHECK((fd = open("used", O_RDONLY)) >= 0);
    CHECK(unlink("used") == 0);
    CHECK(close(fd) == 0 && !exists("used"));
}

static void opening_fails_beside_unlink(void)
{
    CHECK(mkdir("opened") == 0);
    if (fork_checked() == 0) {
        CHECK(open("opened", O_RDWR) == -1);
        exit();
    }
    sleep(1);
    CHECK(unlink("opened") == 0);
    wait_for(1);
}

static void links(void)
{
    make_file("one", 5, 1);
    CHECK(link("one", "two") == 0);
    CHECK(unlink("one") == 0 && !exists("one"));
    check_file("two", 5, 1);
    CHECK(link("two", "two") == -1);
    CHECK(link(".", "three") == -1);
    CHECK(link("missing", "three") == -1);
    CHECK(link("two", "missing/three") == -1);
    CHECK(unlink("two") == 0);
    CHECK(link("two", "one") == -1);
    CHECK(unlink("two") == -1);
}

static void dots_stay(void)
{
    CHECK(mkdir("dots") == 0 && chdir("dots") == 0);
    CHECK(unlink(".") == -1 && unlink("..") == -1);
    CHECK(chdir("..") == 0);
    CHECK(unlink("dots/.") == -1 && unlink("dots/..") == -1);
    CHECK(unlink("dots") == 0);
    CHECK(unlink("/") == -1);
}

static void names_are_cut(void)
{
    CHECK(mkdir("12345678901234") == 0);
    CHECK(mkdir("12345678901234/123456789012345") == 0);
    CHECK(create("123456789012345/123456789012345/123456789012345") == 0);
    CHECK(exists("12345678901234/12345678901234/12345678901234"));
    CHECK(mkdir("12345678901234/12345678901234") == -1);
    CHECK(mkdir("123456789012345/12345678901234") == -1);
    CHECK(unlink("12345678901234/12345678901234/12345678901234") == 0);
    CHECK(unlink("12345678901234/12345678901234") == 0);
    CHECK(unlink("12345678901234") == 0);
}

static void paths(void)
{
    CHECK(mkdir("d") == 0 && mkdir("d/e") == 0);
    make_file("d/f", 2, 1);
    make_file("d/e/f", 3, 2);
    check_file("d//e/..//./f", 2, 1);
    check_file("/../../tests.dir/d/e/f", 3, 2);
    CHECK(link("d/e/f", "d/e/g") == 0 && unlink("d/e/f") == 0);
    CHECK(!exists("d/e/f"));
    CHECK(chdir("d") == 0 && chdir("e/../../d") == 0);
    CHECK(chdir("e/../../../tests.dir") == 0 && chdir("./.") == 0);
    check_file("d/e/g", 3, 2);
    CHECK(create("d/f/x") == -1 && create("d/x/x") == -1);
    CHECK(open("d", O_CREATE) == -1 && create("d") == -1);
    CHECK(link("d/f/x", "d/e/x") == -1 && link("d/x/f", "d/e/x") == -1);
    CHECK(link("d/f", "d/e/g") == -1);
    CHECK(mkdir("d/f/x") == -1 && mkdir("d/x/x") == -1 && mkdir("d/e/g") == -1);
    CHECK(unlink("d/x/f") == -1 && unlink("d/f/x") == -1);
    CHECK(chdir("d/f") == -1 && chdir("d/x") == -1);
    CHECK(unlink("d/e/g") == 0 && unlink("d/f") == 0 && unlink("d") == -1);
    CHECK(unlink("d/e") == 0 && unlink("d") == 0);
}

static void files_are_no_directories(void)
{
    CHECK(create("file") == 0);
    CHECK(chdir("file") == -1);
    CHECK(!exists("file/x") && create("file/x") == -1);
    CHECK(mkdir("file/x") == -1 && unlink("file/x") == -1);
    CHECK(link("/echo", "file/x") == -1);
    CHECK(unlink("file") == 0);
}

/* Deeper than there are inodes in memory: none may stay in use. */
static void deep_and_empty_names(void)
{
    for (int i = 0; i < NINODE + 1; i++) {
        CHECK(mkdir("deep") == 0 && chdir("deep") == 0);
        CHECK(mkdir("") == -1 && link("/echo", "") == -1);
        CHECK(open("", O_CREATE) == -1 && unlink("") == -1);
        CHECK(create("x") == 0 && unlink("x") == 0);
    }
    for (int i = 0; i < NINODE + 1; i++)
        CHECK(chdir("..") == 0 && unlink("deep") == 0);
}

static char *numbered(int i)
{
    static char name[] = "x00";

    name[1] = (char)('0' + i / 64);
    name[2] = (char)('0' + i % 64);
    return name;
}

/* A directory of indirect blocks too. */
static void large_directory(void)
{
    CHECK(create("large") == 0);
    for (int i = 0; i < 500; i++)
        CHECK(link("large", numbered(i)) == 0);
    CHECK(unlink("large") == 0);
    for (int i = 0; i < 500; i++)
        CHECK(unlink(numbered(i)) == 0);
    CHECK(!exists(numbered(1)));
}

static void links_are_counted(void)
{
    struct stat before, after;

    CHECK(stat(".", &before) == 0);
    CHECK(mkdir("sub") == 0 && stat(".", &after) == 0);
    CHECK(after.nlink == before.nlink + 1);
    CHECK(unlink("sub") == 0 && stat(".", &after) == 0);
    CHECK(after.nlink == before.nlink);
}

static void create_and_remove_at_once(void)
{
    enum { N = 20 };
    char name[] = "p0";

    for (int who = 0; who < 4; who++) {
        name[0] = (char)('p' + who);
        if (fork_checked())
            continue;
        for (int i = 0; i < N; i++) {
            name[1] = (char)('0' + i);
            CHECK(create(name) == 0);
            name[1] = (char)('0' + i / 2);
            if (i > 0 && i % 2 == 0)
                CHECK(unlink(name) == 0);
        }
        exit();
    }
    wait_for(4);
    for (int i = 0; i < N * 4; i++) {
        int number = i / 4;

        name[0] = (char)('p' + i % 4);
        name[1] = (char)('0' + number);
        CHECK(exists(name) == (number == 0 || number >= N / 2));
        unlink(name);
    }
}

/* The same few names by two processes: whatever happens, none hangs, and
   each name is there once or not at all. */
static void one_name_at_once(void)
{
    int pid = fork_checked(), times = 0, fd;
    uint state = pid ? 1 : 97;
    struct dirent entry;

    for (int i = 0; i < 100; i++) {
        switch (random_below(&state, 3)) {
        case 0: create("x"); break;
        case 1: link("/cat", "x"); break;
        default: unlink("x"); break;
        }
    }
    if (pid == 0)
        exit();
    wait_for(1);
    CHECK((fd = open(".", O_RDONLY)) >= 0);
    while (read(fd, &entry, sizeof entry) == (int)sizeof entry)
        times += entry.inum && entry.name[0] == 'x';
    close(fd);
    CHECK(times <= 1);
    unlink("x");
}

static void create_the_same_at_once(void)
{
    enum { N = 30 };
    char name[] = "C0", seen[N] = { 0 };
    struct dirent entry;
    int fd;

    for (int i = 0; i < N; i++) {
        int pid = fork_checked();

        name[1] = (char)('0' + i);
        if ((pid && i % 3 == 1) || (!pid && i % 5 == 1))
            link("C0", name);
        else
            CHECK(create(name) == 0);
        if (pid == 0)
            exit();
        wait_for(1);
    }
    CHECK((fd = open(".", O_RDONLY)) >= 0);
    while (read(fd, &entry, sizeof entry) == (int)sizeof entry)
        if (entry.inum && entry.name[0] == 'C') {
            int number = entry.name[1] - '0';

            CHECK(number >= 0 && number < N && !seen[number]);
            seen[number] = 1;
        }
    close(fd);
    for (int i = 0; i < N; i++) {
        CHECK(seen[i]);
        name[1] = (char)('0' + i);
        if (fork_checked() == 0) {
            unlink(name);
            exists(name);
            exit();
        }
        exists(name);
        unlink(name);
        wait_for(1);
        CHECK(!exists(name));
    }
}

const struct test directory_tests[] = {
    { "create_and_remove_many", create_and_remove_many },
    { "make_and_leave", make_and_leave },
    { "removed_while_used", removed_while_used },
    { "opening_fails_beside_unlink", opening_fails_beside_unlink },
    { "links", links },
    { "dots_stay", dots_stay },
    { "names_are_cut", names_are_cut },
    { "paths", paths },
    { "files_are_no_directories", files_are_no_directories },
    { "deep_and_empty_names", deep_and_empty_names },
    { "large_directory", large_directory },
    { "links_are_counted", links_are_counted },
    { "create_and_remove_at_once", create_and_remove_at_once },
    { "one_name_at_once", one_name_at_once },
    { "create_the_same_at_once", create_the_same_at_once },
    { 0, 0 },
};
