#ifndef COMPILER_INDEX_H
#define COMPILER_INDEX_H
/*
 * Integer expressions over a kernel's variables: which element, which cell, which component.
 *
 * An index is a constant plus a sum of factors times atoms; an atom is a variable of the kernel, or
 * a quotient, a remainder or a clamped value of an index, by constants. Indices are immutable and
 * interned in their pool, so two equal ones are the same pointer, and everything that can be known
 * from the ranges of the variables is simplified when an index is made: (4 * band + 2) / 4 is band.
 * That is what makes views compose: the four components of a cell turn out to lie in one cell of
 * the source, or not.
 *
 * All arithmetic is exact and ranges are kept within int32, as the kernel's int holds them;
 * quotients and remainders are of non-negative numbers once printed.
 */
#include "daemon/compiler/strbuf.h"
#include <stdbool.h>
#include <stdint.h>

struct index;
struct index_pool;

struct index_pool *index_pool_new(struct arena *arena);

const struct index *index_constant(struct index_pool *p, int64_t number);
/* A variable that the kernel declares under name; takes the values lo … hi. Two variables of one
 * name and range are the same. The same name may be given a narrower range inside an `if` that
 * proves it. */
const struct index *index_variable(struct index_pool *p, const char *name, int64_t lo, int64_t hi);
const struct index *index_add(struct index_pool *p, const struct index *a, const struct index *b);
const struct index *index_plus(struct index_pool *p, const struct index *a, int64_t number);
const struct index *index_times(struct index_pool *p, const struct index *a, int64_t factor);
/* Floor of a / by, by > 0. */
const struct index *index_div(struct index_pool *p, const struct index *a, int64_t by);
/* a - by * floor(a / by), by > 0. */
const struct index *index_mod(struct index_pool *p, const struct index *a, int64_t by);
/* a limited to lo … hi. */
const struct index *index_clamp(struct index_pool *p, const struct index *a, int64_t lo,
                                int64_t hi);

int64_t index_lo(const struct index *a);
int64_t index_hi(const struct index *a);
bool index_is_constant(const struct index *a);
/* The greatest number that surely divides a (0 for the constant 0). */
int64_t index_multiple(const struct index *a);
/* The number m with which a = m * b + constant would hold if one does, by b's first term; 0: there
 * is none. */
int64_t index_ratio(const struct index *a, const struct index *b);
/* a without its constant and common factor; *lo … *hi, the range asked of a, becomes the one asked
 * of the result. */
const struct index *index_primitive(struct index_pool *p, const struct index *a, int64_t *lo,
                                    int64_t *hi);
/* True where a is one variable, or a constant: nothing to compute. */
bool index_is_plain(const struct index *a);

/* The greatest depth_of() of all variables in a; 0 where there is none. */
int index_deepest(const struct index *a, int (*depth_of)(void *state, const char *name),
                  void *state);

/* C# text of a, of type int; in parentheses where it is a sum and tight is set. */
void index_print(struct strbuf *s, const struct index *a, bool tight);

/* lo <= of <= hi */
struct condition {
    const struct index *of;
    int64_t lo, hi;
};
/* 1: always holds, 0: never, -1: depends. */
int condition_known(const struct condition *c);
void condition_print(struct strbuf *s, const struct condition *c);

#endif
