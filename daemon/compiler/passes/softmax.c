/*
 * Softmax and LogSoftmax that exporters write out, along one axis:
 *
 *     e = Exp(x - m), y = e / ReduceSum(e)          (or e times the reciprocal)
 *     y = (x - m) - Log(ReduceSum(Exp(x - m)))      (or x - ReduceLogSumExp(x))
 *     y = Log(Softmax(x)), y = Exp(LogSoftmax(x))
 *
 * m is the greatest element or any other number for each line, or is left out: it cancels. As one
 * operator the maximum and the sum are one step, in 32 bits, and no exponential overflows.
 */
#include "daemon/compiler/operators/operator.h"
#include "daemon/compiler/passes/parts.h"
#include "daemon/compiler/passes/pass.h"
#include <string.h>

/* x, where t is x less one number for each line along the axes; else t. */
static struct value *shifted(struct value *t, unsigned axes)
{
    struct parts aside = {0};
    struct node *n = part(&aside, t, "Sub");
    const struct shape *m, *s = &t->shape;

    if (!n || !shape_equal(&n->inputs[0]->shape, s))
        return t;
    m = &n->inputs[1]->shape;
    for (int a = 0; a < m->axes; a++)
        if (m->dim[a] != 1 && axes >> (s->axes - m->axes + a) & 1)
            return t;
    return n->inputs[0];
}

/* What v exponentiates, where sum is the sum of v along *axes. */
static struct value *exponent(struct parts *p, struct value *v, struct value *sum, unsigned *axes)
{
    struct node *e = part(p, v, "Exp");

    return e && part_reduced(p, sum, "ReduceSum", axes, NULL) == v ? e->inputs[0] : NULL;
}

/* What v is the Softmax or LogSoftmax of, along one axis. */
static struct value *normalised(struct parts *p, struct value *v, const char *op, unsigned *axes)
{
    struct node *n = part(p, v, op);
    int axis = n ? shape_axis(&n->inputs[0]->shape, node_int(n, "axis", -1)) : -1;

    *axes = axis < 0 || node_int(n, "flatten", 0) ? 0 : 1u << axis;
    return n ? n->inputs[0] : NULL;
}

static struct value *match_softmax(struct parts *p, struct node *n, unsigned *axes)
{
    struct node *inverse;
    struct value *t = NULL;
    double one;

    if (!strcmp(n->op_type, "Exp"))
        return normalised(p, n->inputs[0], "LogSoftmax", axes);
    if (!strcmp(n->op_type, "Div"))
        return exponent(p, n->inputs[0], n->inputs[1], axes);
    for (int side = 0; !t && side < 2 && !strcmp(n->op_type, "Mul"); side++) {
        memset(p, 0, sizeof *p);
        if ((inverse = part(p, n->inputs[side], "Reciprocal")))
            t = exponent(p, n->inputs[1 - side], inverse->inputs[0], axes);
        else if ((inverse = part(p, n->inputs[side], "Div")) && operand_number(inverse, 0, &one) &&
                 one == 1)
            t = exponent(p, n->inputs[1 - side], inverse->inputs[1], axes);
    }
    return t;
}

static struct value *match_log_softmax(struct parts *p, struct node *n, unsigned *axes)
{
    struct value *sum, *t;
    struct node *inner;

    if (!strcmp(n->op_type, "Log"))
        return normalised(p, n->inputs[0], "Softmax", axes);
    if (strcmp(n->op_type, "Sub"))
        return NULL;
    t = n->inputs[0];
    if (part_reduced(p, n->inputs[1], "ReduceLogSumExp", axes, NULL) == t)
        return t;
    memset(p, 0, sizeof *p);
    inner = part(p, n->inputs[1], "Log");
    sum = inner ? part_reduced(p, inner->inputs[0], "ReduceSum", axes, NULL) : NULL;
    inner = sum ? part(p, sum, "Exp") : NULL;
    return inner && inner->inputs[0] == t ? t : NULL;
}

static bool fuse(struct node *n)
{
    static const struct {
        const char *name;
        struct value *(*match)(struct parts *p, struct node *n, unsigned *axes);
    } forms[] = {{"Softmax", match_softmax}, {"LogSoftmax", match_log_softmax}};

    if (*n->domain || !n->outputs[0] || n->outputs[0]->constant ||
        n->outputs[0]->type != TYPE_FLOAT32)
        return false;
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
        struct parts p = {0};
        unsigned axes = 0;
        struct value *t = forms[i].match(&p, n, &axes);
        struct node *made;
        int axis = 0;

        if (!t || !axes || axes & (axes - 1) || !shape_equal(&t->shape, &n->outputs[0]->shape) ||
            axes_may_mix(n->graph, &t->shape, axes) || !parts_hold(&p, n))
            continue;
        while (!(axes >> axis & 1))
            axis++;
        t = shifted(t, axes);
        made =
            graph_node_like(n->graph, operator_get(n->graph->context, forms[i].name), n, &t, 1, 1);
        node_set_int(made, "axis", axis);
        infer_node(made);
        pass_replace(n, made->outputs[0]);
        return true;
    }
    return false;
}

int pass_softmax(struct graph *g)
{
    int changes = 0, count = g->node_count;

    for (int i = 0; i < count; i++)
        if (!g->nodes[i]->removed && fuse(g->nodes[i]))
            changes++;
    return changes;
}
