"""Plays transcripts against the daemon: python3 tests/lsp/play.py [--daemon build/onnxgpud] TRANSCRIPT…

A transcript is a text of blocks with a line `---` between them. The first word of a block says what it does:

    # …                      a remark
    > JSON                   sends a message ("jsonrpc" is added)
    < JSON                   the next message that comes must match
    < any [ JSON, JSON ]     the next messages must match these, in any order
    < until JSON             the next must match; of diagnostics, others of the same file may come before: an editor is
                             not kept waiting for what takes longer than half a second
    raw TEXT                 sends bytes as they are; \\r \\n \\xNN are understood
    write PATH               writes the rest of the block to a file of the workspace
    model NAME PATH          puts a model there: written to another name and moved (see models() below)
    copy FROM TO, move FROM TO, delete PATH, mkdir PATH
    half PATH N              begins to write a model in place: N bytes of what `model` would have put, kept open
    rest                     writes the rest of that file and closes it
    file PATH                the file must come, with what the rest of the block says (a line each)
    nofile PATH              it must not be there
    same PATH PATH           two files have the same bytes
    quiet SECONDS [LIMIT]    nothing may come for so long; where more than LIMIT seconds passed since the last other step
                             (the machine stood still), all is played anew
    ignore METHOD…           notifications and requests of these methods are passed over (requests are answered)
    options WORD…            of the daemon; only before the first message
    restart [kill]           ends the daemon (kill -9, else by closing its input) and starts another
    close                    closes the daemon's input
    exit CODE                the daemon must leave with that code

In JSON and words, ${DIR} is the workspace's folder, ${URI} its URI, ${PID} our process. A pattern matches a value where
every member that it names matches; "*" matches anything, "~ TEXT" a string that holds TEXT; lists match whole. The
cache lies in a folder of the run's own. What is to come is waited for WAIT seconds, which is for slow machines: nothing
judges how long it took. Exit status 1: something did not match.
"""

import json
import os
import queue
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "models"))
import onnxwrite  # noqa: E402

WAIT = 300.0


def models():
    """Small models by name: those that transcripts put into their workspaces."""
    made = {}
    for name, size, seed in (("good", 8, 1), ("other", 8, 2), ("larger", 16, 1)):
        m = onnxwrite.Model(name, opset=13, seed=seed)
        x = m.input("x", [1, 3, size, size])
        y = m.node("Conv", [x, m.weight([4, 3, 3, 3])], pads=[1, 1, 1, 1], name="conv")
        m.output(m.node("Relu", [y], name="relu"), [1, 4, size, size])
        made[name] = m
    m = onnxwrite.Model("bad", opset=13, seed=1)
    x = m.input("x", [1, 3, 8, 8])
    y = m.node("Relu", [x], name="first")
    m.output(m.node("NonZero", [y], name="second"), [4, 10], onnxwrite.INT64)
    made["bad"] = m
    m = onnxwrite.Model("steps", opset=13)
    m.output(m.node("Floor", [m.input("level", [1, 4])], name="cell"), [1, 4])
    made["steps"] = m
    bytes_by_name = {}
    with tempfile.TemporaryDirectory() as folder:
        for name, model in made.items():
            path = os.path.join(folder, name)
            model.save(path)
            with open(path, "rb") as f:
                bytes_by_name[name] = f.read()
    return bytes_by_name


def remove_folder(path, wait=30.0):
    """rm -r, and again where something was written into the folder, or renamed in it, meanwhile."""
    end = time.monotonic() + wait
    while True:
        try:
            shutil.rmtree(path)
            return
        except OSError:
            if not os.path.lexists(path):
                return
            if time.monotonic() > end:
                raise


class Mismatch(Exception):
    pass


class StoodStill(Exception):
    pass


def matches(pattern, value):
    if pattern == "*":
        return True
    if isinstance(pattern, str) and pattern.startswith("~ "):
        return isinstance(value, str) and pattern[2:] in value
    if isinstance(pattern, dict):
        return isinstance(value, dict) and all(k in value and matches(p, value[k]) for k, p in pattern.items())
    if isinstance(pattern, list):
        return isinstance(value, list) and len(pattern) == len(value) and \
            all(matches(p, v) for p, v in zip(pattern, value))
    return type(pattern) is type(value) and pattern == value


class Daemon:
    def __init__(self, program, options, folder, errors):
        self.process = subprocess.Popen([program, "--stdio"] + options, stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, stderr=errors, cwd=folder)
        self.messages = queue.Queue()
        threading.Thread(target=self.read, daemon=True).start()

    def read(self):
        out = self.process.stdout
        while True:
            length = None
            while True:
                line = out.readline()
                if not line:
                    self.messages.put(None)
                    return
                line = line.decode("ascii").strip()
                if not line:
                    break
                name, value = line.split(":", 1)
                if name.lower() == "content-length":
                    length = int(value)
            self.messages.put(json.loads(out.read(length).decode("utf-8")))

    def send(self, data):
        self.process.stdin.write(data)
        self.process.stdin.flush()


class Player:
    def __init__(self, program, transcript):
        self.program = os.path.abspath(program)
        self.transcript = transcript
        self.base = os.path.realpath(tempfile.mkdtemp(prefix="onnxgpu-lsp-"))
        self.folder = os.path.join(self.base, "work")
        os.mkdir(self.folder)
        self.options = []
        self.ignored = set()
        self.daemon = None
        self.since = time.monotonic()  # of the last step that was not to be quiet
        self.models = models()
        self.errors = open(os.path.join(self.base, "errors"), "wb")

    def path(self, name):
        return os.path.join(self.folder, name)

    def fill(self, text):
        return text.replace("${DIR}", self.folder).replace("${URI}", "file://" + self.folder) \
            .replace("${PID}", str(os.getpid()))

    def start(self):
        if not self.daemon:
            options = ["--cache", os.path.join(self.base, "cache.sqlite")] + self.options
            self.daemon = Daemon(self.program, options, self.folder, self.errors)

    def send(self, message):
        self.start()
        body = json.dumps({"jsonrpc": "2.0", **message}, ensure_ascii=False).encode("utf-8")
        self.daemon.send(b"Content-Length: %d\r\n\r\n" % len(body) + body)

    def receive(self, wait=WAIT):
        """The next message that is not passed over; None where none comes in time."""
        end = time.monotonic() + wait
        while True:
            try:
                message = self.daemon.messages.get(timeout=max(0.0, end - time.monotonic()))
            except queue.Empty:
                return None
            if message is None:
                self.daemon.messages.put(None)
                raise Mismatch("the daemon has closed its output")
            if message.get("method") in self.ignored:
                if "id" in message:
                    self.send({"id": message["id"], "result": None})
                continue
            return message

    def expect(self, patterns, until=False):
        patterns = list(patterns)
        while patterns:
            message = self.receive()
            if message is None:
                raise Mismatch("nothing came, but this was expected:\n  " + json.dumps(patterns[0]))
            for pattern in patterns:
                if matches(pattern, message):
                    patterns.remove(pattern)
                    break
            else:
                params = patterns[0].get("params", {})
                if until and message.get("method") == "textDocument/publishDiagnostics" and \
                        message["params"]["uri"] == params.get("uri") and \
                        message["params"].get("version") == params.get("version"):
                    continue
                raise Mismatch("this came:\n  %s\nbut this was expected:\n  %s" %
                               (json.dumps(message, ensure_ascii=False), json.dumps(patterns, ensure_ascii=False)))

    def put(self, path, data):
        with open(path + ".new", "wb") as f:
            f.write(data)
        os.replace(path + ".new", path)

    def wait_for_file(self, path, lines):
        end = time.monotonic() + WAIT
        text = None
        while time.monotonic() < end:
            try:
                with open(path, encoding="utf-8") as f:
                    text = f.read()
                if all(line in text for line in lines):
                    return
            except FileNotFoundError:
                pass
            time.sleep(0.02)
        raise Mismatch("%s %s" % (path, "is not there" if text is None else "does not hold what it should"))

    def leave(self, code):
        try:
            got = self.daemon.process.wait(WAIT)
        except subprocess.TimeoutExpired:
            raise Mismatch("the daemon does not leave")
        if got != code:
            raise Mismatch("the daemon left with %d, not %d" % (got, code))
        self.daemon = None

    def step(self, block):
        first, _, rest = block.partition("\n")
        word, _, words = first.strip().partition(" ")
        words = self.fill(words)
        args = words.split()
        if word == "#":
            return
        if word != "quiet":
            self.since = time.monotonic()
        if word == ">":
            self.send(json.loads(self.fill(block[1:])))
        elif word == "<" and args and args[0] == "any":
            self.expect(json.loads(self.fill(block.strip()[1:].strip()[3:])))
        elif word == "<" and args and args[0] == "until":
            self.expect([json.loads(self.fill(block.strip()[1:].strip()[5:]))], until=True)
        elif word == "<":
            self.expect([json.loads(self.fill(block[1:]))])
        elif word == "raw":
            self.start()
            self.daemon.send(re.sub(rb"\\(r|n|x[0-9a-f]{2})", lambda m: {b"r": b"\r", b"n": b"\n"}.get(m[1]) or
                                    bytes([int(m[1][1:], 16)]), self.fill(words).encode("utf-8")))
        elif word == "write":
            self.put(self.path(args[0]), rest.encode("utf-8"))
        elif word == "model":
            self.put(self.path(args[1]), self.models[args[0]])
        elif word == "half":
            self.open = open(self.path(args[1]), "wb", buffering=0)
            self.rest = self.models[args[0]][int(args[2]):]
            self.open.write(self.models[args[0]][:int(args[2])])
        elif word == "rest":
            self.open.write(self.rest)
            self.open.close()
        elif word == "copy":
            shutil.copyfile(self.path(args[0]), self.path(args[1]))
        elif word == "move":
            os.replace(self.path(args[0]), self.path(args[1]))
        elif word == "delete":
            path = self.path(args[0])
            remove_folder(path) if os.path.isdir(path) else os.remove(path)
        elif word == "mkdir":
            os.makedirs(self.path(args[0]))
        elif word == "file":
            self.wait_for_file(self.path(args[0]), rest.strip().splitlines())
        elif word == "nofile":
            if os.path.exists(self.path(args[0])):
                raise Mismatch("%s is there" % args[0])
        elif word == "same":
            with open(self.path(args[0]), "rb") as a, open(self.path(args[1]), "rb") as b:
                if a.read() != b.read():
                    raise Mismatch("the files differ")
        elif word == "quiet":
            message = self.receive(float(args[0]))
            if time.monotonic() - self.since > float((args + ["inf"])[1]):
                raise StoodStill
            if message is not None:
                raise Mismatch("nothing was expected, but this came:\n  " + json.dumps(message, ensure_ascii=False))
        elif word == "ignore":
            self.ignored.update(args)
        elif word == "options":
            self.options = args
        elif word == "restart":
            if args:
                self.daemon.process.kill()
            else:
                self.daemon.process.stdin.close()
            self.daemon.process.wait(WAIT)
            self.daemon = None
            self.start()
        elif word == "close":
            self.daemon.process.stdin.close()
        elif word == "exit":
            self.leave(int(args[0]))
        else:
            raise Mismatch("what is %r?" % word)

    def finish(self):
        """The daemon leaves when its input ends; what a sanitizer found shows in its exit code."""
        if self.daemon:
            self.daemon.process.stdin.close()
            code = self.daemon.process.wait(WAIT)
            self.daemon = None
            if code not in (0, 1):
                raise Mismatch("in the end the daemon left with %d" % code)

    def play(self):
        with open(self.transcript, encoding="utf-8") as f:
            text = f.read()
        line = 1
        try:
            for block in re.split(r"^---$\n?", text, flags=re.M) + [None]:
                try:
                    if block is None:
                        self.finish()
                        return True
                    if block.strip():
                        self.step(block)
                except (Mismatch, BrokenPipeError, subprocess.TimeoutExpired) as mismatch:
                    print("%s:%d: %s" % (self.transcript, line, mismatch))
                    self.errors.flush()
                    with open(os.path.join(self.base, "errors"), errors="replace") as f:
                        sys.stdout.write(f.read())
                    return False
                line += block.count("\n") + 1
        finally:
            if self.daemon:
                self.daemon.process.kill()
                self.daemon.process.wait()
            self.errors.close()
            shutil.rmtree(self.base, ignore_errors=True)


def played(program, path, times=20):
    for _ in range(times):
        try:
            return Player(program, path).play()
        except StoodStill:
            continue
    print("%s: the machine stands still again and again" % path)
    return False


def main(arguments):
    program = "build/onnxgpud"
    if arguments[:1] == ["--daemon"]:
        program, arguments = arguments[1], arguments[2:]
    if not arguments:
        folder = os.path.join(HERE, "transcripts")
        arguments = sorted(os.path.join(folder, name) for name in os.listdir(folder))
    failed = [path for path in arguments if not played(program, path)]
    print("%d transcripts, %d failed" % (len(arguments), len(failed)))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
