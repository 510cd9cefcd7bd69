/* The model of the file system: see model.h. */
#include "model.h"

#define INODES 256

struct slot {
    uint inum;
    char name[DIRSIZ];
};

struct node {
    int type;               /* 0: free */
    int nlink;
    int users;              /* open files, current directory */
    int major;
    uint size;
    uchar *data;            /* of a file: room for the longest */
    struct slot *slots;     /* of a directory */
};

struct open_file {
    int refs;
    uint inum;
    uint offset;
    int mode;
};

void (*model_between)(void);

static struct node nodes[INODES];
static uint node_count, blocks_free;
static struct open_file opened[NOFILE];
static int descriptors[NOFILE];     /* in `opened`, -1 if closed */
static uint cwd;

/* Space */

static uint blocks_of(uint size)
{
    uint blocks = (size + BSIZE - 1) / BSIZE;
    return blocks > NDIRECT ? blocks + 1 : blocks;
}

/* Makes a node longer if there are blocks for it. */
static int lengthen(struct node *node, uint size)
{
    uint more = size > node->size ? blocks_of(size) - blocks_of(node->size)
                                  : 0;
    if (more > blocks_free)
        return -1;
    blocks_free -= more;
    if (size > node->size)
        node->size = size;
    return 0;
}

static void put(uint inum)
{
    struct node *node = &nodes[inum];
    if (node->nlink > 0 || node->users > 0)
        return;
    blocks_free += blocks_of(node->size);
    free(node->data);
    free(node->slots);
    *node = (struct node){ 0 };
}

static uint node_new(int type, int major)
{
    for (uint inum = ROOTINO; inum < node_count; inum++) {
        struct node *node = &nodes[inum];
        if (node->type != 0)
            continue;
        *node = (struct node){ .type = type, .nlink = 1, .major = major };
        node->data = calloc(MAXFILE, BSIZE);
        node->slots = calloc(MAXFILE * BSIZE / 16, sizeof(struct slot));
        return inum;
    }
    return 0;
}

/* Directories */

static struct slot *find(uint dir, const char *name)
{
    struct node *node = &nodes[dir];
    for (uint i = 0; node->nlink > 0 && i < node->size / 16; i++) {
        struct slot *slot = &node->slots[i];
        if (slot->inum != 0 && strncmp(slot->name, name, DIRSIZ) == 0)
            return slot;
    }
    return 0;
}

static int enter(uint dir, const char *name, uint inum)
{
    struct node *node = &nodes[dir];
    uint i = 0;
    if (node->nlink < 1 || find(dir, name))
        return -1;
    while (i < node->size / 16 && node->slots[i].inum != 0)
        i++;
    if (i >= MAXFILE * BSIZE / 16 || lengthen(node, (i + 1) * 16) < 0)
        return -1;
    node->slots[i].inum = inum;
    memset(node->slots[i].name, 0, DIRSIZ);
    memcpy(node->slots[i].name, name, strnlen(name, DIRSIZ));
    return 0;
}

static int is_empty(const struct node *dir)
{
    for (uint i = 2; i < dir->size / 16; i++) {
        if (dir->slots[i].inum != 0)
            return 0;
    }
    return 1;
}

/* The inode of a path; with `last` that of the directory of its last name,
   which goes there. 0 if there is none. */
static uint resolve(const char *path, char *last)
{
    char copy[PATH_MOST], *rest = copy, *name;
    uint at = *path == '/' ? ROOTINO : cwd;
    strcpy(copy, path);
    name = strtok_r(copy, "/", &rest);
    if (last && name == 0)
        return 0;
    while (name != 0) {
        char *next = strtok_r(0, "/", &rest);
        if (nodes[at].type != T_DIR)
            return 0;
        if (last && next == 0) {
            memset(last, 0, DIRSIZ + 1);
            memcpy(last, name, strnlen(name, DIRSIZ));
            return at;
        }
        struct slot *slot = find(at, name);
        if (slot == 0)
            return 0;
        at = slot->inum;
        name = next;
    }
    return at;
}

/* Operations */

static uint create(const char *path, int type, int major)
{
    char name[DIRSIZ + 1];
    uint dir = resolve(path, name);
    if (dir == 0)
        return 0;
    struct slot *slot = find(dir, name);
    if (slot != 0)
        return type == T_FILE && nodes[slot->inum].type == T_FILE
            ? slot->inum : 0;
    if (nodes[dir].nlink < 1)
        return 0;
    uint inum = node_new(type, major);
    if (inum == 0)
        return 0;
    if ((type == T_DIR && (enter(inum, ".", inum) < 0 ||
                           enter(inum, "..", dir) < 0)) ||
        enter(dir, name, inum) < 0) {
        nodes[inum].nlink = 0;
        put(inum);
        return 0;
    }
    nodes[dir].nlink += type == T_DIR;
    return inum;
}

static int descriptor_new(int file)
{
    for (int fd = 0; fd < NOFILE; fd++) {
        if (descriptors[fd] < 0) {
            descriptors[fd] = file;
            return fd;
        }
    }
    return -1;
}

static int do_open(const char *path, int mode)
{
    int file = 0;
    uint inum = mode & O_CREATE ? create(path, T_FILE, 0) : resolve(path, 0);
    if (inum == 0 || (!(mode & O_CREATE) && nodes[inum].type == T_DIR &&
                      mode != O_RDONLY))
        return -1;
    while (file < NOFILE - 1 && opened[file].refs > 0)
        file++;
    int fd = descriptor_new(file);
    if (fd < 0)
        return -1;
    opened[file] = (struct open_file){ .refs = 1, .inum = inum, .mode = mode };
    nodes[inum].users++;
    return fd;
}

static struct open_file *file_of(int fd)
{
    if (fd < 0 || fd >= NOFILE || descriptors[fd] < 0)
        return 0;
    return &opened[descriptors[fd]];
}

static int do_close(int fd)
{
    struct open_file *file = file_of(fd);
    if (file == 0)
        return -1;
    descriptors[fd] = -1;
    if (--file->refs == 0) {
        nodes[file->inum].users--;
        put(file->inum);
    }
    return 0;
}

static void copy_out(const struct node *node, uint offset, uchar *to,
                     uint bytes)
{
    for (uint i = 0; i < bytes; i++) {
        const struct slot *slot = &node->slots[(offset + i) / 16];
        uchar entry[16] = { (uchar)slot->inum, (uchar)(slot->inum >> 8) };
        memcpy(entry + 2, slot->name, DIRSIZ);
        to[i] = node->type == T_DIR ? entry[(offset + i) % 16]
                                    : node->data[offset + i];
    }
}

static int do_read(int fd, uchar *to, int bytes)
{
    struct open_file *file = file_of(fd);
    if (file == 0 || (file->mode & O_WRONLY) || bytes < 0)
        return -1;
    struct node *node = &nodes[file->inum];
    if (node->type == T_DEV)
        return -1;
    uint rest = node->size - file->offset;
    uint count = (uint)bytes < rest ? (uint)bytes : rest;
    copy_out(node, file->offset, to, count);
    file->offset += count;
    return (int)count;
}

/* The bytes of one transaction that there is space for. */
static uint write_part(struct node *node, uint offset, const uchar *from,
                       uint bytes)
{
    uint done = 0;
    while (done < bytes) {
        uint part = BSIZE - (offset + done) % BSIZE;
        part = part < bytes - done ? part : bytes - done;
        if (lengthen(node, offset + done + part) < 0)
            break;
        memcpy(node->data + offset + done, from + done, part);
        done += part;
    }
    return done;
}

static int do_write(int fd, uint fill, int bytes)
{
    struct open_file *file = file_of(fd);
    uchar data[IO_MOST];
    if (file == 0 || !(file->mode & (O_WRONLY | O_RDWR)) || bytes < 0)
        return -1;
    struct node *node = &nodes[file->inum];
    if (node->type == T_DEV)
        return -1;
    fill_bytes(data, bytes, fill);
    for (uint done = 0, part; done < (uint)bytes; done += part) {
        part = 4 * BSIZE - file->offset % BSIZE;
        part = part < (uint)bytes - done ? part : (uint)bytes - done;
        if (file->offset + part > MAXFILE * BSIZE)
            return -1;
        uint wrote = write_part(node, file->offset, data + done, part);
        file->offset += wrote;
        if (wrote < part)
            return -1;
        if (model_between && done + part < (uint)bytes)
            model_between();
    }
    return bytes;
}

static int do_dup(int fd)
{
    if (file_of(fd) == 0)
        return -1;
    int new = descriptor_new(descriptors[fd]);
    if (new >= 0)
        opened[descriptors[fd]].refs++;
    return new;
}

static int do_fstat(int fd, struct stat *to)
{
    const struct open_file *file = file_of(fd);
    if (file == 0)
        return -1;
    const struct node *node = &nodes[file->inum];
    to->type = (short)node->type;
    to->dev = ROOTDEV;
    to->ino = file->inum;
    to->nlink = (short)node->nlink;
    to->size = node->size;
    return 0;
}

static int do_link(const char *old, const char *new)
{
    char name[DIRSIZ + 1];
    uint inum = resolve(old, 0);
    if (inum == 0 || nodes[inum].type == T_DIR || nodes[inum].nlink < 1)
        return -1;
    uint dir = resolve(new, name);
    if (dir == 0 || enter(dir, name, inum) < 0)
        return -1;
    nodes[inum].nlink++;
    return 0;
}

static int do_unlink(const char *path)
{
    char name[DIRSIZ + 1];
    uint dir = resolve(path, name);
    if (dir == 0 || strcmp(name, ".") == 0 || strcmp(name, "..") == 0)
        return -1;
    struct slot *slot = find(dir, name);
    if (slot == 0)
        return -1;
    uint inum = slot->inum;
    if (nodes[inum].type == T_DIR && !is_empty(&nodes[inum]))
        return -1;
    *slot = (struct slot){ 0 };
    nodes[dir].nlink -= nodes[inum].type == T_DIR;
    nodes[inum].nlink--;
    put(inum);
    return 0;
}

static int do_chdir(const char *path)
{
    uint inum = resolve(path, 0);
    if (inum == 0 || nodes[inum].type != T_DIR)
        return -1;
    uint left = cwd;
    nodes[inum].users++;
    cwd = inum;
    nodes[left].users--;
    put(left);
    return 0;
}

void model_do(const struct operation *o, struct answer *answer)
{
    switch (o->kind) {
    case OPEN: answer->result = do_open(o->path, o->value); break;
    case CLOSE: answer->result = do_close(o->fd); break;
    case READ: answer->result = do_read(o->fd, answer->data, o->value); break;
    case WRITE: answer->result = do_write(o->fd, o->fill, o->value); break;
    case DUP: answer->result = do_dup(o->fd); break;
    case FSTAT: answer->result = do_fstat(o->fd, &answer->stat); break;
    case LINK: answer->result = do_link(o->path, o->other); break;
    case UNLINK: answer->result = do_unlink(o->path); break;
    case MKDIR:
        answer->result = create(o->path, T_DIR, 0) ? 0 : -1;
        break;
    case MKNOD:
        answer->result = create(o->path, T_DEV, o->value) ? 0 : -1;
        break;
    default: answer->result = do_chdir(o->path); break;
    }
}

void model_start(uint blocks, uint inodes)
{
    node_count = inodes;
    blocks_free = blocks;
    uint root = node_new(T_DIR, 0);
    enter(root, ".", root);
    enter(root, "..", root);
    nodes[root].size = BSIZE;       /* as mkfs makes it */
    nodes[root].users = 1;
    cwd = root;
    for (int fd = 0; fd < NOFILE; fd++)
        descriptors[fd] = -1;
}

static void text_below(FILE *out, const char *path, uint dir)
{
    for (uint i = 2; i < nodes[dir].size / 16; i++) {
        const struct slot *slot = &nodes[dir].slots[i];
        const struct node *node = &nodes[slot->inum];
        char name[1024];
        if (slot->inum == 0)
            continue;
        snprintf(name, sizeof(name), "%s/%.14s", path, slot->name);
        fprintf(out, "%s %d %d %u", name, node->type, node->nlink, node->size);
        if (node->type == T_FILE) {
            uint sum = 0;
            for (uint k = 0; k < node->size; k++)
                sum = sum * 31 + node->data[k];
            fprintf(out, " %08x", sum);
        }
        fputc('\n', out);
        if (node->type == T_DIR)
            text_below(out, name, slot->inum);
    }
}

char *model_text(void)
{
    char *text;
    size_t bytes;
    FILE *out = open_memstream(&text, &bytes);
    text_below(out, "", ROOTINO);
    fclose(out);
    return text;
}
