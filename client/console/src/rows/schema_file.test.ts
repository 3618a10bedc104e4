import assert from 'node:assert/strict';
import {test} from 'node:test';
import {InputErrors} from './errors';
import {parseSchemaFile} from './schema_file';

function marked(feature: string, classes: string, more: object = {}) {
  return parseSchemaFile(JSON.stringify({label: 'ill', classes: ['no', 'yes'], bounds: classes, features: [
    {name: 'age', type: 'numeric', min: 0, max: 120, ...more}, {name: 'job', type: 'categorical', values: ['clerk'], bounds: feature}]}));
}

test('marks in the schema what was or may have been read from private rows', () => {
  for (const origin of ['from private rows', 'from these rows']) {
    const {schema, fromRows} = marked(origin, origin);
    assert.deepEqual(schema.features.map(feature => feature.fromPrivateRows), [false, true]);
    assert.ok(schema.answersFromPrivateRows);
    assert.deepEqual(fromRows, ['job', 'ill']);
  }
  for (const origin of ['declared', 'from public rows']) assert.deepEqual(marked(origin, origin).fromRows, []);
});

test('refuses what it does not know of bounds', () => {
  assert.throws(() => marked('guessed', 'declared'), InputErrors);
});

test('takes how numbers are written, of numbers alone', () => {
  assert.deepEqual([...marked('declared', 'declared', {number_format: '1.234,5 EUR'}).format.numbers!], [['age', {prefix: '', suffix: 'EUR', body: '1.234,5'}]]);
  const wrong = (change: object) => assert.throws(() => parseSchemaFile(JSON.stringify({label: 'ill', classes: ['no', 'yes'],
    features: [{name: 'job', type: 'categorical', values: ['clerk']}], ...change})), InputErrors);
  wrong({number_format: '1,234.5'});
  wrong({features: [{name: 'job', type: 'categorical', values: ['clerk'], number_format: '1,234.5'}]});
  wrong({features: [{name: 'age', type: 'numeric', min: 0, max: 1, number_format: 'thousands'}]});
});
