#ifndef COMPILER_ZEROS_H
#define COMPILER_ZEROS_H
/*
 * Numbers that 16 bits hold as 0 though they are not: which operators make them, and which cannot
 * do with them (zeros.def).
 */
#include "daemon/compiler/graph/graph.h"

/* Not 0, and 0 in 16 bits. */
bool is_tiny(double x);

/* The lower limit of n, a Clip, where that is tiny and positive (in some style); else 0. */
double zeros_limit(const struct node *n);
/* A tiny constant with which n guards its result against 0; else 0. */
double zeros_guard(const struct node *n);
/* Whether n cannot do with a 0 in that slot; *words (where not NULL): what it does with it. */
bool zeros_minded(const struct node *n, int slot, const char **words);
/* Whether n, neither a view nor elementwise, makes 0 of nothing but zeros. */
bool zeros_carried(const struct node *n);

/* Whether v is a Clip's result whose tiny limit some reader cannot do without: as 16 bits have it
 * it would be another, so whoever reads it has to compute it. */
bool zeros_matter(const struct value *v);

#endif
