// main.js DAEMON BASE FILE…: runs the tests of these files, one after another. BASE is as ../workspace.py makes it.
//
// A file exports a table of tests: a name, and a function of the bench (bench.js). A test fails by throwing; the number of
// milliseconds that it may return is printed.
"use strict";
const path = require("path");
const { Bench } = require("./bench");

async function main(daemon, base, files) {
  const wanted = new RegExp(process.env.ONLY || "");
  const counts = { passed: 0, failed: 0 };
  for (const file of files)
    for (const [name, test] of Object.entries(require(path.resolve(file)))) {
      if (!wanted.test(name)) continue;
      const bench = new Bench(daemon, base);
      try {
        const measured = await test(bench);
        await bench.close();
        counts.passed++;
        console.log(`ok ${name}` + (measured ? ` (${measured})` : ""));
      } catch (error) {
        counts.failed++;
        console.log(`FAILED ${name}: ${error.stack}${bench.log()}`);
        await bench.close().catch(() => {});
      }
    }
  console.log(`${counts.passed} passed, ${counts.failed} failed, 0 skipped`);
  return counts.failed || !counts.passed ? 1 : 0;
}

main(process.argv[2], process.argv[3], process.argv.slice(4)).then((code) => process.exit(code), (error) => {
  console.log(`FAILED: ${error.stack}\n0 passed, 1 failed, 0 skipped`);
  process.exit(1);
});
