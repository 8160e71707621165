#ifndef COMPILER_ARGUMENTS_H
#define COMPILER_ARGUMENTS_H
/*
 * Inputs that say how an operator works (shapes, axes, repeats, scales …) and have to be constants
 * (R5), as infer reads them; and what upgrade needs to turn old attributes into such inputs.
 */
#include "daemon/compiler/operators/operator.h"

enum argument {
    ARGUMENT_ABSENT,  /* left out */
    ARGUMENT_KNOWN,   /* a constant: *numbers and *count are set */
    ARGUMENT_UNKNOWN, /* not a constant (infer_graph() reports that where it is an error) */
};

enum argument argument_ints(struct node *n, int slot, const int64_t **numbers, int *count);
enum argument argument_floats(struct node *n, int slot, const float **numbers, int *count);
/* One int64, where the input is a constant of exactly one element; else *number keeps what it
 * holds, and a constant of another count is a fault (false). */
bool argument_int(struct node *n, int slot, enum argument *state, int64_t *number);

/* Normalises count axes over `axes` dimensions into out; reports an axis that lies outside or
 * stands twice, then false. */
bool argument_axes(struct node *n, const int64_t *list, int count, int axes, int out[MAX_AXES]);
/* Reports a shape with more than MAX_AXES axes or with more elements than can be counted, then
 * false. */
bool argument_shape(struct node *n, const int64_t *dims, int count, struct shape *out);
/* Reports where known dims of out have an overflowing product, then false. */
bool argument_fits(struct node *n, const struct shape *out);

/* The attribute (a list of ints) becomes constant input slot, where there is such an attribute. */
void argument_from_ints(struct graph *g, struct node *n, const char *attribute, int slot);
/* The attribute (one int) becomes constant input slot of one element. */
void argument_from_int(struct graph *g, struct node *n, const char *attribute, int slot);
/* Makes n a node of another operator's newest form. */
void argument_rename(struct graph *g, struct node *n, const char *op_type);

#endif
