#ifndef COMPILER_CONTROL_H
#define COMPILER_CONTROL_H
/*
 * Control flow, sequences and optional values, as far as they are decided before the model runs (by
 * a constant, or what is computed from constants and shapes alone). An If becomes the nodes of the
 * branch that it takes; the other branch is never looked at. Loop and Scan become the nodes of
 * their body once for each trip, up to a bound for the whole model (MOST_UNROLLED); beyond it they
 * are TUKI0110. A trip count or condition that is a model input is TUKI0110 too, a condition that
 * is computed TUKI0127 at the comparison, one that depends on a shape that is not fixed TUKI0112. A
 * sequence is a list of the values put into it: what takes one out again is that value, and nothing
 * of it is left in the graph. What reads it as a tensor is TUKI0106, as a model's input or output
 * it is TUKI0115.
 *
 * Loop and Scan 8, 9, 11 and newer: onnx/docs/Operators.md and Changelog.md.
 */
#include "daemon/compiler/model/build.h"

/* Whether op_type of the standard domain runs a body at that opset. */
bool control_is(const char *op_type, int64_t opset);
/* Takes down a call; its node stands in the graph without a row until it is resolved. */
void control_note(struct builder *b, const struct call *call);
/* Resolves all of them, those inside chosen branches too. The graph must be sorted and free of
 * cycles; it must be sorted again where this returns true. */
bool control_resolve(struct builder *b);

#endif
