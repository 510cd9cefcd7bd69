/* fsck finds each kind of damage, and nothing else: what is broken here, and
   what it says. */
#include <sys/mman.h>
#include <unistd.h>

#include "model.h"
#include "tests.h"
#include "../../mkfs/check.h"

static uchar *image;
static size_t bytes;
static struct superblock sb;

static uchar *block_at(uint block)
{
    return image + (size_t)block * BSIZE;
}

static struct dinode *inode_at(uint inum)
{
    return (struct dinode *)block_at(IBLOCK(inum, sb)) + inum % IPB;
}

static struct dirent *entry_at(uint dir, uint index)
{
    return (struct dirent *)block_at(inode_at(dir)->addrs[0]) + index;
}

static void flip_bit(uint block)
{
    block_at(BBLOCK(block, sb))[block % BPB / 8] ^= (uchar)(1 << block % 8);
}

/* The file system that is damaged: inode 2 is the directory /d, 3 the file
   /d/f of 20 blocks, 4 the file /g of one, 5 the directory /d/e. */
static void make_tree(void)
{
    uchar data[512] = { 1 };
    call_mkdir("d");
    int fd = call_open("d/f", O_CREATE | O_RDWR);
    for (int i = 0; i < 20; i++)
        call_write(fd, data, sizeof(data));
    call_close(fd);
    fd = call_open("g", O_CREATE | O_RDWR);
    call_write(fd, data, 100);
    call_close(fd);
    call_mkdir("d/e");
}

static void type(void) { inode_at(4)->type = 9; }
static void size(void) { inode_at(3)->size = (MAXFILE + 1) * BSIZE; }
static void range(void) { inode_at(4)->addrs[0] = sb.size; }
static void log_block(void) { inode_at(4)->addrs[0] = sb.logstart; }
static void twice(void) { inode_at(4)->addrs[0] = inode_at(3)->addrs[1]; }
static void beyond(void) { inode_at(3)->size = 19 * BSIZE; }
static void hole(void) { inode_at(3)->addrs[3] = 0; }
static void indirect(void) { inode_at(3)->size = 10; }
static void map_free(void) { flip_bit(inode_at(4)->addrs[0]); }
static void map_used(void) { flip_bit(sb.size - 1); }
static void dots(void) { entry_at(2, 0)->name[0] = 'x'; }
static void up(void) { entry_at(5, 1)->inum = ROOTINO; }
static void free_inode(void) { entry_at(2, 2)->inum = 9; }
static void no_inode(void) { entry_at(2, 2)->inum = 0xFFFF; }
static void same_name(void) { *entry_at(2, 3) = *entry_at(2, 2); }
static void empty_name(void) { entry_at(2, 2)->name[0] = 0; }
static void slash(void) { entry_at(2, 2)->name[0] = '/'; }
static void links(void) { inode_at(4)->nlink = 2; }
static void dir_links(void) { inode_at(2)->nlink = 1; }
static void lost(void) { entry_at(2, 2)->inum = 0; }
static void root(void) { inode_at(ROOTINO)->type = T_FILE; }
static void device(void) { inode_at(4)->type = T_DEV; }
static void odd(void) { inode_at(2)->size += 3; }
static void super_block(void) { ((uint *)block_at(1))[5] = 3; }
static void too_large(void) { ((uint *)block_at(1))[0] = 1 << 20; }
static void one_too_many(void) { ((uint *)block_at(1))[0] = 16385; }
static void longer(void) { ((uint *)block_at(1))[0] = sb.size + 1; }

/* Its indirect block is the last one: nothing behind that may be read. */
static void long_directory(void)
{
    inode_at(2)->size = 0xFFFFFFF0;
    inode_at(2)->addrs[NDIRECT] = sb.size - 1;
}

static void cycle(void)
{
    entry_at(5, 2)->inum = 2;
    entry_at(5, 2)->name[0] = 'd';
    inode_at(5)->size = 3 * sizeof(struct dirent);
    entry_at(2, 1)->inum = 5;
    memset(entry_at(ROOTINO, 2), 0, sizeof(struct dirent));
    inode_at(ROOTINO)->nlink--;
    inode_at(5)->nlink++;
}

static const struct {
    void (*damage)(void);
    const char *says;
} damages[] = {
    { type, "inode 4: type 9" },
    { size, "inode 3: 72192 bytes are too many" },
    { range, "is outside the data" },
    { log_block, "inode 4: block 2 is outside the data" },
    { twice, "inode 3 uses it, and so does inode 4" },
    { beyond, "is beyond its end" },
    { hole, "inode 3: its block of index 3 is missing" },
    { indirect, "inode 3: it is too short for its indirect block" },
    { map_free, "(inode 4) and the free map calls it free" },
    { map_used, "nothing uses it and the free map says so" },
    { dots, "directory 2: . and .. are not there" },
    { up, "directory 5: its .. is 1 and not 2" },
    { free_inode, "directory 2: f is the free inode 9" },
    { no_inode, "directory 2: f is the free inode 65535" },
    { same_name, "directory 2: the name f is there twice" },
    { empty_name, "directory 2: entry 2 has no proper name" },
    { slash, "directory 2: entry 2 has no proper name" },
    { links, "inode 4: it has 1 links and says 2" },
    { dir_links, "inode 2: it has 2 links and says 1" },
    { lost, "inode 3: it has 0 links and says 1" },
    { root, "inode 1: the root is no directory" },
    { device, "inode 4: it has a size" },
    { odd, "directory 2: its size is" },
    { super_block, "this is no image: block 1 is no super block" },
    { too_large, "says 1048576 blocks, the kernel takes 16384 at most" },
    { one_too_many, "says 16385 blocks, the kernel takes 16384 at most" },
    { longer, "the file has 153600 bytes, its super block says 301 blocks" },
    { long_directory, "inode 2: 4294967280 bytes are too many" },
    { cycle, "directory 2: it is not below the root" },
};

static void expect(uint index)
{
    char *text;
    size_t text_bytes;
    FILE *out = open_memstream(&text, &text_bytes);
    memcpy(image, disk, bytes);
    damages[index].damage();
    struct findings found = check_image(image, bytes, out);
    fclose(out);
    if (found.errors == 0 || strstr(text, damages[index].says) == 0)
        fail("'%s' is not found, but:\n%s", damages[index].says, text);
    free(text);
}

/* A log that holds one block is replayed; one that cannot be is refused. */
static void check_log(void)
{
    memcpy(image, disk, bytes);
    uint *header = (uint *)block_at(sb.logstart);
    header[0] = 1;
    header[1] = sb.size - 1;
    memset(block_at(sb.logstart + 1), 7, BSIZE);
    if (log_length(image, bytes) != 1)
        fail("a log of one block is not seen");
    log_replay(image);
    if (header[0] != 0 || block_at(sb.size - 1)[5] != 7)
        fail("the log is not replayed");
    header[0] = sb.nlog;
    if (log_length(image, bytes) != -1)
        fail("a log that is too long is taken");
    header[0] = 1;
    header[1] = 1;
    if (log_length(image, bytes) != -1)
        fail("a log that writes to the super block is taken");
}

/* Of a file that was cut the first bytes, at the end of memory. */
static void expect_of_cut(size_t left, const char *says)
{
    char *text;
    size_t text_bytes;
    FILE *out = open_memstream(&text, &text_bytes);
    uchar *at = image + bytes - left;
    memcpy(at, disk, left);
    struct findings found = check_image(at, left, out);
    fclose(out);
    if (found.errors != 1 || strstr(text, says) == 0 ||
        log_length(at, left) != -2)
        fail("of %zu bytes '%s' is not said, but:\n%s", left, says, text);
    free(text);
}

static void check_cut_files(void)
{
    expect_of_cut(0, "this is no image: the file has 0 bytes");
    expect_of_cut(539, "the file has 539 bytes, the super block ends at 540");
    expect_of_cut(700, "the file has 700 bytes, its super block says 300");
    expect_of_cut(bytes - 1, "the file has 153599 bytes, its super block");
}

/* Memory behind which there is none: reading there ends the test. */
static uchar *image_at_edge(size_t size)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    size_t whole = (size + page - 1) / page * page;
    uchar *at = mmap(0, whole + page, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (at == MAP_FAILED || mprotect(at + whole, page, PROT_NONE) < 0)
        fail("no memory for an image");
    return at + whole - size;
}

void test_check(void *unused)
{
    (void)unused;
    start();
    make_tree();
    if (check_disk("undamaged") != 0)
        fail("undamaged: there are notes");
    bytes = disk_bytes;
    image = image_at_edge(bytes);
    memcpy(&sb, disk + BSIZE, sizeof(sb));
    for (uint i = 0; i < sizeof(damages) / sizeof(damages[0]); i++)
        expect(i);
    check_log();
    check_cut_files();
}
