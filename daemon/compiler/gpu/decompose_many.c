/*
 * Operators of many operands: a kernel can read only so many textures (a fragment shader is sure of
 * 16, and some are needed for weights), so what has more is computed in parts, each of them stored.
 */
#include "daemon/compiler/gpu/make.h"
#include "daemon/compiler/operators/operator.h"
#include <string.h>

enum {
    MOST_PARTS = 8,    /* textures that one kernel reads */
    READERS_PARTS = 6, /* those that a reader takes of one operand, beside what else it reads */
    MOST_PIECES = 32   /* operands that lie in few of them: each is a block of the kernel */
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

/* How many operands, from the first on and at most `most`, lie in so many textures. */
static int fitting(struct value *const *operands, int count, int textures, int most)
{
    const struct value *seen[MOST_PARTS];
    int found = 0;

    for (int i = 0; i < count && i < most; i++) {
        const struct value *v = operands[i] ? shown(operands[i]) : NULL;
        int k = 0;

        if (!v || v->constant)
            continue;
        while (k < found && seen[k] != v)
            k++;
        if (k == textures)
            return i;
        seen[k] = v;
        found += k == found;
    }
    return count < most ? count : most;
}

static bool fits(struct value *const *operands, int count, int textures)
{
    return fitting(operands, count, textures, MOST_PIECES) == count;
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

/* Stores parts of as many operands as a kernel reads, and no more of them than it takes until a
 * reader can do with what is left: each is a draw. Returns how many operands there are then. */
static int store_parts(struct node *n, struct value **operands, int count)
{
    int from = 0, made = 0;

    while (from < count &&
           !fits(operands + from, count - from, made < READERS_PARTS ? READERS_PARTS - made : 0)) {
        int some = fitting(operands + from, count - from, MOST_PARTS, MOST_PIECES);
        struct value *v;

        /* The last few will be a part together with what they are too many beside. */
        if (made >= READERS_PARTS && from + some == count && some < MOST_PARTS)
            break;
        v = part(n, operands + from, some);
        operands[made++] = some > 1 && !v->constant ? make_stored(n, v) : v;
        from += some;
    }
    memmove(operands + made, operands + from, (size_t)(count - from) * sizeof *operands);
    return made + count - from;
}

bool decompose_many(struct node *n, struct value **out)
{
    int count = n->input_count, all = count;
    bool mean = !strcmp(n->op->name, "Mean");
    struct value **operands;

    if (count <= MOST_PARTS || fits(n->inputs, count, MOST_PARTS))
        return false;
    operands = NEW_ARRAY(&n->graph->context->arena, count, struct value *);
    /* A mean adds up shares, or parts of it could be beyond 16 bits where it is not. */
    for (int i = 0; i < count; i++)
        operands[i] = mean ? make_scaled(n, n->inputs[i], 1.0 / all) : n->inputs[i];
    while (!fits(operands, count, READERS_PARTS))
        count = store_parts(n, operands, count);
    out[0] = part(n, operands, count);
    return true;
}
