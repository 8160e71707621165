/*
 * Operators of many operands: a kernel can read only so many textures (a fragment shader is sure of
 * 16, and some are needed for weights), so what has more is computed in parts, each of them stored.
 */
#include "daemon/compiler/gpu/make.h"
#include "daemon/compiler/operators/operator.h"
#include <string.h>

enum {
    MOST_PARTS = 8,  /* textures that one kernel reads */
    MOST_PIECES = 32 /* operands that lie in few of them: each is a block of the kernel */
};

/* The value that v shows elements of. */
static const struct value *shown(const struct value *v)
{
    while (!v->constant && v->producer && v->producer->op &&
           v->producer->op->functions->role == ROLE_VIEW && v->producer->input_count &&
           strcmp(v->producer->op->name, "Concat") != 0 && v->producer->inputs[0])
        v = v->producer->inputs[0];
    return v;
}

static bool reads_too_much(const struct node *n)
{
    const struct value *seen[MOST_PARTS];
    int textures = 0;

    for (int i = 0; i < n->input_count; i++) {
        const struct value *v = n->inputs[i] ? shown(n->inputs[i]) : NULL;
        int k = 0;

        if (!v || v->constant)
            continue;
        while (k < textures && seen[k] != v)
            k++;
        if (k == MOST_PARTS)
            return true;
        seen[k] = v;
        textures += k == textures;
    }
    return n->input_count > MOST_PIECES;
}

/* The operator over some of the operands. */
static struct value *part(struct node *n, struct value *const *operands, int count)
{
    bool mean = !strcmp(n->op->name, "Mean");
    struct node *r;

    if (count == 1)
        return operands[0];
    r = make_node(n, mean ? "Sum" : n->op->name, count, operands);
    if (!strcmp(n->op->name, "Concat"))
        node_set_int(r, "axis", node_int(n, "axis", 0));
    return make_inferred(r);
}

bool decompose_many(struct node *n, struct value **out)
{
    int count = n->input_count, all = count;
    bool mean = !strcmp(n->op->name, "Mean");
    struct value **operands;

    if (count <= MOST_PARTS || !reads_too_much(n))
        return false;
    operands = NEW_ARRAY(&n->graph->context->arena, count, struct value *);
    /* A mean adds up shares, or parts of it could be beyond 16 bits where it is not. */
    for (int i = 0; i < count; i++)
        operands[i] = mean ? make_scaled(n, n->inputs[i], 1.0 / all) : n->inputs[i];
    while (count > MOST_PARTS) {
        int made = 0;

        for (int i = 0; i < count; i += MOST_PARTS) {
            int some = count - i < MOST_PARTS ? count - i : MOST_PARTS;
            struct value *v = part(n, operands + i, some);

            operands[made++] = some > 1 && !v->constant ? make_stored(n, v) : v;
        }
        count = made;
    }
    out[0] = part(n, operands, count);
    return true;
}
