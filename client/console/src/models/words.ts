// What a model is and what it cost, in words.

import {LeafKind, LeafKindSchema, type Certificate, type LeafPrediction, type Model} from 'proto/model_pb';
import {countOf, decimal, delta, epsilon, significant, time} from '../parts/format';
import type {TreeLayout} from '../trees/layout';

/** "epsilon 2", "epsilon 1, delta 1e−6". */
export function costText({epsilonNanos, deltaAtto}: Pick<Certificate, 'epsilonNanos' | 'deltaAtto'>): string {
  return `epsilon ${epsilon(epsilonNanos)}${deltaAtto > 0n ? `, delta ${delta(deltaAtto)}` : ''}`;
}

/** Says whose privacy loss the cost is. */
export function costNote(model: Model): string {
  return model.study === '' ? 'for each row, in all' : 'for each device, by its one report';
}

/** The neighbouring relation; an early model may lack it. */
export function neighbouringText(certificate: Certificate | undefined): string {
  return certificate === undefined || certificate.neighbouring === '' ? 'not said' : certificate.neighbouring;
}

/** A job's model has only the day, in UTC rather than the reader's time zone. */
export function createdText(model: Model): string {
  if (model.createdUnixSeconds === 0n) return '–';
  if (model.study !== '') return time(model.createdUnixSeconds);
  return new Date(1000 * Number(model.createdUnixSeconds)).toISOString().slice(0, 10);
}

/** What the model answers: "2 classes", "a number in years". */
export function answerKind(model: Model): string {
  const {schema} = model;
  if (schema === undefined) return 'not said';
  if (schema.target === undefined) return countOf(schema.classes.length, 'class', 'classes');
  return schema.target.unit === '' ? 'a number' : `a number in ${schema.target.unit}`;
}

/** The format of models that this console reads (kModelVersion of common/model/model.h). */
const MODEL_VERSION = 1;

/** Whether this console would misread the leaves of a model: of a later format, or of none that is said. */
export function isBeyondThisConsole({version, minReader, leafKind}: Model): boolean {
  return version === 0 || minReader > MODEL_VERSION || LeafKindSchema.value[leafKind] === undefined;
}

/** Whether leaves are terms of the answer rather than answers of their own: the rule of common/model/explain.cc. */
export function leavesAreTerms({leafKind, forest}: Model): boolean {
  return leafKind === LeafKind.SCORES || (leafKind === LeafKind.ADDITIVE && (forest?.trees.length ?? 0) > 1);
}

/** What a leaf adds to the answer for the class `label` (1 for a number). */
export function contributionOf(model: Model, {probabilities: numbers}: LeafPrediction, label: number): number {
  const number = numbers[label] ?? 0, trees = model.forest?.trees.length ?? 1, target = model.schema?.target;
  const isScores = model.leafKind === LeafKind.SCORES;
  if (model.leafKind === LeafKind.WEIGHTS || (isScores && target === undefined)) {
    return number - numbers.reduce((sum, each) => sum + each, 0) / numbers.length;
  }
  if (target === undefined) return (number - 1 / numbers.length) / trees;
  return (target.max - target.min) * (isScores ? number : (number - 0.5) / trees);
}

function shareOf(model: Model, {probabilities: numbers}: LeafPrediction, output: number): number {
  const number = numbers[output] ?? 0;
  if (model.leafKind === LeafKind.ADDITIVE) return Math.min(Math.max(number, 0), 1);
  if (model.leafKind !== LeafKind.WEIGHTS) return number;
  const total = numbers.reduce((sum, each) => sum + Math.max(each, 0), 0);
  return total > 0 ? Math.max(number, 0) / total : 1 / numbers.length;
}

function signed(value: number, digits: number): string {
  return `${value >= 0 ? '+' : ''}${significant(value, digits)}`;
}

export interface LeafWords {
  /** A class, or a number with its unit. */
  answer: string;
  /** How sure the answer is: "0.83 ± 0.02". May be empty. */
  sure: string;
}

/** What a leaf says, as `coppice model show` draws it (common/model/render_label.cc). */
export function leafWords(model: Model, leaf: LeafPrediction): LeafWords {
  const {schema} = model, target = schema?.target, terms = leavesAreTerms(model);
  const error = Number.isFinite(leaf.standardError) ? leaf.standardError : null;
  const isWeights = model.leafKind === LeafKind.WEIGHTS;
  if (target !== undefined) {
    const span = target.max - target.min, unit = target.unit === '' ? '' : ` ${target.unit}`;
    if (terms) return {answer: signed(contributionOf(model, leaf, 1), 4) + unit, sure: ''};
    return {answer: significant(target.min + span * shareOf(model, leaf, 1)) + unit, sure: isWeights || error === null ? '' : `± ${significant(error * span, 3)}`};
  }
  const answer = schema?.classes[leaf.label] ?? `class ${leaf.label}`;
  if (terms) {
    const isScores = model.leafKind === LeafKind.SCORES, score = leaf.probabilities[leaf.label] ?? 0;
    return {answer, sure: isScores ? `${score >= 0 ? '+' : ''}${decimal(score)}` : signed(contributionOf(model, leaf, leaf.label), 3)};
  }
  const share = decimal(shareOf(model, leaf, leaf.label), 2);
  return {answer, sure: isWeights ? share : `${share} ± ${error === null ? '?' : decimal(error, 2)}`};
}

/** The depth of the ancestor whose sums a leaf uses; null if it has its own. */
export function prunedTo(layout: TreeLayout, node: number, leaf: LeafPrediction): number | null {
  return leaf.sourceNode === node ? null : layout.depths[leaf.sourceNode] ?? null;
}

/** How to read leaves that are terms; empty if they are answers. */
export function leafRemark(model: Model): string {
  if (!leavesAreTerms(model)) return '';
  if (model.schema?.target !== undefined) return 'A leaf adds to the number that is predicted: the answer is the sum over all trees.';
  return model.leafKind === LeafKind.SCORES ? 'A leaf adds to the score of the class that it names: the class with the largest sum over all trees is the answer.'
    : 'A leaf adds to the probability of the class that it names; the answer is the sum over all trees.';
}

export interface ImportanceLike {
  importance: number;
  standardError?: number | undefined;
}

/** Below this many standard errors from 0 an importance may be mere noise of the leaves. */
export const SURE_ERRORS = 2;

export function mayBeNoise({importance, standardError}: ImportanceLike): boolean {
  return standardError !== undefined && !(importance >= SURE_ERRORS * standardError);
}

/** The numbers of trees and leaves of a model. Null without a forest. */
export function sizeOf(model: Model): {trees: number; leaves: number} | null {
  const trees = model.forest?.trees.length ?? 0;
  return trees === 0 ? null : {trees, leaves: model.predictions.reduce((sum, tree) => sum + tree.leaves.length, 0)};
}
