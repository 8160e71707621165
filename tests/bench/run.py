#!/usr/bin/env python3
"""Measures the compiler on a 47 MB model of ResNet-18's size, next to the limit measured in the same run: run.py BUILD

Ratios are what counts: machines differ, and are busy. Nothing here asserts anything.
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile
import time

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "tests", "models"))
import make_models
import onnxwrite as ox

ROUNDS = 7


def resnet18(path):
    """The layers of ResNet-18, 224 x 224, with their BatchNormalization in place."""
    m = ox.Model("resnet18", seed=1)
    def conv(x, into, out, size, stride, relu=True, add=None):
        y = m.node("Conv", [x, m.weight([out, into, size, size])], kernel_shape=[size, size],
                   strides=[stride, stride], pads=[size // 2] * 4)
        y = m.node("BatchNormalization", [y, m.weight([out], low=0.5, high=1.5), m.weight([out], scale=0.3),
                                          m.weight([out], scale=0.3), m.weight([out], low=0.5, high=1.5)], epsilon=1e-5)
        if add:
            y = m.node("Add", [y, add])
        return m.node("Relu", [y]) if relu else y

    x = m.input("image", [1, 3, 224, 224])
    x = conv(x, 3, 64, 7, 2)
    x = m.node("MaxPool", [x], kernel_shape=[3, 3], strides=[2, 2], pads=[1, 1, 1, 1])
    into = 64
    for out, stride in ((64, 1), (128, 2), (256, 2), (512, 2)):
        for block in range(2):
            s = stride if block == 0 else 1
            short = x if s == 1 and into == out else conv(x, into, out, 1, s, relu=False)
            x = conv(conv(x, into, out, 3, s), out, out, 3, 1, add=short)
            into = out
    x = m.node("GlobalAveragePool", [x])
    x = m.node("Flatten", [x], axis=1)
    x = m.node("Gemm", [x, m.weight([1000, 512]), m.weight([1000], scale=0.1)], transB=1)
    m.output(x, [1, 1000])
    m.save(path)


def measured(command, environment=None):
    """Seconds on the clock and seconds of processor time of one run, and what it printed."""
    began = time.time()
    child = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=environment)
    printed = child.stdout.read().decode()
    _, status, used = os.wait4(child.pid, 0)
    seconds = time.time() - began
    if status:
        sys.exit("%s failed" % command)
    return seconds, used.ru_utime + used.ru_stime, printed


def peak_memory(command, environment):
    """MB of one run: its high-water mark, read again and again until it ends. What wait4() says is no less than what we
    have ourselves, since the child shares our memory until it becomes another program."""
    peak = 0
    child = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=environment)
    while child.poll() is None:
        with open("/proc/%d/status" % child.pid) as f:
            mark = re.search(r"^VmHWM:\s*(\d+) kB$", f.read(), re.M)
        peak = int(mark.group(1)) / 1024 if mark else peak
    return peak


def median(values):
    return sorted(values)[len(values) // 2]


def on_opengl(build, folder, environment):
    """One line: an evaluation of the README's filter (4 steps, 17 million multiply-adds) on Mesa's software device."""
    model = os.path.join(folder, "filter.onnx")
    make_models.MODELS["filter"]().save(model)
    environment = dict(environment)
    environment.setdefault("LIBGL_ALWAYS_SOFTWARE", "1")
    done = subprocess.run([os.path.join(build, "tests/opengl_cases"), "--time", model], env=environment,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    text = done.stdout.decode()
    found = re.search(r"^(.*?), OpenGL .*\n.*: ok: \d+ steps, ([0-9.]+) ms$", text, re.M)
    return "%7.1f ms   %s" % (float(found.group(2)), found.group(1)) if found else text.splitlines()[0]


def main():
    build = os.path.abspath(sys.argv[1])
    folder = tempfile.mkdtemp(prefix="onnxgpu-bench-")
    model = os.path.join(folder, "resnet18.onnx")
    environment = dict(os.environ, HOME=folder)
    program = os.path.join(build, "onnxgpu")

    def anew(number):
        """A compile into a folder of its own, with a cache of its own. What the one before wrote is emptied, lest the
        disk be busy with it, but not deleted: file systems make files several times slower where many were deleted a
        moment ago."""
        for at, _, files in os.walk(os.path.join(folder, "out%d" % (number - 1))):
            for name in files:
                os.truncate(os.path.join(at, name), 0)
        out = os.path.join(folder, "out%d" % number)
        os.makedirs(out)
        environment["XDG_CACHE_HOME"] = os.path.join(folder, "cache%d" % number)
        return [program, "--no-daemon", "--quiet", "compile", model, "-o", out], out

    try:
        resnet18(model)
        compile_, out = anew(0)
        measured(compile_, environment)
        written = sum(os.path.getsize(os.path.join(out, f)) for f in os.listdir(out))
        cold, limit, cached, empty, within = [], [], [], [], []
        for number in range(ROUNDS):
            compile_, _ = anew(number + 1)
            cold.append(measured(compile_, environment))
            # Into a new file as well: what is written to one that was emptied goes to the disk when it is closed.
            limit_out = os.path.join(folder, "limit%d" % number)
            limit.append(measured([os.path.join(build, "tests/bench/limit"), model, limit_out, str(written)]))
            os.truncate(limit_out, 0)
            within.append(float(limit[-1][2].split()[0]) / 1e3)
        time.sleep(2.5)  # a file's identity stands for its content only once it has been left alone for 2 s
        measured(compile_, environment)
        for _ in range(ROUNDS):
            cached.append(measured(compile_, environment))
            empty.append(measured([program, "--version"]))
        print("model %.1f MB, outputs %.1f MB; medians of %d runs, milliseconds: on the clock, and of processor time" %
              (os.path.getsize(model) / 1e6, written / 1e6, ROUNDS))

        def row(title, clock, runs, ratio=""):
            print("%-40s %7.1f %7.1f   %s" % (title, clock * 1e3, median([r[1] for r in runs]) * 1e3, ratio))

        clock = {name: median([r[0] for r in runs]) for name, runs in (("cold", cold), ("cached", cached), ("empty", empty))}
        # The limit's clock is its own, without the start of its process.
        row("limit (read, hash, to half, write)", median(within), limit)
        row("cold compile", clock["cold"], cold, "%.2f times the limit" % (clock["cold"] / median(within)))
        row("cached compile", clock["cached"], cached, "%.3f of cold" % (clock["cached"] / clock["cold"]))
        row("the program's start alone (--version)", clock["empty"], empty)
        compile_, _ = anew(ROUNDS + 1)
        print("peak memory %.1f MB" % peak_memory(compile_, environment))
        print("evaluation of a filter on OpenGL %s" % on_opengl(build, folder, environment))
    finally:
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()
