/* Col2Im: columns of blocks added up into an image. */
#include "daemon/compiler/operators/arguments.h"
#include "daemon/compiler/operators/move.h"
#include <inttypes.h>

struct col2im {
    int axes;
    int64_t image[MAX_AXES], block[MAX_AXES], places[MAX_AXES]; /* places: blocks along each axis */
    int64_t stride[MAX_AXES], dilation[MAX_AXES], begin[MAX_AXES];
    int64_t batch, channels, taps, columns, plane;
};

static bool read_list(const struct node *n, const char *name, int wanted, int64_t least,
                      int64_t otherwise, int64_t *to)
{
    int count;
    const int64_t *list = node_ints(n, name, &count);
    if (count != 0 && count != wanted)
        return false;
    for (int i = 0; i < wanted; i++) {
        to[i] = count ? list[i] : otherwise;
        if (to[i] < least || to[i] > INT32_MAX)
            return false;
    }
    return true;
}

/* false where something is not known yet; *why is set where something is wrong. */
static bool col2im_read(struct node *n, const struct shape *x, struct col2im *c, const char **why)
{
    const int64_t *image, *block;
    int image_count, block_count;
    int64_t pads[2 * MAX_AXES];

    *why = NULL;
    if (argument_ints(n, 1, &image, &image_count) != ARGUMENT_KNOWN ||
        argument_ints(n, 2, &block, &block_count) != ARGUMENT_KNOWN || !shape_known(x))
        return false;
    *c = (struct col2im){.axes = image_count, .taps = 1, .columns = 1, .plane = 1};
    *why = x->axes != 3 ? "the input does not have 3 axes"
           : image_count < 1 || image_count > MAX_AXES - 2 || block_count != image_count
               ? "image_shape and block_shape do not have a number for each axis"
           : !read_list(n, "strides", c->axes, 1, 1, c->stride) ||
                   !read_list(n, "dilations", c->axes, 1, 1, c->dilation) ||
                   !read_list(n, "pads", 2 * c->axes, 0, 0, pads)
               ? "strides, dilations or pads do not fit the image"
               : NULL;
    for (int a = 0; a < c->axes && !*why; a++) {
        c->image[a] = image[a];
        c->block[a] = block[a];
        c->begin[a] = pads[a];
        if (image[a] < 1 || block[a] < 1 || image[a] > INT32_MAX || block[a] > INT32_MAX) {
            *why = "image_shape or block_shape is out of range";
            break;
        }
        int64_t room = image[a] + pads[a] + pads[c->axes + a] - c->dilation[a] * (block[a] - 1) - 1;
        c->places[a] = room < 0 ? 0 : room / c->stride[a] + 1;
        if (__builtin_mul_overflow(c->taps, block[a], &c->taps) ||
            __builtin_mul_overflow(c->columns, c->places[a], &c->columns) ||
            __builtin_mul_overflow(c->plane, image[a], &c->plane))
            *why = "the output would have more elements than can be counted";
    }
    if (!*why && (x->dim[1] % c->taps || x->dim[2] != c->columns))
        *why = "the input does not hold a column for each place of a block";
    c->batch = x->dim[0];
    c->channels = *why ? 0 : x->dim[1] / c->taps;
    return !*why;
}

static void col2im_infer(struct node *n)
{
    struct col2im c;
    const char *why;
    struct shape out = shape_unknown;

    if (col2im_read(n, &n->inputs[0]->shape, &c, &why)) {
        out.axes = c.axes + 2;
        out.dim[0] = c.batch;
        out.dim[1] = c.channels;
        for (int a = 0; a < c.axes; a++)
            out.dim[2 + a] = c.image[a];
    }
    if (why)
        infer_fault(n, "%s", why);
    else if (argument_fits(n, &out))
        infer_output(n, 0, n->inputs[0]->type, &out);
}

static bool col2im_evaluate(struct node *n, struct tensor *const *in, struct tensor **out,
                            struct arena *arena, struct arena *scratch)
{
    struct context *context = n->graph->context;
    struct col2im c;
    const char *why;
    struct elements to;

    if (!col2im_read(n, &in[0]->shape, &c, &why) ||
        !elements_new(arena, scratch, in[0]->type, &n->outputs[0]->shape, &to))
        return false;
    const double *x = tensor_doubles(context, in[0], scratch);
    double *sums = NEW_ARRAY(scratch, to.count, double);
    for (int64_t row = 0; row < c.batch * c.channels * c.taps; row++) {
        context_poll(context);
        for (int64_t column = 0; column < c.columns; column++) {
            int64_t tap = row % c.taps, place = column, at = 0, stride = 1;
            bool outside = false;
            for (int a = c.axes - 1; a >= 0; a--) {
                int64_t i = place % c.places[a] * c.stride[a] - c.begin[a] +
                            tap % c.block[a] * c.dilation[a];
                place /= c.places[a];
                tap /= c.block[a];
                outside = outside || i < 0 || i >= c.image[a];
                at += i * stride;
                stride *= c.image[a];
            }
            if (!outside)
                sums[row / c.taps * c.plane + at] += x[row * c.columns + column];
        }
    }
    for (int64_t i = 0; i < to.count; i++)
        elements_set(&to, i, sums[i]);
    out[0] = elements_finish(&to);
    return true;
}

const struct operator_functions col2im_functions = {
    .role = ROLE_STEP, .infer = col2im_infer, .evaluate = col2im_evaluate};
