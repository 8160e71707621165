/* Operators that make constants: always folded. */
#include "daemon/compiler/operators/arguments.h"
#include "daemon/compiler/operators/move.h"
#include <inttypes.h>
#include <math.h>
#include <string.h>

/* ---- Constant ---- */

/* The tensor that the node holds, in arena; NULL for strings and sparse tensors. */
static struct tensor *constant_tensor(const struct node *n, struct arena *arena)
{
    const struct attribute *a;
    struct shape shape = shape_of(0, NULL);
    void *data;
    struct tensor *t = NULL;

    if ((a = node_find(n, "value")) && a->tensor)
        return a->tensor;
    if ((a = node_find(n, "value_float"))) {
        t = tensor_new(arena, TYPE_FLOAT32, &shape, &data);
        *(float *)data = a->f;
    } else if ((a = node_find(n, "value_int"))) {
        t = tensor_new(arena, TYPE_INT64, &shape, &data);
        *(int64_t *)data = a->i;
    } else if ((a = node_find(n, "value_floats")) && a->type == ATTRIBUTE_FLOATS) {
        shape = shape_of(1, (const int64_t[]){a->count});
        t = tensor_new(arena, TYPE_FLOAT32, &shape, &data);
        if (a->count > 0)
            memcpy(data, a->floats, (size_t)a->count * sizeof(float));
    } else if ((a = node_find(n, "value_ints")) && a->type == ATTRIBUTE_INTS) {
        shape = shape_of(1, (const int64_t[]){a->count});
        t = tensor_new(arena, TYPE_INT64, &shape, &data);
        if (a->count > 0)
            memcpy(data, a->ints, (size_t)a->count * sizeof(int64_t));
    }
    return t;
}

static void constant_infer(struct node *n)
{
    struct tensor *t = constant_tensor(n, &n->graph->context->arena);
    if (t) {
        infer_output(n, 0, t->type, &t->shape);
        if (n->outputs[0] && !n->outputs[0]->constant)
            n->outputs[0]->constant = t;
    } else {
        infer_output(n, 0, TYPE_UNKNOWN, &shape_unknown);
    }
}

static bool constant_evaluate(struct node *n, struct tensor *const *in, struct tensor **out,
                              struct arena *arena, struct arena *scratch)
{
    (void)in, (void)scratch;
    out[0] = constant_tensor(n, arena);
    return out[0] != NULL;
}

const struct operator_functions constant_functions = {
    .role = ROLE_NONE, .infer = constant_infer, .evaluate = constant_evaluate};

/* ---- ConstantOfShape ---- */

static void constant_of_shape_infer(struct node *n)
{
    const struct attribute *value = node_find(n, "value");
    enum element_type type = value && value->tensor ? value->tensor->type : TYPE_FLOAT32;
    const int64_t *dims;
    int count;
    struct shape out = shape_unknown;

    if (value && value->tensor && value->tensor->count != 1) {
        infer_fault(n, "value holds %" PRId64 " elements instead of one", value->tensor->count);
        return;
    }
    if (argument_ints(n, 0, &dims, &count) == ARGUMENT_KNOWN) {
        for (int a = 0; a < count; a++) {
            if (dims[a] < 0) {
                infer_fault(n, "the shape holds %" PRId64, dims[a]);
                return;
            }
        }
        if (!argument_shape(n, dims, count, &out))
            return;
    }
    infer_output(n, 0, type, &out);
}

static bool constant_of_shape_evaluate(struct node *n, struct tensor *const *in,
                                       struct tensor **out, struct arena *arena,
                                       struct arena *scratch)
{
    struct context *c = n->graph->context;
    const struct attribute *value = node_find(n, "value");
    const struct tensor *v = value ? value->tensor : NULL;
    struct elements to, from;
    struct shape shape = shape_of(0, NULL);

    if (in[0]->count > MAX_AXES)
        return false;
    shape = shape_of((int)in[0]->count, tensor_integers(c, in[0], scratch));
    if (!elements_new(arena, scratch, v ? v->type : TYPE_FLOAT32, &shape, &to))
        return false;
    if (v) {
        struct move m = {0};
        if (!elements_read(c, v, scratch, &from))
            return false;
        move_axis(&m, to.count, 1, 0);
        move_elements(c, &m, &to, &from);
    }
    out[0] = elements_finish(&to);
    return true;
}

static bool constant_of_shape_make(struct node *n, struct positions at, void *payload)
{
    const struct attribute *value = node_find(n, "value");
    size_t size = (size_t)type_bits(n->outputs[0]->type) / 8;
    int64_t first = 0;

    if (!value || !value->tensor) {
        memset(payload, 0, (size_t)at.count * size);
        return true;
    }
    tensor_pick(n->graph->context, value->tensor, 1, &first, payload);
    for (int64_t i = 1; i < at.count; i++)
        memcpy((char *)payload + (size_t)i * size, payload, size);
    return true;
}

const struct operator_functions constant_of_shape_functions = {.role = ROLE_NONE,
                                                               .make = constant_of_shape_make,
                                                               .infer = constant_of_shape_infer,
                                                               .evaluate =
                                                                   constant_of_shape_evaluate};

/* ---- Range ---- */

/* max(ceil((limit - start) / delta), 0), in int64 for integers; -1 where it cannot be counted. */
static int64_t range_count(struct context *c, const struct tensor *const t[3],
                           struct arena *scratch)
{
    if (type_is_integer(t[0]->type)) {
        int64_t start = tensor_integers(c, t[0], scratch)[0];
        int64_t limit = tensor_integers(c, t[1], scratch)[0];
        int64_t delta = tensor_integers(c, t[2], scratch)[0], span;
        if (delta == 0 || __builtin_sub_overflow(limit, start, &span) || delta == INT64_MIN)
            return -1;
        if ((span > 0) != (delta > 0) || span == 0)
            return 0;
        return span / delta + (span % delta != 0);
    }
    double start = tensor_doubles(c, t[0], scratch)[0], limit = tensor_doubles(c, t[1], scratch)[0];
    double delta = tensor_doubles(c, t[2], scratch)[0], count = ceil((limit - start) / delta);
    return delta == 0 || !(count < 0x1p31) ? -1 : count > 0 ? (int64_t)count : 0;
}

static void range_infer(struct node *n)
{
    struct context *c = n->graph->context;
    struct shape out = shape_of(1, (const int64_t[]){-1});
    const struct tensor *t[3];
    bool known = true;

    for (int i = 0; i < 3; i++) {
        int count;
        const struct value *v = n->inputs[i];
        if (v->shape.axes > 0 && shape_count(&v->shape) != 1 && shape_known(&v->shape)) {
            infer_fault(n, "input %d is no scalar", i);
            return;
        }
        t[i] = v->constant;
        /* asked for, so that it is evaluated or reported */
        known = (type_is_integer(v->type) ? (const void *)node_constant_ints(n, i, &count)
                                          : (const void *)node_constant_floats(n, i, &count)) &&
                t[i] && known;
    }
    if (known) {
        struct arena *scratch = arena_child(&c->arena);
        out.dim[0] = range_count(c, t, scratch);
        arena_free(scratch);
        if (out.dim[0] < 0) {
            infer_fault(n, "start, limit and delta give no number of elements");
            return;
        }
    }
    infer_output(n, 0, n->inputs[0]->type, &out);
}

/* start, start + delta, start + 2 delta … */
struct progression {
    enum element_type type;
    uint64_t start, delta;
    double real_start, real_delta;
};

static struct progression progression_of(struct context *c, const struct tensor *start,
                                         const struct tensor *delta, struct arena *scratch)
{
    struct progression p = {.type = start->type};

    if (type_is_integer(p.type)) {
        p.start = (uint64_t)tensor_integers(c, start, scratch)[0];
        p.delta = (uint64_t)tensor_integers(c, delta, scratch)[0];
    } else {
        p.real_start = tensor_doubles(c, start, scratch)[0];
        p.real_delta = tensor_doubles(c, delta, scratch)[0];
    }
    return p;
}

/* Element i of payload becomes number k of p. */
static void progression_set(const struct progression *p, int64_t k, void *payload, int64_t i)
{
    if (type_is_integer(p->type))
        payload_set_integer(payload, p->type, i, (int64_t)(p->start + (uint64_t)k * p->delta));
    else
        payload_set(payload, p->type, i, p->real_start + (double)k * p->real_delta);
}

static bool range_evaluate(struct node *n, struct tensor *const *in, struct tensor **out,
                           struct arena *arena, struct arena *scratch)
{
    struct context *c = n->graph->context;
    int64_t count = range_count(c, (const struct tensor *const[]){in[0], in[1], in[2]}, scratch);
    struct shape shape = shape_of(1, &count);
    struct elements to;

    if (count < 0 || !elements_new(arena, scratch, in[0]->type, &shape, &to))
        return false;
    struct progression p = progression_of(c, in[0], in[2], scratch);
    for (int64_t i = 0; i < count; i++)
        progression_set(&p, i, to.bytes, i);
    out[0] = elements_finish(&to);
    return true;
}

static bool range_make(struct node *n, struct positions at, void *payload)
{
    struct context *c = n->graph->context;
    struct arena *scratch = arena_child(&c->arena);
    struct progression p =
        progression_of(c, n->inputs[0]->constant, n->inputs[2]->constant, scratch);

    for (int64_t i = 0; i < at.count; i++)
        progression_set(&p, at.at[i], payload, i);
    arena_free(scratch);
    return true;
}

const struct operator_functions range_functions = {
    .role = ROLE_NONE, .make = range_make, .infer = range_infer, .evaluate = range_evaluate};

/* ---- EyeLike ---- */

static void eye_infer(struct node *n)
{
    const struct value *x = n->inputs[0];
    if (x->shape.axes >= 0 && x->shape.axes != 2) {
        infer_fault(n, "the input has %d axes instead of 2", x->shape.axes);
        return;
    }
    infer_output(n, 0, (enum element_type)node_int(n, "dtype", x->type), &x->shape);
}

static bool eye_evaluate(struct node *n, struct tensor *const *in, struct tensor **out,
                         struct arena *arena, struct arena *scratch)
{
    const struct shape *s = in[0] ? &in[0]->shape : &n->inputs[0]->shape;
    enum element_type type = in[0] ? in[0]->type : n->inputs[0]->type;
    int64_t k = node_int(n, "k", 0);
    struct elements to;

    if (!elements_new(arena, scratch, (enum element_type)node_int(n, "dtype", type), s, &to))
        return false;
    for (int64_t row = 0; row < s->dim[0]; row++) {
        int64_t column;
        if (!__builtin_add_overflow(row, k, &column) && column >= 0 && column < s->dim[1])
            elements_set(&to, row * s->dim[1] + column, 1);
    }
    out[0] = elements_finish(&to);
    return true;
}

static bool eye_make(struct node *n, struct positions at, void *payload)
{
    const struct value *v = n->outputs[0];
    int64_t columns = v->shape.dim[1], k = node_int(n, "k", 0);

    /* No difference of two indices is beyond this. */
    if (k <= -v->shape.dim[0] || k >= columns)
        k = columns;
    for (int64_t i = 0; i < at.count; i++)
        payload_set(payload, v->type, i, at.at[i] % columns - at.at[i] / columns == k);
    return true;
}

const struct operator_functions eye_like_functions = {
    .role = ROLE_NONE, .make = eye_make, .infer = eye_infer, .evaluate = eye_evaluate};
