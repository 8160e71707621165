#include "daemon/compiler/operators/zeros.h"
#include "daemon/compiler/graph/half.h"
#include "daemon/compiler/operators/operator.h"
#include "daemon/compiler/operators/range.h"
#include <math.h>
#include <string.h>

static const struct {
    const char *op;
    int sign;
} guards[] = {
#define GUARD(op, sign) {#op, sign},
#define DIVIDER(op, slot, words)
#define CARRIER(op)
#include "daemon/compiler/operators/zeros.def"
#undef GUARD
#undef DIVIDER
#undef CARRIER
};
static const struct {
    const char *op;
    int slot;
    const char *words;
} dividers[] = {
#define GUARD(op, sign)
#define DIVIDER(op, slot, words) {#op, slot, words},
#define CARRIER(op)
#include "daemon/compiler/operators/zeros.def"
#undef GUARD
#undef DIVIDER
#undef CARRIER
};
static const char *const carriers[] = {
#define GUARD(op, sign)
#define DIVIDER(op, slot, words)
#define CARRIER(op) #op,
#include "daemon/compiler/operators/zeros.def"
#undef GUARD
#undef DIVIDER
#undef CARRIER
};

bool is_tiny(double x)
{
    return x != 0 && fabs(x) < SMALLEST_HALF;
}

static bool is_known(const struct value *v)
{
    return v && v->constant && !v->constant->varies && type_is_float(v->type);
}

static double limit_now(const struct node *n)
{
    int count;
    const float *low = node_constant_floats(n, 1, &count);

    return low && count == 1 && low[0] > 0 && is_tiny((double)low[0]) ? (double)low[0] : 0;
}

double zeros_limit(const struct node *n)
{
    struct context *c = n->graph->context;
    int style = c->style;
    double limit = 0;

    if (!node_is(n, "Clip") || !node_input(n, 1) || !n->inputs[1]->constant)
        return 0;
    if (!n->inputs[1]->constant->varies)
        return limit_now(n);
    for (c->style = 0; c->style < c->styles && limit == 0; c->style++)
        limit = limit_now(n);
    c->style = style;
    return limit;
}

/* A tiny number of constant v of that sign (0: of any). */
static double tiny_number(struct context *c, const struct value *v, int sign)
{
    struct arena *scratch = arena_child(&c->arena);
    const float *numbers = tensor_floats(c, v->constant, scratch);
    double found = 0;

    for (int64_t i = 0; i < v->constant->count && found == 0; i++)
        if (is_tiny((double)numbers[i]) && (float)sign * numbers[i] >= 0)
            found = (double)numbers[i];
    arena_free(scratch);
    return found;
}

double zeros_guard(const struct node *n)
{
    for (size_t g = 0; g < sizeof guards / sizeof *guards; g++)
        for (int i = 0; node_is(n, guards[g].op) && i < n->input_count; i++) {
            double number = is_known(n->inputs[i])
                                ? tiny_number(n->graph->context, n->inputs[i], guards[g].sign)
                                : 0;

            if (number != 0)
                return number;
        }
    return 0;
}

static bool is_negative_power(const struct node *n)
{
    return is_known(n->inputs[1]) && range_constant(n->graph->context, n->inputs[1]).lo < 0;
}

bool zeros_minded(const struct node *n, int slot, const char **words)
{
    for (size_t i = 0; i < sizeof dividers / sizeof *dividers; i++) {
        if (!node_is(n, dividers[i].op) || dividers[i].slot != slot)
            continue;
        if (words)
            *words = dividers[i].words;
        return !node_is(n, "Pow") || is_negative_power(n);
    }
    return false;
}

bool zeros_carried(const struct node *n)
{
    for (size_t i = 0; i < sizeof carriers / sizeof *carriers; i++)
        if (node_is(n, carriers[i]))
            return true;
    return false;
}

/* Whether v is read, through views, by what minds zeros. */
static bool is_minded(const struct value *v, int depth)
{
    for (int i = 0; i < v->reader_count; i++) {
        const struct node *n = v->readers[i];

        for (int k = 0; k < n->input_count; k++)
            if (n->inputs[k] == v && zeros_minded(n, k, NULL))
                return true;
        if (n->op && n->op->functions->role == ROLE_VIEW && depth > 0)
            for (int o = 0; o < n->output_count; o++)
                if (n->outputs[o] && is_minded(n->outputs[o], depth - 1))
                    return true;
    }
    return false;
}

bool zeros_matter(const struct value *v)
{
    enum { DEPTH = 4 };
    int views = DEPTH;

    while (views > 0 && v->producer && !v->constant && v->producer->op &&
           v->producer->op->functions->role == ROLE_VIEW && v->producer->input_count &&
           v->producer->inputs[0]) {
        v = v->producer->inputs[0];
        views--;
    }
    return v->producer && !v->constant && zeros_limit(v->producer) != 0 && is_minded(v, DEPTH);
}
