/*
 * What may be written.
 */
#include "agent.h"

int target_check(const struct plan *plan, const struct permissions *allowed,
                 const struct step **step, char *why, size_t size)
{
    (void)plan; (void)allowed; (void)step; (void)why; (void)size;
    return 0;
}

int target_open(const struct step *step, struct record *record, int flags)
{
    (void)step; (void)flags;
    return record_fail(record, "not yet");
}

void target_wear(const struct plan *plan,
                 void (*each)(void *data, const char *target, uint64_t cycles,
                              uint64_t endurance), void *data)
{
    (void)plan; (void)each; (void)data;
}
