/*
 * y = x * s + t with one s and t a channel, where x is the result of Conv, ConvTranspose, Gemm or
 * MatMul over constant weights: s goes into the weights, t into the bias.
 *
 * The new weights are a recipe (operators/channels.c): weights times s, in float64, rounded once,
 * also where several such layers follow each other. The old constants stay as they are, for whoever
 * else reads them.
 *
 * Not folded: where x has other readers or is an output; where weights may be kept at 8 or 4 bits;
 * where all weights of a channel would leave what 16 bits hold (65504 and 2^-24), which the factor
 * by itself may survive.
 */
#include "daemon/compiler/graph/accept.h"
#include "daemon/compiler/graph/floats.h"
#include "daemon/compiler/graph/half.h"
#include "daemon/compiler/operators/operator.h"
#include "daemon/compiler/passes/pass.h"
#include <math.h>
#include <string.h>

/* The layer that is folded into. */
struct target {
    struct node *node;
    struct value *weights, *bias; /* bias: NULL where there is none */
    int weight_axis;              /* of the channels in the weights */
    int64_t group;                /* of a ConvTranspose, else 1 */
    int channel_axis;             /* in the result */
    int64_t channels;
    bool takes_bias;
};

/* What is folded. Both have one entry a channel, style after style where constants differ between
 * styles; in scratch. */
struct affine {
    double *scale, *shift;
    bool scales, shifts;
};

/* Where numbers are read: once, or for each style in turn. What is decided holds for all of them.
 */
struct turns {
    struct context *context;
    int count, style; /* style: the job's own */
};

static struct turns turns_begin(const struct target *t, const struct node *n)
{
    struct context *c = n->graph->context;

    return (struct turns){c, node_varies(n) || node_varies(t->node) ? c->styles : 1, c->style};
}

static void turns_to(const struct turns *turns, int turn)
{
    if (turns->count > 1)
        turns->context->style = turn;
}

static void turns_end(const struct turns *turns)
{
    turns->context->style = turns->style;
}

static bool find_target(const struct value *x, struct target *t)
{
    struct node *n = x->producer;
    const struct shape *w;

    if (!n || n->removed || x->poisoned || x->constant || !value_only_reader(x) ||
        !node_input(n, 1) || !shape_known(&x->shape))
        return false;
    *t = (struct target){.node = n, .weights = n->inputs[1], .group = 1, .takes_bias = true};
    w = &t->weights->shape;
    if (!t->weights->constant || t->weights->type != TYPE_FLOAT32 || x->type != TYPE_FLOAT32)
        return false;
    if (node_is(n, "Conv")) {
        t->bias = node_input(n, 2);
        t->channel_axis = 1;
    } else if (node_is(n, "ConvTranspose")) {
        t->bias = node_input(n, 2);
        t->weight_axis = t->channel_axis = 1;
        t->group = node_int(n, "group", 1);
        if (t->group < 1 || w->axes < 3 || w->dim[0] % t->group)
            return false;
    } else if (node_is(n, "Gemm")) {
        t->bias = node_input(n, 2);
        t->weight_axis = node_int(n, "transB", 0) ? 0 : 1;
        t->channel_axis = 1;
    } else if (node_is(n, "MatMul") && w->axes == 2 && x->shape.axes >= 1) {
        t->weight_axis = 1;
        t->channel_axis = x->shape.axes - 1;
        t->takes_bias = false;
    } else {
        return false;
    }
    if (t->channel_axis >= x->shape.axes || t->weight_axis >= w->axes)
        return false;
    t->channels = x->shape.dim[t->channel_axis];
    return w->dim[t->weight_axis] * t->group == t->channels && t->channels > 0 &&
           (!t->bias || (t->bias->constant && t->bias->type == TYPE_FLOAT32));
}

/* Whether constant v has one element, or one a channel, when it is broadcast to the result. */
static bool lines_up(const struct value *v, const struct target *t, const struct shape *result)
{
    int64_t count = shape_count(&v->shape);

    if (!v->constant || v->shape.axes > result->axes || (count != 1 && count != t->channels))
        return false;
    for (int i = 0; i < v->shape.axes; i++)
        if (v->shape.dim[i] != 1 && i + result->axes - v->shape.axes != t->channel_axis)
            return false;
    return true;
}

static struct affine affine_new(const struct target *t, int turns, struct arena *scratch)
{
    struct affine a = {NEW_ARRAY(scratch, turns * t->channels, double),
                       NEW_ARRAY(scratch, turns * t->channels, double), false, false};

    for (int64_t i = 0; i < turns * t->channels; i++)
        a.scale[i] = 1;
    return a;
}

/* Of one style. */
static struct affine affine_of(const struct affine *a, const struct target *t, int turn)
{
    return (struct affine){a->scale + turn * t->channels, a->shift + turn * t->channels, a->scales,
                           a->shifts};
}

/* semantics of BatchNormalization, opset 15: (x - mean) / sqrt(var + epsilon) * scale + B */
static bool read_batchnorm(struct node *n, const struct target *t, struct affine *a,
                           struct arena *scratch)
{
    struct context *c = n->graph->context;
    double epsilon = (double)node_float(n, "epsilon", 1e-5f);
    const double *list[5] = {NULL};

    if (node_int(n, "training_mode", 0) || !node_int(n, "spatial", 1) || t->channel_axis != 1)
        return false;
    for (int i = 1; i < n->output_count; i++)
        if (n->outputs[i] && (n->outputs[i]->reader_count || n->outputs[i]->output_count))
            return false;
    for (int i = 1; i < 5; i++) {
        const struct value *v = node_input(n, i);

        if (!v || !v->constant || shape_count(&v->shape) != t->channels)
            return false;
        list[i] = tensor_doubles(c, v->constant, scratch);
    }
    for (int64_t i = 0; i < t->channels; i++) {
        a->scale[i] = list[1][i] / sqrt(list[4][i] + epsilon);
        a->shift[i] = list[2][i] - list[3][i] * a->scale[i];
        if (!isfinite(a->scale[i]) || !isfinite(a->shift[i]))
            return false;
    }
    a->scales = a->shifts = true;
    return true;
}

/* Mul, Div, Add, Sub with a constant. A constant that 16 bits cannot hold is left for the checks to
 * see (R16). */
static bool read_arithmetic(struct node *n, const struct value *x, const struct target *t,
                            struct affine *a, struct arena *scratch)
{
    struct context *c = n->graph->context;
    bool mul = node_is(n, "Mul"), div = node_is(n, "Div"), add = node_is(n, "Add"),
         sub = node_is(n, "Sub");
    int slot = node_input(n, 0) == x ? 1 : 0;
    const struct value *v = node_input(n, slot);

    if (!(mul || div || add || sub) || !v || v == x || !lines_up(v, t, &x->shape) ||
        (div && slot == 0) || !shape_equal(&n->outputs[0]->shape, &x->shape))
        return false;
    const double *numbers = tensor_doubles(c, v->constant, scratch);
    for (int64_t i = 0; i < t->channels; i++) {
        double number = numbers[v->constant->count == 1 ? 0 : i], size;

        if (div)
            number = 1 / number;
        size = fabs(number);
        if (!(size <= LARGEST_HALF) || ((mul || div) && size > 0 && size < SMALLEST_HALF))
            return false;
        if (mul || div)
            a->scale[i] = number;
        else
            a->shift[i] = sub && slot == 1 ? -number : number;
        if (sub && slot == 0)
            a->scale[i] = -1;
    }
    a->scales = mul || div || (sub && slot == 0);
    a->shifts = add || sub;
    return true;
}

/* A constant as the node `op` over constants would make it: a recipe, not evaluated here. */
static struct value *recipe(struct target *t, const char *op, const char *name,
                            struct value *const *inputs, int count)
{
    struct graph *g = t->node->graph;
    struct node *n = graph_node_like(g, operator_get(g->context, op), t->node, inputs, count, 1);
    struct value *v = n->outputs[0];

    if (!strcmp(op, "ScaleChannels")) {
        node_set_int(n, "axis", t->weight_axis);
        node_set_int(n, "group", t->group);
    }
    infer_node(n);
    v->name = name;
    v->label = (struct label){name, strlen(name)};
    v->producer = NULL;
    node_remove(n);
    return v;
}

/* A constant of one entry a channel. */
static struct value *doubles(const struct target *t, const struct turns *turns,
                             const double *numbers)
{
    struct context *c = turns->context;
    struct shape shape = {.axes = 1, .dim = {t->channels}};
    struct tensor **of = NEW_ARRAY(&c->arena, turns->count, struct tensor *);
    void *data;

    for (int i = 0; i < turns->count; i++) {
        of[i] = tensor_new(&c->arena, TYPE_FLOAT64, &shape, &data);
        memcpy(data, numbers + i * t->channels, of[i]->bytes);
    }
    return graph_constant(t->node->graph, "",
                          turns->count > 1 ? tensor_of_styles(c, t->node->name, t->node, 1, of)
                                           : of[0]);
}

/* The recipe of that kind which made v, so that what is folded on top of it is rounded once. */
static const struct node *made_by(const struct value *v, const char *op)
{
    const struct node *n = v && v->constant ? v->constant->deferred : NULL;

    return n && !strcmp(n->op_type, op) && !strcmp(n->domain, OPERATOR_INTERNAL) ? n : NULL;
}

/* The weights before any folding, and a->scale times what was folded into them. */
static struct value *base_weights(const struct target *t, const double *scale, double *product,
                                  struct arena *scratch)
{
    const struct node *made = made_by(t->weights, "ScaleChannels");
    const double *before = NULL;

    if (made && made->inputs[1]->constant->count == t->channels &&
        node_int(made, "axis", 0) == t->weight_axis && node_int(made, "group", 1) == t->group)
        before = tensor_doubles(t->node->graph->context, made->inputs[1]->constant, scratch);
    for (int64_t i = 0; i < t->channels; i++)
        product[i] = scale[i] * (before ? before[i] : 1);
    return before ? made->inputs[0] : t->weights;
}

/* Whether each channel keeps a weight that 16 bits hold, and none that they do not. *square_sum
 * and *row_sum (of tensor_row_sum()) become those of the folded weights where they are less. */
static bool fits_half(const struct target *t, const struct value *weights, const double *scale,
                      double *square_sum, double *row_sum)
{
    struct context *c = t->node->graph->context;
    struct arena *scratch = arena_child(&c->arena);
    const struct tensor *w = weights->constant;
    const struct shape *s = &weights->shape;
    int64_t inner = shape_product(s, t->weight_axis + 1, s->axes), each = s->dim[t->weight_axis];
    int64_t outer = shape_product(s, 0, t->weight_axis);
    double *largest = NEW_ARRAY(scratch, t->channels, double);
    double *sums = NEW_ARRAY(scratch, each + 1, double);
    bool known = w->rows && t->weight_axis == 0, parts = tensor_has_parts(w), fits = true;
    const float *all = known || parts ? NULL : tensor_floats(c, w, scratch);
    /* Many short channels are read at once: a system call each would cost more than the bytes. */
    int64_t runs = outer * each, at_once = inner ? (1 << 16) / inner + 1 : 1;
    float *part = !known && parts ? NEW_ARRAY(scratch, at_once * inner, float) : NULL;

    double sum = 0;
    for (int64_t r = 0; r < runs; r++) {
        int64_t o = r / each,
                channel = (t->group > 1 ? o / (outer / t->group) * each : 0) + r % each;
        struct floats_figures f;

        if (part && r % at_once == 0)
            tensor_floats_part(c, w, r * inner, (runs - r < at_once ? runs - r : at_once) * inner,
                               part);
        f = known ? w->rows[r]
                  : floats_figures(part ? part + r % at_once * inner : all + r * inner,
                                   (size_t)inner);
        largest[channel] = fmax(largest[channel], (double)f.largest);
        sum += f.square_sum * scale[channel] * scale[channel];
        sums[r % each] += f.sum * fabs(scale[channel]);
        *row_sum = fmax(*row_sum, sums[r % each]);
    }
    *square_sum = fmax(*square_sum, sum);
    for (int64_t i = 0; i < t->channels && fits; i++) {
        double folded = largest[i] * fabs(scale[i]);

        fits = folded <= LARGEST_HALF && (folded == 0 || folded >= SMALLEST_HALF);
    }
    arena_free(scratch);
    return fits;
}

/* The bias before, in float64, one entry a channel; false where it is not one a channel (a Gemm's C
 * may be anything that broadcasts). */
static bool base_bias(const struct target *t, double *bias, struct arena *scratch)
{
    struct context *c = t->node->graph->context;
    const struct node *made = made_by(t->bias, "Narrow");
    double beta = node_is(t->node, "Gemm") ? (double)node_float(t->node, "beta", 1) : 1;
    const double *numbers;
    const struct value *v = made ? made->inputs[0] : t->bias;

    if (!t->bias)
        return true;
    if (shape_count(&v->shape) != 1 &&
        (shape_count(&v->shape) != t->channels || v->shape.dim[v->shape.axes - 1] != t->channels))
        return false;
    numbers = tensor_doubles(c, v->constant, scratch);
    for (int64_t i = 0; i < t->channels; i++)
        bias[i] = beta * numbers[v->constant->count == 1 ? 0 : i];
    return true;
}

/* What a node without a bias cannot take stays behind it as an Add. */
static void leave_shift(struct target *t, struct node *n, struct value *x,
                        const struct turns *turns, const struct affine *a)
{
    struct graph *g = n->graph;
    struct value *shift = doubles(t, turns, a->shift), *add_inputs[2] = {x, NULL};
    struct node *add;

    add_inputs[1] = recipe(t, "Narrow", n->name, &shift, 1);
    add = graph_node_like(g, operator_get(g->context, "Add"), n, add_inputs, 2, 1);
    infer_node(add);
    pass_replace(n, add->outputs[0]);
}

static bool fold_into(struct target *t, struct node *n, struct value *x, const struct turns *turns,
                      struct affine *all, struct arena *scratch)
{
    struct graph *g = n->graph;
    double *scales = NEW_ARRAY(scratch, turns->count * t->channels, double);
    double *biases = NEW_ARRAY(scratch, turns->count * t->channels, double);
    const char *bias_name =
        t->bias ? t->bias->name : arena_printf(&g->context->arena, "%s.bias", t->node->name);
    struct value *weights = t->weights, *inputs[2];
    double square_sum = 0, row_sum = 0;

    if (all->scales && constant_is_quantised(t->weights))
        return false;
    for (int turn = 0; turn < turns->count; turn++) {
        struct affine a = affine_of(all, t, turn);
        double *scale = scales + turn * t->channels, *bias = biases + turn * t->channels;

        turns_to(turns, turn);
        if (!base_bias(t, bias, scratch))
            return false;
        if (a.scales) {
            weights = base_weights(t, a.scale, scale, scratch);
            if (!fits_half(t, weights, scale, &square_sum, &row_sum))
                return false;
        }
        for (int64_t i = 0; i < t->channels; i++) {
            bias[i] = bias[i] * a.scale[i] + a.shift[i];
            if (t->takes_bias && !isfinite((float)bias[i]))
                return false;
        }
    }
    turns_end(turns);
    if (all->scales) {
        inputs[0] = weights;
        inputs[1] = doubles(t, turns, scales);
        node_set_input(t->node, 1, recipe(t, "ScaleChannels", t->weights->name, inputs, 2));
        t->node->inputs[1]->constant->square_sum = square_sum;
        t->node->inputs[1]->constant->summed = true;
        tensor_set_row_sum(
            t->node->inputs[1]->constant, shape_product(&t->weights->shape, 0, t->weight_axis),
            t->weights->shape.dim[t->weight_axis],
            shape_product(&t->weights->shape, t->weight_axis + 1, t->weights->shape.axes), row_sum);
    }
    if (t->takes_bias && (t->bias || all->shifts)) {
        inputs[0] = doubles(t, turns, biases);
        node_set_input(t->node, 2, recipe(t, "Narrow", bias_name, inputs, 1));
        if (node_is(t->node, "Gemm"))
            node_unset(t->node, "beta");
    }
    if (!t->takes_bias && all->shifts)
        leave_shift(t, n, x, turns, all);
    else
        pass_replace(n, x);
    return true;
}

/* What n does, read for each style; false where it is nothing that can be folded into t. */
static bool read_affine(struct node *n, const struct value *x, const struct target *t,
                        const struct turns *turns, struct affine *all, struct arena *scratch)
{
    bool batchnorm = node_is(n, "BatchNormalization"), good = true;

    for (int turn = 0; good && turn < turns->count; turn++) {
        struct affine a = affine_of(all, t, turn);

        turns_to(turns, turn);
        good = batchnorm ? read_batchnorm(n, t, &a, scratch)
                         : read_arithmetic(n, x, t, &a, scratch) && (t->takes_bias || !a.shifts);
        all->scales = a.scales;
        all->shifts = a.shifts;
    }
    turns_end(turns);
    return good;
}

static bool fold_node(struct node *n)
{
    struct context *c = n->graph->context;
    struct arena *scratch;
    struct target t;
    bool batchnorm = node_is(n, "BatchNormalization"), folded = false;

    if (n->removed || !n->output_count || !n->outputs[0] || n->outputs[0]->poisoned)
        return false;
    for (int slot = 0; slot < (batchnorm ? 1 : 2) && !folded; slot++) {
        struct value *x = node_input(n, slot);

        if (!x || !find_target(x, &t))
            continue;
        struct turns turns = turns_begin(&t, n);
        scratch = arena_child(&c->arena);
        struct affine all = affine_new(&t, turns.count, scratch);
        folded = read_affine(n, x, &t, &turns, &all, scratch) &&
                 fold_into(&t, n, x, &turns, &all, scratch);
        turns_end(&turns);
        arena_free(scratch);
    }
    return folded;
}

int pass_batchnorm(struct graph *g)
{
    int changes = 0;

    /* Scales of an 8-bit model belong to its steps. */
    if (graph_quantised(g))
        return 0;
    /* In order, so that a chain of such layers melts into the first. */
    for (int i = 0, count = g->node_count; i < count; i++) {
        context_poll(g->context);
        changes += fold_node(g->nodes[i]);
    }
    return changes;
}
