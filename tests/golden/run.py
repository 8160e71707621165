#!/usr/bin/env python3
"""Runs golden tests of the command line: text in, text out.

    run.py [--update] ONNXGPU FILE...

A file holds cases, each with a folder of its own:

    ==== what the case is about
    ---- Sharpen.cs
    the file's text
    ---- filter.onnx (python)
    m = ox.Model("filter")              # makes the model m with tests/models/onnxwrite.py
    ---- $ onnxgpu check .
    what it prints: standard output,
    ! then standard error,
    -> 1                                  and its status, where that is not 0

Names may have folders before them. Code for a file that does not end in .onnx writes it itself, to `path`. Commands
are the shell's, run one after another in the case's folder, which is also the home, the place of the cache and of the
socket. With --update the files are rewritten with what was printed; people read the difference.
"""

import os
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "tests", "models"))
import onnxwrite as ox


def parse(text):
    """[(title, [(head, [line])])]; the first case is what stands before all cases."""
    cases = [("", [("", [])])]
    for line in text.split("\n"):
        if line.startswith("==== "):
            cases.append((line[5:], [("", [])]))
        elif line.startswith("---- "):
            cases[-1][1].append((line[5:], []))
        else:
            cases[-1][1][-1][1].append(line)
    return cases


def strip(lines):
    """Blank lines between sections are for the reader."""
    while lines and not lines[-1]:
        lines = lines[:-1]
    return lines


def make_file(folder, head, lines):
    python = head.endswith(" (python)")
    name = head[:-len(" (python)")] if python else head
    path = os.path.join(folder, name)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    if not python:
        with open(path, "w", encoding="utf-8") as f:
            f.write("\n".join(strip(lines)) + "\n")
        return
    names = {"ox": ox, "path": path}
    exec("\n".join(lines), names)
    if name.endswith(".onnx"):
        names["m"].save(path)


def run_command(command, folder, program):
    environment = {"PATH": os.path.dirname(program) + ":" + os.environ["PATH"], "HOME": folder, "LC_ALL": "C",
                   "XDG_CACHE_HOME": folder + "/.cache", "XDG_RUNTIME_DIR": folder}
    for name in os.environ:
        if name.endswith("SAN_OPTIONS"):
            environment[name] = os.environ[name]
    p = subprocess.run(["sh", "-c", command], cwd=folder, env=environment, stdin=subprocess.DEVNULL,
                       stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=300)
    out = p.stdout.decode("utf-8", "replace").replace(folder, "FOLDER").split("\n")
    err = p.stderr.decode("utf-8", "replace").replace(folder, "FOLDER").split("\n")
    lines = strip(out) + ["! " + line for line in strip(err)]
    return lines + (["-> %d" % p.returncode] if p.returncode else [])


def run_case(title, sections, program, problems):
    """The sections with what was printed."""
    done = []
    with tempfile.TemporaryDirectory() as folder:
        folder = os.path.realpath(folder)
        for head, lines in sections:
            if head.startswith("$ "):
                printed = run_command(head[2:], folder, program)
                if printed != strip(lines):
                    problems.append("%s: %s\n  expected:\n%s\n  printed:\n%s" % (
                        title, head, "\n".join("    " + x for x in strip(lines)),
                        "\n".join("    " + x for x in printed)))
                lines = printed + ([""] if lines[-1:] == [""] else [])
            elif head:
                make_file(folder, head, lines)
            done.append((head, lines))
    return done


def main(arguments):
    update = arguments[:1] == ["--update"]
    arguments = arguments[update:]
    if len(arguments) < 2:
        print(__doc__, file=sys.stderr)
        return 2
    program, failed, count = os.path.abspath(arguments[0]), 0, 0
    for path in arguments[1:]:
        with open(path, encoding="utf-8") as f:
            text = f.read()
        out = []
        for title, sections in parse(text):
            problems = []
            sections = run_case(title, sections, program, problems) if title else sections
            count += 1 if title else 0
            failed += 1 if problems else 0
            if not update:
                for problem in problems:
                    print("%s: %s" % (path, problem))
            if title:
                out.append("==== " + title)
            for head, lines in sections:
                out += (["---- " + head] if head else []) + lines
        if update:
            with open(path, "w", encoding="utf-8") as f:
                f.write("\n".join(out).rstrip("\n") + "\n")
    print("%d golden cases, %s" % (count, "updated" if update else "%d failed" % failed))
    return 1 if failed and not update else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
