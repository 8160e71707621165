#include "daemon/compiler/gpu/decompose.h"
#include "daemon/compiler/graph/tensor.h"
#include "daemon/compiler/operators/operator.h"
#include "daemon/compiler/operators/resize.h"
#include "daemon/compiler/passes/pass.h"
#include <math.h>
#include <string.h>

static struct value *infer_output_of(struct node *n)
{
    infer_node(n);
    return n->outputs[0];
}

static struct value *unary(struct node *n, const char *op, struct value *a)
{
    return infer_output_of(
        graph_node_like(n->graph, operator_get(n->graph->context, op), n, &a, 1, 1));
}

static struct value *binary(struct node *n, const char *op, struct value *a, struct value *b)
{
    struct value *both[] = {a, b};

    return infer_output_of(
        graph_node_like(n->graph, operator_get(n->graph->context, op), n, both, 2, 1));
}

static struct value *number(struct node *n, float x)
{
    struct shape scalar = shape_of(0, NULL);

    return graph_constant_floats(n->graph, "", &scalar, &x);
}

/* v with other dims of the same number; constants become recipes. */
static struct value *reshaped(struct node *n, struct value *v, const struct shape *s)
{
    return binary(n, "Reshape", v, graph_constant_ints(n->graph, "", s->axes, s->dim));
}

/* A value of one entry a channel, so that it broadcasts along axis of a value with so many axes. */
static struct value *per_channel(struct node *n, struct value *v, int axes, int axis)
{
    struct shape s = {.axes = axes - axis};

    for (int a = 0; a < s.axes; a++)
        s.dim[a] = a ? 1 : shape_count(&v->shape);
    return shape_equal(&v->shape, &s) ? v : reshaped(n, v, &s);
}

static struct value *component(struct node *n, struct value *statistics, int index)
{
    struct node *c = graph_node_like(n->graph, operator_get(n->graph->context, "Component"), n,
                                     &statistics, 1, 1);

    node_set_int(c, "index", index);
    return infer_output_of(c);
}

static struct value *statistics(struct node *n, const char *op, struct value *x, int count,
                                const int64_t *axes, float epsilon, bool rms)
{
    struct node *s = graph_node_like(n->graph, operator_get(n->graph->context, op), n, &x, 1, 1);

    node_set_ints(s, "axes", count, axes);
    node_set_float(s, "epsilon", epsilon);
    if (rms)
        node_set_int(s, "rms", 1);
    return infer_output_of(s);
}

static int64_t *range_of_axes(struct context *c, int from, int to)
{
    int64_t *axes = NEW_ARRAY(&c->arena, to - from + 1, int64_t);

    for (int a = from; a < to; a++)
        axes[a - from] = a;
    return axes;
}

/* ---- Softmax ---- */

/* Axes that are normalised together: one, or with attribute flatten (opsets before 13) all from
 * axis on. */
static struct value *softmax_parts(struct node *n, struct value **inverse)
{
    struct value *x = n->inputs[0], *s;
    int axis = shape_axis(&x->shape, node_int(n, "axis", -1));
    int last = node_int(n, "flatten", 0) ? x->shape.axes : axis + 1;

    s = statistics(n, "SoftmaxStatistics", x, last - axis,
                   range_of_axes(n->graph->context, axis, last), 0, false);
    *inverse = component(n, s, 2);
    return binary(n, "Sub", binary(n, "Sub", x, component(n, s, 0)), component(n, s, 1));
}

static struct value *softmax(struct node *n)
{
    struct value *inverse, *shifted = softmax_parts(n, &inverse);

    return binary(n, "Mul", unary(n, "Exp", shifted), inverse);
}

static struct value *log_softmax(struct node *n)
{
    struct value *inverse, *shifted = softmax_parts(n, &inverse);

    return binary(n, "Add", shifted, unary(n, "Log", inverse));
}

/* ---- normalisations ---- */

static struct value *normalised(struct node *n, struct value *x, int count, const int64_t *axes,
                                float epsilon, bool rms)
{
    struct value *s = statistics(n, "NormStatistics", x, count, axes, epsilon, rms);

    if (!rms)
        x = binary(n, "Sub", binary(n, "Sub", x, component(n, s, 0)), component(n, s, 1));
    return binary(n, "Mul", x, component(n, s, 2));
}

static struct value *scaled(struct node *n, struct value *y, struct value *scale,
                            struct value *shift)
{
    if (scale)
        y = binary(n, "Mul", y, scale);
    if (shift)
        y = binary(n, "Add", y, shift);
    return y;
}

static struct value *instance_norm(struct node *n)
{
    struct value *x = n->inputs[0];
    int axes = x->shape.axes;

    return scaled(n,
                  normalised(n, x, axes - 2, range_of_axes(n->graph->context, 2, axes),
                             node_float(n, "epsilon", 1e-5f), false),
                  per_channel(n, n->inputs[1], axes, 1), per_channel(n, n->inputs[2], axes, 1));
}

static struct value *layer_norm(struct node *n)
{
    struct value *x = n->inputs[0];
    int axis = shape_axis(&x->shape, node_int(n, "axis", -1));
    bool rms = !strcmp(n->op->name, "RMSNormalization");

    for (int o = 1; o < n->output_count; o++)
        if (n->outputs[o] && (n->outputs[o]->reader_count || n->outputs[o]->output_count))
            return NULL;
    return scaled(n,
                  normalised(n, x, x->shape.axes - axis,
                             range_of_axes(n->graph->context, axis, x->shape.axes),
                             node_float(n, "epsilon", 1e-5f), rms),
                  n->inputs[1], node_input(n, 2));
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
    y = normalised(n, reshaped(n, x, &s), s.axes - 2, range_of_axes(n->graph->context, 2, s.axes),
                   node_float(n, "epsilon", 1e-5f), false);
    return scaled(n, reshaped(n, y, &x->shape), per_channel(n, n->inputs[1], x->shape.axes, 1),
                  per_channel(n, n->inputs[2], x->shape.axes, 1));
}

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
    return normalised(n, n->inputs[0], count, list, 1e-9f, false);
}

/* y = x * s + (B - mean * s) with s = scale / sqrt(var + epsilon), both folded in float64 and
 * rounded once. */
static struct value *batch_norm(struct node *n)
{
    struct context *c = n->graph->context;
    struct value *x = n->inputs[0], *parts[2];
    struct shape s = {.axes = 1};
    struct arena *scratch;
    const float *in[4];
    float *out[2];

    if (node_int(n, "training_mode", 0))
        return NULL;
    for (int i = 0; i < 4; i++)
        if (!n->inputs[i + 1]->constant)
            return NULL;
    s.dim[0] = n->inputs[1]->constant->count;
    scratch = arena_child(&c->arena);
    for (int i = 0; i < 4; i++)
        in[i] = tensor_floats(c, n->inputs[i + 1]->constant, scratch);
    for (int i = 0; i < 2; i++)
        out[i] = NEW_ARRAY(scratch, s.dim[0], float);
    for (int64_t i = 0; i < s.dim[0]; i++) {
        double scale =
            (double)in[0][i] / sqrt((double)in[3][i] + (double)node_float(n, "epsilon", 1e-5f));

        out[0][i] = (float)scale;
        out[1][i] = (float)((double)in[1][i] - (double)in[2][i] * scale);
    }
    for (int i = 0; i < 2; i++)
        parts[i] =
            per_channel(n, graph_constant_floats(n->graph, "", &s, out[i]), x->shape.axes, 1);
    arena_free(scratch);
    return scaled(n, x, parts[0], parts[1]);
}

/* ---- others ---- */

static struct value *transposed(struct node *n, struct value *v)
{
    static const int64_t swap[] = {1, 0};
    struct node *t =
        graph_node_like(n->graph, operator_get(n->graph->context, "Transpose"), n, &v, 1, 1);

    node_set_ints(t, "perm", 2, swap);
    return infer_output_of(t);
}

static struct value *gemm(struct node *n)
{
    struct value *a = n->inputs[0], *b = n->inputs[1], *c = node_input(n, 2), *y;
    float alpha = node_float(n, "alpha", 1), beta = node_float(n, "beta", 1);

    if (node_int(n, "transA", 0))
        a = transposed(n, a);
    if (node_int(n, "transB", 0))
        b = transposed(n, b);
    if (alpha != 1 && b->constant)
        b = binary(n, "Mul", b, number(n, alpha));
    y = binary(n, "MatMul", a, b);
    if (alpha != 1 && !b->constant)
        y = binary(n, "Mul", y, number(n, alpha));
    if (c && beta != 0)
        y = binary(n, "Add", y, beta == 1 ? c : binary(n, "Mul", c, number(n, beta)));
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
    for (int i = 0; i < count; i++)
        elements *= (double)s->dim[axes[i]];
    if (count < 2 || elements <= 2048)
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
        v = infer_output_of(r);
    }
    return v;
}

static const struct {
    const char *op;
    struct value *(*rewrite)(struct node *n); /* NULL: stays as it is */
} rows[] = {
    {"BatchNormalization", batch_norm},
    {"Gemm", gemm},
    {"GlobalAveragePool", reduce_in_turn},
    {"GlobalMaxPool", reduce_in_turn},
    {"GroupNormalization", group_norm},
    {"InstanceNormalization", instance_norm},
    {"LayerNormalization", layer_norm},
    {"LogSoftmax", log_softmax},
    {"MeanVarianceNormalization", mean_variance_norm},
    {"RMSNormalization", layer_norm},
    {"ReduceMax", reduce_in_turn},
    {"ReduceMean", reduce_in_turn},
    {"ReduceSum", reduce_in_turn},
    {"Resize", resize},
    {"Softmax", softmax},
};

static int decompose(struct graph *g)
{
    int count = g->node_count, changes = 0;

    for (int i = 0; i < count; i++) {
        struct node *n = g->nodes[i];

        if (n->removed || !n->op || !n->outputs[0] || n->outputs[0]->constant)
            continue;
        for (size_t r = 0; r < sizeof rows / sizeof *rows; r++) {
            struct value *v;

            if (strcmp(rows[r].op, n->op->name))
                continue;
            v = rows[r].rewrite(n);
            if (!v)
                break;
            pass_replace(n, v);
            changes++;
            break;
        }
    }
    return changes;
}

void decompose_graph(struct graph *g)
{
    static const struct pass rewrite = {.name = "decompose", .run = decompose};

    pass_run(g, &rewrite);
    passes_run(g, NULL);
}
