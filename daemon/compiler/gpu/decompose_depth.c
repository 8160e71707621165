/*
 * DepthToSpace after a convolution. Four channels of one place of the result lie blocksize *
 * blocksize channels apart in what the convolution computes (mode CRD), or are not a whole group of
 * four. With the filters in another order, and filters of zeros in between, they are one cell: the
 * result is read in fours, and mostly computed in the convolution's own kernel.
 */
#include "daemon/compiler/gpu/make.h"
#include "daemon/compiler/operators/operator.h"
#include "daemon/compiler/passes/pass.h"
#include <string.h>

enum { MOST_BETWEEN = 8 };

/* f(x) element by element, with the same f for all. */
static bool is_uniform(const struct node *n)
{
    if (!n->op || n->op->functions->role != ROLE_ELEMENTWISE || n->output_count != 1 ||
        !n->input_count || !n->inputs[0] || n->inputs[0]->constant)
        return false;
    for (int i = 1; i < n->input_count; i++)
        if (n->inputs[i] && (!n->inputs[i]->constant || n->inputs[i]->constant->count != 1))
            return false;
    return true;
}

static void copy_attributes(struct node *to, const struct node *from)
{
    for (int i = 0; i < from->attribute_count; i++)
        APPEND(&to->graph->context->arena, to->attributes, to->attribute_count,
               to->attribute_room) = from->attributes[i];
}

/* Filters (axis 0 of v) as [block, channel + zeros] instead of [channel, block] or [block,
 * channel]. */
static struct value *reordered(struct node *n, struct value *v, int64_t blocks, int64_t channels,
                               int64_t zeros, bool crd)
{
    static const int64_t swap[] = {1, 0, 2};
    struct shape s = v->shape, three;
    int64_t rest = shape_product(&s, 1, s.axes);

    three = shape_of(3, (const int64_t[]){crd ? channels : blocks, crd ? blocks : channels, rest});
    v = make_reshaped(n, v, &three);
    if (crd)
        v = make_transposed(n, v, 3, swap);
    if (zeros)
        v = make_padded(n, v, 1, 0, zeros, 0);
    s.dim[0] = blocks * (channels + zeros);
    return make_reshaped(n, v, &s);
}

struct value *decompose_depth(struct node *n)
{
    struct node *between[MOST_BETWEEN], *conv, *made;
    struct value *v = n->inputs[0], *inputs[3] = {0};
    int64_t b = node_int(n, "blocksize", 1), channels = n->outputs[0]->shape.dim[1];
    int64_t zeros = (4 - channels % 4) % 4;
    bool crd = channels > 1 && !strcmp(node_string(n, "mode", "DCR"), "CRD");
    int count = 0;

    if ((!crd && !zeros) || (zeros && channels < 3))
        return NULL;
    while (v->producer && value_only_reader(v) && is_uniform(v->producer) && count < MOST_BETWEEN) {
        between[count++] = v->producer;
        v = v->producer->inputs[0];
    }
    conv = v->producer;
    if (!conv || !conv->op || strcmp(conv->op->name, "Conv") || !value_only_reader(v) ||
        node_int(conv, "group", 1) != 1 || !conv->inputs[1]->constant ||
        constant_is_quantised(conv->inputs[1]) ||
        (node_input(conv, 2) && !conv->inputs[2]->constant))
        return NULL;
    inputs[0] = conv->inputs[0];
    for (int i = 1; i < 3; i++)
        if (node_input(conv, i))
            inputs[i] = reordered(n, conv->inputs[i], b * b, channels, zeros, crd);
    made = make_node(conv, "Conv", inputs[2] ? 3 : 2, inputs);
    copy_attributes(made, conv);
    v = make_inferred(made);
    made = make_node(n, "DepthToSpace", 1, &v);
    node_set_int(made, "blocksize", b);
    node_set_string(made, "mode", "DCR");
    v = make_inferred(made);
    if (zeros)
        v = make_sliced(n, v, 1, 0, channels);
    while (count) {
        struct node *again = between[--count];
        struct value *operands[8] = {v};

        for (int i = 1; i < again->input_count && i < 8; i++)
            operands[i] = again->inputs[i];
        made = make_node(again, again->op->name, again->input_count, operands);
        copy_attributes(made, again);
        v = make_inferred(made);
    }
    return v;
}
