// How well predicted classes match the true ones, compared with always answering the most frequent class:
// the figures of `coppice model evaluate` (common/evaluation/class_evaluation.cc), in the browser.
//
// Every figure is an exact function of the rows added: on private rows it is itself a release.

import {decimal} from '../parts/format';
import {ValueCounts, rocArea} from './value_counts';

export interface Interval {
  low: number;
  high: number;
}

export interface CalibrationBin extends Interval {
  rows: number;
  /** The mean predicted probability, and the observed frequency. */
  predicted: number;
  observed: number;
}

export interface ClassScores {
  rows: number;
  correct: number;
  accuracy: number;
  /** Wilson's, 95 %, of the accuracy. */
  interval: Interval;
  /** The most frequent class, and its share of the rows. */
  majority: {label: number; share: number};
  /** How much the accuracy exceeds the majority's share, with its paired 95 % interval. */
  gain: number;
  gainInterval: Interval;
  /** Two classes: by the second one's probability. More classes: the mean of each against the rest. */
  auc: number | null;
  isAucExact: boolean;
  /** In nats. */
  logLoss: number;
  majorityLogLoss: number;
  /** confusion[true class][predicted]. */
  confusion: number[][];
  recall: (number | null)[];
  precision: (number | null)[];
  calibration: CalibrationBin[];
  calibrationError: number;
}

const NORMAL_95 = 1.959964, BINS = 10, MIN_LOG_LOSS_PROBABILITY = 1e-6;
const MOST_PROBABILITIES = 1 << 20, FEWEST_PROBABILITIES = 256;

function shareOf(part: number, whole: number): number {
  return whole === 0 ? 0 : part / whole;
}

function wilson(hits: number, n: number): Interval {
  if (n === 0) return {low: 0, high: 1};
  const p = hits / n, z2 = NORMAL_95 * NORMAL_95;
  const centre = (p + z2 / (2 * n)) / (1 + z2 / n);
  const reach = NORMAL_95 * Math.sqrt(p * (1 - p) / n + z2 / (4 * n * n)) / (1 + z2 / n);
  return {low: Math.max(centre - reach, 0), high: Math.min(centre + reach, 1)};
}

/** Agresti and Min 2005: half a row more in each cell of the two by two. */
function gainInterval(onlyAnswers: number, onlyMajority: number, rows: number, gain: number): Interval {
  const b = onlyAnswers + 0.5, c = onlyMajority + 0.5, n = rows + 2;
  const centre = (b - c) / n;
  const reach = NORMAL_95 * Math.sqrt(b + c - (b - c) * (b - c) / n) / n;
  return {low: Math.max(Math.min(centre - reach, gain), -1), high: Math.min(Math.max(centre + reach, gain), 1)};
}

export class ClassEvaluation {
  #logLoss = 0;
  readonly #confusion: number[][];
  readonly #probabilities: ValueCounts[];
  readonly #bins = Array.from({length: BINS}, () => ({rows: 0, hits: 0, probability: 0}));

  constructor(private readonly classes: number) {
    this.#confusion = Array.from({length: classes}, () => new Array<number>(classes).fill(0));
    const scored = classes === 2 ? 1 : classes;
    const each = Math.max(Math.floor(MOST_PROBABILITIES / scored), FEWEST_PROBABILITIES);
    this.#probabilities = Array.from({length: scored}, () => new ValueCounts(0, 1, each));
  }

  /** `probabilities` has one per class. `predicted` need not be the most probable class. */
  add(predicted: number, probabilities: readonly number[], label: number): void {
    ++this.#confusion[label]![predicted]!;
    this.#logLoss -= Math.log(Math.max(probabilities[label]!, MIN_LOG_LOSS_PROBABILITY));
    if (this.classes === 2) {
      this.#probabilities[0]!.add(probabilities[1]!, label === 1 ? 1 : 0);
      this.#calibrate(probabilities[1]!, label === 1);
      return;
    }
    this.#probabilities.forEach((values, k) => values.add(probabilities[k]!, label === k ? 1 : 0));
    this.#calibrate(probabilities[predicted]!, label === predicted);
  }

  scores(): ClassScores {
    const rowsOf = this.#confusion.map(row => row.reduce((sum, n) => sum + n, 0));
    const answersOf = this.#confusion.map((_, p) => this.#confusion.reduce((sum, row) => sum + row[p]!, 0));
    const rows = rowsOf.reduce((sum, n) => sum + n, 0);
    const correct = this.#confusion.reduce((sum, row, k) => sum + row[k]!, 0);
    const label = rowsOf.indexOf(Math.max(...rowsOf));
    const majority = rows === 0 ? {label: 0, share: 0} : {label, share: shareOf(rowsOf[label]!, rows)};
    const accuracy = shareOf(correct, rows), gain = accuracy - majority.share, both = this.#confusion[majority.label]![majority.label]!;
    const {auc, isAucExact} = this.#area();
    const ratio = (part: number, whole: number) => whole === 0 ? null : part / whole;
    return {
      rows, correct, accuracy, interval: wilson(correct, rows), majority, gain,
      gainInterval: gainInterval(correct - both, (rowsOf[majority.label] ?? 0) - both, rows, gain),
      auc, isAucExact, logLoss: shareOf(this.#logLoss, rows),
      majorityLogLoss: rowsOf.reduce((sum, n) => n > 0 ? sum - n / rows * Math.log(n / rows) : sum, 0),
      confusion: this.#confusion.map(row => [...row]),
      recall: rowsOf.map((n, k) => ratio(this.#confusion[k]![k]!, n)),
      precision: answersOf.map((n, k) => ratio(this.#confusion[k]![k]!, n)),
      ...this.#calibration(rows),
    };
  }

  #calibrate(probability: number, hit: boolean): void {
    const bin = this.#bins[Math.floor(Math.min(Math.max(probability * BINS, 0), BINS - 1))]!;
    ++bin.rows;
    if (hit) ++bin.hits;
    bin.probability += probability;
  }

  #area(): {auc: number | null; isAucExact: boolean} {
    const areas = this.#probabilities.map(rocArea).filter(area => area !== null);
    return {auc: areas.length === 0 ? null : areas.reduce((sum, area) => sum + area, 0) / areas.length,
      isAucExact: this.#probabilities.every(values => values.isExact)};
  }

  #calibration(rows: number): {calibration: CalibrationBin[]; calibrationError: number} {
    const calibration = this.#bins.map((bin, i) => ({low: i / BINS, high: (i + 1) / BINS, rows: bin.rows,
      predicted: shareOf(bin.probability, bin.rows), observed: shareOf(bin.hits, bin.rows)}));
    const calibrationError = calibration.reduce((sum, bin) => sum + shareOf(bin.rows, rows) * Math.abs(bin.predicted - bin.observed), 0);
    return {calibration, calibrationError};
  }
}

/** Says in one sentence whether answers beat always answering the majority's class. */
export function classVerdict(majorityClass: string, {majority, gain, gainInterval: {low, high}}: ClassScores): string {
  if (low > 0) {
    return `Better than always answering ${majorityClass} (${decimal(majority.share)}) by ${decimal(gain)} (${decimal(low)} to ${decimal(high)}).`;
  }
  if (high < 0) {
    return `Worse than always answering ${majorityClass} (${decimal(majority.share)}) by ${decimal(-gain)} (${decimal(-high)} to ${decimal(-low)}).`;
  }
  return `No better than always answering ${majorityClass}, which is right on ${decimal(majority.share)} of these rows.`;
}
