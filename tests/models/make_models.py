#!/usr/bin/env python3
"""Writes the models that the tests and the benchmark share, the same bytes every time.

    make_models.py DIR [NAME...]      DIR/NAME.onnx for each (all without names)
    make_models.py --list
"""

import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import onnxwrite as ox


def conv(m, x, into, out, kernel=3, op="Conv", bias=True, groups=1, name="", **attributes):
    """A square convolution that keeps the size, unless attributes say otherwise."""
    dims = [into, out // groups, kernel, kernel] if op == "ConvTranspose" else [out, into // groups, kernel, kernel]
    fan_in = into // groups * kernel * kernel
    operands = [x, m.weight(dims, scale=(3.0 / fan_in) ** 0.5)]
    if bias:
        operands.append(m.weight([out], scale=0.1))
    if op == "Conv" and "auto_pad" not in attributes:
        attributes.setdefault("pads", [kernel // 2] * 4)
    if groups > 1:
        attributes["group"] = groups
    return m.node(op, operands, name=name, kernel_shape=[kernel, kernel], **attributes)


def batchnorm(m, x, channels, name=""):
    return m.node("BatchNormalization",
                  [x, m.weight([channels], low=0.5, high=1.5), m.weight([channels], scale=0.3),
                   m.weight([channels], scale=0.3), m.weight([channels], low=0.5, high=1.5)],
                  name=name, epsilon=1e-5)


def linear(m, x, into, out, name=""):
    """x times a matrix plus a bias, over the last axis."""
    y = m.node("MatMul", [x, m.weight([into, out], scale=(3.0 / into) ** 0.5)], name=name)
    return m.node("Add", [y, m.weight([out], scale=0.1)])


def filter_model(seed=1, channels=(3, 8, 16, 16, 3), size=64, bn=False, items=1, storage="raw"):
    """The filter of the README: 3x3 convolutions with Relu between them."""
    m = ox.Model("filter", seed=seed)
    x = m.input("image", [items, channels[0], size, size])
    last = len(channels) - 2
    for i in range(last + 1):
        x = conv(m, x, channels[i], channels[i + 1], bias=not bn, name="/net/net.%d/Conv" % (2 * i))
        if bn:
            x = batchnorm(m, x, channels[i + 1])
        if i < last:
            x = m.node("Relu", [x], name="/net/net.%d/Relu" % (2 * i + 1))
    m.output(x, [items, channels[-1], size, size])
    for t in m.tensors:
        t.storage = storage
    return m


def swap(seed, gain):
    """One of two models that share a graph: tables, a texture, single values, normalisation."""
    m = ox.Model("swap", seed=seed)
    x = m.input("image", [1, 3, 8, 8])
    x = batchnorm(m, conv(m, x, 3, 64, bias=False, name="first"), 64)
    x = m.node("Relu", [x])
    x = conv(m, x, 64, 64, name="large")
    x = m.node("Clip", [x, m.tensor("low", [], [-gain]), m.tensor("high", [], [2 * gain])])
    x = m.node("Mul", [x, m.tensor("gain", [], [gain])])
    x = conv(m, x, 64, 3, kernel=1, name="last")
    m.output(x, [1, 3, 8, 8])
    return m


def depthwise():
    m = ox.Model("depthwise", seed=3)
    x = m.input("image", [1, 3, 32, 32])
    x = m.node("Clip", [conv(m, x, 3, 12, strides=[2, 2]), m.number(0.0), m.number(6.0)])
    for out, stride in ((16, 1), (24, 2)):
        into = 12 if out == 16 else 16
        x = conv(m, x, into, into, groups=into, strides=[stride, stride])
        x = m.node("HardSwish", [x]) if stride == 2 else m.node("LeakyRelu", [x], alpha=0.1)
        x = conv(m, x, into, out, kernel=1, pads=[0, 0, 0, 0])
    m.output(x, [1, 24, 8, 8])
    m.opset = {"": 14}
    return m


def unet():
    m = ox.Model("unet", seed=4)
    x = m.input("image", [1, 3, 32, 32])
    top = m.node("Relu", [conv(m, x, 3, 8)])
    down = m.node("MaxPool", [top], kernel_shape=[2, 2], strides=[2, 2])
    down = m.node("Relu", [conv(m, down, 8, 16)])
    up = conv(m, down, 16, 8, kernel=2, op="ConvTranspose", strides=[2, 2])
    both = m.node("Concat", [up, top], axis=1)
    y = m.node("Sigmoid", [conv(m, both, 16, 2)])
    m.output(y, [1, 2, 32, 32])
    return m


def resize():
    m = ox.Model("resize", seed=5)
    x = m.input("image", [1, 4, 12, 16])
    x = conv(m, x, 4, 8)
    scales = m.tensor("scales", [4], [1.0, 1.0, 2.0, 2.0])
    y = m.node("Resize", [x, "", scales], mode="linear", coordinate_transformation_mode="half_pixel")
    z = m.node("Resize", [x, "", scales], mode="nearest", nearest_mode="floor",
               coordinate_transformation_mode="asymmetric")
    m.output(conv(m, m.node("Add", [y, z]), 8, 4), [1, 4, 24, 32])
    return m


def pools():
    m = ox.Model("pools", seed=6)
    x = m.input("image", [1, 5, 21, 19])
    a = m.node("MaxPool", [x], kernel_shape=[3, 3], strides=[2, 2], pads=[1, 1, 1, 1])
    b = m.node("AveragePool", [x], kernel_shape=[3, 3], strides=[2, 2], pads=[1, 1, 1, 1])
    y = m.node("Relu", [conv(m, m.node("Concat", [a, b], axis=1), 10, 12)])
    y = m.node("Flatten", [m.node("GlobalAveragePool", [y])])
    y = m.node("Gemm", [y, m.weight([7, 12]), m.weight([7], scale=0.1)], transB=1)
    m.output(y, [1, 7])
    return m


def mlp():
    """Its first weights are too many for a table."""
    m = ox.Model("mlp", seed=7)
    x = m.input("x", [1, 196])
    for i, (into, out) in enumerate(((196, 64), (64, 32), (32, 10))):
        x = m.node("Gemm", [x, m.weight([out, into]), m.weight([out], scale=0.1)], transB=1, name="/fc%d" % i)
        if out > 10:
            x = m.node("Relu" if i else "Tanh", [x])
    m.output(m.node("Softmax", [x], axis=1), [1, 10])
    return m


def audio():
    m = ox.Model("audio", seed=8)
    x = m.input("wave", [1, 1, 256])
    y = m.node("Conv", [x, m.weight([8, 1, 9]), m.weight([8], scale=0.1)], kernel_shape=[9], strides=[4], pads=[4, 4])
    y = m.node("Relu", [y])
    for dilation in (1, 2):
        z = m.node("Conv", [y, m.weight([16, 8, 3])], kernel_shape=[3], pads=[dilation, dilation],
                   dilations=[dilation])
        a, b = m.node("Split", [z, m.ints([8, 8])], outputs=2, axis=1)
        y = m.node("Add", [y, m.node("Mul", [m.node("Tanh", [a]), m.node("Sigmoid", [b])])])
    m.output(m.node("MaxPool", [y], kernel_shape=[2], strides=[2]), [1, 8, 32])
    return m


def residual():
    m = ox.Model("residual", seed=9)
    x = m.input("image", [1, 3, 24, 24])
    x = m.node("Relu", [conv(m, x, 3, 16)])
    for i in range(2):
        y = m.node("Relu", [batchnorm(m, conv(m, x, 16, 16, bias=False), 16)])
        y = batchnorm(m, conv(m, y, 16, 16, bias=False), 16)
        x = m.node("Relu", [m.node("Add", [m.node("Mul", [y, m.number(0.5)]), x])])
    y = conv(m, x, 16, 12)
    y = m.node("DepthToSpace", [y], blocksize=2, mode="CRD")
    m.output(y, [1, 3, 48, 48])
    return m


def shuffle():
    m = ox.Model("shuffle", seed=10)
    x = m.input("image", [1, 16, 10, 10])
    a, b = m.node("Split", [x, m.ints([8, 8])], outputs=2, axis=1)
    b = m.node("Relu", [conv(m, b, 8, 8, kernel=1, pads=[0, 0, 0, 0])])
    b = conv(m, b, 8, 8, groups=8)
    y = m.node("Concat", [a, b], axis=1)
    y = m.node("Reshape", [y, m.ints([1, 2, 8, 10, 10])])
    y = m.node("Transpose", [y], perm=[0, 2, 1, 3, 4])
    y = m.node("Reshape", [y, m.ints([1, 16, 10, 10])])
    y = m.node("Slice", [y, m.ints([2, 1]), m.ints([14, 9]), m.ints([1, 2])])
    m.output(conv(m, y, 12, 6), [1, 6, 8, 10])
    return m


def layernorm(m, x, width):
    mean = m.node("ReduceMean", [x], axes=[-1])
    d = m.node("Sub", [x, mean])
    variance = m.node("ReduceMean", [m.node("Mul", [d, d])], axes=[-1])
    y = m.node("Div", [d, m.node("Sqrt", [m.node("Add", [variance, m.number(1e-5)])])])
    y = m.node("Mul", [y, m.weight([width], low=0.5, high=1.5)])
    return m.node("Add", [y, m.weight([width], scale=0.2)])


def attention():
    """A transformer block of two heads, as an exporter of opset 13 writes it."""
    m = ox.Model("attention", seed=11)
    t, width, heads = 12, 32, 2
    x = m.input("x", [1, t, width])
    n = layernorm(m, x, width)
    q, k, v = (m.node("Reshape", [linear(m, n, width, width), m.ints([1, t, heads, width // heads])])
               for _ in range(3))
    q = m.node("Transpose", [q], perm=[0, 2, 1, 3])
    k = m.node("Transpose", [k], perm=[0, 2, 3, 1])
    v = m.node("Transpose", [v], perm=[0, 2, 1, 3])
    s = m.node("Mul", [m.node("MatMul", [q, k]), m.number((width // heads) ** -0.5)])
    y = m.node("MatMul", [m.node("Softmax", [s], axis=-1), v])
    y = m.node("Reshape", [m.node("Transpose", [y], perm=[0, 2, 1, 3]), m.ints([1, t, width])])
    x = m.node("Add", [x, linear(m, y, width, width)])
    y = linear(m, layernorm(m, x, width), width, 2 * width)
    e = m.node("Erf", [m.node("Mul", [y, m.number(0.5 ** 0.5)])])
    y = m.node("Mul", [m.node("Mul", [y, m.number(0.5)]), m.node("Add", [e, m.number(1.0)])])
    m.output(m.node("Add", [x, linear(m, y, 2 * width, width)]), [1, t, width])
    return m


def style():
    m = ox.Model("style", seed=12)
    x = m.input("image", [1, 3, 20, 20])
    x = m.node("Pad", [x, m.ints([0, 0, 2, 2, 0, 0, 2, 2])], mode="reflect")
    x = conv(m, x, 3, 8, kernel=5, pads=[0, 0, 0, 0])
    x = m.node("InstanceNormalization", [x, m.weight([8], low=0.5, high=1.5), m.weight([8], scale=0.2)])
    x = m.node("Elu", [x], alpha=1.0)
    m.output(m.node("Tanh", [conv(m, x, 8, 3)]), [1, 3, 20, 20])
    return m


def two_inputs():
    m = ox.Model("two_inputs", seed=13)
    a = m.input("content", [1, 4, 16, 16])
    b = m.input("mask", [1, 1, 16, 16])
    y = m.node("Relu", [conv(m, a, 4, 8)])
    y = m.node("Mul", [y, m.node("Sigmoid", [b])])
    m.output(conv(m, y, 8, 4), [1, 4, 16, 16])
    return m


def two_outputs():
    m = ox.Model("two_outputs", seed=14)
    x = m.input("image", [1, 3, 16, 16])
    y = m.node("Relu", [conv(m, x, 3, 8)])
    m.output(conv(m, y, 8, 6, strides=[2, 2]), [1, 6, 8, 8])
    z = m.node("Softmax", [m.node("ReduceMean", [y], axes=[2, 3], keepdims=0)], axis=-1)
    m.output(z, [1, 8])
    return m


def recurrent():
    """A recurrent cell with a gate, unrolled as an exporter does where the length is fixed."""
    m = ox.Model("recurrent", seed=15)
    t, into, hidden = 4, 8, 8
    x = m.input("x", [1, t, into])
    w, u, b = m.weight([into, 2 * hidden], scale=0.6), m.weight([hidden, 2 * hidden], scale=0.4), m.weight([2 * hidden])
    h, all_of_them = m.tensor("h0", [1, hidden], [0.0] * hidden), []
    for i in range(t):
        s = m.node("Gather", [x, m.tensor(None, [], [i], ox.INT64)], axis=1)
        g = m.node("Add", [m.node("Add", [m.node("MatMul", [s, w]), m.node("MatMul", [h, u])]), b])
        z, c = m.node("Split", [g, m.ints([hidden, hidden])], outputs=2, axis=1)
        z, c = m.node("Sigmoid", [z]), m.node("Tanh", [c])
        h = m.node("Add", [m.node("Mul", [z, h]), m.node("Mul", [m.node("Sub", [m.number(1.0), z]), c])])
        all_of_them.append(m.node("Unsqueeze", [h, m.ints([1])]))
    m.output(linear(m, m.node("Concat", all_of_them, axis=1), hidden, 5), [1, t, 5])
    return m


def tokens():
    """Ids into a table, positions added, and scores for each id."""
    m = ox.Model("tokens", seed=19)
    t, width, rows = 12, 16, 40
    ids = m.input("ids", [1, t], ox.INT64)
    x = m.node("Gather", [m.weight([rows, width]), ids], axis=0)
    x = m.node("Add", [x, m.weight([1, t, width], scale=0.3)])
    x = m.node("Relu", [linear(m, layernorm(m, x, width), width, 2 * width)])
    m.output(linear(m, x, 2 * width, rows), [1, t, rows])
    return m


def functions():
    """Elementwise operators that a shader and a processor do not compute alike, each with a part of the channels."""
    m = ox.Model("functions", seed=20)
    x = conv(m, m.input("x", [1, 4, 10, 14]), 4, 28, kernel=1, pads=[0, 0, 0, 0])
    parts = m.node("Split", [x, m.ints([4] * 7)], outputs=7, axis=1)
    positive = m.node("Add", [m.node("Abs", [parts[0]]), m.number(0.25)])
    out = [m.node("Sin", [parts[1]]), m.node("Atan", [parts[2]]), m.node("Log", [positive]),
           m.node("Pow", [positive, m.number(1.7)]), m.node("Softplus", [parts[3]]), m.node("Reciprocal", [positive]),
           m.node("Sqrt", [positive]), m.node("Cos", [parts[4]]), m.node("Asinh", [parts[5]]),
           m.node("Cosh", [parts[6]])]
    m.output(m.node("Concat", out, axis=1), [1, 40, 10, 14])
    return m


def lstm():
    m = ox.Model("lstm", seed=21, opset=14)
    t, into, hidden = 5, 6, 8
    x = m.node("Transpose", [m.input("x", [1, t, into])], perm=[1, 0, 2])
    y = m.node("LSTM", [x, m.weight([2, 4 * hidden, into], scale=0.6), m.weight([2, 4 * hidden, hidden], scale=0.4),
                        m.weight([2, 8 * hidden], scale=0.1)], outputs=3, hidden_size=hidden, direction="bidirectional")[0]
    y = m.node("Reshape", [m.node("Transpose", [y], perm=[2, 0, 1, 3]), m.ints([1, t, 2 * hidden])])
    m.output(linear(m, y, 2 * hidden, 3), [1, t, 3])
    return m


MODELS = {
    "filter": filter_model,
    "filter_bn": lambda: filter_model(seed=2, bn=True, channels=(3, 6, 10, 3), size=32),
    "depthwise": depthwise,
    "unet": unet,
    "resize": resize,
    "pools": pools,
    "mlp": mlp,
    "audio": audio,
    "residual": residual,
    "shuffle": shuffle,
    "attention": attention,
    "style": style,
    "batch": lambda: filter_model(seed=16, channels=(3, 8, 4), size=16, items=4),
    "external": lambda: filter_model(seed=17, channels=(3, 8, 3), size=16, storage="external"),
    "wide": lambda: filter_model(seed=18, channels=(32, 48, 32), size=12, storage="typed"),
    "two_inputs": two_inputs,
    "two_outputs": two_outputs,
    "recurrent": recurrent,
    "tokens": tokens,
    "functions": functions,
    "lstm": lstm,
    "swap_day": lambda: swap(21, 1.0),
    "swap_night": lambda: swap(22, 0.5),
}


def main(arguments):
    if arguments == ["--list"]:
        print("\n".join(MODELS))
        return 0
    if not arguments or arguments[0].startswith("-"):
        print(__doc__, file=sys.stderr)
        return 2
    folder, names = arguments[0], arguments[1:] or list(MODELS)
    os.makedirs(folder, exist_ok=True)
    for name in names:
        if name not in MODELS:
            print("make_models.py: there is no model %s" % name, file=sys.stderr)
            return 2
        MODELS[name]().save(os.path.join(folder, name + ".onnx"))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
