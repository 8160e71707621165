#ifndef COMPILER_CONTROL_H
#define COMPILER_CONTROL_H
/*
 * Control flow. An If whose condition is known (a constant, or computed from constants and shapes
 * alone) becomes the nodes of the branch that it takes; the other branch is never looked at.
 * Everything else is refused: a condition that is a model input TUKI0110, one that is computed
 * TUKI0127 at the comparison, Loop and Scan TUKI0110.
 *
 * Loop and Scan with a constant trip count have their place here: control_note() keeps the call
 * with the names that its body sees, and control_resolve() may build that body as often as it runs.
 */
#include "daemon/compiler/model/build.h"

/* Whether op_type of the standard domain runs a body. */
bool control_is(const char *op_type);
/* Takes down a call; its node stands in the graph without a row until it is resolved. */
void control_note(struct builder *b, const struct call *call);
/* Resolves all of them, those inside chosen branches too. The graph must be sorted and free of
 * cycles; it must be sorted again where this returns true. */
bool control_resolve(struct builder *b);

#endif
