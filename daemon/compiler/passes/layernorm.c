/*
 * Normalisations that exporters write out: from the division back to what is normalised.
 *
 *     m = ReduceMean(x), d = x - m, v = ReduceMean(d * d or Pow(d, 2)), y = d / Sqrt(v + epsilon)
 * [* scale] [+ bias] v = ReduceMean(x * x or Pow(x, 2)), y = x / Sqrt(v + epsilon) [* scale] (x may
 * come in by a product with the reciprocal, or with Pow(v + epsilon, -0.5), as well)
 *
 * become LayerNormalization and RMSNormalization, which compute the same in 32 bits and in fewer
 * steps. Both reductions keep their dims and run over the same last axes. Nothing in between may be
 * an output or be read elsewhere.
 */
#include "daemon/compiler/operators/operator.h"
#include "daemon/compiler/passes/pass.h"
#include <math.h>
#include <string.h>

static bool is(const struct node *n, const char *op)
{
    return n && !n->removed && !*n->domain && !strcmp(n->op_type, op);
}

static struct node *made_by(const struct value *v, const char *op)
{
    return v && !v->constant && is(v->producer, op) ? v->producer : NULL;
}

/* The single number of a constant, the same in all styles. */
static bool number_of(const struct node *n, int slot, double *number)
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

/* The operand of a node of two operands whose other one is that number. */
static struct value *without_number(struct node *n, double *number)
{
    if (n && number_of(n, 1, number))
        return n->inputs[0];
    if (n && number_of(n, 0, number))
        return n->inputs[1];
    return NULL;
}

/* First reduced axis of a ReduceMean over all axes from there on, with dims kept; -1 else. */
static int mean_from(const struct node *n)
{
    const struct shape *s = &n->inputs[0]->shape;
    int count, first = s->axes;
    bool reduced[MAX_AXES] = {false};
    const int64_t *axes = node_constant_ints(n, 1, &count);

    if (!node_int(n, "keepdims", 1) || !axes || !count)
        return -1;
    for (int i = 0; i < count; i++) {
        int axis = shape_axis(s, axes[i]);

        if (axis < 0)
            return -1;
        reduced[axis] = true;
        first = axis < first ? axis : first;
    }
    for (int a = first; a < s->axes; a++)
        if (!reduced[a])
            return -1;
    return first;
}

/* What is squared in n: Pow(d, 2) or d * d. */
static struct value *squared(const struct node *n)
{
    double two;

    if (is(n, "Pow") && number_of(n, 1, &two) && two == 2)
        return n->inputs[0];
    if (is(n, "Mul") && n->inputs[0] == n->inputs[1])
        return n->inputs[0];
    return NULL;
}

struct norm {
    struct value *x;                /* what is normalised */
    struct value *d;                /* what the division divides: x, or x less its mean */
    struct node *mean, *difference; /* NULL for RMS */
    struct node *mean_square, *square, *add, *root;
    int axis;
    double epsilon;
};

/* root is Sqrt(ReduceMean(d ^ 2) + epsilon), or Pow(…, -0.5). */
static bool match_root(struct node *root, struct norm *n)
{
    n->root = root;
    n->add = root ? made_by(root->inputs[0], "Add") : NULL;
    struct value *mean = without_number(n->add, &n->epsilon);
    n->mean_square = made_by(mean, "ReduceMean");
    if (!n->mean_square || !n->mean_square->inputs[0]->producer)
        return false;
    n->square = n->mean_square->inputs[0]->producer;
    n->d = squared(n->square);
    n->axis = mean_from(n->mean_square);
    if (!n->d || n->axis < 0 || !(n->epsilon > 0))
        return false;
    n->x = n->d;
    n->difference = made_by(n->d, "Sub");
    n->mean = n->difference ? made_by(n->difference->inputs[1], "ReduceMean") : NULL;
    if (n->mean && n->mean->inputs[0] == n->difference->inputs[0] && mean_from(n->mean) == n->axis)
        n->x = n->difference->inputs[0];
    else
        n->mean = n->difference = NULL;
    return true;
}

/* The node that divides by the root, beginning from n, if n is one. */
static bool match(struct node *n, struct norm *m)
{
    double number;
    struct node *r;

    memset(m, 0, sizeof *m);
    if (is(n, "Div") && (r = made_by(n->inputs[1], "Sqrt")) && match_root(r, m))
        return n->inputs[0] == m->d;
    if (!is(n, "Mul"))
        return false;
    for (int side = 0; side < 2; side++) {
        struct value *factor = n->inputs[side];
        bool found = false;

        if ((r = made_by(factor, "Reciprocal")))
            found = match_root(made_by(r->inputs[0], "Sqrt"), m);
        else if ((r = made_by(factor, "Div")) && number_of(r, 0, &number) && number == 1)
            found = match_root(made_by(r->inputs[1], "Sqrt"), m);
        else if ((r = made_by(factor, "Pow")) && number_of(r, 1, &number) && number == -0.5)
            found = match_root(r, m);
        if (found && n->inputs[1 - side] == m->d)
            return true;
    }
    return false;
}

static bool read_only_by(const struct value *v, const struct node *a, const struct node *b)
{
    if (v->output_count)
        return false;
    for (int i = 0; i < v->reader_count; i++)
        if (v->readers[i] != a && v->readers[i] != b && !v->readers[i]->removed)
            return false;
    return true;
}

/* Nothing that goes away is read elsewhere. */
static bool inside_only(const struct norm *m, const struct node *last)
{
    const struct value *root = m->root->outputs[0];

    if (m->difference && (!read_only_by(m->difference->outputs[0], m->square, last) ||
                          !read_only_by(m->mean->outputs[0], m->difference, NULL)))
        return false;
    return read_only_by(m->square->outputs[0], m->mean_square, NULL) &&
           read_only_by(m->mean_square->outputs[0], m->add, NULL) &&
           read_only_by(m->add->outputs[0], m->root, NULL) && !root->output_count &&
           root->reader_count == 1;
}

/* The constant that n (the only reader of v) combines with v, where it has exactly the normalised
 * shape. */
static struct value *parameter(const struct value *v, const char *op, int axis,
                               struct node **reader)
{
    struct node *n = value_only_reader(v);
    struct value *other;

    *reader = n;
    if (!is(n, op) || n->inputs[0] == n->inputs[1])
        return NULL;
    other = n->inputs[0] == v ? n->inputs[1] : n->inputs[0];
    if (!other->constant || other->type != TYPE_FLOAT32 ||
        other->shape.axes != v->shape.axes - axis)
        return NULL;
    for (int a = 0; a < other->shape.axes; a++)
        if (other->shape.dim[a] != v->shape.dim[axis + a])
            return NULL;
    return other;
}

static struct value *ones(struct graph *g, const struct shape *x, int axis)
{
    struct shape s = shape_of(x->axes - axis, x->dim + axis);
    float *f = NEW_ARRAY(&g->context->arena, shape_count(&s), float);

    for (int64_t i = 0; i < shape_count(&s); i++)
        f[i] = 1;
    return graph_constant_floats(g, "", &s, f);
}

static bool fuse(struct node *n)
{
    struct graph *g = n->graph;
    struct norm m;
    struct node *last = n, *reader, *made;
    struct value *inputs[3] = {0}, *found;

    if (!n->outputs[0] || n->outputs[0]->constant || !match(n, &m) || !shape_known(&m.x->shape) ||
        m.x->type != TYPE_FLOAT32 || !inside_only(&m, n))
        return false;
    inputs[0] = m.x;
    if ((found = parameter(last->outputs[0], "Mul", m.axis, &reader))) {
        inputs[1] = found;
        last = reader;
    }
    if (m.mean && (found = parameter(last->outputs[0], "Add", m.axis, &reader))) {
        inputs[2] = found;
        last = reader;
    }
    if (!inputs[1])
        inputs[1] = ones(g, &m.x->shape, m.axis);
    made = graph_node_like(
        g, operator_get(g->context, m.mean ? "LayerNormalization" : "RMSNormalization"), n, inputs,
        inputs[2] ? 3 : 2, 1);
    node_set_int(made, "axis", m.axis);
    node_set_float(made, "epsilon", (float)m.epsilon);
    infer_node(made);
    /* The parts have no readers left but each other; the dead pass takes them. */
    value_replace(g, last->outputs[0], made->outputs[0]);
    return true;
}

int pass_layernorm(struct graph *g)
{
    int changes = 0, count = g->node_count;

    for (int i = 0; i < count; i++)
        if (!g->nodes[i]->removed && fuse(g->nodes[i]))
            changes++;
    return changes;
}
