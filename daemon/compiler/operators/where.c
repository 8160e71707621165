/* Where: an element of one tensor or of the other. */
#include "daemon/compiler/operators/lower.h"
#include "daemon/compiler/operators/range.h"
#include "daemon/compiler/operators/rules.h"
#include "daemon/compiler/operators/walk.h"
#include <string.h>

static void infer_where(struct node *n)
{
    enum element_type type = TYPE_UNKNOWN;
    struct shape shape;

    if (n->inputs[0]->type != TYPE_UNKNOWN && n->inputs[0]->type != TYPE_BOOL) {
        infer_fault(n, "its condition is %s instead of bool", type_name(n->inputs[0]->type));
        return;
    }
    if (infer_common_type(n, 1, 2, &type) && infer_broadcast(n, &shape))
        infer_output(n, 0, type, &shape);
}

/* The payload of t in type: constants of different types meet in the one that holds more. */
static const void *payload_as(struct context *c, const struct tensor *t, enum element_type type,
                              struct arena *scratch)
{
    void *payload;

    if (t->type == type)
        return tensor_data(c, t, scratch);
    tensor_new(scratch, type, &t->shape, &payload);
    if (type_is_real(type)) {
        payload_store(payload, type, 0, tensor_doubles(c, t, scratch), t->count);
    } else {
        const int64_t *x = tensor_integers(c, t, scratch);

        for (int64_t i = 0; i < t->count; i++)
            payload_set_integer(payload, type, i, x[i]);
    }
    return payload;
}

static bool evaluate_where(struct node *n, struct tensor *const *in, struct tensor **out,
                           struct arena *arena, struct arena *scratch)
{
    struct context *c = n->graph->context;
    const struct shape *shapes[3] = {&in[0]->shape, &in[1]->shape, &in[2]->shape};
    enum element_type type = n->outputs[0]->type;
    size_t size = (size_t)type_bits(type) / 8;
    const unsigned char *condition, *from[2];
    unsigned char *payload;
    struct walk w;

    if (size == 0)
        return false;
    condition = tensor_data(c, in[0], scratch);
    from[1] = payload_as(c, in[1], type, scratch);
    from[0] = payload_as(c, in[2], type, scratch);
    out[0] = output_new(n, 0, arena, (void **)&payload);
    walk_broadcast(&w, &n->outputs[0]->shape, 3, shapes);
    while (walk_next(&w)) {
        context_poll(c);
        for (int64_t i = 0; i < w.run; i++) {
            bool yes = condition[w.at[0] + i * w.step[0]] != 0;
            int64_t at = yes ? w.at[1] + i * w.step[1] : w.at[2] + i * w.step[2];

            memcpy(payload + (size_t)(w.position + i) * size, from[yes] + (size_t)at * size, size);
        }
    }
    return true;
}

const struct operator_functions where_functions = {.role = ROLE_ELEMENTWISE,
                                                   .express = express_elementwise,
                                                   .range = range_elementwise,
                                                   .infer = infer_where,
                                                   .evaluate = evaluate_where};
