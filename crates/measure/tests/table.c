/*
 * Prints what the agent can do: a line for every key of every operation, for
 * the test that compares it with the table of the crate.
 */
#undef main
#include "agent.h"

#include <stdio.h>

int main(void)
{
    static const char *const types[] = { "number", "flag", "word", "path" };
    const struct operation *const families[] = {
        mtd_operations, block_operations, ata_operations, mmc_operations,
        file_operations, cpu_operations,
    };
    const struct operation *operation;
    const struct key *key;
    unsigned i;

    for (i = 0; i < sizeof families / sizeof *families; i++)
        for (operation = families[i]; operation->name; operation++) {
            printf("%s %d\n", operation->name, operation->writes);
            for (key = operation->keys; key->name; key++)
                printf("%s %s %s=%s [%s] %llu..%llu\n", operation->name,
                       types[key->type], key->name,
                       key->fallback ? key->fallback : "(needed)",
                       key->words ? key->words : "",
                       (unsigned long long)key->least,
                       (unsigned long long)key->most);
        }
    return 0;
}
