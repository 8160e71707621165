/* Where: an element of one tensor or of the other. */
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

static bool evaluate_where(struct node *n, struct tensor *const *in, struct tensor **out,
                           struct arena *arena, struct arena *scratch)
{
    struct context *c = n->graph->context;
    const struct shape *shapes[3] = {&in[0]->shape, &in[1]->shape, &in[2]->shape};
    size_t size = (size_t)type_bits(n->outputs[0]->type) / 8;
    const unsigned char *condition, *from[2];
    unsigned char *payload;
    struct walk w;

    if (size == 0 || in[1]->type != in[2]->type || in[1]->type != n->outputs[0]->type)
        return false;
    condition = tensor_data(c, in[0], scratch);
    from[1] = tensor_data(c, in[1], scratch);
    from[0] = tensor_data(c, in[2], scratch);
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

const struct operator_functions where_functions = {
    .role = ROLE_ELEMENTWISE, .infer = infer_where, .evaluate = evaluate_where};
