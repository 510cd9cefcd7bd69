/*
 * The shell. Its language:
 *
 *   line     = pipeline { (";" | "&") pipeline }
 *   pipeline = part [ "|" pipeline ]
 *   part     = { WORD | redirection }  or  "(" line ")" { redirection }
 *   redirection = "<" WORD | ">" WORD | ">>" WORD
 *
 * A pipeline before "&" is not waited for. Each line is parsed and run in a
 * process of its own, so its memory needs no freeing; only cd is done by the
 * shell itself, for the directory is a process's own. ">" does not shorten a
 * file, as in xv6.
 */
#include "types.h"
#include "fcntl.h"
#include "param.h"
#include "user.h"

#define LINE 256            /* bytes of a line */
#define NODES 48            /* commands, pipes and lists of a line */

enum kind { COMMAND, GROUP, PIPE, LIST, BACKGROUND };

struct redirection {
    int fd;                 /* which is opened anew */
    int mode;               /* O_ */
    char *path;
};

/* What is to be run. */
struct node {
    enum kind kind;
    struct node *left;      /* of PIPE, LIST; what GROUP or BACKGROUND runs */
    struct node *right;     /* of PIPE, LIST */
    char **words;           /* of a COMMAND; 0 behind the last */
    struct redirection redirections[3];
    int redirected;         /* redirections in use */
};

static struct node nodes[NODES];
static int nodes_used;
static char texts[2 * LINE];    /* the words, each ended by 0 */
static char *text_next = texts;
static char *words[LINE + NODES];
static int words_used;

static const char *input;       /* rest of the line that is parsed */

static void fail(const char *what, const char *name)
{
    printf(2, "%s%s\n", what, name);
    exit();
}

static int fork_or_fail(void)
{
    int pid = fork();

    if (pid < 0)
        fail("sh: no further process", "");
    return pid;
}

static struct node *node(enum kind kind, struct node *left, struct node *right)
{
    struct node *made = &nodes[nodes_used];

    if (nodes_used++ == NODES)
        fail("sh: line too long", "");
    made->kind = kind;
    made->left = left;
    made->right = right;
    return made;
}

/* The next character that is no space; 0 at the end. */
static char next(void)
{
    while (*input && strchr(" \t\r\n\v", *input))
        input++;
    return *input;
}

static int take(char c)
{
    if (next() != c)
        return 0;
    input++;
    return 1;
}

static char *word(void)
{
    char *begin = text_next;

    if (!next() || strchr("<>|;&()", *input))
        fail("sh: a name is missing before ", *input ? input : "the end");
    while (*input && !strchr("<>|;&() \t\r\n\v", *input))
        *text_next++ = *input++;
    *text_next++ = 0;
    return begin;
}

/* 1 if there was one. */
static int redirection(struct node *command)
{
    int fd = 1, mode = O_WRONLY | O_CREATE;
    const uint most = sizeof command->redirections / sizeof(struct redirection);

    if (take('<')) {
        fd = 0;
        mode = O_RDONLY;
    } else if (!take('>')) {
        return 0;
    } else if (*input == '>') {
        input++;
    }
    if (command->redirected == (int)most)
        fail("sh: too many redirections", "");
    command->redirections[command->redirected++] =
        (struct redirection){ .fd = fd, .mode = mode, .path = word() };
    return 1;
}

static struct node *line(void);

static struct node *part(void)
{
    struct node *made;
    int first;

    if (take('(')) {
        made = node(GROUP, line(), 0);
        if (!take(')'))
            fail("sh: ) is missing", "");
        while (redirection(made))
            ;
        return made;
    }
    made = node(COMMAND, 0, 0);
    first = words_used;
    made->words = &words[first];
    while (next() && !strchr("|;&)", *input)) {
        if (redirection(made))
            continue;
        words[words_used++] = word();
    }
    words[words_used++] = 0;
    if (words_used - first > MAXARG)
        fail("sh: too many words", "");
    return made;
}

static struct node *pipeline(void)
{
    struct node *made = part();

    return take('|') ? node(PIPE, made, pipeline()) : made;
}

static struct node *line(void)
{
    struct node *made = pipeline();

    if (take('&')) {
        made = node(BACKGROUND, made, 0);
        while (take('&'))
            ;
    } else if (next() != ';') {
        return made;
    }
    take(';');
    if (next() && *input != ')')
        made = node(LIST, made, line());
    return made;
}

static void redirect(const struct node *command)
{
    for (int i = 0; i < command->redirected; i++) {
        const struct redirection *to = &command->redirections[i];

        close(to->fd);
        if (open(to->path, to->mode) != to->fd)
            fail("sh: cannot open ", to->path);
    }
}

static void run(const struct node *command) __attribute__((noreturn));

static void run_with(const struct node *command, int fd, const int *ends)
{
    if (fork_or_fail())
        return;
    close(fd);
    dup(ends[fd]);
    close(ends[0]);
    close(ends[1]);
    run(command);
}

static void run_pipe(const struct node *command)
{
    int ends[2];

    if (pipe(ends) < 0)
        fail("sh: no further pipe", "");
    run_with(command->left, 1, ends);
    run_with(command->right, 0, ends);
    close(ends[0]);
    close(ends[1]);
    wait();
    wait();
}

/* A program of the current directory or, by its bare name, of the root. */
static void become(char **arguments)
{
    char path[LINE + 1] = "/";

    exec(arguments[0], arguments);
    strcpy(path + 1, arguments[0]);
    if (!strchr(arguments[0], '/'))
        exec(path, arguments);
    fail("sh: cannot run ", arguments[0]);
}

/* In this process, which ends with it. */
static void run(const struct node *command)
{
    redirect(command);
    switch (command->kind) {
    case COMMAND:
        if (command->words[0])
            become(command->words);
        break;
    case GROUP:
        run(command->left);
    case PIPE:
        run_pipe(command);
        break;
    case LIST:
        if (!fork_or_fail())
            run(command->left);
        wait();
        run(command->right);
    case BACKGROUND:
        if (!fork_or_fail())
            run(command->left);
        break;
    }
    exit();
}

static struct node *parse(const char *text)
{
    struct node *made;

    input = text;
    made = line();
    if (next())
        fail("sh: not understood: ", input);
    return made;
}

static int is_space(char c)
{
    return c && strchr(" \t\r\n\v", c) != 0;
}

static void cut_space(char *text)
{
    uint end = strlen(text);

    while (end > 0 && is_space(text[end - 1]))
        end--;
    text[end] = 0;
}

/* 1 if the line was cd, which was done. */
static int change_directory(char *text)
{
    while (*text == ' ' || *text == '\t')
        text++;
    if (text[0] != 'c' || text[1] != 'd' || (text[2] && !is_space(text[2])))
        return 0;
    for (text += 2; *text == ' ' || *text == '\t'; text++)
        ;
    if (chdir(*text ? text : "/") < 0)
        printf(2, "cannot cd %s\n", text);
    return 1;
}

int main(void)
{
    static char typed[LINE];
    int fd;

    while ((fd = open("console", O_RDWR)) >= 0 && fd < 3)
        ;
    if (fd >= 3)
        close(fd);
    for (;;) {
        printf(2, "$ ");
        if (!*gets(typed, sizeof typed))
            exit();
        cut_space(typed);
        if (change_directory(typed))
            continue;
        if (!fork_or_fail())
            run(parse(typed));
        wait();
    }
}
