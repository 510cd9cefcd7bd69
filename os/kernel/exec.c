/*
 * Replaces the running process's program. A program is an ELF file for ARM, in
 * segments from address 0 upwards; behind them come a page that must not be
 * touched and one for the stack, on which the arguments lie. The old memory
 * stays until nothing can fail any more: arguments and path may lie in it.
 */
#include "contract.h"
#include "kernel.h"
#include "file.h"
#include "proc.h"
#include "space.h"
#include "stat.h"

#define ELF_MAGIC 0x464c457fu
#define ELF_CLASS_32_LITTLE 0x00010101u /* class, order, version, system */
#define ELF_EXECUTABLE 2
#define ELF_ARM 40
#define ELF_LOAD 1

/* Header of the file; see the ELF specification, "ELF Header". */
struct elf {
    uint magic;
    uint class;             /* the low three bytes of ELF_CLASS_ */
    uint padding[2];
    ushort type;            /* ELF_EXECUTABLE */
    ushort machine;         /* ELF_ARM */
    uint version;
    uint entry;             /* first instruction */
    uint headers;           /* offset of the segments' headers */
    uint sections;
    uint flags;
    ushort size;
    ushort header_size;
    ushort header_count;
    ushort section_size;
    ushort section_count;
    ushort section_names;
};

/* Header of a segment. */
struct segment {
    uint type;              /* ELF_LOAD, or to be left alone */
    uint offset;            /* in the file */
    uint address;           /* in memory */
    uint physical;
    uint file_size;         /* bytes in the file */
    uint memory_size;       /* bytes in memory; zero behind those of the file */
    uint flags;
    uint align;
};

/* A program on its way into memory. */
struct image {
    struct space *space;
    uint size;              /* bytes of memory so far */
    uint entry;             /* first instruction */
    uint guard;             /* page below the stack */
    uint sp;
    int argc;
};

/* Reads the file through a page of the kernel, as the new space is not
   active. */
static int read_into(struct image *image, struct inode *file,
                     const struct segment *segment)
{
    char *page = page_alloc();
    uint done = 0;

    if (page == 0)
        return -1;
    while (done < segment->file_size) {
        uint left = segment->file_size - done;
        uint bytes = left < PAGE ? left : PAGE;

        if (readi(file, page, segment->offset + done, bytes) != (int)bytes
            || space_write(image->space, segment->address + done, page,
                           bytes) < 0)
            break;
        done += bytes;
    }
    page_free(page);
    return done < segment->file_size ? -1 : 0;
}

static int load_segment(struct image *image, struct inode *file,
                        const struct segment *segment)
{
    uint end = segment->address + segment->memory_size;

    if (segment->memory_size < segment->file_size || end < segment->address
        || end > KERNBASE - 2 * PAGE)
        return -1;
    if (end > image->size) {
        if (space_grow(image->space, image->size, end) < 0)
            return -1;
        image->size = end;
    }
    return read_into(image, file, segment);
}

static int load(struct image *image, struct inode *file)
{
    struct elf elf;
    struct segment segment;

    if (readi(file, (char *)&elf, 0, sizeof(elf)) != sizeof(elf)
        || elf.magic != ELF_MAGIC || elf.type != ELF_EXECUTABLE
        || (elf.class & 0xffffff) != ELF_CLASS_32_LITTLE
        || elf.machine != ELF_ARM || elf.header_size != sizeof(segment))
        return -1;
    for (uint i = 0; i < elf.header_count; i++) {
        uint at = elf.headers + i * sizeof(segment);

        if (cpu.proc->killed
            || readi(file, (char *)&segment, at, sizeof(segment))
               != sizeof(segment))
            return -1;
        if (segment.type == ELF_LOAD
            && load_segment(image, file, &segment) < 0)
            return -1;
    }
    image->entry = elf.entry;
    return elf.entry % 4 != 0 || elf.entry >= image->size ? -1 : 0;
}

static int load_path(struct image *image, const char *path)
{
    struct inode *file;
    int result = -1;

    begin_op();
    file = namei(path);
    if (file) {
        if (ilock(file) < 0) {
            iput(file);
        } else {
            if (file->type == T_FILE)
                result = load(image, file);
            iunlockput(file);
        }
    }
    end_op();
    return result;
}

static int make_stack(struct image *image)
{
    image->guard = PAGE_UP(image->size);
    image->sp = image->guard + 2 * PAGE;
    if (space_grow(image->space, image->size, image->sp) < 0)
        return -1;
    space_guard(image->space, image->guard);
    image->size = image->sp;
    return 0;
}

/* Writes to the stack, below all that is on it. */
static int push(struct image *image, const void *from, uint bytes, uint align)
{
    uint sp = image->sp;

    if (bytes > sp - (image->guard + PAGE))
        return -1;
    sp = (sp - bytes) & ~(align - 1);
    if (sp < image->guard + PAGE)
        return -1;
    image->sp = sp;
    return space_write(image->space, sp, from, bytes);
}

/* The strings, then the table of their addresses, ended by 0, at sp. */
static int push_arguments(struct image *image, char **arguments)
{
    uint table[MAXARG + 1];
    int count = 0;

    for (; arguments[count]; count++) {
        if (count >= MAXARG
            || push(image, arguments[count], strlen(arguments[count]) + 1, 4)
                < 0)
            return -1;
        table[count] = image->sp;
    }
    table[count] = 0;
    image->argc = count;
    return push(image, table, (uint)(count + 1) * sizeof(table[0]), 8);
}

static void set_name(struct proc *proc, const char *path)
{
    const char *last = path;

    for (; *path; path++)
        if (*path == '/')
            last = path + 1;
    safestrcpy(proc->name, last, sizeof(proc->name));
}

/* From here on the process is the new program. */
static void commit(struct proc *me, const struct image *image)
{
    requires_sleep_allowed();
    struct space *old = me->space;

    space_code_ready(image->space);
    me->size = image->size;
    me->guard = image->guard;
    frame_init(me->frame, image->entry, image->sp);
    me->frame->r[1] = image->sp;
    if (!space_is_near(image->space))
        space_prepare(image->space);
    push_off();
    me->space = image->space;
    space_activate(me->space);
    pop_off();
    if (old)
        space_free(old);
}

/* Returns the number of arguments, which is main's first one, or -1. */
int exec(char *path, char **arguments)
{
    requires_sleep_allowed();
    struct image image = {.space = space_new()};

    if (image.space == 0)
        return -1;
    if (load_path(&image, path) < 0 || make_stack(&image) < 0
        || push_arguments(&image, arguments) < 0) {
        space_free(image.space);
        return -1;
    }
    set_name(cpu.proc, path);
    commit(cpu.proc, &image);
    cpu.proc->frame->r[0] = (uint)image.argc;
    return image.argc;
}
