"""Small ONNX models as descriptions: plain lists and dictionaries that JSON holds, from which the bytes are made.

    {"opset": 13, "ir": 8,
     "inputs":  [["x", "float", [1, 3, 8, 8], FILL]],
     "tensors": [["w", "float", [4, 3, 3, 3], FILL]],
     "nodes":   [["Conv", ["x", "w"], ["y"], {"pads": [1, 1, 1, 1]}]],
     "outputs": [["y", "float", [1, 4, 8, 8]]]}

A FILL says which numbers a tensor holds: a list of them, or {"seed": S, "low": A, "high": B} (uniform; with "step": G
multiples of G; of integers, each from A to B inclusive). Numbers that are not given depend on nothing but the seed.
An attribute is a number, a text, a list, {"tensor": [TYPE, DIMS, FILL]}, or {"graph": a description without opset}. A node
may have a fifth part, its domain, and a sixth, its name. An output's dims may be null: not recorded; so may its type.
A tensor may have a fifth part, its storage (onnxwrite.Tensor), the tensor of an attribute a fourth. More, all optional:
    "also inputs"  names of tensors that are listed as graph inputs too
    "records"      shapes of inner values, written as outputs are
    "functions"    [{"domain", "name", "inputs", "outputs", "attributes": names, "defaults": {name: value}, "nodes", "opset"}];
                   in their nodes an attribute may be {"ref": the function's attribute, "like": a value of its type}
"""

import os
import random
import struct
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "models"))
import onnxwrite as ox  # noqa: E402

KINDS = {"float": ox.FLOAT, "uint8": ox.UINT8, "int8": ox.INT8, "int32": ox.INT32, "int64": ox.INT64, "bool": ox.BOOL,
         "float16": ox.FLOAT16, "double": ox.DOUBLE, "uint16": ox.UINT16, "int16": ox.INT16, "uint32": ox.UINT32,
         "uint64": ox.UINT64, "uint4": ox.UINT4, "int4": ox.INT4}
REAL = ("float", "float16", "double")


def numbers(kind, dims, fill):
    """The elements that a FILL stands for."""
    if isinstance(fill, list):
        return fill
    r, n, low, high = random.Random(fill["seed"]), ox.count(dims), fill["low"], fill["high"]
    if kind == "bool":
        return [r.random() < 0.5 for _ in range(n)]
    if kind not in REAL:
        return [r.randint(low, high) for _ in range(n)]
    if "step" in fill:
        step = fill["step"]
        return [r.randint(int(low / step), int(high / step)) * step for _ in range(n)]
    return [struct.unpack("<f", struct.pack("<f", low + (high - low) * r.random()))[0] for _ in range(n)]


def _attribute(value):
    if isinstance(value, dict) and "tensor" in value:
        kind, dims, fill, *storage = value["tensor"]
        return ox.Tensor(dims, numbers(kind, dims, fill), KINDS[kind], "", *storage)
    if isinstance(value, dict) and "ref" in value:
        return ox.Reference(value["ref"], value["like"])
    if isinstance(value, dict):
        return _fill_graph(ox.Graph("inner"), value["graph"])
    return value


def _node_bytes(node):
    op, inputs, outputs, attributes, *rest = node
    return ox.message_node(op, inputs, outputs, rest[1] if len(rest) > 1 else "", rest[0] if rest else "",
                           {key + "_": _attribute(value) for key, value in attributes.items()})


def _fill_graph(g, d):
    for name, kind, dims, *_ in d.get("inputs", []):
        g.input(name, dims, KINDS[kind])
    for name, kind, dims, fill, *storage in d.get("tensors", []):
        g.tensor(name, dims, numbers(kind, dims, fill), KINDS[kind], *storage)
        if name in d.get("also inputs", []):
            g.input(name, dims, KINDS[kind])
    g.nodes += [_node_bytes(node) for node in d["nodes"]]
    for name, kind, dims in d["outputs"]:
        if kind is None:
            g.outputs.append(ox.field_bytes(1, name))
        else:
            g.output(name, dims, KINDS[kind])
    for name, kind, dims in d.get("records", []):
        g.value(name, dims, KINDS[kind])
    return g


def _domains(d):
    """The opset imports of a model or a function."""
    domains, graphs = {"": d["opset"]}, [d]
    while graphs:
        for node in graphs.pop()["nodes"]:
            if len(node) > 4 and node[4]:
                domains[node[4]] = 1
            graphs += [a["graph"] for a in node[3].values() if isinstance(a, dict) and "graph" in a]
    return domains


def model(d):
    m = ox.Model("differential", opset=_domains(d), ir=d.get("ir", 8))
    for f in d.get("functions", []):
        m.function(f["name"], f["domain"], f["inputs"], f["outputs"], [_node_bytes(n) for n in f["nodes"]], _domains(f),
                   f["attributes"], {key: _attribute(value) for key, value in f["defaults"].items()})
        m.opset.setdefault(f["domain"], 1)
    return _fill_graph(m, d)


def save(d, folder):
    """Writes model.onnx and input_0.pb … into folder."""
    os.makedirs(folder, exist_ok=True)
    model(d).save(os.path.join(folder, "model.onnx"))
    for i, (name, kind, dims, fill) in enumerate(d["inputs"]):
        ox.save_tensor(os.path.join(folder, "input_%d.pb" % i), dims, numbers(kind, dims, fill), KINDS[kind], name)


def load(path):
    """(type, dims, elements) of a file that holds a TensorProto with raw_data."""
    with open(path, "rb") as f:
        data = f.read()
    at, dims, kind, raw = 0, [], ox.FLOAT, b""

    def varint():
        nonlocal at
        n = shift = 0
        while True:
            at += 1
            n |= (data[at - 1] & 127) << shift
            shift += 7
            if data[at - 1] < 128:
                return n
    while at < len(data):
        key = varint()
        n = varint()
        if key == 8:
            dims.append(n)
        elif key == 16:
            kind = n
        elif key & 7 == 2:
            if key >> 3 == 9:
                raw = data[at:at + n]
            at += n
    return {v: k for k, v in KINDS.items()}[kind], dims, ox.unpack(kind, raw)
