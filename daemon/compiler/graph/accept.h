#ifndef COMPILER_ACCEPT_H
#define COMPILER_ACCEPT_H
/*
 * Which models the GPU half takes: its inputs, and the types of its values (R2, R3, R5, R7, R8,
 * R18, B1, Q2 and "Which code" of the rulings). Everything here reports diagnostics and poisons
 * what it reported; nothing is changed. Not for `optimize`, which takes any valid model.
 *
 * Order of a compile: accept_inputs, infer_graph, accept_values, passes, accept_unread.
 */
#include "daemon/compiler/graph/graph.h"

/*
 * Before shapes are inferred: model inputs. One code an input, the first that applies of TUKI0116
 * (it says a shape), 0119 (it is convolution weights), 0132 (token ids with a batch), 0115 (type),
 * 0112 (dynamic axis), 0114 (number of axes or rows; a second input of an 8-bit model), 0130
 * (batch). 0116 and 0119 stand at the layer, the others at the input. Also notes which inputs
 * layers read (value->read); an input that nobody reads is not looked at.
 */
void accept_inputs(struct graph *g);
/*
 * After shapes are inferred: the types of computed values, in order. TUKI0127 (comparisons, index
 * operators), 0128 (ArgMax, ArgMin), 0115 (any other type). In an 8-bit model integers of 8, 16 and
 * 32 bits, 4-bit ones and float8 are left to the checks of quantisation.
 */
void accept_values(struct graph *g);
/* After the passes: TUKI0118 for an input that a layer read and now nobody does. */
void accept_unread(struct graph *g);
/* accept_inputs, infer_graph, accept_values. */
void accept_graph(struct graph *g);

/* Whether this is an 8-bit model: it has a quantisation operator other than DequantizeLinear or
 * MatMulNBits over constants. */
bool graph_quantised(const struct graph *g);
/* Whether input v is token ids: integers that only Gather reads, as indices, through Cast to
 * integers and Reshape. */
bool value_is_tokens(const struct value *v);
/* Whether v is made of such an input on its way to Gather. */
bool value_carries_tokens(const struct value *v);
/* Whether v is read only as a weight (second operand of MatMul or Gemm), through views. */
bool value_is_weight(const struct value *v);

#endif
