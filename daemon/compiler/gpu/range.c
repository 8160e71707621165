#include "daemon/compiler/gpu/range.h"
#include "daemon/compiler/graph/half.h"
#include "daemon/compiler/operators/operator.h"
#include <math.h>
#include <string.h>

/* From here on a value is held smaller, so that its usual size becomes about TARGET. */
static const double LARGE = 2048, TARGET = 64, USUAL_INPUT = 4;
enum {
    /* An estimate may be wrong: with 2^-8, what is smaller than it by 2^8 than thought still keeps
     * all its bits. */
    GREATEST_EXPONENT = 8,
    /* Numbers from 2^-14 on have all bits: a usual one keeps eight binary places below it. */
    LEAST_PLACES = 6,
};

static struct extent extent_of(const struct node *n, int slot)
{
    const struct value *v = n->inputs[slot];
    struct extent e = {range_unbounded(), range_unbounded(), range_unbounded()};

    if (!v || !type_is_float(v->type))
        return e;
    if (v->constant && !range_is_measured(n, slot))
        e.sure = e.reach = range_constant(n->graph->context, v);
    else if (!v->constant && v->plan && spot_of(v)->extent)
        e = *spot_of(v)->extent;
    return e;
}

/* What is read of r once 16 bits hold it times 2^-exponent. Rounding keeps the order of numbers. */
static struct range stored(struct range r, int exponent)
{
    double unit = ldexp(1, exponent);

    r = range_limit(r, -LARGEST_HALF * unit, LARGEST_HALF * unit);
    r.lo = fmin(r.lo, unit * (double)half_to_float(half_from_float((float)(r.lo / unit))));
    r.hi = fmax(r.hi, unit * (double)half_to_float(half_from_float((float)(r.hi / unit))));
    return r;
}

/* By which power of two an inner value is held smaller: where it is usually large, or where its
 * known range is too large and small numbers lose nothing. */
static int exponent_for(const struct extent *e)
{
    int exponent = 0, wanted;
    double usual = fmin(e->computed.usual, 1e9), size = range_size(&e->reach);

    if (usual > LARGE)
        exponent = (int)fmin(ceil(log2(usual / TARGET)), GREATEST_EXPONENT);
    if (!range_is_known(&e->reach) || size <= SURE_HALF)
        return exponent;
    wanted = (int)ceil(log2(size / SURE_HALF));
    if (wanted > exponent && wanted <= GREATEST_EXPONENT &&
        usual >= ldexp(1, wanted + LEAST_PLACES - 14))
        exponent = wanted;
    return exponent;
}

static void settle(struct value *v, struct extent *e)
{
    struct spot *spot = v->plan;
    bool held = spot->placement == PLACED_BUFFER;

    e->sure = e->computed;
    if (held) {
        spot->exponent = v->output_count ? 0 : exponent_for(e);
        spot->limited = range_size(&e->computed) > ldexp(SURE_HALF, spot->exponent);
        e->sure = stored(e->sure, spot->exponent);
        if (range_is_known(&e->reach))
            e->reach = stored(e->reach, spot->exponent);
    }
    spot->extent = arena_memdup(&v->producer->graph->context->arena, e, sizeof *e);
}

static struct extent *input_extent(struct context *c, const struct value *v)
{
    struct extent *e = NEW(&c->arena, struct extent);

    e->sure = v->within ? range_make(v->within[0], v->within[1]) : range_unbounded();
    e->sure.usual = fmin(USUAL_INPUT, range_size(&e->sure));
    e->computed = e->reach = e->sure;
    return e;
}

void plan_ranges(struct plan *p)
{
    struct context *c = p->context;
    struct graph *g = p->graph;

    for (int i = 0; i < g->input_count; i++)
        if (g->inputs[i]->plan)
            spot_of(g->inputs[i])->extent = input_extent(c, g->inputs[i]);
    for (int i = 0; i < g->node_count; i++) {
        struct node *n = g->nodes[i];
        struct arena *scratch;
        struct range *sure, *reach;
        bool summed = false;

        if (!n->mark)
            continue;
        context_poll(c);
        scratch = arena_child(&c->arena);
        sure = NEW_ARRAY(scratch, n->input_count + 1, struct range);
        reach = NEW_ARRAY(scratch, n->input_count + 1, struct range);
        for (int k = 0; k < n->input_count; k++) {
            struct extent e = extent_of(n, k);

            sure[k] = range_operand(e.sure);
            reach[k] = range_operand(e.reach);
            summed =
                summed || (n->inputs[k] && type_is_float(n->inputs[k]->type) && e.reach.summed);
        }
        for (int o = 0; o < n->output_count; o++) {
            struct value *v = n->outputs[o];
            struct extent e;

            if (!v || !v->plan)
                continue;
            spot_of(v)->order = i;
            node_range(n, o, sure, &e.computed);
            node_range(n, o, reach, &e.reach);
            if (e.reach.sums && summed) {
                bool was = e.reach.summed;

                e.reach = range_unbounded();
                e.reach.usual = e.computed.usual;
                e.reach.summed = was;
            }
            settle(v, &e);
        }
        arena_free(scratch);
    }
}

bool copy_is_limited(struct context *c, const struct value *v)
{
    struct range r = v->constant ? range_constant(c, v) : spot_of(v)->extent->sure;

    return range_size(&r) > SURE_HALF;
}
