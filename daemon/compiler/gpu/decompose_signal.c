/*
 * Linear operators whose matrix is known: it is what they make of the unit vectors, and they become
 * one product; long transforms two, over the factors of their length. And running sums, which over
 * long axes are taken in two levels.
 */
#include "daemon/compiler/gpu/make.h"
#include "daemon/compiler/operators/operator.h"
#include "daemon/compiler/operators/work.h"
#include <math.h>
#include <string.h>

enum {
    LARGEST_MATRIX = 1 << 24,
    LONGEST_COLUMN = 8192,
    LARGE_MATRIX = 1 << 20, /* above it, two products are better where the factors are fair … */
    FAIR_FACTOR = 8,        /* … both at least this */
};

/* A constant [count, …s]: unit vector number i along all of s. */
static struct value *units(struct node *n, int64_t count, const struct shape *s)
{
    struct shape all = {.axes = s->axes + 1};
    float *numbers = NEW_ARRAY(&n->graph->context->arena, count * count, float);

    all.dim[0] = count;
    memcpy(all.dim + 1, s->dim, (size_t)s->axes * sizeof *s->dim);
    for (int64_t i = 0; i < count; i++)
        numbers[i * count + i] = 1;
    return graph_constant_floats(n->graph, "", &all, numbers);
}

static void copy_attributes(struct node *to, const struct node *from)
{
    for (int i = 0; i < from->attribute_count; i++)
        APPEND(&to->graph->context->arena, to->attributes, to->attribute_count,
               to->attribute_room) = from->attributes[i];
}

/* A transform as the node says it: of `in` numbers of `parts` parts (1: real) to `out` of
 * out_parts, along axis; `length` is the transform's own. */
struct transform {
    int axis;
    int64_t in, parts, out, out_parts, length;
    bool inverse;
};

static bool read_transform(struct node *n, struct transform *t)
{
    const struct shape *x = &n->inputs[0]->shape, *y = &n->outputs[0]->shape;
    int count, one;
    const int64_t *axis = node_input(n, 2) ? node_constant_ints(n, 2, &count) : NULL;
    const int64_t *length = node_input(n, 1) ? node_constant_ints(n, 1, &one) : NULL;

    t->axis = shape_axis(x, axis ? axis[0] : -2);
    if (t->axis < 0 || (axis && count != 1) || (node_input(n, 1) && !length))
        return false;
    t->parts = x->dim[x->axes - 1];
    t->in = x->dim[t->axis];
    t->out = y->dim[t->axis];
    t->out_parts = y->dim[x->axes - 1];
    t->inverse = node_int(n, "inverse", 0);
    t->length = length                                     ? length[0]
                : t->inverse && node_int(n, "onesided", 0) ? 2 * (t->in - 1)
                                                           : t->in;
    return true;
}

/* As one product: v is [rows, in, parts], the result [rows, out, parts]. */
static struct value *transform_at_once(struct node *n, const struct transform *t, struct value *v)
{
    int64_t rows = v->shape.dim[0], from = t->in * t->parts;
    /* The matrix: the transform of unit vectors [from, length, parts]. */
    struct shape line = shape_of(2, (const int64_t[]){t->in, t->parts});
    struct value *inputs[] = {units(n, from, &line), node_input(n, 1),
                              graph_constant_ints(n->graph, "", 1, (const int64_t[]){1})};
    struct node *transform = make_node(n, "DFT", 3, inputs);

    copy_attributes(transform, n);
    struct shape square = shape_of(2, (const int64_t[]){from, t->out * t->out_parts});
    struct value *matrix = make_reshaped(n, make_inferred(transform), &square);
    struct shape s = shape_of(2, (const int64_t[]){rows, from});
    v = make_binary(n, "MatMul", make_reshaped(n, v, &s), matrix);
    s = shape_of(3, (const int64_t[]){rows, t->out, t->out_parts});
    return make_reshaped(n, v, &s);
}

/* v times a constant of numbers [of axis 1, of axis 2, 2]. */
static struct value *times_table(struct node *n, struct value *v, int64_t a, int64_t b,
                                 const float *numbers)
{
    struct shape s = shape_of(3, (const int64_t[]){a, b, 2});

    return make_binary(n, "Mul", v, graph_constant_floats(n->graph, "", &s, numbers));
}

/* The whole spectrum, whose second half mirrors the first: the conjugate in reverse. */
static struct value *whole_spectrum(struct node *n, const struct transform *t, struct value *v)
{
    struct context *c = n->graph->context;
    int64_t half = t->length / 2 + 1, given = t->in < half ? t->in : half;
    int64_t *places = NEW_ARRAY(&c->arena, t->length, int64_t);
    float *signs = NEW_ARRAY(&c->arena, t->length * t->parts, float);
    struct shape s = shape_of(2, (const int64_t[]){t->length, t->parts});

    v = make_padded(n, make_sliced(n, v, 1, 0, given), 1, 0, half - given, 0);
    for (int64_t j = 0; j < t->length; j++) {
        places[j] = j < half ? j : t->length - j;
        signs[j * t->parts] = 1;
        if (t->parts == 2)
            signs[j * 2 + 1] = j == 0 || 2 * j == t->length ? 0 : j < half ? 1 : -1;
    }
    v = make_gathered(n, v, 1, t->length, places);
    return make_binary(n, "Mul", v, graph_constant_floats(n->graph, "", &s, signs));
}

static struct value *transform_along(struct node *n, const struct transform *t, struct value *v,
                                     int64_t axis)
{
    struct value *inputs[] = {v, NULL, graph_constant_ints(n->graph, "", 1, &axis)};
    struct node *transform = make_node(n, "DFT", 3, inputs);

    node_set_int(transform, "inverse", t->inverse);
    return make_stored(n, make_inferred(transform));
}

/*
 * In two: with length = a * b, number b * j1 + j2 goes into a transform of a over j1, is turned by
 * the angle k1 * j2 / length, and goes into one of b over j2, which gives number k1 + a * k2
 * (Cooley and Tukey 1965). The factors of both inverse transforms make up that of the whole.
 */
static struct value *transform_in_two(struct node *n, const struct transform *t, struct value *v,
                                      int64_t a)
{
    static const int64_t swap[] = {1, 0}, turn[] = {0, 2, 1, 3};
    struct context *c = n->graph->context;
    int64_t rows = v->shape.dim[0], b = t->length / a;
    float *cosines = NEW_ARRAY(&c->arena, 2 * t->length, float);
    float *sines = NEW_ARRAY(&c->arena, 2 * t->length, float);
    struct shape s = shape_of(4, (const int64_t[]){rows, a, b, t->parts});

    if (t->inverse && t->out_parts == 1)
        v = whole_spectrum(n, t, v);
    else if (t->in > t->length)
        v = make_sliced(n, v, 1, 0, t->length);
    else
        v = make_padded(n, v, 1, 0, t->length - t->in, 0);
    for (int64_t i = 0; i < t->length; i++) {
        double angle = 2 * M_PI * (double)(i / b * (i % b)) / (double)t->length;

        cosines[2 * i] = cosines[2 * i + 1] = (float)cos(angle);
        sines[2 * i + 1] = (float)(t->inverse ? sin(angle) : -sin(angle));
        sines[2 * i] = -sines[2 * i + 1];
    }
    v = transform_along(n, t, make_reshaped(n, v, &s), 1);
    v = make_binary(n, "Add", times_table(n, v, a, b, cosines),
                    times_table(n, make_gathered(n, v, 3, 2, swap), a, b, sines));
    v = transform_along(n, t, make_stored(n, v), 2);
    s = shape_of(3, (const int64_t[]){rows, t->length, 2});
    v = make_reshaped(n, make_transposed(n, v, 4, turn), &s);
    return make_sliced(n, make_sliced(n, v, 1, 0, t->out), 2, 0, t->out_parts);
}

static int64_t largest_factor(int64_t length)
{
    int64_t factor = 1;

    for (int64_t i = 2; i * i <= length; i++)
        if (length % i == 0)
            factor = i;
    return factor;
}

bool decompose_dft(struct node *n, struct value **out)
{
    struct value *x = n->inputs[0];
    int axes = x->shape.axes;
    int64_t perm[MAX_AXES], inverse[MAX_AXES], numbers, factor;
    struct transform t;
    bool fits;

    if (!read_transform(n, &t))
        return false;
    factor = largest_factor(t.length);
    numbers = t.in * t.parts * t.out * t.out_parts;
    fits = t.in * t.parts <= LONGEST_COLUMN && numbers <= LARGEST_MATRIX;
    if (!fits && factor == 1)
        return false;
    /* The axis goes right before the parts. */
    for (int a = 0, next = 0; a < axes - 1; a++)
        if (a != t.axis)
            perm[next++] = a;
    perm[axes - 2] = t.axis;
    perm[axes - 1] = axes - 1;
    for (int a = 0; a < axes; a++)
        inverse[perm[a]] = a;
    struct value *v = make_transposed(n, x, axes, perm);
    struct shape s = v->shape;
    struct shape rows =
        shape_of(3, (const int64_t[]){shape_product(&s, 0, axes - 2), t.in, t.parts});
    v = make_reshaped(n, v, &rows);
    if (fits && (numbers <= LARGE_MATRIX || factor < FAIR_FACTOR))
        v = transform_at_once(n, &t, v);
    else
        v = transform_in_two(n, &t, v, factor);
    s.dim[axes - 2] = t.out;
    s.dim[axes - 1] = t.out_parts;
    out[0] = make_transposed(n, make_reshaped(n, v, &s), axes, inverse);
    return true;
}

static int64_t common_divisor(int64_t a, int64_t b)
{
    return b ? common_divisor(b, a % b) : a;
}

/* With a window that is computed, or long frames: these, times it, and their transform. */
static bool windowed(struct node *n, int64_t step, int64_t frame, struct value **out)
{
    struct context *c = n->graph->context;
    struct value *x = n->inputs[0], *window = node_input(n, 2), *y = n->outputs[0];
    int64_t frames = y->shape.dim[1], parts = x->shape.axes == 3 ? x->shape.dim[2] : 1;
    int64_t *places, all;
    struct shape s = shape_of(3, (const int64_t[]){x->shape.dim[0], x->shape.dim[1], parts});
    struct shape each = shape_of(4, (const int64_t[]){s.dim[0], frames, frame, parts});

    if (__builtin_mul_overflow(frames, frame, &all))
        return false;
    work_table(n, all);
    places = NEW_ARRAY(&c->arena, all, int64_t);
    for (int64_t i = 0; i < all; i++)
        places[i] = i / frame * step + i % frame;
    x = make_gathered(n, make_reshaped(n, x, &s), 1, all, places);
    x = make_reshaped(n, x, &each);
    if (window) {
        window = make_padded(n, window, 0, 0, frame - shape_count(&window->shape), 0);
        s = shape_of(2, (const int64_t[]){frame, 1});
        x = make_binary(n, "Mul", x, make_reshaped(n, window, &s));
    }
    struct value *inputs[] = {x, NULL, graph_constant_ints(n->graph, "", 1, (const int64_t[]){2})};
    struct node *transform = make_node(n, "DFT", 3, inputs);
    node_set_int(transform, "onesided", node_int(n, "onesided", 1));
    out[0] = make_inferred(transform);
    return true;
}

/*
 * A convolution along the signal, one filter a bin and part. What steps and frames have in common
 * is its channels: with frames of 400 every 160, 80 samples are one place of 80 channels, and a
 * frame is five places.
 */
bool decompose_stft(struct node *n, struct value **out)
{
    static const int64_t swap[] = {0, 2, 1};
    struct value *x = n->inputs[0], *window = node_input(n, 2), *y = n->outputs[0];
    int count;
    const int64_t *step = node_constant_ints(n, 1, &count);
    const int64_t *length = node_input(n, 3) ? node_constant_ints(n, 3, &count) : NULL;
    int64_t parts = x->shape.axes == 3 ? x->shape.dim[2] : 1, samples = x->shape.dim[1], frame,
            channels;
    int64_t bins = y->shape.dim[2] * 2;

    if (!step || (node_input(n, 3) && !length))
        return false;
    frame = length ? length[0] : window ? window->shape.dim[0] : samples;
    if ((window && !window->constant) || frame * parts > LONGEST_COLUMN ||
        frame * parts * bins > LARGEST_MATRIX)
        return windowed(n, step[0], frame, out);
    /* What the transform makes of each unit frame: [frame * parts, 1, bins, 2]. */
    struct shape one = shape_of(2, (const int64_t[]){frame, parts});
    struct value *inputs[] = {units(n, frame * parts, &one),
                              graph_constant_ints(n->graph, "", 1, (const int64_t[]){1}), window,
                              graph_constant_ints(n->graph, "", 1, (const int64_t[]){frame})};
    struct node *transform = make_node(n, "STFT", 4, inputs);
    copy_attributes(transform, n);
    struct value *matrix = make_inferred(transform);
    channels = common_divisor(step[0], frame);
    struct shape s = shape_of(3, (const int64_t[]){frame / channels, channels * parts, bins});
    static const int64_t filters[] = {2, 1, 0};
    struct value *weights = make_transposed(n, make_reshaped(n, matrix, &s), 3, filters);
    struct value *v = make_sliced(n, x, 1, 0, samples / channels * channels);
    s = shape_of(3, (const int64_t[]){x->shape.dim[0], samples / channels, channels * parts});
    struct value *both[] = {make_transposed(n, make_reshaped(n, v, &s), 3, swap), weights};
    struct node *convolution = make_node(n, "Conv", 2, both);
    node_set_ints(convolution, "strides", 1, (const int64_t[]){step[0] / channels});
    v = make_inferred(convolution);
    out[0] = make_reshaped(n, make_transposed(n, v, 3, swap), &y->shape);
    return true;
}

/* y = A p + b for each place p of the grid, which is what the identity gives. */
bool decompose_affine_grid(struct node *n, struct value **out)
{
    static const int64_t swap[] = {0, 2, 1};
    struct value *theta = n->inputs[0], *y = n->outputs[0];
    int axes = y->shape.axes - 2;
    int64_t batch = y->shape.dim[0], points = shape_product(&y->shape, 1, axes + 1);
    float identity[12] = {0};
    int count;
    const int64_t *size = node_constant_ints(n, 1, &count);
    int64_t one[5] = {1};

    if (!size || count != axes + 2)
        return false;
    for (int i = 0; i < axes; i++)
        identity[i * (axes + 1) + i] = 1;
    memcpy(one + 1, size + 1, (size_t)(count - 1) * sizeof *one);
    struct shape s = shape_of(3, (const int64_t[]){1, axes, axes + 1});
    struct value *inputs[] = {graph_constant_floats(n->graph, "", &s, identity),
                              graph_constant_ints(n->graph, "", count, one)};
    struct node *plain = make_node(n, "AffineGrid", 2, inputs);
    copy_attributes(plain, n);
    s = shape_of(2, (const int64_t[]){points, axes});
    struct value *places = make_reshaped(n, make_inferred(plain), &s);
    struct value *turned = make_transposed(n, make_sliced(n, theta, 2, 0, axes), 3, swap);
    s = shape_of(3, (const int64_t[]){batch, 1, axes});
    struct value *shift = make_reshaped(n, make_sliced(n, theta, 2, axes, axes + 1), &s);
    out[0] = make_reshaped(
        n, make_binary(n, "Add", make_binary(n, "MatMul", places, turned), shift), &y->shape);
    return true;
}

enum { LONGEST_SCAN = 64 };

/* Blocks: sums within each, and in front of them the sum of the blocks before. */
bool decompose_cumulative(struct node *n, struct value **out)
{
    struct value *x = n->inputs[0], *v, *within, *before;
    bool product = !strcmp(n->op->name, "CumProd"), reverse = node_int(n, "reverse", 0);
    int count, axes = x->shape.axes;
    const int64_t *given = node_constant_ints(n, 1, &count);
    int axis = given ? shape_axis(&x->shape, given[0]) : -1;
    int64_t length = axis < 0 ? 0 : x->shape.dim[axis], block, blocks;

    if (length <= LONGEST_SCAN || axes == MAX_AXES)
        return false;
    for (block = LONGEST_SCAN / 4; block * block < length; block += 4)
        ;
    blocks = (length + block - 1) / block;
    v = make_padded(n, x, axis, 0, blocks * block - length, product ? 1 : 0);
    struct shape padded = v->shape, split = v->shape;
    memmove(split.dim + axis + 1, split.dim + axis, (size_t)(axes - axis) * sizeof *split.dim);
    split.dim[axis] = blocks;
    split.dim[axis + 1] = block;
    split.axes++;
    v = make_reshaped(n, v, &split);
    for (int level = 0; level < 2; level++) {
        int64_t along = level ? axis : axis + 1;
        struct value *both[] = {
            level ? make_reduced(n, product ? "ReduceProd" : "ReduceSum", v, axis + 1) : v,
            graph_constant_ints(n->graph, "", 1, &along)};
        struct node *r = make_node(n, n->op->name, 2, both);

        node_set_int(r, "reverse", reverse);
        node_set_int(r, "exclusive", level || node_int(n, "exclusive", 0));
        *(level ? &before : &within) = make_inferred(r);
    }
    v = make_reshaped(n, make_binary(n, product ? "Mul" : "Add", within, before), &padded);
    out[0] = make_sliced(n, v, axis, 0, length);
    return true;
}
