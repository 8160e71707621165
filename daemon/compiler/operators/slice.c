/* Slice and other choices of a part by position: CenterCropPad, Trilu, ReverseSequence. */
#include "daemon/compiler/operators/slice.h"
#include "daemon/compiler/operators/arguments.h"
#include "daemon/compiler/operators/lower.h"
#include "daemon/compiler/operators/move.h"
#include "daemon/compiler/operators/range.h"
#include <inttypes.h>

/* ---- Slice ---- */

static int64_t clamp(int64_t i, int64_t low, int64_t high)
{
    return i < low ? low : i > high ? high : i;
}

/* One axis of known length. INT64_MIN and INT64_MAX mean "as far as there is", so nothing may be
 * added to a number before it is known to be small. */
static int64_t slice_axis(int64_t length, int64_t start, int64_t end, int64_t step, int64_t *first)
{
    *first = 0;
    if (length == 0)
        return 0;
    start = start < -length ? 0 : start < 0 ? start + length : start;
    end = end < -length ? -1 : end < 0 ? end + length : end;
    if (step > 0) {
        start = clamp(start, 0, length);
        end = clamp(end, 0, length);
        *first = start;
        return end > start ? (end - start - 1) / step + 1 : 0;
    }
    start = clamp(start, 0, length - 1);
    end = clamp(end, -1, length - 1);
    *first = start;
    /* -(step + 1) + 1 would pass INT64_MAX for INT64_MIN */
    return start > end ? (int64_t)((uint64_t)(start - end - 1) / -(uint64_t)step) + 1 : 0;
}

static void slice_upgrade(struct graph *g, struct node *n)
{
    if (n->opset < 10) {
        argument_from_ints(g, n, "starts", 1);
        argument_from_ints(g, n, "ends", 2);
        argument_from_ints(g, n, "axes", 3);
    }
}

struct slice_arguments {
    const int64_t *starts, *ends, *axes, *steps;
    int count, ends_count, axes_count, steps_count;
};

/* false where one of them is not constant. */
static bool slice_arguments(struct node *n, struct slice_arguments *a)
{
    enum argument starts = argument_ints(n, 1, &a->starts, &a->count);
    enum argument ends = argument_ints(n, 2, &a->ends, &a->ends_count);
    enum argument axes = argument_ints(n, 3, &a->axes, &a->axes_count);
    enum argument steps = argument_ints(n, 4, &a->steps, &a->steps_count);
    return starts == ARGUMENT_KNOWN && ends == ARGUMENT_KNOWN && axes != ARGUMENT_UNKNOWN &&
           steps != ARGUMENT_UNKNOWN;
}

bool slice_read(const struct node *n, const struct shape *input, struct slice *s)
{
    struct slice_arguments given = {0};
    given.starts = node_constant_ints(n, 1, &given.count);
    given.ends = node_constant_ints(n, 2, &given.ends_count);
    given.axes = node_constant_ints(n, 3, &given.axes_count);
    given.steps = node_constant_ints(n, 4, &given.steps_count);
    if (!given.starts || !given.ends || (!given.axes && node_input(n, 3)) ||
        (!given.steps && node_input(n, 4)))
        return false;
    for (int a = 0; a < input->axes; a++) {
        s->start[a] = 0;
        s->step[a] = 1;
        s->extent[a] = input->dim[a];
    }
    for (int i = 0; i < given.count; i++) {
        int a = given.axes ? shape_axis(input, given.axes[i]) : i;
        s->step[a] = given.steps ? given.steps[i] : 1;
        s->extent[a] =
            slice_axis(input->dim[a], given.starts[i], given.ends[i], s->step[a], &s->start[a]);
    }
    return true;
}

static void slice_infer(struct node *n)
{
    const struct shape *in = &n->inputs[0]->shape;
    struct slice_arguments given = {0};
    struct shape out = shape_unknown;
    int axes[MAX_AXES];
    int64_t first;

    if (!slice_arguments(n, &given) || in->axes < 0) {
        infer_output(n, 0, n->inputs[0]->type, &out);
        return;
    }
    if (given.ends_count != given.count || (given.axes && given.axes_count != given.count) ||
        (given.steps && given.steps_count != given.count)) {
        infer_fault(n, "starts, ends, axes and steps differ in their number of elements");
        return;
    }
    if (given.count > in->axes) {
        infer_fault(n, "%d axes are sliced of an input with %d", given.count, in->axes);
        return;
    }
    for (int i = 0; !given.axes && i < given.count; i++)
        axes[i] = i;
    if (given.axes && !argument_axes(n, given.axes, given.count, in->axes, axes))
        return;
    out = *in;
    for (int i = 0; i < given.count; i++) {
        int64_t step = given.steps ? given.steps[i] : 1;
        if (step == 0) {
            infer_fault(n, "the step along axis %d is 0", axes[i]);
            return;
        }
        if (in->dim[axes[i]] >= 0)
            out.dim[axes[i]] =
                slice_axis(in->dim[axes[i]], given.starts[i], given.ends[i], step, &first);
    }
    infer_output(n, 0, n->inputs[0]->type, &out);
}

static bool slice_evaluate(struct node *n, struct tensor *const *in, struct tensor **out,
                           struct arena *arena, struct arena *scratch)
{
    struct context *c = n->graph->context;
    struct shape shape = in[0]->shape;
    struct slice s;
    struct elements to, from;
    struct move m = {0};
    int64_t strides[MAX_AXES], to_strides[MAX_AXES];

    if (!slice_read(n, &in[0]->shape, &s))
        return false;
    for (int a = 0; a < shape.axes; a++)
        shape.dim[a] = s.extent[a];
    if (!elements_new(arena, scratch, in[0]->type, &shape, &to))
        return false;
    if (to.count > 0) {
        if (!elements_read(c, in[0], scratch, &from))
            return false;
        move_strides(&in[0]->shape, strides);
        move_strides(&shape, to_strides);
        for (int a = 0; a < shape.axes; a++) {
            /* one element needs no step, and a step may be larger than any stride */
            int64_t step = s.extent[a] > 1 ? s.step[a] * strides[a] : 0;
            m.from_start += s.start[a] * strides[a];
            move_axis(&m, s.extent[a], to_strides[a], step);
        }
        move_elements(c, &m, &to, &from);
    }
    out[0] = elements_finish(&to);
    return true;
}

static bool slice_trace(struct node *n, int output, struct positions at, int *slot, int64_t *from)
{
    const struct shape *in = &n->inputs[0]->shape;
    int64_t strides[MAX_AXES], start = 0;
    struct slice s;

    (void)slot;
    if (!slice_read(n, in, &s))
        return false;
    move_strides(in, strides);
    for (int a = 0; a < in->axes; a++) {
        start += s.start[a] * strides[a];
        strides[a] *= s.extent[a] > 1 ? s.step[a] : 0;
    }
    trace_strides(&n->outputs[output]->shape, strides, start, at, from);
    return true;
}

const struct operator_functions slice_functions = {.role = ROLE_VIEW,
                                                   .trace = slice_trace,
                                                   .parts = 1,
                                                   .view = view_slice,
                                                   .upgrade = slice_upgrade,
                                                   .infer = slice_infer,
                                                   .evaluate = slice_evaluate};

/* ---- CenterCropPad ---- */

int64_t crop_offset(int64_t from, int64_t to)
{
    return to <= from ? (from - to) / 2 : -((to - from) / 2);
}

static void crop_infer(struct node *n)
{
    const struct shape *in = &n->inputs[0]->shape;
    const int64_t *dims, *list;
    int count, list_count, axes[MAX_AXES];
    struct shape out = shape_unknown;

    if (argument_ints(n, 1, &dims, &count) == ARGUMENT_KNOWN && in->axes >= 0) {
        list = node_ints(n, "axes", &list_count);
        if (count != (list ? list_count : in->axes)) {
            infer_fault(n, "%d lengths are given for %d axes", count, list ? list_count : in->axes);
            return;
        }
        for (int i = 0; !list && i < count; i++)
            axes[i] = i;
        if (list && !argument_axes(n, list, count, in->axes, axes))
            return;
        out = *in;
        for (int i = 0; i < count; i++) {
            if (dims[i] < 0) {
                infer_fault(n, "the shape holds %" PRId64, dims[i]);
                return;
            }
            out.dim[axes[i]] = dims[i];
        }
        if (!argument_fits(n, &out))
            return;
    }
    infer_output(n, 0, n->inputs[0]->type, &out);
}

static bool crop_evaluate(struct node *n, struct tensor *const *in, struct tensor **out,
                          struct arena *arena, struct arena *scratch)
{
    struct context *c = n->graph->context;
    const struct shape *s = &in[0]->shape, *o = &n->outputs[0]->shape;
    struct elements to, from;
    struct move m = {0};
    int64_t strides[MAX_AXES], to_strides[MAX_AXES];

    if (!elements_new(arena, scratch, in[0]->type, o, &to) ||
        !elements_read(c, in[0], scratch, &from))
        return false;
    move_strides(s, strides);
    move_strides(o, to_strides);
    for (int a = 0; a < o->axes; a++) {
        int64_t offset = crop_offset(s->dim[a], o->dim[a]);
        int64_t both = o->dim[a] < s->dim[a] ? o->dim[a] : s->dim[a];
        move_axis(&m, both, to_strides[a], strides[a]);
        if (offset >= 0)
            m.from_start += offset * strides[a];
        else
            m.to_start -= offset * to_strides[a];
    }
    move_elements(c, &m, &to, &from);
    out[0] = elements_finish(&to);
    return true;
}

static bool crop_trace(struct node *n, int output, struct positions at, int *slot, int64_t *from)
{
    const struct shape *s = &n->inputs[0]->shape, *o = &n->outputs[output]->shape;
    int64_t strides[MAX_AXES], index[MAX_AXES];

    move_strides(s, strides);
    for (int64_t i = 0; i < at.count; i++) {
        trace_index(o, at.at[i], index);
        for (int a = 0; a < s->axes; a++) {
            index[a] += crop_offset(s->dim[a], o->dim[a]);
            if (index[a] < 0 || index[a] >= s->dim[a])
                slot[i] = -1;
            from[i] += index[a] * strides[a];
        }
    }
    return true;
}

const struct operator_functions center_crop_pad_functions = {.role = ROLE_VIEW,
                                                             .trace = crop_trace,
                                                             .parts = 1,
                                                             .infer = crop_infer,
                                                             .evaluate = crop_evaluate};

/* ---- Trilu ---- */

static void trilu_infer(struct node *n)
{
    const struct shape *in = &n->inputs[0]->shape;
    enum argument state;
    int64_t k = 0;
    if (in->axes >= 0 && in->axes < 2) {
        infer_fault(n, "the input has %d axes, fewer than 2", in->axes);
        return;
    }
    if (argument_int(n, 1, &state, &k))
        infer_output(n, 0, n->inputs[0]->type, in);
}

static bool trilu_evaluate(struct node *n, struct tensor *const *in, struct tensor **out,
                           struct arena *arena, struct arena *scratch)
{
    struct context *c = n->graph->context;
    const struct shape *s = &in[0]->shape;
    bool upper = node_int(n, "upper", 1) != 0;
    int64_t k = n->input_count > 1 && in[1] ? tensor_integers(c, in[1], scratch)[0] : 0;
    struct elements to, from;

    if (!elements_new(arena, scratch, in[0]->type, s, &to) ||
        !elements_read(c, in[0], scratch, &from))
        return false;
    int64_t rows = s->dim[s->axes - 2], columns = s->dim[s->axes - 1];
    k = clamp(k, -rows - 1, columns + 1);
    for (int64_t i = 0; i < to.count; i++) {
        int64_t row = i / columns % rows, column = i % columns;
        if (upper ? column - row >= k : column - row <= k)
            elements_copy(&to, i, &from, i);
    }
    out[0] = elements_finish(&to);
    return true;
}

static bool trilu_trace(struct node *n, int output, struct positions at, int *slot, int64_t *from)
{
    const struct shape *s = &n->outputs[output]->shape;
    bool upper = node_int(n, "upper", 1) != 0;
    int64_t rows = s->dim[s->axes - 2], columns = s->dim[s->axes - 1], k = 0;
    int count;

    if (node_input(n, 1))
        k = clamp(*node_constant_ints(n, 1, &count), -rows - 1, columns + 1);
    for (int64_t i = 0; i < at.count; i++) {
        int64_t row = at.at[i] / columns % rows, column = at.at[i] % columns;

        from[i] = at.at[i];
        if (upper ? column - row < k : column - row > k)
            slot[i] = -1;
    }
    return true;
}

static void trilu_range(const struct node *n, int output, const struct range *in, struct range *out)
{
    (void)n;
    (void)output;
    *out = range_hull(in[0], range_make(0, 0));
}

const struct operator_functions trilu_functions = {.role = ROLE_VIEW,
                                                   .trace = trilu_trace,
                                                   .parts = 1,
                                                   .view = view_trilu,
                                                   .range = trilu_range,
                                                   .infer = trilu_infer,
                                                   .evaluate = trilu_evaluate};

/* ---- ReverseSequence ---- */

static void reverse_infer(struct node *n)
{
    const struct shape *in = &n->inputs[0]->shape;
    const int64_t *lengths;
    int count;
    int64_t batch = node_int(n, "batch_axis", 1), time = node_int(n, "time_axis", 0);

    if (batch + time != 1 || batch < 0 || time < 0) {
        infer_fault(n, "batch_axis and time_axis have to be 0 and 1");
        return;
    }
    if (in->axes >= 0 && in->axes < 2) {
        infer_fault(n, "the input has %d axes, fewer than 2", in->axes);
        return;
    }
    if (argument_ints(n, 1, &lengths, &count) == ARGUMENT_KNOWN && in->axes >= 0) {
        if (in->dim[batch] >= 0 && count != in->dim[batch]) {
            infer_fault(n, "%d lengths are given for a batch of %" PRId64, count, in->dim[batch]);
            return;
        }
        for (int i = 0; i < count; i++) {
            if (lengths[i] < 0 || (in->dim[time] >= 0 && lengths[i] > in->dim[time])) {
                infer_fault(n, "a length of %" PRId64 " lies outside the time axis", lengths[i]);
                return;
            }
        }
    }
    infer_output(n, 0, n->inputs[0]->type, in);
}

static bool reverse_evaluate(struct node *n, struct tensor *const *in, struct tensor **out,
                             struct arena *arena, struct arena *scratch)
{
    struct context *c = n->graph->context;
    const struct shape *s = &in[0]->shape;
    const int64_t *lengths = tensor_integers(c, in[1], scratch);
    bool batch_first = node_int(n, "batch_axis", 1) == 0;
    int64_t batch = s->dim[batch_first ? 0 : 1], time = s->dim[batch_first ? 1 : 0];
    int64_t inner = shape_product(s, 2, s->axes);
    struct elements to, from;

    if (in[1]->count != batch || !elements_new(arena, scratch, in[0]->type, s, &to) ||
        !elements_read(c, in[0], scratch, &from))
        return false;
    for (int64_t b = 0; b < batch; b++) {
        int64_t length = clamp(lengths[b], 0, time);
        for (int64_t t = 0; t < time; t++) {
            int64_t from_t = t < length ? length - 1 - t : t;
            int64_t at = batch_first ? b * time + t : t * batch + b;
            int64_t from_at = batch_first ? b * time + from_t : from_t * batch + b;
            struct move m = {.to_start = at * inner, .from_start = from_at * inner};
            move_axis(&m, inner, 1, 1);
            move_elements(c, &m, &to, &from);
        }
    }
    out[0] = elements_finish(&to);
    return true;
}

static bool reverse_trace(struct node *n, int output, struct positions at, int *slot, int64_t *from)
{
    const struct shape *s = &n->inputs[0]->shape;
    int batch = (int)node_int(n, "batch_axis", 1), time = 1 - batch, count = 0;
    const int64_t *lengths = at.count ? node_constant_ints(n, 1, &count) : NULL;
    int64_t strides[MAX_AXES], index[MAX_AXES];

    (void)output, (void)slot;
    if (at.count && count != s->dim[batch])
        return false;
    move_strides(s, strides);
    for (int64_t i = 0; i < at.count; i++) {
        trace_index(s, at.at[i], index);
        int64_t length = clamp(lengths[index[batch]], 0, s->dim[time]);
        from[i] = at.at[i];
        if (index[time] < length)
            from[i] += (length - 1 - 2 * index[time]) * strides[time];
    }
    return true;
}

const struct operator_functions reverse_sequence_functions = {.role = ROLE_VIEW,
                                                              .trace = reverse_trace,
                                                              .parts = 1,
                                                              .infer = reverse_infer,
                                                              .evaluate = reverse_evaluate};
