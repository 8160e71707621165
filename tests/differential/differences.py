"""Where ONNX Runtime (1.30, CPU) answers otherwise than the operators' definitions say, and where 16 bits carry nothing.

    explain(d, part, tools)    the reasons why the outputs of description d differ in that part; None: nobody knows

A reason is found at a node and has to stand three tests. The node's rule computes its definition in float64
(definitions.py) from the operands that it was given, and the runtime's result has to be what one named departure from
that gives; the compiler's own result, for the same operands, has to be the definition. And with these nodes cut out of
the model, their results given as inputs, nothing may differ any more.

`tools` runs things: values(d) gives the runtime's numbers of all values by name, as (type, dims, elements);
reference(d) the reference engine's outputs in the same form; verdict(d, part) what comparing d in that part says.
"""

import math

import definitions
from definitions import groups, moments
from generate import count

ULP = 2.0 ** -24  # a rounding of float32, in parts of the number
CLOSE = 1e-5


def close(numbers, sets):
    """Whether each number is near one of those that it may be."""
    largest = max([abs(v) for s in sets for v in s if math.isfinite(v)], default=0.0)
    return len(numbers) == len(sets) and all(any(abs(x - v) <= CLOSE * (largest + abs(v)) for v in s) for x, s in zip(numbers, sets))


def tensors_of(d):
    """Names of what the nodes give, sequences left out: they cannot be outputs."""
    return list(dict.fromkeys(name for node in d["nodes"] for name in node[2] if name and (
        not node[0].startswith("Sequence") or node[0] in ("SequenceAt", "SequenceLength")) and node[0] != "SplitToSequence"))


class Node:
    """A node with the numbers of its operands and of its first result."""

    def __init__(self, node, values, d, tools):
        self.op, self.a, self.tools, self.d = node[0], node[3], tools, d
        self.inputs, self.outputs = list(node[1]) + [""] * 8, node[2]
        self.node = node
        self.values = values

    def operand(self, i):
        """(type, dims, elements), or None where it is left out."""
        return self.values.get(self.inputs[i]) if self.inputs[i] else None

    def numbers(self, i):
        found = self.operand(i)
        return found[2] if found else []

    @property
    def x(self):
        return self.operand(0)[1:]

    @property
    def y(self):
        return self.values[self.outputs[0]][1:]

    def own(self):
        """What the reference engine makes of these operands: all results, as (type, dims, elements)."""
        if not hasattr(self, "_own"):
            named = list(dict.fromkeys(i for i in self.node[1] if i))
            computed = self.tools.computed(self.d)
            rows = {name: [name] + list(self.values[name]) for name in named}
            self._own = self.tools.reference({
                "opset": self.d["opset"], "ir": self.d["ir"], "inputs": [rows[n] for n in named if n in computed],
                "tensors": [rows[n] for n in named if n not in computed], "nodes": [self.node],
                "outputs": [[o, None, None] for o in self.outputs if o]})
        return self._own

    def own_is(self, sets):
        found = self.own()
        return found is not None and close(found[0][2], sets)


# ---- ONNX Runtime ----

def _resize(n):
    a, (x, data) = n.a, n.x
    roi, scales, sizes = n.numbers(1), n.numbers(2), n.numbers(3)
    if n.d["opset"] < 11 or n.op == "Upsample":
        return None
    own = n.own()
    if own is None:
        return None
    roi = roi if a.get("coordinate_transformation_mode") == "tf_crop_and_resize" else []
    dims, used = own[0][1], scales
    if a.get("keep_aspect_ratio_policy", "stretch") != "stretch" and sizes:
        dims, used = definitions.kept_ratio(x, sizes, a)
        if dims != own[0][1]:
            return None
    sets = definitions.resize((x, data), dims, roi, used, a)
    if not n.own_is(sets):
        return None
    if n.y[0] == dims and close(n.y[1], sets):
        ties = any(len(s) > 1 and abs(p - q) > CLOSE * abs(q) for s, p, q in zip(sets, n.y[1], own[0][2]))
        return "Resize, nearest: rounds an exact tie in float32 to its other neighbour" if ties else None
    departures = {
        "whole length": "Resize, align_corners by scales: takes the output's whole length (onnx's "
                        "resize_downsample_scales_*_align_corners want the fraction)",
        "same length": "Resize: copies an axis whose length stays as it is, whatever its scale or region",
        "stretch": "Resize, keep_aspect_ratio_policy with axes counted from the end: leaves those as they are"}
    for chosen in (["whole length"], ["same length"], ["whole length", "same length"], ["stretch"]):
        y_dims, given = dims, used
        if "stretch" in chosen:
            if not any(i < 0 for i in a.get("axes", [])):
                continue
            y_dims, given = n.y[0], []
        if n.y[0] != y_dims:
            continue
        if close(n.y[1], definitions.resize((x, data), y_dims, roi, given, a, chosen)):
            return "; ".join(departures[c] for c in chosen)
    return None


def _grid_sample(n):
    padding = n.a.get("padding_mode", "zeros")
    if n.a.get("mode") not in ("cubic", "bicubic") or padding == "zeros" or len(n.x[0]) != 4:
        return None
    sets = [definitions.grid_sample_cubic(n.x, n.operand(1)[1:], padding, n.a.get("align_corners"), first) for first in (True, False)]
    if n.own_is(sets[0]) and close(n.y[1], sets[1]):
        return "GridSample, cubic: does not move positions outside onto the border first (onnx's reference implementation does)"
    return None


def _affine_grid(n):
    size = n.numbers(1)
    if not n.a.get("align_corners") or len(size) != 4 or 1 not in size[2:]:
        return None
    sets = [definitions.affine_grid(n.x, size, True, single) for single in (-1.0, 1.0)]
    if n.own_is(sets[0]) and close(n.y[1], sets[1]):
        return "AffineGrid, align_corners of one position: 1 (onnx's reference implementation begins at -1)"
    return None


def _pool(n):
    auto = n.a.get("auto_pad", "NOTSET")
    if auto.startswith("SAME") and all(d == 1 for d in n.a.get("dilations", [])):
        sets = [definitions.pool_same(n.op, n.x, n.y[0], n.a, negative) for negative in (False, True)]
        if n.own_is(sets[0]) and close(n.y[1], sets[1]):
            return "%s, SAME with strides beyond the kernel: pads by a negative number" % n.op
    if n.op == "MaxPool" and auto == "NOTSET" and n.own():
        sets = definitions.max_pool(n.x, n.own()[0][1], n.a)
        lowest = [v if v > -math.inf else -3.4028234663852886e38 for v in sets]
        if n.y[0] == n.own()[0][1] and n.own()[0][2] == sets and n.y[1] == lowest:
            return "MaxPool of a window without elements: the lowest float32 (the maximum of nothing is -inf)"
    return None


def _mean_variance(n):
    """The function body subtracts the squared mean from the mean of squares."""
    (dims, x), y = n.x, n.y[1]
    axes = n.a.get("axes", [0, 2, 3])
    expected, lost = [None] * len(x), False
    for group in groups(dims, [i % len(dims) for i in axes]):
        mean, variance = moments([x[i] for i in group])
        squares = math.fsum(x[i] ** 2 for i in group) / len(group)
        error = 2 * (len(group) + 2) * ULP * squares  # of the difference of the two means
        for i in group:
            expected[i] = {(x[i] - mean) / (math.sqrt(variance) + 1e-9)}
            if variance <= 4 * error:
                lost = lost or math.isnan(y[i]) or abs(y[i] - min(expected[i])) > CLOSE
            else:
                bound = abs(min(expected[i])) * error / variance + ((len(group) + 2) * ULP * (abs(mean) + abs(x[i]))) / math.sqrt(variance)
                if not abs(y[i] - min(expected[i])) <= bound + CLOSE:
                    return None
    if lost and n.own_is(expected):
        return "MeanVarianceNormalization: E[x^2] - E[x]^2 in float32 loses what is left of nearly equal elements (NaN where below 0)"
    return None


def _norm(n, rows, scale_of, bias_of, why, squares=False):
    """A norm of rows (lists of element numbers), each element then times scale_of(i) plus bias_of(i): as far from the
    definition as the rounding of two terms that nearly cancel, of the mean, and of the deviation's sum goes. squares: the
    variance is a difference of squares."""
    x, y, epsilon = n.x[1], n.y[1], n.a.get("epsilon", 1e-5)
    expected, differs = [None] * len(x), False
    for row in rows:
        mean, variance = moments([x[i] for i in row])
        off = (len(row) + 2) * ULP * max(abs(x[i]) for i in row)  # of the mean
        error = 2 * (len(row) + 2) * ULP * math.fsum(x[i] ** 2 for i in row) / len(row) if squares else off * off
        for i in row:
            a = scale_of(i) / math.sqrt(variance + epsilon)
            plain = (x[i] - mean) * a
            expected[i] = {plain + bias_of(i)}
            bound = abs(a) * (off + 4 * ULP * (abs(x[i]) + abs(mean))) + 4 * ULP * abs(bias_of(i)) \
                + abs(plain) * (error / (2 * (variance + epsilon)) + (len(row) + 4) * ULP)
            if not abs(y[i] - min(expected[i])) <= bound:
                return None
            differs = differs or abs(y[i] - min(expected[i])) > CLOSE * abs(min(expected[i]))
    return "%s: %s" % (n.op, why) if differs and n.own_is(expected) else None


def _instance(n):
    dims, scale, bias = n.x[0], n.numbers(1), n.numbers(2)
    inner = count(dims[2:])
    return _norm(n, groups(dims, list(range(2, len(dims)))), lambda i: scale[i // inner % dims[1]], lambda i: bias[i // inner % dims[1]],
                 "x * a + (B - mean * a) in float32 loses what is left of nearly equal elements")


def _group(n):
    dims, scale, bias = n.x[0], n.numbers(1), n.numbers(2)
    inner = count(dims[2:]) * (dims[1] // len(scale))  # a group's or a channel's elements
    return _norm(n, groups(*_grouped(n, dims)), lambda i: scale[i // inner % len(scale)], lambda i: bias[i // inner % len(scale)],
                 "E[x^2] - E[x]^2 in float32 loses what is left of nearly equal elements", True)


def _window(n):
    """Cosines that cancel."""
    size, terms = n.numbers(0)[0], {"HannWindow": (0.5, 0.5, 0.0), "HammingWindow": (25 / 46, 21 / 46, 0.0), "BlackmanWindow": (0.42, 0.5, 0.08)}[n.op]
    length = size if n.a.get("periodic", 1) else size - 1
    expected = [terms[0] - terms[1] * math.cos(2 * math.pi * i / length) + terms[2] * math.cos(4 * math.pi * i / length) for i in range(size)]
    own = n.own()
    if own and all(abs(v - e) <= 2 * ULP * max(abs(e), 1e-9) for v, e in zip(own[0][2], expected)) \
            and all(abs(v - e) <= 4 * ULP for v, e in zip(n.y[1], expected)) and any(abs(v - e) > CLOSE * abs(e) for v, e in zip(n.y[1], expected)):
        return "%s: its cosines in float32 do not cancel" % n.op
    return None


def _log_softmax(n):
    """x - maximum - log(sum): what is left where one element outweighs the others is the sum's rounding."""
    (dims, x), y = n.x, n.y[1]
    axis = n.a.get("axis", -1 if n.d["opset"] >= 13 else 1) % len(dims)
    axes = [axis] if n.d["opset"] >= 13 else list(range(axis, len(dims)))
    rows, differs = definitions.log_softmax((dims, x), axes), False
    terms = count([dims[i] for i in axes])
    for i, (expected, log, most) in enumerate(rows):
        bound = ULP * (abs(x[i] - most) + abs(log) + 2 * terms)
        if not abs(y[i] - expected) <= bound:
            return None
        differs = differs or abs(y[i] - expected) > CLOSE * abs(expected)
    own = n.own()
    if differs and own and all(abs(v - r[0]) <= CLOSE * abs(r[0]) for v, r in zip(own[0][2], rows)):
        return "LogSoftmax: 1 + what the smaller elements add, rounded to float32, is all that their logarithm knows"
    return None


def _elementwise(function, bound, why):
    """bound(x, y): how far float32 may be from y = function(x), by the magnitudes of what cancels."""
    def rule(n):
        x, y = n.x[1], n.y[1]
        expected, differs = [function(v) for v in x], False
        for v, have, want in zip(x, y, expected):
            if not abs(have - want) <= bound(v, want):
                return None
            differs = differs or abs(have - want) > CLOSE * abs(want)
        own = n.own()
        if differs and own and all(abs(have - want) <= CLOSE * abs(want) for have, want in zip(own[0][2], expected)):
            return "%s: %s" % (n.op, why)
        return None
    return rule


def _attention(n):
    if len(n.outputs) > 3 and n.own() and all(n.outputs):
        shown, own = n.values[n.outputs[3]][2], n.own()[3][2]
        out = [k for k, v in enumerate(own) if v == -math.inf]
        if out and all(shown[k] <= -1e38 for k in out) and close([v for v in shown if v > -1e38], [{v} for v in own if v > -math.inf]):
            return "Attention, qk_matmul_output_mode 2: what is masked is a large negative number, not -inf"
    if not n.a.get("is_causal") or not n.operand(4):
        return None
    sets = [definitions.attention(n, lambda past, *_: past), definitions.attention(n, lambda past, keys, *_: past + keys)]
    if n.own_is(sets[0]) and close(n.y[1], sets[1]):
        return "Attention, is_causal with a cache: a single query sees all the new keys, not only its own (onnx's reference implementation)"
    return None


RUNTIME = {"GroupNormalization": _group, "HannWindow": _window, "HammingWindow": _window, "BlackmanWindow": _window,
           "Attention": _attention, "MaxPool": _pool, "AveragePool": _pool,
           "Sigmoid": _elementwise(lambda x: 1 / (1 + math.exp(-x)) if x > -700 else 0.0, lambda x, y: 2 * ULP,
                                   "1/2 and what is added to it in float32 lose what is left of a small result"),
           "Resize": _resize, "GridSample": _grid_sample, "AffineGrid": _affine_grid, "LpPool": _pool,
           "MeanVarianceNormalization": _mean_variance, "InstanceNormalization": _instance, "LogSoftmax": _log_softmax}


# ---- kernels ----

def half_step(x):
    """The distance from one 16-bit float to the next, of x's magnitude."""
    return 2.0 ** (max(math.floor(math.log2(x)), -14) - 10) if x else 2.0 ** -24


def _flat(axes_of):
    """A norm of numbers that differ by less than their 16-bit steps: nothing of them is left in 16 bits."""
    def rule(n):
        dims, x = n.x
        for group in groups(*axes_of(n, dims)):
            numbers = [x[i] for i in group]
            _, variance = moments(numbers)
            if len(group) > 1 and math.sqrt(variance) < half_step(max(map(abs, numbers))):
                return "%s of numbers whose deviation is below their 16-bit step" % n.op
        return None
    return rule


def _difference(n):
    """Numbers that agree in 16 bits: what is left of them after one was held in 16 bits is its rounding."""
    x, y = n.operand(0), n.operand(1)
    if x[0] != "float" or not n.y[1]:
        return None
    step = half_step(max(map(abs, x[2] + y[2])))
    return "%s of numbers that agree to a 16-bit step" % n.op if max(map(abs, n.y[1])) <= step else None


def _grouped(n, dims):
    g = n.a["num_groups"]
    return [dims[0] * g, count(dims) // (dims[0] * g)], [1]


KERNELS = {"Sub": _difference, "Add": _difference,
           "MeanVarianceNormalization": _flat(lambda n, dims: (dims, [i % len(dims) for i in n.a.get("axes", [0, 2, 3])])),
           "InstanceNormalization": _flat(lambda n, dims: (dims, list(range(2, len(dims))))),
           "LayerNormalization": _flat(lambda n, dims: (dims, list(range(n.a.get("axis", -1) % len(dims), len(dims))))),
           "GroupNormalization": _flat(_grouped)}


# ---- where no runtime answers ----

def _resized(n):
    own, a = n.own(), n.a
    if n.d["opset"] < 11 or not own or (a.get("keep_aspect_ratio_policy", "stretch") != "stretch" and n.numbers(3)):
        return None
    roi = n.numbers(1) if a.get("coordinate_transformation_mode") == "tf_crop_and_resize" else []
    return definitions.resize(n.x, own[0][1], roi, n.numbers(2), a)


def _pooled(n):
    own, auto = n.own(), n.a.get("auto_pad", "NOTSET")
    if own and auto.startswith("SAME") and all(d == 1 for d in n.a.get("dilations", [])):
        return definitions.pool_same(n.op, n.x, own[0][1], n.a, False)
    if own and n.op == "MaxPool" and auto == "NOTSET":
        return [{v} for v in definitions.max_pool(n.x, own[0][1], n.a)]
    return None


def _attended(n):
    valid = n.numbers(6)
    return definitions.attention(n, lambda past, keys, queries: valid[0] - queries if valid else past)


DEFINED = {"Attention": _attended, "Resize": _resized, "MaxPool": _pooled, "AveragePool": _pooled, "LpPool": _pooled,
           "LRN": lambda n: definitions.lrn(n.x, n.a), "Swish": lambda n: definitions.swish(n.x, n.a)}


def check(d, tools):
    """Compares the reference with the definitions, node by node: ("ok" or "FAIL", detail); None where there are none."""
    if not any(node[0] in DEFINED for node in d["nodes"]):
        return None
    names = tensors_of(d)
    found = tools.reference(dict(d, outputs=[[name, None, None] for name in names]))
    if found is None:
        return None
    values = dict(tools.given(d), **dict(zip(names, found)))
    checked = 0
    for node in d["nodes"]:
        if node[0] not in DEFINED or values[node[2][0]][0] != "float":
            continue
        sets = DEFINED[node[0]](Node(node, values, d, tools))
        if sets is None:
            continue
        checked += 1
        numbers = values[node[2][0]][2]
        if not close([v for v in numbers if math.isfinite(v)], [s for v, s in zip(numbers, sets) if math.isfinite(v)]) or \
                any(v not in s for v, s in zip(numbers, sets) if math.isinf(v)):
            return "FAIL", "%s of %s is not what the definition says" % (node[0], node[2][0])
    return ("ok", "%d nodes" % checked) if checked else None


# ---- the whole ----

def cut(d, nodes, results):
    """d without nodes: results (name -> (type, dims, elements)) are inputs. Outputs that nothing computes any more go."""
    gone = {id(n) for n in nodes}
    rest = [n for n in d["nodes"] if id(n) not in gone]
    made = {o for n in rest for o in n[2]}
    inputs = d["inputs"] + [[name] + list(found) for name, found in results.items()]
    return dict(d, nodes=rest, inputs=inputs, outputs=[o for o in d["outputs"] if o[0] in made])


def explain(d, part, tools):
    rules = {"onnxruntime": RUNTIME, "kernels": KERNELS}.get(part)
    if not rules or not any(node[0] in rules for node in d["nodes"]):
        return None
    values = tools.values(d)
    if values is None:
        return None
    reasons, nodes, results = [], [], {}
    for node in d["nodes"]:
        rule = rules.get(node[0])
        n = Node(node, values, d, tools)
        why = rule and node[2][0] in values and rule(n)
        if why and n.own():
            reasons.append(why)
            nodes.append(node)
            results.update(zip([o for o in node[2] if o], n.own()))
    if not reasons:
        return None
    rest = tools.tidy(cut(d, nodes, results))
    if rest["outputs"] and tools.verdict(rest, part) not in ("ok", "rounding", "beyond"):
        return None
    return "; ".join(sorted(set(reasons)))
