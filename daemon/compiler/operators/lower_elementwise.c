/* Elementwise operators as expressions: a table of texts, and functions where a text is not enough.
 */
#include "daemon/compiler/operators/lower.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Writes the numbers of attributes into text: {alpha=0.2} becomes a literal. */
static const char *with_attributes(struct kernel *k, const struct node *n, const char *text)
{
    struct strbuf s;

    strbuf_init(&s, k->arena);
    for (const char *t = text; *t; t++) {
        const char *equal = strchr(t, '='), *end = strchr(t, '}');
        char name[32];

        if (*t != '{' || (t[1] >= '0' && t[1] <= '9') || !equal || !end || equal > end ||
            (size_t)(equal - t) > sizeof name) {
            strbuf_char(&s, *t);
            continue;
        }
        memcpy(name, t + 1, (size_t)(equal - t - 1));
        name[equal - t - 1] = '\0';
        float number = node_float(n, name, strtof(equal + 1, NULL));
        /* "-{alpha}" with a negative number needs parentheses. */
        bool sign = number < 0 && t > text && t[-1] == '-';
        strbuf_printf(&s, sign ? "(%s)" : "%s", kernel_number(k, (double)number));
        t = end;
    }
    return s.text;
}

/* The single number of constant input i, the same in all styles. */
static bool constant_number(const struct node *n, int i, double *number)
{
    struct value *v = node_input(n, i);
    int count;
    const float *f = v && v->constant && !v->constant->varies && v->constant->count == 1
                         ? node_constant_floats(n, i, &count)
                         : NULL;

    if (f)
        *number = (double)f[0];
    return f != NULL;
}

/* Sum, Max, Min, Mean of any number of operands. */
static const char *fold(struct kernel *k, const struct node *n, const char *const *operands,
                        const char *pair)
{
    const char *sum = operands[0];

    for (int i = 1; i < n->input_count; i++) {
        const char *two[] = {sum, operands[i]};

        sum = kernel_format(k, pair, two);
    }
    return sum;
}

/*
 * Small whole exponents by multiplication, 0.5 by Sqrt; else by Pow of the magnitude: shaders leave
 * powers of negative numbers undefined, where the definition has the sign of an odd exponent.
 */
static const char *power(struct kernel *k, const struct node *n, const char *const *operands)
{
    static const char *const whole[] = {"1f", "{0}", "{0} * {0}", "{0} * {0} * {0}",
                                        "{0} * {0} * ({0} * {0})"};
    double e;

    if (constant_number(n, 1, &e)) {
        bool odd = fmod(fabs(e), 2) == 1;

        if (e == 0.5)
            return kernel_format(k, "Mathf.Sqrt({0})", operands);
        if (e == -0.5)
            return kernel_format(k, "1f / Mathf.Sqrt({0})", operands);
        if (e == floor(e) && e >= 0 && e <= 4)
            return kernel_format(k, whole[(int)e], operands);
        if (e == -1)
            return kernel_format(k, "1f / {0}", operands);
        if (e == -2)
            return kernel_format(k, "1f / ({0} * {0})", operands);
        if (e != floor(e))
            return kernel_format(k, "Mathf.Pow({0}, {1})", operands);
        return kernel_format(k,
                             odd ? "({0} < 0f ? -1f : 1f) * Mathf.Pow(Mathf.Abs({0}), {1})"
                                 : "Mathf.Pow(Mathf.Abs({0}), {1})",
                             operands);
    }
    return kernel_format(k,
                         "Mathf.Pow(Mathf.Abs({0}), {1}) * ({0} < 0f && Mathf.Abs({1}) - 2f * "
                         "Mathf.Floor(Mathf.Abs({1}) * 0.5f) == 1f ? -1f : 1f)",
                         operands);
}

/* Half to even, which Floor of x + 0.5 is but for ties at odd numbers. */
static const char *round_even(struct kernel *k, const struct node *n, const char *const *operands)
{
    const char *up = kernel_local(k, "up", kernel_format(k, "Mathf.Floor({0} + 0.5f)", operands));
    const char *two[] = {operands[0], up};

    (void)n;
    return kernel_format(
        k, "{1} - {0} == 0.5f && {1} - 2f * Mathf.Floor({1} * 0.5f) != 0f ? {1} - 1f : {1}", two);
}

/* exp(2x) - 1 over exp(2x) + 1; near 0, where that cancels, its series. */
static const char *hyperbolic_tangent(struct kernel *k, const char *x)
{
    const char *e, *two[2];

    x = kernel_local(k, "v", x);
    e = kernel_local(k, "e", kernel_text(k, "Mathf.Exp(2f * Mathf.Clamp(%s, -10f, 10f))", x));
    two[0] = x;
    two[1] = e;
    return kernel_format(k,
                         "Mathf.Abs({0}) < 0.1f ? {0} - {0} * {0} * {0} * (0.33333334f - "
                         "0.13333334f * {0} * {0}) : ({1} - 1f) / ({1} + 1f)",
                         two);
}

/* Abramowitz and Stegun, Handbook of Mathematical Functions, 7.1.26: within 1.5e-7. */
static const char *error_function(struct kernel *k, const char *x)
{
    const char *t, *two[2];

    two[0] = x = kernel_local(k, "v", x);
    two[1] = t = kernel_local(k, "u", kernel_text(k, "1f / (1f + 0.3275911f * Mathf.Abs(%s))", x));
    return kernel_format(k,
                         "({0} < 0f ? -1f : 1f) * (1f - ((((1.0614054f * {1} - 1.4531521f) * {1} + "
                         "1.4214138f) * {1} - "
                         "0.28449672f) * {1} + 0.2548296f) * {1} * Mathf.Exp(-{0} * {0}))",
                         two);
}

static const char *gelu(struct kernel *k, const struct node *n, const char *const *operands)
{
    const char *x = kernel_local(k, "v", operands[0]), *two[2] = {x, NULL};
    bool tanh_form = !strcmp(node_string(n, "approximate", "none"), "tanh");

    if (tanh_form)
        two[1] = hyperbolic_tangent(
            k, kernel_text(k, "0.7978846f * (%s + 0.044715f * %s * %s * %s)", x, x, x, x));
    else
        two[1] = error_function(k, kernel_text(k, "%s * 0.70710678f", x));
    two[1] = kernel_local(k, "v", two[1]);
    return kernel_format(k, "0.5f * {0} * (1f + {1})", two);
}

static const char *clip(struct kernel *k, const struct node *n, const char *const *operands)
{
    bool low = node_input(n, 1), high = node_input(n, 2);

    if (low && high)
        return kernel_format(k, "Mathf.Min(Mathf.Max({0}, {1}), {2})", operands);
    return kernel_format(k,
                         low    ? "Mathf.Max({0}, {1})"
                         : high ? "Mathf.Min({0}, {2})"
                                : "{0}",
                         operands);
}

static const char *modulo(struct kernel *k, const struct node *n, const char *const *operands)
{
    if (!node_int(n, "fmod", 0))
        return kernel_format(k, "{0} - {1} * Mathf.Floor({0} / {1})", operands);
    const char *q = kernel_local(k, "q", kernel_format(k, "{0} / {1}", operands));
    const char *three[] = {operands[0], operands[1], q};
    return kernel_format(k, "{0} - {1} * ({2} < 0f ? Mathf.Ceil({2}) : Mathf.Floor({2}))", three);
}

static const char *cast(struct kernel *k, const struct node *n, const char *const *operands)
{
    enum element_type from = n->inputs[0]->type, to = n->outputs[0]->type;

    if (to == TYPE_BOOL && from != TYPE_BOOL)
        return kernel_format(k, "{0} != 0f ? 1f : 0f", operands);
    if (type_is_float(from) && type_is_integer(to))
        return kernel_format(k, "{0} < 0f ? Mathf.Ceil({0}) : Mathf.Floor({0})", operands);
    return operands[0];
}

/* IsNaN, IsInf: 16-bit values hold neither (limits are written instead), and NaN is not propagated
 * (R15). */
static const char *never(struct kernel *k, const struct node *n, const char *const *operands)
{
    (void)k;
    (void)n;
    (void)operands;
    return "0f";
}

static const char *sum(struct kernel *k, const struct node *n, const char *const *operands)
{
    return fold(k, n, operands, "{0} + {1}");
}

static const char *greatest(struct kernel *k, const struct node *n, const char *const *operands)
{
    return fold(k, n, operands, "Mathf.Max({0}, {1})");
}

static const char *least(struct kernel *k, const struct node *n, const char *const *operands)
{
    return fold(k, n, operands, "Mathf.Min({0}, {1})");
}

static const char *mean(struct kernel *k, const struct node *n, const char *const *operands)
{
    const char *two[] = {fold(k, n, operands, "{0} + {1}"), kernel_number(k, 1.0 / n->input_count)};

    return kernel_format(k, "{0} * {1}", two);
}

static const char *tanh_operator(struct kernel *k, const struct node *n,
                                 const char *const *operands)
{
    (void)n;
    return hyperbolic_tangent(k, operands[0]);
}

static const char *erf_operator(struct kernel *k, const struct node *n, const char *const *operands)
{
    (void)n;
    return error_function(k, operands[0]);
}

/* A text, or a function where a text is not enough. */
static const struct expression {
    const char *op;
    int work; /* 0: that of the text */
    const char *text;
    const char *(*express)(struct kernel *k, const struct node *n, const char *const *operands);
} expressions[] = {
#define EXPRESSION(op, range, text) {#op, 0, text, NULL},
#define EXPRESSED(op, range, work, function) {#op, work, NULL, function},
#include "daemon/compiler/operators/expressions.def"
#undef EXPRESSION
#undef EXPRESSED
};

static const struct expression *expression_find(const struct node *n)
{
    for (size_t i = 0; i < sizeof expressions / sizeof *expressions; i++)
        if (!strcmp(expressions[i].op, n->op->name))
            return &expressions[i];
    return NULL;
}

const char *express_elementwise(struct kernel *k, const struct node *n, const char *const *operands)
{
    const struct expression *e = expression_find(n);

    if (!e)
        BUG(k->context, "%s has no expression", n->op->name);
    return e->express ? e->express(k, n, operands)
                      : kernel_format(k, with_attributes(k, n, e->text), operands);
}

bool is_expressed(const struct node *n)
{
    return expression_find(n) != NULL;
}

int64_t work_elementwise(const struct node *n)
{
    /* What a card computes at a quarter of its speed. */
    static const char *const dear[] = {" / ",  "Exp(",  "Log(",  "Sqrt(", "Pow(", "Sin(",
                                       "Cos(", "Acos(", "Asin(", "Atan(", "Tan("};
    const struct expression *e = expression_find(n);
    int64_t work = 1;

    if (!e || e->work)
        return e ? e->work : 0;
    for (size_t i = 0; i < sizeof dear / sizeof *dear; i++)
        for (const char *at = e->text; (at = strstr(at, dear[i])); at++)
            work += 3;
    return work;
}

bool clamp_unary(const struct node *n, double *lo, double *hi)
{
    *lo = 0;
    *hi = INFINITY;
    return !strcmp(n->op->name, "Relu");
}

bool clamp_clip(const struct node *n, double *lo, double *hi)
{
    *lo = -INFINITY;
    *hi = INFINITY;
    if ((node_input(n, 1) && !constant_number(n, 1, lo)) ||
        (node_input(n, 2) && !constant_number(n, 2, hi)))
        return false;
    /* The definition takes the lower one where min is above max. */
    if (*lo > *hi)
        *lo = *hi;
    return true;
}
