"""Families of models that grow: each function of FAMILIES takes a number and gives a model whose size is proportional to
it. What is wide, deep, shared or long in them stands alone, so that what grows faster than its input shows by itself.

    growing.py FAMILY N FILE      writes one
    growing.py --list
"""

import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import onnxwrite as ox

FAMILIES = {}


def family(f):
    FAMILIES[f.__name__] = f
    return f


def image(dims=(1, 4, 8, 8), opset=13):
    m = ox.Model("growing", opset=opset, seed=1)
    return m, m.input("x", list(dims))


def finish(m, y, dims=(1, 4, 8, 8)):
    m.output(y, list(dims))
    return m


# ---- chains ----

def chain(name, step, dims=(1, 4, 8, 8), opset=13):
    """n times step(m, x, i), which keeps the shape."""
    def grow(n):
        m, x = image(dims, opset)
        shared = {}
        for i in range(n):
            x = step(m, x, i, shared)
        return finish(m, x, dims)
    grow.__name__ = name
    family(grow)


def once(m, shared, key, make):
    if key not in shared:
        shared[key] = make()
    return shared[key]


def weights(m, shared, dims):
    return once(m, shared, tuple(dims), lambda: m.weight(list(dims)))


def ints(m, shared, values):
    return once(m, shared, ("ints",) + tuple(values), lambda: m.ints(list(values)))


def number(m, shared, value):
    return once(m, shared, ("number", value), lambda: m.number(value))


chain("relus", lambda m, x, i, s: m.node("Relu", [x]))
chain("sines", lambda m, x, i, s: m.node("Sin", [x]))
chain("identities", lambda m, x, i, s: m.node("Identity", [x]))
chain("sums", lambda m, x, i, s: m.node("Add", [x, number(m, s, 0.5)]))
chain("own_constants", lambda m, x, i, s: m.node("Add", [x, m.number(i * 0.5)]))
chain("squares", lambda m, x, i, s: m.node("Mul", [x, x]))
chain("casts", lambda m, x, i, s: m.node("Cast", [x], to_=ox.FLOAT16 if i % 2 else ox.FLOAT))
chain("convs", lambda m, x, i, s: m.node("Conv", [x, weights(m, s, (4, 4, 3, 3))], kernel_shape=[3, 3], pads=[1, 1, 1, 1]))
chain("own_convs", lambda m, x, i, s: m.node("Conv", [x, m.weight([4, 4, 1, 1])], kernel_shape=[1, 1]))
chain("conv_relus", lambda m, x, i, s: m.node("Relu", [m.node("Conv", [x, weights(m, s, (4, 4, 1, 1))])]))
chain("conv_norms", lambda m, x, i, s: m.node("BatchNormalization", [m.node("Conv", [x, weights(m, s, (4, 4, 1, 1))])] +
                                             [weights(m, s, (4,))] * 4))
chain("norms", lambda m, x, i, s: m.node("BatchNormalization", [x] + [weights(m, s, (4,))] * 4))
chain("pools", lambda m, x, i, s: m.node("MaxPool", [x], kernel_shape=[3, 3], pads=[1, 1, 1, 1]))
chain("matmuls", lambda m, x, i, s: m.node("MatMul", [x, weights(m, s, (8, 8))]))
chain("layernorms", lambda m, x, i, s: m.node("LayerNormalization", [x, weights(m, s, (8,))]), opset=17)
chain("softmaxes", lambda m, x, i, s: m.node("Softmax", [x], axis=-1))
chain("transposes", lambda m, x, i, s: m.node("Transpose", [x], perm=[0, 1, 3, 2]))
chain("reshapes", lambda m, x, i, s: m.node("Reshape", [m.node("Reshape", [x, ints(m, s, [1, 8, 4, 8])]),
                                                        ints(m, s, [1, 4, 8, 8])]))
chain("slices", lambda m, x, i, s: m.node("Slice", [x, ints(m, s, [7]), ints(m, s, [-9]), ints(m, s, [3]), ints(m, s, [-1])]))
chain("mixed_views", lambda m, x, i, s: m.node("Reshape", [m.node("Transpose", [m.node("Reshape", [x, ints(m, s, [4, 4, 4, 4])])],
                                                           perm=[2, 0, 3, 1]), ints(m, s, [1, 4, 8, 8])]))
chain("pads", lambda m, x, i, s: m.node("Slice", [m.node("Pad", [x, ints(m, s, [0, 0, 1, 0, 0, 0, 0, 0])]), ints(m, s, [0]),
                                                  ints(m, s, [8]), ints(m, s, [2])]))
chain("rolls", lambda m, x, i, s: m.node("Concat", [
    m.node("Slice", [x, ints(m, s, [4]), ints(m, s, [8]), ints(m, s, [3])]),
    m.node("Slice", [x, ints(m, s, [0]), ints(m, s, [4]), ints(m, s, [3])])], axis=3))
chain("gathers", lambda m, x, i, s: m.node("Gather", [x, ints(m, s, [3, 1, 2, 0, 7, 5, 6, 4])], axis=3))
chain("depths", lambda m, x, i, s: m.node("SpaceToDepth", [m.node("DepthToSpace", [x], blocksize=2)], blocksize=2))
chain("resizes", lambda m, x, i, s: m.node("Resize", [x, "", weights_one(m, s)], mode="nearest"))
chain("expands", lambda m, x, i, s: m.node("Expand", [x, ints(m, s, [1, 4, 8, 8])]))
chain("wheres", lambda m, x, i, s: m.node("Where", [m.node("Greater", [x, number(m, s, 0.5)]), x, m.node("Neg", [x])]))
chain("gates", lambda m, x, i, s: m.node("Mul", [x, m.node("Sigmoid", [m.node("GlobalAveragePool", [x])])]))
chain("means", lambda m, x, i, s: m.node("Sub", [x, m.node("ReduceMean", [x], axes=[3])]))
chain("shapes", lambda m, x, i, s: m.node("Reshape", [x, m.node("Shape", [x])]))
chain("dynamic_shapes", lambda m, x, i, s: m.node("Reshape", [x, m.node("Concat", [
    m.node("Slice", [m.node("Shape", [x]), ints(m, s, [0]), ints(m, s, [2])]), ints(m, s, [8, 8])], axis=0)]))
chain("upward", lambda m, x, i, s: m.node("Squeeze", [m.node("Unsqueeze", [x, ints(m, s, [0])]), ints(m, s, [0])]))


def weights_one(m, s):
    return once(m, s, "ones", lambda: m.tensor("ones", [4], [1.0] * 4))


chain("instance_norms", lambda m, x, i, s: m.node("InstanceNormalization", [x, weights(m, s, (4,)), weights(m, s, (4,))]))
chain("lstms", lambda m, x, i, s: m.node("Squeeze", [m.node("LSTM", [x, weights(m, s, (1, 16, 4)), weights(m, s, (1, 16, 4))],
                                                            outputs=1, hidden_size=4), ints(m, s, [1])]), dims=(2, 1, 4))
chain("attentions", lambda m, x, i, s: m.node("MatMul", [m.node("Softmax", [m.node("MatMul", [x, m.node("Transpose", [x],
                                                                                                      perm=[0, 2, 1])])]), x]), dims=(1, 4, 8))
chain("quantized", lambda m, x, i, s: m.node("DequantizeLinear", [m.node("QuantizeLinear", [x, number(m, s, 0.1), zero(m, s)]),
                                                                  number(m, s, 0.1), zero(m, s)]))


def zero(m, s):
    return once(m, s, "zero", lambda: m.tensor("zero", [], [0], ox.UINT8))


chain("gelus", lambda m, x, i, s: m.node("Mul", [m.node("Mul", [x, m.node("Add", [m.node("Erf", [m.node("Div", [
    x, number(m, s, 1.41421)])]), number(m, s, 1.0)])]), number(m, s, 0.5)]))


# ---- diamonds: one value, two ways, and together again ----

def diamond(name, left, right, dims=(1, 4, 8, 8), join="Add"):
    chain(name, lambda m, x, i, s: m.node(join, [left(m, x, s), right(m, x, s)]), dims)


def transposed(m, x, s, perm=(0, 1, 3, 2)):
    return m.node("Transpose", [x], perm=list(perm))


diamond("plain_diamonds", lambda m, x, s: m.node("Sin", [x]), lambda m, x, s: m.node("Cos", [x]))
diamond("transpose_diamonds", lambda m, x, s: transposed(m, x, s), lambda m, x, s: x)
diamond("channel_diamonds", lambda m, x, s: transposed(m, x, s, (0, 2, 1, 3)), lambda m, x, s: x, (1, 8, 8, 8))
diamond("two_transposes", lambda m, x, s: transposed(m, x, s, (0, 2, 1, 3)), lambda m, x, s: transposed(m, x, s, (0, 3, 2, 1)), (1, 8, 8, 8))
diamond("reshape_diamonds", lambda m, x, s: m.node("Reshape", [m.node("Transpose", [x], perm=[0, 2, 3, 1]), ints(m, s, [1, 4, 8, 8])]), lambda m, x, s: x)
diamond("slice_diamonds", lambda m, x, s: m.node("Slice", [x, ints(m, s, [7]), ints(m, s, [-9]), ints(m, s, [2]), ints(m, s, [-1])]), lambda m, x, s: x)
diamond("gather_diamonds", lambda m, x, s: m.node("Gather", [x, ints(m, s, [3, 1, 2, 0, 7, 5, 6, 4])], axis=2), lambda m, x, s: x)
diamond("conv_diamonds", lambda m, x, s: m.node("Conv", [x, weights(m, s, (4, 4, 1, 1))]), lambda m, x, s: x)
diamond("mean_diamonds", lambda m, x, s: m.node("ReduceMean", [x], axes=[1]), lambda m, x, s: x)
diamond("depth_diamonds", lambda m, x, s: m.node("Reshape", [m.node("DepthToSpace", [x], blocksize=2), ints(m, s, [1, 4, 8, 8])]), lambda m, x, s: x)
diamond("concat_diamonds", lambda m, x, s: m.node("Slice", [m.node("Concat", [x, x], axis=1), ints(m, s, [2]), ints(m, s, [6]), ints(m, s, [1])]),
        lambda m, x, s: x)


@family
def shared_transposes(n):
    """x -> Transpose -> two readers that lie differently -> Add, n times."""
    m, x = image((1, 8, 8, 8))
    for _ in range(n):
        t = m.node("Transpose", [x], perm=[0, 2, 1, 3])
        x = m.node("Add", [m.node("Transpose", [t], perm=[0, 3, 2, 1]), m.node("Transpose", [t], perm=[0, 1, 3, 2])])
    return finish(m, x, (1, 8, 8, 8))


@family
def beside_diamonds(n):
    """What a convolution is added to is made of n diamonds; the sum is read twice, behind a view."""
    m, x = image((1, 8, 8, 8))
    h = m.node("Conv", [x, m.weight([8, 8, 1, 1])])
    for _ in range(n):
        x = m.node("Add", [m.node("Transpose", [x], perm=[0, 2, 1, 3]), x])
    h = m.node("Reshape", [h, m.ints([1, 8, 64])])
    a = m.node("Add", [h, m.node("Reshape", [x, m.ints([1, 8, 64])])])
    s, c = m.node("Sin", [h]), m.node("Cos", [a])
    y = m.node("Add", [m.node("MatMul", [s, m.weight([64, 64])]), m.node("MatMul", [c, m.weight([64, 64])])])
    return finish(m, m.node("Add", [y, m.node("MatMul", [a, m.weight([64, 64])])]), (1, 8, 64))


@family
def before_diamonds(n):
    """A convolution behind a view that n diamonds read."""
    m, x = image((1, 8, 8, 8))
    h = m.node("Transpose", [m.node("Sin", [m.node("Conv", [x, m.weight([8, 8, 1, 1])])])], perm=[0, 2, 1, 3])
    x = h
    for _ in range(n):
        x = m.node("Add", [m.node("Transpose", [x], perm=[0, 2, 1, 3]), x])
    return finish(m, m.node("Conv", [x, m.weight([8, 8, 1, 1])]), (1, 8, 8, 8))


@family
def ladders(n):
    """Each value is read by the next two: x[i] = f(x[i - 1]) + x[i - 2]."""
    m, x = image()
    before = x
    for _ in range(n):
        before, x = x, m.node("Add", [m.node("Transpose", [x], perm=[0, 1, 3, 2]), before])
    return finish(m, x)


@family
def skips(n):
    """A U: the value of each step down is read again by the step up."""
    m, x = image()
    kept = []
    for _ in range(n // 2):
        kept.append(x)
        x = m.node("Conv", [x, m.weight([4, 4, 1, 1])])
    for k in reversed(kept):
        x = m.node("Add", [m.node("Sin", [x]), k])
    return finish(m, x)


@family
def dense(n):
    """Each convolution reads all before it, as one Concat that grows: of constant width here."""
    m, x = image()
    last = [x] * 4
    for _ in range(n):
        x = m.node("Conv", [m.node("Concat", last, axis=1), m.weight([4, 16, 1, 1])])
        last = last[1:] + [x]
    return finish(m, x)


# ---- wide ----

@family
def readers(n):
    """One value that n operators read, added up in a chain."""
    m, x = image()
    y = x
    for i in range(n):
        y = m.node("Add", [y, m.node("Mul", [x, m.number(i + 1.0)])])
    return finish(m, y)


@family
def conv_readers(n):
    m, x = image()
    y = x
    w = m.weight([4, 4, 1, 1])
    h = m.node("Relu", [m.node("Conv", [x, w])])
    for i in range(n):
        y = m.node("Add", [y, m.node("Conv", [h, m.weight([4, 4, 1, 1])])])
    return finish(m, y)


@family
def view_readers(n):
    m, x = image((1, 4, 8, 64))
    h = m.node("Transpose", [m.node("Sin", [x])], perm=[0, 1, 3, 2])
    y = None
    for i in range(n):
        s = m.node("Slice", [h, m.ints([i % 56]), m.ints([i % 56 + 8]), m.ints([2])])
        y = m.node("Add", [y, s]) if y else s
    return finish(m, y)


@family
def sum_of_many(n):
    m, x = image()
    return finish(m, m.node("Sum", [m.node("Mul", [x, m.number(i + 1.0)]) for i in range(n)]))


@family
def sum_of_inputs(n):
    m = ox.Model("growing", seed=1)
    return finish(m, m.node("Sum", [m.input("x%d" % i, [1, 4, 8, 8]) for i in range(n)]))


@family
def sum_of_one(n):
    m, x = image()
    return finish(m, m.node("Sum", [x] * n))


@family
def max_of_convs(n):
    m, x = image()
    return finish(m, m.node("Max", [m.node("Conv", [x, m.weight([4, 4, 1, 1])]) for i in range(n)]))


@family
def concat_of_one(n):
    m, x = image((1, 1, 2, 2))
    return finish(m, m.node("Concat", [x] * n, axis=1), (1, n, 2, 2))


@family
def concat_of_many(n):
    m, x = image((1, 1, 2, 2))
    return finish(m, m.node("Concat", [m.node("Mul", [x, m.number(i + 1.0)]) for i in range(n)], axis=1), (1, n, 2, 2))


@family
def concat_of_convs(n):
    m, x = image((1, 1, 2, 2))
    w = [m.node("Conv", [x, m.weight([1, 1, 1, 1])]) for i in range(n)]
    return finish(m, m.node("Concat", w, axis=1), (1, n, 2, 2))


@family
def concat_chain(n):
    """One Concat after the other, each a channel more."""
    m, x = image((1, 1, 2, 2))
    y = x
    for i in range(n):
        y = m.node("Concat", [y, m.node("Mul", [x, m.number(i + 1.0)])], axis=1)
    return finish(m, y, (1, n + 1, 2, 2))


@family
def concat_tree(n):
    m, x = image((1, 1, 2, 2))
    level = [m.node("Sin", [x])] * n
    while len(level) > 1:
        level = [m.node("Concat", level[i:i + 2], axis=1) if i + 1 < len(level) else level[i] for i in range(0, len(level), 2)]
    return finish(m, level[0], (1, n, 2, 2))


@family
def split_join(n):
    m, x = image((1, n, 2, 2))
    parts = m.node("Split", [x, m.ints([1] * n)], outputs=n, axis=1)
    return finish(m, m.node("Concat", [m.node("Sin", [p]) for p in parts] if n > 1 else [parts], axis=1), (1, n, 2, 2))


@family
def split_reversed(n):
    m, x = image((1, n, 2, 2))
    parts = m.node("Split", [x, m.ints([1] * n)], outputs=n, axis=1)
    return finish(m, m.node("Concat", list(reversed(parts)), axis=1), (1, n, 2, 2))


@family
def split_sum(n):
    m, x = image((1, n, 2, 2))
    parts = m.node("Split", [x, m.ints([1] * n)], outputs=n, axis=1)
    return finish(m, m.node("Sum", parts), (1, 1, 2, 2))


@family
def split_chain(n):
    m, x = image((1, n, 2, 2))
    parts = m.node("Split", [m.node("Conv", [x, m.tensor("w", [n, 1, 1, 1], [0.5] * n)], group=n), m.ints([1] * n)], outputs=n, axis=1)
    y = parts[0]
    for p in parts[1:]:
        y = m.node("Add", [m.node("Sin", [y]), p])
    return finish(m, y, (1, 1, 2, 2))


@family
def slices_of_one(n):
    """n slices one after the other along an axis, joined again."""
    m, x = image((1, n, 2, 2))
    h = m.node("Sin", [x])
    parts = [m.node("Slice", [h, m.ints([i]), m.ints([i + 1]), m.ints([1])]) for i in range(n)]
    return finish(m, m.node("Concat", parts, axis=1), (1, n, 2, 2))


@family
def scatter_ends(n):
    """Pads of n slices, added up."""
    m, x = image((1, n, 2, 2))
    y = None
    for i in range(n):
        s = m.node("Slice", [x, m.ints([i]), m.ints([i + 1]), m.ints([1])])
        p = m.node("Pad", [s, m.ints([0, i, 0, 0, 0, n - 1 - i, 0, 0])])
        y = m.node("Add", [y, p]) if y else p
    return finish(m, y, (1, n, 2, 2))


# ---- the edge ----

@family
def many_inputs(n):
    m = ox.Model("growing", seed=1)
    y = None
    for i in range(n):
        x = m.input("x%d" % i, [1, 4, 2, 2])
        y = m.node("Add", [y, x]) if y else x
    return finish(m, y, (1, 4, 2, 2))


@family
def unread_inputs(n):
    m, x = image()
    for i in range(n):
        m.input("u%d" % i, [1, 4, 2, 2])
    return finish(m, m.node("Sin", [x]))


@family
def many_outputs(n):
    m, x = image((1, 4, 2, 2))
    for i in range(n):
        m.output(m.node("Mul", [x, m.number(i + 1.0)]), [1, 4, 2, 2])
    return m


@family
def same_outputs(n):
    m, x = image((1, 4, 2, 2))
    y = m.node("Sin", [x])
    for i in range(n):
        m.output(m.node("Identity", [y]), [1, 4, 2, 2])
    return m


@family
def pass_through(n):
    m = ox.Model("growing", seed=1)
    for i in range(n):
        m.output(m.node("Identity", [m.input("x%d" % i, [1, 4, 2, 2])]), [1, 4, 2, 2])
    return m


@family
def chain_outputs(n):
    m, x = image((1, 4, 2, 2))
    for i in range(n):
        x = m.node("Sin", [x])
        m.output(x, [1, 4, 2, 2])
    return m


@family
def batch(n):
    m, x = image((n, 4, 2, 2))
    return finish(m, m.node("Conv", [x, m.weight([4, 4, 1, 1])]), (n, 4, 2, 2))


@family
def mixed_batch(n):
    m, x = image((n, 4, 2, 2))
    return finish(m, m.node("ReduceMean", [m.node("Sin", [x])], axes=[0]), (1, 4, 2, 2))


# ---- constants ----

@family
def initializers(n):
    m, x = image()
    for i in range(n):
        m.number(i * 0.5)
    return finish(m, m.node("Sin", [x]))


@family
def read_initializers(n):
    m, x = image()
    y = None
    for i in range(n):
        c = m.tensor(None, [4, 1, 1], [i * 0.5] * 4)
        y = m.node("Mul", [c, y]) if y else c
    return finish(m, m.node("Add", [x, y]))


@family
def constant_nodes(n):
    m, x = image()
    for i in range(n):
        c = m.node("Constant", [], value=ox.Tensor([], [i * 1e-3]))
        x = m.node("Add", [x, c])
    return finish(m, x)


@family
def folded_concat(n):
    m, x = image((1, n, 2, 2))
    c = m.node("Concat", [m.tensor(None, [1, 1, 1], [i * 0.5]) for i in range(n)], axis=0)
    return finish(m, m.node("Add", [x, c]), (1, n, 2, 2))


@family
def folded_chain(n):
    m, x = image()
    y = m.tensor("start", [4, 1, 1], [0.5] * 4)
    for _ in range(n):
        y = m.node("Cos", [m.node("Sin", [y])])
    return finish(m, m.node("Add", [x, y]))


@family
def large_constant(n):
    m, x = image((1, 1, 1, 64))
    return finish(m, m.node("MatMul", [x, m.tensor("w", [64, n], [0.5] * 64 * n)]), (1, 1, 1, n))


@family
def large_table(n):
    m, x = image((1, 1, 1, n))
    return finish(m, m.node("Add", [x, m.tensor("w", [n], [i % 97 * 0.5 for i in range(n)])]), (1, 1, 1, n))


@family
def large_gather(n):
    m, x = image((1, n, 2, 2))
    return finish(m, m.node("Gather", [x, m.ints([i * 7919 % n for i in range(n)])], axis=1), (1, n, 2, 2))


@family
def wide_conv(n):
    m, x = image((1, 4, 4, 4))
    return finish(m, m.node("Conv", [x, m.tensor("w", [n, 4, 1, 1], [0.5] * 4 * n)]), (1, n, 4, 4))


@family
def grouped_conv(n):
    m, x = image((1, n, 4, 4))
    return finish(m, m.node("Conv", [x, m.tensor("w", [n, 1, 3, 3], [0.5] * 9 * n)], group=n, pads=[1, 1, 1, 1]), (1, n, 4, 4))


@family
def large_kernel(n):
    m, x = image((1, 1, 1, n))
    return finish(m, m.node("Conv", [x, m.tensor("w", [1, 1, 1, n], [0.5] * n)]), (1, 1, 1, 1))


@family
def large_pool(n):
    m, x = image((1, 1, 1, n))
    return finish(m, m.node("MaxPool", [x], kernel_shape=[1, n]), (1, 1, 1, 1))


@family
def large_cumsum(n):
    m, x = image((1, 1, 1, n))
    return finish(m, m.node("CumSum", [x, m.tensor("axis", [], [3], ox.INT64)]), (1, 1, 1, n))


@family
def large_topk(n):
    m, x = image((1, 1, 1, n))
    return finish(m, m.node("TopK", [x, m.ints([4])], outputs=2)[0], (1, 1, 1, 4))


@family
def resize_table(n):
    m, x = image((1, 1, 1, n))
    return finish(m, m.node("Resize", [x, "", "", m.ints([1, 1, 1, n * 3 // 2])], mode="linear"), (1, 1, 1, n * 3 // 2))


@family
def recurrence(n):
    """An RNN over n time steps."""
    m, x = image((1, n, 4))
    x = m.node("Transpose", [x], perm=[1, 0, 2])
    return finish(m, m.node("RNN", [x, m.weight([1, 4, 4]), m.weight([1, 4, 4])], outputs=2, hidden_size=4)[1], (1, 1, 4))


@family
def gru(n):
    m, x = image((1, n, 4))
    x = m.node("Transpose", [x], perm=[1, 0, 2])
    return finish(m, m.node("GRU", [x, m.weight([1, 12, 4]), m.weight([1, 12, 4])], outputs=2, hidden_size=4)[1], (1, 1, 4))


@family
def einsums(n):
    m, x = image((1, 4, 8))
    for _ in range(n):
        x = m.node("Einsum", [x, m.weight([8, 8])], equation="bij,jk->bik")
    return finish(m, x, (1, 4, 8))


# ---- bodies and functions ----

@family
def loop(n):
    m, x = image((1, 4, 2, 2))
    b = ox.Graph("body")
    b.input("i", [], ox.INT64), b.input("c", [], ox.BOOL), b.input("v", [1, 4, 2, 2])
    b.node("Identity", ["c"], "c2")
    b.node("Sin", ["v"], "v2")
    b.output("c2", [], ox.BOOL), b.output("v2", [1, 4, 2, 2])
    y = m.node("Loop", [m.tensor("n", [], [n], ox.INT64), m.tensor("t", [], [1], ox.BOOL), x], body=b)
    return finish(m, y, (1, 4, 2, 2))


@family
def loop_scanned(n):
    m, x = image((1, 4, 2, 2))
    b = ox.Graph("body")
    b.input("i", [], ox.INT64), b.input("c", [], ox.BOOL), b.input("v", [1, 4, 2, 2])
    b.node("Identity", ["c"], "c2")
    b.node("Sin", ["v"], "v2")
    b.node("Mul", ["v2", "v2"], "s")
    b.output("c2", [], ox.BOOL), b.output("v2", [1, 4, 2, 2]), b.output("s", [1, 4, 2, 2])
    y = m.node("Loop", [m.tensor("n", [], [n], ox.INT64), m.tensor("t", [], [1], ox.BOOL), x], outputs=2, body=b)
    return finish(m, y[1], (n, 1, 4, 2, 2))


@family
def scans(n):
    m, x = image((1, n, 4))
    x = m.node("Transpose", [x], perm=[1, 0, 2])
    b = ox.Graph("body")
    b.input("v", [1, 4]), b.input("e", [1, 4])
    b.node("Add", ["v", "e"], "v2")
    b.node("Sin", ["v2"], "s")
    b.output("v2", [1, 4]), b.output("s", [1, 4])
    y = m.node("Scan", [m.tensor("zero", [1, 4], [0.0] * 4), x], outputs=2, body=b, num_scan_inputs=1)
    return finish(m, y[0], (1, 4))


@family
def ifs(n):
    m, x = image((1, 4, 2, 2))
    t = m.tensor("t", [], [1], ox.BOOL)
    for i in range(n):
        a, b = ox.Graph("then"), ox.Graph("else")
        a.node("Sin", [x], "a%d" % i), a.output("a%d" % i, [1, 4, 2, 2])
        b.node("Cos", [x], "b%d" % i), b.output("b%d" % i, [1, 4, 2, 2])
        x = m.node("If", [t], then_branch=a, else_branch=b)
    return finish(m, x, (1, 4, 2, 2))


@family
def body_readers(n):
    """A body that reads n values from around it."""
    m, x = image((1, 4, 2, 2))
    values = [m.node("Mul", [x, m.number(i + 1.0)]) for i in range(n)]
    a, b = ox.Graph("then"), ox.Graph("else")
    a.node("Sum", values, "a"), a.output("a", [1, 4, 2, 2])
    b.node("Sum", values, "b"), b.output("b", [1, 4, 2, 2])
    return finish(m, m.node("If", [m.tensor("t", [], [1], ox.BOOL)], then_branch=a, else_branch=b), (1, 4, 2, 2))


def functions(calls):
    """A model of local functions f0, f1 …: of each the functions that it calls one after another; "" is a Sin."""
    m = ox.Model("growing", opset={"": 17, "local": 1}, seed=1)
    for i, names in enumerate(calls):
        nodes = [ox.message_node("Sin" if not f else f, ["v%d" % k], ["v%d" % (k + 1)], domain="local" if f else "")
                 for k, f in enumerate(names)]
        m.function("f%d" % i, "local", ["v0"], ["v%d" % len(names)], nodes, {"": 17, "local": 1})
    return m, m.input("x", [1, 4, 2, 2])


@family
def function_calls(n):
    m, x = functions([[""]])
    for _ in range(n):
        x = m.node("f0", [x], domain="local")
    return finish(m, x, (1, 4, 2, 2))


@family
def function_lines(n):
    """n functions, called one after another."""
    m, x = functions([[""]] * n)
    for i in range(n):
        x = m.node("f%d" % i, [x], domain="local")
    return finish(m, x, (1, 4, 2, 2))


@family
def function_chain(n):
    """Each function calls the one before it once."""
    m, x = functions([[""]] + [["f%d" % (i - 1)] for i in range(1, n)])
    return finish(m, m.node("f%d" % (n - 1), [x], domain="local"), (1, 4, 2, 2))


@family
def function_doubling(n):
    """Each function calls the one before it twice: n layers from few lines."""
    m, x = functions([[""]] + [["f%d" % (i - 1)] * 2 for i in range(1, n.bit_length())])
    n = n.bit_length()
    return finish(m, m.node("f%d" % (n - 1), [x], domain="local"), (1, 4, 2, 2))


@family
def nested_ifs(n):
    m, x = image((1, 4, 2, 2))
    t = m.tensor("t", [], [1], ox.BOOL)
    inner = None
    for i in range(n):
        a, b = ox.Graph("then"), ox.Graph("else")
        b.node("Cos", [x], "b%d" % i), b.output("b%d" % i, [1, 4, 2, 2])
        if inner:
            a.node("If", [t], "a%d" % i, then_branch=inner[0], else_branch=inner[1])
        else:
            a.node("Sin", [x], "a%d" % i)
        a.output("a%d" % i, [1, 4, 2, 2])
        inner = a, b
    return finish(m, m.node("If", [t], then_branch=inner[0], else_branch=inner[1]), (1, 4, 2, 2))


# ---- what is read by nobody, and what is long ----

@family
def dead(n):
    m, x = image()
    for i in range(n):
        m.node("Sin", [x])
    return finish(m, m.node("Cos", [x]))


@family
def same_nodes(n):
    """The same operator on the same value, again and again: all are one."""
    m, x = image()
    return finish(m, m.node("Sum", [m.node("Sin", [x]) for _ in range(n)]))


@family
def unsupported(n):
    m, x = image()
    for i in range(n):
        x = m.node("NoSuchOperator", [x])
    return finish(m, x)


@family
def wrong(n):
    """Every layer has a fault of its own."""
    m, x = image()
    for i in range(n):
        m.node("Conv", [x, m.weight([4, 5, 1, 1])])
    return finish(m, x)


@family
def kinds(n):
    """Operators of n different unknown names."""
    m, x = image()
    for i in range(n):
        x = m.node("Op%d" % i, [x])
    return finish(m, x)


@family
def excesses(n):
    """Layers that may each exceed 16 bits."""
    m, x = image()
    y = None
    for i in range(n):
        z = m.node("Exp", [m.node("Conv", [x, m.weight([4, 4, 1, 1])])])
        y = m.node("Add", [y, z]) if y else z
    return finish(m, y)


@family
def long_names(n):
    m, x = image()
    for i in range(8):
        x = m.node("Sin", [x], name="n" * n + str(i), outputs="v" * n + str(i))
    return finish(m, x)


@family
def long_attribute(n):
    m, x = image()
    return finish(m, m.node("Transpose", [x], perm=[0, 1, 2, 3], extra=list(range(n))))


@family
def many_attributes(n):
    m, x = image()
    return finish(m, m.node("Transpose", [x], perm=[0, 1, 2, 3], **{"a%d" % i: i for i in range(n)}))


@family
def recorded(n):
    """A recorded shape for each value."""
    m, x = image()
    for i in range(n):
        x = m.value(m.node("Sin", [x]), [1, 4, 8, 8])
    return finish(m, x)


@family
def reversed_nodes(n):
    m, x = image()
    for i in range(n):
        x = m.node("Sin", [x])
    m.nodes.reverse()
    return finish(m, x)


@family
def cycle(n):
    m, x = image()
    for i in range(n):
        m.node("Sin", ["v%d" % ((i + 1) % n)], outputs="v%d" % i)
    return finish(m, "v0")


@family
def opsets(n):
    m, x = image()
    m.opset.update({"d%d" % i: 1 for i in range(n)})
    return finish(m, m.node("Sin", [x]))


def main(arguments):
    if arguments == ["--list"]:
        print("\n".join(FAMILIES))
    elif len(arguments) == 3 and arguments[0] in FAMILIES:
        FAMILIES[arguments[0]](int(arguments[1])).save(arguments[2])
    else:
        print(__doc__.strip(), file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
