// client.js DAEMON WORKSPACE: what an editor built on the usual packages sees.
"use strict";
const { spawn } = require("child_process");
const fs = require("fs");
const path = require("path");
const { pathToFileURL } = require("url");
const rpc = require("vscode-jsonrpc/node");
const lsp = require("vscode-languageserver-protocol");

const [daemon, space] = [process.argv[2], fs.realpathSync(process.argv[3])];
let passed = 0, failed = 0;

function expect(what, good, seen) {
  good ? passed++ : failed++;
  console.log((good ? "ok " : "FAILED ") + what + (good ? "" : ": " + JSON.stringify(seen)));
}

const uri = (name) => pathToFileURL(path.join(space, name)).toString();

async function main() {
  const child = spawn(daemon, ["--stdio"], { stdio: ["pipe", "pipe", "inherit"] });
  const connection = rpc.createMessageConnection(new rpc.StreamMessageReader(child.stdout), new rpc.StreamMessageWriter(child.stdin));
  const published = new Map(), generated = [], waiting = [];
  const look = () => { for (const w of [...waiting]) if (w.wanted()) { waiting.splice(waiting.indexOf(w), 1); w.go(true); } };
  const until = (wanted) => wanted() ? Promise.resolve(true) : new Promise((go) => {
    waiting.push({ wanted, go });
    setTimeout(() => go(false), 20000).unref();
  });
  connection.onNotification(lsp.PublishDiagnosticsNotification.type, (p) => { published.set(p.uri, p.diagnostics); look(); });
  connection.onNotification("onnxgpu/generated", (p) => { generated.push(p); look(); });
  connection.onRequest((method) => null);
  connection.listen();

  const answer = await connection.sendRequest(lsp.InitializeRequest.type, {
    processId: process.pid, rootUri: pathToFileURL(space).toString(),
    workspaceFolders: [{ uri: pathToFileURL(space).toString(), name: "space" }],
    capabilities: { textDocument: { publishDiagnostics: { relatedInformation: true } } },
  });
  expect("initialize tells capabilities", answer.capabilities && answer.capabilities.textDocumentSync !== undefined, answer);
  await connection.sendNotification(lsp.InitializedNotification.type, {});
  const text = fs.readFileSync(path.join(space, "Bad.cs"), "utf8");
  await connection.sendNotification(lsp.DidOpenTextDocumentNotification.type,
    { textDocument: { uri: uri("Bad.cs"), languageId: "csharp", version: 1, text } });

  const bad = () => published.get(uri("Bad.cs")) || [];
  await until(() => bad().length > 0);
  const column = text.split("\n")[1].indexOf('"bad.onnx"');  // JavaScript counts in UTF-16, as the protocol does
  const [d] = bad();
  expect("one squiggle", bad().length === 1, bad());
  expect("it covers the argument", d && d.range.start.line === 1 && d.range.start.character === column &&
    d.range.end.line === 1 && d.range.end.character === column + 10, d);
  expect("code, severity and message", d && d.code === "TUKI0112" && d.severity === 1 && /image.*axis 0/.test(d.message), d);

  // The text moves, the squiggle with it.
  await connection.sendNotification(lsp.DidChangeTextDocumentNotification.type, { textDocument: { uri: uri("Bad.cs"), version: 2 },
    contentChanges: [{ range: { start: { line: 1, character: 0 }, end: { line: 1, character: 0 } }, text: "/* \u{1F680} */ " }] });
  expect("it moves with the text", await until(() => bad()[0] && bad()[0].range.start.character === column + 9), bad());

  await until(() => generated.some((g) => g.script === uri("Sharpen.cs")) || fs.existsSync(path.join(space, "Sharpen.Filter.Model.cs")));
  const answerGenerate = await connection.sendRequest("onnxgpu/generate",
    { script: uri("Sharpen.cs"), class: "Sharpen", models: ["filter.onnx"] });
  const [source] = answerGenerate.sources || [];
  expect("generate answers what lies on disk", source && source.hintName === "Sharpen.Filter.Model.cs" &&
    await until(() => true) && source.text === fs.readFileSync(path.join(space, "Sharpen.Filter.Model.cs"), "utf8"), answerGenerate.diagnostics);
  const again = await connection.sendRequest("onnxgpu/generate", { script: uri("Sharpen.cs"), class: "Sharpen",
    models: ["filter.onnx"], fingerprint: answerGenerate.fingerprint });
  expect("the same fingerprint is unchanged", again.unchanged === true && again.fingerprint === answerGenerate.fingerprint, again);

  // Files are generated for what is saved.
  fs.writeFileSync(path.join(space, "Bad.cs"), text.replace("/* \u{1F600}", "/* \u{1F680} */ /* \u{1F600}"));
  await connection.sendNotification(lsp.DidSaveTextDocumentNotification.type, { textDocument: { uri: uri("Bad.cs") } });
  fs.renameSync(path.join(space, "..", "good.onnx"), path.join(space, "bad.onnx"));
  expect("it goes when the model is mended", await until(() => published.has(uri("Bad.cs")) && bad().length === 0), bad());
  expect("and the file is generated", await until(() => generated.some((g) => g.script === uri("Bad.cs"))) &&
    fs.existsSync(path.join(space, "Bad.Bad.Model.cs")), generated);

  let unknown = null;
  try { await connection.sendRequest("no/such/method", {}); } catch (e) { unknown = e.code; }
  expect("an unknown request is refused", unknown === rpc.ErrorCodes.MethodNotFound, unknown);
  await connection.sendRequest(lsp.ShutdownRequest.type);
  const left = new Promise((go) => child.on("exit", go));
  await connection.sendNotification(lsp.ExitNotification.type);
  expect("it leaves with 0", await left === 0, null);
}

main().catch((e) => { failed++; console.log("FAILED " + e.stack); }).finally(() => {
  console.log(`${passed} passed, ${failed} failed`);
  process.exit(failed ? 1 : 0);
});
