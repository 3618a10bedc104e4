// How far predicted numbers are off, compared with always answering the mean of the same rows: the figures
// of `coppice model evaluate` (common/evaluation/number_evaluation.cc), computed in the browser.
//
// Every figure is an exact function of the rows added: on private rows it is itself a release.

import {significant} from '../parts/format';
import type {Interval} from './class_evaluation';
import {ValueCounts} from './value_counts';

/** In units of the target; their square for `mse`. */
export interface NumberScores {
  rows: number;
  mse: number;
  rmse: number;
  /** The interval of the rmse, 95 %; from 0 to infinity for a single row. */
  interval: Interval;
  mae: number;
  /** Null if all rows have the same target. */
  r2: number | null;
  /** The scores of always answering the mean. */
  mean: {value: number; rmse: number; mae: number};
  /** How far the rmse is below the mean's, with its paired interval. */
  gain: number;
  gainInterval: Interval;
}

const REACH_95 = 1.959964, MOST_TARGETS = 1 << 20;
const enum Term { FromFirst, Distance, Error }

type Terms = [number, number, number];

/** The derivative of the square root at `mean`. */
function slopeOfRoot(mean: number): number {
  return mean > 0 ? 1 / (2 * Math.sqrt(mean)) : 0;
}

export class NumberEvaluation {
  readonly #targets: ValueCounts;
  #rows = 0;
  #first = 0;
  #absoluteError = 0;
  readonly #means: Terms = [0, 0, 0];
  readonly #products: [Terms, Terms, Terms] = [[0, 0, 0], [0, 0, 0], [0, 0, 0]];

  /** The target's bounds. */
  constructor(min: number, max: number) {
    this.#targets = new ValueCounts(min, max, MOST_TARGETS);
  }

  add(predicted: number, target: number): void {
    if (this.#rows === 0) this.#first = target;
    ++this.#rows;
    this.#targets.add(target, 0);
    const distance = target - this.#first, error = predicted - target;
    this.#absoluteError += Math.abs(error);
    const terms: Terms = [distance * distance, distance, error * error];
    const before = terms.map((term, i) => term - this.#means[i as 0]) as Terms;
    for (const i of [0, 1, 2] as const) this.#means[i] += before[i] / this.#rows;
    for (const i of [0, 1, 2] as const) {
      for (const j of [0, 1, 2] as const) this.#products[i][j] += before[i] * (terms[j] - this.#means[j]);
    }
  }

  scores(): NumberScores {
    const n = this.#rows, mse = this.#means[Term.Error], rmse = Math.sqrt(mse);
    const meanMse = n === 0 ? 0 : this.#products[Term.Distance][Term.Distance] / n;
    const mean = {value: this.#first + this.#means[Term.Distance], rmse: Math.sqrt(meanMse), mae: 0};
    for (const [target, [times]] of this.#targets.sorted()) mean.mae += times / n * Math.abs(target - mean.value);
    const slope = slopeOfRoot(mse), meanSlope = slopeOfRoot(meanMse);
    const reach = REACH_95 * this.#errorOfMean([0, 0, slope]);
    const gain = mean.rmse - rmse;
    // (target - mean)^2 = (target - first)^2 - 2 (mean - first) (target - first) + a constant.
    const spread = REACH_95 * this.#errorOfMean([meanSlope, -2 * this.#means[Term.Distance] * meanSlope, -slope]);
    return {rows: n, mse, rmse, interval: {low: Math.max(rmse - reach, 0), high: rmse + reach}, mae: n === 0 ? 0 : this.#absoluteError / n,
      r2: meanMse > 0 ? 1 - mse / meanMse : null, mean, gain, gainInterval: {low: gain - spread, high: gain + spread}};
  }

  /** The standard error of the mean of a weighted sum of the terms. */
  #errorOfMean(weights: Terms): number {
    if (this.#rows < 2) return Infinity;
    let sum = 0;
    for (const i of [0, 1, 2] as const) {
      for (const j of [0, 1, 2] as const) sum += weights[i] * weights[j] * this.#products[i][j];
    }
    return Math.sqrt(Math.max(sum, 0) / (this.#rows * (this.#rows - 1)));
  }
}

/** Says in one sentence whether answers beat always answering the mean. */
export function numberVerdict({mean, gain, gainInterval: {low, high}}: NumberScores): string {
  const rmse = significant(mean.rmse);
  if (low > 0) return `Better than always answering the mean (RMSE ${rmse}) by ${significant(gain, 3)} (${significant(low, 3)} to ${significant(high, 3)}).`;
  if (high < 0) return `Worse than always answering the mean (RMSE ${rmse}) by ${significant(-gain, 3)} (${significant(-high, 3)} to ${significant(-low, 3)}).`;
  return `No better than always answering the mean, which has an RMSE of ${rmse} on these rows.`;
}
