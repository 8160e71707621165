/*
 * Losses over known classes: the score of each place's class is gathered and weighed. A loss is no
 * part of a model that is drawn with, but exporters leave them in.
 */
#include "daemon/compiler/gpu/make.h"
#include "daemon/compiler/operators/loss.h"
#include "daemon/compiler/operators/operator.h"
#include <string.h>

/* The class of each place, 0 where it is ignored, and whether it counts. */
static void read_classes(struct node *n, const struct loss *l, struct value **classes,
                         struct value **counts)
{
    struct context *c = n->graph->context;
    struct arena *scratch = arena_child(&c->arena);
    const struct tensor *target = n->inputs[1]->constant;
    const int64_t *given = tensor_integers(c, target, scratch);
    int64_t *known;
    float *numbers = NEW_ARRAY(scratch, target->count, float);
    struct tensor *t;
    void *data;
    bool all = true;

    t = tensor_new(&c->arena, TYPE_INT64, &target->shape, &data);
    known = data;
    for (int64_t i = 0; i < target->count; i++) {
        bool ignored = l->ignores && given[i] == l->ignored;

        known[i] = ignored ? 0 : given[i];
        numbers[i] = !ignored;
        all = all && !ignored;
    }
    *classes = graph_constant(n->graph, "", t);
    *counts = all ? NULL : graph_constant_floats(n->graph, "", &target->shape, numbers);
    arena_free(scratch);
}

static struct value *sum_of(struct node *n, struct value *v)
{
    struct node *r = make_node(n, "ReduceSum", 1, &v);

    node_set_int(r, "keepdims", 0);
    return make_inferred(r);
}

/* x: logarithms of probabilities. */
static struct value *likelihood(struct node *n, struct value *x)
{
    struct value *target = n->inputs[1], *weights = node_input(n, 2), *classes, *counts, *weight;
    struct shape column = target->shape;
    struct loss l;

    loss_read(n, &l);
    read_classes(n, &l, &classes, &counts);
    memmove(column.dim + 2, column.dim + 1, (size_t)(column.axes - 1) * sizeof *column.dim);
    column.dim[1] = 1;
    column.axes++;
    struct value *both[] = {x, make_reshaped(n, classes, &column)};
    struct node *gathered = make_node(n, "GatherElements", 2, both);
    node_set_int(gathered, "axis", 1);
    struct value *loss =
        make_unary(n, "Neg", make_reshaped(n, make_inferred(gathered), &target->shape));
    weight = counts;
    if (weights) {
        struct value *of[] = {weights, classes};

        weight = make_inferred(make_node(n, "Gather", 2, of));
        weight = counts ? make_binary(n, "Mul", weight, counts) : weight;
    }
    loss = weight ? make_binary(n, "Mul", loss, weight) : loss;
    if (l.reduction == LOSS_NONE)
        return loss;
    if (l.reduction == LOSS_SUM)
        return sum_of(n, loss);
    if (!weight)
        return make_scaled(n, sum_of(n, loss), 1 / (double)shape_count(&target->shape));
    return make_binary(n, "Div", sum_of(n, loss), sum_of(n, weight));
}

bool decompose_loss(struct node *n, struct value **out)
{
    struct value *x = n->inputs[0];

    if (!n->inputs[1]->constant)
        return false;
    if (!strcmp(n->op->name, "SoftmaxCrossEntropyLoss")) {
        struct node *softmax = make_node(n, "LogSoftmax", 1, &x);

        node_set_int(softmax, "axis", 1);
        x = make_inferred(softmax);
    }
    out[0] = likelihood(n, x);
    out[1] = x;
    return true;
}
