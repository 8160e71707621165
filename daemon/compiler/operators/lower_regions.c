/*
 * Pooling over regions that an input lists: RoiAlign, MaxRoiPool. Four channels of one place are
 * one cell. Source: onnx.ai/onnx/operators, RoiAlign 22, MaxRoiPool 22.
 */
#include "daemon/compiler/operators/lower.h"
#include "daemon/compiler/operators/regions.h"
#include <inttypes.h>
#include <math.h>
#include <string.h>

/* The axis along which the four elements that are computed differ, -1: none. */
static int lane_axis(const struct kernel *k, int axes)
{
    for (int a = 0; k->out.count > 1 && a < axes; a++)
        if (k->out.at[0][a] != k->out.at[1][a])
            return a;
    return -1;
}

/* ---- RoiAlign ---- */

struct region {
    double scale;
    int64_t ratio;
    bool half, average;
    int64_t size[2]; /* of the output */
};

static void region_read(const struct node *n, struct region *r)
{
    r->scale = (double)node_float(n, "spatial_scale", 1);
    r->ratio = node_int(n, "sampling_ratio", 0);
    r->half = !strcmp(node_string(n, "coordinate_transformation_mode", "half_pixel"), "half_pixel");
    r->average = !strcmp(node_string(n, "mode", "avg"), "avg");
    r->size[0] = node_int(n, "output_height", 1);
    r->size[1] = node_int(n, "output_width", 1);
}

/* Start and length of a bin along axis 0 or 1 (rows, columns) of region corners. */
static void region_bin(const struct region *r, const float *corners, int a, double *start,
                       double *bin)
{
    double from = (double)corners[1 - a] * r->scale - (r->half ? 0.5 : 0);
    double extent = (double)corners[3 - a] * r->scale - (r->half ? 0.5 : 0) - from;

    if (!r->half && extent < 1)
        extent = 1;
    *start = from;
    *bin = extent / (double)r->size[a];
}

/* One entry a region: starts and bins, in 32 bits. */
static void fill_regions(struct context *c, const struct weights *w, int64_t first, int64_t count,
                         float *entries, struct arena *scratch)
{
    const float *corners = tensor_floats(c, w->node->inputs[1]->constant, scratch);
    struct region r;

    (void)first; /* there is one row */
    (void)count;
    region_read(w->node, &r);
    for (int64_t i = 0; i < w->columns; i++)
        for (int a = 0; a < 2; a++) {
            double start, bin;

            region_bin(&r, corners + 4 * i, a, &start, &bin);
            entries[4 * i + a] = (float)start;
            entries[4 * i + 2 + a] = (float)bin;
        }
}

/* The greatest number of samples along axis a that a constant region takes in a bin, in any style.
 */
static double adaptive_samples(struct kernel *k, struct value *regions, const struct region *r,
                               int a)
{
    struct arena *scratch = arena_child(k->arena);
    double most = 1;
    int style = k->context->style;

    for (int s = 0; s < (regions->constant->varies ? k->context->styles : 1); s++) {
        k->context->style = regions->constant->varies ? s : style;
        const float *corners = tensor_floats(k->context, regions->constant, scratch);
        for (int64_t i = 0; i < regions->shape.dim[0]; i++) {
            double start, bin;

            region_bin(r, corners + 4 * i, a, &start, &bin);
            most = fmax(most, ceil(bin));
        }
    }
    k->context->style = style;
    arena_free(scratch);
    return most;
}

/*
 * Samples along axis a that a kernel has to look at. Of a bin that takes one for each unit of its
 * length only those within the input count: b units in ceil(b) samples are more than (n - 1) / n
 * apart for n of them, so that at most length + 2 lie in -1 ... length, however large the region.
 * *some: the first of them is to be found, with one more at each end for what rounding moves.
 */
static int64_t most_samples(struct kernel *k, const struct node *n, const struct region *r, int a,
                            bool *some)
{
    int64_t within = n->inputs[0]->shape.dim[2 + a] + 4;
    double most;

    *some = false;
    if (r->ratio > 0)
        return r->ratio;
    most = n->inputs[1]->constant ? adaptive_samples(k, n->inputs[1], r, a) : INFINITY;
    *some = most > (double)within;
    return *some ? within : (int64_t)most;
}

/* The number of the first sample along one axis of a bin that may lie within the input. */
static const char *first_sample(struct kernel *k, const char *start, const char *bin,
                                const struct index *place, const char *samples)
{
    const char *before = kernel_text(k, "-1f - %s - %s * %s", start, bin, lower_float(k, place));

    return kernel_local(
        k, "first",
        kernel_text(k,
                    "Mathf.Max(Mathf.Ceil((%s) * %s / Mathf.Max(%s, 0.000001f) - 0.5f) - 1f, 0f)",
                    before, samples, bin));
}

void lower_roi_align(struct kernel *k, const struct node *n)
{
    struct value *x = n->inputs[0], *regions = n->inputs[1];
    struct index_pool *p = k->pool;
    int count, lanes = k->out.count;
    const int64_t *batch = node_constant_ints(n, 2, &count);
    const struct index *number = k->out.at[0][0], *at[MAX_AXES];
    const char *sums[4], *bins[4], *samples[2], *weight[2], *inside = NULL, *texts[4], *total;
    const char *first[2] = {NULL, NULL};
    const struct index *low[2], *high[2];
    int64_t most[2];
    bool some[2];
    struct region r;

    region_read(n, &r);
    if (!batch)
        BUG(k->context, "a RoiAlign is lowered that does not know its batch indices");
    lower_sums(k, lanes, sums, r.average ? "0f" : "-3.4e38f");
    if (regions->constant) {
        struct weights *w =
            kernel_weights(k, 1, regions->shape.dim[0], fill_regions, "starts and bins of regions");

        w->exact = true;
        kernel_entry(k, w, kernel_constant(k, 0), number, "region", bins);
    } else {
        const struct index *corner[] = {number, kernel_constant(k, 0)};
        struct lanes e = lanes_along(k, corner, 2, 1, 4);
        const char *corners[4];

        kernel_read(k, regions, &e, -1, corners);
        for (int a = 0; a < 2; a++) {
            const char *shift = r.half ? " - 0.5f" : "";
            const char *extent;

            bins[a] = kernel_local(
                k, "start",
                kernel_text(k, "(%s) * %s%s", corners[1 - a], kernel_number(k, r.scale), shift));
            extent = kernel_text(k, "(%s) * %s%s - %s", corners[3 - a], kernel_number(k, r.scale),
                                 shift, bins[a]);
            if (!r.half)
                extent = kernel_text(k, "Mathf.Max(%s, 1f)", extent);
            bins[2 + a] = kernel_local(
                k, "bin",
                kernel_text(k, "(%s) * %s", extent, kernel_number(k, 1 / (double)r.size[a])));
        }
    }
    for (int a = 0; a < 2; a++) {
        most[a] = most_samples(k, n, &r, a, &some[a]);
        samples[a] =
            r.ratio > 0
                ? kernel_number(k, (double)r.ratio)
                : kernel_local(k, "samples",
                               kernel_text(k, "Mathf.Max(Mathf.Ceil(%s), 0f)", bins[2 + a]));
        if (some[a])
            first[a] = first_sample(k, bins[a], bins[2 + a], k->out.at[0][2 + a], samples[a]);
    }
    for (int a = 0; a < 2; a++) {
        const struct index *tap = kernel_loop(k, "tap", most[a]);
        int64_t last = x->shape.dim[2 + a] - 1;
        const char *place, *here, *name = kernel_name(k, "i"), *next = kernel_name(k, "i");
        const char *sample = some[a] ? kernel_text(k, "%s + %s", first[a], lower_float(k, tap))
                                     : lower_float(k, tap);

        if (r.ratio <= 0)
            kernel_open(k, "if (%s < %s)", sample, samples[a]);
        place =
            kernel_local(k, "place",
                         kernel_text(k, "%s + %s * (%s + (%s + 0.5f) / %s)", bins[a], bins[2 + a],
                                     lower_float(k, k->out.at[0][2 + a]), sample, samples[a]));
        inside =
            kernel_text(k, "%s%s%s >= -1f && %s <= %s", inside ? inside : "", inside ? " && " : "",
                        place, place, kernel_number(k, (double)(last + 1)));
        here = kernel_local(
            k, "place",
            kernel_text(k, "Mathf.Clamp(%s, 0f, %s)", place, kernel_number(k, (double)last)));
        kernel_line(k, "int %s = (int)%s;", name, here);
        kernel_line(k, "int %s = %s < %" PRId64 " ? %s + 1 : %s;", next, name, last, name, name);
        weight[a] = kernel_local(k, "weight", kernel_text(k, "%s - Mathf.Floor(%s)", here, here));
        low[a] = index_variable(p, name, 0, last);
        high[a] = index_variable(p, next, 0, last);
    }
    inside = kernel_local(k, "inside", kernel_text(k, "%s ? 1f : 0f", inside));
    for (int corner = 0; corner < 4; corner++) {
        const char *factor;

        at[0] = kernel_lookup(k, batch, count, number);
        at[1] = k->out.at[0][1];
        at[2] = corner & 2 ? high[0] : low[0];
        at[3] = corner & 1 ? high[1] : low[1];
        struct lanes e = lanes_along(k, at, 4, lane_axis(k, 4), lanes);
        kernel_read(k, x, &e, -1, texts);
        factor =
            kernel_local(k, "factor",
                         kernel_text(k, "%s * (%s%s) * (%s%s)", inside, corner & 2 ? "" : "1f - ",
                                     weight[0], corner & 1 ? "" : "1f - ", weight[1]));
        for (int j = 0; j < lanes; j++)
            kernel_line(k, r.average ? "%s += %s * %s;" : "%s = Mathf.Max(%s, %s * %s);", sums[j],
                        r.average ? texts[j] : sums[j], r.average ? factor : texts[j], factor);
    }
    for (int a = 2; a-- > 0;) {
        if (r.ratio <= 0)
            kernel_close(k);
        kernel_end_loop(k, most[a]);
    }
    /* What was not looked at lies outside, where there is 0. */
    for (int a = 0; a < 2 && !r.average; a++)
        for (int j = 0; some[a] && j < lanes; j++)
            kernel_line(k, "%s = %s > 0f || %s > %s ? Mathf.Max(%s, 0f) : %s;", sums[j], first[a],
                        samples[a], kernel_number(k, (double)most[a]), sums[j], sums[j]);
    total = r.ratio > 0
                ? kernel_number(k, 1.0 / (double)(r.ratio * r.ratio))
                : kernel_local(k, "total",
                               kernel_text(k, "Mathf.Max(%s * %s, 1f)", samples[0], samples[1]));
    for (int j = 0; j < 4; j++) {
        if (j >= lanes)
            k->lane[j] = "0f";
        else if (!r.average)
            k->lane[j] = r.ratio > 0 ? sums[j]
                                     : kernel_local(k, "v",
                                                    kernel_text(k, "%s * %s > 0f ? %s : 0f",
                                                                samples[0], samples[1], sums[j]));
        else
            k->lane[j] = kernel_local(
                k, "v", kernel_text(k, r.ratio > 0 ? "%s * %s" : "%s / %s", sums[j], total));
    }
}

/* ---- MaxRoiPool ---- */

/* One entry a region: its first row and column, and how many of them it has. */
static void fill_pooled(struct context *c, const struct weights *w, int64_t first, int64_t count,
                        float *entries, struct arena *scratch)
{
    const float *regions = tensor_floats(c, w->node->inputs[1]->constant, scratch);

    (void)first; /* there is one row */
    (void)count;
    for (int64_t i = 0; i < w->columns; i++) {
        double start[2], length[2];

        pooled_region(w->node, regions + 5 * i, start, length);
        for (int a = 0; a < 2; a++) {
            entries[4 * i + a] = (float)start[a];
            entries[4 * i + 2 + a] = (float)length[a];
        }
    }
}

/* … and the item that it is a region of. */
static void fill_items(struct context *c, const struct weights *w, int64_t first, int64_t count,
                       float *entries, struct arena *scratch)
{
    const float *regions = tensor_floats(c, w->node->inputs[1]->constant, scratch);

    (void)first;
    (void)count;
    for (int64_t i = 0; i < w->columns; i++)
        entries[4 * i] = regions[5 * i];
}

/* pooled_region() in text, of corners that are computed. */
static void compute_pooled(struct kernel *k, const struct node *n, const int64_t *size,
                           const char *const *corners, const char **starts)
{
    const char *scale = kernel_number(k, (double)node_float(n, "spatial_scale", 1));

    for (int a = 0; a < 2; a++) {
        const char *ends[2], *most = kernel_number(k, pooled_most(size[a]));

        for (int e = 0; e < 2; e++) {
            const char *at =
                kernel_local(k, "corner", kernel_text(k, "%s * %s", corners[2 * e + 1 - a], scale));

            ends[e] = kernel_local(
                k, "edge",
                kernel_text(k, "%s < 0f ? Mathf.Ceil(%s - 0.5f) : Mathf.Floor(%s + 0.5f)", at, at,
                            at));
        }
        starts[a] = kernel_local(k, "start",
                                 kernel_text(k, "Mathf.Clamp(%s, -%s, %s)", ends[0], most, most));
        starts[2 + a] = kernel_local(
            k, "length",
            kernel_text(k, "Mathf.Clamp(%s - %s + 1f, 1f, %s)", ends[1], ends[0], most));
    }
}

/* Rows or columns of the largest window that any constant region has, in any style. */
static int64_t most_pooled(struct kernel *k, const struct node *n, const int64_t *size, int a)
{
    struct value *regions = n->inputs[1];
    int64_t most = 1, all = n->inputs[0]->shape.dim[2 + a];
    struct arena *scratch;
    int style = k->context->style;

    if (!regions->constant)
        return all;
    scratch = arena_child(k->arena);
    for (int s = 0; s < (regions->constant->varies ? k->context->styles : 1); s++) {
        k->context->style = regions->constant->varies ? s : style;
        const float *list = tensor_floats(k->context, regions->constant, scratch);
        for (int64_t i = 0; i < regions->shape.dim[0]; i++) {
            double start[2], length[2];

            pooled_region(n, list + 5 * i, start, length);
            /* Between two whole rows lie as many as are begun, and one more at most. */
            most = (int64_t)fmax((double)most, ceil(length[a] / (double)size[a]) + 1);
        }
    }
    k->context->style = style;
    arena_free(scratch);
    return most < all ? most : all;
}

/* The item of region `number`: there is one, a constant says it, or it is computed. */
static const struct index *pooled_item(struct kernel *k, const struct node *n,
                                       const struct index *number)
{
    struct value *regions = n->inputs[1];
    int64_t items = n->inputs[0]->shape.dim[0];
    const char *texts[4], *name;

    if (items == 1)
        return kernel_constant(k, 0);
    if (regions->constant) {
        struct weights *w =
            kernel_weights(k, 1, regions->shape.dim[0], fill_items, "items of regions");

        kernel_entry(k, w, kernel_constant(k, 0), number, "item", texts);
    } else {
        const struct index *at[] = {number, kernel_constant(k, 0)};
        struct lanes e = lanes_along(k, at, 2, 1, 1);

        kernel_read(k, regions, &e, -1, texts);
    }
    name = kernel_name(k, "item");
    kernel_line(k, "int %s = (int)Mathf.Clamp(%s, 0f, %s);", name, texts[0],
                kernel_number(k, (double)(items - 1)));
    return index_variable(k->pool, name, 0, items - 1);
}

void lower_max_roi_pool(struct kernel *k, const struct node *n)
{
    struct value *x = n->inputs[0], *regions = n->inputs[1];
    int count, lanes = k->out.count;
    const int64_t *size = node_ints(n, "pooled_shape", &count);
    const struct index *number = k->out.at[0][0], *at[MAX_AXES];
    const char *sums[4], *starts[4], *low[2], *high[2], *texts[4];
    int64_t most[2];
    struct lanes e;

    lower_sums(k, lanes, sums, "-3.4e38f");
    if (regions->constant) {
        struct weights *w = kernel_weights(k, 1, regions->shape.dim[0], fill_pooled,
                                           "first rows and columns of regions, and how many");

        w->exact = true;
        kernel_entry(k, w, kernel_constant(k, 0), number, "region", starts);
    } else {
        const struct index *corner[] = {number, kernel_constant(k, 1)};
        const char *corners[4];

        e = lanes_along(k, corner, 2, 1, 4);
        kernel_read(k, regions, &e, -1, corners);
        compute_pooled(k, n, size, corners, starts);
    }
    at[0] = pooled_item(k, n, number);
    at[1] = k->out.at[0][1];
    for (int a = 0; a < 2; a++) {
        const char *rows = kernel_name(k, "rows"),
                   *last = kernel_number(k, (double)x->shape.dim[2 + a]);
        struct strbuf place, next;

        /* In whole numbers: a quotient that is rounded could take one row too many. */
        strbuf_init(&place, k->arena);
        strbuf_init(&next, k->arena);
        index_print(&place, k->out.at[0][2 + a], true);
        index_print(&next, index_plus(k->pool, k->out.at[0][2 + a], 1), true);
        kernel_line(k, "int %s = (int)%s;", rows, starts[2 + a]);
        low[a] = kernel_name(k, "low");
        high[a] = kernel_name(k, "high");
        kernel_line(k, "int %s = (int)Mathf.Clamp(%s + (float)(%s * %s / %" PRId64 "), 0f, %s);",
                    low[a], starts[a], place.text, rows, size[a], last);
        kernel_line(k,
                    "int %s = (int)Mathf.Clamp(%s + (float)((%s * %s + %" PRId64 ") / %" PRId64
                    "), 0f, %s);",
                    high[a], starts[a], next.text, rows, size[a] - 1, size[a], last);
        most[a] = most_pooled(k, n, size, a);
    }
    for (int a = 0; a < 2; a++) {
        const struct index *tap = kernel_loop(k, "tap", most[a]);
        const char *name = kernel_name(k, "i");
        struct strbuf text;

        strbuf_init(&text, k->arena);
        index_print(&text, tap, true);
        kernel_line(k, "int %s = %s + %s;", name, low[a], text.text);
        kernel_open(k, "if (%s < %s)", name, high[a]);
        at[2 + a] = index_variable(k->pool, name, 0, x->shape.dim[2 + a] - 1);
    }
    e = lanes_along(k, at, 4, lane_axis(k, 4), lanes);
    kernel_read(k, x, &e, -1, texts);
    for (int j = 0; j < lanes; j++)
        kernel_line(k, "%s = Mathf.Max(%s, %s);", sums[j], sums[j], texts[j]);
    for (int a = 2; a-- > 0;) {
        kernel_close(k);
        kernel_end_loop(k, most[a]);
    }
    for (int j = 0; j < 4; j++)
        k->lane[j] = j < lanes ? kernel_local(k, "v",
                                              kernel_text(k, "%s < %s && %s < %s ? %s : 0f", low[0],
                                                          high[0], low[1], high[1], sums[j]))
                               : "0f";
}
