// The daemon that listens: one for a user, with any number of editors and tools.
"use strict";
const assert = require("assert");
const fs = require("fs");
const net = require("net");
const path = require("path");
const { PATIENCE_MS, sleep } = require("./bench");

function place(bench) {
  const folder = bench.workspace(null).folder;
  fs.chmodSync(folder, 0o700);
  return path.join(folder, "daemon.sock");
}

const hello = { protocol: 1, build: "test", pid: process.pid };

exports["a tool says hello and is answered like an editor"] = async (bench) => {
  const socket = place(bench), space = bench.workspace(), child = bench.listen("--listen", socket);
  const tool = await bench.connect(socket, space);
  const mode = fs.statSync(socket).mode & 0o777;
  assert.strictEqual(mode, 0o600);
  assert.strictEqual((await tool.refused(tool.request("onnxgpu/status"))).code, -32002);
  const answer = await tool.request("onnxgpu/hello", hello);
  assert.strictEqual(answer.protocol, 1);
  assert.strictEqual(answer.pid, child.pid);
  assert(answer.build.length > 0);
  const status = await tool.request("onnxgpu/status");
  assert.strictEqual(status.pid, child.pid);
  assert.strictEqual(status.version, answer.build);

  const generated = await tool.generate("Sharpen.cs", "Sharpen", "filter.onnx");
  assert.strictEqual(generated.sources[0].hintName, "Sharpen.Filter.Model.cs");
  const { fingerprint } = generated;
  assert.deepStrictEqual(await tool.generate("Sharpen.cs", "Sharpen", "filter.onnx", { fingerprint }), { fingerprint, unchanged: true });
  const checked = await tool.request("onnxgpu/check", { uri: space.uri("Bad.cs") });
  assert.deepStrictEqual(checked.diagnostics.map((d) => d.code), ["TUKI0112", "TUKI0110"]);
  const explained = await tool.request("onnxgpu/explain", { uri: space.uri("filter.onnx") });
  assert(explained.steps >= 1 && explained.layers.length === explained.steps && explained.macs > 0);
};

exports["another protocol is refused"] = async (bench) => {
  const socket = place(bench);
  bench.listen("--listen", socket);
  const tool = await bench.connect(socket, bench.workspace());
  const error = await tool.refused(tool.request("onnxgpu/hello", { ...hello, protocol: 2 }));
  assert.strictEqual(error.code, -32602);
  assert.match(error.message, /protocol 1/);
};

exports["two editors share one daemon, and the end of one is not the other's"] = async (bench) => {
  const socket = place(bench), space = bench.workspace(), child = bench.listen("--listen", socket);
  const one = await bench.connect(socket, space), two = await bench.connect(socket, space);
  await one.initialize({ general: { positionEncodings: ["utf-8"] } });
  await two.initialize();
  await one.open("Bad.cs");
  await two.open("Bad.cs");
  await one.untilCodes("Bad.cs", "TUKI0112 TUKI0110");
  await two.untilCodes("Bad.cs", "TUKI0112 TUKI0110");
  const [a, b] = [one, two].map((editor) => editor.diagnostics("Bad.cs")[0].range.start.character);
  assert.strictEqual(a - b, 3, "four bytes and two, where there are two units and one");
  const status = await two.request("onnxgpu/status");
  assert.strictEqual(status.pid, child.pid);
  assert.strictEqual(status.workspaces.length, 1);

  one.socket.destroy();
  space.put("good", "dynamic.onnx");
  await two.untilCodes("Bad.cs", "TUKI0110");
  await two.request("shutdown");
  await two.notify("exit");
  await two.gone;
  const three = await bench.connect(socket, space);
  await three.request("onnxgpu/hello", hello);
  assert.strictEqual((await three.request("onnxgpu/status")).pid, child.pid);
};

exports["what is no message ends that connection alone"] = async (bench) => {
  const socket = place(bench), space = bench.workspace();
  bench.listen("--listen", socket);
  const good = await bench.connect(socket, space), bad = await bench.connect(socket, space);
  await good.request("onnxgpu/hello", hello);
  bad.socket.write("GET / HTTP/1.1\r\nContent-Length: many\r\n\r\n");
  await bad.gone;
  assert((await good.request("onnxgpu/status")).pid > 0);
};

exports["a second daemon at the same socket leaves, a dead one's place is taken"] = async (bench) => {
  const socket = place(bench), space = bench.workspace(), first = bench.listen("--listen", socket);
  await (await bench.connect(socket, space)).request("onnxgpu/hello", hello);
  const second = bench.listen("--listen", socket);
  assert.strictEqual(await second.left, 2);
  first.killed_by_us = first.kill("SIGKILL");
  await first.left;
  assert(fs.existsSync(socket), "nobody could unlink it");
  const third = bench.listen("--listen", socket), tool = await bench.connect(socket, space);
  await tool.request("onnxgpu/hello", hello);
  assert.strictEqual((await tool.request("onnxgpu/status")).pid, third.pid);
  third.kill("SIGTERM");
  assert.strictEqual(await third.left, 0);
  assert(!fs.existsSync(socket), "it is unlinked by who leaves");
};

exports["the default place is in the runtime folder"] = async (bench) => {
  const socket = path.join(process.env.XDG_RUNTIME_DIR, "onnxgpud-1.sock"), space = bench.workspace();
  const child = bench.listen("--watch", space.folder);
  const tool = await bench.connect(socket, space);
  await tool.request("onnxgpu/hello", hello);
  assert.deepStrictEqual((await tool.request("onnxgpu/status")).workspaces, [space.folder]);
  await tool.until("the file of a folder that is watched", () => space.has("Sharpen.Filter.Model.cs"));
  child.kill("SIGINT");
  assert.strictEqual(await child.left, 0);
};

exports["it leaves when nobody has come for long enough"] = async (bench) => {
  const socket = place(bench), child = bench.listen("--listen", socket, "--idle-exit", "1");
  const tool = await bench.connect(socket, bench.workspace());
  await tool.request("onnxgpu/hello", hello);
  tool.socket.end();
  assert.strictEqual(await child.left, 0);
  assert(!fs.existsSync(socket));
};

// What is sent and read by hand: vscode-jsonrpc always reads.
async function byHand(socket) {
  const connection = await new Promise((go) => { const s = net.connect(socket, () => go(s)); });
  connection.pause();
  connection.say = (message) => {
    const body = JSON.stringify({ jsonrpc: "2.0", ...message });
    return connection.write(`Content-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`);
  };
  connection.say({ id: 0, method: "onnxgpu/hello", params: hello });
  return connection;
}

function slow(bench) {
  const space = bench.workspace();
  space.put("slow", "slow.onnx");
  space.write("Slow.cs", "[OnnxGpu(\"slow.onnx\")] public partial class Slow { }\n");
  return { space, params: { script: space.uri("Slow.cs"), class: "Slow", models: ["slow.onnx"] } };
}

// The bound is 16 MiB a connection; what stays below it waits for a client however late it reads.
exports["a client that reads late is sent everything that fits its queue"] = async (bench) => {
  const socket = place(bench), space = bench.workspace();
  const params = { script: space.uri("Sharpen.cs"), class: "Sharpen", models: ["filter.onnx"] };
  bench.listen("--listen", socket);
  const late = await bench.connect(socket), connection = await byHand(socket);
  await late.request("onnxgpu/hello", hello);
  const { sources: [{ text }] } = await late.request("onnxgpu/generate", params);
  const count = Math.min(500, Math.floor((4 << 20) / text.length));
  for (let id = 1; id <= count; id++) connection.say({ id, method: "onnxgpu/generate", params });
  await sleep(1000);
  let bytes = 0;
  connection.on("data", (data) => { bytes += data.length; });
  connection.resume();
  await late.until(() => `${count} times ${text.length} bytes; ${bytes} came`, () => bytes > count * text.length);
  connection.destroy();
  return `${count} answers, ${bytes >> 10} KiB`;
};

exports["a client that never reads is closed, and the others do not notice"] = async (bench) => {
  const socket = place(bench), { params } = slow(bench);
  bench.listen("--listen", socket);
  const good = await bench.connect(socket), connection = await byHand(socket);
  let gone = false;
  connection.on("error", () => { gone = true; });
  await good.request("onnxgpu/hello", hello);
  await good.request("onnxgpu/generate", params);
  for (let id = 1; id <= 8; id++) connection.say({ id, method: "onnxgpu/generate", params });
  let worst = 0;
  while (!gone) {
    const from = Date.now();
    await good.request("onnxgpu/hello").catch(() => {});  // an answer in any case
    worst = Math.max(worst, Date.now() - from);
    connection.say({ method: "$/nothing" });
    await sleep(50);
    assert(good.waited === undefined || Date.now() < good.waited, "it is never closed");
    good.waited = good.waited || Date.now() + PATIENCE_MS;
  }
  assert((await good.request("onnxgpu/status")).pid > 0);
  return `worst answer to the other ${worst} ms`;
};
