/* Layouts: given at the model's edge; inside, the packed axis that costs the readers least. */
#include "daemon/compiler/gpu/steps_inside.h"
#include "daemon/compiler/gpu/tokens.h"
#include <inttypes.h>
#include <limits.h>
#include <math.h>
#include <string.h>

static bool is_line_operator(const struct node *n)
{
    static const char *const names[] = {
        "Conv",          "ConvTranspose",     "MaxPool",      "AveragePool", "LpPool",
        "GlobalMaxPool", "GlobalAveragePool", "GlobalLpPool", NULL};

    if (!n->inputs[0] || n->inputs[0]->shape.axes != 3)
        return false;
    for (int i = 0; names[i]; i++)
        if (!strcmp(n->op->name, names[i]))
            return true;
    return false;
}

static bool is_looked_through(const struct node *n)
{
    return functions_of(n)->role == ROLE_ELEMENTWISE ||
           !strcmp(n->op->name, "BatchNormalization") || !strcmp(n->op->name, "Pad");
}

/* Where a node that is computed stands in the graph's list. */
static int order_of(const struct node *n)
{
    for (int i = 0; i < n->output_count; i++)
        if (n->outputs[i] && n->outputs[i]->plan)
            return spot_of(n->outputs[i])->order;
    return INT_MAX;
}

/* Whether a 1-D convolution or pooling is the first reader of a model input. */
static bool input_is_line(const struct value *v)
{
    for (int depth = 0; v && depth <= 64; depth++) {
        const struct node *first = NULL;

        for (int i = 0; i < v->reader_count; i++) {
            const struct node *n = v->readers[i];

            if (n->mark && (!first || order_of(n) < order_of(first)))
                first = n;
        }
        if (!first || !is_looked_through(first))
            return first && is_line_operator(first);
        v = first->outputs[0];
    }
    return false;
}

static bool output_is_line(const struct value *v)
{
    for (int depth = 0; depth < 64 && v->producer && !v->constant; depth++) {
        const struct node *n = v->producer;
        const struct value *before = NULL;

        if (!is_looked_through(n))
            return is_line_operator(n);
        for (int i = 0; i < n->input_count && !before; i++)
            if (n->inputs[i] && !n->inputs[i]->constant)
                before = n->inputs[i];
        if (!before)
            return false;
        v = before;
    }
    return false;
}

/* ", which Conv conv1 writes," or nothing */
static const char *writer_text(struct arena *a, const struct value *v)
{
    const struct node *n = v->producer;

    if (!n)
        return "";
    return *n->name ? arena_printf(a, ", which %s %s writes,", node_op(n), n->name)
                    : arena_printf(a, ", which %s #%d writes,", node_op(n), n->position);
}

/* The same elements, with the longest axis behind the batch as two, where they fit the edge so.
 * What cannot be a batch, of an output, goes behind one of 1. */
static bool split_longest(const struct shape *s, struct shape *out)
{
    enum { LARGEST_BATCH = 16 };
    bool batch = s->dim[0] <= LARGEST_BATCH;
    int longest = 0;
    int64_t length, half;
    struct layout l;

    *out = (struct shape){.axes = 1, .dim = {batch ? s->dim[0] : 1}};
    for (int i = batch; i < s->axes; i++) {
        if (s->dim[i] == 1)
            continue;
        if (out->axes == 3)
            return false;
        if (!longest || s->dim[i] > out->dim[longest])
            longest = out->axes;
        out->dim[out->axes++] = s->dim[i];
    }
    length = out->dim[longest];
    if (!longest || length > (int64_t)LARGEST_SIDE * LARGEST_SIDE)
        return false;
    half = (int64_t)sqrt((double)length);
    while (length % half)
        half--;
    for (int i = out->axes++; i > longest; i--)
        out->dim[i] = out->dim[i - 1];
    out->dim[longest] = half;
    out->dim[longest + 1] = length / half;
    layout_edge(out, false, &l);
    return l.width <= LARGEST_SIDE && l.height <= LARGEST_SIDE;
}

/* What fits at the model's edge instead of v; NULL: nothing is known to. */
static const char *advice_texture(struct arena *a, const struct place *place, const struct value *v)
{
    struct shape fits;

    if ((place->kind != PLACE_INPUT && place->kind != PLACE_OUTPUT) || v->shape.axes < 1 ||
        type_is_integer(v->type) || !split_longest(&v->shape, &fits))
        return NULL;
    return arena_printf(a,
                        place->kind == PLACE_INPUT
                            ? "Use a smaller input or fewer channels, or export it as %s and "
                              "reshape it in the model"
                            : "Use a smaller input or fewer channels, or reshape it to %s at the "
                              "end of the model",
                        shape_text(a, &fits));
}

static void too_large(struct plan *p, const struct place *place, const struct value *v,
                      int64_t width, int64_t height)
{
    struct arena *a = &p->context->arena;

    diagnose(p->context, place, TUKI0134, advice_texture(a, place, v),
             "its texture for shape %s%s would be %" PRId64 " by %" PRId64
             " cells; at most 16384 are possible",
             shape_text(a, &v->shape), place->kind == PLACE_OUTPUT ? writer_text(a, v) : "", width,
             height);
}

static bool edge_layout(struct plan *p, const struct place *place, const struct value *v, bool line,
                        struct layout *l)
{
    const struct shape *s = &v->shape;

    if (shape_count(s) == 0) {
        diagnose(p->context, place, TUKI0134, "Export with a shape that has elements",
                 "its shape %s%s has no elements", shape_text(&p->context->arena, s),
                 place->kind == PLACE_OUTPUT ? writer_text(&p->context->arena, v) : "");
        return false;
    }
    layout_edge(s, line, l);
    if (l->width <= LARGEST_SIDE && l->height <= LARGEST_SIDE)
        return true;
    too_large(p, place, v, l->width, l->height);
    return false;
}

int buffer_new(struct plan *p, enum buffer_kind kind, int number, struct value *v,
               const struct layout *l)
{
    APPEND(&p->context->arena, p->buffers, p->buffer_count, p->buffer_room) =
        (struct buffer){.kind = kind,
                        .number = number,
                        .value = v,
                        .width = l->width,
                        .height = l->height,
                        .half = true,
                        .written = -1,
                        .last_read = -1,
                        .storage = -1};
    return p->buffer_count - 1;
}

/* One cell a position along x; on y one row for each length that the ids index. */
static bool place_tokens(struct plan *p, const struct place *place, struct value *v)
{
    struct spot *spot = v->plan;

    spot->tables = tokens_tables(v, &spot->table_count, &p->context->arena);
    spot->layout = (struct layout){.packed = -1,
                                   .length_x = shape_count(&v->shape),
                                   .groups = 1,
                                   .width = shape_count(&v->shape),
                                   .height = spot->table_count};
    if (spot->layout.width > LARGEST_SIDE || spot->layout.height > LARGEST_SIDE) {
        too_large(p, place, v, spot->layout.width, spot->layout.height);
        return false;
    }
    spot->buffer = buffer_new(p, BUFFER_TOKENS, v->input, v, &spot->layout);
    return true;
}

bool place_inputs(struct plan *p)
{
    struct graph *g = p->graph;
    bool good = true;

    for (int i = 0; i < g->input_count; i++) {
        struct value *v = g->inputs[i];
        struct spot *spot = v->plan;
        struct node *only;
        struct place place = {.kind = PLACE_INPUT, .index = v->input, .layer = v->name};

        if (!live_readers(v, &only) && !v->output_count)
            continue;
        if (type_is_integer(v->type)) {
            good = place_tokens(p, &place, v) && good;
            continue;
        }
        if (!edge_layout(p, &place, v, input_is_line(v), &spot->layout)) {
            good = false;
            continue;
        }
        spot->buffer = buffer_new(p, BUFFER_INPUT, v->input, v, &spot->layout);
    }
    return good;
}

/* Writes output slot i, in the layout of the edge. */
bool place_output(struct plan *p, int i)
{
    struct graph *g = p->graph;
    struct value *v = g->outputs[i];
    struct spot *spot = v->plan;
    struct place place = {.kind = PLACE_OUTPUT, .index = i, .layer = g->output_names[i]};
    struct layout edge;
    struct step *s;

    if (!edge_layout(p, &place, v, output_is_line(v), &edge))
        return false;
    if (spot && spot->placement == PLACED_BUFFER && spot->step && spot->buffer < 0) {
        const struct node *root = spot->step->root;
        int packed = spot->step->packed;

        /* A single element along its axis lies in any cell; but what reads channels in fours
         * computes those of one position. */
        if (packed < 0 || packed == edge.packed ||
            (v->shape.dim[packed] == 1 && !(root && is_line_operator(root)))) {
            spot->layout = spot->step->layout = edge;
            spot->buffer = spot->step->buffer = buffer_new(p, BUFFER_OUTPUT, i, v, &edge);
            return true;
        }
    }
    s = step_new(p, NULL, 0, v);
    s->copies = true;
    s->layout = edge;
    s->buffer = buffer_new(p, BUFFER_OUTPUT, i, v, &edge);
    return true;
}

int edge_packed(const struct value *v)
{
    struct layout edge;

    layout_edge(&v->shape, output_is_line(v), &edge);
    return edge.packed;
}

bool place_inner(struct plan *p, struct kernel *k, struct step *s)
{
    struct value *v = s->value;
    struct spot *spot = v->plan;
    int fixed = s->packed;
    double best = INFINITY;
    struct layout chosen = {.packed = -1}, l;
    struct place place = node_place(s->root ? s->root : v->producer);

    kernel_forget(k);
    for (int axis = 0; axis < v->shape.axes; axis++) {
        if (fixed >= 0 ? axis != fixed : v->shape.dim[axis] == 1 && v->shape.axes > 1)
            continue;
        if (!layout_inner(&v->shape, axis, &l))
            continue;
        spot->layout = l;
        /* Writing costs too: cells that are not full, and fetching what it is computed from. */
        double cost = reading_cost(k, v) + (double)(l.width * l.height);
        if (!s->root) {
            struct lanes e = sample_elements(k, v, axis);
            enum placement was = spot->placement;

            spot->placement =
                functions_of(v->producer)->role == ROLE_VIEW ? PLACED_VIEW : PLACED_INLINE;
            cost += (double)kernel_cost(k, v, &e) * (double)(l.width * l.height);
            spot->placement = was;
        }
        if (cost < best) {
            best = cost;
            chosen = l;
        }
    }
    if (best == INFINITY && !shape_count(&v->shape)) {
        diagnose(p->context, &place, TUKI0134, "Export with a shape that has elements",
                 "its output of shape %s has no elements",
                 shape_text(&p->context->arena, &v->shape));
        return false;
    }
    if (best == INFINITY && (v->shape.axes == 0 || shape_count(&v->shape) == 1)) {
        if (layout_inner(&v->shape, v->shape.axes ? v->shape.axes - 1 : -1, &chosen))
            best = 0;
    }
    if (best == INFINITY) {
        layout_inner(&v->shape, fixed >= 0 ? fixed : last_long_axis(&v->shape), &l);
        too_large(p, &place, v, l.width, l.height);
        return false;
    }
    spot->layout = s->layout = chosen;
    return true;
}
