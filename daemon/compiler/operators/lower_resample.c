/*
 * Resize by weights: linear, cubic, antialiased. The weights of an output index along each axis are
 * a table (the coordinates are resize.h's, so that evaluation and kernel cannot differ), one entry
 * a tap: the input index in two digits to the base 2048, which 16 bits hold exactly, and the
 * weight; w is 1 where the place lies outside (crop).
 */
#include "daemon/compiler/operators/lower.h"
#include "daemon/compiler/operators/resize.h"
#include <inttypes.h>
#include <string.h>

static void resample_read(struct context *c, const struct node *n, struct resize *r)
{
    const char *why;

    if (!resize_read(n, &n->inputs[0]->shape, r, &why))
        BUG(c, "a Resize is lowered that does not know its scales");
}

static void fill_taps(struct context *c, const struct weights *w, int64_t first_row, int64_t rows,
                      float *entries, struct arena *scratch)
{
    struct resize r;
    int axis = w->packed, most;
    double *weights;

    (void)first_row; /* there is one */
    (void)rows;
    resample_read(c, w->node, &r);
    most = resize_taps_most(&r, axis);
    weights = NEW_ARRAY(scratch, most, double);
    for (int64_t i = 0; i < r.axis[axis].to; i++) {
        int64_t first = 0;
        int count = resize_taps(&r, axis, i, &first, weights);

        for (int t = 0; t < most; t++) {
            float *entry = entries + (i * most + t) * 4;
            int64_t from = first + (t < count ? t : 0), last = r.axis[axis].from - 1;

            from = from < 0 ? 0 : from > last ? last : from;
            entry[0] = (float)(from % 2048);
            entry[1] = (float)(from / 2048);
            entry[2] = t < count ? (float)weights[t] : 0;
            entry[3] = resize_outside(&r, axis, i);
        }
    }
}

/* Lanes first … first + count - 1, which have their places along resized axes in common. */
static void resample_lanes(struct kernel *k, const struct node *n, const struct resize *r,
                           int first, int lanes)
{
    struct value *x = n->inputs[0];
    const struct shape *s = &x->shape;
    struct index_pool *p = k->pool;
    const struct index *const *at = k->out.at[first];
    const struct index *source[MAX_AXES], *zero = kernel_constant(k, 0);
    const char *sums[4], *texts[4], *weight = NULL, *outside = NULL;
    int64_t taps[MAX_AXES];
    int along = -1;

    for (int j = 0; j < lanes; j++) {
        sums[j] = kernel_name(k, (const char *const[]){"r", "g", "b", "a"}[first + j]);
        kernel_line(k, "float %s = 0f;", sums[j]);
    }
    for (int a = 0; a < s->axes; a++)
        if (lanes > 1 && at[a] != k->out.at[first + 1][a])
            along = a;
    if (r->transform == RESIZE_CROP) {
        outside = kernel_name(k, "outside");
        kernel_line(k, "float %s = 0f;", outside);
    }
    /* Lanes behind the last element are limited to it. */
    const struct index *place[MAX_AXES];
    for (int a = 0; a < s->axes; a++)
        place[a] = index_clamp(p, at[a], 0, n->outputs[0]->shape.dim[a] - 1);
    for (int a = 0; a < s->axes; a++) {
        struct weights *w = NULL;
        const char *entry[4], *name;
        const struct index *tap;
        int64_t most;

        source[a] = r->axis[a].resized ? place[a] : at[a];
        taps[a] = 1;
        if (!r->axis[a].resized)
            continue;
        taps[a] = most = resize_taps_most(r, a);
        for (int i = 0; i < k->weight_count && !w; i++)
            if (k->weights[i]->fill == fill_taps && k->weights[i]->packed == a)
                w = k->weights[i];
        if (!w) {
            w = kernel_weights(k, 1, r->axis[a].to * most, fill_taps,
                               kernel_text(k, "places and weights along axis %d", a));
            w->packed = a;
            w->exact = true;
        }
        tap = kernel_loop(k, "tap", most);
        kernel_entry(k, w, zero, index_add(p, index_times(p, place[a], most), tap), "e", entry);
        name = kernel_name(k, "i");
        if (s->dim[a] > 2048)
            kernel_line(k, "int %s = (int)(%s + %s * 2048f + 0.5f);", name, entry[0], entry[1]);
        else
            kernel_line(k, "int %s = (int)(%s + 0.5f);", name, entry[0]);
        source[a] = index_variable(p, name, 0, s->dim[a] - 1);
        weight = weight ? kernel_local(k, "weight", kernel_text(k, "%s * %s", weight, entry[2]))
                        : entry[2];
        if (outside)
            kernel_line(k, "%s = Mathf.Max(%s, %s);", outside, outside, entry[3]);
    }
    struct lanes e = lanes_along(k, source, s->axes, along, lanes);
    kernel_read(k, x, &e, -1, texts);
    for (int j = 0; j < lanes; j++)
        kernel_line(k, weight ? "%s += %s * %s;" : "%s += %s;", sums[j], texts[j], weight);
    for (int a = s->axes; a-- > 0;)
        kernel_end_loop(k, taps[a]);
    for (int j = 0; j < lanes; j++) {
        k->lane[first + j] = sums[j];
        if (outside)
            k->lane[first + j] =
                kernel_local(k, "v",
                             kernel_text(k, "%s > 0.5f ? %s : %s", outside,
                                         kernel_number(k, r->extrapolation), sums[j]));
    }
}

void lower_resample(struct kernel *k, const struct node *n)
{
    bool apart = false;
    struct resize r;

    resample_read(k->context, n, &r);
    for (int a = 0; a < n->inputs[0]->shape.axes; a++)
        apart =
            apart || (k->out.count > 1 && r.axis[a].resized && k->out.at[0][a] != k->out.at[1][a]);
    for (int j = 0; j < 4; j++)
        k->lane[j] = "0f";
    if (!apart)
        resample_lanes(k, n, &r, 0, k->out.count);
    for (int j = 0; apart && j < k->out.count; j++)
        resample_lanes(k, n, &r, j, 1);
}

/* The axis in components should not be resized: its weights would differ from lane to lane. */
int packed_resample(const struct node *n, int input)
{
    const struct shape *s = &n->inputs[0]->shape;
    struct resize r;
    const char *why;

    if (input > 0 || !resize_read(n, s, &r, &why))
        return -1;
    if (s->axes > 1 && !r.axis[1].resized)
        return 1;
    for (int a = s->axes - 1; a >= 0; a--)
        if (!r.axis[a].resized && s->dim[a] > 1)
            return a;
    return -1;
}

int64_t reuse_resample(const struct node *n, int input)
{
    struct resize r;
    const char *why;
    double cells = 1;

    if (input || !resize_read(n, &n->inputs[0]->shape, &r, &why))
        return 1;
    for (int a = 0; a < r.axes; a++)
        if (r.axis[a].resized)
            cells *=
                (double)resize_taps_most(&r, a) * (double)r.axis[a].to / (double)r.axis[a].from;
    return (int64_t)cells;
}
