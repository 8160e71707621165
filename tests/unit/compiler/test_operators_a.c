/*
 * Operators over numbers small enough to be checked by hand: elementwise, conversions,
 * convolutions, products, pools, norms, reductions; the forms of older opsets; what breaks a
 * definition.
 *
 * A row is one node. Tensors are written as their type (f: float32, d: float64, h: float16, i:
 * int64, j: int32, u: uint8, s: int8, w: uint64, b: bool), their shape and their elements, "f[2,2]
 * 1 2 3 4"; without elements a value is not known, "?" is an unknown dim, and only type and shape
 * are compared. Tensors are separated by ";", "-" is one left out. Attributes are name=1, name=1.0,
 * name=[1,2] or name='text', separated by ";". The expected "!" is a fault of the node, "?" that it
 * is not evaluated.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/unit/compiler/coverage.h"
#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct example {
    const char *op;
    int opset;
    const char *attributes, *inputs, *outputs;
};

static const struct example elementwise[] = {
    {"Abs", 13, "", "f[3] -1.5 0 2", "f[3] 1.5 0 2"},
    {"Abs", 13, "", "i[2] -7 7", "i[2] 7 7"},
    {"Acos", 7, "", "f[2] 1 0", "f[2] 0 1.5707963"},
    {"Acosh", 9, "", "f[2] 1 2", "f[2] 0 1.3169579"},
    {"Add", 7, "", "f[2,1] 1 2; f[3] 10 20 30", "f[2,3] 11 21 31 12 22 32"},
    {"Add", 14, "", "i[2] 9223372036854775807 1; i[1] 1", "i[2] -9223372036854775808 2"},
    {"Add", 14, "", "u[2] 255 1; u[2] 1 1", "u[2] 0 2"},
    {"Add", 14, "", "f[2] 1 2; f[3] 1 2 3", "!"},
    {"Add", 14, "", "f[2]; i[2]", "!"},
    /* Constants of different types meet in the one that holds more. */
    {"Add", 14, "", "f[1] 1.5; i[1] 2", "f[1] 3.5"},
    {"Add", 14, "", "i[1] 2; d[1] 0.25", "d[1] 2.25"},
    {"Add", 14, "", "f[?,1]; f[3]", "f[?,3]"},
    {"Add", 14, "", "f[0,3]; f[3]", "f[0,3]"},
    {"Add", 14, "", "f[0]; f[1] 1", "f[0]"},
    {"And", 7, "", "b[4] 0 0 1 1; b[4] 0 1 0 1", "b[4] 0 0 0 1"},
    {"Asin", 7, "", "f[2] 0 1", "f[2] 0 1.5707963"},
    {"Asinh", 9, "", "f[2] 0 1", "f[2] 0 0.8813736"},
    {"Atan", 7, "", "f[2] 0 1", "f[2] 0 0.7853982"},
    {"Atanh", 9, "", "f[2] 0 0.5", "f[2] 0 0.5493061"},
    {"BitCast", 26, "to=6", "f[2] 1 -2", "j[2] 1065353216 -1073741824"},
    {"BitCast", 26, "to=7", "f[1] 1", "!"},
    {"BitShift", 11, "direction='LEFT'", "u[3] 1 2 255; u[3] 1 2 1", "u[3] 2 8 254"},
    {"BitShift", 11, "direction='RIGHT'", "u[3] 1 8 255; u[3] 1 2 9", "u[3] 0 2 0"},
    {"BitwiseAnd", 18, "", "i[2] 12 -1; i[2] 10 7", "i[2] 8 7"},
    {"BitwiseNot", 18, "", "u[2] 0 254", "u[2] 255 1"},
    {"BitwiseOr", 18, "", "i[1] 12; i[1] 10", "i[1] 14"},
    {"BitwiseXor", 18, "", "i[1] 12; i[1] 10", "i[1] 6"},
    {"Ceil", 13, "", "f[3] -1.5 1.2 2", "f[3] -1 2 2"},
    {"Celu", 12, "alpha=2.0", "f[3] -2 0 3", "f[3] -1.2642411 0 3"},
    {"Clip", 6, "min=-1.0;max=2.0", "f[3] -5 1 7", "f[3] -1 1 2"},
    {"Clip", 6, "max=2.0", "f[3] -5 1 7", "f[3] -5 1 2"},
    {"Clip", 13, "", "f[3] -5 1 7; -; f[] 2", "f[3] -5 1 2"},
    {"Clip", 13, "", "f[3] -5 1 7; f[] 3; f[] 2", "f[3] 2 2 2"},
    {"Clip", 13, "", "i[3] -5 1 7; i[] -2", "i[3] -2 1 7"},
    {"Clip", 13, "", "f[3] nan inf -inf; f[] 0; f[] 1", "f[3] nan 1 0"},
    {"Clip", 13, "", "f[3] 1 2 3; f[2] 0 0", "!"},
    {"Cos", 7, "", "f[2] 0 3.1415927", "f[2] 1 -1"},
    {"Cosh", 9, "", "f[2] 0 1", "f[2] 1 1.5430806"},
    {"Div", 7, "", "f[3] 1 -1 3; f[] 2", "f[3] 0.5 -0.5 1.5"},
    {"Div", 14, "", "i[4] 7 -7 7 -7; i[4] 2 2 -2 -2", "i[4] 3 -3 -3 3"},
    {"Div", 14, "", "i[1] -9223372036854775808; i[1] -1", "i[1] -9223372036854775808"},
    {"Div", 14, "", "w[1] 18446744073709551615; w[1] 2", "w[1] 9223372036854775807"},
    {"Div", 14, "", "i[1] 1; i[1] 0", "?"},
    {"Elu", 6, "alpha=2.0", "f[3] -1 0 3", "f[3] -1.2642411 0 3"},
    {"Equal", 7, "", "i[3] 1 2 3; i[1] 2", "b[3] 0 1 0"},
    {"Equal", 19, "", "f[3] 1 nan 3; f[3] 1 nan 4", "b[3] 1 0 0"},
    {"Erf", 9, "", "f[3] -1 0 1", "f[3] -0.8427008 0 0.8427008"},
    {"Exp", 6, "", "f[2] 0 1", "f[2] 1 2.7182818"},
    {"Exp", 13, "", "i[1] 1", "?"},
    {"Floor", 13, "", "f[3] -1.5 1.2 2", "f[3] -2 1 2"},
    {"Gelu", 20, "", "f[3] -1 0 1", "f[3] -0.15865525 0 0.84134475"},
    {"Gelu", 20, "approximate='tanh'", "f[3] -1 0 1", "f[3] -0.158808 0 0.841192"},
    {"Greater", 9, "", "f[3] 1 2 3; f[] 2", "b[3] 0 0 1"},
    {"Greater", 13, "", "w[1] 18446744073709551615; w[1] 1", "b[1] 1"},
    {"GreaterOrEqual", 12, "", "f[3] 1 2 3; f[] 2", "b[3] 0 1 1"},
    {"HardSigmoid", 6, "", "f[3] -5 0 1", "f[3] 0 0.5 0.7"},
    {"HardSigmoid", 22, "alpha=0.5;beta=0.6", "f[3] -5 0 1", "f[3] 0 0.6 1"},
    {"HardSwish", 14, "", "f[4] -4 -1 1 4", "f[4] 0 -0.33333334 0.6666667 4"},
    {"IsInf", 10, "", "f[4] inf -inf nan 1", "b[4] 1 1 0 0"},
    {"IsInf", 10, "detect_negative=0", "f[3] inf -inf 1", "b[3] 1 0 0"},
    {"IsInf", 20, "detect_positive=0", "f[3] inf -inf 1", "b[3] 0 1 0"},
    {"IsNaN", 9, "", "f[3] inf nan 1", "b[3] 0 1 0"},
    {"LeakyRelu", 6, "", "f[2] -1 2", "f[2] -0.01 2"},
    {"LeakyRelu", 16, "alpha=0.5", "f[2] -1 2", "f[2] -0.5 2"},
    {"Less", 9, "", "f[3] 1 2 3; f[] 2", "b[3] 1 0 0"},
    {"LessOrEqual", 12, "", "f[3] 1 2 3; f[] 2", "b[3] 1 1 0"},
    {"Log", 13, "", "f[2] 1 2.7182818", "f[2] 0 1"},
    {"Max", 8, "", "f[3] 1 5 3; f[] 2; f[1] 4", "f[3] 4 5 4"},
    {"Max", 13, "", "f[2] 1 2", "f[2] 1 2"},
    {"Max", 13, "", "f[2] nan 1; f[2] 1 nan", "f[2] nan nan"},
    {"Max", 13, "", "w[1] 18446744073709551615; w[1] 1", "w[1] 18446744073709551615"},
    {"Mean", 8, "", "f[2] 1 2; f[2] 3 4; f[] 5", "f[2] 3 3.6666667"},
    {"Min", 8, "", "i[3] 1 5 3; i[1] 2", "i[3] 1 2 2"},
    {"Mish", 18, "", "f[3] -1 0 1", "f[3] -0.30340146 0 0.86509836"},
    {"Mod", 10, "", "i[4] 5 -5 5 -5; i[4] 3 3 -3 -3", "i[4] 2 1 -1 -2"},
    {"Mod", 10, "fmod=1", "i[4] 5 -5 5 -5; i[4] 3 3 -3 -3", "i[4] 2 -2 2 -2"},
    {"Mod", 13, "fmod=1", "f[2] 5.5 -5.5; f[] 2", "f[2] 1.5 -1.5"},
    {"Mod", 13, "", "i[1] 1; i[1] 0", "?"},
    {"Mul", 7, "", "f[2] 2 3; f[2,1] 10 100", "f[2,2] 20 30 200 300"},
    {"Neg", 13, "", "f[2] 1 -2", "f[2] -1 2"},
    {"Not", 1, "", "b[2] 0 1", "b[2] 1 0"},
    {"Or", 7, "", "b[4] 0 0 1 1; b[4] 0 1 0 1", "b[4] 0 1 1 1"},
    {"Pow", 7, "", "f[3] 2 3 4; f[] 2", "f[3] 4 9 16"},
    {"Pow", 12, "", "i[3] 2 -3 3; i[] 3", "i[3] 8 -27 27"},
    {"Pow", 13, "", "j[2] 2 4; f[] 1.5", "j[2] 2 8"},
    {"Pow", 15, "", "f[2] 2 4; i[] -1", "f[2] 0.5 0.25"},
    {"PRelu", 7, "", "f[2,2] -1 2 -3 4; f[2] 0.5 0.1", "f[2,2] -0.5 2 -1.5 4"},
    {"PRelu", 16, "", "f[2] -1 2; f[2,2] 1 1 1 1", "!"},
    {"Reciprocal", 13, "", "f[2] 2 -4", "f[2] 0.5 -0.25"},
    {"Relu", 6, "", "f[3] -1 0 2", "f[3] 0 0 2"},
    {"Relu", 14, "", "i[2] -1 2", "i[2] 0 2"},
    {"Round", 11, "", "f[5] 0.5 1.5 2.5 -0.5 -1.6", "f[5] 0 2 2 -0 -2"},
    {"Selu", 6, "", "f[3] -1 0 1", "f[3] -1.1113307 0 1.050701"},
    {"Selu", 6, "alpha=2.0;gamma=3.0", "f[2] -1 1", "f[2] -3.7927234 3"},
    {"Shrink", 9, "lambd=1.5;bias=1.5", "f[5] -2 -1 0 1 2", "f[5] -0.5 0 0 0 0.5"},
    {"Shrink", 9, "lambd=1.5", "i[3] -2 1 2", "i[3] -2 0 2"},
    {"Sigmoid", 6, "", "f[3] -100 0 100", "f[3] 0 0.5 1"},
    {"Sign", 9, "", "f[3] -2.5 0 7", "f[3] -1 0 1"},
    {"Sin", 7, "", "f[2] 0 1.5707963", "f[2] 0 1"},
    {"Sinh", 9, "", "f[2] 0 1", "f[2] 0 1.1752012"},
    {"Softplus", 1, "", "f[3] 0 1000 -1000", "f[3] 0.6931472 1000 0"},
    {"Softsign", 1, "", "f[3] -1 0 3", "f[3] -0.5 0 0.75"},
    {"Sqrt", 6, "", "f[2] 4 2", "f[2] 2 1.4142135"},
    {"Shrink", 9, "lambd=0.5;bias=1e30", "i[2] 5 -5",
     "i[2] -9223372036854775808 9223372036854775807"},
    {"Sub", 7, "", "f[2] 1 2; f[2] 3 5", "f[2] -2 -3"},
    {"Sum", 8, "", "f[2] 1 2; f[2] 3 4; f[2,1] 5 6", "f[2,2] 9 11 10 12"},
    {"Swish", 24, "", "f[2] 0 1", "f[2] 0 0.7310586"},
    {"Swish", 24, "alpha=2.0", "f[1] 1", "f[1] 0.8807971"},
    {"Tan", 7, "", "f[2] 0 0.7853982", "f[2] 0 1"},
    {"Tanh", 6, "", "f[2] 0 1", "f[2] 0 0.7615942"},
    {"ThresholdedRelu", 10, "", "f[3] 0.5 1 2", "f[3] 0 0 2"},
    {"ThresholdedRelu", 10, "alpha=2.0", "f[3] 1 2 3", "f[3] 0 0 3"},
    {"Xor", 7, "", "b[4] 0 0 1 1; b[4] 0 1 0 1", "b[4] 0 1 1 0"},
    {"Where", 9, "", "b[2] 1 0; f[2] 1 2; f[] 9", "f[2] 1 9"},
    {"Where", 16, "", "b[2,1] 1 0; i[2] 1 2; i[2] 8 9", "i[2,2] 1 2 8 9"},
    {"Where", 16, "", "b[1] 1; f[1] 1.5; i[1] 2", "f[1] 1.5"},
    {"Where", 16, "", "f[1] 1; f[1] 1; f[1] 2", "!"},
    {"Cast", 9, "to=7", "f[4] -1.9 1.9 0.4 nan", "i[4] -1 1 0 0"},
    {"Cast", 9, "to=9", "f[3] 0.4 0 -0", "b[3] 1 0 0"},
    {"Cast", 13, "to=3", "i[2] 200 -1", "s[2] -56 -1"},
    {"Cast", 13, "to=1", "b[2] 0 1", "f[2] 0 1"},
    {"Cast", 13, "to=10", "f[2] 1.0004883 65519", "h[2] 1 65504"},
    {"Cast", 13, "to=1", "w[1] 18446744073709551615", "f[1] 18446744073709551615"},
    {"Cast", 13, "to=99", "f[1] 1", "!"},
    {"Cast", 13, "to=4294967297", "f[1] 1", "!"},
    {"CastLike", 15, "", "f[2] 1.9 -1.9; i[1] 0", "i[2] 1 -1"},
};

#define ONE_TO_NINE "f[1,1,3,3] 1 2 3 4 5 6 7 8 9"

static const struct example convolutions[] = {
    {"Conv", 1, "", ONE_TO_NINE "; f[1,1,2,2] 1 0 0 1", "f[1,1,2,2] 6 8 12 14"},
    {"Conv", 11, "pads=[1,1,1,1];strides=[2,2]",
     ONE_TO_NINE "; f[1,1,3,3] 0 0 0 0 1 0 0 0 0; f[1] 10", "f[1,1,2,2] 11 13 17 19"},
    {"Conv", 22, "auto_pad='SAME_UPPER'", ONE_TO_NINE "; f[1,1,2,2] 0 0 0 1",
     "f[1,1,3,3] 5 6 0 8 9 0 0 0 0"},
    {"Conv", 22, "auto_pad='SAME_LOWER'", ONE_TO_NINE "; f[1,1,2,2] 0 0 0 1",
     "f[1,1,3,3] 1 2 3 4 5 6 7 8 9"},
    {"Conv", 22, "auto_pad='VALID';pads=[5,5,5,5]", ONE_TO_NINE "; f[1,1,3,3] 1 1 1 1 1 1 1 1 1",
     "f[1,1,1,1] 45"},
    {"Conv", 22, "dilations=[2,2]", ONE_TO_NINE "; f[1,1,2,2] 1 1 1 1", "f[1,1,1,1] 20"},
    {"Conv", 22, "group=2", "f[1,2,2] 1 2 3 4; f[2,1,1] 10 100", "f[1,2,2] 10 20 300 400"},
    /* Six outputs: a block of four planes and a rest. */
    {"Conv", 22, "", "f[1,2,2] 1 2 3 4; f[6,2,1] 1 0 0 1 1 1 2 0 0 2 1 -1; f[6] 0 0 0 0 0 1",
     "f[1,6,2] 1 2 3 4 4 6 2 4 6 8 -1 -1"},
    {"Conv", 22, "", "d[1,1,2,1,1] 1 2; d[1,1,2,1,1] 3 4", "d[1,1,1,1,1] 11"},
    {"Conv", 22, "", "h[1,1,2] 1 2; h[1,1,2] 3 4", "h[1,1,1] 11"},
    {"Conv", 22, "", "f[0,1,3,3]; f[1,1,2,2] 1 0 0 1", "f[0,1,2,2]"},
    {"Conv", 22, "", "f[1,0,3]; f[2,0,2]; f[2] 1 2", "f[1,2,2] 1 1 2 2"},
    {"Conv", 22, "kernel_shape=[3,3]", ONE_TO_NINE "; f[1,1,2,2] 1 0 0 1", "!"},
    {"Conv", 22, "", ONE_TO_NINE "; f[1,2,2,2] 1 0 0 1 1 0 0 1", "!"},
    {"Conv", 22, "", ONE_TO_NINE "; f[1,1,4,4]", "!"},
    {"Conv", 22, "strides=[0,1]", ONE_TO_NINE "; f[1,1,2,2]", "!"},
    {"Conv", 22, "pads=[1,1]", ONE_TO_NINE "; f[1,1,2,2]", "!"},
    {"Conv", 22, "auto_pad='BOTH'", ONE_TO_NINE "; f[1,1,2,2]", "!"},
    {"Conv", 22, "group=2", "f[1,2,2]; f[3,1,1]", "!"},
    {"Conv", 22, "", "f[1,2,2]; f[3,2,1]; f[2]", "!"},
    {"Conv", 22, "strides=[2,2];pads=[1,1,1,1]", "f[?,3,?,9]; f[8,3,3,3]", "f[?,8,?,5]"},
    {"ConvTranspose", 1, "", "f[1,1,2,2] 1 2 3 4; f[1,1,2,2] 1 10 100 1000",
     "f[1,1,3,3] 1 12 20 103 1234 2040 300 3400 4000"},
    {"ConvTranspose", 11, "strides=[2]", "f[1,1,2] 1 2; f[1,1,3] 1 1 1", "f[1,1,5] 1 1 3 2 2"},
    {"ConvTranspose", 11, "strides=[2];pads=[1,1];output_padding=[1]",
     "f[1,1,2] 1 2; f[1,1,3] 1 1 1", "f[1,1,4] 1 3 2 2"},
    {"ConvTranspose", 11, "strides=[2];auto_pad='SAME_UPPER'", "f[1,1,2] 1 2; f[1,1,3] 1 1 1",
     "f[1,1,4] 1 1 3 2"},
    {"ConvTranspose", 11, "strides=[2];auto_pad='SAME_LOWER'", "f[1,1,2] 1 2; f[1,1,3] 1 1 1",
     "f[1,1,4] 1 3 2 2"},
    {"ConvTranspose", 11, "strides=[2];output_shape=[4]", "f[1,1,2] 1 2; f[1,1,3] 1 1 1; f[1] 5",
     "f[1,1,4] 6 8 7 7"},
    {"ConvTranspose", 11, "strides=[2];output_shape=[7]", "f[1,1,2] 1 2; f[1,1,3] 1 1 1; f[1] 5",
     "f[1,1,7] 6 6 8 7 7 5 5"},
    {"ConvTranspose", 11, "strides=[4];auto_pad='SAME_UPPER'", "f[1,1,2]; f[1,1,3]", "!"},
    {"ConvTranspose", 22, "group=2", "f[1,2,1] 1 2; f[2,2,1] 1 10 100 1000; f[4] 0 0 0 1",
     "f[1,4,1] 1 10 200 2001"},
    {"ConvTranspose", 22, "dilations=[2]", "f[1,1,1] 3; f[1,1,2] 1 2", "f[1,1,3] 3 0 6"},
};

static const struct example products[] = {
    {"MatMul", 9, "", "f[2,2] 1 2 3 4; f[2,2] 1 10 100 1000", "f[2,2] 201 2010 403 4030"},
    {"MatMul", 13, "", "f[2] 1 2; f[2] 3 4", "f[] 11"},
    {"MatMul", 13, "", "f[2] 1 2; f[2,3] 1 2 3 4 5 6", "f[3] 9 12 15"},
    {"MatMul", 13, "", "f[2,2] 1 2 3 4; f[2] 1 10", "f[2] 21 43"},
    {"MatMul", 13, "", "f[2,1,1,2] 1 2 3 4; f[2,2,1] 1 1 1 10", "f[2,2,1,1] 3 21 7 43"},
    {"MatMul", 13, "", "f[5,1] 1 2 3 4 5; f[1,2] 1 10", "f[5,2] 1 10 2 20 3 30 4 40 5 50"},
    {"MatMul", 13, "", "i[1,2] 1 2; i[2,1] 3 4", "i[1,1] 11"},
    {"MatMul", 13, "", "d[1,2] 1 2; d[2,1] 3 4", "d[1,1] 11"},
    {"MatMul", 13, "", "f[2,0]; f[0,2]", "f[2,2]"},
    {"MatMul", 13, "", "f[2,3]; f[2,3]", "!"},
    {"MatMul", 13, "", "f[]; f[2,3]", "!"},
    {"MatMul", 13, "", "f[2,1,3]; f[3,3,2]", "!"},
    {"Gemm", 7, "", "f[1,2] 1 2; f[2,2] 1 2 3 4; f[2] 10 20", "f[1,2] 17 30"},
    {"Gemm", 9, "transA=1;alpha=2.0;beta=0.5", "f[2,1] 1 2; f[2,2] 1 2 3 4; f[1,1] 10",
     "f[1,2] 19 25"},
    {"Gemm", 11, "transB=1", "f[2,2] 1 2 3 4; f[1,2] 5 6", "f[2,1] 17 39"},
    {"Gemm", 13, "", "f[2,1] 1 2; f[1,2] 1 1; f[2,1] 10 20", "f[2,2] 11 11 22 22"},
    {"Gemm", 13, "", "f[2,1]; f[1,2]; f[3]", "!"},
    {"Gemm", 13, "transB=1", "f[2,3]; f[3,2]", "!"},
    {"Einsum", 12, "equation='ij->ji'", "f[2,2] 1 2 3 4", "f[2,2] 1 3 2 4"},
    {"Einsum", 12, "equation='ii'", "f[2,2] 1 2 3 4", "f[] 5"},
    {"Einsum", 12, "equation='ii->i'", "f[2,2] 1 2 3 4", "f[2] 1 4"},
    {"Einsum", 12, "equation='b a, a c'", "f[1,2] 1 2; f[2,2] 1 2 3 4", "f[1,2] 7 10"},
    {"Einsum", 12, "equation='...ij,...jk->...ik'", "f[2,1,2] 1 2 3 4; f[2,1] 1 10",
     "f[2,1,1] 21 43"},
    {"Einsum", 12, "equation='i,j,k->kji'", "i[1] 2; i[2] 3 5; i[1] 7", "i[1,2,1] 42 70"},
    {"Einsum", 12, "equation='...a->...'", "f[2,2] 1 2 3 4", "f[2] 3 7"},
    {"Einsum", 12, "equation='ij->ik'", "f[2,2]", "!"},
    {"Einsum", 12, "equation='ij,jk'", "f[2,2]", "!"},
    {"Einsum", 12, "equation='ij,jk'", "f[2,2]; f[3,2]", "!"},
    {"Einsum", 12, "equation='i?'", "f[2,2]", "!"},
    {"Einsum", 12, "equation='ijk'", "f[2,2]", "!"},
    {"Det", 11, "", "f[2,2] 1 2 3 4", "f[] -2"},
    {"Det", 11, "", "f[2,2,2] 0 1 1 0 1 2 2 4", "f[2] -1 0"},
    {"Det", 11, "", "f[2,3]", "!"},
};

static const struct example pools[] = {
    {"MaxPool", 1, "kernel_shape=[2,2]", ONE_TO_NINE, "f[1,1,2,2] 5 6 8 9"},
    {"MaxPool", 8, "kernel_shape=[2,2];strides=[2,2];pads=[1,1,0,0]", ONE_TO_NINE,
     "f[1,1,2,2] 1 3 7 9; i[1,1,2,2] 0 2 6 8"},
    {"MaxPool", 10, "kernel_shape=[2,2];strides=[2,2];ceil_mode=1", ONE_TO_NINE,
     "f[1,1,2,2] 5 6 8 9"},
    /* The window that would start beyond the input and its begin padding is dropped. */
    {"MaxPool", 12, "kernel_shape=[1];strides=[2];ceil_mode=1", "f[1,1,2] 1 2", "f[1,1,1] 1"},
    {"MaxPool", 12, "kernel_shape=[3];strides=[2];pads=[1,1];ceil_mode=1", "f[1,1,4] 1 2 3 4",
     "f[1,1,3] 2 4 4"},
    {"MaxPool", 12, "kernel_shape=[2,2];storage_order=1", ONE_TO_NINE,
     "f[1,1,2,2] 5 6 8 9; i[1,1,2,2] 4 7 5 8"},
    {"MaxPool", 12, "kernel_shape=[2];dilations=[2]", "f[1,1,4] 4 1 2 3", "f[1,1,2] 4 3"},
    {"MaxPool", 12, "kernel_shape=[2];auto_pad='SAME_UPPER';strides=[2]", "f[1,1,3] -1 -2 -3",
     "f[1,1,2] -1 -3"},
    {"MaxPool", 12, "kernel_shape=[2]", "s[1,1,3] -128 -3 2", "s[1,1,2] -3 2"},
    {"MaxPool", 12, "kernel_shape=[2]", "f[1,2,2] 1 1 2 2", "f[1,2,1] 1 2; i[1,2,1] 0 2"},
    {"MaxPool", 12, "kernel_shape=[2]", "f[0,4611686018427387904,2]", "f[0,4611686018427387904,1]"},
    {"MaxPool", 12, "kernel_shape=[1000000000,1000000000];pads=[1000000000,1000000000,0,0]",
     ONE_TO_NINE, "!"},
    {"MaxPool", 12, "", ONE_TO_NINE, "!"},
    {"MaxPool", 12, "kernel_shape=[4,4]", ONE_TO_NINE, "!"},
    {"MaxPool", 12, "kernel_shape=[2]", "f[2,2]", "!"},
    {"MaxPool", 12, "kernel_shape=[2,2]", "f[?,?,?,8]", "f[?,?,?,7]"},
    {"AveragePool", 7, "kernel_shape=[2,2]", ONE_TO_NINE, "f[1,1,2,2] 3 4 6 7"},
    {"AveragePool", 7, "kernel_shape=[3];pads=[1,1]", "f[1,1,3] 1 2 3", "f[1,1,3] 1.5 2 2.5"},
    {"AveragePool", 7, "kernel_shape=[3];pads=[1,1];count_include_pad=1", "f[1,1,3] 1 2 3",
     "f[1,1,3] 1 2 1.6666666"},
    /* Beyond the padding nothing counts: the last window divides by 2, not by 3. */
    {"AveragePool", 10, "kernel_shape=[3];strides=[2];ceil_mode=1;count_include_pad=1;pads=[0,0]",
     "f[1,1,4] 1 2 3 5", "f[1,1,2] 2 4"},
    {"AveragePool", 19, "kernel_shape=[2];dilations=[2]", "f[1,1,4] 1 2 3 4", "f[1,1,2] 2 3"},
    {"AveragePool", 11, "kernel_shape=[2];auto_pad='SAME_LOWER'", "f[1,1,3] 1 2 3",
     "f[1,1,3] 1 1.5 2.5"},
    {"LpPool", 11, "kernel_shape=[2]", "f[1,1,3] 3 -4 0", "f[1,1,2] 5 4"},
    {"LpPool", 18, "kernel_shape=[2];p=1;dilations=[2];ceil_mode=1", "f[1,1,3] 3 -4 -1",
     "f[1,1,1] 4"},
    {"LpPool", 22, "kernel_shape=[2];p=3", "f[1,1,2] 1 2", "f[1,1,1] 2.0800838"},
    {"GlobalAveragePool", 1, "", "f[1,2,2] 1 2 3 5", "f[1,2,1] 1.5 4"},
    {"GlobalMaxPool", 1, "", "f[1,2,2] 1 2 -3 -5", "f[1,2,1] 2 -3"},
    {"GlobalLpPool", 2, "", "f[1,1,2] 3 4", "f[1,1,1] 5"},
    {"GlobalLpPool", 22, "p=1", "f[1,1,2] 3 -4", "f[1,1,1] 7"},
    {"GlobalAveragePool", 1, "", "f[1,2]", "!"},
    {"MaxUnpool", 9, "kernel_shape=[2];strides=[2]", "f[1,1,2] 7 8; i[1,1,2] 1 2",
     "f[1,1,4] 0 7 8 0"},
    {"MaxUnpool", 11, "kernel_shape=[2,2];strides=[2,2]",
     "f[1,1,1,1] 7; i[1,1,1,1] 3; i[4] 1 1 3 3", "f[1,1,3,3] 0 0 0 0 7 0 0 0 0"},
    {"MaxUnpool", 11, "kernel_shape=[2]", "f[1,1,1] 7; i[1,1,1] 9", "?"},
};

static const struct example norms[] = {
    {"BatchNormalization", 7, "epsilon=0.0",
     "f[1,2,2] 1 2 3 4; f[2] 1 2; f[2] 0 1; f[2] 1 3; f[2] 1 4", "f[1,2,2] 0 1 1 2"},
    {"BatchNormalization", 7, "epsilon=0.0;spatial=0",
     "f[2,1,2] 1 2 3 4; f[1,2] 1 2; f[1,2] 0 1; f[1,2] 1 2; f[1,2] 1 4", "f[2,1,2] 0 1 2 3"},
    {"BatchNormalization", 15, "epsilon=0.0", "f[2,1] 3 5; f[1] 2; f[1] 1; f[1] 1; f[1] 4",
     "f[2,1] 3 5"},
    {"BatchNormalization", 15, "epsilon=0.0;training_mode=1;momentum=0.5",
     "f[2,1] 1 3; f[1] 1; f[1] 0; f[1] 4; f[1] 3", "f[2,1] -1 1; f[1] 3; f[1] 2"},
    {"BatchNormalization", 9, "epsilon=0.0;momentum=0.5",
     "f[2,1] 1 3; f[1] 1; f[1] 0; f[1] 4; f[1] 3", "f[2,1] -1 1; f[1] 3; f[1] 2; f[1] 2; f[1] 1"},
    {"BatchNormalization", 15, "", "f[1,3]; f[2]; f[3]; f[3]; f[3]", "!"},
    {"InstanceNormalization", 6, "epsilon=0.0", "f[1,2,2] 1 3 2 6; f[2] 1 10; f[2] 0 1",
     "f[1,2,2] -1 1 -9 11"},
    {"BatchNormalization", 7, "spatial=0", "f[1,4] 1 2 3 4; f[2] 1 2; f[2] 1 2; f[2] 1 2; f[2] 1 2",
     "?"},
    {"InstanceNormalization", 6, "", "f[1,2,2]; f[3]; f[2]", "!"},
    {"InstanceNormalization", 6, "", "f[1,0,2]; f[0]; f[0]", "f[1,0,2]"},
    {"GroupNormalization", 21, "epsilon=0.0;num_groups=1", "f[1,2,1] 1 3; f[2] 1 10; f[2] 0 1",
     "f[1,2,1] -1 11"},
    {"GroupNormalization", 18, "epsilon=0.0;num_groups=2",
     "f[1,4,1] 1 3 5 5.5; f[2] 1 10; f[2] 0 1", "f[1,4,1] -1 1 -9 11"},
    {"GroupNormalization", 21, "num_groups=3", "f[1,4,1]; f[4]; f[4]", "!"},
    {"LayerNormalization", 17, "epsilon=0.0", "f[2,2] 1 3 2 6; f[2] 1 2; f[2] 0 1",
     "f[2,2] -1 3 -1 3; f[2,1] 2 4; f[2,1] 1 0.5"},
    {"LayerNormalization", 17, "epsilon=0.0;axis=0", "f[2,1] 1 3; f[] 1", "f[2,1] -1 1"},
    {"LayerNormalization", 17, "", "f[2,2]; f[3]", "!"},
    {"LayerNormalization", 17, "axis=2", "f[2,2]; f[2]", "!"},
    /* The mean of squared deviations: E[x^2] - mean^2 would be lost to rounding. */
    {"LayerNormalization", 17, "epsilon=0.0", "d[1,2] 1000000000001 1000000000003; d[2] 1 1",
     "d[1,2] -1 1"},
    {"RMSNormalization", 23, "epsilon=0.0", "f[1,2] 1 7; f[2] 1 2", "f[1,2] 0.2 2.8"},
    {"MeanVarianceNormalization", 9, "", "f[2,1,1,1] 1 3", "f[2,1,1,1] -1 1"},
    {"MeanVarianceNormalization", 13, "axes=[-1]", "f[2,2] 1 3 2 6", "f[2,2] -1 1 -1 1"},
    {"LpNormalization", 1, "", "f[2,2] 3 4 0 0", "f[2,2] 0.6 0.8 0 0"},
    {"LpNormalization", 22, "p=1;axis=0", "f[2,2] 1 -2 3 2", "f[2,2] 0.25 -0.5 0.75 0.5"},
    {"LpNormalization", 22, "p=3", "f[2,2]", "!"},
    {"LRN", 1, "size=3;alpha=3.0;beta=1.0", "f[1,3,1] 1 2 3",
     "f[1,3,1] 0.16666667 0.13333334 0.21428572"},
    {"LRN", 13, "size=2;alpha=2.0;beta=0.5;bias=0.0", "f[1,2,1] 3 4", "f[1,2,1] 0.6 1"},
    {"LayerNormalization", 17, "stash_type=7", "f[2,2]; f[2]", "!"},
    {"Softmax", 13, "axes=[99]", "f[] 3", "f[] 1"},
    {"Softmax", 13, "", "f[0,4611686018427387904,4]", "f[0,4611686018427387904,4]"},
    {"LRN", 13, "size=9223372036854775807", "f[1,3,1]", "!"},
    {"LRN", 13, "size=0", "f[1,3,1]", "!"},
    {"Softmax", 13, "", "f[2,2] 0 0 1000 1000", "f[2,2] 0.5 0.5 0.5 0.5"},
    {"Softmax", 13, "axis=0", "f[2,1] 0 1.0986123", "f[2,1] 0.25 0.75"},
    /* Before opset 13 all axes from axis on are one. */
    {"Softmax", 11, "", "f[1,2,2] 0 0 0 0", "f[1,2,2] 0.25 0.25 0.25 0.25"},
    {"Softmax", 7, "axis=2", "f[1,2,2] 0 0 0 0", "f[1,2,2] 0.5 0.5 0.5 0.5"},
    {"Softmax", 13, "axis=3", "f[1,2]", "!"},
    {"LogSoftmax", 13, "", "f[2] 1000 1000", "f[2] -0.6931472 -0.6931472"},
    {"LogSoftmax", 1, "", "f[1,2,1] 0 0", "f[1,2,1] -0.6931472 -0.6931472"},
    {"Hardmax", 13, "", "f[2,3] 1 3 3 2 0 1", "f[2,3] 0 1 0 1 0 0"},
    {"Hardmax", 11, "axis=0", "f[2,2] 1 4 3 2", "f[2,2] 0 1 0 0"},
};

#define ONE_TO_SIX "f[2,3] 1 2 3 4 5 6"

static const struct example losses[] = {
    {"NegativeLogLikelihoodLoss", 12, "reduction='none'", "f[1,2,2] 1 2 3 5; i[1,2] 0 1",
     "f[1,2] -1 -5"},
    {"NegativeLogLikelihoodLoss", 13, "reduction='sum'", "f[1,2,2] 1 2 3 5; j[1,2] 0 1", "f[] -6"},
    {"NegativeLogLikelihoodLoss", 22, "", "f[2,2] 1 2 3 5; i[2] 0 1", "f[] -3"},
    {"NegativeLogLikelihoodLoss", 13, "", "f[2,2] 1 2 3 5; i[2] 0 1; f[2] 2 3", "f[] -3.4"},
    {"NegativeLogLikelihoodLoss", 13, "ignore_index=-7", "f[2,2] 1 2 3 5; i[2] 0 -7", "f[] -1"},
    {"NegativeLogLikelihoodLoss", 13, "ignore_index=1;reduction='none'",
     "f[2,2] 1 2 3 5; i[2] 1 0; f[2] 2 3", "f[2] 0 -6"},
    {"NegativeLogLikelihoodLoss", 13, "", "f[2,2] 1 2 3 5; i[2] 0 2", "?"},
    {"NegativeLogLikelihoodLoss", 13, "", "f[2,2] 1 2 3 5; i[3] 0 1 1", "!"},
    {"NegativeLogLikelihoodLoss", 13, "", "f[2,2] 1 2 3 5; f[2] 0 1", "!"},
    {"NegativeLogLikelihoodLoss", 13, "reduction='most'", "f[2,2] 1 2 3 5; i[2] 0 1", "!"},
    {"NegativeLogLikelihoodLoss", 13, "", "f[2,2] 1 2 3 5; i[2] 0 1; f[3] 1 1 1", "!"},
    {"NegativeLogLikelihoodLoss", 13, "", "f[2] 1 2; i[2] 0 1", "!"},
    {"SoftmaxCrossEntropyLoss", 12, "", "f[1,2] 0 0; i[1] 1", "f[] 0.6931472"},
    {"SoftmaxCrossEntropyLoss", 13, "reduction='none'", "f[1,3] 1 2 3; i[1] 0; f[3] 2 1 1",
     "f[1] 4.815212; f[1,3] -2.407606 -1.407606 -0.407606"},
    {"SoftmaxCrossEntropyLoss", 13, "reduction='sum';ignore_index=2",
     "f[1,2,2] 0 5 0 1; i[1,2] 0 2", "f[] 0.6931472"},
};

static const struct example reductions[] = {
    {"ReduceSum", 7, "axes=[1]", ONE_TO_SIX, "f[2,1] 6 15"},
    {"ReduceSum", 11, "axes=[-1];keepdims=0", ONE_TO_SIX, "f[2] 6 15"},
    {"ReduceSum", 13, "keepdims=0", ONE_TO_SIX "; i[1] 0", "f[3] 5 7 9"},
    {"ReduceSum", 13, "", ONE_TO_SIX, "f[1,1] 21"},
    {"ReduceSum", 13, "keepdims=0", ONE_TO_SIX "; i[0]", "f[] 21"},
    {"ReduceSum", 13, "noop_with_empty_axes=1", ONE_TO_SIX, ONE_TO_SIX},
    {"ReduceSum", 13, "", "i[2] 9223372036854775807 1; i[1] 0", "i[1] -9223372036854775808"},
    {"ReduceSum", 13, "keepdims=0", "f[0,2]; i[1] 0", "f[2]"},
    {"ReduceSum", 13, "", ONE_TO_SIX "; i[1] 2", "!"},
    {"ReduceSum", 13, "", ONE_TO_SIX "; i[?]", "f[?,?]"},
    {"ReduceSum", 13, "keepdims=0", "f[0,4611686018427387904,4]; i[2] 1 2", "f[0]"},
    {"ReduceMax", 13, "keepdims=0", "f[2,0]; i[1] 1", "f[2] -inf -inf"},
    {"ReduceMean", 1, "axes=[0];keepdims=0", ONE_TO_SIX, "f[3] 2.5 3.5 4.5"},
    {"ReduceMean", 18, "", "i[2] 1 4", "i[1] 2"},
    {"ReduceMax", 11, "axes=[0,1];keepdims=0", "f[2,2] -1 -2 -3 -4", "f[] -1"},
    {"ReduceMax", 20, "", "b[3] 0 1 0", "b[1] 1"},
    {"ReduceMin", 18, "keepdims=0", "u[3] 200 7 9; i[1] 0", "u[] 7"},
    {"ReduceProd", 18, "", "f[3] 2 3 4", "f[1] 24"},
    {"ReduceL1", 18, "", "f[3] 1 -2 3", "f[1] 6"},
    {"ReduceL2", 18, "", "f[2] 3 -4", "f[1] 5"},
    {"ReduceL2", 18, "", "f[2] 3e30 4e30", "f[1] 5e30"},
    {"ReduceLogSum", 18, "", "f[2] 1 1.7182818", "f[1] 1"},
    {"ReduceLogSumExp", 18, "", "f[2] 1000 1000", "f[1] 1000.6931"},
    {"ReduceSumSquare", 18, "", "f[2] 1 2", "f[1] 5"},
    {"ReduceSumSquare", 18, "noop_with_empty_axes=1", "f[2] 3 -2", "f[2] 9 4"},
    {"ReduceMax", 18, "", "f[?,4]; i[1] -1", "f[?,1]"},
    {"ArgMax", 7, "", "f[2,2] 1 5 3 2", "i[1,2] 1 0"},
    {"ArgMax", 12, "axis=-1;keepdims=0;select_last_index=1", "f[1,3] 2 2 1", "i[1] 1"},
    {"ArgMax", 13, "axis=-1;keepdims=0", "f[1,3] 2 2 1", "i[1] 0"},
    {"ArgMin", 13, "axis=1", "i[1,3] 2 1 1", "i[1,1] 1"},
    {"ArgMin", 13, "axis=2", "f[1,3]", "!"},
    {"CumSum", 11, "", "f[3] 1 2 3; i[] 0", "f[3] 1 3 6"},
    {"CumSum", 14, "exclusive=1", "f[3] 1 2 3; i[] 0", "f[3] 0 1 3"},
    {"CumSum", 14, "reverse=1", "i[2,2] 1 2 3 4; i[] 1", "i[2,2] 3 2 7 4"},
    {"CumSum", 14, "reverse=1;exclusive=1", "f[3] 1 2 3; i[] -1", "f[3] 5 3 0"},
    {"CumProd", 26, "", "f[3] 1 2 3; i[] 0", "f[3] 1 2 6"},
    {"CumProd", 26, "exclusive=1;reverse=1", "j[3] 1 2 3; i[] 0", "j[3] 6 3 1"},
    {"CumSum", 14, "", "f[3]; i[1] 1", "!"},
};

/* ---- reading rows ---- */

static const struct {
    char letter;
    enum element_type type;
} letters[] = {
    {'f', TYPE_FLOAT32}, {'d', TYPE_FLOAT64}, {'h', TYPE_FLOAT16},
    {'i', TYPE_INT64},   {'j', TYPE_INT32},   {'u', TYPE_UINT8},
    {'s', TYPE_INT8},    {'w', TYPE_UINT64},  {'b', TYPE_BOOL},
};

static const char *blank(const char *p)
{
    while (*p == ' ')
        p++;
    return p;
}

/* One tensor of a row: its type and shape, and its elements where it has any. */
static const char *read_tensor(struct context *c, const char *p, struct value *v)
{
    void *payload;
    char *end;

    v->shape = (struct shape){.axes = 0};
    for (size_t i = 0; i < sizeof letters / sizeof *letters; i++)
        if (letters[i].letter == *p)
            v->type = letters[i].type;
    assert_true(v->type != TYPE_UNKNOWN && p[1] == '[');
    for (p += 2; *p != ']'; p += *p == ',') {
        if (*p == '?') {
            v->shape.dim[v->shape.axes++] = -1;
            p++;
        } else {
            v->shape.dim[v->shape.axes++] = strtoll(p, &end, 10);
            p = end;
        }
    }
    p = blank(p + 1);
    if (!shape_known(&v->shape) || ((!*p || *p == ';') && shape_count(&v->shape) != 0))
        return p;
    v->constant = tensor_new(&c->arena, v->type, &v->shape, &payload);
    for (int64_t i = 0; i < v->constant->count; i++, p = blank(end)) {
        if (v->type == TYPE_UINT64)
            ((uint64_t *)payload)[i] = strtoull(p, &end, 10);
        else if (type_is_float(v->type))
            payload_set(payload, v->type, i, strtod(p, &end));
        else
            payload_set_integer(payload, v->type, i, strtoll(p, &end, 10));
        assert_ptr_not_equal(end, p);
    }
    assert_true(!*p || *p == ';');
    return p;
}

static int read_tensors(struct context *c, struct graph *g, const char *p, struct value **values)
{
    int count = 0;

    for (p = blank(p); *p; p = blank(p + (*p == ';'))) {
        values[count++] = NULL;
        if (*p == '-') {
            p = blank(p + 1);
            continue;
        }
        values[count - 1] = graph_value(g, "", TYPE_UNKNOWN, NULL);
        p = read_tensor(c, p, values[count - 1]);
    }
    return count;
}

static void read_attributes(struct node *n, const char *p)
{
    while (*p) {
        char name[32], text[64], *end;
        int length = (int)strcspn(p, "=");

        snprintf(name, sizeof name, "%.*s", length, p);
        p += length + 1;
        length = (int)strcspn(p, ";");
        snprintf(text, sizeof text, "%.*s", length, p);
        if (*text == '[') {
            int64_t ints[8];
            int count = 0;

            for (const char *q = text + 1; *q != ']'; q = end + (*end == ','))
                ints[count++] = strtoll(q, &end, 10);
            node_set_ints(n, name, count, ints);
        } else if (*text == '\'') {
            text[length - 1] = '\0';
            node_set_string(n, name, text + 1);
        } else if (strpbrk(text, ".e")) {
            node_set_float(n, name, strtof(text, NULL));
        } else {
            node_set_int(n, name, strtoll(text, NULL, 10));
        }
        p += length + (p[length] == ';');
    }
}

static void compare(struct context *c, const struct example *e, const struct tensor *got,
                    const struct tensor *want)
{
    const double *a = tensor_doubles(c, got, &c->arena), *b = tensor_doubles(c, want, &c->arena);

    for (int64_t i = 0; i < want->count; i++) {
        bool exact = !type_is_float(want->type) || !isfinite(b[i]);

        if (isnan(b[i]) ? isnan(a[i])
                        : a[i] == b[i] || (!exact && fabs(a[i] - b[i]) <= 2e-6 * (1 + fabs(b[i]))))
            continue;
        fail_msg("%s %d (%s) over %s: element %d is %.9g instead of %.9g", e->op, e->opset,
                 e->attributes, e->inputs, (int)i, a[i], b[i]);
    }
}

static void run(const struct example *e, struct context *c)
{
    struct graph *g = graph_new(c);
    struct value *in[8], *want[8];
    int in_count = read_tensors(c, g, e->inputs, in), want_count = 1;
    const struct operator* op = operator_find("", e->op, e->opset);
    bool fault = strcmp(e->outputs, "!") == 0, refused = strcmp(e->outputs, "?") == 0;
    bool constant = true;
    struct tensor **out;
    struct node *n;

    if (!op)
        fail_msg("%s %d has no row", e->op, e->opset);
    if (!fault && !refused)
        want_count = read_tensors(c, g, e->outputs, want);
    n = graph_node(g, op, "node", in, in_count, want_count);
    n->opset = e->opset;
    for (int i = 1; i < want_count; i++)
        n->outputs[i]->output_count = 1;
    read_attributes(n, e->attributes);
    if (op->functions->upgrade)
        op->functions->upgrade(g, n);
    op->functions->infer(n);
    if (fault != (c->diagnostics.errors > 0))
        fail_msg("%s %d (%s) over %s: %s", e->op, e->opset, e->attributes, e->inputs,
                 fault ? "no fault was found" : c->diagnostics.list[0].message);
    if (fault)
        return;
    /* The form that infer leaves must be one that it leaves alone. */
    op->functions->infer(n);
    assert_int_equal(c->diagnostics.errors, 0);
    for (int i = 0; i < n->input_count; i++)
        constant = constant && (!n->inputs[i] || n->inputs[i]->constant);
    for (int i = 0; i < want_count && !refused; i++)
        if (n->outputs[i]->type != want[i]->type ||
            !shape_equal(&n->outputs[i]->shape, &want[i]->shape))
            fail_msg("%s %d (%s) over %s: output %d is %s %s instead of %s %s", e->op, e->opset,
                     e->attributes, e->inputs, i, type_name(n->outputs[i]->type),
                     shape_text(&c->arena, &n->outputs[i]->shape), type_name(want[i]->type),
                     shape_text(&c->arena, &want[i]->shape));
    if (!constant)
        return;
    out = evaluate_node(n, &c->arena);
    if (refused != (c->diagnostics.errors > 0))
        fail_msg("%s %d (%s) over %s: it was %s", e->op, e->opset, e->attributes, e->inputs,
                 refused ? "evaluated" : "not evaluated");
    for (int i = 0; i < want_count && !refused; i++)
        if (want[i]->constant) {
            compare(c, e, out[i], want[i]->constant);
            cover(op);
        }
}

static void run_all(const struct example *examples, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        struct context c;

        context_init(&c, NULL);
        if (setjmp(c.escape) == 0)
            run(&examples[i], &c);
        else
            fail_msg("%s over %s: %s", examples[i].op, examples[i].inputs, c.why);
        context_release(&c);
    }
}

#define TEST(examples)                                                                             \
    static void test_##examples(void **state)                                                      \
    {                                                                                              \
        (void)state;                                                                               \
        run_all(examples, sizeof examples / sizeof *examples);                                     \
    }
TEST(elementwise)
TEST(convolutions)
TEST(products)
TEST(pools)
TEST(norms)
TEST(losses)
TEST(reductions)

/* After the others. */
static void leaves_no_operator_out(void **state)
{
    (void)state;
    for (const struct operator* op = operator_rows(); op->name; op++)
        if (strcmp(op->domain, OPERATOR_INTERNAL) != 0 && !is_covered(op->name) &&
            !is_listed(op->name, moving_operators) && !is_listed(op->name, control_operators))
            fail_msg("%s has no row with values from its definition", op->name);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_elementwise), cmocka_unit_test(test_convolutions),
        cmocka_unit_test(test_products),    cmocka_unit_test(test_pools),
        cmocka_unit_test(test_norms),       cmocka_unit_test(test_losses),
        cmocka_unit_test(test_reductions),  cmocka_unit_test(leaves_no_operator_out),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
