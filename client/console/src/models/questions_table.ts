// A forest whose trees ask at most one question each, as a list of these questions: models of votes read best so.

import {create} from '@bufbuild/protobuf';
import type {Forest, Tree} from 'proto/forest_pb';
import {LeafKind, LeafPredictionSchema, type LeafPrediction, type Model} from 'proto/model_pb';
import {isLeaf, layOut, type TreeLayout} from '../trees/layout';
import {Questions, type TreeFeature} from '../trees/questions';
import {leafWords, type LeafWords} from './words';

export interface AskedQuestion {
  /** Empty for trees of one leaf, which say the same of every row. */
  question: string;
  yes: LeafWords;
  no: LeafWords;
  /** The number of trees that ask it. */
  times: number;
}

const MOST_NODES = 3;

/** Whether the forest has several trees, none with more than one split. */
export function asksOneQuestionATree(forest: Forest): boolean {
  return forest.trees.length > 1 && forest.trees.every(({kinds}) => kinds.length <= MOST_NODES);
}

interface Asked {
  question: string;
  yes: LeafPrediction;
  no: LeafPrediction;
  times: number;
}

/** Skips what is not a tree: the view of trees reports it. */
function layOutOrNull(tree: Tree): TreeLayout | null {
  try {
    return layOut(tree);
  } catch {
    return null;
  }
}

function readStumps(model: Model, forest: Forest, features: readonly TreeFeature[]): Asked[] {
  const questions = new Questions(forest, features);
  return forest.trees.flatMap((tree, t): Asked[] => {
    const layout = layOutOrNull(tree), leaves = model.predictions[t]?.leaves ?? [];
    const yes = leaves[0], no = leaves[(layout?.leaves ?? 0) - 1];
    if (layout === null || yes === undefined || no === undefined) return [];
    return [{question: isLeaf(layout, 0) ? '' : questions.of(layout, 0), yes, no, times: 1}];
  });
}

/** The sum of two leaves' scores, shifted so that the least is 0: only differences decide. */
function sumOf(a: LeafPrediction, b: LeafPrediction): LeafPrediction {
  const sums = a.probabilities.map((score, k) => score + (b.probabilities[k] ?? 0)), least = Math.min(...sums);
  return create(LeafPredictionSchema, {probabilities: sums.map(sum => sum - least), label: sums.indexOf(Math.max(...sums))});
}

function decides({yes, no}: Asked): boolean {
  return [yes, no].some(({probabilities}) => probabilities.some(score => score !== probabilities[0]));
}

/** Adds up the scores of equal questions; leaves out questions whose scores cancel. */
function addUp(asked: readonly Asked[]): Asked[] {
  const sums = new Map<string, Asked>();
  for (const each of asked) {
    const known = sums.get(each.question);
    sums.set(each.question, known === undefined ? each
      : {question: each.question, yes: sumOf(known.yes, each.yes), no: sumOf(known.no, each.no), times: known.times + each.times});
  }
  return [...sums.values()].filter(decides);
}

/** Ordered by feature and question; a question that several trees ask is listed once. */
export function listQuestions(model: Model, forest: Forest, features: readonly TreeFeature[]): AskedQuestion[] {
  const read = readStumps(model, forest, features), isScores = model.leafKind === LeafKind.SCORES && model.schema?.target === undefined;
  const found = new Map<string, AskedQuestion>();
  for (const {question, yes, no, times} of isScores ? addUp(read) : read) {
    const words = {question, yes: leafWords(model, yes), no: leafWords(model, no)}, key = JSON.stringify(words), known = found.get(key);
    if (known === undefined) found.set(key, {...words, times});
    else known.times += times;
  }
  return [...found.values()].sort((a, b) => a.question < b.question ? -1 : a.question > b.question ? 1 : b.times - a.times);
}
