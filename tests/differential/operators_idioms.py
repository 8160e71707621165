"""What exporters write in several nodes: norms, gates, Softmax, attention, windows and shuffles, spelled out, and forms that
are nearly those: see generate.py. Whether or not a pass recognises one, the numbers are what its nodes say."""

import math

from generate import broadcast, count, operator, LARGEST, Value


# ---- shorthands ----

def add(g, a, b, op="Add"):
    """A sum (or another operator) of a value and a value, or a number; its operands in either order where that is free."""
    other = b if isinstance(b, Value) else Value(g.number(float(b)), [], b, b)
    dims = broadcast(a.dims, other.dims)
    pair = [a, other]
    if op in ("Add", "Mul") and g.maybe(0.3):
        pair.reverse()
    if op == "Add":
        low, high = a.low + other.low, a.high + other.high
    elif op == "Sub":
        low, high = a.low - other.high, a.high - other.low
    else:
        ends = [x * y if op == "Mul" else x / (y or 1) for x in (a.low, a.high) for y in (other.low, other.high)]
        low, high = min(ends), max(ends)
    return g.node(op, pair, dims, low, high)


def mul(g, a, b):
    return add(g, a, b, "Mul")


def scale(g, dims, low, high):
    """A constant as an operand, [] as a scalar."""
    return Value(g.uniform(dims, low, high), dims, low, high)


def mean(g, v, axes, keep=True, op="ReduceMean", low=None, high=None):
    dims = [1 if i in axes else d for i, d in enumerate(v.dims) if keep or i not in axes]
    written = [i - v.rank if g.opset >= 11 and g.maybe(0.5) else i for i in axes]
    a = {} if keep and g.maybe() else {"keepdims": int(keep)}
    low, high = v.low if low is None else low, v.high if high is None else high
    if g.opset >= (13 if op == "ReduceSum" else 18):
        return g.node(op, [v, g.ints(written)], dims, low, high, None, a)
    return g.node(op, [v], dims, low, high, None, dict(a, axes=written))


def square(g, v):
    high = v.bound ** 2
    form = g.r.random()
    if form < 0.4:
        return g.node("Mul", [v, v], v.dims, 0.0, high)
    if form < 0.8 or g.opset < 12:
        return g.node("Pow", [v, g.number(2.0)], v.dims, 0.0, high)
    return g.node("Pow", [v, g.tensor([], [2], g.r.choice(["int64", "int32"]))], v.dims, 0.0, high)


def shaped(g, v, dims):
    """Reshape, its target written in one of the usual ways."""
    written = list(dims)
    for i in range(min(len(dims), v.rank)):
        if dims[i] == v.dims[i] and g.maybe(0.3):
            written[i] = 0
    if g.maybe(0.4):
        written[g.r.randrange(len(dims))] = -1
    return g.node("Reshape", [v, g.ints(written)], dims, v.low, v.high, v.grid)


def turned(g, v, perm):
    return g.node("Transpose", [v], [v.dims[i] for i in perm], v.low, v.high, v.grid, {"perm": perm})


def part(g, v, axis, start, end, step=1):
    dims = list(v.dims)
    dims[axis] = len(range(start, min(end, v.dims[axis]), step))
    if g.opset < 10:
        return None if step != 1 else g.node("Slice", [v], dims, v.low, v.high, v.grid, {"starts": [start], "ends": [end], "axes": [axis]})
    inputs = [v, g.ints([start]), g.ints([end]), g.ints([axis - v.rank if g.maybe(0.3) else axis])]
    return g.node("Slice", inputs + ([g.ints([step])] if step != 1 or g.maybe(0.3) else []), dims, v.low, v.high, v.grid)


def joined(g, parts, axis):
    dims = list(parts[0].dims)
    dims[axis] = sum(p.dims[axis] for p in parts)
    return g.node("Concat", parts, dims, min(p.low for p in parts), max(p.high for p in parts),
                  min(p.grid for p in parts) if all(p.grid for p in parts) else None, {"axis": axis})


def halves(g, v, axis, n=2):
    dims = [d // n if i == axis else d for i, d in enumerate(v.dims)]
    outs = [Value(g.fresh(), dims, v.low, v.high, v.grid) for _ in range(n)]
    a = {"axis": axis}
    inputs = [v]
    if g.opset >= 18:
        a["num_outputs"] = n
    elif g.opset >= 13 and g.maybe():
        inputs.append(g.ints([v.dims[axis] // n] * n))
    g.raw("Split", inputs, [o.name for o in outs], a)
    g.values += outs
    return outs


def widened(g, v, axes):
    dims, rest = [], iter(v.dims)
    for i in range(v.rank + len(axes)):
        dims.append(1 if i in axes else next(rest))
    if g.opset >= 13:
        return g.node("Unsqueeze", [v, g.ints(axes)], dims, v.low, v.high, v.grid)
    return g.node("Unsqueeze", [v], dims, v.low, v.high, v.grid, {"axes": axes})


def linear(g, v, n):
    """x W (+ b) over the last axis."""
    k = v.dims[-1]
    s = 1.5 / k ** 0.5
    bound = v.bound * s * k
    y = g.node("MatMul", [v, g.uniform([k, n], -s, s)], v.dims[:-1] + [n], -bound, bound)
    return add(g, y, scale(g, [n], -0.5, 0.5)) if g.maybe(0.7) else y


def softmax(g, v, axis):
    """Of one axis, whatever the opset."""
    if g.opset < 13 and axis != v.rank - 1:
        return None
    return g.node("Softmax", [v], v.dims, 0.0, 1.0, None, {"axis": axis - v.rank if g.opset >= 11 and g.maybe() else axis})


# ---- norms ----

@operator("ReduceMean", weight=1)
def written_norm(g):
    """LayerNormalization and its relatives over the last axes, the channels or the pixels."""
    v = g.tame(g.pick(ranks=(2, 3, 4)), 20)
    if v is None:
        return None
    r = g.r
    first = r.randrange(1, v.rank)
    axes = r.choice([[v.rank - 1], list(range(first, v.rank)), [1], [first]])
    n = count([v.dims[i] for i in axes])
    if n < 3:
        return None
    bound = 2 * n ** 0.5 + 1
    epsilon = r.choice([1e-5, 1e-3, 0.1])
    if g.maybe(0.25):  # RMSNormalization
        centred, first_mean = v, None
    else:
        keep = g.maybe(0.85)
        first_mean = m = mean(g, v, axes, keep)
        if not keep:
            m = widened(g, m, axes)
        centred = g.node("Sub", [v, m], v.dims, -2 * v.bound, 2 * v.bound)
        if g.maybe(0.1):
            centred = g.node("Sub", [m, v], v.dims, -2 * v.bound, 2 * v.bound)
    again = centred
    if first_mean is not None and g.maybe(0.2):  # as older exporters have it: subtracted a second time
        again = g.node("Sub", [v, m], v.dims, -2 * v.bound, 2 * v.bound)
    variance = mean(g, square(g, again), axes, g.maybe(0.9), r.choice(["ReduceMean"] * 9 + ["ReduceMax"]))
    if variance.rank != v.rank:
        variance = widened(g, variance, axes)
    guarded = add(g, variance, epsilon)
    guarded.low = epsilon
    root = g.node("Sqrt", [guarded], guarded.dims, epsilon ** 0.5, max(guarded.high, 1) ** 0.5)
    form = r.random()
    if form < 0.6:
        y = g.node("Div", [centred, root], v.dims, -bound, bound)
    elif form < 0.8:
        one = g.node("Reciprocal", [root], root.dims, 0.0, epsilon ** -0.5)
        y = g.node("Mul", [centred, one] if g.maybe() else [one, centred], v.dims, -bound, bound)
    else:
        one = g.node("Div", [g.number(1.0), root], root.dims, 0.0, epsilon ** -0.5)
        y = g.node("Mul", [centred, one] if g.maybe() else [one, centred], v.dims, -bound, bound)

    def operand():
        d = [v.dims[i] if i in axes else 1 for i in range(v.rank)]
        d = r.choice([d, d[min(axes):], d, v.dims[-1:], [1], []])
        return d
    if g.maybe(0.75):
        y = mul(g, y, scale(g, operand(), -1.5, 1.5))
    if g.maybe(0.6):
        y = add(g, y, scale(g, operand(), -1.0, 1.0))
    if g.maybe(0.1) and first_mean is not None:  # an inner value is read elsewhere
        mul(g, r.choice([first_mean, centred, variance]), 0.5)
    return y


@operator("InstanceNormalization", weight=0.5)
def groups_by_instances(g):
    """A group norm as InstanceNormalization of a reshaped value."""
    v = g.tame(g.pick(ranks=(3, 4)), 20)
    if v is None:
        return None
    c = v.dims[1]
    k = g.r.choice([n for n in range(1, c + 1) if c % n == 0])
    n = v.count // v.dims[0] // k
    if n < 3:
        return None
    bound = 2 * n ** 0.5 + 1
    s = shaped(g, v, [v.dims[0], k, n] if g.maybe(0.7) else [v.dims[0], k, 1, n])
    ends = [(1.0, 1.0), (0.0, 0.0)] if g.maybe(0.7) else [(0.5, 1.5), (-1.0, 1.0)]
    ops = [g.tensor([k], [low] * k) if low == high else g.uniform([k], low, high) for low, high in ends]
    y = g.node("InstanceNormalization", [s] + ops, s.dims, -1.5 * bound, 1.5 * bound, None, {"epsilon": g.r.choice([1e-5, 1e-3])})
    y = shaped(g, y, v.dims)
    per = [c] + [1] * (v.rank - 2)
    if g.maybe(0.8):
        y = mul(g, y, scale(g, per if g.maybe() else [1] + per, -1.5, 1.5))
    return add(g, y, scale(g, per, -1.0, 1.0)) if g.maybe(0.8) else y


@operator("ReduceL2", weight=0.5)
def unit_length(g):
    """x / max(|x|, limit), with all that exporters put between."""
    v = g.pick(ranks=(2, 3, 4))
    if v is None:
        return None
    axis = g.r.randrange(1, v.rank)
    v = g.away_from_zero(g.tame(v, 10))
    if g.maybe():
        length = mean(g, v, [axis], True, "ReduceL2", 0.2, v.bound * v.dims[axis] ** 0.5)
    else:
        s = mean(g, square(g, v), [axis], True, "ReduceSum", 0.04, v.bound ** 2 * v.dims[axis])
        length = g.node("Sqrt", [s], s.dims, 0.2, s.high ** 0.5)
    if g.maybe(0.7) and g.opset >= 11:
        length = g.node("Clip", [length, g.number(g.r.choice([1e-6, 1e-3, 1e-12]))], length.dims, length.low, length.high)
    if g.maybe() and g.opset >= 8:
        length = g.node("Expand", [length, g.ints(v.dims)], v.dims, length.low, length.high)
    return g.node("Div", [v, length], v.dims, -1, 1)


# ---- gates ----

@operator("Erf", 9, weight=1)
def written_gate(g):
    """GELU, SiLU, HardSwish, Mish and the rest by their formulas; now and then with another number, which is another function."""
    v = g.tame(g.pick(), 6)
    if v is None:
        return None
    r = g.r

    def about(x):
        return x * r.choice([1.0] * 9 + [0.9])

    def product(a, b):
        return g.node("Mul", [a, b] if g.maybe() else [b, a], broadcast(a.dims, b.dims), -30.0, 30.0)
    form = r.choice(["erf", "erf", "tanh", "quick", "sigmoid", "swish", "mish", "hard", "hard", "elu", "softplus", "sigmoid by hand", "tanh by hand"])
    if form == "erf":
        inner = add(g, v, about(2 ** 0.5), "Div") if g.maybe() else mul(g, v, about(0.5 ** 0.5))
        e = add(g, g.node("Erf", [inner], v.dims, -1, 1), about(1.0))
        order = r.random()
        if order < 0.35:
            return product(mul(g, v, 0.5), e)
        if order < 0.7:
            return mul(g, product(v, e), 0.5)
        return product(v, mul(g, e, 0.5))
    if form == "tanh":
        cube = g.node("Pow", [v, g.number(3.0)], v.dims, -216, 216) if g.maybe() else product(v, g.node("Mul", [v, v], v.dims, 0, 36))
        cube.low, cube.high = -216, 216
        inner = mul(g, g.node("Add", [v, mul(g, cube, about(0.044715))], v.dims, -16, 16), about((2 / math.pi) ** 0.5))
        t = add(g, g.node("Tanh", [inner], v.dims, -1, 1), 1.0)
        return product(mul(g, v, 0.5), t) if g.maybe() else mul(g, product(v, t), 0.5)
    if form in ("quick", "sigmoid"):
        return product(v, g.node("Sigmoid", [mul(g, v, 1.702) if form == "quick" else v], v.dims, 0, 1))
    if form == "swish":
        e = add(g, g.node("Exp", [g.node("Neg", [v], v.dims, -v.high, -v.low)], v.dims, 0, 404), 1.0)
        return g.node("Div", [v, e], v.dims, -7, 7)
    if form == "mish":
        s = g.node("Softplus", [v], v.dims, 0, 7) if g.maybe() else \
            g.node("Log", [add(g, g.node("Exp", [v], v.dims, 0, 404), 1.0)], v.dims, 0, 7)
        return product(v, g.node("Tanh", [s], v.dims, 0, 1))
    if form == "hard":
        three, six = about(3.0), about(6.0)
        if g.maybe(0.4):
            return product(v, g.node("HardSigmoid", [v], v.dims, 0, 1, None, {"alpha": r.choice([1 / 6, 0.1666666716337204, 0.2]), "beta": 0.5}))
        c = g.limits(add(g, v, three), 0, six)
        if g.maybe(0.3):
            return product(v, add(g, c, 6.0, "Div"))
        return add(g, product(v, c), 6.0, "Div") if g.maybe() else mul(g, product(v, c), 1 / 6)
    if form == "elu":
        e = add(g, g.node("Exp", [g.limits(v, -6, 0)], v.dims, 0, 1), 1.0, "Sub")
        return g.node("Add", [g.node("Relu", [v], v.dims, 0, 6), e], v.dims, -1, 6)
    if form == "softplus":
        return g.node("Log", [add(g, g.node("Exp", [v], v.dims, 0, 404), 1.0)], v.dims, 0, 7)
    if form == "sigmoid by hand":
        e = add(g, g.node("Exp", [g.node("Neg", [v], v.dims, -v.high, -v.low)], v.dims, 0.0, 404), 1.0)
        return g.node("Reciprocal", [e], v.dims, 0, 1) if g.maybe() else g.node("Div", [g.number(1.0), e], v.dims, 0, 1)
    e = g.node("Exp", [mul(g, g.tame(v, 4), 2.0)], v.dims, 0, 3000)
    return g.node("Div", [add(g, e, 1.0, "Sub"), add(g, e, 1.0)], v.dims, -1, 1)


@operator("Sigmoid", weight=0.5)
def gated_halves(g):
    v = g.pick(fits=lambda v: any(d % 2 == 0 for d in v.dims[1:]))
    if v is None:
        return None
    v = g.tame(v, 8)
    axis = g.r.choice([i for i, d in enumerate(v.dims) if i and d % 2 == 0])
    a, b = halves(g, v, axis)
    op = g.r.choice(["Sigmoid", "Tanh", "Relu", "Softplus"])
    s = g.node(op, [b], b.dims, -8, 8)
    return g.node("Mul", [a, s] if g.maybe() else [s, a], a.dims, -v.bound * 8, v.bound * 8)


@operator("Exp", weight=0.7)
def written_softmax(g):
    v = g.tame(g.pick(fits=lambda v: v.rank > 1), 6)
    if v is None:
        return None
    axis = g.r.randrange(1, v.rank)
    if v.dims[axis] < 2:
        return None
    n = v.dims[axis]
    x = v
    if g.maybe(0.7):
        m = mean(g, v, [axis], True, "ReduceMax")
        x = g.node("Sub", [v, m], v.dims, -2 * v.bound, 0)
    e = g.node("Exp", [x], v.dims, 0, math.exp(min(x.high, 6)))
    s = mean(g, e, [axis], True, "ReduceSum", math.exp(-6), n * e.high)
    if g.maybe(0.25):
        logarithm = g.node("Log", [s], s.dims, -6, 12)
        if g.maybe() and x is not v:
            return g.node("Add", [logarithm, m], s.dims, -7, 18)
        return g.node("Sub", [x, logarithm], v.dims, -24, 0)
    if g.maybe(0.3):
        return g.node("Mul", [e, g.node("Reciprocal", [s], s.dims, 0, 404)], v.dims, 0, 1)
    return g.node("Div", [e, s], v.dims, 0, 1)


# ---- attention in nodes ----

def heads_of(g, v, h, d):
    """[N, T, h d] -> [N, h, T, d]"""
    return turned(g, shaped(g, v, [v.dims[0], v.dims[1], h, d]), [0, 2, 1, 3])


@operator("Softmax", weight=2)
def written_attention(g):
    r = g.r
    v = g.tame(g.pick(ranks=(3,), fits=lambda v: v.count <= 400 and v.dims[1] > 1), 3.0)
    if v is None:
        return None
    n, t, width = v.dims
    h, d = r.choice([(1, 4), (2, 2), (2, 4), (3, 3), (2, 8), (4, 4)])
    others = [w for w in g.values if w.kind == "float" and w.rank == 3 and w.dims[0] == n and w.count <= 400 and w is not v]
    source = g.tame(r.choice(others), 3.0) if others and g.maybe(0.3) else v
    s = source.dims[1]
    shared = r.choice([k for k in (1, h) if h % k == 0]) if g.maybe(0.2) else h  # heads of keys and values
    if source is v and shared == h and g.maybe(0.4):  # one product for all three
        w = linear(g, v, 3 * h * d)
        if g.maybe():
            q, k, u = [heads_of(g, p, h, d) for p in halves(g, w, 2, 3)]
        else:
            w = turned(g, shaped(g, w, [n, t, 3, h, d]), [2, 0, 3, 1, 4])
            q, k, u = [g.node("Gather", [w, g.tensor([], [i], "int64")], [n, h, t, d], w.low, w.high, None, {"axis": 0}) for i in range(3)]
    else:
        q, k, u = [heads_of(g, linear(g, x, heads * d), heads, d) for x, heads in ((v, h), (source, shared), (source, shared))]
        if shared != h:
            if g.maybe() or g.opset < 8:
                def spread(x):
                    return joined(g, [x] * (h // shared), 1)
            else:
                def spread(x):
                    y = g.node("Expand", [widened(g, x, [2]), g.ints([n, shared, h // shared, s, d])], [n, shared, h // shared, s, d], x.low, x.high)
                    return shaped(g, y, [n, h, s, d])
            k, u = spread(k), spread(u)
    if g.maybe(0.2):  # rotated halves
        cos, sin = scale(g, [1, 1, t, d], -1, 1), scale(g, [1, 1, t, d], -1, 1)
        if d % 2 == 0 and s == t:
            def rotate(x):
                a, b = halves(g, x, 3)
                turn = joined(g, [g.node("Neg", [b], b.dims, -b.high, -b.low), a], 3)
                return g.node("Add", [mul(g, x, cos), mul(g, turn, sin)], x.dims, -2 * x.bound, 2 * x.bound)
            q, k = rotate(q), rotate(k)
    factor = r.choice([d ** -0.5, d ** -0.5, d ** -0.25, 0.3])
    form = r.random()
    if form < 0.25:
        q = mul(g, q, factor)
    elif form < 0.4:
        q, k = mul(g, q, factor), mul(g, k, factor)
    keys = turned(g, k, [0, 1, 3, 2])
    scores = g.node("MatMul", [q, keys], [n, h, t, s], -30, 30)
    if 0.4 <= form < 0.7:
        scores = mul(g, scores, factor)
    elif 0.7 <= form < 0.9:
        scores = add(g, scores, 1 / factor, "Div")
    masked = r.random()
    if masked < 0.3:
        scores = add(g, scores, scale(g, r.choice([[t, s], [1, 1, t, s], [1, h, t, s], [h, t, s], [s], [1, 1, 1, s]]), -2, 2))
    elif masked < 0.55 and g.opset >= 9:
        lowest = r.choice([-10000.0, -65504.0, -3.4028234663852886e38, float("-inf")])
        dims = r.choice([[t, s], [1, 1, t, s], [1, 1, 1, s], [1, h, t, s]])
        keep = [i % s <= i // s % t or i % s == 0 for i in range(count(dims))]
        if g.maybe():
            scores = g.node("Add", [scores, g.tensor(dims, [0.0 if x else lowest for x in keep])], scores.dims, -30, 30)
        else:
            c = g.tensor(dims, keep, "bool")
            scores = g.node("Where", [c, scores, g.number(lowest)], scores.dims, -30, 30)
    p = softmax(g, scores, 3)
    if g.maybe(0.1) and s > 1:
        p = mul(g, p, scale(g, [1, h, 1, 1], 0.5, 1.5))
    y = g.node("MatMul", [p, u], [n, h, t, d], -2 * u.bound, 2 * u.bound)
    y = shaped(g, turned(g, y, [0, 2, 1, 3]), [n, t, h * d])
    y = linear(g, y, width if g.maybe(0.7) else 4)
    return add(g, y, v) if y.dims == v.dims and g.maybe() else y


@operator("Softmax", weight=0.4)
def over_channels(g):
    """Softmax over an axis that is not the last by way of Transpose, and a weighted sum."""
    v = g.tame(g.pick(ranks=(3, 4)), 10)
    if v is None:
        return None
    perm = [0] + list(range(2, v.rank)) + [1]
    back = [0, v.rank - 1] + list(range(1, v.rank - 1))
    p = turned(g, softmax(g, turned(g, v, perm), v.rank - 1), back)
    y = g.node("Mul", [p, scale(g, [v.dims[1]] + [1] * (v.rank - 2), -3, 3)], v.dims, -3, 3)
    return mean(g, y, [1], g.maybe(), "ReduceSum", -3, 3)


# ---- windows and shuffles ----

@operator("Transpose", weight=1)
def windows(g):
    """Cut into windows, something done in each, and put together again, as shifted-window transformers do."""
    v = g.pick(ranks=(4,), fits=lambda v: v.count <= 2000)
    if v is None:
        return None
    r = g.r
    last = g.maybe(0.6)  # channels
    x = v if last else turned(g, v, [0, 2, 3, 1])
    n, height, width, c = x.dims
    a = r.choice([k for k in range(1, height + 1) if height % k == 0])
    b = r.choice([k for k in range(1, width + 1) if width % k == 0])
    shift = [r.randrange(height) if g.maybe(0.4) else 0, r.randrange(width) if g.maybe(0.4) else 0]

    def roll(x, by):
        for axis, k in ((1, by[0]), (2, by[1])):
            if k % x.dims[axis]:
                k %= x.dims[axis]
                x = joined(g, [part(g, x, axis, k, x.dims[axis]), part(g, x, axis, 0, k)], axis)
        return x
    x = roll(x, shift)
    six = [n, height // a, a, width // b, b, c]
    x = shaped(g, turned(g, shaped(g, x, six), [0, 1, 3, 2, 4, 5]), [n * six[1] * six[3], a * b, c])
    form = r.random()
    if form < 0.3:
        x = linear(g, g.tame(x, 8), c)
    elif form < 0.5 and a * b > 1:
        q = g.tame(x, 3)
        scores = g.node("MatMul", [q, turned(g, q, [0, 2, 1])], [x.dims[0], a * b, a * b], -9 * c, 9 * c)
        x = g.node("MatMul", [softmax(g, mul(g, scores, 0.2), 2), x], x.dims, x.low, x.high)
    elif form < 0.7:
        x = g.node("Relu", [x], x.dims, 0, max(x.high, 0))
    elif form < 0.85 and a * b > 1:
        x = mean(g, x, [1])
        x = g.node("Expand", [x, g.ints([x.dims[0], a * b, c])], [x.dims[0], a * b, c], x.low, x.high) if g.opset >= 8 else joined(g, [x] * (a * b), 1)
    x = shaped(g, turned(g, shaped(g, x, [n, six[1], six[3], a, b, c]), [0, 1, 3, 2, 4, 5]), [n, height, width, c])
    x = roll(x, [-shift[0], -shift[1]])
    if not last:
        x = turned(g, x, [0, 3, 1, 2])
    return add(g, x, v) if g.maybe(0.4) else x


@operator("Reshape", weight=1)
def shuffles(g):
    """Channels among groups, pixels among channels, by Reshape and Transpose, Slice and Concat."""
    v = g.pick(ranks=(4,))
    if v is None:
        return None
    r = g.r
    n, c, height, width = v.dims
    form = r.choice(["channels", "up", "down", "focus", "merge", "nearest", "patches"])
    if form == "channels":
        k = r.choice([k for k in range(1, c + 1) if c % k == 0])
        dims, perm = ([n, k, c // k, height, width], [0, 2, 1, 3, 4]) if g.maybe() else ([n, k, c // k, height * width], [0, 2, 1, 3])
        return shaped(g, turned(g, shaped(g, v, dims), perm), v.dims)
    if form == "up":
        if c % 4:
            return None
        dims, perm = r.choice([([n, c // 4, 2, 2, height, width], [0, 1, 4, 2, 5, 3]), ([n, 2, 2, c // 4, height, width], [0, 3, 4, 1, 5, 2])])
        return shaped(g, turned(g, shaped(g, v, dims), perm), [n, c // 4, 2 * height, 2 * width])
    if form == "nearest":
        if g.opset < 8 or v.count * 4 > LARGEST:
            return None
        y = g.node("Expand", [shaped(g, v, [n, c, height, 1, width, 1]), g.ints([n, c, height, 2, width, 2])], [n, c, height, 2, width, 2], v.low, v.high, v.grid)
        return shaped(g, y, [n, c, 2 * height, 2 * width])
    if height % 2 or width % 2:
        return None
    if form == "down":
        y = turned(g, shaped(g, v, [n, c, height // 2, 2, width // 2, 2]), r.choice([[0, 1, 3, 5, 2, 4], [0, 3, 5, 1, 2, 4]]))
        return shaped(g, y, [n, 4 * c, height // 2, width // 2])
    if form == "patches":
        y = turned(g, shaped(g, v, [n, c, height // 2, 2, width // 2, 2]), [0, 2, 4, 3, 5, 1])
        return linear(g, g.tame(shaped(g, y, [n, height * width // 4, 4 * c]), 8), 4)
    if g.opset < 10:
        return None
    rows, columns = (1, 2) if form == "merge" else (2, 3)
    if v.dims[rows] % 2 or v.dims[columns] % 2:
        return None
    parts = [part(g, part(g, v, rows, i, v.dims[rows], 2), columns, j, v.dims[columns], 2) for i, j in ((0, 0), (1, 0), (0, 1), (1, 1))]
    return joined(g, parts, 6 - rows - columns)


# ---- blocks of convolution nets ----

def convolution(g, v, m, k=1, stride=1, group=1, w=None):
    pads = k // 2
    out = [(d + 2 * pads - k) // stride + 1 for d in v.dims[2:]]
    n = v.dims[1] // group * k ** len(out)
    s = 1.5 / n ** 0.5
    a = {"pads": [pads] * (2 * len(out)), "strides": [stride] * len(out), "group": group}
    w = w or g.uniform([m, v.dims[1] // group] + [k] * len(out), -s, s)
    inputs = [v, w] + ([g.uniform([m], -0.5, 0.5)] if g.maybe() else [])
    bound = 1.5 * v.bound * n ** 0.5 + 0.5
    return g.node("Conv", inputs, [v.dims[0], m] + out, -bound, bound, None, a)


def batch_norm(g, v):
    c = v.dims[1]
    ops = [v, g.uniform([c], -1.5, 1.5), g.uniform([c], -1, 1), g.uniform([c], -1, 1), g.uniform([c], 0.3, 2)]
    bound = 1.5 * (v.bound + 1) / 0.54 + 1
    return g.node("BatchNormalization", ops, v.dims, -bound, bound, None, {"epsilon": 1e-5})


@operator("BatchNormalization", weight=1.5)
def folded(g):
    """A linear layer, with what may be folded into it after it and before it, and at times another reader of what lies between."""
    r = g.r
    v = g.tame(g.pick(ranks=(2, 3, 4), fits=lambda v: v.dims[1] <= 16), 4)
    if v is None:
        return None
    c = v.dims[1]
    if v.rank == 2:
        n = r.choice([2, 4, 5])
        if g.maybe():
            y = linear(g, v, n)
        else:
            tb = r.choice([0, 1])
            inputs = [v, g.uniform([n, c] if tb else [c, n], -0.5, 0.5)] + ([g.uniform([n], -1, 1)] if g.opset < 11 or g.maybe() else [])
            y = g.node("Gemm", inputs, [v.dims[0], n], -4 * v.bound * c - 4, 4 * v.bound * c + 4, None, {"transB": tb, "alpha": r.choice([1.0, 0.5])})
    else:
        if g.maybe(0.3):
            before = g.node("Mul", [v, g.uniform([c] + [1] * (v.rank - 2), 0.5, 1.5)], v.dims, -2 * v.bound, 2 * v.bound)
            v = batch_norm(g, before) if g.maybe(0.3) else before
            v = g.tame(v, 20)
        if g.maybe(0.25):
            group = r.choice([1, 1, c])
            m, k = r.choice([1, 2]), r.choice([1, 2, 3])
            s = 1.5 / (c // group * k) ** 0.5
            dims = [v.dims[0], m * group] + [2 * (d - 1) + k for d in v.dims[2:]]
            if count(dims) > LARGEST:
                return None
            bound = v.bound * s * c // group * k ** (v.rank - 2) + 1
            y = g.node("ConvTranspose", [v, g.uniform([c, m] + [k] * (v.rank - 2), -s, s)] + ([g.uniform([m * group], -1, 1)] if g.maybe() else []),
                       dims, -bound, bound, None, {"strides": [2] * (v.rank - 2), "group": group})
        else:
            group = r.choice([1, 1, c])
            y = convolution(g, v, r.choice([1, 2]) * c if group > 1 else r.choice([2, 3, 4, 6]), r.choice([1, 3]), r.choice([1, 1, 2]), group)
    inner = y
    for _ in range(r.choice([1, 1, 2, 3])):
        y = g.tame(y, 40)
        m = y.dims[1]
        form = r.choice(["bn", "bn", "mul", "add", "div", "sub", "relu", "scalar"])
        per = [m] + [1] * (y.rank - 2)
        per = r.choice([per, [1] + per])
        if form == "bn":
            y = batch_norm(g, y)
        elif form == "mul":
            y = mul(g, y, scale(g, per, -1.5, 1.5))
        elif form == "add":
            y = add(g, y, scale(g, per, -1, 1))
        elif form == "div":
            y = g.node("Div", [y, g.uniform(per, 0.5, 2)], y.dims, -2 * y.bound, 2 * y.bound)
        elif form == "sub":
            c = scale(g, per, -1, 1)
            y = g.node("Sub", [y, c] if g.maybe() else [c, y], y.dims, -y.bound - 1, y.bound + 1)
        elif form == "scalar":
            y = mul(g, y, round(r.uniform(-2, 2), 2) or 1.0)
        else:
            y = g.node("Relu", [y], y.dims, 0, max(y.high, 0))
    if g.maybe(0.2) and inner is not y:
        g.node(r.choice(["Relu", "Tanh", "Neg"]), [inner], inner.dims, -inner.bound, inner.bound)
    return y


@operator("Conv", weight=0.7)
def blocks(g):
    """Squeeze and excitation, inverted residuals, split branches, one set of weights for several layers."""
    r = g.r
    v = g.tame(g.pick(ranks=(4,), fits=lambda v: v.dims[1] <= 16), 4)
    if v is None:
        return None
    c = v.dims[1]
    form = r.choice(["squeeze", "squeeze", "inverted", "branches", "shared", "shared", "channels last"])
    if form == "squeeze":
        p = g.node("GlobalAveragePool", [v], v.dims[:2] + [1, 1], v.low, v.high) if g.maybe() else mean(g, v, [2, 3])
        if g.maybe(0.3):
            flat = linear(g, shaped(g, p, v.dims[:2]), c)
            s = shaped(g, g.node("Sigmoid", [flat], flat.dims, 0, 1), v.dims[:2] + [1, 1])
        else:
            s = convolution(g, p, max(1, c // 2))
            s = convolution(g, g.node("Relu", [s], s.dims, 0, max(s.high, 1)), c)
            s = g.node(r.choice(["Sigmoid", "HardSigmoid"]), [s], s.dims, 0, 1)
        return g.node("Mul", [v, s] if g.maybe() else [s, v], v.dims, -v.bound, v.bound)
    if form == "inverted":
        x = g.limits(convolution(g, v, 2 * c), 0, 6)
        x = g.limits(convolution(g, x, 2 * c, 3, r.choice([1, 2]), 2 * c), 0, 6)
        x = convolution(g, x, c)
        return add(g, x, v) if x.dims == v.dims else x
    if form == "branches":
        if c % 2:
            return None
        a, b = halves(g, v, 1)
        b = convolution(g, b, c // 2, 3)
        y = joined(g, [a, b] if g.maybe() else [b, a], 1)
        return shaped(g, turned(g, shaped(g, y, [v.dims[0], 2, c // 2] + v.dims[2:]), [0, 2, 1, 3, 4]), v.dims)
    if form == "shared":
        k = r.choice([1, 3])
        w = g.uniform([c, c, k, k], -0.3, 0.3)
        y = convolution(g, v, c, k, w=w)
        y.low, y.high = -v.bound * c * k * k - 1, v.bound * c * k * k + 1
        if g.maybe():
            y = g.tame(batch_norm(g, y) if g.maybe() else y, 4)
        y = convolution(g, g.tame(y, 4), c, k, w=w)
        y.low, y.high = -4.0 * c * k * k - 1, 4.0 * c * k * k + 1
        if g.maybe(0.3) and k == 1 and v.dims[1] == v.dims[2] == v.dims[3]:
            y = add(g, y, Value(w, [c, c, 1, 1], -0.3, 0.3)) if y.dims[0] in (1, c) else y
        return y
    x = turned(g, v, [0, 2, 3, 1])
    if g.maybe():
        x = add(g, x, scale(g, [c], -1, 1))
    x = turned(g, x, [0, 3, 1, 2])
    x = turned(g, convolution(g, x, r.choice([3, 4]), 3), [0, 2, 3, 1])
    return g.node("Relu", [x], x.dims, 0, max(x.high, 1))


@operator("Pad", weight=0.8)
def padded(g):
    """A Pad before a layer with pads of its own."""
    r = g.r
    v = g.tame(g.pick(ranks=(3, 4), fits=lambda v: v.dims[1] <= 16), 4)
    if v is None:
        return None
    nd = v.rank - 2
    pads = [0, 0] + [r.choice([0, 1, 2]) for _ in range(nd)] + [0, 0] + [r.choice([0, 1, 1, 2]) for _ in range(nd)]
    if g.maybe(0.1):
        pads[1] = 1
    mode = r.choice(["constant", "constant", "constant", "reflect", "edge"])
    if mode == "reflect":
        pads = [min(p, v.dims[i % v.rank] - 1) for i, p in enumerate(pads)]
    x = r.choice([0.0, 0.0, 0.0, 1.0, -1e30 if mode == "constant" else 0.0, float("-inf") if mode == "constant" else 0.0])
    dims = [d + pads[i] + pads[v.rank + i] for i, d in enumerate(v.dims)]
    pool = x < -1 or g.maybe(0.4)
    if g.opset < 11:
        if not math.isfinite(x):
            return None
        y = g.node("Pad", [v], dims, min(v.low, x, 0) if x > -2 else v.low, max(v.high, x), None, {"mode": mode, "pads": pads, "value": x})
    else:
        y = g.node("Pad", [v, g.ints(pads)] + ([g.number(x)] if x or g.maybe() else []), dims, min(v.low, x, 0) if x > -2 else v.low, max(v.high, x), None,
                   {"mode": mode})
    if pool:
        own = [r.choice([0, 0, 1]) for _ in range(2 * nd)]
        op = "MaxPool" if x < -1 else r.choice(["MaxPool", "AveragePool", "AveragePool"])
        a = {"kernel_shape": [2 if not any(own) else 3] * nd, "strides": [r.choice([1, 2])] * nd, "pads": own}
        out = [(d + own[i] + own[nd + i] - a["kernel_shape"][i]) // a["strides"][i] + 1 for i, d in enumerate(dims[2:])]
        if min(out) < 1 or any(p + q >= a["kernel_shape"][0] for p, q in zip(own, pads[2:2 + nd] + pads[v.rank + 2:])) or pads[1]:
            g.values.remove(y)
            return None
        if op == "AveragePool":
            a["count_include_pad"] = r.choice([0, 1])
        return g.node(op, [y], dims[:2] + out, v.low - 1 if x > -2 else v.low, max(v.high, 1), None, a)
    if not min(dims[2:]):
        return None
    return convolution(g, y, r.choice([1, 3, 4]), r.choice([1, 3]), r.choice([1, 2]))


@operator("AveragePool", weight=0.4)
def embedded(g):
    """Patches of a picture as tokens, with a class token and positions, and the first token's row at the end."""
    r = g.r
    v = g.tame(g.pick(ranks=(4,), fits=lambda v: v.dims[0] == 1 and v.dims[2] >= 2 and v.dims[3] >= 2 and v.dims[1] <= 16), 4)
    if v is None:
        return None
    m = r.choice([4, 6, 8])
    s = 1.5 / (4 * v.dims[1]) ** 0.5
    out = [v.dims[2] // 2, v.dims[3] // 2]
    y = g.node("Conv", [v, g.uniform([m, v.dims[1], 2, 2], -s, s)], [1, m] + out, -8 * v.bound, 8 * v.bound, None, {"strides": [2, 2]})
    t = count(out)
    y = turned(g, shaped(g, y, [1, m, t]), [0, 2, 1])
    token = g.uniform([1, 1, m], -1, 1)
    y = joined(g, [Value(token, [1, 1, m], -1, 1), y], 1)
    y = add(g, y, scale(g, [1, t + 1, m], -1, 1))
    form = r.random()
    if form < 0.4:
        return g.node("Gather", [y, g.tensor([], [0], "int64")], [1, m], y.low, y.high, None, {"axis": 1})
    if form < 0.6:
        return part(g, y, 1, 1, t + 1)
    return y
