#!/usr/bin/env python3
"""Makes what the editors' tests work with: workspace.py BASE

BASE/space: Sharpen.cs names filter.onnx, which is good; Bad.cs names dynamic.onnx, whose batch is open (TUKI0112), and
unsupported.onnx, which holds an operator that no GPU kernel computes (TUKI0110), each after characters outside the basic
plane, so that units of columns show.
BASE/models: what tests put into workspaces: good, other, dynamic, unsupported, and slow, which takes a while to compile.
BASE/many: fifty scripts, each with a model of its own.
"""

import os
import shutil
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "models"))
import onnxwrite as ox

MANY = 50

BAD = """using Tsukimi;
/* \U0001F600\u00e9 */ [OnnxGpu("dynamic.onnx")] public partial class Dynamic : TsukimiBehaviour { }
namespace \u5f71 { /* \U0001D4B3 */ [OnnxGpu("unsupported.onnx")] public partial class Unsupported : TsukimiBehaviour { } }
"""


def filter_model(seed, batch=1, size=8, channels=4):
    m = ox.Model("filter", seed=seed)
    x = m.input("image", [batch, 3, size, size])
    x = m.node("Conv", [x, m.weight([channels, 3, 3, 3])], name="conv", pads=[1, 1, 1, 1])
    m.output(m.node("Relu", [x], name="relu"), [batch, channels, size, size])
    return m


def unsupported_model():
    m = ox.Model("unsupported", seed=1)
    x = m.node("Relu", [m.input("image", [1, 3, 8, 8])], name="relu")
    m.output(m.node("RoiPooling", [x], name="pool"), [1, 3, 8, 8])
    return m


def slow_model():
    """Many layers, no two alike; its generated file stays well below the 16 MiB that may wait for a client."""
    m = ox.Model("slow", seed=9)
    x = m.input("image", [1, 4, 32, 32])
    channels = 4
    for i in range(400):
        more = 4 + i % 13
        x = m.node("Relu", [m.node("Conv", [x, m.weight([more, channels, 3, 3])], name="conv%d" % i, pads=[1, 1, 1, 1])])
        channels = more
    m.output(x, [1, channels, 32, 32])
    return m


def write(path, text):
    with open(path, "w", encoding="utf-8") as f:
        f.write(text)


def script(path, name, argument):
    write(path, "using Tsukimi;\n[OnnxGpu(\"%s\")]\npublic partial class %s : TsukimiBehaviour { }\n" % (argument, name))


def main():
    space, models, many = (os.path.join(sys.argv[1], name) for name in ("space", "models", "many"))
    for folder in (space, models, many):
        os.makedirs(folder, exist_ok=True)
    for name, model in (("good", filter_model(3)), ("other", filter_model(4, channels=8)), ("dynamic", filter_model(3, "n")),
                        ("unsupported", unsupported_model()), ("slow", slow_model())):
        model.save(os.path.join(models, name + ".onnx"))
    for source, target in (("good", "filter"), ("dynamic", "dynamic"), ("unsupported", "unsupported")):
        shutil.copyfile(os.path.join(models, source + ".onnx"), os.path.join(space, target + ".onnx"))
    script(os.path.join(space, "Sharpen.cs"), "Sharpen", "filter.onnx")
    write(os.path.join(space, "Bad.cs"), BAD)
    for i in range(MANY):
        script(os.path.join(many, "Filter%02d.cs" % i), "Filter%02d" % i, "model%02d.onnx" % i)
        filter_model(100 + i, size=8 + i % 5).save(os.path.join(many, "model%02d.onnx" % i))


if __name__ == "__main__":
    main()
