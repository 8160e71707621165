/*
 * Reading between elements at computed places: GridSample, and the columns that DeformConv
 * multiplies. Four channels of one place are one cell. Source: onnx.ai/onnx/operators, GridSample
 * 22, DeformConv 22.
 */
#include "daemon/compiler/operators/lower.h"
#include "daemon/compiler/operators/sampling.h"
#include <inttypes.h>
#include <math.h>
#include <string.h>

enum { SPATIAL = MAX_AXES - 2, MARGIN = 8 /* places so far outside read nothing */ };

const char *lower_float(struct kernel *k, const struct index *i)
{
    struct strbuf s;

    strbuf_init(&s, k->arena);
    index_print(&s, i, true);
    return index_is_constant(i) ? kernel_number(k, (double)index_lo(i))
                                : kernel_text(k, "(float)%s", s.text);
}

void lower_sums(struct kernel *k, int lanes, const char **sums, const char *first)
{
    for (int j = 0; j < lanes; j++) {
        sums[j] = kernel_name(k, (const char *const[]){"r", "g", "b", "a"}[j]);
        kernel_line(k, "float %s = %s;", sums[j], first);
    }
}

/* ---- GridSample ---- */

/* Along one axis: where it is, and the taps around. */
struct sampler {
    struct grid grid;
    int64_t length;
    int taps;
    const char *floor, *part; /* of the position */
};

/* Half to even. */
static const char *rounded(struct kernel *k, const char *p)
{
    const char *two[] = {p, kernel_local(k, "up", kernel_text(k, "Mathf.Floor(%s + 0.5f)", p))};

    return kernel_format(
        k, "{1} - {0} == 0.5f && {1} - 2f * Mathf.Floor({1} * 0.5f) != 0f ? {1} - 1f : {1}", two);
}

/* grid_position() in text. */
static void sampler_place(struct kernel *k, struct sampler *s, const char *coordinate)
{
    bool align = s->grid.align_corners;
    double l = (double)s->length, low = align ? 0 : -0.5, high = align ? l - 1 : l - 0.5,
           range = high - low;
    const char *p, *a = kernel_number(k, low), *b = kernel_number(k, high);

    p = align ? kernel_text(k, "(%s + 1f) * %s", coordinate, kernel_number(k, (l - 1) / 2))
              : kernel_text(k, "((%s + 1f) * %s - 1f) * 0.5f", coordinate, kernel_number(k, l));
    p = kernel_local(k, "place", p);
    if (s->grid.mode == GRID_NEAREST)
        p = kernel_local(k, "place", rounded(k, p));
    if (s->grid.padding == GRID_ZEROS) {
        p = kernel_text(k, "Mathf.Clamp(%s, %s, %s)", p, kernel_number(k, -MARGIN),
                        kernel_number(k, l + MARGIN));
    } else if (s->grid.padding == GRID_BORDER) {
        p = kernel_text(k, "%s < %s ? 0f : %s > %s ? %s : %s", p, a, p, b, kernel_number(k, l - 1),
                        p);
    } else if (range > 0) {
        const char *away = kernel_local(k, "away", kernel_text(k, "Mathf.Abs(%s - (%s))", p, a));

        away = kernel_local(k, "away",
                            kernel_text(k, "%s - Mathf.Floor(%s * %s) * %s", away, away,
                                        kernel_number(k, 1 / (2 * range)),
                                        kernel_number(k, 2 * range)));
        p = kernel_text(k, "%s < %s || %s > %s ? (%s <= %s ? %s : %s - %s) + (%s) : %s", p, a, p, b,
                        away, kernel_number(k, range), away, kernel_number(k, 2 * range), away, a,
                        p);
    } else {
        p = a;
    }
    p = kernel_local(k, "place", p);
    s->floor = kernel_local(k, "floor", kernel_text(k, "Mathf.Floor(%s)", p));
    s->part = s->taps > 1 ? kernel_local(k, "part", kernel_text(k, "%s - %s", p, s->floor)) : "0f";
}

/* The element of tap number `tap`; it is to be read only where *inside holds. */
static const struct index *sampler_index(struct kernel *k, const struct sampler *s,
                                         const struct index *tap, struct condition *inside)
{
    struct index_pool *p = k->pool;
    const char *name = kernel_name(k, "i");
    int64_t first = s->taps == 4 ? -1 : 0, l = s->length;
    const struct index *i;
    struct strbuf at;

    strbuf_init(&at, k->arena);
    tap = index_plus(p, tap, first);
    index_print(&at, tap, true);
    if (s->grid.padding == GRID_REFLECTION && s->grid.align_corners && l == 1) {
        i = kernel_constant(k, 0);
    } else if (s->grid.padding == GRID_REFLECTION) {
        int64_t period = s->grid.align_corners ? 2 * (l - 1) : 2 * l,
                shift = period * ((2 + period - 1) / period);

        kernel_line(k, "int %s = ((int)%s + %s + %" PRId64 ") %% %" PRId64 ";", name, s->floor,
                    at.text, shift, period);
        kernel_line(k, "%s = %s < %" PRId64 " ? %s : %" PRId64 " - %s;", name, name, l, name,
                    s->grid.align_corners ? period : period - 1, name);
        i = index_variable(p, name, 0, l - 1);
    } else if (s->grid.padding == GRID_BORDER) {
        kernel_line(k, "int %s = (int)Mathf.Clamp(%s + %s, 0f, %s);", name, s->floor,
                    lower_float(k, tap), kernel_number(k, (double)(l - 1)));
        i = index_variable(p, name, 0, l - 1);
    } else {
        kernel_line(k, "int %s = (int)%s + %s;", name, s->floor, at.text);
        i = index_variable(p, name, -MARGIN - 1, l + MARGIN + 3);
    }
    *inside = (struct condition){i, 0, l - 1};
    return i;
}

static const char *sampler_weight(struct kernel *k, const struct sampler *s,
                                  const struct index *tap)
{
    const char *d;

    if (s->taps == 1)
        return NULL;
    if (s->taps == 2)
        return kernel_local(
            k, "weight", kernel_text(k, "1f - Mathf.Abs(%s - %s)", s->part, lower_float(k, tap)));
    d = kernel_local(k, "d",
                     kernel_text(k, "Mathf.Abs(%s + 1f - %s)", s->part, lower_float(k, tap)));
    return kernel_local(
        k, "weight",
        kernel_format(
            k,
            "{0} <= 1f ? (1.25f * {0} - 2.25f) * {0} * {0} + 1f : ((-0.75f * {0} + 3.75f) * "
            "{0} - 6f) * {0} + 3f",
            &d));
}

/* Loops over the taps of all axes, and what they read times their weights: added to sums. e: the
 * channels that the lanes read, with its other indices set. */
static void add_taps(struct kernel *k, struct value *x, const struct sampler *samplers, int axes,
                     struct lanes *e, const char *const *sums)
{
    struct condition inside[SPATIAL] = {0};
    const char *weight = NULL, *texts[4];

    for (int a = 0; a < axes; a++) {
        const struct index *tap = kernel_loop(k, "tap", samplers[a].taps), *i;
        const char *own;

        i = sampler_index(k, &samplers[a], tap, &inside[a]);
        own = sampler_weight(k, &samplers[a], tap);
        weight = weight && own ? kernel_local(k, "weight", kernel_text(k, "%s * %s", weight, own))
                 : own         ? own
                               : weight;
        for (int j = 0; j < e->count; j++)
            e->at[j][a + 2] = i;
    }
    int opened = kernel_if(k, inside, axes);
    if (opened >= 0) {
        kernel_read(k, x, e, -1, texts);
        for (int j = 0; j < e->count; j++)
            kernel_line(k, weight ? "%s += %s * %s;" : "%s += %s;", sums[j], texts[j], weight);
    }
    kernel_end_if(k, opened);
    for (int a = axes; a-- > 0;)
        kernel_end_loop(k, samplers[a].taps);
}

void lower_grid_sample(struct kernel *k, const struct node *n)
{
    struct value *x = n->inputs[0], *grid = n->inputs[1];
    int axes = x->shape.axes - 2;
    const struct index *at[MAX_AXES] = {0};
    struct sampler samplers[SPATIAL];
    struct lanes e = k->out;
    const char *sums[4], *coordinates[SPATIAL], *why;

    lower_sums(k, e.count, sums, "0f");
    at[0] = e.at[0][0];
    for (int a = 0; a < axes; a++)
        at[a + 1] = e.at[0][a + 2];
    for (int first = 0; first < axes; first += 4) {
        at[axes + 1] = kernel_constant(k, first);
        struct lanes c =
            lanes_along(k, at, axes + 2, axes + 1, axes - first < 4 ? axes - first : 4);
        kernel_read(k, grid, &c, -1, coordinates + first);
    }
    for (int a = 0; a < axes; a++) {
        struct sampler *s = &samplers[a];

        grid_read(n, &s->grid, &why);
        s->length = x->shape.dim[a + 2];
        s->taps = s->grid.mode == GRID_NEAREST ? 1 : s->grid.mode == GRID_LINEAR ? 2 : 4;
        /* The last axis' coordinate comes first. */
        sampler_place(k, s, coordinates[axes - 1 - a]);
    }
    add_taps(k, x, samplers, axes, &e, sums);
    for (int j = 0; j < 4; j++)
        k->lane[j] = j < e.count ? sums[j] : "0f";
}

int packed_sample(const struct node *n, int input)
{
    return input <= 0 ? 1 : input == 1 ? n->inputs[1]->shape.axes - 1 : -1;
}

int64_t reuse_sample(const struct node *n, int input)
{
    return input ? (n->inputs[0]->shape.dim[1] + 3) / 4
                 : 4 * shape_count(&n->outputs[0]->shape) / (shape_count(&n->inputs[0]->shape) + 1);
}

/* ---- DeformConv: its columns ---- */

/* Attributes kernel_shape, strides, dilations, pads, group, offset_group; inputs data, offset,
 * mask. Channel (group * taps + tap) * each + channel of the output is that channel of the group,
 * moved by that tap's offset. */
void lower_deform_columns(struct kernel *k, const struct node *n)
{
    struct value *x = n->inputs[0], *offset = n->inputs[1], *mask = node_input(n, 2);
    struct index_pool *p = k->pool;
    int axes = x->shape.axes - 2, count, lanes = k->out.count;
    const int64_t *kernel = node_ints(n, "kernel_shape", &count),
                  *strides = node_ints(n, "strides", &count);
    const int64_t *dilations = node_ints(n, "dilations", &count),
                  *pads = node_ints(n, "pads", &count);
    int64_t group = node_int(n, "group", 1), sets = node_int(n, "offset_group", 1), taps = 1;
    int64_t channels = x->shape.dim[1], each = channels / group;
    const struct index *tap[4], *set[4], *channel[4];
    const char *sums[4];
    bool done[4] = {false};

    for (int a = 0; a < axes; a++)
        taps *= kernel[a];
    lower_sums(k, lanes, sums, "0f");
    for (int j = 0; j < lanes; j++) {
        const struct index *q = index_clamp(p, k->out.at[j][1], 0, channels * taps - 1);

        tap[j] = index_mod(p, index_div(p, q, each), taps);
        channel[j] =
            index_add(p, index_times(p, index_div(p, q, each * taps), each), index_mod(p, q, each));
        set[j] =
            index_add(p, index_times(p, index_div(p, channel[j], channels / sets), taps), tap[j]);
    }
    for (int first = 0; first < lanes; first++) {
        struct sampler samplers[SPATIAL] = {0};
        const struct index *at[MAX_AXES], *rest = tap[first];
        struct lanes e = {.count = 0};
        const char *own[4], *offsets[SPATIAL], *factor;

        if (done[first])
            continue;
        memcpy(at, k->out.at[first], sizeof at);
        for (int a = 0; a < axes; a++) {
            at[1] = index_plus(p, index_times(p, set[first], axes), a);
            struct lanes one = {.count = 1};
            memcpy(one.at[0], at, sizeof at);
            kernel_read(k, offset, &one, -1, &offsets[a]);
        }
        for (int a = axes; a-- > 0;) {
            struct sampler *s = &samplers[a];
            const struct index *base =
                index_plus(p,
                           index_add(p, index_times(p, k->out.at[first][a + 2], strides[a]),
                                     index_times(p, index_mod(p, rest, kernel[a]), dilations[a])),
                           -pads[a]);
            const char *place;

            rest = index_div(p, rest, kernel[a]);
            s->length = x->shape.dim[a + 2];
            s->taps = 2;
            place =
                kernel_local(k, "place",
                             kernel_text(k, "Mathf.Clamp(%s + %s, %s, %s)", lower_float(k, base),
                                         offsets[a], kernel_number(k, -MARGIN),
                                         kernel_number(k, (double)(s->length + MARGIN))));
            s->floor = kernel_local(k, "floor", kernel_text(k, "Mathf.Floor(%s)", place));
            s->part = kernel_local(k, "part", kernel_text(k, "%s - %s", place, s->floor));
        }
        /* All lanes of that tap and set are read at one place. */
        for (int j = first; j < lanes; j++)
            if (tap[j] == tap[first] && set[j] == set[first]) {
                e.at[e.count][0] = k->out.at[j][0];
                e.at[e.count][1] = channel[j];
                own[e.count++] = sums[j];
                done[j] = true;
            }
        add_taps(k, x, samplers, axes, &e, own);
        if (mask) {
            at[1] = set[first];
            struct lanes one = {.count = 1};
            memcpy(one.at[0], at, sizeof at);
            kernel_read(k, mask, &one, -1, &factor);
            factor = kernel_local(k, "factor", factor);
            for (int j = 0; j < e.count; j++)
                kernel_line(k, "%s *= %s;", own[j], factor);
        }
    }
    for (int j = 0; j < 4; j++)
        k->lane[j] = j < lanes ? sums[j] : "0f";
}
