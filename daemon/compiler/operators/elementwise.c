#include "daemon/compiler/operators/lower.h"
#include "daemon/compiler/operators/range.h"
#include "daemon/compiler/operators/rules.h"
#include "daemon/compiler/operators/walk.h"
#include <math.h>
#include <string.h>

enum operands { UNARY, BINARY, FOLD, MEAN };
enum numbers { REAL = 1, WHOLE = 2, ANY = REAL | WHOLE };
enum result { SAME, FIRST, BOOL };

struct parameter {
    const char *name;
    float otherwise;
    const char *text, *other; /* of a CHOICE */
};

struct elementwise {
    const char *name;
    enum operands operands;
    enum numbers numbers;
    enum result result;
    struct parameter a, b;
    double (*real)(double x, double y, double a, double b);
    int64_t (*whole)(int64_t x, int64_t y, double a, double b, bool natural);
};

/* ---- definitions too long for a row ---- */

static double limit(double x, double low, double high)
{
    return x < low ? low : x > high ? high : x;
}

static double sigmoid(double x)
{
    return 1 / (1 + exp(-x));
}

static double softplus(double x)
{
    /* log(1 + e^x) without overflow for large x. */
    return (x > 0 ? x : 0) + log1p(exp(-fabs(x)));
}

static double gelu(double x, bool approximate)
{
    if (approximate)
        return 0.5 * x * (1 + tanh(sqrt(2 / M_PI) * (x + 0.044715 * x * x * x)));
    return 0.5 * x * (1 + erf(x / M_SQRT2));
}

static double modulo(double x, double y, bool truncating)
{
    double r = fmod(x, y);

    if (!truncating && r != 0 && (r < 0) != (y < 0))
        r += y;
    return r;
}

/* Integers wrap, as they do in NumPy; unsigned arithmetic says so to the C compiler. */
static int64_t add(int64_t x, int64_t y)
{
    return (int64_t)((uint64_t)x + (uint64_t)y);
}

static int64_t subtract(int64_t x, int64_t y)
{
    return (int64_t)((uint64_t)x - (uint64_t)y);
}

static int64_t multiply(int64_t x, int64_t y)
{
    return (int64_t)((uint64_t)x * (uint64_t)y);
}

static int64_t negate(int64_t x)
{
    return subtract(0, x);
}

static bool less(int64_t x, int64_t y, bool natural)
{
    return natural ? (uint64_t)x < (uint64_t)y : x < y;
}

/* evaluate() made sure that y is not 0. */
static int64_t divide(int64_t x, int64_t y, bool natural)
{
    if (natural)
        return (int64_t)((uint64_t)x / (uint64_t)y);
    return y == -1 ? negate(x) : x / y;
}

static int64_t remainder_of(int64_t x, int64_t y, bool truncating, bool natural)
{
    int64_t r;

    if (natural)
        return (int64_t)((uint64_t)x % (uint64_t)y);
    r = y == -1 ? 0 : x % y;
    if (!truncating && r != 0 && (r < 0) != (y < 0))
        r += y;
    return r;
}

static int64_t power(int64_t x, int64_t y)
{
    int64_t result = 1;

    if (y < 0)
        return x == 1 ? 1 : x == -1 ? (y % 2 ? -1 : 1) : 0;
    for (; y; y >>= 1) {
        if (y & 1)
            result = multiply(result, x);
        x = multiply(x, x);
    }
    return result;
}

static int64_t whole_from(double x)
{
    return x >= 0x1p63 ? INT64_MAX : x <= -0x1p63 ? INT64_MIN : (int64_t)x;
}

static int64_t shift(int64_t x, int64_t y, bool left)
{
    if (y < 0 || y > 63)
        return 0;
    return (int64_t)(left ? (uint64_t)x << y : (uint64_t)x >> y);
}

/* ---- the table ---- */

#define ELEMENTWISE(name, prefix, operands, numbers, result, first, second, r, w)                  \
    static double prefix##_real(double x, double y, double a, double b)                            \
    {                                                                                              \
        (void)x, (void)y, (void)a, (void)b;                                                        \
        return r;                                                                                  \
    }                                                                                              \
    static int64_t prefix##_whole(int64_t x, int64_t y, double a, double b, bool natural)          \
    {                                                                                              \
        (void)x, (void)y, (void)a, (void)b, (void)natural;                                         \
        return w;                                                                                  \
    }
#include "daemon/compiler/operators/elementwise.def"
#undef ELEMENTWISE

#define NONE                                                                                       \
    {                                                                                              \
        NULL, 0, NULL, NULL                                                                        \
    }
#define NUMBER(name, otherwise)                                                                    \
    {                                                                                              \
        name, otherwise, NULL, NULL                                                                \
    }
#define CHOICE(name, text, other)                                                                  \
    {                                                                                              \
        name, 0, text, other                                                                       \
    }
static const struct elementwise rows[] = {
#define ELEMENTWISE(name, prefix, operands, numbers, result, first, second, r, w)                  \
    {#name, operands, numbers, result, first, second, prefix##_real, prefix##_whole},
#include "daemon/compiler/operators/elementwise.def"
#undef ELEMENTWISE
};

static const struct elementwise *find(const struct node *n)
{
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (strcmp(rows[i].name, n->op->name) == 0)
            return &rows[i];
    BUG(n->graph->context, "%s is not in elementwise.def", n->op->name);
}

static double parameter(const struct node *n, const struct parameter *p)
{
    const struct attribute *a = p->name ? node_find(n, p->name) : NULL;

    if (!a)
        return (double)p->otherwise;
    if (p->text)
        return a->type == ATTRIBUTE_STRING && strcmp(a->s.bytes, p->text) == 0;
    return a->type == ATTRIBUTE_INT ? (double)a->i : (double)a->f;
}

double elementwise_at(const struct node *n, double x)
{
    const struct elementwise *row = find(n);

    return row->real(x, 0, parameter(n, &row->a), parameter(n, &row->b));
}

static bool choice_fits(struct node *n, const struct parameter *p)
{
    const char *said = p->text ? node_string(n, p->name, p->other) : NULL;

    if (!said || strcmp(said, p->text) == 0 || strcmp(said, p->other) == 0)
        return true;
    infer_advise(n, arena_printf(&n->graph->context->arena, "Make it %s or %s", p->other, p->text),
                 "its attribute %s is \"%.40s\"", p->name, said);
    return false;
}

static void infer_elementwise(struct node *n)
{
    const struct elementwise *row = find(n);
    enum element_type type = n->inputs[0]->type;
    struct shape shape;

    if (!choice_fits(n, &row->a))
        return;
    if (row->result != FIRST && !infer_common_type(n, 0, n->input_count - 1, &type))
        return;
    if (!infer_broadcast(n, &shape))
        return;
    /* The definition of PRelu lets only the slope broadcast. */
    if (strcmp(row->name, "PRelu") == 0 &&
        !infer_broadcasts_to(n, 1, &n->inputs[0]->shape, "slope"))
        return;
    infer_output(n, 0, row->result == BOOL ? TYPE_BOOL : type, &shape);
}

static bool evaluate_real(const struct elementwise *row, struct node *n, struct tensor *const *in,
                          struct tensor **out, struct arena *arena, struct arena *scratch)
{
    struct context *c = n->graph->context;
    const struct shape *shape = &n->outputs[0]->shape;
    double a = parameter(n, &row->a), b = parameter(n, &row->b), *result;
    void *payload;

    if (!(row->numbers & REAL))
        return false;
    out[0] = output_new(n, 0, arena, &payload);
    result = NEW_ROOM(scratch, out[0]->count, double);
    for (int k = 0; k < n->input_count; k++) {
        const struct shape *operand = &in[k]->shape;
        const double *x = tensor_doubles(c, in[k], scratch);
        struct walk w;

        walk_broadcast(&w, shape, 1, &operand);
        while (walk_next(&w)) {
            const double *from = x + w.at[0];
            double *to = result + w.position;

            context_poll(c);
            if (k > 0)
                for (int64_t i = 0; i < w.run; i++)
                    to[i] = row->real(to[i], from[i * w.step[0]], a, b);
            else if (row->operands == UNARY)
                for (int64_t i = 0; i < w.run; i++)
                    to[i] = row->real(from[i * w.step[0]], 0, a, b);
            else
                for (int64_t i = 0; i < w.run; i++)
                    to[i] = from[i * w.step[0]];
        }
    }
    if (row->operands == MEAN)
        for (int64_t i = 0; i < out[0]->count; i++)
            result[i] /= n->input_count;
    payload_store(payload, out[0]->type, 0, result, out[0]->count);
    return true;
}

static bool divides_by_zero(const struct elementwise *row, const int64_t *y, int64_t count)
{
    if (strcmp(row->name, "Div") != 0 && strcmp(row->name, "Mod") != 0)
        return false;
    for (int64_t i = 0; i < count; i++)
        if (y[i] == 0)
            return true;
    return false;
}

static bool evaluate_whole(const struct elementwise *row, struct node *n, struct tensor *const *in,
                           struct tensor **out, struct arena *arena, struct arena *scratch)
{
    struct context *c = n->graph->context;
    const struct shape *shape = &n->outputs[0]->shape;
    double a = parameter(n, &row->a), b = parameter(n, &row->b);
    bool natural = in[0]->type == TYPE_UINT64;
    int64_t *result;
    void *payload;

    /* Sum's definition has floating point only, yet shape arithmetic with it is found in models. */
    if (!(row->numbers & WHOLE) && row->operands != FOLD)
        return false;
    out[0] = output_new(n, 0, arena, &payload);
    result = NEW_ROOM(scratch, out[0]->count, int64_t);
    for (int k = 0; k < n->input_count; k++) {
        const struct shape *operand = &in[k]->shape;
        const int64_t *x = tensor_integers(c, in[k], scratch);
        struct walk w;

        if (k > 0 && divides_by_zero(row, x, in[k]->count))
            return false;
        walk_broadcast(&w, shape, 1, &operand);
        while (walk_next(&w)) {
            const int64_t *from = x + w.at[0];
            int64_t *to = result + w.position;

            context_poll(c);
            if (k > 0)
                for (int64_t i = 0; i < w.run; i++)
                    to[i] = row->whole(to[i], from[i * w.step[0]], a, b, natural);
            else if (row->operands == UNARY)
                for (int64_t i = 0; i < w.run; i++)
                    to[i] = row->whole(from[i * w.step[0]], 0, a, b, natural);
            else
                for (int64_t i = 0; i < w.run; i++)
                    to[i] = from[i * w.step[0]];
        }
    }
    for (int64_t i = 0; i < out[0]->count; i++)
        payload_set_integer(payload, out[0]->type, i, result[i]);
    return true;
}

static bool evaluate_elementwise(struct node *n, struct tensor *const *in, struct tensor **out,
                                 struct arena *arena, struct arena *scratch)
{
    const struct elementwise *row = find(n);
    bool real = type_is_real(n->outputs[0]->type);

    for (int k = 0; k < n->input_count; k++) {
        if (!in[k] || in[k]->type == TYPE_STRING)
            return false;
        real = real || type_is_real(in[k]->type);
    }
    return real ? evaluate_real(row, n, in, out, arena, scratch)
                : evaluate_whole(row, n, in, out, arena, scratch);
}

#define ELEMENTWISE(name, prefix, operands, numbers, result, first, second, r, w)                  \
    const struct operator_functions prefix##_functions = {.role = ROLE_ELEMENTWISE,                \
                                                          .express = express_elementwise,          \
                                                          .clamp = clamp_unary,                    \
                                                          .range = range_elementwise,              \
                                                          .infer = infer_elementwise,              \
                                                          .evaluate = evaluate_elementwise};
#include "daemon/compiler/operators/elementwise.def"
#undef ELEMENTWISE

/* ---- Clip: Min(max, Max(x, min)), its limits scalars that may be left out ---- */

static void upgrade_clip(struct graph *g, struct node *n)
{
    if (n->opset >= 11)
        return;
    upgrade_float_to_input(g, n, "min", 1);
    upgrade_float_to_input(g, n, "max", 2);
}

static void infer_clip(struct node *n)
{
    for (int i = 1; i < n->input_count; i++)
        if (n->inputs[i] && n->inputs[i]->shape.axes >= 0 && shape_known(&n->inputs[i]->shape) &&
            shape_count(&n->inputs[i]->shape) != 1) {
            infer_fault(n, "its limit %s is no scalar",
                        shape_text(&n->graph->context->arena, &n->inputs[i]->shape));
            return;
        }
    infer_like_input(n);
}

static bool evaluate_clip(struct node *n, struct tensor *const *in, struct tensor **out,
                          struct arena *arena, struct arena *scratch)
{
    struct context *c = n->graph->context;
    const struct tensor *low = n->input_count > 1 ? in[1] : NULL;
    const struct tensor *high = n->input_count > 2 ? in[2] : NULL;
    enum element_type type = in[0]->type;
    bool natural = type == TYPE_UINT64;
    int64_t count = in[0]->count;
    void *payload;

    if (type == TYPE_STRING)
        return false;
    out[0] = output_new(n, 0, arena, &payload);
    if (type_is_real(type)) {
        const double *x = tensor_doubles(c, in[0], scratch);
        double from = low ? *tensor_doubles(c, low, scratch) : -INFINITY;
        double to = high ? *tensor_doubles(c, high, scratch) : INFINITY;

        for (int64_t i = 0; i < count; i++) {
            double y = x[i] < from ? from : x[i];

            y = y > to ? to : y;
            payload_store(payload, type, i, &y, 1);
        }
    } else {
        const int64_t *x = tensor_integers(c, in[0], scratch);
        const int64_t *from = low ? tensor_integers(c, low, scratch) : NULL;
        const int64_t *to = high ? tensor_integers(c, high, scratch) : NULL;

        for (int64_t i = 0; i < count; i++) {
            int64_t y = from && less(x[i], *from, natural) ? *from : x[i];

            payload_set_integer(payload, type, i, to && less(*to, y, natural) ? *to : y);
        }
    }
    return true;
}

const struct operator_functions clip_functions = {.role = ROLE_ELEMENTWISE,
                                                  .express = express_elementwise,
                                                  .clamp = clamp_clip,
                                                  .range = range_elementwise,
                                                  .upgrade = upgrade_clip,
                                                  .infer = infer_clip,
                                                  .evaluate = evaluate_clip};
