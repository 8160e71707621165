/* Elements chosen by index tensors: the Gather and Scatter families. */
#include "daemon/compiler/operators/gather.h"
#include "daemon/compiler/graph/blocks.h"
#include "daemon/compiler/operators/arguments.h"
#include "daemon/compiler/operators/lower.h"
#include "daemon/compiler/operators/move.h"
#include "daemon/compiler/operators/range.h"
#include <inttypes.h>
#include <math.h>
#include <string.h>

/* Reports a constant index in input 1 that lies outside its axis, then false: of tuples of `depth`
 * indices into axes of these lengths (negative: not known). */
static bool indices_fit(struct node *n, const int64_t *lengths, int64_t depth)
{
    bool known = false, fits = true;

    for (int64_t d = 0; d < depth; d++)
        known = known || lengths[d] >= 0;
    const struct tensor *indices = known ? n->inputs[1]->constant : NULL;
    struct blocks b;

    if (!indices || !type_bits(indices->type))
        return true;
    blocks_init(&b, n->graph->context, indices);
    while (blocks_next(&b)) {
        const int64_t *index = tensor_integers(n->graph->context, &b.part, b.scratch);

        for (int64_t i = 0; i < b.part.count; i++) {
            int64_t length = lengths[(b.first + i) % depth];

            /* The first one is enough; the others are passed over. */
            if (length >= 0 && index_wrapped(index[i], length) < 0 && fits) {
                infer_fault(n, "index %" PRId64 " lies outside an axis of length %" PRId64,
                            index[i], length);
                fits = false;
            }
        }
    }
    return fits;
}

/* ---- Gather ---- */

static void gather_infer(struct node *n)
{
    const struct shape *data = &n->inputs[0]->shape, *indices = &n->inputs[1]->shape;
    struct shape out = shape_unknown;

    if (data->axes >= 0) {
        int axis = infer_axis(n, data, node_int(n, "axis", 0));
        if (axis < 0 || !indices_fit(n, &data->dim[axis], 1))
            return;
        if (indices->axes >= 0) {
            if (data->axes - 1 + indices->axes > MAX_AXES) {
                infer_fault(n, "the output would have %d axes, more than %d",
                            data->axes - 1 + indices->axes, MAX_AXES);
                return;
            }
            out.axes = 0;
            for (int a = 0; a < axis; a++)
                out.dim[out.axes++] = data->dim[a];
            for (int a = 0; a < indices->axes; a++)
                out.dim[out.axes++] = indices->dim[a];
            for (int a = axis + 1; a < data->axes; a++)
                out.dim[out.axes++] = data->dim[a];
            if (!argument_fits(n, &out))
                return;
        }
    }
    infer_output(n, 0, n->inputs[0]->type, &out);
}

static bool gather_evaluate(struct node *n, struct tensor *const *in, struct tensor **out,
                            struct arena *arena, struct arena *scratch)
{
    struct context *c = n->graph->context;
    const struct shape *s = &in[0]->shape, *k = &in[1]->shape;
    const int64_t *indices = tensor_integers(c, in[1], scratch);
    int axis = shape_axis(s, node_int(n, "axis", 0));
    int64_t outer = shape_product(s, 0, axis), inner = shape_product(s, axis + 1, s->axes);
    int64_t length = s->dim[axis], *table = NEW_ARRAY(scratch, in[1]->count, int64_t);
    struct shape shape = {0};
    struct elements to, from;

    if (s->axes - 1 + k->axes > MAX_AXES)
        return false;
    for (int a = 0; a < axis; a++)
        shape.dim[shape.axes++] = s->dim[a];
    for (int a = 0; a < k->axes; a++)
        shape.dim[shape.axes++] = k->dim[a];
    for (int a = axis + 1; a < s->axes; a++)
        shape.dim[shape.axes++] = s->dim[a];
    for (int64_t i = 0; i < in[1]->count; i++) {
        int64_t index = index_wrapped(indices[i], length);
        if (index < 0)
            return false;
        table[i] = index * inner;
    }
    if (!elements_new(arena, scratch, in[0]->type, &shape, &to) ||
        !elements_read(c, in[0], scratch, &from))
        return false;
    move_chosen(c, outer, length, inner, table, in[1]->count, &to, &from);
    out[0] = elements_finish(&to);
    return true;
}

static bool gather_trace(struct node *n, int output, struct positions at, int *slot, int64_t *from)
{
    const struct shape *s = &n->inputs[0]->shape;
    int axis = shape_axis(s, node_int(n, "axis", 0)), count;
    int64_t inner = shape_product(s, axis + 1, s->axes);
    const int64_t *indices = at.count ? node_constant_ints(n, 1, &count) : NULL;

    (void)output, (void)slot;
    if (at.count && !indices)
        return false;
    for (int64_t i = 0; i < at.count; i++) {
        int64_t row = at.at[i] / inner, index = index_wrapped(indices[row % count], s->dim[axis]);

        if (index < 0)
            return false;
        from[i] = (row / count * s->dim[axis] + index) * inner + at.at[i] % inner;
    }
    return true;
}

/* Missing token ids are rows of 0. */
static void gather_range(const struct node *n, int output, const struct range *in,
                         struct range *out)
{
    (void)output;
    *out = n->inputs[1]->constant ? in[0] : range_hull(in[0], range_make(0, 0));
}

const struct operator_functions gather_functions = {.role = ROLE_VIEW,
                                                    .view = view_gather,
                                                    .trace = gather_trace,
                                                    .parts = 1,
                                                    .range = gather_range,
                                                    .infer = gather_infer,
                                                    .evaluate = gather_evaluate};

/* ---- GatherElements, ScatterElements ---- */

/* Where along data, which has the same axes, element i of indices (at row-major position i) points;
 * -1: outside. */
static int64_t element_target(const struct shape *data, const int64_t *strides,
                              const struct shape *indices, int axis, int64_t i, int64_t index)
{
    int64_t at = 0;
    index = index_wrapped(index, data->dim[axis]);
    if (index < 0)
        return -1;
    for (int a = indices->axes - 1; a >= 0; a--) {
        at += (a == axis ? index : i % indices->dim[a]) * strides[a];
        i /= indices->dim[a];
    }
    return at;
}

/* indices has data's axes, none longer but the named one; then true, and *axis is set. */
static bool elements_match(struct node *n, int *axis)
{
    const struct shape *data = &n->inputs[0]->shape, *indices = &n->inputs[1]->shape;
    *axis = -1;
    if (data->axes < 0)
        return true;
    *axis = infer_axis(n, data, node_int(n, "axis", 0));
    if (*axis < 0)
        return false;
    if (indices->axes >= 0 && indices->axes != data->axes) {
        infer_fault(n, "the indices have %d axes, the data %d", indices->axes, data->axes);
        return false;
    }
    for (int a = 0; a < indices->axes; a++) {
        if (a != *axis && data->dim[a] >= 0 && indices->dim[a] > data->dim[a]) {
            infer_fault(n, "the indices are longer than the data along axis %d", a);
            return false;
        }
    }
    return indices_fit(n, &data->dim[*axis], 1);
}

static void gather_elements_infer(struct node *n)
{
    int axis;
    if (elements_match(n, &axis))
        infer_output(n, 0, n->inputs[0]->type, &n->inputs[1]->shape);
}

static bool gather_elements_evaluate(struct node *n, struct tensor *const *in, struct tensor **out,
                                     struct arena *arena, struct arena *scratch)
{
    struct context *c = n->graph->context;
    const struct shape *s = &in[0]->shape, *k = &in[1]->shape;
    const int64_t *indices = tensor_integers(c, in[1], scratch);
    int axis = shape_axis(s, node_int(n, "axis", 0));
    int64_t strides[MAX_AXES];
    struct elements to, from;

    if (!elements_new(arena, scratch, in[0]->type, k, &to) ||
        !elements_read(c, in[0], scratch, &from))
        return false;
    move_strides(s, strides);
    for (int64_t i = 0; i < to.count; i++) {
        int64_t at = element_target(s, strides, k, axis, i, indices[i]);
        if (at < 0)
            return false;
        elements_copy(&to, i, &from, at);
    }
    out[0] = elements_finish(&to);
    return true;
}

static bool gather_elements_trace(struct node *n, int output, struct positions at, int *slot,
                                  int64_t *from)
{
    const struct shape *s = &n->inputs[0]->shape;
    int axis = shape_axis(s, node_int(n, "axis", 0)), count;
    const int64_t *indices = at.count ? node_constant_ints(n, 1, &count) : NULL;
    int64_t strides[MAX_AXES];

    (void)slot;
    if (at.count && !indices)
        return false;
    move_strides(s, strides);
    for (int64_t i = 0; i < at.count; i++) {
        from[i] = element_target(s, strides, &n->outputs[output]->shape, axis, at.at[i],
                                 indices[at.at[i]]);
        if (from[i] < 0)
            return false;
    }
    return true;
}

const struct operator_functions gather_elements_functions = {.role = ROLE_VIEW,
                                                             .trace = gather_elements_trace,
                                                             .parts = 1,
                                                             .infer = gather_elements_infer,
                                                             .evaluate = gather_elements_evaluate};

/* How an update joins what is there. */
enum reduction { REDUCE_NONE, REDUCE_ADD, REDUCE_MUL, REDUCE_MIN, REDUCE_MAX };

static enum reduction reduction_of(const struct node *n)
{
    static const char *const names[] = {"none", "add", "mul", "min", "max"};
    const char *name = node_string(n, "reduction", "none");
    for (int i = REDUCE_ADD; i <= REDUCE_MAX; i++)
        if (strcmp(name, names[i]) == 0)
            return (enum reduction)i;
    return REDUCE_NONE;
}

static double reduced(enum reduction r, double a, double b)
{
    switch (r) {
    case REDUCE_ADD:
        return a + b;
    case REDUCE_MUL:
        return a * b;
    case REDUCE_MIN:
        return isnan(a) || a < b ? a : b;
    case REDUCE_MAX:
        return isnan(a) || a > b ? a : b;
    default:
        return b;
    }
}

static int64_t reduced_integer(enum reduction r, int64_t a, int64_t b)
{
    switch (r) {
    case REDUCE_ADD:
        return (int64_t)((uint64_t)a + (uint64_t)b);
    case REDUCE_MUL:
        return (int64_t)((uint64_t)a * (uint64_t)b);
    case REDUCE_MIN:
        return a < b ? a : b;
    case REDUCE_MAX:
        return a > b ? a : b;
    default:
        return b;
    }
}

/* A copy of data in which runs of `run` elements, at targets[i], are joined by those of updates in
 * turn. */
static struct tensor *scatter(struct node *n, const struct tensor *data,
                              const struct tensor *updates, const int64_t *targets, int64_t count,
                              int64_t run, struct arena *arena, struct arena *scratch)
{
    struct context *c = n->graph->context;
    enum reduction r = reduction_of(n);
    struct elements to, from, add;

    if (!elements_new(arena, scratch, data->type, &data->shape, &to) ||
        !elements_read(c, data, scratch, &from) || !elements_read(c, updates, scratch, &add) ||
        from.size != add.size || add.count != count * run)
        return NULL;
    if (to.count > 0)
        memcpy(to.bytes, from.bytes, (size_t)to.count * to.size);
    if (r == REDUCE_NONE) {
        for (int64_t i = 0; i < count; i++)
            for (int64_t j = 0; j < run; j++)
                elements_copy(&to, targets[i] + j, &add, i * run + j);
        return elements_finish(&to);
    }
    if (type_bits(data->type) < 8)
        return NULL;
    if (type_is_float(data->type)) {
        const double *old = tensor_doubles(c, data, scratch),
                     *more = tensor_doubles(c, updates, scratch);
        double *now = NEW_ARRAY(scratch, to.count, double);
        if (to.count > 0)
            memcpy(now, old, (size_t)to.count * sizeof *now);
        for (int64_t i = 0; i < count; i++)
            for (int64_t j = 0; j < run; j++)
                now[targets[i] + j] = reduced(r, now[targets[i] + j], more[i * run + j]);
        for (int64_t i = 0; i < to.count; i++)
            payload_set(to.bytes, to.type, i, now[i]);
    } else {
        const int64_t *old = tensor_integers(c, data, scratch);
        const int64_t *more = tensor_integers(c, updates, scratch);
        int64_t *now = NEW_ARRAY(scratch, to.count, int64_t);
        if (to.count > 0)
            memcpy(now, old, (size_t)to.count * sizeof *now);
        for (int64_t i = 0; i < count; i++)
            for (int64_t j = 0; j < run; j++)
                now[targets[i] + j] = reduced_integer(r, now[targets[i] + j], more[i * run + j]);
        for (int64_t i = 0; i < to.count; i++)
            payload_set_integer(to.bytes, to.type, i, now[i]);
    }
    return elements_finish(&to);
}

static void scatter_upgrade(struct graph *g, struct node *n)
{
    argument_rename(g, n, "ScatterElements");
}

static void scatter_elements_infer(struct node *n)
{
    int axis;
    const struct shape *indices = &n->inputs[1]->shape, *updates = &n->inputs[2]->shape;
    struct shape both;
    if (!elements_match(n, &axis))
        return;
    if (shape_known(indices) && shape_known(updates) &&
        !(shape_equal(indices, updates) && shape_broadcast(indices, updates, &both))) {
        infer_fault(n, "indices and updates have different shapes");
        return;
    }
    infer_output(n, 0, n->inputs[0]->type, &n->inputs[0]->shape);
}

static bool scatter_elements_evaluate(struct node *n, struct tensor *const *in, struct tensor **out,
                                      struct arena *arena, struct arena *scratch)
{
    const struct shape *s = &in[0]->shape, *k = &in[1]->shape;
    const int64_t *indices = tensor_integers(n->graph->context, in[1], scratch);
    int axis = shape_axis(s, node_int(n, "axis", 0));
    int64_t strides[MAX_AXES], *targets = NEW_ARRAY(scratch, in[1]->count, int64_t);

    move_strides(s, strides);
    for (int64_t i = 0; i < in[1]->count; i++)
        if ((targets[i] = element_target(s, strides, k, axis, i, indices[i])) < 0)
            return false;
    out[0] = scatter(n, in[0], in[2], targets, in[1]->count, 1, arena, scratch);
    return out[0] != NULL;
}

const struct operator_functions scatter_elements_functions = {
    .role = ROLE_STEP, .infer = scatter_elements_infer, .evaluate = scatter_elements_evaluate};
/* the name it had in opsets 9 and 10 */
const struct operator_functions scatter_functions = {.role = ROLE_STEP,
                                                     .upgrade = scatter_upgrade,
                                                     .infer = scatter_elements_infer,
                                                     .evaluate = scatter_elements_evaluate};

/* ---- GatherND, ScatterND ---- */

/* Tuples of indices, each of `depth` numbers, to row-major positions in data below its first
 * `batch` axes. */
struct tuples {
    const struct shape *data;
    const int64_t *index;
    int64_t strides[MAX_AXES], depth, count, of_batch;
    int batch;
};

static bool tuples_init(struct tuples *t, const struct shape *data, int batch,
                        const struct shape *indices, const int64_t *index)
{
    int64_t batches = shape_product(data, 0, batch);

    *t = (struct tuples){.data = data,
                         .index = index,
                         .depth = indices->dim[indices->axes - 1],
                         .count = shape_product(indices, 0, indices->axes - 1),
                         .batch = batch};
    t->of_batch = batches > 0 ? t->count / batches : 0;
    move_strides(data, t->strides);
    return t->depth <= data->axes - batch;
}

/* -1: outside. */
static int64_t tuple_target(const struct tuples *t, int64_t i)
{
    int64_t outer = t->of_batch > 0 ? i / t->of_batch : 0;
    int64_t target = outer * shape_product(t->data, t->batch, t->data->axes);

    for (int64_t d = 0; d < t->depth; d++) {
        int64_t at = index_wrapped(t->index[i * t->depth + d], t->data->dim[t->batch + d]);

        if (at < 0)
            return -1;
        target += at * t->strides[t->batch + d];
    }
    return target;
}

static bool tuple_targets(struct context *c, const struct shape *data, int batch,
                          const struct tensor *indices, int64_t *targets, struct arena *scratch)
{
    struct tuples t;

    if (!tuples_init(&t, data, batch, &indices->shape, tensor_integers(c, indices, scratch)))
        return false;
    for (int64_t i = 0; i < t.count; i++)
        if ((targets[i] = tuple_target(&t, i)) < 0)
            return false;
    return true;
}

static void gather_nd_infer(struct node *n)
{
    const struct shape *data = &n->inputs[0]->shape, *indices = &n->inputs[1]->shape;
    int64_t batch = node_int(n, "batch_dims", 0);
    struct shape out = shape_unknown;

    if (data->axes >= 0 && indices->axes >= 0) {
        if (indices->axes < 1 || data->axes < 1 || batch < 0 || batch >= data->axes ||
            batch >= indices->axes) {
            infer_fault(n,
                        "%" PRId64 " batch axes do not go with %d axes of data and %d of indices",
                        batch, data->axes, indices->axes);
            return;
        }
        int64_t depth = indices->dim[indices->axes - 1];
        for (int a = 0; a < batch; a++) {
            if (data->dim[a] >= 0 && indices->dim[a] >= 0 && data->dim[a] != indices->dim[a]) {
                infer_fault(n, "data and indices differ along batch axis %d", a);
                return;
            }
        }
        if (depth >= 0) {
            if (depth < 1 || batch + depth > data->axes) {
                infer_fault(n, "tuples of %" PRId64 " indices do not fit %d axes", depth,
                            data->axes);
                return;
            }
            if (indices->axes - 1 + data->axes - batch - depth > MAX_AXES) {
                infer_fault(n, "the output would have more than %d axes", MAX_AXES);
                return;
            }
            if (!indices_fit(n, &data->dim[batch], depth))
                return;
            out = *indices;
            out.axes--;
            for (int a = (int)(batch + depth); a < data->axes; a++)
                out.dim[out.axes++] = data->dim[a];
            if (!argument_fits(n, &out))
                return;
        }
    }
    infer_output(n, 0, n->inputs[0]->type, &out);
}

static bool gather_nd_evaluate(struct node *n, struct tensor *const *in, struct tensor **out,
                               struct arena *arena, struct arena *scratch)
{
    struct context *c = n->graph->context;
    const struct shape *s = &in[0]->shape, *k = &in[1]->shape;
    int batch = (int)node_int(n, "batch_dims", 0);
    int64_t tuples = shape_product(k, 0, k->axes - 1), depth = k->dim[k->axes - 1];
    int64_t *targets = NEW_ARRAY(scratch, tuples, int64_t);
    struct elements to, from;
    struct move m = {0};

    if (!tuple_targets(c, s, batch, in[1], targets, scratch) ||
        !elements_new(arena, scratch, in[0]->type, &n->outputs[0]->shape, &to) ||
        !elements_read(c, in[0], scratch, &from))
        return false;
    int64_t run = shape_product(s, (int)(batch + depth), s->axes);
    move_axis_table(&m, tuples, run, targets);
    if (run != 1)
        move_axis(&m, run, 1, 1);
    move_elements(c, &m, &to, &from);
    out[0] = elements_finish(&to);
    return true;
}

static bool gather_nd_trace(struct node *n, int output, struct positions at, int *slot,
                            int64_t *from)
{
    const struct shape *s = &n->inputs[0]->shape;
    int batch = (int)node_int(n, "batch_dims", 0), count;
    struct tuples t;

    (void)output, (void)slot;
    if (!at.count)
        return true;
    if (!tuples_init(&t, s, batch, &n->inputs[1]->shape, node_constant_ints(n, 1, &count)))
        return false;
    int64_t run = shape_product(s, (int)(batch + t.depth), s->axes);
    for (int64_t i = 0; i < at.count; i++) {
        if ((from[i] = tuple_target(&t, at.at[i] / run)) < 0)
            return false;
        from[i] += at.at[i] % run;
    }
    return true;
}

const struct operator_functions gather_nd_functions = {.role = ROLE_VIEW,
                                                       .trace = gather_nd_trace,
                                                       .parts = 1,
                                                       .infer = gather_nd_infer,
                                                       .evaluate = gather_nd_evaluate};

static void scatter_nd_infer(struct node *n)
{
    const struct shape *data = &n->inputs[0]->shape, *indices = &n->inputs[1]->shape;
    const struct shape *updates = &n->inputs[2]->shape;

    if (data->axes >= 0 && indices->axes >= 0) {
        int64_t depth = indices->axes > 0 ? indices->dim[indices->axes - 1] : 0;
        if (indices->axes < 1 || depth > data->axes) {
            infer_fault(n, "tuples of %" PRId64 " indices do not fit %d axes", depth, data->axes);
            return;
        }
        if (depth >= 0) {
            int64_t axes = indices->axes - 1 + data->axes - depth;
            bool fits = updates->axes < 0 || updates->axes == axes;
            for (int a = 0; fits && a < updates->axes; a++) {
                int64_t d = a < indices->axes - 1 ? indices->dim[a]
                                                  : data->dim[a - (indices->axes - 1) + depth];
                fits = d < 0 || updates->dim[a] < 0 || d == updates->dim[a];
            }
            if (!fits) {
                infer_fault(n, "the updates' shape does not go with data and indices");
                return;
            }
            if (!indices_fit(n, data->dim, depth))
                return;
        }
    }
    infer_output(n, 0, n->inputs[0]->type, data);
}

static bool scatter_nd_evaluate(struct node *n, struct tensor *const *in, struct tensor **out,
                                struct arena *arena, struct arena *scratch)
{
    const struct shape *s = &in[0]->shape, *k = &in[1]->shape;
    int64_t tuples = shape_product(k, 0, k->axes - 1);
    int64_t *targets = NEW_ARRAY(scratch, tuples, int64_t);

    if (!tuple_targets(n->graph->context, s, 0, in[1], targets, scratch))
        return false;
    int64_t run = shape_product(s, (int)k->dim[k->axes - 1], s->axes);
    out[0] = scatter(n, in[0], in[2], targets, tuples, run, arena, scratch);
    return out[0] != NULL;
}

const struct operator_functions scatter_nd_functions = {
    .role = ROLE_STEP, .infer = scatter_nd_infer, .evaluate = scatter_nd_evaluate};

int64_t *scatter_targets(const struct node *n, int64_t *run, int64_t *count, struct arena *arena)
{
    struct context *c = n->graph->context;
    const struct shape *s = &n->inputs[0]->shape;
    const struct tensor *indices = n->inputs[1]->constant;
    int64_t *targets = NEW_ARRAY(arena, indices->count + 1, int64_t), strides[MAX_AXES];

    *run = 1;
    *count = indices->count;
    if (!strcmp(n->op->name, "ScatterND")) {
        int64_t depth = indices->shape.dim[indices->shape.axes - 1];

        *run = shape_product(s, (int)depth, s->axes);
        *count = shape_product(&indices->shape, 0, indices->shape.axes - 1);
        return tuple_targets(c, s, 0, indices, targets, arena) ? targets : NULL;
    }
    const int64_t *index = tensor_integers(c, indices, arena);
    int axis = shape_axis(s, node_int(n, "axis", 0));
    move_strides(s, strides);
    for (int64_t i = 0; i < indices->count; i++)
        if ((targets[i] = element_target(s, strides, &indices->shape, axis, i, index[i])) < 0)
            return NULL;
    return targets;
}
