"""Small files that claim much: each function of FAMILIES gives a model of a kilobyte or so whose constants, made as they
are written down, would be gigabytes or take minutes. Each asks for little of what it names.

    swelling.py NAME FILE      writes one
    swelling.py --list
"""

import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import onnxwrite as ox

FAMILIES = {}
MANY = 1 << 27  # elements: fewer than what is refused for its size alone
SIDE = 11585  # its root


def family(f):
    FAMILIES[f.__name__] = f
    return f


class Swelling(ox.Model):
    """Shorthands of what the models below have in common."""

    def __init__(self, opset=20):
        super().__init__("swelling", opset={"": opset, "ai.onnx.preview": 1}, ir=9, seed=1)
        self.x = self.input("x", [1, 4, 8, 8])

    def expand(self, dims, value=0.5, kind=ox.FLOAT):
        return self.node("Expand", [self.tensor(None, [1], [value], kind), self.ints(dims)])

    def range(self, count, kind=ox.INT64):
        y = self.node("Range", [self.tensor(None, [], [v], ox.INT64) for v in (0, count, 1)])
        return y if kind == ox.INT64 else self.cast(y, kind)

    def cast(self, y, kind=ox.FLOAT):
        return self.node("Cast", [y], to_=kind)

    def flat(self, y, dims=(-1,)):
        return self.node("Reshape", [y, self.ints(dims)])

    def some(self, y):
        """A few elements of y, from its end."""
        return self.node("Slice", [self.flat(y), self.ints([-8]), self.ints([1 << 40])])

    def done(self, y, kind=ox.FLOAT):
        """A few elements of y are added to the input."""
        y = self.some(y)
        if kind != ox.FLOAT:
            y = self.cast(y)
        self.output(self.node("Add", [self.x, y], name="sum"), [1, 4, 8, 8])
        return self

    def end(self, y, dims=(1, 4, 8, 8)):
        self.output(y, list(dims))
        return self


def swell(name, make, kind=ox.FLOAT, opset=20):
    """make(m) gives a large constant of m; a few of its elements are used."""
    def grow():
        m = Swelling(opset)
        return m.done(make(m), kind)
    grow.__name__ = name
    family(grow)


# ---- made from nearly nothing, and moved ----

swell("expand", lambda m: m.expand([MANY]))
swell("expand_more", lambda m: m.expand([1 << 36]))
swell("tile", lambda m: m.node("Tile", [m.tensor(None, [2], [1, 2]), m.ints([MANY])]))
swell("constant_of_shape", lambda m: m.node("ConstantOfShape", [m.ints([MANY])]))
swell("range", lambda m: m.range(MANY), ox.INT64)
swell("float_range", lambda m: m.node("Range", [m.number(0), m.number(float(MANY)), m.number(0.75)]))
swell("eye_like", lambda m: m.node("EyeLike", [m.node("ConstantOfShape", [m.ints([SIDE, SIDE])])]))
swell("pad", lambda m: m.node("Pad", [m.tensor(None, [2], [1, 2]), m.ints([MANY, MANY])]))
swell("pad_reflected", lambda m: m.node("Pad", [m.tensor(None, [2], [1, 2]), m.ints([MANY, MANY])], mode="reflect"))
swell("doubled", lambda m: doubled(m, m.tensor(None, [2], [1, 2]), 27))
swell("doubled_sums", lambda m: doubled_sums(m, m.tensor(None, [2], [1, 2]), 27))
swell("doubled_ranges", lambda m: doubled(m, m.node("Sin", [m.range(1 << 14, ox.FLOAT)]), 14))
swell("transposed", lambda m: m.node("Transpose", [m.expand([SIDE, SIDE])]))
swell("trilu", lambda m: m.node("Trilu", [m.expand([SIDE, SIDE])]))
swell("center_crop_pad", lambda m: m.node("CenterCropPad", [m.tensor(None, [2], [1, 2]), m.ints([MANY])]))
swell("depth_to_space", lambda m: m.node("DepthToSpace", [m.expand([1, 1 << 14, 64, 128])], blocksize=128))
swell("reverse", lambda m: m.node("ReverseSequence", [m.expand([1 << 13, 1 << 14]), m.expand([1 << 14], 1 << 13, ox.INT64)]))
swell("split", lambda m: m.node("Split", [m.expand([MANY])], outputs=2, num_outputs=2)[1])
swell("casts", lambda m: m.cast(m.cast(m.range(MANY), ox.FLOAT16)))
swell("four_bits", lambda m: m.cast(m.cast(m.range(MANY), ox.INT4)), opset=21)
swell("four_bits_expanded", lambda m: m.cast(m.expand([MANY], 1, ox.UINT4)), opset=21)
swell("strings", lambda m: m.cast(m.cast(m.range(1 << 25), ox.STRING)))
swell("strings_expanded", lambda m: m.cast(m.expand([MANY], b"1", ox.STRING)))


def doubled(m, y, times, op="Concat"):
    for _ in range(times):
        y = m.node(op, [y, y], axis=0)
    return y


def doubled_sums(m, y, times):
    for _ in range(times):
        y = m.node("Add", [m.node("Unsqueeze", [m.flat(y), m.ints([1])]), m.tensor(None, [1, 2], [0, 1])])
    return y


# ---- elements that depend on many, or that are found by number ----

swell("one_hot", lambda m: m.node("OneHot", [m.range(SIDE), m.ints([SIDE]), m.tensor(None, [2], [0, 1])]))
swell("one_hot_deep", lambda m: m.node("OneHot", [m.ints([3]), m.ints([MANY]), m.tensor(None, [2], [0, 1])]))
swell("resize", lambda m: m.node("Resize", [m.tensor(None, [1, 1, 2, 2], [1, 2, 3, 4]), None, None, m.ints([1, 1, SIDE, SIDE])]))
swell("resize_linear", lambda m: m.node("Resize", [m.tensor(None, [1, 1, 2, 2], [1, 2, 3, 4]), None, None, m.ints([1, 1, SIDE, SIDE])],
                                        mode="linear"))
swell("resize_cubic", lambda m: m.node("Resize", [m.tensor(None, [1, 1, 2, 2], [1, 2, 3, 4]), None, None, m.ints([1, 1, SIDE, SIDE])],
                                       mode="cubic"))
swell("resize_down", lambda m: m.node("Resize", [m.expand([1, 1, SIDE, SIDE]), None, None, m.ints([1, 1, SIDE // 2, SIDE // 2])],
                                      mode="cubic", antialias=1))
swell("upsample", lambda m: m.node("Upsample", [m.tensor(None, [1, 1, 2, 2], [1, 2, 3, 4]), m.tensor(None, [4], [1, 1, 5000, 5000])]), opset=9)
swell("scatter_nd", lambda m: m.node("ScatterND", [m.expand([MANY]), m.tensor(None, [1, 1], [3], ox.INT64), m.tensor(None, [1], [2])]))
swell("scatter_nd_many", lambda m: m.node("ScatterND", [m.expand([MANY]), m.flat(m.range(1 << 26), (-1, 1)), m.expand([1 << 26], 2)]))
swell("scatter_elements", lambda m: m.node("ScatterElements", [m.expand([MANY]), m.ints([3]), m.tensor(None, [1], [2])]))
swell("scatter_elements_many", lambda m: m.node("ScatterElements", [m.expand([MANY]), m.range(1 << 26), m.expand([1 << 26], 2)]))
swell("tensor_scatter", lambda m: m.node("TensorScatter", [m.expand([1, MANY, 1]), m.tensor(None, [1, 1, 1], [2])]), opset=24)
swell("gather", lambda m: m.node("Gather", [m.tensor(None, [2], [1, 2]), m.expand([MANY], 1, ox.INT64)]))
swell("gather_many", lambda m: m.node("Gather", [m.range(MANY, ox.FLOAT), m.range(MANY)]))
swell("gather_elements", lambda m: m.node("GatherElements", [m.range(MANY, ox.FLOAT), m.range(MANY)]))
swell("gather_nd", lambda m: m.node("GatherND", [m.range(MANY, ox.FLOAT), m.flat(m.range(MANY), (-1, 1))]))
swell("gather_rows", lambda m: m.node("Gather", [m.tensor(None, [1, 2], [1, 2]), m.expand([1 << 26], 0, ox.INT64)]))
swell("compress", lambda m: m.node("Compress", [m.range(MANY, ox.FLOAT), m.cast(m.range(MANY), ox.BOOL)]))
swell("non_zero", lambda m: m.node("NonZero", [m.expand([MANY])]), ox.INT64)
swell("unique", lambda m: m.node("Unique", [m.range(1 << 26, ox.FLOAT)]))
swell("cum_sum", lambda m: m.node("CumSum", [m.expand([MANY]), m.ints([0])]))
swell("cum_sums", lambda m: cum_sums(m, m.expand([1 << 25]), 40))
swell("top_k", lambda m: m.node("TopK", [m.range(MANY, ox.FLOAT), m.ints([1 << 26])], outputs=2)[0])
swell("where", lambda m: m.node("Where", [m.cast(m.range(MANY), ox.BOOL), m.expand([MANY]), m.expand([MANY], 2)]))
swell("arg_max", lambda m: m.node("ArgMax", [m.range(MANY, ox.FLOAT)], axis=0), ox.INT64)
swell("reduced", lambda m: m.node("ReduceLogSumExp", [m.range(1 << 32, ox.FLOAT)]))
swell("reduced_often", lambda m: often(m, lambda y: m.node("ReduceMean", [m.node("Add", [m.range(1 << 24, ox.FLOAT), y])], axes=[0]), 200), opset=13)


def cum_sums(m, y, times):
    for _ in range(times):
        y = m.node("CumSum", [y, m.ints([0])])
    return y


def often(m, step, times):
    y = m.number(1)
    for _ in range(times):
        y = step(y)
    return y


# ---- sums of products ----

swell("outer", lambda m: m.node("MatMul", [m.expand([SIDE, 1]), m.expand([1, SIDE])]))
swell("matmul", lambda m: m.node("MatMul", [m.expand([SIDE, SIDE]), m.expand([SIDE, SIDE])]))
swell("matmul_small", lambda m: m.node("MatMul", [m.expand([1 << 12, 1 << 14]), m.expand([1 << 14, 1 << 12])]))
swell("matmuls", lambda m: often(m, lambda y: m.node("MatMul", [m.node("Add", [m.expand([1 << 10, 1 << 10]), y]), m.expand([1 << 10, 1 << 10])]), 40))
swell("gemm", lambda m: m.node("Gemm", [m.expand([SIDE, 1]), m.expand([1, SIDE]), m.expand([SIDE, SIDE])]))
swell("matmul_integer", lambda m: m.node("MatMulInteger", [m.expand([SIDE, 1], 2, ox.UINT8), m.expand([1, SIDE], 3, ox.UINT8)]), ox.INT32)
swell("einsum", lambda m: m.node("Einsum", [m.expand([SIDE]), m.expand([SIDE])], equation="i,j->ij"))
swell("einsum_sum", lambda m: m.node("Einsum", [m.expand([1 << 16]), m.expand([1 << 16]), m.expand([1 << 16])], equation="i,j,k->"))
swell("det", lambda m: m.node("Det", [m.expand([4096, 4096])]))
swell("conv", lambda m: m.node("Conv", [m.expand([1, 1, SIDE, SIDE]), m.expand([1, 1, 15, 15])]))
swell("conv_wide", lambda m: m.node("Conv", [m.expand([1, 1, SIDE]), m.expand([1 << 13, 1, 1])]))
swell("conv_transpose", lambda m: m.node("ConvTranspose", [m.expand([1, 1, 64, 64]), m.expand([1, 1, 128, 128])], strides=[180, 180]))
swell("conv_integer", lambda m: m.node("ConvInteger", [m.expand([1, 1, SIDE, SIDE], 2, ox.UINT8), m.expand([1, 1, 15, 15], 3, ox.UINT8)]), ox.INT32)
swell("max_pool", lambda m: m.node("MaxPool", [m.expand([1, 1, SIDE, SIDE])], kernel_shape=[31, 31]))
swell("average_pool", lambda m: m.node("AveragePool", [m.expand([1, 1, 2000, 2000])], kernel_shape=[999, 999]))
swell("lp_pool", lambda m: m.node("LpPool", [m.expand([1, 1, 2000, 2000])], kernel_shape=[999, 999]))
swell("lrn", lambda m: m.node("LRN", [m.expand([1, 1 << 14, 32, 32])], size=9999))
swell("max_unpool", lambda m: m.node("MaxUnpool", [m.tensor(None, [1, 1, 1, 1], [1]), m.tensor(None, [1, 1, 1, 1], [0], ox.INT64),
                                                   m.ints([1, 1, SIDE, SIDE])], kernel_shape=[2, 2]))
swell("col2im", lambda m: m.node("Col2Im", [m.expand([1, 9, (SIDE - 2) * (SIDE - 2) // 9 * 9]), m.ints([SIDE, SIDE]), m.ints([3, 3])]))
swell("grid_sample", lambda m: m.node("GridSample", [m.tensor(None, [1, 1, 2, 2], [1, 2, 3, 4]), m.expand([1, 8192, 8192, 2])]))
swell("affine_grid", lambda m: m.node("AffineGrid", [m.tensor(None, [1, 2, 3], [1, 0, 0, 0, 1, 0]), m.ints([1, 1, 8192, 8192])]))
swell("roi_align", lambda m: m.node("RoiAlign", [m.tensor(None, [1, 1, 2, 2], [1, 2, 3, 4]), m.tensor(None, [1, 4], [0, 0, 1, 1]),
                                                 m.tensor(None, [1], [0], ox.INT64)], output_height=8192, output_width=8192))
swell("roi_align_samples", lambda m: m.node("RoiAlign", [m.tensor(None, [1, 1, 2, 2], [1, 2, 3, 4]), m.tensor(None, [1, 4], [0, 0, 1, 1]),
                                                         m.tensor(None, [1], [0], ox.INT64)], output_height=99, output_width=99, sampling_ratio=9999))
swell("max_roi_pool", lambda m: m.node("MaxRoiPool", [m.tensor(None, [1, 1, 2, 2], [1, 2, 3, 4]), m.tensor(None, [1, 5], [0, 0, 0, 1, 1])],
                                       pooled_shape=[8192, 8192]))
swell("deform_conv", lambda m: m.node("DeformConv", [m.expand([1, 1, 4096, 4096]), m.expand([1, 1, 3, 3]), m.expand([1, 18, 4094, 4094])]), opset=19)
swell("attention", lambda m: m.node("Attention", [m.expand([1, 1, 16384, 8])] * 3), opset=23)
swell("rotary", lambda m: m.node("RotaryEmbedding", [m.expand([1, 1, 1 << 20, 128]), m.expand([1, 1 << 20, 64]), m.expand([1, 1 << 20, 64])]), opset=23)
swell("rnn", lambda m: m.node("RNN", [m.expand([1 << 20, 1, 1]), m.expand([1, 64, 1]), m.expand([1, 64, 64])], hidden_size=64))
swell("lstm", lambda m: m.node("LSTM", [m.expand([1 << 20, 1, 1]), m.expand([1, 256, 1]), m.expand([1, 256, 64])], hidden_size=64))
swell("gru", lambda m: m.node("GRU", [m.expand([1 << 20, 1, 1]), m.expand([1, 192, 1]), m.expand([1, 192, 64])], hidden_size=64))


# ---- over an axis ----

swell("softmax", lambda m: m.node("Softmax", [m.expand([MANY])]))
swell("hardmax", lambda m: m.node("Hardmax", [m.expand([MANY])]))
swell("layer_norm", lambda m: m.node("LayerNormalization", [m.expand([SIDE, SIDE]), m.expand([SIDE])]))
swell("instance_norm", lambda m: m.node("InstanceNormalization", [m.expand([1, 1, SIDE, SIDE]), m.expand([1]), m.expand([1])]))
swell("batch_norm", lambda m: m.node("BatchNormalization", [m.expand([1, 1, SIDE, SIDE])] + [m.expand([1])] * 4))
swell("lp_norm", lambda m: m.node("LpNormalization", [m.expand([SIDE, SIDE])]))
swell("quantized", lambda m: m.node("DequantizeLinear", [m.node("QuantizeLinear", [m.expand([MANY]), m.number(0.1)]), m.number(0.1)]))
swell("dynamically_quantized", lambda m: m.node("DynamicQuantizeLinear", [m.expand([MANY])], outputs=3)[0], ox.UINT8)
swell("dequantized", lambda m: m.node("DequantizeLinear", [m.expand([MANY], 3, ox.UINT8), m.number(0.1)]))
swell("dequantized_blocks", lambda m: m.node("DequantizeLinear", [m.expand([1 << 13, 1 << 14], 3, ox.UINT8), m.expand([1 << 13, 1 << 9])],
                                             axis=1, block_size=32), opset=21)
swell("loss", lambda m: m.node("NegativeLogLikelihoodLoss", [m.expand([1 << 13, 1 << 14]), m.expand([1 << 13], 1, ox.INT64)]))
swell("bit_cast", lambda m: m.node("BitCast", [m.range(MANY)], to_=ox.DOUBLE), ox.DOUBLE, opset=26)

# ---- signals ----

for window in ("Hann", "Hamming", "Blackman"):
    swell(window.lower(), lambda m, window=window: m.node(window + "Window", [m.tensor(None, [], [100000000], ox.INT64)]))
swell("mel", lambda m: m.node("MelWeightMatrix", [m.tensor(None, [], [v], ox.INT64) for v in (2048, 65536, 44100)] + [m.number(0), m.number(22050)]))
swell("mel_bins", lambda m: m.node("MelWeightMatrix", [m.tensor(None, [], [v], ox.INT64) for v in (1 << 26, 2, 44100)] + [m.number(0), m.number(22050)]))
swell("dft", lambda m: m.node("DFT", [m.expand([1, 1 << 24, 1])]))
swell("dft_prime", lambda m: m.node("DFT", [m.expand([1, 1000003, 1])]))
swell("dft_length", lambda m: m.node("DFT", [m.expand([1, 2, 1]), m.tensor(None, [], [1 << 26], ox.INT64)]))
swell("stft", lambda m: m.node("STFT", [m.expand([1, 1 << 20, 1]), m.tensor(None, [], [1], ox.INT64), None, m.tensor(None, [], [1024], ox.INT64)]))

# ---- bodies, functions, sequences ----


def loop(m, times, carried, step):
    """step(body, carried) -> (carried, scanned)."""
    body = ox.Graph("body")
    body.input("i", [], ox.INT64)
    body.input("go", [], ox.BOOL)
    body.input("carried", None)
    y, scanned = step(body, "carried")
    body.output(body.node("Identity", ["go"]), [], ox.BOOL)
    body.output(y, None)
    body.output(scanned, None)
    return m.node("Loop", [m.tensor(None, [], [times], ox.INT64), m.tensor(None, [], [True], ox.BOOL), carried], outputs=2, body=body)


swell("loop", lambda m: loop(m, 1000000, m.number(1), lambda b, y: (b.node("Identity", [y]), b.node("Neg", [y])))[1])
swell("loop_wide", lambda m: loop(m, 1000, m.expand([1 << 20]), lambda b, y: (b.node("Identity", [y]), b.node("Neg", [y])))[1])
swell("loop_long", lambda m: loop(m, 1 << 60, m.number(1), lambda b, y: (b.node("Identity", [y]), b.node("Neg", [y])))[1])
swell("loop_doubling", lambda m: loop(m, 26, m.tensor(None, [2], [1, 2]), lambda b, y: (b.node("Concat", [y, y], axis=0), b.node("ReduceSum", [y])))[0])
swell("sequence", lambda m: m.node("ConcatFromSequence", [m.node("SequenceConstruct", [m.expand([1 << 24])] * 8)], axis=0))
swell("split_to_sequence", lambda m: m.node("SequenceAt", [m.node("SplitToSequence", [m.expand([MANY])]), m.tensor(None, [], [7], ox.INT64)]))
swell("split_to_sequence_ones", lambda m: m.node("ConcatFromSequence", [m.node("SplitToSequence", [m.expand([1 << 20])])], axis=0))


@family
def functions():
    """Each function calls the one before it twice: 2^24 nodes from 24."""
    m = Swelling()
    m.opset["f"] = 1
    m.function("f0", "f", ["a"], ["b"], [ox.message_node("Neg", ["a"], ["b"])], {"": 20, "f": 1})
    for i in range(1, 25):
        m.function("f%d" % i, "f", ["a"], ["c"], [ox.message_node("f%d" % (i - 1), ["a"], ["b"], domain="f"),
                                                  ox.message_node("f%d" % (i - 1), ["b"], ["c"], domain="f")], {"": 20, "f": 1})
    return m.end(m.node("f24", [m.x], domain="f"))


@family
def functions_doubling():
    """Concat of itself, in functions."""
    m = Swelling()
    m.opset["f"] = 1
    m.function("f", "f", ["a"], ["b"], [ox.message_node("Concat", ["a", "a"], ["b"], attributes={"axis": 0})], {"": 20})
    y = m.tensor(None, [2], [1, 2])
    for _ in range(26):
        y = m.node("f", [y], domain="f")
    return m.done(m.node("CumSum", [y, m.ints([0])]))


# ---- read by layers, as weights, shapes, indices ----

def reader(name, make, opset=20):
    def grow():
        m = Swelling(opset)
        y, dims = make(m)
        return m.end(y, dims)
    grow.__name__ = name
    family(grow)


reader("matmul_weights", lambda m: (m.node("MatMul", [m.flat(m.x, (1, 256)), m.expand([256, 1 << 19])]), [1, 1 << 19]))
reader("matmul_weights_fit", lambda m: (m.node("ReduceSum", [m.node("MatMul", [m.flat(m.x, (16, 16)), m.flat(m.node("Sin", [m.range(1 << 26, ox.FLOAT)]),
                                                                                          (16, 1 << 22))])], axes=[1]), [16, 1]), opset=12)
reader("conv_weights", lambda m: (m.node("ReduceMean", [m.node("Conv", [m.x, m.node("Sin", [m.flat(m.range(1 << 25, ox.FLOAT), (1 << 17, 4, 8, 8))])])],
                                         axes=[1]), [1, 1, 1, 1]), opset=12)
reader("add_large", lambda m: (m.node("ReduceMax", [m.node("Add", [m.node("Tile", [m.x, m.ints([1, 1, 512, 512])]),
                                                                  m.node("Sin", [m.flat(m.range(1 << 26, ox.FLOAT), (1, 4, 4096, 4096))])])],
                                      axes=[2, 3]), [1, 4, 1, 1]), opset=12)
reader("gather_from_large", lambda m: (m.node("Gather", [m.flat(m.x), m.node("Mod", [m.range(1 << 26), m.tensor(None, [], [256], ox.INT64)])]), [1 << 26]))
reader("gather_by_large", lambda m: (m.node("ReduceMax", [m.node("Gather", [m.flat(m.x), m.node("Mod", [m.flat(m.range(1 << 24), (1, 4, 2048, 2048)),
                                                                                       m.tensor(None, [], [256], ox.INT64)])])], axes=[2, 3]), [1, 4, 1, 1]), opset=12)
reader("gather_expanded", lambda m: (m.node("ReduceMax", [m.node("Gather", [m.flat(m.x), m.expand([1, 4, 2048, 2048], 7, ox.INT64)])], axes=[2, 3]),
                                     [1, 4, 1, 1]), opset=12)
reader("gather_elements_by_large", lambda m: (m.node("GatherElements", [m.x, m.expand([1, 4, 1 << 23, 8], 7, ox.INT64)], axis=2), [1, 4, 1 << 23, 8]))
reader("gather_nd_by_large", lambda m: (m.node("ReduceMax", [m.flat(m.node("GatherND", [m.x, m.expand([1 << 24, 4], 0, ox.INT64)]), (1, 4, 2048, 2048))],
                                               axes=[2, 3]), [1, 4, 1, 1]), opset=12)
reader("scatter_by_large", lambda m: (m.node("ScatterElements", [m.x, m.expand([1, 4, 8, 8], 7, ox.INT64), m.x], axis=2), [1, 4, 8, 8]))
reader("scatter_into_large", lambda m: (m.node("ReduceMax", [m.node("ScatterND", [m.expand([1, 4, 2048, 2048]), m.expand([8, 4], 7, ox.INT64),
                                                                                  m.expand([8])])], axes=[2, 3]), [1, 4, 1, 1]), opset=12)
reader("where_large", lambda m: (m.node("ReduceMax", [m.node("Where", [m.cast(m.flat(m.range(1 << 26), (1, 4, 4096, 4096)), ox.BOOL),
                                                                       m.node("Tile", [m.x, m.ints([1, 1, 512, 512])]), m.number(1)])], axes=[2, 3]),
                                 [1, 4, 1, 1]), opset=12)
reader("reshape_by_large", lambda m: (m.node("Reshape", [m.x, m.expand([MANY], 1, ox.INT64)]), [1, 4, 8, 8]))
reader("slice_by_large", lambda m: (m.node("Slice", [m.x, m.expand([MANY], 0, ox.INT64), m.expand([MANY], 1, ox.INT64)]), [1, 4, 8, 8]))
reader("split_by_large", lambda m: (m.node("Split", [m.x, m.expand([MANY], 1, ox.INT64)], outputs=2)[0], [1, 4, 8, 8]))
reader("top_k_by_large", lambda m: (m.node("TopK", [m.x, m.expand([MANY], 1, ox.INT64)], outputs=2)[0], [1, 4, 8, 1]))
reader("pad_by_large", lambda m: (m.node("Pad", [m.x, m.expand([MANY], 0, ox.INT64)]), [1, 4, 8, 8]))
reader("resize_by_large", lambda m: (m.node("Resize", [m.x, None, m.expand([MANY], 1.0)]), [1, 4, 8, 8]))
reader("loop_by_large", lambda m: (m.node("Tile", [m.x, m.expand([MANY], 1, ox.INT64)]), [1, 4, 8, 8]))
reader("compress_by_large", lambda m: (m.node("Compress", [m.flat(m.x), m.expand([MANY], True, ox.BOOL)]), [256]))
reader("prelu_large", lambda m: (m.node("PRelu", [m.x, m.expand([1 << 20, 4, 8, 8])]), [1, 4, 8, 8]))
reader("lrn_wide", lambda m: (m.node("LRN", [m.x], size=2000000001), [1, 4, 8, 8]))
reader("stft_computed", lambda m: (m.node("STFT", [m.node("Tile", [m.flat(m.x, (1, 256, 1)), m.ints([1, 1 << 14, 1])]),
                                                   m.tensor(None, [], [1], ox.INT64), None, m.tensor(None, [], [1 << 16], ox.INT64)]),
                                   [1, 4128769, 32769, 2]))
reader("output_large", lambda m: (m.node("Add", [m.x, m.expand([1, 4, 1 << 13, 1 << 12])]) if False else m.expand([1, 4, 1 << 13, 1 << 12]), [1, 4, 1 << 13, 1 << 12]))
reader("softmax_mask", lambda m: (m.node("ReduceMax", [m.node("Softmax", [m.node("Add", [m.node("Tile", [m.x, m.ints([1, 1, 512, 512])]),
                                                                                        m.node("Trilu", [m.expand([1, 1, 4096, 4096], -1e4)], upper=1)])])], axes=[2, 3]),
                                  [1, 4, 1, 1]), opset=14)


def main(arguments):
    if arguments == ["--list"]:
        print("\n".join(FAMILIES))
    else:
        FAMILIES[arguments[0]]().save(arguments[1])


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    main(sys.argv[1:])
