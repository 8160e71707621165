/*
 * From a graph to steps: what is computed together, what gets a texture, and how it lies in it.
 *
 * 1. Every ROLE_STEP operator gets a step. An elementwise operator joins the step that computes one
 * of its operands, where nobody else reads that operand: it then works on registers.
 * 2. Every other elementwise operator, and every view, is computed by its readers, unless a texture
 * of its own is cheaper in all: elements times fetches, against one draw more.
 * 3. Layouts: at the model's edge they are given; inside, the packed axis that costs the readers
 * least.
 * 4. Kernels are written, and with them it is known what each step reads: that gives the order.
 */
#include "daemon/compiler/gpu/kernel.h"
#include "daemon/compiler/gpu/layer.h"
#include "daemon/compiler/gpu/magnitude.h"
#include "daemon/compiler/gpu/tokens.h"
#include "daemon/compiler/operators/lower.h"
#include <inttypes.h>
#include <math.h>
#include <string.h>

/* Costs, in fetches of one cell; weights in numbers. A draw is worth as many as a mid-range card
 * fetches in the time of one. */
enum {
    COST_FETCH = 4,
    COST_OPERATION = 1,
    COST_DRAW = 50000,
    MOST_READ_BUFFERS = 8,
    MOST_REPEATED_WEIGHTS = 16384
};

static const struct operator_functions *functions_of(const struct node *n)
{
    return n->op->functions;
}

/* ---- which nodes matter ---- */

static bool node_supported(struct node *n)
{
    const struct operator_functions *f = n->op ? n->op->functions : NULL;
    struct place place = node_place(n);

    if (f && ((f->role == ROLE_ELEMENTWISE && is_expressed(n)) ||
              (f->role == ROLE_VIEW && f->view) || (f->role == ROLE_STEP && f->lower)))
        return true;
    diagnose(n->graph->context, &place, TUKI0110, NULL,
             "operator %s is not supported where its inputs are computed values", n->op_type);
    return false;
}

static bool mark_live(struct graph *g)
{
    struct context *c = g->context;
    struct node **stack = NULL;
    int count = 0, room = 0;
    bool good = true;

    for (int i = 0; i < g->node_count; i++)
        g->nodes[i]->mark = 0;
    for (int i = 0; i < g->output_count; i++)
        if (g->outputs[i]->producer && !g->outputs[i]->constant)
            APPEND(&c->arena, stack, count, room) = g->outputs[i]->producer;
    while (count) {
        struct node *n = stack[--count];

        if (n->mark)
            continue;
        n->mark = 1;
        good = node_supported(n) && good;
        for (int i = 0; i < n->input_count; i++) {
            struct value *v = n->inputs[i];

            if (v && !v->constant && v->producer)
                APPEND(&c->arena, stack, count, room) = v->producer;
        }
    }
    return good;
}

static struct spot *spot_new(struct context *c, struct value *v)
{
    struct spot *s = NEW(&c->arena, struct spot);

    s->buffer = -1;
    v->plan = s;
    return s;
}

/* Live readers of v; *only is set to the reader where all slots that read v are of one node. */
static int live_readers(const struct value *v, struct node **only)
{
    int count = 0;

    *only = NULL;
    for (int i = 0; i < v->reader_count; i++) {
        struct node *r = v->readers[i];

        if (!r->mark)
            continue;
        if (count && r != *only)
            *only = NULL;
        else if (!count)
            *only = r;
        count++;
    }
    return count;
}

/* ---- steps ---- */

static struct step *step_new(struct plan *p, struct node *root, int output, struct value *v)
{
    struct context *c = p->context;
    struct step *s = NEW(&c->arena, struct step);

    s->root = root;
    s->root_output = output;
    s->value = v;
    s->buffer = -1;
    s->number = p->step_count;
    APPEND(&c->arena, p->steps, p->step_count, p->step_room) = s;
    if (root)
        APPEND(&c->arena, s->fused, s->fused_count, s->fused_room) = root;
    return s;
}

/* Textures that computing v from where it is read would fetch from. */
static int count_buffers(struct value *v, const struct value **seen, int count, int depth)
{
    const struct spot *spot = v->plan;

    if (v->constant || !spot || depth > 64)
        return count;
    if (spot->placement == PLACED_BUFFER) {
        for (int i = 0; i < count; i++)
            if (seen[i] == v)
                return count;
        if (count < MOST_READ_BUFFERS + 1)
            seen[count++] = v;
        return count;
    }
    if (v->producer && spot->placement != PLACED_JOINED)
        for (int i = 0; i < v->producer->input_count && count <= MOST_READ_BUFFERS; i++)
            if (v->producer->inputs[i])
                count = count_buffers(v->producer->inputs[i], seen, count, depth + 1);
    return count;
}

static bool join(struct plan *p, struct node *n)
{
    struct value *out = n->outputs[0];
    struct step *best = NULL;
    const struct value *seen[MOST_READ_BUFFERS + 1];

    for (int i = 0; i < n->input_count; i++) {
        struct value *v = n->inputs[i];
        struct spot *spot = v && !v->constant ? v->plan : NULL;
        struct node *only;

        if (!spot || spot->placement != PLACED_BUFFER || !spot->step || spot->step->value != v ||
            v->output_count || !shape_equal(&v->shape, &out->shape))
            continue;
        live_readers(v, &only);
        if (only == n && (!best || spot->step->number > best->number))
            best = spot->step;
    }
    if (!best)
        return false;
    int buffers = 0;
    for (int i = 0; i < best->fused_count; i++)
        for (int k = 0; k < best->fused[i]->input_count; k++)
            if (best->fused[i]->inputs[k] && buffers <= MOST_READ_BUFFERS)
                buffers = count_buffers(best->fused[i]->inputs[k], seen, buffers, 0);
    for (int k = 0; k < n->input_count && buffers <= MOST_READ_BUFFERS; k++)
        if (n->inputs[k] && n->inputs[k] != best->value)
            buffers = count_buffers(n->inputs[k], seen, buffers, 0);
    if (buffers > MOST_READ_BUFFERS)
        return false;
    spot_of(best->value)->placement = PLACED_JOINED;
    best->value = out;
    spot_of(out)->placement = PLACED_BUFFER;
    spot_of(out)->step = best;
    if (!functions_of(n)->stores)
        APPEND(&p->context->arena, best->fused, best->fused_count, best->fused_room) = n;
    return true;
}

/* A value gets a texture of its own: a step that computes it from what it reads. */
static void store_value(struct plan *p, struct value *v)
{
    struct spot *spot = v->plan;

    spot->placement = PLACED_BUFFER;
    spot->step = step_new(p, NULL, 0, v);
    APPEND(&p->context->arena, spot->step->fused, spot->step->fused_count, spot->step->fused_room) =
        v->producer;
}

static void assign_roles(struct plan *p)
{
    struct graph *g = p->graph;

    for (int i = 0; i < g->input_count; i++) {
        struct spot *spot = spot_new(p->context, g->inputs[i]);

        spot->placement = PLACED_BUFFER;
    }
    for (int i = 0; i < g->node_count; i++) {
        struct node *n = g->nodes[i];

        if (!n->mark)
            continue;
        for (int o = 0; o < n->output_count; o++) {
            struct node *only;

            if (!n->outputs[o] || n->outputs[o]->constant)
                continue;
            struct spot *spot = spot_new(p->context, n->outputs[o]);
            if (!live_readers(n->outputs[o], &only) && !n->outputs[o]->output_count)
                continue;
            switch (functions_of(n)->role) {
            case ROLE_STEP:
                spot->placement = PLACED_BUFFER;
                spot->step = step_new(p, n, o, n->outputs[o]);
                break;
            case ROLE_VIEW:
                spot->placement = PLACED_VIEW;
                break;
            default:
                if (!join(p, n))
                    spot->placement = PLACED_INLINE;
                if (spot->placement == PLACED_INLINE && functions_of(n)->stores)
                    store_value(p, n->outputs[0]);
                break;
            }
        }
    }
}

/* ---- costs ---- */

/* Four elements of v along axis, in the midst of the others. */
static struct lanes sample_elements(struct kernel *k, const struct value *v, int axis)
{
    const struct index *at[MAX_AXES];

    for (int a = 0; a < v->shape.axes; a++) {
        int64_t extent = v->shape.dim[a];

        if (a != axis)
            at[a] = extent == 1 ? kernel_constant(k, 0)
                                : index_variable(k->pool, kernel_text(k, "s%d", a), 0, extent - 1);
        else
            at[a] = extent <= 4 ? kernel_constant(k, 0)
                                : index_times(k->pool,
                                              index_variable(k->pool, "q", 0, (extent - 1) / 4), 4);
    }
    int64_t extent = axis < 0 ? 1 : v->shape.dim[axis];
    return lanes_along(k, at, v->shape.axes, axis, extent < 4 ? (int)extent : 4);
}

/* Which axis of its operand in slot a reader goes along in fours; -1 where it does not care. */
static int wanted_axis(const struct node *n, int slot)
{
    if (functions_of(n)->packed)
        return functions_of(n)->packed(n, slot);
    return -1;
}

static int last_long_axis(const struct shape *s)
{
    for (int a = s->axes - 1; a >= 0; a--)
        if (s->dim[a] > 1)
            return a;
    return s->axes - 1;
}

/* How often a reader fetches each element of slot, at least 1. */
static int64_t reuse_of(const struct node *n, int slot)
{
    int64_t reads = functions_of(n)->reuse ? functions_of(n)->reuse(n, slot) : 1;

    return reads > 1 ? reads : 1;
}

/* Fetches that the readers of v take, through what they compute on the way, given where everything
 * lies now. */
static double reading_cost(struct kernel *k, struct value *v, int depth)
{
    double total = 0;

    if (depth > 16)
        return 0;
    for (int i = 0; i < v->reader_count; i++) {
        struct node *r = v->readers[i];
        int slot = 0, seen = 0;

        if (!r->mark)
            continue;
        /* readers holds a node once for each slot: the how-manieth of r is this one? */
        for (int j = 0; j < i; j++)
            seen += v->readers[j] == r;
        for (slot = 0; slot < r->input_count; slot++)
            if (r->inputs[slot] == v && !seen--)
                break;
        struct value *out = r->outputs[0];
        if (functions_of(r)->role == ROLE_STEP) {
            int axis = wanted_axis(r, slot);
            struct lanes e = sample_elements(k, v, axis >= 0 ? axis : last_long_axis(&v->shape));

            total += (double)kernel_cost(k, v, &e) * (double)reuse_of(r, slot) *
                     (double)shape_count(&v->shape) / e.count;
        } else if (out && out->plan && spot_of(out)->placement != PLACED_BUFFER &&
                   spot_of(out)->placement != PLACED_NOWHERE &&
                   spot_of(out)->placement != PLACED_JOINED) {
            total += reading_cost(k, out, depth + 1);
        } else if (out && out->plan) {
            const struct spot *spot = out->plan;
            struct value *last = spot->placement == PLACED_JOINED ? spot->step->value : out;
            int axis = spot_of(last)->layout.width ? spot_of(last)->layout.packed : -1;

            if (axis < 0 && spot->step && spot->step->root)
                axis = wanted_axis(spot->step->root, -1);
            if (axis < 0 || axis >= out->shape.axes)
                axis = last_long_axis(&out->shape);
            struct lanes e = sample_elements(k, out, axis), operand = {.count = e.count};
            if (functions_of(r)->role == ROLE_VIEW) {
                /* As the view's own step will read it. */
                enum placement was = spot_of(out)->placement;

                spot_of(out)->placement = PLACED_VIEW;
                total +=
                    (double)kernel_cost(k, out, &e) * (double)shape_count(&out->shape) / e.count;
                spot_of(out)->placement = was;
                continue;
            }
            for (int j = 0; j < e.count; j++)
                broadcast_index(k, &v->shape, &out->shape, e.at[j], operand.at[j]);
            total +=
                (double)kernel_cost(k, v, &operand) * (double)shape_count(&out->shape) / e.count;
        }
    }
    return total;
}

/* Elementwise operators between v and what is stored, as operations for each element. */
static int64_t operations(const struct value *v, int depth)
{
    const struct spot *spot = v->plan;
    int64_t total = 0;

    if (v->constant || !spot || !v->producer || spot->placement == PLACED_BUFFER ||
        spot->placement == PLACED_JOINED || depth > 64)
        return 0;
    for (int i = 0; i < v->producer->input_count; i++)
        if (v->producer->inputs[i])
            total += operations(v->producer->inputs[i], depth + 1);
    return total + (functions_of(v->producer)->role == ROLE_ELEMENTWISE);
}

/* How often each element of v is asked for by all its readers. */
static double readings(const struct value *v, int depth)
{
    double total = 0, elements = (double)shape_count(&v->shape);

    for (int i = 0; i < v->reader_count && depth < 16; i++) {
        struct node *r = v->readers[i];
        struct value *out = r->outputs[0];
        int slot = 0;

        if (!r->mark)
            continue;
        while (slot < r->input_count && r->inputs[slot] != v)
            slot++;
        if (functions_of(r)->role == ROLE_STEP)
            total += (double)reuse_of(r, slot);
        else if (out && out->plan && elements > 0) {
            double wider = (double)shape_count(&out->shape) / elements;

            if (functions_of(r)->role == ROLE_VIEW && wider > 1)
                wider = 1;
            total += wider * (spot_of(out)->placement == PLACED_INLINE ||
                                      spot_of(out)->placement == PLACED_VIEW
                                  ? readings(out, depth + 1)
                                  : 1);
        }
    }
    return total;
}

/* True where v is computed by its readers: a candidate for a texture of its own. */
static bool is_computed_by_readers(const struct value *v)
{
    const struct spot *spot = v ? v->plan : NULL;

    /* Token ids on their way to Gather: 16 bits do not hold them. */
    if (v && type_is_integer(v->type))
        return false;
    return spot && (spot->placement == PLACED_INLINE || spot->placement == PLACED_VIEW);
}

/* Weights that a kernel computing v holds, and every kernel that computes it again. */
static int64_t weights_under(const struct value *v, int depth)
{
    const struct spot *spot = v->plan;
    int64_t total = 0;

    if (v->constant)
        return v->constant->count;
    if (!spot || !v->producer || spot->placement == PLACED_BUFFER || depth > 64 ||
        spot->placement == PLACED_JOINED)
        return 0;
    for (int i = 0; i < v->producer->input_count; i++)
        if (v->producer->inputs[i])
            total += weights_under(v->producer->inputs[i], depth + 1);
    return total;
}

static bool is_cheaper_stored(const struct node *n, int output)
{
    struct value *v = n->outputs[output];
    const struct value *seen[MOST_READ_BUFFERS + 1];
    int buffers = count_buffers(v, seen, 0, 0);
    double reads = readings(v, 0), cells = (double)shape_count(&v->shape) / 4;

    if (reads <= 1)
        return false;
    /* Layouts are not chosen yet: assume that what is stored can be fetched in fours. */
    double each =
        COST_OPERATION * 4.0 * (double)operations(v, 0) + COST_FETCH * (buffers ? buffers : 1);
    if (functions_of(n)->role == ROLE_VIEW && functions_of(n)->gathers &&
        functions_of(n)->gathers(n, output))
        each += 3.0 * COST_FETCH;
    return cells * (each + COST_FETCH) + cells * reads * COST_FETCH + COST_DRAW <
           cells * reads * each;
}

static void store_where_cheaper(struct plan *p)
{
    struct graph *g = p->graph;
    const struct value *seen[MOST_READ_BUFFERS + 1];

    /* What would read too many textures is cut where they have become too many; what holds a large
     * table is not to hold it once for each reader. */
    for (int i = 0; i < g->node_count; i++)
        for (int o = 0; g->nodes[i]->mark && o < g->nodes[i]->output_count; o++) {
            struct value *v = g->nodes[i]->outputs[o];

            if (is_computed_by_readers(v) &&
                (count_buffers(v, seen, 0, 0) > MOST_READ_BUFFERS - 2 ||
                 (v->reader_count > 1 && weights_under(v, 0) > MOST_REPEATED_WEIGHTS)))
                store_value(p, v);
        }
    /* From the last on: of a chain that is read often its end is stored, and what is before it is
     * then read once. */
    for (int i = g->node_count; i-- > 0;)
        for (int o = 0; g->nodes[i]->mark && o < g->nodes[i]->output_count; o++) {
            context_poll(p->context);
            if (is_computed_by_readers(g->nodes[i]->outputs[o]) &&
                is_cheaper_stored(g->nodes[i], o))
                store_value(p, g->nodes[i]->outputs[o]);
        }
}

/* ---- layouts ---- */

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

/* Whether a 1-D convolution or pooling is the first reader of a model input. */
static bool input_is_line(const struct graph *g, const struct value *v, int depth)
{
    if (depth > 64)
        return false;
    for (int i = 0; i < g->node_count; i++) {
        const struct node *n = g->nodes[i];

        for (int k = 0; n->mark && k < n->input_count; k++)
            if (n->inputs[k] == v) {
                if (is_looked_through(n) && n->outputs[0])
                    return input_is_line(g, n->outputs[0], depth + 1);
                return is_line_operator(n);
            }
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

static void too_large(struct plan *p, const struct place *place, const struct shape *s,
                      int64_t width, int64_t height)
{
    diagnose(p->context, place, TUKI0134, NULL,
             "its texture for shape %s would be %" PRId64 " by %" PRId64
             " cells; at most 16384 are possible",
             shape_text(&p->context->arena, s), width, height);
}

static bool edge_layout(struct plan *p, const struct place *place, const struct shape *s, bool line,
                        struct layout *l)
{
    if (shape_count(s) == 0) {
        diagnose(p->context, place, TUKI0134, "Export with a shape that has elements",
                 "shape %s has no elements", shape_text(&p->context->arena, s));
        return false;
    }
    layout_edge(s, line, l);
    if (l->width <= LARGEST_SIDE && l->height <= LARGEST_SIDE)
        return true;
    too_large(p, place, s, l->width, l->height);
    return false;
}

static int buffer_new(struct plan *p, enum buffer_kind kind, int number, struct value *v,
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
        too_large(p, place, &v->shape, spot->layout.width, spot->layout.height);
        return false;
    }
    spot->buffer = buffer_new(p, BUFFER_TOKENS, v->input, v, &spot->layout);
    return true;
}

static bool place_inputs(struct plan *p)
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
        if (!edge_layout(p, &place, &v->shape, input_is_line(g, v, 0), &spot->layout)) {
            good = false;
            continue;
        }
        spot->buffer = buffer_new(p, BUFFER_INPUT, v->input, v, &spot->layout);
    }
    return good;
}

/* Writes output slot i, in the layout of the edge. */
static bool place_output(struct plan *p, int i)
{
    struct graph *g = p->graph;
    struct value *v = g->outputs[i];
    struct spot *spot = v->plan;
    struct place place = {.kind = PLACE_OUTPUT, .index = i, .layer = g->output_names[i]};
    struct layout edge;
    struct step *s;

    if (!edge_layout(p, &place, &v->shape, output_is_line(v), &edge))
        return false;
    if (spot && spot->placement == PLACED_INLINE)
        store_value(p, v);
    if (spot && spot->placement == PLACED_BUFFER && spot->step && spot->buffer < 0) {
        int packed = spot->step->root ? wanted_axis(spot->step->root, -1) : -1;

        if (packed < 0 || packed == edge.packed || v->shape.dim[packed] == 1) {
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

static bool place_inner(struct plan *p, struct kernel *k, struct step *s)
{
    struct value *v = s->value;
    struct spot *spot = v->plan;
    int fixed = s->root ? wanted_axis(s->root, -1) : -1;
    double best = INFINITY;
    struct layout chosen = {.packed = -1}, l;
    struct place place = node_place(s->root ? s->root : v->producer);

    for (int axis = 0; axis < v->shape.axes; axis++) {
        if (fixed >= 0 ? axis != fixed : v->shape.dim[axis] == 1 && v->shape.axes > 1)
            continue;
        if (!layout_inner(&v->shape, axis, &l))
            continue;
        spot->layout = l;
        /* Writing costs too: cells that are not full, and fetching what it is computed from. */
        double cost = reading_cost(k, v, 0) + (double)(l.width * l.height);
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
        too_large(p, &place, &v->shape, l.width, l.height);
        return false;
    }
    spot->layout = s->layout = chosen;
    return true;
}

/* ---- order ---- */

/* Steps in an order in which each stands after those that write what it reads; otherwise as they
 * were made. */
static void order_steps(struct plan *p)
{
    struct context *c = p->context;
    struct step **sorted = NEW_ARRAY(&c->arena, p->step_count + 1, struct step *), **stack;
    int count = 0, depth = 0;

    stack = NEW_ARRAY(&c->arena, p->step_count + 1, struct step *);
    for (int i = 0; i < p->step_count; i++) {
        if (p->steps[i]->mark == 2)
            continue;
        stack[depth++] = p->steps[i];
        while (depth) {
            struct step *s = stack[depth - 1], *first = NULL;

            s->mark = 1;
            for (int r = 0; r < s->read_count && !first; r++) {
                struct step *writer = spot_of(s->reads[r])->step;

                if (writer && writer->mark == 1 && writer != s)
                    BUG(c, "steps wait for each other");
                if (writer && !writer->mark)
                    first = writer;
            }
            if (first) {
                stack[depth++] = first;
                continue;
            }
            s->mark = 2;
            depth--;
            sorted[count++] = s;
        }
    }
    for (int i = 0; i < count; i++)
        sorted[i]->number = i;
    p->steps = sorted;
    p->step_room = p->step_count + 1;
}

static void write_kernels(struct plan *p, struct compile_cache *cache)
{
    struct context *c = p->context;

    for (int i = 0; i < p->step_count; i++) {
        struct step *s = p->steps[i];

        context_poll(c);
        layer_write(p, s, cache);
        for (int k = 0; k < s->text->parameter_count; k++)
            if (s->text->parameters[k].kind == PARAMETER_BUFFER)
                APPEND(&c->arena, s->reads, s->read_count, s->read_room) =
                    s->text->parameters[k].value;
    }
}

struct plan *plan_graph(struct graph *g, struct compile_cache *cache)
{
    struct context *c = g->context;
    struct plan *p = NEW(&c->arena, struct plan);
    struct kernel *k;
    bool good;

    p->context = c;
    p->graph = g;
    for (int i = 0; i < g->value_count; i++)
        g->values[i]->plan = NULL;
    if (!mark_live(g))
        return NULL;
    assign_roles(p);
    store_where_cheaper(p);
    plan_magnitudes(p);
    good = place_inputs(p);
    for (int i = 0; i < g->output_count; i++)
        good = place_output(p, i) && good;
    if (!good)
        return NULL;
    k = kernel_planning(p);
    /* From the last to the first: a value's readers have their layouts before it. */
    for (int i = p->step_count; i-- > 0;) {
        struct step *s = p->steps[i];

        if (s->buffer < 0)
            good = place_inner(p, k, s) && good;
    }
    if (!good)
        return NULL;
    for (int i = 0; i < p->step_count; i++) {
        struct step *s = p->steps[i];

        if (s->buffer < 0)
            spot_of(s->value)->buffer = s->buffer =
                buffer_new(p, BUFFER_INNER, 0, s->value, &s->layout);
    }
    write_kernels(p, cache);
    order_steps(p);
    plan_share(p);
    plan_buffers(p);
    return p;
}
