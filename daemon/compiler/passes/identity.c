/*
 * Nodes whose output is one of their inputs. Each rule names that input, or NULL where the node
 * does something. What all have in common is checked once: same type, same known shape. Where the
 * shape stays, elements can still have been reordered or computed; that is what the rules look at.
 */
#include "daemon/compiler/operators/operator.h"
#include "daemon/compiler/passes/pass.h"
#include <string.h>

typedef struct value *rule(const struct node *n);

/* The same shape means the same elements. */
static struct value *same(const struct node *n)
{
    return n->inputs[0];
}

static struct value *dropout(const struct node *n)
{
    const struct value *training = node_input(n, 2), *ratio = node_input(n, 1);

    for (int i = 1; i < n->output_count; i++)
        if (n->outputs[i] && (n->outputs[i]->reader_count || n->outputs[i]->output_count))
            return NULL; /* the mask is wanted */
    if (training && !constant_is_all(training, 0) && !(ratio && constant_is_all(ratio, 0)))
        return NULL;
    return n->inputs[0];
}

/* Equal lengths allow a swap of axes still; only axes of length 1 may change places. */
static struct value *transpose(const struct node *n)
{
    const struct shape *s = &n->inputs[0]->shape;
    int count, last = -1;
    const int64_t *perm = node_ints(n, "perm", &count);

    for (int i = 0; i < s->axes; i++) {
        int64_t from = perm && i < count ? perm[i] : s->axes - 1 - i;

        if (from < 0 || from >= s->axes || s->dim[from] == 1)
            continue;
        if ((int)from < last)
            return NULL;
        last = (int)from;
    }
    return n->inputs[0];
}

/* Begin padding against end cropping keeps the shape too. */
static struct value *pad(const struct node *n)
{
    return constant_is_all(node_input(n, 1), 0) ? n->inputs[0] : NULL;
}

/* With the shape unchanged nothing was cut off; a step of -1 turns an axis around. */
static struct value *slice(const struct node *n)
{
    int count;
    const int64_t *steps = node_constant_ints(n, 4, &count);

    if (node_input(n, 4) && !steps)
        return NULL;
    for (int i = 0; i < count; i++)
        if (steps[i] < 0)
            return NULL;
    return n->inputs[0];
}

/* All parts but one are empty, or there is one only. */
static struct value *concat(const struct node *n)
{
    struct value *only = NULL;

    for (int i = 0; i < n->input_count; i++) {
        struct value *v = n->inputs[i];

        if (!v || shape_count(&v->shape) == 0)
            continue;
        if (only || !shape_known(&v->shape))
            return NULL;
        only = v;
    }
    return only ? only : n->inputs[0];
}

static struct value *single(const struct node *n)
{
    return n->input_count == 1 ? n->inputs[0] : NULL;
}

static struct value *clip(const struct node *n)
{
    return node_input(n, 1) || node_input(n, 2) ? NULL : n->inputs[0];
}

static struct value *resize(const struct node *n)
{
    const char *mode = node_string(n, "coordinate_transformation_mode", "half_pixel");
    const struct value *scales = node_input(n, 2);

    if (!strcmp(mode, "tf_crop_and_resize") || node_int(n, "antialias", 0))
        return NULL;
    /* Scales such as 1.05 may keep the lengths and move the samples. */
    if (scales && shape_count(&scales->shape) && !constant_is_all(scales, 1))
        return NULL;
    return n->inputs[0];
}

/* The operand beside which the other is all neutral. The shape decides whether the constant widened
 * it. */
static struct value *beside(const struct node *n, double neutral, bool both)
{
    if (n->input_count != 2)
        return NULL;
    if (!n->inputs[0]->constant && constant_is_all(n->inputs[1], neutral))
        return n->inputs[0];
    if (both && !n->inputs[1]->constant && constant_is_all(n->inputs[0], neutral))
        return n->inputs[1];
    return NULL;
}

static struct value *times_one(const struct node *n)
{
    return beside(n, 1, true);
}

static struct value *plus_zero(const struct node *n)
{
    return beside(n, 0, true);
}

static struct value *over_one(const struct node *n)
{
    return beside(n, 1, false);
}

static struct value *minus_zero(const struct node *n)
{
    return beside(n, 0, false);
}

static struct value *and_true(const struct node *n)
{
    return beside(n, 1, true);
}

static const struct {
    const char *op;
    rule *rule;
} rules[] = {
    {"Add", plus_zero}, {"And", and_true},  {"Cast", same},           {"CastLike", same},
    {"Clip", clip},     {"Concat", concat}, {"Div", over_one},        {"Dropout", dropout},
    {"Expand", same},   {"Flatten", same},  {"Identity", same},       {"Max", single},
    {"Mean", single},   {"Min", single},    {"Mul", times_one},       {"Or", plus_zero},
    {"Pad", pad},       {"Pow", over_one},  {"Reshape", same},        {"Resize", resize},
    {"Slice", slice},   {"Split", same},    {"Squeeze", same},        {"Sub", minus_zero},
    {"Sum", single},    {"Tile", same},     {"Transpose", transpose}, {"Unsqueeze", same},
    {"Xor", plus_zero},
};

static rule *find_rule(const struct node *n)
{
    if (*n->domain || !n->input_count || !n->output_count || !n->inputs[0])
        return NULL;
    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++)
        if (!strcmp(rules[i].op, n->op_type))
            return rules[i].rule;
    return NULL;
}

int pass_identity(struct graph *g)
{
    int changes = 0;

    for (int i = 0; i < g->node_count; i++) {
        struct node *n = g->nodes[i];
        rule *applies = n->removed ? NULL : find_rule(n);
        struct value *out, *v;

        if (!applies || !(out = n->outputs[0]) || out->poisoned || out->constant)
            continue;
        v = applies(n);
        if (!v || v->poisoned || v->type != out->type || !shape_known(&v->shape) ||
            !shape_equal(&v->shape, &out->shape))
            continue;
        pass_replace(n, v);
        changes++;
    }
    return changes;
}
