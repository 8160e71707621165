#!/usr/bin/env python3
"""Shows what the daemon does: run.py BUILD

Copies the demo's scripts to a folder of its own, makes their models, runs the daemon on it as an editor would, and shows the
generated file, a squiggle, and a regeneration after a save.
"""

import json
import os
import queue
import shutil
import subprocess
import sys
import tempfile
import threading
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "..", "tests", "models"))
import onnxwrite as ox

WAIT = 120  # seconds, for what should take a fraction of one, on a slow machine too


def filter_model(path, seed, batch=1):
    """Four convolutions, 3 to 8 to 16 to 16 to 3 channels, on a picture of 64 x 64."""
    m = ox.Model("filter", seed=seed)
    x = m.input("image", [batch, 3, 64, 64])
    channels = (3, 8, 16, 16, 3)
    for i in range(4):
        x = m.node("Conv", [x, m.weight([channels[i + 1], channels[i], 3, 3]), m.weight([channels[i + 1]], scale=0.1)],
                   name="conv%d" % (i + 1), kernel_shape=[3, 3], pads=[1, 1, 1, 1])
        if i < 3:
            x = m.node("Relu", [x], name="relu%d" % (i + 1))
    m.output(x, [batch, 3, 64, 64])
    m.save(path)


class Editor:
    """As much of an editor as a demo needs: JSON-RPC over the daemon's standard streams."""

    def __init__(self, command):
        self.child = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.messages, self.kept, self.number = queue.Queue(), [], 0
        threading.Thread(target=self.read, daemon=True).start()

    def read(self):
        out = self.child.stdout
        while True:
            length = 0
            for line in iter(out.readline, b"\r\n"):
                if not line:
                    return
                if line.lower().startswith(b"content-length:"):
                    length = int(line.split(b":")[1])
            self.messages.put(json.loads(out.read(length)))

    def send(self, method, params, request=False):
        message = {"jsonrpc": "2.0", "method": method, "params": params}
        if request:
            self.number += 1
            message["id"] = self.number
        body = json.dumps(message).encode()
        self.child.stdin.write(b"Content-Length: %d\r\n\r\n%s" % (len(body), body))
        self.child.stdin.flush()

    def wait(self, wanted, what):
        """The first message for which wanted() is true."""
        for i, message in enumerate(self.kept):
            if wanted(message):
                return self.kept.pop(i)
        end = time.monotonic() + WAIT
        while True:
            try:
                message = self.messages.get(timeout=max(0.01, end - time.monotonic()))
            except queue.Empty:
                sys.exit("the daemon did not say this within %d s: %s" % (WAIT, what))
            if "id" in message and "method" in message:  # a request of the daemon's: agreed
                body = json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": None}).encode()
                self.child.stdin.write(b"Content-Length: %d\r\n\r\n%s" % (len(body), body))
                self.child.stdin.flush()
            elif wanted(message):
                return message
            else:
                self.kept.append(message)


def generated_for(script):
    return lambda m: m.get("method") == "onnxgpu/generated" and m["params"]["script"].endswith(script)


def main():
    build = os.path.abspath(sys.argv[1])
    folder = os.path.realpath(tempfile.mkdtemp(prefix="onnxgpu-demo-"))
    work = os.path.join(folder, "demo")
    os.makedirs(work)
    os.environ["XDG_CACHE_HOME"] = os.path.join(folder, "cache")
    for script in ("Sharpen.cs", "Blur.cs"):
        shutil.copy(os.path.join(HERE, script), work)
    filter_model(os.path.join(work, "filter.onnx"), 1)
    filter_model(os.path.join(work, "open_batch.onnx"), 1, batch="n")
    uri = "file://" + work
    editor = Editor([os.path.join(build, "onnxgpud"), "--stdio"])
    try:
        editor.send("initialize", {"processId": os.getpid(), "rootUri": uri, "capabilities": {},
                                   "workspaceFolders": [{"uri": uri, "name": "demo"}]}, request=True)
        editor.wait(lambda m: m.get("id") == 1, "the answer to initialize")
        editor.send("initialized", {})
        with open(os.path.join(work, "Blur.cs")) as f:
            text = f.read()
        editor.send("textDocument/didOpen", {"textDocument": {"uri": uri + "/Blur.cs", "languageId": "csharp", "version": 1,
                                                               "text": text}})

        editor.wait(generated_for("Sharpen.cs"), "that Sharpen.Filter.Model.cs was generated")
        print("\n== The folder %s holds Sharpen.cs, Blur.cs and their models. The daemon has written:\n" % work)
        path = os.path.join(work, "Sharpen.Filter.Model.cs")
        with open(path) as f:
            lines = f.read().split("\n")
        kernel = next(i for i, line in enumerate(lines) if "[Kernel]" in line)
        print("Sharpen.Filter.Model.cs (%d lines)" % len(lines))
        print("\n".join("    " + line for line in lines[:20]))
        print("    ...")
        print("\n".join("    " + line for line in lines[kernel - 1:kernel + 8]))
        print("    ...")

        squiggle = editor.wait(lambda m: m.get("method") == "textDocument/publishDiagnostics" and
                               m["params"]["uri"].endswith("Blur.cs") and m["params"]["diagnostics"], "what is wrong in Blur.cs")
        print("\n== In the editor, under the argument of Blur.cs:\n")
        for d in squiggle["params"]["diagnostics"]:
            start, end = d["range"]["start"], d["range"]["end"]
            print("Blur.cs:%d:%d: %s [%s]" % (start["line"] + 1, start["character"] + 1, d["message"], d["code"]))
            print("    " + text.split("\n")[start["line"]])
            print("    " + " " * start["character"] + "~" * (end["character"] - start["character"]))

        print("\n== A save: filter.onnx is exported again, with other weights.\n")
        with open(path, "rb") as f:
            before = f.read()
        other = os.path.join(folder, "new.onnx")
        filter_model(other, 2)
        began = time.time()
        os.rename(other, os.path.join(work, "filter.onnx"))
        editor.wait(generated_for("Sharpen.cs"), "that Sharpen.Filter.Model.cs was generated again")
        took = time.time() - began
        with open(path, "rb") as f:
            after = f.read()
        if before == after:
            sys.exit("the file is still the old one")
        print("Sharpen.Filter.Model.cs was generated again %.0f ms after the save." % (took * 1e3))

        editor.send("shutdown", None, request=True)
        editor.wait(lambda m: m.get("id") == editor.number, "the answer to shutdown")
        editor.send("exit", None)
        if editor.child.wait(timeout=WAIT):
            sys.exit("the daemon left with status %d" % editor.child.returncode)
        print("\nThat was the demo. Try it with your own folder: %s --help" % os.path.join(sys.argv[1], "onnxgpud"))
    finally:
        if editor.child.poll() is None:
            editor.child.kill()
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()
