/* Resize, and Upsample as it was before. */
#include "daemon/compiler/operators/resize.h"
#include "daemon/compiler/operators/arguments.h"
#include "daemon/compiler/operators/lower.h"
#include "daemon/compiler/operators/move.h"
#include "daemon/compiler/operators/range.h"
#include <inttypes.h>
#include <math.h>
#include <string.h>

static int word(const char *const *words, int count, const char *text)
{
    for (int i = 0; i < count; i++)
        if (strcmp(words[i], text) == 0)
            return i;
    return -1;
}

static bool resize_attributes(const struct node *n, struct resize *r, const char **why)
{
    static const char *const modes[] = {"nearest", "linear", "cubic"};
    static const char *const transforms[] = {
        "half_pixel",    "half_pixel_symmetric", "pytorch_half_pixel", "tf_half_pixel_for_nn",
        "align_corners", "asymmetric",           "tf_crop_and_resize"};
    static const char *const nearest[] = {"round_prefer_floor", "round_prefer_ceil", "floor",
                                          "ceil", "simple"};
    int mode = word(modes, 3, node_string(n, "mode", "nearest"));
    int transform =
        word(transforms, 7, node_string(n, "coordinate_transformation_mode", "half_pixel"));
    int near = word(nearest, 5, node_string(n, "nearest_mode", "round_prefer_floor"));

    *why = mode < 0        ? "mode is none of nearest, linear, cubic"
           : transform < 0 ? "coordinate_transformation_mode is not one that is defined"
           : near < 0      ? "nearest_mode is not one that is defined"
                           : NULL;
    if (*why)
        return false;
    *r = (struct resize){.mode = (enum resize_mode)mode,
                         .transform = (enum resize_transform)transform,
                         .nearest = (enum resize_nearest)near,
                         .exclude_outside = node_int(n, "exclude_outside", 0) != 0,
                         .antialias = node_int(n, "antialias", 0) != 0,
                         .cubic_a = (double)node_float(n, "cubic_coeff_a", -0.75f),
                         .extrapolation = (double)node_float(n, "extrapolation_value", 0)};
    return true;
}

/* The axes that roi, scales and sizes speak of; false where the attribute is wrong. */
static bool resize_axes(const struct node *n, const struct shape *input, int axes[MAX_AXES],
                        int *count)
{
    bool seen[MAX_AXES] = {false};
    const int64_t *list = node_ints(n, "axes", count);
    if (!list) {
        *count = input->axes;
        for (int a = 0; a < input->axes; a++)
            axes[a] = a;
        return true;
    }
    if (*count > input->axes)
        return false;
    for (int i = 0; i < *count; i++) {
        axes[i] = shape_axis(input, list[i]);
        if (axes[i] < 0 || seen[axes[i]])
            return false;
        seen[axes[i]] = true;
    }
    return true;
}

/* keep_aspect_ratio_policy: one scale for all the axes. */
static void keep_ratio(struct resize *r, const int *axes, int count, bool larger)
{
    double scale = 0;
    for (int i = 0; i < count; i++) {
        double s = (double)r->axis[axes[i]].to / (double)r->axis[axes[i]].from;
        scale = i == 0 || (larger ? s > scale : s < scale) ? s : scale;
    }
    for (int i = 0; i < count; i++) {
        struct resize_axis *a = &r->axis[axes[i]];
        /* to nearest, halves up; a hair above, for the ratio of two integers is rounded itself */
        a->scale = scale;
        a->to = (int64_t)floor(scale * (double)a->from + 0.5 + 1e-9);
        a->by_size = false;
    }
}

bool resize_read(const struct node *n, const struct shape *input, struct resize *r,
                 const char **why)
{
    int scale_count, size_count, roi_count, axes[MAX_AXES], count;
    const float *scales = node_constant_floats(n, 2, &scale_count);
    const int64_t *sizes = node_constant_ints(n, 3, &size_count);
    const float *roi = node_constant_floats(n, 1, &roi_count);
    const char *policy = node_string(n, "keep_aspect_ratio_policy", "stretch");

    if (!resize_attributes(n, r, why))
        return false;
    if ((!scales && node_input(n, 2)) || (!sizes && node_input(n, 3)))
        return false;
    bool by_scales = scales && scale_count > 0, by_sizes = sizes && size_count > 0;
    bool stretch = strcmp(policy, "stretch") == 0, larger = strcmp(policy, "not_smaller") == 0;
    *why = by_scales == by_sizes ? "not exactly one of scales and sizes is given"
           : !stretch && !larger && strcmp(policy, "not_larger") != 0
               ? "keep_aspect_ratio_policy is not one that is defined"
           : !resize_axes(n, input, axes, &count) ? "axes do not lie within the input, or repeat"
           : (by_scales ? scale_count : size_count) != count
               ? "scales or sizes do not have a number for each axis"
               : NULL;
    if (*why)
        return false;

    r->axes = input->axes;
    for (int a = 0; a < r->axes; a++)
        r->axis[a] = (struct resize_axis){
            .by_size = by_sizes, .from = input->dim[a], .to = input->dim[a], .scale = 1, .end = 1};
    for (int i = 0; i < count; i++) {
        struct resize_axis *a = &r->axis[axes[i]];
        if (by_scales) {
            /* in float32, as every implementation does: 0.7f * 10 is 7 */
            float length = scales[i] * (float)a->from;
            if (!(scales[i] > 0) || !(length < 0x1p31f)) {
                *why = "scales have to be above 0, and the output countable";
                return false;
            }
            a->scale = (double)scales[i];
            a->to = (int64_t)length;
        } else {
            if (sizes[i] < 0 || sizes[i] > INT64_C(1) << 31 || (sizes[i] > 0 && a->from == 0)) {
                *why = "sizes are negative, too large, or more than an empty axis has";
                return false;
            }
            a->to = sizes[i];
            a->scale = a->from > 0 ? (double)a->to / (double)a->from : 1;
        }
    }
    if (by_sizes && !stretch)
        keep_ratio(r, axes, count, larger);
    if (r->transform == RESIZE_CROP) {
        if (!roi && node_input(n, 1))
            return false;
        if (!roi || roi_count != 2 * count) {
            *why = "roi does not have a start and an end for each axis";
            return false;
        }
        for (int i = 0; i < count; i++) {
            r->axis[axes[i]].start = (double)roi[i];
            r->axis[axes[i]].end = (double)roi[count + i];
        }
    }
    for (int a = 0; a < r->axes; a++) {
        struct resize_axis *x = &r->axis[a];
        x->resized = x->to != x->from || x->scale != 1 || x->start != 0 || x->end != 1;
    }
    return true;
}

/* x / scale; where the scale is the ratio of two integers without a rounding in between. */
static double unscaled(const struct resize_axis *a, double x)
{
    return a->by_size ? x * (double)a->from / (double)a->to : x / a->scale;
}

double resize_source(const struct resize *r, int axis, int64_t i)
{
    const struct resize_axis *a = &r->axis[axis];
    /* The length that the scale asks for, of which `to` is the whole part: the definition's own
     * test cases want it for align_corners (2.4 of [1, 2.4]); where its text says "length_resized
     * > 1" the output's length decides. */
    double length = a->by_size ? (double)a->to : a->scale * (double)a->from;
    double x = (double)i, last = (double)(a->from - 1);

    if (!a->resized)
        return x;
    switch (r->transform) {
    case RESIZE_HALF_PIXEL:
        return unscaled(a, x + 0.5) - 0.5;
    case RESIZE_HALF_PIXEL_SYMMETRIC: {
        double center = (double)a->from / 2, adjustment = (double)a->to / length;
        return center * (1 - adjustment) + unscaled(a, x + 0.5) - 0.5;
    }
    case RESIZE_PYTORCH_HALF_PIXEL:
        return a->to > 1 ? unscaled(a, x + 0.5) - 0.5 : 0;
    case RESIZE_TF_HALF_PIXEL_FOR_NN:
        return unscaled(a, x + 0.5);
    case RESIZE_ALIGN_CORNERS:
        return length == 1 ? 0 : x * last / (length - 1);
    case RESIZE_CROP:
        if (a->to <= 1)
            return 0.5 * (a->start + a->end) * last;
        /* in float32, as below: 0.1f * 5 is 0.5, a tie */
        return (double)((float)a->start * (float)last +
                        (float)x * (float)(a->end - a->start) * (float)last / (float)(a->to - 1));
    default:
        return unscaled(a, x);
    }
}

bool resize_outside(const struct resize *r, int axis, int64_t i)
{
    if (r->transform != RESIZE_CROP || !r->axis[axis].resized)
        return false;
    double x = resize_source(r, axis, i);
    return x < 0 || x > (double)(r->axis[axis].from - 1);
}

int64_t resize_nearest_index(const struct resize *r, int axis, int64_t i)
{
    const struct resize_axis *a = &r->axis[axis];
    double x = resize_source(r, axis, i), at;

    if (!a->resized)
        return i;
    /* A float32 scale stands for a ratio such as 1/3, which only float32 arithmetic gives back. */
    if (!a->by_size && (r->transform == RESIZE_ASYMMETRIC || r->transform == RESIZE_HALF_PIXEL ||
                        (r->transform == RESIZE_PYTORCH_HALF_PIXEL && a->to > 1)))
        x = r->transform == RESIZE_ASYMMETRIC
                ? (double)((float)i / (float)a->scale)
                : (double)(((float)i + 0.5f) / (float)a->scale - 0.5f);
    switch (r->nearest) {
    case RESIZE_PREFER_FLOOR:
        at = ceil(x - 0.5);
        break;
    case RESIZE_PREFER_CEIL:
        at = floor(x + 0.5);
        break;
    case RESIZE_CEIL:
        at = ceil(x);
        break;
    case RESIZE_SIMPLE:
        at = a->scale < 1 ? ceil(x) : floor(x);
        break;
    default:
        at = floor(x);
    }
    return at < 0 ? 0 : at > (double)(a->from - 1) ? a->from - 1 : (int64_t)at;
}

/* Half the width of the filter, in input elements: it is stretched where antialias shrinks an axis.
 */
static double stretch_of(const struct resize *r, int axis)
{
    return r->antialias && r->axis[axis].scale < 1 ? r->axis[axis].scale : 1;
}

static int64_t first_tap(const struct resize *r, int axis)
{
    double radius = r->mode == RESIZE_CUBIC ? 2 : 1;
    return (int64_t)floor(-radius / stretch_of(r, axis)) + 1;
}

int resize_taps_most(const struct resize *r, int axis)
{
    if (!r->axis[axis].resized || r->mode == RESIZE_NEAREST)
        return 1;
    return (int)(2 - 2 * first_tap(r, axis));
}

/* The filter at distance d: a tent, or Keys's cubic (equation 4 of ieeexplore 1163711). */
static double filter(const struct resize *r, double d)
{
    double a = r->cubic_a;
    d = fabs(d);
    if (r->mode == RESIZE_LINEAR)
        return d < 1 ? 1 - d : 0;
    return d <= 1  ? ((a + 2) * d - (a + 3)) * d * d + 1
           : d < 2 ? ((a * d - 5 * a) * d + 8 * a) * d - 4 * a
                   : 0;
}

int resize_taps(const struct resize *r, int axis, int64_t i, int64_t *first, double *weights)
{
    const struct resize_axis *a = &r->axis[axis];
    int count = resize_taps_most(r, axis);
    double sum = 0;

    if (!a->resized || r->mode == RESIZE_NEAREST) {
        *first = resize_nearest_index(r, axis, i);
        weights[0] = 1;
        return 1;
    }
    double x = resize_source(r, axis, i), low = floor(x), stretch = stretch_of(r, axis);
    int64_t start = first_tap(r, axis);
    *first = (int64_t)low + start;
    for (int k = 0; k < count; k++)
        sum += weights[k] = filter(r, ((double)(start + k) - (x - low)) * stretch);
    for (int k = 0; k < count; k++)
        weights[k] /= sum;
    if (r->exclude_outside) {
        sum = 0;
        for (int k = 0; k < count; k++) {
            if (*first + k < 0 || *first + k >= a->from)
                weights[k] = 0;
            sum += weights[k];
        }
        for (int k = 0; sum != 0 && k < count; k++)
            weights[k] /= sum;
    }
    return count;
}

/* ---- the operator ---- */

static void resize_upgrade(struct graph *g, struct node *n)
{
    bool upsample = strcmp(n->op_type, "Upsample") == 0;
    if (!upsample && n->opset > 10)
        return;
    struct value *scales = node_input(n, 1);
    const struct attribute *a = node_find(n, "scales");
    if (upsample && a && a->type == ATTRIBUTE_FLOATS) {
        struct shape shape = shape_of(1, (const int64_t[]){a->count});
        scales = graph_constant_floats(g, "scales", &shape, a->floats);
        node_unset(n, "scales");
    }
    node_pad_inputs(n, 3);
    node_set_input(n, 2, scales);
    node_set_input(n, 1, NULL);
    node_set_string(n, "coordinate_transformation_mode", "asymmetric");
    node_set_string(n, "nearest_mode", "simple");
    if (strcmp(node_string(n, "mode", "nearest"), "bilinear") == 0)
        node_set_string(n, "mode", "linear");
    if (upsample)
        argument_rename(g, n, "Resize");
}

/* The rounding of old opsets depends on the scales; once they are known it has a name that newer
 * ones know. */
static void name_simple(struct node *n, const struct resize *r)
{
    bool grows = false, shrinks = false;
    for (int a = 0; a < r->axes; a++) {
        grows = grows || r->axis[a].scale > 1;
        shrinks = shrinks || r->axis[a].scale < 1;
    }
    if (!grows || !shrinks)
        node_set_string(n, "nearest_mode", shrinks ? "ceil" : "floor");
}

static void resize_infer(struct node *n)
{
    const struct shape *in = &n->inputs[0]->shape;
    struct resize r = {.axes = 0};
    const char *why = NULL;
    struct shape out = shape_unknown;

    if (shape_known(in)) {
        if (resize_read(n, in, &r, &why)) {
            out.axes = in->axes;
            for (int a = 0; a < in->axes; a++)
                out.dim[a] = r.axis[a].to;
            if (r.nearest == RESIZE_SIMPLE)
                name_simple(n, &r);
        }
        /* Only Upsample is that old. */
        for (int a = 0; !why && n->opset < 10 && a < r.axes; a++)
            if (r.axis[a].scale < 1) {
                infer_advise(n, "Export it as Resize, with opset 10 or later",
                             "its scale of axis %d is %g; Upsample takes 1 and more", a,
                             r.axis[a].scale);
                return;
            }
        if (why) {
            infer_fault(n, "%s", why);
            return;
        }
        if (!argument_fits(n, &out))
            return;
    } else if (in->axes >= 0) {
        out = *in;
        for (int a = 0; a < in->axes; a++)
            out.dim[a] = -1;
    }
    infer_output(n, 0, n->inputs[0]->type, &out);
}

static bool resize_moves(struct context *c, const struct resize *r, const struct tensor *in,
                         struct elements *to, const struct shape *shape, struct arena *scratch)
{
    struct elements from, fill = {.type = in->type};
    struct move m = {0};
    int64_t strides[MAX_AXES], to_strides[MAX_AXES];
    _Alignas(16) uint8_t one[16] = {0};

    if (!elements_read(c, in, scratch, &from))
        return false;
    fill.bytes = one;
    if (r->extrapolation != 0)
        elements_set(&fill, 0, r->extrapolation);
    m.fill = one;
    move_strides(&in->shape, strides);
    move_strides(shape, to_strides);
    for (int a = 0; a < r->axes; a++) {
        int64_t *table = NEW_ARRAY(scratch, shape->dim[a], int64_t);
        for (int64_t i = 0; i < shape->dim[a]; i++)
            table[i] = resize_outside(r, a, i) ? -1 : resize_nearest_index(r, a, i) * strides[a];
        move_axis_table(&m, shape->dim[a], to_strides[a], table);
    }
    move_elements(c, &m, to, &from);
    return true;
}

/* One axis after the other, in float64. */
static double *resize_axis(struct context *c, const struct resize *r, int axis, const double *in,
                           struct shape *shape, struct arena *scratch)
{
    const struct resize_axis *a = &r->axis[axis];
    int64_t inner = shape_product(shape, axis + 1, shape->axes),
            outer = shape_product(shape, 0, axis);
    double *weights = NEW_ARRAY(scratch, resize_taps_most(r, axis), double);
    shape->dim[axis] = a->to;
    double *out = NEW_ARRAY(scratch, shape_count(shape), double);

    for (int64_t i = 0; i < a->to; i++) {
        int64_t first;
        int count = resize_taps(r, axis, i, &first, weights);
        bool outside = resize_outside(r, axis, i);
        context_poll(c);
        for (int64_t o = 0; o < outer; o++) {
            double *cell = out + (o * a->to + i) * inner;
            for (int64_t j = 0; outside && j < inner; j++)
                cell[j] = r->extrapolation;
            for (int k = 0; !outside && k < count; k++) {
                int64_t at = first + k < 0 ? 0 : first + k >= a->from ? a->from - 1 : first + k;
                const double *source = in + (o * a->from + at) * inner;
                for (int64_t j = 0; weights[k] != 0 && j < inner; j++)
                    cell[j] += weights[k] * source[j];
            }
        }
    }
    return out;
}

static bool resize_evaluate(struct node *n, struct tensor *const *in, struct tensor **out,
                            struct arena *arena, struct arena *scratch)
{
    struct context *c = n->graph->context;
    struct shape shape = in[0]->shape;
    struct resize r;
    const char *why;
    struct elements to;

    if (!resize_read(n, &in[0]->shape, &r, &why))
        return false;
    for (int a = 0; a < r.axes; a++)
        shape.dim[a] = r.axis[a].to;
    if (!elements_new(arena, scratch, in[0]->type, &shape, &to))
        return false;
    if (r.mode == RESIZE_NEAREST) {
        if (to.count > 0 && !resize_moves(c, &r, in[0], &to, &shape, scratch))
            return false;
    } else if (to.count > 0) {
        const double *x = tensor_doubles(c, in[0], scratch);
        struct shape now = in[0]->shape;
        for (int a = 0; a < r.axes; a++)
            if (r.axis[a].resized)
                x = resize_axis(c, &r, a, x, &now, scratch);
        for (int64_t i = 0; i < to.count; i++)
            elements_set(&to, i, type_is_integer(to.type) ? trunc(x[i]) : x[i]);
    }
    out[0] = elements_finish(&to);
    return true;
}

/* The greatest sum of the magnitudes of an output element's weights along an axis. */
static double weight_sum(const struct resize *r, int axis, struct arena *scratch)
{
    double *weights = NEW_ARRAY(scratch, resize_taps_most(r, axis) + 1, double), most = 1;

    for (int64_t i = 0; i < r->axis[axis].to; i++) {
        int64_t first;
        int count = resize_taps(r, axis, i, &first, weights);
        double sum = 0;

        for (int t = 0; t < count; t++)
            sum += fabs(weights[t]);
        most = fmax(most, sum);
    }
    return most;
}

/* Weights add up to 1; those of one sign give nothing outside of what they weigh. */
void range_resize(const struct node *n, int output, const struct range *in, struct range *out)
{
    struct arena *scratch;
    struct resize r;
    const char *why;
    double factor = 1;

    (void)output;
    *out = range_unbounded();
    if (!resize_read(n, &n->inputs[0]->shape, &r, &why))
        return;
    scratch = arena_child(&n->graph->context->arena);
    for (int a = 0; r.mode == RESIZE_CUBIC && a < r.axes; a++)
        if (r.axis[a].resized)
            factor *= weight_sum(&r, a, scratch);
    arena_free(scratch);
    *out = factor > 1 + 1e-9 ? range_multiply(in[0], range_make(-factor, factor)) : in[0];
    if (r.transform == RESIZE_CROP)
        *out = range_hull(*out, range_make(r.extrapolation, r.extrapolation));
    out->usual = in[0].usual;
}

const struct operator_functions resize_functions = {.role = ROLE_STEP,
                                                    .range = range_resize,
                                                    .lower = lower_resample,
                                                    .packed = packed_resample,
                                                    .reuse = reuse_resample,
                                                    .upgrade = resize_upgrade,
                                                    .infer = resize_infer,
                                                    .evaluate = resize_evaluate};
/* its name in opsets 7 to 9 */
const struct operator_functions upsample_functions = {.role = ROLE_STEP,
                                                      .upgrade = resize_upgrade,
                                                      .infer = resize_infer,
                                                      .evaluate = resize_evaluate};
