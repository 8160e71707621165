/*
 * Reductions along any axes; ArgMax, ArgMin, CumSum, CumProd along one. Source:
 * onnx.ai/onnx/operators, ReduceSum 13, ReduceMax 20 and the others 18; ArgMax 13, CumSum 14,
 * CumProd 26.
 *
 * Internal form of the reductions: axes are input 1.
 */
#include "daemon/compiler/graph/blocks.h"
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

/* ---- lines, block by block ---- */

/*
 * An operand's elements in order, in runs that lie in one block and evenly in the results: what is
 * reduced is never needed as a whole.
 */
struct runs {
    struct blocks block;
    int64_t from, count;       /* elements of the block */
    int64_t line, line_step;   /* the result that the first of them goes into, and on to the next */
    int64_t index, index_step; /* its index along the axis, where there is only one; likewise */
    /* private */
    struct walk walk;
    int64_t done; /* elements of the walk's run */
};

static void runs_init(struct runs *r, struct context *c, const struct tensor *x, unsigned mask)
{
    int64_t stride[2][WALK_AXES] = {{0}}, next = 1;

    memset(r, 0, sizeof *r);
    for (int a = x->shape.axes; a-- > 0;) {
        bool reduced = (mask & 1u << a) != 0;

        stride[1][a] = reduced;
        if (!reduced) {
            stride[0][a] = next;
            next *= x->count ? x->shape.dim[a] : 0;
        }
    }
    walk_init(&r->walk, x->shape.axes, x->shape.dim, 2, (const int64_t(*)[WALK_AXES])stride);
    r->done = r->walk.run;
    blocks_init(&r->block, c, x);
}

static bool runs_next(struct runs *r)
{
    struct walk *w = &r->walk;

    r->from += r->count;
    if (r->from == r->block.part.count) {
        if (!blocks_next(&r->block))
            return false;
        r->from = 0;
    }
    if (r->done == w->run) {
        walk_next(w);
        r->done = 0;
    }
    r->count = r->block.part.count - r->from;
    if (r->count > w->run - r->done)
        r->count = w->run - r->done;
    r->line = w->at[0] + r->done * w->step[0];
    r->line_step = w->step[0];
    r->index = w->at[1] + r->done * w->step[1];
    r->index_step = w->step[1];
    r->done += r->count;
    return true;
}

/* The block's numbers: converted once, when its first run comes. */
static const double *runs_doubles(struct runs *r, struct context *c, const double *now)
{
    return r->from ? now : tensor_doubles(c, &r->block.part, r->block.scratch);
}

static const int64_t *runs_integers(struct runs *r, struct context *c, const int64_t *now)
{
    return r->from ? now : tensor_integers(c, &r->block.part, r->block.scratch);
}

/* ---- reductions ---- */

/* One element more. The integers wrap, as NumPy's do. */
struct reduction {
    const char *name;
    double of_none;
    double (*real)(double all, double x);
    double (*finish)(double all, double count);             /* NULL: nothing is left to do */
    int64_t (*whole)(int64_t all, int64_t x, bool natural); /* NULL: by way of real numbers */
};

static double real_sum(double all, double x)
{
    return all + x;
}

static double real_l1(double all, double x)
{
    return all + fabs(x);
}

static double real_sum_square(double all, double x)
{
    return all + x * x;
}

static double real_max(double all, double x)
{
    return x > all || isnan(x) ? x : all;
}

static double real_min(double all, double x)
{
    return x < all || isnan(x) ? x : all;
}

static double real_product(double all, double x)
{
    return all * x;
}

static double mean_of(double all, double count)
{
    return all / count;
}

static double root_of(double all, double count)
{
    (void)count;
    return sqrt(all);
}

static double log_of(double all, double count)
{
    (void)count;
    return log(all);
}

static bool precedes(int64_t x, int64_t y, bool natural)
{
    return natural ? (uint64_t)x < (uint64_t)y : x < y;
}

static int64_t whole_sum(int64_t all, int64_t x, bool natural)
{
    (void)natural;
    return (int64_t)((uint64_t)all + (uint64_t)x);
}

static int64_t whole_l1(int64_t all, int64_t x, bool natural)
{
    return whole_sum(all, x < 0 && !natural ? (int64_t)(0 - (uint64_t)x) : x, natural);
}

static int64_t whole_sum_square(int64_t all, int64_t x, bool natural)
{
    return whole_sum(all, (int64_t)((uint64_t)x * (uint64_t)x), natural);
}

static int64_t whole_product(int64_t all, int64_t x, bool natural)
{
    (void)natural;
    return (int64_t)((uint64_t)all * (uint64_t)x);
}

static int64_t whole_max(int64_t all, int64_t x, bool natural)
{
    return precedes(all, x, natural) ? x : all;
}

static int64_t whole_min(int64_t all, int64_t x, bool natural)
{
    return precedes(x, all, natural) ? x : all;
}

static const struct reduction reductions[] = {
    {"ReduceL1", 0, real_l1, NULL, whole_l1},
    {"ReduceL2", 0, real_sum_square, root_of, NULL},
    {"ReduceLogSum", 0, real_sum, log_of, NULL},
    {"ReduceLogSumExp", 0, real_sum, log_of, NULL}, /* of the exponentials: evaluate_reduce() */
    {"ReduceMax", -INFINITY, real_max, NULL, whole_max},
    {"ReduceMean", 0, real_sum, mean_of, whole_sum},
    {"ReduceMin", INFINITY, real_min, NULL, whole_min},
    {"ReduceProd", 1, real_product, NULL, whole_product},
    {"ReduceSum", 0, real_sum, NULL, whole_sum},
    {"ReduceSumSquare", 0, real_sum_square, NULL, whole_sum_square},
};

/* above: what to subtract before the exponential is taken, of each line; NULL: no exponentials. */
static void reduce_real(struct context *c, const struct tensor *x, unsigned mask,
                        double (*real)(double all, double x), const double *above, double *all)
{
    const double *numbers = NULL;
    struct runs r;

    runs_init(&r, c, x, mask);
    while (runs_next(&r)) {
        numbers = runs_doubles(&r, c, numbers);
        for (int64_t i = 0; i < r.count; i++) {
            int64_t line = r.line + i * r.line_step;
            double number = numbers[r.from + i];

            all[line] = real(all[line], above ? exp(number - above[line]) : number);
        }
    }
}

static void reduce_whole(struct context *c, const struct tensor *x, unsigned mask,
                         int64_t (*whole)(int64_t all, int64_t x, bool natural), int64_t *all)
{
    const int64_t *numbers = NULL;
    struct runs r;

    runs_init(&r, c, x, mask);
    while (runs_next(&r)) {
        numbers = runs_integers(&r, c, numbers);
        for (int64_t i = 0; i < r.count; i++) {
            int64_t line = r.line + i * r.line_step;

            all[line] = whole(all[line], numbers[r.from + i], x->type == TYPE_UINT64);
        }
    }
}

static double *filled(struct arena *a, int64_t count, double number)
{
    double *list = NEW_ROOM(a, count, double);

    for (int64_t i = 0; i < count; i++)
        list[i] = number;
    return list;
}

/* What max and min begin with lies beyond all integers, and there is none such of nothing. */
static int64_t whole_of_none(const struct reduction *r, bool natural)
{
    if (r->whole == whole_max)
        return natural ? 0 : INT64_MIN;
    if (r->whole == whole_min)
        return natural ? -1 : INT64_MAX;
    return r->whole == whole_product;
}

static bool evaluate_reduce(struct node *n, struct tensor *const *in, struct tensor **out,
                            struct arena *arena, struct arena *scratch)
{
    struct context *c = n->graph->context;
    const struct reduction *r = reductions;
    enum element_type type = in[0]->type;
    bool natural = type == TYPE_UINT64, known;
    unsigned mask = 0;
    int64_t lines, length;
    void *payload;

    while (strcmp(r->name, n->op->name) != 0)
        r++;
    if (type == TYPE_STRING || !reduced_axes(n, &in[0]->shape, &mask, &known))
        return false;
    lines = shape_count(&n->outputs[0]->shape);
    length = lines ? in[0]->count / lines : 0;
    /* Integers have no infinity to give for an empty line. */
    if (length == 0 && (r->whole == whole_max || r->whole == whole_min) && !type_is_real(type))
        return false;
    out[0] = output_new(n, 0, arena, &payload);
    if (type_is_real(type) || !r->whole) {
        double *all = filled(scratch, lines, r->of_none), *above = NULL;

        if (!strcmp(r->name, "ReduceLogSumExp")) {
            above = filled(scratch, lines, -INFINITY);
            reduce_real(c, in[0], mask, real_max, NULL, above);
        }
        reduce_real(c, in[0], mask, r->real, above, all);
        for (int64_t i = 0; i < lines; i++) {
            all[i] = r->finish ? r->finish(all[i], (double)length) : all[i];
            if (above)
                all[i] = isinf(above[i]) ? above[i] : all[i] + above[i];
        }
        payload_store(payload, out[0]->type, 0, all, lines);
    } else {
        int64_t *all = NEW_ROOM(scratch, lines, int64_t);

        for (int64_t i = 0; i < lines; i++)
            all[i] = whole_of_none(r, natural);
        reduce_whole(c, in[0], mask, r->whole, all);
        for (int64_t i = 0; i < lines; i++) {
            if (r->finish == mean_of && length)
                all[i] = natural ? (int64_t)((uint64_t)all[i] / (uint64_t)length) : all[i] / length;
            payload_set_integer(payload, out[0]->type, i, all[i]);
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
                                                          .parts = 1,                              \
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
    double *best;
    int64_t *index, *best_integer, lines = shape_count(&n->outputs[0]->shape);
    struct runs r;

    if (axis < 0 || in[0]->type == TYPE_STRING)
        return false;
    best = NEW_ARRAY(scratch, lines, double);
    best_integer = NEW_ARRAY(scratch, lines, int64_t);
    out[0] = output_new(n, 0, arena, (void **)&index);
    runs_init(&r, c, in[0], 1u << axis);
    while (runs_next(&r)) {
        if (real)
            numbers = runs_doubles(&r, c, numbers);
        else
            integers = runs_integers(&r, c, integers);
        for (int64_t i = 0; i < r.count; i++) {
            int64_t line = r.line + i * r.line_step, k = r.index + i * r.index_step;
            double number = real ? numbers[r.from + i] : 0;
            int64_t integer = real ? 0 : integers[r.from + i];
            bool above =
                real ? number > best[line] : precedes(best_integer[line], integer, natural);
            bool below =
                real ? number < best[line] : precedes(integer, best_integer[line], natural);

            if (k == 0 || (most ? above : below) || (last && !above && !below)) {
                index[line] = k;
                best[line] = number;
                best_integer[line] = integer;
            }
        }
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
                                                     .parts = 1,
                                                     .range = arg_range,
                                                     .lower = lower_choice,
                                                     .packed = packed_choice,
                                                     .infer = infer_arg,
                                                     .evaluate = evaluate_arg_max};
const struct operator_functions arg_min_functions = {.role = ROLE_STEP,
                                                     .parts = 1,
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
