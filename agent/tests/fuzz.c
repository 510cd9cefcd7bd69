/*
 * Plans for a fuzzer: libFuzzer calls LLVMFuzzerTestOneInput. Compiled with
 * REPLAY it has a main function, which takes a file of plans, each behind its
 * length of four bytes, most significant byte first. The linker wraps malloc,
 * calloc and realloc: a plan lives to the end of the agent, so nothing of the
 * agent gives back its memory, and this does after each plan.
 */
#undef main
#include "agent.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define KEPT_MAX 4096

void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *memory, size_t size);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *memory, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length);

static void *kept[KEPT_MAX];
static size_t kept_count;
static int is_keeping;

static void *keep(void *memory)
{
    if (is_keeping && memory) {
        if (kept_count == KEPT_MAX)
            abort();
        kept[kept_count++] = memory;
    }
    return memory;
}

static void forget(const void *memory)
{
    size_t i;

    for (i = 0; is_keeping && i < kept_count; i++)
        if (kept[i] == memory)
            kept[i] = 0;
}

void *__wrap_malloc(size_t size)
{
    return keep(__real_malloc(size));
}

void *__wrap_calloc(size_t count, size_t size)
{
    return keep(__real_calloc(count, size));
}

void *__wrap_realloc(void *memory, size_t size)
{
    forget(memory);
    return keep(__real_realloc(memory, size));
}

/* Looks at everything of a plan that later parts of the agent look at. */
static void look(const struct plan *plan)
{
    const struct key *key;
    size_t seen = strlen(plan->scenario);
    int i;

    for (i = 0; i < plan->endurance_count; i++)
        seen += strlen(plan->endurances[i].target);
    for (i = 0; i < plan->step_count; i++) {
        const struct step *step = &plan->steps[i];

        seen += strlen(step->name) + strlen(step->text);
        seen += (size_t)step_writes(step);
        for (key = step->operation->keys; key->name; key++)
            seen += strlen(step_text(step, key->name))
                + (size_t)step_number(step, key->name);
    }
    if (seen == (size_t)-1)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
    struct plan plan;
    char *text;

    is_keeping = 1;
    /* Not a byte more than the plan has: what reads on is found. */
    text = malloc(length ? length : 1);
    memcpy(text, bytes, length);
    if (plan_read(&plan, "plan", text, length) == 0)
        look(&plan);
    is_keeping = 0;
    while (kept_count)
        free(kept[--kept_count]);
    return 0;
}

#ifdef REPLAY
int main(int count, char **arguments)
{
    static uint8_t plan[1 << 20];
    FILE *file = count == 2 ? fopen(arguments[1], "rb") : 0;
    unsigned char head[4];
    long plans = 0;

    if (file == 0)
        return 2;
    while (fread(head, sizeof head, 1, file) == 1) {
        size_t length = (size_t)head[0] << 24 | (size_t)head[1] << 16
            | (size_t)head[2] << 8 | head[3];

        if (length > sizeof plan || fread(plan, 1, length, file) != length)
            return 2;
        LLVMFuzzerTestOneInput(plan, length);
        plans++;
    }
    printf("%ld\n", plans);
    return 0;
}
#endif
