#ifndef COMPILER_QUANTIZE_H
#define COMPILER_QUANTIZE_H
/*
 * Which scale and zero point belong to which element, and the layout of MatMulNBits' weights.
 * Sources: ONNX QuantizeLinear-25 and DequantizeLinear-25; com.microsoft MatMulNBits (ONNX Runtime,
 * ContribOperators).
 */
#include "daemon/compiler/graph/graph.h"

/* Element (i0 … ik) of x has the scale number
 *     (i_outer * groups + i_axis / block) * inner + i_inner, one scale for all: 0, one an axis
 * index: i_axis. */
struct quantization {
    enum { QUANTIZED_WHOLE, QUANTIZED_AXIS, QUANTIZED_BLOCKS } kind;
    int axis;       /* QUANTIZED_AXIS and QUANTIZED_BLOCKS: counted from the start */
    int64_t block;  /* QUANTIZED_BLOCKS: elements along the axis that share a scale */
    int64_t length; /* of the axis */
    int64_t groups; /* scales along the axis */
    int64_t inner;  /* elements of x behind the axis */
};

/* For QuantizeLinear and DequantizeLinear over x with scales of that shape; false where the shapes
 * do not fit each other; *why is static text then. */
bool quantization_read(const struct node *n, const struct shape *x, const struct shape *scale,
                       struct quantization *q, const char **why);
/* The scale of the element at a row-major position of x. */
int64_t quantization_index(const struct quantization *q, int64_t element);

/* B is [N, blocks, block * bits / 8], the first element of a byte in its low bits; element k of row
 * n is (q - zero point) * scales[n * blocks + k / block]. */
struct nbits {
    int64_t k, n, block, blocks;
    int bits;
    int64_t row;      /* bytes of a row of B */
    int64_t zero_row; /* bytes of a row of packed zero points */
    int64_t zero_default;
};
/* false where attributes are missing or wrong. Bits are 1 to 8: that others than 4 are refused
 * (R10) is said elsewhere. */
bool nbits_read(const struct node *n, struct nbits *w);
/* One element of packed rows of `row` bytes. */
int nbits_element(const struct nbits *w, const uint8_t *packed, int64_t row, int64_t n, int64_t k);

#endif
