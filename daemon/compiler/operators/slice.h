#ifndef COMPILER_SLICE_H
#define COMPILER_SLICE_H
/* What Slice and CenterCropPad take along each axis. For nodes that were inferred, with known
 * shapes. */
#include "daemon/compiler/graph/graph.h"

/* Index i of the output is index start + i * step of the input. */
struct slice {
    int64_t start[MAX_AXES], step[MAX_AXES], extent[MAX_AXES];
};

/* false where starts, ends, axes or steps are not constant. Clamped after the definition: an output
 * that is empty has extent 0. */
bool slice_read(const struct node *n, const struct shape *input, struct slice *slice);

/* CenterCropPad along an axis of so many elements that becomes `to`: index i of the output is index
 * i + the result of the input, or 0 where that lies outside. */
int64_t crop_offset(int64_t from, int64_t to);

#endif
