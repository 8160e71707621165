#!/usr/bin/env python3
"""Holds daemon/compiler/diagnostics.def to the golden tests: covered.py

Every row has a case in tests/golden/client/*.txt that shows its code with the row's severity, or stands in one of the
lists below: LATER for codes that nothing gives today (a case of one fails, so that the list shrinks with the work),
ELSEWHERE for those that another test has to provoke. Every error that is shown ends in something to do.
"""

import glob
import os
import re
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

LATER = {
    "0120": "8-bit models", "0121": "8-bit models", "0122": "8-bit models",
    "0124": "8-bit models", "0125": "8-bit models", "0126": "MatMulNBits",
    "0150": "the source generator",
    "0190": "nothing that is known provokes a broken invariant",
}
ELSEWHERE = {
    "0113": ("tests/unit/compiler/test_infer.c", "no operator of today leaves a shape open of which it knows all inputs"),
    "0152": ("tests/lsp/transcripts/half_written.txt", "only who watches sees a file being written"),
}
WORDS = {"ERROR": "error", "WARNING": "warning", "INFORMATION": "note"}


def main():
    with open(os.path.join(ROOT, "daemon/compiler/diagnostics.def"), encoding="utf-8") as f:
        rows = dict(re.findall(r"^DIAGNOSTIC\((\d{4}), (\w+),", f.read(), re.M))
    shown, problems = {}, []
    for path in sorted(glob.glob(os.path.join(ROOT, "tests/golden/client/*.txt"))):
        with open(path, encoding="utf-8") as f:
            for line in re.findall(r"^! .*:\d+:\d+: .*\[TUKI\d{4}\]$", f.read(), re.M):
                severity, message, code = re.match(r"! .*?:\d+:\d+: (\w+): (.*) \[TUKI(\d{4})\]$", line).groups()
                shown.setdefault(code, set()).add(severity)
                if severity == "error" and not re.search(r": .*\. [A-Z][^.]*.*\.$", message):
                    problems.append("TUKI%s says nothing to do: %s" % (code, message))
    for code, severity in rows.items():
        if code in LATER and code in shown:
            problems.append("TUKI%s is shown, take it from LATER" % code)
        elif code in ELSEWHERE:
            with open(os.path.join(ROOT, ELSEWHERE[code][0]), encoding="utf-8") as f:
                if "TUKI" + code not in f.read():
                    problems.append("TUKI%s does not stand in %s" % (code, ELSEWHERE[code][0]))
        elif code not in LATER and shown.get(code) != {WORDS[severity]}:
            problems.append("TUKI%s: %s is wanted, %s is shown" % (code, WORDS[severity], shown.get(code, "nothing")))
    for code in sorted((set(LATER) | set(ELSEWHERE) | set(shown)) - set(rows)):
        problems.append("TUKI%s has no row" % code)
    for problem in problems:
        print(problem)
    for what in sorted(set(LATER.values())):
        print("skipped: %s: %s" % (what, " ".join("TUKI" + code for code in sorted(LATER) if LATER[code] == what)))
    failed = min(len(problems), len(rows))
    print("%d passed, %d failed, %d skipped" % (len(rows) - failed - len(LATER), failed, len(LATER)))
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
