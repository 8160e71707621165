/*
 * Reductions, and the row statistics that Softmax and the normalisations share: one small step
 * computes them once a row, and every reader of the row takes them from there.
 *
 * All sums are in float32. Source: onnx.ai/onnx/operators, Reduce… 18.
 */
#include "daemon/compiler/operators/lower.h"
#include <inttypes.h>
#include <string.h>

/* ---- rows ---- */

/* What one output element sums over: some axes of x, the others fixed. */
struct row {
    struct value *x;
    bool reduced[MAX_AXES];
    int along; /* reduced axis that is read in fours */
    int64_t count;
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
        if (s->dim[a] > 1 || r->along < 0)
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

/*
 * The loops over one row, four elements along r->along at a time, a rest shorter than four on its
 * own. body() writes what is done with them.
 */
static void row_loop(struct kernel *k, const struct row *r, const struct index *const *start,
                     row_body *body, const void *state)
{
    const struct shape *s = &r->x->shape;
    const struct index *at[MAX_AXES];
    int64_t extents[MAX_AXES], whole = r->along < 0 ? 0 : s->dim[r->along] / 4;
    int rest = r->along < 0 ? 1 : (int)(s->dim[r->along] % 4);
    const char *texts[4];

    memcpy(at, start, (size_t)s->axes * sizeof *at);
    for (int a = 0; a < s->axes; a++) {
        extents[a] = r->reduced[a] && a != r->along ? s->dim[a] : 1;
        if (extents[a] > 1)
            at[a] = kernel_loop(k, "j", extents[a]);
    }
    if (whole) {
        const struct index *group = kernel_loop(k, "q", whole);

        at[r->along] = index_times(k->pool, group, 4);
        struct lanes e = lanes_along(k, at, s->axes, r->along, 4);
        kernel_read(k, r->x, &e, -1, texts);
        body(k, texts, 4, state);
        kernel_end_loop(k, whole);
    }
    if (rest) {
        if (r->along >= 0)
            at[r->along] = kernel_constant(k, whole * 4);
        struct lanes e = lanes_along(k, at, s->axes, r->along, rest);
        kernel_read(k, r->x, &e, -1, texts);
        body(k, texts, rest, state);
    }
    for (int a = s->axes; a-- > 0;)
        kernel_end_loop(k, extents[a]);
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

/* Two turns over the row, but for a mean of squares. */
int64_t reuse_statistics(const struct node *n, int input)
{
    (void)input;
    return node_int(n, "rms", 0) ? 1 : 2;
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

static void sum_body(struct kernel *k, const char *const *texts, int count, const void *state)
{
    const char *const *names = state;
    struct strbuf line;

    strbuf_init(&line, k->arena);
    for (int i = 0; i < count; i++)
        strbuf_printf(&line, "%s%s", i ? " + " : "", texts[i]);
    kernel_line(k, "%s += %s;", names[0], line.text);
}

static void deviation_body(struct kernel *k, const char *const *texts, int count, const void *state)
{
    const char *const *names = state;

    for (int i = 0; i < count; i++) {
        const char *d = kernel_local(k, "d", kernel_text(k, "%s - %s", texts[i], names[0]));

        kernel_line(k, "%s += %s * %s;", names[1], d, d);
    }
}

static void square_body(struct kernel *k, const char *const *texts, int count, const void *state)
{
    const char *const *names = state;

    for (int i = 0; i < count; i++) {
        const char *x = kernel_local(k, "d", texts[i]);

        kernel_line(k, "%s += %s * %s;", names[1], x, x);
    }
}

/*
 * (m, d, 1 / sqrt(variance + epsilon), 0) with m + d the mean: m a multiple that 16 bits hold
 * exactly, d the rest, so that the mean keeps 20 bits. Variance is the mean of squared deviations.
 * With attribute rms, m = d = 0 and the square of the elements themselves is averaged.
 */
void lower_norm_statistics(struct kernel *k, const struct node *n)
{
    struct row r;
    const struct index *start[MAX_AXES];
    const char *names[2] = {kernel_name(k, "mean"), kernel_name(k, "sum")};
    const char *inverse, *scale;
    bool rms = node_int(n, "rms", 0);

    row_read(n, &r);
    inverse = kernel_number(k, 1.0 / (double)r.count);
    row_start(k, &r, true, k->out.at[0], start);
    kernel_line(k, "float %s = 0f;", names[0]);
    if (!rms) {
        row_loop(k, &r, start, sum_body, names);
        kernel_line(k, "%s = %s * %s;", names[0], names[0], inverse);
    }
    kernel_line(k, "float %s = 0f;", names[1]);
    row_loop(k, &r, start, rms ? square_body : deviation_body, names);
    scale = kernel_local(k, "scale",
                         kernel_text(k, "1f / Mathf.Sqrt(%s * %s + %s)", names[1], inverse,
                                     kernel_number(k, node_float(n, "epsilon", 1e-5f))));
    k->lane[0] = k->lane[1] = k->lane[3] = "0f";
    k->lane[2] = scale;
    if (!rms) {
        const char *unit = kernel_name(k, "unit");
        const char *coarse = kernel_name(k, "coarse");

        kernel_line(k,
                    "float %s = Mathf.Abs(%s) < 128f ? 0.125f : Mathf.Abs(%s) < 2048f ? 1f : 32f;",
                    unit, names[0], names[0]);
        kernel_line(k, "float %s = Mathf.Floor(%s / %s) * %s;", coarse, names[0], unit, unit);
        k->lane[0] = coarse;
        k->lane[1] = kernel_text(k, "%s - %s", names[0], coarse);
    }
}
