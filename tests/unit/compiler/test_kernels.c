/* Every operator that has kernels, in several forms, against the reference. */
#include "tests/unit/compiler/kernel_rows.h"

static const struct row unary[] = {
    {"Abs", "", "x[1,3,2,3]"},
    {"Acos", "", "u[1,5]"},
    {"Acosh", "", "p[1,7]"},
    {"Asin", "", "u[1,6,2]"},
    {"Asinh", "", "x[1,7]"},
    {"Atan", "", "x[1,7]"},
    {"Atanh", "", "u[1,7]"},
    {"Cast", "to=1", "m[1,5]"},
    {"Cast", "to=1", "x[1,5]"},
    {"CastLike", "", "m[1,5]; f[1] 0"},
    {"Ceil", "", "x[1,2,3,3]"},
    {"Celu", "alpha=2.0", "x[1,9]"},
    {"Clip", "", "x[1,9]; f[] -0.5; f[] 1"},
    {"Clip", "", "x[1,9]; -; f[] 1"},
    {"Clip", "", "x[1,9]; f[] 0.5"},
    {"Clip", "", "x[1,9]; f[] 1; f[] -1"},
    {"Cos", "", "x[1,9]"},
    {"Cosh", "", "x[1,9]"},
    {"Dropout", "", "x[1,3,4]"},
    {"Elu", "alpha=0.5", "x[1,9]"},
    {"Erf", "", "x[1,9]"},
    {"Exp", "", "x[1,9]"},
    {"Floor", "", "x[1,9]"},
    {"Gelu", "", "x[1,9]"},
    {"Gelu", "approximate='tanh'", "x[1,9]"},
    {"HardSigmoid", "alpha=0.5;beta=0.25", "x[1,9]"},
    {"HardSwish", "", "x[1,9]"},
    {"Identity", "", "x[1,9]"},
    {"LeakyRelu", "alpha=-0.5", "x[1,9]"},
    {"Log", "", "p[1,9]"},
    {"Mish", "", "x[1,9]"},
    {"Neg", "", "x[1,9]"},
    {"Reciprocal", "", "p[1,9]"},
    {"Relu", "", "x[1,9]"},
    {"Round", "", "x[1,64]"},
    {"Selu", "", "x[1,9]"},
    {"Shrink", "lambd=0.75;bias=0.25", "x[1,9]"},
    {"Sigmoid", "", "x[1,9]"},
    {"Sign", "", "x[1,64]"},
    {"Sin", "", "x[1,9]"},
    {"Sinh", "", "x[1,9]"},
    {"Softplus", "", "x[1,9]"},
    {"Softsign", "", "x[1,9]"},
    {"Sqrt", "", "p[1,9]"},
    {"Swish", "alpha=1.5", "x[1,9]"},
    {"Tan", "", "u[1,9]"},
    {"Tanh", "", "x[1,9]"},
    {"ThresholdedRelu", "alpha=0.5", "x[1,9]"},
    {"IsNaN", "", "x[1,5]"},
    {"IsInf", "", "x[1,5]"},
    {"Tanh", "", "x[2,3,4,5]"},
    {"Relu", "", "x[3,5]"},
    {"Sigmoid", "", "x[1,1,1,1]"},
};

static const struct row several[] = {
    {"Add", "", "x[1,3,4,5]; x[1,3,4,5]"},
    {"Add", "", "x[1,3,4,5]; c[3,1,1]"},
    {"Add", "", "x[1,3,4,5]; c[5]"},
    {"Add", "", "x[1,3,4,5]; c[4,1]"},
    {"Add", "", "x[1,3,4,1]; x[1,1,4,5]"},
    {"Add", "", "x[1,3]; c[2,5,3]"},
    {"Add", "", "x[1,3,1]; x[1,5]"},
    {"Add", "", "x[1,7,6]; =0"},
    {"Add", "", "x[3,5]; c[5]"},
    {"Add", "", "x[2,5,3]; x[2,5,3]"},
    {"And", "", "m[1,3,5]; m[1,3,5]"},
    {"Div", "", "x[1,3,5]; p[1,3,1]"},
    {"Div", "", "x[1,3,5]; q[5]"},
    {"Div", "", "c[3,1]; p[1,3,5]"},
    {"Equal", "", "x[1,3,5]; f[] 0.25"},
    {"Greater", "", "x[1,3,5]; c[5]"},
    {"GreaterOrEqual", "", "c[3,1]; x[1,3,5]"},
    {"Less", "", "x[1,3,5]; c[5]"},
    {"LessOrEqual", "", "x[1,3,5]; c[5]"},
    {"Max", "", "x[1,3,5]; x[1,1,5]; c[3,1]"},
    {"Mean", "", "x[1,3,5]; x[1,1,5]; c[3,1]"},
    {"Min", "", "x[1,3,5]; c[5]"},
    {"Mod", "fmod=1", "x[1,3,5]; f[] 0.75"},
    {"Mod", "fmod=1", "x[1,3,5]; q[5]"},
    {"Mul", "", "x[1,3,4,5]; c[1,3,1,5]"},
    {"Mul", "", "x[1,6,5]; x[1,6,1]"},
    {"Not", "", "m[1,3,5]"},
    {"Or", "", "m[1,3,5]; m[1,1,5]"},
    {"PRelu", "", "x[1,6,3,3]; c[6,1,1]"},
    {"PRelu", "", "x[1,6,3]; x[1,1,3]"},
    {"Pow", "", "x[1,9]; f[] 2"},
    {"Pow", "", "x[1,9]; f[] 3"},
    {"Pow", "", "p[1,9]; f[] 0.5"},
    {"Pow", "", "p[1,9]; f[] -0.5"},
    {"Pow", "", "p[1,9]; f[] 1.5"},
    {"Pow", "", "x[1,9]; f[] 5"},
    {"Pow", "", "x[1,9]; f[] 6"},
    {"Pow", "", "x[1,9]; i[] 2"},
    {"Pow", "", "p[1,9]; x[1,9]"},
    {"Pow", "", "x[1,5]; f[5] 0 1 2 3 4"},
    {"Pow", "", "f[] 2; x[1,9]"},
    {"Sub", "", "x[1,3,4,5]; x[1,1,4,1]"},
    {"Sub", "", "c[4,5]; x[1,3,4,5]"},
    {"Sum", "", "x[1,3,5]; x[1,3,1]; x[1,1,5]; c[3,5]"},
    {"Sum", "", "x[1,3]"},
    {"Where", "", "m[1,3,5]; x[1,3,5]; x[1,3,5]"},
    {"Where", "", "m[1,3,1]; x[1,1,5]; c[1]"},
    {"Where", "", "b[3,1] 1 0 1; x[1,3,5]; f[] -1"},
    {"Xor", "", "m[1,3,5]; m[1,3,5]"},
    {"Clip", "", "x[1,5]; x[1]; x[1]"},
/* More operands than one kernel reads. */
#define FIVE "x[1,3]; x[1,3]; x[1,3]; x[1,3]; x[1,3]; "
    {"Concat", "axis=1", FIVE FIVE FIVE FIVE "x[1,2]"},
    {"Concat", "axis=0", FIVE "c[2,3]; " FIVE FIVE "x[1,3]"},
    {"Max", "", FIVE FIVE FIVE "c[2,3]; x[1,3]"},
    {"Mean", "", FIVE FIVE FIVE "x[1,1]; c[3]"},
    {"Min", "", FIVE FIVE "x[1,3]"},
    {"Sum", "", FIVE FIVE "x[4,3]"},
#undef FIVE
    /* Constants with a pattern. */
    {"Add", "", "x[1,3,4]; f[3,4] 2 -1 -1 -1 2 2 -1 -1 2 2 2 -1"},
    {"Mul", "", "x[1,3,4]; f[3,4] 2 -1 -1 -1 -1 2 -1 -1 -1 -1 2 -1"},
    {"Mul", "", "x[1,4,3]; f[4,3] 1 3 3 1 1 3 1 1 1 1 1 1"},
    {"Mul", "", "x[1,4,3]; f[4,3] 5 5 5 5 5 5 5 5 5 5 5 5"},
    /* 16 bits hold these times a power of two, which is taken back */
    {"Mul", "", "x[1,3,4]; f[4] 1e-6 -3e-7 2e-6 0"},
    {"Mul", "", "f[4] 1 -3e-7 2e-6 0; x[1,3,4]"},
    {"Div", "", "x[1,3,4]; f[4] 1e6 -3e5 7e4 1.6e7"},
    {"Div", "", "x[1,3,4]; f[4] 1 -1e6 1e-4 3"},
    {"Div", "", "f[4] 1e-6 2e-7 -3e-6 0; p[1,3,4]"},
    {"BatchNormalization", "",
     "x[1,4,3]; f[4] 1e-6 2e-7 3e-6 1e-5; f[4] 0 0 0 0; f[4] 0 1 2 3; f[4] 1 2 1 1"},
    {"Sub", "", "x[1,3,2]; f[3,2] 1 2 1 2 1 2"},
    {"Where", "", "b[3,5] 1 0 0 0 0 1 1 0 0 0 1 1 1 0 0; x[1,3,5]; f[] -65504"},
};

static const struct row convolutions[] = {
    {"Conv", "", "x[1,3,6,5]; c[4,3,3,3]"},
    {"Conv", "pads=[1,1,1,1]", "x[1,3,6,5]; c[5,3,3,3]; c[5]"},
    {"Conv", "pads=[1,0,2,1];strides=[2,1]", "x[1,5,7,6]; c[6,5,3,2]; c[6]"},
    {"Conv", "dilations=[2,3];pads=[2,3,2,3]", "x[1,4,8,9]; c[2,4,3,3]; c[2]"},
    {"Conv", "group=2;pads=[1,1,1,1]", "x[1,8,5,5]; c[8,4,3,3]; c[8]"},
    {"Conv", "group=2;pads=[1,1,1,1]", "x[1,6,5,5]; c[4,3,3,3]; c[4]"},
    {"Conv", "group=6;pads=[1,1,1,1]", "x[1,6,5,5]; c[6,1,3,3]; c[6]"},
    {"Conv", "group=3;pads=[0,1,0,1]", "x[1,3,5,5]; c[9,1,2,3]; c[9]"},
    {"Conv", "group=5", "x[1,10,4,4]; c[15,2,1,1]"},
    {"Conv", "", "x[1,1,4,4]; c[1,1,1,1]; c[1]"},
    {"Conv", "auto_pad='SAME_UPPER';strides=[2,2]", "x[1,3,7,8]; c[3,3,3,3]"},
    {"Conv", "auto_pad='SAME_LOWER';strides=[2,2]", "x[1,3,7,8]; c[3,3,4,2]"},
    {"Conv", "auto_pad='VALID'", "x[1,3,7,8]; c[3,3,3,3]"},
    {"Conv", "pads=[2,1]", "x[1,5,9]; c[7,5,3]; c[7]"},
    {"Conv", "strides=[3];dilations=[2]", "x[1,2,17]; c[3,2,4]"},
    {"Conv", "pads=[1,1,1,1]", "x[3,3,4,4]; c[5,3,3,3]; c[5]"},
    {"Conv", "pads=[5,5,5,5]", "x[1,2,3,3]; c[2,2,3,3]"},
    {"Conv", "pads=[1,1,1,1]", "x[1,16,9,9]; c[300,16,3,3]; c[300]"},
    {"Conv", "pads=[1,1,1,1,1,1]", "x[1,3,3,4,3]; c[5,3,3,3,3]; c[5]"},
    {"Conv", "", "x[1,3,2,3,2,3]; c[2,3,2,2,2,2]"},
    {"Conv", "strides=[8]", "s[1,1,64]; c[6,1,16]; c[6]"},
    {"Conv", "strides=[4];pads=[4,8]", "s[1,1,32]; c[5,1,12]"},
    {"Conv", "strides=[4];pads=[4,0]", "s[1,1,30]; c[9,1,8]; c[9]"},
    {"Conv", "strides=[4];pads=[4,4]", "s[1,1,30]; c[4,1,8]"},
    {"Conv", "strides=[4];dilations=[2]", "s[1,1,32]; c[4,1,8]"},
    {"Conv", "strides=[32]", "s[1,1,320]; c[90,1,64]; c[90]"},
    {"ConvTranspose", "strides=[2,1,2]", "x[1,3,2,2,3]; c[3,2,2,3,2]"},
    {"ConvTranspose", "", "x[1,3,4,5]; c[3,4,3,3]"},
    {"ConvTranspose", "strides=[2,2];pads=[1,1,1,1]", "x[1,5,4,5]; c[5,6,3,3]; c[6]"},
    {"ConvTranspose", "strides=[2,3];output_padding=[1,2]", "x[1,4,4,3]; c[4,3,3,4]; c[3]"},
    {"ConvTranspose", "strides=[2,2];pads=[0,1,1,0]", "x[1,3,4,4]; c[3,2,2,2]; c[2]"},
    {"ConvTranspose", "strides=[3,2];dilations=[2,1]", "x[1,3,4,4]; c[3,2,3,3]; c[2]"},
    {"ConvTranspose", "dilations=[2,2];pads=[1,2,1,0]", "x[1,3,5,5]; c[3,2,3,3]"},
    {"ConvTranspose", "group=2;strides=[2,2]", "x[1,6,3,3]; c[6,2,3,3]; c[4]"},
    {"ConvTranspose", "group=2;strides=[2,2]", "x[1,8,3,3]; c[8,4,2,2]; c[8]"},
    {"ConvTranspose", "group=5;strides=[2,2]", "x[1,5,3,3]; c[5,1,4,4]; c[5]"},
    {"ConvTranspose", "strides=[4];pads=[2,1]", "x[1,3,5]; c[3,2,8]; c[2]"},
    {"ConvTranspose", "auto_pad='SAME_UPPER';strides=[2,2]", "x[1,3,3,4]; c[3,2,3,3]"},
    {"ConvTranspose", "auto_pad='SAME_LOWER';strides=[2,2]", "x[1,3,3,4]; c[3,2,3,3]"},
    {"ConvTranspose", "output_shape=[9,8];strides=[2,2]", "x[1,3,4,3]; c[3,2,3,3]"},
    {"ConvTranspose", "strides=[2,2]", "x[2,3,4,3]; c[3,2,3,3]"},
    {"DeformConv", "pads=[1,1,1,1]", "x[1,3,4,5]; c[4,3,3,3]; x[1,18,4,5]; c[4]; u[1,9,4,5]"},
    {"DeformConv", "", "x[1,4,4,5]; c[5,4,2,2]; x[1,8,3,4]"},
    {"DeformConv", "group=2;offset_group=2;strides=[2,1];dilations=[1,2]",
     "x[1,4,6,7]; c[6,2,2,2]; x[1,16,3,5]; c[6]"},
    {"DeformConv", "offset_group=2", "x[1,8,3,3]; c[3,8,2,2]; x[1,16,2,2]; -; u[1,8,2,2]"},
    {"DeformConv", "", "x[2,4,4,5]; c[5,4,2,2]; x[2,8,3,4]"},
};

static const struct row products[] = {
    {"MatMul", "", "x[1,5]; c[5,7]"},
    {"MatMul", "", "x[1,3,8]; c[8,6]"},
    {"MatMul", "", "x[1,3,8]; c[8,1]"},
    {"MatMul", "", "x[1,3,2]; c[2,3]"},
    {"MatMul", "", "x[1,3,9]; c[9,5]"},
    {"MatMul", "", "x[1,3,9]; c[9]"},
    {"MatMul", "", "x[1,2,3,9]; c[2,9,5]"},
    {"MatMul", "", "x[1,2,3,9]; c[2,1,9,5]"},
    {"MatMul", "", "x[1,2,3,9]; x[1,2,9,5]"},
    {"MatMul", "", "x[1,2,3,9]; x[1,1,9,5]"},
    {"MatMul", "", "x[1,3,4]; x[1,4,1]"},
    {"MatMul", "", "c[5,3]; x[1,3,6]"},
    {"MatMul", "", "c[3]; x[1,3,6]"},
    {"MatMul", "", "c[2,5,3]; x[1,3,6]"},
    {"MatMul", "", "x[3,9]; c[9,5]"},
    {"MatMul", "", "x[2,6,6]; =0"},
    {"MatMul", "", "x[1,4,64]; c[64,100]"},
    {"Gemm", "", "x[1,6]; c[6,5]; c[5]"},
    {"Gemm", "transB=1;alpha=0.5;beta=2.0", "x[1,6]; c[5,6]; c[1,5]"},
    {"Gemm", "transA=1", "x[1,6]; c[1,5]; c[6,1]"},
    {"Gemm", "transA=1;transB=1;alpha=2.0", "x[1,6]; x[1,1]; f[] 0.5"},
    {"Gemm", "alpha=0.25", "x[1,6]; c[6,5]; c[1,1]"},
    {"Gemm", "beta=0.0", "x[1,6]; c[6,5]; x[1,5]"},
    {"Gemm", "", "x[3,6]; c[6,5]; c[5]"},
    {"Einsum", "equation='bij,bjk->bik'", "x[1,3,4]; x[1,4,5]"},
    {"Einsum", "equation='bij,jk->bik'", "x[1,3,4]; c[4,5]"},
    {"Einsum", "equation='bij,jk'", "x[1,3,4]; c[4,5]"},
    {"Einsum", "equation='bij->bji'", "x[1,3,4]"},
    {"Einsum", "equation='bij->b'", "x[1,3,4]"},
    {"Einsum", "equation='bij->'", "x[1,3,4]"},
    {"Einsum", "equation='bii->bi'", "x[1,4,4]"},
    {"Einsum", "equation='bii->b'", "x[1,4,4]"},
    {"Einsum", "equation='bhqd,bhkd->bhqk'", "x[1,2,3,5]; x[1,2,4,5]"},
    {"Einsum", "equation='bhqk,bhkd->bqhd'", "x[1,2,3,4]; x[1,2,4,5]"},
    {"Einsum", "equation='...ij,...jk->...ik'", "x[1,2,3,4]; x[1,2,4,5]"},
    {"Einsum", "equation='...ij->...'", "x[1,2,3,4]"},
    {"Einsum", "equation='bi,bj->bij'", "x[1,3]; x[1,4]"},
    {"Einsum", "equation='bi,bi->b'", "x[1,7]; x[1,7]"},
    {"Einsum", "equation='bij,bij->bij'", "x[1,3,4]; x[1,3,4]"},
    {"Einsum", "equation='bi,ij,bj->b'", "x[1,3]; c[3,4]; x[1,4]"},
    {"Einsum", "equation='bqhd,bkhd->bhqk'", "x[2,3,2,5]; x[2,4,2,5]"},
    {"Einsum", "equation='bij,kj->bk'", "x[1,3,4]; c[5,4]"},
    {"Einsum", "equation='bij,k->bjk'", "x[1,3,4]; c[5]"},
    {"Det", "", "x[1,3,3]"},
    {"Det", "", "x[1,2,2,2]"},
    {"Det", "", "x[1,4,4]"},
    {"Det", "", "x[1,5,5]"},
    {"Det", "", "x[1,7,7]"},
    {"Det", "", "x[1,2,10,10]"},
    {"Det", "", "x[1,1,1]"},
    {"MatMul", "", "x[5]; c[5,7]"},
    {"MatMul", "", "x[1,5,6]; x[6]"},
    {"MatMul", "", "x[1,70,90]; x[1,90,66]"},
};

static const struct row pools[] = {
    {"MaxPool", "kernel_shape=[2,2];strides=[2,2]", "x[1,3,6,5]"},
    {"MaxPool", "kernel_shape=[3,3];strides=[2,2];pads=[1,1,1,1]", "x[1,5,6,7]"},
    {"MaxPool", "kernel_shape=[3,2];dilations=[2,3];pads=[1,0,2,1]", "x[1,6,8,7]"},
    {"MaxPool", "kernel_shape=[3,3];strides=[2,2];ceil_mode=1", "x[1,4,6,8]"},
    {"MaxPool", "kernel_shape=[3,3];strides=[3,3];ceil_mode=1;pads=[1,1,1,1]", "x[1,4,7,8]"},
    {"MaxPool", "kernel_shape=[3];pads=[1,1]", "x[1,5,9]"},
    {"MaxPool", "kernel_shape=[2,2];auto_pad='SAME_UPPER'", "x[2,5,3,4]"},
    {"MaxPool", "kernel_shape=[2,2,2];strides=[2,1,2]", "x[1,3,4,3,4]"},
    {"MaxPool", "kernel_shape=[2,2,1,2]", "x[1,3,2,3,2,3]"},
    {"AveragePool", "kernel_shape=[2,2];strides=[2,2]", "x[1,3,6,5]"},
    {"AveragePool", "kernel_shape=[3,3];pads=[1,1,1,1]", "x[1,5,6,7]"},
    {"AveragePool", "kernel_shape=[3,3];pads=[1,1,1,1];count_include_pad=1", "x[1,5,6,7]"},
    {"AveragePool", "kernel_shape=[3,3];strides=[2,2];ceil_mode=1", "x[1,4,6,8]"},
    {"AveragePool",
     "kernel_shape=[3,3];strides=[2,2];ceil_mode=1;count_include_pad=1;pads=[0,1,1,0]",
     "x[1,4,6,8]"},
    {"AveragePool", "kernel_shape=[2,3];dilations=[2,1];pads=[1,1,0,2]", "x[1,6,5,7]"},
    {"AveragePool", "kernel_shape=[4];strides=[3];pads=[2,1]", "x[1,5,9]"},
    {"AveragePool", "kernel_shape=[3,3];auto_pad='SAME_LOWER';strides=[2,2]", "x[2,5,6,4]"},
    {"GlobalAveragePool", "", "x[1,5,4,6]"},
    {"GlobalAveragePool", "", "x[1,5,7]"},
    {"GlobalAveragePool", "", "x[1,5,64,40]"},
    {"GlobalMaxPool", "", "x[1,6,4,6]"},
    {"GlobalMaxPool", "", "x[2,6,7]"},
    {"GlobalMaxPool", "", "x[1,5,64,40]"},
    {"GlobalLpPool", "", "x[1,6,4,6]"},
    {"GlobalLpPool", "p=1", "x[1,6,4,6]"},
    {"GlobalLpPool", "p=3", "x[1,6,7]"},
    {"LpPool", "kernel_shape=[2,2]", "x[1,3,4,5]"},
    {"LpPool", "kernel_shape=[3,3];p=1;pads=[1,1,1,1];strides=[2,2]", "x[1,5,6,5]"},
    {"LpPool", "kernel_shape=[2,2];p=3;dilations=[2,1]", "x[1,3,4,5]"},
    {"LpPool", "kernel_shape=[3];ceil_mode=1;strides=[2]", "x[1,6,8]"},
    {"MaxUnpool", "kernel_shape=[2,2];strides=[2,2]", "x[1,1,2,2]; i[1,1,2,2] 0 3 9 14"},
    {"MaxUnpool", "kernel_shape=[2,2];strides=[2,2]",
     "x[1,5,1,2]; i[1,5,1,2] 0 2 9 15 20 18 29 27 33 38"},
    {"MaxUnpool", "kernel_shape=[2,2];strides=[2,2]",
     "x[1,1,2,2]; i[1,1,2,2] 0 3 9 14; i[4] 1 1 5 5"},
};

static const struct row norms[] = {
    {"BatchNormalization", "", "x[1,5,3,4]; c[5]; c[5]; c[5]; q[5]"},
    {"BatchNormalization", "epsilon=0.5", "x[2,6]; c[6]; c[6]; c[6]; q[6]"},
    {"BatchNormalization", "", "x[1,5,3]; c[5]; x[5]; c[5]; q[5]"},
    {"BatchNormalization", "spatial=0", "x[1,5,3]; c[5,3]; c[5,3]; c[5,3]; q[5,3]"},
    {"BatchNormalization", "spatial=0", "x[1,3]; q[3]; c[3]; x[3]; p[3]"},
    {"BatchNormalization", "training_mode=1;epsilon=0.25", "x[1,5,3,4]; c[5]; c[5]; c[5]; q[5]"},
    {"BatchNormalization:3", "training_mode=1;momentum=0.5", "x[1,6,7]; c[6]; x[6]; c[6]; q[6]"},
    {"BatchNormalization:5", "training_mode=1", "x[1,6,7]; c[6]; x[6]; c[6]; q[6]"},
    {"GroupNormalization", "num_groups=2", "x[1,6,3,4]; c[6]; c[6]"},
    {"GroupNormalization", "num_groups=3", "x[1,9,7]; c[9]; c[9]"},
    {"GroupNormalization", "num_groups=1", "x[2,4,3,3]; c[4]; c[4]"},
    {"InstanceNormalization", "", "x[1,5,3,4]; c[5]; c[5]"},
    {"InstanceNormalization", "epsilon=0.1", "x[2,5,7]; c[5]; c[5]"},
    {"LRN", "size=3", "x[1,5,3,4]"},
    {"LRN", "size=4;alpha=0.5;beta=0.5;bias=2.0", "x[1,7,3,4]"},
    {"LRN", "size=5;alpha=1.0", "x[2,9,3]"},
    {"LayerNormalization", "", "x[1,4,10]; c[10]; c[10]"},
    {"LayerNormalization", "axis=1", "x[1,4,10]; c[4,10]"},
    {"LayerNormalization", "axis=-2;epsilon=0.1", "x[1,3,4,5]; c[4,5]; c[4,5]"},
    {"LayerNormalization:3", "", "x[1,4,10]; c[10]; c[10]"},
    {"LayerNormalization:3", "axis=2", "x[1,3,4,5]; c[4,5]"},
    {"LayerNormalization:-++", "", "x[1,4,10]; c[10]; c[10]"},
    {"LpNormalization", "", "x[1,4,5]"},
    {"LpNormalization", "axis=1", "x[1,4,5]"},
    {"LpNormalization", "p=1;axis=-2", "x[1,4,5]"},
    {"MeanVarianceNormalization", "", "x[1,5,4,3]"},
    {"MeanVarianceNormalization", "axes=[1,2]", "x[1,5,4]"},
    {"MeanVarianceNormalization", "axes=[-1]", "x[2,5,4]"},
    {"RMSNormalization", "", "x[1,4,10]; c[10]"},
    {"RMSNormalization", "axis=1", "x[1,4,10]; c[4,10]"},
    {"Softmax", "", "x[1,3,10]"},
    {"Softmax", "axis=1", "x[1,5,3,4]"},
    {"Softmax", "axis=2", "x[1,5,3,4]"},
    {"Softmax", "axis=-1", "x[1,5,3,4]"},
    {"Softmax", "axis=-1", "x[1,2,3,2]"},
    {"Softmax", "axis=0", "x[1,5]"},
    {"Softmax", "axis=1;flatten=1", "x[1,5,3,4]"},
    {"Softmax", "", "x[3,10]"},
    {"LogSoftmax", "", "x[1,3,10]"},
    {"LogSoftmax", "axis=1", "x[1,5,3,4]"},
    {"Hardmax", "", "x[1,3,10]"},
    {"Hardmax", "axis=1", "x[1,5,3,4]"},
    {"Hardmax", "axis=1", "x[1,5]"},
    {"Hardmax", "axis=1;flatten=1", "x[1,5,3]"},
};

static const struct row reductions[] = {
    {"ReduceSum", "", "x[1,3,4,5]"},
    {"ReduceSum", "keepdims=0", "x[1,3,4,5]; i[1] 1"},
    {"ReduceSum", "keepdims=0", "x[1,3,4,5]; i[1] 2"},
    {"ReduceSum", "keepdims=0", "x[1,3,4,5]; i[1] 3"},
    {"ReduceSum", "keepdims=0", "x[1,3,4,5]; i[1] 0"},
    {"ReduceSum", "keepdims=0", "x[1,3,4,5]; i[2] 1 2"},
    {"ReduceSum", "keepdims=0", "x[1,3,4,5]; i[2] 1 3"},
    {"ReduceSum", "keepdims=0", "x[1,3,4,5]; i[2] 2 3"},
    {"ReduceSum", "keepdims=0", "x[1,3,4,5]; i[3] 1 2 3"},
    {"ReduceSum", "keepdims=0", "x[1,3,4,5]; i[4] 0 1 2 3"},
    {"ReduceSum", "keepdims=1", "x[1,3,4,5]; i[1] -1"},
    {"ReduceSum", "keepdims=1", "x[1,3,4,5]; i[2] -1 1"},
    {"ReduceSum", "noop_with_empty_axes=1", "x[1,3,4]"},
    {"ReduceSum", "", "x[1,6,60,60]; i[2] 2 3"},
    {"ReduceMean", "", "x[1,3,4,5]; i[2] 2 3"},
    {"ReduceMean", "", "x[1,6,60,60]; i[3] 1 2 3"},
    {"ReduceMean", "keepdims=0", "x[1,7,5]; i[1] -1"},
    {"ReduceMean", "keepdims=0", "x[3,7,5]; i[1] 1"},
    {"ReduceMax", "", "x[1,3,4,5]; i[1] 1"},
    {"ReduceMax", "keepdims=0", "x[1,6,50,50]; i[2] 2 3"},
    {"ReduceMin", "", "x[1,3,4,5]; i[1] 2"},
    {"ReduceProd", "", "p[1,3,4,5]; i[1] 3"},
    {"ReduceL1", "noop_with_empty_axes=1", "x[1,3,4]"},
    {"ReduceL1", "", "x[1,3,60,60]"},
    {"ReduceL2", "", "x[1,3,60,60]; i[2] 2 3"},
    {"ReduceMin", "keepdims=0", "x[1,3,60,60]; i[2] 3 2"},
    {"ReduceSumSquare", "", "x[1,3,60,60]"},
    {"ReduceLogSumExp", "", "x[1,3,60,60]"},
    {"ReduceLogSumExp", "noop_with_empty_axes=1", "x[1,3,4]"},
    {"ReduceSumSquare", "noop_with_empty_axes=1", "x[1,3,4]"},
    {"ReduceLogSum", "noop_with_empty_axes=1", "p[1,3,4]"},
    {"ReduceL1", "", "x[1,3,4,5]; i[1] 1"},
    {"ReduceL2", "", "x[1,3,4,5]; i[2] 1 2"},
    {"ReduceSumSquare", "", "x[1,3,4,5]; i[1] 3"},
    {"ReduceLogSum", "", "p[1,3,4,5]; i[1] 3"},
    {"ReduceLogSumExp", "", "x[1,3,4,5]; i[1] 3"},
    {"ReduceLogSumExp", "keepdims=0", "x[1,3,4,5]; i[2] 1 2"},
    {"ReduceLogSumExp", "", "x[1,3,4,5]"},
    {"ArgMax", "axis=1", "x[1,7]"},
    {"ArgMax", "axis=1;keepdims=0", "x[1,7,3,4]"},
    {"ArgMax", "axis=-1;keepdims=0", "x[1,3,6]"},
    {"ArgMax", "axis=2", "x[1,3,6,5]"},
    {"ArgMax", "axis=1;select_last_index=1", "x[1,7,3]"},
    {"ArgMin", "axis=1", "x[1,7]"},
    {"ArgMin", "axis=-1;keepdims=0;select_last_index=1", "x[1,3,6]"},
    {"ArgMax", "axis=1;keepdims=0", "x[2,7,3,4]"},
    {"ArgMax", "axis=0;keepdims=0", "x[1,3]"},
    {"CumSum", "", "x[1,3,7]; i[] 2"},
    {"CumSum", "exclusive=1", "x[1,3,7]; i[] 1"},
    {"CumSum", "reverse=1", "x[1,3,7]; i[] -1"},
    {"CumSum", "reverse=1;exclusive=1", "x[1,6,5]; i[1] 1"},
    {"CumSum", "", "x[2,6,3,4]; i[] 1"},
    {"CumSum", "", "x[1,3,200]; i[] 2"},
    {"CumSum", "exclusive=1;reverse=1", "x[1,130,5]; i[] 1"},
    {"CumSum", "", "x[1,100]; i[] 1"},
    {"CumProd", "", "q[1,3,70]; i[] 2"},
    {"CumProd", "", "p[1,3,7]; i[] 2"},
    {"CumProd", "reverse=1", "p[1,5,3]; i[] 1"},
    {"CumProd", "exclusive=1", "p[1,5,3]; i[] 1"},
};

static const struct row views[] = {
    {"Reshape", "", "x[1,3,4,5]; i[3] 1 12 5"},
    {"Reshape", "", "x[1,3,4,5]; i[3] 1 5 -1"},
    {"Reshape", "", "x[1,3,4,5]; i[2] 0 -1"},
    {"Reshape", "", "x[1,12]; i[4] 1 2 3 2"},
    {"Reshape", "", "x[2,12]; i[4] 2 2 3 2"},
    {"Reshape", "", "x[1,12]; i[6] 1 2 3 1 2 1"},
    {"Flatten", "axis=2", "x[1,3,4,5]"},
    {"Flatten", "axis=0", "x[1,3,4]"},
    {"Squeeze", "", "x[1,3,1,5]; i[1] 2"},
    {"Squeeze", "", "x[1,3,1,5]"},
    {"Unsqueeze", "", "x[1,3,5]; i[2] 1 -1"},
    {"Transpose", "perm=[0,2,3,1]", "x[1,3,4,5]"},
    {"Transpose", "perm=[3,1,0,2]", "x[1,3,4,5]"},
    {"Transpose", "", "x[1,3,5]"},
    {"Transpose", "perm=[0,2,1]", "x[3,4,5]"},
    {"Slice", "", "x[1,3,6,7]; i[2] 1 2; i[2] 3 6; i[2] 1 3"},
    {"Slice", "", "x[1,3,6,7]; i[1] -1; i[1] -9223372036854775808; i[1] 2; i[1] -1"},
    {"Slice", "", "x[1,9,6]; i[2] 8 4; i[2] 0 0; i[2] 1 2; i[2] -3 -2"},
    {"Slice", "", "x[1,9,6]; i[1] 1; i[1] 100; i[1] 1; i[1] 2"},
    {"Concat", "axis=1", "x[1,3,4,5]; x[1,2,4,5]; c[1,4,4,5]"},
    {"Concat", "axis=-1", "x[1,3,4,5]; x[1,3,4,2]"},
    {"Concat", "axis=2", "x[1,3,4]; =0; x[1,3,2]"},
    {"Concat", "axis=0", "x[1,3,4]; x[1,3,4]"},
    {"Concat", "axis=1", "x[2,3,4]; x[2,5,4]"},
    {"Split:3", "axis=1", "x[1,9,4]; i[3] 2 3 4"},
    {"Split:2", "axis=-1;num_outputs=2", "x[1,3,7]"},
    {"Split:-+", "axis=1;num_outputs=2", "x[2,8,3]"},
    {"Expand", "", "x[1,3,1,5]; i[4] 1 3 4 5"},
    {"Expand", "", "x[1,5]; i[3] 2 3 1"},
    {"Tile", "", "x[1,3,2,5]; i[4] 1 2 3 1"},
    {"Tile", "", "x[1,3]; i[2] 3 2"},
    {"Pad", "", "x[1,3,4,5]; i[8] 0 1 2 0 0 2 0 3"},
    {"Pad", "", "x[1,3,4,5]; i[8] 0 0 -1 1 0 0 2 -2; f[] 0.5"},
    {"Pad", "mode='reflect'", "x[1,3,4,5]; i[8] 0 0 2 3 0 0 1 4"},
    {"Pad", "mode='edge'", "x[1,3,4,5]; i[8] 0 1 2 3 0 1 1 4"},
    {"Pad", "mode='wrap'", "x[1,3,4,5]; i[8] 0 2 2 3 0 1 1 4"},
    {"Pad", "mode='reflect'", "x[1,5,4]; i[6] 0 2 0 0 3 0"},
    {"Pad", "", "x[1,3,4,5]; i[4] 1 2 0 1; -; i[2] -1 1"},
    {"Pad", "", "x[1,3,4]; i[6] 0 1 0 0 0 1; x[1]"},
    {"Pad", "", "x[2,3,4]; i[6] 0 1 0 0 0 1"},
    {"DepthToSpace", "blocksize=2", "x[1,8,3,4]"},
    {"DepthToSpace", "blocksize=2;mode='CRD'", "x[1,12,3,4]"},
    {"DepthToSpace", "blocksize=3;mode='CRD'", "x[1,9,2,2]"},
    {"SpaceToDepth", "blocksize=2", "x[1,3,4,6]"},
    {"SpaceToDepth", "blocksize=2", "x[2,4,4,6]"},
    {"Gather", "axis=1", "x[1,5,4]; i[3] 4 -5 2"},
    {"Gather", "axis=2", "x[1,5,4]; i[2,2] 3 0 1 1"},
    {"Gather", "axis=1", "x[1,5,4]; i[] -1"},
    {"Gather", "axis=0", "x[1,5,4]; i[2] 0 0"},
    {"Gather", "axis=1", "x[2,5,4]; i[3] 4 -5 2"},
    {"Gather", "", "c[9,6]; t[1,7] 0 8 -1 -9 7 -2 4"},
    {"Gather", "", "c[9,6]; t[1,5] 8 0 8 3 0 as 30 -20 -1 3"},
    {"Gather", "axis=1", "c[6,9]; t[1,5] 0 8 -1 2 3"},
    {"Gather", "", "c[9]; t[1,5] 0 8 -1 2 3"},
    {"Gather", "", "c[9,3,4]; t[5] 0 8 -1 2 3"},
    {"Gather", "", "c[5000,4]; t[1,5] 0 4999 -1 2048 4095"},
    {"Gather", "", "c[20000,4]; t[1,5] 0 19999 -1 2048 4095"},
    {"GatherElements", "axis=1", "x[1,4,3]; i[1,2,3] 0 1 -1 3 2 0"},
    {"GatherElements", "axis=2", "x[1,2,5]; i[1,2,3] 0 4 1 -1 0 2"},
    {"GatherElements", "axis=1", "x[2,4]; i[2,2] 0 3 0 3"},
    {"GatherND", "", "x[1,3,4]; i[2,3] 0 1 2 0 2 3"},
    {"GatherND", "", "x[1,3,4]; i[2,2] 0 1 0 -1"},
    {"GatherND", "batch_dims=1", "x[1,3,4]; i[1,2,1] 2 0"},
    {"GatherND", "batch_dims=1", "x[1,3,4]; i[1,2] 2 0"},
    {"GatherND", "", "x[1,5]; i[1,1,2] 0 3"},
    {"ScatterElements", "axis=1", "x[1,5]; i[1,2] 3 -5; x[1,2]"},
    {"ScatterElements", "axis=2;reduction='add'", "x[1,2,4]; i[1,2,3] 0 0 1 3 2 3; x[1,2,3]"},
    {"ScatterElements", "axis=1;reduction='mul'", "x[1,5]; i[1,4] 3 0 3 3; x[1,4]"},
    {"ScatterElements", "axis=1;reduction='max'", "x[1,5]; i[1,4] 3 0 3 3; x[1,4]"},
    {"ScatterElements", "axis=1;reduction='min'", "x[1,5]; i[1,4] 3 0 3 3; x[1,4]"},
    {"ScatterElements", "axis=1", "c[1,5]; i[1,2] 3 1; x[1,2]"},
    {"ScatterElements", "axis=1", "x[1,5]; i[1,2] 3 1; c[1,2]"},
    {"ScatterND", "", "x[1,5,4]; i[1,2,2] 0 1 0 -1; x[1,2,4]"},
    {"ScatterND", "", "x[1,5,4]; i[2,3] 0 1 3 0 2 0; x[2]"},
    {"ScatterND", "reduction='add'", "x[1,5,4]; i[1,3,2] 0 1 0 1 0 4; x[1,3,4]"},
    {"ScatterND", "reduction='add'", "x[1,5]; i[1,3,2] 0 1 0 1 0 4; x[1,3]"},
    {"TensorScatter", "", "x[1,2,6,4]; x[1,2,2,4]; i[1] 3"},
    {"TensorScatter", "mode='circular';axis=1", "x[1,6,4]; x[1,3,4]; i[1] 4"},
    {"TensorScatter", "", "x[1,6,4]; x[1,3,4]"},
    {"Trilu", "", "x[1,4,5]"},
    {"Trilu", "upper=0", "x[1,4,5]; i[] 1"},
    {"Trilu", "upper=1", "x[1,2,5,4]; i[] -2"},
    {"Trilu", "upper=0", "x[2,4,4]; i[] -1"},
    {"CenterCropPad", "", "x[1,3,6,5]; i[4] 1 3 4 8"},
    {"CenterCropPad", "axes=[1,-1]", "x[1,4,6,5]; i[2] 7 2"},
    {"CenterCropPad", "axes=[2]", "x[2,4,6]; i[1] 3"},
    {"ReverseSequence", "batch_axis=0;time_axis=1", "x[1,5,4]; i[1] 3"},
    {"ReverseSequence", "batch_axis=1;time_axis=0", "x[1,3]; i[3] 1 1 1"},
    {"ReverseSequence", "batch_axis=1;time_axis=0", "s[5,1,3]; i[1] 4"},
    {"OneHot", "", "i[3] 0 -1 2; i[] 4; x[2]"},
    {"OneHot", "axis=0", "i[2,2] 0 -1 2 7; i[] 4; x[2]"},
    {"Compress", "axis=1", "x[1,5,3]; b[5] 1 0 1 1 0"},
    {"Col2Im", "", "x[1,8,9]; i[2] 4 4; i[2] 2 2"},
    {"Col2Im", "pads=[1,1,1,1];strides=[2,2]", "x[1,18,9]; i[2] 5 5; i[2] 3 3"},
    {"Col2Im", "dilations=[1,2];pads=[0,1,0,1]", "x[1,12,16]; i[2] 5 4; i[2] 2 2"},
};

static const struct row resampling[] = {
    {"Resize", "mode='nearest'", "x[1,3,4,5]; -; f[4] 1 1 2 2"},
    {"Resize", "mode='nearest';coordinate_transformation_mode='asymmetric';nearest_mode='floor'",
     "x[1,3,4,5]; -; f[4] 1 1 2 3"},
    {"Resize", "mode='nearest';nearest_mode='ceil'", "x[1,3,4,5]; -; -; i[4] 1 3 7 3"},
    {"Resize",
     "mode='nearest';nearest_mode='round_prefer_ceil';coordinate_transformation_mode='align_"
     "corners'",
     "x[1,3,4,5]; -; -; i[4] 1 3 7 9"},
    {"Resize", "mode='nearest'", "x[1,3,5]; -; f[3] 1 1 1.5"},
    {"Resize", "mode='nearest'", "x[1,3,5]; -; f[3] 1 2 1"},
    {"Resize", "mode='linear'", "x[1,3,4,5]; -; f[4] 1 1 2 2"},
    {"Resize", "mode='linear'", "x[1,5,4,5]; -; -; i[4] 1 5 3 7"},
    {"Resize", "mode='linear';coordinate_transformation_mode='align_corners'",
     "x[1,5,4,5]; -; -; i[4] 1 5 7 9"},
    {"Resize", "mode='linear';coordinate_transformation_mode='align_corners'",
     "x[1,5,4,5]; -; -; i[4] 1 5 1 9"},
    {"Resize", "mode='linear';coordinate_transformation_mode='pytorch_half_pixel'",
     "x[1,5,4,5]; -; -; i[4] 1 5 1 9"},
    {"Resize", "mode='linear';coordinate_transformation_mode='half_pixel_symmetric'",
     "x[1,5,4,5]; -; f[4] 1 1 1.3 0.7"},
    {"Resize", "mode='linear';antialias=1", "x[1,3,8,9]; -; f[4] 1 1 0.5 0.4"},
    {"Resize", "mode='linear'", "x[1,3,5]; -; f[3] 1 1.5 2"},
    {"Resize", "mode='linear';axes=[2]", "x[1,3,5]; -; f[1] 2"},
    {"Resize", "mode='linear';axes=[3,2]", "x[2,3,5,4]; -; -; i[2] 7 8"},
    {"Resize",
     "mode='linear';coordinate_transformation_mode='tf_crop_and_resize';extrapolation_value=3.0",
     "x[1,3,5,4]; f[8] 0 0 -0.25 0.25 1 1 1.25 0.75; -; i[4] 1 3 6 6"},
    {"Resize",
     "mode='nearest';coordinate_transformation_mode='tf_crop_and_resize';extrapolation_value=3.0",
     "x[1,3,5,4]; f[8] 0 0 -0.25 0.25 1 1 1.25 0.75; -; i[4] 1 3 6 6"},
    {"Resize", "mode='cubic'", "x[1,3,4,5]; -; f[4] 1 1 2 2"},
    {"Resize", "mode='cubic';cubic_coeff_a=-0.5;exclude_outside=1",
     "x[1,3,4,5]; -; f[4] 1 1 0.6 2.5"},
    {"Resize", "mode='cubic';antialias=1", "x[1,3,8,8]; -; f[4] 1 1 0.5 0.5"},
    {"Resize", "mode='linear';keep_aspect_ratio_policy='not_larger';axes=[2,3]",
     "x[1,3,4,6]; -; -; i[2] 8 8"},
    {"Resize", "mode='nearest'", "x[1,8,2,2]; -; f[4] 1 0.5 1 1"},
    {"GridSample", "", "x[1,3,4,5]; x[1,3,4,2]"},
    {"GridSample", "align_corners=1", "x[1,3,4,5]; x[1,3,4,2]"},
    {"GridSample", "mode='nearest'", "x[1,3,4,5]; x[1,3,4,2]"},
    {"GridSample", "mode='nearest';padding_mode='border'", "x[1,3,4,5]; x[1,3,4,2]"},
    {"GridSample", "padding_mode='border'", "x[1,5,4,5]; x[1,3,4,2]"},
    {"GridSample", "padding_mode='reflection'", "x[1,5,4,5]; x[1,3,4,2]"},
    {"GridSample", "padding_mode='reflection';align_corners=1", "x[1,5,4,5]; x[1,3,4,2]"},
    {"GridSample", "mode='cubic'", "x[1,5,4,5]; x[1,3,4,2]"},
    {"GridSample", "mode='cubic';padding_mode='border';align_corners=1", "x[1,5,4,5]; x[1,3,4,2]"},
    {"GridSample", "mode='cubic';padding_mode='reflection'", "x[1,5,4,5]; x[1,3,4,2]"},
    {"GridSample", "", "x[2,3,4,5]; x[2,3,4,2]"},
    {"GridSample", "", "x[1,3,4,5]; c[1,3,4,2]"},
    {"AffineGrid", "", "x[1,2,3]; i[4] 1 3 4 5"},
    {"AffineGrid", "align_corners=1", "x[1,2,3]; i[4] 1 3 4 5"},
    {"AffineGrid", "", "x[1,3,4]; i[5] 1 3 2 4 5"},
    {"AffineGrid", "align_corners=1", "x[1,3,4]; i[5] 1 3 2 4 5"},
    {"MaxRoiPool", "pooled_shape=[2,3]", "x[1,5,6,7]; f[2,5] 0 0 0 5 4 0 1 2 3 5"},
    {"MaxRoiPool", "pooled_shape=[3,2];spatial_scale=0.5",
     "x[1,3,6,7]; f[4,5] 0 0 0 12 9 0 -5 -9 3 3 0 40 0 50 5 0 5 5 3 3"},
    {"MaxRoiPool", "pooled_shape=[2,2]",
     "c[2,5,3,4]; f[3,5] 1 0 0 3 2 0 1 1 2 2 1 -60000 1 60000 2"},
    {"RoiAlign", "output_height=3;output_width=2;sampling_ratio=2",
     "x[1,5,6,7]; f[2,4] 0 0 5 4 1 2 3 5; i[2] 0 0"},
    {"RoiAlign",
     "output_height=2;output_width=2;spatial_scale=0.5;coordinate_transformation_mode='output_half_"
     "pixel'",
     "x[1,5,6,7]; f[2,4] 0 0 12 9 1 2 3 5; i[2] 0 0"},
    {"RoiAlign", "output_height=2;output_width=2;mode='max';sampling_ratio=2",
     "x[1,3,6,7]; f[1,4] 0 0 5 4; i[1] 0"},
};

static const struct row attention[] = {
    {"Attention", "", "x[1,2,3,4]; x[1,2,5,4]; x[1,2,5,6]"},
    {"Attention", "scale=0.25;is_causal=1", "x[1,2,5,4]; x[1,2,5,4]; x[1,2,5,4]"},
    {"Attention", "q_num_heads=2;kv_num_heads=2", "x[1,3,8]; x[1,5,8]; x[1,5,8]"},
    {"Attention", "q_num_heads=4;kv_num_heads=2", "x[1,3,16]; x[1,5,8]; x[1,5,8]"},
    {"Attention", "softcap=2.0", "x[1,2,3,4]; x[1,2,5,4]; x[1,2,5,6]; x[1,1,3,5]"},
    {"Attention", "", "x[1,2,3,4]; x[1,2,5,4]; x[1,2,5,6]; b[3,5] 1 1 0 0 0 1 1 1 0 1 1 1 1 1 1"},
    {"Attention", "", "x[1,2,3,4]; x[1,2,5,4]; x[1,2,5,6]; c[3,5]"},
    {"Attention:3", "", "x[1,2,3,4]; x[1,2,5,4]; x[1,2,5,6]; -; x[1,2,2,4]; x[1,2,2,6]"},
    {"Attention:4", "qk_matmul_output_mode=0",
     "x[1,2,3,4]; x[1,2,5,4]; x[1,2,5,6]; x[1,1,3,7]; x[1,2,2,4]; x[1,2,2,6]"},
    {"Attention:+--+", "qk_matmul_output_mode=1", "x[1,2,3,4]; x[1,2,5,4]; x[1,2,5,6]; c[3,5]"},
    {"Attention:+--+", "qk_matmul_output_mode=2;softcap=1.5",
     "x[1,2,3,4]; x[1,2,5,4]; x[1,2,5,6]; c[3,5]"},
    {"Attention:+--+", "qk_matmul_output_mode=3", "x[1,2,3,4]; x[1,2,5,4]; x[1,2,5,6]; c[3,5]"},
    {"Attention", "", "x[2,2,3,4]; x[2,2,5,4]; x[2,2,5,6]"},
    {"Attention", "", "x[1,4,3,4]; x[1,2,5,4]; x[1,2,5,6]"},
    {"RotaryEmbedding", "", "x[1,2,3,8]; c[1,3,4]; c[1,3,4]"},
    {"RotaryEmbedding", "interleaved=1", "x[1,2,3,8]; c[1,3,4]; c[1,3,4]"},
    {"RotaryEmbedding", "rotary_embedding_dim=4", "x[1,2,3,8]; c[1,3,2]; c[1,3,2]"},
    {"RotaryEmbedding", "num_heads=2", "x[1,3,16]; c[1,3,4]; c[1,3,4]"},
    {"RotaryEmbedding", "", "x[1,2,3,8]; c[10,4]; c[10,4]; i[1,3] 4 0 9"},
    {"RotaryEmbedding", "interleaved=1;num_heads=2;rotary_embedding_dim=4",
     "x[1,3,16]; c[10,2]; c[10,2]; i[1,3] 4 0 9"},
};

/* What is mostly a constant, computed. */
static const struct row computed[] = {
    {"Conv", "pads=[1,1,1,1]", "x[1,3,6,5]; c[5,3,3,3]; x[5]"},
    {"Conv", "group=3", "x[1,3,6,5]; c[6,1,3,3]; x[6]"},
    {"ConvTranspose", "strides=[2,2]", "x[1,5,4,5]; c[5,6,3,3]; x[6]"},
    {"DeformConv", "", "x[1,4,4,5]; c[5,4,2,2]; x[1,8,3,4]; x[5]; u[1,4,3,4]"},
    {"Gemm", "beta=0.5", "x[1,6]; c[6,5]; x[5]"},
    {"Gemm", "transA=1;alpha=2.0", "c[6,1]; c[6,5]; x[1,5]"},
    {"BatchNormalization", "", "x[1,6,7]; x[6]; x[6]; x[6]; p[6]"},
    {"GroupNormalization", "num_groups=2", "x[1,6,3,4]; x[6]; x[6]"},
    {"InstanceNormalization", "", "x[1,6,3,4]; x[6]; x[6]"},
    {"LayerNormalization", "", "x[1,6,10]; x[10]; x[10]"},
    {"LayerNormalization", "axis=-1", "x[1,6,10]; x[1,1,10]; c[10]"},
    {"RMSNormalization", "", "x[1,6,10]; x[10]"},
    {"PRelu", "", "x[1,6,3,3]; x[1,3,3]"},
    {"Pad", "", "x[1,3,4]; i[6] 0 1 0 0 2 1; x[]"},
    {"Where", "", "m[1,3,5]; f[] 0; x[1]"},
    {"LSTM", "hidden_size=3",
     "s[4,1,2]; x[1,12,2]; x[1,12,3]; x[1,24]; -; x[1,1,3]; x[1,1,3]; x[1,9]"},
    {"GRU", "hidden_size=3;linear_before_reset=1",
     "s[4,1,2]; x[1,9,2]; x[1,9,3]; x[1,18]; -; x[1,1,3]"},
    {"RNN", "hidden_size=3", "s[4,1,2]; x[1,3,2]; x[1,3,3]; x[1,6]; -; x[1,1,3]"},
    {"NegativeLogLikelihoodLoss", "reduction='none'", "x[1,5,2,3]; i[1,2,3] 0 1 2 3 4 1"},
    {"NegativeLogLikelihoodLoss", "", "x[1,5,6]; i[1,6] 0 1 2 3 4 1"},
    {"NegativeLogLikelihoodLoss", "", "x[1,5,6]; i[1,6] 0 1 2 3 4 1; q[5]"},
    {"NegativeLogLikelihoodLoss", "ignore_index=-1;reduction='sum'",
     "x[1,5,6]; i[1,6] 0 -1 2 3 4 1; p[5]"},
    {"NegativeLogLikelihoodLoss", "ignore_index=3", "x[1,5,6]; i[1,6] 0 1 2 3 4 3"},
    {"SoftmaxCrossEntropyLoss", "", "x[1,5]; i[1] 3"},
    {"SoftmaxCrossEntropyLoss:2", "reduction='none'", "x[1,5,6]; i[1,6] 0 1 2 3 4 3; q[5]"},
    {"SoftmaxCrossEntropyLoss:2", "ignore_index=0", "x[1,5,2,3]; i[1,2,3] 0 1 2 3 4 1; q[5]"},
    {"OneHot", "", "u[1,5]; i[] 3; x[2]"},
    {"OneHot", "axis=-2", "x[1,2,4]; i[] 3; f[2] 0.5 -1"},
    {"OneHot", "axis=0", "x[1,4]; i[] 2; x[2]"},
    {"OneHot", "axis=1", "x[3,4]; i[] 2; f[2] 0.5 -1"},
    {"GatherElements", "axis=1", "x[1,3,4]; i[1,2,4] 0 1 2 0 -1 0 1 2"},
    {"ScatterElements", "axis=1;reduction='add'", "c[1,3,4]; i[1,2,4] 0 1 2 0 -1 0 1 2; x[1,2,4]"},
    {"ScatterND", "reduction='mul'", "c[4,3]; i[1,1] 3; x[1,3]"},
    {"Einsum", "equation='bij,jk,bk->bi'", "x[1,3,4]; c[4,5]; x[1,5]"},
    {"MatMul", "", "c[5,6]; x[6]"},
    {"Det", "", "x[1,2,4,4]"},
    {"RoiAlign", "output_height=2;output_width=2;sampling_ratio=2", "x[1,5,6,7]; p[1,4]; i[1] 0"},
    {"RoiAlign", "output_height=2;output_width=2;mode='max'", "x[1,5,6,7]; p[1,4]; i[1] 0"},
    {"MaxRoiPool", "pooled_shape=[2,3];spatial_scale=3.0", "x[1,5,6,7]; p[1,5]"},
    {"MaxRoiPool", "pooled_shape=[3,1];spatial_scale=2.5", "x[1,3,4,6]; x[1,5]"},
    {"MaxRoiPool", "pooled_shape=[7,7];spatial_scale=9000.0", "x[1,1,4,6]; x[1,5]"},
    /* Regions many times as large as the input. */
    {"RoiAlign", "output_height=2;output_width=3;spatial_scale=30.0", "x[1,5,6,7]; x[1,4]; i[1] 0"},
    {"RoiAlign",
     "output_height=2;output_width=1;spatial_scale=300.0;mode='max';"
     "coordinate_transformation_mode='output_half_pixel'",
     "x[1,3,4,3]; x[1,4]; i[1] 0"},
    {"RoiAlign", "output_width=2;mode='max';spatial_scale=9.0", "x[1,1,2,3]; u[1,4]; i[1] 0"},
    {"RoiAlign", "output_height=3;output_width=2",
     "x[1,3,6,7]; f[2,4] -9000 -50 9000 70 -70000 -3 70000 60000; i[2] 0 0"},
    {"RoiAlign", "output_height=2;output_width=2;mode='max'",
     "x[1,3,6,7]; f[2,4] -9000 -50 9000 70 -70000 -3 70000 60000; i[2] 0 0"},
    {"GridSample", "", "c[1,3,4,5]; u[1,3,4,2]"},
    {"AffineGrid", "", "x[1,3,4]; i[5] 1 1 2 3 2"},
    {"TensorScatter", "axis=1", "c[1,4,3]; x[1,2,3]; i[1] 1"},
    {"CumSum", "exclusive=1;reverse=1", "x[1,7,3]; i[] 1"},
    {"CumProd", "exclusive=1;reverse=1", "x[1,7,3]; i[] 1"},
    {"MaxUnpool", "kernel_shape=[2,2];strides=[2,2]", "x[1,1,2,2]; i[1,1,2,2] 5 7 13 15"},
    {"Compress", "", "x[1,2,3]; b[4] 0 1 1 0"},
    {"LpNormalization", "p=1;axis=1", "x[1,6,3]"},
    {"LpPool", "p=3;kernel_shape=[2,2];ceil_mode=1;dilations=[2,1];strides=[2,2]", "x[1,3,6,5]"},
    {"AveragePool",
     "kernel_shape=[3,2];ceil_mode=1;dilations=[1,2];strides=[2,2];pads=[1,0,1,1];count_include_"
     "pad=1",
     "x[1,3,6,5]"},
    {"MaxPool",
     "kernel_shape=[3,2];ceil_mode=1;dilations=[2,1];strides=[2,3];pads=[1,0,1,1];storage_order=1",
     "x[1,3,6,5]"},
    {"Swish", "", "x[1,5]"},
    {"Hardmax", "axis=0", "x[1,4]"},
    {"Softmax", "axis=0", "x[1,3,4]"},
    {"Shrink", "", "x[1,5]"},
    {"IsInf", "detect_negative=0", "x[1,5]"},
    {"Trilu", "upper=0", "x[1,4,4]; i[] -1"},
    {"Mod", "fmod=1", "x[1,9]; p[1,9]"},
    {"Clip", "", "x[1,9]; x[]; x[]"},
    {"STFT", "", "x[1,16,1]; i[] 4; x[8]; i[] 8"},
    {"STFT", "onesided=0", "x[1,16]; i[] 3; x[6]"},
    {"STFT", "", "x[1,16]; i[] 3; x[6]; i[] 8"},
    {"DFT", "inverse=1", "x[1,5,2]; i[] 8; i[] 1"},
    /* By the factors of their lengths. */
    {"DFT", "onesided=1", "x[1,4400,1]; -; i[] 1"},
    {"DFT", "", "x[1,900,2]; i[] 1024; i[] 1"},
    {"DFT", "inverse=1", "x[1,1200,2]; i[] 1056; i[] 1"},
    {"DFT", "inverse=1;onesided=1", "x[1,701,2]; i[] 1400; i[] 1"},
    {"DFT", "inverse=1;onesided=1", "x[1,500,2]; i[] 1575; i[] 1"},
    {"STFT", "", "x[1,4200]; i[] 64; -; i[] 4100"},
    {"STFT", "onesided=0", "x[1,4200,2]; i[] 100; c[1500]; i[] 2100"},
    {"Dropout", "", "x[1,3,4]; f[] 0.5; b[] 0"},
};

static const struct row recurrent[] = {
    {"RNN:2", "hidden_size=3", "s[4,1,5]; c[1,3,5]; c[1,3,3]"},
    {"RNN:2", "hidden_size=3;direction='reverse'", "s[4,1,5]; c[1,3,5]; c[1,3,3]; c[1,6]"},
    {"RNN:2", "hidden_size=3;direction='bidirectional';activations=['Relu','Sigmoid']",
     "s[4,1,5]; c[2,3,5]; c[2,3,3]; c[2,6]"},
    {"RNN:2", "hidden_size=3;layout=1", "x[1,4,5]; c[1,3,5]; c[1,3,3]; c[1,6]"},
    {"RNN:2", "hidden_size=4;clip=0.5", "s[4,1,5]; c[1,4,5]; c[1,4,4]; c[1,8]; -; c[1,1,4]"},
    {"GRU:2", "hidden_size=3", "s[4,1,5]; c[1,9,5]; c[1,9,3]"},
    {"GRU:2", "hidden_size=3;linear_before_reset=1", "s[4,1,5]; c[1,9,5]; c[1,9,3]; c[1,18]"},
    {"GRU:2", "hidden_size=4;direction='bidirectional';linear_before_reset=1",
     "s[4,1,5]; c[2,12,5]; c[2,12,4]; c[2,24]; -; c[2,1,4]"},
    {"GRU:2", "hidden_size=4;direction='reverse'", "s[4,1,5]; c[1,12,5]; c[1,12,4]; c[1,24]"},
    {"LSTM:3", "hidden_size=3", "s[4,1,5]; c[1,12,5]; c[1,12,3]"},
    {"LSTM:3", "hidden_size=3", "s[3,1,5]; u[1,12,5]; u[1,12,3]"},
    {"LSTM:3", "hidden_size=4", "s[4,1,5]; c[1,16,5]; c[1,16,4]; c[1,32]"},
    {"LSTM:3", "hidden_size=4;direction='bidirectional'",
     "s[4,1,5]; c[2,16,5]; c[2,16,4]; c[2,32]; -; c[2,1,4]; c[2,1,4]"},
    {"LSTM:3", "hidden_size=3;direction='reverse'",
     "s[4,1,5]; c[1,12,5]; c[1,12,3]; c[1,24]; -; -; -; c[1,9]"},
    {"LSTM", "hidden_size=3;input_forget=1", "s[4,1,5]; c[1,12,5]; c[1,12,3]; c[1,24]"},
    {"LSTM:3", "hidden_size=3;layout=1", "x[1,4,5]; c[1,12,5]; c[1,12,3]; c[1,24]"},
    {"LSTM:-+", "hidden_size=3;activations=['HardSigmoid','Softsign','Elu']",
     "s[4,1,5]; c[1,12,5]; c[1,12,3]; c[1,24]"},
    {"LSTM:3", "hidden_size=3", "s[4,1,5]; c[1,12,5]; c[1,12,3]; c[1,24]; -; x[1,1,3]; x[1,1,3]"},
    {"LSTM:3", "hidden_size=3", "s[4,1,5]; c[1,12,5]; c[1,12,3]; c[1,24]; j[1] 2"},
    /* Cells of the state that units fill in part, and one time more than readers take textures. */
    {"LSTM:3", "hidden_size=1", "s[9,1,5]; c[1,4,5]; c[1,4,1]; c[1,8]"},
    {"LSTM", "hidden_size=2;direction='reverse'", "s[9,1,5]; c[1,8,5]; c[1,8,2]; c[1,16]"},
    {"LSTM:3", "hidden_size=6;direction='bidirectional';clip=0.7",
     "s[12,1,5]; c[2,24,5]; c[2,24,6]; c[2,48]; j[1] 7; c[2,1,6]; c[2,1,6]; c[2,18]"},
    {"LSTM:3",
     "hidden_size=5;direction='bidirectional';activations=['Sigmoid','Tanh','Softsign',"
     "'HardSigmoid','Relu','Tanh']",
     "s[4,1,5]; c[2,20,5]; c[2,20,5]; c[2,40]; -; -; -; c[2,15]"},
    {"GRU:2", "hidden_size=6;linear_before_reset=1",
     "s[10,1,5]; u[1,18,5]; u[1,18,6]; u[1,36]; j[1] 7; x[1,1,6]"},
    {"GRU:2",
     "hidden_size=5;direction='bidirectional';linear_before_reset=1;activations=['Sigmoid','Tanh',"
     "'HardSigmoid','Relu']",
     "s[4,1,5]; c[2,15,5]; c[2,15,5]; c[2,30]"},
    {"GRU:2", "hidden_size=5;direction='bidirectional'", "s[9,1,5]; c[2,15,5]; c[2,15,5]; c[2,30]"},
};

static const struct row signals[] = {
    {"DFT", "", "x[1,6,1]"},
    {"DFT", "inverse=1", "x[1,6,2]; -; i[] 1"},
    {"DFT", "onesided=1", "x[1,6,1]"},
    {"DFT", "", "x[1,6,3,2]; i[] 4; i[] 1"},
    {"STFT", "", "x[1,16,1]; i[] 4; -; i[] 8"},
    {"STFT", "onesided=0", "x[1,16,1]; i[] 4; q[8]; i[] 8"},
    {"STFT", "", "x[1,16]; i[] 3; q[6]"},
};

/* Batches of two and more: each item on its own. */
static const struct row batches[] = {
    {"AffineGrid", "", "x[2,2,3]; i[4] 2 3 4 5"},
    {"CenterCropPad", "", "x[2,3,6,5]; i[4] 2 3 4 8"},
    {"Col2Im", "", "x[2,8,9]; i[2] 4 4; i[2] 2 2"},
    {"Compress", "axis=1", "x[2,5,3]; b[5] 1 0 1 1 0"},
    {"CumProd", "", "p[2,5,3]; i[] 1"},
    {"DFT", "", "x[2,6,1]; -; i[] 1"},
    {"Det", "", "x[2,3,3]"},
    {"Expand", "", "x[2,1,5]; i[3] 2 3 5"},
    {"Expand", "", "x[2,1,5]; i[3] 1 3 1"},
    {"GRU:2", "hidden_size=3;layout=1", "x[2,3,5]; c[1,9,5]; c[1,9,3]"},
    {"GatherND", "batch_dims=1", "x[2,3,4]; i[2,1] 2 2"},
    {"Gemm", "", "x[2,6]; c[6,5]; f[2,5] 1 2 3 4 5 1 2 3 4 5"},
    {"GroupNormalization", "num_groups=2", "x[2,6,3]; c[6]; c[6]"},
    {"Hardmax", "", "x[2,10]"},
    {"LSTM:3", "hidden_size=3;layout=1",
     "x[2,3,5]; c[1,12,5]; c[1,12,3]; c[1,24]; -; x[2,1,3]; x[2,1,3]"},
    {"LayerNormalization:3", "", "x[2,4,10]; c[10]; c[10]"},
    {"MatMul", "", "x[2,3,4]; x[2,4,5]"},
    {"Mul", "", "x[2,3]; f[2,3] 1 2 3 1 2 3"},
    {"OneHot", "", "i[3] 0 -1 2; i[] 4; x[2]"},
    {"ReduceLogSumExp", "keepdims=0", "x[2,3,4,5]; i[2] 1 2"},
    {"ReduceSum", "keepdims=0", "x[2,3,4,5]; i[3] 1 2 3"},
    {"Resize", "mode='linear'", "x[2,3,4,5]; -; -; i[4] 2 3 7 8"},
    {"Resize", "mode='nearest'", "x[2,3,4,5]; -; f[4] 1 1 2 2"},
    {"ReverseSequence", "batch_axis=0;time_axis=1", "x[2,5,4]; i[2] 3 3"},
    {"RotaryEmbedding", "", "x[2,2,3,8]; c[1,3,4]; c[1,3,4]"},
    {"STFT", "", "x[2,16,1]; i[] 4; -; i[] 8"},
    {"ScatterElements", "axis=1", "x[2,5]; i[2,2] 3 1 3 1; x[2,2]"},
    {"Slice", "", "x[2,6,7]; i[2] 0 2; i[2] 2 6; i[2] 0 2; i[2] 1 3"},
    {"Squeeze", "", "x[2,3,1,5]; i[1] 2"},
    {"TensorScatter", "", "x[2,2,6,4]; x[2,2,2,4]; i[2] 3 3"},
    {"Tile", "", "x[2,3,2]; i[3] 1 2 3"},
    {"Unsqueeze", "", "x[2,3,5]; i[2] 1 -1"},
    {"Where", "", "m[2,3,1]; x[2,1,5]; c[1]"},
};

/* Large enough for weight textures, folded layouts and more than one block of cells. */
static const struct row large[] = {
    {"Add", "", "x[1,70,80]; c[70,80]"},
    {"Attention", "is_causal=1", "x[1,4,70,16]; x[1,4,70,16]; x[1,4,70,16]"},
    {"Attention", "q_num_heads=8;kv_num_heads=2", "x[1,40,64]; x[1,50,16]; x[1,50,16]; c[40,50]"},
    {"Concat", "axis=1", "x[1,33,20,20]; c[1,30,20,20]"},
    {"Conv", "pads=[1,1,1,1]", "x[1,33,20,20]; c[65,33,3,3]; c[65]"},
    {"ConvTranspose", "strides=[2,2];pads=[1,1,1,1]", "x[1,33,10,10]; c[33,35,4,4]; c[35]"},
    {"CumSum", "", "x[1,5000]; i[] 1"},
    {"DFT", "onesided=1", "x[1,100,1]; -; i[] 1"},
    {"DeformConv", "pads=[1,1,1,1]", "x[1,16,12,12]; c[24,16,3,3]; x[1,18,12,12]; c[24]"},
    {"Einsum", "equation='bhqd,bkhd->bqhk'", "x[1,4,30,20]; x[1,40,4,20]"},
    {"GRU", "hidden_size=40;linear_before_reset=1",
     "s[12,1,30]; c[1,120,30]; c[1,120,40]; c[1,240]"},
    {"Gather", "axis=1", "x[1,5000]; r[60] -5000 4999"},
    {"Gather", "axis=2", "x[1,6,70]; r[1500] 0 69"},
    {"GatherElements", "axis=1", "x[1,60,40]; r[1,50,40] -60 59"},
    {"GatherElements", "axis=2", "x[1,60,40]; r[1,60,30] 0 39"},
    {"GatherND", "", "x[1,60,40]; r[200,2] 0 0"},
    {"GridSample", "mode='cubic'", "x[1,9,30,40]; x[1,20,30,2]"},
    {"Hardmax", "", "x[1,2,3000]"},
    {"LSTM:3", "hidden_size=64;direction='bidirectional'",
     "s[6,1,33]; c[2,256,33]; c[2,256,64]; c[2,512]"},
    {"LayerNormalization", "", "x[1,50,300]; c[300]; c[300]"},
    {"MatMul", "", "x[1,50,300]; c[300,130]"},
    {"MaxPool", "kernel_shape=[3,3];strides=[2,2]", "x[1,33,40,40]"},
    {"Pad", "mode='reflect'", "x[1,5,40,40]; i[8] 0 0 30 7 0 0 3 30"},
    {"ReduceMean", "keepdims=0", "x[1,33,40,40]; i[2] 1 3"},
    {"Relu", "", "x[1,3,300,200]"},
    {"Reshape", "", "x[1,64,30,30]; i[3] 1 900 64"},
    {"Resize", "mode='linear'", "x[1,9,30,40]; -; f[4] 1 1 2.5 1.7"},
    {"ScatterElements", "axis=1;reduction='add'", "x[1,60,40]; r[1,50,40] -60 59; x[1,50,40]"},
    {"ScatterElements", "axis=2", "x[1,60,40]; r[1,60,9] 0 39; x[1,60,9]"},
    {"ScatterND", "reduction='add'", "x[1,60,40]; r[1,500,2] 0 0; x[1,500,40]"},
    {"Softmax", "axis=1", "x[1,300,10,10]"},
    {"Transpose", "perm=[0,3,1,2]", "x[1,33,40,50]"},
    {"Transpose", "perm=[0,2,1]", "x[1,3000,40]"},
    {"Trilu", "", "x[1,60,70]"},
};

ROWS(unary)
ROWS(several)
ROWS(convolutions)
ROWS(products)
ROWS(pools)
ROWS(norms)
ROWS(reductions)
ROWS(views)
ROWS(resampling)
ROWS(attention)
ROWS(computed)
ROWS(recurrent)
ROWS(signals)
ROWS(batches)
ROWS(large)

static void check_made(const char *(*make)(struct trial *t))
{
    struct trial *t = calloc(1, sizeof *t);
    const char *why = make(t);

    if (why)
        fail_msg("%s", why);
    context_release(&t->c);
    free(t);
}

/* Two tables of different lengths, read by the same ids: each has its own row of the buffer. */
static const char *look_up_twice(struct trial *t)
{
    struct value *both[2], *list[2];
    const char *tables[] = {"c[9,5]", "c[3000,4]"}, *ids = "t[1,4] 8 0 5 -1";
    struct tensor *given[2][2];

    context_init(&t->c, NULL);
    if (setjmp(t->c.escape))
        return t->c.why;
    t->g = graph_new(&t->c);
    t->g->opset = 99;
    t->random = 1;
    both[1] = read_operand(t, &ids, &given[0][1]);
    for (int i = 0; i < 2; i++) {
        struct node *n;

        both[0] = read_operand(t, &tables[i], &given[i][0]);
        given[i][1] = given[0][1];
        n = graph_node(t->g, operator_get(&t->c, "Gather"), "table", both, 2, 1);
        list[i] = n->outputs[0];
        infer_node(n);
        evaluate_with(n, given[i], &t->expected[i], &t->c.arena);
        t->output[i] = i;
    }
    infer_graph(t->g);
    give_out(t, 2, list);
    return check_graph(t);
}

static void check_two_tables(void **state)
{
    (void)state;
    check_made(look_up_twice);
}

/* A convolution of channels that stand side by side and do not end with a cell: their filters are
 * put where each lies, and what is in the rest of their last cell counts for nothing. */
static const char *convolve_joined(struct trial *t)
{
    const char *parts[] = {"x[1,3,5,4]", "x[1,6,5,4]", "x[1,1,5,4]"}, *filters = "c[5,10,3,2]";
    struct value *three[3], *both[2];
    struct tensor *given[3], *joined[2], **result = &joined[0];
    struct node *n;

    context_init(&t->c, NULL);
    if (setjmp(t->c.escape))
        return t->c.why;
    t->g = graph_new(&t->c);
    t->g->opset = 99;
    t->random = 1;
    for (int i = 0; i < 3; i++)
        three[i] = read_operand(t, &parts[i], &given[i]);
    both[1] = read_operand(t, &filters, &joined[1]);
    n = graph_node(t->g, operator_get(&t->c, "Concat"), "joined", three, 3, 1);
    node_set_int(n, "axis", 1);
    infer_node(n);
    evaluate_with(n, given, result, &t->c.arena);
    both[0] = n->outputs[0];
    n = graph_node(t->g, operator_get(&t->c, "Conv"), "conv", both, 2, 1);
    infer_node(n);
    evaluate_with(n, joined, &t->expected[0], &t->c.arena);
    infer_graph(t->g);
    give_out(t, 1, n->outputs);
    return check_graph(t);
}

static void check_joined_channels(void **state)
{
    (void)state;
    check_made(convolve_joined);
}

/* What the table of operators says of its limits is what is said of a model beyond them; up to
 * them it is computed. */
static void keeps_to_limits(void **state)
{
    static const struct {
        struct row row;
        const char *said; /* NULL: it is computed */
    } limits[] = {
        {{"Det", "", "x[1,6,6]"}, NULL},
        {{"Det", "", "x[1,11,11]"}, "(at most 10 rows: the matrices"},
        {{"DFT", "", "x[1,2897,1]; -; i[] 1"},
         "(a length above 2048 needs factors, none of them a prime above 2048)"},
        {{"RNN", "hidden_size=1", "s[1025,1,1]; c[1,1,1]; c[1,1,1]"},
         "(at most 1024 steps, each of which"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof limits / sizeof *limits; i++) {
        struct trial *t = calloc(1, sizeof *t);
        const char *why = try_row(t, &limits[i].row, i);

        if (!limits[i].said != !why || (why && !strstr(why, limits[i].said)))
            fail_msg("%s %s: %s", limits[i].row.op, limits[i].row.operands, why ? why : "computed");
        context_release(&t->c);
        free(t);
    }
}

/* After the others. */
static void leaves_no_operator_out(void **state)
{
    (void)state;
    if (getenv("KERNEL_ROW"))
        return;
    for (const struct operator* op = operator_rows(); op->name; op++)
        if (strcmp(op->domain, OPERATOR_INTERNAL) != 0 &&
            is_covered(op->name) + is_listed(op->name, folded_operators) +
                    is_listed(op->name, control_operators) +
                    is_listed(op->name, quantised_operators) !=
                1)
            fail_msg("%s has no row of kernels, or one and is listed as an operator without",
                     op->name);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(check_unary),
        cmocka_unit_test(check_several),
        cmocka_unit_test(check_convolutions),
        cmocka_unit_test(check_products),
        cmocka_unit_test(check_pools),
        cmocka_unit_test(check_norms),
        cmocka_unit_test(check_reductions),
        cmocka_unit_test(check_views),
        cmocka_unit_test(check_resampling),
        cmocka_unit_test(check_attention),
        cmocka_unit_test(check_computed),
        cmocka_unit_test(check_recurrent),
        cmocka_unit_test(check_signals),
        cmocka_unit_test(check_batches),
        cmocka_unit_test(check_large),
        cmocka_unit_test(check_two_tables),
        cmocka_unit_test(check_joined_channels),
        cmocka_unit_test(keeps_to_limits),
        cmocka_unit_test(leaves_no_operator_out),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
