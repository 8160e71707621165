#include "daemon/compiler/operators/jumps.h"
#include "daemon/compiler/operators/recurrent.h"
#include "daemon/compiler/operators/walk.h"
#include <string.h>

static bool is_rounded(const struct node *n, int slot)
{
    const struct value *v = node_input(n, slot);

    return v && !v->constant && type_is_real(v->type);
}

/* ---- one rule for each kind of operator ---- */

static bool steady(const struct node *n)
{
    (void)n;
    return false;
}

static bool first_operand(const struct node *n)
{
    return is_rounded(n, 0);
}

static bool any_operand(const struct node *n)
{
    return is_rounded(n, 0) || is_rounded(n, 1);
}

/* A region's corners are rounded, or decide how many samples are taken and which lie outside. */
static bool regions(const struct node *n)
{
    return is_rounded(n, 1);
}

/* What is shrunk begins at lambd - bias behind the middle part, which is 0. */
static bool shrink(const struct node *n)
{
    return is_rounded(n, 0) && node_float(n, "lambd", 0.5f) != node_float(n, "bias", 0);
}

static bool thresholded(const struct node *n)
{
    return is_rounded(n, 0) && node_float(n, "alpha", 1) != 0;
}

/* To integers it cuts off, to truth values it compares with 0. */
static bool to_whole(const struct node *n)
{
    return is_rounded(n, 0) && !type_is_real(n->outputs[0]->type);
}

/* Which element is nearest jumps halfway between two of them. */
static bool nearest(const struct node *n)
{
    return is_rounded(n, 1) && !strcmp(node_string(n, "mode", "linear"), "nearest");
}

/* Each step reads what the one before has written. */
static bool activations(const struct node *n)
{
    struct recurrent r;
    const char *why;

    if (!recurrent_read(n, &r, &why))
        return false;
    for (int d = 0; d < r.directions; d++)
        for (int i = 0; i <= (int)r.kind; i++)
            if (r.activation[d][i].function == ACTIVATION_THRESHOLDED_RELU &&
                r.activation[d][i].alpha != 0)
                return true;
    return false;
}

/* By number in operator_rows(). */
static bool (*const rules[])(const struct node *n) = {
#define OPERATOR(name, domain, since, until, min_in, max_in, min_out, max_out, functions, batch,   \
                 jumps, documentation)                                                             \
    jumps,
#include "daemon/compiler/operators/operators.def"
#undef OPERATOR
};

bool node_jumps(const struct node *n)
{
    return n->op && rules[n->op - operator_rows()](n);
}
