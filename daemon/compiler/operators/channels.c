/*
 * Operators that only passes make, to write down how folded constants come about. They stand in
 * recipes, never in a graph that is compiled or written.
 *
 * ScaleChannels(W float32, s float64 [channels]): W times s along its channels, in float64, rounded
 * once. Attributes axis (of the channels in W) and group (ConvTranspose: axis 1 counts the channels
 * of one group, axis 0 runs through the groups' inputs). Narrow(x float64): x rounded to float32.
 */
#include "daemon/compiler/operators/operator.h"

static void scale_channels_infer(struct node *n)
{
    infer_output(n, 0, TYPE_FLOAT32, &n->inputs[0]->shape);
}

static bool scale_channels_evaluate(struct node *n, struct tensor *const *in, struct tensor **out,
                                    struct arena *arena, struct arena *scratch)
{
    struct context *c = n->graph->context;
    const float *weights = tensor_floats(c, in[0], scratch);
    const double *scale = tensor_doubles(c, in[1], scratch);
    const struct shape *s = &in[0]->shape;
    int axis = (int)node_int(n, "axis", 0);
    int64_t group = node_int(n, "group", 1);
    int64_t inner = shape_product(s, axis + 1, s->axes), channels = s->dim[axis];
    int64_t outer = shape_product(s, 0, axis);
    void *data;

    out[0] = tensor_new(arena, TYPE_FLOAT32, s, &data);
    float *result = data;
    for (int64_t o = 0; o < outer; o++)
        for (int64_t ch = 0; ch < channels; ch++) {
            int64_t first = group > 1 ? o / (outer / group) * channels : 0;
            double factor = scale[first + ch];
            int64_t at = (o * channels + ch) * inner;

            for (int64_t i = 0; i < inner; i++)
                result[at + i] = (float)((double)weights[at + i] * factor);
        }
    return true;
}

const struct operator_functions scale_channels_functions = {
    .role = ROLE_NONE, .infer = scale_channels_infer, .evaluate = scale_channels_evaluate};

static void narrow_infer(struct node *n)
{
    infer_output(n, 0, TYPE_FLOAT32, &n->inputs[0]->shape);
}

static bool narrow_evaluate(struct node *n, struct tensor *const *in, struct tensor **out,
                            struct arena *arena, struct arena *scratch)
{
    const double *numbers = tensor_doubles(n->graph->context, in[0], scratch);
    void *data;

    out[0] = tensor_new(arena, TYPE_FLOAT32, &in[0]->shape, &data);
    for (int64_t i = 0; i < in[0]->count; i++)
        ((float *)data)[i] = (float)numbers[i];
    return true;
}

const struct operator_functions narrow_functions = {
    .role = ROLE_NONE, .infer = narrow_infer, .evaluate = narrow_evaluate};
