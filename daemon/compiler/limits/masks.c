/*
 * Masks before Softmax (R17): -65504 and less, -inf included, added to the scores or chosen by
 * Where in their place. All of these are -65504 in 16 bits, which Softmax makes 0, as it would the
 * original; but in a row of nothing else the original's own numbers would have counted.
 */
#include "daemon/compiler/limits/limits.h"
#include "daemon/compiler/operators/operator.h"
#include "daemon/compiler/operators/walk.h"
#include <string.h>

enum { MOST_VIEWS = 16 };

/* Keeps the elements in their order, so that rows stay rows. */
static bool only_reshapes(const struct node *n)
{
    static const char *const ops[] = {"Flatten", "Identity", "Reshape", "Squeeze", "Unsqueeze"};

    for (size_t i = 0; i < sizeof ops / sizeof *ops; i++)
        if (node_is(n, ops[i]))
            return true;
    return false;
}

static bool is_sum(const struct node *n)
{
    return node_is(n, "Add") || node_is(n, "Sum");
}

/* The constant in slot takes the place of scores, or comes on top of them. */
static bool may_mask(const struct node *n, int slot)
{
    const struct value *v = n->inputs[slot];

    if (!v || !v->constant || !type_is_float(v->type) || !v->constant->count)
        return false;
    return node_is(n, "Where") ? slot > 0 && n->inputs[0]->constant
                               : is_sum(n) || node_is(n, "Sub");
}

struct mask {
    struct context *context;
    const struct node *node;
    const struct value *constant;
    struct arena *scratch;
};

/* Row-major index of element `at` of a tensor of shape s, as [0, 3, 1]. */
static const char *position_text(struct arena *a, const struct shape *s, int64_t at)
{
    struct shape p = *s;

    for (int axis = s->axes - 1; axis >= 0; axis--) {
        p.dim[axis] = at % s->dim[axis];
        at /= s->dim[axis];
    }
    return shape_text(a, &p);
}

/* hidden: of each element of what softmax reads, whether the mask makes it -65504. */
static void judge_rows(const struct mask *m, const struct node *softmax,
                       const unsigned char *hidden)
{
    struct context *c = m->context;
    const struct value *x = softmax->inputs[0];
    struct lines rows;
    unsigned along = 0;
    int count;
    const int64_t *axes = node_ints(softmax, "axes", &count);

    for (int i = 0; i < count; i++)
        along |= 1u << axes[i];
    lines_init(&rows, &x->shape, along, m->scratch);
    for (int64_t i = 0; i < rows.count; i++) {
        int64_t k = 0;

        while (k < rows.length && hidden[rows.start[i] + rows.offset[k]])
            k++;
        if (k == rows.length && k) {
            struct place place = node_place(m->node);
            const char *name =
                *softmax->name ? softmax->name : arena_printf(&c->arena, "#%d", softmax->position);

            diagnose(c, &place, TUKI0137, NULL,
                     "its constant%s%s covers the whole row at %s of Softmax %s: in 16 bits all of "
                     "it is -65504",
                     *m->constant->name ? " " : "", m->constant->name,
                     position_text(&c->arena, &x->shape, rows.start[i]), name);
            return;
        }
    }
}

/* The same elements where v is broadcast to shape s. */
static const unsigned char *broadcast(const struct value *v, const unsigned char *hidden,
                                      const struct shape *s, struct arena *scratch)
{
    const struct shape *shapes[] = {&v->shape};
    unsigned char *wide;
    struct walk w;

    if (shape_count(s) == shape_count(&v->shape))
        return hidden;
    wide = NEW_ARRAY(scratch, shape_count(s), unsigned char);
    walk_broadcast(&w, s, 1, shapes);
    while (walk_next(&w))
        for (int64_t i = 0; i < w.run; i++)
            wide[w.position + i] = hidden[w.at[0] + i * w.step[0]];
    return wide;
}

/* Whether v gets to a Softmax, reshaped, and with at most `sums` more addends on the way. Where m
 * is not NULL each such Softmax is judged. */
static bool gets_to_softmax(const struct value *v, int views, int sums, const struct mask *m,
                            const unsigned char *hidden)
{
    bool found = false;

    for (int i = 0; i < v->reader_count; i++) {
        const struct node *n = v->readers[i];

        if (node_is(n, "Softmax")) {
            found = true;
            if (m)
                judge_rows(m, n, hidden);
        } else if (views > 0 && only_reshapes(n) && n->inputs[0] == v) {
            found = gets_to_softmax(n->outputs[0], views - 1, sums, m, hidden) || found;
        } else if (sums > 0 && is_sum(n)) {
            found = gets_to_softmax(n->outputs[0], views, sums - 1, m,
                                    m ? broadcast(v, hidden, &n->outputs[0]->shape, m->scratch)
                                      : NULL) ||
                    found;
        }
    }
    return found;
}

/* A Where stands right before it; what is added may come in two parts, one of them computed. */
static int sums_behind(const struct node *n)
{
    return node_is(n, "Where") ? 0 : 1;
}

bool is_softmax_mask(const struct node *n, int slot)
{
    return may_mask(n, slot) &&
           gets_to_softmax(n->outputs[0], MOST_VIEWS, sums_behind(n), NULL, NULL);
}

/* Which elements of n's result the constant in slot makes -65504. */
static const unsigned char *hidden_by(const struct node *n, int slot, struct arena *scratch)
{
    struct context *c = n->graph->context;
    const struct shape *s = &n->outputs[0]->shape;
    const struct value *v = n->inputs[slot];
    const float *numbers = tensor_floats(c, v->constant, scratch);
    bool where = node_is(n, "Where"), negative = slot && node_is(n, "Sub");
    const unsigned char *condition = where ? tensor_data(c, n->inputs[0]->constant, scratch) : NULL;
    const struct shape *shapes[] = {&v->shape, where ? &n->inputs[0]->shape : &v->shape};
    unsigned char *hidden = NEW_ARRAY(scratch, shape_count(s), unsigned char);
    struct walk w;

    walk_broadcast(&w, s, 2, shapes);
    while (walk_next(&w)) {
        context_poll(c);
        for (int64_t i = 0; i < w.run; i++) {
            double number = (double)numbers[w.at[0] + i * w.step[0]];
            bool chosen = !where || (condition[w.at[1] + i * w.step[1]] != 0) == (slot == 1);

            hidden[w.position + i] = chosen && (negative ? -number : number) <= -LARGEST_HALF;
        }
    }
    return hidden;
}

static void judge(const struct node *n, int slot)
{
    struct context *c = n->graph->context;
    struct mask m = {c, n, n->inputs[slot], NULL};
    double least, greatest;

    if (!is_softmax_mask(n, slot))
        return;
    tensor_range(c, n->inputs[slot]->constant, &least, &greatest);
    if ((slot && node_is(n, "Sub") ? -greatest : least) > -LARGEST_HALF)
        return;
    m.scratch = arena_child(&c->arena);
    gets_to_softmax(n->outputs[0], MOST_VIEWS, sums_behind(n), &m, hidden_by(n, slot, m.scratch));
    arena_free(m.scratch);
}

/* The mask of an Attention is added inside it: a row of it is that of a query. */
static void judge_attention(const struct node *n)
{
    struct context *c = n->graph->context;
    const struct value *v = node_input(n, 3);
    struct arena *scratch;
    const float *numbers;
    double least, greatest;
    int64_t length, at = 0;

    if (!v || !v->constant || v->type != TYPE_FLOAT32 || v->shape.axes < 1 || !v->constant->count)
        return;
    tensor_range(c, v->constant, &least, &greatest);
    if (least > -LARGEST_HALF)
        return;
    scratch = arena_child(&c->arena);
    numbers = tensor_floats(c, v->constant, scratch);
    length = v->shape.dim[v->shape.axes - 1];
    for (int64_t k = 0; at < v->constant->count && k < length; k++)
        if ((double)numbers[at + k] > -LARGEST_HALF) {
            at += length;
            k = -1;
        }
    if (at < v->constant->count) {
        struct place place = node_place(n);

        diagnose(c, &place, TUKI0137, NULL,
                 "its constant%s%s covers the whole row at %s: in 16 bits all of it is -65504",
                 *v->name ? " " : "", v->name, position_text(&c->arena, &v->shape, at));
    }
    arena_free(scratch);
}

void report_masks(struct graph *g)
{
    for (int i = 0; i < g->node_count; i++) {
        const struct node *n = g->nodes[i];

        context_poll(g->context);
        if (n->removed || !n->op || !n->output_count || !n->outputs[0] || n->outputs[0]->constant)
            continue;
        if (node_is(n, "Attention"))
            judge_attention(n);
        for (int k = 0; k < n->input_count; k++)
            if (may_mask(n, k))
                judge(n, k);
    }
}
