#ifndef TESTS_COVERAGE_H
#define TESTS_COVERAGE_H
/*
 * No operator without a test: which rows of the table a test program has compared, and which
 * program has to. A new operator is wanted by test_operators_a.c until it is listed here.
 */
#include "daemon/compiler/operators/operator.h"
#include <string.h>

enum { MOST_OPERATORS = 400 };

static bool covered[MOST_OPERATORS]; /* by number in operator_rows() */

static inline void cover(const struct operator* op)
{
    covered[op - operator_rows()] = true;
}

static inline bool is_listed(const char *name, const char *const *list)
{
    for (; *list; list++)
        if (!strcmp(name, *list))
            return true;
    return false;
}

/* Whether values of this operator are compared with numbers from its definition. */
static inline bool is_covered(const char *name)
{
    int i = 0;

    for (const struct operator* op = operator_rows(); op->name; op++, i++)
        if (!strcmp(op->name, name) && covered[i])
            return true;
    return false;
}

/* In test_operators_b.c. */
static const char *const moving_operators[] = {
    "AffineGrid",
    "Attention",
    "BlackmanWindow",
    "CenterCropPad",
    "Col2Im",
    "Compress",
    "Concat",
    "Constant",
    "ConstantOfShape",
    "ConvInteger",
    "DFT",
    "DeformConv",
    "DepthToSpace",
    "DequantizeLinear",
    "Dropout",
    "DynamicQuantizeLinear",
    "Expand",
    "EyeLike",
    "Flatten",
    "GRU",
    "Gather",
    "GatherElements",
    "GatherND",
    "GridSample",
    "HammingWindow",
    "HannWindow",
    "Identity",
    "LSTM",
    "MatMulInteger",
    "MatMulNBits",
    "MaxRoiPool",
    "MelWeightMatrix",
    "NonZero",
    "OneHot",
    "Pad",
    "QLinearConv",
    "QLinearMatMul",
    "QuantizeLinear",
    "RNN",
    "Range",
    "Reshape",
    "Resize",
    "ReverseSequence",
    "RoiAlign",
    "RotaryEmbedding",
    "STFT",
    "Scatter",
    "ScatterElements",
    "ScatterND",
    "Shape",
    "Size",
    "Slice",
    "SpaceToDepth",
    "Split",
    "Squeeze",
    "TensorScatter",
    "Tile",
    "TopK",
    "Transpose",
    "Trilu",
    "Unique",
    "Unsqueeze",
    "Upsample",
    NULL,
};

/* In test_control.c and test_sequences.c, as whole models. */
static const char *const control_operators[] = {
    "ConcatFromSequence",
    "If",
    "Loop",
    "Optional",
    "OptionalGetElement",
    "OptionalHasElement",
    "Scan",
    "SequenceAt",
    "SequenceConstruct",
    "SequenceEmpty",
    "SequenceErase",
    "SequenceInsert",
    "SequenceLength",
    "SequenceMap",
    "SplitToSequence",
    NULL,
};

/* Without kernels, as those above: over constants alone, or resolved into others when a model is
 * loaded. The rest is in test_kernels.c. */
static const char *const folded_operators[] = {
    "BitCast",
    "BitShift",
    "BitwiseAnd",
    "BitwiseNot",
    "BitwiseOr",
    "BitwiseXor",
    "BlackmanWindow",
    "Constant",
    "ConstantOfShape",
    "EyeLike",
    "HammingWindow",
    "HannWindow",
    "MelWeightMatrix",
    "NonZero",
    "Range",
    "Scatter",
    "Shape",
    "Size",
    "TopK",
    "Unique",
    "Upsample",
    NULL,
};

/* Models of 8 bits and weights of fewer: their kernels are not there yet. */
static const char *const quantised_operators[] = {
    "ConvInteger",   "DequantizeLinear", "DynamicQuantizeLinear",
    "MatMulInteger", "MatMulNBits",      "QLinearConv",
    "QLinearMatMul", "QuantizeLinear",   NULL,
};

#endif
