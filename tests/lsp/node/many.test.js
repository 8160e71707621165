// A folder of fifty scripts: saving, crashing, starting again.
"use strict";
const assert = require("assert");
const fs = require("fs");
const path = require("path");
const { sleep } = require("./bench");

const COUNT = 50;
const script = (i) => `Filter${String(i).padStart(2, "0")}`;
const model = (i) => `model${String(i).padStart(2, "0")}.onnx`;
const file = (i) => `${script(i)}.Model${String(i).padStart(2, "0")}.Model.cs`;

const everything = (space) => Object.fromEntries(space.generated().map((name) => [name, space.read(name)]));

async function start(bench, space) {
  const editor = bench.start(space), before = Date.now();
  await editor.initialize();
  await editor.until(() => `${COUNT} files; there are ${space.generated().length}`, () => space.generated().length === COUNT);
  editor.took = Date.now() - before;
  editor.status = await editor.rest();
  return editor;
}

const figures = (times) => {
  times.sort((a, b) => a - b);
  return `median ${times[times.length >> 1]} ms, worst ${times.at(-1)} ms`;
};

exports["fifty scripts: a model that is replaced has its file and its diagnostics at once"] = async (bench) => {
  const space = bench.workspace("many"), editor = await start(bench, space), files = [], squiggles = [], clean = [];
  for (let i = 0; i < COUNT; i += 5) {
    const old = space.read(file(i)), from = Date.now(), told = editor.generated.length;
    space.put("other", model(i));
    await editor.until(() => "the new " + file(i), () => space.read(file(i)) !== old);
    files.push(Date.now() - from);
    await editor.until("its notification", () => editor.generated.slice(told).some((g) => g.script === space.uri(script(i) + ".cs")));
    const now = await editor.generate(script(i) + ".cs", script(i), model(i));
    assert.strictEqual(now.sources[0].text, space.read(file(i)));
    const bad = Date.now();
    space.put("dynamic", model(i));
    await editor.untilCodes(script(i) + ".cs", "TUKI0112 TUKI0151");
    squiggles.push(Date.now() - bad);
    const good = Date.now();
    space.put("good", model(i));
    await editor.untilCodes(script(i) + ".cs", "");
    clean.push(Date.now() - good);
  }
  const rest = await editor.rest();
  assert.strictEqual(rest.models.ok, COUNT);
  assert.strictEqual(rest.models.refused, 0);
  return `all ${COUNT} in ${editor.took} ms; file ${figures(files)}; squiggle there ${figures(squiggles)}; gone ${figures(clean)}`;
};

exports["killed and started again: everything comes from the cache, with the same bytes"] = async (bench) => {
  const space = bench.workspace("many");
  // A file's times stand for its content only once they are older than 2 s; before, models are hashed anew.
  await sleep(2200);
  const first = await start(bench, space), texts = everything(space);
  const prints = new Map();
  for (const g of first.generated) prints.set(g.script, g.fingerprint);
  assert.strictEqual(first.status.models.ok, COUNT);
  assert(first.status.cache.on, first.status.cache.why);
  assert(first.status.cache.puts > 0);
  first.child.killed_by_us = first.child.kill("SIGKILL");
  assert.strictEqual(await first.child.left, "SIGKILL");

  // With its files: none is written again.
  const times = () => space.generated().map((name) => fs.statSync(space.path(name), { bigint: true }).mtimeNs);
  const before = times(), second = bench.start(space);
  const from = Date.now();
  await second.initialize();
  for (const i of [0, 17, COUNT - 1]) {
    const fingerprint = prints.get(space.uri(script(i) + ".cs"));
    assert.deepStrictEqual(await second.generate(script(i) + ".cs", script(i), model(i), { fingerprint }), { fingerprint, unchanged: true });
  }
  let status = await second.rest();
  const warm = Date.now() - from;
  assert.strictEqual(status.models.ok, COUNT);
  assert.deepStrictEqual(everything(space), texts);
  assert.deepStrictEqual(times(), before);
  // Where patience with the cache ran out (on a machine that stands still at times), some of it is computed again.
  const patient = (later) => first.status.cache.busy + later.cache.busy === 0;
  if (patient(status)) {
    assert(status.cache.hits >= COUNT, JSON.stringify(status.cache));
    assert.strictEqual(status.cache.misses, 0, JSON.stringify(status.cache));
    assert.strictEqual(status.cache.puts, 0, JSON.stringify(status.cache));
  }
  second.child.killed_by_us = second.child.kill("SIGKILL");
  await second.child.left;

  // Without: the same bytes.
  for (const name of space.generated()) fs.unlinkSync(space.path(name));
  const third = await start(bench, space);
  assert.deepStrictEqual(everything(space), texts);
  if (patient(third.status)) assert.strictEqual(third.status.cache.misses, 0, JSON.stringify(third.status.cache));

  // Without a cache: the same bytes again.
  assert.strictEqual(await bench.leave(third), 0);
  fs.rmSync(bench.cache(space));
  for (const name of space.generated()) fs.unlinkSync(space.path(name));
  const fourth = await start(bench, space);
  assert.deepStrictEqual(everything(space), texts);
  assert(fourth.status.cache.puts > 0);
  return `cold ${first.took} ms, warm ${warm} ms, files anew ${third.took} ms, cold again ${fourth.took} ms`;
};

exports["killed in the midst of its work, it leaves no half file, and the next one tidies up"] = async (bench) => {
  const space = bench.workspace("many");
  const temporary = (name) => /^\.Filter.*\.Model\.cs\.\d+-\d+$/.test(name);
  for (const count of [1, 10, 30]) {
    const editor = bench.start(space);
    await editor.initialize();
    await editor.until("some files", () => space.generated().length >= count);
    editor.child.killed_by_us = editor.child.kill("SIGKILL");
    await editor.child.left;
  }
  // Besides what these may have left: a temporary file of a process that is no more, and long since.
  space.write(".Filter00.Model00.Model.cs.2147483647-1", "half");
  for (const name of fs.readdirSync(space.folder).filter(temporary)) fs.utimesSync(space.path(name), 1e9, 1e9);
  const left = everything(space), end = await start(bench, space);
  const texts = everything(space);
  for (const [name, text] of Object.entries(left)) assert.strictEqual(text, texts[name], name);
  const fresh = bench.workspace("many");
  await start(bench, fresh);
  assert.deepStrictEqual(everything(fresh), texts);
  assert.strictEqual(await bench.leave(end), 0);
  assert.deepStrictEqual(fs.readdirSync(space.folder).sort(), fs.readdirSync(fresh.folder).sort(), "nothing else lies about");
};

exports["folders that come and go"] = async (bench) => {
  const space = bench.workspace(), editor = bench.start(space);
  await editor.initialize();
  await editor.until("Sharpen.Filter.Model.cs", () => space.has("Sharpen.Filter.Model.cs"));
  const other = bench.workspace();
  fs.mkdirSync(space.path("deep/er"), { recursive: true });
  fs.renameSync(other.folder, space.path("deep/er/moved"));
  await editor.untilCodes("deep/er/moved/Bad.cs", "TUKI0112 TUKI0110");
  await editor.until("the file of the folder that came", () => space.has("deep/er/moved/Sharpen.Filter.Model.cs"));
  fs.rmSync(space.path("deep"), { recursive: true });
  await editor.untilCodes("deep/er/moved/Bad.cs", "");
  assert.strictEqual(path.basename(space.generated()[0]), "Sharpen.Filter.Model.cs");
};
