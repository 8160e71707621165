/* Eight lanes at once. Without FMA: a contracted product would be another number. */
#if defined(__x86_64__)
#pragma GCC target("avx2")
#endif
#define EXECUTE_BLOCK execute_block_avx2
#include "daemon/compiler/gpu/execute_block.h"
