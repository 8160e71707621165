// What a test works with: workspaces of its own, daemons, and editors that are connected to them.
"use strict";
const { spawn } = require("child_process");
const fs = require("fs");
const net = require("net");
const path = require("path");
const { pathToFileURL } = require("url");
const rpc = require("vscode-jsonrpc/node");
const lsp = require("vscode-languageserver-protocol");

const PATIENCE_MS = 120000;  // no test judges times; this is for machines that do ten things at once
let workspaces = 0;

// What an editor like ours announces; tests add to it.
const CAPABILITIES = { textDocument: { publishDiagnostics: { relatedInformation: true, versionSupport: true } } };

const sleep = (ms) => new Promise((go) => setTimeout(go, ms));

class Workspace {
  constructor(base, folder, kind) {
    this.folder = folder;
    this.models = path.join(base, "models");
    if (kind) fs.cpSync(path.join(base, kind), folder, { recursive: true });
    else fs.mkdirSync(folder);
  }
  path(name) { return path.join(this.folder, name); }
  uri(name) { return pathToFileURL(name ? this.path(name) : this.folder).toString(); }
  read(name) { return fs.readFileSync(this.path(name), "utf8"); }
  has(name) { return fs.existsSync(this.path(name)); }
  write(name, text) { fs.writeFileSync(this.path(name), text); }
  // As careful programs save: beside the file, then in its place.
  put(model, name) {
    fs.copyFileSync(path.join(this.models, model + ".onnx"), this.path(name + ".tmp"));
    fs.renameSync(this.path(name + ".tmp"), this.path(name));
  }
  generated() { return fs.readdirSync(this.folder).filter((name) => name.endsWith(".Model.cs")).sort(); }
}

// The client's end of one connection.
class Editor {
  constructor(reader, writer, workspace) {
    this.workspace = workspace;
    this.published = new Map();   // URI -> diagnostics
    this.publications = [];       // all there were, in order
    this.generated = [];          // onnxgpu/generated
    this.refreshes = 0;
    this.progress = new Map();    // token -> values
    this.waiting = new Set();
    this.versions = new Map();
    const connection = this.connection = rpc.createMessageConnection(reader, writer);
    const on = (type, handle) => connection.onNotification(type, (params) => { handle(params); this.look(); });
    on(lsp.PublishDiagnosticsNotification.method, (p) => { this.publications.push(p); this.published.set(p.uri, p.diagnostics); });
    on("onnxgpu/generated", (p) => this.generated.push(p));
    connection.onRequest(lsp.DiagnosticRefreshRequest.type, () => { this.refreshes++; this.look(); });
    connection.onRequest(lsp.WorkDoneProgressCreateRequest.type, ({ token }) => {
      this.progress.set(token, []);
      connection.onProgress(lsp.WorkDoneProgress.type, token, (value) => { this.progress.get(token).push(value); this.look(); });
    });
    connection.onError(() => {});
    connection.listen();
  }
  look() { for (const check of [...this.waiting]) check(); }
  // Waits for a condition; what, told when it does not come, may be a function.
  until(what, wanted) {
    return new Promise((resolve, reject) => {
      const end = Date.now() + PATIENCE_MS;
      const check = () => {
        if (!wanted()) return false;
        done();
        resolve();
        return true;
      };
      const timer = setInterval(() => {  // for what lies on the disk, of which no message tells
        if (check() || Date.now() < end) return;
        done();
        reject(new Error("waited in vain: " + (typeof what === "function" ? what() : what)));
      }, 5);
      const done = () => { clearInterval(timer); this.waiting.delete(check); };
      this.waiting.add(check);
      check();
    });
  }
  // Parameters, and a token to cancel by, where there are any.
  request(method, ...parameters) {
    return new Promise((resolve, reject) => {
      const late = setTimeout(() => reject(new Error(`no answer to ${method.method || method}`)), PATIENCE_MS);
      this.connection.onClose(() => reject(new Error(`the connection was closed before the answer to ${method.method || method}`)));
      this.connection.sendRequest(method, ...parameters).then(resolve, reject).finally(() => clearTimeout(late));
    });
  }
  notify(method, params) { return this.connection.sendNotification(method, params); }

  async initialize(capabilities = {}, more = {}) {
    const folder = { uri: this.workspace.uri(), name: "space" };
    const answer = await this.request("initialize", { processId: process.pid, rootUri: folder.uri, workspaceFolders: [folder],
      capabilities: { ...CAPABILITIES, ...capabilities }, ...more });
    this.capabilities = answer.capabilities;
    await this.notify("initialized", {});
    return answer;
  }
  open(name, text = this.workspace.read(name)) {
    this.versions.set(name, 1);
    return this.notify("textDocument/didOpen",
      { textDocument: { uri: this.workspace.uri(name), languageId: "csharp", version: 1, text } });
  }
  change(name, ...contentChanges) {
    const version = this.versions.get(name) + 1;
    this.versions.set(name, version);
    return this.notify("textDocument/didChange", { textDocument: { uri: this.workspace.uri(name), version }, contentChanges });
  }
  close(name) { return this.notify("textDocument/didClose", { textDocument: { uri: this.workspace.uri(name) } }); }
  // undefined: nothing was published
  diagnostics(name) { return this.published.get(this.workspace.uri(name)); }
  codes(name) { return (this.diagnostics(name) || []).map((d) => d.code).join(" "); }
  untilCodes(name, codes) {
    return this.until(() => `${name} to show "${codes}"; it shows ${JSON.stringify(this.diagnostics(name))}`,
      () => this.diagnostics(name) !== undefined && this.codes(name) === codes);
  }
  generate(script, name, model, more = {}) {
    return this.request("onnxgpu/generate", { script: this.workspace.uri(script), class: name, models: [model], ...more });
  }
  // The error that a request is answered with.
  async refused(promise) {
    try {
      return { code: 0, result: await promise };
    } catch (error) {
      return error;
    }
  }
  // Until nothing is compiled any more; onnxgpu/status.
  async rest() {
    for (const end = Date.now() + PATIENCE_MS; ; await sleep(20)) {
      const status = await this.request("onnxgpu/status");
      const { running, interactive, files, background } = status.queue;
      if (!status.models.compiling && !status.models.beingWritten && running <= 0 && !interactive && !files && !background)
        return status;
      if (Date.now() > end) throw new Error("the daemon does not come to rest: " + JSON.stringify(status));
    }
  }
}

class Bench {
  constructor(daemon, base) {
    this.daemon = daemon;
    this.base = base;
    this.children = [];
    this.errors = [];
  }
  workspace(kind = "space") { return new Workspace(this.base, path.join(this.base, `run${++workspaces}`), kind); }
  cache(workspace) { return workspace.folder + ".sqlite"; }

  spawn(args, stdio) {
    const child = spawn(this.daemon, args, { stdio });
    child.left = new Promise((go) => child.on("exit", (code, signal) => go(signal || code)));
    child.stderr.on("data", (data) => this.errors.push(data));
    this.children.push(child);
    return child;
  }
  // An editor with a daemon of its own.
  start(workspace, ...options) {
    const child = this.spawn(["--stdio", "--cache", this.cache(workspace), ...options], "pipe");
    child.stdin.on("error", () => {});
    const editor = new Editor(new rpc.StreamMessageReader(child.stdout), new rpc.StreamMessageWriter(child.stdin), workspace);
    editor.child = child;
    return editor;
  }
  // A daemon that listens; args may name the socket.
  listen(...args) { return this.spawn(["--no-cache", ...args], ["ignore", "ignore", "pipe"]); }
  async connect(socket, workspace) {
    for (const end = Date.now() + PATIENCE_MS; ; await sleep(10)) {
      try {
        const connection = await new Promise((go, fail) => { const s = net.connect(socket, () => go(s)); s.on("error", fail); });
        const editor = new Editor(new rpc.SocketMessageReader(connection), new rpc.SocketMessageWriter(connection), workspace);
        editor.socket = connection;
        editor.gone = new Promise((go) => connection.on("close", go));
        return editor;
      } catch (error) {
        if (Date.now() > end) throw error;
      }
    }
  }
  // The polite end; the daemon's exit status.
  async leave(editor) {
    await editor.request("shutdown");
    await editor.notify("exit");
    return editor.child.left;
  }
  log() { return this.errors.length ? "\n" + Buffer.concat(this.errors).toString() : ""; }
  // Whatever runs is ended; none may have left by a signal that we did not send.
  async close() {
    for (const child of this.children) {
      if (child.exitCode === null && child.signalCode === null) child.killed_by_us = child.kill("SIGKILL");
      const how = await child.left;
      if (typeof how === "string" && !child.killed_by_us) throw new Error("the daemon was ended by " + how);
    }
  }
}

module.exports = { Bench, PATIENCE_MS, sleep };
