// The expected texts are those of `coppice model show` and `coppice model explain`.

import assert from 'node:assert/strict';
import {test} from 'node:test';
import {create} from '@bufbuild/protobuf';
import {SplitKind} from 'proto/forest_pb';
import {LeafKind, LeafPredictionSchema, ModelSchema, type LeafPrediction, type Model} from 'proto/model_pb';
import {FeatureSchema} from 'proto/schema_pb';
import {layOut} from '../trees/layout';
import {encodeTyped, startOf} from './typed_fields';
import {answerKind, contributionOf, costText, createdText, isBeyondThisConsole, leafRemark, leafWords, leavesAreTerms, mayBeNoise, prunedTo, sizeOf} from './words';

const {LEAF, NUMERIC} = SplitKind;
const STUMP = {kinds: [NUMERIC, LEAF, LEAF], features: [0], thresholds: [1], missingLeft: [false]};
const TARGET = {min: 1, max: 29, unit: 'years'};

function modelOf(leafKind: LeafKind, trees: number, isNumber = false): Model {
  const answers = isNumber ? {classes: [], target: TARGET} : {classes: ['stays', 'leaves']};
  return create(ModelSchema, {leafKind, schema: {label: 'left', ...answers}, forest: {trees: Array.from({length: trees}, () => STUMP)}});
}

function leafOf(probabilities: number[], standardError = Infinity, label = 1): LeafPrediction {
  return create(LeafPredictionSchema, {probabilities, standardError, label});
}

test('a leaf of probabilities says its class and how sure it is', () => {
  const model = modelOf(LeafKind.UNSPECIFIED, 3);
  assert.deepEqual(leafWords(model, leafOf([0.17, 0.83], 0.13)), {answer: 'leaves', sure: '0.83 ± 0.13'});
  assert.deepEqual(leafWords(model, leafOf([0.17, 0.83])), {answer: 'leaves', sure: '0.83 ± ?'});
  assert.equal(leafRemark(model), '');
});

test('a leaf of weights says its share', () => {
  assert.deepEqual(leafWords(modelOf(LeafKind.WEIGHTS, 3), leafOf([-2, 6])), {answer: 'leaves', sure: '1.00'});
  assert.deepEqual(leafWords(modelOf(LeafKind.WEIGHTS, 3), leafOf([-2, -6])), {answer: 'leaves', sure: '0.50'});
});

test('leaves that are terms say what they add', () => {
  assert.deepEqual(leafWords(modelOf(LeafKind.ADDITIVE, 2), leafOf([0.45, 0.55])), {answer: 'leaves', sure: '+0.025'});
  assert.deepEqual(leafWords(modelOf(LeafKind.SCORES, 2), leafOf([0, -0.6957])), {answer: 'leaves', sure: '−0.696'});
  assert.deepEqual(leafWords(modelOf(LeafKind.SCORES, 2, true), leafOf([0, 0.25])), {answer: '+7 years', sure: ''});
  assert.match(leafRemark(modelOf(LeafKind.SCORES, 2, true)), /adds to the number/);
});

test('a single tree of terms answers by itself', () => {
  const model = modelOf(LeafKind.ADDITIVE, 1);
  assert.equal(leavesAreTerms(model), false);
  assert.deepEqual(leafWords(model, leafOf([-0.2, 1.2], 0.1)), {answer: 'leaves', sure: '1.00 ± 0.10'});
});

test('a leaf of a number says it in the target\'s unit', () => {
  assert.deepEqual(leafWords(modelOf(LeafKind.UNSPECIFIED, 1, true), leafOf([0.75, 0.25], 0.01)), {answer: '8 years', sure: '± 0.28'});
});

test('contributions are against what the model says without trees', () => {
  assert.equal(contributionOf(modelOf(LeafKind.UNSPECIFIED, 4), leafOf([0.25, 0.75]), 1), 0.0625);
  assert.equal(contributionOf(modelOf(LeafKind.SCORES, 4), leafOf([1, 3]), 1), 1);
  assert.equal(contributionOf(modelOf(LeafKind.UNSPECIFIED, 4, true), leafOf([0.25, 0.75]), 1), 1.75);
});

test('a leaf that took over an ancestor\'s sums says so', () => {
  const layout = layOut(modelOf(LeafKind.UNSPECIFIED, 1).forest!.trees[0]!);
  assert.equal(prunedTo(layout, 1, create(LeafPredictionSchema, {sourceNode: 0})), 0);
  assert.equal(prunedTo(layout, 2, create(LeafPredictionSchema, {sourceNode: 2})), null);
  assert.equal(prunedTo(layout, 2, create(LeafPredictionSchema, {sourceNode: 99})), null);
});

test('what a model cost is exact', () => {
  const {certificate} = create(ModelSchema, {certificate: {epsilonNanos: 1_000_000_001n, deltaAtto: 10n ** 12n}});
  assert.equal(costText(certificate!), 'epsilon 1.000000001, delta 1e−6');
});

test('a job tells the day alone', () => {
  assert.equal(createdText(create(ModelSchema, {job: 'jobs/a', createdUnixSeconds: 1_795_564_800n})), '2026-11-25');
  assert.equal(createdText(create(ModelSchema)), '–');
});

test('an importance near 0 may be noise', () => {
  assert.equal(mayBeNoise({importance: 0.1, standardError: 0.06}), true);
  assert.equal(mayBeNoise({importance: 0.1, standardError: 0.05}), false);
  assert.equal(mayBeNoise({importance: 0, standardError: Infinity}), true);
  assert.equal(mayBeNoise({importance: 0.1}), false);
});

test('a model without trees or schema is told from others', () => {
  assert.equal(sizeOf(create(ModelSchema)), null);
  assert.equal(answerKind(create(ModelSchema)), 'not said');
  assert.equal(answerKind(modelOf(LeafKind.SCORES, 1, true)), 'a number in years');
});

test('a model that would be read wrongly is told', () => {
  assert.equal(isBeyondThisConsole(create(ModelSchema, {version: 1, minReader: 1})), false);
  assert.equal(isBeyondThisConsole(create(ModelSchema, {version: 9, minReader: 1})), false);
  assert.equal(isBeyondThisConsole(create(ModelSchema, {minReader: 1})), true);
  assert.equal(isBeyondThisConsole(create(ModelSchema, {version: 2, minReader: 2})), true);
  assert.equal(isBeyondThisConsole(create(ModelSchema, {version: 1, leafKind: 77 as LeafKind})), true);
});

test('a row by hand begins in the middle and takes what is typed', () => {
  const age = create(FeatureSchema, {name: 'age', type: {case: 'numeric', value: {min: 16, max: 71, integer: true}}});
  const plan = create(FeatureSchema, {name: 'plan', type: {case: 'categorical', value: {values: ['basic', 'plus']}}});
  assert.deepEqual([startOf(age), startOf(plan)], ['44', '0']);
  assert.deepEqual(encodeTyped(age, ' 90 '), {value: 71, note: 'clamped'});
  for (const text of ['x', '\u00a090']) assert.deepEqual(encodeTyped(age, text).note, 'unreadable', text);
  for (const text of ['', ' \t']) assert.deepEqual(encodeTyped(age, text), {value: NaN, note: 'missing'});
  assert.deepEqual(encodeTyped(plan, '2'), {value: 2, note: 'none'});
  assert.deepEqual(encodeTyped(plan, ''), {value: NaN, note: 'missing'});
});
