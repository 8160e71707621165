/*
 * Losses. Source: onnx.ai/onnx/operators, NegativeLogLikelihoodLoss 22 and SoftmaxCrossEntropyLoss
 * 13: scores of [N, C, d1 …], the class of each of [N, d1 …], and a weight a class.
 */
#include "daemon/compiler/operators/loss.h"
#include "daemon/compiler/operators/rules.h"
#include "daemon/compiler/operators/walk.h"
#include <inttypes.h>
#include <math.h>
#include <string.h>

void loss_read(const struct node *n, struct loss *l)
{
    const struct attribute *ignored = node_find(n, "ignore_index");
    const char *reduction = node_string(n, "reduction", "mean");

    *l = (struct loss){.ignores = ignored != NULL,
                       .ignored = ignored ? ignored->i : 0,
                       .reduction = !strcmp(reduction, "none")  ? LOSS_NONE
                                    : !strcmp(reduction, "sum") ? LOSS_SUM
                                                                : LOSS_MEAN};
}

static void infer_loss(struct node *n)
{
    const struct shape *x = &n->inputs[0]->shape, *target = &n->inputs[1]->shape;
    const char *reduction = node_string(n, "reduction", "mean");
    struct shape all = shape_unknown, scalar = {.axes = 0};

    if (strcmp(reduction, "none") != 0 && strcmp(reduction, "sum") != 0 &&
        strcmp(reduction, "mean") != 0) {
        infer_fault(n, "its reduction is %s", reduction);
        return;
    }
    if (n->inputs[1]->type && !type_is_integer(n->inputs[1]->type)) {
        infer_fault(n, "its classes are of type %s", type_name(n->inputs[1]->type));
        return;
    }
    if (x->axes >= 0) {
        if (x->axes < 2 || !infer_vector(n, 2, x->dim[1], "the weights")) {
            if (x->axes < 2)
                infer_fault(n, "its scores have %d axes", x->axes);
            return;
        }
        all = *x;
        memmove(all.dim + 1, all.dim + 2, (size_t)(x->axes - 2) * sizeof *all.dim);
        all.axes--;
        for (int a = 0; a < all.axes && target->axes >= 0; a++)
            if (target->axes != all.axes ||
                (target->dim[a] >= 0 && all.dim[a] >= 0 && target->dim[a] != all.dim[a])) {
                struct arena *arena = &n->graph->context->arena;

                infer_fault(n, "classes of %s do not fit scores of %s", shape_text(arena, target),
                            shape_text(arena, x));
                return;
            }
    }
    infer_output(n, 0, n->inputs[0]->type, strcmp(reduction, "none") != 0 ? &scalar : &all);
    infer_output(n, 1, n->inputs[0]->type, x);
}

/* Over logarithms of probabilities. */
static bool likelihood(struct node *n, const double *x, struct tensor *const *in,
                       struct tensor **out, struct arena *arena, struct arena *scratch)
{
    struct context *c = n->graph->context;
    const struct shape *s = &in[0]->shape;
    const int64_t *target = tensor_integers(c, in[1], scratch);
    const double *weights = n->input_count > 2 && in[2] ? tensor_doubles(c, in[2], scratch) : NULL;
    int64_t classes = s->dim[1], inner = shape_product(s, 2, s->axes);
    double sum = 0, weight_sum = 0;
    struct loss l;
    void *payload;

    loss_read(n, &l);
    out[0] = output_new(n, 0, arena, &payload);
    for (int64_t i = 0; i < in[1]->count; i++) {
        bool ignored = l.ignores && target[i] == l.ignored;
        double weight, loss;

        if (!ignored && (target[i] < 0 || target[i] >= classes))
            return false;
        weight = ignored ? 0 : weights ? weights[target[i]] : 1;
        loss = ignored ? 0 : -weight * x[(i / inner * classes + target[i]) * inner + i % inner];
        sum += loss;
        weight_sum += weight;
        if (l.reduction == LOSS_NONE)
            payload_store(payload, out[0]->type, i, &loss, 1);
    }
    if (l.reduction == LOSS_MEAN)
        sum /= weight_sum;
    if (l.reduction != LOSS_NONE)
        payload_store(payload, out[0]->type, 0, &sum, 1);
    return true;
}

static bool evaluate_likelihood(struct node *n, struct tensor *const *in, struct tensor **out,
                                struct arena *arena, struct arena *scratch)
{
    return likelihood(n, tensor_doubles(n->graph->context, in[0], scratch), in, out, arena,
                      scratch);
}

static bool evaluate_cross_entropy(struct node *n, struct tensor *const *in, struct tensor **out,
                                   struct arena *arena, struct arena *scratch)
{
    const double *x = tensor_doubles(n->graph->context, in[0], scratch);
    double *y = NEW_ARRAY(scratch, in[0]->count, double);
    struct lines l;
    void *payload;

    lines_init(&l, &in[0]->shape, 1u << 1, scratch);
    for (int64_t i = 0; i < l.count; i++) {
        double most = -(double)INFINITY, sum = 0;

        for (int64_t k = 0; k < l.length; k++)
            most = fmax(most, x[l.start[i] + l.offset[k]]);
        for (int64_t k = 0; k < l.length; k++)
            sum += exp(x[l.start[i] + l.offset[k]] - most);
        for (int64_t k = 0; k < l.length; k++)
            y[l.start[i] + l.offset[k]] = x[l.start[i] + l.offset[k]] - most - log(sum);
    }
    if (n->output_count > 1 && n->outputs[1]) {
        out[1] = output_new(n, 1, arena, &payload);
        payload_store(payload, out[1]->type, 0, y, in[0]->count);
    }
    return likelihood(n, y, in, out, arena, scratch);
}

const struct operator_functions negative_log_likelihood_functions = {
    .role = ROLE_NONE, .infer = infer_loss, .evaluate = evaluate_likelihood};
const struct operator_functions cross_entropy_functions = {
    .role = ROLE_NONE, .infer = infer_loss, .evaluate = evaluate_cross_entropy};
