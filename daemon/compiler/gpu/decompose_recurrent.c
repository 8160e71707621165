/*
 * LSTM, GRU and RNN, unrolled. What comes from the input is one product for all times; then each
 * time takes one product of the state, in which all gates and both directions are columns, and one
 * step that makes the next state of them. Source: onnx.ai/onnx/operators, LSTM 22, GRU 22, RNN 22.
 */
#include "daemon/compiler/gpu/make.h"
#include "daemon/compiler/operators/recurrent.h"
#include <math.h>
#include <string.h>

enum { MOST_STEPS = 1024 };

struct unrolled {
    struct node *n;
    struct recurrent r;
    int64_t directions;
    struct value *input; /* [steps, directions, batch, gates * hidden]: products and biases of it */
    struct value *recurrent;  /* [directions, hidden, gates * hidden] */
    struct value *state_bias; /* GRU, [directions, 1, hidden] of the candidate's state; else NULL */
    struct value *peephole[3];
    const int64_t *lengths; /* of each sequence, or NULL */
};

/* Columns from … to - 1 of the last axis. */
static struct value *columns(struct unrolled *u, struct value *v, int64_t from, int64_t to)
{
    return make_sliced(u->n, v, v->shape.axes - 1, from, to);
}

static struct value *gate(struct unrolled *u, struct value *v, int number)
{
    return columns(u, v, number * u->r.hidden, (number + 1) * u->r.hidden);
}

static struct value *with_floats(struct unrolled *u, const char *op, struct value *x, double alpha,
                                 double beta)
{
    struct node *r = make_node(u->n, op, 1, &x);

    node_set_float(r, "alpha", (float)alpha);
    node_set_float(r, "beta", (float)beta);
    return make_inferred(r);
}

static struct value *one_activation(struct unrolled *u, const struct recurrent_activation *a,
                                    struct value *x)
{
    struct node *n = u->n;

    switch (a->function) {
    case ACTIVATION_RELU:
        return make_unary(n, "Relu", x);
    case ACTIVATION_TANH:
        return make_unary(n, "Tanh", x);
    case ACTIVATION_SIGMOID:
        return make_unary(n, "Sigmoid", x);
    case ACTIVATION_AFFINE:
        return make_binary(n, "Add", make_scaled(n, x, a->alpha), make_number(n, (float)a->beta));
    case ACTIVATION_SCALED_TANH:
        return make_scaled(n, make_unary(n, "Tanh", make_scaled(n, x, a->beta)), a->alpha);
    case ACTIVATION_LEAKY_RELU:
        return with_floats(u, "LeakyRelu", x, a->alpha, a->beta);
    case ACTIVATION_THRESHOLDED_RELU:
        return with_floats(u, "ThresholdedRelu", x, a->alpha, a->beta);
    case ACTIVATION_HARD_SIGMOID:
        return with_floats(u, "HardSigmoid", x, a->alpha, a->beta);
    case ACTIVATION_ELU:
        return with_floats(u, "Elu", x, a->alpha, a->beta);
    case ACTIVATION_SOFTSIGN:
        return make_unary(n, "Softsign", x);
    case ACTIVATION_SOFTPLUS:
        return make_unary(n, "Softplus", x);
    case ACTIVATION_COUNT:
        break;
    }
    BUG(n->graph->context, "an activation that is not in the table");
}

static bool same_activation(const struct recurrent_activation *a,
                            const struct recurrent_activation *b)
{
    return a->function == b->function && a->alpha == b->alpha && a->beta == b->beta;
}

/* Limited, then activation number f of each direction (axis 0 of x). */
static struct value *activated(struct unrolled *u, int f, struct value *x)
{
    struct node *n = u->n;
    struct value *parts[2];

    if (isfinite(u->r.clip)) {
        struct value *three[] = {x, make_number(n, (float)-u->r.clip),
                                 make_number(n, (float)u->r.clip)};

        x = make_inferred(make_node(n, "Clip", 3, three));
    }
    if (u->directions == 1 || same_activation(&u->r.activation[0][f], &u->r.activation[1][f]))
        return one_activation(u, &u->r.activation[0][f], x);
    for (int d = 0; d < 2; d++)
        parts[d] = one_activation(u, &u->r.activation[d][f], make_sliced(n, x, 0, d, d + 1));
    return make_concat(n, 0, 2, parts);
}

/* h times those columns of the recurrent weights. */
static struct value *product(struct unrolled *u, struct value *h, int64_t from, int64_t to)
{
    struct value *weights = columns(u, u->recurrent, from, to);

    return make_binary(u->n, "MatMul", h, weights);
}

static struct value *plus(struct unrolled *u, struct value *a, struct value *b)
{
    return a && b ? make_binary(u->n, "Add", a, b) : a ? a : b;
}

static struct value *times(struct unrolled *u, struct value *a, struct value *b)
{
    return make_binary(u->n, "Mul", a, b);
}

/* 1 - a */
static struct value *rest_of(struct unrolled *u, struct value *a)
{
    return make_binary(u->n, "Sub", make_number(u->n, 1), a);
}

/* The next h from x's part [directions, batch, gates * hidden]; h and c are NULL where they are
 * zero. */
static struct value *next_rnn(struct unrolled *u, struct value *x, struct value *h)
{
    return activated(u, 0, plus(u, h ? product(u, h, 0, u->r.hidden) : NULL, x));
}

static struct value *next_gru(struct unrolled *u, struct value *x, struct value *h)
{
    int64_t hidden = u->r.hidden;
    struct value *z, *reset, *seen, *all, *candidate;

    if (u->r.linear_before_reset) {
        all = h ? make_stored(u->n, product(u, h, 0, 3 * hidden)) : NULL;
        z = activated(u, 0, plus(u, all ? gate(u, all, 0) : NULL, gate(u, x, 0)));
        reset = activated(u, 0, plus(u, all ? gate(u, all, 1) : NULL, gate(u, x, 1)));
        seen = plus(u, all ? gate(u, all, 2) : NULL, u->state_bias);
        seen = seen ? times(u, reset, seen) : NULL;
    } else {
        all = plus(u, h ? product(u, h, 0, 2 * hidden) : NULL, columns(u, x, 0, 2 * hidden));
        all = make_stored(u->n, activated(u, 0, all));
        z = gate(u, all, 0);
        reset = gate(u, all, 1);
        seen = plus(u, h ? product(u, times(u, reset, h), 2 * hidden, 3 * hidden) : NULL,
                    u->state_bias);
    }
    candidate = activated(u, 1, plus(u, seen, gate(u, x, 2)));
    candidate = times(u, rest_of(u, z), candidate);
    return h ? plus(u, candidate, times(u, z, h)) : candidate;
}

/* [2 * directions, batch, hidden]: the next cells, then the next h. */
static struct value *next_lstm(struct unrolled *u, struct value *x, struct value *h,
                               struct value *c)
{
    enum { I, O, F, C };
    struct value *all = h ? make_stored(u->n, plus(u, product(u, h, 0, 4 * u->r.hidden), x)) : x;
    struct value *sum[4], *in, *forget, *cell, *two[2];

    for (int g = 0; g < 4; g++)
        sum[g] = gate(u, all, g);
    if (u->peephole[0] && c) {
        sum[I] = plus(u, sum[I], times(u, u->peephole[0], c));
        sum[F] = plus(u, sum[F], times(u, u->peephole[2], c));
    }
    in = activated(u, 0, sum[I]);
    forget = u->r.input_forget ? rest_of(u, in) : activated(u, 0, sum[F]);
    cell = times(u, in, activated(u, 1, sum[C]));
    if (c)
        cell = plus(u, times(u, forget, c), cell);
    if (u->peephole[0])
        sum[O] = plus(u, sum[O], times(u, u->peephole[1], cell));
    two[0] = cell;
    two[1] = times(u, activated(u, 0, sum[O]), activated(u, 2, cell));
    return make_concat(u->n, 0, 2, two);
}

/* The time that direction d works on at step i. */
static int64_t time_of(const struct unrolled *u, int d, int64_t i)
{
    return u->r.reverse || d == 1 ? u->r.steps - 1 - i : i;
}

/* x's part at step i: the directions are at different times. */
static struct value *input_at(struct unrolled *u, int64_t i)
{
    struct value *parts[2];
    struct shape s = u->input->shape;

    for (int d = 0; d < u->directions; d++) {
        int64_t t = time_of(u, d, i);

        parts[d] = make_sliced(u->n, make_sliced(u->n, u->input, 0, t, t + 1), 1, d, d + 1);
    }
    s.axes = 3;
    s.dim[0] = u->directions;
    s.dim[1] = u->input->shape.dim[2];
    s.dim[2] = u->input->shape.dim[3];
    return make_reshaped(u->n, make_concat(u->n, 1, (int)u->directions, parts), &s);
}

/* Which sequences still run at step i, [copies * directions, batch, 1]; NULL: all. */
static struct value *running(struct unrolled *u, int64_t i, int64_t copies)
{
    struct shape s = shape_of(3, (const int64_t[]){copies * u->directions, u->r.batch, 1});
    void *data;
    struct tensor *t = tensor_new(&u->n->graph->context->arena, TYPE_BOOL, &s, &data);
    bool all = true;

    if (!u->lengths)
        return NULL;
    for (int64_t k = 0; k < t->count; k++) {
        bool runs =
            time_of(u, (int)(k / u->r.batch % u->directions), i) < u->lengths[k % u->r.batch];

        ((uint8_t *)data)[k] = runs;
        all = all && runs;
    }
    return all ? NULL : graph_constant(u->n->graph, "", t);
}

/* Initial state in slot as [directions, batch, hidden], NULL where it is zero. */
static struct value *initial(struct unrolled *u, int slot)
{
    static const int64_t swap[] = {1, 0, 2};
    struct value *v = node_input(u->n, slot);

    return v && u->r.batch_first ? make_transposed(u->n, v, 3, swap) : v;
}

static void read_weights(struct unrolled *u)
{
    static const int64_t swap[] = {0, 2, 1}, order[] = {1, 0, 2};
    struct node *n = u->n;
    int64_t rows = u->r.gates * u->r.hidden, d = u->directions, hidden = u->r.hidden;
    struct value *x = n->inputs[0], *bias = node_input(n, 3), *peephole = node_input(n, 7);

    if (u->r.batch_first)
        x = make_transposed(n, x, 3, order);
    struct shape s = shape_of(4, (const int64_t[]){u->r.steps, 1, u->r.batch, u->r.input});
    u->input = make_binary(n, "MatMul", make_reshaped(n, x, &s),
                           make_transposed(n, n->inputs[1], 3, swap));
    u->recurrent = make_transposed(n, n->inputs[2], 3, swap);
    if (bias) {
        struct value *of_input = make_sliced(n, bias, 1, 0, rows),
                     *of_state = make_sliced(n, bias, 1, rows, 2 * rows);

        s = shape_of(3, (const int64_t[]){d, 1, rows});
        of_input = make_reshaped(n, of_input, &s);
        of_state = make_reshaped(n, of_state, &s);
        /* Where the reset gate multiplies the state's part, its bias is inside; else all biases add
         * up. */
        if (u->r.kind == RECURRENT_GRU && u->r.linear_before_reset) {
            u->state_bias = gate(u, of_state, 2);
            of_state = make_padded(n, columns(u, of_state, 0, 2 * hidden), 2, 0, hidden, 0);
        }
        u->input = make_binary(n, "Add", u->input, make_binary(n, "Add", of_input, of_state));
    }
    u->input = make_stored(n, u->input);
    s = shape_of(3, (const int64_t[]){d, 1, hidden});
    for (int i = 0; peephole && i < 3; i++)
        u->peephole[i] =
            make_reshaped(n, make_sliced(n, peephole, 1, i * hidden, (i + 1) * hidden), &s);
}

bool decompose_recurrent(struct node *n, struct value **out)
{
    static const int64_t swap[] = {1, 0, 2}, order[] = {2, 0, 1, 3};
    struct context *c = n->graph->context;
    struct unrolled u = {.n = n};
    const char *why;
    int count;

    if (!recurrent_read(n, &u.r, &why) || u.r.steps > MOST_STEPS || u.r.steps < 1)
        return false;
    u.directions = u.r.directions;
    u.lengths = node_input(n, 4) ? node_constant_ints(n, 4, &count) : NULL;
    if (node_input(n, 4) && !u.lengths)
        return false;
    read_weights(&u);

    struct value *h = initial(&u, 5), *cell = u.r.kind == RECURRENT_LSTM ? initial(&u, 6) : NULL;
    struct value **shown = NEW_ARRAY(&c->arena, u.directions * u.r.steps, struct value *);
    int64_t d = u.directions, steps = u.r.steps;
    struct shape four = shape_of(4, (const int64_t[]){1, 1, u.r.batch, u.r.hidden});
    struct shape zeros = shape_of(3, (const int64_t[]){d, u.r.batch, u.r.hidden});
    float *nothing = NEW_ARRAY(&c->arena, shape_count(&zeros), float);
    struct value *zero = graph_constant_floats(n->graph, "", &zeros, nothing);
    for (int64_t i = 0; i < steps; i++) {
        struct value *x = input_at(&u, i), *next, *mask, *seen;

        context_poll(c);
        if (u.r.kind == RECURRENT_LSTM) {
            next = next_lstm(&u, x, h, cell);
            if ((mask = running(&u, i, 2)) != NULL) {
                struct value *old[] = {cell ? cell : zero, h ? h : zero};

                next = make_where(n, mask, next, make_concat(n, 0, 2, old));
            }
            next = make_stored(n, next);
            cell = make_sliced(n, next, 0, 0, d);
            h = make_sliced(n, next, 0, d, 2 * d);
        } else {
            next = u.r.kind == RECURRENT_GRU ? next_gru(&u, x, h) : next_rnn(&u, x, h);
            if ((mask = running(&u, i, 1)) != NULL)
                next = make_where(n, mask, next, h ? h : zero);
            h = make_stored(n, next);
        }
        /* What is shown of a sequence that has ended, or of a reversed one that has not begun, is
         * zero. */
        seen = (mask = running(&u, i, 1)) != NULL ? make_where(n, mask, h, make_number(n, 0)) : h;
        for (int k = 0; k < d; k++)
            shown[k * steps + time_of(&u, k, i)] =
                make_reshaped(n, make_sliced(n, seen, 0, k, k + 1), &four);
    }
    if (n->outputs[0] && (n->outputs[0]->reader_count || n->outputs[0]->output_count)) {
        struct value *y[2];

        /* [steps, directions, batch, hidden] */
        for (int k = 0; k < d; k++)
            y[k] = make_concat(n, 0, (int)steps, shown + k * steps);
        out[0] = make_concat(n, 1, (int)d, y);
        if (u.r.batch_first)
            out[0] = make_transposed(n, out[0], 4, order);
    }
    out[1] = u.r.batch_first ? make_transposed(n, h, 3, swap) : h;
    out[2] = cell && u.r.batch_first ? make_transposed(n, cell, 3, swap) : cell;
    return true;
}
