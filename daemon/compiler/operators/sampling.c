/* Reading between elements at computed places: GridSample, AffineGrid. */
#include "daemon/compiler/operators/sampling.h"
#include "daemon/compiler/operators/arguments.h"
#include "daemon/compiler/operators/lower.h"
#include "daemon/compiler/operators/move.h"
#include "daemon/compiler/operators/range.h"
#include <inttypes.h>
#include <math.h>
#include <string.h>

/* ---- GridSample ---- */

bool grid_read(const struct node *n, struct grid *g, const char **why)
{
    const char *mode = node_string(n, "mode", "linear");
    const char *padding = node_string(n, "padding_mode", "zeros");
    *why = NULL;
    *g = (struct grid){.align_corners = node_int(n, "align_corners", 0) != 0};
    if (strcmp(mode, "linear") == 0)
        g->mode = GRID_LINEAR;
    else if (strcmp(mode, "cubic") == 0)
        g->mode = GRID_CUBIC;
    else if (strcmp(mode, "nearest") != 0)
        *why = "mode is none of nearest, linear, cubic";
    if (strcmp(padding, "border") == 0)
        g->padding = GRID_BORDER;
    else if (strcmp(padding, "reflection") == 0)
        g->padding = GRID_REFLECTION;
    else if (strcmp(padding, "zeros") != 0)
        *why = "padding_mode is none of zeros, border, reflection";
    return !*why;
}

/* Mirrored at the borders until it lies between them. */
static double reflected(double x, double low, double high)
{
    double range = high - low;
    if (!(range > 0) || !isfinite(x))
        return low;
    double away = fmod(fabs(x - low), 2 * range);
    return low + (away <= range ? away : 2 * range - away);
}

double grid_position(const struct grid *g, double coordinate, int64_t length)
{
    double l = (double)length;
    double x = g->align_corners ? (coordinate + 1) / 2 * (l - 1) : ((coordinate + 1) * l - 1) / 2;
    double low = g->align_corners ? 0 : -0.5, high = g->align_corners ? l - 1 : l - 0.5;

    x = (double)(float)x;
    if (g->mode == GRID_NEAREST)
        x = rint(x);
    if (x < low || x > high) {
        if (g->padding == GRID_BORDER)
            x = x < 0 ? 0 : l - 1;
        else if (g->padding == GRID_REFLECTION)
            x = reflected(x, low, high);
    }
    return x;
}

int64_t grid_index(const struct grid *g, int64_t position, int64_t length)
{
    if (position >= 0 && position < length)
        return position;
    if (g->padding == GRID_ZEROS)
        return -1;
    if (g->padding == GRID_BORDER)
        return position < 0 ? 0 : length - 1;
    double low = g->align_corners ? 0 : -0.5;
    double high = g->align_corners ? (double)length - 1 : (double)length - 0.5;
    int64_t at = (int64_t)reflected((double)position, low, high);
    return at < 0 ? 0 : at >= length ? length - 1 : at;
}

/* The modes had other names in opset 16. */
static void grid_upgrade(struct graph *g, struct node *n)
{
    (void)g;
    const char *mode = node_string(n, "mode", "linear");
    if (strcmp(mode, "bilinear") == 0)
        node_set_string(n, "mode", "linear");
    else if (strcmp(mode, "bicubic") == 0)
        node_set_string(n, "mode", "cubic");
}

static void grid_infer(struct node *n)
{
    const struct shape *x = &n->inputs[0]->shape, *grid = &n->inputs[1]->shape;
    struct grid g;
    const char *why;
    struct shape out = shape_unknown;

    if (grid_read(n, &g, &why) && x->axes >= 0 && grid->axes >= 0) {
        int64_t last = grid->axes > 0 ? grid->dim[grid->axes - 1] : -1;
        if (x->axes < 3 || grid->axes != x->axes)
            why = "input and grid do not have as many axes, at least 3";
        else if (last >= 0 && last != x->axes - 2)
            why = "the grid's last axis does not hold a coordinate for each spatial axis";
        else if (x->dim[0] >= 0 && grid->dim[0] >= 0 && x->dim[0] != grid->dim[0])
            why = "input and grid differ in their batch";
        out = *grid;
        out.dim[0] = x->dim[0];
        out.dim[1] = x->dim[1];
        for (int a = 2; a < x->axes && !why; a++)
            out.dim[a] = grid->dim[a - 1];
    }
    if (why)
        infer_fault(n, "%s", why);
    else if (argument_fits(n, &out))
        infer_output(n, 0, n->inputs[0]->type, &out);
}

/* The weights of the taps along one axis, the first of which lies at *first. */
static int grid_taps(const struct grid *g, double x, int64_t *first, double weights[4])
{
    double low = floor(x), t = x - low, a = -0.75;
    if (g->mode == GRID_NEAREST) {
        *first = (int64_t)x;
        weights[0] = 1;
        return 1;
    }
    *first = (int64_t)low;
    if (g->mode == GRID_LINEAR) {
        weights[0] = 1 - t;
        weights[1] = t;
        return 2;
    }
    *first -= 1;
    for (int k = 0; k < 4; k++) {
        double d = fabs(t + 1 - k);
        weights[k] = d <= 1 ? ((a + 2) * d - (a + 3)) * d * d + 1
                            : ((a * d - 5 * a) * d + 8 * a) * d - 4 * a;
    }
    return 4;
}

static bool grid_evaluate(struct node *n, struct tensor *const *in, struct tensor **out,
                          struct arena *arena, struct arena *scratch)
{
    struct context *c = n->graph->context;
    const struct shape *s = &in[0]->shape, *gs = &in[1]->shape;
    int axes = s->axes - 2;
    struct grid g;
    const char *why;
    struct elements to;
    struct shape shape = *s;

    if (!grid_read(n, &g, &why) || axes < 1 || gs->axes != s->axes)
        return false;
    for (int a = 2; a < s->axes; a++)
        shape.dim[a] = gs->dim[a - 1];
    if (!elements_new(arena, scratch, in[0]->type, &shape, &to))
        return false;
    const double *x = tensor_doubles(c, in[0], scratch), *grid = tensor_doubles(c, in[1], scratch);
    int64_t plane = shape_product(s, 2, s->axes), points = shape_product(gs, 1, gs->axes - 1);
    int64_t channels = s->dim[1];

    if (plane == 0)
        return to.count == 0 ? (out[0] = elements_finish(&to)) != NULL : false;
    for (int64_t p = 0; p < s->dim[0] * points; p++) {
        int64_t first[MAX_AXES];
        double weights[MAX_AXES][4];
        int taps = 1, each = 0;
        if (p % 1024 == 0)
            context_poll(c);
        for (int a = 0; a < axes; a++) {
            double at = grid_position(&g, grid[p * axes + axes - 1 - a], s->dim[2 + a]);
            /* far outside is as far as it goes: nothing overflows */
            at = at > -1e9 ? at < 1e9 ? at : 1e9 : -1e9;
            each = grid_taps(&g, at, &first[a], weights[a]);
            taps *= each;
        }
        for (int64_t channel = 0; channel < channels; channel++) {
            const double *from = x + (p / points * channels + channel) * plane;
            double sum = 0;
            for (int k = 0; k < taps; k++) {
                int64_t at = 0, rest = k, stride = 1;
                double weight = 1;
                bool outside = false;
                for (int a = axes - 1; a >= 0; a--, rest /= each) {
                    int64_t i = grid_index(&g, first[a] + rest % each, s->dim[2 + a]);
                    weight *= weights[a][rest % each];
                    outside = outside || i < 0;
                    at += i * stride;
                    stride *= s->dim[2 + a];
                }
                if (!outside && weight != 0)
                    sum += weight * from[at];
            }
            elements_set(&to, (p / points * channels + channel) * points + p % points, sum);
        }
    }
    out[0] = elements_finish(&to);
    return true;
}

/* Cubic weights of a place add up to 1; with a = -0.75 their magnitudes do to 1.375 an axis at
 * most. Outside there is 0. */
static void grid_sample_range(const struct node *n, int output, const struct range *in,
                              struct range *out)
{
    bool cubic = !strcmp(node_string(n, "mode", "linear"), "cubic");
    int axes = n->inputs[0]->shape.axes - 2;

    (void)output;
    *out = range_hull(in[0], range_make(0, 0));
    if (cubic)
        *out = range_multiply(range_make(-pow(1.375, axes), pow(1.375, axes)), *out);
    out->usual = in[0].usual;
}

const struct operator_functions grid_sample_functions = {.role = ROLE_STEP,
                                                         .range = grid_sample_range,
                                                         .lower = lower_grid_sample,
                                                         .packed = packed_sample,
                                                         .reuse = reuse_sample,
                                                         .upgrade = grid_upgrade,
                                                         .infer = grid_infer,
                                                         .evaluate = grid_evaluate};

/* ---- AffineGrid ---- */

static void affine_infer(struct node *n)
{
    const struct shape *theta = &n->inputs[0]->shape;
    const int64_t *size;
    int count;
    struct shape out = shape_unknown;

    if (argument_ints(n, 1, &size, &count) == ARGUMENT_KNOWN) {
        if (count != 4 && count != 5) {
            infer_fault(n, "size holds %d numbers instead of 4 or 5", count);
            return;
        }
        struct shape fits = shape_of(3, (const int64_t[]){size[0], count - 2, count - 1});
        if (shape_known(theta) && !shape_equal(theta, &fits)) {
            infer_fault(n, "theta does not fit size");
            return;
        }
        for (int i = 0; i < count; i++) {
            if (size[i] < 1) {
                infer_fault(n, "size holds %" PRId64, size[i]);
                return;
            }
        }
        out.axes = count;
        out.dim[0] = size[0];
        for (int a = 1; a < count - 1; a++)
            out.dim[a] = size[a + 1];
        out.dim[count - 1] = count - 2;
        if (!argument_fits(n, &out))
            return;
    }
    infer_output(n, 0, n->inputs[0]->type, &out);
}

static bool affine_evaluate(struct node *n, struct tensor *const *in, struct tensor **out,
                            struct arena *arena, struct arena *scratch)
{
    struct context *c = n->graph->context;
    const double *theta = tensor_doubles(c, in[0], scratch);
    const int64_t *size = tensor_integers(c, in[1], scratch);
    int axes = (int)in[1]->count - 2;
    bool align = node_int(n, "align_corners", 0) != 0;
    struct elements to;

    if ((axes != 2 && axes != 3) ||
        !elements_new(arena, scratch, in[0]->type, &n->outputs[0]->shape, &to))
        return false;
    for (int64_t i = 0; i < to.count / axes; i++) {
        double at[4] = {1, 1, 1, 1};
        int64_t rest = i;
        for (int a = axes - 1; a >= 0; a--) {
            int64_t length = size[2 + a], index = rest % length;
            rest /= length;
            /* x, the last axis, comes first */
            at[axes - 1 - a] = !align       ? (double)(2 * index + 1) / (double)length - 1
                               : length > 1 ? (double)(2 * index) / (double)(length - 1) - 1
                                            : -1;
        }
        for (int k = 0; k < axes; k++) {
            const double *row = theta + (rest * axes + k) * (axes + 1);
            double sum = row[axes];
            for (int a = 0; a < axes; a++)
                sum += row[a] * at[a];
            elements_set(&to, i * axes + k, sum);
        }
    }
    out[0] = elements_finish(&to);
    return true;
}

const struct operator_functions affine_grid_functions = {
    .role = ROLE_STEP, .infer = affine_infer, .evaluate = affine_evaluate};
