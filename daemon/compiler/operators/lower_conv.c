/*
 * Convolutions. Four output channels of one place are one cell. Where the channels of a group come
 * in fours, four input channels are one fetch and meet four vectors of weights: 16 multiply-adds;
 * one to three channels in all meet a vector each, which holds the weights of the four outputs; of
 * a single channel that lies with its last axis in components, as sound does, four taps are one
 * fetch where each window begins with a cell;
 * else (depthwise and small groups) each output channel reads its own input channel, and a vector
 * holds the weights of the four.
 *
 * Source: onnx.ai/onnx/operators, Conv 22 and ConvTranspose 22.
 */
#include "daemon/compiler/graph/fours.h"
#include "daemon/compiler/operators/lower.h"
#include <inttypes.h>
#include <string.h>

enum { SPATIAL = MAX_AXES - 2 };

struct convolution {
    int axes; /* spatial */
    int64_t kernel[SPATIAL], stride[SPATIAL], dilation[SPATIAL], begin[SPATIAL];
    int64_t group, in, out; /* channels of a group */
    int64_t taps;
    bool fours;  /* four input channels at a time */
    bool few;    /* one to three input channels in all, read by every output channel */
    bool strung; /* four taps along the last axis at a time, of one input channel */
    bool common; /* ConvTranspose: taps that meet the grid are counted, not tested for */
};

static void convolution_read(const struct node *n, bool transposed, struct convolution *c)
{
    const struct shape *w = &n->inputs[1]->shape;
    int count;
    const int64_t *strides = node_ints(n, "strides", &count),
                  *dilations = node_ints(n, "dilations", &count);
    const int64_t *pads = node_ints(n, "pads", &count);

    memset(c, 0, sizeof *c);
    c->axes = w->axes - 2;
    c->group = node_int(n, "group", 1);
    c->in = transposed ? w->dim[0] / c->group : w->dim[1];
    c->out = transposed ? w->dim[1] : w->dim[0] / c->group;
    c->taps = 1;
    for (int i = 0; i < c->axes; i++) {
        c->kernel[i] = w->dim[i + 2];
        c->stride[i] = strides ? strides[i] : 1;
        c->dilation[i] = dilations ? dilations[i] : 1;
        c->begin[i] = pads ? pads[i] : 0;
        c->taps *= c->kernel[i];
    }
    c->few = c->group == 1 && c->in < 4;
    c->fours = !c->few && (c->group == 1 || (c->in % 4 == 0 && c->out % 4 == 0));
}

/* Whether windows over a single channel begin with a cell of four along the last axis, and cells
 * lie inside or outside as a whole. */
static bool can_string(const struct node *n, const struct convolution *c)
{
    const struct shape *x = &n->inputs[0]->shape, *y = &n->outputs[0]->shape;
    int last = c->axes - 1;
    int64_t end = (y->dim[last + 2] - 1) * c->stride[last] + c->kernel[last] - c->begin[last];

    return c->group * c->in == 1 && c->dilation[last] == 1 && c->kernel[last] % 4 == 0 &&
           c->stride[last] % 4 == 0 && c->begin[last] % 4 == 0 &&
           (x->dim[last + 2] % 4 == 0 || end <= x->dim[last + 2]);
}

/* Whether four along the last axis are fewer than four fetches. */
static bool lies_strung(struct kernel *k, struct value *x)
{
    struct kernel *planning = kernel_planning(k->plan);
    const struct index *at[MAX_AXES];
    int last = x->shape.axes - 1;

    for (int a = 0; a <= last; a++) {
        int64_t step = a == last ? 4 : 1;

        at[a] = index_variable(planning->pool, kernel_text(planning, "s%d", a), 0,
                               (x->shape.dim[a] - 1) / step);
        at[a] = index_times(planning->pool, at[a], step);
    }
    struct lanes e = lanes_along(planning, at, x->shape.axes, last, 4);
    int64_t cost = kernel_cost(planning, x, &e);
    kernel_planning_free(planning);
    return cost < 4;
}

/* The weights of `lanes` output channels, in × taps each, into their band's row, in groups of four
 * input channels: entry (in / 4 * taps + tap) * 4 + lane, component in % 4. */
static void fill_fours(const struct convolution *c, const float *from, int64_t lanes, float *row)
{
    int64_t bands = c->in / 4, taps = c->taps, each = c->in * taps, at_once = taps < 4 ? 1 : 4;

    for (int64_t band = 0; band < bands; band++, row += taps * 16)
        for (int64_t next = 0; next < taps; next += at_once) {
            /* The last four have been there in part. */
            int64_t t = next < taps - at_once ? next : taps - at_once;

            for (int64_t lane = 0; lane < lanes; lane++) {
                const float *tap = from + lane * each + band * 4 * taps + t;
                float *entry = row + t * 16 + lane * 4;

                if (at_once == 4) {
                    four v[4] = {four_load(tap), four_load(tap + taps), four_load(tap + 2 * taps),
                                 four_load(tap + 3 * taps)};

                    four_transpose(v);
                    for (int i = 0; i < 4; i++)
                        four_store(entry + i * 16, v[i]);
                } else {
                    for (int i = 0; i < 4; i++)
                        entry[i] = tap[i * taps];
                }
            }
        }
    for (int64_t lane = 0; lane < lanes; lane++)
        for (int64_t in = 0; in < c->in % 4; in++)
            for (int64_t t = 0; t < taps; t++)
                row[t * 16 + lane * 4 + in] = from[lane * each + (bands * 4 + in) * taps + t];
}

/*
 * One row an output band. Column 0 is the bias; then, for each group of four input channels and
 * each tap, four vectors of input weights for the four output channels; or for each input channel
 * and tap one vector over output channels.
 */
static void fill_convolution(struct context *context, const struct weights *w, int64_t first,
                             int64_t count, float *entries, struct arena *scratch)
{
    const struct node *n = w->node;
    bool transposed = !strcmp(n->op->name, "ConvTranspose");
    struct value *bias = node_input(n, 2);
    struct tensor *filters = n->inputs[1]->constant;
    const float *biases = bias ? tensor_floats(context, bias->constant, scratch) : NULL;
    const float *numbers;
    struct convolution c;

    convolution_read(n, transposed, &c);
    if (w->packed) {
        c.in = c.taps;
        c.taps = 1;
        c.fours = true;
    }
    /* [M, C / group, taps], transposed [C, M / group, taps] */
    int64_t each = c.in * c.taps, outputs = c.group * c.out, from = 4 * first;
    int64_t to = from + 4 * count < outputs ? from + 4 * count : outputs;
    int64_t held = w->parts ? from : 0; /* the output channel that numbers begin with */
    if (w->parts) {
        float *part = NEW_ROOM(scratch, (to - from) * each, float);

        tensor_floats_part(context, filters, from * each, (to - from) * each, part);
        numbers = part;
    } else {
        numbers = tensor_floats(context, filters, scratch);
    }
    /* Channels that do not come in fours leave some of their vectors empty. */
    bool filled = outputs % 4 == 0 && (!c.fours || c.in % 4 == 0);
    if (!filled)
        memset(entries, 0, (size_t)(count * w->columns * 4) * sizeof *entries);
    for (int64_t out = from; out < to; out++) {
        float *row = entries + (out / 4 - first) * w->columns * 4;
        int64_t lane = out % 4, group = out / c.out;

        row[lane] = biases ? biases[out] : 0;
        row += 4;
        if (c.fours && !transposed) {
            if (!lane)
                fill_fours(&c, numbers + (out - held) * each, to - out < 4 ? to - out : 4, row);
            continue;
        }
        for (int64_t in = 0; in < c.in; in++) {
            const float *tap =
                numbers + (transposed ? ((group * c.in + in) * c.out + out % c.out) * c.taps
                                      : (out - held) * each + in * c.taps);

            for (int64_t t = 0; t < c.taps; t++)
                if (c.fours)
                    row[((in / 4) * c.taps + t) * 16 + lane * 4 + in % 4] = tap[t];
                else
                    row[(in * c.taps + t) * 4 + lane] = tap[t];
        }
    }
}

/* acc += p . w over those of the four that count. */
static void multiply_add(struct kernel *k, const char *sum, const char *const *p,
                         const char *const *w)
{
    struct strbuf s;

    strbuf_init(&s, k->arena);
    for (int j = 0; j < 4; j++)
        if (strcmp(p[j], "0f"))
            strbuf_printf(&s, "%s%s * %s", s.length ? " + " : "", p[j], w[j]);
    if (s.length)
        kernel_line(k, "%s += %s;", sum, s.text);
}

static void lower_either(struct kernel *k, const struct node *n, bool transposed)
{
    struct value *x = n->inputs[0];
    const struct shape *y = &n->outputs[0]->shape;
    const struct index *const *at = k->out.at[0];
    struct convolution c;
    struct index_pool *p = k->pool;
    const char *accumulator[4], *bias[4];
    const struct index *loops[SPATIAL], *source[MAX_AXES] = {0}, *tap, *band;
    struct condition conditions[2 * SPATIAL];
    int condition_count = 0;
    int64_t counts[SPATIAL], in_groups, rows = (y->dim[1] + 3) / 4;
    static const char *const names[] = {"ku", "kv", "kw", "kz", "ky", "kx"}, *const places[] = {
                                                                                 "iu", "iv", "iw",
                                                                                 "iz", "iy", "ix"};

    convolution_read(n, transposed, &c);
    c.strung = !transposed && can_string(n, &c) && lies_strung(k, x);
    /* What the comment over the table says: so many filters, of that shape. */
    struct shape filter = shape_of(c.axes + 1, n->inputs[1]->shape.dim + 1);
    filter.dim[0] = c.in;
    in_groups = c.fours ? (c.in + 3) / 4 : c.few ? 1 : c.in;
    struct weights *w = kernel_weights(
        k, rows, 1 + (c.fours ? in_groups * 4 : c.in) * c.taps, fill_convolution,
        kernel_text(k, "%" PRId64 " of %s", c.group * c.out, shape_text(k->arena, &filter)));
    w->parts = !transposed && tensor_has_parts(n->inputs[1]->constant);
    int last = c.axes + 1;
    w->packed = c.strung ? last : 0;
    int lanes = y->dim[1] < k->out.count ? (int)y->dim[1] : k->out.count;
    bool scattered = k->out.count < 4 || k->out.at[1][1] != index_plus(p, at[1], 1);
    const struct index *row[4], *lane[4];
    for (int j = 0; j < lanes; j++) {
        row[j] = index_div(p, scattered ? k->out.at[j][1] : at[1], 4);
        lane[j] = kernel_constant(k, j);
        if (scattered) {
            row[j] = kernel_bind(k, "row", index_clamp(p, row[j], 0, rows - 1));
            lane[j] = kernel_bind(k, "lane", index_mod(p, k->out.at[j][1], 4));
            bias[j] = kernel_entry_component(k, w, row[j], kernel_constant(k, 0), "bias", lane[j]);
        }
    }
    if (!scattered)
        kernel_entry(k, w, row[0], kernel_constant(k, 0), "bias", bias);
    for (int j = 0; j < lanes || (j < 4 && !scattered); j++) {
        accumulator[j] = kernel_name(k, (const char *const[]){"r", "g", "b", "a"}[j]);
        kernel_line(k, "float %s = %s;", accumulator[j], bias[j]);
    }
    band = kernel_loop(k, "group", in_groups);
    source[0] = at[0];
    tap = kernel_constant(k, 0);
    for (int i = 0; i < c.axes; i++) {
        const char *name = names[SPATIAL - c.axes + i], *place = places[SPATIAL - c.axes + i];
        const struct index *o = at[i + 2], *position, *number;
        struct condition *inside = &conditions[condition_count];
        int64_t extent = x->shape.dim[i + 2];

        if (!transposed) {
            int64_t at_once = c.strung && i + 2 == last ? 4 : 1;

            counts[i] = c.kernel[i] / at_once;
            loops[i] = kernel_loop(k, name, counts[i]);
            number = index_times(p, loops[i], at_once);
            position = index_plus(
                p,
                index_add(p, index_times(p, o, c.stride[i]), index_times(p, number, c.dilation[i])),
                -c.begin[i]);
        } else if (c.dilation[i] == 1) {
            /* Taps that meet the grid: first, first + stride …; each reads one element further
             * back. */
            const struct index *shifted = index_plus(p, o, c.begin[i]);
            const struct index *first = index_mod(p, shifted, c.stride[i]);

            counts[i] = (c.kernel[i] + c.stride[i] - 1) / c.stride[i];
            loops[i] = kernel_loop(k, name, counts[i]);
            number = index_add(p, index_times(p, loops[i], c.stride[i]), first);
            position =
                index_add(p, index_div(p, shifted, c.stride[i]), index_times(p, loops[i], -1));
            conditions[condition_count++] = (struct condition){number, 0, c.kernel[i] - 1};
            inside = &conditions[condition_count];
        } else {
            const struct index *shifted;

            counts[i] = c.kernel[i];
            loops[i] = number = kernel_loop(k, name, counts[i]);
            shifted =
                index_plus(p, index_add(p, o, index_times(p, number, -c.dilation[i])), c.begin[i]);
            position = index_div(p, shifted, c.stride[i]);
            if (c.stride[i] > 1)
                conditions[condition_count++] =
                    (struct condition){index_mod(p, shifted, c.stride[i]), 0, 0};
            inside = &conditions[condition_count];
        }
        tap = index_add(p, index_times(p, tap, c.kernel[i]), number);
        int64_t cell = c.strung && i + 2 == last ? 4 : 1;
        const struct index *bound = kernel_bind(k, place, index_div(p, position, cell));
        source[i + 2] = index_times(p, bound, cell);
        *inside = (struct condition){bound, 0, extent / cell - 1};
        condition_count++;
    }
    int opened = kernel_if(k, conditions, condition_count);
    if (opened >= 0 && (c.fours || c.strung)) {
        const struct index *column = tap;
        const char *in[4], *vectors[4][4];
        struct lanes e;
        int count = c.strung || c.in > 4 ? 4 : (int)c.in;

        if (c.strung) {
            source[1] = kernel_constant(k, 0);
        } else {
            const struct index *group =
                c.group == 1 ? kernel_constant(k, 0) : index_div(p, at[1], c.out);

            source[1] = index_add(p, index_times(p, group, c.in), index_times(p, band, 4));
            column = index_times(p, index_add(p, index_times(p, band, c.taps), tap), 4);
        }
        e = lanes_along(k, source, x->shape.axes, c.strung ? last : 1, count);
        for (int j = 0; j < 4; j++)
            in[j] = "0f";
        kernel_read(k, x, &e, !c.strung && c.in % 4 && c.in > 4 ? 1 : -1, in);
        for (int j = 0; j < count; j++)
            in[j] = kernel_local(k, "v", in[j]);
        column = kernel_bind(k, "k", index_plus(p, column, 1));
        for (int j = 0; j < lanes; j++)
            kernel_entry(k, w, row[j], index_add(p, column, lane[j]), "e", vectors[j]);
        for (int j = 0; j < lanes; j++)
            multiply_add(k, accumulator[j], in, vectors[j]);
    } else if (opened >= 0 && c.few) {
        const char *in[4], *vectors[4][4], *by[4];

        source[1] = kernel_constant(k, 0);
        struct lanes e = lanes_along(k, source, x->shape.axes, 1, (int)c.in);
        kernel_read(k, x, &e, -1, in);
        for (int i = 0; i < 4; i++)
            in[i] = i < c.in ? kernel_local(k, "v", in[i]) : "0f";
        const struct index *column = kernel_bind(k, "k", index_plus(p, tap, 1));
        for (int i = 0; i < c.in; i++)
            kernel_entry(k, w, row[0], index_plus(p, column, i * c.taps), "e", vectors[i]);
        for (int j = 0; j < lanes; j++) {
            for (int i = 0; i < c.in; i++)
                by[i] = vectors[i][j];
            multiply_add(k, accumulator[j], in, by);
        }
    } else if (opened >= 0) {
        const char *in[4], *vector[4];
        struct lanes e = {.count = 4};

        for (int j = 0; j < 4; j++) {
            /* Lanes behind the last channel read the last one; their weights are 0. */
            const struct index *out = index_clamp(p, index_plus(p, at[1], j), 0, y->dim[1] - 1);

            memcpy(e.at[j], source, sizeof source);
            e.at[j][1] = index_add(p, index_times(p, index_div(p, out, c.out), c.in), band);
        }
        kernel_read(k, x, &e, -1, in);
        for (int j = 0; j < 4; j++)
            in[j] = kernel_local(k, "v", in[j]);
        kernel_entry(k, w, row[0],
                     index_plus(p, index_add(p, index_times(p, band, c.taps), tap), 1), "e",
                     vector);
        for (int j = 0; j < lanes; j++)
            kernel_line(k, "%s += %s * %s;", accumulator[j], in[j], vector[j]);
    }
    kernel_end_if(k, opened);
    for (int i = c.axes; i-- > 0;)
        kernel_end_loop(k, counts[i]);
    kernel_end_loop(k, in_groups);
    for (int j = 0; j < k->out.count; j++)
        k->lane[j] = accumulator[j];
}

bool scatters_conv(const struct node *n)
{
    struct convolution c;

    convolution_read(n, false, &c);
    return c.fours && c.group == 1;
}

void lower_conv(struct kernel *k, const struct node *n)
{
    lower_either(k, n, false);
}

void lower_conv_transpose(struct kernel *k, const struct node *n)
{
    lower_either(k, n, true);
}

int packed_conv(const struct node *n, int input)
{
    struct convolution c;

    if (!input) {
        convolution_read(n, false, &c);
        if (can_string(n, &c))
            return n->inputs[0]->shape.axes - 1;
    }
    return packed_channels(n, input);
}

int packed_channels(const struct node *n, int input)
{
    (void)n;
    return input <= 0 ? 1 : -1;
}

static int64_t reuse(const struct node *n, int input, bool transposed)
{
    struct convolution c;
    int64_t cells;

    if (input)
        return 1;
    convolution_read(n, transposed, &c);
    /* Every output cell fetches taps * in / 4; seen from the input, shared by its cells. */
    cells = shape_count(&n->outputs[0]->shape) / 4 * c.taps *
            (c.fours ? (c.in + 3) / 4
             : c.few ? 1
                     : c.in);
    if (transposed)
        for (int i = 0; i < c.axes; i++)
            cells /= c.stride[i];
    return cells / (shape_count(&n->inputs[0]->shape) / 4 + 1);
}

int64_t reuse_conv(const struct node *n, int input)
{
    return reuse(n, input, false);
}

int64_t reuse_conv_transpose(const struct node *n, int input)
{
    return reuse(n, input, true);
}

int64_t window_conv(const struct node *n)
{
    struct convolution c;

    convolution_read(n, false, &c);
    return c.taps;
}
