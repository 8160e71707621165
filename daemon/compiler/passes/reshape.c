/*
 * Several changes of shape in a row are one: each keeps the elements in their order.
 */
#include "daemon/compiler/operators/operator.h"
#include "daemon/compiler/passes/parts.h"
#include "daemon/compiler/passes/pass.h"
#include <string.h>

static bool only_reshapes(const struct node *n)
{
    static const char *const ops[] = {"Flatten", "Reshape", "Squeeze", "Unsqueeze"};

    for (size_t i = 0; n && !n->removed && !*n->domain && i < sizeof ops / sizeof *ops; i++)
        if (!strcmp(n->op_type, ops[i]))
            return true;
    return false;
}

/* Whether the two undo each other beside an input or output of three axes: its first reader or
 * writer says how it lies (gpu/place.c), and that is this Reshape. */
static bool shapes_edge(const struct value *x, const struct value *y)
{
    return x->shape.axes == 3 && shape_equal(&x->shape, &y->shape) &&
           (x->input >= 0 || y->output_count);
}

static bool fuse(struct node *n)
{
    struct graph *g = n->graph;
    struct value *y = n->outputs[0], *inputs[2];
    struct node *first, *made;

    if (!only_reshapes(n) || y->constant)
        return false;
    first = n->inputs[0]->producer;
    if (!only_reshapes(first))
        return false;
    inputs[0] = first->inputs[0];
    if (!shape_known(&inputs[0]->shape) || !shape_known(&y->shape) || !shape_count(&y->shape) ||
        shapes_edge(inputs[0], y))
        return false;
    /* What merges the batch with another axis is refused, though it may be undone. */
    if (axes_may_mix(g, &inputs[0]->shape, 1) &&
        (!n->inputs[0]->shape.axes || n->inputs[0]->shape.dim[0] != inputs[0]->shape.dim[0]))
        return false;
    inputs[1] = graph_constant_ints(g, "", y->shape.axes, y->shape.dim);
    made = graph_node_like(g, operator_get(g->context, "Reshape"), n, inputs, 2, 1);
    infer_node(made);
    pass_replace(n, made->outputs[0]);
    return true;
}

int pass_reshape(struct graph *g)
{
    int changes = 0, count = g->node_count;

    for (int i = 0; i < count; i++)
        if (!g->nodes[i]->removed && fuse(g->nodes[i]))
            changes++;
    return changes;
}
