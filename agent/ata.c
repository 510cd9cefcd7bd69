#include "agent.h"

const struct operation ata_operations[] = {
    { 0, 0, 0, 0 }
};
