/*
 * Constants that kernels hold as 16 bits (R16): ±65504 stands for what is beyond it, 0 for what is
 * below 2^-24. That is an error where the result, of the whole chain, would be another one.
 */
#include "daemon/compiler/limits/chain.h"
#include "daemon/compiler/limits/limits.h"
#include "daemon/compiler/operators/operator.h"
#include <math.h>
#include <string.h>

enum use { NOTHING, ADDEND, FACTOR, DIVIDEND, DIVISOR };

static const struct {
    const char *op;
    enum use first, others; /* what an operator does with a constant in that place */
} uses[] = {
    {"Add", ADDEND, ADDEND}, {"Div", DIVIDEND, DIVISOR}, {"Mean", ADDEND, ADDEND},
    {"Mul", FACTOR, FACTOR}, {"Sub", ADDEND, ADDEND},    {"Sum", ADDEND, ADDEND},
};

static enum use use_of(const struct node *n, int slot)
{
    for (size_t i = 0; i < sizeof uses / sizeof *uses; i++)
        if (!*n->op->domain && !strcmp(uses[i].op, n->op->name))
            return slot ? uses[i].others : uses[i].first;
    return NOTHING;
}

/* What 16 bits do not hold among some numbers; 0 where there is none of a kind. */
struct misfits {
    double high, low; /* the first above 65504, and below -65504 */
    double tiny;      /* the greatest magnitude below 2^-24 that is not 0 */
};

static void misfit_add(struct misfits *m, double number)
{
    double size = fabs(number);

    if (number > LARGEST_HALF && m->high == 0)
        m->high = number;
    if (number < -LARGEST_HALF && m->low == 0)
        m->low = number;
    if (size > 0 && size < SMALLEST_HALF && size > fabs(m->tiny))
        m->tiny = number;
}

/* Of a divisor its reciprocals; that of 0 is no number to be held. */
static struct misfits misfits_of(struct context *c, const struct tensor *t, bool reciprocal)
{
    struct arena *scratch = arena_child(&c->arena);
    const float *numbers = tensor_floats(c, t, scratch);
    struct misfits m = {0};

    for (int64_t i = 0; i < t->count; i++)
        if (!reciprocal)
            misfit_add(&m, (double)numbers[i]);
        else if (numbers[i] != 0)
            misfit_add(&m, 1 / (double)numbers[i]);
    arena_free(scratch);
    return m;
}

/* ---- whether it matters ---- */

static double as_half(double x)
{
    if (fabs(x) < SMALLEST_HALF)
        return 0;
    return fmin(fmax(x, -LARGEST_HALF), LARGEST_HALF);
}

/* Nothing but one and the same number can come of both. */
static bool are_one_number(struct range a, struct range b)
{
    double x = as_half(a.lo);

    return x == as_half(a.hi) && x == as_half(b.lo) && x == as_half(b.hi);
}

static struct range used(enum use use, struct range x, double number)
{
    struct range r = range_make(number, number);

    return use == DIVIDEND ? range_divide(r, x) : range_multiply(x, r);
}

/* Whether result v, where its constant is `number` and x what it is combined with, may be another
 * than with what 16 bits hold of that. Of a large one that shows at single numbers: what is above
 * 65504 either way is the same. */
static bool matters(const struct chains *c, const struct value *v, enum use use, struct range x,
                    double number)
{
    struct range size = range_absolute(x);
    double least = fmax(size.lo, SMALLEST_HALF), most = fmin(size.hi, LARGEST_HALF);
    double at[] = {least, sqrt(least * most), most};
    double held = copysign(LARGEST_HALF, number);

    if (size.hi == 0)
        return false;
    if (fabs(number) < LARGEST_HALF)
        return !are_one_number(chain_result(c, v, used(use, x, number)),
                               chain_result(c, v, used(use, x, 0)));
    for (int i = 0; i < 3; i++) {
        double one = x.hi >= at[i] ? at[i] : -at[i];

        struct range point = range_make(one, one);
        if (!are_one_number(chain_result(c, v, used(use, point, number)),
                            chain_result(c, v, used(use, point, held))))
            return true;
    }
    return false;
}

/* ---- words ---- */

static const char *named(struct context *c, const struct value *v)
{
    return *v->name ? arena_printf(&c->arena, "its constant %s", v->name) : "its constant";
}

static void report_factor(struct context *c, const struct node *n, enum use use,
                          const char *constant, double number)
{
    struct place place = node_place(n);
    const char *how = fabs(number) > LARGEST_HALF ? "beyond 65504, the largest that 16 bits hold"
                                                  : "which is 0 in 16 bits";

    if (use == FACTOR)
        diagnose(c, &place, TUKI0136, NULL,
                 "%s multiplies by %.6g, %s, while the result could be held", constant, number,
                 how);
    else if (use == DIVIDEND)
        diagnose(c, &place, TUKI0136, NULL,
                 "it divides %.6g of %s, %s, while the result could be held", number, constant,
                 how);
    else
        diagnose(c, &place, TUKI0136, NULL,
                 "%s divides by %.6g: that is a factor of %.6g, %s, while the result could be held",
                 constant, 1 / number, number, how);
}

static void report_addend(struct context *c, const struct node *n, const char *constant,
                          double number)
{
    struct place place = node_place(n);

    diagnose(c, &place, TUKI0136, NULL, "%s adds %.6g, beyond 65504, the largest that 16 bits hold",
             constant, number);
}

/* ---- operators ---- */

static void judge_factor(const struct chains *c, const struct node *n, int slot, enum use use)
{
    struct context *job = c->graph->context;
    const struct value *v = n->inputs[slot];
    struct misfits m = misfits_of(job, v->constant, use == DIVISOR);
    struct range x = chain_range(c, n->inputs[1 - slot]);
    double numbers[] = {m.high, m.low, m.tiny};

    for (int i = 0; i < 3; i++)
        if (numbers[i] != 0 && matters(c, n->outputs[0], use, x, numbers[i])) {
            report_factor(job, n, use, named(job, v), numbers[i]);
            return;
        }
}

static void judge_addend(const struct chains *c, const struct node *n, int slot)
{
    struct context *job = c->graph->context;
    const struct value *v = n->inputs[slot];
    struct misfits m = misfits_of(job, v->constant, false);
    bool subtracted = slot && !strcmp(n->op->name, "Sub");
    double up = subtracted ? m.low : m.high, down = subtracted ? m.high : m.low;
    struct range result;

    if (down != 0 && is_softmax_mask(n, slot))
        down = 0;
    if (up == 0 && down == 0)
        return;
    if (v->constant->count == 1) {
        result = range_absolute(c->computed[c->end[n->outputs[0]->id]->id]);
        if (result.lo > LARGEST_HALF) {
            struct place place = node_place(n);

            diagnose(job, &place, TUKI0136, NULL,
                     "it adds %.6g: whatever its input is, the result is beyond 65504, the largest "
                     "that 16 bits hold",
                     subtracted ? -m.high - m.low : m.high + m.low);
        }
        return;
    }
    report_addend(job, n, named(job, v), up != 0 ? up : down);
}

/* What does not fold into a producer becomes x * s + t: s = scale / sqrt(var + epsilon), t = B -
 * mean * s. */
static void judge_batch_normalization(const struct chains *c, const struct node *n)
{
    struct context *job = c->graph->context;
    struct arena *scratch;
    struct misfits factors = {0}, addends = {0};
    struct range x = chain_range(c, n->inputs[0]);
    const float *in[5];

    for (int i = 1; i < 5; i++)
        if (!n->inputs[i]->constant)
            return;
    if (node_int(n, "training_mode", 0) || n->inputs[1]->constant->count < 2)
        return;
    scratch = arena_child(&job->arena);
    for (int i = 1; i < 5; i++)
        in[i] = tensor_floats(job, n->inputs[i]->constant, scratch);
    for (int64_t i = 0; i < n->inputs[1]->constant->count; i++) {
        double deviation = sqrt((double)in[4][i] + (double)node_float(n, "epsilon", 1e-5f));
        double factor = (double)in[1][i] / deviation;

        misfit_add(&factors, factor);
        misfit_add(&addends, (double)in[2][i] - (double)in[3][i] * factor);
    }
    arena_free(scratch);
    double numbers[] = {factors.high, factors.low, factors.tiny};
    for (int i = 0; i < 3; i++)
        if (numbers[i] != 0 && matters(c, n->outputs[0], FACTOR, x, numbers[i])) {
            report_factor(job, n, FACTOR, "it", numbers[i]);
            break;
        }
    if (addends.high != 0 || addends.low != 0)
        report_addend(job, n, "it", addends.high != 0 ? addends.high : addends.low);
}

static void judge(const struct chains *c, const struct node *n)
{
    if (!*n->op->domain && !strcmp(n->op->name, "BatchNormalization")) {
        judge_batch_normalization(c, n);
        return;
    }
    for (int i = 0; i < n->input_count; i++) {
        enum use use = use_of(n, i);
        const struct value *v = n->inputs[i];

        if (use == NOTHING || !v || !v->constant || !type_is_float(v->type) || !v->constant->count)
            continue;
        if (use == ADDEND)
            judge_addend(c, n, i);
        else if (v->constant->count > 1)
            judge_factor(c, n, i, use);
    }
}

void report_constants(const struct chains *c)
{
    for (int i = 0; i < c->graph->node_count; i++) {
        const struct node *n = c->graph->nodes[i];

        context_poll(c->graph->context);
        if (!n->removed && n->op && n->output_count && n->outputs[0] && !n->outputs[0]->constant)
            judge(c, n);
    }
}
