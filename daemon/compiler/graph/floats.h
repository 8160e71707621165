#ifndef COMPILER_FLOATS_H
#define COMPILER_FLOATS_H
/*
 * Loops over many float32 at memory speed. Results do not depend on the machine: sums have a fixed
 * order, and what is done eight at a time where the processor can gives the same bits.
 */
#include <stddef.h>

struct floats_figures {
    float largest;     /* the greatest magnitude, 0 of nothing; a NaN is greater than all numbers */
    double square_sum; /* in float64, in eight interleaved partial sums */
    double sum;        /* of magnitudes, likewise */
};

/* Of count numbers, which may lie at any address. */
struct floats_figures floats_figures(const void *numbers, size_t count);
/* numbers[i] limited to -limit … limit; a NaN becomes 0. */
void floats_limit(float *numbers, size_t count, float limit);
/* to[i] = from[i] * factor in float64, rounded once. May be in place. */
void floats_scale(float *to, const float *from, size_t count, double factor);

#endif
