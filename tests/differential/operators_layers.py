"""Convolutions, products, pools, norms, reductions, Softmax and recurrent layers: see generate.py."""

from generate import broadcast, count, operator, LARGEST, Value


def spatial(g, v, kernel=True):
    """Kernel, strides, dilations, pads or auto_pad of v's axes 2 …, and the length of each after it; None: no."""
    r = g.r
    k, s, d, pads_low, pads_high, out = [], [], [], [], [], []
    auto = r.choice(["", "", "", "", "SAME_UPPER", "SAME_LOWER", "VALID", "NOTSET"])
    for length in v.dims[2:]:
        kk, ss = r.choice([1, 2, 3, 3, 4, 5]), r.choice([1, 1, 1, 2, 3])
        dd = r.choice([1, 1, 1, 2])
        if auto.startswith("SAME"):
            dd = 1
        extent = (kk - 1) * dd + 1
        lo = hi = 0
        if auto in ("", "NOTSET"):
            lo, hi = r.choice([(0, 0), (1, 1), (1, 0), (0, 2), (extent // 2, extent // 2)])
            lo, hi = min(lo, extent - 1), min(hi, extent - 1)
        if auto.startswith("SAME"):
            o = -(-length // ss)
        else:
            if length + lo + hi < extent:
                return None
            o = (length + lo + hi - extent) // ss + 1
        for values, x in ((k, kk), (s, ss), (d, dd), (pads_low, lo), (pads_high, hi), (out, o)):
            values.append(x)
    return k, s, d, pads_low + pads_high, auto, out


def window_attributes(g, k, s, d, pads, auto, write_kernel):
    a = {}
    if write_kernel:
        a["kernel_shape"] = k
    if any(x != 1 for x in s) or g.maybe(0.4):
        a["strides"] = s
    if any(x != 1 for x in d) or g.maybe(0.3):
        a["dilations"] = d
    if auto:
        a["auto_pad"] = auto
    if auto in ("", "NOTSET") and (any(pads) or g.maybe(0.3)):
        a["pads"] = pads
    return a


@operator("Conv", weight=3)
def conv(g):
    v = g.tame(g.pick(ranks=(3, 4, 5) if g.maybe(0.2) else (3, 4)))
    if v is None or v.dims[1] > 32:
        return None
    w = spatial(g, v)
    if w is None:
        return None
    k, s, d, pads, auto, out = w
    c = v.dims[1]
    groups = [n for n in range(1, c + 1) if c % n == 0]
    group = g.r.choice([1, 1, 1, c, g.r.choice(groups)])
    m = group * g.r.choice([1, 1, 2, 3]) if group > 1 else g.r.choice([1, 2, 3, 4, 5, 8])
    n = count(k) * (c // group)
    scale = 1.5 / n ** 0.5
    inputs = [v, g.uniform([m, c // group] + k, -scale, scale)]
    if g.maybe(0.6):
        inputs.append(g.uniform([m], -1.0, 1.0))
    elif g.maybe(0.1):
        inputs.append("")
    a = window_attributes(g, k, s, d, pads, auto, g.maybe(0.7))
    if group != 1 or g.maybe(0.2):
        a["group"] = group
    dims = [v.dims[0], m] + out
    if count(dims) > LARGEST or count(dims) * n > 300000:
        return None
    b = v.bound * scale * n + 1
    return g.node("Conv", inputs, dims, -b, b, None, a)


@operator("ConvTranspose", weight=1)
def conv_transpose(g):
    v = g.tame(g.pick(ranks=(3, 4)))
    if v is None or v.dims[1] > 16:
        return None
    r = g.r
    c = v.dims[1]
    group = r.choice([1, 1, c, r.choice([n for n in range(1, c + 1) if c % n == 0])])
    m = r.choice([1, 2, 3])
    nd = v.rank - 2
    k = [r.choice([1, 2, 3, 4]) for _ in range(nd)]
    s = [r.choice([1, 1, 2, 3]) for _ in range(nd)]
    d = [r.choice([1, 1, 2]) for _ in range(nd)]
    op = [r.choice([0, 0, 0, 1]) if s[i] > 1 or d[i] > 1 else 0 for i in range(nd)]
    op = [min(op[i], max(s[i], d[i]) - 1) for i in range(nd)]
    a = {}
    mode = r.random()
    out = []
    if mode < 0.6:
        pads = [r.choice([0, 0, 1]) for _ in range(2 * nd)]
        for i in range(nd):
            out.append(s[i] * (v.dims[2 + i] - 1) + op[i] + (k[i] - 1) * d[i] + 1 - pads[i] - pads[nd + i])
        if any(pads):
            a["pads"] = pads
    elif mode < 0.8:
        a["auto_pad"] = r.choice(["SAME_UPPER", "SAME_LOWER", "VALID"])
        for i in range(nd):
            full = s[i] * (v.dims[2 + i] - 1) + op[i] + (k[i] - 1) * d[i] + 1
            if a["auto_pad"] == "VALID":
                out.append(full)
            else:
                out.append(v.dims[2 + i] * s[i])
                if full < out[-1]:
                    return None
    else:
        if r.random() < 0.6:
            a["auto_pad"] = r.choice(["SAME_UPPER", "SAME_LOWER"])
        for i in range(nd):
            full = s[i] * (v.dims[2 + i] - 1) + op[i] + (k[i] - 1) * d[i] + 1
            out.append(max(1, full - r.choice([0, 1, 2, 3])))
        a["output_shape"] = out
    if any(o < 1 for o in out):
        return None
    if any(x != 1 for x in s) or g.maybe(0.3):
        a["strides"] = s
    if any(x != 1 for x in d) or g.maybe(0.3):
        a["dilations"] = d
    if any(op):
        a["output_padding"] = op
    if group != 1:
        a["group"] = group
    if g.maybe(0.6):
        a["kernel_shape"] = k
    n = count(k) * (c // group)
    scale = 1.5 / n ** 0.5
    inputs = [v, g.uniform([c, m] + k, -scale, scale)]
    if g.maybe(0.5):
        inputs.append(g.uniform([m * group], -1.0, 1.0))
    dims = [v.dims[0], m * group] + out
    if count(dims) > LARGEST:
        return None
    b = v.bound * scale * n + 1
    return g.node("ConvTranspose", inputs, dims, -b, b, None, a)


@operator("DeformConv", 19, weight=0.3)
def deform_conv(g):
    v = g.tame(g.pick(ranks=(4,)))
    if v is None or v.dims[1] > 8:
        return None
    w = spatial(g, v)
    if w is None or w[4]:
        return None
    k, s, d, pads, _, out = w
    c = v.dims[1]
    group = g.r.choice([1, 1, c])
    og = g.r.choice([1, c])
    m = group * g.r.choice([1, 2])
    n = count(k) * (c // group)
    dims = [v.dims[0], m] + out
    if count(dims) > 600 or count(k) * og * 2 * count(out) > 3000:
        return None
    scale = 1.5 / n ** 0.5
    offset = g.uniform([v.dims[0], og * count(k) * 2] + out, -1.3, 1.3)
    inputs = [v, g.uniform([m, c // group] + k, -scale, scale), offset]
    inputs.append(g.uniform([m], -1.0, 1.0) if g.maybe() else "")
    if g.maybe():
        inputs.append(g.uniform([v.dims[0], og * count(k)] + out, 0.0, 1.0))
    a = window_attributes(g, k, s, d, pads, "", g.maybe(0.7))
    a.update({"group": group, "offset_group": og})
    b = v.bound * scale * n + 1
    return g.node("DeformConv", inputs, dims, -b, b, None, a)


# ---- products ----

@operator("MatMul", weight=2)
def matmul(g):
    v = g.tame(g.pick(ranks=(2, 3, 4)))
    if v is None or v.dims[-1] > 64:
        return None
    r, k = g.r, v.dims[-1]
    others = [w for w in g.values if w.kind == "float" and w.rank >= 2 and w.dims[-2] == k and w is not v
              and broadcast(w.dims[:-2], v.dims[:-2]) is not None]
    if others and g.maybe():
        w = g.tame(r.choice(others))
        dims = broadcast(w.dims[:-2], v.dims[:-2]) + [v.dims[-2], w.dims[-1]]
        if count(dims) > LARGEST or len(dims) > 5:
            return None
        return g.node("MatMul", [v, w], dims, -v.bound * w.bound * k, v.bound * w.bound * k)
    scale = 1.5 / k ** 0.5
    n = r.choice([1, 2, 3, 4, 5, 8])
    form = r.random()
    b = v.bound * scale * k
    if form < 0.65:
        return g.node("MatMul", [v, g.uniform([k, n], -scale, scale)], v.dims[:-1] + [n], -b, b)
    if form < 0.72:
        if v.rank < 3:
            return None
        return g.node("MatMul", [v, g.uniform([k], -scale, scale)], v.dims[:-1], -b, b)
    if form < 0.85:
        batch = [x if r.random() < 0.6 else 1 for x in v.dims[:-2]]
        if r.random() < 0.15 and v.rank < 4:
            batch = [2] + batch
        dims = (broadcast(batch, v.dims[:-2]) or []) + [v.dims[-2], n]
        return g.node("MatMul", [v, g.uniform(batch + [k, n], -scale, scale)], dims, -b, b)
    q = v.dims[-2]
    b = v.bound * q
    if form < 0.9 and v.rank > 2:
        return g.node("MatMul", [g.uniform([q], -1, 1), v], v.dims[:-2] + [v.dims[-1]], -b, b)
    return g.node("MatMul", [g.uniform([n, q], -1, 1), v], v.dims[:-2] + [n, v.dims[-1]], -b, b)


@operator("Gemm", weight=1.2)
def gemm(g):
    v = g.tame(g.pick(ranks=(2,)))
    if v is None:
        return None
    r = g.r
    ta, tb = r.choice([0, 0, 0, 1]), r.choice([0, 1])
    m, k = v.dims[::-1] if ta else v.dims
    n = r.choice([1, 2, 3, 4, 5, 8])
    a = {}
    if ta:
        a["transA"] = 1
    if tb or g.maybe(0.2):
        a["transB"] = tb
    if g.maybe(0.3):
        a["alpha"] = r.choice([0.5, 2.0, -1.0])
    if g.maybe(0.3):
        a["beta"] = r.choice([0.5, 2.0, 0.0])
    scale = 1.5 / k ** 0.5
    w = Value(g.uniform([n, k] if tb else [k, n], -scale, scale), [], -scale, scale)
    others = [x for x in g.values if x.kind == "float" and x.rank == 2 and x.dims[1 if tb else 0] == k and x is not v]
    if others and g.maybe(0.3):
        w = g.tame(r.choice(others))
        n = w.dims[0 if tb else 1]
    inputs = [v, w]
    if g.opset < 11 or g.maybe(0.7):
        c = r.choice([[n], [m, n], [1, n], [m, 1], [1], []])
        inputs.append(g.uniform(c, -1.0, 1.0) if c else g.number(0.7))
        x = [x for x in g.values if x.kind == "float" and x.rank <= 2 and broadcast(x.dims, [m, n]) == [m, n]]
        if x and g.maybe(0.2):
            inputs[-1] = g.tame(r.choice(x), 4.0)
    b = 2 * v.bound * w.bound * k + 8
    return g.node("Gemm", inputs, [m, n], -b, b, None, a)


@operator("Einsum", 12, weight=0.7)
def einsum(g):
    v = g.tame(g.pick(ranks=(2, 3, 4)))
    if v is None:
        return None
    r, letters = g.r, "abcd"[:v.rank]
    size = dict(zip(letters, v.dims))
    form = r.random()
    bound = v.bound
    if form < 0.25:
        keep = [x for x in letters if r.random() < 0.7]
        r.shuffle(keep)
        equation, operands = "%s->%s" % (letters, "".join(keep)), [v]
    else:
        extra = r.choice(["", "x", "xy"])
        size.update({"x": r.choice([2, 3, 4]), "y": 3})
        shared = [x for x in letters if r.random() < 0.5]
        second = shared + list(extra)
        r.shuffle(second)
        if not second:
            return None
        keep = [x for x in letters + extra if r.random() < 0.6 or (x not in shared and x in letters)]
        r.shuffle(keep)
        equation = "%s,%s->%s" % (letters, "".join(second), "".join(keep))
        if sorted(keep) == keep and r.random() < 0.3 and set(keep) == {x for x in letters + extra if (letters + "".join(second)).count(x) == 1}:
            equation = equation.split("->")[0]
        operands = [v, g.uniform([size[x] for x in second], -0.5, 0.5)]
        bound *= 0.5
    if r.random() < 0.2:
        equation = equation.replace(",", " , ").replace("->", " -> ")
    dims = [size[x] for x in keep]
    summed = count([d for x, d in size.items() if x in letters + (extra if form >= 0.25 else "") and x not in keep])
    if not dims or count(dims) > LARGEST or summed * count(dims) > 40000:
        return None
    return g.node("Einsum", operands, dims, -bound * summed, bound * summed, None, {"equation": equation})


@operator("Einsum", 12, weight=0.4)
def einsum_of_more(g):
    """Axes that are repeated or not named, three operands, and nothing kept."""
    r = g.r
    v = g.tame(g.pick(ranks=(2, 3, 4)), 3.0)
    if v is None or v.count > 600:
        return None
    form, n, m = r.choice(["ellipsis", "ellipsis", "three", "diagonal", "self", "outer", "all"]), v.dims[-1], r.choice([1, 2, 3, 5])
    before = v.dims[:-1]
    if form == "ellipsis":
        equation, more, dims = r.choice([("...a,ab->...b", [[n, m]], before + [m]), ("...a,a->...", [[n]], before), ("...a->a...", [], [n] + before),
                                         ("...a,...a->...", [before + [n]], before), ("...a,ba->b...", [[m, n]], [m] + before), ("...a,ab", [[n, m]], before + [m]),
                                         ("...a,...a->...a", [[1] * len(before) + [n]], v.dims)])
        summed = n
    elif form == "three":
        s = "abc"[:v.rank - 1] + "k"
        equation, more, dims, summed = s + ",km,m->" + s[:-1] + "m", [[n, m], [m]], before + [m], n
    elif form == "diagonal":
        if v.rank < 3 or v.dims[-1] != v.dims[-2]:
            return None
        s = "ab"[:v.rank - 2]
        equation, dims = r.choice([(s + "kk->" + s + "k", v.dims[:-1]), (s + "kk->" + s, v.dims[:-2])])
        more, summed = [], n
    elif form == "self":
        s = "abc"[:v.rank - 1]
        if v.rank != 3:
            return None
        y = g.node("Einsum", [v, v], [v.dims[0], v.dims[1], v.dims[1]], -9 * n, 9 * n, None, {"equation": "%sk,%s->%s" % (s, s[0] + "dk", s + "d")})
        return y
    elif form == "outer":
        if v.count * m > LARGEST or v.rank > 3:
            return None
        s = "abc"[:v.rank]
        equation, more, dims, summed = s + ",z->" + r.choice([s + "z", s[0] + "z" + s[1:]]), [[m]], v.dims + [m], 1
        if equation[-1] != "z":
            dims = [v.dims[0], m] + v.dims[1:]
    else:
        s = "abcd"[:v.rank]
        equation, more, dims, summed = s + "->" + s[0], [], v.dims[:1], count(v.dims[1:])
    if count(dims) > LARGEST or not dims or 3 * summed > 5000:
        return None
    b = v.bound * summed
    return g.node("Einsum", [v] + [g.uniform(d, -1, 1) for d in more], dims, -b, b, None, {"equation": equation})


@operator("Det", 11, weight=0.2)
def det(g):
    v = g.tame(g.pick(ranks=(3, 4), fits=lambda v: v.dims[-1] == v.dims[-2] and v.dims[-1] <= 4), 3.0)
    return v and g.node("Det", [v], v.dims[:-2], -200, 200)


# ---- pools ----

def pool(name, since=7, weight=0.8):
    @operator(name, since, weight=weight)
    def build(g):
        v = g.pick(ranks=(3, 4, 5) if g.maybe(0.15) else (3, 4))
        if v is None:
            return None
        w = spatial(g, v)
        if w is None:
            return None
        k, s, d, pads, auto, out = w
        n = v.rank - 2
        dilated = g.opset >= {"MaxPool": 10, "AveragePool": 19, "LpPool": 18}[name]
        if not dilated and any(x != 1 for x in d):
            d = [1] * n
        if any(p >= (x - 1) * y + 1 or p >= x for p, x, y in zip(pads, k * 2, d * 2)):
            return None
        ceil = 0
        if auto in ("", "NOTSET") and g.opset >= {"MaxPool": 10, "AveragePool": 10, "LpPool": 18}[name] and g.maybe(0.3):
            ceil = 1
        if not auto.startswith("SAME"):
            out = []
            for i in range(n):
                extent = (k[i] - 1) * d[i] + 1
                room = v.dims[2 + i] + pads[i] + pads[n + i] - extent
                if room < 0:
                    return None
                o = (-(-room // s[i]) if ceil else room // s[i]) + 1
                if ceil and (o - 1) * s[i] >= v.dims[2 + i] + pads[i]:
                    o -= 1
                out.append(o)
        a = window_attributes(g, k, s, d, pads, auto, True)
        if not dilated:
            a.pop("dilations", None)
        if ceil:
            a["ceil_mode"] = 1
        low, high = v.low, v.high
        if name == "AveragePool" and g.maybe(0.4):
            a["count_include_pad"] = 1
            low, high = min(low, 0), max(high, 0)
        if name == "MaxPool" and g.opset >= 8 and g.maybe(0.1):
            a["storage_order"] = g.r.choice([0, 1])
        if name == "LpPool":
            v = g.tame(v, 4.0)
            p = g.r.choice([1, 2, 3])
            if p != 2 or g.maybe():
                a["p"] = p
            low, high = 0, v.bound * count(k)
        return g.node(name, [v], v.dims[:2] + out, low, high, v.grid if name == "MaxPool" else None, a)


pool("MaxPool", weight=1.2)
pool("AveragePool", weight=1.2)
pool("LpPool", weight=0.4)


def global_pool(name, attributes=None):
    @operator(name, weight=0.4)
    def build(g):
        v = g.pick(ranks=(3, 4, 5))
        if v is None:
            return None
        low, high = v.low, v.high
        a = {}
        if name == "GlobalLpPool":
            v = g.tame(v, 4.0)
            a = g.r.choice([{}, {"p": 1}, {"p": 3}])
            low, high = 0, v.bound * count(v.dims[2:])
        return g.node(name, [v], v.dims[:2] + [1] * (v.rank - 2), low, high, None, a)


for _name in ("GlobalAveragePool", "GlobalMaxPool", "GlobalLpPool"):
    global_pool(_name)


@operator("MaxUnpool", 9, weight=0.15)
def max_unpool(g):
    v = g.pick(ranks=(4,), fits=lambda v: v.dims[2] % 2 == 0 and v.dims[3] % 2 == 0 and v.grid)
    if v is None:
        return None
    out = [v.dims[2] // 2, v.dims[3] // 2]
    p, i = g.fresh(), g.fresh()
    g.raw("MaxPool", [v], [p, i], {"kernel_shape": [2, 2], "strides": [2, 2]})
    pooled = Value(p, v.dims[:2] + out, v.low, v.high)
    g.values.append(pooled)
    return g.node("MaxUnpool", [pooled, i], v.dims[:2] + [2 * out[0], 2 * out[1]], min(v.low, 0), max(v.high, 0), None,
                  {"kernel_shape": [2, 2], "strides": [2, 2]})


# ---- norms ----

def bound_of_norm(n):
    return 2.0 * n ** 0.5 + 1


@operator("BatchNormalization", weight=1)
def batch_normalization(g):
    v = g.pick(ranks=(2, 3, 4))
    if v is None:
        return None
    c = v.dims[1]
    a = {}
    if g.maybe():
        a["epsilon"] = g.r.choice([1e-3, 1e-5, 0.1])
    if g.maybe(0.2):
        a["momentum"] = 0.7
    if g.opset >= 14 and g.maybe(0.3):
        a["training_mode"] = 0
    ops = [v, g.uniform([c], -1.5, 1.5), g.uniform([c], -1, 1), g.uniform([c], -1, 1), g.uniform([c], 0.3, 2)]
    b = 1.5 * (v.bound + 1) / 0.54 + 1
    return g.node("BatchNormalization", ops, v.dims, -b, b, None, a)


@operator("InstanceNormalization", weight=0.5)
def instance_normalization(g):
    v = g.tame(g.pick(ranks=(3, 4)), 50)
    if v is None:
        return None
    c, n = v.dims[1], count(v.dims[2:])
    if n == 1:
        return None
    b = bound_of_norm(n)
    a = g.r.choice([{}, {"epsilon": 0.01}])
    return g.node("InstanceNormalization", [v, g.uniform([c], -1.5, 1.5), g.uniform([c], -1, 1)], v.dims, -b, b, None, a)


@operator("GroupNormalization", 18, weight=0.7)
def group_normalization(g):
    v = g.tame(g.pick(ranks=(3, 4)), 50)
    if v is None:
        return None
    c = v.dims[1]
    groups = g.r.choice([n for n in range(1, c + 1) if c % n == 0])
    if v.count == groups:
        return None
    k = c if g.opset >= 21 else groups
    a = {"num_groups": groups}
    if g.maybe(0.3):
        a["epsilon"] = 0.01
    b = bound_of_norm(v.count)
    return g.node("GroupNormalization", [v, g.uniform([k], -1.5, 1.5), g.uniform([k], -1, 1)], v.dims, -b, b, None, a)


@operator("LayerNormalization", 17, weight=1)
def layer_normalization(g):
    v = g.tame(g.pick(ranks=(2, 3, 4)), 50)
    if v is None:
        return None
    written, axis = g.axis(v.rank)
    dims = v.dims[axis:]
    if count(dims) == 1:
        return None

    def operand(low, high):
        d = dims if g.maybe(0.75) else [x if g.maybe() else 1 for x in dims][g.r.randrange(len(dims)):]
        return g.uniform(d, low, high)
    ops = [v, operand(-1.5, 1.5)]
    if g.maybe(0.7):
        ops.append(operand(-1, 1))
    a = {}
    if written != -1 or g.maybe():
        a["axis"] = written
    if g.maybe(0.3):
        a["epsilon"] = 0.01
    b = bound_of_norm(count(dims))
    y = g.node("LayerNormalization", ops, v.dims, -b, b, None, a)
    if g.maybe(0.12) and v.bound > 0.4:
        names = [g.fresh(), g.fresh()]
        g.nodes[-1][2] += names[:g.r.choice([1, 2])]
        d = v.dims[:axis] + [1] * len(dims)
        m = Value(names[0], d, v.low, v.high)
        g.values.append(m)
    return y


@operator("RMSNormalization", 23, weight=1)
def rms_normalization(g):
    v = g.tame(g.pick(ranks=(2, 3, 4)), 50)
    if v is None:
        return None
    written, axis = g.axis(v.rank)
    b = bound_of_norm(count(v.dims[axis:]))
    return g.node("RMSNormalization", [v, g.uniform(v.dims[axis:], -1.5, 1.5)], v.dims, -b, b, None, {"axis": written, "epsilon": 0.001})


@operator("LpNormalization", weight=0.5)
def lp_normalization(g):
    v = g.pick()
    if v is None or not v.rank:
        return None
    written, axis = g.axis(v.rank)
    if v.dims[axis] == 1:
        return None  # all of them 1: what is left of that is rounding
    v = g.away_from_zero(v)
    a = {}
    if written != -1 or g.maybe():
        a["axis"] = written
    if g.maybe():
        a["p"] = g.r.choice([1, 2])
    return g.node("LpNormalization", [v], v.dims, -1, 1, None, a)


@operator("LRN", weight=0.4)
def lrn(g):
    v = g.tame(g.pick(ranks=(3, 4)))
    if v is None:
        return None
    a = {"size": g.r.choice([1, 2, 3, 4, 5])}
    for key, values in (("alpha", [0.1, 0.01]), ("beta", [0.5, 0.9]), ("bias", [2.0, 1.5])):
        if g.maybe():
            a[key] = g.r.choice(values)
    return g.node("LRN", [v], v.dims, v.low, v.high, None, a)


@operator("MeanVarianceNormalization", 9, weight=0.4)
def mvn(g):
    v = g.tame(g.pick(ranks=(3, 4)), 50)
    if v is None:
        return None
    a = {}
    if v.rank != 4 or g.maybe():
        a["axes"] = sorted(g.r.sample(range(v.rank), g.r.randint(1, v.rank)))
    axes = a.get("axes", [0, 2, 3])
    if count([v.dims[i] for i in axes]) < 3:  # of two numbers only the signs are left
        return None
    b = bound_of_norm(v.count)
    return g.node("MeanVarianceNormalization", [v], v.dims, -b, b, None, a)


# ---- Softmax and reductions ----

def softmax(name, low, high):
    @operator(name, weight=0.8)
    def build(g):
        v = g.pick(fits=(lambda v: v.grid) if name == "Hardmax" else None)
        if v is None or not v.rank:
            return None
        v = g.tame(v, 40)
        written, _ = g.axis(v.rank)
        if g.opset < 11:
            written %= v.rank
        a = {} if g.maybe(0.3) else {"axis": written}
        axis = a.get("axis", -1 if g.opset >= 13 else 1)
        if not -v.rank <= axis < v.rank:
            return None
        row = [v.dims[axis]] if g.opset >= 13 else v.dims[axis % v.rank:]
        if count(row) == 1 and name != "Hardmax":
            return None  # all of them 1
        return g.node(name, [v], v.dims, low, high, None, a)


softmax("Softmax", 0, 1)
softmax("LogSoftmax", -90, 0)
softmax("Hardmax", 0, 1)


def reduce(name, weight=0.3):
    @operator(name, weight=weight)
    def build(g):
        v = g.pick()
        if v is None or not v.rank:
            return None
        r = g.r
        if name in ("ReduceLogSum",):
            v = g.within(v, 0.1, 5.0)
        elif name in ("ReduceSumSquare", "ReduceL2", "ReduceLogSumExp"):
            v = g.tame(v)
        elif name == "ReduceProd":
            v = g.within(v, 0.6, 1.5)
        axes = sorted(r.sample(range(v.rank), r.randint(1, v.rank)))
        every = g.maybe(0.12)
        noop = False
        if every:
            axes = list(range(v.rank))
        keep = r.choice([None, 0, 1])
        n = count([v.dims[i] for i in axes])
        if name == "ReduceProd" and n > 16:
            return None
        written = [x - v.rank if g.opset >= 11 and r.random() < 0.3 else x for x in axes]
        r.shuffle(written)
        a, inputs = {}, [v]
        if keep is not None:
            a["keepdims"] = keep
        if g.opset >= (13 if name == "ReduceSum" else 18):
            if not every:
                inputs.append(g.ints(written))
            elif g.maybe(0.4):
                a["noop_with_empty_axes"] = 1
                noop = True
                if g.maybe():
                    inputs.append(g.ints([]))
        elif not every:
            a["axes"] = written
        dims = list(v.dims) if noop else [1 if i in axes else d for i, d in enumerate(v.dims)
                                          if keep != 0 or i not in axes]
        b = v.bound
        if noop:
            n = 1
        low, high = {"ReduceMax": (v.low, v.high), "ReduceMin": (v.low, v.high), "ReduceMean": (v.low, v.high),
                     "ReduceSum": (-b * n, b * n), "ReduceL1": (0, b * n), "ReduceL2": (0, b * n),
                     "ReduceSumSquare": (0, b * b * n), "ReduceLogSum": (-3, 12), "ReduceLogSumExp": (-b, b + 9),
                     "ReduceProd": (0, 700)}[name]
        if max(abs(low), abs(high)) > 20000:
            return None
        return g.node(name, inputs, dims, low, high, v.grid if name in ("ReduceMax", "ReduceMin") else None, a)


for _name in ("ReduceMax", "ReduceMin", "ReduceMean", "ReduceSum", "ReduceL1", "ReduceL2", "ReduceSumSquare", "ReduceLogSum",
              "ReduceLogSumExp", "ReduceProd"):
    reduce(_name)


@operator("ArgMax", weight=0.3)
def arg(g):
    v = g.pick(fits=lambda v: v.grid and v.rank)
    if v is None:
        return None
    name = g.r.choice(["ArgMax", "ArgMin"])
    written, axis = g.axis(v.rank)
    if g.opset < 11:
        written = axis
    a = {}
    if written or g.maybe():
        a["axis"] = written
    keep = g.r.choice([None, 0, 1])
    if keep is not None:
        a["keepdims"] = keep
    if g.opset >= 12 and g.maybe(0.3):
        a["select_last_index"] = 1
    dims = [1 if i == axis else d for i, d in enumerate(v.dims) if keep != 0 or i != axis]
    y = g.node(name, [v], dims, 0, 9, None, a, kind="int64", keep=False)
    g.final.append(y)
    return y


@operator("CumSum", 11, weight=0.4)
def cum_sum(g):
    v = g.tame(g.pick())
    if v is None or not v.rank:
        return None
    written, axis = g.axis(v.rank)
    a = {}
    if g.maybe(0.4):
        a["exclusive"] = 1
    if g.maybe(0.4):
        a["reverse"] = 1
    b = v.bound * v.dims[axis]
    return g.node("CumSum", [v, g.tensor([], [written], g.r.choice(["int64", "int32"]))], v.dims, -b, b, None, a)


# ---- recurrent ----

def recurrent(name, gates, weight=0.25):
    @operator(name, weight=weight)
    def build(g):
        v = g.tame(g.pick(ranks=(3,)), 3.0)
        if v is None or v.dims[0] * v.dims[1] > 40:
            return None
        r = g.r
        t, b, i = v.dims
        layout = g.opset >= 14 and g.maybe(0.15)
        if layout:
            t, b = b, t
        h = r.choice([1, 2, 3, 4, 5])
        direction = r.choice(["forward", "forward", "reverse", "bidirectional"])
        d = 2 if direction == "bidirectional" else 1
        inputs = [v, g.uniform([d, gates * h, i], -0.7, 0.7), g.uniform([d, gates * h, h], -0.7, 0.7)]
        inputs.append(g.uniform([d, 2 * gates * h], -0.5, 0.5) if g.maybe(0.6) else "")
        inputs.append(g.ints([r.randint(1, t) for _ in range(b)], "int32") if g.maybe(0.15) else "")
        state = [b, d, h] if layout else [d, b, h]
        inputs.append(g.uniform(state, -0.5, 0.5) if g.maybe(0.4) else "")
        a = {"hidden_size": h}
        if direction != "forward":
            a["direction"] = direction
        if layout:
            a["layout"] = 1
        if name == "LSTM":
            inputs.append(g.uniform(state, -0.5, 0.5) if g.maybe(0.4) else "")
            inputs.append(g.uniform([d, 3 * h], -0.5, 0.5) if g.maybe(0.3) else "")
            if g.maybe(0.15):
                a["input_forget"] = 1
        if name == "GRU" and g.maybe(0.5):
            a["linear_before_reset"] = 1
        if g.maybe(0.25):
            per = {"RNN": 1, "GRU": 2, "LSTM": 3}[name]
            a["activations"] = [r.choice(["Tanh", "Sigmoid", "Relu", "Softsign", "HardSigmoid"]) for _ in range(per * d)]
            if "HardSigmoid" in a["activations"]:
                a["activation_alpha"] = [0.2] * a["activations"].count("HardSigmoid")
                a["activation_beta"] = [0.5] * a["activations"].count("HardSigmoid")
        if g.maybe(0.15):
            a["clip"] = 0.8
        outs = [Value(g.fresh(), [b, t, d, h] if layout else [t, d, b, h], -40, 40),
                Value(g.fresh(), state, -40, 40), Value(g.fresh(), state, -40, 40)][:3 if name == "LSTM" else 2]
        shown = r.choice([[0], [0, 1], [1], list(range(len(outs)))])
        names = [o.name if k in shown else "" for k, o in enumerate(outs)]
        while names and not names[-1]:
            names.pop()
        while inputs[-1] == "":
            inputs.pop()
        g.raw(name, inputs, names, a)
        g.values += [outs[k] for k in shown]
        return outs[shown[0]]


recurrent("RNN", 1)
recurrent("GRU", 3)
recurrent("LSTM", 4)
