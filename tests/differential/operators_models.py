"""What whole models are made of: token ids, attention, losses, weights of few bits: see generate.py."""

from generate import broadcast, count, operator, LARGEST, Value


# ---- token ids ----

@operator("Gather", weight=0.5)
def tokens(g):
    """Rows of a table by ids that are an input of the model, through what may lie between."""
    r = g.r
    found = [i for i in g.inputs if i[1] in ("int32", "int64")]
    n, rows, width = r.choice([1, 2, 3, 5, 8, 13]), r.choice([2, 5, 9, 40]), r.choice([1, 3, 4, 8])
    if g.batch > 1 and g.maybe(0.9):
        return None
    if found and g.maybe(0.5):
        name, kind, dims, fill = r.choice(found)
        n, rows = count(dims), fill["high"] + 1
    else:
        name, kind = g.fresh("t"), r.choice(["int64", "int64", "int32"])
        dims = r.choice([[1, n], [1, n], [n]])
        low = -rows if g.opset >= 11 and g.maybe(0.2) else 0
        g.inputs.append([name, kind, dims, {"seed": g.seed(), "low": low, "high": rows - 1}])
    dims = list(dims)
    for _ in range(r.choice([0, 0, 0, 1, 2])):
        after = g.fresh("f")
        if g.maybe():
            kind = r.choice(["int32", "int64"])
            g.raw("Cast", [name], [after], {"to": 6 if kind == "int32" else 7})
        else:
            dims = r.choice([[1, n], [n]])
            g.raw("Reshape", [name, g.ints(r.choice([dims, [-1] if dims == [n] else [1, -1]]))], [after])
        name = after
    table = g.uniform([rows, width], -2.0, 2.0)
    if g.maybe(0.15):
        table, rough = g.fresh("f"), table
        g.raw("Mul", [rough, g.number(0.5)], [table])
    y = g.node("Gather", [table, name], dims + [width], -2.0, 2.0, None, {} if g.maybe() else {"axis": 0})
    if len(dims) == 1:  # of which axis 0 would be the batch
        y.reads += 1
        y = g.node(*(["Unsqueeze", [y, g.ints([0])], [1] + y.dims, -2.0, 2.0] if g.opset >= 13 else
                     ["Unsqueeze", [y], [1] + y.dims, -2.0, 2.0, None, {"axes": [0]}]))
    if g.maybe(0.4):
        y = g.node("Add", [y, g.uniform([1, n, width] if g.maybe() else [n, width], -1.0, 1.0)], y.dims, -3.0, 3.0)
    return y


# ---- attention (23, 24) ----

@operator("Attention", 23, weight=1.5)
def attention(g):
    r = g.r
    flat = g.maybe(0.6)
    v = g.tame(g.pick(ranks=(3,) if flat else (4,)), 4.0)
    if v is None or v.count > 1000:
        return None
    a, b = {}, v.dims[0]
    if flat:
        t = v.dims[1]
        heads = r.choice([h for h in (1, 1, 2, 4) if v.dims[2] % h == 0])
        size = v.dims[2] // heads
        kv = r.choice([h for h in (1, heads) if heads % h == 0])
        a["q_num_heads"], a["kv_num_heads"] = heads, kv
    else:
        heads, t, size = v.dims[1:]
        kv = r.choice([h for h in (1, heads) if heads % h == 0])
    s, value_size = r.choice([t, t, 1, 3, 6]), r.choice([size, size, 2])
    if not value_size or size < 1:
        return None

    def keys(width, low=-2.0, high=2.0):
        dims = [b, s, kv * width] if flat else [b, kv, s, width]
        found = [w for w in g.values if w.kind == "float" and w.dims == dims]
        if found and g.maybe(0.7):
            return g.tame(r.choice(found), 4.0)
        return Value(g.uniform(dims, low, high), dims, low, high)
    k, w = keys(size), keys(value_size)
    inputs = [v, k, w]
    past = r.choice([1, 2, 4]) if g.maybe(0.25) else 0
    total = s + past
    mask = ""
    if g.maybe(0.45):
        dims = r.choice([[t, total], [1, total], [1, 1, t, total], [b, 1, t, total], [1, heads, t, total], [heads, t, total], [t, 1]])
        if g.opset >= 24 and g.maybe(0.1) and total > 1:
            dims = dims[:-1] + [total - 1]
        if g.maybe(0.5):
            mask = g.uniform(dims, -2.0, 2.0)
        else:  # each row keeps one at least
            flags = [g.maybe(0.7) or i % dims[-1] == 0 for i in range(count(dims))]
            mask = g.tensor(dims, flags, "bool")
    inputs.append(mask)
    if past:
        inputs += [Value(g.uniform([b, kv, past, size], -2.0, 2.0), [], -2.0, 2.0), Value(g.uniform([b, kv, past, value_size], -2.0, 2.0), [], -2.0, 2.0)]
    elif g.opset >= 24 and b == 1 and g.maybe(0.2):
        inputs += ["", "", g.tensor([1], [r.randint(1, s)], "int64")]
    if g.maybe(0.35):
        a["is_causal"] = 1
    if g.maybe(0.3):
        a["scale"] = r.choice([0.5, 1.0, 0.1])
    if g.maybe(0.2):
        a["softcap"] = r.choice([2.0, 0.5])
    while inputs[-1] == "":
        inputs.pop()
    bound = max(w.bound, 2.0)
    outs = [Value(g.fresh(), [b, t, heads * value_size] if flat else [b, heads, t, value_size], -bound, bound)]
    if past or g.maybe(0.1):
        outs += [Value(g.fresh(), [b, kv, total, size], -max(k.bound, 2), max(k.bound, 2)), Value(g.fresh(), [b, kv, total, value_size], -bound, bound)]
        if g.maybe(0.4):
            outs.append(Value(g.fresh(), [b, heads, t, total], -90, 90))
            a["qk_matmul_output_mode"] = r.choice([0, 1, 2, 3])
    if any(count(o.dims) > LARGEST for o in outs):
        return None
    g.raw("Attention", inputs, [o.name for o in outs], a)
    g.values += outs[:3]
    g.final += outs[3:]
    return outs[0]


@operator("RotaryEmbedding", 23, weight=0.8)
def rotary(g):
    r = g.r
    v = g.tame(g.pick(ranks=(3, 4)))
    if v is None:
        return None
    a = {}
    if v.rank == 4:
        n, h, t, d = v.dims
    else:
        n, t, hidden = v.dims
        h = r.choice([k for k in (1, 2, 4) if hidden % k == 0])
        d = hidden // h
        a["num_heads"] = h
    if d % 2 or d < 2:
        return None
    rotated = d
    if g.maybe(0.25) and d >= 4:
        rotated = r.choice([x for x in range(2, d, 2)])
        a["rotary_embedding_dim"] = rotated
        a.setdefault("num_heads", h)
    if g.maybe():
        a["interleaved"] = r.choice([0, 1])
    if g.maybe():
        rows = t + r.choice([0, 2])
        dims, more = [rows, rotated // 2], [g.tensor([n, t], [r.randrange(rows) for _ in range(n * t)], "int64")]
    else:
        dims, more = [n, t, rotated // 2], []
    return g.node("RotaryEmbedding", [v, g.uniform(dims, -1, 1), g.uniform(dims, -1, 1)] + more, v.dims, -2 * v.bound, 2 * v.bound, None, a)


@operator("TensorScatter", 24, weight=0.6)
def tensor_scatter(g):
    r = g.r
    v = g.pick(ranks=(3, 4))
    if v is None:
        return None
    axis = r.randrange(1, v.rank)
    n = v.dims[axis]
    m = r.randint(1, n)
    a = {}
    if axis != v.rank - 2 or g.maybe():
        a["axis"] = axis - v.rank if g.maybe() else axis
    circular = g.maybe(0.4)
    if circular or g.maybe(0.3):
        a["mode"] = "circular" if circular else "linear"
    dims = [m if i == axis else d for i, d in enumerate(v.dims)]
    found = [w for w in g.values if w.kind == "float" and w.dims == dims and w is not v]
    w = r.choice(found) if found and g.maybe() else Value(g.grid(dims, -2.0, 2.0, 0.5), dims, -2.0, 2.0, 0.5)
    at = [r.randrange(n) if circular else r.randint(0, n - m) for _ in range(v.dims[0])]
    more = [g.tensor([v.dims[0]], at, "int64")] if any(at) or g.maybe() else []
    return g.node("TensorScatter", [v, w] + more, v.dims, min(v.low, w.low), max(v.high, w.high),
                  min(v.grid, w.grid) if v.grid and w.grid else None, a)


@operator("CumProd", 26, weight=1)
def cum_prod(g):
    v = g.within(g.pick(fits=lambda v: v.rank), 0.6, 1.5)
    if v is None:
        return None
    written, axis = g.axis(v.rank)
    if v.dims[axis] > 12:
        return None
    a = {}
    if g.maybe(0.4):
        a["exclusive"] = 1
    if g.maybe(0.4):
        a["reverse"] = 1
    return g.node("CumProd", [v, g.tensor([], [written], g.r.choice(["int64", "int32"]))], v.dims, 0, 140, None, a)


@operator("BitCast", 26, weight=0.4)
def bit_cast(g):
    """Of a constant's bits, and added."""
    v = g.pick(fits=lambda v: v.rank)
    if v is None:
        return None
    n, f = v.dims[-1], g.fresh("f")
    bits = [(0x3f000000 if g.maybe() else 0xbf000000 - (1 << 32)) + g.r.randrange(1 << 20) for _ in range(n)]
    kind = g.r.choice(["int32", "uint32"])
    g.raw("BitCast", [g.tensor([n], bits if kind == "int32" else [b & 0xffffffff for b in bits], kind)], [f], {"to": 1})
    return g.node("Add", [v, f], v.dims, v.low - 1, v.high + 1)


# ---- losses ----

def loss(name):
    @operator(name, 12, weight=0.25)
    def build(g):
        v = g.tame(g.pick(ranks=(2, 3, 4), fits=lambda v: v.dims[1] > 1))
        if v is None:
            return None
        r, classes = g.r, v.dims[1]
        dims = [v.dims[0]] + v.dims[2:]
        reduction = r.choice([None, "none", "sum", "mean"])
        a = {} if reduction is None else {"reduction": reduction}
        labels = [r.randrange(classes) for _ in range(count(dims))]
        if g.maybe(0.3):
            a["ignore_index"] = r.choice([-1, 0, classes - 1])
            if a["ignore_index"] < 0 and len(labels) > 1:
                labels[0] = -1
            elif len(set(labels)) == 1:
                labels[0] = (a["ignore_index"] + 1) % classes
            if all(k == a["ignore_index"] for k in labels):
                return None
        inputs = [v, g.tensor(dims, labels, r.choice(["int64", "int32"]))]
        if g.maybe(0.4):
            inputs.append(g.uniform([classes], 0.2, 2.0))
        shape = dims if reduction == "none" else []
        b = 45.0 * (count(dims) if reduction == "sum" else 2)
        if b > 1000:
            return None
        y = g.node(name, inputs, shape, -b, b, None, a)
        if name == "SoftmaxCrossEntropyLoss" and g.maybe(0.3):
            g.nodes[-1][2].append(g.fresh())
            g.values.append(Value(g.nodes[-1][2][1], v.dims, -40.0, 0.0))
        return y


loss("NegativeLogLikelihoodLoss")
loss("SoftmaxCrossEntropyLoss")


# ---- constants of few bits ----

@operator("DequantizeLinear", 10, weight=0.5)
def weights_of_few_bits(g):
    """A dequantised constant as the weights of a product, or added."""
    r = g.r
    v = g.tame(g.pick(ranks=(2, 3, 4), fits=lambda v: v.dims[-1] <= 32))
    if v is None:
        return None
    k, n = v.dims[-1], r.choice([1, 3, 4, 8])
    kinds = ["uint8", "int8"] + (["uint4", "int4"] if g.opset >= 21 else []) + (["int16", "uint16"] if g.opset >= 21 else [])
    kind = r.choice(kinds)
    low, high = {"uint8": (0, 255), "int8": (-128, 127), "uint4": (0, 15), "int4": (-8, 7), "int16": (-3000, 3000), "uint16": (0, 6000)}[kind]
    q = g.tensor([k, n], {"seed": g.seed(), "low": low, "high": high}, kind)
    middle = (low + high) // 2
    size = 1.5 / ((high - low) / 2 * k ** 0.5)
    a, f = {}, g.fresh("f")
    form = r.random()
    if form < 0.35:
        shape = r.choice([[], [1]]) if g.opset < 13 else []
    elif g.opset >= 13 and form < 0.75:
        axis = r.choice([0, 1])
        shape = [[k, n][axis]]
        if axis != 1 or g.maybe():
            a["axis"] = axis - 2 if g.maybe(0.3) else axis
    elif g.opset >= 21:
        block = r.choice([b for b in (1, 2, 3, 4, 8) if b <= k])
        a = {"axis": 0, "block_size": block}
        shape = [-(-k // block), n]
        if k % block:
            return None
    else:
        shape = []
    inputs = [q, g.uniform(shape, size * 0.3, size) if shape else g.number(round(size, 5))]
    if g.maybe(0.7):
        inputs.append(g.tensor(shape, {"seed": g.seed(), "low": max(low, middle - 3), "high": min(high, middle + 3)} if shape else [middle], kind))
        b = v.bound * size * (high - low) / 2 * k + 8
    elif low == 0:
        b = v.bound * size * high * k
    else:
        b = v.bound * size * -low * k
    g.raw("DequantizeLinear", inputs, [f], a)
    return g.node("MatMul", [v, f], v.dims[:-1] + [n], -b, b)


@operator("DequantizeLinear", 10, weight=0.7)
def few_bits_in_layers(g):
    """Such weights in every layer that takes some."""
    r = g.r
    op = r.choice(["Conv", "Conv", "ConvTranspose", "Gemm", "Gather", "Add", "MatMul"])
    v = g.tame(g.pick(ranks={"Conv": (3, 4), "ConvTranspose": (3, 4), "Gemm": (2,)}.get(op, (2, 3, 4)), fits=lambda v: v.count <= 800), 4.0)
    if v is None or (op in ("Conv", "ConvTranspose") and v.dims[1] > 24) or v.dims[-1] > 32:
        return None
    kinds = {"uint8": (0, 255), "int8": (-128, 127)}
    if g.opset >= 21:
        kinds.update({"uint4": (0, 15), "int4": (-8, 7)})
    kind = r.choice(list(kinds))
    low, high = kinds[kind]
    a, n, group = {}, r.choice([1, 3, 4, 8]), 1
    if op == "Conv":
        c = v.dims[1]
        group = r.choice([1, 1, c])
        n = group * r.choice([1, 2]) if group > 1 else n
        k = [r.choice([1, 1, 2, 3]) for _ in v.dims[2:]]
        dims, out, sum_axis, out_axis = [n, c // group] + k, [v.dims[0], n] + [d - x + 1 for d, x in zip(v.dims[2:], k)], 1, 0
        a = {"group": group, "kernel_shape": k}
        fan = count(dims[1:])
    elif op == "ConvTranspose":
        k = [r.choice([1, 2, 3]) for _ in v.dims[2:]]
        dims, out, sum_axis, out_axis = [v.dims[1], n] + k, [v.dims[0], n] + [d + x - 1 for d, x in zip(v.dims[2:], k)], 0, 1
        fan = v.dims[1] * count(k)
    elif op == "Gemm":
        tb = r.choice([0, 1])
        dims, out, sum_axis, out_axis = ([n, v.dims[1]] if tb else [v.dims[1], n]), [v.dims[0], n], tb, 1 - tb
        a, fan = {"transB": tb}, v.dims[1]
    elif op == "MatMul":
        dims, out, sum_axis, out_axis, fan = [v.dims[-1], n], v.dims[:-1] + [n], 0, 1, v.dims[-1]
    elif op == "Gather":
        dims, out, sum_axis, out_axis, fan = [r.choice([3, 6]), v.dims[-1]], v.dims, 1, 0, 1
    else:
        dims, out, sum_axis, out_axis, fan = [v.dims[-2], v.dims[-1]], v.dims, 0, 1, 1
    if min(out) < 1 or count(out) > LARGEST or count(dims) > 4000:
        return None
    form, shape, q = r.random(), [], {}
    if form > 0.3 and g.opset >= 13:
        axis = r.choice([out_axis, out_axis, sum_axis])
        shape = [dims[axis]]
        blocks = [b for b in (2, 4, 8) if dims[sum_axis] % b == 0]
        if form > 0.65 and g.opset >= 21 and blocks:
            axis, block = sum_axis, r.choice(blocks)
            shape = [d // block if i == axis else d for i, d in enumerate(dims)]
            q["block_size"] = block
        q["axis"] = axis - len(dims) if g.maybe(0.3) else axis
    size = 1.5 / ((high - low) / 2 * fan ** 0.5)
    inputs = [g.tensor(dims, {"seed": g.seed(), "low": low, "high": high}, kind), g.uniform(shape, size * 0.3, size) if shape else g.number(round(size, 5))]
    if low == 0 or g.maybe(0.6):
        middle = (low + high) // 2
        inputs.append(g.tensor(shape, {"seed": g.seed(), "low": max(low, middle - 3), "high": min(high, middle + 3)}, kind))
    f = g.fresh("f")
    g.raw("DequantizeLinear", inputs, [f], q)
    b = v.bound * size * (high - low) * fan + 2
    if op == "Gather":
        e = g.fresh("f")
        g.raw("Gather", [f, g.tensor([], [r.randrange(dims[0])], "int64")], [e])
        return g.node("Add", [v, e], v.dims, v.low - b, v.high + b)
    if op == "Add":
        return g.node("Add", [v, f], v.dims, v.low - b, v.high + b)
    more = [g.uniform([n], -1, 1)] if op in ("Conv", "ConvTranspose", "Gemm") and (g.maybe() or (op == "Gemm" and g.opset < 11)) else []
    return g.node(op, [v, f] + more, out, -b, b, None, a)


@operator("MatMulNBits", 13, weight=0.4)
def four_bits(g):
    r = g.r
    v = g.tame(g.pick(ranks=(2, 3, 4), fits=lambda v: v.dims[-1] <= 64 and v.count <= 800), 4.0)
    if v is None:
        return None
    k, n, block = v.dims[-1], r.choice([1, 3, 4, 8]), r.choice([16, 16, 32])
    blocks = -(-k // block)
    inputs = [v, g.tensor([n, blocks, block // 2], {"seed": g.seed(), "low": 0, "high": 255}, "uint8"),
              g.uniform(r.choice([[n * blocks], [n, blocks]]), 0.02, 0.1 / k ** 0.5 + 0.02)]
    if g.maybe():
        inputs.append(g.tensor([n * -(-blocks // 2)], {"seed": g.seed(), "low": 0, "high": 255}, "uint8"))
    b = v.bound * 0.12 * 15 * k
    return g.node("MatMulNBits", inputs, v.dims[:-1] + [n], -b, b, None, {"K": k, "N": n, "bits": 4, "block_size": block}, domain="com.microsoft")


@operator("DynamicQuantizeLinear", 11, weight=0.15)
def dynamic(g):
    """Of a constant; what it gives is dequantised again."""
    v = g.pick(fits=lambda v: v.rank and v.dims[-1] > 1)
    if v is None:
        return None
    n = v.dims[-1]
    names = [g.fresh("f") for _ in range(4)]
    g.raw("DynamicQuantizeLinear", [g.uniform([n], -1.5, 2.0)], names[:3])
    g.raw("DequantizeLinear", names[:3], [names[3]])
    return g.node("Add", [v, names[3]], broadcast(v.dims, [n]), v.low - 2, v.high + 2)


@operator("MelWeightMatrix", 17, weight=0.1)
def mel(g):
    r = g.r
    v = g.tame(g.pick(ranks=(2, 3), fits=lambda v: v.dims[-1] in (5, 9)))
    if v is None:
        return None
    bins, spectrum = 4, v.dims[-1]
    f = g.fresh("f")
    g.raw("MelWeightMatrix", [g.tensor([], [bins], "int64"), g.tensor([], [2 * (spectrum - 1)], "int64"), g.tensor([], [8000], "int64"),
                              g.number(r.choice([0.0, 100.0])), g.number(r.choice([3000.0, 4000.0]))], [f])
    return g.node("MatMul", [v, f], v.dims[:-1] + [bins], -v.bound * 9, v.bound * 9)


@operator("MatMulInteger", 10, weight=0.25)
def integers(g):
    """Products of constants of few bits, and added."""
    v = g.pick(fits=lambda v: v.rank and v.dims[-1] > 1)
    if v is None:
        return None
    r, n, k = g.r, v.dims[-1], g.r.choice([1, 2, 5, 8])
    names = [g.fresh("f") for _ in range(4)]
    form = r.choice(["matmul", "conv", "qmatmul", "quantize"] + (["nbits"] if n <= 32 else []) + (["not"] if g.opset >= 18 else []))

    def q(dims, kind=None):
        kind = kind or r.choice(["uint8", "int8"])
        return g.tensor(dims, {"seed": g.seed(), "low": 0 if kind == "uint8" else -128, "high": 255 if kind == "uint8" else 127}, kind), kind

    def zero(kind):
        return g.tensor([], [r.choice([0, 3, 100])], kind)
    if form == "matmul":
        (a, first), (b, second) = q([1, k], "uint8"), q([k, n], "uint8" if g.maybe() else "int8")
        more = r.choice([[], [zero(first)], [zero(first), zero(second)], ["", zero(second)]])
        g.raw("MatMulInteger", [a, b] + more, [names[0]])
    elif form == "conv":
        (a, first), (b, second) = q([1, 2, n + 2], "uint8"), q([1, 2, 3])
        g.raw("ConvInteger", [a, b] + r.choice([[], [zero(first)], [zero(first), zero(second)]]), [names[0]])
    elif form == "not":
        g.raw("BitwiseNot", [g.ints([r.randint(-9, 9) for _ in range(n)], r.choice(["int64", "int32"]), [n])], [names[0]])
    if form in ("matmul", "conv", "not"):
        g.raw("Cast", [names[0]], [names[1]], {"to": 1})
        g.raw("Mul", [names[1], g.number(2.0 ** -18)], [names[2]])
        g.raw("Reshape", [names[2], g.ints([n])], [names[3]])
        return g.node("Add", [v, names[3]], v.dims, v.low - 2, v.high + 2)
    if form == "nbits":
        blocks = -(-k // 16)
        inputs = [g.uniform([1, k], -1, 1), q([n, blocks, 8], "uint8")[0], g.uniform([n * blocks], 0.01, 0.05)]
        if g.maybe(0.4):
            inputs.append(q([n * -(-blocks // 2)], "uint8")[0])
        g.raw("MatMulNBits", inputs, [names[0]], {"K": k, "N": n, "bits": 4, "block_size": 16}, "com.microsoft")
        g.raw("Reshape", [names[0], g.ints([n])], [names[3]])
        return g.node("Add", [v, names[3]], v.dims, v.low - 6, v.high + 6)
    scale, kind = g.number(0.02), r.choice(["uint8", "int8"])
    z = zero(kind)
    if form == "qmatmul":
        (a, first), (b, second) = q([1, k], kind), q([k, n], kind)
        g.raw("QLinearMatMul", [a, g.number(0.01), zero(first), b, g.number(0.003), zero(second), scale, z], [names[0]])
    else:
        g.raw("QuantizeLinear", [g.uniform([n], -4, 4), scale] + ([z] if kind == "int8" or g.maybe() else []), [names[0]])
    g.raw("DequantizeLinear", [names[0], scale] + ([z] if len(g.nodes[-1][1]) > 2 else []), [names[1]])
    g.raw("Reshape", [names[1], g.ints([n])], [names[3]])
    return g.node("Add", [v, names[3]], v.dims, v.low - 6, v.high + 6)


# ---- sequences ----

@operator("SequenceConstruct", 11, weight=0.4)
def sequence(g):
    v = g.pick(fits=lambda v: v.rank)
    if v is None:
        return None
    r = g.r
    axis = r.randrange(v.rank)
    s = g.fresh("f")
    if r.random() < 0.4:
        n = v.dims[axis]
        form, a, inputs, drop = r.random(), {}, [v], False
        if axis or r.random() < 0.5:
            a["axis"] = axis - v.rank if r.random() < 0.3 else axis
        if form < 0.4:
            parts = [1] * n
            if r.random() < 0.5:
                a["keepdims"] = drop = 0
                drop = True
        elif form < 0.7:
            c = r.randint(1, n)
            parts = [c] * (n // c) + ([n % c] if n % c else [])
            inputs.append(g.tensor([], [c], r.choice(["int64", "int32"])))
        else:
            cuts = sorted(r.sample(range(1, n), min(n - 1, r.choice([0, 1, 2])))) if n > 1 else []
            parts = [b - x for x, b in zip([0] + cuts, cuts + [n])]
            inputs.append(g.ints(parts))
        g.raw("SplitToSequence", inputs, [s], a)
        items = [v.dims[:axis] + ([] if drop else [p]) + v.dims[axis + 1:] for p in parts]
        low, high = v.low, v.high
    else:
        found = [w for w in g.values if w.kind == "float" and w.rank == v.rank
                 and all(a == b for i, (a, b) in enumerate(zip(v.dims, w.dims)) if i != axis)]
        chosen = [v] + [r.choice(found) for _ in range(r.choice([0, 1, 2]))]
        r.shuffle(chosen)
        g.raw("SequenceConstruct", chosen, [s])
        items = [w.dims for w in chosen]
        if r.random() < 0.4:
            w, t = r.choice(found), g.fresh("f")
            at = r.choice([None] + list(range(-len(items), len(items) + 1)))
            g.raw("SequenceInsert", [s, w] + ([] if at is None else [g.tensor([], [at], "int64")]), [t])
            items.insert(len(items) if at is None else at, w.dims)
            chosen.append(w)
            s = t
        low, high = min(w.low for w in chosen), max(w.high for w in chosen)
    if len(items) > 1 and r.random() < 0.3:
        t, at = g.fresh("f"), r.choice([None] + list(range(-len(items), len(items))))
        g.raw("SequenceErase", [s] + ([] if at is None else [g.tensor([], [at], "int64")]), [t])
        items.pop(-1 if at is None else at)
        s = t
    if r.random() < 0.5:
        at = r.randrange(-len(items), len(items))
        return g.node("SequenceAt", [s, g.tensor([], [at], r.choice(["int64", "int32"]))], items[at], low, high)
    rank = len(items[0])
    same = all(i == items[0] for i in items)
    if same and rank < 4 and r.random() < 0.4:
        axis = r.randint(0, rank)
        dims = items[0][:axis] + [len(items)] + items[0][axis:]
        return g.node("ConcatFromSequence", [s], dims, low, high, None, {"axis": axis - rank - 1 if r.random() < 0.3 else axis, "new_axis": 1})
    if not rank:
        return None
    if same:
        axis = r.randrange(rank)
    dims = list(items[0])
    dims[axis] = sum(i[axis] for i in items)
    if count(dims) > LARGEST:
        return None
    return g.node("ConcatFromSequence", [s], dims, low, high, None, {"axis": axis - rank if r.random() < 0.3 else axis})
