/*
 * Reductions along any axes; ArgMax, ArgMin, CumSum, CumProd along one. Source:
 * onnx.ai/onnx/operators, ReduceSum 13, ReduceMax 20 and the others 18; ArgMax 13, CumSum 14,
 * CumProd 26.
 *
 * Internal form of the reductions: axes are input 1.
 */
#include "daemon/compiler/operators/arguments.h"
#include "daemon/compiler/operators/lower.h"
#include "daemon/compiler/operators/range.h"
#include "daemon/compiler/operators/rules.h"
#include "daemon/compiler/operators/walk.h"
#include <limits.h>
#include <math.h>
#include <string.h>

static void upgrade_reduce(struct graph *g, struct node *n)
{
    if (n->opset < (strcmp(n->op->name, "ReduceSum") == 0 ? 13 : 18))
        argument_from_ints(g, n, "axes", 1);
}

/* Which axes of x are reduced. false: reported, or (*known false) not known yet. */
static bool reduced_axes(struct node *n, const struct shape *x, unsigned *mask, bool *known)
{
    int count = 0;
    const int64_t *axes = node_constant_ints(n, 1, &count);

    *mask = 0;
    *known = axes || !node_input(n, 1);
    if (!*known)
        return false;
    if (count == 0 && node_int(n, "noop_with_empty_axes", 0) == 0)
        *mask = ~0u;
    for (int i = 0; i < count; i++) {
        int axis = infer_axis(n, x, axes[i]);

        if (axis < 0)
            return false;
        *mask |= 1u << axis;
    }
    return true;
}

static void infer_reduced(struct node *n, enum element_type type, const struct shape *x,
                          unsigned mask, bool keep)
{
    struct shape y = {0};

    for (int i = 0; i < x->axes; i++) {
        if (!(mask >> i & 1))
            y.dim[y.axes++] = x->dim[i];
        else if (keep)
            y.dim[y.axes++] = 1;
    }
    infer_output(n, 0, type, &y);
}

static void infer_reduce(struct node *n)
{
    const struct value *x = n->inputs[0];
    bool known, keep = node_int(n, "keepdims", 1) != 0;
    unsigned mask;

    if (x->shape.axes < 0) {
        infer_output(n, 0, x->type, &shape_unknown);
        return;
    }
    if (reduced_axes(n, &x->shape, &mask, &known)) {
        infer_reduced(n, x->type, &x->shape, mask, keep);
    } else if (!known) {
        struct shape y = keep ? x->shape : shape_unknown;

        for (int i = 0; i < y.axes; i++)
            y.dim[i] = -1;
        infer_output(n, 0, x->type, &y);
    }
}

/* A line of numbers to one. The integers wrap, as NumPy's do. */
struct reduction {
    const char *name;
    double (*real)(const double *x, int64_t count);
    int64_t (*whole)(const int64_t *x, int64_t count, bool natural);
};

static double real_sum(const double *x, int64_t count)
{
    double sum = 0;

    for (int64_t i = 0; i < count; i++)
        sum += x[i];
    return sum;
}

static double real_mean(const double *x, int64_t count)
{
    return real_sum(x, count) / (double)count;
}

static double real_l1(const double *x, int64_t count)
{
    double sum = 0;

    for (int64_t i = 0; i < count; i++)
        sum += fabs(x[i]);
    return sum;
}

static double real_sum_square(const double *x, int64_t count)
{
    double sum = 0;

    for (int64_t i = 0; i < count; i++)
        sum += x[i] * x[i];
    return sum;
}

static double real_l2(const double *x, int64_t count)
{
    return sqrt(real_sum_square(x, count));
}

static double real_max(const double *x, int64_t count)
{
    double most = -(double)INFINITY;

    for (int64_t i = 0; i < count; i++)
        most = x[i] > most || isnan(x[i]) ? x[i] : most;
    return most;
}

static double real_min(const double *x, int64_t count)
{
    double least = (double)INFINITY;

    for (int64_t i = 0; i < count; i++)
        least = x[i] < least || isnan(x[i]) ? x[i] : least;
    return least;
}

static double real_product(const double *x, int64_t count)
{
    double product = 1;

    for (int64_t i = 0; i < count; i++)
        product *= x[i];
    return product;
}

static double real_log_sum(const double *x, int64_t count)
{
    return log(real_sum(x, count));
}

static double real_log_sum_exp(const double *x, int64_t count)
{
    double most = real_max(x, count), sum = 0;

    if (isinf(most))
        return most;
    for (int64_t i = 0; i < count; i++)
        sum += exp(x[i] - most);
    return log(sum) + most;
}

static int64_t whole_sum(const int64_t *x, int64_t count, bool natural)
{
    uint64_t sum = 0;

    (void)natural;
    for (int64_t i = 0; i < count; i++)
        sum += (uint64_t)x[i];
    return (int64_t)sum;
}

static int64_t whole_mean(const int64_t *x, int64_t count, bool natural)
{
    int64_t sum = whole_sum(x, count, natural);

    if (count == 0)
        return 0;
    return natural ? (int64_t)((uint64_t)sum / (uint64_t)count) : sum / count;
}

static int64_t whole_l1(const int64_t *x, int64_t count, bool natural)
{
    uint64_t sum = 0;

    for (int64_t i = 0; i < count; i++)
        sum += x[i] < 0 && !natural ? 0 - (uint64_t)x[i] : (uint64_t)x[i];
    return (int64_t)sum;
}

static int64_t whole_sum_square(const int64_t *x, int64_t count, bool natural)
{
    uint64_t sum = 0;

    (void)natural;
    for (int64_t i = 0; i < count; i++)
        sum += (uint64_t)x[i] * (uint64_t)x[i];
    return (int64_t)sum;
}

static int64_t whole_product(const int64_t *x, int64_t count, bool natural)
{
    uint64_t product = 1;

    (void)natural;
    for (int64_t i = 0; i < count; i++)
        product *= (uint64_t)x[i];
    return (int64_t)product;
}

static bool precedes(int64_t x, int64_t y, bool natural)
{
    return natural ? (uint64_t)x < (uint64_t)y : x < y;
}

/* evaluate() has put the identity of an empty line aside. */
static int64_t whole_max(const int64_t *x, int64_t count, bool natural)
{
    int64_t most = x[0];

    for (int64_t i = 1; i < count; i++)
        most = precedes(most, x[i], natural) ? x[i] : most;
    return most;
}

static int64_t whole_min(const int64_t *x, int64_t count, bool natural)
{
    int64_t least = x[0];

    for (int64_t i = 1; i < count; i++)
        least = precedes(x[i], least, natural) ? x[i] : least;
    return least;
}

/* NULL: over integers by way of real numbers. */
static const struct reduction reductions[] = {
    {"ReduceL1", real_l1, whole_l1},      {"ReduceL2", real_l2, NULL},
    {"ReduceLogSum", real_log_sum, NULL}, {"ReduceLogSumExp", real_log_sum_exp, NULL},
    {"ReduceMax", real_max, whole_max},   {"ReduceMean", real_mean, whole_mean},
    {"ReduceMin", real_min, whole_min},   {"ReduceProd", real_product, whole_product},
    {"ReduceSum", real_sum, whole_sum},   {"ReduceSumSquare", real_sum_square, whole_sum_square},
};

static bool evaluate_reduce(struct node *n, struct tensor *const *in, struct tensor **out,
                            struct arena *arena, struct arena *scratch)
{
    struct context *c = n->graph->context;
    const struct reduction *r = reductions;
    enum element_type type = in[0]->type;
    unsigned mask = 0;
    bool known;
    struct lines l;
    void *payload;

    while (strcmp(r->name, n->op->name) != 0)
        r++;
    if (type == TYPE_STRING || !reduced_axes(n, &in[0]->shape, &mask, &known))
        return false;
    lines_init(&l, &in[0]->shape, mask, scratch);
    /* Integers have no infinity to give for an empty line. */
    if (l.length == 0 && (r->whole == whole_max || r->whole == whole_min) && !type_is_real(type))
        return false;
    out[0] = output_new(n, 0, arena, &payload);
    if (type_is_real(type) || !r->whole) {
        const double *x = tensor_doubles(c, in[0], scratch);
        double *line = NEW_ARRAY(scratch, l.length, double);

        for (int64_t i = 0; i < l.count; i++) {
            double y;

            context_poll(c);
            for (int64_t k = 0; k < l.length; k++)
                line[k] = x[l.start[i] + l.offset[k]];
            y = r->real(line, l.length);
            payload_store(payload, out[0]->type, i, &y, 1);
        }
    } else {
        const int64_t *x = tensor_integers(c, in[0], scratch);
        int64_t *line = NEW_ARRAY(scratch, l.length, int64_t);

        for (int64_t i = 0; i < l.count; i++) {
            context_poll(c);
            for (int64_t k = 0; k < l.length; k++)
                line[k] = x[l.start[i] + l.offset[k]];
            payload_set_integer(payload, out[0]->type, i,
                                r->whole(line, l.length, type == TYPE_UINT64));
        }
    }
    return true;
}

/* How many elements one result is made of. */
static double reduced_count(const struct node *n)
{
    double in = (double)shape_count(&n->inputs[0]->shape),
           out = (double)shape_count(&n->outputs[0]->shape);

    return out > 0 ? in / out : 0;
}

static void reduce_range(const struct node *n, int output, const struct range *in,
                         struct range *out)
{
    const char *op = n->op->name;
    double count = reduced_count(n);

    (void)output;
    if (!strcmp(op, "ReduceSum")) {
        *out = range_sum(in[0], count);
    } else if (!strcmp(op, "ReduceL1")) {
        *out = range_sum(range_absolute(in[0]), count);
    } else if (!strcmp(op, "ReduceL2")) {
        *out = range_sum(range_absolute(in[0]), sqrt(count));
        out->hi *= 1 + count * 0x1p-24;
    } else if (!strcmp(op, "ReduceSumSquare")) {
        *out = range_sum(range_power(in[0], 2), count);
        out->usual = in[0].usual * in[0].usual * count;
        out->excess = EXCESS_SQUARES;
    } else if (!strcmp(op, "ReduceProd")) {
        *out = range_product(in[0], count);
        out->usual = in[0].usual;
        out->excess = EXCESS_PRODUCT_OF_MANY;
    } else if (!strcmp(op, "ReduceLogSum")) {
        *out = range_sum(in[0], count);
        out->lo = log(fmax(out->lo, 0));
        out->hi = log(fmax(out->hi, 0));
        out->usual = in[0].usual;
    } else if (!strcmp(op, "ReduceMean")) {
        *out = range_mean(in[0], count);
    } else { /* ReduceMax, ReduceMin */
        *out = in[0];
    }
}

#define REDUCTION(prefix)                                                                          \
    const struct operator_functions prefix##_functions = {.role = ROLE_STEP,                       \
                                                          .lower = lower_reduce,                   \
                                                          .packed = packed_reduce,                 \
                                                          .range = reduce_range,                   \
                                                          .upgrade = upgrade_reduce,               \
                                                          .infer = infer_reduce,                   \
                                                          .evaluate = evaluate_reduce};
REDUCTION(reduce_l1)
REDUCTION(reduce_l2)
REDUCTION(reduce_log_sum)
REDUCTION(reduce_log_sum_exp)
REDUCTION(reduce_max)
REDUCTION(reduce_mean)
REDUCTION(reduce_min)
REDUCTION(reduce_prod)
REDUCTION(reduce_sum)
REDUCTION(reduce_sum_square)

/* ---- ArgMax and ArgMin ---- */

static void infer_arg(struct node *n)
{
    const struct shape *x = &n->inputs[0]->shape;
    int axis;

    if (x->axes < 0) {
        infer_output(n, 0, TYPE_INT64, &shape_unknown);
        return;
    }
    axis = infer_axis(n, x, node_int(n, "axis", 0));
    if (axis < 0)
        return;
    if (x->dim[axis] == 0) {
        infer_fault(n, "its axis %d has no elements", axis);
        return;
    }
    node_set_int(n, "axis", axis);
    infer_reduced(n, TYPE_INT64, x, 1u << axis, node_int(n, "keepdims", 1) != 0);
}

static bool evaluate_arg(struct node *n, struct tensor *const *in, struct tensor **out,
                         struct arena *arena, struct arena *scratch, bool most)
{
    struct context *c = n->graph->context;
    int axis = shape_axis(&in[0]->shape, node_int(n, "axis", 0));
    bool last = node_int(n, "select_last_index", 0) != 0, real = type_is_real(in[0]->type);
    bool natural = in[0]->type == TYPE_UINT64;
    const double *numbers = NULL;
    const int64_t *integers = NULL;
    int64_t *index;
    struct lines l;

    if (axis < 0 || in[0]->type == TYPE_STRING)
        return false;
    if (real)
        numbers = tensor_doubles(c, in[0], scratch);
    else
        integers = tensor_integers(c, in[0], scratch);
    lines_init(&l, &in[0]->shape, 1u << axis, scratch);
    out[0] = output_new(n, 0, arena, (void **)&index);
    for (int64_t i = 0; i < l.count; i++)
        for (int64_t k = 1; k < l.length; k++) {
            int64_t best = l.start[i] + l.offset[index[i]], now = l.start[i] + l.offset[k];
            bool above = real ? numbers[now] > numbers[best]
                              : precedes(integers[best], integers[now], natural);
            bool below = real ? numbers[now] < numbers[best]
                              : precedes(integers[now], integers[best], natural);

            if ((most ? above : below) || (last && !above && !below))
                index[i] = k;
        }
    return true;
}

static bool evaluate_arg_max(struct node *n, struct tensor *const *in, struct tensor **out,
                             struct arena *arena, struct arena *scratch)
{
    return evaluate_arg(n, in, out, arena, scratch, true);
}

static bool evaluate_arg_min(struct node *n, struct tensor *const *in, struct tensor **out,
                             struct arena *arena, struct arena *scratch)
{
    return evaluate_arg(n, in, out, arena, scratch, false);
}

/* An index. */
static void arg_range(const struct node *n, int output, const struct range *in, struct range *out)
{
    const struct shape *s = &n->inputs[0]->shape;

    (void)output;
    (void)in;
    *out = range_make(0, (double)s->dim[shape_axis(s, node_int(n, "axis", 0))]);
    out->usual = out->hi;
}

const struct operator_functions arg_max_functions = {.role = ROLE_STEP,
                                                     .range = arg_range,
                                                     .lower = lower_choice,
                                                     .packed = packed_choice,
                                                     .infer = infer_arg,
                                                     .evaluate = evaluate_arg_max};
const struct operator_functions arg_min_functions = {.role = ROLE_STEP,
                                                     .range = arg_range,
                                                     .lower = lower_choice,
                                                     .packed = packed_choice,
                                                     .infer = infer_arg,
                                                     .evaluate = evaluate_arg_min};

/* ---- CumSum and CumProd ---- */

static void infer_cumulative(struct node *n)
{
    int count;
    const int64_t *axis = node_constant_ints(n, 1, &count);

    if (axis && count != 1) {
        infer_fault(n, "its axis is %d numbers", count);
        return;
    }
    if (axis && n->inputs[0]->shape.axes >= 0 && infer_axis(n, &n->inputs[0]->shape, *axis) < 0)
        return;
    infer_like_input(n);
}

static bool evaluate_cumulative(struct node *n, struct tensor *const *in, struct tensor **out,
                                struct arena *arena, struct arena *scratch, bool product)
{
    struct context *c = n->graph->context;
    int axis =
        in[1]->count == 1 ? shape_axis(&in[0]->shape, *tensor_integers(c, in[1], scratch)) : -1;
    bool exclusive = node_int(n, "exclusive", 0) != 0, reverse = node_int(n, "reverse", 0) != 0;
    bool real = type_is_real(in[0]->type);
    const double *numbers = NULL;
    const int64_t *integers = NULL;
    struct lines l;
    void *payload;

    if (axis < 0 || in[0]->type == TYPE_STRING)
        return false;
    if (real)
        numbers = tensor_doubles(c, in[0], scratch);
    else
        integers = tensor_integers(c, in[0], scratch);
    lines_init(&l, &in[0]->shape, 1u << axis, scratch);
    out[0] = output_new(n, 0, arena, &payload);
    for (int64_t i = 0; i < l.count; i++) {
        double number = product;
        uint64_t integer = product;

        context_poll(c);
        for (int64_t k = 0; k < l.length; k++) {
            int64_t at = l.start[i] + l.offset[reverse ? l.length - 1 - k : k];
            double number_before = number;
            uint64_t integer_before = integer;

            if (real) {
                number = product ? number * numbers[at] : number + numbers[at];
                payload_store(payload, out[0]->type, at, exclusive ? &number_before : &number, 1);
            } else {
                integer =
                    product ? integer * (uint64_t)integers[at] : integer + (uint64_t)integers[at];
                payload_set_integer(payload, out[0]->type, at,
                                    (int64_t)(exclusive ? integer_before : integer));
            }
        }
    }
    return true;
}

static bool evaluate_cum_sum(struct node *n, struct tensor *const *in, struct tensor **out,
                             struct arena *arena, struct arena *scratch)
{
    return evaluate_cumulative(n, in, out, arena, scratch, false);
}

static bool evaluate_cum_prod(struct node *n, struct tensor *const *in, struct tensor **out,
                              struct arena *arena, struct arena *scratch)
{
    return evaluate_cumulative(n, in, out, arena, scratch, true);
}

static void cumulative_range(const struct node *n, int output, const struct range *in,
                             struct range *out)
{
    const struct shape *s = &n->inputs[0]->shape;
    int count;
    const int64_t *axis = node_constant_ints(n, 1, &count);
    double length = axis ? (double)s->dim[shape_axis(s, *axis)] : (double)shape_count(s);

    (void)output;
    if (strcmp(n->op->name, "CumProd") != 0) {
        *out = range_partial_sum(in[0], length);
        return;
    }
    *out = range_product(in[0], length);
    *out = range_hull(range_hull(*out, in[0]), range_make(1, 1));
    out->excess = EXCESS_PRODUCT_OF_MANY;
}

const struct operator_functions cum_sum_functions = {.role = ROLE_STEP,
                                                     .range = cumulative_range,
                                                     .lower = lower_scan,
                                                     .packed = packed_scan,
                                                     .reuse = reuse_scan,
                                                     .infer = infer_cumulative,
                                                     .evaluate = evaluate_cum_sum};
const struct operator_functions cum_prod_functions = {.role = ROLE_STEP,
                                                      .range = cumulative_range,
                                                      .lower = lower_scan,
                                                      .packed = packed_scan,
                                                      .reuse = reuse_scan,
                                                      .infer = infer_cumulative,
                                                      .evaluate = evaluate_cum_prod};
