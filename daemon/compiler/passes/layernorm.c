/*
 * Normalisations that exporters write out: from the last operation back to what is normalised.
 *
 *     m = mean(x), d = x - m, v = mean(d * d), y = d / Sqrt(v + epsilon)
 *     the same with v = mean(x * x) - m * m
 *     v = mean(x * x), y = x / Sqrt(v + epsilon)                         (without a mean)
 *
 * The means are ReduceMean, GlobalAveragePool, or sums times 1 / count; their dims are kept, by
 * themselves or by an Unsqueeze or Reshape. The root may be a power, and come in by a product with
 * the reciprocal; a scale may be in that product before d is, and the product may be spread out, as
 * TensorFlow does:
 *
 *     i = scale / Sqrt(v + epsilon), y = x * i + (bias - m * i)
 *
 * They become LayerNormalization, InstanceNormalization and RMSNormalization, which compute the
 * same in 32 bits and in fewer steps; where other axes than the last are normalised, these change
 * places before and after. Nothing in between may be an output or be read elsewhere.
 */
#include "daemon/compiler/operators/operator.h"
#include "daemon/compiler/passes/parts.h"
#include "daemon/compiler/passes/pass.h"
#include <math.h>
#include <string.h>

/* How far a written 1 / count may be from it. */
static const double COUNT_TOLERANCE = 1e-5;

struct norm {
    struct parts parts;
    struct value *x;    /* what is normalised */
    struct value *mean; /* its mean, dims kept; NULL for RMS */
    unsigned axes;
    double epsilon;
    struct value *scale, *bias; /* that are part of the form; NULL: none */
};

/* Whether that times a sum over the axes of x is a mean. */
static bool is_share(double factor, const struct shape *x, unsigned axes)
{
    double count = 1;

    for (int a = 0; a < x->axes; a++)
        count *= axes >> a & 1 ? (double)x->dim[a] : 1;
    return fabs(factor * count - 1) < COUNT_TOLERANCE;
}

/* What v sums by op (ReduceSum, ReduceSumSquare), times 1 / count. */
static struct value *shared_out(struct parts *p, struct value *v, const char *op, unsigned *axes)
{
    const struct parts before = *p;
    double factor;
    struct value *x = part_reduced(p, v, op, axes, &factor);

    if (x && is_share(factor, &x->shape, *axes))
        return x;
    *p = before;
    return NULL;
}

/* What v is the mean of. */
static struct value *mean_of(struct parts *p, struct value *v, unsigned *axes)
{
    struct value *x = part_reduced(p, v, "ReduceMean", axes, NULL);

    if (!x)
        x = part_reduced(p, v, "GlobalAveragePool", axes, NULL);
    return x ? x : shared_out(p, v, "ReduceSum", axes);
}

/* What is squared in v: Pow(d, 2) or d * d. */
static struct value *squared(struct parts *p, struct value *v)
{
    const struct parts before = *p;
    struct node *n;
    double two;

    if ((n = part(p, v, "Pow")) && operand_number(n, 1, &two) && two == 2)
        return n->inputs[0];
    if ((n = part(p, v, "Mul")) && n->inputs[0] == n->inputs[1])
        return n->inputs[0];
    *p = before;
    return NULL;
}

/* What v is the mean of the squares of. */
static struct value *mean_of_squares(struct parts *p, struct value *v, unsigned *axes)
{
    const struct parts before = *p;
    struct value *d = mean_of(p, v, axes);

    if (d && (d = squared(p, d)))
        return d;
    *p = before;
    return shared_out(p, v, "ReduceSumSquare", axes);
}

/* v is x less its mean, over those axes. */
static bool is_centered(struct norm *m, struct value *v)
{
    const struct parts before = m->parts;
    struct node *n = part(&m->parts, v, "Sub");
    unsigned axes = 0;

    if (n && n->inputs[0] == m->x &&
        (n->inputs[1] == m->mean ||
         (mean_of(&m->parts, n->inputs[1], &axes) == m->x && axes == m->axes)))
        return true;
    m->parts = before;
    return false;
}

/* v is a variance, or a mean of squares. */
static bool match_variance(struct norm *m, struct value *v)
{
    struct value *d = mean_of_squares(&m->parts, v, &m->axes);
    struct node *n;
    unsigned axes = 0;
    double zero;

    if (d) {
        const struct parts squares = m->parts;

        n = part(&m->parts, d, "Sub");
        m->x = n ? n->inputs[0] : NULL;
        m->mean = n ? n->inputs[1] : NULL;
        if (!n || !shape_equal(&m->x->shape, &d->shape) ||
            mean_of(&m->parts, m->mean, &axes) != m->x || axes != m->axes) {
            m->parts = squares;
            m->x = d;
            m->mean = NULL;
        }
        return true;
    }
    /* Below 0 it can only be by rounding. */
    if ((n = part(&m->parts, v, "Max")) && n->input_count == 2) {
        v = operand_beside_number(n, &zero);
        if (!v || zero != 0)
            return false;
    } else if ((n = part(&m->parts, v, "Relu"))) {
        v = n->inputs[0];
    }
    if (!(n = part(&m->parts, v, "Sub")))
        return false;
    m->x = mean_of_squares(&m->parts, n->inputs[0], &m->axes);
    m->mean = m->x ? squared(&m->parts, n->inputs[1]) : NULL;
    return m->mean && mean_of(&m->parts, m->mean, &axes) == m->x && axes == m->axes;
}

static bool match_sum(struct norm *m, struct value *v)
{
    struct node *add = part(&m->parts, v, "Add");

    v = operand_beside_number(add, &m->epsilon);
    return v && m->epsilon > 0 && match_variance(m, v);
}

/* v is Sqrt(variance + epsilon). */
static bool match_root(struct norm *m, struct value *v)
{
    struct node *n;
    double power;

    if ((n = part(&m->parts, v, "Sqrt")))
        return match_sum(m, n->inputs[0]);
    return (n = part(&m->parts, v, "Pow")) && operand_number(n, 1, &power) && power == 0.5 &&
           match_sum(m, n->inputs[0]);
}

/* v is one divided by the root. */
static bool match_reciprocal(struct norm *m, struct value *v)
{
    struct node *n;
    double number;

    memset(m, 0, sizeof *m);
    if ((n = part(&m->parts, v, "Reciprocal")))
        return match_root(m, n->inputs[0]);
    if ((n = part(&m->parts, v, "Div"))) {
        if (!operand_number(n, 0, &number) || number != 1)
            m->scale = n->inputs[0];
        return match_root(m, n->inputs[1]);
    }
    return (n = part(&m->parts, v, "Pow")) && operand_number(n, 1, &number) && number == -0.5 &&
           match_sum(m, n->inputs[0]);
}

/* The same, or times a scale. */
static bool match_inverse(struct norm *m, struct value *v)
{
    struct node *n = part_is(v->producer, "Mul") && !v->constant ? v->producer : NULL;

    if (match_reciprocal(m, v))
        return true;
    for (int side = 0; n && side < 2; side++)
        if (match_reciprocal(m, n->inputs[side]) && !m->scale) {
            m->scale = n->inputs[1 - side];
            return part(&m->parts, v, "Mul") != NULL;
        }
    return false;
}

/* d: x less its mean, or x itself for RMS. */
static bool is_numerator(struct norm *m, struct value *d)
{
    return m->mean ? is_centered(m, d) : d == m->x;
}

static bool match_product(struct norm *m, struct node *n)
{
    for (int side = 0; side < 2; side++)
        if (match_inverse(m, n->inputs[side]) && is_numerator(m, n->inputs[1 - side]))
            return true;
    return false;
}

static bool is_product(struct parts *p, struct value *v, const struct value *a,
                       const struct value *b)
{
    struct node *n = part(p, v, "Mul");

    return n &&
           ((n->inputs[0] == a && n->inputs[1] == b) || (n->inputs[1] == a && n->inputs[0] == b));
}

/* n is x * i + (bias - mean * i), or x * i - mean * i. */
static bool match_spread(struct norm *m, struct node *n)
{
    bool difference = part_is(n, "Sub");

    for (int k = 0; k < (difference ? 2 : 4); k++) {
        struct value *scaled = n->inputs[k >> 1], *rest = n->inputs[1 - (k >> 1)], *inverse;
        struct node *product = part_is(scaled->producer, "Mul") ? scaled->producer : NULL, *r;

        if (!product || scaled->constant || !match_inverse(m, inverse = product->inputs[k & 1]) ||
            !m->mean || product->inputs[1 - (k & 1)] != m->x || !part(&m->parts, scaled, "Mul"))
            continue;
        if (!difference && (r = part(&m->parts, rest, "Sub"))) {
            m->bias = r->inputs[0];
            rest = r->inputs[1];
        } else if (!difference && (r = part(&m->parts, rest, "Neg"))) {
            rest = r->inputs[0];
        } else if (!difference) {
            continue;
        }
        if (is_product(&m->parts, rest, m->mean, inverse))
            return true;
    }
    return false;
}

/* Whether n is the last operation of a normalisation, without what follows of scale and bias. */
static bool match(struct node *n, struct norm *m)
{
    memset(m, 0, sizeof *m);
    if (part_is(n, "Div"))
        return match_root(m, n->inputs[1]) && is_numerator(m, n->inputs[0]);
    if (part_is(n, "Mul"))
        return match_product(m, n);
    return (part_is(n, "Add") || part_is(n, "Sub")) && match_spread(m, n);
}

/* Where in *order the axes stand that are normalised: all others first, each group in its order.
 * The first of them. */
static int order_of(const struct norm *m, int64_t *order)
{
    int count = 0, first;

    for (int a = 0; a < m->x->shape.axes; a++)
        if (!(m->axes >> a & 1))
            order[count++] = a;
    first = count;
    for (int a = 0; a < m->x->shape.axes; a++)
        if (m->axes >> a & 1)
            order[count++] = a;
    return first;
}

static struct value *ordered(struct node *like, struct value *x, const int64_t *order)
{
    struct graph *g = like->graph;
    struct node *n;
    int moved = 0;

    for (int a = 0; a < x->shape.axes; a++)
        moved |= order[a] != a;
    if (!moved)
        return x;
    n = graph_node_like(g, operator_get(g->context, "Transpose"), like, &x, 1, 1);
    node_set_ints(n, "perm", x->shape.axes, order);
    infer_node(n);
    return n->outputs[0];
}

static struct value *filled(struct graph *g, int count, const int64_t *dims, float number)
{
    struct shape s = shape_of(count, dims);
    float *f = NEW_ARRAY(&g->context->arena, shape_count(&s), float);

    for (int64_t i = 0; i < shape_count(&s); i++)
        f[i] = number;
    return graph_constant_floats(g, "", &s, f);
}

/* Whether v is a constant with exactly the shape of what is normalised together. */
static bool is_parameter(const struct value *v, const struct shape *x, int axis)
{
    if (!v || !v->constant || v->type != TYPE_FLOAT32 || v->shape.axes != x->axes - axis)
        return false;
    for (int a = 0; a < v->shape.axes; a++)
        if (v->shape.dim[a] != x->dim[axis + a])
            return false;
    return true;
}

/* The constant that the only reader of v combines with it by op, if it is a parameter. */
static struct value *parameter(const struct value *v, const char *op, int axis,
                               struct node **reader)
{
    struct node *n = value_only_reader(v);
    struct value *other;

    *reader = n;
    if (!part_is(n, op) || n->inputs[0] == n->inputs[1])
        return NULL;
    other = n->inputs[n->inputs[0] == v];
    return is_parameter(other, &v->shape, axis) ? other : NULL;
}

static struct value *then(struct node *like, const char *op, struct value *y, struct value *with)
{
    struct value *inputs[] = {y, with};
    struct node *n;

    if (!with)
        return y;
    n = graph_node_like(like->graph, operator_get(like->graph->context, op), like, inputs, 2, 1);
    infer_node(n);
    return n->outputs[0];
}

/* As one operator. *last: what it stands for ends in, with scale and bias where they suit it. */
static struct value *made_of(struct norm *m, struct node *n, struct node **last)
{
    struct graph *g = n->graph;
    int64_t order[MAX_AXES], back[MAX_AXES];
    int first = order_of(m, order), axes = m->x->shape.axes;
    struct value *x = ordered(n, m->x, order), *inputs[3] = {x}, *found;
    const struct shape *s = &x->shape;
    bool channels = m->mean && first == 2 && axes > 3, inner = first + 1 == axes || !channels;
    struct node *made, *reader;

    *last = n;
    for (int a = 0; a < axes; a++)
        back[order[a]] = a;
    if (x == m->x && inner && !m->bias) {
        /* Only what reads the result itself can be its scale, where the form has none. */
        if (is_parameter(m->scale, s, first)) {
            inputs[1] = m->scale;
            m->scale = NULL;
        } else if (!m->scale && (found = parameter(n->outputs[0], "Mul", first, &reader))) {
            inputs[1] = found;
            *last = reader;
        }
        if (m->mean && !m->scale &&
            (found = parameter((*last)->outputs[0], "Add", first, &reader))) {
            inputs[2] = found;
            *last = reader;
        }
    } else if (x == m->x && inner && is_parameter(m->bias, s, first) &&
               (!m->scale || is_parameter(m->scale, s, first))) {
        inputs[1] = m->scale;
        inputs[2] = m->bias;
        m->scale = m->bias = NULL;
    }
    if (!inputs[1])
        inputs[1] = channels && !inner ? filled(g, 1, s->dim + 1, 1)
                                       : filled(g, axes - first, s->dim + first, 1);
    if (!inner)
        inputs[2] = filled(g, 1, s->dim + 1, 0);
    made = graph_node_like(g,
                           operator_get(g->context, !m->mean ? "RMSNormalization"
                                                    : inner  ? "LayerNormalization"
                                                             : "InstanceNormalization"),
                           n, inputs, inputs[2] ? 3 : 2, 1);
    if (inner)
        node_set_int(made, "axis", first);
    node_set_float(made, "epsilon", (float)m->epsilon);
    infer_node(made);
    x = ordered(n, made->outputs[0], back);
    return then(n, "Add", then(n, "Mul", x, m->scale), m->bias);
}

static bool fuse(struct node *n)
{
    struct norm m;
    struct node *last;
    struct value *made;

    if (!n->outputs[0] || n->outputs[0]->constant || n->outputs[0]->type != TYPE_FLOAT32 ||
        !match(n, &m) || !shape_known(&m.x->shape) || !shape_known(&n->outputs[0]->shape) ||
        m.x->constant || !shape_count(&m.x->shape) || axes_may_mix(n->graph, &m.x->shape, m.axes) ||
        !parts_hold(&m.parts, n))
        return false;
    made = made_of(&m, n, &last);
    /* The parts have no readers left but each other; the dead pass takes them. */
    value_replace(n->graph, last->outputs[0], made);
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
