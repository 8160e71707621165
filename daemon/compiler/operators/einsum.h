#ifndef COMPILER_EINSUM_H
#define COMPILER_EINSUM_H
/* An Einsum's equation, resolved against the shapes of its operands. */
#include "daemon/compiler/operators/walk.h"

enum {
    EINSUM_OPERANDS = WALK_OPERANDS,
    EINSUM_LABELS = 52 + MAX_AXES, /* letters, then the axes of the ellipsis from its last on */
};

struct einsum_term {
    int axes;
    int label[MAX_AXES]; /* of each axis */
};

struct einsum {
    int operands, ellipsis; /* how many axes the longest ellipsis stands for */
    struct einsum_term operand[EINSUM_OPERANDS], output;
    int64_t extent[EINSUM_LABELS]; /* -1: not known */
    int labels, label[WALK_AXES];  /* all labels: those of the output in order, then the summed */
};

/* shapes: of each operand, with a known number of axes. Reports what breaks the definition; false
 * then. */
bool einsum_read(struct node *n, const struct shape *const *shapes, struct einsum *e);

#endif
