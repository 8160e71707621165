#!/usr/bin/env python3
"""What models cost: table.py BUILD [--wide] PATH…

A line a model (an ONNX file, or a folder that holds model.onnx) with what `onnxgpu explain` counts: nodes of the graph
once constants are folded, operators that are left after all passes, steps, and how many of them are allowed. That
bound is half the nodes, or the number of convolutions, products, pools, norms and resizes where they alone are more. A
line over the bound is marked; the exit status is 1 where there is one. With --wide every kernel is shown.
"""

import json
import os
import subprocess
import sys

HEAVY = """Conv ConvTranspose DeformConv ConvInteger QLinearConv MatMul Gemm MatMulInteger QLinearMatMul MatMulNBits Einsum
MaxPool AveragePool LpPool GlobalMaxPool GlobalAveragePool GlobalLpPool MaxUnpool MaxRoiPool RoiAlign
BatchNormalization InstanceNormalization LayerNormalization GroupNormalization RMSNormalization MeanVarianceNormalization
LpNormalization LRN Softmax LogSoftmax Resize Upsample GridSample LSTM GRU RNN Attention""".split()


def explain(onnxgpu, path):
    """What explain says, or None where the model is refused."""
    done = subprocess.run([onnxgpu, "--no-cache", "explain", "--format", "json", path], stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, stdin=subprocess.DEVNULL, timeout=600)
    return json.loads(done.stdout) if done.returncode == 0 else None


def layers(cost):
    for layer in cost["layers"]:
        per = layer["fetches"] / layer["macs"] if layer["macs"] else 0
        print("    %12d %12d %6.3f %6dx%-6d %-14s %s" % (
            layer["fetches"], layer["macs"], per, layer["width"], layer["height"], layer["layout"],
            " + ".join([layer["op"] + " " + layer["name"]] + layer["fused"])))


def main():
    words = sys.argv[1:]
    wide = "--wide" in words
    words = [w for w in words if w != "--wide"]
    if len(words) < 2:
        sys.exit(__doc__)
    onnxgpu, over, refused = os.path.join(words[0], "onnxgpu"), 0, []
    print("%-48s %5s %9s %5s %5s %12s %12s %5s %10s %10s" % (
        "model", "nodes", "operators", "steps", "bound", "fetches", "mult-adds", "f/m", "buffers", "weights"))
    for path in words[1:]:
        name = os.path.basename(os.path.normpath(path))
        model = os.path.join(path, "model.onnx") if os.path.isdir(path) else path
        cost = explain(onnxgpu, model)
        if cost is None:
            refused.append(name)
            continue
        operators = cost["operators"]
        bound = max(cost["nodes"] // 2, sum(n for op, n in operators.items() if op in HEAVY))
        over += len(cost["layers"]) > bound
        print("%-48s %5d %9d %5d %5d %12d %12d %5.3f %10d %10d%s" % (
            name, cost["nodes"], sum(operators.values()), len(cost["layers"]), bound, cost["fetches"], cost["macs"],
            cost["fetches"] / cost["macs"] if cost["macs"] else 0, cost["bufferBytes"], cost["weightBytes"],
            "  OVER" if len(cost["layers"]) > bound else ""), flush=True)
        if wide:
            layers(cost)
    if refused:
        print("refused: " + " ".join(refused))
    sys.exit(1 if over else 0)


if __name__ == "__main__":
    main()
