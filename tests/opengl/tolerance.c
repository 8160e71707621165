#include "tests/opengl/tolerance.h"
#include <math.h>

/* Rounding of sums and a division or two. */
enum { UNITS_LEAST = 8, UNITS_MOST = 4096 };

static const int units[] = {
    [MATHF_ACOS] = 4096, [MATHF_ASIN] = 4096, [MATHF_ATAN] = 4096, [MATHF_ATAN2] = 4096,
    [MATHF_COS] = 4096,  [MATHF_SIN] = 4096,  [MATHF_TAN] = 4096,  [MATHF_EXP] = 32,
    [MATHF_POW] = 64,    [MATHF_LOG] = 8,     [MATHF_SQRT] = 8,
};

static int units_of_list(const struct statement *s);

static int larger(int a, int b)
{
    return a > b ? a : b;
}

static int units_of_expression(const struct expression *e)
{
    int found = UNITS_LEAST;
    if (e == NULL)
        return found;
    if (e->kind == EXPRESSION_MATHF && (size_t)e->slot < sizeof units / sizeof units[0])
        found = larger(found, units[e->slot]);
    if (e->kind == EXPRESSION_CALL)
        found = larger(found, units_of_list(e->callee->body));
    for (int i = 0; i < e->part_count; i++)
        found = larger(found, units_of_expression(e->part[i]));
    return found;
}

static int units_of_list(const struct statement *s)
{
    int found = UNITS_LEAST;
    for (; s != NULL; s = s->next) {
        found = larger(found, units_of_expression(s->value));
        found = larger(found, units_of_list(s->body));
        found = larger(found, units_of_list(s->other));
    }
    return found;
}

struct tolerance_step tolerance_of(const struct method *kernel, enum gpu_format format,
                                   const float *results, size_t count)
{
    struct tolerance_step t = {.half = format == GPU_FORMAT_HALF, .count = count};
    t.units = units_of_list(kernel->body);
    for (size_t i = 0; i < count; i++)
        if (isfinite(results[i]))
            t.largest = fmax(t.largest, fabs((double)results[i]));
    return t;
}

/* The distance between neighbouring halves. */
static double step_of_half(double magnitude)
{
    int exponent;
    frexp(magnitude, &exponent);
    return ldexp(1, (exponent < -13 ? -13 : exponent) - 11);
}

double tolerance_share(const struct tolerance_step *t, float computed, float expected)
{
    double a = computed, b = expected;
    if (a == b || (isnan(a) && isnan(b)))
        return 0;
    double step = t->half ? step_of_half(fmax(fabs(a), fabs(b))) : 1.0 / 255;
    return fabs(a - b) / (step + ldexp(4 * t->units * t->largest, -23));
}

size_t tolerance_count(const struct tolerance_step *t)
{
    size_t few = 4; /* unlucky ones, of however few there are */
    return few + (t->units == UNITS_MOST ? t->count : t->count * (size_t)t->units / 1024);
}
