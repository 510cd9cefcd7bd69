/*
 * Prints the places of the steps of a plan, a line each, on a device: PLAN
 * CAPACITY UNIT. For the test that compares them with those of the crate.
 */
#undef main
#include "agent.h"
#include "output.h"

#include <stdio.h>
#include <stdlib.h>

int main(int count, char **arguments)
{
    static char text[1 << 16];
    FILE *file = count == 4 ? fopen(arguments[1], "r") : 0;
    struct plan plan;
    int i;

    if (file == 0 || plan_read(&plan, arguments[1], text,
                               fread(text, 1, sizeof text, file)))
        return 2;
    for (i = 0; i < plan.step_count; i++) {
        struct pattern pattern;
        uint64_t at;

        printf("%s", plan.steps[i].name);
        if (pattern_begin(&pattern, &plan.steps[i],
                          strtoull(arguments[2], 0, 10),
                          strtoull(arguments[3], 0, 10)) == 0)
            while (pattern_next(&pattern, &at))
                printf(" %llu", (unsigned long long)at);
        putchar('\n');
    }
    return 0;
}
