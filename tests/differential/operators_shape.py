"""Operators that move elements, resample, and constants made by nodes: see generate.py."""

import math

from generate import broadcast, count, operator, LARGEST, Value


def same(g, op, v, dims, inputs=None, attributes=None, low=None, high=None):
    return g.node(op, inputs or [v], dims, v.low if low is None else low, v.high if high is None else high, v.grid, attributes)


@operator("Transpose", weight=1.5)
def transpose(g):
    v = g.pick()
    if v is None or not v.rank:
        return None
    p = list(range(v.rank))
    if g.maybe(0.7):
        tail = p[1:]
        g.r.shuffle(tail)
        p = [0] + tail
    else:
        g.r.shuffle(p)
    if g.maybe(0.1):
        return same(g, "Transpose", v, v.dims[::-1])
    return same(g, "Transpose", v, [v.dims[i] for i in p], attributes={"perm": p})


def factors(g, n, rank):
    """Dims of that rank with product n."""
    dims = [1] * rank
    for p in (7, 5, 3, 2):
        while n % p == 0:
            dims[g.r.randrange(rank)] *= p
            n //= p
    dims[g.r.randrange(rank)] *= n
    return dims


@operator("Reshape", weight=1.5)
def reshape(g):
    v = g.pick()
    if v is None:
        return None
    r = g.r
    rank = r.choice([1, 2, 3, 3, 4, 4, 5])
    if v.rank and r.random() < 0.5 and rank > 1 and v.dims[0]:
        dims = [v.dims[0]] + factors(g, v.count // v.dims[0], rank - 1)
    else:
        dims = factors(g, v.count, rank)
    written = list(dims)
    a = {}
    allow_zero = g.opset >= 14 and r.random() < 0.1
    if not allow_zero:
        for i in range(min(rank, v.rank)):
            if dims[i] == v.dims[i] and r.random() < 0.3:
                written[i] = 0
    else:
        a["allowzero"] = 1
    if r.random() < 0.4:
        written[r.randrange(rank)] = -1
    return same(g, "Reshape", v, dims, [v, g.ints(written)], a)


@operator("Shape", weight=0.4)
def reshape_by_shape(g):
    """Reshape to what Shape, Gather, Concat compute, as exporters write it."""
    v = g.pick(ranks=(2, 3, 4))
    if v is None:
        return None
    s, first, shape = g.fresh("f"), g.fresh("f"), g.fresh("f")
    rest = v.count // v.dims[0]
    a = {}
    if g.opset >= 15 and g.maybe():
        a = {"start": 0, "end": g.r.choice([v.rank, -1])} if v.rank > 1 else {}
    g.raw("Shape", [v], [s], a)
    v.reads -= 1
    g.raw("Gather", [s, g.ints([0])], [first], {"axis": 0})
    two = factors(g, rest, 2)
    g.raw("Concat", [first, g.ints([two[0], -1])], [shape], {"axis": 0})
    return same(g, "Reshape", v, [v.dims[0]] + two, [v, shape])


@operator("Flatten", weight=0.5)
def flatten(g):
    v = g.pick()
    if v is None or not v.rank:
        return None
    axis = g.r.randint(0, v.rank)
    written = axis - v.rank if g.opset >= 11 and axis < v.rank and g.maybe(0.3) else axis
    return same(g, "Flatten", v, [count(v.dims[:axis]), count(v.dims[axis:])], attributes={} if axis == 1 and g.maybe() else {"axis": written})


@operator("Squeeze", weight=0.5)
def squeeze(g):
    v = g.pick(fits=lambda v: 1 in v.dims)
    if v is None:
        return None
    ones = [i for i, d in enumerate(v.dims) if d == 1]
    axes = sorted(g.r.sample(ones, g.r.randint(1, len(ones))))
    if g.maybe(0.15):
        axes, written = ones, None
    else:
        written = [a - v.rank if g.opset >= 11 and g.maybe(0.3) else a for a in axes]
    dims = [d for i, d in enumerate(v.dims) if i not in axes]
    if not dims and g.maybe(0.8):
        return None
    if g.opset >= 13:
        return same(g, "Squeeze", v, dims, [v] + ([] if written is None else [g.ints(written)]))
    return same(g, "Squeeze", v, dims, attributes={} if written is None else {"axes": written})


@operator("Unsqueeze", weight=0.6)
def unsqueeze(g):
    v = g.pick(fits=lambda v: v.rank <= 3)
    if v is None:
        return None
    rank = v.rank + g.r.choice([1, 1, 2])
    axes = sorted(g.r.sample(range(rank), rank - v.rank))
    rest = iter(v.dims)
    dims = [1 if i in axes else next(rest) for i in range(rank)]
    written = [a - rank if g.opset >= 11 and g.maybe(0.3) else a for a in axes]
    if g.opset >= 13:
        return same(g, "Unsqueeze", v, dims, [v, g.ints(written)])
    return same(g, "Unsqueeze", v, dims, attributes={"axes": written})


@operator("Expand", 8, weight=0.6)
def expand(g):
    v = g.pick()
    if v is None:
        return None
    target = [g.r.choice([2, 3]) if d == 1 and g.maybe(0.4) else g.r.choice([1, d]) for d in v.dims]
    if g.maybe(0.15):
        target = [g.r.choice([1, 2])] + target
    elif g.maybe(0.2) and target:
        target = target[1:]
    dims = broadcast(target, v.dims)
    if dims is None or count(dims) > LARGEST or len(dims) > 5:
        return None
    return same(g, "Expand", v, dims, [v, g.ints(target)])


@operator("Tile", weight=0.5)
def tile(g):
    v = g.pick()
    if v is None or not v.rank:
        return None
    repeats = [1 if i == 0 and g.maybe(0.8) else g.r.choice([1, 1, 2, 3]) for i in range(v.rank)]
    dims = [a * b for a, b in zip(v.dims, repeats)]
    if count(dims) > LARGEST:
        return None
    return same(g, "Tile", v, dims, [v, g.ints(repeats)])


@operator("DepthToSpace", weight=0.5)
def depth_to_space(g):
    b = g.r.choice([2, 2, 3])
    v = g.pick(ranks=(4,), fits=lambda v: v.dims[1] % (b * b) == 0)
    if v is None:
        return None
    a = {"blocksize": b}
    if g.opset >= 11 and g.maybe(0.7):
        a["mode"] = g.r.choice(["DCR", "CRD"])
    n, c, h, w = v.dims
    return same(g, "DepthToSpace", v, [n, c // (b * b), h * b, w * b], attributes=a)


@operator("SpaceToDepth", weight=0.4)
def space_to_depth(g):
    b = g.r.choice([2, 2, 3])
    v = g.pick(ranks=(4,), fits=lambda v: v.dims[2] % b == 0 and v.dims[3] % b == 0)
    if v is None:
        return None
    n, c, h, w = v.dims
    return same(g, "SpaceToDepth", v, [n, c * b * b, h // b, w // b], attributes={"blocksize": b})


# ---- parts ----

@operator("Concat", weight=1.2)
def concat(g):
    v = g.pick()
    if v is None or not v.rank:
        return None
    written, axis = g.axis(v.rank, 1 if v.rank > 1 and g.maybe(0.85) else 0)
    if g.opset < 11:
        written = axis
    parts = [v]
    for _ in range(g.r.choice([0, 1, 1, 2, 3])):
        found = [w for w in g.values if w.kind == "float" and w.rank == v.rank
                 and all(a == b for i, (a, b) in enumerate(zip(v.dims, w.dims)) if i != axis)]
        if found and g.maybe(0.6):
            parts.append(g.r.choice(found))
        else:
            d = [g.r.choice([1, 2, 3]) if i == axis else x for i, x in enumerate(v.dims)]
            parts.append(Value(g.grid(d, -2.0, 2.0, 0.5), d, -2.0, 2.0, 0.5))
    g.r.shuffle(parts)
    dims = [sum(p.dims[i] for p in parts) if i == axis else d for i, d in enumerate(v.dims)]
    if count(dims) > LARGEST:
        return None
    grids = [p.grid for p in parts]
    return g.node("Concat", parts, dims, min(p.low for p in parts), max(p.high for p in parts),
                  min(grids) if all(grids) else None, {"axis": written})


@operator("Split", weight=0.8)
def split(g):
    v = g.pick(fits=lambda v: any(d > 1 for d in v.dims))
    if v is None:
        return None
    r = g.r
    axis = r.choice([i for i, d in enumerate(v.dims) if d > 1])
    n = v.dims[axis]
    k = r.randint(1, min(n, 4))
    a = {}
    if axis or r.random() < 0.3:
        a["axis"] = axis - v.rank if g.opset >= 11 and r.random() < 0.3 else axis
    inputs = [v]
    equal = n % k == 0 and r.random() < 0.5
    if equal:
        parts = [n // k] * k
        if g.opset >= 18:
            a["num_outputs"] = k
    elif g.opset >= 18 and r.random() < 0.4:
        c = -(-n // k)
        parts = [c] * (k - 1) + [n - c * (k - 1)]
        if parts[-1] < 1:
            return None
        a["num_outputs"] = k
    else:
        cuts = sorted(r.sample(range(1, n), k - 1))
        parts = [b - x for x, b in zip([0] + cuts, cuts + [n])]
        if g.opset >= 13:
            inputs.append(g.ints(parts))
        else:
            a["split"] = parts
    outs = [Value(g.fresh(), [p if i == axis else d for i, d in enumerate(v.dims)], v.low, v.high, v.grid) for p in parts]
    g.raw("Split", inputs, [o.name for o in outs], a)
    g.values += outs
    return outs[0]


@operator("Slice", weight=1.5)
def slice_(g):
    v = g.pick()
    if v is None or not v.rank:
        return None
    r = g.r
    axes = r.sample(range(v.rank), r.randint(1, v.rank))
    starts, ends, steps, dims = [], [], [], list(v.dims)
    for axis in axes:
        n = v.dims[axis]
        step = r.choice([1, 1, 1, 2, -1, -2, 3]) if g.opset >= 10 else 1
        s = r.randrange(n)
        e = r.randint(s + 1, n) if step > 0 else r.randint(-1, s - 1) if s else -1
        length = len(range(s, e, step))
        ws = s - n if r.random() < 0.3 else s
        if step > 0:
            we = r.choice([n + 5, 2 ** 63 - 1]) if e == n and r.random() < 0.5 else e - n if r.random() < 0.3 and e < n else e
        else:
            we = r.choice([-n - 1, -2 ** 63, -n - 7]) if e < 0 else e
        if step < 0 and s == n - 1 and r.random() < 0.3:
            ws = 2 ** 63 - 1
        if step > 0 and s == 0 and r.random() < 0.2:
            ws = -n - 3
        starts.append(ws)
        ends.append(we)
        steps.append(step)
        dims[axis] = length
    written = [a - v.rank if g.opset >= 10 and r.random() < 0.3 else a for a in axes]
    if g.opset < 10:
        return same(g, "Slice", v, dims, attributes={"starts": starts, "ends": ends, "axes": written})
    inputs = [v, g.ints(starts), g.ints(ends)]
    if axes == list(range(v.rank)) and r.random() < 0.5:
        inputs.append("")
    else:
        inputs.append(g.ints(written))
    if any(x != 1 for x in steps) or r.random() < 0.3:
        inputs.append(g.ints(steps))
    return same(g, "Slice", v, dims, inputs)


@operator("Pad", weight=1.2)
def pad(g):
    v = g.pick()
    if v is None or not v.rank:
        return None
    r = g.r
    mode = r.choice(["constant", "constant", "reflect", "edge"] + (["wrap"] if g.opset >= 19 else []))
    pads = [[0, 0] for _ in v.dims]
    for i in range(v.rank):
        if i == 0 and r.random() < 0.8:
            continue
        for k in (0, 1):
            x = r.choice([0, 0, 1, 1, 2, 3, -1])
            if mode == "reflect":
                x = min(x, v.dims[i] - 1)
            if mode == "wrap":
                x = min(x, v.dims[i])
            if mode != "constant" and g.maybe(0.7):
                x = max(x, 0)
            pads[i][k] = x
        if v.dims[i] + sum(pads[i]) < 1 or v.dims[i] + min(pads[i][0], 0) + min(pads[i][1], 0) < 1:
            pads[i] = [0, 0]
    dims = [d + sum(p) for d, p in zip(v.dims, pads)]
    if count(dims) > LARGEST:
        return None
    a = {} if mode == "constant" and r.random() < 0.4 else {"mode": mode}
    x = r.choice([None, 0.0, 1.5, -2.0])
    low, high = (min(v.low, x or 0), max(v.high, x or 0)) if mode == "constant" else (v.low, v.high)
    if g.opset < 11:
        a["pads"] = [p[0] for p in pads] + [p[1] for p in pads]
        if x is not None:
            a["value"] = x
        return same(g, "Pad", v, dims, attributes=a, low=low, high=high)
    inputs = [v]
    if g.opset >= 18 and r.random() < 0.4:
        axes = [i for i in range(v.rank) if any(pads[i])] or [v.rank - 1]
        r.shuffle(axes)
        inputs.append(g.ints([pads[i][0] for i in axes] + [pads[i][1] for i in axes]))
        inputs.append("" if x is None else g.number(x))
        inputs.append(g.ints([i - v.rank if r.random() < 0.3 else i for i in axes], r.choice(["int64", "int32"])))
    else:
        inputs.append(g.ints([p[0] for p in pads] + [p[1] for p in pads]))
        if x is not None:
            inputs.append(g.number(x))
    return same(g, "Pad", v, dims, inputs, a, low, high)


@operator("CenterCropPad", 18, weight=0.3)
def center_crop_pad(g):
    v = g.pick()
    if v is None or not v.rank:
        return None
    axes = sorted(g.r.sample(range(v.rank), g.r.randint(1, v.rank)))
    target = [max(1, v.dims[i] + g.r.choice([-2, -1, 0, 1, 2, 3])) for i in axes]
    dims = list(v.dims)
    for i, t in zip(axes, target):
        dims[i] = t
    a = {} if len(axes) == v.rank and g.maybe() else {"axes": [i - v.rank if g.maybe(0.3) else i for i in axes]}
    return same(g, "CenterCropPad", v, dims, [v, g.ints(target)], a, min(v.low, 0), max(v.high, 0))


@operator("Trilu", 14, weight=0.4)
def trilu(g):
    v = g.pick(ranks=(2, 3, 4))
    if v is None:
        return None
    a = g.r.choice([{}, {"upper": 0}, {"upper": 1}])
    k = g.r.choice([None, 0, 1, -1, 2, -3, 20])
    return same(g, "Trilu", v, v.dims, [v] + ([] if k is None else [g.tensor([], [k], "int64")]), a,
                min(v.low, 0), max(v.high, 0))


@operator("ReverseSequence", 10, weight=0.3)
def reverse_sequence(g):
    v = g.pick(ranks=(2, 3, 4))
    if v is None:
        return None
    t, b = g.r.choice([(0, 1), (1, 0)])
    lens = [g.r.randint(1, v.dims[t]) for _ in range(v.dims[b])]
    return same(g, "ReverseSequence", v, v.dims, [v, g.ints(lens)], {"batch_axis": b, "time_axis": t})


# ---- gather and scatter ----

@operator("Gather", weight=0.8)
def gather(g):
    v = g.pick()
    if v is None or not v.rank:
        return None
    written, axis = g.axis(v.rank)
    if g.opset < 11:
        written = axis
    n = v.dims[axis]
    shape = g.r.choice([[], [1], [2], [3], [2, 2], [1, 3]])
    indices = [g.r.randrange(n) - (n if g.opset >= 11 and g.maybe(0.3) else 0) for _ in range(count(shape))]
    dims = v.dims[:axis] + shape + v.dims[axis + 1:]
    if len(dims) > 5 or count(dims) > LARGEST or not dims:
        return None
    return same(g, "Gather", v, dims, [v, g.ints(indices, g.r.choice(["int64", "int32"]), shape)],
                {"axis": written} if axis or g.maybe() else {})


@operator("GatherElements", 11, weight=0.4)
def gather_elements(g):
    v = g.pick()
    if v is None or not v.rank:
        return None
    written, axis = g.axis(v.rank)
    dims = [g.r.randint(1, d) if i != axis else g.r.randint(1, 4) for i, d in enumerate(v.dims)]
    if count(dims) > 500:
        return None
    n = v.dims[axis]
    indices = [g.r.randrange(-n, n) for _ in range(count(dims))]
    return same(g, "GatherElements", v, dims, [v, g.ints(indices, "int64", dims)], {"axis": written})


@operator("GatherND", 11, weight=0.4)
def gather_nd(g):
    v = g.pick(ranks=(2, 3, 4))
    if v is None:
        return None
    r = g.r
    b = r.choice([0, 0, 1]) if g.opset >= 12 and v.rank > 1 else 0
    k = r.randint(1, v.rank - b)
    outer = v.dims[:b] + [r.randint(1, 3)] + ([2] if r.random() < 0.2 else [])
    dims = outer + v.dims[b + k:]
    if count(outer) > 60 or count(dims) > LARGEST or len(dims) > 5:
        return None
    indices = []
    for _ in range(count(outer)):
        indices += [r.randrange(-v.dims[b + i], v.dims[b + i]) for i in range(k)]
    return same(g, "GatherND", v, dims, [v, g.ints(indices, "int64", outer + [k])], {"batch_dims": b} if b else {})


@operator("ScatterElements", 9, weight=0.5)
def scatter_elements(g):
    v = g.pick()
    if v is None or not v.rank:
        return None
    r = g.r
    written, axis = g.axis(v.rank)
    if g.opset < 11:
        written = axis
    dims = [r.randint(1, d) for d in v.dims]
    if count(dims) > 300:
        return None
    n = v.dims[axis]
    a = {"axis": written} if axis or r.random() < 0.5 else {}
    reduction = "none"
    if g.opset >= 16 and r.random() < 0.6:
        reduction = a["reduction"] = r.choice(["none", "add", "mul"] + (["max", "min"] if g.opset >= 18 else []))
    # Without a reduction two writes to one element are undefined.
    indices = []
    strides = [count(dims[i + 1:]) for i in range(v.rank)]
    taken = set()
    for e in range(count(dims)):
        at = [(e // strides[i]) % dims[i] for i in range(v.rank)]
        for _ in range(200):
            x = r.randrange(n)
            key = tuple(at[:axis] + [x] + at[axis + 1:])
            if reduction != "none" or key not in taken:
                break
        else:
            return None
        taken.add(key)
        indices.append(x - n if g.opset >= 11 and r.random() < 0.2 else x)
    updates = g.uniform(dims, -2.0, 2.0)
    found = [w for w in g.values if w.dims == dims and w.kind == "float" and w is not v]
    b = 2.0
    if found and r.random() < 0.4:
        w = r.choice(found)
        updates, b = w, w.bound
    inputs = [v, g.ints(indices, "int64", dims), updates]
    low, high = min(v.low, -b), max(v.high, b)
    if reduction in ("add", "mul"):
        v2 = g.tame(v)
        if count(dims) > 40:
            return None
        inputs[0] = v2
        low, high = (-300, 300)
        if reduction == "mul" and n < dims[axis] * 1:
            low, high = -1000, 1000
    op = "Scatter" if g.opset < 11 else "ScatterElements"
    return g.node(op, inputs, v.dims, low, high, None, a)


@operator("ScatterND", 11, weight=0.4)
def scatter_nd(g):
    v = g.pick(ranks=(2, 3, 4))
    if v is None:
        return None
    r = g.r
    k = r.randint(1, v.rank)
    space = count(v.dims[:k])
    m = r.randint(1, min(space, 4))
    flat = r.sample(range(space), m)
    a = {}
    reduction = "none"
    if g.opset >= 16 and r.random() < 0.5:
        reduction = a["reduction"] = r.choice(["add", "mul", "none"] + (["max", "min"] if g.opset >= 18 else []))
        if reduction != "none":
            flat = [r.choice(flat) for _ in flat]
    indices = []
    for f in flat:
        at = []
        for d in reversed(v.dims[:k]):
            at.append(f % d)
            f //= d
        indices += [x - d if r.random() < 0.2 else x for x, d in zip(at[::-1], v.dims[:k])]
    dims = [m] + v.dims[k:]
    v = g.tame(v)
    b = 2.0 + (v.bound * 17 if reduction in ("add", "mul") else v.bound)
    return g.node("ScatterND", [v, g.ints(indices, "int64", [m, k]), g.uniform(dims, -2.0, 2.0)], v.dims, -b, b, None, a)


@operator("Compress", 9, weight=0.3)
def compress(g):
    v = g.pick()
    if v is None or not v.rank:
        return None
    if g.maybe(0.2):
        c = [g.maybe() for _ in range(min(v.count, 20))]
        if not any(c):
            return None
        return same(g, "Compress", v, [sum(c)], [v, g.tensor([len(c)], c, "bool")])
    written, axis = g.axis(v.rank)
    if g.opset < 11:
        written = axis
    c = [g.maybe(0.6) for _ in range(g.r.randint(1, v.dims[axis]))]
    if not any(c):
        return None
    dims = [sum(c) if i == axis else d for i, d in enumerate(v.dims)]
    return same(g, "Compress", v, dims, [v, g.tensor([len(c)], c, "bool")], {"axis": written})


@operator("OneHot", 9, weight=0.2)
def one_hot(g):
    """Of constants; the result is added to a value."""
    v = g.pick(fits=lambda v: v.rank and v.dims[-1] > 1)
    if v is None:
        return None
    n = v.dims[-1]
    f = g.fresh("f")
    low = -n if g.opset >= 11 else 0
    kind = g.r.choice(["int64", "int32", "float"])
    indices = [g.r.randint(low, n) for _ in range(3)][:1]
    t = g.tensor([1], [float(i) for i in indices] if kind == "float" else indices, kind)
    g.raw("OneHot", [t, g.tensor([1], [n], "int64"), g.tensor([2], [0.5, 2.0])], [f], g.r.choice([{}, {"axis": -1}, {"axis": 1}]))
    return g.node("Add", [v, f], broadcast(v.dims, [1, n]), v.low + 0.5, v.high + 2)


# ---- resampling ----

@operator("Resize", 7, weight=1.2)
def resize(g):
    v = g.pick(ranks=(3, 4))
    if v is None:
        return None
    r = g.r
    if g.opset < 10:
        scales = [1.0] * 2 + [r.choice([1.0, 1.5, 2.0, 3.0]) for _ in v.dims[2:]]
        mode = r.choice(["nearest", "linear"])
        if mode == "linear" and v.rank != 4:
            mode = "nearest"
        dims = [int(math.floor(d * s)) for d, s in zip(v.dims, scales)]
        if count(dims) > LARGEST:
            return None
        if g.opset < 9:
            return same(g, "Upsample", v, dims, attributes={"scales": scales, "mode": mode})
        return same(g, "Upsample", v, dims, [v, g.tensor([v.rank], scales)], {"mode": mode})
    free = [i for i in range(2, v.rank) if r.random() < 0.8] or [v.rank - 1]
    if r.random() < 0.1:
        free.append(1)
    if g.opset == 10:
        scales = [r.choice([0.5, 1.5, 2.0, 3.0, 0.75]) if i in free else 1.0 for i in range(v.rank)]
        dims = [int(math.floor(d * s)) for d, s in zip(v.dims, scales)]
        if min(dims) < 1 or count(dims) > LARGEST:
            return None
        mode = r.choice(["nearest", "linear"]) if v.rank == 4 and 1 not in free else "nearest"
        return same(g, "Resize", v, dims, [v, g.tensor([v.rank], scales)], {"mode": mode})
    a = {"mode": r.choice(["nearest", "linear", "linear", "cubic"])}
    mode = a["mode"]
    if mode == "cubic" and v.rank != 4:
        mode = a["mode"] = "linear"
    transforms = ["half_pixel", "asymmetric", "align_corners", "pytorch_half_pixel", "tf_crop_and_resize"]
    if g.opset >= 19:
        transforms.append("half_pixel_symmetric")
    t = r.choice(transforms)
    if t != "half_pixel" or r.random() < 0.3:
        a["coordinate_transformation_mode"] = t
    if mode == "nearest" and r.random() < 0.6:
        a["nearest_mode"] = r.choice(["round_prefer_floor", "round_prefer_ceil", "floor", "ceil"])
    if mode == "cubic":
        if r.random() < 0.4:
            a["cubic_coeff_a"] = r.choice([-0.5, -0.6])
        if r.random() < 0.3:
            a["exclude_outside"] = 1
    if g.opset >= 18 and mode != "nearest" and t != "tf_crop_and_resize" and r.random() < 0.25:
        a["antialias"] = 1
    axes = None
    if g.opset >= 18 and r.random() < 0.3:
        axes = sorted(free)
        if r.random() < 0.3:
            r.shuffle(axes)
        a["axes"] = [i - v.rank if r.random() < 0.3 else i for i in axes]
    over = axes if axes is not None else list(range(v.rank))
    dims = list(v.dims)
    inputs = [v]
    if t == "tf_crop_and_resize":
        roi = [r.choice([0.0, 0.1, 0.25]) if i in free else 0.0 for i in over] + [r.choice([1.0, 0.8, 1.2]) if i in free else 1.0 for i in over]
        inputs.append(g.tensor([len(roi)], roi))
        if r.random() < 0.5:
            a["extrapolation_value"] = 1.5
    else:
        inputs.append("" if g.opset >= 13 else g.tensor([0], []))
    if r.random() < 0.5:
        scales = [r.choice([0.5, 0.6, 1.5, 2.0, 2.0, 3.0, 0.75, 1.3]) if i in free else 1.0 for i in over]
        for i, s in zip(over, scales):
            dims[i] = int(math.floor(v.dims[i] * s + 1e-9))
        inputs.append(g.tensor([len(scales)], scales))
    else:
        sizes = [max(1, int(v.dims[i] * r.choice([0.5, 1.0, 1.5, 2.0])) + r.choice([-1, 0, 0, 1])) if i in free else v.dims[i] for i in over]
        policy = "stretch"
        if g.opset >= 18 and axes is not None and t != "tf_crop_and_resize" and r.random() < 0.4:
            policy = a["keep_aspect_ratio_policy"] = r.choice(["stretch", "not_larger", "not_smaller"])
        shown = sizes
        if policy != "stretch":
            ratio = [s / v.dims[i] for i, s in zip(over, sizes)]
            q = min(ratio) if policy == "not_larger" else max(ratio)
            shown = [int(math.floor(q * v.dims[i] + 0.5)) for i in over]
            if min(shown) < 1:
                return None
        for i, s in zip(over, shown):
            dims[i] = s
        inputs += ["" if g.opset >= 13 else g.tensor([0], []), g.ints(sizes)]
    if min(dims) < 1 or count(dims) > LARGEST:
        return None
    stretch = 2.5 if mode == "cubic" else 1
    low, high = min(v.low * stretch, v.low), max(v.high * stretch, v.high, 1.5)
    if mode == "cubic":
        low, high = -v.bound * 4, v.bound * 4
    return g.node("Resize", inputs, dims, low, high, None, a)


@operator("GridSample", 16, weight=0.4)
def grid_sample(g):
    v = g.pick(ranks=(4,))
    if v is None:
        return None
    new = g.opset >= 20
    mode = g.r.choice(["linear", "nearest", "cubic"] if new else ["bilinear", "nearest", "bicubic"])
    h, w = g.r.choice([1, 2, 3, 4]), g.r.choice([1, 2, 3, 5])
    dims = [v.dims[0], h, w, 2]
    a = {"mode": mode}
    if g.maybe():
        a["padding_mode"] = g.r.choice(["zeros", "border", "reflection"])
    if g.maybe():
        a["align_corners"] = g.r.choice([0, 1])
    # Away from the jumps of nearest: numbers that are no ties.
    grid = g.uniform(dims, -1.2, 1.2)
    found = [w for w in g.values if w.kind == "float" and w.rank > 1 and w.dims[0] == v.dims[0] and w.count % (2 * v.dims[0]) == 0 and w.count <= 200]
    if found and g.maybe(0.4) and "nearest" != mode:  # positions that are computed
        w = g.tame(g.r.choice(found), 1.5)
        n = w.count // (2 * v.dims[0])
        h, w = g.r.choice([(1, n), (n, 1)] + [(2, n // 2)] * (n % 2 == 0)), w
        h, dims = h[0], [v.dims[0], h[0], h[1], 2]
        grid = g.node("Reshape", [w, g.ints(dims)], dims, w.low, w.high)
        w = dims[2]
    return g.node("GridSample", [v, grid], v.dims[:2] + [h, w], -2 * v.bound, 2 * v.bound, None, a)


@operator("RoiAlign", 10, weight=0.3)
def roi_align(g):
    v = g.pick(ranks=(4,), fits=lambda v: v.dims[0] == 1)
    if v is None:
        return None
    r = g.r
    k = r.choice([1, 2, 3])
    h, w = v.dims[2:]
    rois = []
    for _ in range(k):
        x, y = r.uniform(0, w * 0.7), r.uniform(0, h * 0.7)
        rois += [round(x, 2), round(y, 2), round(x + r.uniform(1, w), 2), round(y + r.uniform(1, h), 2)]
    a = {"output_height": r.choice([1, 2, 3]), "output_width": r.choice([1, 2, 3]), "sampling_ratio": r.choice([0, 1, 2]),
         "spatial_scale": r.choice([1.0, 0.5])}
    if r.random() < 0.5:
        a["mode"] = r.choice(["avg", "max"])
    if g.opset >= 16 and r.random() < 0.7:
        a["coordinate_transformation_mode"] = r.choice(["half_pixel", "output_half_pixel"])
    return g.node("RoiAlign", [v, g.tensor([k, 4], rois), g.ints([0] * k)], [k, v.dims[1], a["output_height"], a["output_width"]],
                  -v.bound, v.bound, None, a)


@operator("AffineGrid", 20, weight=0.2)
def affine_grid(g):
    v = g.tame(g.pick(fits=lambda v: v.count >= 6 and v.dims and v.dims[0] == 1), 1.5)
    if v is None:
        return None
    f = g.node("Reshape", [v, g.ints([-1])], [v.count], v.low, v.high)
    f = g.node("Slice", [f, g.ints([0]), g.ints([6])], [6], v.low, v.high)
    f = g.node("Reshape", [f, g.ints([1, 2, 3])], [1, 2, 3], v.low, v.high)
    h, w = g.r.choice([1, 2, 3]), g.r.choice([2, 3, 4])
    return g.node("AffineGrid", [f, g.ints([1, 3, h, w])], [1, h, w, 2], -4.5, 4.5, None, g.r.choice([{}, {"align_corners": 1}]))


@operator("Col2Im", 18, weight=0.3)
def col2im(g):
    r = g.r
    k = [r.choice([1, 2]), r.choice([1, 2, 3])]
    image = [r.choice([2, 3, 4]), r.choice([3, 4, 5])]
    s = [r.choice([1, 2]), r.choice([1, 2])]
    p = [r.choice([0, 0, 1]) if x > 1 else 0 for x in k + k]
    blocks = [(image[i] + p[i] + p[2 + i] - k[i]) // s[i] + 1 for i in range(2)]
    if min(blocks) < 1:
        return None
    n = count(k) * count(blocks)
    v = g.tame(g.pick(fits=lambda v: v.rank and v.dims[0] == 1 and v.count % n == 0 and v.count // n <= 8))
    if v is None:
        return None
    c = v.count // n
    f = g.node("Reshape", [v, g.ints([1, c * count(k), count(blocks)])], [1, c * count(k), count(blocks)], v.low, v.high)
    a = {}
    if s != [1, 1] or g.maybe():
        a["strides"] = s
    if any(p) or g.maybe():
        a["pads"] = p
    b = v.bound * count(k)
    return g.node("Col2Im", [f, g.ints(image), g.ints(k)], [1, c] + image, -b, b, None, a)


# ---- transforms ----

@operator("DFT", 17, weight=0.3)
def dft(g):
    v = g.tame(g.pick(ranks=(3, 4), fits=lambda v: v.dims[-1] in (1, 2)))
    if v is None:
        return None
    r = g.r
    axis = r.randint(0 if g.maybe(0.2) else 1, v.rank - 2)
    a, inputs = {}, [v]
    n = v.dims[axis]
    if r.random() < 0.3:
        n = max(1, n + r.choice([-2, -1, 1, 2]))
        inputs.append(g.tensor([], [n], "int64"))
    inverse = r.random() < 0.3 and v.dims[-1] == 2
    one = v.dims[-1] == 1 and r.random() < 0.4
    if inverse:
        a["inverse"] = 1
    if one:
        a["onesided"] = 1
    if g.opset >= 20:
        while len(inputs) < 2:
            inputs.append("")
        inputs.append(g.tensor([], [axis - v.rank if r.random() < 0.3 and axis != v.rank - 1 else axis], "int64"))
    else:
        a["axis"] = axis
    dims = list(v.dims)
    dims[axis], dims[-1] = n // 2 + 1 if one else n, 2
    b = 2 * v.bound * n
    return g.node("DFT", inputs, dims, -b, b, None, a)


@operator("STFT", 17, weight=0.2)
def stft(g):
    v = g.tame(g.pick(fits=lambda v: v.rank and v.dims[0] == 1 and 8 <= v.count <= 200))
    if v is None:
        return None
    n, r = v.count, g.r
    f = g.node("Reshape", [v, g.ints([1, n, 1])], [1, n, 1], v.low, v.high)
    length, step = r.choice([4, 5, 8]), r.choice([2, 3, 4])
    if length > n:
        return None
    form = r.random()
    inputs = [f, g.tensor([], [step], "int64")]
    if form < 0.4:
        inputs += ["", g.tensor([], [length], "int64")]
    elif form < 0.7:
        w = g.fresh("f")
        g.raw(r.choice(["HannWindow", "HammingWindow", "BlackmanWindow"]), [g.tensor([], [length], "int64")], [w], r.choice([{}, {"periodic": 0}]))
        inputs += [w]
    else:
        inputs += [g.uniform([length], 0.2, 1.0), g.tensor([], [length], "int64")]
    one = r.choice([None, 0, 1])
    a = {} if one is None else {"onesided": one}
    frames = (n - length) // step + 1
    bins = length if one == 0 else length // 2 + 1
    b = 2 * v.bound * length
    return g.node("STFT", inputs, [1, frames, bins, 2], -b, b, None, a)


# ---- constants that nodes make ----

@operator("Range", 11, weight=0.5)
def made_constant(g):
    """A constant of v's last length, from nodes over constants, combined with v."""
    v = g.pick(fits=lambda v: v.rank and v.dims[-1] >= 2)
    if v is None:
        return None
    n, r = v.dims[-1], g.r
    f = g.fresh("f")
    forms = ["range", "ofshape", "topk", "unique", "nonzero", "cumsum", "reduce", "cast", "sizes"]
    if g.opset >= 17:
        forms += ["window", "window"]
    if g.opset >= 18:
        forms += ["bits"]
    form = r.choice(forms)
    low, high = -20.0, 20.0
    if form == "range":
        kind = r.choice(["float", "int64", "int32"])
        if kind == "float":
            start, delta = r.choice([0.0, 1.0, -1.5]), r.choice([1.0, 0.5, -0.25])
            c = [g.tensor([], [x], kind) for x in (start, start + delta * n, delta)]
            g.raw("Range", c, [f])
        else:
            h = g.fresh("f")
            c = [g.tensor([], [x], kind) for x in (2, 2 - n, -1)]
            g.raw("Range", c, [h])
            g.raw("Cast", [h], [f], {"to": 1})
    elif form == "ofshape":
        g.raw("ConstantOfShape", [g.ints([n])], [f], r.choice([{}, {"value": {"tensor": ["float", [1], [1.25]]}}]))
    elif form == "topk":
        i = g.fresh("f")
        g.raw("TopK", [g.uniform([n + 3], -3, 3), g.ints([n])], [f, i], {"largest": r.choice([0, 1]), "axis": r.choice([0, -1])})
    elif form == "unique":
        values = [float(x) for x in range(n)]
        more = values + [r.choice(values) for _ in range(3)]
        r.shuffle(more)
        g.raw("Unique", [g.tensor([len(more)], more)], [f], {"sorted": r.choice([0, 1])})
    elif form == "nonzero":
        flags = [1] * n + [0] * 4
        r.shuffle(flags)
        h, k = g.fresh("f"), g.fresh("f")
        g.raw("NonZero", [g.tensor([n + 4], flags, r.choice(["int64", "int32", "uint8"]))], [h])
        g.raw("Cast", [h], [k], {"to": 1})
        g.raw("Reshape", [k, g.ints([-1])], [f])
    elif form == "cumsum":
        g.raw("CumSum", [g.uniform([n], -1, 1), g.tensor([], [0], "int64")], [f], {"reverse": r.choice([0, 1])})
    elif form == "reduce":
        g.raw(r.choice(["ReduceMean", "ReduceMax", "ReduceL2"]), [g.uniform([2, n], -1, 1)] + ([g.ints([0])] if g.opset >= 18 else []), [f],
              dict({"keepdims": 0}, **({} if g.opset >= 18 else {"axes": [0]})))
    elif form == "cast":
        a, b, h = (g.fresh("f") for _ in range(3))
        kind, code = r.choice([("int64", 7), ("int32", 6)])
        op = r.choice(["Div", "Mod", "Mul", "Sub", "Max", "Min"])
        if op in ("Max", "Min") and g.opset < 12:
            op = "Mul"
        g.raw(op, [g.tensor([n], [r.randint(-9, 9) for _ in range(n)], kind), g.tensor([1], [r.choice([-4, 3, 2])], kind)], [a])
        g.raw("Cast", [a], [f], {"to": 1})
    elif form == "bits":
        a = g.fresh("f")
        op = r.choice(["BitwiseAnd", "BitwiseOr", "BitwiseXor", "BitShift"])
        x = {"direction": r.choice(["LEFT", "RIGHT"])} if op == "BitShift" else {}
        kind = r.choice(["uint8", "uint32", "uint64"])
        g.raw(op, [g.tensor([n], [r.randint(0, 9) for _ in range(n)], kind), g.tensor([1], [r.choice([1, 2, 3])], kind)], [a], x)
        g.raw("Cast", [a], [f], {"to": 1})
        high = 80
    elif form == "window":
        g.raw(r.choice(["HannWindow", "HammingWindow", "BlackmanWindow"]), [g.tensor([], [n], r.choice(["int64", "int32"]))], [f],
              r.choice([{}, {"periodic": 0}]))
    elif form == "sizes":
        a, b = g.fresh("f"), g.fresh("f")
        g.raw("Size", [v], [a])
        v.reads -= 1
        g.raw("Cast", [a], [b], {"to": 1})
        g.raw("Sqrt", [b], [f])
    op = r.choice(["Add", "Sub", "Mul"])
    if op == "Mul":
        v = g.tame(v)
        return g.node("Mul", [v, f], v.dims, -abs(low) * v.bound - high * v.bound, 80 * v.bound)
    return g.node(op, [v, f], v.dims, v.low - 80, v.high + 80)


@operator("EyeLike", 9, weight=0.15)
def eye_like(g):
    v = g.pick(ranks=(2,))
    if v is None:
        return None
    a = g.r.choice([{}, {"k": 1}, {"k": -1, "dtype": 1}])
    f = g.fresh("f")
    g.raw("EyeLike", [v], [f], a)
    v.reads -= 1
    return g.node("Add", [v, f], v.dims, v.low, v.high + 1)
