/* What reductions and statistics of rows read. */
#include "daemon/compiler/operators/lower_rows.h"
#include <math.h>
#include <string.h>

void row_read(const struct node *n, struct row *r)
{
    const struct shape *s = &n->inputs[0]->shape;
    int count;
    const int64_t *axes = node_constant_ints(n, 1, &count);

    memset(r, 0, sizeof *r);
    r->x = n->inputs[0];
    r->along = -1;
    r->count = 1;
    if (!axes)
        axes = node_ints(n, "axes", &count);
    for (int i = 0; i < count; i++)
        r->reduced[shape_axis(s, axes[i])] = true;
    if (!count && !node_int(n, "noop_with_empty_axes", 0))
        for (int a = 0; a < s->axes; a++)
            r->reduced[a] = true;
    for (int a = 0; a < s->axes; a++) {
        if (!r->reduced[a])
            continue;
        r->count *= s->dim[a];
        /* Channels, or those of a group, before the places behind them. */
        if ((s->dim[a] > 1 && (r->along < 0 || s->dim[r->along] == 1 || s->axes < 4 ||
                               r->along > (s->axes > 4 ? 2 : 1))) ||
            r->along < 0)
            r->along = a;
    }
}

void row_start(struct kernel *k, const struct row *r, bool keeps, const struct index *const *at,
               const struct index **out)
{
    int next = 0;

    for (int a = 0; a < r->x->shape.axes; a++) {
        if (r->reduced[a]) {
            out[a] = kernel_constant(k, 0);
            next += keeps;
        } else {
            out[a] = at[next++];
        }
    }
}

/* Four elements of v along axis, in the midst of the others. */
static struct lanes row_sample(struct kernel *planning, const struct value *v, int axis)
{
    const struct shape *s = &v->shape;
    const struct index *at[MAX_AXES];

    for (int a = 0; a < s->axes; a++) {
        int64_t most = a == axis ? (s->dim[a] - 1) / 4 : s->dim[a] - 1;

        at[a] = index_variable(planning->pool, kernel_text(planning, "s%d", a), 0, most);
        if (a == axis)
            at[a] = index_times(planning->pool, at[a], 4);
    }
    return lanes_along(planning, at, s->axes, axis, s->dim[axis] < 4 ? (int)s->dim[axis] : 4);
}

int64_t cells_spanned(int64_t count, int64_t groups)
{
    int64_t most = 0;

    for (int64_t g = 0; g < groups && g < 4; g++) {
        int64_t cells = (g * count + count - 1) / 4 - g * count / 4 + 1;

        most = cells > most ? cells : most;
    }
    return most;
}

/* What x [N, groups, channels, …] views as [N, groups * channels, …], where rows are groups of
 * channels. */
static struct value *row_whole(const struct row *r)
{
    const struct shape *s = &r->x->shape;
    const struct node *n = r->x->producer;
    struct value *v = n && node_is(n, "Reshape") ? n->inputs[0] : NULL;

    if (!v || s->axes < 3 || v->shape.axes != s->axes - 1 || r->reduced[0] || r->reduced[1] ||
        spot_of(r->x)->placement != PLACED_VIEW || v->shape.dim[0] != s->dim[0] ||
        v->shape.dim[1] != s->dim[1] * s->dim[2])
        return NULL;
    for (int a = 2; a < s->axes; a++)
        if (!r->reduced[a] || (a > 2 && v->shape.dim[a - 1] != s->dim[a]))
            return NULL;
    return v;
}

void row_choose(struct kernel *k, struct row *r, bool masked)
{
    const struct shape *s = &r->x->shape;
    struct value *whole = masked ? row_whole(r) : NULL;
    struct kernel *planning;
    double least = INFINITY;
    int candidates = 0;

    for (int a = 0; a < s->axes; a++)
        candidates += r->reduced[a] && s->dim[a] > 1;
    if (candidates + (whole != NULL) < 2)
        return;
    planning = kernel_planning(k->plan);
    for (int a = s->axes; a-- > 0;) {
        struct lanes e;
        double cost;

        if (!r->reduced[a] || s->dim[a] == 1)
            continue;
        e = row_sample(planning, r->x, a);
        cost = (double)kernel_cost(planning, r->x, &e) * (double)((s->dim[a] + 3) / 4) /
               (double)s->dim[a];
        if (cost < least) {
            least = cost;
            r->along = a;
        }
    }
    if (whole) {
        struct lanes e = row_sample(planning, whole, 1);

        if ((double)kernel_cost(planning, whole, &e) * (double)cells_spanned(s->dim[2], s->dim[1]) /
                (double)s->dim[2] <
            least)
            r->whole = whole;
    }
    kernel_planning_free(planning);
}

void row_loop(struct kernel *k, const struct row *r, const struct index *const *start,
              row_body *body, const void *state)
{
    const struct shape *s = &r->x->shape;
    int64_t whole = r->along < 0 ? 0 : s->dim[r->along] / 4;
    int rest = r->along < 0 ? 1 : (int)(s->dim[r->along] % 4);

    for (int part = 0; part < 2; part++) {
        int count = part ? rest : whole ? 4 : 0;
        int64_t extents[MAX_AXES];
        const struct index *at[MAX_AXES];
        const char *texts[4];

        if (!count)
            continue;
        memcpy(at, start, (size_t)s->axes * sizeof *at);
        for (int a = 0; a < s->axes; a++) {
            extents[a] = r->reduced[a] && a != r->along ? s->dim[a] : 1;
            if (extents[a] > 1)
                at[a] = kernel_loop(k, "j", extents[a]);
        }
        if (!part)
            at[r->along] = index_times(k->pool, kernel_loop(k, "q", whole), 4);
        else if (r->along >= 0)
            at[r->along] = kernel_constant(k, whole * 4);
        struct lanes e = lanes_along(k, at, s->axes, r->along, count);
        kernel_read(k, r->x, &e, -1, texts);
        body(k, texts, count, state);
        if (!part)
            kernel_end_loop(k, whole);
        for (int a = s->axes; a-- > 0;)
            kernel_end_loop(k, extents[a]);
    }
}

int row_side_by_side(struct kernel *k, const struct row *r, const struct lanes *starts)
{
    for (int a = 0; a < r->x->shape.axes; a++)
        for (int j = 1; j < k->out.count; j++)
            if (starts->at[j][a] != starts->at[0][a])
                return a;
    return -1;
}

bool is_cheaper_beside(struct kernel *k, struct value *x, int beside, int along)
{
    struct kernel *planning;
    const struct index *at[MAX_AXES];

    if (x->shape.dim[along] <= 3)
        return true;
    planning = kernel_planning(k->plan);
    for (int a = 0; a < x->shape.axes; a++)
        at[a] = x->shape.dim[a] == 1
                    ? kernel_constant(planning, 0)
                    : index_times(planning->pool,
                                  index_variable(planning->pool, kernel_text(planning, "s%d", a), 0,
                                                 (x->shape.dim[a] - 1) / 4),
                                  4);
    struct lanes side = lanes_along(planning, at, x->shape.axes, beside, 4);
    int64_t cost = kernel_cost(planning, x, &side), other;
    struct lanes line = lanes_along(planning, at, x->shape.axes, along, 4);
    other = kernel_cost(planning, x, &line);
    kernel_planning_free(planning);
    return cost <= other;
}

void row_loop_beside(struct kernel *k, const struct row *r, const struct lanes *starts,
                     row_body *body, const void *state)
{
    const struct shape *s = &r->x->shape;
    const struct index *at[MAX_AXES];
    const char *texts[4];
    int64_t extents[MAX_AXES];
    struct lanes e = {.count = starts->count};

    for (int a = 0; a < s->axes; a++) {
        extents[a] = r->reduced[a] ? s->dim[a] : 1;
        at[a] = r->reduced[a] ? kernel_loop(k, "j", extents[a]) : NULL;
    }
    for (int j = 0; j < e.count; j++)
        for (int a = 0; a < s->axes; a++)
            e.at[j][a] = at[a] ? at[a] : starts->at[j][a];
    kernel_read(k, r->x, &e, -1, texts);
    body(k, texts, e.count, state);
    for (int a = s->axes; a-- > 0;)
        kernel_end_loop(k, extents[a]);
}
