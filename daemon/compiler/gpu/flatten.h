#ifndef COMPILER_GPU_FLATTEN_H
#define COMPILER_GPU_FLATTEN_H
/*
 * A kernel as one tree without calls: every helper call is replaced by a copy of the helper's body
 * with locals of its own. Early returns become the else branches that they mean, so that nothing
 * but `if` diverges. The tree is the caller's own and may be annotated.
 */
#include "daemon/compiler/gpu/dialect.h"

struct flat_local {
    enum kernel_type type;
    bool assigned;                  /* other than by its declaration */
    const struct expression *start; /* its declaration's value; NULL for parameters and results */
    int parameter;                  /* number of the kernel's parameter, -1 if it is none */
};

struct flat {
    const struct method *kernel;
    struct flat_local *locals;
    int local_count, local_room;
    struct statement *body;    /* a list, without the return */
    struct expression *result; /* what the kernel returns */
};

/* NULL if the copies would be more than a million nodes. */
struct flat *flatten(struct arena *arena, const struct method *kernel);

#endif
