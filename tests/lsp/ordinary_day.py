#!/usr/bin/env python3
"""What happens to people on an ordinary day, played to the daemon: ordinary_day.py DAEMON ONNXGPU [PLAY…]

Disks fill up, folders are renamed under watch, branches are switched, clocks are set back, files lose their permissions,
processes are killed. After each play there is one check, at rest: what is published is what a fresh `onnxgpu check` says,
the generated files are those of a fresh compile, no temporary file is left, the daemon lives, and its descriptors are as
many as before. Where that does not come true within WAIT seconds, nor in LOOKS looks (a slow machine takes longer for
one than WAIT), the play has failed.

The plays run in a user namespace of their own, so that they may mount a small file system, lower limits of inotify, and
do without the rights of root, and the machine does not notice; what needs one is skipped where there is none.
"""

import glob
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time

import at_rest
import play
import random_editor
import workspace

import onnxwrite as ox

WAIT = 120.0
RETRY = 330.0  # the daemon tries again what it could not write, at the latest after 300 s
LOOKS = 5
INSIDE = "ONNXGPU_ORDINARY_DAY"  # set where we are in a namespace of our own: "1", or "0" where there is none
CLASS = '[OnnxGpu("%s")] public partial class %s { }\n'

PLAYS = []


class Skip(Exception):
    pass


def ordinary(function):
    PLAYS.append(function)
    return function


# ---- models ----

def conv_model(name, seed, channels=4, size=8, external=False):
    m = ox.Model(name, opset=13, seed=seed)
    x = m.input("x", [1, 8, size, size])
    y = m.node("Conv", [x, m.weight([channels, 8, 3, 3])], pads=[1, 1, 1, 1], name="conv")
    m.output(m.node("Relu", [y], name="relu"), [1, channels, size, size])
    if external:
        for t in m.tensors:
            t.storage = "external"
    return m


def model_bytes():
    made = play.models()
    # One with a weight asset, in two states.
    made["asset"] = at_rest.bytes_of(conv_model("asset", 1, channels=64))
    made["asset2"] = at_rest.bytes_of(conv_model("asset", 2, channels=64))
    made["slow"] = at_rest.bytes_of(workspace.slow_model())
    return made


MODELS = model_bytes()


# ---- a daemon, its folder, and what is to be true at rest ----

class Day:
    def __init__(self, daemon, onnxgpu, base, folder=None, options=(), environment=None, before="", cache="cache.sqlite"):
        self.base, self.folder = base, folder or os.path.join(base, "work")
        self.daemon_program, self.onnxgpu = daemon, onnxgpu
        os.makedirs(self.folder, exist_ok=True)
        self.environment = {"PATH": os.environ["PATH"], "HOME": base, "XDG_CACHE_HOME": base, "XDG_RUNTIME_DIR": base}
        for name in os.environ:
            if name.endswith("SAN_OPTIONS"):
                self.environment[name] = os.environ[name]
        self.wrapper = os.path.join(base, "daemon.sh")
        lines = ["#!/bin/sh"]
        for name, value in (environment or {}).items():
            lines.append("unset %s" % name if value is None else "export %s='%s'" % (name, value))
        lines.append(before)
        lines.append('exec %s "$0.bin" %s "$@"' % (powerless(), " ".join(options)))
        with open(self.wrapper, "w") as f:
            f.write("\n".join(lines) + "\n")
        os.chmod(self.wrapper, 0o755)
        if not os.path.lexists(self.wrapper + ".bin"):
            os.symlink(daemon, self.wrapper + ".bin")
        self.errors = open(os.path.join(base, "errors"), "ab")
        self.cache = cache
        self.client = None
        self.descriptors = None
        self.stale = set()

    def path(self, name):
        return os.path.join(self.folder, name)

    def uri(self, name=""):
        return at_rest.client_uri(self.folder, name) if name else "file://" + self.folder

    def start(self):
        os.environ.update({k: v for k, v in self.environment.items()})
        self.client = Watcher(self.wrapper, self.folder, self.base, self.cache.replace(".sqlite", ""), self.errors)
        self.client.start(self.uri())
        return self

    @property
    def pid(self):
        return self.client.daemon.process.pid

    def alive(self):
        if self.client.daemon.process.poll() is not None:
            raise play.Mismatch("the daemon has left with %d" % self.client.daemon.process.returncode)

    def kill(self, number=signal.SIGKILL):
        self.client.daemon.process.send_signal(number)
        self.client.daemon.process.wait(60)

    def leave(self):
        if self.client and self.client.daemon.process.poll() is None:
            self.client.leave()
        self.errors.close()

    def open_descriptors(self):
        return len(os.listdir("/proc/%d/fd" % self.pid))

    def write(self, name, data):
        """As an editor saves: another name, moved."""
        at_rest.write(self.folder, name, data)

    def write_in_place(self, name, data):
        with open(self.path(name), "wb") as f:
            f.write(data if isinstance(data, bytes) else data.encode("utf-8"))

    def pair(self, name, model="good"):
        """A script and its model."""
        self.write(name + ".onnx", MODELS[model])
        self.write(name + ".cs", CLASS % (os.path.basename(name) + ".onnx", os.path.basename(name).capitalize()))

    def said(self):
        out = subprocess.run(powerless().split() + [self.onnxgpu, "--no-daemon", "--no-cache", "check", "--format", "json",
                                                    self.folder], env=self.environment, stdout=subprocess.PIPE,
                             stderr=subprocess.PIPE, timeout=300)
        if out.returncode not in (0, 1):
            raise play.Mismatch("check: " + out.stderr.decode())
        found = []
        for line in out.stdout.decode("utf-8").splitlines():
            d = json.loads(line)
            found.append((d["path"], d["line"], d["column"], d["endLine"], d["endColumn"], d["severity"], d["code"], d["message"]))
        return sorted(found)

    def compare_diagnostics(self):
        said = self.said()
        told = at_rest.published(self.client, at_rest.Texts(self.onnxgpu, self.environment))
        at_scripts = {(d[6], d[7]) for d in said if d[0].endswith(".cs")}
        told = [d for d in told if d in said or not (d[0].endswith(".onnx") and (d[6], d[7]) in at_scripts)]
        if said != told:
            raise play.Mismatch("".join("  check alone: %s\n" % (d,) for d in said if d not in told) +
                                "".join("  daemon alone: %s\n" % (d,) for d in told if d not in said))

    def compare_files(self):
        copy = self.base + "/fresh"
        shutil.rmtree(copy, ignore_errors=True)
        shutil.copytree(self.folder, copy, symlinks=True, ignore=lambda folder, names: [
            n for n in names if is_generated(n) or is_temporary(n) or not readable(os.path.join(folder, n))])
        subprocess.run([self.onnxgpu, "--no-daemon", "--no-cache", "--quiet", "compile", copy], env=self.environment,
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=300)
        fresh, mine = generated(copy), generated(self.folder)
        shutil.rmtree(copy)
        wrong = [n for n in fresh if mine.get(n) != fresh[n]]
        if wrong:
            raise play.Mismatch("not as a fresh compile writes them: " + ", ".join(
                "%s (%s)" % (n, "differs" if n in mine else "missing") for n in sorted(wrong)))

    def compare_rest(self):
        left = [os.path.join(root, n) for root, _, names in os.walk(self.folder) for n in names if is_temporary(n)]
        if left:
            raise play.Mismatch("temporary files are left: " + ", ".join(left))
        now = self.open_descriptors()
        if self.descriptors is not None and now > self.descriptors:
            raise play.Mismatch("%d descriptors are open, %d were before: %s" % (now, self.descriptors, ", ".join(
                sorted(os.readlink("/proc/%d/fd/%s" % (self.pid, n)) for n in os.listdir("/proc/%d/fd" % self.pid)))))

    def rest(self, files=True, wait=WAIT):
        """The check, until it holds. A file that goes while we look at it (OSError) is looked at once more, too."""
        end, looks = time.monotonic() + wait, 0
        while True:
            self.alive()
            looks += 1
            try:
                self.client.rest()
                self.compare_diagnostics()
                if files:
                    self.compare_files()
                self.compare_rest()
                return
            except (play.Mismatch, OSError):
                if time.monotonic() > end and looks >= LOOKS:
                    raise

    def await_warning(self, text):
        end = time.monotonic() + WAIT
        while not any(text in w for w in self.client.warnings):
            if time.monotonic() > end:
                raise play.Mismatch("nobody was told \"%s\": %s" % (text, self.client.warnings))
            self.client.take(0.1)

    def memory(self):
        """Bytes that are the daemon's own."""
        with open("/proc/%d/smaps_rollup" % self.pid) as f:
            return 1024 * sum(int(line.split()[1]) for line in f if line.startswith(("Private_Dirty", "Private_Clean")))


class Watcher(random_editor.Client):
    """A client that keeps what it was told in messages, too."""

    def __init__(self, *arguments):
        super().__init__(*arguments)
        self.warnings = []

    def take(self, wait):
        message = super().take(wait)
        if message and message.get("method") == "window/logMessage":
            self.warnings.append(message["params"]["message"])
        return message


def powerless():
    """What a command is run by so that permissions hold for it."""
    return "setpriv --bounding-set=-dac_override,-dac_read_search" if os.getuid() == 0 and shutil.which("setpriv") else ""


def sanitized(program):
    with open(program, "rb") as f:
        return bool(re.search(rb"lib(a|t|ub)san\.so", f.read()))


def readable(path):
    try:
        return bool(os.lstat(path).st_mode & 0o400)
    except OSError:
        return False


def is_generated(name):
    return name.endswith((".Model.cs", ".asset", ".asset.meta"))


def is_temporary(name):
    return bool(re.match(r"\..*\.(cs|asset|meta)\.\d+-\d+$", name))


def generated(folder):
    found = {}
    for root, _, names in os.walk(folder):
        for name in names:
            if is_generated(name):
                path = os.path.join(root, name)
                try:
                    with open(path, "rb") as f:
                        found[os.path.relpath(path, folder)] = f.read()
                except OSError:
                    pass
    return found


def isolated():
    if os.environ[INSIDE] != "1":
        raise Skip("no user namespace")


# ---- the plays: of one long day of one daemon ----

@ordinary
def a_model_is_saved_twice_within_50_ms(day):
    day.pair("twice/a")
    day.rest()
    for _ in range(3):
        day.write_in_place("twice/a.onnx", MODELS["bad"])
        time.sleep(0.02)
        day.write_in_place("twice/a.onnx", MODELS["asset"])
    day.rest()


@ordinary
def a_model_is_copied_in_slowly(day):
    day.write("slow/a.cs", CLASS % ("a.onnx", "A"))
    data = MODELS["asset"]
    with open(day.path("slow/a.onnx"), "wb", buffering=0) as f:
        for i in range(10):
            f.write(data[len(data) * i // 10:len(data) * (i + 1) // 10])
            time.sleep(0.3)
    day.rest()


@ordinary
def a_model_is_copied_in_slowly_and_closed_in_between(day):
    day.write("pieces/a.cs", CLASS % ("a.onnx", "A"))
    data = MODELS["asset"]
    for i in range(10):
        with open(day.path("pieces/a.onnx"), "ab") as f:
            f.write(data[len(data) * i // 10:len(data) * (i + 1) // 10])
        time.sleep(0.3)
    day.rest()


@ordinary
def a_folder_is_renamed_and_back(day):
    day.pair("renamed/one/a", "asset")
    day.pair("renamed/one/b", "bad")
    day.rest()
    for _ in range(3):
        os.rename(day.path("renamed/one"), day.path("renamed/two"))
        day.rest()
        day.write("renamed/two/a.onnx", MODELS["asset2"])
        day.rest()
        os.rename(day.path("renamed/two"), day.path("renamed/one"))
        day.write("renamed/one/a.onnx", MODELS["asset"])
        day.rest()
    for _ in range(20):
        os.rename(day.path("renamed/one"), day.path("renamed/two"))
        os.rename(day.path("renamed/two"), day.path("renamed/one"))
    day.write("renamed/one/b.onnx", MODELS["good"])
    day.rest()


@ordinary
def a_model_becomes_a_link_a_folder_and_a_file_again(day):
    day.pair("kinds/a")
    day.rest()
    away = os.path.join(day.base, "elsewhere")
    os.makedirs(away, exist_ok=True)
    with open(os.path.join(away, "target.onnx"), "wb") as f:
        f.write(MODELS["bad"])
    os.remove(day.path("kinds/a.onnx"))
    os.symlink(os.path.join(away, "target.onnx"), day.path("kinds/a.onnx"))
    day.rest()
    # What the link leads to changes, in place and by another file's taking its place.
    with open(os.path.join(away, "target.onnx"), "wb") as f:
        f.write(MODELS["good"])
    day.rest()
    with open(os.path.join(away, "new.onnx"), "wb") as f:
        f.write(MODELS["bad"])
    os.replace(os.path.join(away, "new.onnx"), os.path.join(away, "target.onnx"))
    day.rest()
    # It leads nowhere, to itself, through another link.
    os.remove(os.path.join(away, "target.onnx"))
    day.rest()
    with open(os.path.join(away, "target.onnx"), "wb") as f:
        f.write(MODELS["other"])
    day.rest()
    os.symlink("a.onnx", day.path("kinds/loop"))
    os.replace(day.path("kinds/loop"), day.path("kinds/a.onnx"))
    day.rest()
    os.symlink("target.onnx", os.path.join(away, "second.onnx"))
    os.remove(day.path("kinds/a.onnx"))
    os.symlink("../../elsewhere/second.onnx", day.path("kinds/a.onnx"))
    day.rest()
    with open(os.path.join(away, "target.onnx"), "wb") as f:
        f.write(MODELS["bad"])
    day.rest()
    os.remove(day.path("kinds/a.onnx"))
    os.mkdir(day.path("kinds/a.onnx"))
    day.rest()
    day.write("kinds/a.onnx/inner.onnx", MODELS["bad"])
    day.rest()
    play.remove_folder(day.path("kinds/a.onnx"))
    day.write("kinds/a.onnx", MODELS["good"])
    day.rest()


@ordinary
def a_folder_behind_a_link_is_exchanged(day):
    day.write("versions/v1/a.onnx", MODELS["good"])
    day.write("versions/v2/a.onnx", MODELS["bad"])
    os.symlink("v1", day.path("versions/current"))
    day.write("versions/a.cs", CLASS % ("current/a.onnx", "A"))
    day.rest()
    os.symlink("v2", day.path("versions/next"))
    os.replace(day.path("versions/next"), day.path("versions/current"))
    day.rest()
    day.write("versions/v2/a.onnx", MODELS["other"])
    day.rest()
    os.remove(day.path("versions/current"))
    day.rest()
    os.symlink("v1", day.path("versions/current"))
    day.rest()


@ordinary
def permissions_go_and_come(day):
    if os.getuid() == 0 and not powerless():
        raise Skip("no setpriv")
    day.pair("locked/a")
    day.pair("locked/deep/b", "bad")
    day.rest()
    os.chmod(day.path("locked/a.onnx"), 0)
    day.rest()
    os.chmod(day.path("locked/a.onnx"), 0o644)
    day.rest()
    os.chmod(day.path("locked/a.cs"), 0)
    time.sleep(0.2)
    os.chmod(day.path("locked/a.cs"), 0o644)
    day.rest()
    os.chmod(day.path("locked/deep"), 0)
    time.sleep(0.5)
    os.chmod(day.path("locked/deep"), 0o755)
    day.rest()
    day.write("locked/deep/b.onnx", MODELS["good"])
    day.rest()
    # Nothing can be written there, then it can.
    os.chmod(day.path("locked"), 0o555)
    with open(day.path("locked/a.onnx"), "wb") as f:
        f.write(MODELS["asset"])
    day.rest(files=False)
    os.chmod(day.path("locked"), 0o755)
    day.rest()


@ordinary
def times_lie_in_the_future(day):
    day.pair("future/a", "asset")
    later = time.time() + 5 * 365 * 86400
    os.utime(day.path("future/a.onnx"), (later, later))
    os.utime(day.path("future/a.cs"), (later, later))
    day.rest()
    day.write("future/a.onnx", MODELS["bad"])
    os.utime(day.path("future/a.onnx"), (later, later))
    day.rest()
    # The same size and time, other bytes.
    day.write_in_place("future/a.onnx", MODELS["asset2"])
    os.utime(day.path("future/a.onnx"), (later, later))
    day.rest()
    day.write_in_place("future/a.onnx", MODELS["asset"])
    os.utime(day.path("future/a.onnx"), (0, 0))
    day.rest()


@ordinary
def external_data_changes_alone(day):
    conv_model("external", 1, external=True).save(os.path.join(day.base, "external.onnx"))
    data = [n for n in os.listdir(day.base) if n.startswith("external.") and n != "external.onnx"]
    with open(os.path.join(day.base, "external.onnx"), "rb") as f:
        day.write("external/external.onnx", f.read())
    day.write("external/a.cs", CLASS % ("external.onnx", "A"))
    day.rest()
    for name in data:
        with open(os.path.join(day.base, name), "rb") as f:
            whole = f.read()
        os.remove(os.path.join(day.base, name))
        day.write("external/" + name, whole)
        day.rest()
        day.write_in_place("external/" + name, whole[:-4] + b"\0\0\x80\x3f")
        day.rest()
        day.write_in_place("external/" + name, whole[:-4])
        day.rest()
        os.rename(day.path("external/" + name), day.path("external/away"))
        day.rest()
        os.rename(day.path("external/away"), day.path("external/" + name))
        day.write("external/" + name, whole)
        day.rest()


@ordinary
def a_model_is_renamed_and_the_script_edited_in_either_order(day):
    day.pair("order/a")
    day.rest()
    os.rename(day.path("order/a.onnx"), day.path("order/b.onnx"))
    time.sleep(0.1)
    day.write("order/a.cs", CLASS % ("b.onnx", "A"))
    day.rest()
    day.write("order/a.cs", CLASS % ("c.onnx", "A"))
    time.sleep(0.1)
    os.rename(day.path("order/b.onnx"), day.path("order/c.onnx"))
    day.rest()
    os.rename(day.path("order/a.cs"), day.path("order/d.cs"))
    day.rest()


@ordinary
def two_scripts_share_a_model(day):
    day.write("shared/a.onnx", MODELS["good"])
    day.write("shared/one.cs", CLASS % ("a.onnx", "One"))
    day.write("shared/deep/two.cs", CLASS % ("../a.onnx", "Two"))
    day.rest()
    for model in ("bad", "asset", "asset2", "bad"):
        day.write("shared/a.onnx", MODELS[model])
        day.rest()
    os.remove(day.path("shared/one.cs"))
    day.rest()
    os.remove(day.path("shared/deep/two.cs"))
    day.rest()


@ordinary
def a_script_has_fifty_attributes(day):
    for i in range(50):
        day.write("fifty/m%02d.onnx" % i, MODELS["good" if i % 3 else "bad"])
    day.write("fifty/All.cs", "".join(CLASS % ("m%02d.onnx" % i, "C%02d" % i) for i in range(50)))
    day.rest()
    for i in range(50):
        day.write("fifty/m%02d.onnx" % i, MODELS["other" if i % 2 else "bad"])
    day.rest()
    day.write("fifty/All.cs", "".join(CLASS % ("m%02d.onnx" % i, "D%02d" % i) for i in range(49, -1, -1)))
    day.rest()
    day.write("fifty/All.cs", "//\n")
    day.rest(files=False)


@ordinary
def a_branch_is_switched_with_200_models(day):
    if not shutil.which("git"):
        raise Skip("no git")

    def git(*words):
        subprocess.run(["git", "-c", "user.name=A", "-c", "user.email=a@b", "-c", "gc.auto=0"] + list(words), check=True,
                       cwd=day.path("branch"), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=day.environment)

    for i in range(200):
        day.write("branch/m%03d.onnx" % i, MODELS["good"])
        if i % 4 == 0:
            day.write("branch/s%03d.cs" % i, CLASS % ("m%03d.onnx" % i, "S%03d" % i))
    # git fails where a file that it is about to add is renamed meanwhile: temporary names are not for it either.
    day.write("branch/.gitignore", "*.Model.cs\n*.asset\n*.meta\n.*.cs.*-*\n.*.asset.*-*\n.*.meta.*-*\n")
    git("init", "-b", "main")
    git("add", "-A")
    git("commit", "-m", "one")
    git("checkout", "-b", "other")
    for i in range(200):
        day.write("branch/m%03d.onnx" % i, MODELS["bad" if i % 5 == 0 else "other"])
    os.remove(day.path("branch/s004.cs"))
    git("add", "-A")
    git("commit", "-m", "two")
    day.rest()
    git("checkout", "main")
    day.rest()
    git("checkout", "other")
    git("checkout", "main")
    git("checkout", "other")
    day.rest()
    day.write("branch/m000.onnx", MODELS["good"])
    day.write("branch/s000.cs", CLASS % ("none.onnx", "S000"))
    day.rest()
    git("stash")
    day.rest()
    git("stash", "pop")
    day.rest()
    play.remove_folder(day.path("branch"))
    day.rest()


EDITOR = """
import json, sys, time
sys.path.insert(0, sys.argv[1])
import play
daemon = play.Daemon(sys.argv[2], ["--no-cache"], sys.argv[3], None)
for message in json.loads(sys.argv[4]):
    body = json.dumps({"jsonrpc": "2.0", **message}).encode()
    daemon.send(b"Content-Length: %d\\r\\n\\r\\n" % len(body) + body)
daemon.messages.get()
print(daemon.process.pid, flush=True)
time.sleep(1000)
"""


@ordinary
def an_editor_is_killed(day):
    """Another one, with a daemon of its own and a script open that it has not saved."""
    day.pair("editor/a")
    day.rest()
    messages = [{"id": 1, "method": "initialize", "params": {"rootUri": day.uri(), "capabilities": {}}},
                {"method": "initialized", "params": {}},
                {"method": "textDocument/didOpen", "params": {"textDocument": {
                    "uri": day.uri("editor/a.cs"), "languageId": "csharp", "version": 1, "text": CLASS % ("none.onnx", "A")}}}]
    editor = subprocess.Popen([sys.executable, "-c", EDITOR, os.path.dirname(os.path.abspath(__file__)), day.daemon_program,
                               day.folder, json.dumps(messages)], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    pid = int(editor.stdout.readline())
    editor.kill()
    editor.wait()
    editor.stdout.close()
    end = time.monotonic() + WAIT
    while os.path.exists("/proc/%d" % pid) and running(pid):
        if time.monotonic() > end:
            os.kill(pid, signal.SIGKILL)
            raise play.Mismatch("the daemon outlives its editor")
        time.sleep(0.02)
    day.rest()


def running(pid):
    """Not a zombie, either."""
    try:
        with open("/proc/%d/stat" % pid) as f:
            return f.read().rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return False


@ordinary
def it_is_stopped_for_five_seconds(day):
    day.pair("stopped/a")
    day.rest()
    os.kill(day.pid, signal.SIGSTOP)
    day.write("stopped/a.onnx", MODELS["bad"])
    for i in range(20):
        day.pair("stopped/more%d/b" % i, "good")
    os.rename(day.path("stopped/more0"), day.path("stopped/moved"))
    play.remove_folder(day.path("stopped/more1"))
    time.sleep(5)
    os.kill(day.pid, signal.SIGCONT)
    day.rest()


@ordinary
def the_cache_goes_while_it_runs(day):
    place = os.path.join(day.base, day.cache)
    day.pair("cached/a", "asset")
    day.rest()

    def touched():
        for model in ("bad", "asset2", "asset"):
            day.write("cached/a.onnx", MODELS[model])
            day.rest()

    for name in (place, place + "-wal", place + "-shm"):
        if os.path.exists(name):
            os.remove(name)
    touched()
    with open(place, "r+b") as f:
        f.truncate(5000)
    touched()
    with open(place, "wb") as f:
        f.write(b"\xff" * 70000)
    touched()
    os.replace(place, place + ".away")
    os.mkdir(place)
    touched()
    os.rmdir(place)
    touched()


@ordinary
def all_is_removed_and_recreated(day):
    """The workspace's own folder."""
    day.pair("a", "asset")
    day.rest()
    play.remove_folder(day.folder)
    os.makedirs(day.folder)
    day.pair("a", "bad")
    day.rest()
    day.write("a.onnx", MODELS["good"])
    day.rest()
    os.rename(day.folder, day.folder + ".away")
    time.sleep(1)
    os.rename(day.folder + ".away", day.folder)
    day.write("a.onnx", MODELS["bad"])
    day.rest()
    # Another folder of that name.
    os.rename(day.folder, day.folder + ".away")
    os.makedirs(day.folder)
    day.pair("b", "bad")
    day.rest()
    play.remove_folder(day.folder)
    os.rename(day.folder + ".away", day.folder)
    day.rest()


@ordinary
def memory_is_flat(day):
    if sanitized(day.daemon_program):
        raise Skip("a sanitizer keeps memory")
    day.pair("flat/a", "asset")
    day.rest()

    def turns(count):
        for i in range(count):
            day.write("flat/a.onnx", MODELS[("bad", "asset2", "asset")[i % 3]])
            day.write("flat/a.cs", CLASS % ("a.onnx", "A%d" % (i % 3)))
            os.rename(day.path("flat"), day.path("flat2"))
            os.rename(day.path("flat2"), day.path("flat"))
            time.sleep(0.08)
        day.client.rest()

    turns(40)
    before = day.memory()
    turns(120)
    if day.memory() > before + (3 << 20):
        raise play.Mismatch("memory went from %d to %d KiB" % (before >> 10, day.memory() >> 10))
    day.rest(files=False)


# ---- plays with daemons of their own ----

def alone(day, **options):
    base = tempfile.mkdtemp(dir=day.base)
    return Day(day.daemon_program, day.onnxgpu, base, **options)


def small_disk(place, kilobytes):
    isolated()
    os.makedirs(place, exist_ok=True)
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=%dk" % kilobytes, "none", place]).returncode:
        raise Skip("no tmpfs can be mounted")


def fill(place):
    """Takes all room but none of the names."""
    with open(os.path.join(place, "filler.bin"), "ab", buffering=0) as f:
        for size in (65536, 4096, 512, 1):
            try:
                while True:
                    f.write(b"x" * size)
            except OSError:
                pass


@ordinary
def the_disk_is_full_while_files_are_written(day):
    base = tempfile.mkdtemp(dir=day.base)
    small_disk(os.path.join(base, "disk"), 4096)
    mine = Day(day.daemon_program, day.onnxgpu, base, folder=os.path.join(base, "disk", "work"))
    disk = os.path.join(base, "disk")
    mine.pair("a", "good")
    mine.pair("b", "asset")
    mine.write("c.cs", CLASS % ("c.onnx", "C"))
    mine.write("c.onnx", MODELS["asset2"])
    fill(disk)
    mine.start()
    mine.rest(files=False)
    mine.await_warning("No space left")
    told = len(mine.client.warnings)
    time.sleep(3)
    mine.rest(files=False)
    if len(mine.client.warnings) > told + 3:
        raise play.Mismatch("the same is told again and again: %s" % mine.client.warnings)
    os.remove(os.path.join(disk, "filler.bin"))
    mine.rest(wait=RETRY)
    # Full while a model of the same size takes the place of another; some names are new, some are not.
    fill(disk)
    mine.write_in_place("b.onnx", MODELS["asset2"])
    mine.write_in_place("a.onnx", MODELS["other"])
    mine.rest(files=False)
    os.remove(os.path.join(disk, "filler.bin"))
    mine.rest(wait=RETRY)
    mine.leave()


@ordinary
def a_file_is_to_be_written_again_while_others_are_compiled(day):
    """It is tried again 2 s after it failed; by then its model has changed, and waits for the only worker."""
    mine = alone(day, options=("--jobs", "1"))
    mine.pair("a")
    os.mkdir(mine.path("a.A.Model.cs"))
    mine.start()
    mine.await_warning("cannot be written")
    time.sleep(0.8)
    for i in range(10):
        mine.pair("slow%d" % i, "slow")
    mine.write("a.onnx", MODELS["other"])
    mine.rest(files=False)
    for i in range(10):
        os.remove(mine.path("slow%d.cs" % i))
        os.remove(mine.path("slow%d.onnx" % i))
    os.rmdir(mine.path("a.A.Model.cs"))
    mine.write("a.onnx", MODELS["good"])
    mine.rest()
    mine.leave()


@ordinary
def the_disk_is_full_where_the_cache_is(day):
    base = tempfile.mkdtemp(dir=day.base)
    small_disk(os.path.join(base, "disk"), 512)
    mine = Day(day.daemon_program, day.onnxgpu, base, cache="disk/cache.sqlite")
    mine.pair("a", "asset")
    mine.start()
    mine.rest()
    fill(os.path.join(base, "disk"))
    for i in range(20):
        mine.write("m%d.onnx" % i, MODELS[("asset", "asset2", "other", "bad")[i % 4]])
        mine.write("m%d.cs" % i, CLASS % ("m%d.onnx" % i, "M"))
    mine.rest()
    os.remove(os.path.join(base, "disk", "filler.bin"))
    mine.write("a.onnx", MODELS["asset2"])
    mine.rest()
    mine.leave()


@ordinary
def tmp_is_full_and_nothing_is_home(day):
    isolated()
    long = "/" + "x" * 40
    for environment in ({"HOME": None, "XDG_CACHE_HOME": None, "XDG_RUNTIME_DIR": None},
                        {"HOME": "/nonexistent", "XDG_CACHE_HOME": None, "XDG_RUNTIME_DIR": day.base + long * 4},
                        {"HOME": "relative", "XDG_CACHE_HOME": "relative", "XDG_RUNTIME_DIR": "relative"},
                        {"XDG_RUNTIME_DIR": "/proc", "XDG_CACHE_HOME": "/proc"},
                        {"TMPDIR": "/nonexistent"}):
        mine = alone(day, environment=environment)
        mine.pair("a", "asset")
        mine.start()
        mine.rest()
        mine.leave()


@ordinary
def the_workspace_is_read_only(day):
    base = tempfile.mkdtemp(dir=day.base)
    place = os.path.join(base, "work")
    small_disk(place, 2048)
    mine = Day(day.daemon_program, day.onnxgpu, base, folder=place)
    mine.pair("a", "asset")
    mine.pair("b", "bad")
    if subprocess.run(["mount", "-o", "remount,ro", place]).returncode:
        raise Skip("no remounting")
    mine.start()
    mine.rest(files=False)
    time.sleep(3)
    mine.rest(files=False)
    if len(mine.client.warnings) > 3:
        raise play.Mismatch("the same is told again and again: %s" % mine.client.warnings)
    subprocess.run(["mount", "-o", "remount,rw", place], check=True)
    mine.rest(wait=RETRY)
    mine.leave()


@ordinary
def it_is_killed_while_it_writes(day):
    for delay in (0.0, 0.01, 0.03, 0.05, 0.08, 0.12, 0.2):
        mine = alone(day)
        for i in range(12):
            mine.pair("m%d" % i, "asset")
        mine.start()
        time.sleep(0.05 + delay)
        mine.kill()
        mine.start()
        mine.rest()
        mine.leave()
    # What a killed process was about to write.
    mine = alone(day)
    mine.pair("a", "asset")
    gone = subprocess.Popen(["true"])
    gone.wait()
    for name in (".a.A.Model.cs.%d-1", ".a.A.w0.asset.%d-2", ".a.A.w0.asset.meta.%d-3"):
        mine.write_in_place(name % gone.pid, b"half")
    mine.start()
    mine.rest()
    mine.leave()


@ordinary
def limits_of_inotify_are_reached(day):
    isolated()
    for name, few in (("max_inotify_watches", 3), ("max_inotify_instances", 0)):
        place = "/proc/sys/user/" + name
        try:
            with open(place) as f:
                before = f.read().strip()
            with open(place, "w") as f:
                f.write(str(few))
        except OSError:
            raise Skip("no limits of a namespace's own")
        try:
            mine = alone(day)
            for i in range(10):
                mine.pair("deep%d/deeper/a" % i, "good")
            mine.start()
            mine.rest()
            for i in range(10):
                mine.write("deep%d/deeper/a.onnx" % i, MODELS[("bad", "other")[i % 2]])
            mine.pair("deep9/new/b", "bad")
            os.rename(mine.path("deep8"), mine.path("deep88"))
            play.remove_folder(mine.path("deep7"))
            mine.rest()
            if len([w for w in mine.client.warnings if "fs.inotify." + "max_user_" in w]) != 1:
                raise play.Mismatch("one warning is to name the setting: %s" % mine.client.warnings)
            mine.write_in_place("deep3/deeper/a.onnx", MODELS["good"])
            mine.write("deep3/deeper/a.cs", CLASS % ("a.onnx", "Other"))
            mine.rest()
            mine.leave()
        finally:
            with open(place, "w") as f:
                f.write(before)


@ordinary
def events_are_lost(day):
    """The queue of inotify overflows while the daemon stands still."""
    mine = alone(day)
    mine.pair("a", "good")
    mine.pair("b/b", "good")
    mine.start()
    mine.rest()
    with open("/proc/sys/fs/inotify/max_queued_events") as f:
        most = int(f.read())
    if most > 100000:
        raise Skip("the queue is too long")
    os.kill(mine.pid, signal.SIGSTOP)
    for i in range(most // 2 + 100):
        with open(mine.path("noise%d.txt" % (i % 50)), "w"):
            pass
    mine.write("a.onnx", MODELS["bad"])
    os.rename(mine.path("b"), mine.path("c"))
    mine.pair("d/d", "asset")
    os.kill(mine.pid, signal.SIGCONT)
    mine.rest()
    mine.write("c/b.onnx", MODELS["bad"])
    mine.pair("b/b", "asset")
    mine.rest()
    mine.leave()


@ordinary
def signals_come(day):
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        mine = alone(day)
        for i in range(6):
            mine.pair("m%d" % i, "asset")
        mine.start()
        time.sleep(0.1)
        mine.kill(number)
        code = mine.client.daemon.process.returncode
        if code not in (0, 1):
            raise play.Mismatch("after signal %d it left with %d" % (number, code))
        left = [n for n in os.listdir(mine.folder) if is_temporary(n)]
        with open(os.path.join(mine.base, "errors"), errors="replace") as f:
            hurried = "left while work was under way" in f.read()  # it waits for its workers, but not for ever
        if left and not hurried:
            raise play.Mismatch("after signal %d these were left: %s" % (number, left))
        mine.errors.close()
        for turn in range(6):
            place = os.path.join(tempfile.mkdtemp(dir=day.base), "socket")
            listening = subprocess.Popen([day.daemon_program, "--listen", place, "--no-cache", "--watch", mine.folder],
                                         stderr=subprocess.DEVNULL)
            if turn % 2:  # as soon as it can be connected to, and as soon as anything of it can be seen
                wait_for_socket(place)
            while not os.path.exists(place) and listening.poll() is None:
                pass
            listening.send_signal(number)
            if listening.wait(60) != 0 or os.path.exists(place):
                raise play.Mismatch("after signal %d: status %d, socket %s" % (number, listening.returncode, os.path.exists(place)))


def wait_for_socket(place, process=None):
    """Until somebody listens there, or the process has left."""
    end = time.monotonic() + 60
    while time.monotonic() < end and not (process and process.poll() is not None):
        try:
            with socket.socket(socket.AF_UNIX) as s:
                s.connect(place)
            return
        except OSError:
            time.sleep(0.01)
    if not process or process.poll() is None:
        raise play.Mismatch("no daemon listens at " + place)


@ordinary
def a_hangup_is_ignored_where_it_was(day):
    """nohup."""
    mine = alone(day, before="trap '' HUP")
    mine.pair("a")
    mine.start()
    mine.rest()
    os.kill(mine.pid, signal.SIGHUP)
    time.sleep(0.3)
    mine.rest()
    mine.leave()


@ordinary
def two_daemons_begin_at_the_same_moment(day):
    for _ in range(50):
        base = tempfile.mkdtemp(dir=day.base)
        place = os.path.join(base, "socket")
        two = [subprocess.Popen([day.daemon_program, "--listen", place, "--no-cache"], stderr=subprocess.PIPE) for _ in range(2)]
        wait_for_socket(place)
        end = time.monotonic() + 60
        while all(p.poll() is None for p in two) and time.monotonic() < end:
            time.sleep(0.005)
        left = [p for p in two if p.poll() is not None]
        stayed = [p for p in two if p.poll() is None]
        if len(left) != 1 or left[0].returncode != 2 or b"running already" not in left[0].stderr.read():
            raise play.Mismatch("of two daemons %d left" % len(left))
        wait_for_socket(place)
        # One is killed, and another begins at once: it listens, or finds the first one not quite gone.
        stayed[0].kill()
        third = subprocess.Popen([day.daemon_program, "--listen", place, "--no-cache"], stderr=subprocess.PIPE)
        stayed[0].wait()
        wait_for_socket(place, third)
        if third.poll() not in (None, 2):
            raise play.Mismatch("a daemon that began behind a killed one left with %d" % third.returncode)
        third.kill()
        third.wait()
        for p in two + [third]:
            p.stderr.close()
        shutil.rmtree(base)


@ordinary
def a_client_never_reads(day):
    base = tempfile.mkdtemp(dir=day.base)
    folder, place = os.path.join(base, "work"), os.path.join(base, "socket")
    os.makedirs(folder)
    at_rest.write(folder, "a.cs", CLASS % ("a.onnx", "A"))
    # Its weights stand in the text: 16 MiB of answers are soon together.
    at_rest.write(folder, "a.onnx", at_rest.bytes_of(conv_model("a", 1, channels=48)))
    daemon = subprocess.Popen([day.daemon_program, "--listen", place, "--no-cache", "--watch", folder], stderr=subprocess.DEVNULL)
    try:
        wait_for_socket(place)

        def frame(message):
            body = json.dumps({"jsonrpc": "2.0", **message}).encode()
            return b"Content-Length: %d\r\n\r\n" % len(body) + body

        def connect(timeout):
            s = socket.socket(socket.AF_UNIX)
            s.settimeout(timeout)
            s.connect(place)
            return s

        deaf = connect(300)
        deaf.sendall(frame({"id": 0, "method": "initialize", "params": {"capabilities": {}}}))
        closed = False
        try:
            for i in range(1, 200000):
                deaf.sendall(frame({"id": i, "method": "onnxgpu/generate", "params": {
                    "script": "file://" + folder + "/a.cs", "class": "A", "models": ["a.onnx"]}}))
        except (BrokenPipeError, ConnectionResetError):
            closed = True
        if not closed:
            raise play.Mismatch("a client that does not read was not closed")
        # Others did not notice.
        other = connect(300)
        other.sendall(frame({"id": 1, "method": "initialize", "params": {"capabilities": {}}}))
        heard = b""
        while b'"positionEncoding"' not in heard:
            more = other.recv(4096)
            if not more:
                raise play.Mismatch("another client has no answer")
            heard += more
        other.close()
        deaf.close()
        if daemon.poll() is not None:
            raise play.Mismatch("the daemon is gone")
    finally:
        daemon.kill()
        daemon.wait()


@ordinary
def standard_input_closes_at_once(day):
    for before in ("exec <&-", "exec </dev/null", "exec 2>&-", "exec >&- 2>&-"):
        mine = alone(day, before=before)
        process = subprocess.Popen([mine.wrapper, "--stdio", "--no-cache"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                   stderr=subprocess.DEVNULL, env=mine.environment)
        process.stdin.close()
        if process.wait(60) not in (1, 2):
            raise play.Mismatch("%s: it left with %d" % (before, process.returncode))
        process.stdout.close()


@ordinary
def files_may_only_be_small(day):
    """ulimit -f."""
    mine = alone(day, before="ulimit -f 8")
    mine.pair("a", "asset")
    mine.pair("b", "bad")
    mine.start()
    mine.rest(files=False)
    mine.alive()
    mine.leave()


# ---- ----

def enter_namespace():
    if os.environ.get(INSIDE):
        return
    command = ["unshare", "--user", "--map-root-user", "--mount"]
    good = shutil.which("unshare") and subprocess.run(command + ["true"], stdout=subprocess.DEVNULL,
                                                      stderr=subprocess.DEVNULL).returncode == 0
    os.environ[INSIDE] = "1" if good else "0"
    if good:
        os.execvp(command[0], command + [sys.executable] + sys.argv)


def main(arguments):
    daemon, onnxgpu = (os.path.abspath(a) for a in arguments[:2])
    wanted = arguments[2:]
    # What a shell starts in the background ignores some of them, and so would the daemon.
    for number in (signal.SIGINT, signal.SIGHUP, signal.SIGQUIT):
        signal.signal(number, signal.SIG_DFL)
    enter_namespace()
    base = os.path.realpath(tempfile.mkdtemp(prefix="onnxgpu-day-"))
    passed = failed = skipped = 0
    day = Day(daemon, onnxgpu, base)
    try:
        day.pair("first", "asset")
        day.start()
        day.rest()
        day.descriptors = day.open_descriptors()
        for one in PLAYS:
            if wanted and not any(w in one.__name__ for w in wanted):
                continue
            began = time.monotonic()
            try:
                one(day)
                day.rest()
                passed += 1
                print("%s: ok (%.1f s)" % (one.__name__, time.monotonic() - began), flush=True)
            except Skip as why:
                skipped += 1
                print("%s: skipped: %s" % (one.__name__, why), flush=True)
            except (play.Mismatch, OSError, subprocess.SubprocessError) as wrong:
                failed += 1
                print("%s: FAILED\n%s" % (one.__name__, wrong), flush=True)
                day.errors.flush()
                for name in sorted(glob.glob(base + "/**/errors", recursive=True)):
                    with open(name, errors="replace") as f:
                        sys.stdout.write("".join(f.readlines()[-8:]))
                    os.truncate(name, 0)
                if day.client.daemon.process.poll() is not None:
                    day.start()
                else:
                    shutil.rmtree(day.folder, ignore_errors=True)
                    os.makedirs(day.folder, exist_ok=True)
        day.leave()
    finally:
        if day.client and day.client.daemon.process.poll() is None:
            day.client.daemon.process.kill()
        for root, folders, _ in os.walk(base):
            for name in folders:
                if not os.path.islink(os.path.join(root, name)):
                    os.chmod(os.path.join(root, name), 0o755)
        shutil.rmtree(base, ignore_errors=True)
    print("%d passed, %d failed, %d skipped" % (passed, failed, skipped))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
