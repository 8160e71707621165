#ifndef COMPILER_RESIZE_H
#define COMPILER_RESIZE_H
/*
 * The coordinates of Resize (opset 19, and through its upgrade every older form and Upsample):
 * which input elements an output index sees along one axis, and with what weights. Evaluation and
 * kernels both come here.
 *
 * Resize works axis by axis: the result along several axes is the product of the weights along
 * each. Formulas: ONNX Resize-19, attributes coordinate_transformation_mode, nearest_mode, mode,
 * antialias.
 */
#include "daemon/compiler/graph/graph.h"

enum resize_mode { RESIZE_NEAREST, RESIZE_LINEAR, RESIZE_CUBIC };
enum resize_transform {
    RESIZE_HALF_PIXEL,
    RESIZE_HALF_PIXEL_SYMMETRIC,
    RESIZE_PYTORCH_HALF_PIXEL,
    RESIZE_TF_HALF_PIXEL_FOR_NN, /* opsets 11 and 12 only */
    RESIZE_ALIGN_CORNERS,
    RESIZE_ASYMMETRIC,
    RESIZE_CROP, /* tf_crop_and_resize */
};
enum resize_nearest {
    RESIZE_PREFER_FLOOR,
    RESIZE_PREFER_CEIL,
    RESIZE_FLOOR,
    RESIZE_CEIL,
    RESIZE_SIMPLE, /* Upsample and Resize-10: floor where the axis grows, ceil where it shrinks */
};

struct resize_axis {
    bool resized; /* false: every element is its own */
    bool by_size; /* scale is to / from exactly (sizes were given) */
    int64_t from, to;
    double scale;
    double start, end; /* region of interest, of RESIZE_CROP */
};

struct resize {
    enum resize_mode mode;
    enum resize_transform transform;
    enum resize_nearest nearest;
    bool exclude_outside, antialias;
    double cubic_a;
    double extrapolation; /* RESIZE_CROP: what lies outside */
    int axes;
    struct resize_axis axis[MAX_AXES];
};

/* Reads n, whose shape-like inputs are constants, over an input of known shape. false where they
 * are not constants or do not fit; *why (static text) then says what does not, or is NULL. */
bool resize_read(const struct node *n, const struct shape *input, struct resize *r,
                 const char **why);
/* Where output index i lies along the axis, in input elements. */
double resize_source(const struct resize *r, int axis, int64_t i);
/* Whether that lies outside of the input, so that the extrapolation value stands there. */
bool resize_outside(const struct resize *r, int axis, int64_t i);
/* RESIZE_NEAREST: the input index. */
int64_t resize_nearest_index(const struct resize *r, int axis, int64_t i);
/* At most so many weights an output index has along the axis (1 where it is not resized). */
int resize_taps_most(const struct resize *r, int axis);
/* Input indices *first … *first + count - 1 (each to be clamped into the input, which repeats its
 * edge) and their weights, which add up to 1 and are 0 outside the input with exclude_outside.
 * Returns count. */
int resize_taps(const struct resize *r, int axis, int64_t i, int64_t *first, double *weights);

#endif
