/* Tests of files: reading, writing, descriptors, what happens when space
   ends. */
#include "tests.h"

#include "fcntl.h"
#include "fs.h"
#include "param.h"
#include "stat.h"

static char data[12 * BSIZE];

static void opening(void)
{
    int fd = open("/echo", O_RDONLY);

    CHECK(fd >= 0);
    CHECK(close(fd) == 0);
    CHECK(open("missing", O_RDONLY) == -1);
    CHECK(open("missing", O_RDWR) == -1);
    CHECK(open(".", O_RDWR) == -1);
    CHECK(open(".", O_WRONLY) == -1);
    CHECK((fd = open(".", O_RDONLY)) >= 0);
    CHECK(write(fd, "x", 1) == -1);
    close(fd);
}

static void small_writes(void)
{
    char got[2001];
    int fd = open("small", O_CREATE | O_RDWR);

    CHECK(fd >= 0);
    for (int i = 0; i < 100; i++) {
        CHECK(write(fd, "aaaaaaaaaa", 10) == 10);
        CHECK(write(fd, "bbbbbbbbbb", 10) == 10);
    }
    close(fd);
    CHECK((fd = open("small", O_RDONLY)) >= 0);
    CHECK(read(fd, got, sizeof got) == 2000);
    for (int i = 0; i < 2000; i++)
        CHECK(got[i] == "ab"[i / 10 % 2]);
    CHECK(read(fd, got, sizeof got) == 0);
    close(fd);
    CHECK(unlink("small") == 0);
}

static void largest_file(void)
{
    const int most = (int)MAXFILE * BSIZE;
    int fd;

    make_file("largest", most, 1);
    check_file("largest", most, 1);
    CHECK((fd = open("largest", O_RDWR)) >= 0);
    for (uint i = 0; i < MAXFILE; i++)
        CHECK(read(fd, data, BSIZE) == BSIZE);
    CHECK(write(fd, "x", 1) == -1);
    close(fd);
    check_file("largest", most, 1);
    CHECK(unlink("largest") == 0);
}

/* Each size ends elsewhere in a block, and some need several transactions. */
static void sizes_of_writes(void)
{
    for (int bytes = 499; bytes < (int)sizeof data; bytes += 471) {
        int fd = open("sizes", O_CREATE | O_RDWR);

        CHECK(fd >= 0);
        fill(data, bytes, bytes);
        CHECK(write(fd, data, bytes) == bytes);
        CHECK(write(fd, data, bytes) == bytes);
        close(fd);
        memset(data, 0, sizeof data);
        CHECK((fd = open("sizes", O_RDONLY)) >= 0);
        for (int i = 0; i < 2; i++) {
            CHECK(read(fd, data, bytes) == bytes);
            CHECK(is_filled(data, bytes, bytes));
        }
        CHECK(read(fd, data, 1) == 0);
        close(fd);
        CHECK(unlink("sizes") == 0);
    }
}

static void sizes_of_reads(void)
{
    int fd, total = 0, got;
    static char all[5000];

    fill(all, sizeof all, 9);
    CHECK((fd = open("reads", O_CREATE | O_RDWR)) >= 0);
    CHECK(write(fd, all, sizeof all) == (int)sizeof all);
    close(fd);
    memset(all, 0, sizeof all);
    CHECK((fd = open("reads", O_RDONLY)) >= 0);
    for (int part = 1; (got = read(fd, all + total, part)) > 0; part += 13)
        total += got;
    CHECK(total == (int)sizeof all);
    CHECK(is_filled(all, sizeof all, 9));
    close(fd);
    CHECK(unlink("reads") == 0);
}

static void writing_over(void)
{
    char got[16];
    int fd = open("over", O_CREATE | O_RDWR);

    CHECK(fd >= 0 && write(fd, "0123456789", 10) == 10);
    close(fd);
    CHECK((fd = open("over", O_CREATE | O_WRONLY)) >= 0);
    CHECK(write(fd, "abc", 3) == 3);
    close(fd);
    CHECK((fd = open("over", O_RDONLY)) >= 0);
    CHECK(read(fd, got, sizeof got) == 10);
    CHECK(got[0] == 'a' && got[2] == 'c' && got[3] == '3' && got[9] == '9');
    close(fd);
    CHECK(unlink("over") == 0);
}

static void rights_of_descriptors(void)
{
    char byte;
    int fd = open("rights", O_CREATE | O_WRONLY);

    CHECK(fd >= 0);
    CHECK(read(fd, &byte, 1) == -1);
    CHECK(write(fd, "x", 1) == 1);
    close(fd);
    CHECK((fd = open("rights", O_RDONLY)) >= 0);
    CHECK(write(fd, "y", 1) == -1);
    CHECK(read(fd, &byte, 1) == 1 && byte == 'x');
    CHECK(close(fd) == 0);
    CHECK(close(fd) == -1);
    CHECK(read(fd, &byte, 1) == -1 && write(fd, "x", 1) == -1);
    CHECK(close(-1) == -1 && close(NOFILE) == -1 && dup(1000000) == -1);
    CHECK(read(-1, &byte, 1) == -1 && dup(fd) == -1);
    CHECK(unlink("rights") == 0);
}

static void descriptors_end(void)
{
    int fds[NOFILE], n = 0;

    while (n < NOFILE && (fds[n] = open("/echo", O_RDONLY)) >= 0)
        n++;
    CHECK(n > 0 && n < NOFILE);
    CHECK(dup(fds[0]) == -1);
    CHECK(close(fds[n - 1]) == 0);
    CHECK(dup(fds[0]) == fds[n - 1]);
    while (n > 0)
        CHECK(close(fds[--n]) == 0);
}

/* Processes take descriptors till the system has no more; all come back. */
static void files_of_the_system_end(void)
{
    int go[2], done[2], got = 0;
    char byte;

    CHECK(pipe(go) == 0 && pipe(done) == 0);
    for (int child = 0; child < 12; child++) {
        if (fork_checked())
            continue;
        close(go[1]);
        while (pipe((int[2]){ 0, 0 }) == 0)
            ;
        while (open("/echo", O_RDONLY) >= 0)
            ;
        write(done[1], "x", 1);
        read(go[0], &byte, 1);
        exit();
    }
    while (got < 12)
        got += read(done[0], &byte, 1);
    CHECK(open("/echo", O_RDONLY) == -1);
    CHECK(open("none", O_CREATE | O_RDWR) == -1);
    close(go[1]);
    wait_for(12);
    close(go[0]);
    CHECK(close(open("/echo", O_RDONLY)) == 0);
    unlink("none");
}

static void dup_shares_the_place(void)
{
    char got[4];
    int fd = open("dup", O_CREATE | O_RDWR);
    int second = dup(fd);

    CHECK(second >= 0 && second != fd);
    CHECK(write(fd, "ab", 2) == 2 && write(second, "cd", 2) == 2);
    close(fd);
    CHECK(write(second, "ef", 2) == 2);
    close(second);
    CHECK((fd = open("dup", O_RDONLY)) >= 0);
    second = dup(fd);
    CHECK(read(fd, got, 3) == 3 && read(second, got, 3) == 3);
    CHECK(got[0] == 'd' && got[2] == 'f');
    close(fd);
    close(second);
    CHECK(unlink("dup") == 0);
}

static void fork_shares_the_place(void)
{
    enum { TIMES = 300 };
    int fd = open("shared", O_CREATE | O_RDWR), pid;
    int count[2] = { 0, 0 };
    char text[10];

    CHECK(fd >= 0);
    pid = fork_checked();
    memset(text, pid ? 'p' : 'c', sizeof text);
    for (int i = 0; i < TIMES; i++)
        CHECK(write(fd, text, sizeof text) == (int)sizeof text);
    if (pid == 0)
        exit();
    wait_for(1);
    close(fd);
    CHECK((fd = open("shared", O_RDONLY)) >= 0);
    while (read(fd, text, sizeof text) > 0)
        for (uint i = 0; i < sizeof text; i++) {
            CHECK(text[i] == 'p' || text[i] == 'c');
            CHECK(text[i] == text[0]);
            count[text[i] == 'p']++;
        }
    CHECK(count[0] == TIMES * 10 && count[1] == TIMES * 10);
    close(fd);
    CHECK(unlink("shared") == 0);
}

static void what_fstat_tells(void)
{
    struct stat file, directory, console, again;
    int fd;

    make_file("stat", 700, 1);
    CHECK(stat("stat", &file) == 0);
    CHECK(file.type == T_FILE && file.size == 700 && file.nlink == 1);
    CHECK(link("stat", "stat2") == 0 && stat("stat2", &again) == 0);
    CHECK(again.ino == file.ino && again.nlink == 2 && again.dev == file.dev);
    CHECK(stat(".", &directory) == 0);
    CHECK(directory.type == T_DIR && directory.ino != file.ino);
    CHECK(stat("/console", &console) == 0 && console.type == T_DEV);
    CHECK(stat("missing", &file) == -1);
    CHECK((fd = open("stat", O_RDONLY)) >= 0);
    CHECK(unlink("stat") == 0 && unlink("stat2") == 0);
    CHECK(fstat(fd, &file) == 0 && file.nlink == 0 && file.size == 700);
    close(fd);
    CHECK(fstat(fd, &file) == -1);
}

static void unlinked_files_live_while_open(void)
{
    char got[8];
    int fd = open("gone", O_CREATE | O_RDWR), other;

    CHECK(fd >= 0 && write(fd, "hello", 5) == 5);
    close(fd);
    CHECK((fd = open("gone", O_RDWR)) >= 0);
    CHECK(unlink("gone") == 0);
    CHECK(open("gone", O_RDONLY) == -1);
    CHECK((other = open("gone", O_CREATE | O_RDWR)) >= 0);
    CHECK(write(other, "yyy", 3) == 3);
    close(other);
    CHECK(read(fd, got, sizeof got) == 5 && got[0] == 'h');
    CHECK(write(fd, "1234567890", 10) == 10);
    close(fd);
    CHECK(unlink("gone") == 0);
}

static void four_files_at_once(void)
{
    char name[] = "f0";

    for (int i = 0; i < 4; i++) {
        name[1] = (char)('0' + i);
        if (fork_checked() == 0) {
            make_file(name, 12 * 500, i);
            exit();
        }
    }
    wait_for(4);
    for (int i = 0; i < 4; i++) {
        name[1] = (char)('0' + i);
        check_file(name, 12 * 500, i);
        CHECK(unlink(name) == 0);
    }
}

static char *numbered(int number)
{
    static char name[] = "n000";

    for (int i = 3; i > 0; i--, number /= 10)
        name[i] = (char)('0' + number % 10);
    return name;
}

/* Files of no bytes till there are no more; how many there were. */
static int use_all_inodes(void)
{
    int n = 0, fd;

    while ((fd = open(numbered(n), O_CREATE)) >= 0) {
        close(fd);
        n++;
    }
    for (int i = 0; i < n; i++)
        CHECK(unlink(numbered(i)) == 0);
    unlink(numbered(n));
    return n;
}

/* The same number again: none was lost. */
static void inodes_end(void)
{
    int n = use_all_inodes();

    CHECK(n > 10);
    CHECK(use_all_inodes() == n);
}

/* Full files till there is no more space; how many bytes there were. */
static int use_all_space(void)
{
    int total = 0, files = 0, last = 1;

    while (last > 0) {
        int fd = open(numbered(files), O_CREATE | O_RDWR);

        if (fd < 0)
            break;
        files++;
        last = 0;
        for (int part; (part = write(fd, data, BSIZE)) == BSIZE; last++)
            total += part;
        close(fd);
    }
    while (files > 0)
        CHECK(unlink(numbered(--files)) == 0);
    return total;
}

static void space_ends(void)
{
    int total = use_all_space();

    CHECK(total > 100 * BSIZE);
    make_file("after", 20 * BSIZE, 3);
    check_file("after", 20 * BSIZE, 3);
    CHECK(unlink("after") == 0);
    CHECK(use_all_space() == total);
}

const struct test file_tests[] = {
    { "opening", opening },
    { "small_writes", small_writes },
    { "largest_file", largest_file },
    { "sizes_of_writes", sizes_of_writes },
    { "sizes_of_reads", sizes_of_reads },
    { "writing_over", writing_over },
    { "rights_of_descriptors", rights_of_descriptors },
    { "descriptors_end", descriptors_end },
    { "files_of_the_system_end", files_of_the_system_end },
    { "dup_shares_the_place", dup_shares_the_place },
    { "fork_shares_the_place", fork_shares_the_place },
    { "what_fstat_tells", what_fstat_tells },
    { "unlinked_files_live_while_open", unlinked_files_live_while_open },
    { "four_files_at_once", four_files_at_once },
    { "inodes_end", inodes_end },
    { "space_ends", space_ends },
    { 0, 0 },
};
