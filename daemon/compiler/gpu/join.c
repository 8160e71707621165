/*
 * What is computed in the kernel of the operator before it, from registers.
 *
 * A region lies between the value of a step and one later value, its tail: elementwise operators
 * and views of which every path ends in the tail, so that nothing in between is read elsewhere
 * (x * Sigmoid(x), the four operators of a GELU, a bias after a Reshape, the statistics of a row
 * and what they normalise). It can be one kernel where four elements of the tail, along some axis,
 * need no other elements of the root than one cell of it has, or where the root computes several
 * in one turn (a product), than a few cells that no other four need (the gates of a recurrent
 * layer, the halves of a gated unit).
 *
 * Where the tail has more elements than the root (row statistics, a gate for each channel), the
 * root is computed again for each cell. That is weighed against a draw of its own, and so is a
 * packed axis that does not suit the readers.
 */
#include "daemon/compiler/gpu/steps_inside.h"
#include "daemon/compiler/operators/lower.h"
#include <math.h>
#include <string.h>

enum { MOST_REGION = 64, MOST_CANDIDATES = 8 };

struct region {
    struct value *tail, *root; /* root: what a step computes now */
    struct seen {
        struct value *value;
        bool inside; /* made from root */
    } seen[MOST_REGION];
    int count;
    bool views, overflow;
};

/* Views that take elements of their operands as they are, without a table. */
static bool only_moves(const struct node *n)
{
    static void (*const moves[])(struct kernel *, const struct node *, int,
                                 const struct index *const *, struct access *) = {
        view_reshape, view_transpose, view_slice,     view_split,
        view_expand,  view_concat,    view_component, view_depth};

    for (size_t i = 0; i < sizeof moves / sizeof *moves; i++)
        if (functions_of(n)->view == moves[i])
            return true;
    return false;
}

/* Whether v's readers, so far, compute it themselves. */
static bool is_between(const struct value *v)
{
    const struct spot *spot = v->plan;

    return !v->constant && spot && v->producer &&
           (spot->placement == PLACED_INLINE || spot->placement == PLACED_VIEW);
}

static bool walk_region(struct region *r, struct value *v)
{
    struct seen *seen;
    bool inside = false;

    if (v == r->root)
        return true;
    if (!is_between(v))
        return false;
    for (int i = 0; i < r->count; i++)
        if (r->seen[i].value == v)
            return r->seen[i].inside;
    if (r->count == MOST_REGION) {
        r->overflow = true;
        return false;
    }
    seen = &r->seen[r->count++];
    *seen = (struct seen){.value = v};
    for (int i = 0; i < v->producer->input_count; i++)
        if (v->producer->inputs[i])
            inside = walk_region(r, v->producer->inputs[i]) || inside;
    return seen->inside = inside;
}

static bool holds(const struct region *r, const struct value *v)
{
    for (int i = 0; i < r->count; i++)
        if (r->seen[i].value == v)
            return r->seen[i].inside;
    return false;
}

static bool is_read_inside(const struct region *r, const struct value *v)
{
    if (v->output_count)
        return false;
    for (int i = 0; i < v->reader_count; i++) {
        const struct node *n = v->readers[i];

        for (int o = 0; n->mark && o < n->output_count; o++)
            if (n->outputs[o] && !holds(r, n->outputs[o]))
                return false;
    }
    return true;
}

/* Everything between r's root and its tail; false: it is read elsewhere, too. */
static bool region_close(struct region *r)
{
    r->count = 0;
    r->views = r->overflow = false;
    if (!walk_region(r, r->tail) || r->overflow || !is_read_inside(r, r->root))
        return false;
    for (int i = 0; i < r->count; i++) {
        const struct value *v = r->seen[i].value;

        if (!r->seen[i].inside)
            continue;
        if (v != r->tail && !is_read_inside(r, v))
            return false;
        if (functions_of(v->producer)->role == ROLE_VIEW) {
            if (!only_moves(v->producer))
                return false;
            r->views = true;
        } else if (!shape_equal(&v->shape, &r->root->shape)) {
            r->views = true; /* it broadcasts, which takes the same care */
        }
    }
    return true;
}

/* Values of steps from which tail is computed by way of what its readers compute. */
static int find_candidates(struct value *v, struct value **found, int count, int *visits)
{
    const struct spot *spot = v->plan;

    if (v->constant || !spot || --*visits < 0)
        return count;
    if (spot->placement == PLACED_BUFFER) {
        for (int i = 0; i < count; i++)
            if (found[i] == v)
                return count;
        if (spot->step && spot->step->value == v && !v->output_count && count < MOST_CANDIDATES)
            found[count++] = v;
        return count;
    }
    for (int i = 0; is_between(v) && i < v->producer->input_count; i++)
        if (v->producer->inputs[i])
            count = find_candidates(v->producer->inputs[i], found, count, visits);
    return count;
}

/* ---- what it costs ---- */

/* Textures that the step reads by itself, and with what would join it. A step that reads too many
 * by itself is cut before them: what joins it is welcome that adds none. */
static bool reads_too_many(struct plan *p, const struct step *s, const struct region *r)
{
    const struct value *seen[MOST_READ_BUFFERS + 1];
    int alone = 0, buffers;

    for (int i = 0; i < s->fused_count; i++)
        for (int k = 0; k < s->fused[i]->input_count; k++)
            if (s->fused[i]->inputs[k] && alone <= MOST_READ_BUFFERS)
                alone = count_buffers(p, s->fused[i]->inputs[k], seen, alone);
    buffers = alone <= MOST_READ_BUFFERS ? alone : 0;
    for (int i = 0; i < r->count; i++) {
        const struct node *n = r->seen[i].value->producer;

        for (int k = 0; r->seen[i].inside && k < n->input_count && buffers <= MOST_READ_BUFFERS;
             k++)
            if (n->inputs[k] && n->inputs[k] != r->root && !holds(r, n->inputs[k]))
                buffers = count_buffers(p, n->inputs[k], seen, buffers);
    }
    return buffers > (alone <= MOST_READ_BUFFERS ? MOST_READ_BUFFERS : 0);
}

static double cells_along(const struct value *v, int axis)
{
    const struct shape *s = &v->shape;
    int64_t count = shape_count(s);

    if (axis >= 0 && count)
        count = count / s->dim[axis] * ((s->dim[axis] + 3) / 4);
    return (double)(count ? count : 1);
}

/* Of computing elements of the root of s, so many at a time, once for each cell of the tail, which
 * lies along axis, instead of four at a time for each of its own. */
static double cost_again(struct kernel *k, const struct step *s, const struct region *r, int axis,
                         int lanes)
{
    const struct node *n = s->root;
    const struct value *first = n->outputs[s->root_output], *seen[MOST_READ_BUFFERS + 1];
    double times = cells_along(r->tail, axis) / cells_along(first, wanted_axis(n, -1));
    double cost = 0, each = 1;
    bool weights = false;

    /* Operations on one element in one turn over its row; divisions count more. */
    if (!strcmp(n->op->name, "SoftmaxStatistics"))
        each = 8;
    else if (!strcmp(n->op->name, "NormStatistics"))
        each = node_int(n, "rms", 0) ? 1.5 : 4;
    for (int i = 0; i < n->input_count; i++) {
        struct value *v = n->inputs[i];

        if (!v)
            continue;
        weights = weights || (v->constant && v->constant->count > 4);
        if (v->constant)
            continue;
        int buffers = count_buffers(k->plan, v, seen, 0);
        cost +=
            cells_of(v) * (double)reuse_of(n, i) *
            (COST_FETCH * (buffers ? buffers : 1) + COST_OPERATION * (4 * each + operations(k, v)));
    }
    /* Four vectors of weights, and sixteen multiply-adds, for each cell that is fetched; or as many
     * as elements are computed. */
    cost *= times * (weights ? 0.8 * (1 + lanes) : 1) - (weights ? 4 : 1);
    return fmax(cost, 0);
}

/* ---- joining ---- */

static void set_inside(const struct region *r, struct step *s, enum placement *was)
{
    for (int i = 0; i < r->count; i++) {
        struct spot *spot = r->seen[i].value->plan;

        if (!r->seen[i].inside)
            continue;
        if (was)
            was[i] = spot->placement;
        spot->placement = PLACED_JOINED;
        spot->step = s;
    }
    spot_of(r->root)->placement = PLACED_JOINED;
    spot_of(r->tail)->placement = PLACED_BUFFER;
    s->value = r->tail;
}

static void set_back(const struct region *r, struct step *s, const enum placement *was)
{
    for (int i = 0; i < r->count; i++)
        if (r->seen[i].inside) {
            spot_of(r->seen[i].value)->placement = was[i];
            spot_of(r->seen[i].value)->step = NULL;
        }
    spot_of(r->root)->placement = PLACED_BUFFER;
    s->value = r->root;
}

/* The axis of the tail along which its elements can be computed in fours and read at the least
 * cost; -1: none, or more would be spent than is saved by it. Everything is set as if it had been
 * joined. */
static int choose_axis(struct kernel *k, struct step *s, const struct region *r, double saved)
{
    struct value *v = r->tail;
    struct spot *spot = spot_of(v);
    int first = wanted_axis(s->root, -1), chosen = -1;
    double best = INFINITY, any = INFINITY;
    struct layout was = spot->layout, l;

    for (int axis = 0; axis < v->shape.axes; axis++) {
        struct lanes e, groups[MOST_GROUPS];
        double cost;
        int count, lanes = 0;

        if (v->output_count ? axis != edge_packed(v)
                            : v->shape.dim[axis] == 1 && shape_count(&v->shape) > 1)
            continue;
        if (!layout_inner(&v->shape, axis, &l))
            continue;
        spot->layout = l;
        cost = COST_FETCH * reading_cost(k, v);
        any = fmin(any, cost);
        e = sample_elements(k, v, axis);
        count = region_lanes(k, s, &e, axis, first, groups);
        for (int g = 0; g < count; g++)
            lanes += groups[g].count;
        /* Several cells in one turn: each of them in no other, or most would be computed twice. */
        if (!count || (count > 1 && count * cells_along(v, axis) >
                                        cells_along(s->root->outputs[s->root_output], first)))
            continue;
        cost += cost_again(k, s, r, axis, lanes);
        if (cost < best) {
            best = cost;
            chosen = axis;
        }
    }
    spot->layout = was;
    if (best > any + saved)
        return -1;
    return chosen;
}

static bool join_region(struct plan *p, struct kernel *k, struct step *s, struct region *r)
{
    enum placement was[MOST_REGION];
    int packed = s->packed;
    double saved = 0;

    if (!region_close(r) || reads_too_many(p, s, r) || (r->views && !s->root))
        return false;
    if (r->views)
        saved = cost_alone(k, r->tail);
    set_inside(r, s, was);
    if (r->views) {
        packed = choose_axis(k, s, r, saved);
        if (packed < 0) {
            set_back(r, s, was);
            return false;
        }
    }
    s->packed = packed;
    /* In the graph's order, which is that of the walk's ends: operands come before. */
    for (int i = r->count; i-- > 0;) {
        struct node *n = r->seen[i].value->producer;

        if (r->seen[i].inside && functions_of(n)->role == ROLE_ELEMENTWISE &&
            !functions_of(n)->stores)
            APPEND(&p->context->arena, s->fused, s->fused_count, s->fused_room) = n;
    }
    return true;
}

/* Makes v the last thing that one of the steps before it computes, if that is possible. */
static bool join(struct plan *p, struct kernel *k, struct value *v)
{
    struct value *found[MOST_CANDIDATES];
    struct region r = {.tail = v};
    int visits = MOST_REGION, count = find_candidates(v, found, 0, &visits);
    bool joined = false;

    /* The last step whose elements are as many, or else the last one. */
    for (int turn = 0; turn < 2 && !joined; turn++) {
        for (int i = 0; i < count; i++)
            for (int j = i + 1; j < count; j++)
                if (spot_of(found[j])->step->number > spot_of(found[i])->step->number) {
                    struct value *swap = found[i];
                    found[i] = found[j];
                    found[j] = swap;
                }
        for (int i = 0; i < count && !joined; i++) {
            bool same = shape_count(&found[i]->shape) == shape_count(&v->shape);

            r.root = found[i];
            if (same == !turn)
                joined = join_region(p, k, spot_of(found[i])->step, &r);
        }
    }
    return joined;
}

void join_steps(struct plan *p, struct kernel *k)
{
    struct graph *g = p->graph;

    for (int i = 0; i < g->node_count; i++) {
        struct node *n = g->nodes[i];
        struct value *v = n->outputs[0];

        if (!n->mark || !v || v->constant || !v->plan)
            continue;
        if (is_to_be_stored(v) && spot_of(v)->placement == PLACED_BUFFER)
            spot_of(v)->placement = PLACED_INLINE;
        if (!is_between(v) || type_is_integer(v->type) || spot_of(v)->unrounded)
            continue;
        context_poll(p->context);
        kernel_forget(k);
        if (functions_of(n)->role == ROLE_ELEMENTWISE || v->output_count)
            join(p, k, v);
        if (functions_of(n)->stores && is_between(v))
            store_value(p, v);
    }
}
