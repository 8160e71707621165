/*
 * Group normalisation as PyTorch exports it: what lies in one group is one line.
 *
 *     x [N, C, …] -> Reshape [N, G, …] -> InstanceNormalization -> Reshape [N, C, …]
 *
 * becomes GroupNormalization with G groups, or with a channel a group InstanceNormalization of x
 * itself. The layers around then see channels where they are: a convolution reads four at once.
 */
#include "daemon/compiler/operators/operator.h"
#include "daemon/compiler/passes/parts.h"
#include "daemon/compiler/passes/pass.h"
#include <string.h>

/* So many times that number. */
static struct value *repeated(struct graph *g, int64_t count, float number)
{
    struct shape s = shape_of(1, &count);
    float *f = NEW_ARRAY(&g->context->arena, count, float);

    for (int64_t i = 0; i < count; i++)
        f[i] = number;
    return graph_constant_floats(g, "", &s, f);
}

static bool fuse(struct node *n)
{
    struct graph *g = n->graph;
    struct parts parts = {0};
    struct node *before, *after, *made;
    struct value *inputs[3];
    const struct shape *lines, *s;
    int64_t groups;

    if (n->removed || *n->domain || strcmp(n->op_type, "InstanceNormalization") || !n->outputs[0] ||
        n->outputs[0]->constant)
        return false;
    before = part(&parts, n->inputs[0], "Reshape");
    after = before ? value_only_reader(n->outputs[0]) : NULL;
    if (!after || strcmp(after->op_type, "Reshape") || !parts_hold(&parts, n))
        return false;
    inputs[0] = before->inputs[0];
    s = &inputs[0]->shape;
    lines = &n->inputs[0]->shape;
    if (!shape_known(s) || !shape_known(lines) || s->axes < 3 || !shape_count(s) ||
        lines->dim[0] != s->dim[0] || s->dim[1] % lines->dim[1] ||
        !shape_equal(s, &after->outputs[0]->shape))
        return false;
    groups = lines->dim[1];
    if (groups == s->dim[1]) {
        inputs[1] = n->inputs[1];
        inputs[2] = n->inputs[2];
    } else if (constant_is_all(n->inputs[1], 1) && constant_is_all(n->inputs[2], 0)) {
        inputs[1] = repeated(g, s->dim[1], 1);
        inputs[2] = repeated(g, s->dim[1], 0);
    } else {
        return false;
    }
    made = graph_node_like(
        g, groups == s->dim[1] ? n->op : operator_get(g->context, "GroupNormalization"), n, inputs,
        3, 1);
    node_set_float(made, "epsilon", node_float(n, "epsilon", 1e-5f));
    if (groups != s->dim[1])
        node_set_int(made, "num_groups", groups);
    infer_node(made);
    pass_replace(after, made->outputs[0]);
    return true;
}

int pass_groupnorm(struct graph *g)
{
    int changes = 0, count = g->node_count;

    for (int i = 0; i < count; i++)
        if (fuse(g->nodes[i]))
            changes++;
    return changes;
}
