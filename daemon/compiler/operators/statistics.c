/*
 * Operators that only the decompose pass makes: what a row (the axes of attribute axes) has in
 * common.
 *
 * SoftmaxStatistics(x) and NormStatistics(x; epsilon, rms, root): the reduced axes become 1, and a
 * last axis of three holds the numbers (lower_statistics.c says which). Component(s; index):
 * element index of the last axis. Choice(x; axis): four numbers with where the greatest element is
 * (lower_choice.c). Store(x): x, in a texture of its own. DeformColumns(x, offset, mask; as
 * DeformConv, kernel_shape): what DeformConv multiplies (lower_sample.c).
 */
#include "daemon/compiler/operators/lower.h"
#include "daemon/compiler/operators/range.h"
#include "daemon/compiler/operators/rules.h"
#include <math.h>
#include <string.h>

static void statistics_infer(struct node *n)
{
    struct shape s = n->inputs[0]->shape;
    int count;
    const int64_t *axes = node_ints(n, "axes", &count);

    if (s.axes < 0 || s.axes == MAX_AXES) {
        infer_output(n, 0, TYPE_FLOAT32, &shape_unknown);
        return;
    }
    for (int i = 0; i < count; i++)
        s.dim[axes[i]] = 1;
    s.dim[s.axes++] = STATISTICS;
    infer_output(n, 0, TYPE_FLOAT32, &s);
}

static void component_infer(struct node *n)
{
    struct shape s = n->inputs[0]->shape;

    s.axes--;
    infer_output(n, 0, TYPE_FLOAT32, &s);
}

void view_component(struct kernel *k, const struct node *n, int output,
                    const struct index *const *at, struct access *access)
{
    struct piece *p = access_piece(access, 0);
    int axes = n->inputs[0]->shape.axes;

    (void)k;
    (void)output;
    for (int a = 0; a < axes - 1; a++)
        p->at[a] = at[a];
    p->at[axes - 1] = index_constant(access->pool, node_int(n, "index", 0));
}

static void choice_infer(struct node *n)
{
    struct shape s = n->inputs[0]->shape;

    if (s.axes < 0 || s.axes == MAX_AXES) {
        infer_output(n, 0, TYPE_FLOAT32, &shape_unknown);
        return;
    }
    s.dim[node_int(n, "axis", 0)] = 1;
    s.dim[s.axes++] = 4;
    infer_output(n, 0, TYPE_FLOAT32, &s);
}

static void deform_columns_infer(struct node *n)
{
    struct shape s = n->inputs[1]->shape;
    int count;
    const int64_t *kernel = node_ints(n, "kernel_shape", &count);

    s.dim[1] = n->inputs[0]->shape.dim[1];
    for (int i = 0; i < count; i++)
        s.dim[1] *= kernel[i];
    infer_output(n, 0, TYPE_FLOAT32, &s);
}

static const double usual_statistic = 4;

/* Greatest elements go down by less than 32 and come apart into a multiple of 32 and the rest; sums
 * of exponentials of which one is 1 at least have inverses up to 1. Means come apart into the
 * nearest such multiple and the rest. */
static void statistics_range(const struct node *n, int output, const struct range *in,
                             struct range *out)
{
    double inverse = 1;

    (void)output;
    if (!strcmp(n->op->name, "NormStatistics"))
        inverse = 1 / sqrt((double)node_float(n, "epsilon", 1e-5f));
    if (node_int(n, "root", 0))
        inverse = sqrt(inverse);
    *out = range_make(fmin(floor(in[0].lo / 32) * 32, -16),
                      fmax(fmax(ceil(in[0].hi / 32) * 32, 32), inverse));
    out->usual = usual_statistic;
    out->summed = true;
}

static void component_range(const struct node *n, int output, const struct range *in,
                            struct range *out)
{
    const struct node *of = n->inputs[0]->producer;
    bool norm = !strcmp(of->op->name, "NormStatistics");
    int64_t index = node_int(n, "index", 0);

    (void)output;
    *out = in[0];
    if (!strcmp(of->op->name, "Choice") || index == 0)
        return;
    *out = range_limit(*out, index == 1 && norm ? -16 : 0,
                       index == 1 ? (norm ? 16 : 32)
                       : norm     ? INFINITY
                                  : 1);
    out->usual = usual_statistic;
}

/* Two digits to the base 2048. */
static void choice_range(const struct node *n, int output, const struct range *in,
                         struct range *out)
{
    (void)n;
    (void)output;
    (void)in;
    *out = range_make(0, 2048);
    out->usual = usual_statistic;
}

/* Elements between the four around them, and 0 outside. */
static void deform_columns_range(const struct node *n, int output, const struct range *in,
                                 struct range *out)
{
    (void)output;
    *out = range_hull(in[0], range_make(0, 0));
    if (node_input(n, 2))
        *out = range_multiply(*out, in[2]);
    out->usual = in[0].usual;
    out->excess = node_input(n, 2) ? EXCESS_PRODUCT : EXCESS_NONE;
}

const struct operator_functions choice_functions = {.role = ROLE_STEP,
                                                    .range = choice_range,
                                                    .infer = choice_infer,
                                                    .lower = lower_choice_statistics,
                                                    .packed = packed_choice_statistics};
const struct operator_functions deform_columns_functions = {.role = ROLE_STEP,
                                                            .range = deform_columns_range,
                                                            .infer = deform_columns_infer,
                                                            .lower = lower_deform_columns,
                                                            .packed = packed_channels};
const struct operator_functions store_functions = {.role = ROLE_ELEMENTWISE,
                                                   .stores = true,
                                                   .infer = infer_like_input,
                                                   .express = express_elementwise,
                                                   .range = range_elementwise};
const struct operator_functions softmax_statistics_functions = {.role = ROLE_STEP,
                                                                .range = statistics_range,
                                                                .infer = statistics_infer,
                                                                .lower = lower_softmax_statistics,
                                                                .packed = packed_statistics};
const struct operator_functions norm_statistics_functions = {.role = ROLE_STEP,
                                                             .range = statistics_range,
                                                             .infer = statistics_infer,
                                                             .lower = lower_norm_statistics,
                                                             .packed = packed_statistics};
const struct operator_functions component_functions = {
    .role = ROLE_VIEW, .infer = component_infer, .range = component_range, .view = view_component};
/* Resize by the nearest element, with what the row Resize says about inputs and attributes. */
const struct operator_functions resize_nearest_functions = {
    .role = ROLE_VIEW, .range = range_resize, .view = view_resize};

/* WholeCells(x), attribute axis: zeros behind the last element along it, until there are as many as
 * cells hold. */
static void whole_cells_infer(struct node *n)
{
    struct shape s = n->inputs[0]->shape;
    int axis = (int)node_int(n, "axis", 0);

    s.dim[axis] = (s.dim[axis] + 3) / 4 * 4;
    infer_output(n, 0, n->inputs[0]->type, &s);
}

static void whole_cells_range(const struct node *n, int output, const struct range *in,
                              struct range *out)
{
    (void)n, (void)output;
    *out = range_hull(in[0], range_make(0, 0));
    out->usual = in[0].usual;
}

const struct operator_functions whole_cells_functions = {.role = ROLE_VIEW,
                                                         .infer = whole_cells_infer,
                                                         .range = whole_cells_range,
                                                         .view = view_whole_cells};
