// What client and server agree upon: units of columns, push or pull, progress, cancelling.
"use strict";
const assert = require("assert");
const rpc = require("vscode-jsonrpc/node");
const lsp = require("vscode-languageserver-protocol");
const { sleep } = require("./bench");

const BAD = "Bad.cs";

const UNITS = {
  "utf-8": (text) => Buffer.byteLength(text),
  "utf-16": (text) => text.length,
  "utf-32": (text) => [...text].length,
};

for (const [name, units] of Object.entries(UNITS))
  exports[`columns are counted in ${name} where the client wants that`] = async (bench) => {
    const space = bench.workspace(), editor = bench.start(space);
    const { capabilities } = await editor.initialize({ general: { positionEncodings: ["utf-7", name, "utf-16"] } });
    assert.strictEqual(capabilities.positionEncoding, name);
    const lines = space.read(BAD).split("\n");
    const range = (line, piece) => {
      const character = units(lines[line].slice(0, lines[line].indexOf(piece)));
      return { start: { line, character }, end: { line, character: character + units(piece) } };
    };
    await editor.open(BAD);
    await editor.untilCodes(BAD, "TUKI0112 TUKI0110");
    assert.deepStrictEqual(editor.diagnostics(BAD).map((d) => d.range), [range(1, '"dynamic.onnx"'), range(2, '"unsupported.onnx"')]);

    // Edits are understood in the same units: behind the two characters of the comment comes a third.
    const at = lines[1].indexOf("\u00e9") + 1, position = { line: 1, character: units(lines[1].slice(0, at)) };
    lines[1] = lines[1].slice(0, at) + "\u{1F680}\u00e9" + lines[1].slice(at);
    await editor.change(BAD, { range: { start: position, end: position }, text: "\u{1F680}\u00e9" });
    const wanted = range(1, '"dynamic.onnx"');
    await editor.until(() => JSON.stringify(wanted) + " of " + JSON.stringify(editor.diagnostics(BAD)),
      () => editor.diagnostics(BAD).length === 2 && editor.diagnostics(BAD)[0].range.start.character === wanted.start.character);
    assert.deepStrictEqual(editor.diagnostics(BAD)[0].range, wanted);
  };

const PULL = { textDocument: { diagnostic: { relatedDocumentSupport: false } }, workspace: { diagnostics: { refreshSupport: true } } };

exports["a client that can be refreshed pulls its diagnostics and is sent none"] = async (bench) => {
  const space = bench.workspace(), editor = bench.start(space);
  const { capabilities } = await editor.initialize(PULL);
  assert.strictEqual(capabilities.diagnosticProvider.interFileDependencies, true);
  await editor.open(BAD);
  const pull = (previousResultId) => editor.request(lsp.DocumentDiagnosticRequest.type,
    { textDocument: { uri: space.uri(BAD) }, identifier: capabilities.diagnosticProvider.identifier, previousResultId });
  const first = await pull();
  assert.strictEqual(first.kind, "full");
  assert.deepStrictEqual(first.items.map((d) => d.code), ["TUKI0112", "TUKI0110"]);
  const second = await pull(first.resultId);
  assert.deepStrictEqual(second, { kind: "unchanged", resultId: first.resultId });

  space.put("good", "dynamic.onnx");
  await editor.until("workspace/diagnostic/refresh", () => editor.refreshes > 0);
  const third = await pull(first.resultId);
  assert.strictEqual(third.kind, "full");
  assert.deepStrictEqual(third.items.map((d) => d.code), ["TUKI0110"]);

  await editor.change(BAD, { text: "class Nothing { }\n" });
  const fourth = await pull(third.resultId);
  assert.deepStrictEqual([fourth.kind, fourth.items], ["full", []]);
  assert.deepStrictEqual(editor.publications, []);
};

exports["a client that cannot be refreshed is sent them, though it could pull"] = async (bench) => {
  const space = bench.workspace(), editor = bench.start(space);
  const { capabilities } = await editor.initialize({ textDocument: { diagnostic: {}, publishDiagnostics: {} } });
  assert.strictEqual(capabilities.diagnosticProvider, undefined);
  await editor.open(BAD);
  await editor.untilCodes(BAD, "TUKI0112 TUKI0110");
  const error = await editor.refused(editor.request(lsp.DocumentDiagnosticRequest.type, { textDocument: { uri: space.uri(BAD) } }));
  assert.strictEqual(error.code, -32601);
};

// A workspace with work of several seconds.
function slowWorkspace(bench) {
  const space = bench.workspace();
  for (let i = 0; i < 4; i++) {
    space.put("slow", `slow${i}.onnx`);
    space.write(`Slow${i}.cs`, `[OnnxGpu("slow${i}.onnx")] public partial class Slow${i} { }\n`);
  }
  return space;
}

exports["long work has progress, with a beginning and an end"] = async (bench) => {
  const editor = bench.start(slowWorkspace(bench), "--no-cache", "--jobs", "1");
  await editor.initialize({ window: { workDoneProgress: true } });
  const values = () => [...editor.progress.values()].flat();
  await editor.until("a beginning and an end", () => values().some((v) => v.kind === "begin") && values().at(-1).kind === "end");
  for (const one of editor.progress.values()) {
    if (one.length === 0) continue;
    assert.strictEqual(one[0].kind, "begin");
    assert(one[0].title.length > 0);
    assert.strictEqual(one.at(-1).kind, "end");
    assert(one.slice(1, -1).every((v) => v.kind === "report"), JSON.stringify(one));
    for (const { percentage } of one) assert(percentage === undefined || (percentage >= 0 && percentage <= 100));
  }
  return `${values().filter((v) => v.kind === "report").length} reports`;
};

exports["a client without progress is not bothered with it"] = async (bench) => {
  const editor = bench.start(slowWorkspace(bench), "--no-cache", "--jobs", "1");
  await editor.initialize();
  await editor.until("the last file", () => editor.workspace.has("Slow3.Slow3.Model.cs"));
  assert.strictEqual(editor.progress.size, 0);
};

exports["a cancelled request is answered so, once, and the next as ever"] = async (bench) => {
  const space = slowWorkspace(bench), editor = bench.start(space, "--no-cache");
  await editor.initialize();
  const source = new rpc.CancellationTokenSource();
  const asked = Date.now(), answer = editor.refused(editor.generate("Slow0.cs", "Slow0", "slow0.onnx"));
  const cancelled = editor.refused(editor.request("onnxgpu/generate",
    { script: space.uri("Slow1.cs"), class: "Slow1", models: ["slow1.onnx"] }, source.token));
  source.cancel();
  const error = await cancelled, ms = Date.now() - asked;
  assert.strictEqual(error.code, -32800);
  const status = await editor.request("onnxgpu/status");
  assert.strictEqual(status.pid, editor.child.pid);
  const good = await answer;
  assert.strictEqual(good.code, 0, good.message);
  assert.strictEqual(good.result.sources.length, 1);
  const again = await editor.generate("Slow1.cs", "Slow1", "slow1.onnx");
  assert.deepStrictEqual(again.sources.map((s) => s.hintName), ["Slow1.Slow1.Model.cs"]);
  return `${ms} ms to the answer`;
};

exports["a request that is open when the server is shut down is answered before"] = async (bench) => {
  const space = slowWorkspace(bench), editor = bench.start(space, "--no-cache");
  await editor.initialize();
  const open = editor.refused(editor.generate("Slow0.cs", "Slow0", "slow0.onnx"));
  const down = editor.request("shutdown");
  assert.strictEqual((await open).code, -32802);
  assert.strictEqual(await down, null);
  await editor.notify("exit");
  assert.strictEqual(await editor.child.left, 0);
};

exports["many requests at once have each its own answer"] = async (bench) => {
  const space = bench.workspace(), editor = bench.start(space);
  await editor.initialize();
  const asked = [];
  for (let i = 0; i < 200; i++) {
    asked.push(editor.request("onnxgpu/check", { uri: space.uri(i % 2 ? BAD : "Sharpen.cs") }));
    if (i % 10 === 0) await sleep(0);
  }
  const answers = await Promise.all(asked);
  answers.forEach((answer, i) => assert.strictEqual(answer.diagnostics.length, i % 2 ? 2 : 0));
};
