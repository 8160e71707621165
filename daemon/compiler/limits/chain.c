#include "daemon/compiler/limits/chain.h"
#include "daemon/compiler/limits/limits.h"
#include "daemon/compiler/operators/operator.h"
#include <math.h>

/* Of a longer chain nothing is said from there on: each operator in it may be asked about. */
enum { MOST_FOLLOWED = 256 };

bool chain_operator(const struct node *n, int *slot)
{
    int computed = -1;

    if (!n->op || n->op->functions->role != ROLE_ELEMENTWISE || n->output_count != 1)
        return false;
    for (int i = 0; i < n->input_count; i++)
        if (n->inputs[i] && !n->inputs[i]->constant) {
            if (computed >= 0)
                return false;
            computed = i;
        }
    if (slot)
        *slot = computed;
    return computed >= 0;
}

struct node *chain_next(const struct value *v)
{
    struct node *reader = value_only_reader(v);

    return reader && v->producer && chain_operator(v->producer, NULL) &&
                   chain_operator(reader, NULL)
               ? reader
               : NULL;
}

struct range chain_range(const struct chains *c, const struct value *v)
{
    struct range r;

    if (!v || !type_is_float(v->type))
        return range_unbounded();
    if (v->constant)
        return range_operand(range_constant(c->graph->context, v));
    r = range_operand(c->computed[v->id]);
    return chain_next(v) ? r : range_limit(r, -LARGEST_HALF, LARGEST_HALF);
}

/* Whether a constant that n reads is a large table, of which only sums say something. */
static bool is_weighted(const struct node *n)
{
    if (n->op->functions->role == ROLE_ELEMENTWISE || n->op->functions->role == ROLE_VIEW)
        return false;
    for (int i = 0; i < n->input_count; i++)
        if (n->inputs[i] && n->inputs[i]->constant && type_is_float(n->inputs[i]->type))
            return true;
    return false;
}

/* slot -1: as all inputs are. */
static struct range apply(const struct chains *c, const struct node *n, int output, int slot,
                          struct range r)
{
    struct arena *scratch;
    struct range *in, out = range_unbounded();

    if (is_weighted(n))
        return out;
    scratch = arena_child(&c->graph->context->arena);
    in = NEW_ARRAY(scratch, n->input_count + 1, struct range);
    for (int i = 0; i < n->input_count; i++)
        in[i] = i == slot ? r : chain_range(c, n->inputs[i]);
    node_range(n, output, in, &out);
    arena_free(scratch);
    return out;
}

void chains_init(struct chains *c, struct graph *g)
{
    struct arena *a = &g->context->arena;

    *c = (struct chains){g, NEW_ARRAY(a, g->value_count + 1, struct range),
                         NEW_ARRAY(a, g->value_count + 1, const struct value *)};
    for (int i = 0; i < g->value_count; i++) {
        c->computed[i] = range_unbounded();
        c->end[i] = g->values[i];
    }
    for (int i = g->node_count - 1; i >= 0; i--) {
        const struct value *v = g->nodes[i]->output_count ? g->nodes[i]->outputs[0] : NULL;
        const struct node *next = v && !g->nodes[i]->removed ? chain_next(v) : NULL;

        if (next)
            c->end[v->id] = c->end[next->outputs[0]->id];
    }
    for (int i = 0; i < g->node_count; i++) {
        const struct node *n = g->nodes[i];

        context_poll(g->context);
        for (int o = 0; !n->removed && n->op && o < n->output_count; o++)
            if (n->outputs[o] && !n->outputs[o]->constant)
                c->computed[n->outputs[o]->id] = apply(c, n, o, -1, range_unbounded());
    }
}

struct range chain_apply(const struct chains *c, const struct node *n, int slot, struct range r)
{
    return range_operand(apply(c, n, 0, slot, range_operand(r)));
}

struct range chain_result(const struct chains *c, const struct value *v, struct range r)
{
    struct node *next;
    int slot, left = MOST_FOLLOWED;

    while ((next = chain_next(v))) {
        if (!left--)
            return range_unbounded();
        context_poll(c->graph->context);
        chain_operator(next, &slot);
        r = chain_apply(c, next, slot, r);
        v = next->outputs[0];
    }
    return r;
}
