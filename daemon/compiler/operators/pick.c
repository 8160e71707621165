/*
 * Some elements of a constant, without the rest.
 *
 * A round goes through the streams of a recipe twice: from the node that is asked back to the
 * constants, where each says which elements of its inputs make up what is wanted of it; and forward
 * again, each computing just these. An elementwise operator runs as always, over one axis on which
 * its wanted elements lie; an operator that moves elements says where each comes from (trace), and
 * one that makes them makes these alone.
 */
#include "daemon/compiler/operators/move.h"
#include "daemon/compiler/operators/recipe.h"
#include "daemon/compiler/operators/work.h"
#include <stdlib.h>
#include <string.h>

enum {
    BLOCK = 1 << 13,          /* elements of a round … */
    ROUND_ELEMENTS = 1 << 19, /* … of all streams together */
    LEAST_BLOCK = 1 << 6,
    FIRST_ROUND = 1 << 18, /* bytes */
};

static bool is_elementwise(const struct node *n)
{
    /* QuantizeLinear and its kin, whose scales lie along an axis, have no expression. */
    return n->op->functions->role == ROLE_ELEMENTWISE && n->op->functions->express &&
           n->op->functions->evaluate && n->output_count == 1;
}

bool pick_possible(struct node *n)
{
    if (!n->op || n->unevaluable)
        return false;
    for (int i = 0; i < n->output_count; i++)
        if (n->outputs[i] && (type_bits(n->outputs[i]->type) < 8 || !n->outputs[i]->constant))
            return false;
    for (int i = 0; i < n->input_count; i++)
        if (n->inputs[i] && (type_bits(n->inputs[i]->type) < 8 || !n->inputs[i]->constant))
            return false;
    if (n->op->functions->trace)
        return n->op->functions->trace(n, 0, (struct positions){0, NULL}, NULL, NULL);
    return n->op->functions->make || is_elementwise(n);
}

bool pick_reads_parts(struct node *n, int slot)
{
    const struct operator_functions *f = n->op ? n->op->functions : NULL;
    bool all = f && is_elementwise(n);

    if (!f || ((all || f->trace) && !pick_possible(n)))
        return false;
    return all || f->parts < 0 || slot < f->parts;
}

int64_t pick_block(const struct recipe *r)
{
    int64_t each = ROUND_ELEMENTS / (r->streams + 1);

    return each > BLOCK ? BLOCK : each < LEAST_BLOCK ? LEAST_BLOCK : each;
}

/* ---- back: who wants what ---- */

static int ascending(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

    return (x > y) - (x < y);
}

static bool equal(struct positions a, struct positions b)
{
    return a.count == b.count &&
           (a.at == b.at || !memcmp(a.at, b.at, (size_t)a.count * sizeof *a.at));
}

/* What two readers want, in order and each element once, so that it cannot grow beyond the tensor
 * however often ways part and meet. */
static struct positions merged(struct recipe *r, struct positions a, struct positions b)
{
    int64_t *at = NEW_ROOM(r->round, a.count + b.count, int64_t), count = 0;

    memcpy(at, a.at, (size_t)a.count * sizeof *at);
    memcpy(at + a.count, b.at, (size_t)b.count * sizeof *at);
    qsort(at, (size_t)(a.count + b.count), sizeof *at, ascending);
    for (int64_t i = 0; i < a.count + b.count; i++)
        if (!count || at[count - 1] != at[i])
            at[count++] = at[i];
    return (struct positions){count, at};
}

/* true: the first wish of e in this round. */
static bool want(struct recipe *r, struct evaluation *e, int output, struct positions wanted)
{
    struct part *part;
    bool first = !e->parts;

    if (first) {
        const struct node *n = e->node;

        e->parts = NEW_ARRAY(r->round, n->output_count, struct part);
        e->asked = NEW_ARRAY(r->round, (int64_t)n->output_count * n->input_count, struct positions);
        e->slots = NEW_ARRAY(r->round, n->output_count, const int *);
    }
    part = &e->parts[output];
    if (!part->wanted.at) {
        part->wanted = wanted;
    } else if (!equal(part->wanted, wanted)) {
        part->wanted = merged(r, part->wanted, wanted);
        part->merged = true;
    }
    return first;
}

static struct positions ask_broadcast(struct recipe *r, const struct shape *to,
                                      const struct shape *from, struct positions wanted)
{
    static const int64_t zero[1] = {0};
    int64_t *at;

    if (shape_count(from) == 1)
        return (struct positions){1, zero};
    if (shape_count(from) == shape_count(to))
        return wanted;
    at = NEW_ROOM(r->round, wanted.count, int64_t);
    trace_broadcast(to, from, wanted, at);
    return (struct positions){wanted.count, at};
}

/* What e has to know of its inputs for that output. */
static void ask(struct recipe *r, struct evaluation *e, int output)
{
    struct node *n = e->node;
    struct positions wanted = e->parts[output].wanted;
    struct positions *asked = e->asked + (size_t)output * (size_t)n->input_count;
    int64_t *from;
    int *slot;

    if (n->op->functions->make)
        return;
    if (!n->op->functions->trace) {
        for (int k = 0; k < n->input_count; k++)
            if (n->inputs[k])
                asked[k] =
                    ask_broadcast(r, &n->outputs[output]->shape, &n->inputs[k]->shape, wanted);
        return;
    }
    if (n->op->functions->trace == trace_same) {
        asked[0] = wanted;
        return;
    }
    from = NEW_ARRAY(r->round, wanted.count, int64_t);
    slot = NEW_ARRAY(r->round, wanted.count, int);
    if (!n->op->functions->trace(n, output, wanted, slot, from))
        recipe_fault(n);
    e->slots[output] = slot;
    for (int64_t i = 0; i < wanted.count; i++)
        if (slot[i] >= 0)
            asked[slot[i]].count++;
    if (wanted.count && asked[0].count == wanted.count) {
        asked[0].at = from;
        e->slots[output] = NULL;
        return;
    }
    for (int k = 0; k < n->input_count; k++) {
        int64_t *at = NEW_ROOM(r->round, asked[k].count, int64_t), count = 0;

        for (int64_t i = 0; i < wanted.count && count < asked[k].count; i++)
            if (slot[i] == k)
                at[count++] = from[i];
        asked[k].at = asked[k].count ? at : NULL;
    }
}

/* ---- forward: what is there ---- */

static void *elements_room(struct recipe *r, enum element_type type, int64_t count)
{
    return arena_room(r->round, (size_t)count, (size_t)type_bits(type) / 8);
}

/* The elements that were asked of that input. */
static const void *fetch(struct recipe *r, const struct evaluation *e, int slot,
                         struct positions asked)
{
    const struct evaluation *need = e->need[slot];
    const struct tensor *t = e->node->inputs[slot]->constant;
    size_t size = (size_t)type_bits(t->type) / 8;
    const struct part *part;
    char *out;

    if (!need || !need->streams) {
        out = elements_room(r, t->type, asked.count);
        tensor_pick(r->context, need ? need->out[t->deferred_output] : t, asked.count, asked.at,
                    out);
        return out;
    }
    part = &need->parts[t->deferred_output];
    if (!part->merged)
        return part->payload;
    out = elements_room(r, t->type, asked.count);
    for (int64_t i = 0; i < asked.count; i++) {
        const int64_t *found = bsearch(&asked.at[i], part->wanted.at, (size_t)part->wanted.count,
                                       sizeof *found, ascending);

        memcpy(out + (size_t)i * size,
               (const char *)part->payload + (size_t)(found - part->wanted.at) * size, size);
    }
    return out;
}

/* e over one axis. */
static const void *compute(struct recipe *r, struct evaluation *e)
{
    struct node n = *e->node;
    struct value result = *n.outputs[0], *outputs[] = {&result};
    struct tensor **in = NEW_ARRAY(r->round, n.input_count, struct tensor *), *out[1] = {NULL};

    for (int k = 0; k < n.input_count; k++) {
        if (!n.inputs[k])
            continue;
        in[k] = tensor_deferred(r->round, n.inputs[k]->type,
                                &(struct shape){1, {e->asked[k].count}}, NULL, 0);
        in[k]->data = fetch(r, e, k, e->asked[k]);
    }
    result.shape = (struct shape){1, {e->parts[0].wanted.count}};
    n.outputs = outputs;
    if (n.op->functions->evaluate(&n, in, out, r->round, r->round))
        return out[0]->data;
    recipe_fault(e->node);
    return NULL;
}

/* The elements that trace() has found, put together in their order. */
static const void *collect(struct recipe *r, struct evaluation *e, int output)
{
    const struct node *n = e->node;
    const struct positions *asked = e->asked + (size_t)output * (size_t)n->input_count;
    const int *slot = e->slots[output];
    size_t size = (size_t)type_bits(n->outputs[output]->type) / 8;
    const char **from = NEW_ARRAY(r->round, n->input_count, const char *);
    int64_t count = e->parts[output].wanted.count;
    char *out;

    if (!slot)
        return fetch(r, e, 0, asked[0]);
    out = arena_array(r->round, (size_t)count, size);
    for (int k = 0; k < n->input_count; k++)
        from[k] = asked[k].count ? fetch(r, e, k, asked[k]) : NULL;
    for (int64_t i = 0; i < count; i++)
        if (slot[i] >= 0) {
            memcpy(out + (size_t)i * size, from[slot[i]], size);
            from[slot[i]] += size;
        }
    return out;
}

static void answer(struct recipe *r, struct evaluation *e, int output)
{
    struct part *part = &e->parts[output];
    enum element_type type = e->node->outputs[output]->type;

    if (e->node->op->functions->make) {
        void *payload = elements_room(r, type, part->wanted.count);

        if (e->node->op->functions->make(e->node, part->wanted, payload))
            part->payload = payload;
        else
            recipe_fault(e->node);
    } else {
        part->payload = e->node->op->functions->trace ? collect(r, e, output) : compute(r, e);
    }
    if (!part->payload)
        part->payload =
            arena_array(r->round, (size_t)part->wanted.count, (size_t)type_bits(type) / 8);
}

/* Memory that was handed out once comes without the system's help from then on. */
static void round_begin(struct recipe *r)
{
    if (r->round && r->round->chunks == r->start.chunk) {
        arena_rewind(r->round, r->start);
        return;
    }
    arena_free(r->round);
    r->round = arena_child(r->scratch);
    r->round_bytes = r->round_bytes ? r->round_bytes * 2 : FIRST_ROUND;
    arena_reserve(r->round, r->round_bytes);
    r->start = arena_mark(r->round);
}

const void *pick(struct recipe *r, struct evaluation *e, int output, struct positions wanted)
{
    const void *payload;
    int open = 1, first;
    double elements = 0;

    round_begin(r);
    want(r, e, output, wanted);
    for (first = e->place + 1; open; open--) {
        struct evaluation *now;

        do
            now = r->order[--first];
        while (!now->parts);
        for (int i = 0; i < now->node->output_count; i++) {
            if (now->parts[i].wanted.at)
                ask(r, now, i);
            elements += (double)now->parts[i].wanted.count;
        }
        for (int i = 0; i < now->node->output_count * now->node->input_count; i++) {
            int k = i % now->node->input_count;

            if (now->asked[i].at && now->need[k] && now->need[k]->streams)
                open += want(r, now->need[k], now->node->inputs[k]->constant->deferred_output,
                             now->asked[i]);
        }
    }
    work_spend(e->node, WORK_ELEMENT * elements);
    for (int place = first; place <= e->place; place++) {
        struct evaluation *now = r->order[place];

        for (int i = 0; now->parts && i < now->node->output_count; i++)
            if (now->parts[i].wanted.at)
                answer(r, now, i);
    }
    payload = e->parts[output].payload;
    for (int place = first; place <= e->place; place++)
        r->order[place]->parts = NULL;
    return payload;
}
