/*
 * How large the results of elementwise operators become. Most are found by the operator's own
 * definition (elementwise.def) at the ends of the interval, and where it turns.
 */
#include "daemon/compiler/operators/operator.h"
#include "daemon/compiler/operators/range.h"
#include <math.h>
#include <string.h>

typedef void range_function(const struct node *n, const struct range *in, struct range *out);

/* The definition at an end of an interval. Of an infinite one, where inf / inf and the like would
 * say nothing, by what it is far out and farther: what is still becoming larger there has no bound.
 */
static double end_at(const struct node *n, double x)
{
    static const double far = 1e150, farther = 1e300;
    double y, before;

    if (isfinite(x))
        return elementwise_at(n, x);
    y = elementwise_at(n, copysign(farther, x));
    before = elementwise_at(n, copysign(far, x));
    return fabs(y) > 1.5 * fabs(before) ? copysign(INFINITY, y) : y;
}

static struct range with_state(struct range r, const struct range *of, enum excess excess)
{
    r.summed = of->summed;
    r.excess = excess;
    return r;
}

/* Between the values at the ends, rising or falling all the way. */
static void rising(const struct node *n, const struct range *in, struct range *out)
{
    double a = end_at(n, in->lo), b = end_at(n, in->hi);

    *out = with_state(range_make(fmin(a, b), fmax(a, b)), in, EXCESS_GROWTH);
}

/* Where the functions that are not monotone turn. */
static double turns_at(const struct node *n)
{
    static const struct {
        const char *op;
        double x;
    } turns[] = {{"Gelu", -0.7517915247},
                 {"HardSwish", -1.5},
                 {"Mish", -1.1924312145},
                 {"Swish", -1.2784645428}};

    for (size_t i = 0; i < sizeof turns / sizeof *turns; i++)
        if (!strcmp(turns[i].op, n->op->name))
            return i == 3 ? turns[i].x / (double)node_float(n, "alpha", 1) : turns[i].x;
    return 0;
}

/* Falling, then rising or the other way round; and where one side may have another slope. */
static void bent(const struct node *n, const struct range *in, struct range *out)
{
    double at[] = {turns_at(n), 0};

    rising(n, in, out);
    for (int i = 0; i < 2; i++)
        if (isfinite(at[i]) && in->lo < at[i] && at[i] < in->hi) {
            double y = elementwise_at(n, at[i]);

            /* The tanh form of Gelu turns a little beside. */
            out->lo = fmin(out->lo, y - 1e-4);
            out->hi = fmax(out->hi, y + 1e-4);
        }
}

/* Functions of -1 … 1. */
static void arc(const struct node *n, const struct range *in, struct range *out)
{
    struct range inside = range_limit(*in, -1, 1);

    rising(n, &inside, out);
    out->excess = EXCESS_NONE;
}

static void rising_from_one(const struct node *n, const struct range *in, struct range *out)
{
    struct range inside = range_limit(*in, 1, INFINITY);

    rising(n, &inside, out);
}

static void root(const struct node *n, const struct range *in, struct range *out)
{
    struct range inside = range_limit(*in, 0, INFINITY);

    rising(n, &inside, out);
}

/* Towards 0 it falls without end, but never fast: log(2^-24) is -17. What is 0 becomes -65504. */
static void logarithm(const struct node *n, const struct range *in, struct range *out)
{
    root(n, in, out);
    out->excess = EXCESS_NONE;
}

static void absolute(const struct node *n, const struct range *in, struct range *out)
{
    (void)n;
    *out = range_absolute(in[0]);
}

static void wave(const struct node *n, const struct range *in, struct range *out)
{
    (void)n;
    (void)in;
    *out = range_make(-1, 1);
}

static void truth(const struct node *n, const struct range *in, struct range *out)
{
    (void)n;
    (void)in;
    *out = range_make(0, 1);
}

static void tangent(const struct node *n, const struct range *in, struct range *out)
{
    if (in->lo > -M_PI_2 && in->hi < M_PI_2)
        rising(n, in, out);
    else
        *out = with_state(range_unbounded(), in, EXCESS_GROWTH);
}

static void same(const struct node *n, const struct range *in, struct range *out)
{
    (void)n;
    *out = in[0];
}

static void cast(const struct node *n, const struct range *in, struct range *out)
{
    if (n->outputs[0]->type == TYPE_BOOL || n->inputs[0]->type == TYPE_BOOL)
        *out = range_make(0, 1);
    else
        *out = range_hull(in[0], range_make(0, 0));
}

static void add(const struct node *n, const struct range *in, struct range *out)
{
    (void)n;
    *out = range_add(in[0], in[1]);
    out->usual = in[0].usual + in[1].usual;
}

static void subtract(const struct node *n, const struct range *in, struct range *out)
{
    (void)n;
    *out = range_subtract(in[0], in[1]);
    out->usual = in[0].usual + in[1].usual;
}

static void sum(const struct node *n, const struct range *in, struct range *out)
{
    *out = in[0];
    for (int i = 1; i < n->input_count; i++) {
        out->usual += in[i].usual;
        double usual = out->usual;

        *out = range_add(*out, in[i]);
        out->usual = usual;
    }
}

static void mean(const struct node *n, const struct range *in, struct range *out)
{
    double usual;

    sum(n, in, out);
    usual = out->usual / n->input_count;
    *out = range_scale(*out, 1.0 / n->input_count);
    out->usual = usual;
}

/* The very same value twice is a square. */
static void multiply(const struct node *n, const struct range *in, struct range *out)
{
    *out = n->inputs[0] == n->inputs[1] ? range_power(in[0], 2) : range_multiply(in[0], in[1]);
    out->usual = in[0].usual * in[1].usual;
    out->excess = n->inputs[0] == n->inputs[1] ? EXCESS_POWER : EXCESS_PRODUCT;
}

static void divide(const struct node *n, const struct range *in, struct range *out)
{
    (void)n;
    *out = range_divide(in[0], in[1]);
    out->usual = in[0].usual;
    out->excess = EXCESS_DIVISION;
}

static void reciprocal(const struct node *n, const struct range *in, struct range *out)
{
    (void)n;
    *out = range_divide(range_make(1, 1), in[0]);
    out->usual = in[0].usual;
    out->summed = in[0].summed;
    out->excess = EXCESS_DIVISION;
}

/* A negative base has whole exponents only; of computed exponents the greatest of all powers. */
static void power(const struct node *n, const struct range *in, struct range *out)
{
    const struct value *exponent = n->inputs[1];
    struct range size = range_absolute(in[0]);
    double corner[4], lo = INFINITY, hi = 0;

    if (exponent->constant && in[1].lo == in[1].hi) {
        double e = in[1].lo;

        *out = range_power(in[0], e);
        out->excess = e < 0 ? EXCESS_DIVISION : e > 1 ? EXCESS_POWER : EXCESS_NONE;
        out->usual = e > 0 ? pow(in[0].usual, e) : NAN;
        return;
    }
    corner[0] = pow(size.lo, in[1].lo);
    corner[1] = pow(size.lo, in[1].hi);
    corner[2] = pow(size.hi, in[1].lo);
    corner[3] = pow(size.hi, in[1].hi);
    for (int i = 0; i < 4; i++) {
        lo = fmin(lo, isnan(corner[i]) ? 0 : corner[i]);
        hi = fmax(hi, isnan(corner[i]) ? INFINITY : corner[i]);
    }
    if (size.lo <= 1 && size.hi >= 1) {
        lo = fmin(lo, 1);
        hi = fmax(hi, 1);
    }
    *out = with_state(range_make(in[0].lo < 0 ? -hi : lo, hi), in, EXCESS_POWER);
}

static void greatest(const struct node *n, const struct range *in, struct range *out)
{
    *out = in[0];
    for (int i = 1; i < n->input_count; i++) {
        struct range r = range_hull(*out, in[i]);

        r.lo = fmax(out->lo, in[i].lo);
        *out = r;
    }
}

static void least(const struct node *n, const struct range *in, struct range *out)
{
    *out = in[0];
    for (int i = 1; i < n->input_count; i++) {
        struct range r = range_hull(*out, in[i]);

        r.hi = fmin(out->hi, in[i].hi);
        *out = r;
    }
}

static void clipped(const struct node *n, const struct range *in, struct range *out)
{
    *out = in[0];
    if (node_input(n, 1)) {
        out->lo = fmax(out->lo, in[1].lo);
        out->hi = fmax(out->hi, in[1].hi);
    }
    if (node_input(n, 2)) {
        out->lo = fmin(out->lo, in[2].lo);
        out->hi = fmin(out->hi, in[2].hi);
    }
    out->usual = fmin(in[0].usual, range_size(out));
}

static void sloped(const struct node *n, const struct range *in, struct range *out)
{
    struct range negative = range_multiply(range_limit(in[0], -INFINITY, 0), in[1]);

    (void)n;
    *out = in[0].lo >= 0  ? in[0]
           : in[0].hi > 0 ? range_hull(negative, range_limit(in[0], 0, INFINITY))
                          : negative;
    out->usual = NAN;
    out->excess = EXCESS_PRODUCT;
}

static void chosen(const struct node *n, const struct range *in, struct range *out)
{
    (void)n;
    *out = range_hull(in[1], in[2]);
}

static void thresholded(const struct node *n, const struct range *in, struct range *out)
{
    double alpha = (double)node_float(n, "alpha", 1);

    *out = range_hull(range_limit(in[0], fmin(alpha, in[0].hi), INFINITY), range_make(0, 0));
}

/* Towards 0 by bias beyond the threshold, and 0 below it. */
static void shrunk(const struct node *n, const struct range *in, struct range *out)
{
    double bias = fabs((double)node_float(n, "bias", 0));

    *out = range_hull(range_make(in->lo - bias, in->hi + bias), range_make(0, 0));
    out->summed = in->summed;
}

/* As large as the divisor at most, and with fmod as the dividend. The quotient loses what float32
 * does not hold. */
static void remaining(const struct node *n, const struct range *in, struct range *out)
{
    double size = range_size(&in[1]) + 1e-6 * range_size(&in[0]);

    if (node_int(n, "fmod", 0))
        size = fmin(size, range_size(&in[0]));
    *out = range_make(-size, size);
}

static const struct {
    const char *op;
    range_function *range;
} ranges[] = {
#define EXPRESSION(op, range, text) {#op, range},
#define EXPRESSED(op, range, work, function) {#op, range},
#include "daemon/compiler/operators/expressions.def"
#undef EXPRESSION
#undef EXPRESSED
};

void range_elementwise(const struct node *n, int output, const struct range *in, struct range *out)
{
    (void)output;
    for (size_t i = 0; i < sizeof ranges / sizeof *ranges; i++)
        if (!strcmp(ranges[i].op, n->op->name)) {
            ranges[i].range(n, in, out);
            return;
        }
}
