/* Arithmetic with intervals, and what all rows have in common. */
#include "daemon/compiler/operators/range.h"
#include "daemon/compiler/graph/half.h"
#include "daemon/compiler/operators/operator.h"
#include <math.h>
#include <string.h>

/* Elements that are computed are not looked at where they are more: a file may claim any number. */
enum { MOST_LOOKED_AT = 1 << 24 };
/* What kernels count with: beyond it there are infinities. */
static const double LARGEST_FLOAT = 3.4e38;
/* One float32 rounding of a sum. */
static const double FLOAT_STEP = 0x1p-24;

struct range range_make(double lo, double hi)
{
    return (struct range){.lo = lo, .hi = hi, .usual = NAN};
}

struct range range_unbounded(void)
{
    return range_make(-INFINITY, INFINITY);
}

double range_size(const struct range *r)
{
    return fmax(fabs(r->lo), fabs(r->hi));
}

/* What two operands have in common with their result. */
static struct range joined(const struct range *a, const struct range *b, double lo, double hi)
{
    struct range r = range_make(lo, hi);

    r.summed = a->summed || b->summed;
    r.sums = a->sums || b->sums;
    return r;
}

struct range range_operand(struct range r)
{
    r.sums = false;
    r.excess = EXCESS_NONE;
    return r;
}

struct range range_hull(struct range a, struct range b)
{
    return joined(&a, &b, fmin(a.lo, b.lo), fmax(a.hi, b.hi));
}

struct range range_limit(struct range r, double lo, double hi)
{
    r.lo = fmin(fmax(r.lo, lo), hi);
    r.hi = fmin(fmax(r.hi, lo), hi);
    return r;
}

struct range range_add(struct range a, struct range b)
{
    return joined(&a, &b, a.lo + b.lo, a.hi + b.hi);
}

struct range range_negate(struct range a)
{
    return joined(&a, &a, -a.hi, -a.lo);
}

struct range range_subtract(struct range a, struct range b)
{
    return range_add(a, range_negate(b));
}

static double times(double a, double b)
{
    return a == 0 || b == 0 ? 0 : a * b;
}

struct range range_multiply(struct range a, struct range b)
{
    double corner[] = {times(a.lo, b.lo), times(a.lo, b.hi), times(a.hi, b.lo), times(a.hi, b.hi)};

    return joined(&a, &b, fmin(fmin(corner[0], corner[1]), fmin(corner[2], corner[3])),
                  fmax(fmax(corner[0], corner[1]), fmax(corner[2], corner[3])));
}

struct range range_divide(struct range a, struct range b)
{
    struct range inverse = b;

    if (b.lo < 0 && b.hi > 0) {
        inverse.lo = -INFINITY;
        inverse.hi = INFINITY;
    } else {
        /* 0 at an end is approached from inside. */
        inverse.lo = b.hi == 0 ? -INFINITY : 1 / b.hi;
        inverse.hi = b.lo == 0 ? INFINITY : 1 / b.lo;
        if (b.lo == 0 && b.hi == 0)
            inverse = range_unbounded();
    }
    return range_multiply(a, inverse);
}

struct range range_scale(struct range a, double factor)
{
    return range_multiply(a, range_make(factor, factor));
}

struct range range_absolute(struct range a)
{
    double size = range_size(&a);

    return joined(&a, &a, a.lo <= 0 && a.hi >= 0 ? 0 : fmin(fabs(a.lo), fabs(a.hi)), size);
}

struct range range_power(struct range a, double e)
{
    bool whole = e == floor(e), odd = whole && fmod(fabs(e), 2) == 1;
    struct range size = range_absolute(a), r;

    if (e == 0)
        return joined(&a, &a, 1, 1);
    if (e < 0)
        return range_divide(joined(&a, &a, 1, 1), range_power(a, -e));
    if (odd)
        return joined(&a, &a, copysign(pow(fabs(a.lo), e), a.lo),
                      copysign(pow(fabs(a.hi), e), a.hi));
    if (!whole && a.hi >= 0)
        size = range_limit(a, 0, INFINITY);
    r = joined(&a, &a, pow(size.lo, e), pow(size.hi, e));
    return r;
}

struct range range_sum(struct range a, double count)
{
    double slack = 1 + count * FLOAT_STEP;
    struct range r = joined(&a, &a, times(a.lo, count * (a.lo < 0 ? slack : 1 / slack)),
                            times(a.hi, count * (a.hi > 0 ? slack : 1 / slack)));

    r.sums = count > 1;
    r.summed = r.summed || r.sums;
    r.usual = a.usual * sqrt(count);
    return r;
}

struct range range_partial_sum(struct range a, double count)
{
    struct range r = range_sum(a, count);

    r.lo = fmin(r.lo, 0);
    r.hi = fmax(r.hi, 0);
    return r;
}

struct range range_mean(struct range a, double count)
{
    struct range r = range_scale(range_sum(a, count), count > 0 ? 1 / count : 0);

    r.usual = a.usual;
    r.sums = a.sums;
    r.summed = a.summed;
    return r;
}

struct range range_product(struct range a, double count)
{
    double size = pow(range_size(&a), count);

    if (a.lo >= 0)
        return joined(&a, &a, pow(a.lo, count), size);
    return joined(&a, &a, -size, size);
}

struct range range_weighted(struct context *c, struct range a, struct tensor *w, int64_t outer,
                            int64_t rows, int64_t inner, double terms, double outputs)
{
    double in = range_size(&a), sum = tensor_row_sum(c, w, outer, rows, inner, 65504 / in), size;
    struct range r;

    /* Weights are rounded to 16 bits: by 2^-11 of them, by 2^-25 where they are small. */
    size = times(in, (sum * (1 + 0x1p-11) + terms * 0x1p-25) * (1 + terms * FLOAT_STEP));
    r = joined(&a, &a, -size, size);
    r.usual = outputs > 0 ? a.usual * sqrt(tensor_square_sum(c, w) / outputs) : 0;
    r.sums = r.summed = true;
    return r;
}

bool range_is_measured(const struct node *n, int slot)
{
    const char *op = n->op->name;

    return !strcmp(op, "MatMul") ||
           (slot == 1 && (!strcmp(op, "Conv") || !strcmp(op, "ConvTranspose")));
}

struct range range_constant(struct context *c, const struct value *v)
{
    struct range r = range_make(-65504, 65504);

    r.usual = 1;
    if (v->constant->count == 0 ||
        (v->constant->count > MOST_LOOKED_AT && !tensor_has_parts(v->constant)))
        return r;
    tensor_range(c, v->constant, &r.lo, &r.hi);
    r.usual = fmin(range_size(&r), 65504);
    /* Single values stay as they are. */
    if ((v->constant->count > 1 || v->constant->varies) && range_size(&r) <= 65504) {
        r.lo = fmin(r.lo, (double)half_to_float(half_from_float((float)r.lo)));
        r.hi = fmax(r.hi, (double)half_to_float(half_from_float((float)r.hi)));
    }
    return r;
}

void range_same(const struct node *n, int output, const struct range *in, struct range *out)
{
    (void)n;
    (void)output;
    *out = in[0];
}

/* Whether n's function is bounded by itself, whatever its operands are. */
static bool bounds_itself(const struct node *n, int output)
{
    enum { MOST = 8 };
    struct range any[MOST], out = range_unbounded();

    if (n->input_count > MOST)
        return false;
    for (int i = 0; i < n->input_count; i++)
        any[i] = range_unbounded();
    n->op->functions->range(n, output, any, &out);
    return isfinite(out.lo) && isfinite(out.hi);
}

void node_range(const struct node *n, int output, const struct range *in, struct range *out)
{
    const struct operator_functions *f = n->op->functions;
    const double *within = n->outputs[output]->within;
    bool summed = false;
    double usual = 0;

    for (int i = 0; i < n->input_count; i++)
        if (n->inputs[i] && type_is_float(n->inputs[i]->type)) {
            usual = fmax(usual, in[i].usual);
            summed = summed || in[i].summed;
        }
    *out = range_unbounded();
    if (f->range)
        f->range(n, output, in, out);
    else if (f->role == ROLE_VIEW)
        range_same(n, output, in, out);
    if (summed && f->range && bounds_itself(n, output))
        out->summed = false;
    if (isnan(out->lo) || out->lo < -LARGEST_FLOAT)
        out->lo = -INFINITY;
    if (isnan(out->hi) || out->hi > LARGEST_FLOAT)
        out->hi = INFINITY;
    if (isnan(out->usual))
        out->usual = usual;
    if (within) {
        *out = range_limit(*out, within[0], within[1]);
        out->summed = true;
    }
    out->usual = fmin(out->usual, range_size(out));
}
