#include "daemon/compiler/passes/parts.h"
#include "daemon/compiler/operators/operator.h"
#include <string.h>

/* Views and factors between a reduction and who wants its dims kept. */
enum { MOST_BEHIND = 3 };

bool part_is(const struct node *n, const char *op)
{
    return n && !n->removed && !*n->domain && !strcmp(n->op_type, op);
}

struct node *part(struct parts *p, const struct value *v, const char *op)
{
    struct node *n = v && !v->constant ? v->producer : NULL;

    if (!part_is(n, op))
        return NULL;
    for (int i = 0; i < p->count; i++)
        if (p->nodes[i] == n)
            return n;
    if (p->count == MOST_PARTS)
        p->overflow = true;
    else
        p->nodes[p->count++] = n;
    return n;
}

static bool among(const struct parts *p, const struct node *n)
{
    for (int i = 0; i < p->count; i++)
        if (p->nodes[i] == n)
            return true;
    return false;
}

bool parts_hold(const struct parts *p, const struct node *last)
{
    for (int i = 0; i < p->count; i++) {
        const struct node *n = p->nodes[i];

        for (int k = 0; k < n->output_count && n != last; k++) {
            const struct value *v = n->outputs[k];

            if (v && v->output_count)
                return false;
            for (int r = 0; v && r < v->reader_count; r++)
                if (v->readers[r] != last && !v->readers[r]->removed && !among(p, v->readers[r]))
                    return false;
        }
    }
    return !p->overflow;
}

bool operand_number(const struct node *n, int slot, double *number)
{
    int count;
    struct value *v = node_input(n, slot);
    const float *f = v && v->constant && !v->constant->varies && v->constant->count == 1
                         ? node_constant_floats(n, slot, &count)
                         : NULL;

    if (f)
        *number = (double)f[0];
    return f != NULL;
}

struct value *operand_beside_number(const struct node *n, double *number)
{
    if (n && operand_number(n, 1, number))
        return n->inputs[0];
    if (n && operand_number(n, 0, number))
        return n->inputs[1];
    return NULL;
}

unsigned part_axes(const struct node *n)
{
    const struct shape *s = &n->inputs[0]->shape;
    unsigned all = (1u << s->axes) - 1, mask = 0;
    int count;
    const int64_t *axes;

    if (!strncmp(n->op_type, "Global", 6))
        return all & ~3u;
    axes = node_constant_ints(n, 1, &count);
    if (!node_input(n, 1) || (axes && !count))
        return node_int(n, "noop_with_empty_axes", 0) ? 0 : all;
    for (int i = 0; axes && i < count; i++) {
        int axis = shape_axis(s, axes[i]);

        if (axis < 0)
            return 0;
        mask |= 1u << axis;
    }
    return mask;
}

static bool is_kept(const struct shape *kept, const struct shape *x, unsigned axes)
{
    if (kept->axes != x->axes)
        return false;
    for (int a = 0; a < x->axes; a++)
        if (kept->dim[a] != (axes >> a & 1 ? 1 : x->dim[a]))
            return false;
    return true;
}

struct value *part_reduced(struct parts *p, struct value *v, const char *op, unsigned *axes,
                           double *factor)
{
    const struct parts before = *p;
    const struct shape *kept = &v->shape;
    double product = 1, number;
    struct value *x = NULL;
    struct node *n;

    for (int behind = 0; v && !(n = part(p, v, op)) && behind < MOST_BEHIND; behind++) {
        if ((n = part(p, v, "Unsqueeze")) || (n = part(p, v, "Reshape"))) {
            v = n->inputs[0];
        } else if (factor && (n = part(p, v, "Mul"))) {
            v = operand_beside_number(n, &number);
            product *= v ? number : 1;
        } else if (factor && (n = part(p, v, "Div")) && operand_number(n, 1, &number)) {
            v = n->inputs[0];
            product /= number;
        } else {
            v = NULL;
        }
    }
    n = v ? part(p, v, op) : NULL;
    if (n && shape_known(&n->inputs[0]->shape) && (*axes = part_axes(n)) &&
        is_kept(kept, &n->inputs[0]->shape, *axes))
        x = n->inputs[0];
    if (!x)
        *p = before;
    else if (factor)
        *factor = product;
    return x;
}

bool axes_may_mix(const struct graph *g, const struct shape *x, unsigned axes)
{
    if (!(axes & 1) || x->dim[0] < 2)
        return false;
    for (int i = 0; i < g->input_count; i++)
        if (g->inputs[i]->shape.axes > 0 && g->inputs[i]->shape.dim[0] == x->dim[0])
            return true;
    return false;
}
