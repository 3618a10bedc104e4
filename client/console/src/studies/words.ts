// What a study is, in words.

import type {Schema} from 'proto/schema_pb';
import {BatchState, Mechanism, ReportOutcome, SplitRule, StudyState, type StudyRelay} from 'proto/study_pb';
import {countOf} from '../parts/format';
import type {Tone} from '../parts/layout';

export const STATES: Record<StudyState, {word: string; tone: Tone; says: string}> = {
  [StudyState.UNSPECIFIED]: {word: 'unknown', tone: 'quiet', says: 'This console does not know its state.'},
  [StudyState.OPEN]: {word: 'open', tone: 'good', says: 'It takes reports.'},
  [StudyState.SEALED]: {word: 'sealed', tone: 'quiet', says: 'It takes no reports, and never will again.'},
  [StudyState.BUILT]: {word: 'built', tone: 'quiet', says: 'It is sealed, and its final model was built from all its reports.'},
};

// The names that commands and certificates use.
export const MECHANISMS: Record<Mechanism, string> = {
  [Mechanism.UNSPECIFIED]: 'unknown',
  [Mechanism.LAPLACE_SPLIT]: 'laplace_split',
  [Mechanism.LAPLACE_JOINT]: 'laplace_joint',
  [Mechanism.SYMMETRIC_UNARY]: 'symmetric_unary',
  [Mechanism.OPTIMIZED_UNARY]: 'optimized_unary',
  [Mechanism.SUBSET_SELECTION]: 'subset_selection',
  [Mechanism.DIRECT]: 'direct',
  [Mechanism.HADAMARD_RESPONSE]: 'hadamard_response',
  [Mechanism.LOCAL_HASHING]: 'local_hashing',
  [Mechanism.SIGNED_HADAMARD]: 'signed_hadamard',
};

/** What one device sends, by docs/research/mechanisms.md. */
export const SENDS: Record<Mechanism, string> = {
  [Mechanism.UNSPECIFIED]: 'a report that this console does not know',
  [Mechanism.LAPLACE_SPLIT]: 'two vectors with discrete Laplace noise of scale 4/ε, one over leaves and one over classes',
  [Mechanism.LAPLACE_JOINT]: 'a vector over pairs of leaf and class, with discrete Laplace noise of scale 2/ε',
  [Mechanism.SYMMETRIC_UNARY]: 'one bit per pair of leaf and class, each flipped at random',
  [Mechanism.OPTIMIZED_UNARY]: 'one bit per pair of leaf and class; the true one is kept half of the time, others are raised at random',
  [Mechanism.SUBSET_SELECTION]: 'a set of pairs of leaf and class, which holds the true one about half of the time',
  [Mechanism.DIRECT]: 'one pair of leaf and class; the true one is e^ε times as likely as any other',
  [Mechanism.HADAMARD_RESPONSE]: 'a block of pairs of leaf and class, and one sign',
  [Mechanism.LOCAL_HASHING]: 'one value of a hash that its ticket draws',
  [Mechanism.SIGNED_HADAMARD]: 'one bit, in a column that its ticket draws',
};

export const OUTCOMES: Record<ReportOutcome, {word: string; says: string}> = {
  [ReportOutcome.UNSPECIFIED]: {word: 'unknown', says: 'This console does not know the outcome.'},
  [ReportOutcome.ACCEPTED]: {word: 'accepted', says: 'Counted, and on disk.'},
  [ReportOutcome.DUPLICATE]: {word: 'duplicate', says: 'The ticket was counted before. Devices that retry cause these; they are no error.'},
  [ReportOutcome.UNKNOWN_STUDY]: {word: 'unknown study', says: 'There was no such study.'},
  [ReportOutcome.STUDY_SEALED]: {word: 'study sealed', says: 'The study took no more reports.'},
  [ReportOutcome.STALE_FINGERPRINT]: {word: 'other terms', says: 'Made for other terms than this study\'s.'},
  [ReportOutcome.BAD_TICKET]: {word: 'bad ticket', says: 'This curator did not issue the ticket for these terms.'},
  [ReportOutcome.BAD_PAYLOAD]: {word: 'bad payload', says: 'A length or values that no honest device sends.'},
  [ReportOutcome.STUDY_EXPIRED]: {word: 'study expired', says: 'The study\'s time was over.'},
  [ReportOutcome.BAD_SEAL]: {word: 'bad seal', says: 'Came in a relay\'s batch, and does not open: changed, swapped, or sealed for another key.'},
  [ReportOutcome.UNKNOWN_ID]: {word: 'unknown id', says: 'The curator has no features for the id: add them with coppice study join.'},
};

export const BATCH_STATES: Record<BatchState, {word: string; says: string}> = {
  [BatchState.UNSPECIFIED]: {word: 'unknown', says: 'This console does not know its state.'},
  [BatchState.RECEIVING]: {word: 'coming', says: 'Some of it is here; the relay goes on.'},
  [BatchState.STORED]: {word: 'stored', says: 'All of it is on disk, and being opened.'},
  [BatchState.COUNTED]: {word: 'counted', says: 'Every report was opened and judged.'},
  [BatchState.BROKEN]: {word: 'broken', says: 'Not what the relay signed: dropped.'},
};

/** "2 batches have come, 300 reports wait to be opened. …" */
export function relayText({batches, waiting, leastAccepted}: StudyRelay): string {
  if (batches === 0n) return 'No batch has come yet: the relay keeps reports until there are enough.';
  return `${countOf(batches, 'batch has come', 'batches have come')}, ${countOf(waiting, 'report waits', 'reports wait')} to be opened. `
    + (leastAccepted === 0n ? 'None is counted yet.' : `Of those that are counted the smallest has ${countOf(leastAccepted, 'accepted report')}.`);
}

export const SPLIT_RULES: Record<SplitRule, string> = {
  [SplitRule.UNSPECIFIED]: 'unknown',
  [SplitRule.MAX_EDGE]: 'max_edge',
  [SplitRule.RANDOM_MAX_EDGE]: 'random_max_edge',
  [SplitRule.CART]: 'cart',
  [SplitRule.HYBRID]: 'hybrid',
};

/** The neighbouring relation, in the words of the certificates of the study's models. */
export function neighbouringOf({schema, joinedBy}: {schema?: Schema | undefined; joinedBy: string}): string {
  const features = schema?.features ?? [];
  const shown = features.filter(feature => feature.isPublic).map(feature => feature.name);
  if (shown.length === 0) return 'any value of one device\'s row for any other (local)';
  const names = shown.length <= 12 ? shown.join(', ') : `${shown.slice(0, 12).join(', ')} and ${shown.length - 12} more`;
  if (joinedBy !== '') {
    return `any label of one device for any other, its ${joinedBy} and the features that the curator joins by it as they are: ${names} (local)`;
  }
  const hidden = shown.length === features.length ? 'any label of one device for any other' : 'any label and private features of one device for any others';
  return `${hidden}, its public features as they are: ${names} (local)`;
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
