#!/usr/bin/env python3
"""Makes a workspace for the editors' tests: workspace.py DIR

Sharpen.cs names filter.onnx, which is good. Bad.cs names bad.onnx, whose batch is open (TUKI0112), and has characters
outside the basic plane before the argument, so that units of columns show. good.onnx is what bad.onnx becomes.
"""

import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "models"))
import onnxwrite as ox


def model(path, batch):
    m = ox.Model("filter", seed=3)
    x = m.input("image", [batch, 3, 8, 8])
    x = m.node("Conv", [x, m.weight([4, 3, 3, 3])], name="conv", kernel_shape=[3, 3], pads=[1, 1, 1, 1])
    m.output(x, [batch, 4, 8, 8])
    m.save(path)


def script(path, name, argument, before=""):
    with open(path, "w", encoding="utf-8") as f:
        f.write("using Tsukimi;\n%s[OnnxGpu(\"%s\")]\npublic partial class %s : TsukimiBehaviour { }\n" % (before, argument, name))


def main():
    folder = sys.argv[1]
    os.makedirs(folder, exist_ok=True)
    model(os.path.join(folder, "filter.onnx"), 1)
    model(os.path.join(folder, "bad.onnx"), "n")
    model(os.path.join(os.path.dirname(os.path.abspath(folder)), "good.onnx"), 1)
    script(os.path.join(folder, "Sharpen.cs"), "Sharpen", "filter.onnx")
    script(os.path.join(folder, "Bad.cs"), "Bad", "bad.onnx", before="/* \U0001F600\u00e9 */ ")


if __name__ == "__main__":
    main()
