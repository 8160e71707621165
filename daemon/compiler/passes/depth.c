/*
 * DepthToSpace that exporters write out (PyTorch's PixelShuffle before opset 13, and by hand):
 *
 *     x [N, C, H, W] -> Reshape to six axes -> Transpose -> Reshape [N, C / b^2, H b, W b]
 *
 * As one operator its blocks are seen: a convolution before it computes them in fours.
 */
#include "daemon/compiler/operators/operator.h"
#include "daemon/compiler/passes/parts.h"
#include "daemon/compiler/passes/pass.h"
#include <string.h>

enum { AXES = 6 };

/* Source: onnx.ai/onnx/operators, DepthToSpace 13. Where the block's two axes and the channels
 * stand among the six, and how these are transposed. */
static const struct form {
    const char *mode;
    int block, channels;
    int64_t perm[AXES];
} forms[] = {
    {"DCR", 1, 3, {0, 3, 4, 1, 5, 2}},
    {"CRD", 2, 1, {0, 1, 4, 2, 5, 3}},
};

static bool matches(const struct form *f, const struct node *transpose, const struct shape *x,
                    const struct shape *six, const struct shape *y)
{
    int count;
    const int64_t *perm = node_ints(transpose, "perm", &count);
    int64_t block = six->dim[f->block];

    return perm && count == AXES && !memcmp(perm, f->perm, sizeof f->perm) &&
           six->dim[0] == x->dim[0] && six->dim[f->block + 1] == block &&
           six->dim[4] == x->dim[2] && six->dim[5] == x->dim[3] && y->dim[0] == x->dim[0] &&
           y->dim[1] == six->dim[f->channels] && y->dim[2] == x->dim[2] * block &&
           y->dim[3] == x->dim[3] * block;
}

static bool fuse(struct node *n)
{
    struct graph *g = n->graph;
    struct parts parts = {0};
    struct node *transpose, *first, *made;
    struct value *x;

    if (n->removed || *n->domain || strcmp(n->op_type, "Reshape") || n->outputs[0]->constant)
        return false;
    transpose = part(&parts, n->inputs[0], "Transpose");
    first = transpose ? part(&parts, transpose->inputs[0], "Reshape") : NULL;
    x = first ? first->inputs[0] : NULL;
    if (!x || !shape_known(&x->shape) || x->shape.axes != 4 ||
        first->outputs[0]->shape.axes != AXES || !shape_known(&first->outputs[0]->shape) ||
        n->outputs[0]->shape.axes != 4 || !shape_count(&x->shape) || !parts_hold(&parts, n))
        return false;
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
        const struct shape *six = &first->outputs[0]->shape;

        if (!matches(&forms[i], transpose, &x->shape, six, &n->outputs[0]->shape))
            continue;
        made = graph_node_like(g, operator_get(g->context, "DepthToSpace"), n, &x, 1, 1);
        node_set_int(made, "blocksize", six->dim[forms[i].block]);
        node_set_string(made, "mode", forms[i].mode);
        infer_node(made);
        pass_replace(n, made->outputs[0]);
        return true;
    }
    return false;
}

int pass_depth(struct graph *g)
{
    int changes = 0, count = g->node_count;

    for (int i = 0; i < count; i++)
        if (fuse(g->nodes[i]))
            changes++;
    return changes;
}
