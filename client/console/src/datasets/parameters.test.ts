import assert from 'node:assert/strict';
import {test} from 'node:test';
import {create} from '@bufbuild/protobuf';
import {DatasetSchema, Neighbours} from 'proto/dataset_pb';
import {AlgorithmSchema, ParameterSchema, ParameterType} from 'proto/training_pb';
import {misfitOf, problemOf, rangeText, settingsOf} from './parameters';

const depth = create(ParameterSchema, {name: 'depth', type: ParameterType.INTEGER, min: 0, max: 16, defaultValue: '6'});
const rate = create(ParameterSchema, {name: 'rate', type: ParameterType.REAL, min: 0.001, max: 1});
const scheme = create(ParameterSchema, {name: 'scheme', type: ParameterType.CHOICE, choices: ['seq', 'para'], defaultValue: 'seq'});

test('values are held against bounds and choices; empty is the default', () => {
  for (const text of ['', ' ', '0', '16', '1e1']) assert.equal(problemOf(depth, text), null, text);
  for (const text of ['17', '-1', '1.5', 'six', '0x10', 'Infinity', '1 2']) assert.equal(problemOf(depth, text), 'It must be a whole number from 0 to 16.', text);
  assert.equal(problemOf(rate, '.5'), null);
  assert.equal(problemOf(rate, '0'), 'It must be a number from 0.001 to 1.');
  assert.equal(problemOf(scheme, 'both'), 'It must be one of seq, para.');
  assert.equal(rangeText(scheme), 'one of seq, para');
});

test('only what was set is sent', () => {
  const algorithm = create(AlgorithmSchema, {parameters: [depth, rate, scheme]});
  assert.deepEqual(settingsOf(algorithm, {depth: ' 4 ', rate: '', other: '1'}), {depth: '4'});
});

test('an algorithm fits by what it predicts and what it protects', () => {
  const classes = create(DatasetSchema, {schema: {classes: ['a', 'b']}, cap: {neighbours: Neighbours.ADD_OR_REMOVE_ROW}});
  const fits = {classification: true, regression: false, neighbours: Neighbours.ADD_OR_REMOVE_ROW};
  assert.equal(misfitOf(create(AlgorithmSchema, fits), classes), null);
  assert.match(misfitOf(create(AlgorithmSchema, {...fits, neighbours: Neighbours.CHANGE_LABEL}), classes) ?? '', /another relation/);
  assert.match(misfitOf(create(AlgorithmSchema, fits), create(DatasetSchema, {schema: {target: {min: 0, max: 1}}, cap: {neighbours: Neighbours.ADD_OR_REMOVE_ROW}})) ?? '', /classes alone/);
});
