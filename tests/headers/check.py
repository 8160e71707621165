#!/usr/bin/env python3
"""Checks that includes point one way, and that each third-party library stays in its room.

    check.py [ROOT]
    check.py --self-test

A room may include from itself and from the rooms named here; what is not listed is wrong. The longest matching
prefix decides which room a file is in.
"""

import os
import re
import sys
import tempfile

# What the daemon and the command line share: it joins the three libraries, and knows neither of its users.
SHARED = ["daemon/%s.h" % name for name in ("asset_cache", "broken", "compile_cache", "cost", "heap", "outputs", "stamp")]

# room: what its files may include, as prefixes of paths from the root
ROOMS = {
    "protocol/": ["protocol/"],
    "cache/": ["cache/"],
    "daemon/compiler/": ["daemon/compiler/"],
    "daemon/server/": ["daemon/", "protocol/", "cache/"],
    "daemon/language/": ["daemon/", "protocol/", "cache/"],
    "daemon/": ["daemon/compiler/", *SHARED, "protocol/", "cache/"],
    "daemon/main.c": ["daemon/", "protocol/", "cache/"],
    "client/": ["client/", "protocol/", "cache/", "daemon/compiler/", *SHARED, "daemon/language/csharp.h", "daemon/language/script.h"],
}

# header of a library: the only rooms that may include it
LIBRARIES = {
    r"cjson/|cJSON": ["protocol/json.c"],
    r"sqlite3\.h": ["cache/"],
    r"uv\.h": ["daemon/server/", "daemon/main.c"],
    r"protobuf-c|onnx\.pb-c\.h": ["daemon/compiler/model/"],
    r"xxhash\.h": ["cache/", "daemon/compiler/"],
}

# made by the build; as good as a file of the room that includes it
GENERATED = re.compile(r"onnx\.pb-c\.h|cache_schema\.h|compiler_version\.h")


def room_of(path):
    found = [room for room in ROOMS if path.startswith(room)]
    return max(found, key=len) if found else None


def check(root):
    problems, count = [], 0
    for top in ("protocol", "cache", "daemon", "client"):
        for folder, _, names in os.walk(os.path.join(root, top)):
            for name in sorted(names):
                if not name.endswith((".c", ".h", ".def")):
                    continue
                path = os.path.relpath(os.path.join(folder, name), root).replace(os.sep, "/")
                count += 1
                with open(os.path.join(folder, name), encoding="utf-8") as f:
                    for number, line in enumerate(f, 1):
                        found = re.match(r'\s*#\s*include\s*([<"])([^>"]+)[>"]', line)
                        if found:
                            problems += check_include(root, path, number, found.group(1) == '"', found.group(2))
    return problems, count


def check_include(root, path, number, quoted, header):
    for library, rooms in LIBRARIES.items():
        if re.match(library, header):
            return [] if any(path.startswith(room) for room in rooms) else [
                "%s:%d: %s belongs to %s alone" % (path, number, header, ", ".join(rooms))]
    if not quoted or GENERATED.match(header):
        return []
    if not os.path.exists(os.path.join(root, header)):
        return ["%s:%d: \"%s\" is not written from the root" % (path, number, header)]
    room = room_of(path)
    if any(header.startswith(prefix) for prefix in ROOMS[room]):
        return []
    return ["%s:%d: %s may not include \"%s\"" % (path, number, room, header)]


def self_test():
    """The check itself: each line has to be found wrong, or right."""
    cases = [
        ("protocol/a.c", '#include "cache/c.h"', False), ("protocol/a.c", '#include "protocol/p.h"', True),
        ("cache/a.c", '#include "daemon/compiler/x.h"', False), ("daemon/compiler/a.c", '#include "cache/c.h"', False),
        ("daemon/compiler/graph/a.c", '#include "daemon/compiler/x.h"', True),
        ("daemon/server/a.c", '#include "daemon/compiler/x.h"', True),
        ("daemon/server/a.c", '#include "client/k.h"', False),
        ("client/a.c", '#include "daemon/server/s.h"', False), ("client/a.c", '#include "protocol/p.h"', True),
        ("client/commands/a.c", "#include <sqlite3.h>", False), ("cache/a.c", "#include <sqlite3.h>", True),
        ("client/a.c", "  #  include <uv.h>", False), ("protocol/a.c", '#include "p.h"', False),
    ]
    headers = ["protocol/p.h", "cache/c.h", "daemon/compiler/x.h", "daemon/server/s.h", "client/k.h"]
    wrong = 0
    for path, line, good in cases:
        with tempfile.TemporaryDirectory() as root:
            for name in headers + [path]:
                os.makedirs(os.path.join(root, os.path.dirname(name)), exist_ok=True)
                with open(os.path.join(root, name), "w", encoding="utf-8") as f:
                    f.write(line + "\n" if name == path else "")
            if (not check(root)[0]) != good:
                print("%s in %s should be %s" % (line, path, "fine" if good else "a problem"))
                wrong += 1
    return wrong


def main(arguments):
    if arguments == ["--self-test"]:
        return 1 if self_test() else 0
    root = arguments[0] if arguments else os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
    problems, count = check(os.path.abspath(root))
    for problem in problems:
        print(problem)
    print("includes of %d files, %d problems" % (count, len(problems)))
    return 1 if problems or self_test() else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
