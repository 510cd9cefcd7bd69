#include "agent.h"

const struct operation mmc_operations[] = {
    { 0, 0, 0, 0 }
};
