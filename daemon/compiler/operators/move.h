#ifndef COMPILER_MOVE_H
#define COMPILER_MOVE_H
/*
 * Moving elements: the one copy routine behind every operator whose output elements are elements of
 * an input (Reshape, Transpose, Slice, Concat, Pad, Gather, nearest Resize …). Works on any element
 * type by its size; types of less than a byte are spread to one byte an element while they are
 * moved.
 */
#include "daemon/compiler/operators/operator.h"

/* Elements that can be addressed: a tensor's payload, or that of a tensor being made. */
struct elements {
    enum element_type type;
    size_t size; /* bytes of an element here */
    int64_t count;
    uint8_t *bytes;        /* of an input: borrowed, not to be written */
    struct tensor *tensor; /* the one being made; NULL for an input */
    void *payload;         /* its payload, where bytes are only spread from it */
};

/* The elements of t, in scratch where they are not in memory as they are. false for strings. */
bool elements_read(struct context *c, const struct tensor *t, struct arena *scratch,
                   struct elements *e);
/* A new tensor in arena, zeroed, to be filled through e->bytes and then taken by elements_finish().
 * false for strings and for more than 2^31 elements: such a constant is never worth making. */
bool elements_new(struct arena *arena, struct arena *scratch, enum element_type type,
                  const struct shape *shape, struct elements *e);
struct tensor *elements_finish(struct elements *e);
/* to[i] = from[j]; both of one element type. */
void elements_copy(struct elements *to, int64_t i, const struct elements *from, int64_t j);
/* to[i] = number, converted as Cast would. */
void elements_set(struct elements *to, int64_t i, double number);

/* A walk over to, row-major over the extents of its axes:
 *     to[to_start + sum of i_a * to_stride_a] = from[from_start + sum of from_a(i_a)]
 * where from_a(i) is i * from_stride_a, or for an axis with a table from_a[i]; fill where one of
 * these is negative. An axis may be split or merged as suits the operator. */
enum { MOVE_AXES = 2 * MAX_AXES };
struct move {
    int axes;
    int64_t extent[MOVE_AXES], to_stride[MOVE_AXES], from_stride[MOVE_AXES];
    const int64_t
        *from[MOVE_AXES]; /* a table of extent entries, in elements; NULL: by from_stride */
    int64_t to_start, from_start;
    const void
        *fill; /* one element of the type's size here; NULL: such elements are left as they are */
};

/* Appends an axis, outermost first, that goes through from by a stride (0: repeats; may be
 * negative). */
void move_axis(struct move *m, int64_t extent, int64_t to_stride, int64_t from_stride);
/* Appends an axis by a table, which belongs to the caller and must live until the move is done. */
void move_axis_table(struct move *m, int64_t extent, int64_t to_stride, const int64_t *from);
void move_elements(struct context *c, const struct move *m, struct elements *to,
                   const struct elements *from);
/* Some places of one axis, `length` long between outer and inner elements: number i of them has the
 * elements that begin at table[i] in a row of from (its index times inner). */
void move_chosen(struct context *c, int64_t outer, int64_t length, int64_t inner,
                 const int64_t *table, int64_t count, struct elements *to,
                 const struct elements *from);
/* from[i] = start + the sum of index_a * stride_a, where index is that of element at[i] of a
 * row-major tensor of shape s. */
void trace_strides(const struct shape *s, const int64_t *strides, int64_t start,
                   struct positions at, int64_t *from);
/* The same of what broadcasts from `from_shape` to `s` by NumPy's rule. */
void trace_broadcast(const struct shape *s, const struct shape *from_shape, struct positions at,
                     int64_t *from);
/* trace() (operator.h) of what only gives its input another shape. */
bool trace_same(struct node *n, int output, struct positions at, int *slot, int64_t *from);
/* The index of each axis of a row-major tensor of shape s of its element number at. */
void trace_index(const struct shape *s, int64_t at, int64_t index[MAX_AXES]);
/* Row-major strides, in elements. */
void move_strides(const struct shape *s, int64_t strides[MAX_AXES]);
/* A copy of t with another shape of as many elements. NULL for strings, and where the counts
 * differ. */
struct tensor *move_reshaped(struct context *c, const struct tensor *t, const struct shape *shape,
                             struct arena *arena);

#endif
