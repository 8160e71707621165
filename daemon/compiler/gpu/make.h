#ifndef COMPILER_MAKE_H
#define COMPILER_MAKE_H
/*
 * Nodes that decompositions put in the place of another: each is a part of the layer `n`, is
 * inferred at once, and is given back as its first output. Over constants they are recipes.
 */
#include "daemon/compiler/graph/graph.h"

/* Infers r, which was just made. */
struct value *make_inferred(struct node *r);
/* A node without attributes yet and not inferred: for those that need some. */
struct node *make_node(struct node *n, const char *op, int count, struct value *const *inputs);
struct value *make_unary(struct node *n, const char *op, struct value *a);
struct value *make_binary(struct node *n, const char *op, struct value *a, struct value *b);
struct value *make_where(struct node *n, struct value *condition, struct value *a, struct value *b);
struct value *make_number(struct node *n, float x);
/* v * factor, v itself for 1. */
struct value *make_scaled(struct node *n, struct value *v, double factor);
/* v with other dims of the same number. */
struct value *make_reshaped(struct node *n, struct value *v, const struct shape *s);
struct value *make_transposed(struct node *n, struct value *v, int count, const int64_t *perm);
/* Elements from … to - 1 along axis. */
struct value *make_sliced(struct node *n, struct value *v, int axis, int64_t from, int64_t to);
struct value *make_concat(struct node *n, int axis, int count, struct value *const *parts);
/* before zeros (or fill) in front of axis and after behind it. */
struct value *make_padded(struct node *n, struct value *v, int axis, int64_t before, int64_t after,
                          float fill);
/* v, and zeros behind its last element along axis, until there are as many as cells hold: where it
 * lies in fours along axis they are its own cells. */
struct value *make_whole_cells(struct node *n, struct value *v, int axis);
/* Element indices[i] along axis. */
struct value *make_gathered(struct node *n, struct value *v, int axis, int64_t count,
                            const int64_t *indices);
/* A reduction along one axis, which stays with length 1. */
struct value *make_reduced(struct node *n, const char *op, struct value *v, int axis);
/* A value of one entry a channel, so that it broadcasts along axis of a value with so many axes. */
struct value *make_per_channel(struct node *n, struct value *v, int axes, int axis);
/* Element index of the last axis of statistics. */
struct value *make_component(struct node *n, struct value *statistics, int index);
struct value *make_statistics(struct node *n, const char *op, struct value *x, int count,
                              const int64_t *axes, float epsilon, bool rms);
/* v, whose elements are known to lie within lo … hi by what they are computed for. */
struct value *make_within(struct value *v, double lo, double hi);
/* v in a texture of its own: what reads it again and again, or from step to step, shall not compute
 * it again. */
struct value *make_stored(struct node *n, struct value *v);
/* from … to - 1, in the job's arena. */
int64_t *make_axes(struct context *c, int from, int to);

/* ---- decompositions of several outputs or of a family of their own: out[i] for each wanted
 * output; false: it stays ---- */
bool decompose_attention(struct node *n, struct value **out);
struct value *decompose_depth(struct node *n);    /* NULL: it stays */
struct value *decompose_constant(struct node *n); /* NULL: it stays */
struct value *decompose_order(struct node *n);    /* NULL: it stays */
bool decompose_rotary(struct node *n, struct value **out);
bool decompose_recurrent(struct node *n, struct value **out);
bool decompose_einsum(struct node *n, struct value **out);
bool decompose_det(struct node *n, struct value **out);
bool decompose_moved(struct node *n,
                     struct value **out); /* elements of one input, by constant indices */
bool decompose_loss(struct node *n, struct value **out);
bool decompose_one_hot(struct node *n, struct value **out);
bool decompose_many(struct node *n, struct value **out); /* more operands than a kernel reads */
bool decompose_scatter(struct node *n, struct value **out);
bool decompose_col2im(struct node *n, struct value **out);
bool decompose_dft(struct node *n, struct value **out);
bool decompose_stft(struct node *n, struct value **out);
bool decompose_affine_grid(struct node *n, struct value **out);
bool decompose_cumulative(struct node *n, struct value **out);

#endif
