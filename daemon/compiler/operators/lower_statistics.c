/*
 * The row statistics that Softmax and the normalisations share: one small step computes them once a
 * row, and every reader of the row takes them from there.
 */
#include "daemon/compiler/operators/lower_rows.h"
#include <inttypes.h>
#include <string.h>

/* Whether v lies with its channels in components, as far as the operators that make it tell. */
static bool lies_by_channel(const struct value *v)
{
    for (int depth = 0; depth < 16 && !v->constant; depth++) {
        const struct node *n = v->producer;
        const struct value *from = NULL;

        if (!n)
            return v->shape.axes > 3;
        if (n->op->functions->role == ROLE_STEP)
            return n->op->functions->packed && n->op->functions->packed(n, -1) == 1;
        if (n->op->functions->view == view_transpose)
            return false;
        for (int i = 0; i < n->input_count && !from; i++)
            if (n->inputs[i] && !n->inputs[i]->constant && n->inputs[i]->shape.axes > 2 &&
                n->inputs[i]->shape.dim[1] == v->shape.dim[1])
                from = n->inputs[i];
        if (!from)
            return false;
        v = from;
    }
    return false;
}

/* Rows of a channel each, of which cells hold four: the statistics of four rows lie in three cells,
 * and need not be read, and written, row by row. */
static bool is_beside(const struct node *n)
{
    const struct shape *s = &n->inputs[0]->shape;
    struct row r;

    row_read(n, &r);
    if (strcmp(n->op->name, "NormStatistics") != 0 || node_int(n, "rms", 0) || s->axes < 3)
        return false;
    for (int a = 0; a < s->axes; a++)
        if (a == 1 ? r.reduced[a] : !r.reduced[a] && s->dim[a] > 1)
            return false;
    return (s->dim[1] + 3) / 4 * STATISTICS < s->dim[1] && lies_by_channel(r.x);
}

int packed_statistics(const struct node *n, int input)
{
    struct row r;

    if (input < 0)
        return is_beside(n) ? 1 : n->outputs[0]->shape.axes - 1;
    row_read(n, &r);
    return is_beside(n) ? 1 : r.along;
}

/* Where an element is greater than all before it, the sum so far shrinks to what it is beside that
 * one. M. Milakov and N. Gimelshein, Online normalizer calculation for softmax (2018). */
static void exp_body(struct kernel *k, const char *const *texts, int count, const void *state)
{
    const char *const *names = state, *last = kernel_name(k, "last"), *x[4];
    struct strbuf line;

    kernel_line(k, "float %s = %s;", last, names[0]);
    for (int i = 0; i < count; i++) {
        x[i] = kernel_local(k, "v", texts[i]);
        kernel_line(k, "%s = Mathf.Max(%s, %s);", names[0], names[0], x[i]);
    }
    strbuf_init(&line, k->arena);
    for (int i = 0; i < count; i++)
        strbuf_printf(&line, " + Mathf.Exp(%s - %s)", x[i], names[0]);
    kernel_line(k, "%s = %s * Mathf.Exp(%s - %s)%s;", names[1], names[1], last, names[0],
                line.text);
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
    const char *coarse, *rest;

    row_read(n, &r);
    row_choose(k, &r, false);
    row_start(k, &r, true, k->out.at[0], start);
    kernel_line(k, "float %s = -3.4e38f;", names[0]);
    kernel_line(k, "float %s = 0f;", names[1]);
    row_loop(k, &r, start, exp_body, names);
    coarse =
        kernel_local(k, "coarse", kernel_text(k, "Mathf.Floor(%s * 0.03125f) * 32f", names[0]));
    rest = kernel_local(
        k, "rest", kernel_text(k, "Mathf.Floor((%s - %s) * 64f) * 0.015625f", names[0], coarse));
    kernel_line(k, "%s = %s * Mathf.Exp(%s - %s - %s);", names[1], names[1], names[0], coarse,
                rest);
    k->lane[0] = coarse;
    k->lane[1] = rest;
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

static const char *deviation_scale(struct kernel *k, const struct node *n, const char *sum,
                                   const char *inverse)
{
    const char *scale =
        kernel_local(k, "scale",
                     kernel_text(k, "1f / Mathf.Sqrt(%s * %s + %s)", sum, inverse,
                                 kernel_number(k, node_float(n, "epsilon", 1e-5f))));

    return node_int(n, "root", 0) ? kernel_text(k, "Mathf.Sqrt(%s)", scale) : scale;
}

/* m of the mean. */
static const char *coarse_mean(struct kernel *k, const char *mean)
{
    const char *unit = kernel_local(
        k, "unit",
        kernel_text(k, "Mathf.Abs(%s) < 128f ? 0.125f : Mathf.Abs(%s) < 2048f ? 1f : 32f", mean,
                    mean));

    return kernel_local(k, "coarse",
                        kernel_text(k, "Mathf.Floor(%s / %s + 0.5f) * %s", mean, unit, unit));
}

/* One of the three numbers, of four rows. */
static void lower_beside(struct kernel *k, const struct node *n, const struct row *r)
{
    struct lanes starts = {.count = k->out.count};
    const struct index *number = k->out.at[0][n->outputs[0]->shape.axes - 1];
    const char *inverse = kernel_number(k, 1.0 / (double)r->count);
    struct moments m = {0};
    struct strbuf which;

    for (int j = 0; j < starts.count; j++)
        row_start(k, r, true, k->out.at[j], starts.at[j]);
    moments_begin(k, &m, starts.count, false);
    row_loop_beside(k, r, &starts, moments_body, &m);
    strbuf_init(&which, k->arena);
    index_print(&which, kernel_bind(k, "number", number), true);
    for (int j = 0; j < starts.count; j++) {
        const char *scale = deviation_scale(k, n, m.sum[j], inverse);
        const char *coarse = coarse_mean(k, m.mean[j]);

        k->lane[j] =
            kernel_local(k, "v",
                         kernel_text(k, "%s == 0 ? %s : %s == 1 ? %s - %s : %s", which.text, coarse,
                                     which.text, m.mean[j], coarse, scale));
    }
    for (int j = starts.count; j < 4; j++)
        k->lane[j] = "0f";
}

/*
 * (m, d, 1 / sqrt(variance + epsilon)) with m + d the mean: m a multiple that 16 bits hold
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
    if (is_beside(n)) {
        lower_beside(k, n, &r);
        return;
    }
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
    scale = deviation_scale(k, n, sum, inverse);
    k->lane[0] = k->lane[1] = k->lane[3] = "0f";
    k->lane[2] = scale;
    if (!rms) {
        const char *coarse = coarse_mean(k, mean);

        k->lane[0] = coarse;
        k->lane[1] = kernel_text(k, "%s - %s", mean, coarse);
    }
}
