#ifndef COMPILER_GRAPH_STYLES_H
#define COMPILER_GRAPH_STYLES_H
/*
 * Models that share one graph and differ in weights only (G10) become one graph, whose constants
 * are a set of numbers for each of them: a style.
 *
 * Equal means: the same nodes in the same wiring, with equal attributes, shapes and types, whatever
 * names and order the files have. Nodes that no output needs do not count. Different may be
 * floating-point constants, and what a constant is made from by DequantizeLinear, MatMulNBits or as
 * the weights of an 8-bit operator; not: constants that say a shape, axes, indices … (all other
 * integers, and shape-like ones), and scales and zero points of values between layers, for these
 * are written into kernels.
 */
#include "daemon/compiler/graph/graph.h"

/*
 * Whether other is equal to first. Every difference that can be told is reported (TUKI0133) at
 * other's layer, in its own names; name is first's, for the messages. Both graphs are inferred,
 * without faults, and not yet rewritten. *pairs (in the job's arena) becomes, by value id of first,
 * the value of other that stands for it, where there is one. Of constants that several layers read
 * first has a copy a reader after this: in other they may differ.
 */
bool styles_match(struct graph *first, struct graph *other, const char *name,
                  struct value ***pairs);
/* Gives first's constants the numbers of all styles: pairs[i] is what styles_match() gave for style
 * i (pairs[0] is not looked at). The context's styles is their number. */
void styles_join(struct graph *first, struct value **const *pairs);

#endif
