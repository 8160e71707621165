/* Conv and ConvTranspose of any number of spatial axes. */
#include "daemon/compiler/operators/arguments.h"
#include "daemon/compiler/operators/lower.h"
#include "daemon/compiler/operators/range.h"
#include "daemon/compiler/operators/rules.h"
#include "daemon/compiler/operators/window.h"
#include <string.h>

/* Output planes computed together, so that one load of the input serves several of them. */
enum { BLOCK = 4 };

/* Channels of input and output of all groups; shared by both operators. */
static bool check_channels(struct node *n, int64_t channels, int64_t wanted, int64_t outputs)
{
    if (channels >= 0 && wanted >= 0 && channels != wanted) {
        infer_fault(n, "its input has %lld channels and its weights are for %lld",
                    (long long)channels, (long long)wanted);
        return false;
    }
    return infer_vector(n, 2, outputs, "the bias");
}

static void infer_either(struct node *n, bool transposed)
{
    const struct shape *x = &n->inputs[0]->shape, *weights = &n->inputs[1]->shape;
    int64_t group = node_int(n, "group", 1), outputs, wanted;
    struct shape y = *x;
    enum element_type type;
    struct window w;

    if (!infer_common_type(n, 0, 2, &type))
        return;
    if (x->axes < 0 || weights->axes < 0) {
        infer_output(n, 0, type, &shape_unknown);
        return;
    }
    if (group < 1) {
        infer_fault(n, "its attribute group is %lld", (long long)group);
        return;
    }
    if (!(transposed ? window_read_transposed(n, x, weights, &w) : window_read(n, x, weights, &w)))
        return;
    /* Weights are [M, C / group, …], transposed [C, M / group, …]. */
    outputs = transposed ? weights->dim[1] : weights->dim[0];
    wanted = transposed ? weights->dim[0] : weights->dim[1];
    if ((transposed ? wanted : outputs) % group != 0 && (transposed ? wanted : outputs) >= 0) {
        infer_fault(n, "its %lld channels do not divide into %lld groups",
                    (long long)(transposed ? wanted : outputs), (long long)group);
        return;
    }
    if (transposed)
        outputs = outputs < 0 ? -1 : outputs * group;
    else
        wanted = wanted < 0 ? -1 : wanted * group;
    if (!check_channels(n, x->dim[1], wanted, outputs))
        return;
    y.dim[1] = outputs;
    for (int i = 0; i < w.axes; i++)
        y.dim[i + 2] = w.out[i];
    if (!argument_fits(n, &y))
        return;
    window_settle(n, &w);
    infer_output(n, 0, type, &y);
}

static void infer_conv(struct node *n)
{
    infer_either(n, false);
}

static void infer_conv_transpose(struct node *n)
{
    infer_either(n, true);
}

/* An element as float64; wide is constant where this is used, so the loops are compiled for both.
 */
static inline __attribute__((always_inline)) double element(const void *x, bool wide, int64_t i)
{
    return wide ? ((const double *)x)[i] : (double)((const float *)x)[i];
}

/*
 * Adds one input plane through one tap to the planes of a block. Conv reads at the tap's read and
 * adds to its site, ConvTranspose the other way round.
 */
static inline __attribute__((always_inline)) void add_tap(const struct tap *tap, bool transposed,
                                                          bool wide, const void *x, int64_t x_at,
                                                          double *planes, int64_t plane,
                                                          const double *weights, int block)
{
    struct walk w = tap->walk;

    if (tap->empty)
        return;
    while (walk_next(&w)) {
        int64_t site = tap->site + w.at[0], read = tap->read + w.at[1];
        int64_t from = x_at + (transposed ? site : read);
        int64_t from_step = transposed ? w.step[0] : w.step[1];
        int64_t to_step = transposed ? w.step[1] : w.step[0];
        double *to = planes + (transposed ? read : site);

        if (block == BLOCK && to_step == 1 && from_step == 1) {
            double *a = to, *b = a + plane, *c = b + plane, *d = c + plane;

            for (int64_t i = 0; i < w.run; i++) {
                double v = element(x, wide, from + i);

                a[i] += weights[0] * v;
                b[i] += weights[1] * v;
                c[i] += weights[2] * v;
                d[i] += weights[3] * v;
            }
            continue;
        }
        for (int k = 0; k < block; k++, to += plane)
            for (int64_t i = 0; i < w.run; i++)
                to[i * to_step] += weights[k] * element(x, wide, from + i * from_step);
    }
}

struct job {
    const struct window *window;
    bool transposed;
    int64_t batch, channels, outputs, group; /* of all groups together */
    const void *x, *weights;
    const double *bias; /* NULL: none */
    void *payload;
    enum element_type type;
};

static inline __attribute__((always_inline)) void
convolve(const struct job *j, bool wide, struct context *context, struct arena *scratch)
{
    int64_t in_plane = 1, out_plane = 1, taps;
    int64_t per_in = j->channels / j->group, per_out = j->outputs / j->group;
    struct tap *tap = window_taps(j->window, j->transposed, &taps, scratch);
    double *planes;

    for (int i = 0; i < j->window->axes; i++) {
        in_plane *= j->window->in[i];
        out_plane *= j->window->out[i];
    }
    planes = NEW_ARRAY(scratch, BLOCK * out_plane, double);
    for (int64_t image = 0; image < j->batch; image++)
        for (int64_t g = 0; g < j->group; g++)
            for (int64_t o = 0; o < per_out; o += BLOCK) {
                int block = per_out - o < BLOCK ? (int)(per_out - o) : BLOCK;
                int64_t first = g * per_out + o;

                for (int k = 0; k < block; k++)
                    for (int64_t i = 0; i < out_plane; i++)
                        planes[k * out_plane + i] = j->bias ? j->bias[first + k] : 0;
                for (int64_t c = 0; c < per_in; c++) {
                    int64_t channel = g * per_in + c;

                    context_poll(context);
                    for (int64_t t = 0; t < taps; t++) {
                        double weights[BLOCK] = {0};

                        for (int k = 0; k < block; k++) {
                            int64_t kernel = j->transposed ? channel * per_out + o + k
                                                           : (first + k) * per_in + c;

                            weights[k] = element(j->weights, wide, kernel * taps + t);
                        }
                        add_tap(&tap[t], j->transposed, wide, j->x,
                                (image * j->channels + channel) * in_plane, planes, out_plane,
                                weights, block);
                    }
                }
                payload_store(j->payload, j->type, (image * j->outputs + first) * out_plane, planes,
                              block * out_plane);
            }
}

static bool evaluate_either(struct node *n, struct tensor *const *in, struct tensor **out,
                            struct arena *arena, struct arena *scratch, bool transposed)
{
    struct context *c = n->graph->context;
    const struct tensor *bias = n->input_count > 2 ? in[2] : NULL;
    bool wide = in[0]->type == TYPE_FLOAT64 || in[1]->type == TYPE_FLOAT64;
    struct window w;
    struct job j = {.window = &w, .transposed = transposed};

    if (!type_is_real(in[0]->type) || !type_is_real(in[1]->type))
        return false;
    if (!(transposed ? window_read_transposed(n, &in[0]->shape, &in[1]->shape, &w)
                     : window_read(n, &in[0]->shape, &in[1]->shape, &w)))
        return false;
    j.batch = in[0]->shape.dim[0];
    j.channels = in[0]->shape.dim[1];
    j.outputs = n->outputs[0]->shape.dim[1];
    j.group = node_int(n, "group", 1);
    j.bias = bias ? tensor_doubles(c, bias, scratch) : NULL;
    out[0] = output_new(n, 0, arena, &j.payload);
    j.type = out[0]->type;
    if (out[0]->count == 0)
        return true;
    if (wide) {
        j.x = tensor_doubles(c, in[0], scratch);
        j.weights = tensor_doubles(c, in[1], scratch);
        convolve(&j, true, c, scratch);
    } else {
        j.x = tensor_floats(c, in[0], scratch);
        j.weights = tensor_floats(c, in[1], scratch);
        convolve(&j, false, c, scratch);
    }
    return true;
}

static bool evaluate_conv(struct node *n, struct tensor *const *in, struct tensor **out,
                          struct arena *arena, struct arena *scratch)
{
    return evaluate_either(n, in, out, arena, scratch, false);
}

static bool evaluate_conv_transpose(struct node *n, struct tensor *const *in, struct tensor **out,
                                    struct arena *arena, struct arena *scratch)
{
    return evaluate_either(n, in, out, arena, scratch, true);
}

/* Padding is 0, which does not matter where the bounds are those of either sign. */
static void conv_range(const struct node *n, int output, const struct range *in, struct range *out)
{
    struct context *c = n->graph->context;
    struct tensor *w = n->inputs[1]->constant;
    const struct shape *s = &w->shape;
    bool transposed = !strcmp(n->op->name, "ConvTranspose");
    double usual;

    (void)output;
    if (transposed)
        *out = range_weighted(c, in[0], w, s->dim[0], s->dim[1], shape_product(s, 2, s->axes),
                              (double)s->dim[0] * (double)shape_product(s, 2, s->axes),
                              (double)s->dim[1]);
    else
        *out = range_weighted(c, in[0], w, 1, s->dim[0], shape_product(s, 1, s->axes),
                              (double)shape_product(s, 1, s->axes), (double)s->dim[0]);
    if (node_input(n, 2)) {
        usual = out->usual + in[2].usual;
        *out = range_add(*out, in[2]);
        out->usual = usual;
    }
}

const struct operator_functions conv_functions = {.role = ROLE_STEP,
                                                  .lower = lower_conv,
                                                  .range = conv_range,
                                                  .packed = packed_conv,
                                                  .scatters = scatters_conv,
                                                  .reuse = reuse_conv,
                                                  .window = window_conv,
                                                  .infer = infer_conv,
                                                  .evaluate = evaluate_conv};
const struct operator_functions conv_transpose_functions = {.role = ROLE_STEP,
                                                            .lower = lower_conv_transpose,
                                                            .range = conv_range,
                                                            .packed = packed_channels,
                                                            .reuse = reuse_conv_transpose,
                                                            .infer = infer_conv_transpose,
                                                            .evaluate = evaluate_conv_transpose};
