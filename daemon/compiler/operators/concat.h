#ifndef COMPILER_CONCAT_H
#define COMPILER_CONCAT_H
/* Where the parts of a Concat or a Split lie along its axis. For inferred nodes with known shapes.
 */
#include "daemon/compiler/graph/graph.h"

/* The axis, counted from the start. */
int concat_axis(const struct node *n);
/* Where input part begins along the axis of the output. */
int64_t concat_offset(const struct node *n, int part);
int split_axis(const struct node *n);
/* Where output part begins along the axis of the input. */
int64_t split_offset(const struct node *n, int part);

#endif
