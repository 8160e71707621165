#ifndef COMPILER_LIMITS_H
#define COMPILER_LIMITS_H
/*
 * What 16 bits cannot hold, where the answer would be another one: errors (R16, R17, R19, R20).
 * What is merely limited when it is stored is a warning, of the plan (gpu/excess.h). And what is
 * held as 16 bits though the model has it in fewer: warnings (R11).
 *
 * Looks at a graph after all passes, before it is decomposed (R20a): constants are folded,
 * BatchNormalization is in its producer, norms are operators that compute in 32 bits inside. Values
 * count as 16-bit there, but for those within a chain (limits/chain.h).
 */
#include "daemon/compiler/graph/graph.h"
#include "daemon/compiler/graph/half.h"

/* All of the below. The graph is sorted and free of errors, its numbers are those of one style;
 * nothing is changed. Says nothing of 8-bit models. */
void report_limits(struct graph *g);
/* TUKI0143 (R13): layers whose results jump where what they read changes by a rounding; one note.
 * For a graph that no error is left in; says nothing of 8-bit models. */
void report_jumps(struct graph *g);

struct chains;
/* TUKI0136 (R16): constants of Add, Sub, Sum, Mean, Mul, Div and BatchNormalization. */
void report_constants(const struct chains *c);
/* TUKI0137 (R17): masks before Softmax that leave nothing of a row. */
void report_masks(struct graph *g);
/* TUKI0138 (R19) and TUKI0139 (R20): divisors that 16 bits hold as 0. */
void report_divisors(const struct chains *c);
/* TUKI0123 (R11): weights of 8 or 4 bits that are held as 16; one a layer, with the reason. */
void report_weights(struct graph *g);

/* Whether constant input slot of n may be a mask for Softmax: added before it, alone or together
 * with a computed mask, or chosen by Where right before it. What may stand between is reshaping. */
bool is_softmax_mask(const struct node *n, int slot);

#endif
