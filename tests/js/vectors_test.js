// All vectors of tests/vectors, in the C core as WebAssembly under Node.

'use strict';

const assert = require('node:assert');
const fs = require('node:fs');
const path = require('node:path');
const {before, test} = require('node:test');
const {pathToFileURL} = require('node:url');

const VECTORS = path.resolve(__dirname, '../vectors');
const FEWEST_CASES = 15;

let check;

before(async () => {
  const folder = path.join(process.env.COPPICE_JS_DIR, 'test');
  const {makeChecker} = await import(pathToFileURL(path.join(__dirname, 'check_vectors.mjs')));
  check = await makeChecker(fs.readFileSync(path.join(folder, 'checks.wasm')), await import(pathToFileURL(path.join(folder, 'crypto.js'))));
});

for (const name of fs.readdirSync(VECTORS).filter(file => file.endsWith('.json'))) {
  test(name, () => {
    const {cases, wrong} = check(name, fs.readFileSync(path.join(VECTORS, name), 'utf8'));
    assert.ok(cases >= FEWEST_CASES, `${cases} cases`);
    assert.deepStrictEqual(wrong, []);
  });
}
