// Answers the rows of sample_models with onnxruntime.
//
//   node onnx_reader.js onnxruntime-node|onnxruntime-web SET ROWS FOLDER...
//
// Reads model.onnx, model.json (for the order of the classes) and the first ROWS rows of SET.rows in each
// FOLDER, and writes SET.RUNTIME in the format of SET.answers.
'use strict';
const fs = require('fs');
const path = require('path');

const [runtime, set, rowLimit, ...folders] = process.argv.slice(2);
const ort = require(runtime);
const kBatch = 8192;

function readDoubles(file) {
  const bytes = fs.readFileSync(file);
  return new Float64Array(bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.length));
}

async function answer(folder) {
  const described = JSON.parse(fs.readFileSync(path.join(folder, 'model.json'), 'utf8'));
  const session = await ort.InferenceSession.create(
      new Uint8Array(fs.readFileSync(path.join(folder, 'model.onnx'))));
  const features = described.features.length;
  const rows = readDoubles(path.join(folder, set + '.rows'));
  const count = Math.min(rows.length / features, Number(rowLimit));
  const answers = [];
  for (let begin = 0; begin < count; begin += kBatch) {
    const size = Math.min(kBatch, count - begin);
    const batch = rows.slice(begin * features, (begin + size) * features);
    const output = await session.run({features: new ort.Tensor('float64', batch, [size, features])});
    if (output.value) {
      for (let i = 0; i < size; ++i) answers.push(output.value.data[i]);
      continue;
    }
    const classes = described.classes.length;
    for (let i = 0; i < size; ++i) {
      answers.push(described.classes.indexOf(output.label.data[i]));
      for (let k = 0; k < classes; ++k) answers.push(output.probabilities.data[i * classes + k]);
    }
  }
  fs.writeFileSync(path.join(folder, set + '.' + runtime), Buffer.from(new Float64Array(answers).buffer));
}

(async () => {
  for (const folder of folders) await answer(folder);
})().catch(error => {
  console.error(error);
  process.exit(1);
});
