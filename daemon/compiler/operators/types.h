#ifndef COMPILER_TYPES_H
#define COMPILER_TYPES_H
/*
 * Which element types an operator's inputs may be of, by the ONNX operator set's change log
 * (types.def).
 */
#include "daemon/compiler/operators/operator.h"

/* Whether the inputs of n whose types are known are of types that its operator takes at n's opset,
 * and of one type where they have to be. Constants alone may differ from each other: they meet in
 * the type that holds more. The first fault is reported (TUKI0106). */
bool types_fit(struct node *n);
/* Whether n is one of those: its inputs are constants of different types where they have to be of
 * one. */
bool types_meet(const struct node *n);

#endif
