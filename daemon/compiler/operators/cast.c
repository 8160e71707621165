/* Cast and CastLike: the same elements in another type. BitCast: the same bits. */
#include "daemon/compiler/operators/lower.h"
#include "daemon/compiler/operators/range.h"
#include "daemon/compiler/operators/rules.h"
#include "daemon/compiler/operators/walk.h"
#include <string.h>

/* The attribute to; TYPE_UNKNOWN where it was reported. */
static enum element_type target(struct node *n)
{
    int64_t to = node_int(n, "to", 0);

    if (to >= 1 && to <= TYPE_INT2)
        return (enum element_type)to;
    infer_fault(n, "its attribute to is %lld, which is no element type", (long long)to);
    return TYPE_UNKNOWN;
}

static void infer_cast(struct node *n)
{
    enum element_type to = target(n);

    if (to != TYPE_UNKNOWN)
        infer_output(n, 0, to, &n->inputs[0]->shape);
}

static void infer_bit_cast(struct node *n)
{
    enum element_type from = n->inputs[0]->type, to = target(n);

    if (to == TYPE_UNKNOWN)
        return;
    if (type_bits(to) == 0 || (from != TYPE_UNKNOWN && type_bits(from) != type_bits(to))) {
        infer_fault(n, "its input is %s, which has not the size of %s", type_name(from),
                    type_name(to));
        return;
    }
    infer_output(n, 0, to, &n->inputs[0]->shape);
}

static bool evaluate_bit_cast(struct node *n, struct tensor *const *in, struct tensor **out,
                              struct arena *arena, struct arena *scratch)
{
    void *payload;

    out[0] = output_new(n, 0, arena, &payload);
    if (out[0]->bytes != in[0]->bytes)
        return false;
    memcpy(payload, tensor_data(n->graph->context, in[0], scratch), in[0]->bytes);
    return true;
}

static void infer_cast_like(struct node *n)
{
    infer_output(n, 0, n->inputs[1]->type, &n->inputs[0]->shape);
}

static bool castable(enum element_type type)
{
    return type != TYPE_STRING && type != TYPE_COMPLEX64 && type != TYPE_COMPLEX128 &&
           type_bits(type) != 0;
}

static bool evaluate_cast(struct node *n, struct tensor *const *in, struct tensor **out,
                          struct arena *arena, struct arena *scratch)
{
    struct context *c = n->graph->context;
    enum element_type from = in[0]->type, to = n->outputs[0]->type;
    void *payload;

    /* Numbers as text depend on the runtime; only the saturating conversions to 8-bit floats are
     * known to payload_set(). */
    if (!castable(from) || !castable(to) || node_int(n, "saturate", 1) == 0 ||
        (to == TYPE_FLOAT8E8M0 && node_find(n, "round_mode")))
        return false;
    out[0] = output_new(n, 0, arena, &payload);
    if (type_is_real(from)) {
        const double *x = tensor_doubles(c, in[0], scratch);

        payload_store(payload, to, 0, x, in[0]->count);
    } else {
        const int64_t *x = tensor_integers(c, in[0], scratch);

        for (int64_t i = 0; i < in[0]->count; i++)
            if (type_is_real(to) && from == TYPE_UINT64)
                payload_set(payload, to, i, (double)(uint64_t)x[i]);
            else if (to == TYPE_BOOL)
                payload_set_integer(payload, to, i, x[i] != 0);
            else
                payload_set_integer(payload, to, i, x[i]);
    }
    return true;
}

const struct operator_functions cast_functions = {.role = ROLE_ELEMENTWISE,
                                                  .express = express_elementwise,
                                                  .range = range_elementwise,
                                                  .infer = infer_cast,
                                                  .evaluate = evaluate_cast};
const struct operator_functions cast_like_functions = {.role = ROLE_ELEMENTWISE,
                                                       .express = express_elementwise,
                                                       .range = range_elementwise,
                                                       .infer = infer_cast_like,
                                                       .evaluate = evaluate_cast};
const struct operator_functions bit_cast_functions = {
    .role = ROLE_NONE, .infer = infer_bit_cast, .evaluate = evaluate_bit_cast};
