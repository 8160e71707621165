"""Operators element by element, comparisons, logic: see generate.py."""

import math

from generate import broadcast, count, operator, LARGEST, Value


def unary(name, since=7, low=None, high=None, image=None, keeps_grid=False, exact=False, attributes=None, weight=0.35):
    """image(a, b) -> bound of the results over a..b; low, high: of the operand. exact: the operator jumps."""
    def build(g):
        v = g.pick(fits=(lambda v: v.grid) if exact else None)
        if v is None:
            return None
        if low is not None or high is not None:
            if exact:
                if (low is not None and v.low < low) or (high is not None and v.high > high):
                    return None
            else:
                v = g.within(v, low if low is not None else max(-20.0, min(v.low, high - 1)),
                             high if high is not None else min(max(v.high, low + 1), 50.0))
        a = attributes(g) if attributes else {}
        lo, hi = image(v.low, v.high, a) if image.__code__.co_argcount == 3 else image(v.low, v.high)
        return g.node(name, [v], v.dims, lo, hi, v.grid if keeps_grid else None, a)

    operator(name, since, weight=weight)(build)


def both(f):
    return lambda a, b: (min(f(a), f(b)), max(f(a), f(b)))


def near(a, b):
    return (min(a, 0.0) - 1, max(b, 0.0) + 1)


unary("Abs", image=lambda a, b: (0.0, max(abs(a), abs(b))), keeps_grid=True)
unary("Neg", image=lambda a, b: (-b, -a), keeps_grid=True)
unary("Identity", image=lambda a, b: (a, b), keeps_grid=True)
unary("Relu", image=lambda a, b: (max(a, 0.0), max(b, 0.0)), keeps_grid=True, weight=1)
unary("Acos", low=-0.95, high=0.95, image=lambda a, b: (0.0, 3.2))
unary("Asin", low=-0.95, high=0.95, image=lambda a, b: (-1.6, 1.6))
unary("Atan", image=lambda a, b: (-1.6, 1.6))
unary("Acosh", 9, low=1.1, image=lambda a, b: (0.4, math.acosh(max(b, 1.2))))
unary("Asinh", 9, image=both(math.asinh))
unary("Atanh", 9, low=-0.9, high=0.9, image=lambda a, b: (-1.5, 1.5))
unary("Cos", low=-30, high=30, image=lambda a, b: (-1.0, 1.0))
unary("Sin", low=-30, high=30, image=lambda a, b: (-1.0, 1.0))
unary("Tan", low=-1.2, high=1.2, image=both(math.tan))
unary("Cosh", 9, low=-5, high=5, image=lambda a, b: (1.0, math.cosh(max(abs(a), abs(b)))))
unary("Sinh", 9, low=-5, high=5, image=both(math.sinh))
unary("Tanh", image=lambda a, b: (-1.0, 1.0))
unary("Erf", 9, image=lambda a, b: (-1.0, 1.0))
unary("Exp", low=-8, high=5, image=both(math.exp))
unary("Log", low=0.1, image=both(math.log))
unary("Sqrt", low=0.02, image=both(math.sqrt))
unary("Reciprocal", low=0.2, image=lambda a, b: (1 / b, 1 / a))
unary("Sigmoid", image=lambda a, b: (0.0, 1.0))
unary("Softplus", low=-40, high=60, image=lambda a, b: (0.0, max(b, 0.0) + 0.7))
unary("Softsign", image=lambda a, b: (-1.0, 1.0))
unary("Mish", 18, image=near)
unary("HardSwish", 14, image=near)
unary("HardSigmoid", image=lambda a, b: (0.0, 1.0),
      attributes=lambda g: g.r.choice([{}, {"alpha": 0.3}, {"beta": 0.25}, {"alpha": 0.1, "beta": 0.4}]))
unary("Elu", image=lambda a, b: (min(a, 0.0) * 0 - 2.5, max(b, 0.0)), attributes=lambda g: g.r.choice([{}, {"alpha": 2.5}, {"alpha": 0.5}]))
unary("Celu", 12, image=lambda a, b: (-2.0, max(b, 0.0)), attributes=lambda g: g.r.choice([{}, {"alpha": 2.0}, {"alpha": 0.25}]))
unary("Selu", image=lambda a, b: (-4.0, max(b, 0.0) * 2.1),
      attributes=lambda g: g.r.choice([{}, {"alpha": 2.0}, {"gamma": 2.0}, {"alpha": 1.5, "gamma": 0.5}]))
unary("LeakyRelu", image=lambda a, b: (min(a, -a * 0.5, 0.0), max(b, -a * 0.5, 0.0)),
      attributes=lambda g: g.r.choice([{}, {"alpha": 0.2}, {"alpha": -0.5}, {"alpha": 0.0}]))
unary("Gelu", 20, image=near, attributes=lambda g: g.r.choice([{}, {"approximate": "tanh"}, {"approximate": "none"}]))
unary("Swish", 24, image=near, attributes=lambda g: g.r.choice([{}, {"alpha": 1.702}]))
unary("Ceil", image=lambda a, b: (math.ceil(a), math.ceil(b)), exact=True, keeps_grid=True)
unary("Floor", image=lambda a, b: (math.floor(a), math.floor(b)), exact=True, keeps_grid=True)
unary("Round", 11, image=lambda a, b: (math.floor(a), math.ceil(b)), exact=True, keeps_grid=True)
unary("Sign", 9, image=lambda a, b: (-1.0, 1.0), exact=True)
unary("ThresholdedRelu", 10, image=lambda a, b: (0.0, max(b, 0.0)), exact=True, keeps_grid=True,
      attributes=lambda g: g.r.choice([{}, {"alpha": 0.5}, {"alpha": -1.0}]))
unary("Shrink", 9, image=lambda a, b: (a - 1, b + 1), exact=True,
      attributes=lambda g: g.r.choice([{}, {"lambd": 1.0}, {"lambd": 1.5, "bias": 0.5}, {"lambd": 0.25, "bias": 0.25}]))


@operator("Dropout")
def dropout(g):
    v = g.pick()
    if v is None:
        return None
    if g.opset < 12:
        return g.node("Dropout", [v], v.dims, v.low, v.high, v.grid, g.r.choice([{}, {"ratio": 0.3}]))
    more = g.r.choice([[], [g.number(0.3)], [g.number(0.3), g.tensor([], [False], "bool")], ["", g.tensor([], [False], "bool")]])
    return g.node("Dropout", [v] + more, v.dims, v.low, v.high, v.grid)


@operator("Clip", weight=1)
def clip(g):
    v = g.pick()
    if v is None:
        return None
    low = g.r.choice([None, -1.0, 0.0, 0.5, -6.0])
    high = g.r.choice([None, 1.0, 2.5, 6.0])
    a = v.low if low is None else max(low, min(v.low, high if high is not None else v.low))
    b = v.high if high is None else min(high, max(v.high, low if low is not None else v.high))
    if g.opset < 11:
        attributes = {}
        if low is not None:
            attributes["min"] = low
        if high is not None:
            attributes["max"] = high
        return g.node("Clip", [v], v.dims, a, b, None, attributes)
    return g.node("Clip", [v, "" if low is None else g.number(low), "" if high is None else g.number(high)], v.dims, a, b)


# ---- two and more operands ----

def partner_dims(g, dims):
    """Dims that meet dims in a broadcast."""
    r = g.r
    out = [d if r.random() < 0.6 else 1 for d in dims]
    kind = r.random()
    if kind < 0.25:
        return list(dims)
    if kind < 0.45:
        return []
    if kind < 0.75:
        return out[r.randrange(len(out) + 1):]
    return out


def second(g, v, low=-2.0, high=2.0):
    """The other operand: a constant or a value that broadcasts with v, or v itself."""
    if g.maybe(0.5):
        found = [w for w in g.values if w.kind == "float" and broadcast(v.dims, w.dims)
                 and count(broadcast(v.dims, w.dims)) <= LARGEST]
        if found:
            return g.r.choice(found)
    dims = partner_dims(g, v.dims)
    if g.maybe(0.08) and len(v.dims) < 4:
        dims = [1] * g.r.randint(1, 2) + list(v.dims)  # more axes than the computed operand
    if v.grid and g.maybe(0.5):
        return Value(g.grid(dims, low, high, 0.5), dims, low, high, 0.5)
    if not dims:
        x = round(g.r.uniform(low, high), 2)
        return Value(g.number(x), dims, x, x)
    return Value(g.uniform(dims, low, high), dims, low, high)


def two(name, image, low=-2.0, high=2.0, ready=None, grid=False, weight=1.0):
    @operator(name, weight=weight)
    def build(g):
        v = g.pick()
        if v is None:
            return None
        w = second(g, v, low, high)
        if ready:
            v, w = ready(g, v, w)
        if g.maybe(0.3) and name != "Div":
            v, w = w, v
        dims = broadcast(v.dims, w.dims)
        if dims is None or count(dims) > LARGEST or len(dims) > 5:
            return None
        lo, hi = image(v, w)
        if max(abs(lo), abs(hi)) > 1000:
            return None
        step = max(v.grid, w.grid) if grid and v.grid and w.grid else None
        if step:
            step = min(v.grid, w.grid)
        return g.node(name, [v, w], dims, lo, hi, step)


def products(v, w):
    p = [v.low * w.low, v.low * w.high, v.high * w.low, v.high * w.high]
    return min(p), max(p)


two("Add", lambda v, w: (v.low + w.low, v.high + w.high), grid=True, weight=2)
two("Sub", lambda v, w: (v.low - w.high, v.high - w.low), grid=True, weight=1.5)
two("Mul", products, weight=2)


@operator("Div", weight=1)
def div(g):
    v = g.pick()
    if v is None:
        return None
    w = second(g, v, 0.3, 3.0)
    if g.maybe(0.2) and isinstance(w.name, str) and w.name.startswith("c"):
        v, w = w, v
    if w.name.startswith("c"):
        if w.low < 0.2:
            return None
    else:
        w = g.away_from_zero(w)
    dims = broadcast(v.dims, w.dims)
    lo, hi = products(v, Value("", [], min(1 / w.low, 1 / w.high), max(1 / w.low, 1 / w.high)))
    if dims is None or count(dims) > LARGEST or len(dims) > 5:
        return None
    return g.node("Div", [v, w], dims, lo, hi)


@operator("Pow", weight=0.7)
def power(g):
    v = g.pick()
    if v is None:
        return None
    if g.maybe(0.5):
        k = g.r.choice([2, 3, 2, 0, 1, 4])
        v = g.tame(v, 5.0)
        e = g.number(float(k)) if g.opset < 12 or g.maybe(0.7) else g.tensor([], [k], g.r.choice(["int64", "int32"]))
        return g.node("Pow", [v, e], v.dims, -5.0 ** k if k % 2 else 0.0, max(v.bound, 1) ** k)
    v = g.within(v, 0.1, 4.0)
    if g.maybe(0.5):
        e = round(g.r.uniform(-2, 2.5), 2)
        return g.node("Pow", [v, g.number(e)], v.dims, min(0.1 ** e, 4 ** e), max(0.1 ** e, 4 ** e))
    w = second(g, v, -1.5, 2.0)
    if not w.name.startswith("c"):
        w = g.within(w, -1.5, 2.0)
    dims = broadcast(v.dims, w.dims)
    if dims is None or count(dims) > LARGEST or len(dims) > 5:
        return None
    return g.node("Pow", [v, w], dims, 0.01, 35.0)


@operator("Mod", 10, weight=0.5)
def mod(g):
    v = g.pick(fits=lambda v: v.grid)
    if v is None:
        return None
    x = g.r.choice([2.0, 1.5, 3.0, -2.0, 0.75])
    if g.maybe(0.4):
        dims = partner_dims(g, v.dims)
        w = g.tensor(dims, [g.r.choice([2.0, 1.5, 3.0, -2.0]) for _ in range(count(dims))])
    else:
        w, dims = g.number(x), []
    return g.node("Mod", [v, w], broadcast(v.dims, dims), -3.0, 3.0, min(v.grid, 0.25), {"fmod": 1})


@operator("PRelu", weight=0.6)
def prelu(g):
    v = g.pick()
    if v is None:
        return None
    dims = [d if g.maybe() else 1 for d in v.dims]
    dims = g.r.choice([dims, dims[g.r.randrange(len(dims)):] if dims else [], list(v.dims), [1]])
    if g.opset < 9 and g.maybe(0.3) and v.rank > 2:
        dims = [v.dims[1]] + [1] * (v.rank - 2)
    return g.node("PRelu", [v, g.uniform(dims, -0.5, 1.0)], v.dims, min(v.low, 0.5 * v.low, 0), max(v.high, -0.5 * v.low, 0))


def several(name, image, grid=False):
    @operator(name, weight=0.5)
    def build(g):
        v = g.pick()
        if v is None:
            return None
        k = g.r.choice([1, 2, 2, 3, 4])
        operands = [v]
        for _ in range(k - 1):
            w = second(g, v)
            if g.opset < 8 and w.dims != v.dims:
                w = Value(g.uniform(v.dims, -2.0, 2.0), v.dims, -2.0, 2.0)
            operands.append(w)
        dims = broadcast(*[w.dims for w in operands])
        if dims is None or count(dims) > LARGEST or len(dims) > 5:
            return None
        g.r.shuffle(operands)
        grids = [w.grid for w in operands]
        lo, hi = image(operands)
        return g.node(name, operands, dims, lo, hi, min(grids) if grid and all(grids) else None)


several("Max", lambda o: (max(w.low for w in o), max(w.high for w in o)), grid=True)
several("Min", lambda o: (min(w.low for w in o), min(w.high for w in o)), grid=True)
several("Sum", lambda o: (sum(w.low for w in o), sum(w.high for w in o)), grid=True)
several("Mean", lambda o: (sum(w.low for w in o) / len(o), sum(w.high for w in o) / len(o)))


# ---- conditions ----

@operator("Where", 9, weight=0.6)
def where(g):
    v = g.pick()
    if v is None:
        return None
    w = second(g, v)
    dims = broadcast(v.dims, w.dims)
    if dims is None or len(dims) > 5:
        return None
    cd = partner_dims(g, dims)
    dims = broadcast(dims, cd)
    c = g.tensor(cd, {"seed": g.seed(), "low": 0, "high": 1}, "bool")
    pair = [v, w] if g.maybe() else [w, v]
    step = min(v.grid, w.grid) if v.grid and w.grid else None
    return g.node("Where", [c] + pair, dims, min(v.low, w.low), max(v.high, w.high), step)


def condition(g):
    """A condition computed from exact values and constants."""
    v = g.pick(fits=lambda v: v.grid)
    if v is None:
        return None
    names = ["Greater", "Less"] if g.opset >= 9 else []
    if g.opset >= 11:
        names += ["Equal"]
    if g.opset >= 12:
        names += ["GreaterOrEqual", "LessOrEqual"]
    if not names:
        return None
    op = g.r.choice(names)
    dims = g.r.choice([[], [], partner_dims(g, v.dims)])
    c = g.grid(dims, -2.0, 2.0, v.grid)
    dims2 = broadcast(v.dims, dims)
    b = g.node(op, [v, c] if g.maybe(0.7) else [c, v], dims2, 0, 1, kind="bool", keep=False)
    while g.maybe(0.35):
        op = g.r.choice(["Not", "And", "Or", "Xor"])
        if op == "Not":
            b = g.node("Not", [b], b.dims, 0, 1, kind="bool", keep=False)
            continue
        if g.maybe():
            d = partner_dims(g, b.dims)
            o = Value(g.tensor(d, {"seed": g.seed(), "low": 0, "high": 1}, "bool"), d, 0, 1)
        else:
            w = g.r.choice([w for w in g.values if w.grid and w.kind == "float" and broadcast(w.dims, b.dims)] or [v])
            o = g.node("Greater", [w, g.number(0.5)], w.dims, 0, 1, kind="bool", keep=False)
        d = broadcast(b.dims, o.dims)
        if d is None or count(d) > LARGEST or len(d) > 5:
            continue
        b = g.node(op, [b, o] if g.maybe() else [o, b], d, 0, 1, kind="bool", keep=False)
    return b


@operator("Greater", 9, weight=1)
def compare_where(g):
    b = condition(g)
    if b is None:
        return None
    if g.maybe(0.5):
        return g.node("Cast", [b], b.dims, 0.0, 1.0, 1.0, {"to": 1})
    found = [w for w in g.values if w.kind == "float" and broadcast(w.dims, b.dims)]
    v = g.r.choice(found) if found else None
    if v is None:
        return g.node("Cast", [b], b.dims, 0.0, 1.0, 1.0, {"to": 1})
    w = second(g, v)
    dims = broadcast(b.dims, v.dims, w.dims)
    if dims is None or len(dims) > 5 or count(dims) > LARGEST:
        return None
    return g.node("Where", [b] + ([v, w] if g.maybe() else [w, v]), dims, min(v.low, w.low), max(v.high, w.high))


@operator("IsNaN", 13, weight=0.15)
def is_nan(g):
    v = g.pick()
    if v is None:
        return None
    op = g.r.choice(["IsNaN", "IsInf"])
    b = g.node(op, [v], v.dims, 0, 1, kind="bool", keep=False)
    return g.node("Where", [b, g.number(0.0), v], v.dims, min(v.low, 0), max(v.high, 0))


@operator("Cast", weight=0.2)
def cast(g):
    v = g.pick()
    if v is None:
        return None
    if g.opset >= 15 and g.maybe():
        return g.node("CastLike", [v, g.tensor([1], [1.0])], v.dims, v.low, v.high, v.grid)
    return g.node("Cast", [v], v.dims, v.low, v.high, v.grid, {"to": 1})
