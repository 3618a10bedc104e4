// What the console makes of a study besides what the daemon says of it.

import {ReportOutcome, StudyState} from 'proto/study_pb';
import type {Tone} from '../parts/layout';

export function toneOf(state: StudyState): Tone {
  return state === StudyState.OPEN ? 'good' : 'quiet';
}

export interface Totals {
  accepted: bigint;
  duplicate: bigint;
  rejected: bigint;
}

export function totalsOf(counts: readonly {outcome: ReportOutcome; reports: bigint}[]): Totals {
  const totals: Totals = {accepted: 0n, duplicate: 0n, rejected: 0n};
  for (const {outcome, reports} of counts) {
    if (outcome === ReportOutcome.ACCEPTED) totals.accepted += reports;
    else if (outcome === ReportOutcome.DUPLICATE) totals.duplicate += reports;
    else totals.rejected += reports;
  }
  return totals;
}
