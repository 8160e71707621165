/*
 * Operators that only move elements, by indices that are known: which element goes where is found
 * by evaluating the operator over numbered elements, and becomes one Gather. Those that add up what
 * meets at one place gather all that meets, and reduce it.
 */
#include "daemon/compiler/gpu/make.h"
#include "daemon/compiler/operators/gather.h"
#include "daemon/compiler/operators/operator.h"
#include <string.h>

enum { MOST_NUMBERED = 1 << 24 }; /* float32 counts to here */

/* Operand slots whose elements may stand in the output, -1: none. Where neither does, there is 0.
 */
static const struct {
    const char *op;
    int slot[2];
} movers[] = {
    {"CenterCropPad", {0, -1}},   {"Compress", {0, -1}},       {"GatherElements", {0, -1}},
    {"GatherND", {0, -1}},        {"MaxUnpool", {0, -1}},      {"OneHot", {2, -1}},
    {"ReverseSequence", {0, -1}}, {"ScatterElements", {0, 2}}, {"ScatterND", {0, 2}},
    {"TensorScatter", {0, 1}},
};

struct map {
    int count; /* sources */
    struct value *source[2];
    const double *number; /* for each element of the output: 1 + its place in the sources one after
                             the other, 0: none */
    int64_t lead, inner, middle[2],
        out;          /* the output is [lead, out, inner], a source [lead, middle, inner] */
    int64_t *indices; /* of the middle: 1 + place among the middles of the sources, 0: none */
    bool fills;
};

static struct tensor *numbered(struct value *v, int64_t *next, struct arena *scratch)
{
    void *data;
    struct tensor *t = tensor_new(scratch, TYPE_FLOAT64, &v->shape, &data);

    for (int64_t i = 0; i < t->count; i++)
        ((double *)data)[i] = (double)++*next;
    return t;
}

/* Runs of the last axes, `inner` elements each, that stay together. */
static bool stays_together(const struct map *m, int64_t total, int64_t inner)
{
    int64_t first = shape_count(&m->source[0]->shape);

    for (int64_t i = 0; i < total; i += inner) {
        int64_t start = (int64_t)m->number[i] - 1;

        if (start >= first)
            start -= first;
        if (start >= 0 && start % inner)
            return false;
        for (int64_t k = 1; k < inner; k++)
            if (m->number[i + k] != (start < 0 ? 0 : m->number[i] + (double)k))
                return false;
    }
    return true;
}

/* With so many leading indices each the same happens: the map of one. */
static bool repeats(struct map *m, int64_t total, int64_t lead)
{
    int64_t counts[2] = {0}, out = total / lead / m->inner;

    for (int s = 0; s < m->count; s++)
        counts[s] = shape_count(&m->source[s]->shape) / lead / m->inner;
    m->fills = false;
    for (int64_t i = 0; i < total / m->inner; i++) {
        int64_t at = (int64_t)m->number[i * m->inner] - 1, l = i / out, found = 0;

        if (at >= 0) {
            at /= m->inner;
            int s = at >= counts[0] * lead;
            at -= s ? counts[0] * lead : 0;
            if (at / counts[s] != l)
                return false;
            found = 1 + at % counts[s] + (s ? counts[0] : 0);
        }
        m->fills = m->fills || !found;
        if (l == 0)
            m->indices[i % out] = found;
        else if (m->indices[i % out] != found)
            return false;
    }
    m->lead = lead;
    m->out = out;
    memcpy(m->middle, counts, sizeof counts);
    return true;
}

static void factorise(struct map *m, const struct shape *y)
{
    int64_t total = shape_count(y), lead[MAX_AXES + 1] = {1};
    int leads = 1;

    m->inner = 1;
    for (int back = 1; back <= y->axes; back++) {
        int64_t extent = y->dim[y->axes - back];
        bool same = true;

        for (int s = 0; s < m->count; s++) {
            const struct shape *x = &m->source[s]->shape;

            same = same && back <= x->axes && x->dim[x->axes - back] == extent;
        }
        if (!same || !stays_together(m, total, m->inner * extent))
            break;
        m->inner *= extent;
    }
    for (int a = 0; a < y->axes && lead[leads - 1] * y->dim[a] * m->inner <= total; a++) {
        bool same = true;

        for (int s = 0; s < m->count; s++)
            same =
                same && a < m->source[s]->shape.axes && m->source[s]->shape.dim[a] == y->dim[a] &&
                shape_count(&m->source[s]->shape) % (lead[leads - 1] * y->dim[a] * m->inner) == 0;
        if (!same)
            break;
        lead[leads] = lead[leads - 1] * y->dim[a];
        leads++;
    }
    while (leads-- > 0)
        if (repeats(m, total, lead[leads]))
            return;
}

bool decompose_moved(struct node *n, struct value **out)
{
    struct context *c = n->graph->context;
    struct arena *scratch = arena_child(&c->arena);
    struct tensor **in = NEW_ARRAY(scratch, n->input_count, struct tensor *), *made = NULL;
    struct map m = {0};
    int64_t numbers = 0;
    bool good = n->outputs[0] != NULL;
    size_t row = 0;

    while (strcmp(movers[row].op, n->op->name) != 0)
        row++;
    for (int i = 0; good && i < n->input_count; i++) {
        struct value *v = n->inputs[i];
        bool moved = i == movers[row].slot[0] || i == movers[row].slot[1];

        if (!v)
            continue;
        if (moved) {
            m.source[m.count++] = v;
            good = numbers + shape_count(&v->shape) <= MOST_NUMBERED;
            in[i] = good ? numbered(v, &numbers, scratch) : NULL;
        } else {
            good = v->constant != NULL;
            in[i] = v->constant;
        }
    }
    if (m.count == 2 && movers[row].slot[0] > movers[row].slot[1])
        BUG(c, "sources of %s are not in order", n->op->name);
    good = good && shape_count(&n->outputs[0]->shape) <= MOST_NUMBERED && numbers > 0;
    good = good && n->op->functions->evaluate(n, in, &made, scratch, scratch);
    if (good) {
        struct value *parts[2], *all;

        m.number = tensor_doubles(c, made, scratch);
        m.indices = NEW_ARRAY(scratch, made->count, int64_t);
        factorise(&m, &n->outputs[0]->shape);
        for (int s = 0; s < m.count; s++) {
            struct shape three = shape_of(3, (const int64_t[]){m.lead, m.middle[s], m.inner});

            parts[s] = make_reshaped(n, m.source[s], &three);
        }
        all = make_concat(n, 1, m.count, parts);
        if (m.fills)
            all = make_padded(n, all, 1, 1, 0, 0);
        for (int64_t i = 0; i < m.out; i++)
            m.indices[i] -= !m.fills;
        out[0] =
            make_reshaped(n, make_gathered(n, all, 1, m.out, m.indices), &n->outputs[0]->shape);
    }
    arena_free(scratch);
    return good;
}

/* Updates that meet are joined with what is there: for each place all of them (and neutral ones up
 * to the most that meet anywhere) side by side. */
bool decompose_scatter(struct node *n, struct value **out)
{
    static const struct {
        const char *reduction, *reduce, *join;
        float neutral;
    } kinds[] = {{"add", "ReduceSum", "Add", 0},
                 {"mul", "ReduceProd", "Mul", 1},
                 {"min", "ReduceMin", "Min", 65504},
                 {"max", "ReduceMax", "Max", -65504}};
    struct context *c = n->graph->context;
    const char *reduction = node_string(n, "reduction", "none");
    struct value *data = n->inputs[0], *found;
    struct arena *scratch = arena_child(&c->arena);
    int64_t run = 1, count = 0, most = 1, rows, *targets, *meeting, *indices;
    size_t kind = 0;

    while (kind < sizeof kinds / sizeof *kinds && strcmp(kinds[kind].reduction, reduction) != 0)
        kind++;
    if (kind == sizeof kinds / sizeof *kinds || !n->inputs[1]->constant ||
        shape_count(&data->shape) > MOST_NUMBERED ||
        n->inputs[1]->constant->count > MOST_NUMBERED ||
        !(targets = scatter_targets(n, &run, &count, scratch))) {
        bool moved = kind == sizeof kinds / sizeof *kinds && decompose_moved(n, out);

        arena_free(scratch);
        return moved;
    }
    rows = shape_count(&data->shape) / run;
    meeting = NEW_ARRAY(scratch, rows, int64_t);
    for (int64_t i = 0; i < count; i++) {
        int64_t now = ++meeting[targets[i] / run];

        most = now > most ? now : most;
    }
    if (most * rows > MOST_NUMBERED) {
        arena_free(scratch);
        return false;
    }
    memset(meeting, 0, (size_t)rows * sizeof *meeting);
    indices = NEW_ARRAY(scratch, most * rows, int64_t);
    for (int64_t i = 0; i < count; i++) {
        int64_t row = targets[i] / run;

        indices[meeting[row]++ * rows + row] = i + 1;
    }
    struct shape flat = shape_of(2, (const int64_t[]){count, run});
    struct shape all = shape_of(3, (const int64_t[]){most, rows, run});
    found = make_padded(n, make_reshaped(n, n->inputs[2], &flat), 0, 1, 0, kinds[kind].neutral);
    found = make_reshaped(n, make_gathered(n, found, 0, most * rows, indices), &all);
    if (most > 1)
        found = make_reduced(n, kinds[kind].reduce, found, 0);
    out[0] = make_binary(n, kinds[kind].join, data, make_reshaped(n, found, &data->shape));
    arena_free(scratch);
    return true;
}

/* A transposed convolution of one filter a tap, which is 1 at its tap. */
bool decompose_col2im(struct node *n, struct value **out)
{
    struct context *c = n->graph->context;
    int axes, count;
    const int64_t *image = node_constant_ints(n, 1, &axes),
                  *block = node_constant_ints(n, 2, &count);
    const int64_t *strides = node_ints(n, "strides", &count),
                  *dilations = node_ints(n, "dilations", &count);
    const int64_t *pads = node_ints(n, "pads", &count);
    const struct shape *x = &n->inputs[0]->shape;
    struct shape places = {.axes = 2}, filter = {.axes = 2};
    int64_t stride[MAX_AXES], dilation[MAX_AXES], pad[2 * MAX_AXES] = {0}, more[MAX_AXES], taps = 1;
    struct value *inputs[2];
    struct node *r;

    if (!image || !block || axes > 3)
        return false;
    for (int a = 0; a < axes; a++) {
        int64_t room;

        stride[a] = strides ? strides[a] : 1;
        dilation[a] = dilations ? dilations[a] : 1;
        pad[a] = pads ? pads[a] : 0;
        pad[axes + a] = pads ? pads[axes + a] : 0;
        room = image[a] + pad[a] + pad[axes + a] - dilation[a] * (block[a] - 1) - 1;
        places.dim[places.axes++] = room / stride[a] + 1;
        filter.dim[filter.axes++] = block[a];
        more[a] = room % stride[a];
        taps *= block[a];
    }
    places.dim[0] = x->dim[0];
    places.dim[1] = filter.dim[0] = x->dim[1];
    filter.dim[1] = 1;
    float *numbers = NEW_ARRAY(&c->arena, x->dim[1] * taps, float);
    for (int64_t i = 0; i < x->dim[1]; i++)
        numbers[i * taps + i % taps] = 1;
    inputs[0] = make_reshaped(n, n->inputs[0], &places);
    inputs[1] = graph_constant_floats(n->graph, "", &filter, numbers);
    r = make_node(n, "ConvTranspose", 2, inputs);
    node_set_int(r, "group", x->dim[1] / taps);
    node_set_ints(r, "strides", axes, stride);
    node_set_ints(r, "dilations", axes, dilation);
    node_set_ints(r, "pads", 2 * axes, pad);
    node_set_ints(r, "output_padding", axes, more);
    out[0] = make_inferred(r);
    return true;
}

/*
 * OneHot of computed indices, which are cut off towards zero and counted from the end where they
 * are negative: a comparison with each place along the new axis chooses between the two values.
 */
bool decompose_one_hot(struct node *n, struct value **out)
{
    struct value *indices = n->inputs[0], *values = n->inputs[2], *whole, *hot = NULL;
    const struct shape *y = &n->outputs[0]->shape;
    int axis = shape_axis(y, node_int(n, "axis", -1));
    struct shape s = *y, line = {.axes = y->axes};
    float *places;

    if (indices->constant)
        return decompose_moved(n, out);
    if (!type_is_float(indices->type) || axis < 0)
        return false;
    whole = make_where(n, make_binary(n, "Less", indices, make_number(n, 0)),
                       make_unary(n, "Ceil", indices), make_unary(n, "Floor", indices));
    s.dim[axis] = 1;
    whole = make_reshaped(n, whole, &s);
    for (int a = 0; a < y->axes; a++)
        line.dim[a] = a == axis ? y->dim[a] : 1;
    for (int turn = 0; turn < 2; turn++) {
        struct value *same;

        places = NEW_ARRAY(&n->graph->context->arena, y->dim[axis], float);
        for (int64_t i = 0; i < y->dim[axis]; i++)
            places[i] = (float)(turn ? i - y->dim[axis] : i);
        same = make_binary(n, "Equal", whole, graph_constant_floats(n->graph, "", &line, places));
        hot = hot ? make_binary(n, "Or", hot, same) : same;
    }
    s = shape_of(1, (const int64_t[]){1});
    out[0] = make_where(n, hot, make_reshaped(n, make_sliced(n, values, 0, 1, 2), &s),
                        make_reshaped(n, make_sliced(n, values, 0, 0, 1), &s));
    return true;
}
