/* LSTM, GRU and RNN: every direction, activation, layout, with lengths of sequences and initial
 * states. */
#include "daemon/compiler/operators/recurrent.h"
#include "daemon/compiler/operators/arguments.h"
#include "daemon/compiler/operators/move.h"
#include <math.h>
#include <string.h>
#include <strings.h>

static const struct {
    const char *name;
    bool has_alpha, has_beta;
    double alpha, beta;
} activations[] = {
#define ACTIVATION(id, name, has_alpha, has_beta, alpha, beta)                                     \
    {name, has_alpha, has_beta, alpha, beta},
#include "daemon/compiler/operators/recurrent.def"
#undef ACTIVATION
};

double recurrent_activate(const struct recurrent_activation *a, double x)
{
    switch (a->function) {
    case ACTIVATION_RELU:
        return x > 0 ? x : 0;
    case ACTIVATION_TANH:
        return tanh(x);
    case ACTIVATION_SIGMOID:
        return 1 / (1 + exp(-x));
    case ACTIVATION_AFFINE:
        return a->alpha * x + a->beta;
    case ACTIVATION_LEAKY_RELU:
        return x >= 0 ? x : a->alpha * x;
    case ACTIVATION_THRESHOLDED_RELU:
        return x >= a->alpha ? x : 0;
    case ACTIVATION_SCALED_TANH:
        return a->alpha * tanh(a->beta * x);
    case ACTIVATION_HARD_SIGMOID:
        return fmin(fmax(a->alpha * x + a->beta, 0), 1);
    case ACTIVATION_ELU:
        return x >= 0 ? x : a->alpha * expm1(x);
    case ACTIVATION_SOFTSIGN:
        return x / (1 + fabs(x));
    case ACTIVATION_SOFTPLUS:
        return x > 0 ? x + log1p(exp(-x)) : log1p(exp(x));
    default:
        return x;
    }
}

/* The activations, and from the lists of alphas and betas what those that take one get, in order.
 */
static bool read_activations(const struct node *n, struct recurrent *r)
{
    static const enum recurrent_function defaults[][3] = {
        [RECURRENT_RNN] = {ACTIVATION_TANH},
        [RECURRENT_GRU] = {ACTIVATION_SIGMOID, ACTIVATION_TANH},
        [RECURRENT_LSTM] = {ACTIVATION_SIGMOID, ACTIVATION_TANH, ACTIVATION_TANH}};
    int each = (int)r->kind + 1, alphas = 0, betas = 0;
    const struct attribute *names = node_find(n, "activations");
    const struct attribute *alpha = node_find(n, "activation_alpha");
    const struct attribute *beta = node_find(n, "activation_beta");

    if (names && names->count != each * r->directions)
        return false;
    for (int i = 0; i < each * r->directions; i++) {
        int f = (int)defaults[r->kind][i % each];
        if (names) {
            for (f = 0; f < ACTIVATION_COUNT; f++)
                if (strcasecmp(activations[f].name, names->strings[i].bytes) == 0)
                    break;
            if (f == ACTIVATION_COUNT)
                return false;
        }
        struct recurrent_activation *a = &r->activation[i / each][i % each];
        *a = (struct recurrent_activation){(enum recurrent_function)f, activations[f].alpha,
                                           activations[f].beta};
        if (activations[f].has_alpha && alpha && alphas < alpha->count)
            a->alpha = (double)alpha->floats[alphas++];
        if (activations[f].has_beta && beta && betas < beta->count)
            a->beta = (double)beta->floats[betas++];
    }
    return true;
}

static bool has_dims(const struct node *n, int slot, int axes, int64_t a, int64_t b, int64_t c)
{
    const struct value *v = node_input(n, slot);
    const int64_t dims[3] = {a, b, c};
    struct shape s = shape_of(axes, dims);
    return !v || !shape_known(&v->shape) || shape_equal(&v->shape, &s);
}

bool recurrent_read(const struct node *n, struct recurrent *r, const char **why)
{
    const struct shape *x = &n->inputs[0]->shape, *w = &n->inputs[1]->shape;
    const struct shape *rec = &n->inputs[2]->shape;
    const char *direction = node_string(n, "direction", "forward");

    *why = NULL;
    if (!shape_known(x) || !shape_known(w) || !shape_known(rec))
        return false;
    *r = (struct recurrent){.kind = strcmp(n->op_type, "LSTM") == 0  ? RECURRENT_LSTM
                                    : strcmp(n->op_type, "GRU") == 0 ? RECURRENT_GRU
                                                                     : RECURRENT_RNN,
                            .directions = 1,
                            .batch_first = node_int(n, "layout", 0) != 0,
                            .linear_before_reset = node_int(n, "linear_before_reset", 0) != 0,
                            .input_forget = node_int(n, "input_forget", 0) != 0,
                            .clip =
                                node_find(n, "clip") ? (double)node_float(n, "clip", 0) : INFINITY};
    static const int gates[] = {1, 3, 4};
    r->gates = gates[r->kind];
    if (strcmp(direction, "bidirectional") == 0)
        r->directions = 2;
    else if (strcmp(direction, "reverse") == 0)
        r->reverse = true;
    else if (strcmp(direction, "forward") != 0)
        *why = "direction is none of forward, reverse, bidirectional";
    else if (x->axes != 3 || w->axes != 3 || rec->axes != 3)
        *why = "X, W and R do not have 3 axes";
    if (*why)
        return false;
    if (x->axes != 3 || w->axes != 3 || rec->axes != 3) {
        *why = "X, W and R do not have 3 axes";
        return false;
    }
    r->steps = x->dim[r->batch_first ? 1 : 0];
    r->batch = x->dim[r->batch_first ? 0 : 1];
    r->input = x->dim[2];
    r->hidden = node_int(n, "hidden_size", rec->dim[2]);
    if (r->hidden != rec->dim[2]) {
        *why = "hidden_size is not the length of R's last axis";
        return false;
    }
    int64_t d = r->directions, rows = r->gates * r->hidden;
    int64_t state0 = r->batch_first ? r->batch : d, state1 = r->batch_first ? d : r->batch;
    if (!has_dims(n, 1, 3, d, rows, r->input) || !has_dims(n, 2, 3, d, rows, r->hidden) ||
        !has_dims(n, 3, 2, d, 2 * rows, 0) || !has_dims(n, 4, 1, r->batch, 0, 0) ||
        !has_dims(n, 5, 3, state0, state1, r->hidden))
        *why = "the shapes of weights, biases, lengths or states do not fit each other";
    else if (r->kind == RECURRENT_LSTM && (!has_dims(n, 6, 3, state0, state1, r->hidden) ||
                                           !has_dims(n, 7, 2, d, 3 * r->hidden, 0)))
        *why = "the shapes of the cell state or the peepholes do not fit";
    else if (!read_activations(n, r))
        *why = "activations are not as many as defined, or not ones that are defined";
    return !*why;
}

static void recurrent_infer(struct node *n)
{
    struct recurrent r;
    const char *why;
    enum element_type type = n->inputs[0]->type;
    struct shape all = shape_unknown, state = shape_unknown;

    if (recurrent_read(n, &r, &why)) {
        int64_t d = r.directions;
        all = r.batch_first ? shape_of(4, (const int64_t[]){r.batch, r.steps, d, r.hidden})
                            : shape_of(4, (const int64_t[]){r.steps, d, r.batch, r.hidden});
        state = r.batch_first ? shape_of(3, (const int64_t[]){r.batch, d, r.hidden})
                              : shape_of(3, (const int64_t[]){d, r.batch, r.hidden});
    }
    if (why) {
        infer_fault(n, "%s", why);
        return;
    }
    infer_output(n, 0, type, &all);
    infer_output(n, 1, type, &state);
    if (n->output_count > 2)
        infer_output(n, 2, type, &state);
}

/* One direction's weights, as float64. */
struct layer {
    const struct recurrent *r;
    const double *w, *rec, *wb, *rb, *peephole; /* the last three may be NULL */
    const struct recurrent_activation *f;
};

static double clipped(const struct recurrent *r, double x)
{
    return x > r->clip ? r->clip : x < -r->clip ? -r->clip : x;
}

static double dot(const double *a, const double *b, int64_t count)
{
    double sum = 0;
    for (int64_t i = 0; i < count; i++)
        sum += a[i] * b[i];
    return sum;
}

/* Row j of gate g: the input's part and the state's part, each with its bias. */
static double from_input(const struct layer *l, int g, int64_t j, const double *x)
{
    int64_t row = g * l->r->hidden + j;
    return dot(l->w + row * l->r->input, x, l->r->input) + (l->wb ? l->wb[row] : 0);
}

static double from_state(const struct layer *l, int g, int64_t j, const double *h)
{
    int64_t row = g * l->r->hidden + j;
    return dot(l->rec + row * l->r->hidden, h, l->r->hidden) + (l->rb ? l->rb[row] : 0);
}

static void step_rnn(const struct layer *l, const double *x, const double *h, double *now)
{
    for (int64_t j = 0; j < l->r->hidden; j++)
        now[j] = recurrent_activate(&l->f[0],
                                    clipped(l->r, from_input(l, 0, j, x) + from_state(l, 0, j, h)));
}

/* gates: room for 3 * hidden numbers */
static void step_gru(const struct layer *l, const double *x, const double *h, double *now,
                     double *gates)
{
    const struct recurrent *r = l->r;
    double *z = gates, *reset = gates + r->hidden, *seen = gates + 2 * r->hidden;

    for (int64_t j = 0; j < r->hidden; j++) {
        z[j] = recurrent_activate(&l->f[0],
                                  clipped(r, from_input(l, 0, j, x) + from_state(l, 0, j, h)));
        reset[j] = recurrent_activate(&l->f[0],
                                      clipped(r, from_input(l, 1, j, x) + from_state(l, 1, j, h)));
    }
    for (int64_t j = 0; j < r->hidden; j++)
        seen[j] = reset[j] * h[j];
    for (int64_t j = 0; j < r->hidden; j++) {
        double state =
            r->linear_before_reset ? reset[j] * from_state(l, 2, j, h) : from_state(l, 2, j, seen);
        double candidate = recurrent_activate(&l->f[1], clipped(r, from_input(l, 2, j, x) + state));
        now[j] = (1 - z[j]) * candidate + z[j] * h[j];
    }
}

static void step_lstm(const struct layer *l, const double *x, const double *h, double *now,
                      double *cell)
{
    const struct recurrent *r = l->r;
    const double *p = l->peephole;
    enum { I, O, F, C };

    for (int64_t j = 0; j < r->hidden; j++) {
        double gate[4], old = cell[j];
        for (int g = 0; g < 4; g++)
            gate[g] = from_input(l, g, j, x) + from_state(l, g, j, h);
        if (p) {
            gate[I] += p[j] * old;
            gate[F] += p[2 * r->hidden + j] * old;
        }
        double in = recurrent_activate(&l->f[0], clipped(r, gate[I]));
        double forget =
            r->input_forget ? 1 - in : recurrent_activate(&l->f[0], clipped(r, gate[F]));
        cell[j] = forget * old + in * recurrent_activate(&l->f[1], clipped(r, gate[C]));
        if (p)
            gate[O] += p[r->hidden + j] * cell[j];
        double out = recurrent_activate(&l->f[0], clipped(r, gate[O]));
        now[j] = out * recurrent_activate(&l->f[2], clipped(r, cell[j]));
    }
}

static bool recurrent_evaluate(struct node *n, struct tensor *const *in, struct tensor **out,
                               struct arena *arena, struct arena *scratch)
{
    struct context *c = n->graph->context;
    const double *given[8] = {NULL};
    struct recurrent r;
    const char *why;

    if (!recurrent_read(n, &r, &why))
        return false;
    for (int i = 0; i < n->input_count && i < 8; i++)
        if (in[i] && i != 4)
            given[i] = tensor_doubles(c, in[i], scratch);
    const int64_t *lengths =
        n->input_count > 4 && in[4] ? tensor_integers(c, in[4], scratch) : NULL;
    int64_t hidden = r.hidden, rows = r.gates * hidden, states = r.directions * r.batch * hidden;
    double *all = NEW_ARRAY(scratch, r.steps * states, double);
    double *last[2] = {NEW_ARRAY(scratch, states, double), NEW_ARRAY(scratch, states, double)};
    double *h = NEW_ARRAY(scratch, hidden, double), *now = NEW_ARRAY(scratch, hidden, double);
    double *cell = NEW_ARRAY(scratch, hidden, double), *gates = NEW_ARRAY(scratch, rows, double);

    for (int d = 0; d < r.directions; d++) {
        bool reverse = r.reverse || d == 1;
        const double *bias = given[3] ? given[3] + d * 2 * rows : NULL;
        struct layer l = {.r = &r,
                          .w = given[1] + d * rows * r.input,
                          .rec = given[2] + d * rows * hidden,
                          .wb = bias,
                          .rb = bias ? bias + rows : NULL,
                          .peephole = given[7] ? given[7] + d * 3 * hidden : NULL,
                          .f = r.activation[d]};
        for (int64_t b = 0; b < r.batch; b++) {
            int64_t state = (r.batch_first ? b * r.directions + d : d * r.batch + b) * hidden;
            int64_t length = lengths ? lengths[b] : r.steps;
            size_t size = (size_t)hidden * sizeof(double);
            if (length < 0 || length > r.steps)
                return false;
            memset(h, 0, size);
            memset(cell, 0, size);
            if (given[5])
                memcpy(h, given[5] + state, size);
            if (given[6])
                memcpy(cell, given[6] + state, size);
            for (int64_t i = 0; i < length; i++) {
                int64_t t = reverse ? length - 1 - i : i;
                const double *x =
                    given[0] + (r.batch_first ? b * r.steps + t : t * r.batch + b) * r.input;
                context_poll(c);
                if (r.kind == RECURRENT_LSTM)
                    step_lstm(&l, x, h, now, cell);
                else if (r.kind == RECURRENT_GRU)
                    step_gru(&l, x, h, now, gates);
                else
                    step_rnn(&l, x, h, now);
                memcpy(h, now, size);
                int64_t at = r.batch_first ? (b * r.steps + t) * r.directions + d
                                           : (t * r.directions + d) * r.batch + b;
                memcpy(all + at * hidden, now, size);
            }
            memcpy(last[0] + state, h, size);
            memcpy(last[1] + state, cell, size);
        }
    }
    for (int i = 0; i < n->output_count && i < 3; i++) {
        const double *from = i == 0 ? all : last[i - 1];
        struct elements to;
        if (!n->outputs[i])
            continue;
        if (!elements_new(arena, scratch, in[0]->type, &n->outputs[i]->shape, &to))
            return false;
        for (int64_t k = 0; k < to.count; k++)
            elements_set(&to, k, from[k]);
        out[i] = elements_finish(&to);
    }
    return true;
}

const struct operator_functions lstm_functions = {
    .role = ROLE_STEP, .infer = recurrent_infer, .evaluate = recurrent_evaluate};
const struct operator_functions gru_functions = {
    .role = ROLE_STEP, .infer = recurrent_infer, .evaluate = recurrent_evaluate};
const struct operator_functions rnn_functions = {
    .role = ROLE_STEP, .infer = recurrent_infer, .evaluate = recurrent_evaluate};
