#ifndef COMPILER_RULES_H
#define COMPILER_RULES_H
/*
 * Rules that many operators share: what infer() derives from inputs alike, and how upgrade() turns
 * the attributes of an older opset into inputs.
 */
#include "daemon/compiler/operators/operator.h"

/* Output 0 has the type and the shape of input 0. */
void infer_like_input(struct node *n);
/*
 * The element type that inputs first … last share (absent ones left out). Where they differ and all
 * are constants they meet in the type of higher precision; else the difference is reported and the
 * answer is false. TYPE_UNKNOWN where none is known.
 */
bool infer_common_type(struct node *n, int first, int last, enum element_type *type);
/* What all present inputs broadcast to by NumPy's rule; false where they do not (reported). */
bool infer_broadcast(struct node *n, struct shape *shape);
/* Whether input is [1, …, length, …, 1] or a scalar: checks that it broadcasts to shape without
 * widening it; reports what (the input's name in the definition) otherwise. Unknown shapes pass. */
bool infer_broadcasts_to(struct node *n, int input, const struct shape *shape, const char *what);
/* Checks that input, where present and known, is of one axis and of that length (-1: any). */
bool infer_vector(struct node *n, int input, int64_t length, const char *what);

/* Moves a number from an attribute to a scalar float32 input, where the attribute is there. */
void upgrade_float_to_input(struct graph *g, struct node *n, const char *attribute, int slot);

#endif
