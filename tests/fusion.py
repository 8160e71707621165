#!/usr/bin/env python3
"""Random models, run as kernels and by the reference: fusion.py BUILD [FIRST [COUNT]]

What is computed in one kernel depends on what stands beside what; here everything stands beside everything. A model
fails where the kernels' result is not the reference's but for what 16 bits explain.
"""

import os
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(ROOT, "tests", "models"))
from random_models import close, random_model

FEWEST_DECIBELS = 40


def main(arguments):
    build = arguments[0]
    first, count = (int(arguments[1]) if len(arguments) > 1 else 0), (int(arguments[2]) if len(arguments) > 2 else 80)
    onnxgpu, folder = os.path.abspath(os.path.join(build, "onnxgpu")), tempfile.mkdtemp(prefix="onnxgpu-fusion-")
    folders, failed = [], 0
    for seed in range(first, first + count):
        here = os.path.join(folder, "seed_%d" % seed)
        os.makedirs(here)
        random_model(seed).save(os.path.join(here, "model.onnx"))
        done = subprocess.run([onnxgpu, "--no-cache", "run", "model.onnx", "--seed", str(seed), "--engine", "reference",
                               "-o", "test_data_set_0"], cwd=here, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        if done.returncode:
            failed += 1
            print("seed_%d: %s" % (seed, done.stderr.decode().strip()))
        else:
            folders.append(here)
    done = subprocess.run([onnxgpu, "--no-cache", "verify", "--min-snr", str(FEWEST_DECIBELS)] + folders,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    good = 0
    for line in done.stdout.decode().splitlines():
        if ": ok" in line:
            good += 1
        elif "passed," not in line:
            failed += ": FAIL" in line or ": SKIP" in line
            print(os.path.basename(line))
    return close(folder, good, failed) or int(good + failed != count)


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    sys.exit(main(sys.argv[1:]))
