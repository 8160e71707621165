/*
 * Softmax, LogSoftmax, Hardmax. Source: onnx.ai/onnx/operators, each in versions 11 and 13.
 *
 * Internal form: the attribute axes lists the axes that are normalised together. From opset 13 that
 * is one; before, the input was flattened to two dimensions at axis, so all axes from there on.
 */
#include "daemon/compiler/operators/rules.h"
#include "daemon/compiler/operators/walk.h"
#include <math.h>

static void upgrade_softmax(struct graph *g, struct node *n)
{
    (void)g;
    if (n->opset >= 13)
        return;
    node_set_int(n, "axis", node_int(n, "axis", 1));
    node_set_int(n, "flatten", 1);
}

static void infer_softmax(struct node *n)
{
    const struct shape *x = &n->inputs[0]->shape;
    bool flatten = node_int(n, "flatten", 0) != 0;
    int64_t given = node_int(n, "axis", flatten ? 1 : -1), axes[MAX_AXES];
    int axis, count = 0;

    if (x->axes >= 0 && !(x->axes == 0 && (given == 0 || given == -1))) {
        axis = infer_axis(n, x, given);
        if (axis < 0)
            return;
        for (int i = axis; i < (flatten ? x->axes : axis + 1); i++)
            axes[count++] = i;
        node_set_ints(n, "axes", count, axes);
    } else {
        node_unset(n, "axes");
    }
    infer_like_input(n);
}

enum kind { SOFTMAX, LOG_SOFTMAX, HARDMAX };

static bool evaluate_either(struct node *n, struct tensor *const *in, struct tensor **out,
                            struct arena *arena, struct arena *scratch, enum kind kind)
{
    unsigned mask = 0;
    int count;
    const int64_t *axes = node_ints(n, "axes", &count);
    struct lines l;
    const double *x;
    double *line;
    void *payload;

    if (!type_is_real(in[0]->type))
        return false;
    for (int i = 0; i < count; i++)
        mask |= 1u << axes[i];
    lines_init(&l, &in[0]->shape, mask, scratch);
    x = tensor_doubles(n->graph->context, in[0], scratch);
    line = NEW_ARRAY(scratch, l.length, double);
    out[0] = output_new(n, 0, arena, &payload);
    for (int64_t i = 0; i < l.count; i++) {
        double most = -(double)INFINITY, sum = 0;
        int64_t first = 0;

        context_poll(n->graph->context);
        for (int64_t k = 0; k < l.length; k++) {
            line[k] = x[l.start[i] + l.offset[k]];
            if (line[k] > most) {
                most = line[k];
                first = k;
            }
        }
        for (int64_t k = 0; k < l.length && kind != HARDMAX; k++)
            sum += exp(line[k] - most);
        for (int64_t k = 0; k < l.length; k++) {
            double y = kind == HARDMAX       ? k == first
                       : kind == LOG_SOFTMAX ? line[k] - most - log(sum)
                                             : exp(line[k] - most) / sum;

            payload_store(payload, out[0]->type, l.start[i] + l.offset[k], &y, 1);
        }
    }
    return true;
}

static bool evaluate_softmax(struct node *n, struct tensor *const *in, struct tensor **out,
                             struct arena *arena, struct arena *scratch)
{
    return evaluate_either(n, in, out, arena, scratch, SOFTMAX);
}

static bool evaluate_log_softmax(struct node *n, struct tensor *const *in, struct tensor **out,
                                 struct arena *arena, struct arena *scratch)
{
    return evaluate_either(n, in, out, arena, scratch, LOG_SOFTMAX);
}

static bool evaluate_hardmax(struct node *n, struct tensor *const *in, struct tensor **out,
                             struct arena *arena, struct arena *scratch)
{
    return evaluate_either(n, in, out, arena, scratch, HARDMAX);
}

const struct operator_functions softmax_functions = {.role = ROLE_STEP,
                                                     .upgrade = upgrade_softmax,
                                                     .infer = infer_softmax,
                                                     .evaluate = evaluate_softmax};
const struct operator_functions log_softmax_functions = {.role = ROLE_STEP,
                                                         .upgrade = upgrade_softmax,
                                                         .infer = infer_softmax,
                                                         .evaluate = evaluate_log_softmax};
const struct operator_functions hardmax_functions = {.role = ROLE_STEP,
                                                     .upgrade = upgrade_softmax,
                                                     .infer = infer_softmax,
                                                     .evaluate = evaluate_hardmax};
