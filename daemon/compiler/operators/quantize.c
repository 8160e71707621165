/* Numbers to quantised numbers and back, and the product with packed 4-bit weights. */
#include "daemon/compiler/operators/quantize.h"
#include "daemon/compiler/operators/arguments.h"
#include "daemon/compiler/operators/move.h"
#include <inttypes.h>
#include <math.h>
#include <string.h>

bool quantization_read(const struct node *n, const struct shape *x, const struct shape *scale,
                       struct quantization *q, const char **why)
{
    int64_t block = node_int(n, "block_size", 0), axis = node_int(n, "axis", 1);
    *q = (struct quantization){.kind = QUANTIZED_WHOLE, .groups = 1, .inner = 1, .block = 1};
    *why = NULL;
    if (block < 0) {
        *why = "block_size is negative";
        return false;
    }
    if (block == 0 && shape_count(scale) == 1)
        return true;
    q->axis = shape_axis(x, axis);
    if (q->axis < 0) {
        *why = "axis lies outside the input";
        return false;
    }
    q->length = x->dim[q->axis];
    q->inner = shape_product(x, q->axis + 1, x->axes);
    if (block == 0) {
        q->kind = QUANTIZED_AXIS;
        q->groups = q->length;
        if (scale->axes != 1 || scale->dim[0] != q->length)
            *why = "the scales are not one for each index along the axis";
        return !*why;
    }
    q->kind = QUANTIZED_BLOCKS;
    q->block = block;
    q->groups = q->length / block + (q->length % block != 0);
    bool fits = scale->axes == x->axes;
    for (int a = 0; fits && a < x->axes; a++)
        fits = scale->dim[a] == (a == q->axis ? q->groups : x->dim[a]);
    if (!fits)
        *why = "the scales are not one for each block along the axis";
    return fits;
}

int64_t quantization_index(const struct quantization *q, int64_t element)
{
    if (q->kind == QUANTIZED_WHOLE)
        return 0;
    int64_t inner = element % q->inner, outer = element / q->inner;
    int64_t index = outer % q->length;
    if (q->kind == QUANTIZED_AXIS)
        return index;
    return (outer / q->length * q->groups + index / q->block) * q->inner + inner;
}

/* What both directions check; then the output is inferred. */
static void quantization_infer(struct node *n, enum element_type type)
{
    const struct value *x = n->inputs[0], *scale = n->inputs[1], *zero = node_input(n, 2);
    struct quantization q;
    const char *why = NULL;

    if (shape_known(&x->shape) && shape_known(&scale->shape) &&
        !quantization_read(n, &x->shape, &scale->shape, &q, &why)) {
        infer_fault(n, "%s", why);
        return;
    }
    if (zero && shape_known(&zero->shape) && shape_known(&scale->shape) &&
        !shape_equal(&zero->shape, &scale->shape) &&
        (shape_count(&zero->shape) != 1 || shape_count(&scale->shape) != 1)) {
        infer_fault(n, "scale and zero point have different shapes");
        return;
    }
    infer_output(n, 0, type, &x->shape);
}

/* ---- QuantizeLinear ---- */

static enum element_type quantized_type(const struct node *n)
{
    const struct value *zero = node_input(n, 2);
    if (zero)
        return zero->type;
    return (enum element_type)node_int(n, "output_dtype", 0) ?: TYPE_UINT8;
}

static void quantize_infer(struct node *n)
{
    enum element_type said = (enum element_type)node_int(n, "output_dtype", 0);
    enum element_type type = quantized_type(n);

    if (said && type && said != type) {
        infer_fault(n, "its output_dtype is %s, and its zero point %s", type_name(said),
                    type_name(type));
        return;
    }
    quantization_infer(n, type);
}

/* The numbers that an integer type holds; false for other types. */
static bool integer_range(enum element_type type, double *low, double *high)
{
    int bits = type_bits(type);
    bool is_signed =
        type == TYPE_INT2 || type == TYPE_INT4 || type == TYPE_INT8 || type == TYPE_INT16;
    if (!type_is_integer(type) || bits > 16)
        return false;
    *low = is_signed ? -ldexp(1, bits - 1) : 0;
    *high = ldexp(1, is_signed ? bits - 1 : bits) - 1;
    return true;
}

static bool quantize_evaluate(struct node *n, struct tensor *const *in, struct tensor **out,
                              struct arena *arena, struct arena *scratch)
{
    struct context *c = n->graph->context;
    struct tensor *zero = n->input_count > 2 ? in[2] : NULL;
    const float *x = tensor_floats(c, in[0], scratch), *scale = tensor_floats(c, in[1], scratch);
    const double *zeros = zero ? tensor_doubles(c, zero, scratch) : NULL;
    struct quantization q;
    struct elements to;
    const char *why;
    double low, high;

    if (!quantization_read(n, &in[0]->shape, &in[1]->shape, &q, &why) ||
        (zero && zero->count != in[1]->count) ||
        !elements_new(arena, scratch, zero ? zero->type : quantized_type(n), &in[0]->shape, &to))
        return false;
    bool whole = integer_range(to.type, &low, &high);
    if (!whole && node_int(n, "saturate", 1) == 0)
        return false;
    for (int64_t i = 0; i < to.count; i++) {
        int64_t k = quantization_index(&q, i);
        /* the definition's own arithmetic: a float32 division, halves to even, only then the zero
         * point */
        float quotient = x[i] / scale[k];
        double number = whole ? rint((double)quotient) : (double)quotient;
        number += zeros ? zeros[k] : 0;
        if (whole)
            number = number < low ? low : number > high ? high : number;
        elements_set(&to, i, number);
    }
    out[0] = elements_finish(&to);
    return true;
}

const struct operator_functions quantize_linear_functions = {
    .role = ROLE_ELEMENTWISE, .infer = quantize_infer, .evaluate = quantize_evaluate};

/* ---- DequantizeLinear ---- */

static enum element_type dequantized_type(const struct node *n)
{
    return (enum element_type)node_int(n, "output_dtype", 0) ?: n->inputs[1]->type;
}

static void dequantize_infer(struct node *n)
{
    quantization_infer(n, dequantized_type(n));
}

static bool dequantize_evaluate(struct node *n, struct tensor *const *in, struct tensor **out,
                                struct arena *arena, struct arena *scratch)
{
    struct context *c = n->graph->context;
    struct tensor *zero = n->input_count > 2 ? in[2] : NULL;
    const double *x = tensor_doubles(c, in[0], scratch);
    const float *scale = tensor_floats(c, in[1], scratch);
    const double *zeros = zero ? tensor_doubles(c, zero, scratch) : NULL;
    struct quantization q;
    struct elements to;
    const char *why;

    if (!quantization_read(n, &in[0]->shape, &in[1]->shape, &q, &why) ||
        (zero && zero->count != in[1]->count) ||
        !elements_new(arena, scratch, dequantized_type(n), &in[0]->shape, &to))
        return false;
    for (int64_t i = 0; i < to.count; i++) {
        int64_t k = quantization_index(&q, i);
        float number = (float)(x[i] - (zeros ? zeros[k] : 0));
        elements_set(&to, i, (double)(number * scale[k]));
    }
    out[0] = elements_finish(&to);
    return true;
}

const struct operator_functions dequantize_linear_functions = {
    .role = ROLE_ELEMENTWISE, .infer = dequantize_infer, .evaluate = dequantize_evaluate};

/* ---- DynamicQuantizeLinear ---- */

static void dynamic_infer(struct node *n)
{
    const struct shape scalar = shape_of(0, NULL);
    infer_output(n, 0, TYPE_UINT8, &n->inputs[0]->shape);
    infer_output(n, 1, TYPE_FLOAT32, &scalar);
    infer_output(n, 2, TYPE_UINT8, &scalar);
}

static bool dynamic_evaluate(struct node *n, struct tensor *const *in, struct tensor **out,
                             struct arena *arena, struct arena *scratch)
{
    const float *x = tensor_floats(n->graph->context, in[0], scratch);
    const struct shape scalar = shape_of(0, NULL);
    float low = 0, high = 0;
    void *data;

    for (int64_t i = 0; i < in[0]->count; i++) {
        low = x[i] < low ? x[i] : low;
        high = x[i] > high ? x[i] : high;
    }
    float scale = high > low ? (high - low) / 255 : 1;
    float zero = rintf((0 - low) / scale);
    zero = zero < 0 ? 0 : zero > 255 ? 255 : zero;
    if (n->outputs[0]) {
        out[0] = tensor_new(arena, TYPE_UINT8, &in[0]->shape, &data);
        for (int64_t i = 0; i < in[0]->count; i++) {
            float q = rintf(x[i] / scale) + zero;
            ((uint8_t *)data)[i] = (uint8_t)(q > 0 ? q > 255 ? 255 : q : 0);
        }
    }
    if (n->output_count > 1 && n->outputs[1]) {
        out[1] = tensor_new(arena, TYPE_FLOAT32, &scalar, &data);
        *(float *)data = scale;
    }
    if (n->output_count > 2 && n->outputs[2]) {
        out[2] = tensor_new(arena, TYPE_UINT8, &scalar, &data);
        *(uint8_t *)data = (uint8_t)zero;
    }
    return true;
}

const struct operator_functions dynamic_quantize_linear_functions = {
    .role = ROLE_NONE, .infer = dynamic_infer, .evaluate = dynamic_evaluate};

/* ---- com.microsoft MatMulNBits ---- */

bool nbits_read(const struct node *n, struct nbits *w)
{
    *w = (struct nbits){.k = node_int(n, "K", 0),
                        .n = node_int(n, "N", 0),
                        .block = node_int(n, "block_size", 0),
                        .bits = (int)node_int(n, "bits", 4)};
    if (w->k < 1 || w->n < 1 || w->block < 1 || w->k > INT32_MAX || w->n > INT32_MAX ||
        w->block > INT32_MAX || w->bits < 1 || w->bits > 8 || w->block * w->bits % 8 != 0)
        return false;
    w->blocks = (w->k + w->block - 1) / w->block;
    w->row = w->blocks * (w->block * w->bits / 8);
    w->zero_row = (w->blocks * w->bits + 7) / 8;
    w->zero_default = 1 << (w->bits - 1);
    return true;
}

int nbits_element(const struct nbits *w, const uint8_t *packed, int64_t row, int64_t n, int64_t k)
{
    int per_byte = 8 / w->bits;
    return packed[n * row + k / per_byte] >> (int)(k % per_byte * w->bits) & ((1 << w->bits) - 1);
}

static void nbits_infer(struct node *n)
{
    const struct value *a = n->inputs[0], *b = n->inputs[1], *scales = n->inputs[2];
    const struct value *zeros = node_input(n, 3);
    struct nbits w;
    struct shape out = a->shape;

    if (!nbits_read(n, &w)) {
        infer_fault(n, "K, N, bits and block_size do not go together");
        return;
    }
    if (out.axes == 0 ||
        (out.axes > 0 && out.dim[out.axes - 1] >= 0 && out.dim[out.axes - 1] != w.k)) {
        infer_fault(n, "A has rows of another length than K, which is %" PRId64, w.k);
        return;
    }
    if (shape_known(&b->shape) && shape_count(&b->shape) != w.n * w.row) {
        infer_fault(n, "B holds %" PRId64 " bytes instead of %" PRId64, shape_count(&b->shape),
                    w.n * w.row);
        return;
    }
    if (shape_known(&scales->shape) && shape_count(&scales->shape) != w.n * w.blocks) {
        infer_fault(n, "%" PRId64 " scales are given instead of %" PRId64,
                    shape_count(&scales->shape), w.n * w.blocks);
        return;
    }
    if (zeros && zeros->type == TYPE_UINT8 && shape_known(&zeros->shape) &&
        shape_count(&zeros->shape) != w.n * w.zero_row) {
        infer_fault(n, "the zero points hold %" PRId64 " bytes instead of %" PRId64,
                    shape_count(&zeros->shape), w.n * w.zero_row);
        return;
    }
    if (out.axes > 0)
        out.dim[out.axes - 1] = w.n;
    infer_output(n, 0, a->type, &out);
}

static bool nbits_evaluate(struct node *n, struct tensor *const *in, struct tensor **out,
                           struct arena *arena, struct arena *scratch)
{
    struct context *c = n->graph->context;
    const struct tensor *zero = n->input_count > 3 ? in[3] : NULL;
    const struct tensor *groups = n->input_count > 4 ? in[4] : NULL;
    const struct tensor *bias = n->input_count > 5 ? in[5] : NULL;
    struct shape shape = in[0]->shape;
    struct nbits w;
    struct elements to;

    if (!nbits_read(n, &w) || groups || 8 % w.bits != 0)
        return false;
    shape.dim[shape.axes - 1] = w.n;
    if (!elements_new(arena, scratch, in[0]->type, &shape, &to))
        return false;
    const double *a = tensor_doubles(c, in[0], scratch),
                 *scales = tensor_doubles(c, in[2], scratch);
    const uint8_t *b = tensor_data(c, in[1], scratch);
    bool packed = zero && zero->type == TYPE_UINT8;
    const uint8_t *zeros = packed ? tensor_data(c, zero, scratch) : NULL;
    const double *real_zeros = zero && !packed ? tensor_doubles(c, zero, scratch) : NULL;
    const double *add = bias ? tensor_doubles(c, bias, scratch) : NULL;
    double *row = NEW_ARRAY(scratch, w.k, double);
    int64_t rows = in[0]->count / w.k;

    if (real_zeros && zero->count != w.n * w.blocks)
        return false;
    for (int64_t j = 0; j < w.n; j++) {
        context_poll(c);
        for (int64_t k = 0; k < w.k; k++) {
            int64_t block = k / w.block;
            double z = zeros        ? nbits_element(&w, zeros, w.zero_row, j, block)
                       : real_zeros ? real_zeros[j * w.blocks + block]
                                    : (double)w.zero_default;
            row[k] = (nbits_element(&w, b, w.row, j, k) - z) * scales[j * w.blocks + block];
        }
        for (int64_t i = 0; i < rows; i++) {
            double sum = add ? add[j] : 0;
            for (int64_t k = 0; k < w.k; k++)
                sum += a[i * w.k + k] * row[k];
            elements_set(&to, i * w.n + j, sum);
        }
    }
    out[0] = elements_finish(&to);
    return true;
}

const struct operator_functions matmul_nbits_functions = {
    .role = ROLE_STEP, .infer = nbits_infer, .evaluate = nbits_evaluate};
