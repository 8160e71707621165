// What a user sees who opens a script, edits it, and mends its models.
"use strict";
const assert = require("assert");

// The range of a piece of a text, in the unit of JavaScript's strings, which is UTF-16 as the protocol's is by default.
function rangeOf(text, piece) {
  const at = text.indexOf(piece), before = text.slice(0, at).split("\n");
  assert(at >= 0, piece);
  const line = before.length - 1, character = before[line].length;
  return { start: { line, character }, end: { line, character: character + piece.length } };
}

const DYNAMIC = '"dynamic.onnx"', UNSUPPORTED = '"unsupported.onnx"';

async function open(bench, capabilities) {
  const space = bench.workspace(), editor = bench.start(space);
  await editor.initialize(capabilities);
  await editor.open("Bad.cs");
  await editor.untilCodes("Bad.cs", "TUKI0112 TUKI0110");
  return { space, editor };
}

exports["initialize is answered with what the server can do"] = async (bench) => {
  const editor = bench.start(bench.workspace());
  const { capabilities, serverInfo } = await editor.initialize();
  assert.strictEqual(serverInfo.name, "onnxgpud");
  assert.strictEqual(capabilities.positionEncoding, "utf-16");
  assert.strictEqual(capabilities.textDocumentSync.openClose, true);
  assert.strictEqual(capabilities.textDocumentSync.change, 2);
  assert.strictEqual(capabilities.diagnosticProvider, undefined, "the client cannot pull");
  assert.strictEqual(await bench.leave(editor), 0);
};

exports["squiggles lie under the arguments, with code, message and the place in the model"] = async (bench) => {
  const { space, editor } = await open(bench);
  const text = space.read("Bad.cs"), [dynamic, unsupported] = editor.diagnostics("Bad.cs");
  assert.deepStrictEqual(dynamic.range, rangeOf(text, DYNAMIC));
  assert.deepStrictEqual(unsupported.range, rangeOf(text, UNSUPPORTED));
  assert.strictEqual(dynamic.severity, 1);
  assert.strictEqual(unsupported.severity, 1);
  assert.match(dynamic.message, /input image: axis 0 /);
  assert.match(unsupported.message, /RoiPooling pool: /);
  assert.deepStrictEqual([dynamic.data.model, dynamic.data.argument], ["dynamic.onnx", 0]);
  assert.deepStrictEqual([unsupported.data.layer, unsupported.data.op], ["pool", "RoiPooling"]);
  for (const [diagnostic, model] of [[dynamic, "dynamic.onnx"], [unsupported, "unsupported.onnx"]]) {
    assert.strictEqual(diagnostic.relatedInformation.length, 1);
    assert.strictEqual(diagnostic.relatedInformation[0].location.uri, space.uri(model));
    // The model shows the same, and points back.
    await editor.untilCodes(model, diagnostic.code);
    const [there] = editor.diagnostics(model);
    assert.strictEqual(there.message, diagnostic.message);
    assert.deepStrictEqual(there.range, diagnostic.relatedInformation[0].location.range);
    assert.deepStrictEqual(there.relatedInformation[0].location, { uri: space.uri("Bad.cs"), range: diagnostic.range });
  }
  // That place is the node's in the model's text.
  const shown = await editor.request("onnxgpu/modelText", { uri: space.uri("unsupported.onnx") });
  const { range } = unsupported.relatedInformation[0].location;
  assert.strictEqual(shown.text.split("\n")[range.start.line].slice(range.start.character, range.end.character), "RoiPooling pool");
  assert.deepStrictEqual(shown.nodes.find((node) => node.name === "pool").range, range);
};

exports["the good script is generated, and nothing is said about it"] = async (bench) => {
  const { space, editor } = await open(bench);
  await editor.until("onnxgpu/generated of Sharpen.cs", () => editor.generated.some((g) => g.script === space.uri("Sharpen.cs")));
  const told = editor.generated.find((g) => g.script === space.uri("Sharpen.cs"));
  assert.deepStrictEqual(told.files, [space.path("Sharpen.Filter.Model.cs")]);
  assert.match(told.fingerprint, /^[0-9a-f]{32}$/);
  assert.match(space.read("Sharpen.Filter.Model.cs"), /partial class Sharpen/);
  assert.deepStrictEqual(space.generated(), ["Sharpen.Filter.Model.cs"], "bad models have no files");
  assert.strictEqual(editor.diagnostics("Sharpen.cs"), undefined);
};

exports["squiggles move with incremental edits around characters of two units"] = async (bench) => {
  const { space, editor } = await open(bench);
  let text = space.read("Bad.cs");
  // Applied here as the editor does, and sent as the editor would.
  const edit = async (...steps) => {
    const changes = [];
    for (const [at, length, put] of steps) {
      const lines = (n) => { const before = text.slice(0, n).split("\n"); return { line: before.length - 1, character: before.at(-1).length }; };
      changes.push({ range: { start: lines(at), end: lines(at + length) }, text: put });
      text = text.slice(0, at) + put + text.slice(at + length);
    }
    await editor.change("Bad.cs", ...changes);
    const ranges = () => JSON.stringify((editor.diagnostics("Bad.cs") || []).map((d) => d.range));
    const wanted = JSON.stringify([rangeOf(text, DYNAMIC), rangeOf(text, UNSUPPORTED)]);
    await editor.until(() => `${wanted} after ${JSON.stringify(changes)}; there is ${ranges()}`, () => ranges() === wanted);
    const { version } = editor.publications.filter((p) => p.uri === space.uri("Bad.cs")).at(-1);
    assert.strictEqual(version, editor.versions.get("Bad.cs"));
  };
  await edit([text.indexOf("/*"), 0, "/* \u{1F680}\u{1F680} */ "]);           // before it on its line
  await edit([text.indexOf("using"), 0, "// \u{1D4B3}\r\n\r\n"]);             // lines above, of another ending
  await edit([text.indexOf("\u{1F600}") + 2, 0, "\u{1F600}"]);                  // right behind one of its kind
  await edit([text.indexOf("\u{1F600}"), 4, ""]);                              // both go
  await edit([text.indexOf("namespace"), 0, "\u00e9 /*\u{1F4A9}*/".slice(1)],   // several in one message, each upon the one before
             [text.indexOf("using"), 0, "//\u{1F4A9}\n"]);
  await edit([0, text.length, space.read("Bad.cs")]);                          // everything at once
};

exports["squiggles go when the models are mended, and the files are generated"] = async (bench) => {
  const { space, editor } = await open(bench);
  const before = Date.now();
  space.put("good", "dynamic.onnx");
  await editor.untilCodes("Bad.cs", "TUKI0110");
  const ms = Date.now() - before;
  await editor.until("Bad.Dynamic.Model.cs", () => space.has("Bad.Dynamic.Model.cs"));
  space.put("good", "unsupported.onnx");
  await editor.untilCodes("Bad.cs", "");
  const file = space.path("Bad.Unsupported.Model.cs");
  await editor.until("onnxgpu/generated of Bad.cs", () => editor.generated.some((g) => g.script === space.uri("Bad.cs") && g.files.includes(file)));
  assert.match(space.read("Bad.Unsupported.Model.cs"), /partial class Unsupported/);
  for (const model of ["dynamic.onnx", "unsupported.onnx"]) {
    await editor.untilCodes(model, "");
    const seen = editor.publications.filter((p) => p.uri === space.uri(model)).map((p) => p.diagnostics.length);
    assert.deepStrictEqual(seen, [1, 0], "an empty list once");
  }
  return `${ms} ms from rename to squiggle gone`;
};

exports["a model that breaks again leaves its file, which is called stale"] = async (bench) => {
  const { space, editor } = await open(bench);
  space.put("good", "dynamic.onnx");
  await editor.until("Bad.Dynamic.Model.cs", () => space.has("Bad.Dynamic.Model.cs"));
  const text = space.read("Bad.Dynamic.Model.cs");
  space.put("dynamic", "dynamic.onnx");
  await editor.untilCodes("Bad.cs", "TUKI0112 TUKI0151 TUKI0110");
  const [error, stale] = editor.diagnostics("Bad.cs");
  assert.deepStrictEqual(stale.range, error.range);
  assert.strictEqual(stale.severity, 2);
  assert.strictEqual(space.read("Bad.Dynamic.Model.cs"), text);
};

exports["a model that is deleted is missed where it is named"] = async (bench) => {
  const { space, editor } = await open(bench);
  require("fs").unlinkSync(space.path("dynamic.onnx"));
  await editor.untilCodes("Bad.cs", "TUKI0100 TUKI0110");
  assert.deepStrictEqual(editor.diagnostics("Bad.cs")[0].range, rangeOf(space.read("Bad.cs"), DYNAMIC));
  await editor.untilCodes("dynamic.onnx", "");
};

exports["unsaved text counts while it is open, the disk's after it is closed"] = async (bench) => {
  const { space, editor } = await open(bench);
  await editor.change("Bad.cs", { text: "class Nothing { }\n" });
  await editor.untilCodes("Bad.cs", "");
  await editor.close("Bad.cs");
  await editor.untilCodes("Bad.cs", "TUKI0112 TUKI0110");
  assert.deepStrictEqual(space.generated().filter((name) => name.startsWith("Bad")), []);
};

exports["generate answers what lies on the disk, and unchanged to its fingerprint"] = async (bench) => {
  const { space, editor } = await open(bench);
  await editor.until("Sharpen.Filter.Model.cs", () => space.has("Sharpen.Filter.Model.cs"));
  const first = await editor.generate("Sharpen.cs", "Sharpen", "filter.onnx");
  assert.deepStrictEqual(first.sources, [{ hintName: "Sharpen.Filter.Model.cs", text: space.read("Sharpen.Filter.Model.cs") }]);
  assert.deepStrictEqual(first.diagnostics, []);
  const told = editor.generated.find((g) => g.script === space.uri("Sharpen.cs"));
  assert.strictEqual(first.fingerprint, told.fingerprint);
  const { fingerprint } = first;
  assert.deepStrictEqual(await editor.generate("Sharpen.cs", "Sharpen", "filter.onnx", { fingerprint }), { fingerprint, unchanged: true });

  // Another model: asked for before the daemon may have noticed, it is the new one all the same.
  space.put("other", "filter.onnx");
  const second = await editor.generate("Sharpen.cs", "Sharpen", "filter.onnx", { fingerprint });
  assert.notStrictEqual(second.fingerprint, fingerprint);
  assert.notStrictEqual(second.sources[0].text, first.sources[0].text);
  await editor.until("the new text on the disk", () => space.read("Sharpen.Filter.Model.cs") === second.sources[0].text);

  // And back: the same text, the same fingerprint.
  space.put("good", "filter.onnx");
  assert.deepStrictEqual(await editor.generate("Sharpen.cs", "Sharpen", "filter.onnx"), first);
};

exports["generate of a bad model gives diagnostics and no sources"] = async (bench) => {
  const { space, editor } = await open(bench);
  const answer = await editor.generate("Bad.cs", "Dynamic", "dynamic.onnx");
  assert.deepStrictEqual(answer.sources, []);
  assert.deepStrictEqual(answer.diagnostics, [editor.diagnostics("Bad.cs")[0]]);
  const all = await editor.request("onnxgpu/check", { uri: space.uri("Bad.cs") });
  assert.deepStrictEqual(all.diagnostics, editor.diagnostics("Bad.cs"));
};

exports["nothing is related where the client knows no such thing"] = async (bench) => {
  const { editor } = await open(bench, { textDocument: { publishDiagnostics: {} } });
  for (const diagnostic of editor.diagnostics("Bad.cs")) assert.strictEqual(diagnostic.relatedInformation, undefined);
};

exports["an unknown request is refused, an unknown notification passed over"] = async (bench) => {
  const { editor } = await open(bench);
  await editor.notify("no/such/notification", {});
  assert.strictEqual((await editor.refused(editor.request("no/such/request", {}))).code, -32601);
  assert.strictEqual((await editor.refused(editor.request("initialize", { capabilities: {} }))).code, -32600);
};

exports["after shutdown requests are refused, and exit leaves with 0"] = async (bench) => {
  const { editor } = await open(bench);
  assert.strictEqual(await editor.request("shutdown"), null);
  assert.strictEqual((await editor.refused(editor.request("onnxgpu/status"))).code, -32600);
  await editor.notify("exit");
  assert.strictEqual(await editor.child.left, 0);
};

exports["exit without shutdown leaves with 1, and so does the end of the input"] = async (bench) => {
  const { editor } = await open(bench);
  await editor.notify("exit");
  assert.strictEqual(await editor.child.left, 1);
  const other = bench.start(bench.workspace());
  await other.initialize();
  other.child.stdin.end();
  assert.strictEqual(await other.child.left, 1);
};
