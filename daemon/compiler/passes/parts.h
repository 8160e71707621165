#ifndef COMPILER_PARTS_H
#define COMPILER_PARTS_H
/*
 * What passes ask that look for an operator which an exporter wrote out: walking from a value back
 * to what makes it, and keeping account of the nodes that the rewrite leaves without readers.
 *
 * Functions that take parts add the nodes they walk over, where they find what they look for; where
 * not, parts are as before.
 */
#include "daemon/compiler/graph/graph.h"

enum { MOST_PARTS = 24 };

struct parts {
    struct node *nodes[MOST_PARTS];
    int count;
    bool overflow; /* more were found than there is room for: nothing may be rewritten */
};

/* Whether n, which may be NULL, is that standard operator and was not removed. */
bool part_is(const struct node *n, const char *op);
/* The node of that standard operator that makes v, which is no constant; NULL: another does. */
struct node *part(struct parts *p, const struct value *v, const char *op);
/* Whether nobody else reads what they make: no value of theirs is a graph output or has a reader
 * that is not among them or `last`. What last makes is free. */
bool parts_hold(const struct parts *p, const struct node *last);

/* The single number of a constant operand, the same in all styles. */
bool operand_number(const struct node *n, int slot, double *number);
/* The operand of a node of two operands whose other one is a single number; NULL: neither is. n may
 * be NULL. */
struct value *operand_beside_number(const struct node *n, double *number);

/* The value that v reduces by op (ReduceSum, GlobalAveragePool …) along *axes, a set of bits. Its
 * dims are kept, by the reduction itself or by Unsqueeze or Reshape behind it. *factor: the product
 * of the numbers that v is multiplied by or divided by on the way; NULL: there may be none. NULL:
 * v is none. */
struct value *part_reduced(struct parts *p, struct value *v, const char *op, unsigned *axes,
                           double *factor);

/* The axes that n reduces, as a set of bits: any of the Reduce operators, or a Global pool. 0: not
 * known, or none. */
unsigned part_axes(const struct node *n);

/* Whether axis 0 of x is among the axes and may be the batch: what mixes items is refused, and that
 * in the words of the layer that the file has. */
bool axes_may_mix(const struct graph *g, const struct shape *x, unsigned axes);

#endif
