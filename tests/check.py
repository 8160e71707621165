#!/usr/bin/env python3
"""Runs tests and counts them: check.py BUILD [--only GROUP…] [--skip GROUP…]

A group is a folder of tests; each of its programs ends with what cmocka prints, or with a line `N passed, N failed[, N
skipped]`. One line a program is shown, all output of one that fails. The last line counts tests, not programs; the exit
status is 1 where one failed, or where nothing ran. Programs run side by side, each with a place of its own for its cache
and its sockets.
"""

import concurrent.futures
import glob
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
LIMIT = 5400  # seconds for one program, which is for slow machines with sanitizers


def programs(build):
    """(group, title, command) of everything there is."""
    # It mostly waits: what comes after it runs meanwhile.
    yield "lsp", "tests/lsp/ordinary_day.py", ["python3", "tests/lsp/ordinary_day.py", os.path.join(build, "onnxgpud"),
                                               os.path.join(build, "onnxgpu")]
    for path in sorted(glob.glob(os.path.join(ROOT, "tests/unit/*/test_*.c"))):
        name = os.path.relpath(path, ROOT)[:-2]
        yield "unit/" + name.split("/")[2], name, [os.path.join(build, name)]
    yield "headers", "tests/headers", ["python3", "tests/headers/check.py"]
    yield "headers", "tests/headers (itself)", ["python3", "tests/headers/check.py", "--self-test"]
    if os.path.exists(os.path.join(ROOT, "tools/docs.py")):
        yield "docs", "README's tables", ["python3", "tools/docs.py", "--check", build]
    for path in sorted(glob.glob(os.path.join(ROOT, "tests/golden/client/*.txt"))):
        path = os.path.relpath(path, ROOT)
        yield "golden", path, ["python3", "tests/golden/run.py", os.path.join(build, "onnxgpu"), path]
    yield "golden", "every diagnostic has a case", ["python3", "tests/golden/covered.py"]
    yield "kernels", "tests/fusion.py", ["python3", "tests/fusion.py", build]
    yield "kernels", "tests/invariance.py", ["python3", "tests/invariance.py", build]
    yield "kernels", "tests/costs.py", ["python3", "tests/costs.py", build]
    for path in sorted(glob.glob(os.path.join(ROOT, "tests/lsp/transcripts/*.txt"))):
        path = os.path.relpath(path, ROOT)
        yield "lsp", path, ["python3", "tests/lsp/play.py", "--daemon", os.path.join(build, "onnxgpud"), path]
    yield "lsp", "tests/lsp/random_editor.py", ["python3", "tests/lsp/random_editor.py", os.path.join(build, "onnxgpud")]
    yield "lsp", "tests/lsp/at_rest.py", ["python3", "tests/lsp/at_rest.py", os.path.join(build, "onnxgpud"),
                                          os.path.join(build, "onnxgpu")]
    yield "lsp", "tests/lsp/turns.py", ["python3", "tests/lsp/turns.py", os.path.join(build, "onnxgpud")]
    yield "lsp", "tests/lsp/random_messages.py", ["python3", "tests/lsp/random_messages.py", os.path.join(build, "onnxgpud")]
    yield "opengl", "tests/opengl", ["python3", "tests/opengl/run.py", build]
    yield "differential", "tests/differential", ["python3", "tests/differential/run.py", build]
    if os.path.exists(os.path.join(build, "count/tests/growth/work")):
        yield "growth", "tests/growth", ["python3", "tests/growth/run.py", build]
    yield "growth", "tests/growth/swelling.py", ["python3", "tests/growth/swelling.py", build]
    for group in ("lsp/node", "lsp/neovim", "dotnet"):
        if os.path.exists(os.path.join(ROOT, "tests", group, "run")):
            yield group, "tests/" + group, ["env", "BUILD=" + build, os.path.join("tests", group, "run")]


def count(output, code):
    """(passed, failed, skipped) by what a program printed last."""
    found = [0, 0, 0]
    plain = re.findall(r"^(?:\w+: )?(\d+) passed, (\d+) failed(?:, (\d+) skipped)?\s*$", output, re.M)
    if plain:
        found = [int(n or 0) for n in plain[-1]]
    elif "[==========]" in output:
        for kind, place in (("PASSED", 0), ("FAILED", 1), ("SKIPPED", 2)):
            found[place] = sum(int(n) for n in re.findall(r"\[  %s *\] (\d+) test" % kind, output))
    else:
        cases = re.findall(r"^(\d+) golden cases, (\d+) failed", output, re.M)
        found = [int(cases[0][0]) - int(cases[0][1]), int(cases[0][1]), 0] if cases else [code == 0, 0, 0]
    if code and not found[1]:
        found[1] = 1
    return [int(n) for n in found]


def run(command):
    """(output, exit status, seconds) of one program."""
    began = time.time()
    place = tempfile.mkdtemp(prefix="onnxgpu-check-")
    environment = dict(os.environ, XDG_CACHE_HOME=place, XDG_RUNTIME_DIR=place)
    environment.setdefault("TSAN_OPTIONS", "suppressions=" + os.path.join(ROOT, "tests", "tsan.suppressions"))
    try:
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=LIMIT,
                              stdin=subprocess.DEVNULL, env=environment)
        output, code = done.stdout.decode("utf-8", "replace"), done.returncode
    except subprocess.TimeoutExpired as e:
        output, code = (e.stdout or b"").decode("utf-8", "replace") + "\nstopped after %d s\n" % LIMIT, 124
    except OSError as e:
        output, code = "%s: %s\n" % (command[0], e), 127
    finally:
        shutil.rmtree(place, ignore_errors=True)
    return output, code, time.time() - began


def main():
    arguments, only, skip = [], None, set()
    words = iter(sys.argv[1:])
    for word in words:
        if word == "--only":
            only = (only or set()) | set(next(words).split(","))
        elif word == "--skip":
            skip |= set(next(words).split(","))
        else:
            arguments.append(word)
    build = arguments[0]
    total = [0, 0, 0]
    os.chdir(ROOT)
    chosen = [(title, command) for group, title, command in programs(build)
              if not {group, group.split("/")[0]} & skip and (not only or {group, group.split("/")[0]} & only)]
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count() or 1) as pool:
        for (title, _), (output, code, seconds) in zip(chosen, pool.map(lambda one: run(one[1]), chosen)):
            found = count(output, code)
            total = [a + b for a, b in zip(total, found)]
            print("%-52s %4d passed%s%s  %.1f s" % (title, found[0], ", %d FAILED" % found[1] if found[1] else "",
                                                   ", %d skipped" % found[2] if found[2] else "", seconds), flush=True)
            for line in re.findall(r"^.*\bskipped: .*$", output, re.M):
                print("    " + line)
            if found[1]:
                print("    " + output.replace("\n", "\n    "), flush=True)
    print("%d passed, %d failed, %d skipped" % tuple(total), flush=True)
    return 1 if total[1] or not total[0] else 0


if __name__ == "__main__":
    sys.exit(main())
