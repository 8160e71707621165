/* Operators that only rename, reorder or repeat: element values pass through untouched. */
#include "daemon/compiler/operators/arguments.h"
#include "daemon/compiler/operators/lower.h"
#include "daemon/compiler/operators/move.h"
#include "daemon/compiler/operators/transpose.h"
#include <inttypes.h>
#include <string.h>

/* ---- Reshape ---- */

static void reshape_infer(struct node *n)
{
    const struct shape *in = &n->inputs[0]->shape;
    bool allow_zero = node_int(n, "allowzero", 0) != 0;
    const int64_t *dims;
    int count, open = -1, zeros = 0;
    struct shape out = shape_unknown;

    if (argument_ints(n, 1, &dims, &count) != ARGUMENT_KNOWN) {
        infer_output(n, 0, n->inputs[0]->type, &out);
        return;
    }
    if (!argument_shape(n, dims, count, &out))
        return;
    bool all_known = true;
    for (int a = 0; a < count; a++) {
        if (dims[a] < -1) {
            infer_fault(n, "the shape holds %" PRId64, dims[a]);
            return;
        }
        if (dims[a] == -1 && open >= 0) {
            infer_fault(n, "the shape holds -1 more than once");
            return;
        }
        if (dims[a] == -1)
            open = a;
        zeros += dims[a] == 0;
        if (dims[a] == 0 && !allow_zero) {
            if (in->axes >= 0 && a >= in->axes) {
                infer_fault(n, "the shape copies axis %d of an input with %d axes", a, in->axes);
                return;
            }
            out.dim[a] = in->axes >= 0 ? in->dim[a] : -1;
            all_known = all_known && out.dim[a] >= 0;
        }
    }
    if (allow_zero && zeros > 0 && open >= 0) {
        infer_fault(n, "allowzero does not go with both 0 and -1 in the shape");
        return;
    }
    int64_t elements = shape_count(in);
    if (all_known && elements >= 0) {
        struct shape others = out;
        if (open >= 0)
            others.dim[open] = 1;
        int64_t product = shape_count(&others);
        if (open >= 0 ? product <= 0 || elements % product != 0 : product != elements) {
            struct shape asked = shape_of(count, dims);
            struct context *c = n->graph->context;
            infer_fault(n, "the %" PRId64 " elements of %s do not fit the shape %s", elements,
                        shape_text(&c->arena, in), shape_text(&c->arena, &asked));
            return;
        }
        if (open >= 0)
            out.dim[open] = elements / product;
    }
    if (argument_fits(n, &out))
        infer_output(n, 0, n->inputs[0]->type, &out);
}

/* Every operator whose output is its input with another shape. */
static bool reshape_evaluate(struct node *n, struct tensor *const *in, struct tensor **out,
                             struct arena *arena, struct arena *scratch)
{
    (void)scratch;
    if (!n->outputs[0])
        return true;
    out[0] = move_reshaped(n->graph->context, in[0], &n->outputs[0]->shape, arena);
    return out[0] != NULL;
}

const struct operator_functions reshape_functions = {.role = ROLE_VIEW,
                                                     .view = view_reshape,
                                                     .infer = reshape_infer,
                                                     .evaluate = reshape_evaluate,
                                                     .trace = trace_same,
                                                     .parts = 1};

/* ---- Flatten ---- */

static void flatten_infer(struct node *n)
{
    const struct shape *in = &n->inputs[0]->shape;
    int64_t axis = node_int(n, "axis", 1);
    struct shape out = shape_of(2, (const int64_t[]){-1, -1});
    if (in->axes >= 0) {
        if (axis < -in->axes || axis > in->axes) {
            infer_fault(n, "axis %" PRId64 " lies outside the %d axes", axis, in->axes);
            return;
        }
        int split = (int)(axis < 0 ? axis + in->axes : axis);
        out.dim[0] = out.dim[1] = 1;
        for (int a = 0; a < in->axes; a++) {
            int64_t *dim = &out.dim[a >= split];
            if (*dim < 0 || in->dim[a] < 0)
                *dim = -1;
            else if (__builtin_mul_overflow(*dim, in->dim[a], dim)) {
                infer_fault(n, "the output would have more elements than can be counted");
                return;
            }
        }
    }
    infer_output(n, 0, n->inputs[0]->type, &out);
}

const struct operator_functions flatten_functions = {.role = ROLE_VIEW,
                                                     .view = view_reshape,
                                                     .infer = flatten_infer,
                                                     .evaluate = reshape_evaluate,
                                                     .trace = trace_same,
                                                     .parts = 1};

/* ---- Squeeze, Unsqueeze ---- */

static void axes_upgrade(struct graph *g, struct node *n)
{
    if (n->opset < 13)
        argument_from_ints(g, n, "axes", 1);
}

static void squeeze_infer(struct node *n)
{
    const struct shape *in = &n->inputs[0]->shape;
    const int64_t *list;
    int count, axes[MAX_AXES];
    bool drop[MAX_AXES] = {false};
    struct shape out = shape_unknown;

    enum argument state = argument_ints(n, 1, &list, &count);
    if (state == ARGUMENT_UNKNOWN || in->axes < 0 ||
        (state == ARGUMENT_ABSENT && !shape_known(in))) {
        infer_output(n, 0, n->inputs[0]->type, &out);
        return;
    }
    if (state == ARGUMENT_KNOWN) {
        if (!argument_axes(n, list, count, in->axes, axes))
            return;
        for (int i = 0; i < count; i++) {
            if (in->dim[axes[i]] >= 0 && in->dim[axes[i]] != 1) {
                infer_fault(n, "axis %d has length %" PRId64 " and cannot be squeezed", axes[i],
                            in->dim[axes[i]]);
                return;
            }
            drop[axes[i]] = true;
        }
    } else {
        for (int a = 0; a < in->axes; a++)
            drop[a] = in->dim[a] == 1;
    }
    out.axes = 0;
    for (int a = 0; a < in->axes; a++)
        if (!drop[a])
            out.dim[out.axes++] = in->dim[a];
    infer_output(n, 0, n->inputs[0]->type, &out);
}

const struct operator_functions squeeze_functions = {.role = ROLE_VIEW,
                                                     .view = view_reshape,
                                                     .upgrade = axes_upgrade,
                                                     .infer = squeeze_infer,
                                                     .trace = trace_same,
                                                     .parts = 1,
                                                     .evaluate = reshape_evaluate};

static void unsqueeze_infer(struct node *n)
{
    const struct shape *in = &n->inputs[0]->shape;
    const int64_t *list;
    int count, axes[MAX_AXES];
    bool new_axis[MAX_AXES] = {false};
    struct shape out = shape_unknown;

    enum argument state = argument_ints(n, 1, &list, &count);
    if (state == ARGUMENT_ABSENT) {
        infer_fault(n, "the axes are left out");
        return;
    }
    if (state == ARGUMENT_UNKNOWN || in->axes < 0) {
        infer_output(n, 0, n->inputs[0]->type, &out);
        return;
    }
    if (in->axes + count > MAX_AXES) {
        infer_fault(n, "the output would have %d axes, more than %d", in->axes + count, MAX_AXES);
        return;
    }
    out.axes = in->axes + count;
    if (!argument_axes(n, list, count, out.axes, axes))
        return;
    for (int i = 0; i < count; i++)
        new_axis[axes[i]] = true;
    for (int a = 0, from = 0; a < out.axes; a++)
        out.dim[a] = new_axis[a] ? 1 : in->dim[from++];
    infer_output(n, 0, n->inputs[0]->type, &out);
}

const struct operator_functions unsqueeze_functions = {.role = ROLE_VIEW,
                                                       .view = view_reshape,
                                                       .upgrade = axes_upgrade,
                                                       .infer = unsqueeze_infer,
                                                       .trace = trace_same,
                                                       .parts = 1,
                                                       .evaluate = reshape_evaluate};

/* ---- Transpose ---- */

void transpose_permutation(const struct node *n, int axes, int perm[MAX_AXES])
{
    int count;
    const int64_t *list = node_ints(n, "perm", &count);
    for (int a = 0; a < axes; a++)
        perm[a] = list ? (int)list[a] : axes - 1 - a;
}

static void transpose_infer(struct node *n)
{
    const struct shape *in = &n->inputs[0]->shape;
    struct shape out = shape_unknown;
    int count, axes[MAX_AXES];
    const int64_t *list = node_ints(n, "perm", &count);

    if (list && in->axes >= 0 && count != in->axes) {
        infer_fault(n, "perm names %d axes of an input with %d", count, in->axes);
        return;
    }
    for (int i = 0; list && i < count; i++) {
        if (list[i] < 0 || list[i] >= count) {
            infer_fault(n, "perm is not a permutation: it holds %" PRId64, list[i]);
            return;
        }
    }
    if (list && count <= MAX_AXES && !argument_axes(n, list, count, count, axes))
        return;
    if (in->axes >= 0) {
        int perm[MAX_AXES];
        transpose_permutation(n, in->axes, perm);
        out.axes = in->axes;
        for (int a = 0; a < in->axes; a++)
            out.dim[a] = in->dim[perm[a]];
    }
    infer_output(n, 0, n->inputs[0]->type, &out);
}

/* out axis a runs along axis perm[a] of dims; out is dense and row-major. */
static bool permuted(struct context *c, const struct tensor *in, int axes, const int64_t *dims,
                     const int *perm, struct elements *to, struct arena *scratch)
{
    struct elements from;
    struct move m = {0};
    int64_t strides[MAX_AXES], stride = 1, to_strides[MAX_AXES];

    if (!elements_read(c, in, scratch, &from))
        return false;
    for (int a = axes - 1; a >= 0; a--) {
        strides[a] = stride;
        stride *= dims[a];
    }
    stride = 1;
    for (int a = axes - 1; a >= 0; a--) {
        to_strides[a] = stride;
        stride *= dims[perm[a]];
    }
    for (int a = 0; a < axes; a++)
        move_axis(&m, dims[perm[a]], to_strides[a], strides[perm[a]]);
    move_elements(c, &m, to, &from);
    return true;
}

static bool transpose_evaluate(struct node *n, struct tensor *const *in, struct tensor **out,
                               struct arena *arena, struct arena *scratch)
{
    struct elements to;
    int perm[MAX_AXES];
    struct shape shape = in[0]->shape;
    transpose_permutation(n, shape.axes, perm);
    for (int a = 0; a < shape.axes; a++)
        shape.dim[a] = in[0]->shape.dim[perm[a]];
    if (!elements_new(arena, scratch, in[0]->type, &shape, &to) ||
        !permuted(n->graph->context, in[0], shape.axes, in[0]->shape.dim, perm, &to, scratch))
        return false;
    out[0] = elements_finish(&to);
    return true;
}

static bool transpose_trace(struct node *n, int output, struct positions at, int *slot,
                            int64_t *from)
{
    const struct shape *s = &n->inputs[0]->shape;
    int64_t strides[MAX_AXES], permuted_strides[MAX_AXES];
    int perm[MAX_AXES];

    (void)slot;
    transpose_permutation(n, s->axes, perm);
    move_strides(s, strides);
    for (int a = 0; a < s->axes; a++)
        permuted_strides[a] = strides[perm[a]];
    trace_strides(&n->outputs[output]->shape, permuted_strides, 0, at, from);
    return true;
}

const struct operator_functions transpose_functions = {.role = ROLE_VIEW,
                                                       .view = view_transpose,
                                                       .infer = transpose_infer,
                                                       .evaluate = transpose_evaluate,
                                                       .trace = transpose_trace,
                                                       .parts = 1};

/* ---- DepthToSpace, SpaceToDepth ---- */

static bool to_space(const struct node *n)
{
    return strcmp(n->op_type, "DepthToSpace") == 0;
}

void depth_split(const struct node *n, const struct shape *input, int64_t split[6], int perm[6])
{
    int64_t b = node_int(n, "blocksize", 1);
    const int64_t *d = input->dim;
    if (!to_space(n)) {
        memcpy(split, (int64_t[]){d[0], d[1], d[2] / b, b, d[3] / b, b}, 6 * sizeof *split);
        memcpy(perm, (int[]){0, 3, 5, 1, 2, 4}, 6 * sizeof *perm);
    } else if (strcmp(node_string(n, "mode", "DCR"), "CRD") == 0) {
        memcpy(split, (int64_t[]){d[0], d[1] / b / b, b, b, d[2], d[3]}, 6 * sizeof *split);
        memcpy(perm, (int[]){0, 1, 4, 2, 5, 3}, 6 * sizeof *perm);
    } else {
        memcpy(split, (int64_t[]){d[0], b, b, d[1] / b / b, d[2], d[3]}, 6 * sizeof *split);
        memcpy(perm, (int[]){0, 3, 4, 1, 5, 2}, 6 * sizeof *perm);
    }
}

static void depth_infer(struct node *n)
{
    const struct shape *in = &n->inputs[0]->shape;
    int64_t b = node_int(n, "blocksize", 0);
    bool space = to_space(n);
    struct shape out = shape_of(4, (const int64_t[]){-1, -1, -1, -1});

    const char *mode = node_string(n, "mode", "DCR");

    if (b < 1 || b > 1 << 20) {
        infer_fault(n, "blocksize is %" PRId64, b);
        return;
    }
    if (strcmp(mode, "DCR") != 0 && strcmp(mode, "CRD") != 0) {
        infer_advise(n, "Make it DCR or CRD", "its mode is \"%.40s\"", mode);
        return;
    }
    if (in->axes >= 0 && in->axes != 4) {
        infer_fault(n, "the input has %d axes instead of 4", in->axes);
        return;
    }
    for (int a = 0; a < in->axes; a++) {
        int64_t d = in->dim[a], into = a == 0 ? 1 : (a == 1) == space ? (a == 1 ? b * b : b) : 0;
        if (d < 0)
            continue;
        /* into: what this axis is divided by; 0: it grows */
        if (into > 0) {
            if (d % into != 0) {
                infer_fault(n, "axis %d has length %" PRId64 ", no multiple of %" PRId64, a, d,
                            into);
                return;
            }
            out.dim[a] = d / into;
        } else if (__builtin_mul_overflow(d, a == 1 ? b * b : b, &out.dim[a])) {
            infer_fault(n, "the output would have more elements than can be counted");
            return;
        }
    }
    infer_output(n, 0, n->inputs[0]->type, &out);
}

static bool depth_evaluate(struct node *n, struct tensor *const *in, struct tensor **out,
                           struct arena *arena, struct arena *scratch)
{
    struct elements to;
    int64_t split[6];
    int perm[6];
    depth_split(n, &in[0]->shape, split, perm);
    if (!elements_new(arena, scratch, in[0]->type, &n->outputs[0]->shape, &to) ||
        !permuted(n->graph->context, in[0], 6, split, perm, &to, scratch))
        return false;
    out[0] = elements_finish(&to);
    return true;
}

static bool depth_trace(struct node *n, int output, struct positions at, int *slot, int64_t *from)
{
    int64_t split[6], strides[MAX_AXES], permuted_strides[6];
    struct shape narrow, wide;
    int perm[6];

    (void)output, (void)slot;
    depth_split(n, &n->inputs[0]->shape, split, perm);
    narrow = wide = shape_of(6, split);
    move_strides(&narrow, strides);
    for (int a = 0; a < 6; a++) {
        wide.dim[a] = split[perm[a]];
        permuted_strides[a] = strides[perm[a]];
    }
    trace_strides(&wide, permuted_strides, 0, at, from);
    return true;
}

const struct operator_functions depth_to_space_functions = {.role = ROLE_VIEW,
                                                            .view = view_depth,
                                                            .infer = depth_infer,
                                                            .evaluate = depth_evaluate,
                                                            .trace = depth_trace,
                                                            .parts = 1};
const struct operator_functions space_to_depth_functions = {.role = ROLE_VIEW,
                                                            .view = view_depth,
                                                            .infer = depth_infer,
                                                            .evaluate = depth_evaluate,
                                                            .trace = depth_trace,
                                                            .parts = 1};

/* ---- Shape, Size ---- */

/* Both need only their input's shape, so they are known as soon as that is. */
static void known_ints(struct node *n, const struct shape *shape, const int64_t *ints)
{
    struct value *v = n->outputs[0];
    void *data;
    if (!v || v->constant)
        return;
    struct tensor *t = tensor_new(&n->graph->context->arena, TYPE_INT64, shape, &data);
    if (t->bytes > 0)
        memcpy(data, ints, t->bytes);
    v->constant = t;
}

/* The dims that a Shape gives: from *first on; returns how many. */
static int shape_part(const struct node *n, int axes, int *first)
{
    int64_t start = node_int(n, "start", 0), end = node_int(n, "end", axes);
    start = start < 0 ? start + axes : start;
    end = end < 0 ? end + axes : end;
    start = start < 0 ? 0 : start > axes ? axes : start;
    end = end < 0 ? 0 : end > axes ? axes : end;
    *first = (int)start;
    return end > start ? (int)(end - start) : 0;
}

static void shape_infer(struct node *n)
{
    const struct shape *in = &n->inputs[0]->shape;
    struct shape out = shape_of(1, (const int64_t[]){-1});
    int first = 0;
    bool known = in->axes >= 0;
    if (known)
        out.dim[0] = shape_part(n, in->axes, &first);
    infer_output(n, 0, TYPE_INT64, &out);
    for (int64_t i = 0; known && i < out.dim[0]; i++)
        known = in->dim[first + i] >= 0;
    if (known)
        known_ints(n, &out, in->dim + first);
}

static bool shape_evaluate(struct node *n, struct tensor *const *in, struct tensor **out,
                           struct arena *arena, struct arena *scratch)
{
    (void)scratch;
    const struct shape *s = in[0] ? &in[0]->shape : &n->inputs[0]->shape;
    void *data;
    int first;
    int64_t count = shape_part(n, s->axes, &first);
    struct shape shape = shape_of(1, &count);
    out[0] = tensor_new(arena, TYPE_INT64, &shape, &data);
    for (int64_t i = 0; i < count; i++)
        ((int64_t *)data)[i] = s->dim[first + i];
    return true;
}

const struct operator_functions shape_functions = {
    .role = ROLE_NONE, .infer = shape_infer, .evaluate = shape_evaluate};

static void size_infer(struct node *n)
{
    const struct shape scalar = shape_of(0, NULL);
    int64_t count = shape_count(&n->inputs[0]->shape);
    infer_output(n, 0, TYPE_INT64, &scalar);
    if (count >= 0)
        known_ints(n, &scalar, &count);
}

static bool size_evaluate(struct node *n, struct tensor *const *in, struct tensor **out,
                          struct arena *arena, struct arena *scratch)
{
    (void)scratch;
    const struct shape scalar = shape_of(0, NULL);
    void *data;
    out[0] = tensor_new(arena, TYPE_INT64, &scalar, &data);
    *(int64_t *)data = shape_count(in[0] ? &in[0]->shape : &n->inputs[0]->shape);
    return true;
}

const struct operator_functions size_functions = {
    .role = ROLE_NONE, .infer = size_infer, .evaluate = size_evaluate};

/* ---- Expand, Tile ---- */

static void expand_infer(struct node *n)
{
    const struct shape *in = &n->inputs[0]->shape;
    const int64_t *dims;
    int count;
    struct shape asked, out = shape_unknown;

    if (argument_ints(n, 1, &dims, &count) == ARGUMENT_KNOWN) {
        for (int a = 0; a < count; a++) {
            if (dims[a] < 0) {
                infer_fault(n, "the shape holds %" PRId64, dims[a]);
                return;
            }
        }
        if (!argument_shape(n, dims, count, &asked))
            return;
        if (in->axes >= 0 && !shape_broadcast(in, &asked, &out)) {
            struct context *c = n->graph->context;
            infer_fault(n, "%s cannot be expanded to %s", shape_text(&c->arena, in),
                        shape_text(&c->arena, &asked));
            return;
        }
        if (!argument_fits(n, &out))
            return;
    }
    infer_output(n, 0, n->inputs[0]->type, &out);
}

/* out[i] = in[i modulo the input's length] along each axis; missing leading axes count as 1. */
static bool repeated(struct node *n, struct tensor *const *in, struct tensor **out,
                     struct arena *arena, struct arena *scratch)
{
    struct context *c = n->graph->context;
    const struct shape *s = &in[0]->shape;
    const struct shape *o = &n->outputs[0]->shape;
    struct elements to, from;
    struct move m = {0};
    int64_t strides[MAX_AXES], to_strides[MAX_AXES];

    if (!elements_new(arena, scratch, in[0]->type, o, &to) ||
        !elements_read(c, in[0], scratch, &from))
        return false;
    move_strides(s, strides);
    move_strides(o, to_strides);
    for (int a = 0; a < o->axes; a++) {
        int b = a - (o->axes - s->axes);
        int64_t length = b >= 0 ? s->dim[b] : 1;
        if (to.count == 0 || length == 0)
            break;
        move_axis(&m, o->dim[a] / length, to_strides[a] * length, 0);
        if (length > 1)
            move_axis(&m, length, to_strides[a], strides[b]);
    }
    if (to.count > 0)
        move_elements(c, &m, &to, &from);
    out[0] = elements_finish(&to);
    return true;
}

static bool expand_trace(struct node *n, int output, struct positions at, int *slot, int64_t *from)
{
    (void)slot;
    trace_broadcast(&n->outputs[output]->shape, &n->inputs[0]->shape, at, from);
    return true;
}

const struct operator_functions expand_functions = {.role = ROLE_VIEW,
                                                    .view = view_expand,
                                                    .infer = expand_infer,
                                                    .evaluate = repeated,
                                                    .trace = expand_trace,
                                                    .parts = 1};

static void tile_infer(struct node *n)
{
    const struct shape *in = &n->inputs[0]->shape;
    const int64_t *repeats;
    int count;
    struct shape out = shape_unknown;

    if (argument_ints(n, 1, &repeats, &count) == ARGUMENT_KNOWN && in->axes >= 0) {
        if (count != in->axes) {
            infer_fault(n, "%d repeats are given for %d axes", count, in->axes);
            return;
        }
        out = *in;
        for (int a = 0; a < count; a++) {
            if (repeats[a] < 0) {
                infer_fault(n, "the repeats hold %" PRId64, repeats[a]);
                return;
            }
            if (in->dim[a] >= 0 && __builtin_mul_overflow(in->dim[a], repeats[a], &out.dim[a])) {
                infer_fault(n, "the output would have more elements than can be counted");
                return;
            }
        }
        if (!argument_fits(n, &out))
            return;
    }
    infer_output(n, 0, n->inputs[0]->type, &out);
}

static bool tile_trace(struct node *n, int output, struct positions at, int *slot, int64_t *from)
{
    const struct shape *s = &n->inputs[0]->shape;
    int64_t strides[MAX_AXES], index[MAX_AXES];

    (void)slot;
    move_strides(s, strides);
    for (int64_t i = 0; i < at.count; i++) {
        trace_index(&n->outputs[output]->shape, at.at[i], index);
        for (int a = 0; a < s->axes; a++)
            from[i] += index[a] % s->dim[a] * strides[a];
    }
    return true;
}

const struct operator_functions tile_functions = {.role = ROLE_VIEW,
                                                  .view = view_tile,
                                                  .infer = tile_infer,
                                                  .evaluate = repeated,
                                                  .trace = tile_trace,
                                                  .parts = 1};

/* ---- Identity, Dropout ---- */

static void identity_infer(struct node *n)
{
    infer_output(n, 0, n->inputs[0]->type, &n->inputs[0]->shape);
}

const struct operator_functions identity_functions = {.role = ROLE_VIEW,
                                                      .view = view_reshape,
                                                      .infer = identity_infer,
                                                      .evaluate = reshape_evaluate,
                                                      .trace = trace_same,
                                                      .parts = 1};

/* Before opset 12 there was no training mode: ratio says nothing any more. */
static void dropout_upgrade(struct graph *g, struct node *n)
{
    if (n->opset < 12 && node_find(n, "ratio")) {
        float ratio = node_float(n, "ratio", 0.5f);
        struct shape scalar = shape_of(0, NULL);
        node_pad_inputs(n, 2);
        node_set_input(n, 1, graph_constant_floats(g, "ratio", &scalar, &ratio));
        node_unset(n, "ratio");
    }
}

static void dropout_infer(struct node *n)
{
    const struct value *x = n->inputs[0];
    infer_output(n, 0, x->type, &x->shape);
    /* the mask had the data's type once, and no newer form can say so */
    infer_output(n, 1, n->opset < 10 ? x->type : TYPE_BOOL, &x->shape);
}

/* Drops nothing but in training, which is random unless the ratio is 0. */
static bool dropout_evaluate(struct node *n, struct tensor *const *in, struct tensor **out,
                             struct arena *arena, struct arena *scratch)
{
    struct context *c = n->graph->context;
    bool training = n->input_count > 2 && in[2] && in[2]->count == 1 &&
                    tensor_integers(c, in[2], scratch)[0] != 0;
    double ratio = n->input_count > 1 && in[1] && in[1]->count == 1
                       ? tensor_doubles(c, in[1], scratch)[0]
                       : 0.5;
    if (training && ratio != 0)
        return false;
    if (n->outputs[0]) {
        out[0] = move_reshaped(c, in[0], &in[0]->shape, arena);
        if (!out[0])
            return false;
    }
    if (n->output_count > 1 && n->outputs[1]) {
        struct elements mask;
        enum element_type type = n->opset < 10 ? in[0]->type : TYPE_BOOL;
        if (!elements_new(arena, scratch, type, &in[0]->shape, &mask))
            return false;
        for (int64_t i = 0; i < mask.count; i++)
            elements_set(&mask, i, 1);
        out[1] = elements_finish(&mask);
    }
    return true;
}

/* No view: the pass identity takes it away, but in training. */
const struct operator_functions dropout_functions = {.role = ROLE_VIEW,
                                                     .upgrade = dropout_upgrade,
                                                     .infer = dropout_infer,
                                                     .evaluate = dropout_evaluate};
