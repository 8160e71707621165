#ifndef COMPILER_DECOMPOSE_H
#define COMPILER_DECOMPOSE_H
/*
 * The last rewrite before planning: operators that are made of simpler ones become these, so that
 * few operators need kernels and all parts take part in fusion. Softmax becomes a small step for
 * each row's statistics and an expression over them that its reader computes; Gemm a product, its
 * factors and its addend; and so on.
 *
 * The graph is sorted and inferred before and after. Constants made here are recipes, evaluated
 * when asked for.
 */
#include "daemon/compiler/graph/graph.h"

void decompose_graph(struct graph *g);

#endif
