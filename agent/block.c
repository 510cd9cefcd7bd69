#include "agent.h"

const struct operation block_operations[] = {
    { 0, 0, 0, 0 }
};
