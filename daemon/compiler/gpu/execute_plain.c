#define EXECUTE_BLOCK execute_block_plain
#include "daemon/compiler/gpu/execute_block.h"
