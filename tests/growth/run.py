#!/usr/bin/env python3
"""How the compiler's work grows with its input, counted and not timed: run.py BUILD [FAMILY...]

Each family of models (tests/models/growing.py) is compiled in three sizes, each twice the one before it. What the last
doubling adds may be at most MOST times what the one before it added: twice as much where the work is proportional to the
model, four times as much where it is to its square. Nor may one layer more cost more than so many steps and bytes: what
is proportional can still be too much.
"""

import os
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "tests", "models"))
import families
import growing

FIRST = 250
MOST = 2.9
MOST_STEPS, MOST_BYTES = 20 * 1000 * 1000, 1 << 20  # a layer

def measure(program, name, n, folder):
    """(steps, bytes, how it ended)"""
    path = os.path.join(folder, "%s_%d.onnx" % (name, n))
    growing.FAMILIES[name](n).save(path)
    done = subprocess.run([program, path], stdout=subprocess.PIPE, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL, timeout=600)
    os.remove(path)
    words = done.stdout.decode().split(maxsplit=3)
    if done.returncode or len(words) < 3:
        return 0, 0, "status %d: %s" % (done.returncode, done.stderr.decode().strip())
    return int(words[0]), int(words[1]), " ".join(words[2:]).strip()


def judge(program, name, folder):
    """(what was measured, complaints)"""
    sizes = [FIRST, 2 * FIRST, 4 * FIRST]
    found = [measure(program, name, n, folder) for n in sizes]
    complaints = []
    for n, (steps, size, end) in zip(sizes, found):
        if end not in ("ok", "refused"):
            complaints.append("n = %d: %s" % (n, end))
    for at, what, most, least in ((0, "steps", MOST_STEPS, 8000000), (1, "bytes", MOST_BYTES, 1 << 20)):
        few, more, many = (f[at] for f in found)
        if many - more > MOST * max(more - few, least):  # arenas grow by chunks, faults are compared
            complaints.append("%s grow faster than the model: %d, %d, %d" % (what, few, more, many))
        if many - few > 3 * FIRST * most:
            complaints.append("%d %s a layer" % ((many - few) / (3 * FIRST), what))
    return found, complaints


def main(arguments):
    program = os.path.abspath(os.path.join(arguments[0], "count", "tests", "growth", "work"))

    def judged(name, folder):
        found, complaints = judge(program, name, folder)
        shown = ["%s: %s" % (name, found)] if complaints or arguments[1:] else []
        return shown + ["    " + c for c in complaints], bool(complaints)

    return families.judge_all(arguments[1:] or list(growing.FAMILIES), judged)


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    sys.exit(main(sys.argv[1:]))
