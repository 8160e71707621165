#!/usr/bin/env python3
"""Random models by the kernels, the reference engine and ONNX Runtime, compared.

    run.py BUILD                       what `make check` runs: the corpus, and the seeds 0 to 1999 (half a minute on two cores)
    run.py BUILD --seeds 0-9999        these; counts verdicts, refusals by code, and lists what differs
    run.py BUILD --seeds 17 --show     prints the description of a model, and where its files are
    run.py BUILD --seeds 17 --shrink   the smallest part of it that still fails, as a line for corpus.jsonl
    --only Conv,Pad    generate of these operators only        --keep DIR    where models are written and stay
    --opset 24         of this opset                           --batch 3     of this batch

ONNX Runtime is used where node finds the package onnxruntime-node: in the environment's ONNXRUNTIME_NODE (a folder that
holds node_modules), or NODE_PATH, or beside this file. Else that part counts as skipped.

corpus.jsonl holds models that once failed, one description a line (describe.py), with "why" and, where the reference
itself was wrong, the right outputs in "expect".
"""

import argparse
import collections
import concurrent.futures
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
import describe  # noqa: E402
import differences  # noqa: E402
import generate  # noqa: E402
import operators_control  # noqa: E402,F401
import operators_elementwise  # noqa: E402,F401
import operators_idioms  # noqa: E402,F401
import operators_layers  # noqa: E402,F401
import operators_models  # noqa: E402,F401
import operators_quantized  # noqa: E402,F401
import operators_shape  # noqa: E402,F401

SHORT = range(0, 2000)
BATCH, WORKERS = 100, 2
LIMIT = 600  # seconds for one batch

def find_onnxruntime():
    """The package's folder, or None and why."""
    if not shutil.which("node"):
        return None, "node is not installed"
    places = [p for p in [os.environ.get("ONNXRUNTIME_NODE"), HERE] if p]
    code = "console.log(require.resolve('onnxruntime-node/package.json', {paths: %s.concat(module.paths)}))" % json.dumps(places)
    done = subprocess.run(["node", "-e", code], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, universal_newlines=True)
    if done.returncode:
        return None, "onnxruntime-node is not installed"
    return os.path.dirname(done.stdout.strip()), ""


def rows(command, folders, limit):
    """Runs command over folders; lines split at tabs. What ends it is reported for the folder at work, and the rest goes on."""
    found, rest = [], list(folders)
    while rest:
        done = subprocess.run(command + rest, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=limit,
                              universal_newlines=True, errors="replace")
        lines = [line.split("\t") for line in done.stdout.splitlines()]
        found += lines
        begun = [line[0] for line in lines]
        if done.returncode == 0 or not begun:
            if done.returncode:
                raise RuntimeError(done.stderr)
            break
        last = begun[-1]
        why = "took more than 5 s" if done.returncode == -27 else "ended with %d: %s" % (done.returncode, " | ".join(
            line for line in done.stderr.splitlines() if "ERROR" in line or "error" in line or " #" in line)[:800])
        found.append([last, "kernels", "FAIL", why])
        rest = rest[rest.index(last) + 1:]
    return found


def refusals(onnxruntime, folders):
    """Runs ONNX Runtime; {folder: why} of what it refuses."""
    lines = rows(["node", os.path.join(HERE, "onnxruntime.js"), onnxruntime], folders, LIMIT)
    return {line[0]: line[2] for line in lines if line[1] == "refused"}


def judge(build, onnxruntime, cases, place):
    """cases: (title, description). {title: {part: (verdict, detail)}}"""
    folders = {}
    for title, d in cases:
        folder = os.path.join(place, title)
        shutil.rmtree(folder, ignore_errors=True)
        describe.save(d, folder)
        for i, values in enumerate(d.get("expect", [])):
            _, kind, dims = d["outputs"][i]
            describe.ox.save_tensor(os.path.join(folder, "expect_%d.pb" % i), dims, values, describe.KINDS[kind])
        folders[folder] = title
    found = {title: {} for title, _ in cases}
    if onnxruntime:
        refused = refusals(onnxruntime, list(folders))
        plain = {}
        for folder in refused:  # a form that the runtime does not know; what it means, it may
            d = dict(cases)[folders[folder]].get("plain")
            if d:
                plain[os.path.join(folder, "plain")] = folder
                describe.save(d, os.path.join(folder, "plain"))
        again = refusals(onnxruntime, list(plain)) if plain else {}
        for folder, first in plain.items():
            if folder in again:
                refused[first] = again[folder]
            else:
                del refused[first]
                for name in os.listdir(folder):
                    if name.startswith("ort_"):
                        shutil.copy(os.path.join(folder, name), first)
        for folder, why in refused.items():
            found[folders[folder]]["onnxruntime"] = ("refused", why)
    for line in rows([os.path.join(build, "tests/differential/engines")], list(folders), LIMIT):
        if line[1] != "begin":
            found[folders[line[0]]][line[1]] = (line[2], line[3] if len(line) > 3 else "")
    return found


class Counts:
    def __init__(self, tools):
        self.tools = tools
        self.verdicts = collections.Counter()
        self.refusals = collections.Counter()
        self.foreign = collections.Counter()
        self.known = collections.Counter()
        self.failed = []
        self.refused = collections.defaultdict(list)

    def add(self, title, d, parts):
        if parts.get("onnxruntime", ("",))[0] == "refused":
            found = differences.check(d.get("plain") or d, self.tools)
            if found:
                parts["definition"] = found
        for part, (verdict, detail) in sorted(parts.items()):
            if verdict == "FAIL":
                why = differences.explain(d.get("plain") or d, part, self.tools)
                if why:
                    self.known[why] += 1
                    continue
                self.failed.append((title, part, detail, d))
            if verdict == "refused" and part != "onnxruntime":
                self.refusals[part, detail.split(" ")[0]] += 1
                self.refused[part, detail.split(" ")[0]].append((title, detail))
            elif verdict == "refused":
                self.foreign[re.sub(r"'[^']*'|\d+|/\S+|\w*_?\bn/\S+", "", detail)[:90]] += 1
            self.verdicts[part, verdict] += 1


class Tools:
    """What explanations run (differences.py)."""

    def __init__(self, build, onnxruntime, place):
        self.build, self.onnxruntime, self.place = build, onnxruntime, os.path.join(place, "explained")
        self.tidy, self.computed = tidy, computed_names

    def save(self, d):
        shutil.rmtree(self.place, ignore_errors=True)
        describe.save(d, self.place)

    def outputs(self, stem, names):
        paths = [os.path.join(self.place, "%s_%d.pb" % (stem, i)) for i in range(len(names))]
        return [describe.load(p) for p in paths] if all(map(os.path.exists, paths)) else None

    def values(self, d):
        """ONNX Runtime's numbers of every value; None where there is no runtime, or it refuses."""
        if not self.onnxruntime:
            return None
        names = differences.tensors_of(d)
        self.save(dict(d, outputs=[[name, None, None] for name in names]))
        refusals(self.onnxruntime, [self.place])
        found = self.outputs("ort", names)
        if found is None:
            return None
        return dict(self.given(d), **dict(zip(names, found)))

    @staticmethod
    def given(d):
        """The inputs and initializers."""
        return {name: (kind, dims, describe.numbers(kind, dims, fill)) for name, kind, dims, fill, *_ in d["inputs"] + d["tensors"]}

    def reference(self, d):
        self.save(d)
        rows([os.path.join(self.build, "tests/differential/engines"), "--write"], [self.place], LIMIT)
        return self.outputs("reference", d["outputs"])

    def verdict(self, d, part):
        found = judge(self.build, self.onnxruntime, [("explained", d)], os.path.dirname(self.place))["explained"]
        return found.get(part, ("",))[0]


def fails(build, onnxruntime, d, part, place):
    shutil.rmtree(os.path.join(place, "shrink"), ignore_errors=True)
    try:
        found = judge(build, onnxruntime if part == "onnxruntime" else None, [("shrink", d)], place)["shrink"]
    except Exception:
        return False
    return found.get(part, ("", ""))[0] == "FAIL"


def tidy(d):
    """Without what no output depends on."""
    needed, nodes = {name for name, *_ in d["outputs"]}, []
    for node in reversed(d["nodes"]):
        if needed & set(node[2]):
            needed |= generate.reads(node)
            nodes.append(node)
    return dict(d, nodes=nodes[::-1], tensors=[t for t in d["tensors"] if t[0] in needed],
                inputs=[i for i in d["inputs"] if i[0] in needed] or d["inputs"][:1],
               records=[r for r in d.get("records", []) if r[0] in {o for n in nodes for o in n[2]}])


def shrink(build, onnxruntime, d, part, place):
    """Fewer nodes and outputs that still fail: outputs moved up, values turned into inputs."""
    shapes = shapes_of(d)
    again = True
    while again:
        again = False
        trials = []
        if len(d["outputs"]) > 1:
            trials += [tidy(dict(d, outputs=[o])) for o in d["outputs"]]
        made = {name for node in d["nodes"] for name in node[2]}
        computed = computed_names(d)
        for node in d["nodes"]:
            for name in node[2]:
                if name and name in computed and name not in {o[0] for o in d["outputs"]}:
                    trials.append(tidy(dict(d, outputs=[[name, "float", None]])))
        for node in d["nodes"]:
            for name in node[2]:
                if name in shapes and name in computed and name not in {o[0] for o in d["outputs"]} and 2 <= len(shapes[name]) <= 4:
                    cut = dict(d, inputs=d["inputs"] + [[name, "float", shapes[name], {"seed": 5, "low": -2.0, "high": 2.0, "step": 0.25}]],
                               nodes=[n for n in d["nodes"] if n is not node])
                    if len(node[2]) == 1:
                        trials.append(tidy(cut))
        for t in trials:
            if len(t["nodes"]) + len(t["outputs"]) < len(d["nodes"]) + len(d["outputs"]) and fails(build, onnxruntime, t, part, place):
                d, again = t, True
                break
        del made
    return d


def computed_names(d):
    known_names = {i[0] for i in d["inputs"]}
    for node in d["nodes"]:
        if generate.reads(node) & known_names:
            known_names |= set(node[2])
    return known_names


def shapes_of(d):
    return d.get("shapes", {})


def parse_seeds(text):
    first, _, last = text.partition("-")
    return range(int(first), int(last or first) + 1)


def main():
    p = argparse.ArgumentParser()
    p.add_argument("build")
    p.add_argument("--seeds", type=parse_seeds)
    p.add_argument("--only")
    p.add_argument("--opset", type=int)
    p.add_argument("--batch", type=int)
    p.add_argument("--keep")
    p.add_argument("--show", action="store_true")
    p.add_argument("--shrink", action="store_true")
    p.add_argument("--no-onnxruntime", action="store_true")
    p.add_argument("--refused", help="list the models that were refused with this code")
    p.add_argument("--list", type=int, default=40, help="how many failures are shown")
    a = p.parse_args()
    only = set(a.only.split(",")) if a.only else None
    onnxruntime, why = (None, "not asked for") if a.no_onnxruntime else find_onnxruntime()
    place = a.keep or tempfile.mkdtemp(prefix="onnxgpu-differential-")
    counts = Counts(Tools(a.build, onnxruntime, place))
    try:
        cases = []
        if a.seeds is None:
            with open(os.path.join(HERE, "corpus.jsonl"), encoding="utf-8") as f:
                cases = [("corpus-%d" % i, json.loads(line)) for i, line in enumerate(f)]
        cases += [("seed-%d" % s, None) for s in (a.seeds or SHORT)]
        def batch_of(at):
            batch = [(t, d or generate.description(int(t[5:]), only, a.opset, a.batch)) for t, d in cases[at:at + BATCH]]
            return batch, judge(a.build, onnxruntime, batch, place)

        with concurrent.futures.ThreadPoolExecutor(WORKERS) as pool:
            for batch, found in pool.map(batch_of, range(0, len(cases), BATCH)):
                for t, d in batch:
                    if a.show:
                        print(json.dumps({key: value for key, value in d.items() if key not in ("shapes", "plain")}))
                    counts.add(t, d, found[t])
                    if a.show:
                        print(os.path.join(place, t), found[t])
                    if not a.keep and not a.show:
                        shutil.rmtree(os.path.join(place, t), ignore_errors=True)
        if a.shrink:
            for title, part, detail, d in counts.failed:
                print(title, part, detail)
                if "plain" in d and fails(a.build, onnxruntime, d["plain"], part, place):
                    d = d["plain"]
                small = shrink(a.build, onnxruntime, dict(d, plain=None), part, place)
                small = {key: value for key, value in small.items() if key not in ("shapes", "plain")}
                print(json.dumps(small, ensure_ascii=False), flush=True)
        report(a, counts, len(cases), onnxruntime, why)
    finally:
        if not a.keep and not a.show:
            shutil.rmtree(place, ignore_errors=True)
    return 1 if counts.failed else 0


def report(a, counts, total, onnxruntime, why):
    for (part, verdict), n in sorted(counts.verdicts.items()):
        print("%-12s %-9s %6d" % (part, verdict, n))
    for (part, code), n in sorted(counts.refusals.items()):
        print("  refused by %s with %s: %d" % (part, code, n))
    for text, n in counts.foreign.most_common(12):
        print("  refused by ONNX Runtime: %5d %s" % (n, text))
    for text, n in sorted(counts.known.items()):
        print("  known difference: %5d %s" % (n, text))
    if a.refused:
        for (part, code), list_ in counts.refused.items():
            if a.refused in (code, part):
                for title, detail in list_[:a.list]:
                    print("  %s %s %s" % (title, part, detail))
    for title, part, detail, d in counts.failed[:a.list]:
        print("FAIL %s %s: %s  [%s]" % (title, part, detail, " ".join(node[0] for node in d["nodes"] if node[0] != "Constant")[:200]))
    failed = len({title for title, *_ in counts.failed})
    if not onnxruntime:
        print("skipped: the comparison with ONNX Runtime: %s" % why)
    print("%d passed, %d failed, %d skipped" % (total - failed, failed, 0 if onnxruntime else 1))


if __name__ == "__main__":
    sys.exit(main())
