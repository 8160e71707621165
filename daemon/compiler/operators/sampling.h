#ifndef COMPILER_SAMPLING_H
#define COMPILER_SAMPLING_H
/* Where GridSample reads. Source: ONNX GridSample-22 (and PyTorch's grid_sample, which it follows).
 */
#include "daemon/compiler/graph/graph.h"

enum grid_mode { GRID_NEAREST, GRID_LINEAR, GRID_CUBIC };
enum grid_padding { GRID_ZEROS, GRID_BORDER, GRID_REFLECTION };
struct grid {
    enum grid_mode mode;
    enum grid_padding padding;
    bool align_corners;
};
bool grid_read(const struct node *n, struct grid *g, const char **why);
/* A normalised coordinate (-1 to 1) as a position along an axis of that length, rounded for
 * GRID_NEAREST, then padded: clamped or reflected. */
double grid_position(const struct grid *g, double coordinate, int64_t length);
/* An integer position as the index to read; -1: zero. */
int64_t grid_index(const struct grid *g, int64_t position, int64_t length);

#endif
