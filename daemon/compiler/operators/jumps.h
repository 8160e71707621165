#ifndef COMPILER_JUMPS_H
#define COMPILER_JUMPS_H
/*
 * Which layers jump (R13): the smallest change of what they read may change their result by more
 * than that. Values are rounded to 16 bits when they are written, so that such a layer may answer
 * otherwise than the original within one step of 16 bits past the jump.
 */
#include "daemon/compiler/operators/operator.h"

/*
 * Whether n jumps over a computed value, by the rule in its row of operators.def. n's attributes
 * are those of the newest opset, its types and shapes are known. Poles are no jumps (Reciprocal at
 * 0), nor is what changes its slope (Relu, HardSwish), nor what reads the truth value of another
 * layer (Where, Not): that layer is the jump. An integer operand is exact and none either.
 */
bool node_jumps(const struct node *n);

#endif
