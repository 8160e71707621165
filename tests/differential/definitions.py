"""Operators by their definitions, in float64, with the ways in which ONNX Runtime departs from them as switches.

A tensor is (dims, elements in order). A result is a list of sets: what an element may be. There is one number in it,
but where the definition asks which of two elements is nearer and they are equally near: then both are.
"""

import math
from itertools import product

from generate import count

HALF_STEP = 2.0 ** -22  # of the terms of a position: what float32 arithmetic may lose of them


def strides(dims):
    return [count(dims[i + 1:]) for i in range(len(dims))]


def positions(dims):
    return product(*[range(d) for d in dims])


# ---- Resize ----

class Axis:
    """How one axis is resized. departures: names of _resize's switches."""

    def __init__(self, n, to, scale, start, end, a, departures):
        self.n, self.to, self.scale, self.start, self.end, self.a = n, to, scale, start, end, a
        self.transform = a.get("coordinate_transformation_mode", "half_pixel")
        self.departures = departures
        self.same = to == n and scale == 1 and (start, end) == (0.0, 1.0)
        if "same length" in departures and to == n:
            self.same = True

    def source(self, i):
        """(position, the largest term that it is a sum of)"""
        n, to, s, t = self.n, self.to, self.scale, self.transform
        length = to if "whole length" in self.departures else s * n
        if t == "half_pixel" or (t == "pytorch_half_pixel" and to > 1):
            return (i + 0.5) / s - 0.5, (i + 0.5) / s
        if t == "half_pixel_symmetric":
            center = n / 2
            return center * (1 - to / (s * n)) + (i + 0.5) / s - 0.5, center + (i + 0.5) / s
        if t == "align_corners":
            return (0.0 if length == 1 else i * (n - 1) / (length - 1)), i * (n - 1.0)
        if t == "asymmetric":
            return i / s, i / s
        if t == "tf_crop_and_resize":
            if to > 1:
                return self.start * (n - 1) + i * (self.end - self.start) * (n - 1) / (to - 1), n * (abs(self.start) + abs(self.end))
            return 0.5 * (self.start + self.end) * (n - 1), n * (abs(self.start) + abs(self.end))
        return 0.0, 0.0

    def outside(self, i):
        """Whether position i takes the extrapolation value: a set of answers."""
        if self.transform != "tf_crop_and_resize" or self.same:
            return {False}
        x, terms = self.source(i)
        step = HALF_STEP * (terms + 1)
        return {not 0 <= y <= self.n - 1 for y in (x - step, x, x + step)}

    def nearest(self, i):
        """The elements that may be the nearest: one, or two at a tie."""
        if self.same:
            return {i}
        x, terms = self.source(i)
        step = HALF_STEP * (terms + 1)
        rounds = {"round_prefer_floor": lambda y: math.ceil(y - 0.5), "round_prefer_ceil": lambda y: math.floor(y + 0.5),
                  "floor": math.floor, "ceil": math.ceil}[self.a.get("nearest_mode", "round_prefer_floor")]
        return {min(max(rounds(y), 0), self.n - 1) for y in (x - step, x, x + step)}

    def taps(self, i):
        """[(element, weight)]"""
        if self.same:
            return [(i, 1.0)]
        x, _ = self.source(i)
        low, a, cubic = math.floor(x), self.a.get("cubic_coeff_a", -0.75), self.a["mode"] == "cubic"
        stretch = min(self.scale, 1.0) if self.a.get("antialias") else 1.0
        first = math.floor((-2 if cubic else -1) / stretch) + 1

        def weight(d):
            d = abs(d) * stretch
            if not cubic:
                return max(0.0, 1 - d)
            return ((a + 2) * d - (a + 3)) * d * d + 1 if d <= 1 else ((a * d - 5 * a) * d + 8 * a) * d - 4 * a if d < 2 else 0.0
        found = [(k, weight(x - k)) for k in range(low + first, low + 2 - first)]
        if self.a.get("exclude_outside"):
            found = [(k, w) for k, w in found if 0 <= k < self.n]
        total = sum(w for _, w in found)
        found = [(k, w / total) for k, w in found]
        return [(min(max(k, 0), self.n - 1), w) for k, w in found]


def resize_axes(x, y_dims, roi, scales, a, departures):
    """[Axis] of a Resize from dims x to y_dims. scales: empty, or as the node has them."""
    axes = [i % len(x) for i in a.get("axes", range(len(x)))]
    found = []
    for i, n in enumerate(x):
        k = axes.index(i) if i in axes else None
        scale = scales[k] if scales and k is not None else y_dims[i] / n
        start, end = (roi[k], roi[len(axes) + k]) if roi and k is not None else (0.0, 1.0)
        found.append(Axis(n, y_dims[i], scale, start, end, a, departures))
    return found


def kept_ratio(x, sizes, a):
    """(dims, scales) of a Resize whose sizes are limits: one scale for all its axes."""
    axes = [i % len(x) for i in a.get("axes", range(len(x)))]
    ratios = [s / x[i] for s, i in zip(sizes, axes)]
    scale = min(ratios) if a["keep_aspect_ratio_policy"] == "not_larger" else max(ratios)
    dims = list(x)
    for i in axes:
        dims[i] = math.floor(scale * x[i] + 0.5 + 1e-9)
    return dims, [scale] * len(axes)


def resize(x, y_dims, roi, scales, a, departures=()):
    """The result as sets."""
    dims, data = x
    axes = resize_axes(dims, y_dims, roi, scales, a, departures)
    step, found = strides(dims), []
    nearest = a.get("mode", "nearest") == "nearest"
    if nearest:
        tables = [[b.nearest(i) for i in range(b.to)] for b in axes]
    else:
        tables = [[b.taps(i) for i in range(b.to)] for b in axes]
    beyond = [[b.outside(i) for i in range(b.to)] for b in axes]
    for at in positions(y_dims):
        values = set()
        outside = [beyond[k][i] for k, i in enumerate(at)]
        if any(True in o for o in outside):
            values.add(a.get("extrapolation_value", 0.0))
        if not any(o == {True} for o in outside):
            chosen = [tables[k][i] for k, i in enumerate(at)]
            if nearest:
                values |= {data[sum(k * s for k, s in zip(taps, step))] for taps in product(*chosen)}
            else:
                total = 0.0
                for taps in product(*chosen):
                    w = 1.0
                    for _, v in taps:
                        w *= v
                    total += w * data[sum(k * s for (k, _), s in zip(taps, step))]
                values.add(total)
        found.append(values)
    return found


# ---- GridSample, AffineGrid ----

def grid_sample_cubic(x, grid, padding, corners, clamp_first):
    """GridSample of 4 axes with mode cubic; clamp_first: positions outside are moved inside before their neighbours are
    looked for (reflection and border)."""
    (n, c, h, w), data = x
    (_, oh, ow, _), g = grid
    found = []

    def reflect(p, low, high):
        span = high - low
        if span == 0:
            return low
        p = abs(p - low) % (2 * span)
        return low + (2 * span - p if p > span else p)

    def inside(p, size):
        low, high = (0.0, size - 1.0) if corners else (-0.5, size - 0.5)
        if padding == "zeros" or low <= p <= high:
            return p
        return min(max(p, 0.0), size - 1.0) if padding == "border" else reflect(p, low, high)

    def weights(t, a=-0.75):
        def far(d):
            return ((a * d - 5 * a) * d + 8 * a) * d - 4 * a

        def near(d):
            return ((a + 2) * d - (a + 3)) * d * d + 1
        return [far(t + 1), near(t), near(1 - t), far(2 - t)]

    for b, ch, i, j in positions([n, c, oh, ow]):
        at = ((b * oh + i) * ow + j) * 2
        p = [(v + 1) / 2 * (size - 1) if corners else ((v + 1) * size - 1) / 2 for v, size in ((g[at], w), (g[at + 1], h))]
        if clamp_first:
            p = [inside(v, size) for v, size in zip(p, (w, h))]
        px, py = p
        x0, y0 = math.floor(px), math.floor(py)
        total = 0.0
        for wy, ky in zip(weights(py - y0), range(y0 - 1, y0 + 3)):
            for wx, kx in zip(weights(px - x0), range(x0 - 1, x0 + 3)):
                qx, qy = kx, ky
                if padding != "zeros":
                    qx, qy = int(inside(kx, w)), int(inside(ky, h))
                    qx, qy = min(max(qx, 0), w - 1), min(max(qy, 0), h - 1)
                elif not (0 <= kx < w and 0 <= ky < h):
                    continue
                total += wx * wy * data[((b * c + ch) * h + qy) * w + qx]
        found.append({total})
    return found


def affine_grid(theta, size, corners, single):
    """single: the position of an axis of one element with align_corners."""
    t = theta[1]
    _, _, h, w = size

    def line(n):
        if corners:
            return [single] if n == 1 else [-1 + 2 * i / (n - 1) for i in range(n)]
        return [(2 * i + 1) / n - 1 for i in range(n)]
    found = []
    for b in range(size[0]):
        m = t[b * 6:b * 6 + 6]
        for y in line(h):
            for x in line(w):
                found += [{m[0] * x + m[1] * y + m[2]}, {m[3] * x + m[4] * y + m[5]}]
    return found


# ---- pools and norms ----

def pool_same(op, x, y_dims, a, negative):
    """LpPool, AveragePool or MaxPool with auto_pad SAME_*, without dilations; negative: padding may be below 0, as the
    difference of lengths has it."""
    dims, data = x
    p, kernel = a.get("p", 2), a["kernel_shape"]
    stride = a.get("strides", [1] * len(kernel))
    begin = []
    for n, o, k, s in zip(dims[2:], y_dims[2:], kernel, stride):
        total = (o - 1) * s + k - n
        if not negative:
            total = max(total, 0)
        begin.append(int(total / 2) if a["auto_pad"] == "SAME_UPPER" else total - int(total / 2))
    step, found = strides(dims), []
    for at in positions(y_dims):
        numbers = []
        for tap in positions(kernel):
            q = [o * s + t - b for o, s, t, b in zip(at[2:], stride, tap, begin)]
            if all(0 <= v < n for v, n in zip(q, dims[2:])):
                numbers.append(data[sum(i * s for i, s in zip(list(at[:2]) + q, step))])
        if op == "LpPool":
            found.append({sum(abs(v) ** p for v in numbers) ** (1 / p)})
        elif op == "MaxPool":
            found.append({max(numbers, default=-math.inf)})
        else:
            found.append({sum(numbers) / max(1, count(kernel) if a.get("count_include_pad") else len(numbers))})
    return found


def max_pool(x, y_dims, a):
    """The maxima, of explicit pads; -inf where a window has no element."""
    dims, data = x
    kernel, nd = a["kernel_shape"], len(a["kernel_shape"])
    stride, dilation, begin = a.get("strides", [1] * nd), a.get("dilations", [1] * nd), a.get("pads", [0] * 2 * nd)[:nd]
    step, found = strides(dims), []
    for at in positions(y_dims):
        most = -math.inf
        for tap in positions(kernel):
            q = [o * s + t * d - b for o, s, t, d, b in zip(at[2:], stride, tap, dilation, begin)]
            if all(0 <= v < n for v, n in zip(q, dims[2:])):
                most = max(most, data[sum(i * s for i, s in zip(list(at[:2]) + q, step))])
        found.append(most)
    return found


def groups(dims, axes):
    """Lists of element numbers that are normalised together, one a list."""
    step, kept = strides(dims), [i for i in range(len(dims)) if i not in axes]
    for outer in positions([dims[i] for i in kept]):
        base = sum(i * step[k] for i, k in zip(outer, kept))
        yield [base + sum(i * step[k] for i, k in zip(inner, axes)) for inner in positions([dims[i] for i in axes])]


def moments(numbers):
    """Mean, and the mean of squared deviations from it."""
    mean = math.fsum(numbers) / len(numbers)
    return mean, math.fsum((v - mean) ** 2 for v in numbers) / len(numbers)


def log_softmax(x, axes):
    """[(element, log of the sum, the row's maximum)] by element number."""
    dims, data = x
    found = [None] * len(data)
    for row in groups(dims, axes):
        most = max(data[i] for i in row)
        log = math.log(math.fsum(math.exp(data[i] - most) for i in row))
        for i in row:
            found[i] = (data[i] - most - log, log, most)
    return found


def lrn(x, a):
    """LRN over axis 1."""
    dims, data = x
    size, alpha, beta, bias = a["size"], a.get("alpha", 1e-4), a.get("beta", 0.75), a.get("bias", 1.0)
    channels, inner, found = dims[1], count(dims[2:]), []
    for i, v in enumerate(data):
        c = i // inner % channels
        near = range(max(0, c - (size - 1) // 2), min(channels - 1, c + size // 2) + 1)
        total = math.fsum(data[i + (k - c) * inner] ** 2 for k in near)
        found.append({v / (bias + alpha / size * total) ** beta})
    return found


def swish(x, a):
    return [{v / (1 + math.exp(-a.get("alpha", 1.0) * v))} for v in x[1]]


# ---- attention ----

def attention(n, offset):
    """Attention's first result. n: the node's operands and attributes (differences.Node); offset(past, keys, queries):
    how far after its own number a causal query sees."""
    a = n.a
    (dims, q), (k_dims, k), (v_dims, v) = n.x, n.operand(1)[1:], n.operand(2)[1:]
    flat = len(dims) == 3
    if flat:
        heads, kv, batch, queries, keys = a["q_num_heads"], a["kv_num_heads"], dims[0], dims[1], k_dims[1]
        size, width = dims[2] // heads, v_dims[2] // kv
    else:
        batch, heads, queries, size = dims
        kv, keys, width = k_dims[1], k_dims[2], v_dims[3]

    def at(data, lengths, b, h, t, i):
        count_, length, wide = lengths
        return data[((b * length + t) * count_ + h) * wide + i] if flat else data[((b * count_ + h) * length + t) * wide + i]
    past = n.operand(4)[1][2] if n.operand(4) else 0
    valid, total = n.numbers(6), past + keys

    def cached(old, new, b, h, t, i, wide):
        if t < past:
            return old[((b * kv + h) * past + t) * wide + i]
        return at(new, (kv, keys, wide), b, h, t - past, i)
    mask = n.operand(3)
    scale, cap = a.get("scale", size ** -0.5), a.get("softcap", 0.0)
    found = [None] * (batch * heads * queries * width)
    for b in range(batch):
        for h in range(heads):
            g = h // (heads // kv)
            for t in range(queries):
                row = []
                for j in range(total):
                    s = scale * math.fsum(at(q, (heads, queries, size), b, h, t, i) * cached(n.numbers(4), k, b, g, j, i, size) for i in range(size))
                    s = cap * math.tanh(s / cap) if cap > 0 else s
                    if mask:
                        kind, m_dims, m = mask
                        full, where = [1] * (4 - len(m_dims)) + list(m_dims), [b, h, t, j]
                        if j >= full[3]:
                            s = -math.inf
                        else:
                            i = sum(min(w, d - 1) * p for w, d, p in zip(where, full, strides(full)))
                            s = s + m[i] if kind != "bool" else s if m[i] else -math.inf
                    if (a.get("is_causal") and j > t + offset(past, keys, queries)) or (valid and j >= valid[b]):
                        s = -math.inf
                    row.append(s)
                most = max(row)
                e = [math.exp(s - most) if most > -math.inf else 0.0 for s in row]
                total_e = math.fsum(e) or 1.0
                for i in range(width):
                    y = math.fsum(w / total_e * cached(n.numbers(5), v, b, g, j, i, width) for j, w in enumerate(e))
                    found[((b * queries + t) * heads + h) * width + i if flat else ((b * heads + h) * queries + t) * width + i] = {y}
    return found
