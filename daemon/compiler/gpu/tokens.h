#ifndef COMPILER_TOKENS_H
#define COMPILER_TOKENS_H
/*
 * Token ids: a model input of integers that only Gather reads, as indices (graph/accept.h). They
 * lie in a private buffer that SetFilterTokens writes: position i is cell (i, t), r = id % 2048, g
 * = id / 2048 (both exact in 16 bits), where row t belongs to the t-th of the lengths that the ids
 * index: negative ids have been counted from that length's end, and all limited to it.
 */
#include "daemon/compiler/gpu/kernel.h"

/* The lengths of axes that live Gathers index by v, ascending, without repeats: an array in arena.
 */
const int64_t *tokens_tables(const struct value *v, int *count, struct arena *arena);
/* The id at element at[] of v, which is a token input or comes from one through Cast, Reshape and
 * the like: an index within 0 … length - 1, for an axis of that length. */
const struct index *tokens_read(struct kernel *k, struct value *v, const struct index *const *at,
                                int64_t length);

#endif
