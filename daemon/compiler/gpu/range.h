#ifndef COMPILER_GPU_RANGE_H
#define COMPILER_GPU_RANGE_H
/*
 * How large values become in the steps of a plan: which of them may leave what 16 bits hold and are
 * limited when they are written (R12), and which inner ones are held times a power of two instead.
 *
 * Two intervals go along with each value (operators/range.h). One is sure: what steps store is
 * limited; what a script writes into a model's input may have become infinite there. It decides
 * about limits, and nothing else enters a kernel. The other says what is known without that: what
 * stays finite there has a known range.
 */
#include "daemon/compiler/gpu/plan.h"
#include "daemon/compiler/graph/half.h"
#include "daemon/compiler/operators/range.h"
#include <math.h>

/* Numbers up to here are rounded to it: less than the 65520 from which on they become infinite, by
 * what expressions lose in float32. */
#define SURE_HALF 65516.0

/* value->plan->extent */
struct extent {
    struct range computed; /* by the kernel, before anything limits it */
    struct range sure;     /* as readers get it */
    struct range reach;    /* infinite where its size is unknown; as readers get it */
};

/* Sets extent, exponent and limited of all values in the plan. Every step but those that only copy
 * is there; layouts need not be known. */
void plan_ranges(struct plan *p);
/* Whether a step that copies v to a texture of its own has to limit it. */
bool copy_is_limited(struct context *c, const struct value *v);

static inline bool range_is_known(const struct range *r)
{
    return r->lo > -INFINITY && r->hi < INFINITY;
}

#endif
