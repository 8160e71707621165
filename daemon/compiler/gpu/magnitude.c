#include "daemon/compiler/gpu/magnitude.h"
#include "daemon/compiler/gpu/kernel.h"
#include "daemon/compiler/operators/operator.h"
#include <math.h>
#include <string.h>

/* From here on a value is stored smaller, so that its usual size becomes about TARGET. */
static const double LARGE = 2048, TARGET = 64, USUAL_INPUT = 4;
/* An estimate may be wrong: with 2^-8, what is smaller than it by 2^8 than thought still keeps all
 * its bits. */
enum { GREATEST_EXPONENT = 8 };

/* Root of the sum of squares over the constant's elements that make one output, in the mean of all
 * outputs. */
static double weight_norm(struct context *c, const struct node *n)
{
    const struct shape *s = &n->inputs[1]->shape;
    bool product = !strcmp(n->op->name, "MatMul"),
         transposed = !strcmp(n->op->name, "ConvTranspose");
    /* Outputs lie along the last axis of a matrix, along axis 1 of [C, M / group, …], else along
     * axis 0. */
    double outputs = (double)s->dim[product ? s->axes - 1 : transposed ? 1 : 0];

    if (product && s->axes > 2)
        outputs *= (double)shape_product(s, 0, s->axes - 2);
    return sqrt(tensor_square_sum(c, n->inputs[1]->constant) / outputs);
}

/* The largest of all styles. */
static double constant_size(struct context *c, const struct value *v)
{
    struct arena *scratch;
    const float *f;
    double size = 0;
    int style = c->style;

    if (v->constant->count > 65536)
        return 1;
    scratch = arena_child(&c->arena);
    for (int s = 0; s < (v->constant->varies ? c->styles : 1); s++) {
        c->style = v->constant->varies ? s : style;
        f = tensor_floats(c, v->constant, scratch);
        for (int64_t i = 0; i < v->constant->count; i++)
            size = fmax(size, fabs((double)f[i]));
    }
    c->style = style;
    arena_free(scratch);
    return fmin(size, 65504);
}

static double size_of(struct context *c, const struct value *v)
{
    return !v ? 0 : v->constant ? constant_size(c, v) : v->plan ? spot_of(v)->size : USUAL_INPUT;
}

static double node_size(struct context *c, const struct node *n)
{
    const char *op = n->op->name;
    double greatest = 0, sum = 0;

    if (!strcmp(op, "Conv") || !strcmp(op, "ConvTranspose") ||
        (!strcmp(op, "MatMul") && n->inputs[1]->constant)) {
        double bias = size_of(c, node_input(n, 2));

        return size_of(c, n->inputs[0]) * weight_norm(c, n) + bias;
    }
    if (!strcmp(op, "Mul"))
        return size_of(c, n->inputs[0]) * size_of(c, n->inputs[1]);
    if (!strcmp(op, "MatMul")) {
        const struct shape *s = &n->inputs[0]->shape;

        return size_of(c, n->inputs[0]) * size_of(c, n->inputs[1]) *
               sqrt((double)s->dim[s->axes - 1]);
    }
    if (!strcmp(op, "Sigmoid") || !strcmp(op, "Tanh") || !strcmp(op, "Erf") ||
        !strcmp(op, "HardSigmoid") || !strcmp(op, "Exp") || !strcmp(op, "Sin") ||
        !strcmp(op, "Cos"))
        return 1;
    if (!strcmp(op, "NormStatistics") || !strcmp(op, "SoftmaxStatistics") ||
        !strcmp(op, "Component"))
        return USUAL_INPUT;
    for (int i = 0; i < n->input_count; i++) {
        double size;

        /* Shapes, axes and indices have no size. */
        if (!n->inputs[i] || type_is_integer(n->inputs[i]->type))
            continue;
        size = size_of(c, n->inputs[i]);
        greatest = fmax(greatest, size);
        sum += size;
    }
    if (!strcmp(op, "Add") || !strcmp(op, "Sub") || !strcmp(op, "Sum"))
        return sum;
    if (!strcmp(op, "Div") || !strcmp(op, "Reciprocal") || !strcmp(op, "Clip"))
        return fmin(size_of(c, n->inputs[0]), 65504);
    return greatest;
}

void plan_magnitudes(struct plan *p)
{
    struct graph *g = p->graph;

    for (int i = 0; i < g->input_count; i++)
        if (g->inputs[i]->plan)
            spot_of(g->inputs[i])->size = USUAL_INPUT;
    for (int i = 0; i < g->node_count; i++) {
        struct node *n = g->nodes[i];
        double size;

        if (!n->mark)
            continue;
        context_poll(p->context);
        size = fmin(node_size(p->context, n), 1e9);
        for (int o = 0; o < n->output_count; o++) {
            struct value *v = n->outputs[o];

            if (!v || !v->plan)
                continue;
            spot_of(v)->size = size;
            if (size > LARGE && !v->output_count && spot_of(v)->placement == PLACED_BUFFER)
                spot_of(v)->exponent = (int)fmin(ceil(log2(size / TARGET)), GREATEST_EXPONENT);
        }
    }
}
