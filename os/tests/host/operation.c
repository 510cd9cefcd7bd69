/* Random operations, the kernel's answers to them, and what its tree holds. */
#include "model.h"

static const char *const names[] = {
    "a", "b", "c", "d", "e", ".", "..", "fourteen-bytes", "fourteen-bytes-more"
};

void fill_bytes(uchar *to, int bytes, uint from)
{
    for (int i = 0; i < bytes; i++) {
        from = from * 1664525 + 1013904223;
        to[i] = (uchar)(from >> 24);
    }
}

static void path_random(char *path)
{
    uint depth = 1 + below(3);
    *path = 0;
    if (below(3) == 0)
        strcat(path, "/");
    for (uint i = 0; i < depth && below(40) != 0; i++) {
        if (i > 0)
            strcat(path, below(10) == 0 ? "//" : "/");
        uint choice = below(30);
        strcat(path, names[choice < 27 ? choice % 5 : 5 + below(4)]);
    }
}

static int size_random(void)
{
    switch (below(4)) {
    case 0: return (int)below(40);
    case 1: return (int)below(4) * BSIZE;
    case 2: return (int)below(2000);
    default: return (int)below(IO_MOST);
    }
}

struct operation operation_random(void)
{
    static const enum kind often[] = {
        OPEN, OPEN, OPEN, CLOSE, CLOSE, READ, WRITE, WRITE, WRITE, LINK,
        UNLINK, UNLINK, MKDIR, CHDIR
    };
    static const int modes[] = {
        O_RDONLY, O_WRONLY, O_RDWR, O_CREATE | O_RDWR, O_CREATE | O_RDWR,
        O_CREATE, O_CREATE | O_WRONLY
    };
    struct operation o = { .fd = (int)below(6), .fill = below(1 << 30) };
    uint choice = below(sizeof(often) / sizeof(often[0]) + KINDS);
    o.kind = choice < KINDS ? (enum kind)choice : often[choice - KINDS];
    path_random(o.path);
    path_random(o.other);
    o.value = o.kind == OPEN ? modes[below(7)] : size_random();
    if (below(100) == 0)
        o.fd = (int)below(NOFILE + 4) - 2;
    return o;
}

const char *operation_text(const struct operation *o)
{
    static const char *const kinds[] = {
        "open", "close", "read", "write", "dup", "fstat", "link", "unlink",
        "mkdir", "mknod", "chdir"
    };
    static char text[256];
    snprintf(text, sizeof(text), "%s %s %s fd %d value %d", kinds[o->kind],
             o->path, o->other, o->fd, o->value);
    return text;
}

void kernel_do(const struct operation *o, struct answer *answer)
{
    uchar data[IO_MOST];
    switch (o->kind) {
    case OPEN: answer->result = call_open(o->path, o->value); break;
    case CLOSE: answer->result = call_close(o->fd); break;
    case READ:
        answer->result = call_read(o->fd, answer->data, o->value);
        break;
    case WRITE:
        fill_bytes(data, o->value, o->fill);
        answer->result = call_write(o->fd, data, o->value);
        break;
    case DUP: answer->result = call_dup(o->fd); break;
    case FSTAT: answer->result = call_fstat(o->fd, &answer->stat); break;
    case LINK: answer->result = call_link(o->path, o->other); break;
    case UNLINK: answer->result = call_unlink(o->path); break;
    case MKDIR: answer->result = call_mkdir(o->path); break;
    case MKNOD: answer->result = call_mknod(o->path, o->value, 0); break;
    default: answer->result = call_chdir(o->path); break;
    }
}

void kernel_do_random(int operations)
{
    static struct answer answer;
    for (int i = 0; i < operations; i++) {
        struct operation operation = operation_random();
        kernel_do(&operation, &answer);
    }
    for (int fd = 0; fd < NOFILE; fd++)
        call_close(fd);
}

/* The kernel's tree in the form of model_text. */

static uint sum_of(int fd)
{
    uchar data[2000];
    uint sum = 0;
    int bytes;
    while ((bytes = call_read(fd, data, sizeof(data))) > 0) {
        for (int i = 0; i < bytes; i++)
            sum = sum * 31 + data[i];
    }
    return sum;
}

static void text_of(FILE *out, const char *path);

static void text_below(FILE *out, const char *path, int fd)
{
    struct dirent entries[MAXFILE * BSIZE / sizeof(struct dirent)];
    int bytes = call_read(fd, entries, sizeof(entries));
    call_close(fd);
    for (int i = 2; i < bytes / (int)sizeof(entries[0]); i++) {
        char name[1024];
        if (entries[i].inum == 0)
            continue;
        snprintf(name, sizeof(name), "%s/%.14s", path, entries[i].name);
        text_of(out, name);
    }
}

static void text_of(FILE *out, const char *path)
{
    struct stat stat;
    int fd = call_open(path, O_RDONLY);
    if (fd < 0 || call_fstat(fd, &stat) < 0)
        fail("%s cannot be opened", path);
    fprintf(out, "%s %d %d %u", path, stat.type, stat.nlink, stat.size);
    if (stat.type == T_FILE)
        fprintf(out, " %08x", sum_of(fd));
    fputc('\n', out);
    if (stat.type == T_DIR)
        text_below(out, path, fd);
    else
        call_close(fd);
}

char *tree_text(void)
{
    struct proc *proc = cpu.proc;
    struct file *kept[NOFILE];
    char *text;
    size_t bytes;
    FILE *out = open_memstream(&text, &bytes);
    memcpy(kept, proc->files, sizeof(kept));
    memset(proc->files, 0, sizeof(kept));
    int root = call_open("/", O_RDONLY);
    text_below(out, "", root);
    memcpy(proc->files, kept, sizeof(kept));
    fclose(out);
    return text;
}
