"""Random small models, as descriptions (describe.py), by seed.

    description(seed)    the same description for the same seed, everywhere

A model is a chain that grows: an operator of the table (operators_*.py) picks operands among the values so far, mostly
new ones. Of each value the generator knows shape, a bound of its numbers, and whether 16 bits hold them
exactly: functions with poles and limits are given operands inside of them, and operators that jump are given
exact ones, so that what differs is a fault and not rounding.
"""

import random

import forms

OPERATORS = []  # (name, since, until, weight, function)
WHOLE = []  # of another kind of models: functions of (seed, opset, batch) that give a description, or None


def operator(name, since=7, until=99, weight=1.0):
    """Registers function(g) -> values made, or None where no operand fits."""
    def register(function):
        OPERATORS.append((name, since, until, weight, function))
        return function
    return register


class Value:
    """A computed value. grid: its numbers are multiples of that, few enough for 16 bits; None: any numbers."""

    def __init__(self, name, dims, low, high, grid=None, kind="float"):
        self.name, self.dims, self.low, self.high, self.grid, self.kind = name, list(dims), low, high, grid, kind
        self.reads = 0

    @property
    def rank(self):
        return len(self.dims)

    @property
    def bound(self):
        return max(abs(self.low), abs(self.high))

    @property
    def count(self):
        return count(self.dims)


def count(dims):
    n = 1
    for d in dims:
        n *= d
    return n


def broadcast(*shapes):
    rank = max(len(s) for s in shapes)
    out = [1] * rank
    for s in shapes:
        for i, d in enumerate(s):
            k = rank - len(s) + i
            if d != 1:
                if out[k] not in (1, d):
                    return None
                out[k] = d
    return out


LARGEST = 4096  # elements of a value


class Generator:
    def __init__(self, seed, opset=None, batch=1):
        self.r = random.Random(seed)
        self.opset = opset or self.r.choice([7, 8, 9, 10, 11, 12, 13, 13, 14, 15, 16, 17, 17, 18, 19, 20, 21, 21, 22, 22, 23, 23, 24, 25, 26])
        self.batch = batch
        self.inputs, self.tensors, self.nodes, self.outputs = [], [], [], []
        self.values = []
        self.names = 0
        self.final = []  # values that may only be outputs

    # ---- names and constants ----

    def fresh(self, stem="v"):
        self.names += 1
        return "%s%d" % (stem, self.names)

    def seed(self):
        return self.r.randrange(1 << 30)

    def tensor(self, dims, fill, kind="float"):
        name = self.fresh("c")
        if isinstance(fill, dict) and "step" in fill:  # from the first multiple above low
            fill["low"] = -int(-fill["low"] // fill["step"]) * fill["step"]
        self.tensors.append([name, kind, list(dims), fill])
        return name

    def uniform(self, dims, low, high):
        return self.tensor(dims, {"seed": self.seed(), "low": low, "high": high})

    def grid(self, dims, low, high, step):
        return self.tensor(dims, {"seed": self.seed(), "low": low, "high": high, "step": step})

    def ints(self, values, kind="int64", dims=None):
        values = [int(v) for v in values]
        if kind == "int64" and dims is None and values and max(map(abs, values)) < 1 << 31 and self.r.random() < 0.05:
            return self.hidden_ints(values)
        return self.tensor([len(values)] if dims is None else dims, values, kind)

    def hidden_ints(self, values):
        """The same numbers as the result of a node over constants, as exporters write shapes."""
        a = [self.r.randint(-3, 3) for _ in values]
        name = self.fresh("f")
        self.nodes.append(["Add", [self.tensor([len(values)], a, "int64"),
                                   self.tensor([len(values)], [v - x for v, x in zip(values, a)], "int64")], [name], {}])
        return name

    def number(self, x, kind="float"):
        return self.tensor([], [x], kind)

    # ---- operands ----

    def pick(self, ranks=None, fits=None, kind="float"):
        """A value, mostly a new one; None where none fits."""
        found = [v for v in self.values if v.kind == kind and (ranks is None or v.rank in ranks) and (not fits or fits(v))]
        if not found:
            return None
        if self.r.random() < 0.75:
            fresh = [v for v in found if not v.reads]
            if fresh:
                return fresh[-1]
            return found[-1]
        return self.r.choice(found)

    def within(self, v, low, high):
        """v, or what brings it into low..high."""
        if v is None or (v.low >= low and v.high <= high):
            return v
        if self.r.random() < 0.4:
            return self.limits(v, low, high)
        if self.r.random() < 0.5 and v.bound < 60:
            s = self.node("Sigmoid", [v], v.dims, 0.0, 1.0)
        else:
            s = self.node("Tanh", [v], v.dims, -1.0, 1.0)
        scale = (high - low) / (s.high - s.low)
        m = self.node("Mul", [s, self.number(round(scale * 0.96, 3))], v.dims, s.low * scale, s.high * scale)
        return self.node("Add", [m, self.number(round(low + 0.02 * (high - low) - m.low * 0.96, 3))], v.dims, low, high)

    def limits(self, v, low, high):
        low, high = float(low), float(high)
        if self.opset < 11:
            return self.node("Clip", [v], v.dims, max(low, min(v.low, high)), min(high, max(v.high, low)),
                             attributes={"min": low, "max": high})
        return self.node("Clip", [v, self.number(low), self.number(high)], v.dims, max(low, min(v.low, high)),
                         min(high, max(v.high, low)))

    def tame(self, v, bound=8.0):
        """v, or what keeps its numbers within bound."""
        return self.within(v, -bound, bound) if v is not None and v.bound > bound else v

    def away_from_zero(self, v):
        """A value without numbers near 0."""
        if v.low >= 0.2 or v.high <= -0.2:
            return v
        a = self.node("Abs", [v], v.dims, 0.0, v.bound)
        return self.node("Add", [a, self.number(0.5)], v.dims, 0.5, v.bound + 0.5)

    # ---- nodes ----

    def raw(self, op, inputs, outputs, attributes=None, domain=""):
        for v in inputs:
            if isinstance(v, Value):
                v.reads += 1
        self.nodes.append([op, [v.name if isinstance(v, Value) else v for v in inputs], outputs, attributes or {}]
                          + ([domain] if domain else []))

    def node(self, op, inputs, dims, low, high, grid=None, attributes=None, kind="float", domain="", keep=True):
        while inputs and inputs[-1] == "":
            inputs = inputs[:-1]
        v = Value(self.fresh(), dims, float(low), float(high), grid if grid and max(abs(low), abs(high)) / grid <= 1024 else None, kind)
        self.raw(op, inputs, [v.name], attributes, domain)
        if keep:
            self.values.append(v)
        return v

    def maybe(self, p=0.5):
        return self.r.random() < p

    def axis(self, rank, low=0):
        """(axis as it is written, axis from 0)"""
        a = self.r.randrange(low, rank)
        return (a - rank if self.maybe(0.4) else a), a

    # ---- the whole ----

    def input_dims(self, rank):
        r = self.r
        first = self.batch
        if rank == 2:
            return [first, r.choice([1, 3, 4, 5, 8, 10, 16])]
        if rank == 3:
            return [first, r.choice([1, 2, 3, 4, 6, 7]), r.choice([1, 3, 4, 5, 8, 9, 12])]
        return [first, r.choice([1, 2, 3, 4, 4, 5, 6, 8]), r.choice([1, 3, 4, 5, 6, 8]), r.choice([1, 2, 4, 5, 6, 7, 8])]

    def make_input(self, dims=None):
        r = self.r
        dims = dims or self.input_dims(r.choice([2, 3, 3, 4, 4, 4, 4]))
        name = self.fresh("x")
        if r.random() < 0.4:
            step = r.choice([0.125, 0.25, 0.5, 1.0])
            low, high = r.choice([(-4.0, 4.0), (-2.0, 6.0), (0.0, 8.0)])
            fill = {"seed": self.seed(), "low": low, "high": high, "step": step}
        else:
            step = None
            low, high = r.choice([(-1.0, 1.0), (-3.0, 3.0), (0.0, 1.0), (0.5, 2.0), (-10.0, 10.0)])
            fill = {"seed": self.seed(), "low": low, "high": high}
        self.inputs.append([name, "float", dims, fill])
        v = Value(name, dims, low, high, step)
        self.values.append(v)
        return v

    def finish(self):
        """The description, and "shapes" of the float32 values by name."""
        r = self.r
        made = {name for node in self.nodes for name in node[2]}
        outputs = [v for v in self.values if not v.reads and v.name in made and v.kind == "float"] + self.final
        r.shuffle(outputs)
        outputs = outputs[:r.choice([1, 2, 3, 4])] or [v for v in self.values if v.name in made and v.kind == "float"][-1:]
        inner = [v for v in self.values if v.reads and v.kind == "float" and v not in outputs]
        if inner and r.random() < 0.15:
            outputs.append(r.choice(inner))
        if not outputs:
            outputs = [self.node("Identity", [self.values[0]], self.values[0].dims, -1, 1)]
        self.outputs = [[v.name, v.kind, v.dims if r.random() < 0.8 else None] for v in outputs]
        self.prune()
        return {"opset": self.opset, "ir": r.choice([8, 9, 10]) if self.opset < 21 else r.choice([10, 11]), "inputs": self.inputs,
                "tensors": self.tensors, "nodes": self.nodes, "outputs": self.outputs,
                "shapes": {v.name: v.dims for v in self.values if v.kind == "float" and v.name in made}}

    def prune(self):
        """Most models keep no nodes that nothing reads."""
        if self.r.random() < 0.1:
            return
        needed = {name for name, *_ in self.outputs}
        kept = []
        for node in reversed(self.nodes):
            if needed & set(node[2]):
                needed |= reads(node)
                kept.append(node)
        self.nodes = kept[::-1]
        self.tensors = [t for t in self.tensors if t[0] in needed]
        self.inputs = [i for i in self.inputs if i[0] in needed] or self.inputs[:1]


def reads(node):
    """Names of what a node reads, bodies of its attributes and all."""
    found = set(node[1])
    for a in node[3].values():
        if isinstance(a, dict) and "graph" in a:
            g = a["graph"]
            inner = {o[0] for o in g["outputs"]}.union(*[reads(n) for n in g["nodes"]])
            found |= inner - {o for n in g["nodes"] for o in n[2]} - {row[0] for row in g.get("inputs", []) + g.get("tensors", [])}
    return found


def description(seed, only=None, opset=None, batch=None):
    """only: names of operators to choose from. batch: of all inputs (else mostly 1). With "shapes", and often in a disguise (forms.py)."""
    r = random.Random("graph %d" % seed)
    usual = r.choice([2, 3, 2, 3, 5, 16]) if r.random() < 0.06 else 1
    if WHOLE and not only and r.random() < 0.03:
        d = r.choice(WHOLE)(seed, opset, batch or usual)
        if d:
            return forms.disguise(d, random.Random("forms %d" % seed))
    g = Generator("graph %d" % seed, opset, batch or usual)
    rows = [row for row in OPERATORS if row[1] <= g.opset <= row[2] and (not only or row[0] in only)]
    for _ in range(g.r.choice([1, 1, 1, 2, 2, 3])):
        g.make_input()
    target = g.r.choice([1, 1, 2, 2, 3, 4, 5, 6, 8, 10, 12])
    if not rows:
        target = 0
    tries = 0
    steps = 0
    while steps < target and tries < 60:
        tries += 1
        name, _, _, _, function = g.r.choices(rows, [row[3] for row in rows])[0]
        if function(g) is not None:
            steps += 1
    return forms.disguise(g.finish(), random.Random("forms %d" % seed))
