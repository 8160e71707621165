#ifndef COMPILER_TRANSPOSE_H
#define COMPILER_TRANSPOSE_H
/* How Transpose, DepthToSpace and SpaceToDepth reorder axes: for evaluation and for index
 * expressions. */
#include "daemon/compiler/graph/graph.h"

/* Axis a of the output of a Transpose that was inferred is axis perm[a] of its input, of so many
 * axes. */
void transpose_permutation(const struct node *n, int axes, int perm[MAX_AXES]);

/* A DepthToSpace (either mode) or SpaceToDepth over [N, C, H, W] is a Reshape to split[6], a
 * Transpose by perm[6] and a Reshape that merges again: to [N, C, (H, b), (W, b)] for DepthToSpace,
 * to [N, (b, b, C), H, W] for SpaceToDepth. input: the known shape of the input. */
void depth_split(const struct node *n, const struct shape *input, int64_t split[6], int perm[6]);

#endif
