#ifndef COMPILER_GATHER_H
#define COMPILER_GATHER_H
/* What operators that take indices have in common, and where ScatterElements and ScatterND put
 * their updates. */
#include "daemon/compiler/graph/graph.h"

/* index counted from the end made to count from the start; -1 where it lies outside. */
static inline int64_t index_wrapped(int64_t index, int64_t length)
{
    index = index < 0 ? index + length : index;
    return index >= 0 && index < length ? index : -1;
}

/*
 * For each run of *run updates, in their order, the row-major place in data at which it goes;
 * *count runs. In arena. NULL where an index lies outside. The indices are constant, all shapes
 * known.
 */
int64_t *scatter_targets(const struct node *n, int64_t *run, int64_t *count, struct arena *arena);

#endif
