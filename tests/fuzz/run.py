#!/usr/bin/env python3
"""Runs libFuzzer's programs for a while each: run.py BUILD FUZZ_BUILD SECONDS

First inputs are made here: the models of tests/models, what they compile to, the scripts and transcripts of other
tests. Beside a program's source may lie words that it looks for (csharp.dict); models are changed field by field
(mutate_model.c). FUZZ_BUILD/corpus keeps what was found worth keeping. An input that breaks a program stays in FUZZ_BUILD.
"""

import glob
import os
import re
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "tests", "differential"))
import describe  # noqa: E402
import generate  # noqa: E402
import operators_control  # noqa: E402,F401
import operators_elementwise  # noqa: E402,F401
import operators_idioms  # noqa: E402,F401
import operators_layers  # noqa: E402,F401
import operators_models  # noqa: E402,F401
import operators_quantized  # noqa: E402,F401
import operators_shape  # noqa: E402,F401

RANDOM_MODELS = 200
LONGEST = 1 << 16  # bytes of an input: longer ones are slow, and find no more


def put(folder, name, data):
    with open(os.path.join(folder, name), "wb") as f:
        f.write(data)


def files(pattern):
    for path in sorted(glob.glob(pattern)):
        with open(path, "rb") as f:
            yield os.path.basename(path), f.read()


def first_inputs(build, corpus):
    made = os.path.join(corpus, "made")
    os.makedirs(made, exist_ok=True)
    subprocess.run([sys.executable, "tests/models/make_models.py", made], check=True)
    for path in sorted(glob.glob(made + "/*.onnx")):
        subprocess.run([os.path.join(build, "onnxgpu"), "--no-daemon", "--no-cache", "--quiet", "compile", path,
                        "-o", made], check=True)
    for name, data in files(made + "/*.onnx"):
        put(os.path.join(corpus, "fuzz_load"), name, data)
        put(os.path.join(corpus, "fuzz_compile"), name, data)
    for seed in range(RANDOM_MODELS):
        put(os.path.join(corpus, "fuzz_compile"), "random_%d" % seed, describe.model(generate.description(seed)).bytes())
    for name, data in files(made + "/*.cs"):
        put(os.path.join(corpus, "fuzz_dialect"), name, data)
        for number, kernel in enumerate(re.findall(rb"^ *\[Kernel\]\n.*?^    }$", data, re.S | re.M)):
            put(os.path.join(corpus, "fuzz_dialect"), "%s.%d" % (name, number), kernel)
    for name, data in list(files("client/demo/*.cs")) + list(files("tests/golden/*/*.txt")) + list(files(made + "/*.cs")):
        put(os.path.join(corpus, "fuzz_csharp"), name, data)
    for name, data in files("tests/lsp/transcripts/*.txt"):
        messages = re.findall(rb"^> (\{.*?)(?=^---$)", data, re.S | re.M)
        put(os.path.join(corpus, "fuzz_frame"), name,
            b"\x07" + b"".join(b"Content-Length: %d\r\n\r\n%s" % (len(m), m) for m in messages))


def main(words):
    if len(words) != 3:
        print(__doc__, file=sys.stderr)
        return 2
    build, fuzz, seconds = os.path.abspath(words[0]), os.path.abspath(words[1]), words[2]
    os.chdir(ROOT)
    names = [os.path.basename(path)[:-2] for path in sorted(glob.glob("tests/fuzz/fuzz_*.c"))]
    corpus = os.path.join(fuzz, "corpus")
    for name in names:
        os.makedirs(os.path.join(corpus, name), exist_ok=True)
    first_inputs(build, corpus)
    failed = 0
    for name in names:
        words = "tests/fuzz/%s.dict" % name[len("fuzz_"):]
        done = subprocess.run([os.path.join(fuzz, "tests/fuzz", name), "-max_total_time=" + seconds, "-timeout=60",
                               "-rss_limit_mb=4096", "-max_len=%d" % LONGEST, "-artifact_prefix=%s/%s-" % (fuzz, name)] +
                              ["-dict=" + words] * os.path.exists(words) + [os.path.join(corpus, name)], stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        output = done.stdout.decode("utf-8", "replace")
        runs = re.search(r"Done (\d+) runs", output)
        print("tests/fuzz/%-14s %s" % (name, runs[0] if runs else "FAILED"), flush=True)
        if done.returncode:
            failed += 1
            print("    " + "\n    ".join(output.splitlines()[-60:]))
    print("%d passed, %d failed" % (len(names) - failed, failed))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
