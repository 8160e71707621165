/* Fourier transforms and the constants that go with them. */
#include "daemon/compiler/operators/arguments.h"
#include "daemon/compiler/operators/move.h"
#include <inttypes.h>
#include <math.h>
#include <string.h>

/* ---- DFT ---- */

struct dft {
    int axis;
    int64_t in, length; /* along the axis; the transform's length */
    int64_t out;        /* along the axis */
    int64_t parts;      /* of an input number: 1 or 2 */
    bool inverse, onesided;
};

/* Opset 17 had the axis as an attribute, 1 where it was left out. */
static void dft_upgrade(struct graph *g, struct node *n)
{
    if (n->opset >= 20)
        return;
    if (!node_find(n, "axis"))
        node_set_int(n, "axis", 1);
    argument_from_int(g, n, "axis", 2);
}

/* Over an input with known axes; false where something is not constant or unknown, with *why where
 * it is wrong. */
static bool dft_read(struct node *n, const struct shape *x, struct dft *d, const char **why)
{
    enum argument length_state, axis_state;
    int64_t length = -1, axis = -2;

    *why = NULL;
    *d = (struct dft){.inverse = node_int(n, "inverse", 0) != 0,
                      .onesided = node_int(n, "onesided", 0) != 0};
    if (!argument_int(n, 1, &length_state, &length) || !argument_int(n, 2, &axis_state, &axis))
        return false;
    if (!shape_known(x) || length_state == ARGUMENT_UNKNOWN || axis_state == ARGUMENT_UNKNOWN)
        return false;
    d->axis = shape_axis(x, axis);
    if (d->axis < 0 || d->axis == x->axes - 1 || x->axes < 2) {
        *why = "axis is none of the signal's";
        return false;
    }
    d->parts = x->dim[x->axes - 1];
    if (d->parts != 1 && d->parts != 2) {
        *why = "the last axis holds neither real nor complex numbers";
        return false;
    }
    bool real = d->onesided && d->inverse;
    if (d->onesided && !d->inverse && d->parts != 1) {
        *why = "a one-sided transform is of real numbers";
        return false;
    }
    d->in = x->dim[d->axis];
    d->length = length_state == ARGUMENT_KNOWN ? length : real ? 2 * (d->in - 1) : d->in;
    if (d->length < 1 || d->length > INT32_MAX) {
        *why = "the transform has no length";
        return false;
    }
    d->out = d->onesided && !d->inverse ? d->length / 2 + 1 : d->length;
    return true;
}

static void dft_infer(struct node *n)
{
    const struct shape *x = &n->inputs[0]->shape;
    struct shape out = shape_unknown;
    struct dft d;
    const char *why;

    if (dft_read(n, x, &d, &why)) {
        out = *x;
        out.dim[d.axis] = d.out;
        out.dim[x->axes - 1] = d.onesided && d.inverse ? 1 : 2;
    }
    if (why)
        infer_fault(n, "%s", why);
    else
        infer_output(n, 0, n->inputs[0]->type, &out);
}

/* cosines and sines of 2 pi k / length */
static double *turns(int64_t length, struct arena *scratch)
{
    double *t = NEW_ARRAY(scratch, 2 * length, double);
    for (int64_t k = 0; k < length; k++) {
        t[2 * k] = cos(2 * M_PI * (double)k / (double)length);
        t[2 * k + 1] = sin(2 * M_PI * (double)k / (double)length);
    }
    return t;
}

/* y[k] (complex) = sum of x[j] exp(∓2 pi i j k / length), over count numbers of x. */
static void transform(const double *x, int64_t count, int64_t length, const double *turn,
                      bool inverse, int64_t out, double *y)
{
    for (int64_t k = 0; k < out; k++) {
        double real = 0, imaginary = 0;
        for (int64_t j = 0; j < count; j++) {
            const double *t = turn + 2 * (j * k % length);
            double sine = inverse ? t[1] : -t[1];
            real += x[2 * j] * t[0] - x[2 * j + 1] * sine;
            imaginary += x[2 * j] * sine + x[2 * j + 1] * t[0];
        }
        y[2 * k] = inverse ? real / (double)length : real;
        y[2 * k + 1] = inverse ? imaginary / (double)length : imaginary;
    }
}

static bool dft_evaluate(struct node *n, struct tensor *const *in, struct tensor **out,
                         struct arena *arena, struct arena *scratch)
{
    struct context *c = n->graph->context;
    const struct shape *s = &in[0]->shape;
    struct shape shape = *s;
    struct elements to;
    struct dft d;
    const char *why;

    if (!dft_read(n, s, &d, &why))
        return false;
    bool real = d.onesided && d.inverse;
    shape.dim[d.axis] = d.out;
    shape.dim[shape.axes - 1] = real ? 1 : 2;
    if (!elements_new(arena, scratch, in[0]->type, &shape, &to))
        return false;
    const double *x = tensor_doubles(c, in[0], scratch), *turn = turns(d.length, scratch);
    int64_t inner = shape_product(s, d.axis + 1, s->axes - 1), outer = shape_product(s, 0, d.axis);
    /* with a one-sided spectrum the other half mirrors it */
    int64_t half = d.length / 2 + 1, given = real && half < d.in ? half : d.in;
    int64_t count = real ? d.length : d.in < d.length ? d.in : d.length;
    double *line = NEW_ARRAY(scratch, 2 * d.length, double);
    double *result = NEW_ARRAY(scratch, 2 * d.out, double);

    for (int64_t row = 0; row < outer * inner; row++) {
        int64_t o = row / inner, i = row % inner;
        context_poll(c);
        memset(line, 0, (size_t)(2 * d.length) * sizeof *line);
        for (int64_t j = 0; j < given && j < d.length; j++) {
            const double *from = x + ((o * d.in + j) * inner + i) * d.parts;
            line[2 * j] = from[0];
            line[2 * j + 1] = d.parts == 2 ? from[1] : 0;
        }
        if (real) {
            line[1] = 0;
            for (int64_t j = 1; j < half; j++) {
                if (2 * j == d.length)
                    line[2 * j + 1] = 0;
                line[2 * (d.length - j)] = line[2 * j];
                line[2 * (d.length - j) + 1] = 2 * j == d.length ? 0 : -line[2 * j + 1];
            }
        }
        transform(line, count, d.length, turn, d.inverse, d.out, result);
        for (int64_t k = 0; k < d.out; k++) {
            int64_t at = (o * d.out + k) * inner + i;
            elements_set(&to, real ? at : 2 * at, result[2 * k]);
            if (!real)
                elements_set(&to, 2 * at + 1, result[2 * k + 1]);
        }
    }
    out[0] = elements_finish(&to);
    return true;
}

const struct operator_functions dft_functions = {
    .role = ROLE_STEP, .upgrade = dft_upgrade, .infer = dft_infer, .evaluate = dft_evaluate};

/* ---- STFT ---- */

struct stft {
    int64_t batch, samples, parts, step, frame, window, frames, bins;
    bool onesided;
};

static bool stft_read(struct node *n, const struct shape *x, struct stft *s, const char **why)
{
    enum argument step_state, frame_state;
    const struct value *window = node_input(n, 2);
    int64_t step = 0, frame = -1;

    *why = NULL;
    if (!argument_int(n, 1, &step_state, &step) || !argument_int(n, 3, &frame_state, &frame))
        return false;
    if (!shape_known(x) || (window && !shape_known(&window->shape)) ||
        step_state != ARGUMENT_KNOWN || frame_state == ARGUMENT_UNKNOWN)
        return false;
    if (x->axes < 2 || x->axes > 3 || (window && window->shape.axes != 1) ||
        (x->axes == 3 && x->dim[2] != 1 && x->dim[2] != 2)) {
        *why = "the signal is not [batch, length, 1 or 2], or the window not of one axis";
        return false;
    }
    *s = (struct stft){.batch = x->dim[0],
                       .samples = x->dim[1],
                       .parts = x->axes == 3 ? x->dim[2] : 1,
                       .step = step,
                       .onesided = node_int(n, "onesided", 1) != 0};
    s->frame = frame_state == ARGUMENT_KNOWN ? frame : window ? window->shape.dim[0] : s->samples;
    s->window = window ? window->shape.dim[0] : s->frame;
    if (step < 1 || s->frame < 1 || s->frame > s->samples || s->window > s->frame ||
        s->frame > INT32_MAX)
        *why = "step, frame and window do not fit the signal";
    else if (s->onesided && s->parts == 2)
        *why = "a one-sided transform is of real numbers";
    if (*why)
        return false;
    s->frames = 1 + (s->samples - s->frame) / step;
    s->bins = s->onesided ? s->frame / 2 + 1 : s->frame;
    return true;
}

static void stft_infer(struct node *n)
{
    struct stft s;
    const char *why;
    struct shape out = shape_unknown;
    if (stft_read(n, &n->inputs[0]->shape, &s, &why))
        out = shape_of(4, (const int64_t[]){s.batch, s.frames, s.bins, 2});
    if (why)
        infer_fault(n, "%s", why);
    else if (argument_fits(n, &out))
        infer_output(n, 0, n->inputs[0]->type, &out);
}

static bool stft_evaluate(struct node *n, struct tensor *const *in, struct tensor **out,
                          struct arena *arena, struct arena *scratch)
{
    struct context *c = n->graph->context;
    struct stft s;
    const char *why;
    struct elements to;

    if (!stft_read(n, &in[0]->shape, &s, &why))
        return false;
    struct shape shape = shape_of(4, (const int64_t[]){s.batch, s.frames, s.bins, 2});
    if (!elements_new(arena, scratch, in[0]->type, &shape, &to))
        return false;
    const double *x = tensor_doubles(c, in[0], scratch), *turn = turns(s.frame, scratch);
    const double *window = n->input_count > 2 && in[2] ? tensor_doubles(c, in[2], scratch) : NULL;
    double *line = NEW_ARRAY(scratch, 2 * s.frame, double);
    double *result = NEW_ARRAY(scratch, 2 * s.bins, double);

    for (int64_t row = 0; row < s.batch * s.frames; row++) {
        int64_t first = row / s.frames * s.samples + row % s.frames * s.step;
        context_poll(c);
        for (int64_t j = 0; j < s.window; j++) {
            double weight = window ? window[j] : 1;
            line[2 * j] = weight * x[(first + j) * s.parts];
            line[2 * j + 1] = s.parts == 2 ? weight * x[(first + j) * 2 + 1] : 0;
        }
        transform(line, s.window, s.frame, turn, false, s.bins, result);
        for (int64_t k = 0; k < 2 * s.bins; k++)
            elements_set(&to, row * 2 * s.bins + k, result[k]);
    }
    out[0] = elements_finish(&to);
    return true;
}

const struct operator_functions stft_functions = {
    .role = ROLE_STEP, .infer = stft_infer, .evaluate = stft_evaluate};

/* ---- windows ---- */

static void window_infer(struct node *n)
{
    enum argument state;
    int64_t size = -1;
    if (!argument_int(n, 0, &state, &size))
        return;
    if (state == ARGUMENT_KNOWN && size < 0) {
        infer_fault(n, "the size is %" PRId64, size);
        return;
    }
    struct shape out = shape_of(1, &size);
    infer_output(n, 0, (enum element_type)node_int(n, "output_datatype", TYPE_FLOAT32), &out);
}

/* a - b cos(t) + c cos(2t) */
static bool window_evaluate(struct node *n, struct tensor *const *in, struct tensor **out,
                            struct arena *arena, struct arena *scratch)
{
    static const struct {
        const char *name;
        double a, b, c;
    } rows[] = {{"HannWindow", 0.5, 0.5, 0},
                {"HammingWindow", 25.0 / 46, 21.0 / 46, 0},
                {"BlackmanWindow", 0.42, 0.5, 0.08}};
    int64_t size = tensor_integers(n->graph->context, in[0], scratch)[0];
    struct shape shape = shape_of(1, &size);
    struct elements to;
    int w = 0;

    if (size < 0 ||
        !elements_new(arena, scratch,
                      (enum element_type)node_int(n, "output_datatype", TYPE_FLOAT32), &shape, &to))
        return false;
    while (strcmp(rows[w].name, n->op_type) != 0)
        w++;
    int64_t period = node_int(n, "periodic", 1) != 0 ? size : size - 1;
    for (int64_t i = 0; i < size; i++) {
        double t = 2 * M_PI * (double)i / (double)(period > 0 ? period : 1);
        double number = rows[w].a - rows[w].b * cos(t) + rows[w].c * cos(2 * t);
        elements_set(&to, i, period > 0 ? number : 1);
    }
    out[0] = elements_finish(&to);
    return true;
}

const struct operator_functions hann_window_functions = {
    .role = ROLE_NONE, .infer = window_infer, .evaluate = window_evaluate};
const struct operator_functions hamming_window_functions = {
    .role = ROLE_NONE, .infer = window_infer, .evaluate = window_evaluate};
const struct operator_functions blackman_window_functions = {
    .role = ROLE_NONE, .infer = window_infer, .evaluate = window_evaluate};

/* ---- MelWeightMatrix ---- */

static void mel_infer(struct node *n)
{
    enum argument bands_state, length_state;
    int64_t bands = -1, length = -1;
    if (!argument_int(n, 0, &bands_state, &bands) || !argument_int(n, 1, &length_state, &length))
        return;
    if ((bands_state == ARGUMENT_KNOWN && bands < 0) ||
        (length_state == ARGUMENT_KNOWN && length < 0)) {
        infer_fault(n, "num_mel_bins or dft_length is negative");
        return;
    }
    struct shape out = shape_of(2, (const int64_t[]){length < 0 ? -1 : length / 2 + 1, bands});
    if (argument_fits(n, &out))
        infer_output(n, 0, (enum element_type)node_int(n, "output_datatype", TYPE_FLOAT32), &out);
}

/* Triangles between edges that lie evenly on the mel scale, 2595 log10(1 + f / 700). */
static bool mel_evaluate(struct node *n, struct tensor *const *in, struct tensor **out,
                         struct arena *arena, struct arena *scratch)
{
    struct context *c = n->graph->context;
    int64_t bands = tensor_integers(c, in[0], scratch)[0];
    int64_t length = tensor_integers(c, in[1], scratch)[0];
    int64_t rate = tensor_integers(c, in[2], scratch)[0];
    double low = 2595 * log10(1 + tensor_doubles(c, in[3], scratch)[0] / 700);
    double high = 2595 * log10(1 + tensor_doubles(c, in[4], scratch)[0] / 700);
    struct elements to;

    if (bands < 0 || bands > 1 << 24 || length < 0 || rate < 1)
        return false;
    int64_t bins = length / 2 + 1, *edges = NEW_ARRAY(scratch, bands + 2, int64_t);
    struct shape shape = shape_of(2, (const int64_t[]){bins, bands});
    if (!elements_new(arena, scratch,
                      (enum element_type)node_int(n, "output_datatype", TYPE_FLOAT32), &shape, &to))
        return false;
    for (int64_t i = 0; i < bands + 2; i++) {
        double mel = low + (double)i * (high - low) / (double)(bands + 2);
        double edge = floor((double)(length + 1) * 700 * (pow(10, mel / 2595) - 1) / (double)rate);
        if (!(edge >= 0 && edge < (double)bins))
            return false;
        edges[i] = (int64_t)edge;
    }
    for (int64_t i = 0; i < bands; i++) {
        int64_t left = edges[i], center = edges[i + 1], right = edges[i + 2];
        if (left == center)
            elements_set(&to, center * bands + i, 1);
        for (int64_t j = left; left < center && j <= center; j++)
            elements_set(&to, j * bands + i, (double)(j - left) / (double)(center - left));
        for (int64_t j = center; j < right; j++)
            elements_set(&to, j * bands + i, (double)(right - j) / (double)(right - center));
    }
    out[0] = elements_finish(&to);
    return true;
}

const struct operator_functions mel_weight_matrix_functions = {
    .role = ROLE_NONE, .infer = mel_infer, .evaluate = mel_evaluate};
