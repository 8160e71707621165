/*
 * Quantised weights that are held as 16 bits (R11), one warning a layer: which form of weights, or
 * which layer, does not go together with fewer.
 */
#include "daemon/compiler/limits/limits.h"
#include "daemon/compiler/operators/operator.h"
#include "daemon/compiler/operators/quantize.h"
#include "daemon/compiler/passes/pass.h"
#include <inttypes.h>
#include <string.h>

/* The node that made v, whether it still stands or has become a recipe. */
static const struct node *maker(const struct value *v)
{
    return v->constant && v->constant->deferred ? v->constant->deferred : v->producer;
}

/* The DequantizeLinear that v comes from, and which axis of v its scales run along; *axis -1: none
 * that could be told. */
static const struct node *source_of(const struct value *v, int *axis)
{
    int from[MAX_AXES], axes = v->shape.axes;
    const struct node *n = maker(v);

    for (int a = 0; a < axes; a++)
        from[a] = a;
    for (; n && !node_is(n, "DequantizeLinear"); n = maker(n->inputs[0])) {
        int count;
        const int64_t *perm = node_is(n, "Transpose") ? node_ints(n, "perm", &count) : NULL;

        for (int a = 0; a < axes; a++)
            if (node_is(n, "Transpose"))
                from[a] = from[a] < 0 ? -1 : perm ? (int)perm[from[a]] : axes - 1 - from[a];
            else if (!node_is(n, "Identity"))
                from[a] = -1;
    }
    *axis = -1;
    for (int a = 0; n && a < axes; a++)
        if (from[a] >= 0 && from[a] == shape_axis(&n->inputs[0]->shape, node_int(n, "axis", 1)))
            *axis = a;
    return n;
}

/* Axes of the weights of n along which its outputs lie, and what it sums over. */
static bool weight_axes(const struct node *n, int slot, int *output, int *input)
{
    bool conv = node_is(n, "Conv"), gemm = node_is(n, "Gemm");

    if (slot != 1 || !(conv || gemm || (node_is(n, "MatMul") && n->inputs[1]->shape.axes == 2)))
        return false;
    *output = conv || (gemm && node_int(n, "transB", 0)) ? 0 : 1;
    *input = 1 - *output;
    return true;
}

/* A clause; *advice: what to change, "" where nothing helps. */
static const char *reason(const struct node *n, int slot, const struct node *source, int axis,
                          const char **advice)
{
    struct arena *a = &n->graph->context->arena;
    struct quantization q;
    const char *why;
    int output, input;

    *advice = "";
    if (!weight_axes(n, slot, &output, &input))
        return "only Conv, MatMul and Gemm read weights of fewer bits, as their second input";
    if (node_is(n, "Conv") && node_int(n, "group", 1) != 1)
        return "the convolution has groups";
    *advice = "Quantise with one scale an output channel, or in blocks along the input";
    if (!quantization_read(source, &source->inputs[0]->shape, &source->inputs[1]->shape, &q, &why))
        return why;
    if (q.kind != QUANTIZED_WHOLE && axis < 0)
        return "they are reshaped before they are read";
    if (q.kind == QUANTIZED_BLOCKS && axis != input)
        return "their blocks run along the output channels";
    if (q.kind == QUANTIZED_BLOCKS && q.block % 4)
        return arena_printf(a, "blocks of %" PRId64 " are no multiple of 4", q.block);
    if (q.kind == QUANTIZED_AXIS && axis != output)
        return "their scales run along the input, one each";
    *advice = "";
    return "products with fewer bits are not computed yet";
}

static bool judge(const struct node *n, int slot)
{
    const struct value *v = n->inputs[slot];
    const struct node *source;
    struct place place = node_place(n);
    const char *advice, *why, *name;
    int axis;

    if (!v || !v->constant || !constant_is_quantised(v) || !(source = source_of(v, &axis)) ||
        source->inputs[0]->type == TYPE_INT32)
        return false;
    why = reason(n, slot, source, axis, &advice);
    name = source->inputs[0]->name;
    diagnose(n->graph->context, &place, TUKI0123, advice,
             "its weights%s%s, of %d bits, are held as 16 bits: %s", *name ? " " : "", name,
             type_bits(source->inputs[0]->type), why);
    return true;
}

void report_weights(struct graph *g)
{
    for (int i = 0; i < g->node_count; i++) {
        const struct node *n = g->nodes[i];
        bool told =
            n->removed || !n->op || !n->output_count || !n->outputs[0] || n->outputs[0]->constant;

        for (int k = 0; !told && k < n->input_count; k++)
            told = judge(n, k);
    }
}
