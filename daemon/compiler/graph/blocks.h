#ifndef COMPILER_BLOCKS_H
#define COMPILER_BLOCKS_H
/*
 * A constant's elements in order, block by block: however large it is, and even where it is not
 * evaluated yet, it is never in memory as a whole (unless it cannot be had otherwise:
 * tensor_data()).
 *
 *     struct blocks b;
 *     blocks_init(&b, c, t);
 *     while (blocks_next(&b))
 *         for (int64_t i = 0; i < b.part.count; i++)
 *             … element b.first + i is element i of b.part …
 *
 * What blocks_next() gave is gone at the next call; the last call frees everything. In between, the
 * job may evaluate other constants, but blocks end in the reverse order of their beginnings.
 */
#include "daemon/compiler/graph/tensor.h"

struct blocks {
    struct tensor part; /* one axis, in memory */
    int64_t first;
    struct arena *scratch; /* for whoever looks at the part: it goes with it */
    /* private */
    struct context *context;
    const struct tensor *tensor;
    int64_t most;          /* elements of a block */
    struct recipe *recipe; /* NULL: in memory or in a file */
    const void *payload;   /* where only the whole can be had */
    struct arena *whole;
    struct arena_mark start; /* of scratch */
};

void blocks_init(struct blocks *b, struct context *c, const struct tensor *t);
bool blocks_next(struct blocks *b);

#endif
