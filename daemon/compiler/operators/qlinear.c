/* Convolutions and products of quantised numbers: QLinearConv, QLinearMatMul, ConvInteger,
 * MatMulInteger. */
#include "daemon/compiler/operators/arguments.h"
#include "daemon/compiler/operators/move.h"
#include "daemon/compiler/operators/window.h"
#include <inttypes.h>
#include <math.h>
#include <string.h>

/* Saturates an accumulator times a float32 factor: halves to even, then the zero point, as ONNX
 * Runtime does. */
static double requantised(int64_t sum, float factor, int64_t zero, enum element_type type)
{
    double low = type == TYPE_INT8 ? -128 : 0, high = type == TYPE_INT8 ? 127 : 255;
    double number = rint((double)((float)sum * factor)) + (double)zero;
    return number < low ? low : number > high ? high : number;
}

/* The numbers of t less its zero points: one for all, or one for each index of an axis. */
static int64_t *centred(struct context *c, const struct tensor *t, const struct tensor *zero,
                        int axis, struct arena *scratch)
{
    const int64_t *x = tensor_integers(c, t, scratch);
    const int64_t *zeros = zero && zero->count > 0 ? tensor_integers(c, zero, scratch) : NULL;
    int64_t *out = NEW_ARRAY(scratch, t->count, int64_t);
    int64_t inner = shape_product(&t->shape, axis + 1, t->shape.axes);
    for (int64_t i = 0; i < t->count; i++) {
        int64_t k = zeros && zero->count > 1 ? i / inner % zero->count : 0;
        out[i] = x[i] - (zeros ? zeros[k] : 0);
    }
    return out;
}

static bool one_or(const struct value *v, int64_t length)
{
    if (!v || !shape_known(&v->shape) || shape_count(&v->shape) == 1)
        return true;
    return v->shape.axes == 1 && (length < 0 || v->shape.dim[0] == length);
}

/* ---- convolutions ---- */

/* x and w are the slots of input and weights, w_scale and w_zero those that may be per output
 * channel. */
static void conv_infer(struct node *n, int w, int w_scale, int w_zero, int bias,
                       enum element_type type)
{
    const struct shape *x = &n->inputs[0]->shape, *weights = &n->inputs[w]->shape;
    int64_t group = node_int(n, "group", 1);
    struct window window;
    struct shape out = shape_unknown;

    if (x->axes >= 0 && weights->axes >= 0) {
        if (!window_read(n, x, weights, &window))
            return;
        int64_t channels = x->dim[1], outputs = weights->dim[0], each = weights->dim[1];
        if (group < 1 || (outputs >= 0 && outputs % group) ||
            (channels >= 0 && each >= 0 && (channels % group || channels / group != each))) {
            infer_fault(n, "its %" PRId64 " channels in %" PRId64 " groups do not fit its weights",
                        channels, group);
            return;
        }
        if (!one_or(node_input(n, w_scale), outputs) || !one_or(node_input(n, w_zero), outputs) ||
            !one_or(node_input(n, bias), outputs)) {
            infer_fault(n,
                        "scales, zero points or bias have not one number for each output channel");
            return;
        }
        out.axes = x->axes;
        out.dim[0] = x->dim[0];
        out.dim[1] = outputs;
        for (int a = 0; a < window.axes; a++)
            out.dim[2 + a] = window.out[a];
        if (shape_known(&out))
            window_settle(n, &window);
        if (!argument_fits(n, &out))
            return;
    }
    infer_output(n, 0, type, &out);
}

/* Which element of the input's plane each tap of each output point reads; -1: padding. */
static int64_t *tap_table(const struct window *w, int64_t points, int64_t taps,
                          struct arena *scratch)
{
    int64_t *table = NEW_ARRAY(scratch, points * taps, int64_t);
    for (int64_t i = 0; i < points * taps; i++) {
        int64_t point = i / taps, tap = i % taps, at = 0, stride = 1;
        for (int a = w->axes - 1; a >= 0; a--) {
            int64_t place = point % w->out[a] * w->stride[a] - w->begin[a] +
                            tap % w->kernel[a] * w->dilation[a];
            point /= w->out[a];
            tap /= w->kernel[a];
            at = at < 0 || place < 0 || place >= w->in[a] ? -1 : at + place * stride;
            stride *= w->in[a];
        }
        table[i] = at;
    }
    return table;
}

/* Sums in whole numbers, [N, outputs, points]; NULL where the window does not fit. */
static int64_t *conv_sums(struct node *n, const struct tensor *x, const struct tensor *x_zero,
                          const struct tensor *w, const struct tensor *w_zero, struct shape *out,
                          struct arena *scratch)
{
    struct context *c = n->graph->context;
    struct window window;
    int64_t group = node_int(n, "group", 1);

    if (!window_read(n, &x->shape, &w->shape, &window))
        return NULL;
    *out = x->shape;
    out->dim[1] = w->shape.dim[0];
    for (int a = 0; a < window.axes; a++)
        out->dim[2 + a] = window.out[a];
    int64_t points = shape_product(out, 2, out->axes),
            plane = shape_product(&x->shape, 2, out->axes);
    int64_t taps = shape_product(&w->shape, 2, out->axes), each = w->shape.dim[1];
    int64_t outputs = w->shape.dim[0], channels = x->shape.dim[1];
    const int64_t *from = centred(c, x, x_zero, 1, scratch);
    const int64_t *weights = centred(c, w, w_zero, 0, scratch);
    const int64_t *table = tap_table(&window, points, taps, scratch);
    int64_t *sums = NEW_ARRAY(scratch, shape_count(out), int64_t);

    for (int64_t o = 0; o < x->shape.dim[0] * outputs; o++) {
        int64_t first = o / outputs * channels + o % outputs / (outputs / group) * each;
        context_poll(c);
        for (int64_t k = 0; k < each; k++) {
            const int64_t *channel = from + (first + k) * plane;
            const int64_t *row = weights + (o % outputs * each + k) * taps;
            for (int64_t p = 0; p < points; p++)
                for (int64_t t = 0; t < taps; t++)
                    if (table[p * taps + t] >= 0)
                        sums[o * points + p] += row[t] * channel[table[p * taps + t]];
        }
    }
    return sums;
}

static void qlinear_conv_infer(struct node *n)
{
    conv_infer(n, 3, 4, 5, 8, n->inputs[7]->type);
}

static bool qlinear_conv_evaluate(struct node *n, struct tensor *const *in, struct tensor **out,
                                  struct arena *arena, struct arena *scratch)
{
    struct context *c = n->graph->context;
    const struct tensor *bias = n->input_count > 8 ? in[8] : NULL;
    struct shape shape;
    struct elements to;
    int64_t *sums = conv_sums(n, in[0], in[2], in[3], in[5], &shape, scratch);

    if (!sums || !elements_new(arena, scratch, in[7]->type, &shape, &to))
        return false;
    float x_scale = tensor_floats(c, in[1], scratch)[0],
          y_scale = tensor_floats(c, in[6], scratch)[0];
    const float *w_scales = tensor_floats(c, in[4], scratch);
    const int64_t *add = bias ? tensor_integers(c, bias, scratch) : NULL;
    int64_t zero = tensor_integers(c, in[7], scratch)[0],
            points = shape_product(&shape, 2, shape.axes);
    for (int64_t i = 0; i < to.count; i++) {
        int64_t o = i / points % shape.dim[1];
        float factor = x_scale * w_scales[in[4]->count > 1 ? o : 0] / y_scale;
        elements_set(&to, i, requantised(sums[i] + (add ? add[o] : 0), factor, zero, to.type));
    }
    out[0] = elements_finish(&to);
    return true;
}

const struct operator_functions qlinear_conv_functions = {
    .role = ROLE_STEP, .infer = qlinear_conv_infer, .evaluate = qlinear_conv_evaluate};

static void conv_integer_infer(struct node *n)
{
    conv_infer(n, 1, -1, 3, -1, TYPE_INT32);
}

static struct tensor *int32_tensor(const int64_t *numbers, const struct shape *shape,
                                   struct arena *arena)
{
    void *data;
    struct tensor *t = tensor_new(arena, TYPE_INT32, shape, &data);
    for (int64_t i = 0; i < t->count; i++)
        ((int32_t *)data)[i] = (int32_t)(uint32_t)numbers[i];
    return t;
}

static bool conv_integer_evaluate(struct node *n, struct tensor *const *in, struct tensor **out,
                                  struct arena *arena, struct arena *scratch)
{
    struct shape shape;
    int64_t *sums = conv_sums(n, in[0], n->input_count > 2 ? in[2] : NULL, in[1],
                              n->input_count > 3 ? in[3] : NULL, &shape, scratch);
    if (!sums)
        return false;
    out[0] = int32_tensor(sums, &shape, arena);
    return true;
}

const struct operator_functions conv_integer_functions = {
    .role = ROLE_STEP, .infer = conv_integer_infer, .evaluate = conv_integer_evaluate};

/* ---- products ---- */

/* Operands as [batch of each, rows, depth] and [batch, depth, columns] after NumPy's rules for
 * matmul. */
struct product {
    int64_t rows, depth, columns;
    struct shape a_batch, b_batch, batch, out;
};

static bool product_read(const struct shape *a, const struct shape *b, struct product *p)
{
    if (a->axes < 1 || b->axes < 1)
        return false;
    p->rows = a->axes > 1 ? a->dim[a->axes - 2] : 1;
    p->depth = a->dim[a->axes - 1];
    p->columns = b->axes > 1 ? b->dim[b->axes - 1] : 1;
    p->a_batch = shape_of(a->axes > 2 ? a->axes - 2 : 0, a->dim);
    p->b_batch = shape_of(b->axes > 2 ? b->axes - 2 : 0, b->dim);
    int64_t depth = b->axes > 1 ? b->dim[b->axes - 2] : b->dim[0];
    if ((p->depth >= 0 && depth >= 0 && p->depth != depth) ||
        !shape_broadcast(&p->a_batch, &p->b_batch, &p->batch))
        return false;
    p->out = p->batch;
    if (a->axes > 1)
        p->out.dim[p->out.axes++] = p->rows;
    if (b->axes > 1)
        p->out.dim[p->out.axes++] = p->columns;
    return true;
}

static void product_infer(struct node *n, int b, enum element_type type)
{
    const struct shape *x = &n->inputs[0]->shape, *y = &n->inputs[b]->shape;
    struct product p = {.out = shape_unknown};
    if (x->axes >= 0 && y->axes >= 0 && !product_read(x, y, &p)) {
        struct context *c = n->graph->context;
        infer_fault(n, "%s and %s cannot be multiplied", shape_text(&c->arena, x),
                    shape_text(&c->arena, y));
        return;
    }
    if (argument_fits(n, &p.out))
        infer_output(n, 0, type, &p.out);
}

/* Row-major position in s of element i of a shape that it broadcasts to. */
static int64_t broadcast_index(const struct shape *s, const struct shape *to, int64_t i)
{
    int64_t at = 0, stride = 1;
    for (int a = to->axes - 1, b = s->axes - 1; b >= 0; a--, b--) {
        at += s->dim[b] == 1 ? 0 : i % to->dim[a] * stride;
        i /= to->dim[a];
        stride *= s->dim[b];
    }
    return at;
}

/* Which zero point or scale belongs to a row (or column) of a batch's matrix. */
static int64_t line_index(const struct tensor *t, int64_t batch, int64_t line, int64_t lines)
{
    return !t || t->count <= 1 ? 0 : t->count == lines ? line : (batch * lines + line) % t->count;
}

/* Sums in whole numbers for every element of the output; line numbers go to what comes after. */
static int64_t *product_sums(struct context *c, const struct product *p, const struct tensor *a,
                             const struct tensor *a_zero, const struct tensor *b,
                             const struct tensor *b_zero, struct arena *scratch)
{
    const int64_t *x = tensor_integers(c, a, scratch), *y = tensor_integers(c, b, scratch);
    const int64_t *x_zeros = a_zero ? tensor_integers(c, a_zero, scratch) : NULL;
    const int64_t *y_zeros = b_zero ? tensor_integers(c, b_zero, scratch) : NULL;
    int64_t *sums = NEW_ARRAY(scratch, shape_count(&p->out), int64_t);
    int64_t each = p->rows * p->columns;

    for (int64_t i = 0; i < shape_count(&p->out); i++) {
        int64_t batch = i / each, row = i % each / p->columns, column = i % p->columns;
        int64_t a_batch = broadcast_index(&p->a_batch, &p->batch, batch);
        int64_t b_batch = broadcast_index(&p->b_batch, &p->batch, batch);
        const int64_t *from = x + (a_batch * p->rows + row) * p->depth;
        const int64_t *with = y + b_batch * p->depth * p->columns + column;
        int64_t x_zero = x_zeros ? x_zeros[line_index(a_zero, a_batch, row, p->rows)] : 0;
        int64_t y_zero = y_zeros ? y_zeros[line_index(b_zero, b_batch, column, p->columns)] : 0;
        if (column == 0)
            context_poll(c);
        for (int64_t k = 0; k < p->depth; k++)
            sums[i] += (from[k] - x_zero) * (with[k * p->columns] - y_zero);
    }
    return sums;
}

static void qlinear_matmul_infer(struct node *n)
{
    product_infer(n, 3, n->inputs[7]->type);
}

static bool qlinear_matmul_evaluate(struct node *n, struct tensor *const *in, struct tensor **out,
                                    struct arena *arena, struct arena *scratch)
{
    struct context *c = n->graph->context;
    struct product p;
    struct elements to;

    if (!product_read(&in[0]->shape, &in[3]->shape, &p) ||
        !elements_new(arena, scratch, in[7]->type, &p.out, &to))
        return false;
    int64_t *sums = product_sums(c, &p, in[0], in[2], in[3], in[5], scratch);
    const float *a_scales = tensor_floats(c, in[1], scratch),
                *b_scales = tensor_floats(c, in[4], scratch);
    const float *y_scales = tensor_floats(c, in[6], scratch);
    const int64_t *zeros = tensor_integers(c, in[7], scratch);
    int64_t each = p.rows * p.columns;
    for (int64_t i = 0; i < to.count; i++) {
        int64_t batch = i / each, row = i % each / p.columns, column = i % p.columns;
        int64_t a = broadcast_index(&p.a_batch, &p.batch, batch);
        int64_t b = broadcast_index(&p.b_batch, &p.batch, batch);
        float factor = a_scales[line_index(in[1], a, row, p.rows)] *
                       b_scales[line_index(in[4], b, column, p.columns)] /
                       y_scales[line_index(in[6], batch, row, p.rows)];
        elements_set(
            &to, i,
            requantised(sums[i], factor, zeros[line_index(in[7], batch, row, p.rows)], to.type));
    }
    out[0] = elements_finish(&to);
    return true;
}

const struct operator_functions qlinear_matmul_functions = {
    .role = ROLE_STEP, .infer = qlinear_matmul_infer, .evaluate = qlinear_matmul_evaluate};

static void matmul_integer_infer(struct node *n)
{
    product_infer(n, 1, TYPE_INT32);
}

static bool matmul_integer_evaluate(struct node *n, struct tensor *const *in, struct tensor **out,
                                    struct arena *arena, struct arena *scratch)
{
    struct product p;
    if (!product_read(&in[0]->shape, &in[1]->shape, &p))
        return false;
    int64_t *sums = product_sums(n->graph->context, &p, in[0], n->input_count > 2 ? in[2] : NULL,
                                 in[1], n->input_count > 3 ? in[3] : NULL, scratch);
    out[0] = int32_tensor(sums, &p.out, arena);
    return true;
}

const struct operator_functions matmul_integer_functions = {
    .role = ROLE_STEP, .infer = matmul_integer_infer, .evaluate = matmul_integer_evaluate};
