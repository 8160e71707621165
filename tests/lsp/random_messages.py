#!/usr/bin/env python3
"""Messages that are almost right: python3 tests/lsp/random_messages.py DAEMON [SEED [COUNT]]

Messages of a real conversation, each with something exchanged, taken out, doubled or nested, and scripts with something
cut, moved or repeated. Whatever comes: every request has exactly one answer, the daemon lives, and it still does its
work in the end. Exit status 1, with the seed, where it does not.
"""

import copy
import json
import os
import random
import sys

import play
import random_editor

SCRIPT = """#if UNITY // \U0001d4b3
using Tsukimi;
#endif
namespace A.B { /* [OnnxGpu("no.onnx")] */
    [OnnxGpu("good.onnx"), Other(1)] public partial class Sharpen<T> : Base where T : struct { int GoodInput; }
    partial struct S { [OnnxGpu(@"b\\""ad.onnx", $"x{1}", \"\"\"raw\"\"\", Name = "x" + C)] internal partial class Inner { } }
    const string C = "other" + ".onnx"; // }
    [OnnxGpu(nameof(C), "bad.onnx")] partial record R;
}
"""
METHODS = ["initialize", "initialized", "shutdown", "exit", "textDocument/didOpen", "textDocument/didChange",
           "textDocument/didSave", "textDocument/didClose", "textDocument/diagnostic", "workspace/didChangeWatchedFiles",
           "workspace/didChangeWorkspaceFolders", "workspace/didChangeConfiguration", "onnxgpu/hello", "onnxgpu/generate",
           "onnxgpu/check", "textDocument/hover", "onnxgpu/modelText", "onnxgpu/explain", "onnxgpu/status", "$/cancelRequest",
           "$/setTrace", "window/workDoneProgress/cancel", "no/such", ""]
ODD = [None, True, False, 0, -1, 1, 2 ** 31, 2 ** 63, -2 ** 63, 1e308, -0.0, 0.5, "", "x", "\0", "\ud800".encode("utf-16", "surrogatepass")
       .decode("utf-16", "replace"), "file:///", "file:", "file://host/x", "file:///%00", "file:///%", "untitled:Untitled-1",
       "\U0001d4b3" * 50, "a" * 5000, [], {}, [[]], [{}], {"": None}, {"uri": None}, {"line": -1, "character": 2 ** 40}]


class Random:
    def __init__(self, seed, uri):
        self.r, self.uri = random.Random(seed), uri

    def text(self):
        r, text = self.r, SCRIPT
        for _ in range(r.randrange(6)):
            a, b = sorted(r.randrange(len(text) + 1) for _ in range(2))
            piece = text[a:min(b, a + 60)]
            text = r.choice([text[:a] + text[a + len(piece):], text[:a] + piece + text[a:], text[:b] + piece + text[b:],
                             text[:a] + r.choice('"\'@$#/*{}[]()\\\n\r\0<>=,.:;') + text[a:]])
            text = text or "x"
        return text

    def position(self):
        r = self.r
        return {"line": r.choice([0, 1, 4, 5, 9, 100, 2 ** 32]), "character": r.choice([0, 1, 7, 30, 10 ** 6])}

    def file(self):
        return self.uri + "/" + self.r.choice(["A.cs", "B.cs", "good.onnx", "bad.onnx", "none.onnx", "sub/../A.cs", "%41.cs", "", "."])

    def params(self, method):
        r = self.r
        document = {"uri": self.file(), "version": r.randrange(100), "languageId": "csharp"}
        change = {"text": self.text()}
        if r.random() < 0.7:
            change["range"] = {"start": self.position(), "end": self.position()}
            change["text"] = r.choice(["", "x", "\n", '"', "\U0001d4b3", self.text()])
        return {
            "initialize": {"processId": None, "rootUri": self.uri, "capabilities": {"general": {"positionEncodings": ["utf-8"]}}},
            "textDocument/didOpen": {"textDocument": {**document, "text": self.text()}},
            "textDocument/didChange": {"textDocument": document, "contentChanges": [change] * r.randrange(1, 4)},
            "textDocument/didSave": {"textDocument": document},
            "textDocument/didClose": {"textDocument": document},
            "textDocument/diagnostic": {"textDocument": document},
            "textDocument/hover": {"textDocument": document, "position": self.position()},
            "workspace/didChangeWatchedFiles": {"changes": [{"uri": self.file(), "type": 2}] * 3},
            "workspace/didChangeWorkspaceFolders": {"event": {"added": [{"uri": self.file(), "name": "a"}],
                                                              "removed": [{"uri": self.uri, "name": "b"}] if r.random() < 0.2 else []}},
            "onnxgpu/hello": {"protocol": 1, "build": "x", "pid": 1},
            "onnxgpu/generate": {"script": self.file(), "class": r.choice(["A.B.Sharpen", "C", "A.B.S+Inner", "1", "A..B", "}"]),
                                 "models": r.choice([["good.onnx"], ["bad.onnx", "good.onnx"], ["none.onnx"], ["a\"b"], []])},
            "$/cancelRequest": {"id": r.randrange(1, 400)},
        }.get(method, {"uri": self.file()})

    def spoil(self, value, depth=0):
        """The value with one thing in it changed."""
        r = self.r
        if isinstance(value, dict) and value and r.random() < 0.85:
            key = r.choice(sorted(value))
            kind = r.random()
            if kind < 0.15:
                del value[key]
            elif kind < 0.25:
                value[r.choice(["", "uri", key + "x", "\U0001d4b3"])] = copy.deepcopy(value[key])
            else:
                value[key] = self.spoil(value[key], depth + 1)
            return value
        if isinstance(value, list) and value and r.random() < 0.8:
            at = r.randrange(len(value))
            value[at] = self.spoil(copy.deepcopy(value[at]), depth + 1)
            return value
        if r.random() < 0.05:
            nested = value
            for _ in range(r.choice([5, 60])):
                nested = r.choice([[nested], {"a": nested}])
            return nested
        return copy.deepcopy(r.choice(ODD))


def run(program, seed, count):
    def act(client, folder, _, __):
        made = Random(seed, "file://" + folder)
        answers, asked = {}, {}

        def hear(message):
            if message and "id" in message and "method" not in message and message["id"] is not None:
                key = json.dumps(message["id"])
                answers[key] = answers.get(key, 0) + 1
            elif message and "id" in message and "method" in message:
                client.send({"id": message["id"], "result": None})

        models = play.models()
        for name in ("good", "bad"):
            with open(os.path.join(folder, name + ".onnx"), "wb") as f:
                f.write(models[name])
        client.start("file://" + folder)
        for number in range(1, count + 1):
            method = made.r.choice(METHODS)
            if method in ("shutdown", "exit"):
                method = "onnxgpu/check"
            message = {"method": method, "params": made.params(method)}
            if made.r.random() < 0.5 and not method.startswith(("textDocument/did", "workspace/did", "$/")):
                message["id"] = "r%d" % number
            if made.r.random() < 0.6:
                ident = message.pop("id", None)
                message = made.spoil(message)
                if ident is not None and isinstance(message, dict):
                    message["id"] = ident
            if not isinstance(message, dict):
                continue
            if message.get("method") in ("shutdown", "exit"):
                continue
            if "id" in message and isinstance(message.get("method"), str) and isinstance(message["id"], str):
                asked[json.dumps(message["id"])] = message
            try:
                client.send(message)
            except (UnicodeEncodeError, RecursionError):
                asked.pop(json.dumps(message.get("id")), None)
                continue
            while True:
                heard = client.take(0)
                if heard is None:
                    break
                hear(heard)
        end = {"id": "end", "method": "onnxgpu/status"}
        client.send(end)
        while answers.get('"end"', 0) == 0 or any(a not in answers for a in asked):
            heard = client.take(play.WAIT)
            if heard is None:
                raise play.Mismatch("no answer to %s" % [asked[a] for a in asked if a not in answers])
            hear(heard)
        twice = [a for a, n in answers.items() if n > 1]
        if twice:
            raise play.Mismatch("several answers to %s" % twice)
        client.daemon.process.stdin.close()
        code = client.daemon.process.wait(play.WAIT)
        if code not in (0, 1):
            raise play.Mismatch("the daemon left with %d" % code)

    return random_editor.played("messages", program, seed, act)


if __name__ == "__main__":
    sys.exit(random_editor.main(sys.argv[1:], run, 400))
