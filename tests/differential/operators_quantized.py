"""Whole 8-bit models: every value between layers is dequantised, computed with and quantised again, or the layer is one of
those that do all of that (QLinearConv, QLinearMatMul). See generate.py."""

from generate import count, Generator, WHOLE

RANGES = {"uint8": (0, 255), "int8": (-128, 127)}


class Bytes:
    """A quantised value: number q stands for (q - zero) * scale."""

    def __init__(self, name, dims, kind, scale, zero):
        self.name, self.dims, self.kind, self.scale, self.zero = name, list(dims), kind, scale, zero
        self.real = None  # what dequantises it
        self.reads = 0

    @property
    def bound(self):
        return max(abs(q - self.zero) for q in RANGES[self.kind]) * self.scale


class Quantised(Generator):
    def __init__(self, seed, opset, batch):
        super().__init__(seed, opset, batch)
        self.kind = self.r.choice(["uint8", "uint8", "int8"])
        self.bytes = []

    # ---- what surrounds a layer ----

    def parameters(self, scale, zero, kind):
        return [self.number(scale), self.tensor([], [zero], kind)]

    def quantise(self, name, dims, bound, sure=None):
        """A float32 value of about that magnitude, quantised. sure: the parameters of this value."""
        r = self.r
        if sure:
            kind, scale, zero = sure.kind, sure.scale, sure.zero
        else:
            kind = self.kind
            low, high = RANGES[kind]
            zero = r.choice([low, (low + high + 1) // 2, r.randint(low + 20, high - 20)])
            scale = round(bound * r.choice([0.3, 0.6, 1.0]) / max(high - zero, zero - low), 6) or 1e-6
        q = Bytes(self.fresh("q"), dims, kind, scale, zero)
        ops = self.parameters(scale, zero, kind)
        if kind == "uint8" and zero == 0 and self.maybe(0.3):
            ops.pop()
        self.raw("QuantizeLinear", [name] + ops, [q.name])
        self.bytes.append(q)
        return q

    def real(self, q):
        """The float32 value that q stands for."""
        q.reads += 1
        if not q.real or self.maybe(0.3):
            q.real = self.fresh("f")
            self.raw("DequantizeLinear", [q.name] + self.parameters(q.scale, q.zero, q.kind), [q.real])
        return q.real

    def weights(self, dims, axis, size):
        """Dequantised weights; axis is the one of output channels."""
        r, kind = self.r, "int8" if self.maybe(0.85) else "uint8"
        low, high = (-127, 127) if kind == "int8" else (0, 255)
        per = self.opset >= 13 and self.maybe(0.5)
        shape = [dims[axis]] if per else []
        a, inputs = {}, [self.tensor(dims, {"seed": self.seed(), "low": low, "high": high}, kind)]
        inputs.append(self.uniform(shape, size * 0.3 / 127, size / 127) if per else self.number(round(size / 127, 6)))
        if kind == "uint8" or self.maybe(0.7):
            zero = r.choice([120, 128, 131]) if kind == "uint8" else 0
            inputs.append(self.tensor(shape, [zero] * count(shape), kind))
        if per:
            a["axis"] = axis - len(dims) if self.maybe(0.3) else axis
        name = self.fresh("f")
        self.raw("DequantizeLinear", inputs, [name], a)
        return name, per, inputs[1]

    def bias(self, n, x, scale, per):
        """int32 with the product's scale, or plain numbers."""
        if per or self.maybe(0.4):
            return self.uniform([n], -0.5, 0.5)
        step = x.scale * next(t for t in self.tensors if t[0] == scale)[3][0]
        most = int(0.5 / step)
        inputs = [self.tensor([n], {"seed": self.seed(), "low": -most, "high": most}, "int32"), self.number(step)]
        name = self.fresh("f")
        self.raw("DequantizeLinear", inputs, [name])
        return name

    def active(self, name, bound):
        """What stands between a layer and its QuantizeLinear."""
        form = self.r.random()
        if form < 0.5:
            return name, bound
        made = self.fresh("f")
        if form < 0.75:
            self.raw("Relu", [name], [made])
        elif self.opset < 11:
            self.raw("Clip", [name], [made], {"min": 0.0, "max": 6.0})
        else:
            self.raw("Clip", [name, self.number(0.0), self.number(6.0)], [made])
        return made, min(bound, 6.0) if form >= 0.75 else bound

    def choose(self, rank=4, fits=lambda q: True):
        found = [q for q in self.bytes if len(q.dims) == rank and fits(q)]
        fresh = [q for q in found if not q.reads]
        return (fresh or found)[-1] if found and self.maybe(0.75) else self.r.choice(found) if found else None

    def layer(self, op, inputs, dims, bound, attributes=None, sure=None, plain=False):
        y = self.fresh("f")
        self.raw(op, inputs, [y], attributes)
        if not plain and not sure:
            y, bound = self.active(y, bound)
        return self.quantise(y, dims, bound, sure)

    # ---- layers ----

    def conv(self):
        x, r = self.choose(), self.r
        if x is None:
            return None
        n, c, h, w = x.dims
        k = [r.choice([1, 1, 2, 3]), r.choice([1, 2, 3, 3])]
        s, d = r.choice([[1, 1], [1, 1], [2, 2], [1, 2]]), r.choice([[1, 1], [1, 1], [2, 1]])
        pads = [r.choice([0, (k[i % 2] - 1) * d[i % 2] // 2]) for i in range(4)]
        out = [(x.dims[2 + i] + pads[i] + pads[2 + i] - (k[i] - 1) * d[i] - 1) // s[i] + 1 for i in range(2)]
        group = r.choice([1, 1, c])
        m = c * r.choice([1, 2]) if group > 1 else r.choice([1, 3, 4, 6, 8])
        if min(out) < 1 or m > 24:
            return None
        a = {"strides": s, "dilations": d, "pads": pads, "group": group}
        if self.maybe():
            a["kernel_shape"] = k
        fan = c // group * count(k)
        size, bound = 1.5 / fan ** 0.5, x.bound * 1.5 * fan ** 0.5 / 2
        dims = [n, m] + out
        if self.maybe(0.3):
            return self.joined_form("QLinearConv", x, [m, c // group] + k, 0, size, dims, bound, a)
        weights, per, scale = self.weights([m, c // group] + k, 0, size)
        inputs = [self.real(x), weights]
        if self.maybe(0.7):
            inputs.append(self.bias(m, x, scale, per))
        return self.layer("Conv", inputs, dims, bound, a)

    def joined_form(self, op, x, dims_w, axis, size, dims, bound, a):
        r = self.r
        low, high = RANGES[self.kind]
        q = Bytes(self.fresh("q"), dims, self.kind, round(bound * r.choice([0.3, 0.6, 1.0]) / 127, 6), r.choice([low, (low + high + 1) // 2, low + 50]))
        kind = "int8" if self.maybe(0.8) else "uint8"
        per = op == "QLinearConv" and self.maybe(0.4)
        shape = [dims_w[axis]] if per else []
        zero = 0 if kind == "int8" else 128
        scale = self.uniform(shape, size * 0.3 / 127, size / 127) if per else self.number(round(size / 127, 6))
        inputs = [x.name] + self.parameters(x.scale, x.zero, x.kind)
        inputs += [self.tensor(dims_w, {"seed": self.seed(), "low": -127 if kind == "int8" else 0, "high": 127 if kind == "int8" else 255}, kind), scale,
                   self.tensor(shape, [zero] * count(shape), kind)] + self.parameters(q.scale, q.zero, q.kind)
        if op == "QLinearConv" and self.maybe(0.6):
            inputs.append(self.tensor([dims_w[0]], {"seed": self.seed(), "low": -3000, "high": 3000}, "int32"))
        x.reads += 1
        self.raw(op, inputs, [q.name], a)
        self.bytes.append(q)
        return q

    def transposed(self):
        x, r = self.choose(), self.r
        if x is None or x.dims[2] * x.dims[3] > 100:
            return None
        n, c, h, w = x.dims
        m, k, s = r.choice([1, 2, 4]), r.choice([2, 3]), r.choice([1, 2, 2])
        pad = r.choice([0, 1])
        out = [(d - 1) * s + k - 2 * pad for d in (h, w)]
        if min(out) < 1:
            return None
        size, bound = 1.5 / (c * k * k) ** 0.5, x.bound * 1.5 * (c * k * k) ** 0.5 / 2
        weights, per, scale = self.weights([c, m, k, k], 1, size)
        inputs = [self.real(x), weights] + ([self.bias(m, x, scale, per)] if self.maybe(0.6) else [])
        return self.layer("ConvTranspose", inputs, [n, m] + out, bound, {"strides": [s, s], "pads": [pad] * 4})

    def pool(self):
        x, r = self.choose(), self.r
        if x is None:
            return None
        form = r.choice(["MaxPool", "MaxPool", "AveragePool", "GlobalAveragePool", "ReduceMean"])
        if form in ("GlobalAveragePool", "ReduceMean"):
            dims = x.dims[:2] + [1, 1]
            if form == "ReduceMean" and self.opset >= 18:
                return self.layer(form, [self.real(x), self.ints([2, 3])], dims, x.bound, {"keepdims": 1})
            return self.layer(form, [self.real(x)], dims, x.bound, {"axes": [2, 3]} if form == "ReduceMean" else {})
        k, s = r.choice([2, 3]), r.choice([1, 2])
        pads = [r.choice([0, 1]) for _ in range(4)]
        out = [(x.dims[2 + i] + pads[i] + pads[2 + i] - k) // s + 1 for i in range(2)]
        if min(out) < 1:
            return None
        a = {"kernel_shape": [k, k], "strides": [s, s], "pads": pads}
        if form == "AveragePool" and self.maybe():
            a["count_include_pad"] = 1
        if form == "MaxPool" and self.opset >= 12 and self.maybe(0.3):
            q = Bytes(self.fresh("q"), x.dims[:2] + out, x.kind, x.scale, x.zero)
            x.reads += 1
            self.raw("MaxPool", [x.name], [q.name], a)
            self.bytes.append(q)
            return q
        return self.layer(form, [self.real(x)], x.dims[:2] + out, x.bound, a, x if self.maybe() else None, True)

    def two(self):
        x = self.choose()
        if x is None:
            return None
        others = [q for q in self.bytes if q.dims == x.dims or (len(q.dims) == 4 and q.dims[:2] == x.dims[:2] and q.dims[2:] == [1, 1])]
        y = self.r.choice(others)
        op = self.r.choice(["Add", "Add", "Mul", "Sub", "Max"])
        bound = x.bound * y.bound if op == "Mul" else x.bound + y.bound
        inputs = [self.real(x), self.real(y)]
        if self.maybe(0.3):
            inputs.reverse()
        return self.layer(op, inputs, x.dims, bound)

    def joined(self):
        x = self.choose()
        if x is None:
            return None
        others = [q for q in self.bytes if len(q.dims) == 4 and q.dims[2:] == x.dims[2:]]
        parts = [x] + [self.r.choice(others) for _ in range(self.r.choice([1, 1, 2]))]
        dims = [x.dims[0], sum(q.dims[1] for q in parts)] + x.dims[2:]
        if dims[1] > 40:
            return None
        bound = max(q.bound for q in parts)
        return self.layer("Concat", [self.real(q) for q in parts], dims, bound, {"axis": 1}, x if self.maybe(0.3) else None, True)

    def one(self):
        x, r = self.choose(), self.r
        if x is None:
            return None
        names = ["Relu", "Sigmoid", "Tanh", "LeakyRelu", "Abs", "Neg"] + (["HardSwish"] if self.opset >= 14 else [])
        op = r.choice(names)
        bound = 1.0 if op in ("Sigmoid", "Tanh") else x.bound
        return self.layer(op, [self.real(x)], x.dims, bound, {"alpha": 0.2} if op == "LeakyRelu" else {}, None, True)

    def constant(self):
        """With a constant of each channel, or one number."""
        x, r = self.choose(), self.r
        if x is None:
            return None
        op = r.choice(["Mul", "Add"])
        shape = r.choice([[], [x.dims[1], 1, 1], [1, x.dims[1], 1, 1]])
        c = self.uniform(shape, -1.5, 1.5) if shape else self.number(0.7)
        if shape and self.maybe():
            c, _, _ = self.weights(shape, len(shape) - 3, 1.5)
        return self.layer(op, [self.real(x), c], x.dims, x.bound * 1.5 + 1.5)

    def moved(self):
        """Elements elsewhere: the same scale before and after, or another."""
        x, r = self.choose(), self.r
        if x is None:
            return None
        n, c, h, w = x.dims
        form = r.choice(["Transpose", "Reshape", "Slice", "Pad", "Resize", "Resize", "DepthToSpace", "Split"])
        sure = x if self.maybe(0.6) else None
        if form == "Transpose":
            p = r.choice([[0, 2, 3, 1], [0, 1, 3, 2], [0, 3, 1, 2]])
            return self.layer(form, [self.real(x)], [x.dims[i] for i in p], x.bound, {"perm": p}, sure, True)
        if form == "Reshape":
            dims = r.choice([[n, c, w, h], [n, 1, c, h * w], [n, c * h, w, 1]])
            return self.layer(form, [self.real(x), self.ints(dims)], dims, x.bound, {}, sure, True)
        if form == "Slice" and self.opset >= 10:
            axis = r.choice([1, 2, 3])
            d = x.dims[axis]
            if d < 2:
                return None
            start, step = r.randrange(d - 1), r.choice([1, 1, 2])
            dims = list(x.dims)
            dims[axis] = len(range(start, d, step))
            return self.layer(form, [self.real(x), self.ints([start]), self.ints([d]), self.ints([axis]), self.ints([step])], dims, x.bound, {}, sure, True)
        if form == "Pad" and self.opset >= 11:
            mode = r.choice(["constant", "constant", "edge", "reflect"])
            if mode == "reflect" and min(h, w) < 2:
                return None
            pads = [0, 0, r.choice([0, 1]), 1, 0, 0, 1, r.choice([0, 1])]
            return self.layer(form, [self.real(x), self.ints(pads)], [n, c, h + pads[2] + pads[6], w + pads[3] + pads[7]], x.bound, {"mode": mode}, sure, True)
        if form == "Resize" and self.opset >= 13 and h * w <= 100:
            scales = [1.0, 1.0] + r.choice([[2.0, 2.0], [1.0, 3.0], [1.5, 2.0]])
            mode = r.choice(["nearest", "linear"])
            a = {"mode": mode, "coordinate_transformation_mode": r.choice(["asymmetric", "half_pixel"])}
            if mode == "nearest":
                a["nearest_mode"] = r.choice(["floor", "round_prefer_floor"])
            dims = [n, c, int(h * scales[2]), int(w * scales[3])]
            return self.layer(form, [self.real(x), "", self.tensor([4], scales)], dims, x.bound, a, sure, True)
        if form == "DepthToSpace" and c % 4 == 0:
            return self.layer(form, [self.real(x)], [n, c // 4, 2 * h, 2 * w], x.bound, {"blocksize": 2}, sure, True)
        if form == "Split" and c % 2 == 0:
            names = [self.fresh("f"), self.fresh("f")]
            self.raw("Split", [self.real(x)], names, dict({"axis": 1}, **({"num_outputs": 2} if self.opset >= 18 else {})))
            return [self.quantise(y, [n, c // 2, h, w], x.bound, sure) for y in names][0]
        return None

    def product(self):
        """Rows of features: by Flatten first."""
        r = self.r
        x = self.choose(2)
        if x is None:
            image = self.choose(4, lambda q: count(q.dims[1:]) <= 200)
            if image is None or len(image.dims) != 4:
                return None
            x = self.layer("Flatten", [self.real(image)], [image.dims[0], count(image.dims[1:])], image.bound, {"axis": 1}, image, True)
        k, n = x.dims[1], r.choice([1, 3, 4, 8])
        size, bound = 1.5 / k ** 0.5, x.bound * 1.5 * k ** 0.5 / 2
        form = r.random()
        if form < 0.25:
            return self.joined_form("QLinearMatMul", x, [k, n], 1, size, [x.dims[0], n], bound, {})
        if form < 0.6:
            weights, _, _ = self.weights([k, n], 1, size)
            return self.layer("MatMul", [self.real(x), weights], [x.dims[0], n], bound)
        tb = r.choice([0, 1])
        weights, per, scale = self.weights([n, k] if tb else [k, n], 0 if tb else 1, size)
        inputs = [self.real(x), weights] + ([self.bias(n, x, scale, per)] if self.opset < 11 or self.maybe(0.7) else [])
        return self.layer("Gemm", inputs, [x.dims[0], n], bound, {"transB": tb})

    # ---- the whole ----

    def begin(self):
        r = self.r
        dims = [self.batch, r.choice([1, 3, 3, 4]), r.choice([3, 4, 5, 6, 8]), r.choice([3, 4, 6, 7])]
        name = self.fresh("x")
        if self.maybe(0.15):
            low, high = RANGES[self.kind]
            self.inputs.append([name, self.kind, dims, {"seed": self.seed(), "low": low, "high": high}])
            q = Bytes(name, dims, self.kind, r.choice([0.02, 1 / 255, 0.0078]), r.choice([low, (low + high + 1) // 2]))
            self.bytes.append(q)
            return
        low, high = r.choice([(-1.0, 1.0), (0.0, 1.0), (-2.0, 2.5)])
        self.inputs.append([name, "float", dims, {"seed": self.seed(), "low": low, "high": high}])
        source = name
        if self.maybe(0.2):
            source, p = self.fresh("f"), [0, 2, 3, 1]
            self.raw("Transpose", [name], [source], {"perm": p})
            dims = [dims[i] for i in p]
        self.quantise(source, dims, max(high, -low))
        if self.maybe(0.1):  # two readers with scales of their own
            self.quantise(source, dims, max(high, -low) * 2)

    def end(self):
        r = self.r
        rest = [q for q in self.bytes if not q.reads and q.name not in {i[0] for i in self.inputs}]
        r.shuffle(rest)
        for q in rest[:r.choice([1, 1, 2])]:
            if self.maybe(0.2):
                self.outputs.append([q.name, q.kind, q.dims])
                continue
            y, dims = self.real(q), q.dims
            if self.maybe(0.2) and len(dims) == 4:
                z, p = self.fresh("f"), [0, 2, 3, 1]
                self.raw("Transpose", [y], [z], {"perm": p})
                y, dims = z, [dims[i] for i in p]
            self.outputs.append([y, "float", dims])
        self.prune()
        return {"opset": self.opset, "ir": r.choice([8, 9]) if self.opset < 21 else 10, "inputs": self.inputs, "tensors": self.tensors,
                "nodes": self.nodes, "outputs": self.outputs, "shapes": {}}


@WHOLE.append
def quantised(seed, opset, batch):
    """None where this opset has no such operators."""
    g = Quantised("bytes %d" % seed, opset, batch)
    if g.opset < 10:
        return None
    g.begin()
    layers = [g.conv] * 6 + [g.pool] * 3 + [g.two] * 2 + [g.joined, g.one, g.one, g.constant, g.moved, g.moved, g.moved, g.transposed, g.product]
    steps = tries = 0
    target = g.r.choice([1, 1, 2, 2, 3, 4, 5])
    while steps < target and tries < 40:
        tries += 1
        if g.r.choice(layers)() is not None:
            steps += 1
    return g.end()
