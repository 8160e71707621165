/* Pad: every mode, any axes, negative pads. */
#include "daemon/compiler/operators/pad.h"
#include "daemon/compiler/operators/arguments.h"
#include "daemon/compiler/operators/lower.h"
#include "daemon/compiler/operators/move.h"
#include "daemon/compiler/operators/range.h"
#include <inttypes.h>
#include <string.h>

static enum pad_mode pad_mode(const struct node *n)
{
    const char *mode = node_string(n, "mode", "constant");
    return strcmp(mode, "reflect") == 0 ? PAD_REFLECT
           : strcmp(mode, "edge") == 0  ? PAD_EDGE
           : strcmp(mode, "wrap") == 0  ? PAD_WRAP
                                        : PAD_CONSTANT;
}

int64_t pad_index(enum pad_mode mode, int64_t begin, int64_t end, int64_t length, int64_t i)
{
    int64_t low = begin < 0 ? -begin : 0, high = length - (end < 0 ? -end : 0);
    int64_t left = high - low, at = i - (begin > 0 ? begin : 0);

    if (at >= 0 && at < left)
        return low + at;
    if (mode == PAD_CONSTANT || left <= 0)
        return -1;
    if (mode == PAD_EDGE)
        return at < 0 ? low : high - 1;
    if (mode == PAD_WRAP)
        return low + ((at % left) + left) % left;
    if (left == 1)
        return low;
    int64_t period = 2 * (left - 1), phase = ((at % period) + period) % period;
    return low + (phase < left ? phase : period - phase);
}

static void pad_upgrade(struct graph *g, struct node *n)
{
    struct shape scalar = shape_of(0, NULL);
    if (n->opset >= 11)
        return;
    argument_from_ints(g, n, "pads", 1);
    if (node_find(n, "value")) {
        float value = node_float(n, "value", 0);
        node_pad_inputs(n, 3);
        node_set_input(n, 2, graph_constant_floats(g, "value", &scalar, &value));
        node_unset(n, "value");
    }
}

bool pad_read(const struct node *n, const struct shape *input, struct pad *pad)
{
    int count, axes_count;
    const int64_t *pads = node_constant_ints(n, 1, &count);
    const int64_t *axes = node_constant_ints(n, 3, &axes_count);
    *pad = (struct pad){.mode = pad_mode(n)};
    if (!pads || (!axes && node_input(n, 3)))
        return false;
    for (int i = 0; i < count / 2; i++) {
        int a = axes ? shape_axis(input, axes[i]) : i;
        pad->begin[a] = pads[i];
        pad->end[a] = pads[count / 2 + i];
    }
    return true;
}

static void pad_infer(struct node *n)
{
    const struct shape *in = &n->inputs[0]->shape;
    const int64_t *pads, *list;
    int count, list_count, axes[MAX_AXES];
    struct shape out = shape_unknown;
    const char *mode = node_string(n, "mode", "constant");

    if (pad_mode(n) == PAD_CONSTANT && strcmp(mode, "constant") != 0) {
        infer_fault(n, "mode is \"%.40s\"", mode);
        return;
    }
    enum argument pads_state = argument_ints(n, 1, &pads, &count);
    enum argument axes_state = argument_ints(n, 3, &list, &list_count);
    if (pads_state == ARGUMENT_KNOWN && axes_state != ARGUMENT_UNKNOWN && in->axes >= 0) {
        int padded = list ? list_count : in->axes;
        if (count != 2 * padded) {
            infer_fault(n, "%d pads are given for %d axes", count, padded);
            return;
        }
        for (int i = 0; !list && i < padded; i++)
            axes[i] = i;
        if (list && !argument_axes(n, list, list_count, in->axes, axes))
            return;
        out = *in;
        for (int i = 0; i < padded; i++) {
            int64_t begin = pads[i], end = pads[padded + i], length = in->dim[axes[i]], sum;
            if (length < 0)
                continue;
            int64_t left = length + (begin < 0 ? begin : 0) + (end < 0 ? end : 0);
            if (begin < -length || end < -length || left < 0) {
                infer_fault(n, "axis %d of length %" PRId64 " is cropped to less than nothing",
                            axes[i], length);
                return;
            }
            if (pad_mode(n) != PAD_CONSTANT && left == 0 && (begin > 0 || end > 0)) {
                infer_fault(n, "axis %d has no elements to pad with", axes[i]);
                return;
            }
            if (__builtin_add_overflow(length, begin, &sum) ||
                __builtin_add_overflow(sum, end, &sum)) {
                infer_fault(n, "the output would have more elements than can be counted");
                return;
            }
            out.dim[axes[i]] = sum;
        }
        if (!argument_fits(n, &out))
            return;
    }
    infer_output(n, 0, n->inputs[0]->type, &out);
}

static bool pad_evaluate(struct node *n, struct tensor *const *in, struct tensor **out,
                         struct arena *arena, struct arena *scratch)
{
    struct context *c = n->graph->context;
    const struct shape *s = &in[0]->shape, *o = &n->outputs[0]->shape;
    struct elements to, from, fill = {.type = in[0]->type};
    struct move m = {0};
    struct pad pad;
    int64_t strides[MAX_AXES], to_strides[MAX_AXES];
    _Alignas(16) uint8_t one[16] = {0};

    if (!pad_read(n, s, &pad) || !elements_new(arena, scratch, in[0]->type, o, &to) ||
        !elements_read(c, in[0], scratch, &from))
        return false;
    fill.bytes = one;
    if (n->input_count > 2 && in[2] && in[2]->count == 1) {
        struct elements value;
        if (in[2]->type == in[0]->type && elements_read(c, in[2], scratch, &value))
            memcpy(one, value.bytes, value.size);
        else /* the float attribute of old opsets */
            elements_set(&fill, 0, tensor_doubles(c, in[2], scratch)[0]);
    }
    m.fill = one;
    move_strides(s, strides);
    move_strides(o, to_strides);
    for (int a = 0; a < o->axes; a++) {
        int64_t *table = NEW_ARRAY(scratch, o->dim[a], int64_t);
        for (int64_t i = 0; i < o->dim[a]; i++) {
            int64_t at = pad_index(pad.mode, pad.begin[a], pad.end[a], s->dim[a], i);
            table[i] = at < 0 ? -1 : at * strides[a];
        }
        move_axis_table(&m, o->dim[a], to_strides[a], table);
    }
    move_elements(c, &m, &to, &from);
    out[0] = elements_finish(&to);
    return true;
}

static bool pad_trace(struct node *n, int output, struct positions at, int *slot, int64_t *from)
{
    const struct shape *s = &n->inputs[0]->shape;
    const struct value *fill = node_input(n, 2);
    int64_t strides[MAX_AXES], index[MAX_AXES];
    struct pad pad;

    /* The float attribute of old opsets may fill integers. */
    if (!pad_read(n, s, &pad) || (fill && fill->type != n->inputs[0]->type))
        return false;
    move_strides(s, strides);
    for (int64_t i = 0; i < at.count; i++) {
        trace_index(&n->outputs[output]->shape, at.at[i], index);
        for (int a = 0; a < s->axes; a++) {
            index[a] = pad_index(pad.mode, pad.begin[a], pad.end[a], s->dim[a], index[a]);
            if (index[a] < 0)
                slot[i] = fill && shape_count(&fill->shape) == 1 ? 2 : -1;
            from[i] += index[a] * strides[a];
        }
        if (slot[i])
            from[i] = 0;
    }
    return true;
}

static void pad_range(const struct node *n, int output, const struct range *in, struct range *out)
{
    (void)output;
    *out = in[0];
    if (!strcmp(node_string(n, "mode", "constant"), "constant"))
        *out = range_hull(*out, node_input(n, 2) ? in[2] : range_make(0, 0));
    out->usual = in[0].usual;
}

const struct operator_functions pad_functions = {.role = ROLE_VIEW,
                                                 .trace = pad_trace,
                                                 .parts = 1,
                                                 .view = view_pad,
                                                 .range = pad_range,
                                                 .upgrade = pad_upgrade,
                                                 .infer = pad_infer,
                                                 .evaluate = pad_evaluate};
