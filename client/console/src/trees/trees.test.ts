import assert from 'node:assert/strict';
import {test} from 'node:test';
import {create} from '@bufbuild/protobuf';
import {ForestSchema, SplitKind, TreeSchema, type Tree} from 'proto/forest_pb';
import {SchemaSchema} from 'proto/schema_pb';
import {exactCut, nextBelow, readableNumber} from './cuts';
import {isLeft, layOut, splitsAbove, visibleNodes} from './layout';
import {Questions, treeFeatures} from './questions';

const {LEAF, NUMERIC, CATEGORY, MISSING} = SplitKind;

const SCHEMA = create(SchemaSchema, {label: 'left', classes: ['no', 'yes'], features: [
  {name: 'age', type: {case: 'numeric', value: {min: 0, max: 120, unit: 'years', integer: true}}},
  {name: 'plan', type: {case: 'categorical', value: {values: ['basic', 'plus']}}},
  {name: 'spent', type: {case: 'numeric', value: {min: 0, max: 100}}},
]});

// age < 38 or missing ? (plan = plus or missing ? leaf : leaf) : (age is missing ? leaf : (plan = other ? leaf : leaf))
const TREE = create(TreeSchema, {kinds: [NUMERIC, CATEGORY, LEAF, LEAF, MISSING, LEAF, CATEGORY, LEAF, LEAF],
  features: [0, 1, 0, 1], thresholds: [nextUp(37)], categories: [1, 2], missingLeft: [true, true, true]});

function nextUp(x: number): number {
  return -nextBelow(-x);
}

test('a tree is laid out with its leaves', () => {
  const tree = layOut(TREE);
  assert.equal(tree.leaves, 5);
  assert.equal(tree.depth, 3);
  assert.deepEqual([...tree.right], [4, 3, -1, -1, 6, -1, 8, -1, -1]);
  assert.deepEqual([...tree.parents], [-1, 0, 1, 1, 0, 4, 4, 6, 6]);
  assert.deepEqual([...tree.firstLeaf], [0, 0, 0, 1, 2, 2, 3, 3, 4]);
  assert.deepEqual([...tree.endLeaf], [5, 2, 1, 2, 5, 3, 5, 4, 5]);
  assert.ok(isLeft(tree, 1) && !isLeft(tree, 4) && !isLeft(tree, 3));
});

test('only what is open is drawn', () => {
  const tree = layOut(TREE);
  assert.deepEqual(visibleNodes(tree, new Set()), [0]);
  assert.deepEqual(visibleNodes(tree, splitsAbove(tree, 1)), [0, 1, 4]);
  assert.deepEqual(visibleNodes(tree, new Set([0, 4])), [0, 1, 4, 5, 6]);
});

test('questions are those of coppice model show', () => {
  const questions = new Questions(create(ForestSchema, {trees: [TREE]}), treeFeatures(SCHEMA));
  const tree = layOut(TREE);
  // A missing age never reaches node 4, which would ask for it again.
  assert.deepEqual([0, 1, 4, 6].map(node => questions.of(tree, node)),
    ['age <= 37 years or missing', 'plan = plus or missing', 'age is missing', 'plan is not in the schema or missing']);
});

test('a cut with many digits is rounded up, but not over the next one', () => {
  const cut = (threshold: number) => create(TreeSchema, {kinds: [NUMERIC, LEAF, LEAF], features: [2], thresholds: [threshold], missingLeft: [false]});
  const trees = [cut(37.123456789), cut(37.124)];
  const questions = new Questions(create(ForestSchema, {trees}), treeFeatures(SCHEMA));
  assert.equal(questions.of(layOut(trees[0]!), 0), 'spent < 37.1235');
  assert.equal(questions.of(layOut(trees[1]!), 0), 'spent < 37.124');
  assert.deepEqual(exactCut(nextUp(0.1)), {number: 0.1, inclusive: true});
});

// What ReadableNumber() of common/schema/number.cc returns, of which coppice model show makes its lines.
const NUMBERS: readonly (readonly [number, string])[] = [
  [0, '0'], [1e-5, '0.00001'], [9.99e-6, '9.99e-06'], [1e-6, '1e-06'], [-1.5e-6, '-1.5e-06'], [1e-7, '1e-07'], [5e-324, '5e-324'],
  [1e14, '100000000000000'], [999999999999999.9, '999999999999999.9'], [1e15, '1e+15'], [-1e15, '-1e+15'], [1234567890123456.5, '1234567890123456.5'],
  [123456789012345678, '123456789012345680'], [1e20, '1e+20'], [1e21, '1e+21'], [1.2345678901234567e21, '1234567890123456774144'],
  [1e100, '1e+100'], [1.7976931348623157e308, '1.7976931348623157e+308'],
];

test('numbers are those of coppice model show', () => {
  for (const [value, text] of NUMBERS) assert.equal(readableNumber(value), text);
});

test('what is no tree is refused', () => {
  const broken: Partial<Tree>[] = [{kinds: []}, {kinds: [NUMERIC, LEAF], features: [0]}, {kinds: [LEAF, LEAF]}, {kinds: [NUMERIC, LEAF, LEAF], features: []}];
  for (const {kinds = [], features = []} of broken) assert.throws(() => layOut(create(TreeSchema, {kinds, features})), /the tree/);
});

test('a tree as deep as it may be does not overflow', () => {
  const depth = 100_000;
  const kinds = [...Array.from({length: depth}, () => [NUMERIC, LEAF]).flat(), LEAF];
  const tree = layOut(create(TreeSchema, {kinds, features: new Array(depth).fill(0), thresholds: new Array(depth).fill(1), missingLeft: new Array(depth).fill(false)}));
  assert.equal(tree.leaves, depth + 1);
});
