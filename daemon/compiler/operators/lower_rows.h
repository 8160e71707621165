#ifndef COMPILER_LOWER_ROWS_H
#define COMPILER_LOWER_ROWS_H
/*
 * Rows: the elements of a value that one number is made of, by a reduction or by the statistics
 * that Softmax and the normalisations share.
 */
#include "daemon/compiler/operators/lower.h"

/* What one output element sums over: some axes of x, the others fixed. */
struct row {
    struct value *x;
    bool reduced[MAX_AXES];
    int along; /* reduced axis that is read in fours */
    int64_t count;
    struct value *whole; /* NULL, or what x views with its channels in groups (row_choose()) */
};

/* Reduced axes of n: constant input 1, else attribute axes, else (with noop_with_empty_axes) none
 * or all. */
void row_read(const struct node *n, struct row *r);
/* Element of x for output element at[], reduced axes 0; keeps: the output has them. */
void row_start(struct kernel *k, const struct row *r, bool keeps, const struct index *const *at,
               const struct index **out);
/* Sets r->along to the axis along which four elements take the fewest fetches, given where
 * everything lies; with masked also r->whole, where groups of channels do not come in fours and are
 * best read in cells some of whose components are another group's. */
void row_choose(struct kernel *k, struct row *r, bool masked);
/* Cells that hold `count` channels from a multiple of it on, at most. */
int64_t cells_spanned(int64_t count, int64_t groups);

typedef void row_body(struct kernel *k, const char *const *texts, int count, const void *state);
/* The loops over one row, four elements along r->along at a time; then those over rests shorter
 * than four. body() writes what is done with them. */
void row_loop(struct kernel *k, const struct row *r, const struct index *const *start,
              row_body *body, const void *state);

/* Output elements whose rows are read side by side: the axis of x along which they lie, or -1. */
int row_side_by_side(struct kernel *k, const struct row *r, const struct lanes *starts);
/* The loops over several rows at once, one element of each. */
void row_loop_beside(struct kernel *k, const struct row *r, const struct lanes *starts,
                     row_body *body, const void *state);

#endif
