#ifndef COMPILER_MAGNITUDE_H
#define COMPILER_MAGNITUDE_H
/*
 * How large values probably become, for an input of usual size (within -4 … 4). Nothing depends on
 * these estimates but one choice: an inner texture whose values would come near 65504 holds them
 * times a power of two, which 16 bits hold as precisely, and whose readers multiply by its inverse.
 * Overflow beyond that is still limited (R12).
 *
 * A convolution or product with constant weights multiplies the size by the mean norm (root of the
 * sum of squares) of what makes one output: sums of many terms grow with the root of their number
 * where signs are mixed.
 */
#include "daemon/compiler/gpu/plan.h"

/* Sets spot->exponent of inner values. Layouts need not be known. */
void plan_magnitudes(struct plan *p);

#endif
