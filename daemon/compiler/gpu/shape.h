#ifndef COMPILER_GPU_SHAPE_H
#define COMPILER_GPU_SHAPE_H
/*
 * In which blocks of cells a kernel is run, and what is then the same for all cells of a block
 * ("uniform": computed once) and what differs ("varying": an array over the block's lanes).
 *
 * A block is a rectangle of at most SHAPE_LANES cells, lanes row by row. Blocks never cross a
 * multiple of `band_x` in x or of `band_y` in y, so that `id.x / K` is uniform for every K that is
 * a multiple of band_x; with one row id.y is uniform, with one column id.x.
 */
#include "daemon/compiler/gpu/flatten.h"

enum { SHAPE_LANES = 256 };

struct shape {
    int width, height;  /* of the destination */
    int band_x, band_y; /* at least 1 */
    int columns, rows;  /* of a block, at most */
};

enum { SHAPE_CANDIDATES = 12 };

/* The shapes worth comparing for a destination of width x height; returns how many. */
int shape_candidates(const struct flat *f, int width, int height,
                     struct shape candidates[SHAPE_CANDIDATES]);

/* Sets `varying` of every expression of the tree, and of each local in varying[slot]. */
void shape_mark(struct arena *arena, const struct shape *shape, struct flat *f, bool *varying);

/* 0 for id.x, 1 for id.y, also through a local that only ever holds it; else -1. */
int cell_axis(const struct flat *f, const struct expression *e);
/* By how much an int grows from a lane to the next within a row: 0, 1, … or -1 where unknown. */
int shape_stride(const struct shape *shape, const struct flat *f, const struct expression *e);

#endif
