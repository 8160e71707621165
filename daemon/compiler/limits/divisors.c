/*
 * Divisors that 16 bits hold as 0 though they are none: behind a Clip with a tiny lower limit
 * (R19), and behind tiny numbers that were added against 0 (R20). Found on one way through the
 * graph, by what each value may carry.
 */
#include "daemon/compiler/limits/chain.h"
#include "daemon/compiler/limits/limits.h"
#include "daemon/compiler/operators/operator.h"
#include "daemon/compiler/operators/zeros.h"
#include <math.h>
#include <string.h>

/* What a value may carry on to a divider. */
struct trace {
    const struct node *clip; /* its own result is tiny there … */
    bool moved, expanded;    /* … and went through views since; through Expand */
    const struct node *zero; /* the layer whose tiny number has become 0; of a chain its Clip … */
    double number;           /* … and that number, or the limit */
    bool large;              /* it is not 0 but 65504 instead of more */
};

struct walk {
    const struct chains *chains;
    struct trace *traces; /* by value id */
};

/* ---- what passes them on ---- */

static bool is_view(const struct node *n)
{
    return n->op->functions->role == ROLE_VIEW;
}

static bool has_zero(struct context *c, const struct value *v)
{
    struct arena *scratch = arena_child(&c->arena);
    const float *numbers = tensor_floats(c, v->constant, scratch);
    bool found = false;

    for (int64_t i = 0; i < v->constant->count && !found; i++)
        found = numbers[i] == 0;
    arena_free(scratch);
    return found;
}

/* Whether an elementwise operator's result may be 0 where all it computes from is. */
static bool keeps_zero(const struct chains *c, const struct node *n, int slot)
{
    struct arena *scratch = arena_child(&c->graph->context->arena);
    struct range *in = NEW_ARRAY(scratch, n->input_count + 1, struct range), out;
    bool additive =
             node_is(n, "Add") || node_is(n, "Sub") || node_is(n, "Sum") || node_is(n, "Mean"),
         keeps = true;

    for (int i = 0; i < n->input_count; i++) {
        const struct value *v = n->inputs[i];

        in[i] = v && v->constant && i != slot ? chain_range(c, v) : range_make(0, 0);
        /* Its numbers may lie on both sides of 0 and leave it out. */
        if (additive && v && v->constant && !has_zero(c->graph->context, v))
            keeps = false;
    }
    node_range(n, 0, in, &out);
    arena_free(scratch);
    keeps = keeps && out.lo <= 0 && out.hi >= 0;
    return keeps && (out.lo == out.hi || n->input_count > 1 || elementwise_at(n, 0) == 0);
}

static bool carries(const struct chains *c, const struct node *n, int slot)
{
    if (!n->outputs[0] || !type_is_float(n->outputs[0]->type))
        return false;
    if (is_view(n))
        return true;
    if (zeros_carried(n))
        return slot == 0;
    return n->op->functions->role == ROLE_ELEMENTWISE && keeps_zero(c, n, slot);
}

/* A view that R19 looks through. */
static bool moves_only(const struct node *n)
{
    static const char *const ops[] = {"Flatten", "Identity",  "Reshape",
                                      "Squeeze", "Transpose", "Unsqueeze"};

    for (size_t i = 0; i < sizeof ops / sizeof *ops; i++)
        if (node_is(n, ops[i]))
            return true;
    return false;
}

/* ---- chains with a Clip ---- */

/* The last Clip with a tiny limit on the way to v within its chain. */
static const struct node *clip_in_chain(const struct value *v)
{
    const struct node *n = v->producer;
    int slot;

    while (n && chain_operator(n, &slot) && zeros_limit(n) == 0)
        n = chain_next(n->inputs[slot]) == n ? n->inputs[slot]->producer : NULL;
    return n && zeros_limit(n) != 0 ? n : NULL;
}

static bool is_zero_in_half(struct range r)
{
    return (r.lo > 0 && r.lo < SMALLEST_HALF) || (r.hi < 0 && r.hi > -SMALLEST_HALF);
}

/* Notes in t what v, the result of a chain, is instead of what it should be. */
static void judge_chain(const struct chains *c, const struct value *v, struct trace *t)
{
    const struct node *clip = clip_in_chain(v);
    struct range all, lowest;
    bool zero, large;

    if (!clip || clip == v->producer)
        return;
    all = c->computed[v->id];
    lowest = chain_result(c, clip->outputs[0], range_make(zeros_limit(clip), zeros_limit(clip)));
    zero = is_zero_in_half(all) || is_zero_in_half(lowest) ||
           (range_size(&lowest) > 0 && range_size(&lowest) < SMALLEST_HALF);
    large = range_size(&all) >= BEYOND_HALF;
    if (zero || large)
        *t = (struct trace){.zero = clip, .number = zeros_limit(clip), .large = !zero};
}

/* ---- words ---- */

static void report_clip(struct context *c, const struct node *n, const char *words,
                        const struct trace *t)
{
    struct place place = node_place(n);

    diagnose(c, &place, TUKI0138, NULL,
             "it %s the result of %s, whose lower limit %.6g is 0 in 16 bits", words,
             node_title(t->clip, &c->arena), zeros_limit(t->clip));
}

static void report_zero(struct context *c, const struct node *n, const char *words,
                        const struct trace *t)
{
    struct place place = node_place(n);
    const char *layer = node_title(t->zero, &c->arena);

    if (node_is(t->zero, "Clip"))
        diagnose(c, &place, TUKI0139, NULL,
                 "it %s what becomes of the lower limit %.6g of %s, which 16 bits hold as %s",
                 words, t->number, layer, t->large ? "65504" : "0");
    else
        diagnose(c, &place, TUKI0139, NULL,
                 "it %s a value that is 0 in 16 bits where %s should keep it away from 0 by %.6g",
                 words, layer, t->number);
}

/* ---- the way through the graph ---- */

/* Reports what n cannot do with; true where something was. */
static bool judge_reader(const struct walk *w, const struct node *n)
{
    struct context *c = w->chains->graph->context;

    for (int i = 0; i < n->input_count; i++) {
        const struct value *v = n->inputs[i];
        const char *words;
        const struct trace *t =
            v && !v->constant && zeros_minded(n, i, &words) ? &w->traces[v->id] : NULL;

        if (t && t->clip &&
            (node_is(n, "Div") ? !t->expanded : t->moved && !node_is(n, "ReduceLogSum"))) {
            report_clip(c, n, words, t);
            return true;
        }
        if (t && t->zero) {
            report_zero(c, n, words, t);
            return true;
        }
    }
    return false;
}

/* A chain that ends in a divider: what comes of it is the quotient. A Clip that Log or Reciprocal
 * reads directly is computed with it, and fine. */
static void judge_end(const struct walk *w, const struct node *n)
{
    struct trace t = {0};
    int slot;

    if (!chain_operator(n, &slot) || chain_next(n->outputs[0]) || !zeros_minded(n, slot, NULL))
        return;
    if ((node_is(n, "Log") || node_is(n, "Reciprocal")) && w->traces[n->inputs[slot]->id].clip)
        return;
    judge_chain(w->chains, n->outputs[0], &t);
    if (t.zero) {
        struct context *c = w->chains->graph->context;
        struct place place = node_place(n);

        diagnose(c, &place, TUKI0139, NULL, "its result, from the lower limit %.6g of %s, %s",
                 t.number, node_title(t.zero, &c->arena),
                 t.large ? "is beyond 65504, the largest that 16 bits hold" : "is 0 in 16 bits");
    }
}

static void follow(const struct walk *w, const struct node *n)
{
    const struct chains *c = w->chains;
    struct value *v = n->outputs[0];
    struct trace out = {0};
    double number;

    if (zeros_limit(n) != 0)
        out.clip = n;
    else if ((number = zeros_guard(n)) != 0)
        out = (struct trace){.zero = n, .number = number};
    for (int i = 0; i < n->input_count && !out.clip && !out.zero; i++) {
        const struct value *in = n->inputs[i];
        const struct trace *t = in && !in->constant ? &w->traces[in->id] : NULL;

        if (t && t->clip && i == 0 && (moves_only(n) || node_is(n, "Expand")))
            out = (struct trace){
                .clip = t->clip, .moved = true, .expanded = t->expanded || node_is(n, "Expand")};
        else if (t && t->clip && !chain_next(in) && !is_view(n) && carries(c, n, i))
            out = (struct trace){.zero = t->clip, .number = zeros_limit(t->clip)};
        else if (t && t->zero && (t->large ? is_view(n) : carries(c, n, i)))
            out = *t;
    }
    if (!chain_next(v) && !out.clip && !out.zero)
        judge_chain(c, v, &out);
    w->traces[v->id] = out;
    for (int o = 1; o < n->output_count; o++)
        if (n->outputs[o] && is_view(n))
            w->traces[n->outputs[o]->id] = out;
}

void report_divisors(const struct chains *c)
{
    struct graph *g = c->graph;
    struct walk w = {c, NEW_ARRAY(&g->context->arena, g->value_count + 1, struct trace)};

    for (int i = 0; i < g->node_count; i++) {
        const struct node *n = g->nodes[i];

        context_poll(g->context);
        if (n->removed || !n->op || !n->output_count || !n->outputs[0] || n->outputs[0]->constant)
            continue;
        if (judge_reader(&w, n))
            continue;
        judge_end(&w, n);
        follow(&w, n);
    }
}
