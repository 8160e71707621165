"""The same model written otherwise: what a file may look like that computes what a description says.

    disguise(d, r)    d itself, or another description with the same results; "plain" is then d

Where constants lie (initializers in raw or typed fields or in a file beside the model, also listed as inputs, or as Constant
nodes with any of their attributes, or of another type and cast), nodes that change nothing, or are there twice, nodes
inside local functions, If, Loop and Scan, results that are outputs and read inside, outputs of equal contents, records of
shapes, names, and the order of nodes.
"""

import copy

import generate

ODD = ["a.b", "a_b", "class", "1x", "x*/y", "größe", "/model/layer.0/Conv_output_0", "int", "a b", "é" * 20, "A" * 300,
       "FilterInput", "名前", "x\ny", "return", "id", "//", "\"q\"", "\\", "{0}", "%s", "a\tb", "new", "FilterLayer0", "#if", "_", "-1",
       "RunFilter", "Color4", "\u202e", "'", "*/", "float", "a..b", "A_b", "a_B", "C:\\x", "<T>", "@x"]


class Form:
    def __init__(self, d, r):
        self.d, self.r = copy.deepcopy(d), r
        self.plain = d
        self.names = 0
        self.taken = {name for rows in (d["inputs"], d["tensors"]) for name, *_ in rows} | {o for n in d["nodes"] for o in n[2]}
        self.floats = d["shapes"]
        self.known = {name: (kind, dims, fill) for name, kind, dims, fill, *_ in d["tensors"]}
        self.inputs = {i[0] for i in d["inputs"]}
        self.idle = set()

    def fresh(self, stem="w"):
        while True:
            self.names += 1
            name = "%s%d" % (stem, self.names)
            if name not in self.taken:
                self.taken.add(name)
                return name

    def tensor(self, kind, dims, numbers):
        name = self.fresh("k")
        self.d["tensors"].append([name, kind, dims, numbers])
        return name

    def node(self, op, inputs, attributes=None):
        """(name, node)"""
        name = self.fresh()
        return name, [op, inputs, [name], attributes or {}]

    # ---- constants ----

    def storage(self):
        """Where initializers lie."""
        r, rows = self.r, []
        also = []
        for row in self.d["tensors"]:
            row = list(row)
            where = r.random()
            if where < 0.25:
                row.append("typed")
            elif where < 0.45 and min(row[2] + [1]):
                row.append("external")
            if r.random() < 0.1:
                also.append(row[0])
            rows.append(row)
        self.d["tensors"] = rows
        if self.d["opset"] <= 9 and "functions" not in self.d and r.random() < 0.3:
            self.d["ir"], also = 3, [row[0] for row in rows]  # as IR 3 has it: all of them
        if also:
            self.d["also inputs"] = also

    def constants(self):
        """Some initializers become Constant nodes, with the attributes that have come since."""
        r, kept = self.r, []
        shown = {o[0] for o in self.d["outputs"]}
        for row in self.d["tensors"]:
            name, kind, dims, fill = row[:4]
            if r.random() < 0.6 or not isinstance(fill, list) or name in shown:
                kept.append(row)
                continue
            a = {"value": {"tensor": [kind, dims, fill] + r.choice([[], ["typed"]])}}
            if self.d["opset"] >= 12 and r.random() < 0.7:
                if kind == "float" and len(dims) == 1 and fill:
                    a = {"value_floats": [float(v) for v in fill]}
                elif kind == "int64" and len(dims) == 1 and fill:
                    a = {"value_ints": fill}
                elif kind == "float" and not dims:
                    a = {"value_float": float(fill[0])}
                elif kind == "int64" and not dims:
                    a = {"value_int": fill[0]}
            self.d["nodes"].insert(0, ["Constant", [], [name], a])
        self.d["tensors"] = kept

    def wider(self):
        """Some constants are held in another type and cast."""
        r, rows, shown = self.r, [], {o[0] for o in self.d["outputs"]}
        for name, kind, dims, fill, *rest in self.d["tensors"]:
            other = "double"
            if isinstance(fill, dict) and "step" in fill and max(-fill["low"], fill["high"]) / fill["step"] <= 1024 and r.random() < 0.5:
                other = "float16"
            if kind != "float" or name in shown or r.random() < 0.6:
                rows.append([name, kind, dims, fill] + rest)
                continue
            held = self.fresh("k")
            rows.append([held, other, dims, fill] + rest)
            self.d["nodes"].insert(0, ["Cast", [held], [name], {"to": 1}])
        self.d["tensors"] = rows

    # ---- nodes that change nothing ----

    def nothing(self, x):
        """(name, nodes): what is x again."""
        r, dims, opset = self.r, self.floats[x], self.d["opset"]
        rank, axis = len(dims), r.randrange(len(dims)) if dims else 0
        full = rank and 0 not in dims

        def by(op, x, *more, **attributes):
            return self.node(op, [x] + list(more), attributes)

        def number(v):
            return self.tensor("float", r.choice([[], [1], [1] * rank]), [v])

        def ints(values):
            return self.tensor("int64", [len(values)], values)

        def listed(op, x, key, values, since):
            """A list that was an attribute before that opset."""
            return by(op, x, ints(values)) if opset >= since else by(op, x, **{key: values})
        forms = [lambda: [by("Identity", x)], lambda: [by("Dropout", x)], lambda: [by("Cast", x, to=1)], lambda: [by("Sum", x)],
                 lambda: [by("LeakyRelu", x, alpha=1.0)], lambda: [by("Mul", x, number(1.0))], lambda: [by("Add", x, number(0.0))],
                 lambda: [by("Sub", x, number(0.0))], lambda: [by("Div", x, number(1.0))], lambda: [by("Max", x)]]
        if full:
            perm = list(range(rank))
            r.shuffle(perm)
            inverse = [perm.index(i) for i in range(rank)]

            def around(first, *then):
                return [first, then[0](first[0])]
            forms += [lambda: around(by("Transpose", x, perm=perm), lambda y: by("Transpose", y, perm=inverse)),
                      lambda: around(by("Neg", x), lambda y: by("Neg", y)),
                      lambda: around(listed("Unsqueeze", x, "axes", [axis], 13), lambda y: listed("Squeeze", y, "axes", [axis], 13)),
                      lambda: around(by("Reshape", x, ints([-1])), lambda y: by("Reshape", y, ints(dims))),
                      lambda: [by("Reshape", x, ints([0] * rank))], lambda: [by("Tile", x, ints([1] * rank))],
                      lambda: [by("Concat", x, axis=axis)], lambda: [listed("Pad", x, "pads", [0] * 2 * rank, 11)]]
            if opset >= 8:
                forms.append(lambda: [by("Expand", x, ints([1]))])
            if opset >= 10:
                forms.append(lambda: [by("Slice", x, ints([0]), ints([dims[axis]]), ints([axis]))])
                forms.append(lambda: around(by("Slice", x, ints([-1]), ints([-dims[axis] - 1]), ints([axis]), ints([-1])),
                                            lambda y: by("Slice", y, ints([-1]), ints([-dims[axis] - 1]), ints([axis]), ints([-1]))))
            if opset >= 11:
                forms.append(lambda: [by("Clip", x)])
            if opset >= 9:
                forms.append(lambda: [by("Where", self.tensor("bool", [1], [False]), number(3.0), x)])
            if dims[axis] == 1:
                forms.append(lambda: [by("ReduceMax", x, ints([axis])) if opset >= 18 else by("ReduceMax", x, axes=[axis])])
            if rank == 4:
                forms += [lambda: [by("MaxPool", x, kernel_shape=[1, 1])], lambda: [by("DepthToSpace", x, blocksize=1)],
                          lambda: [by("Conv", x, self.tensor("float", [dims[1], 1, 1, 1], [1.0] * dims[1]), group=dims[1])]]
        made = r.choice(forms)()
        for name, _ in made:
            self.idle.add(name)
        return made[-1][0], [n for _, n in made]

    def between(self):
        """Nothing happens on the way from a result to one of its readers."""
        r = self.r
        places = [(n, slot) for n in self.d["nodes"] for slot, name in enumerate(n[1]) if name in self.floats and name not in self.idle]
        if not places:
            return
        node, slot = r.choice(places)
        name, nodes = self.nothing(node[1][slot])
        node[1][slot] = name
        self.replace(node, nodes + [node])

    def again(self):
        """A node is there twice, and one of its readers reads the other."""
        node = self.choose()
        if not node:
            return
        readers = [n for n in self.d["nodes"] if set(node[2]) & set(n[1])]
        if not readers:
            return
        copied, names = self.inner(node)
        reader = self.r.choice(readers)
        other = dict(zip(node[2], names))
        reader[1] = [other.get(name, name) for name in reader[1]]
        self.replace(node, [node, copied])

    # ---- nodes inside others ----

    def choose(self, fits=lambda n: True):
        """A node whose results are all float32 and named, or None."""
        found = [n for n in self.d["nodes"] if n[2] and all(o in self.floats for o in n[2]) and n[0] != "Constant" and fits(n)]
        return self.r.choice(found) if found else None

    def replace(self, node, others):
        at = next(i for i, n in enumerate(self.d["nodes"]) if n is node)
        self.d["nodes"][at:at + 1] = others

    def condition(self, value):
        """(name, nodes): a scalar that is value and follows from constants and shapes."""
        r = self.r
        form = r.choice(["constant", "constant", "one", "not", "less", "size"])
        if form == "one":
            return self.tensor("bool", [1], [value]), []
        if form == "not":
            name, n = self.node("Not", [self.tensor("bool", [], [not value])])
            return name, [n]
        if form == "less" and self.d["opset"] >= 9:
            a, b = (1, 2) if value else (2, 1)
            name, n = self.node("Less", [self.tensor("float", [], [float(a)]), self.tensor("float", [], [float(b)])])
            return name, [n]
        if form == "size":
            x = self.d["inputs"][0]
            s, first = self.node("Size", [x[0]])
            name, n = self.node("Equal", [s, self.tensor("int64", [], [generate.count(x[2]) + (not value)])])
            return name, [first, n]
        return self.tensor("bool", [], [value]), []

    def inner(self, node):
        """A copy of node with other names for its results, as a body's."""
        names = [self.fresh("b") for _ in node[2]]
        return [node[0], node[1], names] + copy.deepcopy(node[3:]), names

    def body(self, nodes, names, outputs, **more):
        return {"graph": dict({"nodes": nodes, "outputs": [[n, "float", self.floats[o]] for n, o in zip(names, outputs)]}, **more)}

    def other_branch(self, outputs):
        """What would give results of the same shapes, but others."""
        r, nodes, names, tensors = self.r, [], [], []
        for o in outputs:
            name, dims = self.fresh("b"), self.floats[o]
            same = [k for k, d in self.floats.items() if d == dims and k in self.inputs]
            form = r.random()
            if form < 0.3:
                tensors.append([name, "float", dims, {"seed": 1, "low": -1.0, "high": 1.0}])
            elif same and form < 0.6:
                nodes.append(["Neg", [r.choice(same)], [name], {}])
            else:
                nodes.append(["Constant", [], [name], {"value": {"tensor": ["float", dims, {"seed": 2, "low": -1.0, "high": 1.0}]}}])
            names.append(name)
        return self.body(nodes, names, outputs, tensors=tensors)

    def if_(self):
        node = self.choose()
        if not node:
            return
        value = self.r.random() < 0.5
        c, before = self.condition(value)
        copied, names = self.inner(node)
        chosen, other = self.body([copied], names, node[2]), self.other_branch(node[2])
        self.replace(node, before + [["If", [c], node[2], {"then_branch": chosen if value else other, "else_branch": other if value else chosen}]])

    def once(self):
        """A Loop that runs once: the node's result is the one element of what the iterations give."""
        node = self.choose(lambda n: len(n[2]) == 1)
        if not node:
            return
        copied, names = self.inner(node)
        i, c, c2 = self.fresh("i"), self.fresh("q"), self.fresh("q")
        body = self.body([copied, ["Identity", [c], [c2], {}]], names, node[2])
        body["graph"]["inputs"] = [[i, "int64", []], [c, "bool", []]]
        body["graph"]["outputs"].insert(0, [c2, "bool", []])
        s = self.fresh()
        trips = self.r.choice([[self.tensor("int64", [], [1]), ""], [self.tensor("int64", [], [1]), self.tensor("bool", [], [True])],
                               [self.tensor("int64", [1], [1]), ""]])
        last = ["Squeeze", [s, self.tensor("int64", [1], [0])], node[2], {}] if self.d["opset"] >= 13 else ["Squeeze", [s], node[2], {"axes": [0]}]
        self.replace(node, [["Loop", trips, [s], {"body": body}], last])

    def function(self):
        """One or two nodes as a local function, with references to attributes."""
        r = self.r
        node = self.choose()
        if not node:
            return
        nodes = [node]
        readers = [n for n in self.d["nodes"] if n is not node and n[0] != "Constant" and generate.reads(n) & set(node[2]) and all(n[2])]
        if readers and r.random() < 0.5:
            reader = r.choice(readers)
            at = {id(n): i for i, n in enumerate(self.d["nodes"])}
            between = self.d["nodes"][at[id(node)] + 1:at[id(reader)]]
            if at[id(node)] < at[id(reader)] and not any(set(node[2]) & generate.reads(n) for n in between):
                nodes.append(reader)
        names, inside = {}, []
        made = [o for n in nodes for o in n[2] if o]
        within = {i for n in nodes for i in generate.reads(n) - set(n[1])}  # bodies that read what is outside of them
        inputs = list(dict.fromkeys(i for n in nodes for i in n[1] + sorted(generate.reads(n)) if i and i not in made))
        for name in inputs + made:
            names[name] = name if name in within else r.choice([name, self.fresh("p")])
        given, attributes, defaults = {}, [], {}
        for n in nodes:
            a = {}
            for key, value in n[3].items():
                if r.random() < 0.5 or isinstance(value, dict) or value == []:
                    a[key] = value
                    continue
                outer = r.choice([key, self.fresh("a")])
                while outer in given or outer in defaults:
                    outer = self.fresh("a")
                a[key] = {"ref": outer, "like": value}
                if r.random() < 0.4 and self.d["ir"] >= 9:
                    defaults[outer] = value
                    if r.random() < 0.3:
                        defaults[outer], given[outer] = self.another(value), value
                else:
                    attributes.append(outer)
                    given[outer] = value
            inside.append([n[0], [names[i] if i else "" for i in n[1]], [names[o] if o else "" for o in n[2]], a] + n[4:])
        outside = {o[0] for o in self.d["outputs"]} | {i for n in self.d["nodes"] if not any(n is m for m in nodes) for i in generate.reads(n)}
        outputs = [o for o in made if o in outside] or made[-1:]
        f = {"domain": r.choice(["local", "my.functions", "com.example"]), "name": r.choice(["f", "Relu", "block", "Conv", "é"]) + "%d" % len(self.d.get("functions", [])),
             "inputs": [names[i] for i in inputs], "outputs": [names[o] for o in outputs], "attributes": attributes, "defaults": defaults, "nodes": inside,
             "opset": self.d["opset"]}
        self.d.setdefault("functions", []).append(f)
        if len(nodes) == 2:
            self.d["nodes"] = [n for n in self.d["nodes"] if n is not nodes[0]]
        self.replace(nodes[-1], [[f["name"], inputs, outputs, given, f["domain"]]])

    def older(self):
        """A node as it was written for an older opset, in a function that imports that one. (ONNX Runtime does not honour a
        function's imports: it refuses, and is asked for the plain model.)"""
        def known(name):
            row = self.known.get(name)
            return row[2] if row and isinstance(row[2], list) else None

        def written(n):
            op, a = n[0], n[3]
            given = [known(i) if i else None for i in n[1]] + [None] * 4
            count = len([i for i in n[1] if i])
            if op in ("Softmax", "LogSoftmax") and n[1][0] in self.floats:
                rank = len(self.floats[n[1][0]])
                if a.get("axis", -1) % rank == rank - 1:
                    return [op, {"axis": rank - 1}, self.r.choice([9, 12])]
            if op in ("ReduceSum", "Squeeze", "Unsqueeze") and given[1] and "noop_with_empty_axes" not in a:
                return [op, dict(a, axes=given[1]), self.r.choice([11, 12])]
            if op == "Clip" and count == len([g for g in given if g]) + 1:
                return [op, {k: v[0] for k, v in zip(("min", "max"), given[1:3]) if v}, self.r.choice([7, 10])]
            if op == "Slice" and given[1] and given[2] and given[3] and not given[4] and min(given[3]) >= 0:
                return [op, {"starts": given[1], "ends": given[2], "axes": given[3]}, 9]
            return None
        node = self.choose(lambda n: len(n) < 5 and written(n))
        if node:
            op, attributes, opset = written(node)
            functions = self.d.setdefault("functions", [])
            functions.append({"domain": "older", "name": "f%d" % len(functions), "inputs": ["a"], "outputs": ["b"], "attributes": [], "defaults": {},
                              "nodes": [[op, ["a"], ["b"], attributes]], "opset": opset})
            self.replace(node, [[functions[-1]["name"], node[1][:1], node[2], {}, "older"]])

    @staticmethod
    def another(value):
        """A value of the same type; what it is does not matter, for the call gives its own."""
        if isinstance(value, str):
            return "other"
        if isinstance(value, list):
            return value[::-1] if len(value) > 1 else value + value
        return value + 1

    # ---- outputs, records, names, order ----

    def outputs(self):
        r = self.r
        for o in list(self.d["outputs"]):
            if len(self.d["outputs"]) > 5:
                break
            if o[1] == "float" and r.random() < 0.3:
                name, n = self.node("Identity", [o[0]])
                self.d["nodes"].append(n)
                self.d["outputs"].append([name, "float", o[2]])
        if r.random() < 0.25:  # an input or a constant, by way of a copy or as it is
            rows = [row for row in self.d["inputs"] + self.d["tensors"] if row[1] == "float" and 1 <= len(row[2]) <= 4 and min(row[2]) > 0]
            if rows:
                row = r.choice(rows)
                name = row[0]
                if r.random() < 0.6:
                    name, n = self.node("Identity", [name])
                    self.d["nodes"].append(n)
                if name not in {o[0] for o in self.d["outputs"]}:
                    self.d["outputs"].append([name, "float", row[2]])
        inner = [name for n in self.d["nodes"] for name in n[2] if name in self.floats and len(n) < 5 and n[0] != "Constant"
                 and name not in {o[0] for o in self.d["outputs"]}]
        for name in r.sample(inner, min(len(inner), r.choice([0, 1, 1, 2]))):
            self.d["outputs"].append([name, "float", self.floats[name]])

    def records(self):
        made = [name for n in self.d["nodes"] for name in n[2] if name in self.floats]
        self.d["records"] = [[name, "float", self.floats[name]] for name in made if self.r.random() < 0.5]

    def names_of_nodes(self):
        for n in self.d["nodes"]:
            if self.r.random() < 0.7:
                n += [""] * (4 - len(n)) if len(n) < 4 else []
                if len(n) == 4:
                    n.append("")
                if len(n) == 5:
                    n.append(self.r.choice(ODD + ["Conv_1", "Conv_1", ""]))

    def rename(self):
        r, names = self.r, {}
        pool = list(ODD)
        r.shuffle(pool)

        def new(name):
            if not name:
                return name
            if name not in names:
                names[name] = pool.pop() if pool and r.random() < 0.5 else "n/%d" % len(names)
            return names[name]

        def graph(g):
            for key in ("inputs", "tensors", "outputs", "records"):
                for row in g.get(key, []):
                    row[0] = new(row[0])
            for n in g["nodes"]:
                n[1], n[2] = [new(x) for x in n[1]], [new(x) for x in n[2]]
                for a in n[3].values():
                    if isinstance(a, dict) and "graph" in a:
                        graph(a["graph"])
        graph(self.d)
        if "also inputs" in self.d:
            self.d["also inputs"] = [new(x) for x in self.d["also inputs"]]

    def shuffle(self):
        """Any order; mostly one that still defines before it reads, as ONNX Runtime wants it."""
        if self.r.random() < 0.3:
            self.r.shuffle(self.d["nodes"])
            return
        pending, done = list(self.d["nodes"]), []
        made = {name for node in pending for name in node[2] if name}
        while pending:
            n = self.r.choice([n for n in pending if not generate.reads(n) & made])
            pending = [m for m in pending if m is not n]
            done.append(n)
            made -= set(n[2])
        self.d["nodes"] = done


def disguise(d, r):
    """Each form by itself is rare: most models hold a few."""
    f = Form(d, r)
    done = []

    def maybe(p, *steps):
        if r.random() < p:
            for step in steps:
                step()
            done.append(steps)
    maybe(0.15, *[f.between] * r.choice([1, 2, 4]))
    maybe(0.1, *[f.again] * r.choice([1, 2]))
    if d["opset"] >= 15:
        maybe(0.15, f.older, f.older)
        maybe(0.3, *[f.function] * r.choice([1, 1, 2, 3]))
    maybe(0.15, *[f.if_] * r.choice([1, 1, 2]))
    maybe(0.12, f.once)
    maybe(0.15, f.outputs)
    maybe(0.1, f.wider)
    maybe(0.3, f.constants)
    maybe(0.15, f.records)
    maybe(0.2, f.shuffle)
    maybe(0.3, f.storage)
    maybe(0.15, f.rename)
    maybe(0.15, f.names_of_nodes)
    if not done:
        return d
    f.d["plain"] = d
    return f.d
