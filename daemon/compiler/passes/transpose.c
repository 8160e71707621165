/*
 * Transposes that undo each other, as models with channels last have them around every convolution.
 *
 * Two in a row become one, or none. What lies between two that undo each other (elementwise
 * operators, Concat, Softmax, Pad) is computed on what stands before the first, which moves behind
 * it until they meet:
 *
 *     Transpose(Add(Transpose(x), c)) -> Add(x, c transposed)
 *
 * The same for a constant that belongs into the Conv or MatMul before. A Transpose is a view and
 * costs nothing by itself; but what normalises, activates or pads is only seen beside its
 * convolution.
 */
#include "daemon/compiler/operators/operator.h"
#include "daemon/compiler/passes/parts.h"
#include "daemon/compiler/passes/pass.h"
#include <string.h>

/* Output axis i is input axis order[i]. */
struct permutation {
    int count; /* 0: none */
    int64_t order[MAX_AXES];
};

static struct permutation permutation_of(const struct node *n)
{
    struct permutation p = {.count = n->inputs[0]->shape.axes};
    int given;
    const int64_t *perm = node_ints(n, "perm", &given);

    for (int i = 0; i < p.count; i++)
        p.order[i] = perm && i < given ? perm[i] : p.count - 1 - i;
    return p;
}

/* The Transpose that makes v, of a value that is no constant and whose shape is known. */
static struct node *transposed(const struct value *v)
{
    struct node *n = v && !v->constant && part_is(v->producer, "Transpose") ? v->producer : NULL;

    return n && shape_known(&n->inputs[0]->shape) ? n : NULL;
}

static bool same_order(const struct permutation *a, const struct permutation *b)
{
    return a->count == b->count && !memcmp(a->order, b->order, (size_t)a->count * sizeof *a->order);
}

static struct permutation inverse(const struct permutation *p)
{
    struct permutation q = {.count = p->count};

    for (int i = 0; i < p->count; i++)
        q.order[p->order[i]] = i;
    return q;
}

/* Whether it takes axis 0 away from its place where that may be the batch. */
static bool moves_batch(const struct node *n, const struct permutation *p)
{
    return p->order[0] != 0 && axes_may_mix(n->graph, &n->inputs[0]->shape, 1);
}

static struct value *transpose(struct node *like, struct value *x, const struct permutation *p)
{
    struct graph *g = like->graph;
    struct node *n = graph_node_like(g, operator_get(g->context, "Transpose"), like, &x, 1, 1);

    node_set_ints(n, "perm", p->count, p->order);
    infer_node(n);
    return n->outputs[0];
}

/* n as the recipe of its constant output. */
static struct value *recipe(struct node *n)
{
    struct value *v = n->outputs[0];

    infer_node(n);
    v->producer = NULL;
    node_remove(n);
    return v;
}

/* Constant c, broadcast to what p made, for what p is made of. */
static struct value *constant_before(struct node *like, struct value *c,
                                     const struct permutation *p)
{
    struct graph *g = like->graph;
    struct permutation back = inverse(p);
    struct value *inputs[2] = {c};
    struct shape s = {.axes = p->count};
    struct node *n;

    if (c->constant->count == 1)
        return c;
    for (int a = 0; a < p->count; a++) {
        int from = a - (p->count - c->shape.axes);

        s.dim[a] = from < 0 ? 1 : c->shape.dim[from];
    }
    if (c->shape.axes < p->count) {
        inputs[1] = graph_constant_ints(g, "", s.axes, s.dim);
        inputs[0] =
            recipe(graph_node_like(g, operator_get(g->context, "Reshape"), like, inputs, 2, 1));
    }
    n = graph_node_like(g, operator_get(g->context, "Transpose"), like, inputs, 1, 1);
    node_set_ints(n, "perm", back.count, back.order);
    return recipe(n);
}

/* An input or output of three axes lies as its first reader or its writer in the file wants it
 * (gpu/place.c), which a Transpose beside it decides: it stays. */
static bool is_line_edge(const struct value *v)
{
    return v->shape.axes == 3 && (v->input >= 0 || v->output_count);
}

/* ---- two in a row ---- */

static bool join_two(struct node *n)
{
    struct node *first = part_is(n, "Transpose") ? transposed(n->inputs[0]) : NULL;
    struct permutation p, q;

    if (!first || n->outputs[0]->constant)
        return false;
    p = permutation_of(first);
    q = permutation_of(n);
    if (p.count != q.count || moves_batch(first, &p) || is_line_edge(first->inputs[0]) ||
        is_line_edge(n->outputs[0]))
        return false;
    for (int i = 0; i < q.count; i++)
        q.order[i] = p.order[q.order[i]];
    pass_replace(n, transpose(n, first->inputs[0], &q));
    return true;
}

/* ---- behind what is computed element by element ---- */

static bool is_elementwise(const struct node *n)
{
    return n->op && !*n->domain && n->op->functions->role == ROLE_ELEMENTWISE &&
           n->output_count == 1 && n->outputs[0];
}

/* Works along one axis, which its attribute names; -1 where it does not say. */
static bool is_along_axis(const struct node *n)
{
    return part_is(n, "Concat") ||
           ((part_is(n, "Softmax") || part_is(n, "LogSoftmax")) && !node_int(n, "flatten", 0));
}

static bool is_passable(const struct node *n)
{
    return (is_elementwise(n) || is_along_axis(n) || part_is(n, "Pad")) && n->outputs[0];
}

/* Constant pads for all axes. */
static const int64_t *all_pads(const struct node *n, int axes)
{
    int count;
    const int64_t *pads = node_constant_ints(n, 1, &count);

    return pads && count == 2 * axes && !node_input(n, 3) ? pads : NULL;
}

/* Whether a Transpose of operand 0 can stand behind n as well. */
static bool may_pass(const struct node *n, const struct permutation *p)
{
    int moved = part_is(n, "Pad") ? 1 : n->input_count, from = 0;

    if (n->outputs[0]->constant || n->outputs[0]->shape.axes != p->count)
        return false;
    if (part_is(n, "Pad") && !all_pads(n, p->count))
        return false;
    for (int i = 0; i < moved; i++) {
        const struct value *v = n->inputs[i];
        const struct node *t = transposed(v);
        struct permutation q;

        if (!v || (v->constant && (v->shape.axes <= p->count && !part_is(n, "Concat"))))
            continue;
        if (!t)
            return false;
        q = permutation_of(t);
        if (!same_order(p, &q))
            return false;
        from++;
    }
    return from > 0;
}

static struct value *operand_before(struct node *n, int slot, const struct permutation *p)
{
    struct value *v = n->inputs[slot];
    int64_t pads[2 * MAX_AXES];
    const int64_t *given;

    if (part_is(n, "Pad") && slot == 1) {
        given = all_pads(n, p->count);
        for (int i = 0; i < p->count; i++)
            for (int end = 0; end < 2; end++)
                pads[end * p->count + p->order[i]] = given[end * p->count + i];
        return graph_constant_ints(n->graph, "", 2 * p->count, pads);
    }
    if (!v || (part_is(n, "Pad") && slot))
        return v;
    return v->constant ? constant_before(n, v, p) : transposed(v)->inputs[0];
}

static void pass_behind(struct node *n, const struct permutation *p)
{
    struct graph *g = n->graph;
    struct value **inputs = NEW_ARRAY(&g->context->arena, n->input_count, struct value *);
    struct node *made;

    for (int i = 0; i < n->input_count; i++)
        inputs[i] = operand_before(n, i, p);
    made = graph_node_like(g, n->op, n, inputs, n->input_count, 1);
    for (int i = 0; i < n->attribute_count; i++)
        APPEND(&g->context->arena, made->attributes, made->attribute_count, made->attribute_room) =
            n->attributes[i];
    if (is_along_axis(n)) {
        int axis = shape_axis(&n->outputs[0]->shape, node_int(n, "axis", -1));

        node_set_int(made, "axis", p->order[axis]);
    }
    infer_node(made);
    pass_replace(n, transpose(n, made->outputs[0], p));
}

/* A constant a channel after a convolution or product, which takes it over. */
static bool is_parameter(const struct node *n)
{
    static const char *const targets[] = {"Conv", "ConvTranspose", "Gemm", "MatMul"};
    const struct node *t = transposed(n->inputs[0]);
    const struct value *x;

    if (n->input_count != 2 ||
        !(part_is(n, "Add") || part_is(n, "Sub") || part_is(n, "Mul") || part_is(n, "Div")))
        return false;
    if (!t)
        t = transposed(n->inputs[1]);
    if (!t || !(n->inputs[0]->constant || n->inputs[1]->constant))
        return false;
    x = t->inputs[0];
    for (size_t i = 0; i < sizeof targets / sizeof *targets; i++)
        if (part_is(x->producer, targets[i]) && x->reader_count == 1 && !x->output_count)
            return true;
    return false;
}

/* wanted, by value: the Transpose that reads it, perhaps behind what can be passed. */
static struct node **wanted_transposes(struct graph *g)
{
    struct node **wanted = NEW_ARRAY(&g->context->arena, g->value_count, struct node *);

    for (int i = g->node_count - 1; i >= 0; i--) {
        struct node *n = g->nodes[i];
        struct node *next = part_is(n, "Transpose") && shape_known(&n->inputs[0]->shape) ? n
                            : is_passable(n) ? wanted[n->outputs[0]->id]
                                             : NULL;

        for (int k = 0; next && k < n->input_count; k++)
            if (n->inputs[k])
                wanted[n->inputs[k]->id] = next;
    }
    return wanted;
}

static bool move_behind(struct node *n, struct node *const *wanted, int value_count)
{
    struct node *first = NULL, *last;
    struct permutation p, q;

    if (n->removed || !is_passable(n))
        return false;
    for (int i = 0; !first && i < n->input_count; i++)
        first = transposed(n->inputs[i]);
    if (!first)
        return false;
    p = permutation_of(first);
    if (moves_batch(first, &p) || is_line_edge(first->inputs[0]) || !may_pass(n, &p))
        return false;
    last = n->outputs[0]->id < value_count ? wanted[n->outputs[0]->id] : NULL;
    if (last) {
        q = permutation_of(last);
        q = inverse(&q);
    }
    if (!(last && same_order(&p, &q)) && !is_parameter(n))
        return false;
    pass_behind(n, &p);
    return true;
}

int pass_transpose(struct graph *g)
{
    int changes = 0, count = g->node_count, value_count = g->value_count;
    struct node **wanted = wanted_transposes(g);

    for (int i = 0; i < count; i++) {
        struct node *n = g->nodes[i];

        if (!n->removed && (join_two(n) || move_behind(n, wanted, value_count)))
            changes++;
    }
    return changes;
}
