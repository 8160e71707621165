/*
 * Parts of one value, each times the same matrix, are parts of one product:
 *
 *     x[:, 0] W + b, x[:, 1] W + b, … = y[:, 0], y[:, 1], … where y = x W + b
 *
 * and a sum of products is a product of what stands side by side:
 *
 *     x W + h R = [x, h] [W; R]
 */
#include "daemon/compiler/gpu/products.h"
#include "daemon/compiler/gpu/make.h"
#include "daemon/compiler/operators/operator.h"
#include "daemon/compiler/passes/pass.h"
#include <stdlib.h>
#include <string.h>

/* A product by a matrix of weights that is not kept in 8 or 4 bits; its numbers stay where they
 * are. */
static bool is_product(const struct node *n)
{
    return node_called(n, "MatMul") && !n->removed && n->inputs[1]->constant &&
           !n->inputs[0]->constant && n->inputs[0]->shape.axes >= 2 &&
           n->inputs[1]->shape.axes >= 2 && shape_count(&n->outputs[0]->shape) > 0 &&
           !constant_is_quantised(n->inputs[1]);
}

static int64_t last_of(const struct shape *s)
{
    return s->dim[s->axes - 1];
}

/* ---- parts of one value ---- */

enum { MOST_BEHIND = 4 };

/* Whether n takes whole rows of its first operand, by numbers that are known. */
static bool takes_rows(const struct node *n)
{
    const struct shape *s = &n->inputs[0]->shape;
    int count, last = s->axes - 1;
    const int64_t *axes;

    if (last < 1 || n->inputs[0]->constant)
        return false;
    if (node_called(n, "Gather"))
        return n->inputs[1]->constant && shape_axis(s, node_int(n, "axis", 0)) != last;
    if (node_called(n, "Split"))
        return shape_axis(s, node_int(n, "axis", 0)) != last;
    if (!node_called(n, "Slice"))
        return false;
    for (int i = 1; i < n->input_count; i++)
        if (n->inputs[i] && !n->inputs[i]->constant)
            return false;
    axes = node_constant_ints(n, 3, &count);
    if (!axes)
        return !node_input(n, 3) && n->inputs[1]->shape.dim[0] <= last;
    for (int i = 0; i < count; i++)
        if (shape_axis(s, axes[i]) == last)
            return false;
    return true;
}

/* The value whose rows v shows some of, in order: what a node takes, behind changes of shape that
 * leave rows as they are. NULL: it is none. */
static struct value *taken(struct value *v)
{
    static const char *const reshapes[] = {"Reshape", "Squeeze", "Unsqueeze", "Flatten", NULL};

    for (int behind = 0; behind < MOST_BEHIND; behind++) {
        const struct node *n = v->producer;

        if (v->constant || !n || n->removed || !v->shape.axes || !n->inputs[0]->shape.axes ||
            last_of(&v->shape) != last_of(&n->inputs[0]->shape))
            return NULL;
        if (takes_rows(n))
            return v;
        if (!node_called_one_of(n, reshapes))
            return NULL;
        v = n->inputs[0];
    }
    return NULL;
}

/* One product, of a part of `of`. */
struct member {
    struct node *product;
    struct node *bias; /* adds a constant row to it, and nobody else reads it; or NULL */
    struct value *part, *of, *row;
    int order;
    int group; /* the order of the first of the same value and matrix */
    int alike; /* so many of them have the same row */
};

/* A constant that is the same for each row of v, which is all that the only reader of v adds. */
static struct node *added_row(const struct value *v, struct value **row)
{
    struct node *n = value_only_reader(v);

    if (!n || !node_called(n, "Add"))
        return NULL;
    *row = n->inputs[n->inputs[0] == v];
    if (!(*row)->constant || !shape_equal(&n->outputs[0]->shape, &v->shape) ||
        (*row)->constant->count != ((*row)->shape.axes ? last_of(&(*row)->shape) : 1))
        return NULL;
    return n;
}

static bool same_operands(const struct member *a, const struct member *b)
{
    return a->of == b->of && a->product->inputs[1] == b->product->inputs[1];
}

/* Negative, zero or positive as the first of the pairs that differ. */
static int compare(const int (*pairs)[2], int count)
{
    for (int i = 0; i < count; i++)
        if (pairs[i][0] != pairs[i][1])
            return pairs[i][0] < pairs[i][1] ? -1 : 1;
    return 0;
}

static int by_operands(const void *left, const void *right)
{
    const struct member *a = left, *b = right;
    const int pairs[][2] = {{a->of->id, b->of->id},
                            {a->product->inputs[1]->id, b->product->inputs[1]->id},
                            {a->row ? a->row->id : -1, b->row ? b->row->id : -1},
                            {a->order, b->order}};

    return compare(pairs, 4);
}

static int by_order(const void *left, const void *right)
{
    const struct member *a = left, *b = right;
    const int pairs[][2] = {{a->group, b->group}, {a->order, b->order}};

    return compare(pairs, 2);
}

/* Those of one value and one matrix stand together, otherwise in the graph's order: that of values'
 * numbers depends on the file's. */
static void group_members(struct member *list, int count)
{
    qsort(list, (size_t)count, sizeof *list, by_operands);
    for (int from = 0, to; from < count; from = to) {
        int group = list[from].order;

        for (to = from; to < count && same_operands(&list[from], &list[to]); to++)
            group = list[to].order < group ? list[to].order : group;
        for (int i = from, end; i < to; i = end) {
            for (end = i; end < to && list[end].row == list[i].row;)
                end++;
            for (int k = i; k < end; k++) {
                list[k].group = group;
                list[k].alike = end - i;
            }
        }
    }
    qsort(list, (size_t)count, sizeof *list, by_order);
}

/* What takes the part, from y instead of from what it takes it from. */
static struct value *take_from(const struct member *m, struct value *y)
{
    struct node *n = m->part->producer, *made;
    struct arena *a = &n->graph->context->arena;

    made = graph_node_like(n->graph, n->op, n, n->inputs, n->input_count, n->output_count);
    node_set_input(made, 0, y);
    for (int i = 0; i < n->attribute_count; i++)
        APPEND(a, made->attributes, made->attribute_count, made->attribute_room) = n->attributes[i];
    infer_node(made);
    return made->outputs[m->part->producer_output];
}

/* v, which has `common` added, as if it had row instead; either may be NULL. */
static struct value *with_row(struct node *n, struct value *v, struct value *row,
                              struct value *common)
{
    if (row == common)
        return v;
    if (row && common)
        row = make_binary(n, "Sub", row, common);
    return make_binary(n, row ? "Add" : "Sub", v, row ? row : common);
}

/* As one axis. */
static struct value *as_row(struct node *n, struct value *v)
{
    struct shape s = shape_of(1, &v->constant->count);

    return make_reshaped(n, v, &s);
}

/* Whether all that is made of v, in the kernel that computes it, is an output. */
static bool becomes_output(const struct value *v)
{
    for (int length = 0; length < MOST_BEHIND && !v->output_count; length++) {
        const struct node *n = value_only_reader(v);

        if (!n || !n->op || n->op->functions->role == ROLE_STEP)
            return false;
        v = n->outputs[0];
    }
    return v->output_count > 0;
}

/* Worth it where no more rows are computed than before, and fewer draws are left: what becomes an
 * output takes one then to be moved there. */
static int join_members(struct member *list, int count)
{
    const struct member *common = list;
    struct node *first = list->product;
    struct value *x = list->of, *y;
    int64_t rows = 0;
    int draws = 1;

    for (int i = 0; i < count; i++) {
        const struct node *n = list[i].bias ? list[i].bias : list[i].product;

        draws += becomes_output(n->outputs[0]);
        rows += shape_count(&list[i].part->shape) / last_of(&x->shape);
        common = list[i].alike > common->alike ? &list[i] : common;
    }
    if (draws >= count || rows < shape_count(&x->shape) / last_of(&x->shape))
        return 0;
    y = make_binary(first, "MatMul", x, first->inputs[1]);
    if (common->row)
        y = make_binary(common->bias, "Add", y, as_row(common->bias, common->row));
    for (int i = 0; i < count; i++) {
        struct node *n = list[i].bias ? list[i].bias : list[i].product;
        struct value *own = make_reshaped(n, take_from(&list[i], y), &n->outputs[0]->shape);

        pass_replace(n, with_row(n, own, list[i].row, common->row));
        if (list[i].bias)
            node_remove(list[i].product);
    }
    return count;
}

static int join_parts(struct graph *g)
{
    struct arena *scratch = arena_child(&g->context->arena);
    struct member *list = NEW_ARRAY(scratch, g->node_count + 1, struct member);
    int count = 0, changes = 0;

    for (int i = 0; i < g->node_count; i++) {
        struct node *n = g->nodes[i];
        struct member m = {.product = n, .order = i};

        if (!is_product(n) || n->inputs[1]->shape.axes != 2 || !(m.part = taken(n->inputs[0])))
            continue;
        m.of = m.part->producer->inputs[0];
        if (!shape_known(&m.of->shape) || !shape_count(&m.of->shape))
            continue;
        m.bias = added_row(n->outputs[0], &m.row);
        m.row = m.bias ? m.row : NULL;
        list[count++] = m;
    }
    group_members(list, count);
    for (int from = 0, to; from < count; from = to) {
        for (to = from + 1; to < count && list[to].group == list[from].group;)
            to++;
        changes += join_members(&list[from], to - from);
    }
    arena_free(scratch);
    return changes;
}

/* ---- sums of products ---- */

enum { MOST_TERMS = 16, MOST_JOINED = 4 };

struct sum {
    struct node *last; /* of its Adds */
    struct value *terms[MOST_TERMS];
    int count;
    bool overflow;
};

static bool is_addition(const struct node *n)
{
    return n && !n->removed && node_called(n, "Add");
}

static void collect_terms(struct sum *s, struct node *n, int depth)
{
    for (int i = 0; i < 2; i++) {
        struct value *v = n->inputs[i];

        if (!v->constant && is_addition(v->producer) && value_only_reader(v) &&
            shape_equal(&v->shape, &s->last->outputs[0]->shape) && depth < MOST_TERMS)
            collect_terms(s, v->producer, depth + 1);
        else if (s->count < MOST_TERMS)
            s->terms[s->count++] = v;
        else
            s->overflow = true;
    }
}

/* Whether both have as many rows and columns, so that their operands can stand side by side. */
static bool fits(const struct node *a, const struct node *b)
{
    for (int i = 0; i < 2; i++) {
        struct shape s = a->inputs[i]->shape, t = b->inputs[i]->shape;

        if (s.axes != t.axes)
            return false;
        s.dim[s.axes - 1 - i] = t.dim[t.axes - 1 - i] = 1;
        if (!shape_equal(&s, &t))
            return false;
    }
    return true;
}

/* Those of s that can be one, where terms[i] is NULL then. Returns how many. */
static int choose_products(struct sum *s, struct node **chosen)
{
    int count = 0;

    for (int i = 0; i < s->count && count < MOST_JOINED; i++) {
        struct node *n = s->terms[i]->producer;

        if (!n || s->terms[i]->constant || !is_product(n) || !value_only_reader(s->terms[i]) ||
            !shape_equal(&s->terms[i]->shape, &s->last->outputs[0]->shape) ||
            (count && !fits(chosen[0], n)))
            continue;
        chosen[count++] = n;
        s->terms[i] = NULL;
    }
    return count;
}

static int join_sum(struct node *n)
{
    struct sum s = {.last = n};
    struct node *chosen[MOST_JOINED];
    struct value *rows[MOST_JOINED], *columns[MOST_JOINED], *sum;
    int count;

    collect_terms(&s, n, 1);
    count = s.overflow ? 0 : choose_products(&s, chosen);
    if (count < 2)
        return 0;
    for (int i = 0; i < count; i++) {
        struct value *x = chosen[i]->inputs[0], *w = chosen[i]->inputs[1];

        /* Each ends with a cell, so that the next one's elements are fetched in fours, too. */
        rows[i] = make_whole_cells(n, x, x->shape.axes - 1);
        columns[i] = make_padded(chosen[i], w, w->shape.axes - 2, 0,
                                 last_of(&rows[i]->shape) - last_of(&x->shape), 0);
    }
    sum = make_binary(chosen[0], "MatMul",
                      make_concat(chosen[0], rows[0]->shape.axes - 1, count, rows),
                      make_concat(chosen[0], columns[0]->shape.axes - 2, count, columns));
    for (int i = 0; i < s.count; i++)
        if (s.terms[i])
            sum = make_binary(n, "Add", sum, s.terms[i]);
    pass_replace(n, sum);
    return count - 1;
}

static int join_sums(struct graph *g)
{
    int changes = 0, count = g->node_count;

    for (int i = 0; i < count; i++) {
        struct node *n = g->nodes[i], *reader;

        if (!is_addition(n) || n->outputs[0]->constant)
            continue;
        reader = value_only_reader(n->outputs[0]);
        if (!is_addition(reader) || !shape_equal(&reader->outputs[0]->shape, &n->outputs[0]->shape))
            changes += join_sum(n);
    }
    return changes;
}

int products_join(struct graph *g)
{
    static const struct pass parts = {.name = "products of parts", .run = join_parts},
                             sums = {.name = "sums of products", .run = join_sums};
    int changes = pass_run(g, &parts);

    return changes + pass_run(g, &sums);
}
