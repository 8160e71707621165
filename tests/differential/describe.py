"""Small ONNX models as descriptions: plain lists and dictionaries that JSON holds, from which the bytes are made.

    {"opset": 13, "ir": 8,
     "inputs":  [["x", "float", [1, 3, 8, 8], FILL]],
     "tensors": [["w", "float", [4, 3, 3, 3], FILL]],
     "nodes":   [["Conv", ["x", "w"], ["y"], {"pads": [1, 1, 1, 1]}]],
     "outputs": [["y", "float", [1, 4, 8, 8]]]}

A FILL says which numbers a tensor holds: a list of them, or {"seed": S, "low": A, "high": B} (uniform; with "step": G
multiples of G; of integers, each from A to B inclusive). Numbers that are not given depend on nothing but the seed.
An attribute is a number, a text, a list, {"tensor": [TYPE, DIMS, FILL]}, or {"graph": a description without opset}. A node
may have a fifth part, its domain, and a sixth, its name. An output's dims may be null: not recorded.
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
        kind, dims, fill = value["tensor"]
        return ox.Tensor(dims, numbers(kind, dims, fill), KINDS[kind])
    if isinstance(value, dict):
        return _fill_graph(ox.Graph("inner"), value["graph"])
    return value


def _fill_graph(g, d):
    for name, kind, dims, *_ in d.get("inputs", []):
        g.input(name, dims, KINDS[kind])
    for name, kind, dims, fill in d.get("tensors", []):
        g.tensor(name, dims, numbers(kind, dims, fill), KINDS[kind])
    for op, inputs, outputs, attributes, *rest in d["nodes"]:
        attributes = {key + "_": _attribute(value) for key, value in attributes.items()}
        g.node(op, inputs, outputs, domain=rest[0] if rest else "", name=rest[1] if len(rest) > 1 else "", **attributes)
    for name, kind, dims in d["outputs"]:
        g.output(name, dims, KINDS[kind])
    return g


def model_bytes(d):
    domains = {"": d["opset"]}
    for node in d["nodes"]:
        if len(node) > 4 and node[4]:
            domains[node[4]] = 1
    return _fill_graph(ox.Model("differential", opset=domains, ir=d.get("ir", 8)), d).bytes()


def save(d, folder):
    """Writes model.onnx and input_0.pb … into folder."""
    os.makedirs(folder, exist_ok=True)
    with open(os.path.join(folder, "model.onnx"), "wb") as f:
        f.write(model_bytes(d))
    for i, (name, kind, dims, fill) in enumerate(d["inputs"]):
        ox.save_tensor(os.path.join(folder, "input_%d.pb" % i), dims, numbers(kind, dims, fill), KINDS[kind], name)
