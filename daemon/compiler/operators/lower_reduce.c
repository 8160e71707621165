/*
 * Reductions, and the row statistics that Softmax and the normalisations share: one small step
 * computes them once a row, and every reader of the row takes them from there.
 *
 * All sums are in float32. Source: onnx.ai/onnx/operators, Reduce… 18.
 */
#include "daemon/compiler/operators/lower.h"
#include <inttypes.h>
#include <math.h>
#include <string.h>

/* ---- rows ---- */

/* What one output element sums over: some axes of x, the others fixed. */
struct row {
    struct value *x;
    bool reduced[MAX_AXES];
    int along; /* reduced axis that is read in fours */
    int64_t count;
    struct value *whole; /* NULL, or what x views with its channels in groups (row_choose()) */
};

/* Reduced axes of n: constant input 1, else attribute axes, else (with noop_with_empty_axes) none
 * or all. */
static void row_read(const struct node *n, struct row *r)
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

/* Element of x for output element at[], reduced axes 0. */
static void row_start(struct kernel *k, const struct row *r, bool keeps,
                      const struct index *const *at, const struct index **out)
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

typedef void row_body(struct kernel *k, const char *const *texts, int count, const void *state);

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

/* Cells that hold `count` channels from a multiple of it on, at most. */
static int64_t cells_spanned(int64_t count, int64_t groups)
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

/* The axis along which four elements take the fewest fetches, given where everything lies; with
 * masked also the cells of groups of channels that do not come in fours, some of whose components
 * are then another group's: r->whole. */
static void row_choose(struct kernel *k, struct row *r, bool masked)
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

/*
 * The loops over one row, four elements along r->along at a time; then those over rests shorter
 * than four. body() writes what is done with them.
 */
static void row_loop(struct kernel *k, const struct row *r, const struct index *const *start,
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

/* ---- reductions ---- */

struct reduction {
    const char *name, *first, *step,
        *last; /* {0} the sum so far, {1} an element; {2} in last: 1 / count */
};
static const struct reduction reductions[] = {
    {"ReduceMean", "0f", "{0} + {1}", "{0} * {2}"},
    {"ReduceSum", "0f", "{0} + {1}", "{0}"},
    {"GlobalAveragePool", "0f", "{0} + {1}", "{0} * {2}"},
    {"ReduceMax", "-3.4e38f", "Mathf.Max({0}, {1})", "{0}"},
    {"GlobalMaxPool", "-3.4e38f", "Mathf.Max({0}, {1})", "{0}"},
    {"ReduceMin", "3.4e38f", "Mathf.Min({0}, {1})", "{0}"},
    {"ReduceProd", "1f", "{0} * {1}", "{0}"},
    {"ReduceL1", "0f", "{0} + Mathf.Abs({1})", "{0}"},
    {"ReduceL2", "0f", "{0} + {1} * {1}", "Mathf.Sqrt({0})"},
    {"ReduceSumSquare", "0f", "{0} + {1} * {1}", "{0}"},
    {"ReduceLogSum", "0f", "{0} + {1}", "Mathf.Log({0})"},
};

static const struct reduction *reduction_of(const struct node *n)
{
    for (size_t i = 0; i < sizeof reductions / sizeof *reductions; i++)
        if (!strcmp(reductions[i].name, n->op->name))
            return &reductions[i];
    BUG(n->graph->context, "%s is not in the table of reductions", n->op->name);
}

struct reduce_state {
    const struct reduction *reduction;
    const char *sums[4];
    bool serial; /* all elements belong to sums[0] */
};

static void reduce_body(struct kernel *k, const char *const *texts, int count, const void *state)
{
    const struct reduce_state *s = state;

    if (s->serial && strstr(s->reduction->step, "{0} + ") == s->reduction->step) {
        /* One line for the four. */
        struct strbuf line;

        strbuf_init(&line, k->arena);
        for (int i = 0; i < count; i++) {
            const char *operands[] = {"", texts[i]};

            strbuf_printf(&line, "%s%s", i ? " + " : "",
                          kernel_format(k, s->reduction->step + 6, operands));
        }
        kernel_line(k, "%s += %s;", s->sums[0], line.text);
        return;
    }
    for (int i = 0; i < count; i++) {
        const char *operands[] = {s->sums[s->serial ? 0 : i], texts[i]};

        kernel_line(k, "%s = %s;", operands[0], kernel_format(k, s->reduction->step, operands));
    }
}

/* GlobalAveragePool and the like reduce all axes from 2 on, and keep them. */
static bool reduce_read(const struct node *n, struct row *r)
{
    bool global = !strncmp(n->op->name, "Global", 6);

    row_read(n, r);
    if (global) {
        r->count = 1;
        r->along = -1;
        for (int a = 0; a < r->x->shape.axes; a++) {
            r->reduced[a] = a >= 2;
            if (a >= 2) {
                r->count *= r->x->shape.dim[a];
                r->along = a;
            }
        }
    }
    return global || node_int(n, "keepdims", 1);
}

/* Four output elements whose rows are read side by side: the axis of x along which they lie, or -1.
 */
static int side_by_side(struct kernel *k, const struct row *r, const struct lanes *starts)
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

void lower_reduce(struct kernel *k, const struct node *n)
{
    struct row r;
    bool keeps = reduce_read(n, &r);
    struct reduce_state state = {.reduction = reduction_of(n)};
    struct lanes starts = {.count = k->out.count};
    const char *inverse = kernel_number(k, 1.0 / (double)r.count);
    int along, lanes = k->out.count;

    for (int j = 0; j < lanes; j++) {
        row_start(k, &r, keeps, k->out.at[j], starts.at[j]);
        state.sums[j] = kernel_name(k, (const char *const[]){"r", "g", "b", "a"}[j]);
    }
    along = side_by_side(k, &r, &starts);
    /* All lanes are one row where the output has a single element along its packed axis. */
    if (along < 0)
        lanes = 1;
    row_choose(k, &r, false);
    /* The four rows at once, one element of each; or one row after another, four elements of it. */
    bool parallel = along >= 0;
    if (parallel && r.along >= 0)
        parallel = is_cheaper_beside(k, r.x, along, r.along);
    for (int j = 0; j < lanes; j++)
        kernel_line(k, "float %s = %s;", state.sums[j], state.reduction->first);
    if (parallel) {
        const struct index *at[MAX_AXES];
        const char *texts[4];
        int64_t extents[MAX_AXES];
        struct lanes e = {.count = lanes};

        for (int a = 0; a < r.x->shape.axes; a++) {
            extents[a] = r.reduced[a] ? r.x->shape.dim[a] : 1;
            at[a] = r.reduced[a] ? kernel_loop(k, "j", extents[a]) : NULL;
        }
        for (int j = 0; j < lanes; j++)
            for (int a = 0; a < r.x->shape.axes; a++)
                e.at[j][a] = at[a] ? at[a] : starts.at[j][a];
        kernel_read(k, r.x, &e, -1, texts);
        reduce_body(k, texts, lanes, &state);
        for (int a = r.x->shape.axes; a-- > 0;)
            kernel_end_loop(k, extents[a]);
    } else {
        struct reduce_state one = state;

        one.serial = true;
        for (int j = 0; j < lanes; j++) {
            one.sums[0] = state.sums[j];
            row_loop(k, &r, starts.at[j], reduce_body, &one);
        }
    }
    for (int j = 0; j < lanes; j++) {
        const char *operands[] = {state.sums[j], "", inverse};

        k->lane[j] = kernel_local(k, "v", kernel_format(k, state.reduction->last, operands));
    }
    for (int j = lanes; j < 4; j++)
        k->lane[j] = "0f";
}

int packed_reduce(const struct node *n, int input)
{
    struct row r;

    if (input)
        return -1;
    reduce_read(n, &r);
    if (r.x->shape.axes >= 3 && !r.reduced[1] && r.x->shape.dim[1] > 1)
        return 1;
    return r.along;
}

/* ---- row statistics: a last axis of four holds them, in one cell ---- */

int packed_statistics(const struct node *n, int input)
{
    struct row r;

    if (input < 0)
        return n->outputs[0]->shape.axes - 1;
    row_read(n, &r);
    return r.along;
}

/* Two turns over the row, but for means. */
int64_t reuse_statistics(const struct node *n, int input)
{
    (void)input;
    return strcmp(n->op->name, "SoftmaxStatistics") ? 1 : 2;
}

static void max_body(struct kernel *k, const char *const *texts, int count, const void *state)
{
    const char *const *names = state;

    for (int i = 0; i < count; i++)
        kernel_line(k, "%s = Mathf.Max(%s, %s);", names[0], names[0], texts[i]);
}

static void exp_body(struct kernel *k, const char *const *texts, int count, const void *state)
{
    const char *const *names = state;

    for (int i = 0; i < count; i++)
        kernel_line(k, "%s += Mathf.Exp(%s - %s);", names[1], texts[i], names[0]);
}

/*
 * m, d and 1 / sum of exp(x - m - d), where m + d is the greatest element but for less than 1/64
 * and both are exact in 16 bits: readers subtract exactly what the sum was made with. From 2048 on
 * 16 bits hold every second number, from 4096 every fourth …; m is a multiple of 32, d of 1/64
 * below 32.
 */
void lower_softmax_statistics(struct kernel *k, const struct node *n)
{
    struct row r;
    const struct index *start[MAX_AXES];
    const char *names[2] = {kernel_name(k, "top"), kernel_name(k, "sum")};
    const char *coarse = kernel_name(k, "coarse");

    row_read(n, &r);
    row_choose(k, &r, false);
    row_start(k, &r, true, k->out.at[0], start);
    kernel_line(k, "float %s = -3.4e38f;", names[0]);
    row_loop(k, &r, start, max_body, names);
    kernel_line(k, "float %s = Mathf.Floor(%s * 0.03125f) * 32f;", coarse, names[0]);
    kernel_line(k, "%s = %s + Mathf.Floor((%s - %s) * 64f) * 0.015625f;", names[0], coarse,
                names[0], coarse);
    kernel_line(k, "float %s = 0f;", names[1]);
    row_loop(k, &r, start, exp_body, names);
    k->lane[0] = coarse;
    k->lane[1] = kernel_text(k, "%s - %s", names[0], coarse);
    /* The logarithm is near 0 where one element is nearly all: rounding it costs less than
     * taking it of a rounded sum. */
    k->lane[2] = kernel_text(k, node_int(n, "log", 0) ? "Mathf.Log(%s)" : "1f / %s", names[1]);
    k->lane[3] = "0f";
}

/*
 * Mean and squared deviations from it in one turn, of every fourth element on its own: with element
 * x, the n-th, at distance d from the mean so far, the mean moves by d / n and the sum of squares
 * grows by d * (x - mean). B. P. Welford, Note on a method for calculating corrected sums of
 * squares and products, Technometrics 4 (1962).
 */
struct moments {
    const char *n;         /* elements so far, of each lane; with masks NULL, and … */
    const char *counts[4]; /* … of one lane */
    const char *inside[4]; /* 1 where the lane's element is one of the row's, 0 elsewhere */
    const char *mean[4], *sum[4];
};

static void moments_body(struct kernel *k, const char *const *texts, int count, const void *state)
{
    const struct moments *m = state;
    const char *inverse = NULL;

    if (m->n) {
        kernel_line(k, "%s += 1f;", m->n);
        inverse = kernel_local(k, "inverse", kernel_text(k, "1f / %s", m->n));
    }
    for (int i = 0; i < count; i++) {
        const char *x = kernel_local(k, "v", texts[i]);
        const char *d = kernel_text(k, "%s - %s", x, m->mean[i]);

        if (!m->n) {
            kernel_line(k, "%s += %s;", m->counts[i], m->inside[i]);
            inverse = kernel_text(k, "1f / Mathf.Max(%s, 1f)", m->counts[i]);
            d = kernel_text(k, "%s * (%s)", m->inside[i], d);
            inverse = kernel_local(k, "inverse", inverse);
        }
        d = kernel_local(k, "d", d);
        kernel_line(k, "%s += %s * %s;", m->mean[i], d, inverse);
        kernel_line(k, "%s += %s * (%s - %s);", m->sum[i], d, x, m->mean[i]);
    }
}

/* Declares the numbers of so many lanes. */
static void moments_begin(struct kernel *k, struct moments *m, int lanes, bool masked)
{
    if (!masked) {
        m->n = kernel_name(k, "n");
        kernel_line(k, "float %s = 0f;", m->n);
    }
    for (int i = 0; i < lanes; i++) {
        if (masked) {
            m->counts[i] = kernel_name(k, "n");
            kernel_line(k, "float %s = 0f;", m->counts[i]);
        }
        m->mean[i] = kernel_name(k, "mean");
        kernel_line(k, "float %s = 0f;", m->mean[i]);
        m->sum[i] = kernel_name(k, "sum");
        kernel_line(k, "float %s = 0f;", m->sum[i]);
    }
}

/* The lanes' means and squares become those of all: what lane i has counts counts[i] times. */
static void moments_join(struct kernel *k, const struct moments *m, int lanes, bool equal,
                         const char *inverse, const char **mean, const char **sum)
{
    struct strbuf means, sums;

    *mean = m->mean[0];
    *sum = m->sum[0];
    if (lanes == 1)
        return;
    strbuf_init(&means, k->arena);
    strbuf_init(&sums, k->arena);
    for (int i = 0; i < lanes; i++) {
        strbuf_printf(&means, i ? " + %s" : "%s", m->mean[i]);
        strbuf_printf(&sums, i ? " + %s" : "%s", m->sum[i]);
        if (!equal)
            strbuf_printf(&means, " * %s", m->counts[i]);
    }
    *mean = kernel_local(
        k, "center",
        kernel_text(k, "(%s) * %s", means.text, equal ? kernel_number(k, 1.0 / lanes) : inverse));
    *sum = kernel_local(k, "squares", sums.text);
    for (int i = 0; i < lanes; i++) {
        const char *d = kernel_local(k, "d", kernel_text(k, "%s - %s", m->mean[i], *mean));

        kernel_line(k, "%s += %s * %s * %s;", *sum, m->counts[i], d, d);
    }
}

/* The row's cells, those with other groups' channels among them, one after another. */
static void moments_masked(struct kernel *k, const struct row *r, const struct index *const *start,
                           struct moments *m)
{
    const struct shape *s = &r->whole->shape;
    int64_t channels = r->x->shape.dim[2], cells = cells_spanned(channels, r->x->shape.dim[1]);
    const struct index *first = index_times(k->pool, start[1], channels), *at[MAX_AXES], *cell;
    const char *texts[4];
    struct lanes e;

    cell = index_add(k->pool, index_div(k->pool, first, 4), kernel_loop(k, "q", cells));
    cell = kernel_bind(k, "cell", cell);
    for (int i = 0; i < 4; i++) {
        struct strbuf place;

        strbuf_init(&place, k->arena);
        index_print(&place,
                    index_add(k->pool, index_plus(k->pool, index_times(k->pool, cell, 4), i),
                              index_times(k->pool, first, -1)),
                    false);
        const char *channel = kernel_name(k, "c");
        kernel_line(k, "int %s = %s;", channel, place.text);
        m->inside[i] = kernel_local(
            k, "own",
            kernel_text(k, "%s >= 0 && %s < %" PRId64 " ? 1f : 0f", channel, channel, channels));
    }
    at[0] = start[0];
    at[1] = index_times(k->pool, index_clamp(k->pool, cell, 0, (s->dim[1] - 1) / 4), 4);
    for (int a = 2; a < s->axes; a++)
        at[a] = kernel_loop(k, "j", s->dim[a]);
    e = lanes_along(k, at, s->axes, 1, 4);
    kernel_read(k, r->whole, &e, -1, texts);
    moments_body(k, texts, 4, m);
    for (int a = s->axes; a-- > 2;)
        kernel_end_loop(k, s->dim[a]);
    kernel_end_loop(k, cells);
}

/* Mean of the row's elements, and the sum of their squared deviations from it. */
static void row_moments(struct kernel *k, const struct row *r, const struct index *const *start,
                        const char *inverse, const char **mean, const char **sum)
{
    int64_t extent = r->along < 0 ? 1 : r->x->shape.dim[r->along];
    int lanes = r->whole || extent > 4 ? 4 : (int)extent;
    struct moments m = {0};

    moments_begin(k, &m, lanes, r->whole != NULL);
    if (r->whole) {
        moments_masked(k, r, start, &m);
        moments_join(k, &m, 4, false, inverse, mean, sum);
        return;
    }
    row_loop(k, r, start, moments_body, &m);
    for (int i = 0; i < lanes; i++)
        m.counts[i] =
            kernel_number(k, (double)(r->count / extent * (extent / 4 + (i < extent % 4 ? 1 : 0))));
    moments_join(k, &m, lanes, extent % 4 == 0 || lanes < 4, inverse, mean, sum);
}

static void square_body(struct kernel *k, const char *const *texts, int count, const void *state)
{
    const char *sum = state;

    for (int i = 0; i < count; i++) {
        const char *x = kernel_local(k, "d", texts[i]);

        kernel_line(k, "%s += %s * %s;", sum, x, x);
    }
}

/*
 * (m, d, 1 / sqrt(variance + epsilon), 0) with m + d the mean: m a multiple that 16 bits hold
 * exactly, d the rest, so that the mean keeps 20 bits, and all of its own where it is near 0.
 * Variance is the mean of squared deviations. With attribute rms, m = d = 0 and the square of the
 * elements themselves is averaged; with attribute root, what comes third is its root.
 */
void lower_norm_statistics(struct kernel *k, const struct node *n)
{
    struct row r;
    const struct index *start[MAX_AXES];
    const char *mean = NULL, *sum, *inverse, *scale;
    bool rms = node_int(n, "rms", 0);

    row_read(n, &r);
    inverse = kernel_number(k, 1.0 / (double)r.count);
    row_start(k, &r, true, k->out.at[0], start);
    row_choose(k, &r, !rms);
    if (rms) {
        sum = kernel_name(k, "sum");
        kernel_line(k, "float %s = 0f;", sum);
        row_loop(k, &r, start, square_body, sum);
    } else {
        row_moments(k, &r, start, inverse, &mean, &sum);
    }
    scale = kernel_local(k, "scale",
                         kernel_text(k, "1f / Mathf.Sqrt(%s * %s + %s)", sum, inverse,
                                     kernel_number(k, node_float(n, "epsilon", 1e-5f))));
    if (node_int(n, "root", 0))
        scale = kernel_text(k, "Mathf.Sqrt(%s)", scale);
    k->lane[0] = k->lane[1] = k->lane[3] = "0f";
    k->lane[2] = scale;
    if (!rms) {
        const char *unit = kernel_name(k, "unit");
        const char *coarse = kernel_name(k, "coarse");

        kernel_line(k,
                    "float %s = Mathf.Abs(%s) < 128f ? 0.125f : Mathf.Abs(%s) < 2048f ? 1f : 32f;",
                    unit, mean, mean);
        kernel_line(k, "float %s = Mathf.Floor(%s / %s + 0.5f) * %s;", coarse, mean, unit, unit);
        k->lane[0] = coarse;
        k->lane[1] = kernel_text(k, "%s - %s", mean, coarse);
    }
}
