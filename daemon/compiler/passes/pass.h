#ifndef COMPILER_PASS_H
#define COMPILER_PASS_H
/*
 * Rewrites of a graph: one file and one row of passes.def each. A pass keeps the meaning of the
 * model (in exact arithmetic), names of inputs and outputs, and never changes a constant that
 * somebody else reads: it makes another one, as a recipe over constants that nobody evaluates
 * before its numbers are wanted.
 *
 * Before a pass the graph is sorted and inferred. The pass infers the nodes that it makes
 * (infer_node()) and removes what it replaces; pass_run() drops removed nodes and sorts again.
 */
#include "daemon/compiler/graph/graph.h"

struct pass {
    const char *name;
    int (*run)(struct graph *g); /* the number of changes made */
    const char *matches;         /* what it looks for */
    const char *principle;       /* why the rewrite holds */
    const char *example;         /* before -> after */
};

/* All rows in the order in which they run, ended by one without a name. */
const struct pass *pass_rows(void);
/* NULL where there is none of that name. */
const struct pass *pass_find(const char *name);
/* Runs one pass; the number of changes. */
int pass_run(struct graph *g, const struct pass *p);

/* One entry a pass that was run, added up over rounds. */
struct pass_result {
    const struct pass *pass;
    int changes;
    int64_t nanoseconds;
};
/* Runs all rows in order, again and again until nothing changes (at most 8 rounds). results: NULL,
 * or one entry a row. The number of changes. */
int passes_run(struct graph *g, struct pass_result *results);

#define PASS(name, matches, principle, example) int pass_##name(struct graph *g);
#include "daemon/compiler/passes/passes.def"
#undef PASS

/* ---- what several passes ask ---- */

/* Replaces n, whose only wanted output is output 0, by v, and removes it. */
void pass_replace(struct node *n, struct value *v);
/* Whether every element of constant v is number; false where v is no constant or has more than
 * 65536 elements. */
bool constant_is_all(const struct value *v, double number);
/* Whether the numbers of v come from a DequantizeLinear or MatMulNBits over constants, through
 * nodes that only move elements: weights that may be kept at 8 or 4 bits. */
bool constant_is_quantised(const struct value *v);

#endif
