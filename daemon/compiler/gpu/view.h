#ifndef COMPILER_VIEW_H
#define COMPILER_VIEW_H
/*
 * What a view operator answers: which element of which operand an element of its output is. It may
 * come from one of several pieces (Concat, Pad): the first whose conditions all hold. The last
 * piece of a list must hold whenever the others do not.
 */
#include "daemon/compiler/gpu/index.h"
#include "daemon/compiler/graph/shape.h"

enum { MOST_CONDITIONS = 2 * MAX_AXES };

struct piece {
    int input; /* operand slot; -1: the number fill */
    float fill;
    const struct index *at[MAX_AXES]; /* one for each axis of the operand */
    int zero_behind; /* 1 + an axis of the operand: elements behind its end are 0, and are asked for
                        only beside elements of the same cell; 0: none is asked for */
    int condition_count;
    struct condition conditions[MOST_CONDITIONS];
};

struct access {
    struct index_pool *pool;
    struct arena *arena;
    struct piece *pieces;
    int count, room;
};

/* A new last piece of a. */
struct piece *access_piece(struct access *a, int input);
/* The piece holds only where lo <= of <= hi. Written in the simplest form, so that equal conditions
 * of neighbouring elements are the same; dropped where it always holds. */
void piece_when(struct access *a, struct piece *p, const struct index *of, int64_t lo, int64_t hi);

#endif
