"""Models at random: operators of convolution nets and transformers in orders that nobody exports, so that they meet in
one kernel in ways that nobody thought of. The same seed gives the same model."""

import os
import shutil
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import onnxwrite as ox

UNARY = ["Relu", "Sigmoid", "Tanh", "LeakyRelu", "HardSwish", "Softplus", "Abs", "Neg", "Erf", "HardSigmoid"]


class Maker:
    def __init__(self, seed):
        self.m = ox.Model("random", opset=17, seed=seed)
        self.random = self.m.random
        self.images, self.rows = [], []  # (name, shape) of values with 4 axes [1, C, H, W] and with 3 [1, T, D]

    def keep(self, name, shape):
        (self.images if len(shape) == 4 else self.rows).append((name, list(shape)))
        return name

    def pick(self, values):
        """Rather one of the last."""
        return values[-1] if self.random.random() < 0.6 else self.random.choice(values)

    def constant(self, shape):
        """Of one value, or one for each channel or feature."""
        kind = self.random.randrange(3)
        if kind == 0:
            return self.m.number(0.5 + self.random.random())
        axis = 1 if len(shape) == 4 else 2
        return self.m.weight([1] * axis + [shape[axis]] + [1] * (len(shape) - axis - 1), low=0.5, high=1.5)

    # ---- both kinds ----

    def unary(self, x, s):
        return self.m.node(self.random.choice(UNARY), [x]), s

    def scale(self, x, s):
        operands = [x, self.constant(s)]
        op = self.random.choice(["Add", "Mul", "Sub", "Div"])
        if op != "Div":
            self.random.shuffle(operands)
        return self.m.node(op, operands), s

    def gate(self, x, s):
        """x * f(x) in its forms."""
        m, kind = self.m, self.random.randrange(4)
        if kind == 0:
            operands = [x, m.node("Sigmoid", [x])]
        elif kind == 1:
            operands = [x, m.node("Tanh", [m.node("Softplus", [x])])]
        elif kind == 2:
            operands = [x, m.node("HardSigmoid", [x], alpha=1 / 6, beta=0.5)]
        else:
            e = m.node("Erf", [m.node("Div", [x, m.number(2 ** 0.5)])])
            operands = [m.node("Mul", [x, m.number(0.5)]), m.node("Add", [e, m.number(1.0)])]
        self.random.shuffle(operands)
        return m.node("Mul", operands), s

    def both(self, x, s):
        others = [v for v, t in self.images + self.rows if t == s]
        return self.m.node(self.random.choice(["Add", "Mul", "Max", "Sub"]), [x, self.random.choice(others)]), s

    # ---- images ----

    def conv(self, x, s):
        m, size = self.m, self.random.choice([1, 1, 3])
        out = self.random.choice([3, 4, 6, 8, 12])
        operands = [x, m.weight([out, s[1], size, size])]
        if self.random.random() < 0.7:
            operands.append(m.weight([out], scale=0.2))
        return m.node("Conv", operands, kernel_shape=[size, size], pads=[size // 2] * 4), [1, out] + s[2:]

    def depthwise(self, x, s):
        y = self.m.node("Conv", [x, self.m.weight([s[1], 1, 3, 3])], kernel_shape=[3, 3], pads=[1] * 4, group=s[1])
        return y, s

    def pool(self, x, s):
        op = self.random.choice(["MaxPool", "AveragePool"])
        return self.m.node(op, [x], kernel_shape=[2, 2], strides=[1, 1], pads=[1, 0, 0, 1]), s

    def norm(self, x, s):
        return self.m.node("InstanceNormalization", [x, self.m.weight([s[1]], low=0.5, high=1.5),
                                                     self.m.weight([s[1]], scale=0.3)]), s

    def squeeze(self, x, s):
        m = self.m
        g = m.node("GlobalAveragePool", [x])
        g = m.node("Sigmoid", [m.node("Conv", [g, m.weight([s[1], s[1], 1, 1]), m.weight([s[1]], scale=0.2)])])
        return m.node("Mul", [x, g]), s

    def join(self, x, s):
        y, t = self.random.choice([(v, t) for v, t in self.images if t[2:] == s[2:]])
        if s[1] + t[1] > 24:
            return x, s
        return self.m.node("Concat", [x, y], axis=1), [1, s[1] + t[1]] + s[2:]

    def halves(self, x, s):
        if s[1] < 2:
            return x, s
        a, b = s[1] // 2, s[1] - s[1] // 2
        p, q = self.m.node("Split", [x, self.m.ints([a, b])], outputs=2, axis=1)
        self.keep(p, [1, a] + s[2:])
        return q, [1, b] + s[2:]

    def cut(self, x, s):
        m, axis = self.m, self.random.choice([1, 2, 3])
        if s[axis] < 4:
            return x, s
        start, step = self.random.randrange(2), self.random.choice([1, 1, 2])
        t = list(s)
        t[axis] = len(range(start, s[axis] - 1, step))
        return m.node("Slice", [x, m.ints([start]), m.ints([s[axis] - 1]), m.ints([axis]), m.ints([step])]), t

    def pad(self, x, s):
        m, mode = self.m, self.random.choice(["reflect", "constant", "edge"])
        if s[2] > 16 or min(s[2:]) < 2:
            return x, s
        return m.node("Pad", [x, m.ints([0, 0, 1, 0, 0, 0, 0, 1])], mode=mode), s[:2] + [s[2] + 1, s[3] + 1]

    def shuffle(self, x, s):
        m = self.m
        if s[1] % 2:
            return x, s
        y = m.node("Reshape", [x, m.ints([1, 2, s[1] // 2] + s[2:])])
        return m.node("Reshape", [m.node("Transpose", [y], perm=[0, 2, 1, 3, 4]), m.ints(s)]), s

    def depth(self, x, s):
        if s[1] % 4 or s[2] > 10:
            return x, s
        return self.m.node("DepthToSpace", [x], blocksize=2, mode=self.random.choice(["DCR", "CRD"])), [
            1, s[1] // 4, 2 * s[2], 2 * s[3]]

    def larger(self, x, s):
        m, mode = self.m, self.random.choice(["nearest", "linear"])
        if s[2] > 10:
            return x, s
        y = m.node("Resize", [x, "", m.tensor(None, [4], [1.0, 1.0, 2.0, 2.0])], mode=mode,
                   coordinate_transformation_mode="asymmetric" if mode == "nearest" else "half_pixel",
                   nearest_mode="floor")
        return y, s[:2] + [2 * s[2], 2 * s[3]]

    def to_rows(self, x, s):
        m = self.m
        y = m.node("Reshape", [x, m.ints([1, s[1], s[2] * s[3]])])
        if self.random.random() < 0.3:
            return y, [1, s[1], s[2] * s[3]]
        return m.node("Transpose", [y], perm=[0, 2, 1]), [1, s[2] * s[3], s[1]]

    # ---- rows ----

    def linear(self, x, s):
        m, out = self.m, self.random.choice([4, 6, 8, 16])
        if self.random.random() < 0.3:
            y = m.node("Reshape", [x, m.ints([s[1], s[2]])])
            y = m.node("Gemm", [y, m.weight([out, s[2]]), m.weight([out], scale=0.2)], transB=1)
            return m.node("Reshape", [y, m.ints([1, s[1], out])]), [1, s[1], out]
        y = m.node("MatMul", [x, m.weight([s[2], out], scale=(3.0 / s[2]) ** 0.5)])
        return m.node("Add", [y, m.weight([out], scale=0.2)]), [1, s[1], out]

    def layernorm(self, x, s):
        m = self.m
        if self.random.random() < 0.5:
            return m.node("LayerNormalization", [x, m.weight([s[2]], low=0.5, high=1.5), m.weight([s[2]], scale=0.2)]), s
        d = m.node("Sub", [x, m.node("ReduceMean", [x], axes=[-1])])
        v = m.node("ReduceMean", [m.node("Pow", [d, m.number(2.0)])], axes=[-1])
        return m.node("Div", [d, m.node("Sqrt", [m.node("Add", [v, m.number(1e-5)])])]), s

    def softmax(self, x, s):
        return self.m.node("Softmax", [x], axis=self.random.choice([1, 2])), s

    def attend(self, x, s):
        m = self.m
        heads = 2 if s[2] % 2 == 0 else 1
        parts = []
        for perm in ([0, 2, 1, 3], [0, 2, 3, 1], [0, 2, 1, 3]):
            y = m.node("MatMul", [x, m.weight([s[2], s[2]], scale=(3.0 / s[2]) ** 0.5)])
            y = m.node("Reshape", [y, m.ints([1, s[1], heads, s[2] // heads])])
            parts.append(m.node("Transpose", [y], perm=perm))
        q, k, v = parts
        place = self.random.randrange(3)
        scale = m.number((s[2] // heads) ** -0.5)
        if place == 0:
            q = m.node("Mul", [q, scale])
        scores = m.node("MatMul", [q, k])
        if place == 1:
            scores = m.node("Mul", [scores, scale])
        elif place == 2:
            scores = m.node("Div", [scores, m.number((s[2] // heads) ** 0.5)])
        if self.random.random() < 0.5:
            mask = [0.0 if j <= i else -10000.0 for i in range(s[1]) for j in range(s[1])]
            scores = m.node("Add", [scores, m.tensor(None, [1, 1, s[1], s[1]], mask)])
        y = m.node("MatMul", [m.node("Softmax", [scores], axis=-1), v])
        return m.node("Reshape", [m.node("Transpose", [y], perm=[0, 2, 1, 3]), m.ints(s)]), s

    def reduce(self, x, s):
        y = self.m.node(self.random.choice(["ReduceMean", "ReduceMax"]), [x], axes=[2])
        return self.m.node("Sub", [x, y]), s

    def turn(self, x, s):
        return self.m.node("Transpose", [x], perm=[0, 2, 1]), [1, s[2], s[1]]

    def to_image(self, x, s):
        if s[1] % 2:
            return x, s
        return self.m.node("Reshape", [x, self.m.ints([1, 2, s[1] // 2, s[2]])]), [1, 2, s[1] // 2, s[2]]


ANY = [Maker.unary, Maker.scale, Maker.gate, Maker.gate, Maker.both]
IMAGE = [Maker.conv, Maker.conv, Maker.conv, Maker.depthwise, Maker.pool, Maker.norm, Maker.squeeze, Maker.join,
         Maker.halves, Maker.cut, Maker.pad, Maker.shuffle, Maker.depth, Maker.larger, Maker.to_rows]
ROWS = [Maker.linear, Maker.linear, Maker.layernorm, Maker.softmax, Maker.attend, Maker.reduce, Maker.turn,
        Maker.to_image]


def random_model(seed, steps=14):
    k = Maker(seed)
    if k.random.random() < 0.6:
        s = [1, k.random.choice([1, 3, 4, 8]), k.random.choice([4, 6, 9]), k.random.choice([4, 7, 8])]
        k.keep(k.m.input("x", s), s)
    else:
        s = [1, k.random.choice([3, 8, 12]), k.random.choice([4, 6, 16])]
        k.keep(k.m.input("x", s), s)
    for _ in range(steps):
        values = k.images if not k.rows or (k.images and k.random.random() < 0.5) else k.rows
        x, s = k.pick(values)
        kind = ANY if k.random.random() < 0.45 else IMAGE if len(s) == 4 else ROWS
        y, t = k.random.choice(kind)(k, x, s)
        if y != x and ox.count(t) <= 1 << 13:
            k.keep(y, t)
    for x, s in [values[-1] for values in (k.images, k.rows) if values]:
        y = k.m.node("Tanh", [x])
        k.m.output(y, s)
    return k.m


def close(folder, passed, failed):
    """The end of a test over a folder of models, which stays where one failed. Returns the exit status."""
    if not failed:
        shutil.rmtree(folder, ignore_errors=True)
    else:
        print("left in " + folder)
    print("%d passed, %d failed" % (passed, failed))
    return 1 if failed else 0
