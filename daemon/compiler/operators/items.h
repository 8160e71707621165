#ifndef COMPILER_ITEMS_H
#define COMPILER_ITEMS_H
/*
 * Batches of 2 to 16 (B1 to B5): a graph whose every layer computes each item of axis 0 on its own becomes the graph of
 * one item; the generated code runs it once for each.
 */
#include "daemon/compiler/graph/graph.h"

/*
 * The graph is sorted, inferred and simplified. Where its inputs have a batch of 2 or more, layers that mix items are
 * reported (TUKI0129), those of which it cannot be told too (TUKI0131); else axis 0 of everything that depends on
 * an input becomes 1 and g->items the batch. Changes nothing for a batch of 1.
 *
 * Where errors were reported before, layers are only judged, so that one compile says what it can: the graph may then be one
 * that was inferred but not simplified, what comes after a fault is passed over, and the graph is of no use afterwards.
 */
void split_items(struct graph *g);

#endif
