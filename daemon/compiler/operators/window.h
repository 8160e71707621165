#ifndef COMPILER_WINDOW_H
#define COMPILER_WINDOW_H
/*
 * Sliding windows over the spatial axes (all from axis 2 on) of a tensor [N, C, D1, …]: what Conv,
 * ConvTranspose and the pools share. Source: onnx.ai/onnx/operators, Conv 22, ConvTranspose 22,
 * MaxPool 22, AveragePool 22.
 */
#include "daemon/compiler/operators/walk.h"

enum { WINDOW_AXES = MAX_AXES - 2 };

/* Per spatial axis; extents of the input and the output are -1 where they are not known. */
struct window {
    int axes;
    int64_t in[WINDOW_AXES], out[WINDOW_AXES];
    int64_t kernel[WINDOW_AXES], stride[WINDOW_AXES], dilation[WINDOW_AXES];
    int64_t begin[WINDOW_AXES], end[WINDOW_AXES]; /* padding */
    int64_t more[WINDOW_AXES];                    /* transposed: output_padding */
};

/*
 * Reads kernel_shape, strides, dilations, pads, auto_pad and ceil_mode of n. x is the shape of the
 * input, with at least the number of axes known; kernel is the shape of the weights ([_, _, k1, …])
 * or NULL where kernel_shape is required. Reports what breaks the definition; false then.
 */
bool window_read(struct node *n, const struct shape *x, const struct shape *kernel,
                 struct window *w);
/* The same for ConvTranspose with output_padding and output_shape: out is the larger side. */
bool window_read_transposed(struct node *n, const struct shape *x, const struct shape *kernel,
                            struct window *w);
/* Writes what was read back as explicit attributes, without auto_pad and output_shape: the internal
 * form. Only where every extent is known. */
void window_settle(struct node *n, const struct window *w);

/*
 * One element of the kernel, and where it meets the tensor: a walk over the sites that read inside.
 * A site is an element of out (transposed: of in); site s reads the element s * stride + shift of
 * the other side. Operand 0 of the walk is the site, operand 1 what it reads, both offsets in a
 * plane of the spatial axes, to be added to site and read.
 */
struct tap {
    struct walk walk;
    int64_t site, read;
    bool empty;
};
/* All taps in row-major order of the kernel. */
struct tap *window_taps(const struct window *w, bool transposed, int64_t *count,
                        struct arena *scratch);

#endif
