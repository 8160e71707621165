/* Pooling. Four channels of one place are one cell. Source: onnx.ai/onnx/operators, MaxPool and
 * AveragePool 22. */
#include "daemon/compiler/operators/lower.h"
#include <inttypes.h>
#include <string.h>

enum pooling { POOL_MAX, POOL_AVERAGE, POOL_LP };

/* |x|^p */
static const char *powered(struct kernel *k, const char *x, int64_t p)
{
    if (p == 1)
        return kernel_format(k, "Mathf.Abs({0})", &x);
    if (p == 2)
        return kernel_format(k, "{0} * {0}", &x);
    return kernel_text(k, "Mathf.Pow(Mathf.Abs(%s), %s)", x, kernel_number(k, (double)p));
}

static void lower_pool(struct kernel *k, const struct node *n, enum pooling pooling)
{
    bool average = pooling == POOL_AVERAGE, max = pooling == POOL_MAX;
    int64_t power = node_int(n, "p", 2);
    struct value *x = n->inputs[0];
    struct index_pool *p = k->pool;
    int axes = x->shape.axes - 2, count;
    const int64_t *kernel = node_ints(n, "kernel_shape", &count),
                  *strides = node_ints(n, "strides", &count);
    const int64_t *dilations = node_ints(n, "dilations", &count),
                  *pads = node_ints(n, "pads", &count);
    bool padded = average && node_int(n, "count_include_pad", 0), counted = false, sparse = false;
    const struct index *source[MAX_AXES];
    struct condition inside[MAX_AXES], counting[MAX_AXES];
    const char *sums[4], *texts[4], *total = NULL;
    int64_t taps = 1;
    static const char *const names[] = {"ku", "kv", "kw", "kz", "ky", "kx"}, *const places[] = {
                                                                                 "iu", "iv", "iw",
                                                                                 "iz", "iy", "ix"};

    for (int i = 0; i < axes; i++) {
        int64_t reach = (n->outputs[0]->shape.dim[i + 2] - 1) * (strides ? strides[i] : 1) +
                        (kernel[i] - 1) * (dilations ? dilations[i] : 1) - (pads ? pads[i] : 0);
        int64_t end = x->shape.dim[i + 2] - 1 + (padded && pads ? pads[axes + i] : 0);

        taps *= kernel[i];
        /* All taps of a dilated window may lie in the padding: the mean of nothing is 0. */
        sparse = sparse || (dilations && dilations[i] > 1);
        /* The divisor differs from place to place where windows stick out of what counts. */
        counted = counted || reach > end || (!padded && pads && pads[i] > 0);
    }
    for (int j = 0; j < 4 && j < x->shape.dim[1]; j++) {
        sums[j] = kernel_name(k, (const char *const[]){"r", "g", "b", "a"}[j]);
        kernel_line(k, "float %s = %s;", sums[j], max ? "-3.4e38f" : "0f");
    }
    if (average && counted) {
        total = kernel_name(k, "count");
        kernel_line(k, "float %s = 0f;", total);
    }
    source[0] = k->out.at[0][0];
    source[1] = k->out.at[0][1];
    for (int i = 0; i < axes; i++) {
        const struct index *tap = kernel_loop(k, names[MAX_AXES - 2 - axes + i], kernel[i]);
        int64_t begin = pads ? pads[i] : 0, extent = x->shape.dim[i + 2];

        source[i + 2] = kernel_bind(
            k, places[MAX_AXES - 2 - axes + i],
            index_plus(p,
                       index_add(p, index_times(p, k->out.at[0][i + 2], strides ? strides[i] : 1),
                                 index_times(p, tap, dilations ? dilations[i] : 1)),
                       -begin));
        inside[i] = (struct condition){source[i + 2], 0, extent - 1};
        counting[i] =
            (struct condition){source[i + 2], -begin, extent - 1 + (pads ? pads[axes + i] : 0)};
    }
    if (total && padded) {
        int open = kernel_if(k, counting, axes);

        if (open >= 0)
            kernel_line(k, "%s += 1f;", total);
        kernel_end_if(k, open);
    }
    int open = kernel_if(k, inside, axes);
    struct lanes e =
        lanes_along(k, source, x->shape.axes, 1, x->shape.dim[1] < 4 ? (int)x->shape.dim[1] : 4);
    if (open >= 0)
        kernel_read(k, x, &e, -1, texts);
    for (int j = 0; open >= 0 && j < e.count; j++) {
        if (!max)
            kernel_line(k, "%s += %s;", sums[j], average ? texts[j] : powered(k, texts[j], power));
        else
            kernel_line(k, "%s = Mathf.Max(%s, %s);", sums[j], sums[j], texts[j]);
    }
    if (total && !padded && open >= 0)
        kernel_line(k, "%s += 1f;", total);
    kernel_end_if(k, open);
    for (int i = axes; i-- > 0;)
        kernel_end_loop(k, kernel[i]);
    for (int j = 0; j < 4; j++) {
        if (j >= e.count)
            k->lane[j] = "0f";
        else if (max || (!average && power == 1))
            k->lane[j] = sums[j];
        else if (!average)
            k->lane[j] = power == 2 ? kernel_text(k, "Mathf.Sqrt(%s)", sums[j])
                                    : kernel_text(k, "Mathf.Pow(%s, %s)", sums[j],
                                                  kernel_number(k, 1 / (double)power));
        else if (total)
            k->lane[j] =
                kernel_text(k, sparse ? "%s / Mathf.Max(%s, 1f)" : "%s / %s", sums[j], total);
        else
            k->lane[j] = kernel_text(k, "%s * %s", sums[j], kernel_number(k, 1.0 / (double)taps));
        if (e.count > j)
            k->lane[j] = kernel_local(k, "v", k->lane[j]);
    }
}

void lower_max_pool(struct kernel *k, const struct node *n)
{
    lower_pool(k, n, POOL_MAX);
}

void lower_average_pool(struct kernel *k, const struct node *n)
{
    lower_pool(k, n, POOL_AVERAGE);
}

void lower_lp_pool(struct kernel *k, const struct node *n)
{
    lower_pool(k, n, POOL_LP);
}

int64_t window_pool(const struct node *n)
{
    int count;
    const int64_t *kernel = node_ints(n, "kernel_shape", &count);
    int64_t taps = 1;

    for (int i = 0; i < count; i++)
        taps *= kernel[i];
    return taps;
}

int64_t reuse_pool(const struct node *n, int input)
{
    (void)input;
    return window_pool(n) * shape_count(&n->outputs[0]->shape) /
           (shape_count(&n->inputs[0]->shape) + 1);
}

/*
 * x / (bias + alpha / size * sum of the squares of the channels around)^beta. Four channels and
 * those around them are a few cells; each square is added to those of the four sums whose window it
 * is in.
 */
void lower_lrn(struct kernel *k, const struct node *n)
{
    struct value *x = n->inputs[0];
    struct index_pool *p = k->pool;
    int64_t size = node_int(n, "size", 1), before = (size - 1) / 2, after = size - 1 - before;
    int64_t channels = x->shape.dim[1], most = (channels + 3) / 4; /* whatever the size claims */
    int64_t first = before < channels ? -((before + 3) / 4) : -most;
    int64_t last = after < channels ? (3 + after) / 4 : most;
    int lanes = channels == 1 ? k->out.count : channels < 4 ? (int)channels : 4;
    const char *sums[4], *own[4], *texts[4];
    const struct index *at[MAX_AXES];

    for (int j = 0; j < lanes; j++) {
        sums[j] = kernel_name(k, (const char *const[]){"r", "g", "b", "a"}[j]);
        kernel_line(k, "float %s = 0f;", sums[j]);
    }
    /* Of a single channel: the lanes are whatever the output has. */
    struct lanes e = channels == 1 ? k->out : lanes_along(k, k->out.at[0], x->shape.axes, 1, lanes);
    kernel_read(k, x, &e, channels == 1 ? -1 : 1, own);
    memcpy(at, k->out.at[0], sizeof at);
    for (int j = 0; channels == 1 && j < lanes; j++) {
        own[j] = kernel_local(k, "q", own[j]);
        kernel_line(k, "%s += %s * %s;", sums[j], own[j], own[j]);
    }
    for (int64_t group = first; channels > 1 && group <= last; group++) {
        struct condition there;
        int opened = 0;

        at[1] = index_plus(p, k->out.at[0][1], 4 * group);
        there = (struct condition){at[1], 0, channels - 1};
        opened = kernel_if(k, &there, 1);
        if (opened < 0)
            continue;
        e = lanes_along(k, at, x->shape.axes, 1, lanes);
        kernel_read(k, x, &e, 1, texts);
        for (int i = 0; i < lanes; i++)
            texts[i] = kernel_local(k, "q", powered(k, texts[i], 2));
        for (int j = 0; j < lanes; j++) {
            struct strbuf s;

            strbuf_init(&s, k->arena);
            for (int i = 0; i < lanes; i++)
                if (4 * group + i - j >= -before && 4 * group + i - j <= after)
                    strbuf_printf(&s, "%s%s", s.length ? " + " : "", texts[i]);
            if (s.length)
                kernel_line(k, "%s += %s;", sums[j], s.text);
        }
        kernel_end_if(k, opened);
    }
    for (int j = 0; j < 4; j++)
        k->lane[j] =
            j >= lanes
                ? "0f"
                : kernel_local(
                      k, "v",
                      kernel_text(
                          k, "%s / Mathf.Pow(%s + %s * %s, %s)", own[j],
                          kernel_number(k, (double)node_float(n, "bias", 1)), sums[j],
                          kernel_number(k, (double)node_float(n, "alpha", 1e-4f) / (double)size),
                          kernel_number(k, (double)node_float(n, "beta", 0.75f))));
}
