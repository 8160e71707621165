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

void lower_resample(struct kernel *k, const struct node *n)
{
    struct value *x = n->inputs[0];
    const struct shape *s = &x->shape;
    struct index_pool *p = k->pool;
    const struct index *source[MAX_AXES], *zero = kernel_constant(k, 0);
    const char *sums[4], *texts[4], *weight = NULL, *outside = NULL;
    int64_t taps[MAX_AXES];
    int lanes = k->out.count, along = -1;
    struct resize r;

    resample_read(k->context, n, &r);
    for (int j = 0; j < lanes; j++) {
        sums[j] = kernel_name(k, (const char *const[]){"r", "g", "b", "a"}[j]);
        kernel_line(k, "float %s = 0f;", sums[j]);
    }
    for (int a = 0; a < s->axes; a++)
        if (lanes > 1 && k->out.at[0][a] != k->out.at[1][a])
            along = a;
    if (r.transform == RESIZE_CROP) {
        outside = kernel_name(k, "outside");
        kernel_line(k, "float %s = 0f;", outside);
    }
    for (int a = 0; a < s->axes; a++) {
        struct weights *w = NULL;
        const char *entry[4], *name;
        const struct index *tap;
        int64_t most;

        source[a] = k->out.at[0][a];
        taps[a] = 1;
        if (!r.axis[a].resized)
            continue;
        taps[a] = most = resize_taps_most(&r, a);
        for (int i = 0; i < k->weight_count && !w; i++)
            if (k->weights[i]->fill == fill_taps && k->weights[i]->packed == a)
                w = k->weights[i];
        if (!w) {
            w = kernel_weights(k, 1, r.axis[a].to * most, fill_taps,
                               kernel_text(k, "places and weights along axis %d", a));
            w->packed = a;
            w->exact = true;
        }
        tap = kernel_loop(k, "tap", most);
        kernel_entry(k, w, zero, index_add(p, index_times(p, k->out.at[0][a], most), tap), "e",
                     entry);
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
    for (int j = 0; j < 4; j++) {
        k->lane[j] = j < lanes ? sums[j] : "0f";
        if (outside && j < lanes)
            k->lane[j] = kernel_local(k, "v",
                                      kernel_text(k, "%s > 0.5f ? %s : %s", outside,
                                                  kernel_number(k, r.extrapolation), sums[j]));
    }
}

/* The axis in components must not be resized: its weights would differ from lane to lane. */
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
        if (!r.axis[a].resized)
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
