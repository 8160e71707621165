/*
 * Normalisations. Source: onnx.ai/onnx/operators, BatchNormalization 15 (9 and 14 for the outputs
 * of training), InstanceNormalization 22, LayerNormalization 17, GroupNormalization 21 (18: scale
 * per group), RMSNormalization 23, MeanVarianceNormalization 13, LpNormalization 22, LRN 13.
 */
#include "daemon/compiler/operators/lower.h"
#include "daemon/compiler/operators/range.h"
#include "daemon/compiler/operators/rules.h"
#include "daemon/compiler/operators/walk.h"
#include <math.h>
#include <string.h>

/* Statistics of one line. The variance is the mean of squared deviations, never E[x^2] - mean^2. */
static void moments(const struct lines *l, const double *line, double *mean, double *variance)
{
    double sum = 0, squares = 0;

    for (int64_t k = 0; k < l->length; k++)
        sum += line[l->offset[k]];
    *mean = sum / (double)l->length;
    for (int64_t k = 0; k < l->length; k++) {
        double d = line[l->offset[k]] - *mean;

        squares += d * d;
    }
    *variance = squares / (double)l->length;
}

/* t's elements for each element of a tensor of shape s, which t broadcasts to; NULL for no t. */
static const double *broadcast(struct context *c, const struct tensor *t, const struct shape *s,
                               struct arena *scratch)
{
    const struct shape *own;
    const double *from;
    double *to;
    struct walk w;

    if (!t)
        return NULL;
    own = &t->shape;
    from = tensor_doubles(c, t, scratch);
    to = NEW_ARRAY(scratch, shape_count(s), double);
    walk_broadcast(&w, s, 1, &own);
    while (walk_next(&w))
        for (int64_t i = 0; i < w.run; i++)
            to[w.position + i] = from[w.at[0] + i * w.step[0]];
    return to;
}

/* The axes from first on. */
static unsigned axes_from(int first)
{
    return ~0u << first;
}

/* Number of channels of input 0, -1 where it is not known; a single axis is one channel. */
static int64_t channels_of(const struct shape *x)
{
    return x->axes < 0 ? -1 : x->axes > 1 ? x->dim[1] : 1;
}

/* ---- BatchNormalization ---- */

/*
 * Internal form: the attribute training_mode decides. Before opset 14 it did not exist: a node with
 * more than one output was in training; exporters name those outputs though nobody reads them, so
 * infer() looks (training_outputs). Outputs: Y, running mean and variance, and before opset 14 the
 * batch's own mean and variance.
 */
static void upgrade_batch_normalization(struct graph *g, struct node *n)
{
    bool more = false;

    (void)g;
    for (int i = 1; i < n->output_count; i++)
        more = more || n->outputs[i];
    if (n->opset < 14 && more)
        node_set_int(n, "training_outputs", 1);
}

static void infer_batch_normalization(struct node *n)
{
    static const char *const names[] = {"", "the scale", "the bias", "the mean", "the variance"};
    const struct value *x = n->inputs[0];
    struct shape channel = {.axes = 1};
    bool read = false;

    channel.dim[0] = channels_of(&x->shape);
    /* Without spatial (opset 7 and 8) the parameters have all axes but the batch. */
    if (node_int(n, "spatial", 1) != 0) {
        for (int i = 1; i < 5; i++)
            if (!infer_vector(n, i, channel.dim[0], names[i]))
                return;
    } else if (x->shape.axes > 0) {
        channel = shape_of(x->shape.axes - 1, x->shape.dim + 1);
    }
    for (int i = 1; i < n->output_count; i++)
        read =
            read || (n->outputs[i] && (n->outputs[i]->reader_count || n->outputs[i]->output_count));
    if (node_int(n, "training_outputs", 0))
        node_set_int(n, "training_mode", read);
    if (n->opset >= 14 && read && !node_int(n, "training_mode", 0)) {
        infer_fault(n, "it has outputs of its training, and training_mode is 0");
        return;
    }
    infer_like_input(n);
    for (int i = 1; i < n->output_count; i++)
        infer_output(n, i, n->inputs[i % 2 ? 3 : 4]->type, &channel);
}

static bool evaluate_batch_normalization(struct node *n, struct tensor *const *in,
                                         struct tensor **out, struct arena *arena,
                                         struct arena *scratch)
{
    struct context *c = n->graph->context;
    double epsilon = (double)node_float(n, "epsilon", 1e-5f);
    double momentum = (double)node_float(n, "momentum", 0.9f);
    bool training = node_int(n, "training_mode", 0) != 0;
    bool spatial = node_int(n, "spatial", 1) != 0;
    const double *x = tensor_doubles(c, in[0], scratch), *parameter[5];
    const struct shape *shape = &in[0]->shape;
    void *payload[5] = {NULL};
    unsigned mask;
    struct lines l;

    for (int i = 1; i < 5; i++)
        parameter[i] = tensor_doubles(c, in[i], scratch);
    for (int i = 0; i < n->output_count; i++)
        if (n->outputs[i])
            out[i] = output_new(n, i, arena, &payload[i]);
    /* A line is what shares its parameters. */
    mask = !spatial ? 1u : shape->axes > 1 ? ~2u : ~0u;
    lines_init(&l, shape, mask, scratch);
    for (int i = 1; i < 5; i++)
        if (in[i]->count != l.count)
            return false;
    for (int64_t i = 0; i < l.count; i++) {
        double mean = parameter[3][i], variance = parameter[4][i], factor;

        context_poll(c);
        if (training) {
            double saved[5];

            moments(&l, x + l.start[i], &mean, &variance);
            saved[1] = parameter[3][i] * momentum + mean * (1 - momentum);
            saved[2] = parameter[4][i] * momentum + variance * (1 - momentum);
            saved[3] = mean;
            saved[4] = variance;
            for (int k = 1; k < n->output_count && k < 5; k++)
                if (out[k])
                    payload_store(payload[k], out[k]->type, i, &saved[k], 1);
        }
        factor = parameter[1][i] / sqrt(variance + epsilon);
        for (int64_t k = 0; k < l.length && out[0]; k++) {
            int64_t at = l.start[i] + l.offset[k];
            double y = (x[at] - mean) * factor + parameter[2][i];

            payload_store(payload[0], out[0]->type, at, &y, 1);
        }
    }
    return true;
}

const struct operator_functions batch_normalization_functions = {
    .role = ROLE_STEP,
    .upgrade = upgrade_batch_normalization,
    .infer = infer_batch_normalization,
    .evaluate = evaluate_batch_normalization};

/* ---- InstanceNormalization and GroupNormalization ---- */

static void infer_instance_normalization(struct node *n)
{
    int64_t channels = channels_of(&n->inputs[0]->shape);

    if (infer_vector(n, 1, channels, "the scale") && infer_vector(n, 2, channels, "the bias"))
        infer_like_input(n);
}

/*
 * Internal form: scale and bias per channel. Before opset 21 they were per group: constants are
 * repeated as soon as the channels are known; per_group stays where they are not constant.
 */
static void upgrade_group_normalization(struct graph *g, struct node *n)
{
    (void)g;
    if (n->opset < 21)
        node_set_int(n, "per_group", 1);
}

static bool repeat_for_channels(struct node *n, int input, int64_t channels)
{
    struct context *c = n->graph->context;
    struct value *v = n->inputs[input];
    struct tensor *t;
    void *payload;
    const double *x;

    if (!v->constant || v->constant->count == 0)
        return false;
    x = tensor_doubles(c, v->constant, &c->arena);
    t = tensor_new(&c->arena, v->type, &(struct shape){1, {channels}}, &payload);
    for (int64_t i = 0; i < channels; i++)
        payload_store(payload, t->type, i, &x[i / (channels / v->constant->count)], 1);
    node_set_input(n, input, graph_constant(n->graph, v->name, t));
    return true;
}

static void infer_group_normalization(struct node *n)
{
    int64_t channels = channels_of(&n->inputs[0]->shape), groups = node_int(n, "num_groups", 0);
    bool per_group = node_int(n, "per_group", 0) != 0;
    int64_t wanted = per_group ? groups : channels;

    if (groups < 1 || (channels >= 0 && channels % groups != 0)) {
        infer_fault(n, "its %lld channels do not divide into %lld groups", (long long)channels,
                    (long long)groups);
        return;
    }
    if (!infer_vector(n, 1, wanted, "the scale") || !infer_vector(n, 2, wanted, "the bias"))
        return;
    if (per_group && channels > 0 && n->inputs[1]->constant && n->inputs[2]->constant &&
        repeat_for_channels(n, 1, channels) && repeat_for_channels(n, 2, channels))
        node_unset(n, "per_group");
    infer_like_input(n);
}

static bool evaluate_groups(struct node *n, struct tensor *const *in, struct tensor **out,
                            struct arena *arena, struct arena *scratch, int64_t groups)
{
    struct context *c = n->graph->context;
    double epsilon = (double)node_float(n, "epsilon", 1e-5f);
    const struct shape *shape = &in[0]->shape;
    bool per_group = node_int(n, "per_group", 0) != 0;
    const double *x, *scale, *bias;
    struct shape grouped;
    struct lines l;
    void *payload;
    int64_t per;

    if (!type_is_real(in[0]->type) || shape->axes < 2)
        return false;
    out[0] = output_new(n, 0, arena, &payload);
    if (in[0]->count == 0)
        return true;
    x = tensor_doubles(c, in[0], scratch);
    scale = tensor_doubles(c, in[1], scratch);
    bias = tensor_doubles(c, in[2], scratch);
    per = shape_product(shape, 2, shape->axes);
    /* Seen as [N, groups, channels of a group * elements], a line is the last axis. */
    grouped = shape_of(3, (int64_t[]){shape->dim[0], groups, shape->dim[1] / groups * per});
    lines_init(&l, &grouped, 1u << 2, scratch);
    for (int64_t i = 0; i < l.count; i++) {
        int64_t group = i % groups;
        double mean, variance, inverse;

        context_poll(c);
        moments(&l, x + l.start[i], &mean, &variance);
        inverse = 1 / sqrt(variance + epsilon);
        for (int64_t k = 0; k < l.length; k++) {
            int64_t channel = per_group ? group : group * (shape->dim[1] / groups) + k / per;
            double y = (x[l.start[i] + k] - mean) * inverse * scale[channel] + bias[channel];

            payload_store(payload, out[0]->type, l.start[i] + k, &y, 1);
        }
    }
    return true;
}

static bool evaluate_instance_normalization(struct node *n, struct tensor *const *in,
                                            struct tensor **out, struct arena *arena,
                                            struct arena *scratch)
{
    return evaluate_groups(n, in, out, arena, scratch, in[0]->shape.dim[1]);
}

static bool evaluate_group_normalization(struct node *n, struct tensor *const *in,
                                         struct tensor **out, struct arena *arena,
                                         struct arena *scratch)
{
    return evaluate_groups(n, in, out, arena, scratch, node_int(n, "num_groups", 1));
}

const struct operator_functions instance_normalization_functions = {
    .role = ROLE_STEP,
    .infer = infer_instance_normalization,
    .evaluate = evaluate_instance_normalization};
const struct operator_functions group_normalization_functions = {
    .role = ROLE_STEP,
    .upgrade = upgrade_group_normalization,
    .infer = infer_group_normalization,
    .evaluate = evaluate_group_normalization};

/* ---- LayerNormalization and RMSNormalization ---- */

/* Makes axis positive; false where it was reported. */
static bool settle_axis(struct node *n, int64_t otherwise)
{
    const struct shape *x = &n->inputs[0]->shape;
    int axis;

    if (x->axes < 0)
        return true;
    axis = infer_axis(n, x, node_int(n, "axis", otherwise));
    if (axis >= 0)
        node_set_int(n, "axis", axis);
    return axis >= 0;
}

static void infer_layer_normalization(struct node *n)
{
    const struct value *x = n->inputs[0];
    enum element_type stash = (enum element_type)node_int(n, "stash_type", TYPE_FLOAT32);
    struct shape statistics = x->shape;

    if (!type_is_float(stash)) {
        infer_fault(n, "its attribute stash_type is %lld, which is no floating-point type",
                    (long long)node_int(n, "stash_type", TYPE_FLOAT32));
        return;
    }
    if (!settle_axis(n, -1) || !infer_broadcasts_to(n, 1, &x->shape, "the scale") ||
        !infer_broadcasts_to(n, 2, &x->shape, "the bias"))
        return;
    /* Of an unknown number of axes an axis from the end is none yet. */
    for (int i = shape_axis(&x->shape, node_int(n, "axis", -1)); i >= 0 && i < statistics.axes; i++)
        statistics.dim[i] = 1;
    infer_output(n, 0, strcmp(n->op->name, "RMSNormalization") == 0 ? n->inputs[1]->type : x->type,
                 &x->shape);
    for (int i = 1; i < n->output_count; i++)
        infer_output(n, i, stash, &statistics);
}

static bool evaluate_layers(struct node *n, struct tensor *const *in, struct tensor **out,
                            struct arena *arena, struct arena *scratch, bool centred)
{
    struct context *c = n->graph->context;
    double epsilon = (double)node_float(n, "epsilon", 1e-5f);
    const struct shape *shape = &in[0]->shape;
    int axis = shape_axis(shape, node_int(n, "axis", -1));
    const double *x, *scale, *bias;
    void *payload[3] = {NULL};
    double *line;
    struct lines l;

    if (!type_is_real(in[0]->type) || axis < 0)
        return false;
    x = tensor_doubles(c, in[0], scratch);
    scale = broadcast(c, in[1], shape, scratch);
    bias = broadcast(c, n->input_count > 2 ? in[2] : NULL, shape, scratch);
    lines_init(&l, shape, axes_from(axis), scratch);
    line = NEW_ARRAY(scratch, l.length, double);
    for (int i = 0; i < n->output_count && i < 3; i++)
        if (n->outputs[i])
            out[i] = output_new(n, i, arena, &payload[i]);
    for (int64_t i = 0; i < l.count; i++) {
        double mean = 0, variance = 0, inverse;

        context_poll(c);
        if (centred) {
            moments(&l, x + l.start[i], &mean, &variance);
        } else {
            for (int64_t k = 0; k < l.length; k++)
                variance += x[l.start[i] + k] * x[l.start[i] + k];
            variance /= (double)l.length;
        }
        inverse = 1 / sqrt(variance + epsilon);
        for (int64_t k = 0; k < l.length; k++) {
            int64_t at = l.start[i] + k;

            line[k] = (x[at] - mean) * inverse * scale[at] + (bias ? bias[at] : 0);
        }
        if (payload[0])
            payload_store(payload[0], out[0]->type, l.start[i], line, l.length);
        if (payload[1])
            payload_store(payload[1], out[1]->type, i, &mean, 1);
        if (payload[2])
            payload_store(payload[2], out[2]->type, i, &inverse, 1);
    }
    return true;
}

static bool evaluate_layer_normalization(struct node *n, struct tensor *const *in,
                                         struct tensor **out, struct arena *arena,
                                         struct arena *scratch)
{
    return evaluate_layers(n, in, out, arena, scratch, true);
}

static bool evaluate_rms_normalization(struct node *n, struct tensor *const *in,
                                       struct tensor **out, struct arena *arena,
                                       struct arena *scratch)
{
    return evaluate_layers(n, in, out, arena, scratch, false);
}

const struct operator_functions layer_normalization_functions = {.role = ROLE_STEP,
                                                                 .infer = infer_layer_normalization,
                                                                 .evaluate =
                                                                     evaluate_layer_normalization};
const struct operator_functions rms_normalization_functions = {
    .role = ROLE_STEP, .infer = infer_layer_normalization, .evaluate = evaluate_rms_normalization};

/* ---- MeanVarianceNormalization and LpNormalization ---- */

static void infer_mean_variance(struct node *n)
{
    static const int64_t usual[] = {0, 2, 3};
    const struct shape *x = &n->inputs[0]->shape;
    int64_t settled[MAX_AXES];
    int count;
    const int64_t *axes = node_ints(n, "axes", &count);

    if (!axes) {
        axes = usual;
        count = 3;
    }
    if (x->axes >= 0) {
        if (count > MAX_AXES) {
            infer_fault(n, "its attribute axes has %d numbers", count);
            return;
        }
        for (int i = 0; i < count; i++) {
            int axis = infer_axis(n, x, axes[i]);

            if (axis < 0)
                return;
            settled[i] = axis;
        }
        node_set_ints(n, "axes", count, settled);
    }
    infer_like_input(n);
}

static bool evaluate_mean_variance(struct node *n, struct tensor *const *in, struct tensor **out,
                                   struct arena *arena, struct arena *scratch)
{
    struct context *c = n->graph->context;
    int count;
    const int64_t *axes = node_ints(n, "axes", &count);
    const double *x;
    unsigned mask = 0;
    struct lines l;
    void *payload;

    if (!type_is_real(in[0]->type))
        return false;
    for (int i = 0; i < count; i++)
        mask |= 1u << axes[i];
    x = tensor_doubles(c, in[0], scratch);
    lines_init(&l, &in[0]->shape, mask, scratch);
    out[0] = output_new(n, 0, arena, &payload);
    for (int64_t i = 0; i < l.count; i++) {
        double mean, variance;

        context_poll(c);
        moments(&l, x + l.start[i], &mean, &variance);
        for (int64_t k = 0; k < l.length; k++) {
            int64_t at = l.start[i] + l.offset[k];
            /* The addend is the definition's own, in its function body. */
            double y = (x[at] - mean) / (sqrt(variance) + 1e-9);

            payload_store(payload, out[0]->type, at, &y, 1);
        }
    }
    return true;
}

static void infer_lp_normalization(struct node *n)
{
    int64_t p = node_int(n, "p", 2);

    if (p != 1 && p != 2) {
        infer_fault(n, "its attribute p is %lld instead of 1 or 2", (long long)p);
        return;
    }
    if (settle_axis(n, -1))
        infer_like_input(n);
}

static bool evaluate_lp_normalization(struct node *n, struct tensor *const *in, struct tensor **out,
                                      struct arena *arena, struct arena *scratch)
{
    struct context *c = n->graph->context;
    int axis = shape_axis(&in[0]->shape, node_int(n, "axis", -1));
    bool squares = node_int(n, "p", 2) == 2;
    const double *x;
    struct lines l;
    void *payload;

    if (!type_is_real(in[0]->type) || axis < 0)
        return false;
    x = tensor_doubles(c, in[0], scratch);
    lines_init(&l, &in[0]->shape, 1u << axis, scratch);
    out[0] = output_new(n, 0, arena, &payload);
    for (int64_t i = 0; i < l.count; i++) {
        double norm = 0;

        context_poll(c);
        for (int64_t k = 0; k < l.length; k++) {
            double v = x[l.start[i] + l.offset[k]];

            norm += squares ? v * v : fabs(v);
        }
        norm = squares ? sqrt(norm) : norm;
        for (int64_t k = 0; k < l.length; k++) {
            int64_t at = l.start[i] + l.offset[k];
            double y = norm == 0 ? 0 : x[at] / norm;

            payload_store(payload, out[0]->type, at, &y, 1);
        }
    }
    return true;
}

const struct operator_functions mean_variance_normalization_functions = {
    .role = ROLE_STEP, .infer = infer_mean_variance, .evaluate = evaluate_mean_variance};
const struct operator_functions lp_normalization_functions = {
    .role = ROLE_STEP, .infer = infer_lp_normalization, .evaluate = evaluate_lp_normalization};

/* ---- LRN ---- */

static void infer_lrn(struct node *n)
{
    const struct shape *x = &n->inputs[0]->shape;

    if (node_int(n, "size", 0) < 1 || node_int(n, "size", 0) > INT32_MAX) {
        infer_fault(n, "its attribute size is %lld", (long long)node_int(n, "size", 0));
        return;
    }
    if (x->axes >= 0 && x->axes < 2) {
        infer_fault(n, "its input has %d axes; it needs a batch and channels", x->axes);
        return;
    }
    infer_like_input(n);
}

static bool evaluate_lrn(struct node *n, struct tensor *const *in, struct tensor **out,
                         struct arena *arena, struct arena *scratch)
{
    struct context *c = n->graph->context;
    int64_t size = node_int(n, "size", 1), before = (size - 1) / 2, after = size - 1 - before;
    double alpha = (double)node_float(n, "alpha", 1e-4f) / (double)size;
    double beta = (double)node_float(n, "beta", 0.75f), bias = (double)node_float(n, "bias", 1);
    const double *x;
    struct lines l;
    void *payload;

    if (!type_is_real(in[0]->type) || size < 1)
        return false;
    x = tensor_doubles(c, in[0], scratch);
    lines_init(&l, &in[0]->shape, 1u << 1, scratch);
    out[0] = output_new(n, 0, arena, &payload);
    for (int64_t i = 0; i < l.count; i++) {
        context_poll(c);
        for (int64_t k = 0; k < l.length; k++) {
            int64_t first = k > before ? k - before : 0;
            int64_t last = k + after < l.length ? k + after : l.length - 1;
            double sum = 0, y;

            for (int64_t j = first; j <= last; j++) {
                double v = x[l.start[i] + l.offset[j]];

                sum += v * v;
            }
            y = x[l.start[i] + l.offset[k]] / pow(bias + alpha * sum, beta);
            payload_store(payload, out[0]->type, l.start[i] + l.offset[k], &y, 1);
        }
    }
    return true;
}

/* Squares are added to bias, which is 1 in all models that were ever seen. */
static void lrn_range(const struct node *n, int output, const struct range *in, struct range *out)
{
    double bias = (double)node_float(n, "bias", 1), alpha = (double)node_float(n, "alpha", 1e-4f),
           beta = (double)node_float(n, "beta", 0.75f);

    (void)output;
    if (bias > 0 && alpha >= 0 && beta >= 0) {
        *out = range_scale(range_hull(in[0], range_make(0, 0)), pow(bias, -beta) * (1 + 1e-5));
        out->usual = in[0].usual;
    } else {
        out->excess = EXCESS_DIVISION;
    }
}

const struct operator_functions lrn_functions = {.role = ROLE_STEP,
                                                 .range = lrn_range,
                                                 .lower = lower_lrn,
                                                 .packed = packed_channels,
                                                 .infer = infer_lrn,
                                                 .evaluate = evaluate_lrn};
