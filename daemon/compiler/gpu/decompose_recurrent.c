/*
 * LSTM, GRU and RNN, unrolled. What comes from the input is one product for all times; then each
 * time takes one product of the state, in which all gates and both directions are columns, and what
 * makes the next state of them. Source: onnx.ai/onnx/operators, LSTM 22, GRU 22, RNN 22.
 *
 * The columns are in such an order that a kernel that writes one cell of the next state needs whole
 * cells of the product, each of them in no other: then both are one step (join.c), and no gate is
 * ever stored.
 *
 *   LSTM: units in pairs; a cell of the state is c, c, h, h of a pair, and its eight sums are two
 *         cells: i, i, o, o and f, f, c, c.
 *   GRU:  a cell of the state is h of four units, and its sums are a cell of each gate. Where reset
 *         multiplies the state before the product there are two products, one after the other.
 */
#include "daemon/compiler/gpu/make.h"
#include "daemon/compiler/operators/recurrent.h"
#include "daemon/compiler/passes/pass.h"
#include <math.h>
#include <string.h>

enum { MOST_STEPS = 1024 };

struct unrolled {
    struct node *n;
    struct recurrent r;
    int64_t directions;
    int64_t units; /* that have columns: hidden, and what fills cells, of no weight to anybody */
    int64_t block; /* so many units of a gate stand together, then those of the next */
    struct value *input; /* [steps, directions, batch, gates * units]: products and biases of it;
                            of one step without the first axis */
    struct value *recurrent;   /* [directions, units, gates * units] */
    struct value *state_bias;  /* GRU, [directions, 1, units] of the candidate's state; else NULL */
    struct value *peephole[3]; /* [directions, 1, units] */
    struct value *forward;     /* first_direction() */
    const int64_t *lengths;    /* of each sequence, or NULL */
};

/* Columns from … to - 1 of the last axis. */
static struct value *columns(struct unrolled *u, struct value *v, int64_t from, int64_t to)
{
    return make_sliced(u->n, v, v->shape.axes - 1, from, to);
}

/* Axis of v, of the gates' rows as ONNX has them, in the order that columns have here. */
static struct value *arranged(struct unrolled *u, struct value *v, int axis)
{
    struct node *n = u->n;
    struct shape s = v->shape, split = v->shape;
    int64_t perm[MAX_AXES];

    if (u->block == u->r.hidden)
        return v;
    s.dim[axis] = u->r.gates * u->units;
    split.axes = v->shape.axes + 1;
    split.dim[axis] = u->r.gates;
    split.dim[axis + 1] = u->r.hidden;
    for (int a = axis + 1; a < v->shape.axes; a++)
        split.dim[a + 1] = v->shape.dim[a];
    v = make_padded(n, make_reshaped(n, v, &split), axis + 1, 0, u->units - u->r.hidden, 0);
    split.axes++;
    split.dim[axis + 1] = u->units / u->block;
    split.dim[axis + 2] = u->block;
    for (int a = axis + 1; a < s.axes; a++)
        split.dim[a + 2] = s.dim[a];
    for (int a = 0; a < split.axes; a++)
        perm[a] = a == axis ? axis + 1 : a == axis + 1 ? axis : a;
    v = make_transposed(n, make_reshaped(n, v, &split), split.axes, perm);
    return make_reshaped(n, v, &s);
}

/* Part number `number` of the `parts` that the blocks of v's last axis have, [directions, batch,
 * units]. */
static struct value *block_part(struct unrolled *u, struct value *v, int parts, int number)
{
    struct shape s = v->shape, whole = v->shape;

    whole.dim[2] = u->units;
    s.axes = 5;
    s.dim[2] = u->units / u->block;
    s.dim[3] = parts;
    s.dim[4] = u->block;
    return make_reshaped(u->n, make_sliced(u->n, make_reshaped(u->n, v, &s), 3, number, number + 1),
                         &whole);
}

static struct value *gate(struct unrolled *u, struct value *v, int number)
{
    return block_part(u, v, u->r.gates, number);
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
    const struct recurrent_activation *forward = &u->r.activation[0][f],
                                      *backward = &u->r.activation[1][f];

    if (isfinite(u->r.clip)) {
        struct value *three[] = {x, make_number(n, (float)-u->r.clip),
                                 make_number(n, (float)u->r.clip)};

        x = make_inferred(make_node(n, "Clip", 3, three));
    }
    if (u->directions == 1 || same_activation(forward, backward))
        return one_activation(u, forward, x);
    /* Both for each element: every element of a cell is computed alike. */
    return make_where(n, u->forward, one_activation(u, forward, x), one_activation(u, backward, x));
}

/* h times those columns of the recurrent weights. */
static struct value *product(struct unrolled *u, struct value *h, int64_t from, int64_t to)
{
    return make_binary(u->n, "MatMul", h, columns(u, u->recurrent, from, to));
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
    int64_t units = u->units;
    struct value *z, *reset, *seen, *all, *candidate;

    if (u->r.linear_before_reset) {
        all = h ? product(u, h, 0, 3 * units) : NULL;
        z = activated(u, 0, plus(u, all ? gate(u, all, 0) : NULL, gate(u, x, 0)));
        reset = activated(u, 0, plus(u, all ? gate(u, all, 1) : NULL, gate(u, x, 1)));
        seen = plus(u, all ? gate(u, all, 2) : NULL, u->state_bias);
        seen = seen ? times(u, reset, seen) : NULL;
    } else {
        all = plus(u, h ? product(u, h, 0, 2 * units) : NULL, columns(u, x, 0, 2 * units));
        all = activated(u, 0, all);
        all = h ? make_stored(u->n, all) : all;
        z = block_part(u, all, 2, 0);
        reset = block_part(u, all, 2, 1);
        seen = h ? product(u, times(u, reset, h), 2 * units, 3 * units) : NULL;
    }
    candidate = activated(u, 1, plus(u, seen, gate(u, x, 2)));
    candidate = times(u, rest_of(u, z), candidate);
    return h ? plus(u, candidate, times(u, z, h)) : candidate;
}

/* The state of LSTM, [directions, batch, 2 * units]. */
static struct value *state_of(struct unrolled *u, struct value *c, struct value *h)
{
    struct shape s = c->shape, whole = c->shape;
    struct value *two[2];

    s.axes = 5;
    s.dim[2] = u->units / u->block;
    s.dim[3] = 1;
    s.dim[4] = u->block;
    whole.dim[2] = 2 * u->units;
    two[0] = make_reshaped(u->n, c, &s);
    two[1] = make_reshaped(u->n, h, &s);
    return make_reshaped(u->n, make_concat(u->n, 3, 2, two), &whole);
}

/* Both become the next ones. */
static void next_lstm(struct unrolled *u, struct value *x, struct value **hidden,
                      struct value **state)
{
    enum { I, O, F, C };
    struct value *h = *hidden, *c = *state;
    struct value *all = plus(u, h ? product(u, h, 0, 4 * u->units) : NULL, x);
    struct value *sum[4], *in, *forget, *cell;

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
    *state = cell;
    *hidden = times(u, activated(u, 0, sum[O]), activated(u, 2, cell));
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

    if (u->r.steps == 1)
        return u->input;
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

/* Which sequences still run at step i, [directions, batch, 1]; NULL: all. */
static struct value *running(struct unrolled *u, int64_t i)
{
    struct shape s = shape_of(3, (const int64_t[]){u->directions, u->r.batch, 1});
    void *data;
    struct tensor *t = tensor_new(&u->n->graph->context->arena, TYPE_BOOL, &s, &data);
    bool all = true;

    if (!u->lengths)
        return NULL;
    for (int64_t k = 0; k < t->count; k++) {
        bool runs = time_of(u, (int)(k / u->r.batch), i) < u->lengths[k % u->r.batch];

        ((uint8_t *)data)[k] = runs;
        all = all && runs;
    }
    return all ? NULL : graph_constant(u->n->graph, "", t);
}

/* Initial state in slot as [directions, batch, units], NULL where it is zero. */
static struct value *initial(struct unrolled *u, int slot)
{
    static const int64_t swap[] = {1, 0, 2};
    struct value *v = node_input(u->n, slot);

    if (!v || constant_is_all(v, 0))
        return NULL;
    if (u->r.batch_first)
        v = make_transposed(u->n, v, 3, swap);
    return make_padded(u->n, v, 2, 0, u->units - u->r.hidden, 0);
}

/* [directions, rows] in the order of columns, [directions, 1, columns]. */
static struct value *bias_row(struct unrolled *u, struct value *v)
{
    struct shape s;

    v = arranged(u, v, 1);
    s = shape_of(3, (const int64_t[]){u->directions, 1, v->shape.dim[1]});
    return make_reshaped(u->n, v, &s);
}

/* Weights as a second operand, with so many rows of zeros more. If the model is given them, what
 * has to be moved is moved once, not wherever it is read. */
static struct value *matrix(struct unrolled *u, struct value *v, int64_t more)
{
    static const int64_t swap[] = {0, 2, 1};
    struct value *w = make_padded(u->n, arranged(u, v, 1), 2, 0, more, 0);

    return make_transposed(u->n, w == v ? v : make_stored(u->n, w), 3, swap);
}

/* Whether a direction is the first, [directions, 1, 1]. */
static struct value *first_direction(struct unrolled *u)
{
    struct shape s = shape_of(3, (const int64_t[]){u->directions, 1, 1});
    void *data;
    struct tensor *t = tensor_new(&u->n->graph->context->arena, TYPE_BOOL, &s, &data);

    *(uint8_t *)data = 1;
    return graph_constant(u->n->graph, "", t);
}

static void read_weights(struct unrolled *u)
{
    static const int64_t order[] = {1, 0, 2};
    struct node *n = u->n;
    int64_t rows = u->r.gates * u->r.hidden, d = u->directions, units = u->units;
    struct value *x = n->inputs[0], *bias = node_input(n, 3), *peephole = node_input(n, 7);

    if (u->r.batch_first)
        x = make_transposed(n, x, 3, order);
    struct shape s = shape_of(4, (const int64_t[]){u->r.steps, 1, u->r.batch, u->r.input});
    if (u->r.steps == 1)
        s = shape_of(3, (const int64_t[]){1, u->r.batch, u->r.input});
    u->input = make_binary(n, "MatMul", make_reshaped(n, x, &s), matrix(u, n->inputs[1], 0));
    u->recurrent = matrix(u, n->inputs[2], units - u->r.hidden);
    if (bias) {
        struct value *of_input = bias_row(u, make_sliced(n, bias, 1, 0, rows)),
                     *of_state = bias_row(u, make_sliced(n, bias, 1, rows, 2 * rows));

        /* Where the reset gate multiplies the state's part, its bias is inside; else all biases add
         * up. */
        if (u->r.kind == RECURRENT_GRU && u->r.linear_before_reset) {
            u->state_bias = gate(u, of_state, 2);
            of_state = make_padded(n, columns(u, of_state, 0, 2 * units), 2, 0, units, 0);
        }
        u->input = make_binary(n, "Add", u->input, make_binary(n, "Add", of_input, of_state));
    }
    /* Of one step it is a term of one sum with the state's product (products.c). */
    u->input = u->r.steps > 1 ? make_stored(n, u->input) : u->input;
    s = shape_of(3, (const int64_t[]){d, 1, u->r.hidden});
    for (int i = 0; peephole && i < 3; i++) {
        struct value *one = make_sliced(n, peephole, 1, i * u->r.hidden, (i + 1) * u->r.hidden);

        u->peephole[i] = make_padded(n, make_reshaped(n, one, &s), 2, 0, units - u->r.hidden, 0);
    }
}

/* shown[i]: what step i shows, [1, directions, batch, hidden]. Both directions of a step lie in one
 * texture: they are put together before they are told apart. */
static struct value *in_order(struct unrolled *u, struct value *const *shown)
{
    static const int64_t order[] = {2, 0, 1, 3};
    struct node *n = u->n;
    int64_t steps = u->r.steps;
    struct value **turned, *y[2], *all;

    turned = NEW_ARRAY(&n->graph->context->arena, steps, struct value *);
    for (int64_t i = 0; i < steps; i++)
        turned[time_of(u, 0, i)] = shown[i];
    all = make_concat(n, 0, (int)steps, turned);
    if (u->directions == 2) {
        const int64_t back[] = {-1, INT64_MIN, 0, -1};
        struct value *inputs[5];

        inputs[0] = make_sliced(n, all, 1, 1, 2);
        for (int i = 0; i < 4; i++)
            inputs[i + 1] = graph_constant_ints(n->graph, "", 1, &back[i]);
        y[0] = make_sliced(n, all, 1, 0, 1);
        y[1] = make_inferred(make_node(n, "Slice", 5, inputs));
        all = make_concat(n, 1, 2, y);
    }
    return u->r.batch_first ? make_transposed(n, all, 4, order) : all;
}

bool decompose_recurrent(struct node *n, struct value **out)
{
    static const int64_t swap[] = {1, 0, 2};
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
    u.units = u.block = u.r.hidden;
    if (u.r.kind == RECURRENT_LSTM) {
        u.units = u.r.hidden > 2 ? (u.r.hidden + 3) / 4 * 4 : 2;
        u.block = 2;
    } else if (u.r.kind == RECURRENT_GRU && u.r.linear_before_reset) {
        u.units = u.block = (u.r.hidden + 3) / 4 * 4;
    }
    read_weights(&u);
    u.forward = first_direction(&u);

    struct value *h = initial(&u, 5), *cell = u.r.kind == RECURRENT_LSTM ? initial(&u, 6) : NULL;
    struct value **shown = NEW_ARRAY(&c->arena, u.r.steps, struct value *);
    struct shape four = shape_of(4, (const int64_t[]){1, u.directions, u.r.batch, u.r.hidden});
    struct shape zeros = shape_of(3, (const int64_t[]){u.directions, u.r.batch, u.units});
    float *nothing = NEW_ARRAY(&c->arena, shape_count(&zeros), float);
    struct value *zero = graph_constant_floats(n->graph, "", &zeros, nothing);
    for (int64_t i = 0; i < u.r.steps; i++) {
        struct value *x = input_at(&u, i), *mask = running(&u, i), *next, *seen;
        /* From zeros there is no product: who reads the next state may compute it. */
        bool is_little = !h && !cell && !mask && u.r.steps > 1;

        context_poll(c);
        if (u.r.kind == RECURRENT_LSTM) {
            struct value *next_h = h, *next_cell = cell;

            next_lstm(&u, x, &next_h, &next_cell);
            if (is_little) {
                cell = next_cell;
                h = next_h;
            } else {
                next = state_of(&u, next_cell, next_h);
                if (mask)
                    next =
                        make_where(n, mask, next, state_of(&u, cell ? cell : zero, h ? h : zero));
                next = make_stored(n, next);
                cell = block_part(&u, next, 2, 0);
                h = block_part(&u, next, 2, 1);
            }
        } else {
            next = u.r.kind == RECURRENT_GRU ? next_gru(&u, x, h) : next_rnn(&u, x, h);
            if (mask)
                next = make_where(n, mask, next, h ? h : zero);
            h = is_little ? next : make_stored(n, next);
        }
        /* What is shown of a sequence that has ended, or of a reversed one that has not begun, is
         * zero. */
        seen = columns(&u, h, 0, u.r.hidden);
        seen = mask ? make_where(n, mask, seen, make_number(n, 0)) : seen;
        shown[i] = make_reshaped(n, seen, &four);
    }
    if (n->outputs[0] && (n->outputs[0]->reader_count || n->outputs[0]->output_count))
        out[0] = in_order(&u, shown);
    for (int i = 1; i < 3; i++) {
        out[i] = i == 1 ? columns(&u, h, 0, u.r.hidden)
                 : cell ? columns(&u, cell, 0, u.r.hidden)
                        : NULL;
        if (out[i] && u.r.batch_first)
            out[i] = make_transposed(n, out[i], 3, swap);
    }
    return true;
}
