#!/usr/bin/env python3
"""Keeps the README's tables as the tables in the code have them: docs.py [--check] BUILD

A table stands between `<!-- table: NAME -->` and `<!-- end -->`, and is written anew. With --check nothing is written:
a table that is not current, a path in backticks that leads nowhere, or a table of the code that the README does not
show is a failure. BUILD holds onnxgpu, whose --help is the source of its commands' options.
"""

import os
import re
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
TOKEN = re.compile(r'\s*("(?:[^"\\]|\\.)*"|[^\s",()][^",()]*|,)')
PATH = re.compile(r"`((?:daemon|protocol|client|cache|tests|tools|\.ci)/[A-Za-z0-9_./*{},-]*|Makefile)`")


# ---- tables of the code ----

def rows(path, *macros):
    """(macro, [argument]) of each row of a .def file. Strings that stand together are one, NULL is None."""
    with open(os.path.join(ROOT, path), encoding="utf-8") as f:
        text = re.sub(r"/\*.*?\*/", "", f.read(), flags=re.S)
    found = []
    for start in re.finditer(r"^(%s)\(" % "|".join(macros), text, flags=re.M):
        arguments, here, at = [], None, start.end()
        token = TOKEN.match(text, at)
        while token:
            at, word = token.end(), token[1].strip()
            if word == ",":
                arguments.append(here)
                here = None
            elif word.startswith('"'):
                here = (here or "") + re.sub(r"\\(.)", r"\1", word[1:-1])
            else:
                here = None if word == "NULL" else word
            token = TOKEN.match(text, at)
        found.append((start[1], arguments + [here]))
    if not found:
        sys.exit("docs.py: %s has no rows" % path)
    return found


def table(head, lines):
    cells = [head, ["---"] * len(head)] + [[(cell or "").replace("|", "\\|") for cell in line] for line in lines]
    return "\n".join("| " + " | ".join(line) + " |" for line in cells)


def sentence(text):
    return text[:1].upper() + text[1:] + ("" if not text or text[-1] in ".!?" else ".")


def opsets():
    """(oldest, newest) that the loader takes."""
    with open(os.path.join(ROOT, "daemon/compiler/model/build.c"), encoding="utf-8") as f:
        text = f.read()
    return tuple(int(re.search(r"%s_OPSET = (\d+)" % which, text)[1]) for which in ("OLDEST", "NEWEST"))


def node_tests():
    """operator to (ok, in all) of ONNX's tests as they are, and with inputs that fit the rules; "all" to all of them."""
    found = {}
    with open(os.path.join(ROOT, "tests/onnx-node.txt"), encoding="utf-8") as f:
        for line in f:
            if not line.startswith("#"):
                name, *sides = [part.strip() for part in line.split("|")]
                counts = [dict(re.findall(r"(\w+) (\d+)", side)) for side in sides]
                found[name] = [(int(c.get("ok", 0)), sum(map(int, c.values()))) for c in counts]
    return found


def of_all(count):
    return "%d of %d" % count if count[1] else ""


def operators():
    (oldest, newest), lines, tests = opsets(), [], node_tests()
    for _, (name, domain, since, until, *_, text) in rows("daemon/compiler/operators/operators.def", "OPERATOR"):
        if domain == "OPERATOR_INTERNAL":
            continue
        first, last = max(int(since), oldest), int(until) or newest
        versions = ("%d to %d" % (first, last)) if not domain else "domain `%s`" % domain
        plain, fitted = tests.get(name, [(0, 0), (0, 0)])
        lines.append(["`%s`" % name, versions, sentence(text), of_all(plain), of_all(fitted)])
    plain, fitted = tests["all"]
    lines.sort()
    lines.append(["all tests", "", "", of_all(plain), of_all(fitted)])
    return table(["operator", "opsets", "limits", "tests as they are", "fitted"], lines)


def passes():
    return table(["pass", "matches", "principle", "example"],
                 [["`%s`" % n, sentence(m), sentence(p), "`%s`" % e] for _, (n, m, p, e)
                  in rows("daemon/compiler/passes/passes.def", "PASS")])


def diagnostics():
    return table(["code", "severity", "what it says", "what to do"],
                 [["`TUKI%s`" % n, s.lower(), sentence(t), sentence(a)] for _, (n, s, t, a)
                  in rows("daemon/compiler/diagnostics.def", "DIAGNOSTIC")])


def methods():
    lines = []
    for macro, words in rows("protocol/methods.def", "METHOD_IN", "METHOD_OUT"):
        name, kind, text = words[1], words[2].lower(), words[-1]
        lines.append(["`%s`" % name, kind, "to the daemon" if macro == "METHOD_IN" else "from the daemon", text])
    return table(["method", "kind", "direction", "what it does"], lines)


def daemon_options():
    return table(["option", "what it does"],
                 [["`%s%s`" % (n, " " + v if v else ""), t] for _, (_, n, v, t)
                  in rows("daemon/options.def", "OPTION")])


def cache_kinds():
    return table(["kind", "number", "what one row holds"],
                 [["`%s`" % n, number, sentence(t)] for _, (_, number, n, t) in rows("cache/kinds.def", "KIND")])


def layers():
    """The public tables of what a newcomer may add to: where each is, and how many rows it has."""
    places = [("operators", "daemon/compiler/operators/operators.def", ["OPERATOR"]),
              ("passes", "daemon/compiler/passes/passes.def", ["PASS"]),
              ("diagnostics", "daemon/compiler/diagnostics.def", ["DIAGNOSTIC"]),
              ("methods", "protocol/methods.def", ["METHOD_IN", "METHOD_OUT"]),
              ("commands", "client/commands.def", ["COMMAND"]),
              ("options of the daemon", "daemon/options.def", ["OPTION"]),
              ("kinds of cache rows", "cache/kinds.def", ["KIND"])]
    return table(["table", "file", "rows"], [[n, "`%s`" % p, str(len(rows(p, *m)))] for n, p, m in places])


# ---- what the command line says of itself ----

def help_text(build, *words):
    done = subprocess.run([os.path.join(build, "onnxgpu"), *words, "--help"], stdout=subprocess.PIPE, check=True)
    return done.stdout.decode("utf-8")


def option_lines(text):
    return re.findall(r"^  (-\S.*?)(?:\s{2,}|\n\s+)(\S.*)$", text, flags=re.M)


def commands(build):
    common = option_lines(help_text(build))
    lines = []
    for _, (name,) in rows("client/commands.def", "COMMAND"):
        text = help_text(build, name)
        use, about = text.split("\n")[:2]
        arguments = use.split("[OPTION]... ", 1)[1]
        lines.append(["`%s %s`" % (name, arguments), about])
        lines += [["&nbsp;&nbsp;`%s`" % option, what] for option, what in option_lines(text)
                  if (option, what) not in common]
    lines += [["any command: `%s`" % option, what] for option, what in common]
    return table(["command", "what it does"], lines)


def tables(build):
    return {"operators": operators(), "passes": passes(), "diagnostics": diagnostics(), "methods": methods(),
            "daemon options": daemon_options(), "commands": commands(build), "cache kinds": cache_kinds(),
            "tables": layers()}


# ---- the README ----

def missing_paths(text):
    """Paths in backticks that lead nowhere; NAME in one stands for any name."""
    prose = re.sub(r"<!-- table: .*?<!-- end -->", "", text, flags=re.S)
    for path in sorted(set(PATH.findall(prose))):
        start, brace, rest = path.partition("{")
        inner, _, tail = rest.partition("}")
        for name in ([start + part + tail for part in inner.split(",")] if brace else [path]):
            if "*" not in name and "NAME" not in name and not os.path.exists(os.path.join(ROOT, name)):
                yield name


def main(words):
    check = words[:1] == ["--check"]
    words = words[check:]
    if len(words) != 1:
        print(__doc__, file=sys.stderr)
        return 2
    place = os.path.join(ROOT, "README.md")
    with open(place, encoding="utf-8") as f:
        old = f.read()
    current, shown, problems = tables(words[0]), set(), []

    def renew(match):
        name = match[1]
        if name not in current:
            problems.append("README.md: there is no table \"%s\"" % name)
            return match[0]
        shown.add(name)
        wanted = "<!-- table: %s -->\n%s\n<!-- end -->" % (name, current[name])
        if wanted != match[0]:
            problems.append("README.md: the table \"%s\" is not current (make docs)" % name)
        return wanted

    new = re.sub(r"<!-- table: (.*?) -->\n.*?<!-- end -->", renew, old, flags=re.S)
    for name in sorted(set(current) - shown):
        problems.append("README.md: the table \"%s\" is not shown" % name)
    for name in missing_paths(new):
        problems.append("README.md: %s is not there" % name)
    if check:
        print("\n".join(problems + ["%d passed, %d failed" % (not problems, bool(problems))]))
        return 1 if problems else 0
    if new != old:
        with open(place, "w", encoding="utf-8") as f:
            f.write(new)
    for problem in problems:
        if "not current" not in problem:
            print(problem, file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
