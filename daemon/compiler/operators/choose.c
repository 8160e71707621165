/* Places that the data itself says: OneHot, Compress, NonZero, Unique, TopK. */
#include "daemon/compiler/operators/arguments.h"
#include "daemon/compiler/operators/gather.h"
#include "daemon/compiler/operators/move.h"
#include "daemon/compiler/operators/work.h"
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

/* ---- OneHot ---- */

static void one_hot_infer(struct node *n)
{
    const struct shape *indices = &n->inputs[0]->shape, *values = &n->inputs[2]->shape;
    struct shape out = shape_unknown;
    enum argument state;
    int64_t depth = -1, axis = node_int(n, "axis", -1);

    if (!argument_int(n, 1, &state, &depth))
        return;
    if (state == ARGUMENT_KNOWN && depth < 1) {
        infer_fault(n, "the depth is %" PRId64, depth);
        return;
    }
    if (shape_known(values) && shape_count(values) != 2) {
        infer_fault(n, "values holds %" PRId64 " elements instead of 2", shape_count(values));
        return;
    }
    if (indices->axes >= 0) {
        if (axis < -indices->axes - 1 || axis > indices->axes) {
            infer_fault(n, "axis %" PRId64 " lies outside the %d axes", axis, indices->axes + 1);
            return;
        }
        if (indices->axes == MAX_AXES) {
            infer_fault(n, "the output would have more than %d axes", MAX_AXES);
            return;
        }
        axis = axis < 0 ? axis + indices->axes + 1 : axis;
        out.axes = indices->axes + 1;
        for (int a = 0, from = 0; a < out.axes; a++)
            out.dim[a] = a == axis ? depth : indices->dim[from++];
        if (!argument_fits(n, &out))
            return;
    }
    infer_output(n, 0, n->inputs[2]->type, &out);
}

static bool one_hot_evaluate(struct node *n, struct tensor *const *in, struct tensor **out,
                             struct arena *arena, struct arena *scratch)
{
    struct context *c = n->graph->context;
    const int64_t *indices = tensor_integers(c, in[0], scratch);
    int64_t depth = tensor_integers(c, in[1], scratch)[0], axis = node_int(n, "axis", -1);
    struct shape shape = in[0]->shape;
    struct elements to, values;

    if (in[2]->count != 2 || depth < 1 || shape.axes == MAX_AXES)
        return false;
    axis = axis < 0 ? axis + shape.axes + 1 : axis;
    int64_t inner = shape_product(&shape, (int)axis, shape.axes);
    for (int a = shape.axes++; a > axis; a--)
        shape.dim[a] = shape.dim[a - 1];
    shape.dim[axis] = depth;
    if (!elements_new(arena, scratch, in[2]->type, &shape, &to) ||
        !elements_read(c, in[2], scratch, &values))
        return false;
    for (int64_t i = 0; i < to.count; i++)
        elements_copy(&to, i, &values, 0);
    for (int64_t i = 0; i < in[0]->count; i++) {
        int64_t hot = index_wrapped(indices[i], depth);
        if (hot >= 0)
            elements_copy(&to, (i / inner * depth + hot) * inner + i % inner, &values, 1);
    }
    out[0] = elements_finish(&to);
    return true;
}

const struct operator_functions one_hot_functions = {
    .role = ROLE_STEP, .infer = one_hot_infer, .evaluate = one_hot_evaluate};

/* ---- Compress, NonZero, Unique: as many elements as the data says ---- */

/* Where all inputs are constants, the outputs' shapes come from evaluating; elsewhere they stay as
 * given. */
static void infer_by_evaluating(struct node *n, const enum element_type *types,
                                const struct shape *unknown)
{
    struct context *c = n->graph->context;
    struct arena *scratch = arena_child(&c->arena);
    struct tensor *in[8] = {NULL}, *out[8] = {NULL};
    bool known = true;

    for (int i = 0; i < n->input_count; i++) {
        in[i] = n->inputs[i] ? n->inputs[i]->constant : NULL;
        known = known && (!n->inputs[i] || in[i]);
    }
    if (known) {
        struct node *outer = work_begin(n, NULL, work_of(n));

        known = n->op->functions->evaluate(n, in, out, scratch, scratch);
        work_end(n, outer);
    }
    for (int i = 0; i < n->output_count; i++)
        if (n->outputs[i])
            infer_output(n, i, types[i], known && out[i] ? &out[i]->shape : &unknown[i]);
    arena_free(scratch);
}

static void compress_infer(struct node *n)
{
    const struct shape *in = &n->inputs[0]->shape;
    const int64_t *keep;
    int count, axis = -1;
    struct shape out = shape_of(1, (const int64_t[]){-1});

    if (node_find(n, "axis")) {
        if (in->axes >= 0 && (axis = infer_axis(n, in, node_int(n, "axis", 0))) < 0)
            return;
        out = *in;
        if (axis >= 0)
            out.dim[axis] = -1;
    }
    if (argument_ints(n, 1, &keep, &count) == ARGUMENT_KNOWN && out.axes >= 0) {
        int64_t length = axis >= 0 ? in->dim[axis] : shape_count(in), kept = 0;
        for (int i = 0; i < count; i++)
            kept += keep[i] != 0;
        if (length >= 0 && count > length) {
            infer_fault(n, "the condition has %d elements for a length of %" PRId64, count, length);
            return;
        }
        out.dim[axis >= 0 ? axis : 0] = kept;
    }
    infer_output(n, 0, n->inputs[0]->type, &out);
}

static bool compress_evaluate(struct node *n, struct tensor *const *in, struct tensor **out,
                              struct arena *arena, struct arena *scratch)
{
    struct context *c = n->graph->context;
    const int64_t *keep = tensor_integers(c, in[1], scratch);
    bool along = node_find(n, "axis") != NULL;
    struct shape shape = along ? in[0]->shape : shape_of(1, &in[0]->count);
    int axis = along ? shape_axis(&shape, node_int(n, "axis", 0)) : 0;
    int64_t *table = NEW_ARRAY(scratch, in[1]->count, int64_t), kept = 0, length = shape.dim[axis];
    int64_t outer = shape_product(&shape, 0, axis);
    int64_t inner = shape_product(&shape, axis + 1, shape.axes);
    struct elements to, from;

    for (int64_t i = 0; i < in[1]->count && i < length; i++)
        if (keep[i] != 0)
            table[kept++] = i * inner;
    shape.dim[axis] = kept;
    if (!elements_new(arena, scratch, in[0]->type, &shape, &to) ||
        !elements_read(c, in[0], scratch, &from))
        return false;
    move_chosen(c, outer, length, inner, table, kept, &to, &from);
    out[0] = elements_finish(&to);
    return true;
}

const struct operator_functions compress_functions = {
    .role = ROLE_VIEW, .infer = compress_infer, .evaluate = compress_evaluate};

static void non_zero_infer(struct node *n)
{
    int axes = n->inputs[0]->shape.axes;
    const enum element_type type = TYPE_INT64;
    struct shape out = shape_of(2, (const int64_t[]){axes, -1});
    infer_by_evaluating(n, &type, &out);
}

static bool non_zero_evaluate(struct node *n, struct tensor *const *in, struct tensor **out,
                              struct arena *arena, struct arena *scratch)
{
    const double *x = tensor_doubles(n->graph->context, in[0], scratch);
    const struct shape *s = &in[0]->shape;
    struct shape shape = shape_of(2, (const int64_t[]){s->axes, 0});
    struct elements to;

    for (int64_t i = 0; i < in[0]->count; i++)
        shape.dim[1] += x[i] != 0;
    if (!elements_new(arena, scratch, TYPE_INT64, &shape, &to))
        return false;
    int64_t *index = (int64_t *)(void *)to.bytes;
    for (int64_t i = 0, column = 0; i < in[0]->count; i++) {
        int64_t rest = i;
        if (x[i] == 0)
            continue;
        for (int a = s->axes - 1; a >= 0; a--) {
            index[a * shape.dim[1] + column] = rest % s->dim[a];
            rest /= s->dim[a];
        }
        column++;
    }
    out[0] = elements_finish(&to);
    return true;
}

const struct operator_functions non_zero_functions = {
    .role = ROLE_NONE, .infer = non_zero_infer, .evaluate = non_zero_evaluate};

/* What is to be ordered: items of `run` numbers, number j of item i at i * item + j / inner * outer
 * + j % inner. */
struct order {
    const double *real; /* one of the two */
    const int64_t *whole;
    int64_t item, run, inner, outer;
    bool descending;
};

static int compare_numbers(const struct order *o, int64_t a, int64_t b)
{
    if (o->whole)
        return (o->whole[a] > o->whole[b]) - (o->whole[a] < o->whole[b]);
    double x = o->real[a], y = o->real[b];
    if (isnan(x) || isnan(y)) /* NaN counts as larger than all */
        return isnan(x) - isnan(y);
    return (x > y) - (x < y);
}

static int compare_items(const struct order *o, int64_t a, int64_t b)
{
    for (int64_t j = 0; j < o->run; j++) {
        int64_t at = j / o->inner * o->outer + j % o->inner;
        int d = compare_numbers(o, a * o->item + at, b * o->item + at);
        if (d != 0)
            return o->descending ? -d : d;
    }
    return 0;
}

/* Of equal items the earlier comes first. */
static int compare_order(const void *a, const void *b, void *order)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    int d = compare_items(order, x, y);
    return d != 0 ? d : (x > y) - (x < y);
}

static void order_read(struct order *o, struct context *c, const struct tensor *t,
                       struct arena *scratch)
{
    if (type_is_float(t->type))
        o->real = tensor_doubles(c, t, scratch);
    else
        o->whole = tensor_integers(c, t, scratch);
}

static void unique_infer(struct node *n)
{
    struct shape unknown[4];
    const enum element_type types[4] = {n->inputs[0]->type, TYPE_INT64, TYPE_INT64, TYPE_INT64};
    const struct shape *in = &n->inputs[0]->shape;
    for (int i = 0; i < 4; i++)
        unknown[i] = shape_of(1, (const int64_t[]){-1});
    if (node_find(n, "axis")) {
        unknown[0] = *in;
        if (in->axes >= 0) {
            int axis = infer_axis(n, in, node_int(n, "axis", 0));
            if (axis < 0)
                return;
            unknown[0].dim[axis] = -1;
        }
    }
    infer_by_evaluating(n, types, unknown);
}

static bool unique_evaluate(struct node *n, struct tensor *const *in, struct tensor **out,
                            struct arena *arena, struct arena *scratch)
{
    struct context *c = n->graph->context;
    bool along = node_find(n, "axis") != NULL, sorted = node_int(n, "sorted", 1) != 0;
    struct shape shape = along ? in[0]->shape : shape_of(1, &in[0]->count);
    int axis = along ? shape_axis(&shape, node_int(n, "axis", 0)) : 0;
    int64_t length = shape.dim[axis], outer = shape_product(&shape, 0, axis);
    int64_t inner = shape_product(&shape, axis + 1, shape.axes), kept = 0;
    struct order order = {.item = inner,
                          .run = outer * inner,
                          .inner = inner > 0 ? inner : 1,
                          .outer = length * inner};
    int64_t *items = NEW_ARRAY(scratch, length, int64_t),
            *group = NEW_ARRAY(scratch, length, int64_t);
    int64_t *first = NEW_ARRAY(scratch, length, int64_t),
            *counts = NEW_ARRAY(scratch, length, int64_t);
    int64_t *rank = NEW_ARRAY(scratch, length, int64_t), *by = NEW_ARRAY(scratch, length, int64_t);
    struct elements to, from;

    if (!elements_read(c, in[0], scratch, &from))
        return false;
    order_read(&order, c, in[0], scratch);
    for (int64_t i = 0; i < length; i++)
        items[i] = i;
    qsort_r(items, (size_t)length, sizeof *items, compare_order, &order);
    for (int64_t i = 0; i < length; i++) {
        if (i == 0 || compare_items(&order, items[i - 1], items[i]) != 0)
            first[kept++] = items[i];
        group[items[i]] = kept - 1;
        counts[kept - 1]++;
    }
    /* by: the groups in the order in which they are given; rank: its inverse */
    if (sorted) {
        for (int64_t g = 0; g < kept; g++)
            by[g] = g;
    } else {
        for (int64_t i = 0, g = 0; i < length; i++)
            if (first[group[i]] == i)
                by[g++] = group[i];
    }
    for (int64_t g = 0; g < kept; g++)
        rank[by[g]] = g;

    int64_t *table = NEW_ARRAY(scratch, kept, int64_t);
    for (int64_t g = 0; g < kept; g++)
        table[g] = first[by[g]] * inner;
    shape.dim[axis] = kept;
    if (!elements_new(arena, scratch, in[0]->type, &shape, &to))
        return false;
    move_chosen(c, outer, length, inner, table, kept, &to, &from);
    out[0] = elements_finish(&to);
    for (int i = 1; i < n->output_count; i++) {
        struct shape list = shape_of(1, i == 2 ? &length : &kept);
        void *data;
        if (!n->outputs[i])
            continue;
        out[i] = tensor_new(arena, TYPE_INT64, &list, &data);
        for (int64_t j = 0; j < list.dim[0]; j++)
            ((int64_t *)data)[j] = i == 1 ? first[by[j]] : i == 2 ? rank[group[j]] : counts[by[j]];
    }
    return true;
}

const struct operator_functions unique_functions = {
    .role = ROLE_NONE, .infer = unique_infer, .evaluate = unique_evaluate};

/* ---- TopK ---- */

static void top_k_upgrade(struct graph *g, struct node *n)
{
    if (n->opset < 10)
        argument_from_int(g, n, "k", 1);
}

static void top_k_infer(struct node *n)
{
    const struct shape *in = &n->inputs[0]->shape;
    struct shape out = *in;
    enum argument state;
    int64_t k = -1;

    if (!argument_int(n, 1, &state, &k))
        return;
    if (in->axes >= 0) {
        int axis = infer_axis(n, in, node_int(n, "axis", -1));
        if (axis < 0)
            return;
        if (state == ARGUMENT_KNOWN && (k < 0 || (in->dim[axis] >= 0 && k > in->dim[axis]))) {
            infer_fault(n, "K is %" PRId64 " for an axis of length %" PRId64, k, in->dim[axis]);
            return;
        }
        out.dim[axis] = k;
    }
    infer_output(n, 0, n->inputs[0]->type, &out);
    infer_output(n, 1, TYPE_INT64, &out);
}

static bool top_k_evaluate(struct node *n, struct tensor *const *in, struct tensor **out,
                           struct arena *arena, struct arena *scratch)
{
    struct context *c = n->graph->context;
    struct shape shape = in[0]->shape;
    int64_t k = tensor_integers(c, in[1], scratch)[0];
    int axis = shape_axis(&shape, node_int(n, "axis", -1));
    int64_t length = shape.dim[axis], inner = shape_product(&shape, axis + 1, shape.axes);
    int64_t outer = shape_product(&shape, 0, axis), *items = NEW_ARRAY(scratch, length, int64_t);
    struct order whole = {
        .item = inner, .run = 1, .inner = 1, .descending = node_int(n, "largest", 1) != 0};
    struct elements values, from;
    void *data;

    if (k < 0 || k > length || !elements_read(c, in[0], scratch, &from))
        return false;
    shape.dim[axis] = k;
    if (!elements_new(arena, scratch, in[0]->type, &shape, &values))
        return false;
    struct tensor *indices = tensor_new(arena, TYPE_INT64, &shape, &data);
    order_read(&whole, c, in[0], scratch);
    for (int64_t row = 0; row < outer * inner; row++) {
        int64_t base = row / inner * length * inner + row % inner;
        struct order order = whole;
        if (order.real)
            order.real += base;
        else
            order.whole += base;
        for (int64_t i = 0; i < length; i++)
            items[i] = i;
        qsort_r(items, (size_t)length, sizeof *items, compare_order, &order);
        for (int64_t i = 0; i < k; i++) {
            int64_t at = (row / inner * k + i) * inner + row % inner;
            elements_copy(&values, at, &from, base + items[i] * inner);
            ((int64_t *)data)[at] = items[i];
        }
    }
    if (n->outputs[0])
        out[0] = elements_finish(&values);
    if (n->output_count > 1 && n->outputs[1])
        out[1] = indices;
    return true;
}

const struct operator_functions top_k_functions = {
    .role = ROLE_NONE, .upgrade = top_k_upgrade, .infer = top_k_infer, .evaluate = top_k_evaluate};
