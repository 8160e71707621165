#ifndef TESTS_OPENGL_TOLERANCE_H
#define TESTS_OPENGL_TOLERANCE_H
/*
 * What two runs of one kernel on the same inputs may differ by, where nothing but the last bits of
 * float32 and of its functions differ.
 *
 * A unit is 2^-23 of a term of the kernel's sums, of which none is taken to be larger than 4 times
 * the largest result. Divisions are within 2.5 units, exp within 3 + 2 |x|, sine, cosine and the
 * inverse functions within 4096 (GLSL 4.60, 4.7.1; Vulkan 1.3, "Precision of core SPIR-V
 * instructions"); pow is exp2(y * log2(x)).
 *
 * On top of that, two numbers so close may fall on different sides of a 16-bit or 8-bit step. How
 * often follows: 2^-11, the step of a half, is 4096 units, so that of all components that differ by
 * N units of 4 times their size, one in 1024 / N rounds to another half.
 */
#include "daemon/compiler/gpu/program.h"

struct tolerance_step {
    bool half;      /* the destination's format */
    int units;      /* see above */
    double largest; /* magnitude of the results */
    size_t count;   /* of components */
};

/* For a kernel whose results are `count` numbers. */
struct tolerance_step tolerance_of(const struct method *kernel, enum gpu_format format,
                                   const float *results, size_t count);

/* How much of what a component may differ by it does differ by: 0 is equal (a NaN to a NaN too),
 * more than 1 (or a NaN) is wrong. */
double tolerance_share(const struct tolerance_step *t, float computed, float expected);
/* How many components may differ at all. */
size_t tolerance_count(const struct tolerance_step *t);

#endif
