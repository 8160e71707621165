#ifndef COMPILER_CHAIN_H
#define COMPILER_CHAIN_H
/*
 * Chains (R20a): runs of elementwise operators with one computed operand each, whose values in
 * between are read once and are no outputs of the model. A chain is computed in one kernel, in 32
 * bits; only its result is rounded to 16. Together with how large all values become, by the
 * operators' own range functions.
 */
#include "daemon/compiler/graph/graph.h"
#include "daemon/compiler/operators/range.h"

struct chains {
    struct graph *graph;
    struct range *computed;   /* by value id: in 32 bits, before anything limits it */
    const struct value **end; /* by value id: the result of its chain; itself outside of any */
};

/* Of a graph that is sorted; in its job's arena. */
void chains_init(struct chains *c, struct graph *g);

/* Whether n may be part of a chain; *slot (where not NULL) is its computed operand. */
bool chain_operator(const struct node *n, int *slot);
/* The operator that reads v within the same chain; NULL: v ends one, or is in none. */
struct node *chain_next(const struct value *v);

/* What a reader of v gets: limited to what 16 bits hold, unless v is inside a chain. */
struct range chain_range(const struct chains *c, const struct value *v);
/* Output 0 of n, were input slot within r. */
struct range chain_apply(const struct chains *c, const struct node *n, int slot, struct range r);
/* The result of v's chain, were v within r; unbounded where that is very far. */
struct range chain_result(const struct chains *c, const struct value *v, struct range r);

#endif
