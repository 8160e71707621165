"""A user who edits, saves, renames and deletes at random: python3 tests/lsp/random_editor.py DAEMON [SEED [STEPS]]

There is one check, made whenever the daemon has come to rest: what it has published is what a fresh daemon says of the
same files, and every generated file is what a fresh daemon generates. Exit status 1, with the seed, where it is not.
"""

import json
import os
import queue
import random
import shutil
import subprocess
import sys
import tempfile
import time

import play

TEXTS = [
    '[OnnxGpu("%s")] public partial class %s { }\n',
    'namespace N.M\n{\n    /* \U0001d4b3 */ [OnnxGpu("%s")] partial class %s { }\n}\n',
    '[OnnxGpu("%s")] class %s { }\n',
    '// nothing here: %s %s\n',
    '[OnnxGpu("%s", "sub/../b.onnx")] partial class %s { }\n',
]


# A slow machine may take longer to notice a change than `rest` waits: what differs is looked at again before it is said.
LOOKS = 5
# So many versions may an opening of a document have.
SPAN = 1000


class Client:
    def __init__(self, program, folder, base, name, errors):
        self.folder = folder
        self.daemon = play.Daemon(program, ["--cache", os.path.join(base, name + ".sqlite"), "--log-level", "debug"], folder, errors)
        self.published = {}
        self.versions = {}
        self.openings = {}  # of a URI: where the versions of each opening begin, in no order
        self.last = 0

    def send(self, message):
        body = json.dumps({"jsonrpc": "2.0", **message}, ensure_ascii=False).encode("utf-8")
        self.daemon.send(b"Content-Length: %d\r\n\r\n" % len(body) + body)

    def take(self, wait):
        """One message; None where none comes."""
        try:
            message = self.daemon.messages.get(timeout=wait)
        except queue.Empty:
            return None
        if message is None:
            raise play.Mismatch("the daemon has closed its output")
        if message.get("method") == "textDocument/publishDiagnostics":
            params = message["params"]
            uri, version = params["uri"], params.get("version")
            begins, begin = self.openings.get(uri, []), (version or 0) // SPAN * SPAN
            if version is not None and begin in begins:
                now = (begins.index(begin), version)
                if now < self.versions.get(uri, now):
                    raise play.Mismatch("a version went backwards: " + json.dumps(params))
                self.versions[uri] = now
            self.published[uri] = params["diagnostics"]
        return message

    def ask(self, method, params):
        self.last += 1
        self.send({"id": self.last, "method": method, "params": params})
        while True:
            message = self.take(play.WAIT)
            if message is None:
                raise play.Mismatch("no answer to " + method)
            if message.get("id") == self.last and "method" not in message:
                return message

    def start(self, folders):
        self.ask("initialize", {"rootUri": folders, "capabilities": {
            "textDocument": {"publishDiagnostics": {"relatedInformation": True}}}})
        self.send({"method": "initialized", "params": {}})

    def rest(self):
        """Until nothing has come for longer than any change is waited for."""
        end = time.monotonic() + play.WAIT
        while time.monotonic() < end:
            while self.take(0.3):
                pass
            status = self.ask("onnxgpu/status", None)["result"]
            queue_ = status["queue"]
            if status["models"]["compiling"] == 0 and status["models"]["beingWritten"] == 0 and \
                    queue_["running"] <= 0 and not any(queue_[k] for k in ("interactive", "files", "background")):
                if not self.take(0.3):
                    return
        raise play.Mismatch("the daemon does not come to rest")

    def leave(self):
        self.daemon.process.stdin.close()
        code = self.daemon.process.wait(play.WAIT)
        if code not in (0, 1):
            raise play.Mismatch("the daemon left with %d" % code)


class User:
    def __init__(self, client, folder, models, seed):
        self.client, self.folder, self.models = client, folder, models
        self.random = random.Random(seed)
        self.open = {}

    def uri(self, name):
        return "file://" + os.path.join(self.folder, name)

    def text(self):
        r = self.random
        return r.choice(TEXTS) % (r.choice(["a.onnx", "b.onnx", "sub/a.onnx", "none.onnx"]), r.choice(["A", "B"]))

    def step(self):
        r = self.random
        scripts = ["A.cs", "B.cs", "sub/C.cs"]
        names = ["a.onnx", "b.onnx", "sub/a.onnx"]
        action = r.choice(["model", "model", "model", "model", "script", "open", "change", "change", "save", "close", "delete", "rename",
                           "folder", "slow", "touch", "wait", "generated"])
        path = os.path.join(self.folder, r.choice(names + scripts))
        try:
            if action == "model":
                target = os.path.join(self.folder, r.choice(names))
                data = self.models[r.choice(sorted(self.models))]
                if r.random() < 0.2:
                    data = data[:r.randrange(len(data))]
                if r.random() < 0.5:
                    with open(target, "wb") as f:
                        f.write(data)
                else:
                    with open(target + ".part", "wb") as f:
                        f.write(data)
                    os.replace(target + ".part", target)
            elif action == "script":
                name = r.choice(scripts)
                if name not in self.open:
                    with open(os.path.join(self.folder, name), "w", encoding="utf-8") as f:
                        f.write(self.text())
            elif action == "open":
                name = r.choice(scripts)
                if name not in self.open:
                    try:
                        with open(os.path.join(self.folder, name), encoding="utf-8") as f:
                            text = f.read()
                    except FileNotFoundError:
                        text = self.text()
                    # An opening counts anew, from more or from less; what comes late is told apart by its version.
                    begins = self.client.openings.setdefault(self.uri(name), [])
                    begins.append(r.choice([v for v in range(0, SPAN * SPAN, SPAN) if v not in begins]))
                    self.open[name] = [begins[-1] + 1, text]
                    self.client.send({"method": "textDocument/didOpen", "params": {"textDocument": {
                        "uri": self.uri(name), "languageId": "csharp", "version": self.open[name][0], "text": text}}})
            elif action == "change" and self.open:
                name = r.choice(sorted(self.open))
                self.open[name][0] += 1
                self.open[name][1] = self.text()
                self.client.send({"method": "textDocument/didChange", "params": {
                    "textDocument": {"uri": self.uri(name), "version": self.open[name][0]},
                    "contentChanges": [{"text": self.open[name][1]}]}})
            elif action == "save" and self.open:
                name = r.choice(sorted(self.open))
                with open(os.path.join(self.folder, name), "w", encoding="utf-8") as f:
                    f.write(self.open[name][1])
                self.client.send({"method": "textDocument/didSave", "params": {"textDocument": {"uri": self.uri(name)}}})
            elif action == "close" and self.open:
                name = r.choice(sorted(self.open))
                del self.open[name]
                self.client.send({"method": "textDocument/didClose", "params": {"textDocument": {"uri": self.uri(name)}}})
            elif action == "delete":
                os.remove(path)
            elif action == "rename":
                os.replace(path, path + ".away") if r.random() < 0.5 else os.replace(path + ".away", path)
            elif action == "folder":
                sub, away = os.path.join(self.folder, "sub"), os.path.join(self.folder, "gone")
                os.rename(sub, away) if os.path.isdir(sub) else os.rename(away, sub)
            elif action == "slow":
                with open(os.path.join(self.folder, r.choice(names)), "wb") as f:
                    data = self.models["other"]
                    f.write(data[:50])
                    f.flush()
                    time.sleep(r.choice([0.01, 0.1]))
                    f.write(data[50:])
            elif action == "touch":
                os.utime(path)
            elif action == "generated":
                for root, _, files in os.walk(self.folder):
                    for name in sorted(files):
                        if name.endswith(".Model.cs") and r.random() < 0.1:
                            os.remove(os.path.join(root, name))
            elif action == "wait":
                time.sleep(r.choice([0.0, 0.06, 0.2]))
        except OSError:
            pass

    def settle_open(self):
        """What is open is saved and closed: a fresh daemon sees only the disk."""
        for name in sorted(self.open):
            os.makedirs(os.path.dirname(os.path.join(self.folder, name)), exist_ok=True)
            with open(os.path.join(self.folder, name), "w", encoding="utf-8") as f:
                f.write(self.open[name][1])
            self.client.send({"method": "textDocument/didSave", "params": {"textDocument": {"uri": self.uri(name)}}})
            self.client.send({"method": "textDocument/didClose", "params": {"textDocument": {"uri": self.uri(name)}}})
        self.open = {}


def nonempty(published):
    return {uri: diagnostics for uri, diagnostics in published.items() if diagnostics}


def played(name, program, seed, act):
    """act(client, folder, base, errors) with a daemon that has an empty folder to work in. False where something did not
    match, which is printed with the seed and the end of the daemon's log."""
    base = os.path.realpath(tempfile.mkdtemp(prefix="onnxgpu-%s-" % name))
    folder = os.path.join(base, "work")
    os.makedirs(folder)
    errors = open(os.path.join(base, "errors"), "wb")
    client = Client(program, folder, base, "cache", errors)
    try:
        act(client, folder, base, errors)
        return True
    except (play.Mismatch, subprocess.TimeoutExpired, BrokenPipeError) as mismatch:
        print("seed %d: %s" % (seed, mismatch))
        errors.flush()
        with open(os.path.join(base, "errors"), errors="replace") as f:
            sys.stdout.write("".join(f.readlines()[-200:]))
        return False
    finally:
        client.daemon.process.kill()
        client.daemon.process.wait()
        errors.close()
        shutil.rmtree(base, ignore_errors=True)


def main(arguments, run, steps):
    """DAEMON [SEED [STEPS]]; run(program, seed, steps) is whether it was good."""
    program = os.path.abspath(arguments[0])
    seed = int(arguments[1]) if len(arguments) > 1 else 1
    good = run(program, seed, int(arguments[2]) if len(arguments) > 2 else steps)
    print("%d passed, %d failed" % (good, not good))
    return 0 if good else 1


def run(program, seed, steps):
    def act(client, folder, base, errors):
        os.makedirs(os.path.join(folder, "sub"))
        user = User(client, folder, play.models(), seed)
        client.start("file://" + folder)
        for round_ in range(max(1, steps // 25)):
            for _ in range(25):
                user.step()
                while client.take(0):
                    pass
            user.settle_open()
            for look in range(LOOKS):
                client.rest()
                fresh = Client(program, folder, base, "new%d-%d" % (round_, look), errors)
                fresh.start("file://" + folder)
                fresh.rest()
                expected, got = nonempty(fresh.published), nonempty(client.published)
                fresh.leave()
                if expected == got:
                    break
            else:
                differ = [uri for uri in sorted({*expected, *got}) if expected.get(uri) != got.get(uri)]
                raise play.Mismatch("round %d: " % round_ + "\n".join(
                    "%s: published\n  %s\nbut fresh\n  %s" % (uri, json.dumps(got.get(uri), sort_keys=True),
                                                             json.dumps(expected.get(uri), sort_keys=True))
                    for uri in differ))
        client.leave()

    return played("random", program, seed, act)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:], run, 100))
