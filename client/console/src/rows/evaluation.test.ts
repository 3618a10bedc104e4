// An evaluation has the figures of `coppice model evaluate --json` on the same predictions.
//
// testdata/*.json hold a schema, a table, the predictions of a model and that command's output.

import assert from 'node:assert/strict';
import {test} from 'node:test';
import {ClassEvaluation, classVerdict} from './class_evaluation';
import {NumberEvaluation, numberVerdict} from './number_evaluation';
import {readTable, type Block} from './read_table';
import {parseSchemaFile} from './schema_file';
import {ValueCounts} from './value_counts';
import abalone from './testdata/abalone.json';
import car from './testdata/car.json';
import leavers from './testdata/leavers.json';

interface Sample {
  schema: unknown;
  csv: string;
}

async function readSample({schema, csv}: Sample) {
  const file = parseSchemaFile(JSON.stringify(schema));
  const blocks: Block[] = [];
  const {rows, notes} = await readTable(new Blob([csv]), file.schema, {labels: 'required', format: {delimiter: '', missing: ['NA']},
    blockRows: 7, onBlock: block => { blocks.push(block); }});
  return {schema: file.schema, rows, notes, labels: blocks.flatMap(block => [...block.labels]), targets: blocks.flatMap(block => [...block.targets])};
}

function close(actual: number | null, expected: number | null, what: string) {
  if (actual === null || expected === null) return assert.equal(actual, expected, what);
  assert.ok(Math.abs(actual - expected) <= 1e-12 * Math.max(1, Math.abs(expected)), `${what}: ${actual} is not ${expected}`);
}

for (const [name, sample] of Object.entries({leavers, car})) {
  test(`classes of ${name}`, async () => {
    const {schema, rows, labels} = await readSample(sample);
    const evaluation = new ClassEvaluation(schema.classes.length);
    assert.equal(rows, sample.predictions.length);
    sample.predictions.forEach(([label, ...probabilities], row) => evaluation.add(label!, probabilities, labels[row]!));
    const scores = evaluation.scores(), expected = sample.evaluation;
    assert.equal(scores.rows, expected.rows);
    assert.equal(scores.correct, expected.correct);
    assert.deepEqual(scores.confusion, expected.confusion);
    assert.equal(schema.classes[scores.majority.label], expected.majority_class);
    assert.equal(classVerdict(expected.majority_class, scores).replaceAll('−', '-'), expected.verdict);
    close(scores.accuracy, expected.accuracy, 'accuracy');
    close(scores.interval.low, expected.interval[0]!, 'interval');
    close(scores.interval.high, expected.interval[1]!, 'interval');
    close(scores.majority.share, expected.majority, 'majority');
    close(scores.gain, expected.gain, 'gain');
    close(scores.gainInterval.low, expected.gain_interval[0]!, 'gain interval');
    close(scores.gainInterval.high, expected.gain_interval[1]!, 'gain interval');
    close(scores.auc, expected.auc, 'AUC');
    close(scores.logLoss, expected.log_loss, 'log loss');
    close(scores.majorityLogLoss, expected.majority_log_loss, 'log loss of the majority');
    close(scores.calibrationError, expected.calibration_error, 'calibration error');
    scores.recall.forEach((value, k) => close(value, expected.recall[k]!, 'recall'));
    scores.precision.forEach((value, k) => close(value, expected.precision[k]!, 'precision'));
    assert.deepEqual(scores.calibration.map(bin => bin.rows), expected.calibration.map(bin => bin.rows));
  });
}

test('the fields of leavers that do not fit are those that the command counts', async () => {
  const {notes} = await readSample(leavers);
  assert.deepEqual(notes, {clamped: 1, rounded: 1, unknown: 1, missing: 5, clampedTargets: 0});
});

test('numbers of abalone', async () => {
  const {schema, targets} = await readSample(abalone);
  const evaluation = new NumberEvaluation(schema.target!.min, schema.target!.max);
  abalone.predictions.forEach((value, row) => evaluation.add(value, targets[row]!));
  const scores = evaluation.scores(), expected = abalone.evaluation;
  assert.equal(scores.rows, expected.rows);
  close(scores.rmse, expected.rmse, 'rmse');
  close(scores.mse, expected.mse, 'mse');
  close(scores.mae, expected.mae, 'mae');
  close(scores.r2, expected.r2, 'r2');
  close(scores.interval.low, expected.interval[0]!, 'interval');
  close(scores.interval.high, expected.interval[1]!, 'interval');
  close(scores.mean.value, expected.mean_value, 'mean');
  close(scores.mean.rmse, expected.mean, 'rmse of the mean');
  close(scores.mean.mae, expected.mean_mae, 'mae of the mean');
  close(scores.gain, expected.gain, 'gain');
  close(scores.gainInterval.low, expected.gain_interval[0]!, 'gain interval');
  close(scores.gainInterval.high, expected.gain_interval[1]!, 'gain interval');
  assert.equal(numberVerdict(scores).replaceAll('−', '-'), expected.verdict);
});

test('one row has an interval without an end', () => {
  const evaluation = new NumberEvaluation(0, 10);
  evaluation.add(4, 5);
  assert.deepEqual(evaluation.scores().interval, {low: 0, high: Infinity});
});

test('no row scores nothing, and does not fail', () => {
  const scores = new ClassEvaluation(3).scores();
  assert.equal(scores.accuracy, 0);
  assert.equal(scores.auc, null);
  assert.deepEqual(scores.interval, {low: 0, high: 1});
});

test('ties count half in the AUC', () => {
  const evaluation = new ClassEvaluation(2);
  for (const [probability, label] of [[0.5, 0], [0.5, 1], [0.5, 1], [0.9, 1], [0.1, 0]] as const) evaluation.add(0, [1 - probability, probability], label);
  assert.equal(evaluation.scores().auc, 5 / 6); // of six pairs four are right, and two are ties
});

test('more values than are kept are rounded, and it is said', () => {
  const values = new ValueCounts(0, 1, 3);
  for (const value of [0.1, 0.2, 0.6, 0.9, 1]) values.add(value, 0);
  assert.equal(values.isExact, false);
  assert.deepEqual(values.sorted(), [[0, [2, 0]], [0.5, [1, 0]], [1, [2, 0]]]);
});
