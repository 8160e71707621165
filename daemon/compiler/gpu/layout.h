#ifndef COMPILER_LAYOUT_H
#define COMPILER_LAYOUT_H
/*
 * Where the elements of a value lie in a texture. One axis is packed in fours into the components
 * of a cell, some axes are merged on x, the others on y:
 *
 *     cell = (x + (c / 4) * lengthX, y), component c % 4
 *
 * with x and y row-major over their axes and c the index along the packed axis. An inner layout
 * whose row would be too wide is folded: cell (X, Y) lies at (X % fold, Y * rows + X / fold).
 */
#include "daemon/compiler/gpu/index.h"
#include "daemon/compiler/graph/shape.h"

enum { LARGEST_SIDE = 16384 };

struct layout {
    int packed; /* axis in components; -1: none, the value sits in component r */
    int x_count, y_count;
    int x[MAX_AXES], y[MAX_AXES];
    int64_t length_x; /* product of the axes on x */
    int64_t groups;   /* ceil(extent of packed / 4) */
    int64_t fold;     /* width after folding, 0: not folded */
    int64_t rows;     /* textures rows a folded row takes */
    int64_t width, height;
};

/* The layout with that packed axis for an inner value: the last other axis longer than 1 on x, the
 * rest on y; a single one on y; folded where too wide. false: no layout keeps both sides within
 * LARGEST_SIDE. */
bool layout_inner(const struct shape *s, int packed, struct layout *l);
/* The layout at the model's edge (rulings.md): line: a 1-D convolution or pooling reads or writes
 * it. */
void layout_edge(const struct shape *s, bool line, struct layout *l);
bool layout_equal(const struct layout *a, const struct layout *b);

/* Cell and component of element at[]; indices beyond an extent must have been limited already,
 * except along the packed axis up to the end of its last group. */
void layout_cell(struct index_pool *p, const struct layout *l, const struct shape *s,
                 const struct index *const *at, const struct index **x, const struct index **y,
                 const struct index **component);
/* The same in numbers, for the host side of simulation. */
void layout_place(const struct layout *l, const struct shape *s, const int64_t *at, int64_t *x,
                  int64_t *y, int *component);

/* The sentence over an edge buffer: "Layout (shape [1, 3, 64, 64]): y is …". */
void layout_print(struct strbuf *s, const struct layout *l, const struct shape *shape);

#endif
