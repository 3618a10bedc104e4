import assert from 'node:assert/strict';
import {test} from 'node:test';
import {create, type MessageInitShape} from '@bufbuild/protobuf';
import {SplitKind, type Forest} from 'proto/forest_pb';
import {LeafKind, ModelSchema, type Model} from 'proto/model_pb';
import {treeFeatures} from '../trees/questions';
import {asksOneQuestionATree, listQuestions} from './questions_table';

const {LEAF, NUMERIC} = SplitKind;
const below = (threshold: number) => ({kinds: [NUMERIC, LEAF, LEAF], features: [0], thresholds: [threshold], missingLeft: [false]});
const votes = (yes: number) => ({leaves: [{label: yes, probabilities: [1 - yes, yes]}, {label: 1 - yes, probabilities: [yes, 1 - yes]}]});

type Init = Exclude<MessageInitShape<typeof ModelSchema>, Model>;

function modelOf(trees: NonNullable<Exclude<Init['forest'], Forest>>['trees'], predictions: Init['predictions'], leafKind = LeafKind.SCORES): Model {
  return create(ModelSchema, {leafKind, forest: {trees: trees!}, predictions: predictions!,
    schema: {label: 'left', classes: ['stays', 'leaves'], features: [{name: 'age', type: {case: 'numeric', value: {min: 0, max: 100}}}]}});
}

const MODEL = modelOf([below(40), below(20), below(40), {kinds: [LEAF]}], [votes(1), votes(0), votes(1), {leaves: [{label: 0, probabilities: [0.5, 0]}]}]);

const textsOf = (model: Model) => listQuestions(model, model.forest!, treeFeatures(model.schema!)).map(({question, yes, no, times}) =>
  [question, `${yes.answer} ${yes.sure}`, `${no.answer} ${no.sure}`, times]);

test('the votes of equal questions add up', () => {
  assert.deepEqual(textsOf(MODEL), [
    ['', 'stays +0.500', 'stays +0.500', 1],
    ['age < 20', 'stays +1.000', 'leaves +1.000', 1],
    ['age < 40', 'leaves +2.000', 'stays +2.000', 2],
  ]);
});

test('votes that cancel are left out', () => {
  const model = modelOf([below(40), below(40), below(20), below(20), below(20)], [votes(1), votes(0), votes(1), votes(1), votes(0)]);
  assert.deepEqual(textsOf(model), [['age < 20', 'leaves +1.000', 'stays +1.000', 3]]);
});

test('answers that do not add up are listed as they are', () => {
  const leaf = (label: number) => ({label, probabilities: [1 - label, label], standardError: 0.1});
  const model = modelOf([below(40), below(40), below(40)], [{leaves: [leaf(1), leaf(0)]}, {leaves: [leaf(1), leaf(0)]}, {leaves: [leaf(0), leaf(1)]}], LeafKind.UNSPECIFIED);
  assert.deepEqual(textsOf(model), [['age < 40', 'leaves 1.00 ± 0.10', 'stays 1.00 ± 0.10', 2], ['age < 40', 'stays 1.00 ± 0.10', 'leaves 1.00 ± 0.10', 1]]);
});

test('deeper trees, and a single one, are no list of questions', () => {
  const deep = {kinds: [NUMERIC, NUMERIC, LEAF, LEAF, LEAF], features: [0, 0], thresholds: [2, 1], missingLeft: [false, false]};
  assert.equal(asksOneQuestionATree(MODEL.forest!), true);
  assert.equal(asksOneQuestionATree(create(ModelSchema, {forest: {trees: [below(1), deep]}}).forest!), false);
  assert.equal(asksOneQuestionATree(create(ModelSchema, {forest: {trees: [below(1)]}}).forest!), false);
});

test('a tree that is none is passed over', () => {
  const broken = {kinds: [NUMERIC, LEAF], features: [0]};
  const model = modelOf([broken, below(40)], [votes(1), votes(1)]);
  assert.deepEqual(textsOf(model), [['age < 40', 'leaves +1.000', 'stays +1.000', 1]]);
});

test('a forest without what its leaves hold has no list', () => {
  assert.deepEqual(listQuestions(create(ModelSchema), MODEL.forest!, []), []);
});
