// What datasets, their ledgers and jobs are, in words.

import {Composition, DatasetState, LedgerEntryKind, LedgerHold, Neighbours, type Cost, type Dataset} from 'proto/dataset_pb';
import {JobState} from 'proto/training_pb';
import {entryOf} from '../parts/format';
import type {Tone} from '../parts/layout';

export const STATES: Record<DatasetState, {word: string; tone: Tone; says: string}> = {
  [DatasetState.UNSPECIFIED]: {word: 'unknown', tone: 'quiet', says: 'This console does not know its state.'},
  [DatasetState.UPLOADING]: {word: 'uploading', tone: 'busy', says: 'It takes rows, and cannot be trained on before its upload ends.'},
  [DatasetState.READY]: {word: 'ready', tone: 'good', says: 'It can be trained on.'},
  [DatasetState.DELETED]: {word: 'deleted', tone: 'quiet', says: 'Its rows are gone. What was released stays spent, and the ledger stays.'},
};

export const NEIGHBOURS: Record<Neighbours, {word: string; short: string; says: string}> = {
  [Neighbours.UNSPECIFIED]: {word: 'unknown', short: 'unknown', says: 'This console does not know what it protects.'},
  [Neighbours.ADD_OR_REMOVE_ROW]: {word: 'one row more or less', short: 'a row more or less', says: 'It protects whether each row is there at all.'},
  [Neighbours.CHANGE_LABEL]: {word: 'the label of one row; features are public', short: 'the label of a row',
    says: 'It protects the label of each row. Features, and which rows there are, count as public.'},
};

export const COMPOSITIONS: Record<Composition, {word: string; says: string}> = {
  [Composition.UNSPECIFIED]: {word: 'unknown', says: ''},
  [Composition.BASIC]: {word: 'basic', says: 'The costs of jobs add up: their epsilons, and their deltas.'},
  [Composition.ZERO_CONCENTRATED]: {word: 'zero-concentrated',
    says: 'The costs of jobs add up as ρ of zero-concentrated differential privacy, so their epsilons do not.'},
};

export const KINDS: Record<LedgerEntryKind, {word: string; says: string}> = {
  [LedgerEntryKind.UNSPECIFIED]: {word: 'unknown', says: 'This console does not know the entry.'},
  [LedgerEntryKind.OPENED]: {word: 'opened', says: 'The account was opened with its cap.'},
  [LedgerEntryKind.RESERVED]: {word: 'charged', says: 'Taken for a job, before it begins.'},
  [LedgerEntryKind.SETTLED]: {word: 'settled', says: 'The job ended. It released this, and frees nothing of what was charged.'},
  [LedgerEntryKind.RETURNED]: {word: 'refunded', says: 'The job was cancelled before it began.'},
  [LedgerEntryKind.WRITTEN_OFF]: {word: 'written off', says: 'Charged by an admin for entries that were lost.'},
};

export const JOB_STATES: Record<JobState, {word: string; tone: Tone; says: string}> = {
  [JobState.UNSPECIFIED]: {word: 'unknown', tone: 'quiet', says: 'This console does not know its state.'},
  [JobState.QUEUED]: {word: 'queued', tone: 'busy', says: 'Its cost is charged. Nothing was drawn yet: cancelling it now gives the cost back.'},
  [JobState.RUNNING]: {word: 'running', tone: 'busy', says: 'It draws noise, so its cost stays spent however it ends.'},
  [JobState.DONE]: {word: 'done', tone: 'good', says: 'Its model exists.'},
  [JobState.FAILED]: {word: 'failed', tone: 'bad', says: 'Its cost stays spent.'},
  [JobState.CANCELLED]: {word: 'cancelled', tone: 'quiet', says: 'Its cost stays spent if it had begun; if not, it was refunded.'},
};

export function hasEnded(state: JobState): boolean {
  return state === JobState.DONE || state === JobState.FAILED || state === JobState.CANCELLED;
}

export function isConcentrated(dataset: Dataset): boolean {
  return dataset.cap?.composition === Composition.ZERO_CONCENTRATED;
}

export function isHeld(dataset: Dataset): boolean {
  return dataset.hold !== LedgerHold.UNSPECIFIED;
}

export function neighboursOf(dataset: Dataset): {word: string; short: string; says: string} {
  return entryOf(NEIGHBOURS, dataset.cap?.neighbours ?? Neighbours.UNSPECIFIED);
}

/** What the curator writes for an unknown rho. */
const UNKNOWN_RHO = 2n ** 64n - 1n;

export function knowsRho(cost: Cost | undefined): boolean {
  return cost !== undefined && cost.rhoPico > 0n && cost.rhoPico < UNKNOWN_RHO;
}
