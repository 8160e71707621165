/* From the elements that a step writes back to those that its root computes. */
#include "daemon/compiler/gpu/kernel_inside.h"
#include "daemon/compiler/operators/operator.h"
#include <string.h>

enum { MOST_FOUND = 16, MOST_VISITS = 256 };

struct trace {
    struct kernel *k;
    const struct step *step;
    const struct value *root;
    const struct index *found[MOST_FOUND][MAX_AXES]; /* elements of root, without repeats */
    int found_count;
    bool moved; /* by a view: e may lie along another axis than the root's fours */
    struct visit {
        const struct value *value;
        struct lanes lanes;
    } * visits;
    int visit_count, visit_room;
};

static bool find_element(struct trace *t, const struct index *const *at)
{
    size_t size = (size_t)t->root->shape.axes * sizeof *at;

    for (int i = 0; i < t->found_count; i++)
        if (!memcmp(t->found[i], at, size))
            return true;
    if (t->found_count == MOST_FOUND)
        return false;
    memcpy(t->found[t->found_count++], at, size);
    return true;
}

static bool was_visited(struct trace *t, const struct value *v, const struct lanes *e)
{
    for (int i = 0; i < t->visit_count; i++) {
        const struct visit *visit = &t->visits[i];
        bool same = visit->value == v && visit->lanes.count == e->count;

        for (int j = 0; same && j < e->count; j++)
            same = !memcmp(visit->lanes.at[j], e->at[j], (size_t)v->shape.axes * sizeof *e->at[j]);
        if (same)
            return true;
    }
    return false;
}

/* The only piece that element at[] of v can be of; NULL: that depends on where it is. */
static const struct piece *sure_piece(struct kernel *k, const struct value *v,
                                      const struct index *const *at, struct access *a)
{
    const struct node *n = v->producer;

    *a = (struct access){.pool = k->pool, .arena = k->arena};
    n->op->functions->view(k, n, v->producer_output, at, a);
    for (int p = 0; p < a->count; p++)
        switch (conditions_known(k, a->pieces[p].conditions, a->pieces[p].condition_count)) {
        case 1:
            return &a->pieces[p];
        case 0:
            break;
        default:
            return NULL;
        }
    return NULL;
}

static bool trace_value(struct trace *t, struct value *v, const struct lanes *e);

static bool trace_view(struct trace *t, const struct value *v, const struct lanes *e)
{
    const struct node *n = v->producer;
    const struct piece *pieces[4];
    struct access access[4];

    t->moved = true;
    for (int j = 0; j < e->count; j++) {
        pieces[j] = sure_piece(t->k, v, e->at[j], &access[j]);
        if (!pieces[j] || pieces[j]->input < 0)
            return false;
    }
    for (int j = 0; j < e->count; j++) {
        struct lanes source = {.count = 0};
        int input = pieces[j]->input;
        bool before = false;

        for (int i = 0; i < j; i++)
            before = before || pieces[i]->input == input;
        for (int i = j; i < e->count && !before; i++)
            if (pieces[i]->input == input)
                memcpy(source.at[source.count++], pieces[i]->at, sizeof source.at[0]);
        if (!before && !trace_value(t, n->inputs[input], &source))
            return false;
    }
    return true;
}

/* false: v is not made of elements of the root in a way that is understood. */
static bool trace_value(struct trace *t, struct value *v, const struct lanes *e)
{
    struct node *n = v->producer;
    const struct spot *spot = v->plan;

    if (v == t->root) {
        for (int j = 0; j < e->count; j++)
            if (!find_element(t, e->at[j]))
                return false;
        return true;
    }
    if (v->constant || !spot || !n ||
        (v != t->step->value && (spot->placement != PLACED_JOINED || spot->step != t->step)) ||
        was_visited(t, v, e))
        return true;
    if (t->visit_count == MOST_VISITS)
        return false;
    APPEND(t->k->arena, t->visits, t->visit_count, t->visit_room) = (struct visit){v, *e};
    if (n->op->functions->role == ROLE_VIEW)
        return trace_view(t, v, e);
    for (int i = 0; i < n->input_count; i++) {
        struct lanes operand = {.count = e->count};

        if (!n->inputs[i])
            continue;
        for (int j = 0; j < e->count; j++)
            broadcast_index(t->k, &n->inputs[i]->shape, &v->shape, e->at[j], operand.at[j]);
        if (!trace_value(t, n->inputs[i], &operand))
            return false;
    }
    return true;
}

/* Whether every element that was found is one of e. */
static bool found_among(const struct trace *t, const struct lanes *e)
{
    for (int i = 0; i < t->found_count; i++) {
        int lane = 0;

        while (lane < e->count &&
               memcmp(t->found[i], e->at[lane], (size_t)t->root->shape.axes * sizeof *e->at[lane]))
            lane++;
        if (lane == e->count)
            return false;
    }
    return true;
}

/* Where the root takes any axis: the one along which the elements lie. */
static int differing_axis(const struct trace *t)
{
    int axes = t->root->shape.axes;

    for (int a = 0; t->found_count > 1 && a < axes; a++)
        if (t->found[0][a] != t->found[1][a])
            return a;
    for (int a = axes; a-- > 0;)
        if (t->root->shape.dim[a] > 1)
            return a;
    return axes - 1;
}

/* The very elements that were found, where the root computes them wherever they lie on axis. */
static bool found_scattered(const struct trace *t, int axis, struct lanes *lanes)
{
    const struct node *n = t->step->root;

    if (axis < 0 || t->found_count > 4 || !n->op->functions->scatters ||
        !n->op->functions->scatters(n))
        return false;
    *lanes = (struct lanes){.count = t->found_count};
    for (int i = 0; i < t->found_count; i++) {
        for (int a = 0; a < t->root->shape.axes; a++)
            if (a != axis && t->found[i][a] != t->found[0][a])
                return false;
        memcpy(lanes->at[i], t->found[i], sizeof t->found[i]);
    }
    return true;
}

/* The cells of one row in which the elements that were found lie, where the root computes several
 * in one turn. Returns how many; 0: it does not. */
static int found_in_cells(const struct trace *t, int axis, struct lanes groups[MOST_GROUPS])
{
    struct kernel *k = t->k;
    const struct node *n = t->step->root;
    const struct shape *s = &t->root->shape;
    int count = 0;

    if (axis < 0 || !n->op->functions->widens || !n->op->functions->widens(n))
        return 0;
    for (int i = 0; i < t->found_count; i++) {
        const struct index *base[MAX_AXES];
        int g = 0;

        for (int a = 0; a < s->axes; a++) {
            if (a != axis && t->found[i][a] != t->found[0][a])
                return 0;
            base[a] = t->found[i][a];
        }
        base[axis] = index_times(k->pool, index_div(k->pool, base[axis], 4), 4);
        while (g < count && groups[g].at[0][axis] != base[axis])
            g++;
        if (g < count)
            continue;
        if (count == MOST_GROUPS)
            return 0;
        groups[count++] = lanes_along(k, base, s->axes, axis, 4);
    }
    /* An element is where its cell says only if that is known of it. */
    for (int i = 0; i < t->found_count; i++) {
        bool there = false;

        for (int g = 0; g < count; g++)
            for (int j = 0; j < 4; j++)
                there = there || groups[g].at[j][axis] == t->found[i][axis];
        if (!there)
            return 0;
    }
    return count;
}

int region_lanes(struct kernel *k, const struct step *step, const struct lanes *e, int along,
                 int axis, struct lanes lanes[MOST_GROUPS])
{
    struct trace t = {.k = k, .step = step, .root = step->root->outputs[step->root_output]};
    const struct index *base[MAX_AXES] = {0};
    int packed = axis;

    if (!trace_value(&t, step->value, e) || !t.found_count)
        return 0;
    if (shape_equal(&t.root->shape, &step->value->shape) && found_among(&t, e) &&
        (axis < 0 || !t.moved)) {
        /* Four of them, also where fewer are written. */
        *lanes = along < 0 ? *e : lanes_along(k, e->at[0], t.root->shape.axes, along, 4);
        return 1;
    }
    if (t.found_count < 4 && found_scattered(&t, axis, lanes))
        return 1;
    if (axis < 0)
        axis = differing_axis(&t);
    if (axis < 0)
        return 0;
    memcpy(base, t.found[0], sizeof t.found[0]);
    base[axis] = index_times(k->pool, index_div(k->pool, base[axis], 4), 4);
    *lanes = lanes_along(k, base, t.root->shape.axes, axis, 4);
    if (found_among(&t, lanes) || found_scattered(&t, axis, lanes))
        return 1;
    return found_in_cells(&t, packed, lanes);
}
