#include "daemon/compiler/gpu/excess.h"
#include "daemon/compiler/gpu/range.h"
#include "daemon/compiler/operators/operator.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Sizes of unknown inputs at which growth is measured: where what is 16 times as large becomes more
 * than so many times as large, it grows faster than its input. */
static const double NEAR = 0x1p17, FAR = 0x1p21, LINEAR = 24;

static const char *const reasons[] = {
    [EXCESS_NONE] = "",
#define EXCESS(name, reason, advice) [EXCESS_##name] = reason,
#include "daemon/compiler/operators/excess.def"
#undef EXCESS
};
static const char *const advices[] = {
    [EXCESS_NONE] = "",
#define EXCESS(name, reason, advice) [EXCESS_##name] = advice,
#include "daemon/compiler/operators/excess.def"
#undef EXCESS
};

/* What one step computes from what it reads, in order. */
struct chain {
    struct plan *plan;
    struct arena *scratch;
    struct value **values; /* computed in the step, the stored one last */
    int count, room;
    struct range *ranges; /* of values, as last asked for */
    bool unknown;         /* sizes are given only for what has no known range */
};

static bool is_inside(const struct value *v, const struct value *stored)
{
    const struct spot *spot = v && !v->constant ? v->plan : NULL;

    return spot && v->producer && spot->extent && (v == stored || spot->placement != PLACED_BUFFER);
}

static int by_order(const void *a, const void *b)
{
    const struct value *const *v = a, *const *w = b;

    return spot_of(*v)->order - spot_of(*w)->order;
}

/* All that is computed on the way to stored. mark is taken back by chain_release(). */
static void chain_init(struct chain *c, struct plan *p, struct value *stored, struct arena *scratch)
{
    *c = (struct chain){.plan = p, .scratch = scratch};
    APPEND(scratch, c->values, c->count, c->room) = stored;
    spot_of(stored)->mark = 1;
    for (int next = 0; next < c->count; next++) {
        const struct node *n = c->values[next]->producer;

        for (int i = 0; i < n->input_count; i++)
            if (is_inside(n->inputs[i], stored) && !spot_of(n->inputs[i])->mark) {
                spot_of(n->inputs[i])->mark = 1;
                APPEND(scratch, c->values, c->count, c->room) = n->inputs[i];
            }
    }
    qsort(c->values, (size_t)c->count, sizeof *c->values, by_order);
    for (int i = 0; i < c->count; i++)
        spot_of(c->values[i])->mark = i + 1;
    c->ranges = NEW_ARRAY(scratch, c->count, struct range);
}

static void chain_release(struct chain *c)
{
    for (int i = 0; i < c->count; i++)
        spot_of(c->values[i])->mark = 0;
}

static struct range scaled(const struct chain *c, const struct range *reach, double size)
{
    return c->unknown && range_is_known(reach) ? *reach : range_limit(*reach, -size, size);
}

/* What n reads in that slot. */
static struct range operand(const struct chain *c, const struct node *n, int slot, double size)
{
    const struct value *v = n->inputs[slot];
    struct range r = range_unbounded();

    if (!v || !type_is_float(v->type) || (v->constant && range_is_measured(n, slot)))
        return r;
    if (v->constant)
        r = range_constant(c->plan->context, v);
    else if (v->plan && spot_of(v)->mark)
        r = c->ranges[spot_of(v)->mark - 1];
    else if (v->plan && spot_of(v)->extent)
        r = scaled(c, &spot_of(v)->extent->reach, size);
    return range_operand(r);
}

/* How large the stored value becomes, where what the step reads is at most so large. */
static double chain_size(struct chain *c, double size)
{
    for (int i = 0; i < c->count; i++) {
        const struct value *v = c->values[i];
        const struct node *n = v->producer;
        struct range *in = NEW_ARRAY(c->scratch, n->input_count + 1, struct range);
        bool summed = false;

        for (int k = 0; k < n->input_count; k++) {
            in[k] = operand(c, n, k, size);
            summed = summed || (n->inputs[k] && type_is_float(n->inputs[k]->type) && in[k].summed);
        }
        node_range(n, v->producer_output, in, &c->ranges[i]);
        /* Its size is unknown whatever its operands' is. */
        if (c->ranges[i].sums && summed && !range_is_known(&spot_of(v)->extent->reach) &&
            c->unknown)
            c->ranges[i] = range_limit(c->ranges[i], -size, size);
    }
    return range_size(&c->ranges[c->count - 1]);
}

/* ---- layers to name ---- */

struct layer {
    const struct node *node;
    double limit; /* how large its input may become; of a division how small what it divides by;
                     negative: unknown */
};

struct group {
    struct layer *layers;
    int count, room;
};

struct report {
    struct plan *plan;
    struct group groups[EXCESS_COUNT];
};

static void add_layer(struct report *r, enum excess reason, const struct node *n, double limit)
{
    struct group *g = &r->groups[reason];

    for (int i = 0; i < g->count; i++)
        if (g->layers[i].node->position == n->position) {
            g->layers[i].limit = fmin(g->layers[i].limit, limit);
            return;
        }
    APPEND(&r->plan->context->arena, g->layers, g->count, g->room) = (struct layer){n, limit};
}

static bool is_computed(const struct value *v)
{
    return v && !v->constant && type_is_float(v->type);
}

/* The divisor of a division, or the base of a power with a negative exponent. */
static int divisor_slot(const struct node *n)
{
    return !strcmp(n->op->name, "Div");
}

/* Whether n divides by what may enlarge the quotient. */
static bool may_enlarge(const struct chain *c, int i, double most)
{
    const struct value *v = c->values[i];
    const struct node *n = v->producer;
    struct range d;

    if (c->ranges[i].excess != EXCESS_DIVISION || !is_computed(n->inputs[divisor_slot(n)]) ||
        range_size(&spot_of(v)->extent->computed) <= most)
        return false;
    d = range_absolute(operand(c, n, divisor_slot(n), NEAR));
    return d.lo < 1;
}

/* The greatest size of what the step reads at which its result is not larger than most. */
static double largest_size(struct chain *c, double most)
{
    double lo = -40, hi = 21;

    for (int i = 0; i < 40; i++) {
        double middle = (lo + hi) / 2;

        if (chain_size(c, exp2(middle)) <= most)
            lo = middle;
        else
            hi = middle;
    }
    return exp2(lo);
}

/* How large what layer i reads is when what the step reads is: the least of its operands. */
static double input_size(struct chain *c, int i, double size)
{
    const struct node *n = c->values[i]->producer;
    double least = INFINITY;

    chain_size(c, size);
    for (int k = 0; k < n->input_count; k++)
        if (is_computed(n->inputs[k])) {
            struct range r = operand(c, n, k, size);

            least = fmin(least, range_size(&r));
        }
    return least;
}

/* How near to 0 the divisor of layer i may come; -1: it has to stay large enough for what is
 * divided, which is of unknown size. */
static double least_divisor(const struct chain *c, int i, double most)
{
    const struct node *n = c->values[i]->producer;
    const struct value *v = n->inputs[0];
    struct range r;

    if (!strcmp(n->op->name, "Pow"))
        return pow(most, 1 / range_constant(c->plan->context, n->inputs[1]).lo);
    if (strcmp(n->op->name, "Div") != 0)
        return 1 / most;
    r = v->constant ? range_constant(c->plan->context, v) : spot_of(v)->extent->reach;
    return range_is_known(&r) ? range_size(&r) / most : -1;
}

/* Whether what layer i computes is added up or averaged in the same step. */
static bool is_reduced(const struct chain *c, int i)
{
    for (i++; i < c->count; i++)
        if (!strncmp(c->values[i]->producer->op->name, "Reduce", 6))
            return true;
    return false;
}

static void judge(struct report *r, struct step *s, struct arena *scratch)
{
    struct value *v = s->value;
    struct spot *spot = v->plan;
    struct chain c;
    int exponent = s->copies ? 0 : spot->exponent, found = -1;
    double sure = ldexp(SURE_HALF, exponent), most = ldexp(LARGEST_HALF, exponent), near, far;

    chain_init(&c, r->plan, v, scratch);
    if (range_is_known(&spot->extent->reach)) {
        near = chain_size(&c, INFINITY);
        for (int i = 0; i < c.count && found < 0; i++)
            if (range_size(&c.ranges[i]) > sure)
                found = i;
        if (near > sure)
            add_layer(r, EXCESS_KNOWN, c.values[found]->producer,
                      input_size(&c, found, largest_size(&c, most)));
        chain_release(&c);
        return;
    }
    c.unknown = true;
    double *sizes = NEW_ARRAY(scratch, c.count, double);
    near = chain_size(&c, NEAR);
    for (int i = 0; i < c.count; i++)
        sizes[i] = range_size(&c.ranges[i]);
    for (int i = 0; i < c.count && found < 0; i++)
        if (may_enlarge(&c, i, sure))
            found = i;
    if (found >= 0) {
        add_layer(r, EXCESS_DIVISION, c.values[found]->producer, least_divisor(&c, found, most));
        chain_release(&c);
        return;
    }
    far = chain_size(&c, FAR);
    if (!isfinite(far) || far > LINEAR * near)
        for (int i = 0; i < c.count && found < 0; i++)
            if (c.ranges[i].excess && c.ranges[i].excess != EXCESS_DIVISION &&
                (!isfinite(sizes[i]) || range_size(&c.ranges[i]) > LINEAR * sizes[i]))
                found = i;
    if (found >= 0) {
        enum excess reason = c.ranges[found].excess;

        if (reason == EXCESS_POWER && is_reduced(&c, found))
            reason = EXCESS_SQUARES;
        add_layer(r, reason, c.values[found]->producer,
                  input_size(&c, found, largest_size(&c, most)));
    }
    chain_release(&c);
}

/* ---- words ---- */

static int by_position(const void *a, const void *b)
{
    const struct layer *l = a, *m = b;

    return l->node->position - m->node->position;
}

/* From where on it happens. */
static const char *when(struct arena *a, enum excess reason, double limit)
{
    if (reason == EXCESS_DIVISION && limit < 0)
        return "where what it divides by is less than 1/65504 of what it divides";
    if (reason == EXCESS_DIVISION)
        return arena_printf(a, "where what it divides by is closer to 0 than %.4g", limit);
    if (limit <= exp2(-39))
        return "whatever its input is";
    return arena_printf(a, "once its input is beyond %.4g", limit);
}

static void report_group(struct report *r, enum excess reason)
{
    struct context *c = r->plan->context;
    struct group *g = &r->groups[reason];
    const struct layer *first = g->layers;
    const char *said;
    struct strbuf others;
    struct place place;

    if (!g->count)
        return;
    qsort(g->layers, (size_t)g->count, sizeof *g->layers, by_position);
    strbuf_init(&others, &c->arena);
    said = when(&c->arena, reason, first->limit);
    for (int i = 1; i < g->count; i++) {
        const char *own = when(&c->arena, reason, g->layers[i].limit);

        strbuf_add(&others, i == 1 ? "; the same holds for " : i == g->count - 1 ? " and " : ", ");
        strbuf_add(&others, node_title(g->layers[i].node, &c->arena));
        if (strcmp(own, said) != 0)
            strbuf_printf(&others, " (%s)", own);
    }
    place = node_place(first->node);
    diagnose(c, &place, TUKI0135, advices[reason],
             "%s: %s its result would exceed 65504, the largest that 16 bits hold, and becomes "
             "65504%s",
             reasons[reason], said, others.text);
}

void report_excess(struct plan *p)
{
    struct report *r = NEW(&p->context->arena, struct report);

    r->plan = p;
    for (int i = 0; i < p->step_count; i++) {
        struct step *s = p->steps[i];
        struct arena *scratch;

        context_poll(p->context);
        if (!s->limited || s->value->constant ||
            (s->copies && spot_of(s->value)->placement == PLACED_BUFFER))
            continue;
        scratch = arena_child(&p->context->arena);
        judge(r, s, scratch);
        arena_free(scratch);
    }
    for (enum excess e = EXCESS_NONE; e < EXCESS_COUNT; e++)
        report_group(r, e);
}
