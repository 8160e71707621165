#ifndef COMPILER_PRODUCTS_H
#define COMPILER_PRODUCTS_H
/*
 * Several products that can be one, and so one draw. For a graph that is decomposed and has been
 * through the passes; it is sorted again.
 *
 * Written-out recurrent networks have both kinds: at each time a part of the input times the same
 * weights, and what comes of it added to a product of the state.
 */
#include "daemon/compiler/graph/graph.h"

/* The number of products that were put into another. */
int products_join(struct graph *g);

#endif
