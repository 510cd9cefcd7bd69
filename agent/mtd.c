#include "agent.h"

const struct operation mtd_operations[] = {
    { 0, 0, 0, 0 }
};
