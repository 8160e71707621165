/*
 * Constants of two or more values that a product or quotient combines with a computed value: 16
 * bits hold them with all their bits only from 2^-14 to 65504. Where some lie outside (a divisor of
 * 1e6, a scale of 1e-6) the constant is held times a power of two, which the kernel takes back in
 * 32 bits. That two places are lost is not worth the multiplication.
 */
#include "daemon/compiler/gpu/make.h"
#include "daemon/compiler/graph/half.h"
#include "daemon/compiler/graph/tensor.h"
#include "daemon/compiler/operators/operator.h"
#include <math.h>

static const double NORMAL_HALF = 0x1p-14, LEAST_HELD = 0x1p-16;

/* Least and greatest magnitude of what 16 bits hold otherwise than as 0, and of all, in every
 * style. *least stays where there is none. */
static void measure(struct context *c, const struct tensor *t, double *least, double *most)
{
    int style = c->style, styles = t->varies ? c->styles : 1;

    for (int s = 0; s < styles; s++) {
        struct arena *scratch = arena_child(&c->arena);

        c->style = t->varies ? s : style;
        const float *numbers = tensor_floats(c, t, scratch);
        for (int64_t i = 0; i < t->count; i++) {
            double size = fabs((double)numbers[i]);

            if (isfinite(size))
                *most = fmax(*most, size);
            if (size >= SMALLEST_HALF)
                *least = fmin(*least, size);
        }
        arena_free(scratch);
    }
    c->style = style;
}

/* The power of two by which t is held smaller (negative: larger). */
static int exponent_of(struct context *c, const struct tensor *t)
{
    double least = LARGEST_HALF, most = SMALLEST_HALF;

    measure(c, t, &least, &most);
    if (most > LARGEST_HALF)
        return (int)ceil(log2(most / LARGEST_HALF));
    if (least >= LEAST_HELD)
        return 0;
    return -(int)fmin(ceil(log2(NORMAL_HALF / least)), floor(log2(LARGEST_HALF / most)));
}

struct value *decompose_constant(struct node *n)
{
    struct context *c = n->graph->context;
    bool divides = n->op->name[0] == 'D';
    int slot = n->inputs[1]->constant != NULL, exponent;
    struct value *held, *x = n->inputs[1 - slot];

    if (!n->inputs[slot]->constant || n->inputs[slot]->constant->count < 2 || x->constant ||
        n->outputs[0]->type != TYPE_FLOAT32)
        return NULL;
    /* A factor beyond 65504 stays 65504: where it was accepted, the product is that. */
    exponent = exponent_of(c, n->inputs[slot]->constant);
    if (!exponent || exponent > 100)
        return NULL;
    held = make_binary(n, "Mul", n->inputs[slot], make_number(n, ldexpf(1, -exponent)));
    if (divides && slot == 1)
        return make_scaled(n, make_binary(n, "Div", x, held), ldexp(1, -exponent));
    return make_scaled(n, make_binary(n, n->op->name, slot ? x : held, slot ? held : x),
                       ldexp(1, exponent));
}
