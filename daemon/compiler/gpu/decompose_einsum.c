/* Einsum as products, sums and transpositions, two operands at a time from the left; Det by its
 * minors. */
#include "daemon/compiler/gpu/make.h"
#include "daemon/compiler/operators/einsum.h"
#include <string.h>

/* A value whose axes are labels of the equation, each once. */
struct labelled {
    struct value *v;
    int axes, label[MAX_AXES];
};

static int find(const struct labelled *a, int label)
{
    for (int i = 0; i < a->axes; i++)
        if (a->label[i] == label)
            return i;
    return -1;
}

static void drop_axis(struct labelled *a, int axis)
{
    memmove(a->label + axis, a->label + axis + 1, (size_t)(--a->axes - axis) * sizeof *a->label);
}

static struct shape extents(const struct labelled *a, const struct einsum *e)
{
    struct shape s = {.axes = a->axes};

    for (int i = 0; i < a->axes; i++)
        s.dim[i] = e->extent[a->label[i]];
    return s;
}

/* Axes in the order of labels, which are a's in another order. */
static void arrange(struct node *n, struct labelled *a, const int *label)
{
    int64_t perm[MAX_AXES];

    for (int i = 0; i < a->axes; i++)
        perm[i] = find(a, label[i]);
    a->v = make_transposed(n, a->v, a->axes, perm);
    memcpy(a->label, label, (size_t)a->axes * sizeof *label);
}

/* A label that stands at two axes: they become one axis, of which every (n + 1)th element is on the
 * diagonal. */
static void take_diagonal(struct node *n, struct labelled *a, int first, int second)
{
    struct graph *g = n->graph;
    int64_t perm[MAX_AXES], extent = a->v->shape.dim[first];
    int count = 0;

    for (int i = 0; i < a->axes; i++)
        if (i != first && i != second)
            perm[count++] = i;
    perm[count++] = first;
    perm[count++] = second;
    a->v = make_transposed(n, a->v, count, perm);
    struct shape merged = a->v->shape;
    merged.axes--;
    merged.dim[merged.axes - 1] = extent * extent;
    struct value *inputs[] = {make_reshaped(n, a->v, &merged),
                              graph_constant_ints(g, "", 1, (const int64_t[]){0}),
                              graph_constant_ints(g, "", 1, (const int64_t[]){extent * extent}),
                              graph_constant_ints(g, "", 1, (const int64_t[]){merged.axes - 1}),
                              graph_constant_ints(g, "", 1, (const int64_t[]){extent + 1})};
    a->v = make_inferred(make_node(n, "Slice", 5, inputs));
    int label = a->label[first];
    drop_axis(a, second);
    drop_axis(a, first);
    a->label[a->axes++] = label;
}

static void sum_axes(struct node *n, struct labelled *a, const bool *summed)
{
    int64_t axes[MAX_AXES];
    int count = 0;

    for (int i = 0; i < a->axes; i++)
        if (summed[i])
            axes[count++] = i;
    if (!count)
        return;
    struct value *both[] = {a->v, graph_constant_ints(n->graph, "", count, axes)};
    struct node *r = make_node(n, "ReduceSum", 2, both);
    node_set_int(r, "keepdims", 0);
    a->v = make_inferred(r);
    while (count-- > 0)
        drop_axis(a, (int)axes[count]);
}

/* An operand without axes of length 1, with each label once, and without labels that nobody else
 * has. */
static void prepare(struct node *n, const struct einsum *e, struct labelled *a, const int *uses)
{
    bool summed[MAX_AXES] = {false};
    struct shape s;

    for (int i = a->axes; i-- > 0;)
        if (a->v->shape.dim[i] == 1) {
            s = a->v->shape;
            memmove(s.dim + i, s.dim + i + 1, (size_t)(--s.axes - i) * sizeof *s.dim);
            a->v = make_reshaped(n, a->v, &s);
            drop_axis(a, i);
        }
    for (int i = 0; i < a->axes; i++)
        for (int k = i + 1; k < a->axes; k++)
            if (a->label[i] == a->label[k]) {
                take_diagonal(n, a, i, k);
                i = -1;
                break;
            }
    (void)e;
    for (int i = 0; i < a->axes; i++)
        summed[i] = uses[a->label[i]] == 1;
    sum_axes(n, a, summed);
}

static bool join_by_product(struct node *n, const struct einsum *e, struct labelled *a,
                            struct labelled *b, const bool *summed_label)
{
    struct labelled both = *a;
    bool summed[MAX_AXES] = {false};
    int order[MAX_AXES];
    struct shape s;

    for (int i = 0; i < b->axes; i++)
        if (find(a, b->label[i]) < 0) {
            if (both.axes == MAX_AXES)
                return false;
            both.label[both.axes++] = b->label[i];
        }
    for (int i = 0, count = 0; i < both.axes; i++)
        if (find(b, both.label[i]) >= 0)
            order[count++] = both.label[i];
    arrange(n, b, order);
    s = extents(&both, e);
    for (int i = a->axes; i < both.axes; i++)
        s.dim[i] = 1;
    a->v = make_reshaped(n, a->v, &s);
    s = extents(&both, e);
    for (int i = 0; i < both.axes; i++)
        if (find(b, both.label[i]) < 0)
            s.dim[i] = 1;
    both.v = make_binary(n, "Mul", a->v, make_reshaped(n, b->v, &s));
    for (int i = 0; i < both.axes; i++)
        summed[i] = summed_label[both.label[i]];
    sum_axes(n, &both, summed);
    *a = both;
    return true;
}

static int64_t merged_extent(const struct einsum *e, const int *label, int count)
{
    int64_t product = 1;

    for (int i = 0; i < count; i++)
        product *= e->extent[label[i]];
    return product;
}

/* a becomes a with b: uses counts, for each label, the output and the operands that still have it,
 * these two included. */
static bool contract(struct node *n, const struct einsum *e, struct labelled *a, struct labelled *b,
                     const int *uses)
{
    int batch[MAX_AXES], left[MAX_AXES], right[MAX_AXES], sum[MAX_AXES], order[MAX_AXES];
    int batches = 0, lefts = 0, rights = 0, sums = 0;
    bool summed[EINSUM_LABELS] = {false};
    struct labelled result = {0};
    struct shape s;

    for (int i = 0; i < a->axes; i++) {
        int label = a->label[i];

        if (find(b, label) < 0)
            left[lefts++] = label;
        else if (uses[label] > 2)
            batch[batches++] = label;
        else
            summed[sum[sums++] = label] = true;
    }
    for (int i = 0; i < b->axes; i++)
        if (find(a, b->label[i]) < 0)
            right[rights++] = b->label[i];
    if (!sums || (!lefts && !rights))
        return join_by_product(n, e, a, b, summed);
    if (batches + 2 > MAX_AXES || batches + lefts + rights > MAX_AXES)
        return false;
    memcpy(order, batch, sizeof order);
    memcpy(order + batches, left, (size_t)lefts * sizeof *left);
    memcpy(order + batches + lefts, sum, (size_t)sums * sizeof *sum);
    arrange(n, a, order);
    memcpy(order + batches, sum, (size_t)sums * sizeof *sum);
    memcpy(order + batches + sums, right, (size_t)rights * sizeof *right);
    arrange(n, b, order);
    s.axes = batches + 2;
    for (int i = 0; i < batches; i++)
        s.dim[i] = e->extent[batch[i]];
    s.dim[batches] = merged_extent(e, left, lefts);
    s.dim[batches + 1] = merged_extent(e, sum, sums);
    struct value *first = make_reshaped(n, a->v, &s);
    s.dim[batches] = s.dim[batches + 1];
    s.dim[batches + 1] = merged_extent(e, right, rights);
    struct value *product = make_binary(n, "MatMul", first, make_reshaped(n, b->v, &s));
    for (int i = 0; i < batches; i++)
        result.label[result.axes++] = batch[i];
    for (int i = 0; i < lefts; i++)
        result.label[result.axes++] = left[i];
    for (int i = 0; i < rights; i++)
        result.label[result.axes++] = right[i];
    s = extents(&result, e);
    result.v = make_reshaped(n, product, &s);
    *a = result;
    return true;
}

bool decompose_einsum(struct node *n, struct value **out)
{
    const struct shape *shapes[EINSUM_OPERANDS] = {NULL};
    struct labelled operand[EINSUM_OPERANDS];
    int uses[EINSUM_LABELS] = {0}, order[MAX_AXES], kept = 0;
    struct einsum e;

    if (n->input_count > EINSUM_OPERANDS)
        return false;
    for (int i = 0; i < n->input_count; i++)
        shapes[i] = &n->inputs[i]->shape;
    if (!einsum_read(n, shapes, &e))
        return false;
    for (int i = 0; i < e.operands; i++) {
        bool seen[EINSUM_LABELS] = {false};

        operand[i].v = n->inputs[i];
        operand[i].axes = e.operand[i].axes;
        memcpy(operand[i].label, e.operand[i].label, sizeof operand[i].label);
        for (int k = 0; k < operand[i].axes; k++)
            if (shapes[i]->dim[k] != 1 && !seen[operand[i].label[k]]) {
                seen[operand[i].label[k]] = true;
                uses[operand[i].label[k]]++;
            }
    }
    for (int i = 0; i < e.output.axes; i++)
        uses[e.output.label[i]]++;
    for (int i = 0; i < e.operands; i++)
        prepare(n, &e, &operand[i], uses);
    for (int i = 1; i < e.operands; i++) {
        struct labelled before = operand[0];

        if (!contract(n, &e, &operand[0], &operand[i], uses))
            return false;
        for (int k = 0; k < before.axes; k++)
            if (find(&operand[i], before.label[k]) >= 0)
                uses[before.label[k]]--;
    }
    for (int i = 0; i < e.output.axes; i++)
        if (find(&operand[0], e.output.label[i]) >= 0)
            order[kept++] = e.output.label[i];
    arrange(n, &operand[0], order);
    out[0] = make_reshaped(n, operand[0].v, &n->outputs[0]->shape);
    return true;
}
