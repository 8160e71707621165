/* DeformConv: a convolution whose taps are moved by an input. */
#include "daemon/compiler/operators/arguments.h"
#include "daemon/compiler/operators/move.h"
#include <math.h>

struct deform {
    int axes; /* spatial */
    int64_t in[MAX_AXES], out[MAX_AXES], kernel[MAX_AXES];
    int64_t stride[MAX_AXES], dilation[MAX_AXES], begin[MAX_AXES], end[MAX_AXES];
    int64_t batch, channels, outputs, group, offset_group;
    int64_t taps, points, plane; /* products of kernel, out, in */
};

static bool read_list(const struct node *n, const char *name, int wanted, int64_t otherwise,
                      int64_t *to)
{
    int count;
    const int64_t *list = node_ints(n, name, &count);
    if (count == 0) /* PyTorch writes empty lists for defaults */
        list = NULL;
    if (list && count != wanted)
        return false;
    for (int i = 0; i < wanted; i++) {
        to[i] = list ? list[i] : otherwise;
        if (to[i] < 0 || to[i] > INT32_MAX)
            return false;
    }
    return true;
}

static bool deform_read(const struct node *n, struct deform *d, const char **why)
{
    const struct shape *x = &n->inputs[0]->shape, *w = &n->inputs[1]->shape;
    const struct value *offset = n->inputs[2], *bias = node_input(n, 3), *mask = node_input(n, 4);
    int64_t pads[2 * MAX_AXES];

    *why = NULL;
    if (!shape_known(x) || !shape_known(w))
        return false;
    *d = (struct deform){.axes = x->axes - 2,
                         .batch = x->dim[0],
                         .channels = x->dim[1],
                         .outputs = w->dim[0],
                         .group = node_int(n, "group", 1),
                         .offset_group = node_int(n, "offset_group", 1),
                         .taps = 1,
                         .points = 1,
                         .plane = 1};
    *why =
        d->axes < 1 || w->axes != x->axes ? "input and weights do not have as many axes, at least 3"
        : shape_count(x) < 0 || shape_count(w) < 0 ? "there are more elements than can be counted"
        : d->group < 1 || d->group > d->channels || d->offset_group < 1 ||
                d->offset_group > d->channels || w->dim[1] * d->group != d->channels ||
                d->outputs % d->group || d->channels % d->offset_group
            ? "channels and groups do not fit the weights"
        : !read_list(n, "strides", d->axes, 1, d->stride) ||
                !read_list(n, "dilations", d->axes, 1, d->dilation) ||
                !read_list(n, "pads", 2 * d->axes, 0, pads)
            ? "strides, dilations or pads do not fit the spatial axes"
            : NULL;
    for (int a = 0; a < d->axes && !*why; a++) {
        d->in[a] = x->dim[2 + a];
        d->kernel[a] = w->dim[2 + a];
        d->begin[a] = pads[a];
        d->end[a] = pads[d->axes + a];
        if (d->kernel[a] > INT32_MAX || d->in[a] > INT32_MAX) {
            *why = "an axis is too long";
            break;
        }
        int64_t room = d->in[a] + d->begin[a] + d->end[a] - d->dilation[a] * (d->kernel[a] - 1) - 1;
        if (d->stride[a] < 1 || d->dilation[a] < 1 || d->kernel[a] < 1 || room < 0) {
            *why = "the kernel does not fit into the padded input";
            break;
        }
        d->out[a] = room / d->stride[a] + 1;
        d->taps *= d->kernel[a];
        d->plane *= d->in[a];
        if (__builtin_mul_overflow(d->points, d->out[a], &d->points))
            *why = "there are more elements than can be counted";
    }
    if (*why)
        return false;
    struct shape want = *x;
    want.dim[1] = d->offset_group * d->taps * d->axes;
    for (int a = 0; a < d->axes; a++)
        want.dim[2 + a] = d->out[a];
    if (shape_known(&offset->shape) && !shape_equal(&offset->shape, &want))
        *why = "the offsets do not fit input and kernel";
    want.dim[1] = d->offset_group * d->taps;
    if (mask && shape_known(&mask->shape) && !shape_equal(&mask->shape, &want))
        *why = "the mask does not fit input and kernel";
    if (bias && shape_known(&bias->shape) &&
        (bias->shape.axes != 1 || bias->shape.dim[0] != d->outputs))
        *why = "the bias has not one number for each output channel";
    return !*why;
}

static void deform_infer(struct node *n)
{
    struct deform d;
    const char *why;
    struct shape out = shape_unknown;
    if (deform_read(n, &d, &why)) {
        out.axes = d.axes + 2;
        out.dim[0] = d.batch;
        out.dim[1] = d.outputs;
        for (int a = 0; a < d.axes; a++)
            out.dim[2 + a] = d.out[a];
    }
    if (why)
        infer_fault(n, "%s", why);
    else if (argument_fits(n, &out))
        infer_output(n, 0, n->inputs[0]->type, &out);
}

/* The plane at a place between its elements, linear along each axis; zero outside. */
static double sample(const struct deform *d, const double *plane, const double *at)
{
    double sum = 0;
    for (int corner = 0; corner < 1 << d->axes; corner++) {
        double weight = 1;
        int64_t index = 0;
        for (int a = 0; a < d->axes; a++) {
            double low = floor(at[a]), t = at[a] - low;
            bool upper = corner >> a & 1;
            double i = low + upper;
            weight *= upper ? t : 1 - t;
            if (!(i >= 0 && i < (double)d->in[a]))
                weight = 0;
            if (weight == 0)
                break;
            index = index * d->in[a] + (int64_t)i;
        }
        if (weight != 0)
            sum += weight * plane[index];
    }
    return sum;
}

static bool deform_evaluate(struct node *n, struct tensor *const *in, struct tensor **out,
                            struct arena *arena, struct arena *scratch)
{
    struct context *c = n->graph->context;
    const struct tensor *bias = n->input_count > 3 ? in[3] : NULL;
    const struct tensor *mask = n->input_count > 4 ? in[4] : NULL;
    struct deform d;
    const char *why;
    struct elements to;

    if (!deform_read(n, &d, &why) ||
        !elements_new(arena, scratch, in[0]->type, &n->outputs[0]->shape, &to))
        return false;
    const double *x = tensor_doubles(c, in[0], scratch), *w = tensor_doubles(c, in[1], scratch);
    const double *offset = tensor_doubles(c, in[2], scratch);
    const double *add = bias ? tensor_doubles(c, bias, scratch) : NULL;
    const double *factor = mask ? tensor_doubles(c, mask, scratch) : NULL;
    double *seen = NEW_ARRAY(scratch, d.channels * d.taps, double);
    int64_t each = d.channels / d.group, outputs = d.outputs / d.group;

    for (int64_t i = 0; i < d.batch * d.points; i++) {
        int64_t b = i / d.points, point = i % d.points, place[MAX_AXES];
        context_poll(c);
        for (int64_t a = d.axes - 1, rest = point; a >= 0; rest /= d.out[a], a--)
            place[a] = rest % d.out[a];
        for (int64_t k = 0; k < d.channels * d.taps; k++) {
            int64_t channel = k / d.taps, tap = k % d.taps;
            int64_t set =
                (b * d.offset_group + channel / (d.channels / d.offset_group)) * d.taps + tap;
            double at[MAX_AXES];
            for (int64_t a = d.axes - 1, rest = tap; a >= 0; rest /= d.kernel[a], a--)
                at[a] = (double)(place[a] * d.stride[a] - d.begin[a] +
                                 rest % d.kernel[a] * d.dilation[a]) +
                        offset[(set * d.axes + a) * d.points + point];
            seen[k] = sample(&d, x + (b * d.channels + channel) * d.plane, at) *
                      (factor ? factor[set * d.points + point] : 1);
        }
        for (int64_t o = 0; o < d.outputs; o++) {
            const double *row = w + o * each * d.taps, *from = seen + o / outputs * each * d.taps;
            double sum = add ? add[o] : 0;
            for (int64_t k = 0; k < each * d.taps; k++)
                sum += row[k] * from[k];
            elements_set(&to, (b * d.outputs + o) * d.points + point, sum);
        }
    }
    out[0] = elements_finish(&to);
    return true;
}

const struct operator_functions deform_conv_functions = {
    .role = ROLE_STEP, .infer = deform_infer, .evaluate = deform_evaluate};
