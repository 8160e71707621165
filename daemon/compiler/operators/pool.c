/* Pools: windows and whole planes. Source: onnx.ai/onnx/operators, MaxPool 22, AveragePool 22,
 * LpPool 22, GlobalAveragePool 22, GlobalMaxPool 22, GlobalLpPool 22, MaxUnpool 22. */
#include "daemon/compiler/operators/arguments.h"
#include "daemon/compiler/operators/lower.h"
#include "daemon/compiler/operators/range.h"
#include "daemon/compiler/operators/rules.h"
#include "daemon/compiler/operators/window.h"
#include <math.h>
#include <string.h>

static void infer_pool(struct node *n)
{
    const struct value *x = n->inputs[0];
    struct shape y = x->shape;
    struct window w;

    if (x->shape.axes >= 0) {
        if (!window_read(n, &x->shape, NULL, &w))
            return;
        for (int i = 0; i < w.axes; i++)
            y.dim[i + 2] = w.out[i];
        if (!argument_fits(n, &y))
            return;
        window_settle(n, &w);
    }
    infer_output(n, 0, x->type, &y);
    if (n->output_count > 1)
        infer_output(n, 1, TYPE_INT64, &y);
}

/* What all windowed pools do alike: planes are taken one after the other, each tap over the whole.
 */
struct pool {
    struct window window;
    struct tap *taps;
    int64_t tap_count, in_plane, out_plane, planes;
    const double *x;
    double *y;
};

static bool pool_init(struct pool *p, struct node *n, const struct tensor *x, struct arena *scratch)
{
    memset(p, 0, sizeof *p);
    if (x->type == TYPE_STRING || !window_read(n, &x->shape, NULL, &p->window))
        return false;
    /* Without elements there is nothing to do, and the other extents may be beyond all bounds. */
    if (x->count == 0)
        return true;
    p->in_plane = p->out_plane = 1;
    for (int i = 0; i < p->window.axes; i++) {
        p->in_plane *= p->window.in[i];
        p->out_plane *= p->window.out[i];
    }
    p->taps = window_taps(&p->window, false, &p->tap_count, scratch);
    p->planes = x->shape.dim[0] * x->shape.dim[1];
    p->x = tensor_doubles(n->graph->context, x, scratch);
    p->y = NEW_ARRAY(scratch, p->out_plane, double);
    return true;
}

static double magnitude_power(double x, int64_t p)
{
    x = fabs(x);
    return p == 1 ? x : p == 2 ? x * x : pow(x, (double)p);
}

static double root(double sum, int64_t p)
{
    return p == 1 ? sum : p == 2 ? sqrt(sum) : pow(sum, 1 / (double)p);
}

/* Adds |x|^power (0: x itself) of every element that a window sees to its sum. */
static void add_windows(const struct pool *p, int64_t plane, int64_t power)
{
    const double *x = p->x + plane * p->in_plane;

    for (int64_t i = 0; i < p->out_plane; i++)
        p->y[i] = 0;
    for (int64_t t = 0; t < p->tap_count; t++) {
        struct walk w = p->taps[t].walk;

        while (!p->taps[t].empty && walk_next(&w)) {
            double *to = p->y + p->taps[t].site + w.at[0];
            const double *from = x + p->taps[t].read + w.at[1];

            for (int64_t i = 0; i < w.run; i++) {
                double v = from[i * w.step[1]];

                to[i * w.step[0]] += power ? magnitude_power(v, power) : v;
            }
        }
    }
}

/* How many elements each window averages over. */
static double *window_sizes(const struct pool *p, bool with_padding, struct arena *scratch)
{
    double *sizes = NEW_ARRAY(scratch, p->out_plane, double);
    const struct window *w = &p->window;

    if (with_padding) {
        /* The padding counts, what lies beyond it (ceil_mode) does not. */
        int64_t at[WINDOW_AXES] = {0};

        for (int64_t s = 0; s < p->out_plane; s++) {
            sizes[s] = 1;
            for (int i = 0; i < w->axes; i++) {
                int64_t room = w->in[i] + w->begin[i] + w->end[i] - at[i] * w->stride[i];
                int64_t inside = (room + w->dilation[i] - 1) / w->dilation[i];

                sizes[s] *= (double)(inside < w->kernel[i] ? inside : w->kernel[i]);
            }
            for (int i = w->axes - 1; i >= 0 && ++at[i] == w->out[i]; i--)
                at[i] = 0;
        }
        return sizes;
    }
    for (int64_t t = 0; t < p->tap_count; t++) {
        struct walk walk = p->taps[t].walk;

        while (!p->taps[t].empty && walk_next(&walk))
            for (int64_t i = 0; i < walk.run; i++)
                sizes[p->taps[t].site + walk.at[0] + i * walk.step[0]]++;
    }
    return sizes;
}

static bool evaluate_average_pool(struct node *n, struct tensor *const *in, struct tensor **out,
                                  struct arena *arena, struct arena *scratch)
{
    bool with_padding = node_int(n, "count_include_pad", 0) != 0;
    struct pool p;
    double *sizes;
    void *payload;

    if (!pool_init(&p, n, in[0], scratch))
        return false;
    sizes = window_sizes(&p, with_padding, scratch);
    out[0] = output_new(n, 0, arena, &payload);
    for (int64_t plane = 0; plane < p.planes; plane++) {
        context_poll(n->graph->context);
        add_windows(&p, plane, 0);
        /* A window that lies in the padding altogether averages nothing: 0. */
        for (int64_t i = 0; i < p.out_plane; i++)
            p.y[i] = sizes[i] > 0 ? p.y[i] / sizes[i] : 0;
        payload_store(payload, out[0]->type, plane * p.out_plane, p.y, p.out_plane);
    }
    return true;
}

static bool evaluate_lp_pool(struct node *n, struct tensor *const *in, struct tensor **out,
                             struct arena *arena, struct arena *scratch)
{
    int64_t power = node_int(n, "p", 2);
    struct pool p;
    void *payload;

    if (power < 1 || !pool_init(&p, n, in[0], scratch))
        return false;
    out[0] = output_new(n, 0, arena, &payload);
    for (int64_t plane = 0; plane < p.planes; plane++) {
        context_poll(n->graph->context);
        add_windows(&p, plane, power);
        for (int64_t i = 0; i < p.out_plane; i++)
            p.y[i] = root(p.y[i], power);
        payload_store(payload, out[0]->type, plane * p.out_plane, p.y, p.out_plane);
    }
    return true;
}

/* The index in a plane whose axes are numbered the other way round (storage_order 1). */
static int64_t column_major(const struct window *w, int64_t index)
{
    int64_t at[WINDOW_AXES], result = 0;

    for (int i = w->axes - 1; i >= 0; i--) {
        at[i] = index % w->in[i];
        index /= w->in[i];
    }
    for (int i = w->axes - 1; i >= 0; i--)
        result = result * w->in[i] + at[i];
    return result;
}

static bool evaluate_max_pool(struct node *n, struct tensor *const *in, struct tensor **out,
                              struct arena *arena, struct arena *scratch)
{
    bool wanted = n->outputs[0] != NULL, indices = n->output_count > 1 && n->outputs[1];
    bool columns = node_int(n, "storage_order", 0) != 0;
    int64_t *best, *index_payload = NULL;
    void *payload = NULL;
    struct pool p;

    if (!pool_init(&p, n, in[0], scratch))
        return false;
    best = NEW_ARRAY(scratch, p.out_plane, int64_t);
    if (wanted)
        out[0] = output_new(n, 0, arena, &payload);
    if (indices)
        out[1] = output_new(n, 1, arena, (void **)&index_payload);
    for (int64_t plane = 0; plane < p.planes; plane++) {
        const double *x = p.x + plane * p.in_plane;

        context_poll(n->graph->context);
        for (int64_t i = 0; i < p.out_plane; i++) {
            p.y[i] = -(double)INFINITY;
            best[i] = -1;
        }
        for (int64_t t = 0; t < p.tap_count; t++) {
            struct walk w = p.taps[t].walk;

            while (!p.taps[t].empty && walk_next(&w)) {
                int64_t site = p.taps[t].site + w.at[0], read = p.taps[t].read + w.at[1];

                for (int64_t i = 0; i < w.run; i++, site += w.step[0], read += w.step[1])
                    /* Taps come in the order of the input, so the first of equals wins. */
                    if (x[read] > p.y[site] || best[site] < 0) {
                        p.y[site] = x[read];
                        best[site] = read;
                    }
            }
        }
        if (wanted)
            payload_store(payload, out[0]->type, plane * p.out_plane, p.y, p.out_plane);
        for (int64_t i = 0; i < p.out_plane && indices; i++)
            index_payload[plane * p.out_plane + i] =
                plane * p.in_plane +
                (columns && best[i] >= 0 ? column_major(&p.window, best[i]) : best[i]);
    }
    return true;
}

/* ---- whole planes ---- */

static void infer_global_pool(struct node *n)
{
    const struct value *x = n->inputs[0];
    struct shape y = x->shape;

    if (y.axes >= 0 && y.axes < 3) {
        infer_fault(n, "its input has %d axes; it needs a batch, channels and at least one more",
                    y.axes);
        return;
    }
    for (int i = 2; i < y.axes; i++)
        y.dim[i] = 1;
    infer_output(n, 0, x->type, &y);
}

enum global { GLOBAL_AVERAGE, GLOBAL_MAX, GLOBAL_LP };

static bool evaluate_global(struct node *n, const struct tensor *t, struct tensor **out,
                            struct arena *arena, struct arena *scratch, enum global kind)
{
    int64_t p = node_int(n, "p", 2);
    struct lines l;
    const double *x;
    void *payload;

    if (t->type == TYPE_STRING || p < 1)
        return false;
    x = tensor_doubles(n->graph->context, t, scratch);
    lines_init(&l, &t->shape, ~3u, scratch);
    out[0] = output_new(n, 0, arena, &payload);
    for (int64_t i = 0; i < l.count; i++) {
        const double *line = x + l.start[i];
        double result = kind == GLOBAL_MAX ? -(double)INFINITY : 0;

        for (int64_t k = 0; k < l.length; k++) {
            double v = line[l.offset[k]];

            if (kind == GLOBAL_MAX)
                result = v > result || isnan(v) ? v : result;
            else
                result += kind == GLOBAL_LP ? magnitude_power(v, p) : v;
        }
        if (kind == GLOBAL_AVERAGE)
            result /= (double)l.length;
        else if (kind == GLOBAL_LP)
            result = root(result, p);
        payload_store(payload, out[0]->type, i, &result, 1);
    }
    return true;
}

static bool evaluate_global_average(struct node *n, struct tensor *const *in, struct tensor **out,
                                    struct arena *arena, struct arena *scratch)
{
    return evaluate_global(n, in[0], out, arena, scratch, GLOBAL_AVERAGE);
}

static bool evaluate_global_max(struct node *n, struct tensor *const *in, struct tensor **out,
                                struct arena *arena, struct arena *scratch)
{
    return evaluate_global(n, in[0], out, arena, scratch, GLOBAL_MAX);
}

static bool evaluate_global_lp(struct node *n, struct tensor *const *in, struct tensor **out,
                               struct arena *arena, struct arena *scratch)
{
    return evaluate_global(n, in[0], out, arena, scratch, GLOBAL_LP);
}

/* ---- MaxUnpool ---- */

/* The shape that the indices count in: what a pool with these attributes was given. */
static bool unpooled(struct node *n, const struct shape *x, struct shape *y, struct window *w)
{
    *y = *x;
    if (!window_read_transposed(n, x, NULL, w))
        return false;
    for (int i = 0; i < w->axes; i++)
        y->dim[i + 2] = w->out[i];
    return true;
}

static void infer_max_unpool(struct node *n)
{
    const struct value *x = n->inputs[0];
    const struct value *given = node_input(n, 2);
    struct shape y = shape_unknown;
    const int64_t *dims;
    struct window w;
    int count;

    if (x->shape.axes < 0) {
        infer_output(n, 0, x->type, &shape_unknown);
        return;
    }
    if (!unpooled(n, &x->shape, &y, &w))
        return;
    dims = node_constant_ints(n, 2, &count);
    if (given && !dims) {
        for (int i = 0; i < y.axes; i++)
            y.dim[i] = -1;
    } else if (given) {
        if (count != y.axes) {
            infer_fault(n, "its output_shape has %d numbers for %d axes", count, y.axes);
            return;
        }
        for (int i = 0; i < count; i++) {
            if (dims[i] < y.dim[i]) {
                infer_fault(n, "its output_shape has %lld along axis %d, which takes %lld",
                            (long long)dims[i], i, (long long)y.dim[i]);
                return;
            }
            y.dim[i] = dims[i];
        }
    }
    if (argument_fits(n, &y))
        infer_output(n, 0, x->type, &y);
}

static bool evaluate_max_unpool(struct node *n, struct tensor *const *in, struct tensor **out,
                                struct arena *arena, struct arena *scratch)
{
    const int64_t *index = tensor_integers(n->graph->context, in[1], scratch);
    const double *x = tensor_doubles(n->graph->context, in[0], scratch);
    const struct shape *y = &n->outputs[0]->shape;
    int64_t stride[MAX_AXES], count;
    struct shape inner;
    struct window w;
    void *payload;

    if (in[1]->count != in[0]->count || !type_is_real(in[0]->type) ||
        !unpooled(n, &in[0]->shape, &inner, &w))
        return false;
    walk_strides(y, stride);
    count = shape_count(&inner);
    out[0] = output_new(n, 0, arena, &payload);
    for (int64_t i = 0; i < in[0]->count; i++) {
        int64_t rest = index[i], at = 0;

        if (rest < 0 || rest >= count)
            return false;
        /* output_shape may be larger than what the indices count in: the rest stays zero. */
        for (int axis = inner.axes - 1; axis >= 0; axis--) {
            at += rest % inner.dim[axis] * stride[axis];
            rest /= inner.dim[axis];
        }
        payload_store(payload, out[0]->type, at, &x[i], 1);
    }
    return true;
}

/* Padding counts as 0 or not at all. */
static void average_pool_range(const struct node *n, int output, const struct range *in,
                               struct range *out)
{
    double elements = 1;
    int count;
    const int64_t *kernel = node_ints(n, "kernel_shape", &count);

    (void)output;
    for (int i = 0; i < count; i++)
        elements *= (double)kernel[i];
    *out = range_mean(in[0], elements);
    if (node_int(n, "count_include_pad", 0))
        *out = range_hull(*out, range_make(0, 0));
}

static void global_average_range(const struct node *n, int output, const struct range *in,
                                 struct range *out)
{
    (void)output;
    *out =
        range_mean(in[0], (double)shape_product(&n->inputs[0]->shape, 2, n->inputs[0]->shape.axes));
}

/* The root of a sum of powers: no larger than the p-th root of the number of elements allows. */
static void lp_pool_range(const struct node *n, int output, const struct range *in,
                          struct range *out)
{
    double p = (double)node_int(n, "p", 2), elements = 1;
    int count;
    const int64_t *kernel = node_ints(n, "kernel_shape", &count);

    (void)output;
    for (int i = 0; i < count; i++)
        elements *= (double)kernel[i];
    *out = range_sum(range_absolute(in[0]), pow(elements, 1 / p));
    out->lo = 0;
}

const struct operator_functions average_pool_functions = {.role = ROLE_STEP,
                                                          .range = average_pool_range,
                                                          .lower = lower_average_pool,
                                                          .packed = packed_channels,
                                                          .reuse = reuse_pool,
                                                          .window = window_pool,
                                                          .infer = infer_pool,
                                                          .evaluate = evaluate_average_pool};
const struct operator_functions global_average_pool_functions = {.role = ROLE_STEP,
                                                                 .range = global_average_range,
                                                                 .lower = lower_reduce,
                                                                 .packed = packed_reduce,
                                                                 .infer = infer_global_pool,
                                                                 .evaluate =
                                                                     evaluate_global_average};
const struct operator_functions global_lp_pool_functions = {
    .role = ROLE_STEP, .infer = infer_global_pool, .evaluate = evaluate_global_lp};
const struct operator_functions global_max_pool_functions = {.role = ROLE_STEP,
                                                             .range = range_same,
                                                             .lower = lower_reduce,
                                                             .packed = packed_reduce,
                                                             .infer = infer_global_pool,
                                                             .evaluate = evaluate_global_max};
const struct operator_functions lp_pool_functions = {.role = ROLE_STEP,
                                                     .range = lp_pool_range,
                                                     .lower = lower_lp_pool,
                                                     .packed = packed_channels,
                                                     .reuse = reuse_pool,
                                                     .window = window_pool,
                                                     .infer = infer_pool,
                                                     .evaluate = evaluate_lp_pool};
const struct operator_functions max_pool_functions = {.role = ROLE_STEP,
                                                      .range = range_same,
                                                      .lower = lower_max_pool,
                                                      .packed = packed_channels,
                                                      .reuse = reuse_pool,
                                                      .window = window_pool,
                                                      .infer = infer_pool,
                                                      .evaluate = evaluate_max_pool};
const struct operator_functions max_unpool_functions = {
    .role = ROLE_STEP, .infer = infer_max_unpool, .evaluate = evaluate_max_unpool};
