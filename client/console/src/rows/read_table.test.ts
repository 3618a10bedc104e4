import assert from 'node:assert/strict';
import {test} from 'node:test';
import {encodeField, parseFinite, valueText} from './encode';
import {noteTexts, readTable, toRowBlock, toRows, type Block, type ReadOptions} from './read_table';
import {parseSchemaFile} from './schema_file';

const SCHEMA = {
  label: 'left', classes: ['no', 'yes'], missing: ['NA'],
  features: [
    {name: 'age', type: 'numeric', min: 0, max: 120, integer: true, unit: 'years'},
    {name: 'plan', type: 'categorical', values: ['basic', 'plus']},
  ],
};

async function read(csv: string | Uint8Array<ArrayBuffer>, options: Partial<ReadOptions> = {}, schema: object = SCHEMA) {
  const file = parseSchemaFile(JSON.stringify(schema)), blocks: Block[] = [];
  const result = await readTable(new Blob([csv]), file.schema, {labels: 'required', format: file.format, ...options,
    onBlock: block => { blocks.push(block); }});
  return {...result, blocks, schema: file.schema};
}

test('encodes as the commands do, and counts what it changed', async () => {
  const {rows, notes, blocks} = await read('plan,x,age,left\nbasic,1,30,no\n gold ,2,-1,yes\nNA,3,33.5,yes\nplus,4,,no\nbasic,5,2.5,no\n');
  assert.equal(rows, 5);
  assert.deepEqual([...blocks[0]!.columns[0]!], [30, 0, 34, NaN, 3]);
  assert.deepEqual([...blocks[0]!.columns[1]!], [0, 2, NaN, 1, 0]);
  assert.deepEqual([...blocks[0]!.labels], [0, 1, 1, 0, 0]);
  assert.deepEqual(notes, {clamped: 1, rounded: 2, unknown: 1, missing: 2, clampedTargets: 0});
  assert.deepEqual(noteTexts(notes), ['1 field clamped to the public bounds', '2 fields rounded to a whole number',
    '1 field outside the public vocabulary taken as "other"', '2 fields missing']);
});

test('gives blocks in order, and rows and columns of each', async () => {
  const lines = Array.from({length: 25}, (_, i) => `${i},plus,${i % 2 === 0 ? 'no' : 'yes'}`);
  const {blocks, schema} = await read(`age,plan,left\n${lines.join('\n')}`, {blockRows: 10});
  assert.deepEqual(blocks.map(block => [block.firstRow, block.rows]), [[0, 10], [10, 10], [20, 5]]);
  assert.deepEqual(toRows(blocks[2]!)[1], {values: [21, 1]});
  assert.deepEqual(toRowBlock(blocks[2]!, schema), {columns: [{values: [20, 21, 22, 23, 24]}, {values: [1, 1, 1, 1, 1]}], labels: [0, 1, 0, 1, 0]});
});

test('waits for each block', async () => {
  const file = parseSchemaFile(JSON.stringify(SCHEMA));
  let open = 0, most = 0;
  await readTable(new Blob([`age,plan,left\n${'1,plus,no\n'.repeat(50)}`]), file.schema, {labels: 'required', blockRows: 5, onBlock: async () => {
    most = Math.max(most, ++open);
    await new Promise(resolve => setTimeout(resolve, 1));
    --open;
  }});
  assert.equal(most, 1);
});

test('an abort stops it', async () => {
  const abort = new AbortController();
  abort.abort(new Error('enough'));
  await assert.rejects(read('age,plan,left\n1,plus,no\n', {signal: abort.signal}), /enough/);
});

test('numbers are clamped to the target', async () => {
  const schema = {label: 'rings', target_min: 1, target_max: 29, features: [{name: 'length', type: 'numeric', min: 0, max: 1}]};
  const {blocks, notes} = await read('length,rings\n.5,30\n5e-1,7\n', {}, schema);
  assert.deepEqual([...blocks[0]!.targets], [29, 7]);
  assert.equal(notes.clampedTargets, 1);
});

test('numbers are read as their columns write them', async () => {
  const {schema, format} = parseSchemaFile(JSON.stringify({label: 'price', target_min: 0, target_max: 1e6, number_format: '$1,234.5',
    features: [{name: 'size', type: 'numeric', min: 0, max: 1e6, number_format: '1.234,5'}]}));
  const columns: number[] = [], targets: number[] = [];
  const table = (text: string) => readTable(new Blob([text]), schema, {labels: 'required', format, onBlock: block => {
    columns.push(...block.columns[0]!);
    targets.push(...block.targets);
  }});
  await table('size;price\n1.234,5;$1,200\n;7\n');
  assert.deepEqual(columns, [1234.5, NaN]);
  assert.deepEqual(targets, [1200, 7]);
  // Plain decimals would be read as a thousand times as much, or as little.
  await assert.rejects(table('size;price\n12.5;7\n'), {message: 'line 2: column "size" must be a number written as 1.234,5'});
});

const WRONG: [string, string, RegExp][] = [
  ['a missing column', 'age,left\n1,no\n', /^line 1: column "plan" of the schema is missing from the header; its columns: age, left$/],
  ['another delimiter', 'age|plan|left\n1|plus|no\n', /its one column: age\|plan\|left \(a comma, semicolon or tab must stand/],
  ['a column twice', 'age,plan,plan,left\n1,plus,plus,no\n', /^line 1: column "plan" appears twice$/],
  ['a ragged row', 'age,plan,left\n1,plus,no\n1,plus,no,no\n', /^line 3: the row has 4 fields, the header 3 columns; a field that holds/],
  ['no number', 'age,plan,left\n12x,plus,no\n', /^line 2: column "age" must be a finite decimal number/],
  ['an infinite number', 'age,plan,left\n1e999,plus,no\n', /^line 2: column "age" must be a finite decimal number/],
  ['an unknown class', 'age,plan,left\n1,plus,perhaps\n', /^line 2: label "left" must be one of the 2 classes of the schema: no, yes$/],
  ['no rows', 'age,plan,left\n', /^the file has no rows$/],
];

for (const [name, csv, error] of WRONG) {
  test(`refuses ${name} without quoting a value`, async () => {
    await assert.rejects(read(csv), (thrown: Error) => {
      assert.match(thrown.message, error);
      assert.doesNotMatch(thrown.message, /12x|perhaps|1e999/);
      return true;
    });
  });
}

test('refuses what is not UTF-8', async () => {
  await assert.rejects(read(new Uint8Array([0x61, 0xe4, 0x0a])), /no UTF-8.*iconv -f LATIN1/);
  await assert.rejects(read(new Uint8Array([0xff, 0xfe, 0x61, 0])), /UTF-16/);
});

test('a character may lie across two pieces of the file', async () => {
  const schema = {...SCHEMA, features: [{name: 'plan', type: 'categorical', values: ['ü', 'o']}]};
  const {rows, notes} = await read(`plan,left\n${'ü,no\n'.repeat(100_000)}`, {}, schema);
  assert.equal(rows, 100_000);
  assert.equal(notes.unknown, 0);
});

test('strict refuses what would be changed', async () => {
  await assert.rejects(read('age,plan,left\n130,plus,no\n', {strict: true}), {message: /^line 2: column "age" does not fit/});
});

test('numbers are decimal, and one spelling each', () => {
  for (const text of ['', 'x', '0x10', '0b1', 'nan', 'inf', '1_000', '1e', '+-1', '1 2', '\u00a01', '1\u2003', '\ufeff1', '1\u0085']) assert.equal(parseFinite(text), null, text);
  for (const [text, value] of [['1.', 1], ['.5', 0.5], ['+3', 3], [' -2e-1 ', -0.2], ['\t\n\v\f\r1\r\n', 1]] as const) assert.equal(parseFinite(text), value);
  assert.ok(Object.is(parseFinite('-0'), 0));
});

test('halves are rounded away from zero', () => {
  const schema = {...SCHEMA, features: [{name: 'x', type: 'numeric', min: -10, max: 10, integer: true}]};
  const [feature] = parseSchemaFile(JSON.stringify(schema)).schema.features;
  for (const [text, value] of [['-2.5', -3], ['2.5', 3], ['-0.4', 0]] as const) assert.deepEqual(encodeField(feature!, text), {value, note: 'rounded'});
});

test('values in words', () => {
  const {features} = parseSchemaFile(JSON.stringify(SCHEMA)).schema;
  assert.equal(valueText(features[0]!, 37), '37 years');
  assert.equal(valueText(features[1]!, 2), 'other');
  assert.equal(valueText(features[1]!, NaN), 'missing');
  assert.deepEqual(encodeField(features[0]!, '-0.5'), {value: 0, note: 'clamped'});
});

test('a schema says everything that is wrong with it', () => {
  const wrong = {label: 'left', classes: ['no', 'no'], mising: [], features: [{name: 'age', type: 'numeric', min: 3, max: 1}, {name: '', type: 'text'},
    {name: 'age', type: 'categorical', values: []}]};
  assert.throws(() => parseSchemaFile(JSON.stringify(wrong)), (error: Error & {errors: string[]}) => {
    const all = error.errors.join('\n');
    for (const part of [/did you mean "missing"/, /class "no" is listed twice/, /feature "age": min must not exceed max/, /type must be "numeric" or "categorical", not "text"/,
      /feature or label name "age" is listed twice/, /needs at least one value/, /a feature or label name is empty/]) assert.match(all, part);
    return true;
  });
  assert.throws(() => parseSchemaFile('{'), /not valid JSON/);
  assert.throws(() => parseSchemaFile('[]'), /must be a JSON object/);
});
