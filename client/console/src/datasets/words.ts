// What the console makes of datasets, their ledgers and jobs besides what the daemon says of them.

import {Composition, DatasetState, LedgerHold, NeighboursSchema, type Cost, type Dataset} from 'proto/dataset_pb';
import {JobState} from 'proto/training_pb';
import {meaningOf, wordOf} from '../parts/enums';
import type {Tone} from '../parts/layout';

export function toneOf(state: DatasetState): Tone {
  return state === DatasetState.READY ? 'good' : state === DatasetState.UPLOADING ? 'busy' : 'quiet';
}

export function jobTone(state: JobState): Tone {
  switch (state) {
    case JobState.QUEUED:
    case JobState.RUNNING: return 'busy';
    case JobState.DONE: return 'good';
    case JobState.FAILED: return 'bad';
    default: return 'quiet';
  }
}

export function hasEnded(state: JobState): boolean {
  return state === JobState.DONE || state === JobState.FAILED || state === JobState.CANCELLED;
}

export function isConcentrated(dataset: Dataset): boolean {
  return dataset.cap?.composition === Composition.ZERO_CONCENTRATED;
}

export function isHeld(dataset: Dataset): boolean {
  return dataset.hold !== LedgerHold.UNSPECIFIED;
}

/** Whether a part of the rows is kept for evaluations, with an account of its own. */
export function hasReserve(dataset: Dataset): boolean {
  return (dataset.cap?.reserveMillionths ?? 0) > 0;
}

/** "change label". */
export function neighboursOf(dataset: Dataset): string {
  return wordOf(NeighboursSchema, dataset.cap?.neighbours ?? 0);
}

/** "The label of one row. …" */
export function protectedBy(dataset: Dataset): string {
  return meaningOf(NeighboursSchema, dataset.cap?.neighbours ?? 0);
}

/** What the curator writes for an unknown rho. */
const UNKNOWN_RHO = 2n ** 64n - 1n;

export function knowsRho(cost: Cost | undefined): boolean {
  return cost !== undefined && cost.rhoPico > 0n && cost.rhoPico < UNKNOWN_RHO;
}
