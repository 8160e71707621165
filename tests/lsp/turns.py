#!/usr/bin/env python3
"""Gives the daemon much to do at once: turns.py DAEMON

The loop is never blocked for long: whatever comes at once is done a bounded number of things a turn. How long that
takes depends on the machine, so things are counted, not time: onnxgpu/status says how many were done in one turn at
most. And what is cut into turns comes out as though it were not: every request has one answer, what follows a change
sees the new text, published versions never go backwards, and nothing is left over.
"""

import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import types

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
import play  # noqa: E402

# What a turn has room for (daemon/server/turn.h), and for each part of the daemon that had something to do (messages, events,
# timers, changed paths, jobs that came back, publishing) one thing more, the largest of which is a report: 16 diagnostics, and
# what is sent with it.
MOST = 256 + 6 * 20
WAIT = 600  # seconds, for slow machines: nothing judges how long it takes


class Trouble(Exception):
    pass


def need(condition, what):
    if not condition:
        raise Trouble(what)


class Connection(play.Daemon):
    """A session of a daemon that listens."""

    def __init__(self, place):
        end = time.monotonic() + WAIT
        while True:
            self.socket = socket.socket(socket.AF_UNIX)
            try:
                self.socket.connect(place)
                break
            except OSError:
                self.socket.close()
                need(time.monotonic() < end, "nobody listens")
                time.sleep(0.05)
        self.process = types.SimpleNamespace(stdin=self.socket.makefile("wb"), stdout=self.socket.makefile("rb"))
        self.messages = play.queue.Queue()
        play.threading.Thread(target=self.read, daemon=True).start()

    def read(self):
        try:
            super().read()
        except ConnectionResetError:
            self.messages.put(None)


class Client:
    def __init__(self, daemon, folder):
        self.daemon = daemon
        self.folder, self.asked, self.published, self.answers = folder, 0, {}, {}
        self.ask("initialize", {"processId": None, "rootUri": "file://" + folder,
                                "capabilities": {"textDocument": {"publishDiagnostics": {"versionSupport": True}}}})
        self.send(self.frame({"method": "initialized", "params": {}}))

    def uri(self, name):
        return "file://%s/%s" % (self.folder, name)

    @staticmethod
    def frame(message):
        body = play.json.dumps({"jsonrpc": "2.0", **message}).encode()
        return b"Content-Length: %d\r\n\r\n" % len(body) + body

    def send(self, data):
        self.daemon.send(data)

    def take(self):
        message = self.daemon.messages.get(timeout=WAIT)
        need(message is not None, "the daemon has gone")
        if message.get("method") == "textDocument/publishDiagnostics":
            params = message["params"]
            before = self.published.get(params["uri"], (-1, []))[0]
            version = params.get("version", -1)
            need(version < 0 or version >= before, "%s: version %d after %d" % (params["uri"], version, before))
            self.published[params["uri"]] = (version, params["diagnostics"])
        elif "method" not in message:
            self.answers.setdefault(message["id"], []).append(message)
        elif "id" in message:
            self.send(self.frame({"id": message["id"], "result": None}))

    def wait_for(self, identifier):
        while identifier not in self.answers:
            self.take()
        return self.answers[identifier][0]

    def ask(self, method, params):
        self.asked += 1
        self.send(self.frame({"id": self.asked, "method": method, "params": params}))
        return self.wait_for(self.asked)

    def status(self):
        status = self.ask("onnxgpu/status", {})["result"]
        need(status["mostThingsInATurn"] <= MOST, "%d things in one turn" % status["mostThingsInATurn"])
        return status

    def until(self, what, condition):
        end = time.monotonic() + WAIT
        while not condition(self.status()):
            need(time.monotonic() < end, "%s: %s" % (what, self.status()))
            time.sleep(0.05)

    def document(self, name, version, text):
        return self.frame({"method": "textDocument/didOpen", "params": {"textDocument": {
            "uri": self.uri(name), "languageId": "csharp", "version": version, "text": text}}})

    def until_published(self, name, condition):
        while not condition(*self.published.get(self.uri(name), (-1, []))):
            self.take()

    def leave(self):
        self.daemon.process.stdin.close()
        need(self.daemon.process.wait(WAIT) == 1, "exit")


def flood(client):
    """Thousands of requests in one write, half of them cancelled behind them all."""
    ids = ["flood %d" % i for i in range(3000)]
    data = b"".join(client.frame({"id": i, "method": "onnxgpu/status"}) for i in ids)
    data += b"".join(client.frame({"method": "$/cancelRequest", "params": {"id": i}}) for i in ids[::2])
    client.send(data)
    for i in ids:
        client.wait_for(i)
    client.status()
    for i in ids:
        need(len(client.answers[i]) == 1, "%s has %d answers" % (i, len(client.answers[i])))


def large_document(client):
    """A script of more than a mebibyte, many edits of it in one change, and a question behind that, in one write."""
    uri, line = client.uri("Large.cs"), "// 0123456789 \u00e9\u5f71\U0001F600 0123456789\n"
    head = "using Tsukimi;\n[OnnxGpu(\"first.onnx\")] public partial class Large : TsukimiBehaviour { }\n"
    lines = 30000
    edits = []
    for i in range(400):
        at = 2 + i * 2 * (lines // 1000)
        edits.append({"range": {"start": {"line": at, "character": 3}, "end": {"line": at, "character": 5}}, "text": "x\ny"})
    edits.append({"range": {"start": {"line": 1, "character": 10}, "end": {"line": 1, "character": 15}}, "text": "second"})
    edits.append({"range": {"start": {"line": 1, "character": 0}, "end": {"line": 1, "character": 0}}, "text": "\n\n"})
    data = client.frame({"method": "textDocument/didOpen", "params": {"textDocument": {
        "uri": uri, "languageId": "csharp", "version": 1, "text": head + line * lines}}})
    data += client.frame({"id": "before", "method": "onnxgpu/check", "params": {"uri": uri}})
    data += client.frame({"method": "textDocument/didChange", "params": {
        "textDocument": {"uri": uri, "version": 2}, "contentChanges": edits}})
    data += client.frame({"id": "after", "method": "onnxgpu/check", "params": {"uri": uri}})
    client.send(data)
    after = client.wait_for("after")["result"]["diagnostics"]
    client.wait_for("before")
    need(len(after) == 1 and "second.onnx" in after[0]["message"] and after[0]["range"]["start"]["line"] == 3,
         "after the change: %s" % after)
    for version in range(3, 30):
        client.send(client.frame({"method": "textDocument/didChange", "params": {
            "textDocument": {"uri": uri, "version": version}, "contentChanges": [
                {"range": {"start": {"line": 3, "character": 10}, "end": {"line": 3, "character": 16}},
                 "text": "model%d" % (version % 10)}]}}))
    last = client.ask("onnxgpu/check", {"uri": uri})["result"]["diagnostics"]
    need(len(last) == 1 and "model9.onnx" in last[0]["message"], "after many changes: %s" % last)
    while client.published.get(uri, (0, None))[0] < 29:
        client.take()
    client.send(client.frame({"method": "textDocument/didClose", "params": {"textDocument": {"uri": uri}}}))


def reopened(client):
    """Closed and opened again in one write, where editors begin to count versions anew."""
    uri = client.uri("Again.cs")

    def opening(model):
        return client.frame({"method": "textDocument/didOpen", "params": {"textDocument": {
            "uri": uri, "languageId": "csharp", "version": 1,
            "text": "[OnnxGpu(\"%s.onnx\")] public partial class Again { }\n" % model}}})

    def shows(model, version):
        found = client.published.get(uri, (0, []))
        return found[0] == version and len(found[1]) == 1 and model + ".onnx" in found[1][0]["message"]

    client.send(opening("first"))
    client.send(client.frame({"method": "textDocument/didChange", "params": {
        "textDocument": {"uri": uri, "version": 7}, "contentChanges": [{"range": {
            "start": {"line": 0, "character": 10}, "end": {"line": 0, "character": 15}}, "text": "second"}]}}))
    while not shows("second", 7):
        client.take()
    del client.published[uri]
    client.send(client.frame({"method": "textDocument/didClose", "params": {"textDocument": {"uri": uri}}}) + opening("third"))
    while not shows("third", 1):
        client.take()


def many_values(client):
    """A long message of small values, one that is nested as deeply as may be, and one that is no JSON."""
    for params in (b"[" + b"1," * 100000 + b"1]", b"[" * 200 + b"]" * 200, b"[\"" + b"\\n" * 1000000 + b"\"]"):
        body = b'{"jsonrpc":"2.0","id":"unknown %d","method":"nobody/knows","params":%s}' % (len(params), params)
        client.send(b"Content-Length: %d\r\n\r\n" % len(body) + body)
        need(client.wait_for("unknown %d" % len(params))["error"]["code"] == -32601, "an unknown method")
    body = b'{"jsonrpc":"2.0","id":1000000,"method":"' + b"a" * 100000
    client.send(b"Content-Length: %d\r\n\r\n" % len(body) + body)
    need(client.wait_for(None)["error"]["code"] == -32700, "no JSON")


def branch(client, model):
    """Hundreds of models and scripts come, some below folders of their own, and go, as when a branch is switched."""
    count = 400
    other = client.folder + ".other"
    os.mkdir(other)
    for i in range(count):
        folder = os.path.join(other, "d%d" % (i % 20), "e%d" % i if i % 3 == 0 else "")
        os.makedirs(folder, exist_ok=True)
        with open(os.path.join(folder, "m%d.onnx" % i), "wb") as f:
            f.write(model)
        if i % 2:
            with open(os.path.join(folder, "S%d.cs" % i), "w", encoding="utf-8") as f:
                f.write("using Tsukimi;\n[OnnxGpu(\"m%d.onnx\"%s)] public partial class S%d : TsukimiBehaviour { }\n"
                        % (i, ", \"none.onnx\"" if i % 4 == 1 else "", i))
    inside = os.path.join(client.folder, "branch")
    for _ in range(2):
        os.rename(other, inside)
        client.until("models come", lambda s: s["models"]["ok"] + s["models"]["refused"] == count and
                     s["scripts"] == count // 2)
        client.until("diagnostics come", lambda s: sum(bool(d) for _, d in client.published.values()) >= count // 4)
        os.rename(inside, other)
        client.until("models go", lambda s: s["models"]["ok"] + s["models"]["refused"] == 0 and s["scripts"] == 0)
        client.until("diagnostics go", lambda s: not any(d for _, d in client.published.values()))
    shutil.copytree(other, inside)
    client.until("models are copied", lambda s: s["models"]["ok"] + s["models"]["refused"] == count)
    play.remove_folder(inside)
    client.until("models are deleted", lambda s: s["models"]["ok"] + s["models"]["refused"] == 0 and s["scripts"] == 0)
    client.until("diagnostics are taken back", lambda s: not any(d for _, d in client.published.values()))
    client.until("folders are forgotten", lambda s: s["watched"]["folders"] == 1)


def many_diagnostics(client):
    """Thousands of diagnostics of one model, pushed, asked for, and published anew with every edit."""
    many = 2000
    model = play.onnxwrite.Model("wrong", seed=1)
    x = model.input("x", [1, 3, 8, 8])
    for i in range(many):
        model.output(model.node("RoiPooling", [x], name="/net/layer_%d/pool" % i), [1, 3, 8, 8])
    model.save(os.path.join(client.folder, "wrong.onnx"))
    text = "using Tsukimi;\n[OnnxGpu(\"wrong.onnx\")] public partial class Wrong : TsukimiBehaviour { }\n"
    with open(os.path.join(client.folder, "Wrong.cs"), "w", encoding="utf-8") as f:
        f.write(text)
    client.until_published("Wrong.cs", lambda _, d: len(d) == many)
    client.until_published("wrong.onnx", lambda _, d: len(d) == many)
    checked = client.ask("onnxgpu/check", {"uri": client.uri("Wrong.cs")})["result"]["diagnostics"]
    need(checked == client.published[client.uri("Wrong.cs")][1], "what is published is not what a check says")
    made = client.ask("onnxgpu/generate", {"script": client.uri("Wrong.cs"), "class": "Wrong", "models": ["wrong.onnx"]})
    need(made["result"]["diagnostics"] == checked, "what is generated is not what a check says")
    once = client.ask("onnxgpu/generate", {"script": client.uri("None.cs"), "class": "None", "models": ["wrong.onnx"]})
    need(len(once["result"]["diagnostics"]) == many, "generated for a class that is nowhere")
    client.send(client.document("Wrong.cs", 1, text))
    for version in range(2, 30):
        client.send(client.frame({"method": "textDocument/didChange", "params": {
            "textDocument": {"uri": client.uri("Wrong.cs"), "version": version},
            "contentChanges": [{"range": {"start": {"line": 0, "character": 0}, "end": {"line": 0, "character": 0}},
                                "text": "\n"}]}}))
        if version % 5 == 0:
            client.status()
    client.until_published("Wrong.cs", lambda version, d: version == 29 and all(one["range"]["start"]["line"] == 29 for one in d))
    client.send(client.frame({"method": "textDocument/didClose", "params": {"textDocument": {"uri": client.uri("Wrong.cs")}}}))
    client.until_published("Wrong.cs", lambda _, d: len(d) == many and d[0]["range"]["start"]["line"] == 1)
    os.remove(os.path.join(client.folder, "Wrong.cs"))
    client.until_published("Wrong.cs", lambda _, d: not d)


def sessions(program, folder, cache):
    """Thousands of requests are open when a session shuts down, or goes; thousands of documents when it does."""
    place = os.path.join(folder, "socket")
    inside = os.path.join(folder, "inside")
    os.mkdir(inside)
    with open(os.path.join(folder, "model.onnx"), "wb") as f:
        f.write(play.models()["good"])
    process = subprocess.Popen([program, "--listen", place, "--no-write", "--cache", cache], stderr=sys.stderr)
    try:
        watcher = Client(Connection(place), inside)
        explain = {"method": "onnxgpu/explain", "params": {"uri": "file://%s/model.onnx" % folder}}

        client = Client(Connection(place), folder + "/none")
        ids = ["open %d" % i for i in range(3000)] + ["shutdown"]
        client.send(b"".join(client.frame({"id": i, **explain}) for i in ids[:-1]) +
                    client.frame({"id": "shutdown", "method": "shutdown"}) + client.frame({"id": "late", **explain}))
        client.wait_for("late")
        need(client.answers["late"][0]["error"]["code"] == -32600, "a request after shutdown")
        need(list(client.answers)[-2:] == ["shutdown", "late"], "something was answered after shutdown")
        for i in ids:
            need(len(client.answers.get(i, [])) == 1, "%s: %s" % (i, client.answers.get(i)))
            need("result" in client.answers[i][0] or client.answers[i][0]["error"]["code"] == -32802, client.answers[i])
        watcher.status()

        for asks, opens in ((3000, 0), (0, 3000)):
            client = Client(Connection(place), inside)
            client.send(b"".join(client.frame({"id": "open %d" % i, **explain}) for i in range(asks)) +
                        b"".join(client.document("A%d.cs" % i, 1, "[OnnxGpu(\"none.onnx\")] partial class A%d { }" % i)
                                 for i in range(opens)))
            if opens:
                client.until("documents are read", lambda s: s["scripts"] == opens)
            client.daemon.socket.shutdown(socket.SHUT_RDWR)
            watcher.until("it is as though they had never been", lambda s: s["scripts"] == 0 and s["queue"]["interactive"] == 0)
            # They go by turns, in no order.
            watcher.until("diagnostics of scripts that are nowhere go", lambda s: not any(d for _, d in watcher.published.values()))
    finally:
        process.terminate()
        process.wait(WAIT)


def main():
    program = os.path.abspath(sys.argv[1])
    base = os.path.realpath(tempfile.mkdtemp(prefix="onnxgpu-turns-"))
    failed = 0
    tests = [("flood", flood), ("large document", large_document), ("reopened", reopened), ("many values", many_values),
             ("many diagnostics", many_diagnostics), ("branch", lambda client: branch(client, play.models()["good"]))]
    cache = os.path.join(base, "cache.sqlite")
    for name, test in tests:
        folder = os.path.join(base, name.replace(" ", "-"))
        os.mkdir(folder)
        client = Client(play.Daemon(program, ["--no-write", "--cache", cache], folder, sys.stderr), folder)
        try:
            test(client)
            client.status()
            client.leave()
        except Exception as e:  # noqa: BLE001
            print("%s: %s: %s" % (name, type(e).__name__, e))
            client.daemon.process.kill()
            failed += 1
    folder = os.path.join(base, "sessions")
    os.mkdir(folder)
    try:
        sessions(program, folder, cache)
    except Exception as e:  # noqa: BLE001
        print("sessions: %s: %s" % (type(e).__name__, e))
        failed += 1
    shutil.rmtree(base, ignore_errors=True)
    print("%d passed, %d failed" % (len(tests) + 1 - failed, failed))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
