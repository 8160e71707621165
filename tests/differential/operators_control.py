"""If, Loop and Scan that are known once constants are folded: see generate.py. (forms.py wraps any node in the first two.)"""

from generate import count, operator, Value

BODY = ["Tanh", "Sigmoid", "Neg", "Abs", "Relu", "Softsign"]


def chain(g, source, n):
    """Nodes of n elementwise operators after source, and the last name."""
    nodes = []
    for _ in range(n):
        name = g.fresh("b")
        nodes.append([g.r.choice(BODY), [source], [name], {}])
        source = name
    return nodes, source


@operator("If", weight=0.2)
def if_(g):
    """Several results, an initializer or a constant of the branch among them."""
    v = g.pick()
    if v is None:
        return None
    r = g.r
    c = g.tensor([], [g.maybe()], "bool")
    if g.maybe(0.4) and g.opset >= 9:
        h = g.fresh("f")
        g.raw("Greater", [g.number(1.0), g.number(r.choice([0.0, 2.0]))], [h])
        c = h
    k = r.choice([1, 1, 2])
    attributes = {}
    for key in ("then_branch", "else_branch"):
        nodes, tensors, outputs = [], [], []
        for _ in range(k):
            if r.random() < 0.2:
                name = g.fresh("b")
                tensors.append([name, "float", v.dims, {"seed": g.seed(), "low": -1.0, "high": 1.0}])
            else:
                more, name = chain(g, v.name, r.choice([1, 1, 2]))
                nodes += more
            outputs.append([name, "float", v.dims])
        attributes[key] = {"graph": {"nodes": nodes, "outputs": outputs, "tensors": tensors}}
    v.reads += 1
    outs = [Value(g.fresh(), v.dims, -max(v.bound, 1), max(v.bound, 1)) for _ in range(k)]
    g.nodes.append(["If", [c], [o.name for o in outs], attributes])
    g.values += outs
    return outs[0]


@operator("Loop", weight=0.25)
def loop(g):
    """A state that is carried, and what the iterations give, stacked."""
    v = g.tame(g.pick(fits=lambda v: v.count <= 300))
    if v is None:
        return None
    r = g.r
    trips = r.choice([1, 2, 3, 4])
    i, c, s, c2 = g.fresh("i"), g.fresh("q"), g.fresh("s"), g.fresh("q")
    nodes, state = [["Identity", [c], [c2], {}]], s
    if r.random() < 0.5:  # with the iteration's number
        table, row, t = g.uniform([trips + 1] + [1] * max(v.rank - 1, 0), -1.0, 1.0), g.fresh("b"), g.fresh("b")
        nodes += [["Gather", [table, i], [row], {}], ["Add", [s, row], [t], {}]]
        state = t
    more, state = chain(g, state, r.choice([1, 1, 2]))
    nodes += more
    outputs = [[c2, "bool", []], [state, "float", v.dims]]
    names, given = [g.fresh()], [Value("", v.dims, -max(v.bound, 1), max(v.bound, 1))]
    if r.random() < 0.6:
        more, row = chain(g, r.choice([s, state]), 1)
        nodes += more
        outputs.append([row, "float", v.dims])
        names.append(g.fresh())
        given.append(Value("", [trips] + v.dims, -max(v.bound, 1), max(v.bound, 1)))
        if v.rank > 4:
            return None
    form = r.random()
    trip = g.tensor([], [trips], "int64")
    condition = ""
    if form < 0.25:
        condition = g.tensor([], [True], "bool")
    elif form < 0.4 and g.opset >= 9:  # the condition ends it
        limit, at = g.tensor([], [trips - 1], "int64"), nodes[0]
        at[:] = ["Less", [i, limit], [c2], {}]
        trip, condition = g.tensor([], [trips + 5], "int64") if r.random() < 0.5 else "", g.tensor([], [True], "bool")
    body = {"graph": {"inputs": [[i, "int64", []], [c, "bool", []], [s, "float", v.dims]], "nodes": nodes, "outputs": outputs}}
    g.raw("Loop", [trip, condition, v], names, {"body": body})
    for name, w in zip(names, given):
        w.name = name
        g.values.append(w)
    return given[0]


@operator("Scan", 9, weight=0.25)
def scan(g):
    """A state over the slices of a value along one axis, forwards or backwards."""
    v = g.tame(g.pick(fits=lambda v: v.rank and v.count <= 400))
    if v is None:
        return None
    r = g.r
    axis = r.randrange(v.rank)
    n = v.dims[axis]
    if n > 8:
        return None
    part = v.dims[:axis] + v.dims[axis + 1:]
    a = {"num_scan_inputs": 1}
    if axis or r.random() < 0.3:
        a["scan_input_axes"] = [axis - v.rank if g.opset >= 11 and r.random() < 0.3 else axis]
    if r.random() < 0.4:
        a["scan_input_directions"] = [r.choice([0, 1])]
    if r.random() < 0.3:
        a["scan_output_directions"] = [r.choice([0, 1])]
    to = r.randrange(len(part) + 1)
    if to:
        a["scan_output_axes"] = [to]
    s, x, t = g.fresh("s"), g.fresh("s"), g.fresh("b")
    nodes = [[r.choice(["Add", "Mul", "Sub", "Max"]), [s, x], [t], {}]]
    more, state = chain(g, t, r.choice([1, 1, 2]))
    nodes += more
    more, row = chain(g, r.choice([state, t, x]), 1)
    nodes += more
    bounded, last = g.fresh("b"), g.fresh("b")
    nodes += [["Tanh", [state], [bounded], {}], ["Add", [bounded, x], [last], {}]]
    a["body"] = {"graph": {"inputs": [[s, "float", part], [x, "float", part]], "nodes": nodes,
                           "outputs": [[last, "float", part], [row, "float", part]]}}
    b = (v.bound + 1) * (v.bound + 2)
    out = part[:to] + [n] + part[to:]
    names = [g.fresh(), g.fresh()]
    g.raw("Scan", [g.uniform(part, -1.0, 1.0), v], names, a)
    given = [Value(names[0], part, -v.bound - 1, v.bound + 1), Value(names[1], out, -b, b)]
    g.values += given
    return given[1] if count(part) else None


@operator("Scan", 8, 8, weight=0.4)
def scan_of_batches(g):
    """As opset 8 had it: axis 0 is the batch, axis 1 the sequence, and its lengths may be given."""
    v = g.tame(g.pick(ranks=(2, 3, 4), fits=lambda v: v.dims[0] == 1 and v.dims[1] <= 8))
    if v is None:
        return None
    n, part = v.dims[1], v.dims[2:]
    s, x, t, bounded, last = (g.fresh("s") for _ in range(5))
    more, row = chain(g, t, 1)
    nodes = [[g.r.choice(["Add", "Sub"]), [s, x], [t], {}]] + more + [["Tanh", [t], [bounded], {}], ["Add", [bounded, x], [last], {}]]
    a = {"num_scan_inputs": 1, "body": {"graph": {"inputs": [[s, "float", part], [x, "float", part]], "nodes": nodes,
                                                  "outputs": [[last, "float", part], [row, "float", part]]}}}
    if g.maybe(0.4):
        a["directions"] = [g.r.choice([0, 1])]
    names = [g.fresh(), g.fresh()]
    g.raw("Scan", [g.ints([n]) if g.maybe(0.3) else "", g.uniform([1] + part, -1.0, 1.0), v], names, a)
    b = 2 * v.bound + 2
    given = [Value(names[0], [1] + part, -b, b), Value(names[1], v.dims, -b, b)]
    g.values += given
    return given[1]
