/* Concat and Split: parts of one axis. */
#include "daemon/compiler/operators/concat.h"
#include "daemon/compiler/operators/arguments.h"
#include "daemon/compiler/operators/lower.h"
#include "daemon/compiler/operators/move.h"
#include "daemon/compiler/operators/range.h"
#include <inttypes.h>
#include <string.h>

/* ---- Concat ---- */

int concat_axis(const struct node *n)
{
    return shape_axis(&n->inputs[0]->shape, node_int(n, "axis", 1));
}

int64_t concat_offset(const struct node *n, int part)
{
    int axis = concat_axis(n);
    int64_t offset = 0;
    for (int i = 0; i < part; i++)
        offset += n->inputs[i]->shape.dim[axis];
    return offset;
}

static void concat_infer(struct node *n)
{
    struct context *c = n->graph->context;
    struct shape out = shape_unknown;
    enum element_type type = TYPE_UNKNOWN;
    int axis = -1;

    for (int i = 0; i < n->input_count; i++) {
        const struct value *v = n->inputs[i];
        if (!v) {
            infer_fault(n, "input %d is left out", i);
            return;
        }
        if (type == TYPE_UNKNOWN)
            type = v->type;
        if (v->type != TYPE_UNKNOWN && v->type != type) {
            infer_fault(n, "%s and %s cannot be joined", type_name(type), type_name(v->type));
            return;
        }
    }
    for (int i = 0; i < n->input_count; i++) {
        const struct shape *s = &n->inputs[i]->shape;
        if (s->axes < 0) {
            out = shape_unknown;
            break;
        }
        if (i == 0) {
            axis = infer_axis(n, s, node_int(n, "axis", 1));
            if (axis < 0)
                return;
            out = *s;
            continue;
        }
        if (s->axes != out.axes) {
            infer_fault(n, "%s cannot be joined with %s", shape_text(&c->arena, s),
                        shape_text(&c->arena, &n->inputs[0]->shape));
            return;
        }
        for (int a = 0; a < s->axes; a++) {
            if (a == axis) {
                if (s->dim[a] < 0 || out.dim[a] < 0)
                    out.dim[a] = -1;
                else if (__builtin_add_overflow(out.dim[a], s->dim[a], &out.dim[a])) {
                    infer_fault(n, "the output would have more elements than can be counted");
                    return;
                }
            } else if (out.dim[a] < 0) {
                out.dim[a] = s->dim[a];
            } else if (s->dim[a] >= 0 && s->dim[a] != out.dim[a]) {
                infer_fault(n, "%s cannot be joined with %s along axis %d",
                            shape_text(&c->arena, s), shape_text(&c->arena, &n->inputs[0]->shape),
                            axis);
                return;
            }
        }
    }
    if (argument_fits(n, &out))
        infer_output(n, 0, type, &out);
}

static bool concat_evaluate(struct node *n, struct tensor *const *in, struct tensor **out,
                            struct arena *arena, struct arena *scratch)
{
    struct context *c = n->graph->context;
    const struct shape *o = &n->outputs[0]->shape;
    struct elements to, from;
    int axis = concat_axis(n);
    int64_t at = 0;

    if (!elements_new(arena, scratch, in[0]->type, o, &to))
        return false;
    int64_t inner = shape_product(o, axis + 1, o->axes), outer = shape_product(o, 0, axis);
    for (int i = 0; i < n->input_count; i++) {
        int64_t length = in[i]->shape.dim[axis] * inner;
        struct move m = {.to_start = at};
        if (!elements_read(c, in[i], scratch, &from))
            return false;
        move_axis(&m, outer, o->dim[axis] * inner, length);
        move_axis(&m, length, 1, 1);
        move_elements(c, &m, &to, &from);
        at += length;
    }
    out[0] = elements_finish(&to);
    return true;
}

static bool concat_trace(struct node *n, int output, struct positions at, int *slot, int64_t *from)
{
    const struct shape *o = &n->outputs[output]->shape;
    int axis = concat_axis(n);
    int64_t inner = shape_product(o, axis + 1, o->axes);

    int piece = 0;
    int64_t before = 0; /* along the axis, in the pieces before */

    for (int64_t i = 0; i < at.count; i++) {
        int64_t outer = at.at[i] / inner / o->dim[axis];
        int64_t along = at.at[i] / inner % o->dim[axis];

        /* Neighbours are mostly in one piece. */
        if (along < before) {
            piece = 0;
            before = 0;
        }
        while (along - before >= n->inputs[piece]->shape.dim[axis])
            before += n->inputs[piece++]->shape.dim[axis];
        slot[i] = piece;
        from[i] =
            (outer * n->inputs[piece]->shape.dim[axis] + along - before) * inner + at.at[i] % inner;
    }
    return true;
}

static void concat_range(const struct node *n, int output, const struct range *in,
                         struct range *out)
{
    (void)output;
    *out = in[0];
    for (int i = 1; i < n->input_count; i++)
        *out = range_hull(*out, in[i]);
}

const struct operator_functions concat_functions = {.role = ROLE_VIEW,
                                                    .trace = concat_trace,
                                                    .parts = -1,
                                                    .view = view_concat,
                                                    .range = concat_range,
                                                    .infer = concat_infer,
                                                    .evaluate = concat_evaluate};

/* ---- Split ---- */

int split_axis(const struct node *n)
{
    return shape_axis(&n->inputs[0]->shape, node_int(n, "axis", 0));
}

int64_t split_offset(const struct node *n, int part)
{
    int count, axis = split_axis(n);
    const int64_t *sizes = node_constant_ints(n, 1, &count);
    if (sizes) {
        struct tensor *t = n->inputs[1]->constant;

        if (!t->offsets || t->varies) {
            int64_t *offsets = NEW_ARRAY(&n->graph->context->arena, count + 1, int64_t);

            for (int i = 0; i < count; i++)
                offsets[i + 1] = offsets[i] + sizes[i];
            t->offsets = offsets;
        }
        return t->offsets[part < count ? part : count];
    }
    int64_t parts = node_int(n, "num_outputs", n->output_count);
    int64_t length = n->inputs[0]->shape.dim[axis];
    return part * ((length + parts - 1) / parts);
}

/* Opsets before 18 without sizes: as many equal parts as there are outputs. */
static void split_upgrade(struct graph *g, struct node *n)
{
    if (n->opset < 13)
        argument_from_ints(g, n, "split", 1);
    if (n->opset < 18 && !node_input(n, 1) && !node_find(n, "num_outputs"))
        node_set_int(n, "num_outputs", n->output_count);
}

static void split_infer(struct node *n)
{
    const struct shape *in = &n->inputs[0]->shape;
    const int64_t *sizes;
    int count, axis = -1;
    enum argument state = argument_ints(n, 1, &sizes, &count);
    int64_t parts = node_int(n, "num_outputs", n->output_count), sum = 0;

    if (in->axes >= 0 && (axis = infer_axis(n, in, node_int(n, "axis", 0))) < 0)
        return;
    if (state == ARGUMENT_KNOWN) {
        if (count != n->output_count) {
            infer_fault(n, "%d sizes are given for %d outputs", count, n->output_count);
            return;
        }
        for (int i = 0; i < count; i++) {
            if (sizes[i] < 0 || __builtin_add_overflow(sum, sizes[i], &sum)) {
                infer_fault(n, "the sizes hold %" PRId64, sizes[i]);
                return;
            }
        }
        if (axis >= 0 && in->dim[axis] >= 0 && sum != in->dim[axis]) {
            infer_fault(n, "the sizes add up to %" PRId64 ", axis %d has length %" PRId64, sum,
                        axis, in->dim[axis]);
            return;
        }
    } else if (state == ARGUMENT_ABSENT && parts != n->output_count) {
        infer_fault(n, "num_outputs is %" PRId64 " for %d outputs", parts, n->output_count);
        return;
    }
    if (n->opset >= 18 && (state == ARGUMENT_ABSENT) != (node_find(n, "num_outputs") != NULL)) {
        infer_advise(n, "Export it with one of them", "it has %s sizes and num_outputs",
                     state == ARGUMENT_ABSENT ? "neither" : "both");
        return;
    }
    if (n->opset < 18 && state == ARGUMENT_ABSENT && axis >= 0 && in->dim[axis] % parts > 0) {
        infer_advise(n, "Export it with the sizes of its parts",
                     "axis %d of length %" PRId64 " cannot be split into %" PRId64 " equal parts",
                     axis, in->dim[axis], parts);
        return;
    }
    for (int i = 0; i < n->output_count; i++) {
        struct shape out = state == ARGUMENT_UNKNOWN ? shape_unknown : *in;
        if (axis >= 0 && state != ARGUMENT_UNKNOWN) {
            int64_t length = in->dim[axis], part = length < 0 ? -1 : (length + parts - 1) / parts;
            if (state == ARGUMENT_KNOWN) {
                part = sizes[i];
            } else if (length >= 0 && i == n->output_count - 1) {
                int64_t last = length - i * part;
                if (last < 1 && !(length == 0 && last == 0)) {
                    infer_fault(
                        n, "axis %d of length %" PRId64 " cannot be split into %" PRId64 " parts",
                        axis, length, parts);
                    return;
                }
                part = last;
            }
            out.dim[axis] = part;
        }
        if (i < n->output_count && n->outputs[i])
            infer_output(n, i, n->inputs[0]->type, &out);
    }
}

static bool split_evaluate(struct node *n, struct tensor *const *in, struct tensor **out,
                           struct arena *arena, struct arena *scratch)
{
    struct context *c = n->graph->context;
    const struct shape *s = &in[0]->shape;
    struct elements to, from;
    int axis = split_axis(n);
    int64_t inner = shape_product(s, axis + 1, s->axes), outer = shape_product(s, 0, axis);

    if (!elements_read(c, in[0], scratch, &from))
        return false;
    for (int i = 0; i < n->output_count; i++) {
        if (!n->outputs[i])
            continue;
        const struct shape *o = &n->outputs[i]->shape;
        struct move m = {.from_start = split_offset(n, i) * inner};
        if (!elements_new(arena, scratch, in[0]->type, o, &to))
            return false;
        int64_t length = o->dim[axis] * inner;
        move_axis(&m, outer, length, s->dim[axis] * inner);
        move_axis(&m, length, 1, 1);
        move_elements(c, &m, &to, &from);
        out[i] = elements_finish(&to);
    }
    return true;
}

static bool split_trace(struct node *n, int output, struct positions at, int *slot, int64_t *from)
{
    const struct shape *s = &n->inputs[0]->shape;
    int64_t strides[MAX_AXES];
    int axis = split_axis(n);

    (void)slot;
    move_strides(s, strides);
    if (at.count)
        trace_strides(&n->outputs[output]->shape, strides, split_offset(n, output) * strides[axis],
                      at, from);
    return true;
}

const struct operator_functions split_functions = {.role = ROLE_VIEW,
                                                   .trace = split_trace,
                                                   .parts = 1,
                                                   .view = view_split,
                                                   .upgrade = split_upgrade,
                                                   .infer = split_infer,
                                                   .evaluate = split_evaluate};
