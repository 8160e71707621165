#include "daemon/compiler/operators/window.h"
#include <string.h>

/* Larger attributes have no meaning for any tensor; smaller ones cannot overflow below. */
enum { LARGEST = 1 << 30 };

/* One attribute of a number for each spatial axis (sets: of twice as many, begins then ends). */
static bool read_ints(struct node *n, const char *name, int axes, int sets, int64_t least,
                      int64_t otherwise, int64_t *values)
{
    int count;
    const int64_t *ints = node_ints(n, name, &count);

    for (int i = 0; i < axes * sets; i++)
        values[i] = otherwise;
    /* PyTorch writes empty lists for defaults. */
    if (!ints || count == 0)
        return true;
    if (count != axes * sets) {
        infer_fault(n, "its attribute %s has %d numbers for %d spatial axes", name, count, axes);
        return false;
    }
    for (int i = 0; i < count; i++) {
        if (ints[i] < least || ints[i] > LARGEST) {
            infer_fault(n, "its attribute %s holds %lld", name, (long long)ints[i]);
            return false;
        }
        values[i] = ints[i];
    }
    return true;
}

/* Everything but the padding and the extents of the output. */
static bool read_common(struct node *n, const struct shape *x, const struct shape *kernel,
                        struct window *w)
{
    int64_t elements = 1;
    int count;

    memset(w, 0, sizeof *w);
    w->axes = x->axes - 2;
    if (w->axes < 1) {
        infer_fault(n, "its input has %d axes; it needs a batch, channels and at least one more",
                    x->axes);
        return false;
    }
    if (kernel && kernel->axes != x->axes) {
        infer_fault(n, "its input has %d axes and its weights have %d", x->axes, kernel->axes);
        return false;
    }
    node_ints(n, "kernel_shape", &count);
    if (!kernel && count == 0) {
        infer_fault(n, "its attribute kernel_shape is missing");
        return false;
    }
    if (!read_ints(n, "kernel_shape", w->axes, 1, 1, -1, w->kernel) ||
        !read_ints(n, "strides", w->axes, 1, 1, 1, w->stride) ||
        !read_ints(n, "dilations", w->axes, 1, 1, 1, w->dilation))
        return false;
    for (int i = 0; i < w->axes; i++) {
        w->in[i] = x->dim[i + 2];
        w->out[i] = -1;
        if (w->in[i] > LARGEST || (kernel && kernel->dim[i + 2] > LARGEST)) {
            infer_fault(n, "axis %d has more elements than a window can cover", i + 2);
            return false;
        }
        if (!kernel || kernel->dim[i + 2] < 0)
            continue;
        if (w->kernel[i] < 0)
            w->kernel[i] = kernel->dim[i + 2];
        if (w->kernel[i] != kernel->dim[i + 2] || w->kernel[i] < 1) {
            infer_fault(n, "its kernel has %lld elements along axis %d and its weights have %lld",
                        (long long)w->kernel[i], i + 2, (long long)kernel->dim[i + 2]);
            return false;
        }
    }
    for (int i = 0; i < w->axes; i++) {
        elements *= w->kernel[i] > 0 ? w->kernel[i] : 1;
        if (elements > LARGEST) {
            infer_fault(n, "its kernel has more than %d elements", LARGEST);
            return false;
        }
    }
    return true;
}

enum auto_pad { NOTSET, SAME_UPPER, SAME_LOWER, VALID };

static bool read_auto_pad(struct node *n, enum auto_pad *pad)
{
    static const char *const names[] = {"NOTSET", "SAME_UPPER", "SAME_LOWER", "VALID"};
    const char *text = node_string(n, "auto_pad", "NOTSET");

    for (int i = 0; i < 4; i++)
        if (strcmp(text, names[i]) == 0) {
            *pad = (enum auto_pad)i;
            return true;
        }
    infer_fault(n, "its attribute auto_pad is '%s'", *text ? text : "empty");
    return false;
}

/* Splits padding over both sides; the odd element goes to the end or to the begin. */
static void split(struct window *w, int i, int64_t total, bool odd_at_end)
{
    w->begin[i] = odd_at_end ? total / 2 : total - total / 2;
    w->end[i] = total - w->begin[i];
}

bool window_read(struct node *n, const struct shape *x, const struct shape *kernel,
                 struct window *w)
{
    int64_t pads[2 * WINDOW_AXES];
    bool ceil = node_int(n, "ceil_mode", 0) != 0;
    enum auto_pad pad;

    if (!read_common(n, x, kernel, w) || !read_auto_pad(n, &pad) ||
        !read_ints(n, "pads", w->axes, 2, 0, 0, pads))
        return false;
    for (int i = 0; i < w->axes; i++) {
        int64_t in = w->in[i], step = w->stride[i], reach, room;

        if (pad == NOTSET) {
            w->begin[i] = pads[i];
            w->end[i] = pads[w->axes + i];
        }
        if (in < 0 || w->kernel[i] < 0)
            continue;
        reach = (w->kernel[i] - 1) * w->dilation[i] + 1;
        if (pad == SAME_UPPER || pad == SAME_LOWER) {
            int64_t total;

            w->out[i] = (in + step - 1) / step;
            total = (w->out[i] - 1) * step + reach - in;
            split(w, i, total > 0 ? total : 0, pad == SAME_UPPER);
            continue;
        }
        room = in + w->begin[i] + w->end[i] - reach;
        if (room < 0) {
            infer_fault(n,
                        "its window of %lld elements along axis %d is larger than its input, %lld",
                        (long long)reach, i + 2, (long long)(room + reach));
            return false;
        }
        w->out[i] = room / step + 1;
        if (ceil && pad != VALID && room % step != 0) {
            /* One window more, but for one that starts beyond the input and its begin padding. */
            if (w->out[i] * step < in + w->begin[i])
                w->out[i]++;
        }
    }
    return true;
}

bool window_read_transposed(struct node *n, const struct shape *x, const struct shape *kernel,
                            struct window *w)
{
    int64_t pads[2 * WINDOW_AXES], more[WINDOW_AXES], given[WINDOW_AXES];
    const int64_t *output_shape;
    enum auto_pad pad;
    int count;

    if (!read_common(n, x, kernel, w) || !read_auto_pad(n, &pad) ||
        !read_ints(n, "pads", w->axes, 2, 0, 0, pads) ||
        !read_ints(n, "output_padding", w->axes, 1, 0, 0, more))
        return false;
    /* Some exporters give output_shape with batch and channels. */
    output_shape = node_ints(n, "output_shape", &count);
    if (output_shape && count == x->axes) {
        output_shape += 2;
        count -= 2;
    }
    if (output_shape && count != 0 && count != w->axes) {
        infer_fault(n, "its attribute output_shape has %d numbers for %d spatial axes", count,
                    w->axes);
        return false;
    }
    for (int i = 0; i < w->axes; i++) {
        int64_t full, total;
        bool same;

        given[i] = output_shape && count ? output_shape[i] : -1;
        if (pad == NOTSET) {
            w->begin[i] = pads[i];
            w->end[i] = pads[w->axes + i];
        }
        if (w->in[i] < 0 || w->kernel[i] < 0)
            continue;
        full = w->stride[i] * (w->in[i] - 1) + more[i] + (w->kernel[i] - 1) * w->dilation[i] + 1;
        same = given[i] < 0 && (pad == SAME_UPPER || pad == SAME_LOWER);
        if (same)
            given[i] = w->in[i] * w->stride[i];
        if (given[i] < 0) {
            w->out[i] = full - w->begin[i] - w->end[i];
        } else {
            total = full - given[i];
            if (total < 0 && same) {
                infer_fault(
                    n, "its output of %lld elements along axis %d would need a padding of %lld",
                    (long long)given[i], i + 2, (long long)total);
                return false;
            }
            /* An output_shape beyond what is written: the surplus at the end is output_padding. */
            if (total < 0)
                more[i] -= total;
            split(w, i, total > 0 ? total : 0, pad == SAME_UPPER);
            w->out[i] = given[i];
        }
        w->more[i] = more[i];
        if (w->out[i] < 0) {
            infer_fault(n, "its padding along axis %d is larger than its output", i + 2);
            return false;
        }
    }
    return true;
}

void window_settle(struct node *n, const struct window *w)
{
    int64_t pads[2 * WINDOW_AXES];
    bool surplus = false;

    for (int i = 0; i < w->axes; i++) {
        if (w->in[i] < 0 || w->out[i] < 0 || w->kernel[i] < 0)
            return;
        surplus = surplus || w->more[i];
        pads[i] = w->begin[i];
        pads[w->axes + i] = w->end[i];
    }
    node_set_ints(n, "kernel_shape", w->axes, w->kernel);
    node_set_ints(n, "strides", w->axes, w->stride);
    node_set_ints(n, "dilations", w->axes, w->dilation);
    node_set_ints(n, "pads", 2 * w->axes, pads);
    if (surplus)
        node_set_ints(n, "output_padding", w->axes, w->more);
    node_unset(n, "auto_pad");
    node_unset(n, "output_shape");
}

/* The sites for which site * step + shift lies in [0, extent): from *low on, so many. */
static int64_t sites_inside(int64_t sites, int64_t step, int64_t shift, int64_t extent,
                            int64_t *low)
{
    int64_t high;

    if (extent <= shift)
        return 0;
    *low = shift >= 0 ? 0 : (-shift + step - 1) / step;
    high = (extent - 1 - shift) / step + 1;
    if (high > sites)
        high = sites;
    return high > *low ? high - *low : 0;
}

struct tap *window_taps(const struct window *w, bool transposed, int64_t *count,
                        struct arena *scratch)
{
    const int64_t *sites = transposed ? w->in : w->out, *reads = transposed ? w->out : w->in;
    int64_t at[WINDOW_AXES] = {0}, total = 1;
    struct tap *taps;

    for (int i = 0; i < w->axes; i++)
        total *= w->kernel[i];
    taps = NEW_ARRAY(scratch, total, struct tap);
    for (int64_t t = 0; t < total; t++) {
        int64_t dim[WINDOW_AXES], low[WINDOW_AXES] = {0}, shift[WINDOW_AXES];
        int64_t stride[2][WALK_AXES] = {{0}}, site_stride = 1, read_stride = 1;
        struct tap *tap = &taps[t];

        for (int i = 0; i < w->axes; i++) {
            shift[i] = at[i] * w->dilation[i] - w->begin[i];
            dim[i] = sites_inside(sites[i], w->stride[i], shift[i], reads[i], &low[i]);
            tap->empty = tap->empty || dim[i] == 0;
        }
        /* A tap that reads something has elements on both sides, which bounds their products. */
        for (int i = w->axes - 1; i >= 0 && !tap->empty; i--) {
            stride[0][i] = site_stride;
            stride[1][i] = read_stride * w->stride[i];
            tap->site += low[i] * site_stride;
            tap->read += (low[i] * w->stride[i] + shift[i]) * read_stride;
            site_stride *= sites[i];
            read_stride *= reads[i];
        }
        walk_init(&tap->walk, w->axes, dim, 2, (const int64_t(*)[WALK_AXES])stride);
        for (int i = w->axes - 1; i >= 0 && ++at[i] == w->kernel[i]; i--)
            at[i] = 0;
    }
    *count = total;
    return taps;
}
