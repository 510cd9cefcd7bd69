#include "agent.h"

const struct operation file_operations[] = {
    { 0, 0, 0, 0 }
};
