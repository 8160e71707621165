#ifndef COMPILER_FLOATS_H
#define COMPILER_FLOATS_H
/* Loops over many float32 at memory speed. Results do not depend on the machine: sums have a fixed
 * order. */
#include <stddef.h>

/* The greatest magnitude; 0 of nothing. A NaN counts as greater than all numbers. */
float floats_largest(const float *numbers, size_t count);
/* Sum of squares, in float64, in eight interleaved partial sums. */
double floats_square_sum(const float *numbers, size_t count);
/* numbers[i] limited to -limit … limit; a NaN becomes 0. */
void floats_limit(float *numbers, size_t count, float limit);
/* to[i] = from[i] * factor in float64, rounded once. May be in place. */
void floats_scale(float *to, const float *from, size_t count, double factor);

#endif
