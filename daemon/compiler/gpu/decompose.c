#include "daemon/compiler/gpu/decompose.h"
#include "daemon/compiler/gpu/make.h"
#include "daemon/compiler/gpu/products.h"
#include "daemon/compiler/graph/tensor.h"
#include "daemon/compiler/operators/operator.h"
#include "daemon/compiler/operators/resize.h"
#include "daemon/compiler/passes/pass.h"
#include <math.h>
#include <string.h>

/* ---- Softmax ---- */

/* exp(x - m - d) is not above that: m + d is less than 1/64 below the greatest element. */
static const double GREATEST_EXPONENTIAL = 1.02;

/* Axes that are normalised together: one, or with attribute flatten (opsets before 13) all from
 * axis on. Gives x without its greatest element; *scale: one divided by the sum, or its logarithm.
 */
static struct value *softmax_parts(struct node *n, bool logarithm, struct value **scale)
{
    struct value *x = n->inputs[0], *s;
    int axis = shape_axis(&x->shape, node_int(n, "axis", -1));
    int last = node_int(n, "flatten", 0) ? x->shape.axes : axis + 1;

    s = make_statistics(n, "SoftmaxStatistics", x, last - axis,
                        make_axes(n->graph->context, axis, last), 0, false);
    if (logarithm)
        node_set_int(s->producer, "log", 1);
    *scale = make_component(n, s, 2);
    return make_binary(n, "Sub", make_binary(n, "Sub", x, make_component(n, s, 0)),
                       make_component(n, s, 1));
}

static struct value *softmax(struct node *n)
{
    struct value *inverse, *shifted = softmax_parts(n, false, &inverse);

    struct value *e = make_within(make_unary(n, "Exp", shifted), 0, GREATEST_EXPONENTIAL);

    return make_within(make_binary(n, "Mul", e, inverse), 0, 1);
}

static struct value *log_softmax(struct node *n)
{
    struct value *sum, *shifted = softmax_parts(n, true, &sum);

    return make_binary(n, "Sub", shifted, sum);
}

/* ---- normalisations ---- */

/* Of `count` numbers whose squares are 1 in the mean, none is greater than the root of count. What
 * 16 bits lose of the mean's rest (2^-7 at most) and of the factor comes on top. */
static struct value *normalised_by(struct node *n, struct value *x, struct value *s, bool rms)
{
    double count = (double)shape_count(&x->shape) /
                   ((double)shape_count(&s->shape) / (double)s->shape.dim[s->shape.axes - 1]);
    double epsilon = (double)node_float(s->producer, "epsilon", 1e-5f);
    double factor = fmin(1 / sqrt(epsilon), 65504);
    double most = 1.01 * sqrt(count) + 0x1p-6 * factor;
    struct value *scale = make_component(n, s, 2);

    if (!rms)
        x = make_binary(n, "Sub", make_binary(n, "Sub", x, make_component(n, s, 0)),
                        make_component(n, s, 1));
    if (node_int(s->producer, "root", 0))
        x = make_binary(n, "Mul", x, scale);
    return make_within(make_binary(n, "Mul", x, scale), -most, most);
}

static struct value *normalised(struct node *n, struct value *x, int count, const int64_t *axes,
                                float epsilon, bool rms)
{
    return normalised_by(n, x, make_statistics(n, "NormStatistics", x, count, axes, epsilon, rms),
                         rms);
}

static struct value *scaled(struct node *n, struct value *y, struct value *scale,
                            struct value *shift)
{
    if (scale)
        y = make_binary(n, "Mul", y, scale);
    if (shift)
        y = make_binary(n, "Add", y, shift);
    return y;
}

/* Operand `slot` of n, or NULL where it is left out or changes nothing. */
static struct value *unless_all(const struct node *n, int slot, double neutral)
{
    struct value *v = node_input(n, slot);

    return v && !constant_is_all(v, neutral) ? v : NULL;
}

/* The same, one number a channel. */
static struct value *per_channel_unless_all(struct node *n, int slot, double neutral)
{
    struct value *v = unless_all(n, slot, neutral);

    return v ? make_per_channel(n, v, n->inputs[0]->shape.axes, 1) : NULL;
}

static struct value *instance_norm(struct node *n)
{
    struct value *x = n->inputs[0];
    int axes = x->shape.axes;

    return scaled(n,
                  normalised(n, x, axes - 2, make_axes(n->graph->context, 2, axes),
                             node_float(n, "epsilon", 1e-5f), false),
                  per_channel_unless_all(n, 1, 1), per_channel_unless_all(n, 2, 0));
}

/* Also the statistics themselves, where they are wanted. */
static bool layer_norm(struct node *n, struct value **out)
{
    struct value *x = n->inputs[0], *s, *mean;
    int axis = shape_axis(&x->shape, node_int(n, "axis", -1));
    bool rms = !strcmp(n->op->name, "RMSNormalization");

    s = make_statistics(n, "NormStatistics", x, x->shape.axes - axis,
                        make_axes(n->graph->context, axis, x->shape.axes),
                        node_float(n, "epsilon", 1e-5f), rms);
    mean = rms ? NULL : make_binary(n, "Add", make_component(n, s, 0), make_component(n, s, 1));
    out[0] = scaled(n, normalised_by(n, x, s, rms), unless_all(n, 1, 1), unless_all(n, 2, 0));
    out[1] = mean;
    out[2] = make_component(n, s, 2);
    if (node_int(s->producer, "root", 0))
        out[2] = make_binary(n, "Mul", out[2], out[2]);
    return true;
}

/* [N, C, …] as [N, groups, C / groups, …], normalised over all from axis 2 on. */
static struct value *group_norm(struct node *n)
{
    struct value *x = n->inputs[0], *y;
    struct shape s = x->shape;
    int64_t groups = node_int(n, "num_groups", 1);

    if (s.axes == MAX_AXES)
        return NULL;
    for (int a = s.axes; a > 2; a--)
        s.dim[a] = s.dim[a - 1];
    s.dim[2] = s.dim[1] / groups;
    s.dim[1] = groups;
    s.axes++;
    y = normalised(n, make_reshaped(n, x, &s), s.axes - 2, make_axes(n->graph->context, 2, s.axes),
                   node_float(n, "epsilon", 1e-5f), false);
    return scaled(n, make_reshaped(n, y, &x->shape), per_channel_unless_all(n, 1, 1),
                  per_channel_unless_all(n, 2, 0));
}

/* 1e-9 beside the deviation is 1e-18 beside the variance: less than what float32 leaves of a mean,
 * which is not to be scaled up where all elements are equal. */
static struct value *mean_variance_norm(struct node *n)
{
    static const int64_t usual[] = {0, 2, 3};
    int count;
    const int64_t *axes = node_ints(n, "axes", &count);
    int64_t list[MAX_AXES];

    if (!axes)
        axes = usual, count = 3;
    for (int i = 0; i < count; i++)
        list[i] = shape_axis(&n->inputs[0]->shape, axes[i]);
    return normalised(n, n->inputs[0], count, list, 1e-12f, false);
}

/* A parameter of BatchNormalization, so that it broadcasts: one number a channel, or (opsets 7 and
 * 8 without spatial) one for each place of an item. */
static struct value *batch_parameter(struct node *n, struct value *v)
{
    struct shape s = n->inputs[0]->shape;

    if (node_int(n, "spatial", 1))
        return make_per_channel(n, v, s.axes, 1);
    s.dim[0] = 1;
    return make_reshaped(n, v, &s);
}

static struct value *computed_batch_norm(struct node *n)
{
    struct value *x = n->inputs[0], *parameter[4], *deviation;

    for (int i = 0; i < 4; i++)
        parameter[i] = batch_parameter(n, n->inputs[i + 1]);
    deviation = make_unary(
        n, "Sqrt",
        make_binary(n, "Add", parameter[3], make_number(n, node_float(n, "epsilon", 1e-5f))));
    return scaled(n, make_binary(n, "Sub", x, parameter[2]),
                  make_binary(n, "Div", parameter[0], deviation), parameter[1]);
}

/* s = scale / sqrt(var + epsilon) and B - mean * s, both in float64 and rounded once. */
static void fold_batch_norm(struct node *n, struct tensor **scales, struct tensor **shifts)
{
    struct context *c = n->graph->context;
    struct arena *scratch = arena_child(&c->arena);
    const struct shape *s = &n->inputs[1]->shape;
    const float *in[4];
    void *scale, *shift;

    for (int i = 0; i < 4; i++)
        in[i] = tensor_floats(c, n->inputs[i + 1]->constant, scratch);
    *scales = tensor_new(&c->arena, TYPE_FLOAT32, s, &scale);
    *shifts = tensor_new(&c->arena, TYPE_FLOAT32, s, &shift);
    for (int64_t i = 0; i < (*scales)->count; i++) {
        double factor =
            (double)in[0][i] / sqrt((double)in[3][i] + (double)node_float(n, "epsilon", 1e-5f));

        ((float *)scale)[i] = (float)factor;
        ((float *)shift)[i] = (float)((double)in[1][i] - (double)in[2][i] * factor);
    }
    arena_free(scratch);
}

/* old * momentum + now * (1 - momentum), shaped like old. */
static struct value *running(struct node *n, struct value *old, struct value *now)
{
    float momentum = node_float(n, "momentum", 0.9f);

    return make_binary(n, "Add", make_scaled(n, old, (double)momentum),
                       make_scaled(n, make_reshaped(n, now, &old->shape), 1 - (double)momentum));
}

/* Normalised by what the batch itself has. Outputs: Y, running mean and variance, and before opset
 * 14 the batch's own. */
static bool training_batch_norm(struct node *n, struct value **out)
{
    struct value *x = n->inputs[0], *s, *mean, *variance;
    int64_t axes[MAX_AXES];
    int count = 0;

    for (int a = 0; a < x->shape.axes; a++)
        if (node_int(n, "spatial", 1) ? a != 1 : a == 0)
            axes[count++] = a;
    s = make_statistics(n, "NormStatistics", x, count, axes, node_float(n, "epsilon", 1e-5f),
                        false);
    mean = make_binary(n, "Add", make_component(n, s, 0), make_component(n, s, 1));
    variance = make_binary(n, "Sub", x, mean);
    variance = make_binary(n, "Mul", variance, variance);
    for (int i = 0; i < count; i++)
        variance = make_reduced(n, "ReduceMean", variance, (int)axes[i]);
    out[0] = scaled(n, normalised_by(n, x, s, false), batch_parameter(n, n->inputs[1]),
                    batch_parameter(n, n->inputs[2]));
    for (int i = 1; i < n->output_count && i < 5; i++) {
        struct value *now = i % 2 ? mean : variance, *old = n->inputs[i % 2 ? 3 : 4];

        out[i] = i < 3 ? running(n, old, now) : make_reshaped(n, now, &old->shape);
    }
    return true;
}

/* y = x * s + (B - mean * s). */
static bool batch_norm(struct node *n, struct value **out)
{
    struct context *c = n->graph->context;
    struct value *x = n->inputs[0], *parts[2];
    struct tensor **made[2];
    bool varies = node_varies(n);
    int styles = varies ? c->styles : 1, style = c->style;

    if (node_int(n, "training_mode", 0))
        return training_batch_norm(n, out);
    for (int i = 0; i < 4; i++)
        if (!n->inputs[i + 1]->constant) {
            out[0] = computed_batch_norm(n);
            return true;
        }
    for (int i = 0; i < 2; i++)
        made[i] = NEW_ARRAY(&c->arena, styles, struct tensor *);
    for (int k = 0; k < styles; k++) {
        c->style = varies ? k : style;
        fold_batch_norm(n, &made[0][k], &made[1][k]);
    }
    c->style = style;
    for (int i = 0; i < 2; i++)
        parts[i] = batch_parameter(
            n, graph_constant(n->graph, "",
                              varies ? tensor_of_styles(c, n->name, n, 1, made[i]) : made[i][0]));
    out[0] = scaled(n, x, parts[0], parts[1]);
    return true;
}

/* ---- others ---- */

static struct value *gemm(struct node *n)
{
    static const int64_t swap[] = {1, 0};
    struct value *a = n->inputs[0], *b = n->inputs[1], *c = node_input(n, 2), *y;
    float alpha = node_float(n, "alpha", 1), beta = node_float(n, "beta", 1);

    if (node_int(n, "transA", 0))
        a = make_transposed(n, a, 2, swap);
    if (node_int(n, "transB", 0))
        b = make_transposed(n, b, 2, swap);
    if (alpha != 1 && b->constant)
        b = make_binary(n, "Mul", b, make_number(n, alpha));
    y = make_binary(n, "MatMul", a, b);
    if (alpha != 1 && !b->constant)
        y = make_binary(n, "Mul", y, make_number(n, alpha));
    if (c && beta != 0)
        y = make_binary(n, "Add", y,
                        beta == 1 ? c : make_binary(n, "Mul", c, make_number(n, beta)));
    return y;
}

/* The nearest element is a view, weighted ones are a step: two operators from here on. */
static struct value *resize(struct node *n)
{
    struct resize r;
    const char *why;
    struct node *view;

    if (!resize_read(n, &n->inputs[0]->shape, &r, &why) || r.mode != RESIZE_NEAREST)
        return NULL;
    view = graph_node_like(n->graph, operator_get(n->graph->context, "ResizeNearest"), n, n->inputs,
                           n->input_count, 1);
    for (int i = 0; i < n->attribute_count; i++)
        APPEND(&n->graph->context->arena, view->attributes, view->attribute_count,
               view->attribute_room) = n->attributes[i];
    infer_output(view, 0, n->outputs[0]->type, &n->outputs[0]->shape);
    return view->outputs[0];
}

/*
 * A sum over more than 2048 elements would be a long loop in few invocations. The mean or sum over
 * two axes is that of one over the other: two short steps.
 */
static struct value *reduce_in_turn(struct node *n)
{
    const struct shape *s = &n->inputs[0]->shape;
    bool global = !strncmp(n->op->name, "Global", 6),
         mean = strstr(n->op->name, "Mean") || strstr(n->op->name, "Average");
    const char *op = mean ? "ReduceMean" : strstr(n->op->name, "Max") ? "ReduceMax" : n->op->name;
    int64_t axes[MAX_AXES];
    int count = 0, given;
    const int64_t *list = global ? NULL : node_constant_ints(n, 1, &given);

    if (global)
        for (int a = 2; a < s->axes; a++)
            axes[count++] = a;
    else if (list && given)
        for (int i = 0; i < given; i++)
            axes[count++] = shape_axis(s, list[i]);
    else
        return NULL;
    double elements = 1;
    int all = count;
    count = 0;
    /* Along an axis of one element there is nothing to be done. */
    for (int i = 0; i < all; i++) {
        elements *= (double)s->dim[axes[i]];
        if (s->dim[axes[i]] != 1)
            axes[count++] = axes[i];
    }
    if (all < 2 || elements <= 2048)
        return NULL;
    struct value *v = n->inputs[0];
    bool keeps = global || node_int(n, "keepdims", 1);
    /* From the last axis on, so that the numbers of the others stay right without keepdims. */
    for (int i = 0; i < count; i++)
        for (int k = i + 1; k < count; k++)
            if (axes[k] > axes[i]) {
                int64_t swap = axes[k];
                axes[k] = axes[i];
                axes[i] = swap;
            }
    for (int i = 0; i < count; i++) {
        struct value *both[] = {v, graph_constant_ints(n->graph, "", 1, &axes[i])};
        struct node *r =
            graph_node_like(n->graph, operator_get(n->graph->context, op), n, both, 2, 1);

        node_set_int(r, "keepdims", keeps);
        v = make_inferred(r);
    }
    return make_reshaped(n, v, &n->outputs[0]->shape);
}

/* The logarithm of what Softmax divides by, and the greatest element. */
static struct value *log_sum_exp(struct node *n)
{
    struct value *x = n->inputs[0], *s;
    const struct shape *y = &n->outputs[0]->shape;
    int64_t list[MAX_AXES];
    int count = 0, given = 0;
    const int64_t *axes = node_input(n, 1) ? node_constant_ints(n, 1, &given) : NULL;

    if (node_input(n, 1) && !axes)
        return NULL;
    for (int i = 0; i < given; i++)
        list[count++] = shape_axis(&x->shape, axes[i]);
    for (int a = 0; !given && a < x->shape.axes; a++)
        list[count++] = a;
    if (!given && node_int(n, "noop_with_empty_axes", 0))
        return make_unary(n, "Identity", x);
    if (x->shape.axes == MAX_AXES || !count)
        return NULL;
    s = make_statistics(n, "SoftmaxStatistics", x, count, list, 0, false);
    node_set_int(s->producer, "log", 1);
    s = make_binary(n, "Add",
                    make_binary(n, "Add", make_component(n, s, 0), make_component(n, s, 1)),
                    make_component(n, s, 2));
    return make_reshaped(n, s, y);
}

/* Norms as means: sums could pass what 16 bits hold. What is added to them is nothing beside the
 * square of any number, and leaves a line of zeros as it is. */
static struct value *lp_normalisation(struct node *n)
{
    struct value *x = n->inputs[0];
    int axis = shape_axis(&x->shape, node_int(n, "axis", -1));
    double length = (double)x->shape.dim[axis];
    const int64_t along = axis;
    struct value *norm;

    if (node_int(n, "p", 2) == 2)
        return make_scaled(n, normalised(n, x, 1, &along, 1e-30f, true), 1 / sqrt(length));
    /* |x| of 0 for all is divided by 1. */
    norm = make_reduced(n, "ReduceMean", make_unary(n, "Abs", x), axis);
    norm = make_binary(n, "Max", norm, make_number(n, 6e-8f));
    return make_scaled(n, make_binary(n, "Div", x, norm), 1 / length);
}

static struct value *global_lp_pool(struct node *n)
{
    struct value *x = n->inputs[0], *sum;
    int64_t p = node_int(n, "p", 2);
    int axes = x->shape.axes;
    struct value *list =
        graph_constant_ints(n->graph, "", axes - 2, make_axes(n->graph->context, 2, axes));

    if (p <= 2)
        return make_binary(n, p == 1 ? "ReduceL1" : "ReduceL2", x, list);
    sum =
        make_binary(n, "ReduceSum",
                    make_binary(n, "Pow", make_unary(n, "Abs", x), make_number(n, (float)p)), list);
    return make_binary(n, "Pow", sum, make_number(n, (float)(1 / (double)p)));
}

/* 1 where the index is that of the greatest element, which comes as two digits to the base 2048. */
static struct value *hardmax(struct node *n)
{
    struct value *x = n->inputs[0], *place, *is = NULL;
    struct context *c = n->graph->context;
    int axis = shape_axis(&x->shape, node_int(n, "axis", -1)), axes = x->shape.axes;
    struct shape s = x->shape, line = {.axes = 1};
    struct node *choice, *cast;

    if (node_int(n, "flatten", 0)) {
        s = shape_of(2, (const int64_t[]){shape_product(&x->shape, 0, axis),
                                          shape_product(&x->shape, axis, axes)});
        x = make_reshaped(n, x, &s);
        axis = 1;
    }
    if (s.axes == MAX_AXES)
        return NULL;
    choice = make_node(n, "Choice", 1, &x);
    node_set_int(choice, "axis", axis);
    place = make_inferred(choice);
    line.dim[0] = s.dim[axis];
    for (int digit = 0; digit < 2; digit++) {
        float *numbers = NEW_ARRAY(&c->arena, s.dim[axis], float);
        struct value *number, *equal;

        if (digit && s.dim[axis] <= 2048)
            break;
        for (int64_t i = 0; i < s.dim[axis]; i++)
            numbers[i] = (float)(digit ? i / 2048 : i % 2048);
        number =
            make_per_channel(n, graph_constant_floats(n->graph, "", &line, numbers), s.axes, axis);
        equal = make_binary(n, "Equal", make_component(n, place, digit), number);
        is = is ? make_binary(n, "And", is, equal) : equal;
    }
    cast = make_node(n, "Cast", 1, &is);
    node_set_int(cast, "to", TYPE_FLOAT32);
    return make_reshaped(n, make_inferred(cast), &n->outputs[0]->shape);
}

/* The columns, then a convolution of one place. Their channels are in the order (group, tap,
 * channel of the group). */
static bool deform_conv(struct node *n, struct value **out)
{
    static const int64_t swap[] = {0, 2, 1};
    struct value *weights = n->inputs[1], *bias = node_input(n, 3), *mask = node_input(n, 4);
    const struct shape *w = &weights->shape;
    struct value *inputs[] = {n->inputs[0], n->inputs[2], mask};
    struct node *columns, *conv;
    int axes = w->axes - 2, count;
    int64_t ones[MAX_AXES], zeros[2 * MAX_AXES] = {0}, taps = shape_product(w, 2, w->axes);
    const int64_t *strides = node_ints(n, "strides", &count),
                  *dilations = node_ints(n, "dilations", &count),
                  *pads = node_ints(n, "pads", &count);
    struct shape s;

    if (!weights->constant)
        return false;
    for (int a = 0; a < axes; a++)
        ones[a] = 1;
    columns = make_node(n, "DeformColumns", mask ? 3 : 2, inputs);
    node_set_ints(columns, "kernel_shape", axes, w->dim + 2);
    node_set_ints(columns, "strides", axes, strides && *strides ? strides : ones);
    node_set_ints(columns, "dilations", axes, dilations && *dilations ? dilations : ones);
    node_set_ints(columns, "pads", 2 * axes, pads ? pads : zeros);
    node_set_int(columns, "group", node_int(n, "group", 1));
    node_set_int(columns, "offset_group", node_int(n, "offset_group", 1));
    s = shape_of(3, (const int64_t[]){w->dim[0], w->dim[1], taps});
    weights = make_transposed(n, make_reshaped(n, weights, &s), 3, swap);
    s = *w;
    s.dim[1] = w->dim[1] * taps;
    for (int a = 0; a < axes; a++)
        s.dim[a + 2] = 1;
    struct value *three[] = {make_inferred(columns), make_reshaped(n, weights, &s), bias};
    conv = make_node(n, "Conv", bias ? 3 : 2, three);
    node_set_int(conv, "group", node_int(n, "group", 1));
    out[0] = make_inferred(conv);
    return true;
}

/* Weights are tables, and the bias with them; one that is computed is added. */
static bool computed_bias(struct node *n, struct value **out)
{
    struct value *bias = node_input(n, 2);
    struct node *plain;

    if (!bias || bias->constant)
        return false;
    plain = make_node(n, n->op->name, 2, n->inputs);
    for (int i = 0; i < n->attribute_count; i++)
        APPEND(&n->graph->context->arena, plain->attributes, plain->attribute_count,
               plain->attribute_room) = n->attributes[i];
    out[0] = make_binary(n, "Add", make_inferred(plain),
                         make_per_channel(n, bias, n->outputs[0]->shape.axes, 1));
    return true;
}

static bool conv(struct node *n, struct value **out)
{
    if (!computed_bias(n, out))
        out[0] = decompose_order(n);
    return out[0] != NULL;
}

static const struct {
    const char *op;
    struct value *(*rewrite)(struct node *n); /* NULL: stays as it is */
    bool (*rewrite_all)(struct node *n,
                        struct value **out); /* the same for operators of several outputs */
} rows[] = {
    {"AffineGrid", NULL, decompose_affine_grid},
    {"Attention", NULL, decompose_attention},
    {"BatchNormalization", NULL, batch_norm},
    {"CenterCropPad", NULL, decompose_moved},
    {"Col2Im", NULL, decompose_col2im},
    {"Compress", NULL, decompose_moved},
    {"Concat", NULL, decompose_many},
    {"Conv", NULL, conv},
    {"ConvTranspose", NULL, computed_bias},
    {"CumProd", NULL, decompose_cumulative},
    {"CumSum", NULL, decompose_cumulative},
    {"DFT", NULL, decompose_dft},
    {"DeformConv", NULL, deform_conv},
    {"DepthToSpace", decompose_depth, NULL},
    {"Det", NULL, decompose_det},
    {"Div", decompose_constant, NULL},
    {"Einsum", NULL, decompose_einsum},
    {"GRU", NULL, decompose_recurrent},
    {"GatherElements", NULL, decompose_moved},
    {"GatherND", NULL, decompose_moved},
    {"Gemm", gemm, NULL},
    {"GlobalAveragePool", reduce_in_turn, NULL},
    {"GlobalLpPool", global_lp_pool, NULL},
    {"GlobalMaxPool", reduce_in_turn, NULL},
    {"GroupNormalization", group_norm, NULL},
    {"Hardmax", hardmax, NULL},
    {"InstanceNormalization", instance_norm, NULL},
    {"LSTM", NULL, decompose_recurrent},
    {"LayerNormalization", NULL, layer_norm},
    {"LogSoftmax", log_softmax, NULL},
    {"LpNormalization", lp_normalisation, NULL},
    {"Max", NULL, decompose_many},
    {"MaxUnpool", NULL, decompose_moved},
    {"Mean", NULL, decompose_many},
    {"MeanVarianceNormalization", mean_variance_norm, NULL},
    {"Min", NULL, decompose_many},
    {"Mul", decompose_constant, NULL},
    {"NegativeLogLikelihoodLoss", NULL, decompose_loss},
    {"OneHot", NULL, decompose_one_hot},
    {"RMSNormalization", NULL, layer_norm},
    {"RNN", NULL, decompose_recurrent},
    {"ReduceL1", reduce_in_turn, NULL},
    {"ReduceL2", reduce_in_turn, NULL},
    {"ReduceLogSumExp", log_sum_exp, NULL},
    {"ReduceMax", reduce_in_turn, NULL},
    {"ReduceMean", reduce_in_turn, NULL},
    {"ReduceMin", reduce_in_turn, NULL},
    {"ReduceProd", reduce_in_turn, NULL},
    {"ReduceSum", reduce_in_turn, NULL},
    {"Resize", resize, NULL},
    {"ReverseSequence", NULL, decompose_moved},
    {"RotaryEmbedding", NULL, decompose_rotary},
    {"STFT", NULL, decompose_stft},
    {"ScatterElements", NULL, decompose_scatter},
    {"ScatterND", NULL, decompose_scatter},
    {"Softmax", softmax, NULL},
    {"SoftmaxCrossEntropyLoss", NULL, decompose_loss},
    {"Sum", NULL, decompose_many},
    {"TensorScatter", NULL, decompose_moved},
};

/* Every output that is read is another value now. */
static bool replace_all(struct node *n, struct value *const *out)
{
    for (int o = 0; o < n->output_count; o++) {
        struct value *v = n->outputs[o];

        if (v && (v->reader_count || v->output_count) && !out[o])
            return false;
    }
    for (int o = 0; o < n->output_count; o++)
        if (n->outputs[o] && out[o])
            value_replace(n->graph, n->outputs[o], out[o]);
    node_remove(n);
    return true;
}

static bool is_wanted(const struct node *n)
{
    bool wanted = false;

    for (int o = 0; o < n->output_count; o++)
        wanted = wanted || (n->outputs[o] && !n->outputs[o]->constant);
    return wanted && !n->removed && n->op;
}

/* What is made stands at the end of the list, and gets its turn. */
static int decompose(struct graph *g)
{
    int changes = 0;

    for (int i = 0; i < g->node_count; i++) {
        struct node *n = g->nodes[i];
        struct value *out[8] = {NULL};
        size_t r = 0;

        if (!is_wanted(n))
            continue;
        while (r < sizeof rows / sizeof *rows && strcmp(rows[r].op, n->op->name) != 0)
            r++;
        if (r == sizeof rows / sizeof *rows)
            continue;
        if (rows[r].rewrite ? (out[0] = rows[r].rewrite(n)) != NULL : rows[r].rewrite_all(n, out))
            changes += replace_all(n, out);
    }
    return changes;
}

void decompose_graph(struct graph *g)
{
    static const struct pass rewrite = {.name = "decompose", .run = decompose};

    pass_run(g, &rewrite);
    passes_run(g, NULL);
    if (products_join(g))
        passes_run(g, NULL);
}
