#!/usr/bin/env python3
"""Runs ONNX's node tests and writes down which operators they are of: onnx_node.py ONNXGPU FOLDER [-o FILE]

FOLDER holds one folder a test: model.onnx and test_data_set_0 with input_*.pb and output_*.pb. Each is verified twice: as
it is, and with its inputs made to fit the rules (integers, truth values, scalars and weights become constants, the others
come as a batch of one and are reshaped), so that what is refused for its inputs alone is computed all the same. FILE (tests/onnx-node.txt, which the README's table of operators is made from) has a line an
operator of the tests' own graphs: what became of them as they are, then fitted.
"""

import argparse
import collections
import os
import re
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "tests/models"))
import onnxwrite as ox

MODEL_GRAPH, GRAPH_NODE, GRAPH_INITIALIZER, GRAPH_INPUT, NODE_INPUT, NODE_OP, VALUE_NAME = 7, 1, 5, 11, 1, 4, 1
TENSOR_DIMS, TENSOR_TYPE, TENSOR_NAME, FLOAT = 1, 2, 8, 1
# Inputs that have to be constants although they are of floats.
CONSTANT = {("Conv", 1), ("ConvTranspose", 1), ("DeformConv", 1), ("Resize", 1), ("Resize", 2), ("Upsample", 1),
            ("STFT", 2), ("MatMul", 1), ("Gemm", 1), ("MatMulNBits", 1)}
AT_A_TIME = 100


def varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            return value, at


def fields(data):
    """(number, value, whole bytes) of a message's fields; a value is an int or bytes."""
    at = 0
    while at < len(data):
        begin = at
        key, at = varint(data, at)
        kind = key & 7
        if kind == 0:
            value, at = varint(data, at)
        else:
            size, at = (8, at) if kind == 1 else (4, at) if kind == 5 else varint(data, at)
            value, at = data[at:at + size], at + size
        yield key >> 3, value, data[begin:at]


def read(path):
    with open(path, "rb") as f:
        return f.read()


def first(data, number, otherwise=None):
    return next((value for n, value, _ in fields(data) if n == number), otherwise)


def dims_of(tensor):
    """Packed or not."""
    found = []
    for number, value, _ in fields(tensor):
        if number == TENSOR_DIMS and isinstance(value, int):
            found.append(value)
        elif number == TENSOR_DIMS:
            at = 0
            while at < len(value):
                one, at = varint(value, at)
                found.append(one)
    return found


def nodes_of(graph):
    for number, value, _ in fields(graph):
        if number == GRAPH_NODE:
            yield first(value, NODE_OP, b"").decode(), [v for n, v, _ in fields(value) if n == NODE_INPUT]


def fit(folder, into):
    """Writes the test with inputs that fit the rules; False where it has none to fit."""
    model, data = read(os.path.join(folder, "model.onnx")), os.path.join(folder, "test_data_set_0")
    graph = first(model, MODEL_GRAPH)
    constant = {names[slot] for op, names in nodes_of(graph) for o, slot in CONSTANT if o == op and slot < len(names)}
    made, kept, number, count = b"", [], 0, 0
    for field, value, whole in fields(graph):
        if field != GRAPH_INPUT:
            made += whole
            continue
        name = first(value, VALUE_NAME, b"")
        path = os.path.join(data, "input_%d.pb" % number)
        number += 1
        if not os.path.exists(path):
            return False
        tensor = read(path)
        dims = dims_of(tensor)
        if first(tensor, TENSOR_TYPE) != FLOAT or name in constant or 0 in dims or not dims:
            made += ox.field_bytes(GRAPH_INITIALIZER, tensor + ox.field_bytes(TENSOR_NAME, name))
            continue
        # [1, first axis, the others]
        wide = [1] + dims[:1] + ([ox.count(dims[1:])] if len(dims) > 1 else [])
        shape = b"fitted shape of " + name
        made += ox.field_bytes(GRAPH_INPUT, ox.message_value(b"fitted " + name, wide))
        made += ox.field_bytes(GRAPH_INITIALIZER, ox.message_tensor(
            ox.Tensor([len(dims)], dims, ox.INT64, shape.decode("utf-8", "replace"))))
        made += ox.field_bytes(GRAPH_NODE, ox.message_node("Reshape", [b"fitted " + name, shape], [name]))
        kept.append((count, wide, tensor))
        count += 1
    if not kept:
        return False
    os.makedirs(os.path.join(into, "test_data_set_0"))
    with open(os.path.join(into, "model.onnx"), "wb") as f:
        f.write(b"".join(ox.field_bytes(n, made) if n == MODEL_GRAPH else w for n, _, w in fields(model)))
    for i, wide, tensor in kept:
        with open(os.path.join(into, "test_data_set_0", "input_%d.pb" % i), "wb") as f:
            f.write(b"".join(ox.field_int(TENSOR_DIMS, d) for d in wide))
            f.write(b"".join(w for n, _, w in fields(tensor) if n != TENSOR_DIMS))
    for name in os.listdir(data):
        if name.startswith("output_"):
            shutil.copy(os.path.join(data, name), os.path.join(into, "test_data_set_0", name))
    return True


def verify(tool, folders):
    """name of each folder to "ok", "FAIL" or its code."""
    found = {}
    for i in range(0, len(folders), AT_A_TIME):
        done = subprocess.run([tool, "verify", "--no-daemon", "--no-cache", *folders[i:i + AT_A_TIME]],
                              stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        for path, word, code in re.findall(r"^(.*): (ok|FAIL|SKIP)(?: \((TUKI\d+)\))?", done.stdout.decode(), re.M):
            found[os.path.basename(path)] = code or word
    return found


def summary(verdicts):
    counts = collections.Counter(verdicts)
    return " ".join("%s %d" % (kind, counts[kind]) for kind in ["ok", "FAIL"] + sorted(set(counts) - {"ok", "FAIL"})
                    if counts[kind]) or "none"


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("onnxgpu")
    parser.add_argument("folder")
    parser.add_argument("-o", metavar="FILE")
    parser.add_argument("--list", action="store_true", help="print each test")
    parser.add_argument("--keep", metavar="FOLDER", help="leave the fitted tests there")
    options = parser.parse_args()
    tests = sorted(n for n in os.listdir(options.folder)
                   if os.path.exists(os.path.join(options.folder, n, "model.onnx")))
    place = options.keep or tempfile.mkdtemp(prefix="onnx-node-")
    try:
        fitted = [n for n in tests if fit(os.path.join(options.folder, n), os.path.join(place, n))]
        plain = verify(options.onnxgpu, [os.path.join(options.folder, n) for n in tests])
        better = verify(options.onnxgpu, [os.path.join(place, n) for n in fitted])
    finally:
        if not options.keep:
            shutil.rmtree(place, ignore_errors=True)
    if options.list:
        for name in tests:
            print(name, plain.get(name, "-"), better.get(name, "-"))
    of = collections.defaultdict(list)
    for name in tests:
        for op in sorted({op for op, _ in nodes_of(first(read(os.path.join(options.folder, name, "model.onnx")),
                                                         MODEL_GRAPH))}):
            of[op].append(name)
    lines = ["# Written by tools/onnx_node.py. operator | tests as they are | with inputs that fit the rules",
             "all | %s | %s" % (summary(plain.values()), summary(better.values()))]
    lines += ["%s | %s | %s" % (op, summary(plain[n] for n in names if n in plain),
                                summary(better[n] for n in names if n in better)) for op, names in sorted(of.items())]
    if options.o:
        with open(options.o, "w", encoding="utf-8") as f:
            f.write("\n".join(lines) + "\n")
    print(lines[1])


if __name__ == "__main__":
    main()
