#ifndef COMPILER_REGIONS_H
#define COMPILER_REGIONS_H
/* What the two halves of MaxRoiPool share. */
#include "daemon/compiler/operators/operator.h"

enum { LARGEST_POOLED = 1 << 14 };

/* Regions are taken for so long at most, and to start so far outside at most: then a window's
 * numbers, which are up to `pooled` times that, are exact in int32. */
static inline double pooled_most(int64_t pooled)
{
    return (double)((1 << 30) / (pooled + 1) < 1 << 20 ? (1 << 30) / (pooled + 1) : 1 << 20);
}

/* The first row and column of a region of constants (item, x1, y1, x2, y2), and how many of them it
 * has: whole numbers. */
void pooled_region(const struct node *n, const float *region, double start[2], double length[2]);

#endif
