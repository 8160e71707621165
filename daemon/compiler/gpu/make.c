#include "daemon/compiler/gpu/make.h"
#include "daemon/compiler/graph/half.h"
#include "daemon/compiler/operators/operator.h"
#include <string.h>

struct value *make_inferred(struct node *r)
{
    infer_node(r);
    return r->outputs[0];
}

struct node *make_node(struct node *n, const char *op, int count, struct value *const *inputs)
{
    return graph_node_like(n->graph, operator_get(n->graph->context, op), n, inputs, count, 1);
}

struct value *make_unary(struct node *n, const char *op, struct value *a)
{
    return make_inferred(make_node(n, op, 1, &a));
}

struct value *make_binary(struct node *n, const char *op, struct value *a, struct value *b)
{
    struct value *both[] = {a, b};

    return make_inferred(make_node(n, op, 2, both));
}

struct value *make_where(struct node *n, struct value *condition, struct value *a, struct value *b)
{
    struct value *three[] = {condition, a, b};

    return make_inferred(make_node(n, "Where", 3, three));
}

struct value *make_number(struct node *n, float x)
{
    struct shape scalar = shape_of(0, NULL);

    return graph_constant_floats(n->graph, "", &scalar, &x);
}

struct value *make_scaled(struct node *n, struct value *v, double factor)
{
    return factor == 1 ? v : make_binary(n, "Mul", v, make_number(n, (float)factor));
}

struct value *make_reshaped(struct node *n, struct value *v, const struct shape *s)
{
    if (shape_equal(&v->shape, s))
        return v;
    return make_binary(n, "Reshape", v, graph_constant_ints(n->graph, "", s->axes, s->dim));
}

struct value *make_transposed(struct node *n, struct value *v, int count, const int64_t *perm)
{
    bool moves = false;
    struct node *t;

    for (int i = 0; i < count; i++)
        moves = moves || perm[i] != i;
    if (!moves)
        return v;
    t = make_node(n, "Transpose", 1, &v);
    node_set_ints(t, "perm", count, perm);
    return make_inferred(t);
}

struct value *make_sliced(struct node *n, struct value *v, int axis, int64_t from, int64_t to)
{
    struct graph *g = n->graph;
    const int64_t along = axis;
    struct value *inputs[] = {v, graph_constant_ints(g, "", 1, &from),
                              graph_constant_ints(g, "", 1, &to),
                              graph_constant_ints(g, "", 1, &along)};

    if (from == 0 && to == v->shape.dim[axis])
        return v;
    return make_inferred(make_node(n, "Slice", 4, inputs));
}

struct value *make_concat(struct node *n, int axis, int count, struct value *const *parts)
{
    struct node *c;

    if (count == 1)
        return parts[0];
    c = make_node(n, "Concat", count, parts);
    node_set_int(c, "axis", axis);
    return make_inferred(c);
}

struct value *make_padded(struct node *n, struct value *v, int axis, int64_t before, int64_t after,
                          float fill)
{
    int64_t pads[2 * MAX_AXES] = {0};
    struct value *inputs[3] = {v, NULL, NULL};

    if (!before && !after)
        return v;
    pads[axis] = before;
    pads[v->shape.axes + axis] = after;
    inputs[1] = graph_constant_ints(n->graph, "", 2 * v->shape.axes, pads);
    inputs[2] = make_number(n, fill);
    return make_inferred(make_node(n, "Pad", fill != 0 ? 3 : 2, inputs));
}

struct value *make_whole_cells(struct node *n, struct value *v, int axis)
{
    struct node *whole;

    if (v->shape.dim[axis] % 4 == 0)
        return v;
    whole = make_node(n, "WholeCells", 1, &v);
    node_set_int(whole, "axis", axis);
    return make_inferred(whole);
}

struct value *make_gathered(struct node *n, struct value *v, int axis, int64_t count,
                            const int64_t *indices)
{
    struct value *both[] = {v, graph_constant_ints(n->graph, "", (int)count, indices)};
    struct node *r = make_node(n, "Gather", 2, both);

    node_set_int(r, "axis", axis);
    return make_inferred(r);
}

struct value *make_reduced(struct node *n, const char *op, struct value *v, int axis)
{
    const int64_t along = axis;

    return make_binary(n, op, v, graph_constant_ints(n->graph, "", 1, &along));
}

struct value *make_per_channel(struct node *n, struct value *v, int axes, int axis)
{
    struct shape s = {.axes = axes - axis};

    for (int a = 0; a < s.axes; a++)
        s.dim[a] = a ? 1 : shape_count(&v->shape);
    return make_reshaped(n, v, &s);
}

struct value *make_component(struct node *n, struct value *statistics, int index)
{
    struct node *c = make_node(n, "Component", 1, &statistics);

    node_set_int(c, "index", index);
    return make_inferred(c);
}

struct value *make_statistics(struct node *n, const char *op, struct value *x, int count,
                              const int64_t *axes, float epsilon, bool rms)
{
    struct node *s = make_node(n, op, 1, &x);

    node_set_ints(s, "axes", count, axes);
    node_set_float(s, "epsilon", epsilon);
    if (rms)
        node_set_int(s, "rms", 1);
    /* Its square could pass what 16 bits hold. */
    if ((double)epsilon < 1.0 / HALF_MAX / HALF_MAX)
        node_set_int(s, "root", 1);
    return make_inferred(s);
}

struct value *make_within(struct value *v, double lo, double hi)
{
    const double both[] = {lo, hi};

    v->within = arena_memdup(&v->producer->graph->context->arena, both, sizeof both);
    return v;
}

struct value *make_stored(struct node *n, struct value *v)
{
    return v->constant ? v : make_unary(n, "Store", v);
}

int64_t *make_axes(struct context *c, int from, int to)
{
    int64_t *axes = NEW_ARRAY(&c->arena, to - from + 1, int64_t);

    for (int a = from; a < to; a++)
        axes[a - from] = a;
    return axes;
}
