/* Pooling over regions that an input lists: RoiAlign, MaxRoiPool. */
#include "daemon/compiler/operators/regions.h"
#include "daemon/compiler/operators/arguments.h"
#include "daemon/compiler/operators/lower.h"
#include "daemon/compiler/operators/move.h"
#include "daemon/compiler/operators/range.h"
#include <inttypes.h>
#include <math.h>
#include <string.h>

/* Between the elements around, and 0 outside. */
static void roi_range(const struct node *n, int output, const struct range *in, struct range *out)
{
    (void)n;
    (void)output;
    *out = range_hull(in[0], range_make(0, 0));
}

/* ---- RoiAlign ---- */

/* Opset 10 knew only the form without the shift by half a pixel. */
static void roi_upgrade(struct graph *g, struct node *n)
{
    (void)g;
    if (n->opset < 16)
        node_set_string(n, "coordinate_transformation_mode", "output_half_pixel");
}

static void roi_infer(struct node *n)
{
    const struct shape *x = &n->inputs[0]->shape, *rois = &n->inputs[1]->shape;
    const struct shape *indices = &n->inputs[2]->shape;
    int64_t height = node_int(n, "output_height", 1), width = node_int(n, "output_width", 1);
    int64_t ratio = node_int(n, "sampling_ratio", 0);
    struct shape out = shape_of(4, (const int64_t[]){-1, -1, height, width});

    if (height < 1 || width < 1 || ratio < 0 || ratio > 1 << 16) {
        infer_fault(n, "output_height, output_width or sampling_ratio is out of range");
        return;
    }
    if ((x->axes >= 0 && x->axes != 4) || (rois->axes >= 0 && rois->axes != 2) ||
        (indices->axes >= 0 && indices->axes != 1) ||
        (rois->axes == 2 && rois->dim[1] >= 0 && rois->dim[1] != 4)) {
        infer_fault(n,
                    "the input is not [N, C, H, W], or the regions are not [count, 4] and [count]");
        return;
    }
    if (x->axes == 4 && x->dim[0] >= 0 && !(indices->axes == 1 && indices->dim[0] == 0)) {
        int count;
        const int64_t *list = node_constant_ints(n, 2, &count);
        for (int i = 0; list && i < count; i++) {
            if (list[i] < 0 || list[i] >= x->dim[0]) {
                infer_fault(n, "batch index %" PRId64 " lies outside the batch", list[i]);
                return;
            }
        }
    }
    if (rois->axes == 2)
        out.dim[0] = rois->dim[0];
    else if (indices->axes == 1)
        out.dim[0] = indices->dim[0];
    if (x->axes == 4)
        out.dim[1] = x->dim[1];
    if (argument_fits(n, &out))
        infer_output(n, 0, n->inputs[0]->type, &out);
}

/* The two elements that a position along an axis lies between, and the weight of the upper one.
 * false: outside. */
static bool between(double at, int64_t length, int64_t *low, int64_t *high, double *weight)
{
    if (!(at >= -1 && at <= (double)length))
        return false;
    at = at > 0 ? at : 0;
    *low = (int64_t)at;
    *high = *low + 1;
    if (*low >= length - 1) {
        *low = *high = length - 1;
        at = (double)*low;
    }
    *weight = at - (double)*low;
    return true;
}

/* Samples of a bin at start along an axis, `apart` from each other: of those that there are, only
 * *first to *last - 1 may lie within the input, however large the region. */
static void within(double start, double apart, double samples, int64_t length, int64_t *first,
                   int64_t *last)
{
    double from = ceil((-1 - start) / apart - 0.5) - 1, to = (double)length + 1;

    to = ceil((to - start) / apart - 0.5) + 1;
    from = from > 0 ? from < samples ? from : samples : 0;
    to = to > from ? to < samples ? to : samples : from;
    *first = (int64_t)from;
    *last = (int64_t)to;
}

static bool roi_evaluate(struct node *n, struct tensor *const *in, struct tensor **out,
                         struct arena *arena, struct arena *scratch)
{
    struct context *c = n->graph->context;
    const struct shape *s = &in[0]->shape;
    const double *x = tensor_doubles(c, in[0], scratch), *rois = tensor_doubles(c, in[1], scratch);
    const int64_t *batch = tensor_integers(c, in[2], scratch);
    double scale = (double)node_float(n, "spatial_scale", 1);
    int64_t ratio = node_int(n, "sampling_ratio", 0), channels = s->dim[1];
    bool half =
        strcmp(node_string(n, "coordinate_transformation_mode", "half_pixel"), "half_pixel") == 0;
    bool average = strcmp(node_string(n, "mode", "avg"), "avg") == 0;
    struct shape shape = shape_of(4, (const int64_t[]){in[1]->shape.dim[0], channels,
                                                       node_int(n, "output_height", 1),
                                                       node_int(n, "output_width", 1)});
    struct elements to;

    if (in[2]->count != shape.dim[0] || !elements_new(arena, scratch, in[0]->type, &shape, &to))
        return false;
    for (int64_t r = 0; r < shape.dim[0]; r++) {
        double start[2], bin[2], grid[2];
        if (batch[r] < 0 || batch[r] >= s->dim[0])
            return false;
        for (int a = 0; a < 2; a++) { /* rows, then columns */
            double from = rois[4 * r + 1 - a] * scale - (half ? 0.5 : 0);
            double extent = rois[4 * r + 3 - a] * scale - (half ? 0.5 : 0) - from;
            if (!half && extent < 1)
                extent = 1;
            start[a] = from;
            bin[a] = extent / (double)shape.dim[2 + a];
            grid[a] = ratio > 0 ? (double)ratio : bin[a] > 0 ? ceil(bin[a]) : 0;
            if (!isfinite(from + extent))
                grid[a] = 0;
        }
        for (int64_t i = 0; i < channels * shape.dim[2] * shape.dim[3]; i++) {
            int64_t column = i % shape.dim[3], row = i / shape.dim[3] % shape.dim[2];
            const double *plane =
                x + (batch[r] * channels + i / shape.dim[3] / shape.dim[2]) * s->dim[2] * s->dim[3];
            double sum = 0, most = -INFINITY, count = grid[0] * grid[1];
            double top = start[0] + bin[0] * (double)row, left = start[1] + bin[1] * (double)column;
            int64_t first[2] = {0}, last[2] = {ratio, ratio};
            if (ratio <= 0 && count > 0) {
                within(top, bin[0] / grid[0], grid[0], s->dim[2], &first[0], &last[0]);
                within(left, bin[1] / grid[1], grid[1], s->dim[3], &first[1], &last[1]);
            }
            context_poll(c);
            for (int64_t k = first[0]; k < last[0]; k++) {
                for (int64_t l = first[1]; l < last[1]; l++) {
                    int64_t y0, y1, x0, x1;
                    double v = 0, wy, wx, corner[4] = {0};
                    double y = top + bin[0] * ((double)k + 0.5) / grid[0];
                    double z = left + bin[1] * ((double)l + 0.5) / grid[1];
                    if (between(y, s->dim[2], &y0, &y1, &wy) &&
                        between(z, s->dim[3], &x0, &x1, &wx)) {
                        corner[0] = (1 - wy) * (1 - wx) * plane[y0 * s->dim[3] + x0];
                        corner[1] = (1 - wy) * wx * plane[y0 * s->dim[3] + x1];
                        corner[2] = wy * (1 - wx) * plane[y1 * s->dim[3] + x0];
                        corner[3] = wy * wx * plane[y1 * s->dim[3] + x1];
                    }
                    for (int j = 0; j < 4; j++) {
                        /* the maximum is over the weighted corners, not over their sums: so it is
                         * in use */
                        v += corner[j];
                        most = corner[j] > most ? corner[j] : most;
                    }
                    sum += v;
                }
            }
            /* What was not looked at lies outside, where there is 0. */
            if ((double)(last[0] - first[0]) * (double)(last[1] - first[1]) < count)
                most = most > 0 ? most : 0;
            elements_set(&to, r * channels * shape.dim[2] * shape.dim[3] + i,
                         count > 0 ? average ? sum / count : most : 0);
        }
    }
    out[0] = elements_finish(&to);
    return true;
}

const struct operator_functions roi_align_functions = {.role = ROLE_STEP,
                                                       .range = roi_range,
                                                       .lower = lower_roi_align,
                                                       .packed = packed_channels,
                                                       .upgrade = roi_upgrade,
                                                       .infer = roi_infer,
                                                       .evaluate = roi_evaluate};

/* ---- MaxRoiPool ---- */

static void pool_regions_infer(struct node *n)
{
    const struct shape *x = &n->inputs[0]->shape, *rois = &n->inputs[1]->shape;
    int count;
    const int64_t *size = node_ints(n, "pooled_shape", &count);
    struct shape out = shape_unknown;

    if (count != 2 || size[0] < 1 || size[1] < 1 || size[0] > LARGEST_POOLED ||
        size[1] > LARGEST_POOLED) {
        infer_fault(n, "pooled_shape does not hold a height and a width");
        return;
    }
    if ((x->axes >= 0 && x->axes != 4) || (rois->axes >= 0 && rois->axes != 2) ||
        (rois->axes == 2 && rois->dim[1] >= 0 && rois->dim[1] != 5)) {
        infer_fault(n, "the input is not [N, C, H, W], or the regions are not [count, 5]");
        return;
    }
    if (x->axes == 4 && rois->axes == 2)
        out = shape_of(4, (const int64_t[]){rois->dim[0], x->dim[1], size[0], size[1]});
    if (n->inputs[1]->constant && !n->inputs[1]->constant->varies && x->axes == 4 &&
        x->dim[0] >= 0) {
        const float *list = node_constant_floats(n, 1, &count);
        for (int i = 0; list && i < count; i += 5) {
            if (!(list[i] >= 0 && list[i] < (float)x->dim[0])) {
                infer_fault(n, "batch index %g lies outside the batch", (double)list[i]);
                return;
            }
        }
    }
    if (argument_fits(n, &out))
        infer_output(n, 0, n->inputs[0]->type, &out);
}

void pooled_region(const struct node *n, const float *region, double start[2], double length[2])
{
    float scale = node_float(n, "spatial_scale", 1);
    int count;
    const int64_t *size = node_ints(n, "pooled_shape", &count);

    for (int a = 0; a < 2; a++) { /* rows, then columns */
        double from = round((double)(region[2 - a] * scale)),
               to = round((double)(region[4 - a] * scale)), most = pooled_most(size[a]);

        length[a] = fmin(fmax(to - from + 1, 1), most);
        start[a] = fmin(fmax(from, -most), most);
    }
}

/* onnx/docs/Operators.md leaves the windows open; these are ONNX Runtime's (and Caffe's). */
static bool pool_regions_evaluate(struct node *n, struct tensor *const *in, struct tensor **out,
                                  struct arena *arena, struct arena *scratch)
{
    struct context *c = n->graph->context;
    const struct shape *s = &in[0]->shape;
    const double *x = tensor_doubles(c, in[0], scratch);
    const float *regions = tensor_floats(c, in[1], scratch);
    int count;
    const int64_t *size = node_ints(n, "pooled_shape", &count);
    struct shape shape =
        shape_of(4, (const int64_t[]){in[1]->shape.dim[0], s->dim[1], size[0], size[1]});
    struct elements to;

    if (!elements_new(arena, scratch, in[0]->type, &shape, &to))
        return false;
    for (int64_t i = 0; i < to.count; i++) {
        int64_t at[2] = {i / size[1] % size[0], i % size[1]}, low[2], high[2];
        int64_t channel = i / size[1] / size[0], r = channel / s->dim[1];
        const float *region = regions + 5 * r;
        double start[2], length[2], most = -INFINITY;
        double item = fmin(fmax((double)region[0], 0), (double)(s->dim[0] - 1));
        const double *plane;

        plane = x + ((int64_t)item * s->dim[1] + channel % s->dim[1]) * s->dim[2] * s->dim[3];
        pooled_region(n, region, start, length);
        for (int a = 0; a < 2; a++) {
            int64_t rows = (int64_t)length[a], from = (int64_t)start[a], last = s->dim[2 + a];

            low[a] = from + at[a] * rows / size[a];
            high[a] = from + ((at[a] + 1) * rows + size[a] - 1) / size[a];
            low[a] = low[a] > 0 ? low[a] : 0;
            high[a] = high[a] < last ? high[a] : last;
        }
        context_poll(c);
        for (int64_t y = low[0]; y < high[0]; y++)
            for (int64_t z = low[1]; z < high[1]; z++)
                most = fmax(most, plane[y * s->dim[3] + z]);
        elements_set(&to, i, low[0] < high[0] && low[1] < high[1] ? most : 0);
    }
    out[0] = elements_finish(&to);
    return true;
}

const struct operator_functions max_roi_pool_functions = {.role = ROLE_STEP,
                                                          .range = roi_range,
                                                          .lower = lower_max_roi_pool,
                                                          .packed = packed_channels,
                                                          .infer = pool_regions_infer,
                                                          .evaluate = pool_regions_evaluate};
