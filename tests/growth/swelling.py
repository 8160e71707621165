#!/usr/bin/env python3
"""Small files that claim much are compiled, or refused by name, in little memory: swelling.py BUILD [FAMILY...]

Each family of tests/models/swelling.py is a model of a few hundred bytes whose constants would take gigabytes or hours.
`onnxgpu check` has to answer within MEMORY bytes of address space, with the status of a model that is fine or with an
error that has a code: never for want of memory, by a broken invariant, a signal or not at all.
"""

import os
import re
import resource
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "tests", "models"))
import families
import swelling

MEMORY = 1500000 << 10
PATIENCE = 600  # seconds: hours are meant, not a slow machine

# Little of what these name is needed, or what is needed is little: they compile.
FITS = """attention center_crop_pad constant_of_shape depth_to_space doubled doubled_ranges doubled_sums expand expand_more
eye_like loop_doubling lrn_wide pad pad_reflected reverse scatter_by_large sequence softmax_mask split tile transposed trilu
where""".split()

# Refused for what layers take that the cache may know of: once they are known, as before.
AGAIN = "conv_weights matmul_weights_fit".split()


def limited():
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))


def run(program, arguments, limit):
    cache = ["--no-cache"] if "--cache" not in arguments else []
    done = subprocess.run([program, "--no-daemon"] + cache + arguments, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL, timeout=PATIENCE,
                          preexec_fn=limited if limit else None)
    return done.returncode, done.stdout.decode("utf-8", "replace")


def judge(program, name, folder, limit):
    """What is wrong, or None."""
    path = os.path.join(folder, name + ".onnx")
    swelling.FAMILIES[name]().save(path)
    try:
        status, text = run(program, ["check", path], limit)
    except subprocess.TimeoutExpired:
        return "no answer within %d s" % PATIENCE
    errors = re.findall(r": error: .*\[(TUKI\d{4})\]", text)
    if status not in (0, 1) or "TUKI0190" in errors or (status == 1 and not errors):
        return "status %d: %s" % (status, text.strip())
    if (status == 0) != (name in FITS):
        return ("compiles: " if status == 0 else "is refused: ") + text.strip()
    for time in ("first", "second") if name in AGAIN else ():
        answer = run(program, ["check", "--cache", os.path.join(folder, name + ".cache"), path], limit)
        if answer != (status, text):
            return "with a cache, the %s time: %s" % (time, answer[1].strip() or "it compiles")
    return None


def main(arguments):
    program = os.path.join(os.path.abspath(arguments[0]), "onnxgpu")
    # What watches every byte of memory has more of it than the limit before it begins.
    limit = run(program, ["--version"], True)[0] == 0

    def judged(name, folder):
        wrong = judge(program, name, folder, limit)
        return ["%s: %s" % (name, wrong)] if wrong else [], wrong is not None

    return families.judge_all(arguments[1:] or list(swelling.FAMILIES), judged)


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    sys.exit(main(sys.argv[1:]))
