#!/usr/bin/env python3
"""The same kernels whatever a file's order and names: invariance.py BUILD [SEED]

Each of the project's models, and some random ones, is written again with its nodes in another order, with other names
(odd ones among them), with its constants as Constant nodes or as initializers, with a copy of every constant for each
reader, and with a copy of a node for each reader. Kernels, host program and assets must be those of the model as it
was, but for the lines of comments, which show names.
"""

import glob
import os
import random
import shutil
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(ROOT, "tests", "models"))
import make_models
import onnxwrite as ox
from random_models import close, random_model

RANDOM_MODELS = 10
ODD = ["", " ", "a b", "/x/y", "日本", "\n", "*/", "\"", "\\u0041", "{0}", "%s", "id", "prev", "é"]

# ---- protobuf: a message is a list of [field, wire type, value] ----


def read_varint(data, at):
    number = shift = 0
    while True:
        number |= (data[at] & 127) << shift
        shift += 7
        at += 1
        if not data[at - 1] & 128:
            return number, at


def fields(data):
    found, at = [], 0
    while at < len(data):
        key, at = read_varint(data, at)
        wire = key & 7
        if wire == 0:
            value, at = read_varint(data, at)
        elif wire == 2:
            size, at = read_varint(data, at)
            value, at = data[at:at + size], at + size
        else:
            size = 8 if wire == 1 else 4
            value, at = data[at:at + size], at + size
        found.append([key >> 3, wire, value])
    return found


def message(found):
    out = bytearray()
    for field, wire, value in found:
        out += ox.varint(field << 3 | wire)
        out += ox.varint(value) if wire == 0 else ox.varint(len(value)) + value if wire == 2 else value
    return bytes(out)


def all_of(found, field):
    return [value for number, _, value in found if number == field]


def first_of(found, field):
    values = all_of(found, field)
    return values[0] if values else b""


class Node:
    """Field 1 inputs, 2 outputs, 3 name; the others as they are."""

    def __init__(self, data):
        found = fields(data)
        self.inputs, self.outputs = all_of(found, 1), all_of(found, 2)
        self.name, self.op = first_of(found, 3), first_of(found, 4)
        self.rest = [f for f in found if f[0] > 3]

    def bytes(self):
        return message([[1, 2, v] for v in self.inputs] + [[2, 2, v] for v in self.outputs] +
                       [[3, 2, self.name]] + self.rest)

    def copy(self):
        return Node(self.bytes())


class Graph:
    def __init__(self, data):
        self.model = fields(data)
        found = fields(first_of(self.model, 7))
        self.nodes = [Node(v) for v in all_of(found, 1)]
        self.tensors = [fields(v) for v in all_of(found, 5)]  # name: field 8
        self.inputs, self.outputs, self.values = ([fields(v) for v in all_of(found, n)] for n in (11, 12, 13))
        self.rest = [f for f in found if f[0] not in (1, 5, 11, 12, 13)]
        self.fresh = 0

    def bytes(self):
        found = [[1, 2, n.bytes()] for n in self.nodes] + self.rest
        for field, values in ((5, self.tensors), (11, self.inputs), (12, self.outputs), (13, self.values)):
            found += [[field, 2, message(v)] for v in values]
        return message([f if f[0] != 7 else [7, 2, message(found)] for f in self.model])

    def name(self):
        self.fresh += 1
        return b"fresh %d" % self.fresh


def rename_field(found, field, names):
    return [[n, w, names.get(v, v) if n == field else v] for n, w, v in found]


# ---- what must change nothing ----

def reorder(g, random):
    random.shuffle(g.nodes)
    random.shuffle(g.tensors)


def rename(g, random):
    known = set()
    for n in g.nodes:
        known.update(n.inputs + n.outputs)
    for group in (g.inputs, g.outputs):
        known.update(first_of(v, 1) for v in group)
    known.update(first_of(t, 8) for t in g.tensors)
    known.discard(b"")
    order = sorted(known)
    random.shuffle(order)
    names = {}
    for i, old in enumerate(order):
        names[old] = ODD[i].encode() if 0 < i < len(ODD) else b"v%d" % i
    for n in g.nodes:
        n.inputs = [names.get(v, v) for v in n.inputs]
        n.outputs = [names.get(v, v) for v in n.outputs]
        n.name = random.choice(ODD).encode() if random.random() < 0.4 else b"layer %d" % random.randrange(1000)
    for group in (g.inputs, g.outputs, g.values):
        group[:] = [rename_field(v, 1, names) for v in group]
    g.tensors = [rename_field(t, 8, names) for t in g.tensors]


def constants_as_nodes(g, random):
    kept = []
    for t in g.tensors:
        # Not those in another file.
        if any(n == 14 and v == 1 for n, _, v in t) or random.random() < 0.2:
            kept.append(t)
            continue
        attribute = message([[1, 2, b"value"], [5, 2, message([f for f in t if f[0] != 8])], [20, 0, 4]])
        node = Node(message([[2, 2, first_of(t, 8)], [4, 2, b"Constant"], [5, 2, attribute]]))
        g.nodes.insert(random.randrange(len(g.nodes) + 1) if random.random() < 0.5 else 0, node)
    g.tensors = kept


def constants_for_each(g, random):
    tensors = {first_of(t, 8): t for t in g.tensors}
    for n in g.nodes:
        for i, name in enumerate(n.inputs):
            if name in tensors and random.random() < 0.7:
                again = rename_field(tensors[name], 8, {name: g.name()})
                n.inputs[i] = first_of(again, 8)
                g.tensors.append(again)


def nodes_for_each(g, random):
    written = {o: n for n in g.nodes for o in n.outputs if o}
    for n in list(g.nodes):
        for i, name in enumerate(n.inputs):
            if name in written and random.random() < 0.5:
                again = written[name].copy()
                again.outputs = [g.name() if o else o for o in again.outputs]
                n.inputs[i] = again.outputs[written[name].outputs.index(name)]
                g.nodes.append(again)


VARIANTS = {"order": [reorder], "names": [rename], "constants": [constants_as_nodes],
            "copies": [constants_for_each], "twins": [nodes_for_each],
            "all": [constants_for_each, nodes_for_each, constants_as_nodes, rename, reorder]}


def result(folder):
    """File name -> bytes, of the generated file without its comments and of the assets."""
    found = {}
    for path in sorted(glob.glob(os.path.join(folder, "*"))):
        with open(path, "rb") as f:
            data = f.read()
        if path.endswith(".cs"):
            data = b"\n".join(line for line in data.split(b"\n") if not line.strip().startswith(b"//"))
        found[os.path.basename(path)] = data
    return found


def difference(a, b):
    for name in sorted(set(a) | set(b)):
        if name not in a or name not in b:
            return "%s is there once only" % name
        if a[name] != b[name]:
            for i, (p, q) in enumerate(zip(a[name].split(b"\n"), b[name].split(b"\n"))):
                if p != q:
                    return "%s, line %d without comments:\n    %s\n    %s" % (
                        name, i + 1, p.strip()[:150].decode("latin1"), q.strip()[:150].decode("latin1"))
            return "%s differs in length" % name
    return None


def main(arguments):
    onnxgpu, seed = os.path.abspath(os.path.join(arguments[0], "onnxgpu")), int(arguments[1]) if len(arguments) > 1 else 0
    folder, passed, failed = tempfile.mkdtemp(prefix="onnxgpu-invariance-"), 0, 0
    models = dict(make_models.MODELS)
    for i in range(RANDOM_MODELS):
        models["random_%d" % i] = lambda i=i: random_model(100 * seed + i)
    for name, make in models.items():
        here = os.path.join(folder, name)
        os.makedirs(here)
        make().save(os.path.join(here, "model.onnx"))
        with open(os.path.join(here, "model.onnx"), "rb") as f:
            original = f.read()
        results = {}
        for variant, changes in dict(VARIANTS, **{"": []}).items():
            place = os.path.join(here, variant or "as it was")
            os.makedirs(place)
            g = Graph(original)
            chance = random.Random("%d %s %s" % (seed, name, variant))
            for change in changes:
                change(g, chance)
            with open(os.path.join(place, "model.onnx"), "wb") as f:
                f.write(g.bytes())
            for data in glob.glob(os.path.join(here, "*.data")):
                shutil.copy(data, place)
            done = subprocess.run([onnxgpu, "--no-cache", "compile", "model.onnx", "--class", "Test.Model", "-o", "out"],
                                  cwd=place, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
            results[variant] = result(os.path.join(place, "out"))
            if done.returncode:
                results[variant] = {"error": done.stderr}
        for variant in VARIANTS:
            why = difference(results[""], results[variant])
            if not any(name.endswith(".cs") for name in results[""]):
                why = "no file was generated"
            passed, failed = passed + (not why), failed + bool(why)
            if why or "error" in results[variant]:
                print("%s, %s: %s" % (name, variant, why or results[variant]["error"].decode("utf-8", "replace")))
    return close(folder, passed, failed)


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    sys.exit(main(sys.argv[1:]))
