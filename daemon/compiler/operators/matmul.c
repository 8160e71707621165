/*
 * MatMul, Gemm, Det. Source: onnx.ai/onnx/operators, MatMul 13, Gemm 13, Det 22. (Einsum:
 * einsum.c.)
 */
#include "daemon/compiler/operators/arguments.h"
#include "daemon/compiler/operators/lower.h"
#include "daemon/compiler/operators/range.h"
#include "daemon/compiler/operators/rules.h"
#include "daemon/compiler/operators/walk.h"
#include <math.h>
#include <string.h>

/* A matrix inside a payload: element (i, k) at at + i * row + k * column. */
struct matrix {
    const void *elements;
    int64_t at, row, column;
};

static inline __attribute__((always_inline)) double element(const void *x, bool wide, int64_t i)
{
    return wide ? ((const double *)x)[i] : (double)((const float *)x)[i];
}

/*
 * sums[i, j] = sum over k of a[i, k] * b[k, j], row-major, in float64. Four rows at a time share
 * each load of b, which is walked along whichever of its sides is contiguous. wide is constant
 * where this is used.
 */
static inline __attribute__((always_inline)) void
multiply(struct context *c, bool wide, const struct matrix *a, const struct matrix *b, int64_t rows,
         int64_t inner, int64_t columns, double *sums)
{
    memset(sums, 0, (size_t)(rows * columns) * sizeof *sums);
    for (int64_t i = 0; i < rows; i += 4) {
        int block = rows - i < 4 ? (int)(rows - i) : 4;
        double *to = sums + i * columns;

        context_poll(c);
        if (b->column != 1 && b->row == 1) {
            for (int r = 0; r < block; r++)
                for (int64_t j = 0; j < columns; j++) {
                    int64_t left = a->at + (i + r) * a->row, right = b->at + j * b->column;
                    double sum = 0;

                    for (int64_t k = 0; k < inner; k++)
                        sum += element(a->elements, wide, left + k * a->column) *
                               element(b->elements, wide, right + k);
                    to[r * columns + j] = sum;
                }
            continue;
        }
        for (int64_t k = 0; k < inner; k++) {
            int64_t left = a->at + i * a->row + k * a->column, right = b->at + k * b->row;
            double w[4] = {0};

            for (int r = 0; r < block; r++)
                w[r] = element(a->elements, wide, left + r * a->row);
            if (block == 4 && b->column == 1) {
                double *p = to, *q = p + columns, *r = q + columns, *s = r + columns;

                for (int64_t j = 0; j < columns; j++) {
                    double v = element(b->elements, wide, right + j);

                    p[j] += w[0] * v;
                    q[j] += w[1] * v;
                    r[j] += w[2] * v;
                    s[j] += w[3] * v;
                }
                continue;
            }
            for (int r = 0; r < block; r++)
                for (int64_t j = 0; j < columns; j++)
                    to[r * columns + j] += w[r] * element(b->elements, wide, right + j * b->column);
        }
    }
}

/* The same over integers, which wrap. */
static void multiply_integers(struct context *c, const struct matrix *a, const struct matrix *b,
                              int64_t rows, int64_t inner, int64_t columns, int64_t *sums)
{
    const int64_t *x = a->elements, *y = b->elements;

    for (int64_t i = 0; i < rows; i++) {
        context_poll(c);
        for (int64_t j = 0; j < columns; j++) {
            uint64_t sum = 0;

            for (int64_t k = 0; k < inner; k++)
                sum += (uint64_t)x[a->at + i * a->row + k * a->column] *
                       (uint64_t)y[b->at + k * b->row + j * b->column];
            sums[i * columns + j] = (int64_t)sum;
        }
    }
}

enum numbers { FLOATS, DOUBLES, INTEGERS };

/* How the elements of both operands are computed with; false for what has no numbers. */
static bool numbers_of(const struct tensor *a, const struct tensor *b, enum numbers *numbers)
{
    if (a->type == TYPE_STRING || b->type == TYPE_STRING)
        return false;
    if (!type_is_real(a->type) && !type_is_real(b->type))
        *numbers = INTEGERS;
    else
        *numbers = a->type == TYPE_FLOAT64 || b->type == TYPE_FLOAT64 ? DOUBLES : FLOATS;
    return true;
}

static const void *elements_of(struct context *c, const struct tensor *t, enum numbers numbers,
                               struct arena *scratch)
{
    switch (numbers) {
    case DOUBLES:
        return tensor_doubles(c, t, scratch);
    case INTEGERS:
        return tensor_integers(c, t, scratch);
    default:
        return tensor_floats(c, t, scratch);
    }
}

static void multiply_any(struct context *c, enum numbers numbers, const struct matrix *a,
                         const struct matrix *b, int64_t rows, int64_t inner, int64_t columns,
                         void *sums)
{
    if (numbers == INTEGERS)
        multiply_integers(c, a, b, rows, inner, columns, sums);
    else if (numbers == DOUBLES)
        multiply(c, true, a, b, rows, inner, columns, sums);
    else
        multiply(c, false, a, b, rows, inner, columns, sums);
}

static void store_any(void *payload, enum element_type type, enum numbers numbers, int64_t at,
                      const void *sums, int64_t count)
{
    if (numbers == INTEGERS)
        for (int64_t i = 0; i < count; i++)
            payload_set_integer(payload, type, at + i, ((const int64_t *)sums)[i]);
    else
        payload_store(payload, type, at, sums, count);
}

/* ---- MatMul ---- */

/* The batch axes of an operand, and its matrix; a vector becomes a row or a column. */
static struct shape batch_of(const struct shape *s)
{
    struct shape batch = *s;

    batch.axes = s->axes > 2 ? s->axes - 2 : 0;
    return batch;
}

static void infer_matmul(struct node *n)
{
    const struct shape *a = &n->inputs[0]->shape, *b = &n->inputs[1]->shape;
    struct arena *arena = &n->graph->context->arena;
    struct shape batch_a, batch_b, y;
    enum element_type type;
    int64_t inner_a, inner_b;

    if (!infer_common_type(n, 0, 1, &type))
        return;
    if (a->axes < 0 || b->axes < 0) {
        infer_output(n, 0, type, &shape_unknown);
        return;
    }
    if (a->axes == 0 || b->axes == 0) {
        infer_fault(n, "an operand is a scalar");
        return;
    }
    inner_a = a->dim[a->axes - 1];
    inner_b = b->dim[b->axes > 1 ? b->axes - 2 : 0];
    batch_a = batch_of(a);
    batch_b = batch_of(b);
    if ((inner_a >= 0 && inner_b >= 0 && inner_a != inner_b) ||
        !shape_broadcast(&batch_a, &batch_b, &y)) {
        infer_fault(n, "shapes %s and %s do not fit a matrix product", shape_text(arena, a),
                    shape_text(arena, b));
        return;
    }
    if (y.axes + 2 > MAX_AXES) {
        infer_fault(n, "its output would have %d axes", y.axes + 2);
        return;
    }
    if (a->axes > 1)
        y.dim[y.axes++] = a->dim[a->axes - 2];
    if (b->axes > 1)
        y.dim[y.axes++] = b->dim[b->axes - 1];
    if (argument_fits(n, &y))
        infer_output(n, 0, type, &y);
}

static bool evaluate_matmul(struct node *n, struct tensor *const *in, struct tensor **out,
                            struct arena *arena, struct arena *scratch)
{
    struct context *c = n->graph->context;
    const struct shape *a = &in[0]->shape, *b = &in[1]->shape;
    struct shape batch_a = batch_of(a), batch_b = batch_of(b), batch;
    const struct shape *batches[2] = {&batch_a, &batch_b};
    int64_t rows = a->axes > 1 ? a->dim[a->axes - 2] : 1, inner = a->dim[a->axes - 1];
    int64_t columns = b->axes > 1 ? b->dim[b->axes - 1] : 1;
    struct matrix left = {.row = inner, .column = 1}, right = {.row = columns, .column = 1};
    enum numbers numbers;
    void *payload, *sums;
    struct walk w;

    if (!numbers_of(in[0], in[1], &numbers) || !shape_broadcast(&batch_a, &batch_b, &batch))
        return false;
    left.elements = elements_of(c, in[0], numbers, scratch);
    right.elements = elements_of(c, in[1], numbers, scratch);
    out[0] = output_new(n, 0, arena, &payload);
    sums = NEW_ARRAY(scratch, rows * columns, int64_t); /* or double, of the same size */
    walk_broadcast(&w, &batch, 2, batches);
    while (walk_next(&w))
        for (int64_t i = 0; i < w.run; i++) {
            left.at = (w.at[0] + i * w.step[0]) * rows * inner;
            right.at = (w.at[1] + i * w.step[1]) * inner * columns;
            multiply_any(c, numbers, &left, &right, rows, inner, columns, sums);
            store_any(payload, out[0]->type, numbers, (w.position + i) * rows * columns, sums,
                      rows * columns);
        }
    return true;
}

static void matmul_range(const struct node *n, int output, const struct range *in,
                         struct range *out)
{
    struct context *c = n->graph->context;
    const struct shape *a = &n->inputs[0]->shape, *b = &n->inputs[1]->shape;
    double terms = (double)a->dim[a->axes - 1];

    (void)output;
    if (n->inputs[1]->constant) {
        int64_t columns = b->axes > 1 ? b->dim[b->axes - 1] : 1,
                outer = columns ? shape_count(b) / columns : 0;

        *out = range_weighted(c, in[0], n->inputs[1]->constant, outer, columns, 1, terms,
                              (double)columns * (double)outer / terms);
    } else if (n->inputs[0]->constant) {
        int64_t rows = a->axes > 1 ? a->dim[a->axes - 2] : 1,
                outer = a->axes > 2 ? shape_product(a, 0, a->axes - 2) : 1;

        *out = range_weighted(c, in[1], n->inputs[0]->constant, outer, rows, a->dim[a->axes - 1],
                              terms, (double)outer * (double)rows);
    } else {
        *out = range_sum(range_multiply(in[0], in[1]), terms);
        out->usual = in[0].usual * in[1].usual * sqrt(terms);
        out->excess = EXCESS_PRODUCT;
    }
}

const struct operator_functions matmul_functions = {.role = ROLE_STEP,
                                                    .lower = lower_matmul,
                                                    .range = matmul_range,
                                                    .packed = packed_matmul,
                                                    .widens = widens_matmul,
                                                    .reuse = reuse_matmul,
                                                    .infer = infer_matmul,
                                                    .evaluate = evaluate_matmul};

/* ---- Gemm: alpha * A' * B' + beta * C ---- */

static void infer_gemm(struct node *n)
{
    const struct shape *a = &n->inputs[0]->shape, *b = &n->inputs[1]->shape;
    struct arena *arena = &n->graph->context->arena;
    int trans_a = node_int(n, "transA", 0) != 0, trans_b = node_int(n, "transB", 0) != 0;
    enum element_type type;
    struct shape y = {.axes = 2};

    if (!infer_common_type(n, 0, 2, &type))
        return;
    if (a->axes < 0 || b->axes < 0) {
        infer_output(n, 0, type, &shape_unknown);
        return;
    }
    if (a->axes != 2 || b->axes != 2 ||
        (a->dim[!trans_a] >= 0 && b->dim[trans_b] >= 0 && a->dim[!trans_a] != b->dim[trans_b])) {
        infer_fault(n, "shapes %s and %s do not fit a matrix product%s", shape_text(arena, a),
                    shape_text(arena, b),
                    trans_a && trans_b ? " of both transposed"
                    : trans_a          ? " with the first transposed"
                    : trans_b          ? " with the second transposed"
                                       : "");
        return;
    }
    y.dim[0] = a->dim[trans_a];
    y.dim[1] = b->dim[!trans_b];
    if (infer_broadcasts_to(n, 2, &y, "its addend") && argument_fits(n, &y))
        infer_output(n, 0, type, &y);
}

static bool evaluate_gemm(struct node *n, struct tensor *const *in, struct tensor **out,
                          struct arena *arena, struct arena *scratch)
{
    struct context *c = n->graph->context;
    const struct shape *a = &in[0]->shape, *b = &in[1]->shape, *y = &n->outputs[0]->shape;
    const struct tensor *addend = n->input_count > 2 ? in[2] : NULL;
    bool trans_a = node_int(n, "transA", 0) != 0, trans_b = node_int(n, "transB", 0) != 0;
    double alpha = (double)node_float(n, "alpha", 1), beta = (double)node_float(n, "beta", 1);
    int64_t rows = y->dim[0], columns = y->dim[1], inner = a->dim[!trans_a], count;
    struct matrix left = {.row = trans_a ? 1 : a->dim[1], .column = trans_a ? a->dim[1] : 1};
    struct matrix right = {.row = trans_b ? 1 : b->dim[1], .column = trans_b ? b->dim[1] : 1};
    enum numbers numbers;
    void *payload, *sums;
    double *result;
    struct walk w;

    if (!numbers_of(in[0], in[1], &numbers))
        return false;
    left.elements = elements_of(c, in[0], numbers, scratch);
    right.elements = elements_of(c, in[1], numbers, scratch);
    out[0] = output_new(n, 0, arena, &payload);
    count = out[0]->count;
    sums = NEW_ARRAY(scratch, count, int64_t); /* or double, of the same size */
    multiply_any(c, numbers, &left, &right, rows, inner, columns, sums);
    if (numbers == INTEGERS) {
        result = NEW_ARRAY(scratch, count, double);
        for (int64_t i = 0; i < count; i++)
            result[i] = alpha * (double)((int64_t *)sums)[i];
    } else {
        result = sums;
        for (int64_t i = 0; i < count; i++)
            result[i] *= alpha;
    }
    if (addend) {
        const struct shape *shape = &addend->shape;
        const double *x = tensor_doubles(c, addend, scratch);

        walk_broadcast(&w, y, 1, &shape);
        while (walk_next(&w))
            for (int64_t i = 0; i < w.run; i++)
                result[w.position + i] += beta * x[w.at[0] + i * w.step[0]];
    }
    payload_store(payload, out[0]->type, 0, result, count);
    return true;
}

const struct operator_functions gemm_functions = {
    .role = ROLE_STEP, .infer = infer_gemm, .evaluate = evaluate_gemm};

/* ---- Det ---- */

static void infer_det(struct node *n)
{
    struct shape y = n->inputs[0]->shape;

    if (y.axes >= 0) {
        if (y.axes < 2 || (y.dim[y.axes - 1] >= 0 && y.dim[y.axes - 2] >= 0 &&
                           y.dim[y.axes - 1] != y.dim[y.axes - 2])) {
            infer_fault(n, "its input %s is no square matrix",
                        shape_text(&n->graph->context->arena, &y));
            return;
        }
        y.axes -= 2;
    }
    infer_output(n, 0, n->inputs[0]->type, &y);
}

/* By elimination with the largest pivot; m is overwritten. */
static double determinant(double *m, int64_t size)
{
    double result = 1;

    for (int64_t i = 0; i < size; i++) {
        int64_t pivot = i;

        for (int64_t r = i + 1; r < size; r++)
            if (fabs(m[r * size + i]) > fabs(m[pivot * size + i]))
                pivot = r;
        if (m[pivot * size + i] == 0)
            return 0;
        for (int64_t k = 0; k < size && pivot != i; k++) {
            double swap = m[i * size + k];

            m[i * size + k] = m[pivot * size + k];
            m[pivot * size + k] = swap;
        }
        result *= (pivot == i ? 1 : -1) * m[i * size + i];
        for (int64_t r = i + 1; r < size; r++) {
            double factor = m[r * size + i] / m[i * size + i];

            for (int64_t k = i; k < size; k++)
                m[r * size + k] -= factor * m[i * size + k];
        }
    }
    return result;
}

static bool evaluate_det(struct node *n, struct tensor *const *in, struct tensor **out,
                         struct arena *arena, struct arena *scratch)
{
    const struct shape *x = &in[0]->shape;
    int64_t size = x->dim[x->axes - 1];
    const double *from;
    double *m;
    void *payload;

    if (!type_is_real(in[0]->type))
        return false;
    from = tensor_doubles(n->graph->context, in[0], scratch);
    m = NEW_ARRAY(scratch, size * size, double);
    out[0] = output_new(n, 0, arena, &payload);
    for (int64_t i = 0; i < out[0]->count; i++) {
        double y;

        context_poll(n->graph->context);
        memcpy(m, from + i * size * size, (size_t)(size * size) * sizeof *m);
        y = determinant(m, size);
        payload_store(payload, out[0]->type, i, &y, 1);
    }
    return true;
}

const struct operator_functions det_functions = {
    .role = ROLE_STEP, .infer = infer_det, .evaluate = evaluate_det};
