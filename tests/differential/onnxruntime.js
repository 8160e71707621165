// Runs models with ONNX Runtime: node onnxruntime.js MODULE FOLDER… (MODULE: where onnxruntime-node lies). Each folder holds
// model.onnx and input_0.pb …; ort_0.pb … are written. A line a folder: FOLDER <tab> ok, or refused <tab> why.
"use strict";
const fs = require("fs");
const path = require("path");
const ort = require(process.argv[2]);

const kinds = {
  1: ["float32", Float32Array], 2: ["uint8", Uint8Array], 3: ["int8", Int8Array], 4: ["uint16", Uint16Array],
  5: ["int16", Int16Array], 6: ["int32", Int32Array], 7: ["int64", BigInt64Array], 9: ["bool", Uint8Array],
  10: ["float16", Uint16Array], 11: ["float64", Float64Array], 12: ["uint32", Uint32Array], 13: ["uint64", BigUint64Array],
};

// A TensorProto with raw_data: [dims, kind, bytes].
function readTensor(bytes) {
  let at = 0;
  const varint = () => {
    let n = 0n, shift = 0n;
    for (;;) {
      const b = bytes[at++];
      n |= BigInt(b & 127) << shift;
      if (b < 128) return Number(n);
      shift += 7n;
    }
  };
  const dims = [];
  let kind = 1, raw = Buffer.alloc(0);
  while (at < bytes.length) {
    const key = varint();
    if ((key & 7) === 0) {
      const n = varint();
      if (key >> 3 === 1) dims.push(n);
      if (key >> 3 === 2) kind = n;
    } else {
      const size = varint();
      if (key >> 3 === 9) raw = bytes.subarray(at, at + size);
      at += size;
    }
  }
  return [dims, kind, raw];
}

function writeTensor(file, tensor) {
  const kind = Number(Object.keys(kinds).find((k) => kinds[k][0] === tensor.type));
  const out = [];
  const varint = (n) => {
    for (n = BigInt(n); n > 127n; n >>= 7n) out.push(Number(n & 127n) | 128);
    out.push(Number(n));
  };
  for (const d of tensor.dims) { out.push(8); varint(d); }
  out.push(16); varint(kind);
  const data = Buffer.from(tensor.data.buffer, tensor.data.byteOffset, tensor.data.byteLength);
  out.push(9 << 3 | 2); varint(data.length);
  fs.writeFileSync(file, Buffer.concat([Buffer.from(out), data]));
}

async function run(folder) {
  const session = await ort.InferenceSession.create(path.join(folder, "model.onnx"),
    { graphOptimizationLevel: "disabled", intraOpNumThreads: 1, interOpNumThreads: 1, logSeverityLevel: 4 });
  const feeds = {};
  session.inputNames.forEach((name, i) => {
    const [dims, kind, raw] = readTensor(fs.readFileSync(path.join(folder, `input_${i}.pb`)));
    const [type, Form] = kinds[kind];
    const copy = new Uint8Array(raw);
    feeds[name] = new ort.Tensor(type, new Form(copy.buffer, 0, copy.length / Form.BYTES_PER_ELEMENT), dims);
  });
  const results = await session.run(feeds);
  session.outputNames.forEach((name, i) => writeTensor(path.join(folder, `ort_${i}.pb`), results[name]));
  await session.release();
}

(async () => {
  for (const folder of process.argv.slice(3)) {
    try {
      await run(folder);
      console.log(`${folder}\tok`);
    } catch (e) {
      console.log(`${folder}\trefused\t${String(e.message).replace(/\s+/g, " ")}`);
    }
  }
})();
