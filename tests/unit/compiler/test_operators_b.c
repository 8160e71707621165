/*
 * Operators that move elements, attention, quantisation, recurrence, sampling and signals: one row
 * a case, with values from the operators' definitions, old opset forms among them.
 */
#include "daemon/compiler/operators/resize.h"
#include "tests/unit/compiler/operator_rows.h"

#define S6 "f[2,3] 1 2 3 4 5 6"

static void test_shape(void **state)
{
    static const struct row rows[] = {
        {"Reshape", 5, "", S6 "; i[2] 3 -1", "f[3,2] 1 2 3 4 5 6"},
        {"Reshape", 14, "", S6 "; i[3] 0 3 -1", "f[2,3,1] 1 2 3 4 5 6"},
        {"Reshape", 14, "allowzero=1", "f[0,3]; i[2] 3 0", "f[3,0]"},
        {"Reshape", 13, "", "f[0,3]; i[2] 0 -1", "!"},
        {"Reshape", 13, "", S6 "; i[2] 4 -1", "!"},
        {"Reshape", 13, "", S6 "; i[2] -1 -1", "!"},
        {"Reshape", 13, "", S6 "; i[2] 2 2", "!"},
        {"Reshape", 13, "", S6 "; i[3] 2 3 0", "!"},
        {"Reshape", 14, "allowzero=1", "f[0,3]; i[2] 0 -1", "!"},
        {"Reshape", 13, "", "f[1] 7; i[0]", "f[] 7"},
        {"Reshape", 21, "", "n[3] 1 -2 7; i[2] 3 1", "n[3,1] 1 -2 7"},
        {"Flatten", 9, "", "f[2,1,2] 1 2 3 4", "f[2,2] 1 2 3 4"},
        {"Flatten", 9, "axis=0", S6, "f[1,6] 1 2 3 4 5 6"},
        {"Flatten", 13, "axis=-1", "f[2,1,2] 1 2 3 4", "f[2,2] 1 2 3 4"},
        {"Flatten", 13, "axis=2", S6, "f[6,1] 1 2 3 4 5 6"},
        {"Flatten", 13, "axis=3", S6, "!"},
        {"Squeeze", 11, "axes=[0,-1]", "f[1,2,1] 1 2", "f[2] 1 2"},
        {"Squeeze", 13, "", "f[1,2,1] 1 2", "f[2] 1 2"},
        {"Squeeze", 13, "", "f[1,2,1] 1 2; i[1] -1", "f[1,2] 1 2"},
        {"Squeeze", 13, "", "f[1,2,1] 1 2; i[1] 1", "!"},
        {"Squeeze", 13, "", "f[1,2,1] 1 2; i[2] 0 -3", "!"},
        {"Unsqueeze", 11, "axes=[0,2]", "f[2] 1 2", "f[1,2,1] 1 2"},
        {"Unsqueeze", 13, "", "f[2] 1 2; i[2] -1 0", "f[1,2,1] 1 2"},
        {"Unsqueeze", 13, "", "f[2] 1 2; i[1] 2", "!"},
        {"Unsqueeze", 13, "", "f[2] 1 2; i[2] 0 0", "!"},
        {"Transpose", 1, "", S6, "f[3,2] 1 4 2 5 3 6"},
        {"Transpose", 13, "perm=[2,0,1]", "f[1,2,3] 1 2 3 4 5 6", "f[3,1,2] 1 4 2 5 3 6"},
        {"Transpose", 21, "", "n[2,3] 1 2 3 -4 -5 -6", "n[3,2] 1 -4 2 -5 3 -6"},
        {"Transpose", 13, "perm=[0,0]", S6, "!"},
        {"Transpose", 13, "perm=[0,1,2]", S6, "!"},
        {"Transpose", 13, "perm=[0,2]", S6, "!"},
        {"Shape", 13, "", S6, "i[2] 2 3"},
        {"Shape", 15, "start=-1", "f[2,1,3] 1 2 3 4 5 6", "i[1] 3"},
        {"Shape", 15, "start=1;end=-1", "f[2,1,3] 1 2 3 4 5 6", "i[1] 1"},
        {"Shape", 15, "start=2;end=1", "f[2,1,3] 1 2 3 4 5 6", "i[0]"},
        {"Size", 13, "", S6, "i[] 6"},
        {"Expand", 8, "", "f[3,1] 1 2 3; i[3] 2 1 2", "f[2,3,2] 1 1 2 2 3 3 1 1 2 2 3 3"},
        {"Expand", 13, "", S6 "; i[2] 2 1", "f[2,3] 1 2 3 4 5 6"},
        {"Expand", 13, "", S6 "; i[1] 2", "!"},
        {"Expand", 13, "", "f[1] 1; i[1] 0", "f[0]"},
        {"Tile", 6, "", "f[2,2] 1 2 3 4; i[2] 1 2", "f[2,4] 1 2 1 2 3 4 3 4"},
        {"Tile", 13, "", "f[2] 1 2; i[1] 0", "f[0]"},
        {"Tile", 13, "", "f[2] 1 2; i[2] 1 1", "!"},
        {"DepthToSpace", 11, "blocksize=2", "f[1,8,1,1] 0 1 2 3 4 5 6 7",
         "f[1,2,2,2] 0 2 4 6 1 3 5 7"},
        {"DepthToSpace", 13, "blocksize=2;mode='CRD'", "f[1,8,1,1] 0 1 2 3 4 5 6 7",
         "f[1,2,2,2] 0 1 2 3 4 5 6 7"},
        {"DepthToSpace", 1, "blocksize=2", "f[1,3,1,1] 0 1 2", "!"},
        {"DepthToSpace", 13, "blocksize=2;mode='RCD'", "f[1,8,1,1] 0 1 2 3 4 5 6 7", "!"},
        {"SpaceToDepth", 1, "blocksize=2", "f[1,2,2,2] 0 2 4 6 1 3 5 7",
         "f[1,8,1,1] 0 1 2 3 4 5 6 7"},
        {"SpaceToDepth", 13, "blocksize=2", "f[1,1,3,2] 0 1 2 3 4 5", "!"},
        {"Identity", 1, "", "b[2] 1 0", "b[2] 1 0"},
        {"Dropout", 7, "ratio=0.5", "f[2] 1 2", "f[2] 1 2; f[2] 1 1"},
        {"Dropout", 10, "ratio=0.5", "f[2] 1 2", "f[2] 1 2; b[2] 1 1"},
        {"Dropout", 13, "", "f[2] 1 2; f[] 0.5; b[] 0", "f[2] 1 2; b[2] 1 1"},
        {"Dropout", 13, "", "f[2] 1 2; f[] 0; b[] 1", "f[2] 1 2; b[2] 1 1"},
    };
    (void)state;
    run_all(rows, sizeof rows / sizeof *rows);
}

static void test_parts(void **state)
{
    static const struct row rows[] = {
        {"Concat", 4, "axis=1", "f[2,1] 1 2; f[2,2] 3 4 5 6", "f[2,3] 1 3 4 2 5 6"},
        {"Concat", 13, "axis=-2", "f[1,2] 1 2; f[0,2]; f[2,2] 3 4 5 6", "f[3,2] 1 2 3 4 5 6"},
        {"Concat", 21, "axis=0", "n[1] 1; n[2] -2 3", "n[3] 1 -2 3"},
        {"Concat", 13, "axis=0", "f[1,2] 1 2; f[1,1] 3", "!"},
        {"Concat", 13, "axis=2", "f[1,2] 1 2; f[1,2] 3 4", "!"},
        {"Concat", 13, "axis=0", "f[1] 1; i[1] 1", "!"},
        {"Split", 2, "split=[1,2]", "f[3] 1 2 3", "f[1] 1; f[2] 2 3"},
        {"Split", 11, "axis=1", "f[2,2] 1 2 3 4", "f[2,1] 1 3; f[2,1] 2 4"},
        {"Split", 13, "axis=-1", "f[1,3] 1 2 3; i[3] 1 0 2", "f[1,1] 1; f[1,0]; f[1,2] 2 3"},
        {"Split", 18, "num_outputs=3", "f[7] 1 2 3 4 5 6 7", "f[3] 1 2 3; f[3] 4 5 6; f[1] 7"},
        {"Split", 18, "num_outputs=4", "f[5] 1 2 3 4 5", "!"},
        {"Split", 13, "", "f[3] 1 2 3; i[1] 2", "!"},
        {"Split", 18, "", "f[3] 1 2 3", "!"},
        {"Split", 18, "num_outputs=1", "f[3] 1 2 3; i[1] 3", "!"},
        {"Slice", 1, "starts=[0,1];ends=[1,1000]", "f[2,3] 1 2 3 4 5 6", "f[1,2] 2 3"},
        {"Slice", 1, "starts=[-2,0];ends=[-1,1];axes=[1,0]", "f[2,3] 1 2 3 4 5 6", "f[1,1] 2"},
        {"Slice", 10, "", "f[5] 0 1 2 3 4; i[1] -1; i[1] -9223372036854775808; i[1] 0; i[1] -2",
         "f[3] 4 2 0"},
        {"Slice", 13, "", "f[5] 0 1 2 3 4; i[1] 1; i[1] 9223372036854775807; -; i[1] 3",
         "f[2] 1 4"},
        {"Slice", 13, "", "f[5] 0 1 2 3 4; i[1] 3; i[1] 1", "f[0]"},
        {"Slice", 13, "",
         "f[3] 0 1 2; i[1] 9223372036854775807; i[1] -100; i[1] 0; i[1] -9223372036854775808",
         "f[1] 2"},
        {"Slice", 13, "", "f[0]; i[1] 0; i[1] -5; i[1] 0; i[1] -1", "f[0]"},
        {"Slice", 13, "", "f[2,3] 1 2 3 4 5 6; i[2] 0 1; i[2] 2 3; i[2] -1 0; i[2] 1 1",
         "f[1,2] 4 5"},
        {"Slice", 13, "", "f[3] 1 2 3; i[1] 0; i[1] 2; i[1] 0; i[1] 0", "!"},
        {"Slice", 13, "", "f[3] 1 2 3; i[2] 0 0; i[2] 2 2; i[2] 0 -1", "!"},
        {"Slice", 13, "", "f[3] 1 2 3; i[1] 0; i[1] 2; i[1] 1", "!"},
        {"CenterCropPad", 18, "", "f[5] 1 2 3 4 5; i[1] 2", "f[2] 2 3"},
        {"CenterCropPad", 18, "axes=[-1,0]", "f[1,2] 1 2; i[2] 5 1", "f[1,5] 0 1 2 0 0"},
        {"CenterCropPad", 18, "", "f[1,2] 1 2; i[1] 5", "!"},
        {"Col2Im", 18, "", "f[1,2,2] 1 2 3 4; i[1] 3; i[1] 2", "f[1,1,3] 1 5 4"},
        {"Col2Im", 18, "strides=[2,1];pads=[0,1,0,0]", "f[1,1,4] 1 2 3 4; i[2] 3 1; i[2] 1 1",
         "f[1,1,3,1] 2 0 4"},
        {"Col2Im", 18, "", "f[1,2,3] 1 2 3 4 5 6; i[1] 3; i[1] 2", "!"},
        {"Trilu", 14, "", "f[2,3] 1 2 3 4 5 6", "f[2,3] 1 2 3 0 5 6"},
        {"Trilu", 14, "upper=0", "f[2,3] 1 2 3 4 5 6; i[] -1", "f[2,3] 0 0 0 4 0 0"},
        {"Trilu", 14, "", "f[2,2] 1 2 3 4; i[] 9223372036854775807", "f[2,2] 0 0 0 0"},
        {"Trilu", 14, "", "f[2] 1 2", "!"},
        {"ReverseSequence", 10, "", "f[3,2] 1 2 3 4 5 6; i[2] 2 3", "f[3,2] 3 6 1 4 5 2"},
        {"ReverseSequence", 10, "time_axis=1;batch_axis=0", "f[2,2] 1 2 3 4; i[2] 2 1",
         "f[2,2] 2 1 3 4"},
        {"ReverseSequence", 10, "", "f[1,1] 1; i[1] 2", "!"},
        {"Pad", 2, "pads=[1,1];value=9.0", "f[2] 1 2", "f[4] 9 1 2 9"},
        {"Pad", 11, "mode='reflect'", "f[3] 1 2 3; i[2] 2 1", "f[6] 3 2 1 2 3 2"},
        {"Pad", 13, "mode='reflect'", "f[2] 1 2; i[2] 0 4", "f[6] 1 2 1 2 1 2"},
        {"Pad", 13, "mode='edge'", "f[1,2] 1 2; i[4] 1 1 0 0", "f[2,3] 1 1 2 1 1 2"},
        {"Pad", 19, "mode='wrap'", "f[3] 1 2 3; i[2] 2 4", "f[9] 2 3 1 2 3 1 2 3 1"},
        {"Pad", 18, "", "f[1,3] 1 2 3; i[2] -1 1; f[] 7; i[1] -1", "f[1,3] 2 3 7"},
        {"Pad", 18, "mode='edge'", "f[3] 1 2 3; i[2] 1 -1", "f[3] 1 1 2"},
        {"Pad", 13, "", "i[1] 4; i[2] 0 1", "i[2] 4 0"},
        {"Pad", 13, "", "f[2] 1 2; i[1] 1", "!"},
        {"Pad", 13, "", "f[2] 1 2; i[2] -2 -1", "!"},
        {"Pad", 13, "mode='mirror'", "f[2] 1 2; i[2] 1 1", "!"},
    };
    (void)state;
    run_all(rows, sizeof rows / sizeof *rows);
}

static void test_indices(void **state)
{
    static const struct row rows[] = {
        {"Gather", 1, "", "f[3] 1 2 3; i[2] 2 0", "f[2] 3 1"},
        {"Gather", 13, "axis=1", "f[2,3] 1 2 3 4 5 6; i[1,2] -1 0", "f[2,1,2] 3 1 6 4"},
        {"Gather", 13, "", "f[2,2] 1 2 3 4; i[] 1", "f[2] 3 4"},
        {"Gather", 13, "", "f[2] 1 2; i[1] 2", "!"},
        {"Gather", 13, "", "f[2] 1 2; i[1] -3", "!"},
        {"GatherElements", 11, "axis=1", "f[2,2] 1 2 3 4; i[2,2] 0 0 -1 0", "f[2,2] 1 1 4 3"},
        {"GatherElements", 13, "", "f[3,3] 1 2 3 4 5 6 7 8 9; i[2,3] 1 2 0 2 0 0",
         "f[2,3] 4 8 3 7 2 3"},
        {"GatherElements", 13, "", "f[2] 1 2; i[1] 2", "!"},
        {"GatherND", 11, "", "f[2,2] 0 1 2 3; i[2,2] 0 0 1 1", "f[2] 0 3"},
        {"GatherND", 12, "batch_dims=1", "f[2,2,2] 0 1 2 3 4 5 6 7; i[2,1] 1 0", "f[2,2] 2 3 4 5"},
        {"GatherND", 13, "", "f[2,2] 0 1 2 3; i[1,1] 2", "!"},
        {"Scatter", 9, "axis=1", "f[1,3] 1 2 3; i[1,2] 2 0; f[1,2] 8 9", "f[1,3] 9 2 8"},
        {"ScatterElements", 18, "reduction='add'", "f[3] 1 2 3; i[2] -1 2; f[2] 10 20",
         "f[3] 1 2 33"},
        {"ScatterElements", 18, "reduction='max'", "i[2] 1 5; i[2] 0 1; i[2] 3 3", "i[2] 3 5"},
        {"ScatterElements", 18, "", "f[3] 1 2 3; i[2] 0 1; f[1] 10", "!"},
        {"ScatterND", 11, "", "f[4] 1 2 3 4; i[2,1] 3 1; f[2] 8 9", "f[4] 1 9 3 8"},
        {"ScatterND", 18, "reduction='mul'", "f[2,2] 1 2 3 4; i[2,1] 1 1; f[2,2] 2 2 3 3",
         "f[2,2] 1 2 18 24"},
        {"ScatterND", 18, "", "f[2,2] 1 2 3 4; i[1,1] 1; f[1,3] 2 2 2", "!"},
        {"OneHot", 9, "", "i[2] 1 -1; i[] 3; f[2] 0 5", "f[2,3] 0 5 0 0 0 5"},
        {"OneHot", 11, "axis=0", "i[2] 0 7; i[1] 2; i[2] 3 4", "i[2,2] 4 3 3 3"},
        {"OneHot", 11, "axis=2", "i[2] 0 1; i[] 2; f[2] 0 1", "!"},
        {"Compress", 9, "axis=1", "f[2,3] 1 2 3 4 5 6; b[3] 0 1 1", "f[2,2] 2 3 5 6"},
        {"Compress", 11, "", "f[2,2] 1 2 3 4; b[3] 0 1 1", "f[2] 2 3"},
        {"Compress", 11, "", "f[2] 1 2; b[3] 0 1 1", "!"},
        {"NonZero", 9, "", "b[2,2] 1 0 1 1", "i[2,3] 0 1 1 0 0 1"},
        {"Unique", 11, "sorted=0", "f[6] 2 1 1 3 4 3",
         "f[4] 2 1 3 4; i[4] 0 1 3 4; i[6] 0 1 1 2 3 2; i[4] 1 2 2 1"},
        {"Unique", 11, "", "f[2,2] 1 3 2 3", "f[3] 1 2 3; i[3] 0 2 1; i[4] 0 2 1 2; i[3] 1 1 2"},
        {"Unique", 11, "axis=0", "i[3,2] 5 0 5 0 2 3",
         "i[2,2] 2 3 5 0; i[2] 2 0; i[3] 1 1 0; i[2] 1 2"},
        {"TopK", 1, "k=2", "f[1,4] 3 1 4 4", "f[1,2] 4 4; i[1,2] 2 3"},
        {"TopK", 11, "largest=0;axis=0", "f[3,1] 3 1 2; i[1] 2", "f[2,1] 1 2; i[2,1] 1 2"},
        {"TopK", 11, "", "f[2] 1 2; i[1] 3", "!"},
    };
    (void)state;
    run_all(rows, sizeof rows / sizeof *rows);
}

static void test_constants(void **state)
{
    static const struct row rows[] = {
        {"Constant", 9, "value=f[2] 1 2", "", "f[2] 1 2"},
        {"Constant", 12, "value_int=3", "", "i[] 3"},
        {"Constant", 12, "value_float=3.5", "", "f[] 3.5"},
        {"Constant", 12, "value_ints=[3,4]", "", "i[2] 3 4"},
        {"ConstantOfShape", 9, "value=i[1] 7", "i[2] 1 2", "i[1,2] 7 7"},
        {"ConstantOfShape", 9, "", "i[1] 2", "f[2] 0 0"},
        {"ConstantOfShape", 9, "", "i[0]", "f[] 0"},
        {"ConstantOfShape", 9, "", "i[1] -1", "!"},
        {"Range", 11, "", "i[] 10; i[] 4; i[] -4", "i[2] 10 6"},
        {"Range", 11, "", "f[] 1; f[] 2; f[] 0.4", "f[3] 1 1.4 1.8"},
        {"Range", 11, "", "i[] 1; i[] 1; i[] 1", "i[0]"},
        {"Range", 11, "", "i[] 1; i[] 5; i[] 0", "!"},
        {"EyeLike", 9, "k=1;dtype=7", "f[2,3] 0 0 0 0 0 0", "i[2,3] 0 1 0 0 0 1"},
        {"EyeLike", 9, "", "f[2] 0 0", "!"},
    };
    (void)state;
    run_all(rows, sizeof rows / sizeof *rows);
}

static void test_resize(void **state)
{
    static const struct row rows[] = {
        {"Upsample", 7, "scales=[1.0,2.0]", "f[1,2] 1 2", "f[1,4] 1 1 2 2"},
        {"Upsample", 9, "mode='linear'", "f[1,2] 1 2; f[2] 1 2", "f[1,4] 1 1.5 2 2"},
        {"Upsample", 7, "scales=[1.0,0.5]", "f[1,2] 1 2", "!"},
        {"Upsample", 9, "", "f[1,2] 1 2; f[2] 0.5 1", "!"},
        {"Resize", 10, "", "f[1,2] 1 2; f[2] 1 0.5", "f[1,1] 1"},
        {"Resize", 10, "", "f[4] 1 2 3 4; f[1] 0.5", "f[2] 1 3"},
        {"Resize", 10, "", "f[4] 1 2 3 4; f[1] 0.75", "f[3] 1 3 4"},
        {"Resize", 11, "coordinate_transformation_mode='tf_half_pixel_for_nn';nearest_mode='floor'",
         "f[4] 1 2 3 4; f[0]; f[1] 0.5", "f[2] 2 4"},
        {"Resize", 13, "", "f[2] 1 2; -; f[1] 2", "f[4] 1 1 2 2"},
        {"Resize", 13, "", "f[4] 1 2 3 4; -; -; i[1] 2", "f[2] 1 3"},
        {"Resize", 13, "nearest_mode='round_prefer_ceil'", "f[4] 1 2 3 4; -; -; i[1] 2",
         "f[2] 2 4"},
        {"Resize", 13, "mode='linear'", "f[2] 1 2; -; f[1] 2", "f[4] 1 1.25 1.75 2"},
        {"Resize", 13, "mode='linear';coordinate_transformation_mode='align_corners'",
         "f[3] 1 2 4; -; -; i[1] 5", "f[5] 1 1.5 2 3 4"},
        {"Resize", 13, "mode='linear';coordinate_transformation_mode='align_corners'",
         "f[3] 1 2 4; -; -; i[1] 1", "f[1] 1"},
        {"Resize", 13, "mode='linear';coordinate_transformation_mode='pytorch_half_pixel'",
         "f[3] 1 2 4; -; -; i[1] 1", "f[1] 1"},
        {"Resize", 13, "mode='linear'", "f[4] 1 2 3 4; -; -; i[1] 1", "f[1] 2.5"},
        {"Resize", 13, "mode='cubic'", "f[4] 1 2 3 4; -; f[1] 0.5", "f[2] 1.40625 3.59375"},
        {"Resize", 13, "mode='cubic';cubic_coeff_a=-0.5;exclude_outside=1", "f[2] 1 1; -; f[1] 2",
         "f[4] 1 1 1 1"},
        {"Resize", 13,
         "mode='linear';coordinate_transformation_mode='tf_crop_and_resize';extrapolation_value=10."
         "0",
         "f[3] 1 2 3; f[2] 0.5 1.5; -; i[1] 3", "f[3] 2 3 10"},
        {"Resize", 18, "mode='linear';antialias=1", "f[4] 1 2 3 4; -; f[1] 0.5",
         "f[2] 1.625 3.375"},
        {"Resize", 18, "axes=-1;keep_aspect_ratio_policy='not_larger'", "f[1,2] 1 2; -; -; i[1] 3",
         "!"},
        {"Resize", 18, "axes=[1,0];keep_aspect_ratio_policy='not_larger'",
         "f[1,2] 1 2; -; -; i[2] 4 4", "f[2,4] 1 1 2 2 1 1 2 2"},
        {"Resize", 18, "axes=[0,1];keep_aspect_ratio_policy='not_smaller'",
         "f[1,2] 1 2; -; -; i[2] 2 2", "f[2,4] 1 1 2 2 1 1 2 2"},
        {"Resize", 19, "mode='linear';coordinate_transformation_mode='half_pixel_symmetric'",
         "f[4] 1 2 3 4; -; f[1] 0.6", "f[2] 1.6666667 3.3333333"},
        {"Resize", 13, "", "f[2] 1 2; -; f[1] 2; i[1] 4", "!"},
        {"Resize", 13, "", "f[2] 1 2", "!"},
        {"Resize", 13, "mode='area'", "f[2] 1 2; -; f[1] 2", "!"},
        {"Resize", 13, "", "f[2] 1 2; -; f[1] -1", "!"},
    };
    (void)state;
    run_all(rows, sizeof rows / sizeof *rows);
}

/* Each output element is made of the input's elements with weights that add up to 1, whatever the
 * mode. */
static void test_resize_weights(void **state)
{
    static const char *const transforms[] = {"half_pixel", "half_pixel_symmetric",
                                             "pytorch_half_pixel", "align_corners", "asymmetric"};
    (void)state;
    for (int mode = 0; mode < 4; mode++) {
        for (int t = 0; t < 5; t++) {
            for (int64_t to = 1; to < 12; to++) {
                struct context c;
                context_init(&c, NULL);
                struct graph *g = graph_new(&c);
                struct shape shape = shape_of(1, (const int64_t[]){5});
                struct value *in[] = {graph_value(g, "x", TYPE_FLOAT32, &shape), NULL, NULL,
                                      graph_constant_ints(g, "sizes", 1, &to)};
                struct node *n = graph_node(g, operator_get(&c, "Resize"), "r", in, 4, 1);
                struct resize r;
                const char *why;
                node_set_string(n, "mode", mode < 2 ? "linear" : "cubic");
                node_set_int(n, "antialias", mode % 2);
                node_set_string(n, "coordinate_transformation_mode", transforms[t]);
                assert_true(resize_read(n, &shape, &r, &why));
                for (int64_t i = 0; i < to; i++) {
                    double weights[64], sum = 0, place = 0;
                    int64_t first;
                    int count = resize_taps(&r, 0, i, &first, weights);
                    assert_in_range(count, 1, resize_taps_most(&r, 0));
                    for (int k = 0; k < count; k++) {
                        sum += weights[k];
                        place += weights[k] * (double)(first + k);
                    }
                    assert_true(fabs(sum - 1) < 1e-12);
                    if (mode == 0) /* a tent gives back the place itself */
                        assert_true(fabs(place - resize_source(&r, 0, i)) < 1e-12);
                }
                context_release(&c);
            }
        }
    }
}

static void test_quantize(void **state)
{
    static const struct row rows[] = {
        {"QuantizeLinear", 10, "", "f[6] 0 2 3 1000 -254 -1000; f[] 2; u[] 128",
         "u[6] 128 129 130 255 1 0"},
        {"QuantizeLinear", 13, "", "f[2] 0.5 1.5; f[] 1", "u[2] 0 2"},
        {"QuantizeLinear", 13, "", "f[1,2] -3 3; f[2] 1 2; s[2] 0 1", "s[1,2] -3 3"},
        {"QuantizeLinear", 13, "axis=0", "f[2,1] -3 3; f[2] 1 2; s[2] 0 -1", "s[2,1] -3 1"},
        {"QuantizeLinear", 21, "output_dtype=22", "f[3] -9 7 8; f[1] 1", "n[3] -8 7 7"},
        {"QuantizeLinear", 21, "axis=0;block_size=2", "f[3] 2 4 9; f[2] 2 3", "u[3] 1 2 3"},
        {"QuantizeLinear", 13, "", "f[1,2] 1 2; f[3] 1 1 1", "!"},
        {"QuantizeLinear", 13, "", "f[1,2] 1 2; f[2] 1 1; u[1] 0", "!"},
        {"QuantizeLinear", 21, "output_dtype=3", "f[2] 1 2; f[1] 1; u[1] 0", "!"},
        {"DequantizeLinear", 10, "", "u[3] 0 3 128; f[] 2; u[] 128", "f[3] -256 -250 0"},
        {"DequantizeLinear", 13, "", "j[2] -5 100000; f[] 0.5", "f[2] -2.5 50000"},
        {"DequantizeLinear", 13, "axis=-1", "s[1,2] -1 2; f[2] 1 10", "f[1,2] -1 20"},
        {"DequantizeLinear", 21, "axis=1;block_size=2", "n[1,3] -8 7 1; f[1,2] 1 0.5; n[1,2] 1 0",
         "f[1,3] -9 6 0.5"},
        {"DequantizeLinear", 21, "axis=1;block_size=2", "n[1,3] -8 7 1; f[1,3] 1 1 1", "!"},
        {"DynamicQuantizeLinear", 11, "", "f[6] 0 2 -3 -2.5 1.34 0.5",
         "u[6] 153 255 0 26 221 179; f[] 0.0196078438; u[] 153"},
        {"MatMulInteger", 10, "",
         "u[4,3] 11 7 3 10 6 2 9 5 1 8 4 0; u[3,2] 1 4 2 5 3 6; u[] 12; u[] 0",
         "j[4,2] -38 -83 -44 -98 -50 -113 -56 -128"},
        {"MatMulInteger", 10, "", "s[2] 1 2; s[2] 3 -4", "j[] -5"},
        {"MatMulInteger", 10, "", "u[2,1] 1 2; u[1,2] 3 4; u[2] 0 1; u[2] 1 0", "j[2,2] 2 4 2 4"},
        {"MatMulInteger", 10, "", "u[1,2] 1 2; u[1,2] 3 4", "!"},
        {"ConvInteger", 10, "pads=[0,1]", "u[1,1,3] 2 3 4; u[1,1,2] 1 2; u[] 1", "j[1,1,3] 5 8 3"},
        {"QLinearMatMul", 10, "",
         "u[1,2] 2 4; f[] 0.5; u[] 0; u[2,1] 1 3; f[] 1; u[] 1; f[] 2; u[] 10", "u[1,1] 12"},
        {"QLinearConv", 10, "",
         "u[1,1,2] 10 20; f[] 0.5; u[] 10; s[2,1,1] 1 2; f[2] 1 0.5; s[2] 0 1; f[] 0.25; u[] 3; "
         "j[2] 1 0",
         "u[1,2,2] 5 25 3 13"},
        {"MatMulNBits", 1, "K=3;N=2;block_size=2",
         "f[1,3] 1 10 100; u[2,2,1] 152 10 121 15; f[4] 1 2 3 4", "f[1,2] 410 2773"},
        {"MatMulNBits", 1, "K=3;N=2;block_size=2",
         "f[1,3] 1 10 100; u[2,2,1] 152 10 121 15; f[4] 1 2 3 4; u[2] 16 32", "f[1,2] 1898 5437"},
        {"MatMulNBits", 1, "K=4;N=2;block_size=2", "f[1,3] 1 1 1; u[2,2,1] 0 0 0 0; f[4] 1 1 1 1",
         "!"},
    };
    (void)state;
    run_all(rows, sizeof rows / sizeof *rows);
}

static void test_attention(void **state)
{
    static const struct row rows[] = {
        /* scores 0: plain means */
        {"Attention", 23, "", "f[1,1,1,2] 0 0; f[1,1,2,2] 1 2 3 4; f[1,1,2,1] 2 4", "f[1,1,1,1] 3"},
        {"Attention", 23, "is_causal=1", "f[1,1,2,1] 0 0; f[1,1,2,1] 1 1; f[1,1,2,1] 2 4",
         "f[1,1,2,1] 2 3"},
        {"Attention", 23, "q_num_heads=2;kv_num_heads=1",
         "f[1,1,2] 0 0; f[1,2,1] 5 6; f[1,2,2] 1 2 3 4", "f[1,1,4] 2 3 2 3"},
        {"Attention", 23, "", "f[1,1,1,1] 0; f[1,1,2,1] 1 1; f[1,1,2,1] 2 4; b[1,2] 0 1",
         "f[1,1,1,1] 4"},
        {"Attention", 23, "", "f[1,1,1,1] 0; f[1,1,2,1] 1 1; f[1,1,2,1] 2 4; b[1,2] 0 0",
         "f[1,1,1,1] 0"},
        {"Attention", 23, "scale=1.0;qk_matmul_output_mode=2",
         "f[1,1,1,1] 2; f[1,1,1,1] 3; f[1,1,1,1] 8; f[1,2] 1 0; f[1,1,1,1] 3; f[1,1,1,1] 4",
         "f[1,1,1,1] 5.0757656; f[1,1,2,1] 3 3; f[1,1,2,1] 4 8; f[1,1,1,2] 7 6"},
        {"Attention", 23, "scale=1.0;softcap=2.0;qk_matmul_output_mode=1",
         "f[1,1,1,1] 1; f[1,1,1,1] 2; f[1,1,1,1] 8",
         "f[1,1,1,1] 8; f[1,1,1,1] 2; f[1,1,1,1] 8; f[1,1,1,1] 1.5231884"},
        {"Attention", 24, "is_causal=1",
         "f[1,1,1,1] 0; f[1,1,3,1] 1 1 1; f[1,1,3,1] 2 4 90; -; -; -; i[1] 2", "f[1,1,1,1] 3"},
        {"Attention", 23, "", "f[1,3,1,1] 0 0 0; f[1,2,1,1] 1 1; f[1,2,1,1] 2 4", "!"},
        {"Attention", 23, "", "f[1,1,1,2] 0 0; f[1,1,1,1] 1; f[1,1,1,1] 2", "!"},
        {"Attention", 23, "", "f[1,1,1,1] 0; f[1,1,1,1] 1; f[1,1,1,1] 2; -; f[1,1,1,1] 1", "!"},
        {"RotaryEmbedding", 23, "", "f[1,1,1,2] 1 2; f[2,1] 1 0; f[2,1] 0 1; i[1,1] 1",
         "f[1,1,1,2] -2 1"},
        {"RotaryEmbedding", 23, "interleaved=1;num_heads=1;rotary_embedding_dim=2",
         "f[1,1,3] 1 2 3; f[1,1,1] 0.6; f[1,1,1] 0.8", "f[1,1,3] -1 2 3"},
        {"RotaryEmbedding", 23, "", "f[1,1,1,4] 1 2 3 4; f[1,1,2] 0 1; f[1,1,2] 1 0",
         "f[1,1,1,4] -3 2 1 4"},
        {"RotaryEmbedding", 23, "", "f[1,1,1,3] 1 2 3; f[1,1,1] 1; f[1,1,1] 1", "!"},
        {"TensorScatter", 24, "", "f[2,3,1] 1 2 3 4 5 6; f[2,1,1] 8 9; i[2] 1 0",
         "f[2,3,1] 1 8 3 9 5 6"},
        {"TensorScatter", 24, "mode='circular'", "f[1,3,1] 1 2 3; f[1,2,1] 8 9; i[1] 2",
         "f[1,3,1] 9 2 8"},
        {"TensorScatter", 24, "", "f[1,1,1] 1; f[1,2,1] 8 9", "!"},
    };
    (void)state;
    run_all(rows, sizeof rows / sizeof *rows);
}

static void test_recurrent(void **state)
{
    static const struct row rows[] = {
        {"RNN", 7, "activations='Relu'", "f[1,1,1] 2; f[1,1,1] 3; f[1,1,1] 1", "!"},
        {"RNN", 7, "hidden_size=1", "f[2,1,1] 0.5 0; f[1,1,1] 1; f[1,1,1] 2",
         "f[2,1,1,1] 0.46211716 0.72789440; f[1,1,1] 0.72789440"},
        {"RNN", 14, "direction='reverse'", "f[2,1,1] 0 0.5; f[1,1,1] 1; f[1,1,1] 2",
         "f[2,1,1,1] 0.72789440 0.46211716; f[1,1,1] 0.72789440"},
        {"RNN", 14, "layout=1", "f[1,2,1] 0.5 0; f[1,1,1] 1; f[1,1,1] 2",
         "f[1,2,1,1] 0.46211716 0.72789440; f[1,1,1] 0.72789440"},
        {"RNN", 14, "clip=0.5", "f[1,1,1] 9; f[1,1,1] 1; f[1,1,1] 0; f[1,2] 1 1",
         "f[1,1,1,1] 0.46211716"},
        {"RNN", 14, "direction='bidirectional'",
         "f[2,1,1] 0.5 0; f[2,1,1] 1 1; f[2,1,1] 2 2; -; j[1] 1; f[2,1,1] 0 0",
         "f[2,2,1,1] 0.46211716 0.46211716 0 0; f[2,1,1] 0.46211716 0.46211716"},
        /* zt = rt = 1/2, candidate tanh(x + 1/2 h) */
        {"GRU", 7, "", "f[1,1,1] 0.5; f[1,3,1] 0 0 1; f[1,3,1] 0 0 1; -; -; f[1,1,1] 1",
         "f[1,1,1,1] 0.88079708; f[1,1,1] 0.88079708"},
        {"GRU", 14, "linear_before_reset=1",
         "f[1,1,1] 0.5; f[1,3,1] 0 0 1; f[1,3,1] 0 0 1; f[1,6] 0 0 0 0 0 1; -; f[1,1,1] 1",
         "f[1,1,1,1] 0.95257413; f[1,1,1] 0.95257413"},
        /* all gates 1/2: C = c/2 + tanh(x)/2 */
        {"LSTM", 7, "", "f[1,1,1] 0.5; f[1,4,1] 0 0 0 1; f[1,4,1] 0 0 0 0; -; -; -; f[1,1,1] 1",
         "f[1,1,1,1] 0.31185627; f[1,1,1] 0.31185627; f[1,1,1] 0.73105858"},
        {"LSTM", 14, "input_forget=1",
         "f[1,1,1] 0; f[1,4,1] 0 0 0 0; f[1,4,1] 0 0 0 0; f[1,8] 1000 0 0 0 0 0 0 0; -; -; "
         "f[1,1,1] 1",
         "f[1,1,1,1] 0; f[1,1,1] 0; f[1,1,1] 0"},
        /* a peephole on the output gate alone opens it */
        {"LSTM", 14, "",
         "f[1,1,1] 0; f[1,4,1] 0 0 0 0; f[1,4,1] 0 0 0 0; -; -; -; f[1,1,1] 2; f[1,3] 0 1000 0",
         "f[1,1,1,1] 0.76159416; f[1,1,1] 0.76159416; f[1,1,1] 1"},
        {"LSTM", 14, "", "f[1,1,1] 0; f[1,3,1] 0 0 0; f[1,4,1] 0 0 0 0", "!"},
        {"LSTM", 14, "direction='sideways'", "f[1,1,1] 0; f[1,4,1] 0 0 0 0; f[1,4,1] 0 0 0 0", "!"},
    };
    (void)state;
    run_all(rows, sizeof rows / sizeof *rows);
}

static void test_sampling(void **state)
{
    static const struct row rows[] = {
        {"GridSample", 16, "mode='bilinear'", "f[1,1,2,2] 1 2 3 4; f[1,1,2,2] 0 0 -1 -1",
         "f[1,1,1,2] 2.5 0.25"},
        {"GridSample", 20, "align_corners=1", "f[1,1,2,2] 1 2 3 4; f[1,1,2,2] 0 0 1 -1",
         "f[1,1,1,2] 2.5 2"},
        {"GridSample", 20, "mode='nearest';padding_mode='border'",
         "f[1,1,1,2] 1 2; f[1,1,2,2] -3 0 3 0", "f[1,1,1,2] 1 2"},
        {"GridSample", 20, "mode='linear';padding_mode='reflection';align_corners=1",
         "f[1,1,1,3] 1 2 4; f[1,1,1,2] 2 0", "f[1,1,1,1] 2"},
        {"GridSample", 16, "mode='bicubic';padding_mode='border';align_corners=1",
         "f[1,1,1,4] 1 2 3 4; f[1,1,1,2] 0 0", "f[1,1,1,1] 2.5"},
        {"GridSample", 20, "", "f[1,1,2] 1 3; f[1,1,1] 0", "f[1,1,1] 2"},
        {"GridSample", 16, "", "f[1,1,2,2] 1 2 3 4; f[1,1,1,3] 0 0 0", "!"},
        {"AffineGrid", 20, "", "f[1,2,3] 1 0 0 0 1 0; i[4] 1 1 1 2", "f[1,1,2,2] -0.5 0 0.5 0"},
        {"AffineGrid", 20, "align_corners=1", "f[1,2,3] 0 1 0 1 0 2; i[4] 1 1 2 2",
         "f[1,2,2,2] -1 1 -1 3 1 1 1 3"},
        {"AffineGrid", 20, "", "f[1,2,3] 1 0 0 0 1 0; i[4] 2 1 1 2", "!"},
        {"RoiAlign", 10, "sampling_ratio=1", "f[1,1,2,2] 1 2 3 4; f[1,4] 0 0 1 1; i[1] 0",
         "f[1,1,1,1] 2.5"},
        {"RoiAlign", 16, "sampling_ratio=1", "f[1,1,2,2] 1 2 3 4; f[1,4] 0 0 1 1; i[1] 0",
         "f[1,1,1,1] 1"},
        {"RoiAlign", 16, "sampling_ratio=2;mode='max';output_width=2",
         "f[1,1,1,4] 1 2 3 4; f[1,4] 0.5 0.5 4.5 0.5; i[1] 0", "f[1,1,1,2] 1.5 4"},
        /* Of 200001 samples the ones at -1, 0 and 1 lie within; at the ends the rest is 0. */
        {"RoiAlign", 10, "", "f[1,1,1,1] 200001; f[1,4] -100000.5 0 100000.5 1; i[1] 0",
         "f[1,1,1,1] 3"},
        {"RoiAlign", 10, "mode='max'", "f[1,1,1,1] -8; f[1,4] -100000.5 0 100000.5 1; i[1] 0",
         "f[1,1,1,1] 0"},
        {"RoiAlign", 10, "mode='max'", "f[1,1,1,1] -8; f[1,4] -1 0 1 1; i[1] 0", "f[1,1,1,1] 0"},
        {"RoiAlign", 16, "", "f[1,1,2,2] 1 2 3 4; f[1,4] 0 0 1 1; i[1] 1", "!"},
        /* Of rows 0 to 2 the first window has 0 and 1, the other 1 and 2. */
        {"MaxRoiPool", 7, "pooled_shape=[2,1]", "f[1,1,3,2] 1 2 3 9 5 6; f[1,5] 0 0 0 0 2",
         "f[1,1,2,1] 3 5"},
        /* Corners are rounded, halves away from 0; the last one counts. */
        {"MaxRoiPool", 22, "pooled_shape=[1,2];spatial_scale=0.5",
         "f[2,1,1,4] 1 2 3 4 -5 -6 -7 -8; f[2,5] 1 1 0 4 0 0 -1 0 1 0", "f[2,1,1,2] -6 -7 1 2"},
        /* A region that is turned round has one place; one that lies outside gives 0. */
        {"MaxRoiPool", 22, "pooled_shape=[1,1]", "f[1,1,1,3] -1 -2 -3; f[2,5] 0 2 0 1 0 0 7 0 9 0",
         "f[2,1,1,1] -3 0"},
        {"MaxRoiPool", 22, "pooled_shape=[1,0]", "f[1,1,1,3] -1 -2 -3; f[1,5] 0 2 0 1 0", "!"},
        {"MaxRoiPool", 22, "pooled_shape=[1,1]", "f[1,1,1,3] -1 -2 -3; f[1,4] 0 2 0 1", "!"},
        {"MaxRoiPool", 22, "pooled_shape=[1,1]", "f[1,1,1,3] -1 -2 -3; f[1,5] 1 2 0 1 0", "!"},
        {"DeformConv", 19, "",
         "f[1,1,2,2] 1 2 3 4; f[1,1,1,1] 2; f[1,2,2,2] 0 0 0 0 0.5 0 0 1; f[1] 1",
         "f[1,1,2,2] 4 5 7 1"},
        {"DeformConv", 19, "pads=[0,1,0,0]",
         "f[1,1,1,2] 1 2; f[1,1,1,2] 1 10; f[1,4,1,2] 0 0 0 0 0 0 0 0; -; f[1,2,1,2] 1 1 0.5 1",
         "f[1,1,1,2] 5 21"},
        {"DeformConv", 19, "", "f[1,1,2,2] 1 2 3 4; f[1,1,1,1] 2; f[1,1,2,2] 0 0 0 0", "!"},
    };
    (void)state;
    run_all(rows, sizeof rows / sizeof *rows);
}

static void test_signal(void **state)
{
    static const struct row rows[] = {
        {"DFT", 17, "", "f[1,4,1] 1 2 3 4", "f[1,4,2] 10 0 -2 2 -2 0 -2 -2"},
        {"DFT", 17, "axis=0", "f[2,1,1] 1 3", "f[2,1,2] 4 0 -2 0"},
        {"DFT", 20, "onesided=1", "f[4,1] 1 2 3 4", "f[3,2] 10 0 -2 2 -2 0"},
        {"DFT", 20, "inverse=1", "f[1,4,2] 10 0 -2 2 -2 0 -2 -2", "f[1,4,2] 1 0 2 0 3 0 4 0"},
        {"DFT", 20, "inverse=1;onesided=1", "f[3,2] 10 0 -2 2 -2 0", "f[4,1] 1 2 3 4"},
        {"DFT", 20, "", "f[1,2,1] 1 2; i[] 4; i[] -2", "f[1,4,2] 3 0 1 -2 -1 0 1 2"},
        {"DFT", 20, "", "f[1,3,1] 1 2 9; i[] 2", "f[1,2,2] 3 0 -1 0"},
        {"DFT", 20, "", "f[1,2,1] 1 2; -; i[] 2", "!"},
        {"STFT", 17, "", "f[1,4,1] 1 2 3 4; i[] 2; f[2] 1 1", "f[1,2,2,2] 3 0 -1 0 7 0 -1 0"},
        {"STFT", 17, "onesided=0", "f[1,3,1] 1 2 3; i[] 1; -; i[] 2",
         "f[1,2,2,2] 3 0 -1 0 5 0 -1 0"},
        {"STFT", 17, "", "f[1,2,1] 1 2; i[] 1; -; i[] 3", "!"},
        {"HannWindow", 17, "", "i[] 4", "f[4] 0 0.5 1 0.5"},
        {"HannWindow", 17, "periodic=0", "i[] 3", "f[3] 0 1 0"},
        {"HammingWindow", 17, "", "i[] 2", "f[2] 0.0869565217 1"},
        {"BlackmanWindow", 17, "", "i[] 2", "f[2] 0 1"},
        {"HannWindow", 17, "", "i[] -1", "!"},
        {"MelWeightMatrix", 17, "", "i[] 2; i[] 8; i[] 8000; f[] 0; f[] 4000",
         "f[5,2] 1 0 0 1 0 0 0 0 0 0"},
    };
    (void)state;
    run_all(rows, sizeof rows / sizeof *rows);
}

/* After the others. */
static void leaves_no_operator_out(void **state)
{
    (void)state;
    for (const char *const *name = moving_operators; *name; name++)
        if (!is_covered(*name))
            fail_msg("%s has no row with values from its definition", *name);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_shape),     cmocka_unit_test(test_parts),
        cmocka_unit_test(test_indices),   cmocka_unit_test(test_constants),
        cmocka_unit_test(test_resize),    cmocka_unit_test(test_resize_weights),
        cmocka_unit_test(test_quantize),  cmocka_unit_test(test_attention),
        cmocka_unit_test(test_recurrent), cmocka_unit_test(test_sampling),
        cmocka_unit_test(test_signal),    cmocka_unit_test(leaves_no_operator_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
