#ifndef COMPILER_GATHER_H
#define COMPILER_GATHER_H
/* Where ScatterElements and ScatterND put their updates. */
#include "daemon/compiler/graph/graph.h"

/*
 * For each run of *run updates, in their order, the row-major place in data at which it goes;
 * *count runs. In arena. NULL where an index lies outside. The indices are constant, all shapes
 * known.
 */
int64_t *scatter_targets(const struct node *n, int64_t *run, int64_t *count, struct arena *arena);

#endif
