#ifndef COMPILER_WALK_H
#define COMPILER_WALK_H
/*
 * Loops over tensors of any number of axes, and the elements that they read and write: what the
 * reference engine's operators share. Strides, offsets and counts are in elements.
 */
#include "daemon/compiler/operators/operator.h"

enum {
    WALK_OPERANDS = 4, /* tensors that one walk can follow */
    WALK_AXES = 16,    /* axes of a walk: Einsum has more than any of its operands */
};

/*
 * A walk in row-major order, one run of evenly spaced elements after the other. Axes that every
 * operand lets merge are merged, so operands of one shape are a single run.
 *
 *     while (walk_next(&w))
 *         for (int64_t i = 0; i < w.run; i++)
 *             out[w.position + i] = a[w.at[0] + i * w.step[0]] + b[w.at[1] + i * w.step[1]];
 */
struct walk {
    int64_t run;                 /* elements of a run */
    int64_t position;            /* of the run's first element in row-major order of the walk */
    int64_t at[WALK_OPERANDS];   /* of the run's first element in each operand */
    int64_t step[WALK_OPERANDS]; /* from one element of the run to the next */
    /* private */
    int operands, axes;
    bool started, empty;
    int64_t dim[WALK_AXES], index[WALK_AXES], stride[WALK_OPERANDS][WALK_AXES];
};

/* Over dims with any strides; stride[k] belongs to operand k. */
void walk_init(struct walk *w, int axes, const int64_t *dim, int operands,
               const int64_t (*stride)[WALK_AXES]);
/* Over the elements of out, following operands that broadcast to it by NumPy's rule. */
void walk_broadcast(struct walk *w, const struct shape *out, int operands,
                    const struct shape *const *shapes);
/* On to the first or next run; false at the end. */
bool walk_next(struct walk *w);
/* Elements from one index of each axis to the next in a row-major tensor of shape s. */
void walk_strides(const struct shape *s, int64_t *stride);

/*
 * A tensor as lines: the elements that differ only in their indices along certain axes. Element j
 * of line i is at start[i] + offset[j]; lines come in row-major order of the other axes.
 */
struct lines {
    int64_t count, length;
    const int64_t *start, *offset;
};
/* axes: bit i set where axis i runs along the lines. */
void lines_init(struct lines *l, const struct shape *s, unsigned axes, struct arena *scratch);

/* Whether elements of type are computed with as float64 (false: as int64). */
bool type_is_real(enum element_type type);
/* Stores count numbers from element at on, converted to type. */
void payload_store(void *payload, enum element_type type, int64_t at, const double *numbers,
                   int64_t count);
/* A tensor for output i of n, in the type and shape that were inferred; *payload is where to write.
 */
struct tensor *output_new(const struct node *n, int i, struct arena *arena, void **payload);

#endif
