#ifndef COMPILER_RECURRENT_H
#define COMPILER_RECURRENT_H
/* The dimensions, activations and options of LSTM, GRU and RNN. Source: ONNX LSTM-22, GRU-22,
 * RNN-22. */
#include "daemon/compiler/graph/graph.h"

enum recurrent_kind { RECURRENT_RNN, RECURRENT_GRU, RECURRENT_LSTM };
enum recurrent_function {
#define ACTIVATION(id, name, has_alpha, has_beta, alpha, beta) ACTIVATION_##id,
#include "daemon/compiler/operators/recurrent.def"
#undef ACTIVATION
    ACTIVATION_COUNT
};
struct recurrent_activation {
    enum recurrent_function function;
    double alpha, beta;
};

struct recurrent {
    enum recurrent_kind kind;
    int gates; /* blocks of W and R: RNN 1, GRU 3 (z r h), LSTM 4 (i o f c) */
    int directions;
    bool reverse; /* of a single direction */
    bool batch_first;
    bool linear_before_reset, input_forget;
    double clip; /* infinite: none */
    int64_t steps, batch, input, hidden;
    struct recurrent_activation activation[2][3]; /* of each direction: f, g, h */
};

/* false where shapes or attributes do not fit; *why is static text then, or NULL where shapes are
 * unknown. */
bool recurrent_read(const struct node *n, struct recurrent *r, const char **why);
double recurrent_activate(const struct recurrent_activation *a, double x);

#endif
