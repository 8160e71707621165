/* What reading a value costs its readers, given where everything lies. */
#include "daemon/compiler/gpu/kernel_inside.h"
#include "daemon/compiler/gpu/steps_inside.h"
#include "daemon/compiler/operators/lower.h"
#include <math.h>
#include <string.h>

struct lanes sample_elements(struct kernel *k, const struct value *v, int axis)
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

int wanted_axis(const struct node *n, int slot)
{
    if (functions_of(n)->packed)
        return functions_of(n)->packed(n, slot);
    return -1;
}

int last_long_axis(const struct shape *s)
{
    for (int a = s->axes - 1; a >= 0; a--)
        if (s->dim[a] > 1)
            return a;
    return s->axes - 1;
}

int64_t reuse_of(const struct node *n, int slot)
{
    int64_t reads = functions_of(n)->reuse ? functions_of(n)->reuse(n, slot) : 1;

    return reads > 1 ? reads : 1;
}

/* How often what r computes is computed again, for the cells of the value that its step ends with.
 */
static double repeats(const struct node *r)
{
    for (int o = 0; o < r->output_count; o++) {
        const struct spot *spot = r->outputs[o] ? r->outputs[o]->plan : NULL;

        if (spot && spot->step && spot->step->root == r)
            return fmax(1, (double)shape_count(&spot->step->value->shape) /
                               (double)shape_count(&r->outputs[o]->shape));
    }
    return 1;
}

/* ---- walks over what is computed on the way ----
 *
 * Where a value is read twice the ways double, and a walk goes them all: what was found at a value
 * is written down, by how far from the walk's beginning it was found. */

struct walk {
    struct kernel *k;
    bool windows; /* readings: what a reader takes in one window counts once */
    struct found {
        const struct value *value; /* NULL: a free place */
        int depth;
        double number;
    } * table;
    uint32_t room, count; /* room: a power of two */
};

static struct found *walk_place(const struct walk *w, const struct value *v, int depth)
{
    uint32_t i = ((uint32_t)v->id * 64 + (uint32_t)depth) * 2654435769u;

    for (i ^= i >> 15;; i++) {
        struct found *f = &w->table[i & (w->room - 1)];

        if (!f->value || (f->value == v && f->depth == depth))
            return f;
    }
}

static bool walk_find(const struct walk *w, const struct value *v, int depth, double *number)
{
    const struct found *f = w->room ? walk_place(w, v, depth) : NULL;

    if (!f || !f->value)
        return false;
    *number = f->number;
    return true;
}

static double walk_keep(struct walk *w, const struct value *v, int depth, double number)
{
    if (4 * (w->count + 1) > 3 * w->room) {
        struct found *old = w->table;
        uint32_t room = w->room;

        w->room = room ? 2 * room : 16;
        w->table = NEW_ARRAY(w->k->arena, w->room, struct found);
        for (uint32_t i = 0; i < room; i++)
            if (old[i].value)
                *walk_place(w, old[i].value, old[i].depth) = old[i];
    }
    w->count++;
    *walk_place(w, v, depth) = (struct found){v, depth, number};
    return number;
}

/* The slot of its node that reader number i of v stands for: readers holds a node once for each. */
static int slot_of(const struct value *v, int i)
{
    const struct node *n = v->readers[i];
    int slots = 0, slot, seen = 0;

    for (slot = 0; slot < n->input_count; slot++)
        slots += n->inputs[slot] == v;
    for (int j = 0; slots > 1 && j < i; j++)
        seen += v->readers[j] == n;
    for (slot = 0; slot < n->input_count; slot++)
        if (n->inputs[slot] == v && !seen--)
            break;
    return slot;
}

static double reading_from(struct walk *w, struct value *v, int depth)
{
    struct kernel *k = w->k;
    double total = 0;

    if (depth > 16)
        return 0;
    if (walk_find(w, v, depth, &total))
        return total;
    for (int i = 0; i < v->reader_count; i++) {
        struct node *r = v->readers[i];

        if (!r->mark)
            continue;
        struct value *out = r->outputs[0];
        if (functions_of(r)->role == ROLE_STEP) {
            int slot = slot_of(v, i), axis = wanted_axis(r, slot);
            struct lanes e = sample_elements(k, v, axis >= 0 ? axis : last_long_axis(&v->shape));

            total += (double)kernel_cost(k, v, &e) * (double)reuse_of(r, slot) * repeats(r) *
                     (double)shape_count(&v->shape) / e.count;
        } else if (out && out->plan && spot_of(out)->placement != PLACED_BUFFER &&
                   spot_of(out)->placement != PLACED_NOWHERE &&
                   spot_of(out)->placement != PLACED_JOINED) {
            total += reading_from(w, out, depth + 1);
        } else if (out && out->plan) {
            const struct spot *spot = out->plan;
            struct value *last = spot->placement == PLACED_JOINED ? spot->step->value : out;
            int axis = spot_of(last)->layout.width ? spot_of(last)->layout.packed : -1;

            if (axis < 0 && spot->step)
                axis = spot->step->packed;
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
    return walk_keep(w, v, depth, total);
}

double reading_cost(struct kernel *k, struct value *v)
{
    struct walk w = {.k = k};

    return reading_from(&w, v, 0);
}

static double operations_from(struct walk *w, const struct value *v, int depth)
{
    const struct spot *spot = v->plan;
    double total = 0;

    if (v->constant || !spot || !v->producer || spot->placement == PLACED_BUFFER ||
        spot->placement == PLACED_JOINED || depth > 64)
        return 0;
    if (v->reader_count > 1 && walk_find(w, v, depth, &total))
        return total;
    for (int i = 0; i < v->producer->input_count; i++)
        if (v->producer->inputs[i])
            total += operations_from(w, v->producer->inputs[i], depth + 1);
    total += (double)work_elementwise(v->producer);
    return v->reader_count > 1 ? walk_keep(w, v, depth, total) : total;
}

double operations(struct kernel *k, const struct value *v)
{
    struct walk w = {.k = k};

    return operations_from(&w, v, 0);
}

/* The cells of a channel that reader r takes v's from one after another: a convolution's taps. */
static double window_of(const struct node *r, const struct value *v)
{
    return functions_of(r)->window && r->inputs[0] == v ? (double)functions_of(r)->window(r) : 1;
}

static double readings_from(struct walk *w, const struct value *v, int depth)
{
    double total = 0, elements = (double)shape_count(&v->shape);

    if (walk_find(w, v, depth, &total))
        return total;
    for (int i = 0; i < v->reader_count && depth < 16; i++) {
        struct node *r = v->readers[i];
        struct value *out = r->outputs[0];
        int slot = 0;

        if (!r->mark)
            continue;
        while (slot < r->input_count && r->inputs[slot] != v)
            slot++;
        if (functions_of(r)->role == ROLE_STEP)
            total += (double)reuse_of(r, slot) * repeats(r) / (w->windows ? window_of(r, v) : 1);
        else if (out && out->plan && elements > 0) {
            double wider = (double)shape_count(&out->shape) / elements;

            if (functions_of(r)->role == ROLE_VIEW && wider > 1)
                wider = 1;
            total += wider * (spot_of(out)->placement == PLACED_INLINE ||
                                      spot_of(out)->placement == PLACED_VIEW
                                  ? readings_from(w, out, depth + 1)
                                  : 1);
        }
    }
    return walk_keep(w, v, depth, total);
}

double readings(struct kernel *k, const struct value *v)
{
    struct walk w = {.k = k};

    return readings_from(&w, v, 0);
}

/* How many of its elements the readers of v take in one window, on the average of all that they
 * take. */
static double window_read(struct kernel *k, const struct value *v)
{
    struct walk w = {.k = k, .windows = true};
    double windows = readings_from(&w, v, 0);

    return windows > 0 ? fmax(1, readings(k, v) / windows) : 1;
}

/* ---- fetches where layouts are not chosen yet ---- */

enum { MOST_WALKS = 256, MOST_CELLS = 32 };

/* By whom elements are asked for. */
struct asking {
    struct kernel *k;
    int walks;     /* values that may still be looked at */
    double window; /* cells of a channel that the readers take one after another */
    struct cell {  /* that were fetched */
        const struct value *value;
        const struct index *at[MAX_AXES];
    } cells[MOST_CELLS];
    int cell_count;
};

/* The packed axis that v will surely have; -1: not known. */
static int known_packed(const struct value *v)
{
    const struct spot *spot = v->plan;

    if (!spot->step && v->producer && !v->output_count)
        return -1;
    if (v->output_count || !spot->step)
        return edge_packed(v);
    return spot->step->packed;
}

/* sample_elements() calls positions along other axes than that of the four s0, s1 … */
static int is_position(void *state, const char *name)
{
    (void)state;
    return strcmp(name, "q") != 0;
}

/* The axis in which elements differ, where it is one; else -1. */
static int differing_axis(const struct value *v, const struct lanes *e)
{
    int axis = -1;

    for (int j = 1; j < e->count; j++)
        for (int a = 0; a < v->shape.axes; a++)
            if (e->at[j][a] != e->at[0][a]) {
                if (axis >= 0 && axis != a)
                    return -1;
                axis = a;
            }
    return axis;
}

/* Elements of a value in a texture: one fetch for each cell that was not fetched before. Elements
 * that are one and the same are mostly so for all that a loop reads, which fetches them once; those
 * that depend on the channel alone are fetched once a window. */
static double fetches_stored(struct asking *asking, const struct value *v, const struct lanes *e)
{
    struct kernel *k = asking->k;
    int packed = known_packed(v), fetches = 0;
    bool moves = false, same = e->count > 1;

    if (packed < 0)
        packed = differing_axis(v, e);
    for (int j = 0; j < e->count; j++) {
        struct cell cell = {.value = v};
        int i = 0;

        memcpy(cell.at, e->at[j], (size_t)v->shape.axes * sizeof *cell.at);
        same = same && !memcmp(e->at[j], e->at[0], (size_t)v->shape.axes * sizeof *cell.at);
        if (packed >= 0)
            cell.at[packed] = index_div(k->pool, cell.at[packed], 4);
        for (int a = 0; a < v->shape.axes; a++)
            moves = moves || index_deepest(cell.at[a], is_position, NULL);
        while (i < asking->cell_count && memcmp(&asking->cells[i], &cell, sizeof cell))
            i++;
        if (i < asking->cell_count)
            continue;
        if (i < MOST_CELLS)
            asking->cells[asking->cell_count++] = cell;
        fetches++;
    }
    if (same)
        return 0.25 * fetches;
    return fetches / (moves ? 1 : asking->window);
}

static double fetches_of(struct asking *asking, struct value *v, const struct lanes *e);

/* Of several pieces that the four have alike, one is read. */
static double fetches_viewed(struct asking *asking, struct value *v, const struct lanes *e)
{
    struct kernel *k = asking->k;
    struct node *n = v->producer;
    struct access access[4] = {0};
    double total = 0, most = 0;
    bool alike = true;

    for (int j = 0; j < e->count; j++) {
        access[j].pool = k->pool;
        access[j].arena = k->arena;
        functions_of(n)->view(k, n, v->producer_output, e->at[j], &access[j]);
        alike = alike && access[j].count == access[0].count;
    }
    for (int p = 0; alike && p < access[0].count; p++)
        for (int j = 1; j < e->count; j++)
            alike = alike &&
                    access[j].pieces[p].condition_count == access[0].pieces[p].condition_count &&
                    !memcmp(access[j].pieces[p].conditions, access[0].pieces[p].conditions,
                            (size_t)access[0].pieces[p].condition_count *
                                sizeof *access[0].pieces[p].conditions);
    for (int p = 0; p < access[0].count; p++) {
        struct lanes from = {0};
        int input = access[0].pieces[p].input;
        double own;

        for (int j = 0; j < e->count; j++)
            if (p < access[j].count && access[j].pieces[p].input == input)
                memcpy(from.at[from.count++], access[j].pieces[p].at, sizeof from.at[0]);
        own = input < 0 ? 0 : fetches_of(asking, n->inputs[input], &from);
        total += own;
        most = fmax(most, own);
    }
    return alike ? most : total;
}

static double fetches_of(struct asking *asking, struct value *v, const struct lanes *e)
{
    const struct spot *spot = v->plan;
    double total = 0;

    if (v->constant || !spot || --asking->walks < 0)
        return 0;
    if (spot->placement == PLACED_BUFFER)
        return fetches_stored(asking, v, e);
    if (!v->producer || spot->placement == PLACED_JOINED)
        return 1;
    if (functions_of(v->producer)->role == ROLE_VIEW)
        return fetches_viewed(asking, v, e);
    for (int i = 0; i < v->producer->input_count; i++) {
        struct value *from = v->producer->inputs[i];
        struct lanes operand = {.count = e->count};
        bool again = false;

        for (int h = 0; h < i; h++)
            again = again || v->producer->inputs[h] == from;
        if (!from || again)
            continue;
        for (int j = 0; j < e->count; j++)
            broadcast_index(asking->k, &from->shape, &v->shape, e->at[j], operand.at[j]);
        total += fetches_of(asking, from, &operand);
    }
    return total;
}

/* The axis along which v's readers go in fours; -1: any. */
static int axis_read(const struct value *v, int depth)
{
    for (int i = 0; i < v->reader_count && depth < 8; i++) {
        const struct node *r = v->readers[i];
        int slot = 0, axis = -1;

        if (!r->mark)
            continue;
        while (slot < r->input_count && r->inputs[slot] != v)
            slot++;
        if (functions_of(r)->role == ROLE_STEP)
            axis = wanted_axis(r, slot);
        else if (functions_of(r)->role == ROLE_ELEMENTWISE &&
                 shape_equal(&r->outputs[0]->shape, &v->shape))
            axis = axis_read(r->outputs[0], depth + 1);
        if (axis >= 0)
            return axis;
    }
    return -1;
}

double fetches_computed(struct kernel *k, struct value *v)
{
    int wanted = axis_read(v, 0);
    struct asking asking = {.k = k, .window = window_read(k, v)};
    double least = INFINITY;

    for (int axis = 0; axis < v->shape.axes; axis++) {
        struct lanes e;
        if (wanted >= 0 ? axis != wanted : v->shape.dim[axis] == 1)
            continue;
        e = sample_elements(k, v, axis);
        asking.walks = MOST_WALKS;
        asking.cell_count = 0;
        least = fmin(least, fetches_of(&asking, v, &e));
    }
    return least == INFINITY ? 1 : least;
}
