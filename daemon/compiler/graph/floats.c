/* Each loop is written once and compiled twice, for any processor and for those with AVX2. Without
 * FMA in either: a contracted product would be another number. */
#include "daemon/compiler/graph/floats.h"
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

enum { LANES = 8 };

#define LOOP static inline __attribute__((always_inline)) void

#if defined(__x86_64__)
#define EIGHT_AT_ONCE __attribute__((target("avx2")))
static bool has_avx2(void)
{
    return __builtin_cpu_supports("avx2");
}
#else
#define EIGHT_AT_ONCE
static bool has_avx2(void)
{
    return false;
}
#endif

/* The numbers of a file lie at any address; copying them to where they are aligned keeps gcc from
 * taking eight at once. */
typedef float unaligned_float __attribute__((aligned(1)));
typedef int32_t unaligned_bits __attribute__((aligned(1), may_alias));

LOOP figures_loop(const void *numbers, size_t count, struct floats_figures *f)
{
    const unaligned_float *x = numbers;
    const unaligned_bits *bits = numbers;
    int32_t most[LANES] = {0}, all = 0;
    double squares[LANES] = {0}, sums[LANES] = {0};
    size_t i = 0;

    /* Magnitudes of float32 are in the order of their bits. */
    for (; i + LANES <= count; i += LANES)
        for (size_t k = 0; k < LANES; k++) {
            int32_t magnitude = bits[i + k] & INT32_MAX;

            most[k] = magnitude > most[k] ? magnitude : most[k];
            squares[k] += (double)x[i + k] * (double)x[i + k];
            sums[k] += (double)fabsf(x[i + k]);
        }
    for (size_t k = 0; k < count - i; k++) {
        int32_t magnitude = bits[i + k] & INT32_MAX;

        most[k] = magnitude > most[k] ? magnitude : most[k];
        squares[k] += (double)x[i + k] * (double)x[i + k];
        sums[k] += (double)fabsf(x[i + k]);
    }
    f->square_sum = f->sum = 0;
    for (int k = 0; k < LANES; k++) {
        all = most[k] > all ? most[k] : all;
        f->square_sum += squares[k];
        f->sum += sums[k];
    }
    memcpy(&f->largest, &all, sizeof all);
}

LOOP limit_loop(float *numbers, size_t count, float limit)
{
    for (size_t i = 0; i < count; i++) {
        float x = numbers[i];

        x = x > limit ? limit : x;
        x = x < -limit ? -limit : x;
        numbers[i] = x == x ? x : 0;
    }
}

LOOP scale_loop(float *to, const float *from, size_t count, double factor)
{
    for (size_t i = 0; i < count; i++)
        to[i] = (float)((double)from[i] * factor);
}

EIGHT_AT_ONCE static void figures_avx2(const void *numbers, size_t count, struct floats_figures *f)
{
    figures_loop(numbers, count, f);
}

EIGHT_AT_ONCE static void limit_avx2(float *numbers, size_t count, float limit)
{
    limit_loop(numbers, count, limit);
}

EIGHT_AT_ONCE static void scale_avx2(float *to, const float *from, size_t count, double factor)
{
    scale_loop(to, from, count, factor);
}

struct floats_figures floats_figures(const void *numbers, size_t count)
{
    struct floats_figures f;

    if (has_avx2())
        figures_avx2(numbers, count, &f);
    else
        figures_loop(numbers, count, &f);
    return f;
}

void floats_limit(float *numbers, size_t count, float limit)
{
    if (has_avx2())
        limit_avx2(numbers, count, limit);
    else
        limit_loop(numbers, count, limit);
}

void floats_scale(float *to, const float *from, size_t count, double factor)
{
    if (has_avx2())
        scale_avx2(to, from, count, factor);
    else
        scale_loop(to, from, count, factor);
}
