#ifndef COMPILER_RANGE_H
#define COMPILER_RANGE_H
/*
 * How large values become: an interval for each value, from those of what it is computed from.
 *
 * A row's range function (operator.h) is asked about intervals of operands of any size, infinite
 * ones too, and answers with one that holds whatever its kernel may compute from numbers in them,
 * but for float32 rounding: 16 bits round what is below 65520 to 65504, and that slack (2^-12) is
 * more than expressions lose. Sums of many terms and weights rounded to 16 bits lose more; their
 * functions count that in. How fast a result grows, and from which size of the input on it is too
 * large, is found by asking the same functions about several sizes (gpu/range.c).
 *
 * NaN is in no interval (R15): 0 / 0, roots of negative numbers and the like are not considered.
 */
#include "daemon/compiler/graph/graph.h"

/* Why a result may leave what 16 bits hold although its operands do not (R12), row by row in
 * operators/excess.def. EXCESS_NONE: it grows as they do. */
enum excess {
    EXCESS_NONE,
#define EXCESS(name, reason, advice) EXCESS_##name,
#include "daemon/compiler/operators/excess.def"
#undef EXCESS
    EXCESS_COUNT
};

struct range {
    double lo, hi; /* lo <= hi; both may be infinite */
    double usual;  /* how large its elements probably are, for a model input within -4 … 4 */
    /* The bounds add up worst cases (a sum, a normalised row): no input reaches them in all
     * elements at once, so that a sum over such elements has bounds that say nothing. */
    bool summed;
    bool sums;          /* … and it is this operator that adds up */
    enum excess excess; /* of the operator that computes it: why it may be large; EXCESS_NONE where
                           it grows as its operands do */
};

/* lo … hi, elements of usual size at most the greatest of the two. */
struct range range_make(double lo, double hi);
/* -inf … inf */
struct range range_unbounded(void);
/* The greatest magnitude. */
double range_size(const struct range *r);
struct range range_hull(struct range a, struct range b);
/* r as an operand: what its operator has said about itself is forgotten. */
struct range range_operand(struct range r);
/* r limited to lo … hi. */
struct range range_limit(struct range r, double lo, double hi);
/* Sums, differences, products and quotients of any two elements; 0 times anything is 0. */
struct range range_add(struct range a, struct range b);
struct range range_subtract(struct range a, struct range b);
struct range range_multiply(struct range a, struct range b);
struct range range_divide(struct range a, struct range b);
struct range range_negate(struct range a);
struct range range_scale(struct range a, double factor);
/* |x| */
struct range range_absolute(struct range a);
/* x^e for x in a (of its magnitude where e is no whole number and x is negative). */
struct range range_power(struct range a, double e);
/* The sum of count terms, each of which is in a; and of any number of terms up to count. */
struct range range_sum(struct range a, double count);
struct range range_partial_sum(struct range a, double count);
/* The mean of count elements. */
struct range range_mean(struct range a, double count);
/* The product of count factors, each of which is in a. */
struct range range_product(struct range a, double count);

/* Sums of products of `terms` elements in a with the weights w, whose elements lie as [outer, rows,
 * inner]: those of a row make one sum (tensor_row_sum()). There are `outputs` different sums. */
struct range range_weighted(struct context *c, struct range a, struct tensor *w, int64_t outer,
                            int64_t rows, int64_t inner, double terms, double outputs);

/* Whether a constant in that slot is weights of a sum: range_weighted() measures them, and their
 * elements are not looked at one by one. */
bool range_is_measured(const struct node *n, int slot);

/* Of a constant: its least and greatest element, as they are after rounding to 16 bits. What is
 * neither in memory nor in the model's file and has more than 2^24 elements is not looked at:
 * anything 16 bits hold, 1 in the usual case. */
struct range range_constant(struct context *c, const struct value *v);

/* Range of output number output of n. in[i] is the range of input i (anything where it is absent or
 * holds indices and the like), as range_operand() gives it. */
void node_range(const struct node *n, int output, const struct range *in, struct range *out);

/* The definition of n, a unary operator of elementwise.def, at x (elementwise.c). */
double elementwise_at(const struct node *n, double x);

/* Row functions that serve several families. */
void range_same(const struct node *n, int output, const struct range *in, struct range *out);
void range_resize(const struct node *n, int output, const struct range *in, struct range *out);
void range_elementwise(const struct node *n, int output, const struct range *in, struct range *out);

#endif
