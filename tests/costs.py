#!/usr/bin/env python3
"""Counts what explain counts, by other means: costs.py BUILD

Fetches and multiply-adds of each kernel of the project's models and of some random ones are counted here on the text of
the generated file, line by line and expression by expression, and must be what `onnxgpu explain` says of it; so must the
bytes of the buffers that LoadFilter() makes, and the number of steps.

Neither may show an operator that only passes make: people know those of their model.

A fetch is `buffer[x, y]`. A multiply-add is a product of floats that is added to or subtracted from something. A loop
counts its body as often as it runs, an `if` the more expensive of its branches.
"""

import json
import os
import re
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(ROOT, "tests", "models"))
import make_models
from random_models import close, random_model

RANDOM_MODELS = 20
TOKEN = re.compile(r"\s*(\d+\.?\d*(?:[eE][-+]?\d+)?f?|[A-Za-z_]\w*|&&|\|\||[<>=!]=|[-+*/%<>!?:(),.\[\]])")
LEVELS = [["||"], ["&&"], ["==", "!="], ["<", ">", "<=", ">="], ["+", "-"], ["*", "/", "%"]]


class Expression:
    """Parsed for its count alone: each part answers (type, is it a product of floats)."""

    def __init__(self, text, types):
        self.tokens, self.types, self.at = TOKEN.findall(text), types, 0
        self.fetches = self.macs = 0
        if "".join(self.tokens) != re.sub(r"\s", "", text):
            raise ValueError("cannot read " + text)

    def next(self):
        return self.tokens[self.at] if self.at < len(self.tokens) else ""

    def take(self, *wanted):
        if self.next() in wanted:
            self.at += 1
            return self.tokens[self.at - 1]
        return None

    def expect(self, token):
        if not self.take(token):
            raise ValueError("%s instead of %s in %s" % (self.next(), token, " ".join(self.tokens)))

    def choice(self):
        first = self.level(0)
        if not self.take("?"):
            return first
        kind = self.choice()[0]
        self.expect(":")
        self.choice()
        return kind, False

    def level(self, n):
        if n == len(LEVELS):
            return self.unary()
        left = self.level(n + 1)
        while True:
            sign = self.take(*LEVELS[n])
            if not sign:
                return left
            right = self.level(n + 1)
            kind = "float" if "float" in (left[0], right[0]) else "int"
            if sign in "+-":
                # a + p and p + q: each product is half of a multiply-add.
                self.macs += (left[1] is True) + (right[1] is True)
                left = kind, False
            elif n == 5:
                left = kind, sign == "*" and kind == "float"
            else:
                left = "bool", False

    def unary(self):
        if self.take("-", "!"):
            return self.unary()[0], False
        if self.next() == "(" and self.tokens[self.at + 1] in ("int", "float") and self.tokens[self.at + 2] == ")":
            kind = self.tokens[self.at + 1]
            self.at += 3
            self.unary()
            return kind, False
        return self.primary()

    def arguments(self, end):
        while not self.take(end):
            self.choice()
            self.take(",")

    def primary(self):
        if self.take("("):
            inner = self.choice()
            self.expect(")")
            return inner
        word = self.next()
        self.at += 1
        if word[0].isdigit():
            return "float" if word[-1] == "f" or "." in word else "int", False
        if word == "new":
            self.at += 1
            self.expect("(")
            self.arguments(")")
            return "color", False
        if word == "Mathf":
            self.at += 2
            self.expect("(")
            self.arguments(")")
            return "float", False
        if self.take("("):
            self.arguments(")")
            return "float", False
        kind = self.types.get(word, "int" if word == "id" else "?")
        while self.next() in (".", "["):
            if self.take("."):
                self.at += 1
                kind = "int" if word == "id" else "float"
            else:
                self.at += 1
                self.fetches += kind == "GpuBuffer2D"
                self.arguments("]")
                kind = "color"
        return kind, False


class Kernel:
    def __init__(self, lines, types):
        self.lines, self.types, self.at = lines, types, 0

    def block(self):
        """(fetches, macs) up to the closing brace."""
        total = [0, 0]
        while self.at < len(self.lines):
            line = self.lines[self.at]
            self.at += 1
            if line == "}":
                break
            loop = re.match(r"for \(int (\w+) = 0; \1 < (\d+); \1\+\+\)$", line)
            times, part = 1, None
            if loop:
                self.types[loop[1]] = "int"
                self.at += 1
                times, part = int(loop[2]), self.block()
            elif line.startswith("if ("):
                condition = self.count("bool", line[4:-1])
                self.at += 1
                part, other = self.block(), (0, 0)
                if self.at < len(self.lines) and self.lines[self.at] == "else":
                    self.at += 2
                    other = self.block()
                part = [condition[i] + max(part[i], other[i]) for i in range(2)]
            elif line == "{":
                part = self.block()
            else:
                part = self.statement(line)
            total = [total[i] + times * part[i] for i in range(2)]
        return total

    def count(self, kind, text, added=False):
        e = Expression(text, self.types)
        last = e.choice()
        if e.at != len(e.tokens):
            raise ValueError("more than an expression: " + text)
        return e.fetches, e.macs + bool(added and last[1])

    def statement(self, line):
        declared = re.match(r"(int|float|bool|Color4|Vector4) (\w+) = (.*);$", line)
        if declared:
            self.types[declared[2]] = declared[1]
            return self.count(declared[1], declared[3])
        assigned = re.match(r"(\w+) ([-+*/]?=) (.*);$", line)
        if assigned:
            return self.count("", assigned[3], assigned[2] in ("+=", "-="))
        returned = re.match(r"return (.*);$", line)
        if returned:
            return self.count("", returned[1])
        raise ValueError("cannot read " + line)


def kernels(text):
    """Name -> (fetches, macs) of one invocation."""
    found, lines = {}, [line.strip() for line in text.split("\n")]
    for i, line in enumerate(lines):
        head = re.match(r"(?:private )?static Color4 (\w+)\(KernelId id(?:, (.*))?\)$", line)
        if not head:
            continue
        types = {}
        for parameter in (head[2] or "").split(", "):
            if parameter:
                types[parameter.split()[-1]] = "GpuBuffer2D" if parameter.startswith("GpuBuffer2D") else "Vector4[]"
        end = i + 2
        depth = 1
        while depth:
            depth += (lines[end] == "{") - (lines[end] == "}")
            end += 1
        found[head[1]] = Kernel([x for x in lines[i + 2:end] if x and not x.startswith("//")], types).block()
    return found


def internal_names():
    with open(os.path.join(ROOT, "daemon", "compiler", "operators", "operators.def"), encoding="utf-8") as f:
        return re.findall(r"^OPERATOR\((\w+), OPERATOR_INTERNAL", f.read(), re.M)


INTERNAL = re.compile(r"\b(%s)\b" % "|".join(internal_names()))


def check(onnxgpu, here):
    """None, or what differs."""
    run = [onnxgpu, "--no-cache"]
    subprocess.run(run + ["compile", "model.onnx", "--class", "T.M", "-o", "out"], cwd=here, check=True,
                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    cost = json.loads(subprocess.run(run + ["explain", "model.onnx", "--format", "json"], cwd=here, check=True,
                                     stdout=subprocess.PIPE, stderr=subprocess.DEVNULL).stdout)
    with open(os.path.join(here, "out", "M.Model.Model.cs"), encoding="utf-8") as f:
        text = f.read()
    counted, all_of_it = kernels(text), [0, 0]
    shown = [line for line in text.split("\n") if "//" in line and "Component k of a cell" not in line] + [word for layer in cost["layers"] for word in
                                                                   [layer["name"], layer["op"]] + layer["fused"]]
    internal = [line.strip() for line in shown if INTERNAL.search(line)]
    if internal:
        return "shows an internal operator: " + internal[0]
    if len(counted) != len(cost["layers"]):
        return "%d kernels, %d layers" % (len(counted), len(cost["layers"]))
    items = cost["steps"] // len(cost["layers"])
    for layer in cost["layers"]:
        cells = layer["width"] * layer["height"]
        own = [n * cells for n in counted[layer["kernel"]]]
        all_of_it = [all_of_it[i] + items * own[i] for i in range(2)]
        if own != [layer["fetches"], layer["macs"]]:
            return "%s: %d fetches and %d multiply-adds, explain says %d and %d" % (
                layer["kernel"], *own, layer["fetches"], layer["macs"])
    if all_of_it != [cost["fetches"], cost["macs"]]:
        return "%d fetches and %d multiply-adds in all, explain says %d and %d" % (*all_of_it, cost["fetches"], cost["macs"])
    size = sum(int(w) * int(h) * (8 if "Half" in rest else 4) for name, w, h, rest in re.findall(
        r"(\w+) = Gpu\.Buffer\((\d+), (\d+)(.*)\);", text) if not re.match(r"Modelw\d", name))
    if size != cost["bufferBytes"]:
        return "%d bytes of buffers, explain says %d" % (size, cost["bufferBytes"])
    return None


def main(arguments):
    onnxgpu, folder = os.path.abspath(os.path.join(arguments[0], "onnxgpu")), tempfile.mkdtemp(prefix="onnxgpu-costs-")
    models, passed, failed = dict(make_models.MODELS), 0, 0
    for i in range(RANDOM_MODELS):
        models["random_%d" % i] = lambda i=i: random_model(5000 + i)
    for name, make in models.items():
        here = os.path.join(folder, name)
        os.makedirs(here)
        make().save(os.path.join(here, "model.onnx"))
        try:
            why = check(onnxgpu, here)
        except (ValueError, KeyError, IndexError, subprocess.CalledProcessError) as e:
            why = "%s: %s" % (type(e).__name__, e)
        passed, failed = passed + (not why), failed + bool(why)
        if why:
            print("%s: %s" % (name, why))
    return close(folder, passed, failed)


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    sys.exit(main(sys.argv[1:]))
