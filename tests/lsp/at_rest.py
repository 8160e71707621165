#!/usr/bin/env python3
"""At rest, what the daemon has published is what `onnxgpu check` says: at_rest.py DAEMON ONNXGPU

A folder with every kind of faulty script and model is opened by an editor, then checked by the command line, which works
by itself. `check` says what is wrong with a model once, at the arguments that name it where there are any; an editor is
told so at the model, too. Everything else is to be the same: file, range, severity, code and every word. Then models and
scripts are mended and spoilt, on disk and in the editor alone, and both are asked again: what an editor has not saved is
saved in a copy of the folder, and that is checked.
"""

import json
import os
import shutil
import subprocess
import sys
import tempfile
import urllib.parse

import play
import random_editor

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "models"))
import onnxwrite as ox  # noqa: E402

SEVERITIES = {1: "error", 2: "warning", 3: "note"}

CLASS = '[OnnxGpu("%s")] public partial class %s { }\n'

SCRIPTS = {
    "Good.cs": CLASS % ("good.onnx", "Good"),
    "Missing.cs": CLASS % ("none.onnx", "Missing"),
    "MissingDeep.cs": CLASS % ("no/such/../folder/none.onnx", "MissingDeep"),
    "Folder.cs": CLASS % ("sub", "Folder"),
    "Absolute.cs": CLASS % ("/no/such/none.onnx", "Absolute"),
    "Corrupt.cs": CLASS % ("corrupt.onnx", "Corrupt"),
    "Empty.cs": CLASS % ("empty.onnx", "Empty"),
    "External.cs": CLASS % ("external.onnx", "External"),
    "Twice.cs": CLASS % ("bad.onnx", "First") + CLASS % ("./sub/../bad.onnx", "Second"),
    "sub/Up.cs": CLASS % ("../bad.onnx", "Up") + CLASS % ("deep.onnx", "Deep"),
    "Wide \U0001d4b3 %41.cs": "\ufeff// \U0001d4b3\r\n/* \U0001d4b3\u00e9 */ " + CLASS % ("dynamic.onnx", "Wide"),
    "NotPartial.cs": '[OnnxGpu("good.onnx")] public class NotPartial { }\n',
    "Forms.cs": '[OnnxGpu("good.onnx")] static partial class S { }\n[OnnxGpu("bad.onnx")] file partial class F { }\n',
    "Arguments.cs": '[OnnxGpu("")] partial class A { }\n[OnnxGpu(Name)] partial class B { }\n[OnnxGpu] partial class C { }\n'
                    '[OnnxGpu("good.onnx", 3)] partial class D { }\n',
    "Collisions.cs": '[OnnxGpu("good.onnx"), OnnxGpu("sub/good.onnx")] partial class Collisions { int GoodInput; }\n',
    "Styles.cs": '[OnnxGpu("good.onnx", "other.onnx")] partial class Fine { }\n'
                 '[OnnxGpu("good.onnx", "larger.onnx")] partial class Differ { }\n'
                 '[OnnxGpu("bad.onnx", "none.onnx")] partial class Both { }\n',
    "Stale.cs": CLASS % ("stale.onnx", "Stale"),
    "Warned.cs": CLASS % ("warned.onnx", "Warned"),
}


def model_bytes():
    made = play.models()
    dynamic = ox.Model("dynamic", seed=1)
    x = dynamic.input("\U0001d4b3 image", ["n", 3, 8, 8])
    dynamic.output(dynamic.node("Relu", [x], name="relu"), ["n", 3, 8, 8])
    external = ox.Model("external", seed=1)
    x = external.input("image", [1, 3, 8, 8])
    external.output(external.node("Conv", [x, external.weight([4, 3, 1, 1])], name="conv"), [1, 4, 8, 8])
    for t in external.tensors:
        t.storage = "external"
    warned = ox.Model("warned", seed=1)
    x = warned.input("image", [1, 3, 8, 8])
    x = warned.node("Round", [x], name="round")
    warned.output(warned.node("Exp", [x], name="exp"), [1, 3, 8, 8])
    several = ox.Model("several", seed=1)
    x = several.input("image", [1, 3, 8, 8])
    x = several.node("NonZero", [x], name="first\n\U0001d4b3")
    y = several.node("Frobnicate", [several.input("other", ["m", 4])], name="second")
    several.output(x, [4, 10], ox.INT64)
    several.output(y, [1])
    for name, m in (("dynamic", dynamic), ("external", external), ("warned", warned), ("several", several)):
        made[name] = bytes_of(m)
    return made


def bytes_of(model):
    folder = tempfile.mkdtemp(prefix="onnxgpu-rest-")
    try:
        path = os.path.join(folder, "model.onnx")
        model.save(path)
        with open(path, "rb") as f:
            return f.read()
    finally:
        shutil.rmtree(folder)


def write(folder, name, data):
    path = os.path.join(folder, name)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path + ".part", "wb") as f:
        f.write(data if isinstance(data, bytes) else data.encode("utf-8"))
    os.replace(path + ".part", path)


def column(text, line, character):
    """Code points before a place that is counted in UTF-16."""
    units = text[line].encode("utf-16-le")[:2 * character] if line < len(text) else b""
    return len(units.decode("utf-16-le", "replace"))


class Texts:
    """Lines of what diagnostics stand in: scripts, and models as their text."""

    def __init__(self, onnxgpu, environment):
        self.onnxgpu, self.environment, self.known = onnxgpu, environment, {}

    def lines(self, path):
        if path not in self.known:
            if path.endswith(".onnx"):
                shown = subprocess.run([self.onnxgpu, "--no-daemon", "show", path], env=self.environment,
                                       stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
                out = shown.stdout if shown.returncode == 0 else b"model (not readable)"
            else:
                with open(path, "rb") as f:
                    out = f.read()
            text = out.decode("utf-8", "replace").replace("\r\n", "\n").replace("\r", "\n")
            self.known[path] = text.split("\n")
        return self.known[path]


def published(client, texts):
    """Of the editor: (path, line, column, end line, end column, severity, code, message), from 1 as check counts."""
    all_ = []
    for uri, diagnostics in client.published.items():
        path = urllib.parse.unquote(uri[len("file://"):])
        for d in diagnostics:
            place = []
            for end in ("start", "end"):
                p = d["range"][end]
                place += [p["line"] + 1, column(texts.lines(path), p["line"], p["character"]) + 1]
            all_.append((path, *place, SEVERITIES[d["severity"]], d["code"], d["message"]))
    return sorted(all_)


def checked(onnxgpu, folder, environment):
    out = subprocess.run([onnxgpu, "--no-daemon", "check", "--format", "json", folder], env=environment,
                         stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=300)
    if out.returncode not in (0, 1):
        raise play.Mismatch("check: " + out.stderr.decode())
    all_ = []
    for line in out.stdout.decode("utf-8").splitlines():
        d = json.loads(line)
        all_.append((d["path"], d["line"], d["column"], d["endLine"], d["endColumn"], d["severity"], d["code"], d["message"]))
    return sorted(all_)


def compare(*arguments):
    """The codes that are said where both agree."""
    for _ in range(random_editor.LOOKS - 1):
        try:
            return compare_once(*arguments)
        except (play.Mismatch, OSError):  # OSError: of a file that went, and whose diagnostics are about to go
            pass
    return compare_once(*arguments)


def compare_once(when, client, onnxgpu, folder, environment, unsaved=None):
    client.rest()
    texts = Texts(onnxgpu, environment)
    if unsaved:
        copy = folder + ".copy"
        shutil.rmtree(copy, ignore_errors=True)
        shutil.copytree(folder, copy)
        for name, text in unsaved.items():
            write(copy, name, text)
            texts.known[os.path.join(folder, name)] = text.split("\n")
        said = [(folder + d[0][len(copy):], *d[1:]) for d in checked(onnxgpu, copy, environment)]
        shutil.rmtree(copy)
    else:
        said = checked(onnxgpu, folder, environment)
    told = published(client, texts)
    at_scripts = {(d[6], d[7]) for d in said if d[0].endswith(".cs")}
    told = [d for d in told if d in said or not (d[0].endswith(".onnx") and (d[6], d[7]) in at_scripts)]
    if said != told:
        raise play.Mismatch("%s:\n" % when + "".join("  check alone: %s\n" % (d,) for d in said if d not in told) +
                            "".join("  editor alone: %s\n" % (d,) for d in told if d not in said))
    return {d[6] for d in said}


def client_uri(folder, name):
    return "file://" + urllib.parse.quote(os.path.join(folder, name))


def run(daemon, onnxgpu, base):
    folder = os.path.join(base, "work")
    environment = {"PATH": os.environ["PATH"], "HOME": base, "XDG_CACHE_HOME": base, "XDG_RUNTIME_DIR": base}
    for name in os.environ:
        if name.endswith("SAN_OPTIONS"):
            environment[name] = os.environ[name]
    models = model_bytes()
    places = {"good": "good.onnx", "other": "other.onnx", "larger": "larger.onnx", "bad": "bad.onnx", "dynamic": "dynamic.onnx",
              "external": "external.onnx", "warned": "warned.onnx", "several": "alone.onnx"}
    for name, place in places.items():
        write(folder, place, models[name])
    write(folder, "sub/good.onnx", models["other"])
    write(folder, "sub/deep.onnx", models["several"])
    write(folder, "corrupt.onnx", models["good"][:200])
    write(folder, "empty.onnx", b"")
    write(folder, "sub/unnamed corrupt.onnx", b"\xff" * 100)
    write(folder, "stale.onnx", models["good"])
    for name, text in SCRIPTS.items():
        write(folder, name, text)
    subprocess.run([onnxgpu, "--no-daemon", "--quiet", "compile", os.path.join(folder, "Stale.cs")], env=environment, check=True)
    write(folder, "stale.onnx", models["bad"])

    errors = open(os.path.join(base, "errors"), "wb")
    client = random_editor.Client(daemon, folder, base, "cache", errors)
    try:
        client.start("file://" + folder)
        codes = compare("as it is", client, onnxgpu, folder, environment)
        wanted = {"TUKI%04d" % n for n in (100, 101, 102, 110, 112, 127, 133, 140, 141, 142, 151)}
        if not wanted <= codes:
            raise play.Mismatch("the folder does not show " + ", ".join(sorted(wanted - codes)))
        steps = (
            ("a model is mended", lambda: write(folder, "bad.onnx", models["good"])),
            ("a good one is spoilt", lambda: write(folder, "good.onnx", models["several"])),
            ("a missing one comes", lambda: write(folder, "none.onnx", models["good"])),
            ("one goes", lambda: os.remove(os.path.join(folder, "dynamic.onnx"))),
            ("a script is mended", lambda: write(folder, "NotPartial.cs", CLASS % ("other.onnx", "NotPartial"))),
            ("a script goes", lambda: os.remove(os.path.join(folder, "Stale.cs"))),
            ("a folder goes", lambda: os.rename(os.path.join(folder, "sub"), os.path.join(base, "sub"))),
            ("it comes back", lambda: os.rename(os.path.join(base, "sub"), os.path.join(folder, "sub"))),
            ("a model goes for good", lambda: write(folder, "good.onnx", models["good"])),
        )
        for when, step in steps:
            step()
            compare(when, client, onnxgpu, folder, environment)
        generated = sorted(os.listdir(folder))
        unsaved = {"Good.cs": "//\n" + CLASS % ("sub/../none2.onnx", "Good") + CLASS % ("bad.onnx", "More"),
                   "Twice.cs": "", "New.cs": CLASS % ("corrupt.onnx", "New")}
        for name, text in unsaved.items():
            client.send({"method": "textDocument/didOpen", "params": {"textDocument": {
                "uri": client_uri(folder, name), "languageId": "csharp", "version": 1, "text": text}}})
        compare("in the editor alone", client, onnxgpu, folder, environment, unsaved)
        write(folder, "none2.onnx", models["dynamic"])
        compare("a model that only the editor names", client, onnxgpu, folder, environment, unsaved)
        write(folder, "bad.onnx", models["several"])
        compare("a model that is read by both", client, onnxgpu, folder, environment, unsaved)
        if sorted(os.listdir(folder)) != sorted(generated + ["none2.onnx"]):
            raise play.Mismatch("files were written for what is not saved")
        for name in unsaved:
            client.send({"method": "textDocument/didClose", "params": {"textDocument": {"uri": client_uri(folder, name)}}})
        compare("closed without saving", client, onnxgpu, folder, environment)
        return True
    except play.Mismatch as mismatch:
        print(mismatch)
        return False
    finally:
        client.daemon.process.kill()
        client.daemon.process.wait()
        errors.close()


def main(arguments):
    daemon, onnxgpu = (os.path.abspath(a) for a in arguments)
    base = os.path.realpath(tempfile.mkdtemp(prefix="onnxgpu-rest-"))
    try:
        good = run(daemon, onnxgpu, base)
    finally:
        shutil.rmtree(base, ignore_errors=True)
    print("%d passed, %d failed, 0 skipped" % (good, not good))
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
