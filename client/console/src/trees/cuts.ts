// Cuts of numeric features in readable form, by the rules of common/model/cuts.h: different cuts of a
// feature have different texts, in the same order.

import {SplitKind, type Forest} from 'proto/forest_pb';

/** "value < number", or "value <= number" where `inclusive`. */
export interface Cut {
  number: number;
  inclusive: boolean;
}

const SHORT_DIGITS = 6, PART_OF_RANGE = 1e-3, MOST_SCALED = 1e15;

/** The double just below `x`. */
export function nextBelow(x: number): number {
  if (x === 0) return -Number.MIN_VALUE;
  if (!Number.isFinite(x)) return x;
  const view = new DataView(new ArrayBuffer(8));
  view.setFloat64(0, x);
  const bits = view.getBigInt64(0);
  view.setBigInt64(0, x > 0 ? bits - 1n : bits + 1n);
  return view.getFloat64(0);
}

/** The text of ReadableNumber() in common/schema/number.cc: has no exponent where that stays readable. */
export function readableNumber(value: number): string {
  const size = Math.abs(value);
  if (size === 0 || (size >= 1e-5 && size < 1e15) || !Number.isFinite(value)) return String(value);
  const [digits, exponent] = value.toExponential().split('e') as [string, string];
  const scientific = `${digits}e${exponent[0]}${exponent.slice(1).padStart(2, '0')}`;
  if (size < 1) return scientific;
  const whole = Number.isInteger(value) ? BigInt(value).toString() : String(value);
  return whole.length <= scientific.length ? whole : scientific;
}

function digitsOf(value: number): number {
  const text = readableNumber(value);
  if (text.includes('e')) return Infinity;
  return text.replace(/^[-0.]+/, '').replace(/\D/g, '').length;
}

function roundUp(x: number, decimals: number): number | null {
  const power = 10 ** decimals;
  let scaled = Math.ceil(x * power);
  if (!(Math.abs(scaled) < MOST_SCALED)) return null;
  while (scaled / power < x) ++scaled; // the product may have been rounded up or down
  while ((scaled - 1) / power >= x) --scaled;
  return scaled / power + 0; // -0 is 0
}

/** The cut itself, in the form with fewer digits. */
export function exactCut(threshold: number): Cut {
  const below = nextBelow(threshold) + 0, exact = threshold + 0;
  if (!Number.isFinite(below)) return {number: exact, inclusive: false};
  return readableNumber(below).length < readableNumber(exact).length ? {number: below, inclusive: true} : {number: exact, inclusive: false};
}

export interface NumericRange {
  min: number;
  max: number;
  integer: boolean;
}

/** Texts for the cuts of a whole forest. */
export class ReadableCuts {
  readonly #thresholds = new Map<number, number[]>();

  /** `rangeOf` tells what is known of a feature; null for one that is not numeric. */
  constructor(forest: Forest, private readonly rangeOf: (feature: number) => NumericRange | null) {
    for (const {kinds, features, thresholds} of forest.trees) {
      let split = 0, numeric = 0;
      for (const kind of kinds) {
        if (kind === SplitKind.LEAF) continue;
        const feature = features[split++]!;
        if (kind !== SplitKind.NUMERIC) continue;
        const known = this.#thresholds.get(feature);
        if (known === undefined) this.#thresholds.set(feature, [thresholds[numeric]!]);
        else known.push(thresholds[numeric]!);
        ++numeric;
      }
    }
    for (const thresholds of this.#thresholds.values()) thresholds.sort((a, b) => a - b);
  }

  of(feature: number, threshold: number): Cut {
    const exact = exactCut(threshold), range = this.rangeOf(feature);
    if (range === null || range.integer || digitsOf(exact.number) <= SHORT_DIGITS) return exact;
    const next = this.#nextAbove(feature, threshold), tolerance = (range.max - range.min) * PART_OF_RANGE;
    for (let decimals = 0; decimals <= 15; ++decimals) {
      const rounded = roundUp(threshold, decimals);
      if (rounded === null) break;
      if (rounded - threshold <= tolerance && rounded < next) return {number: rounded, inclusive: false};
    }
    return exact;
  }

  #nextAbove(feature: number, threshold: number): number {
    const thresholds = this.#thresholds.get(feature) ?? [];
    let low = 0, high = thresholds.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (thresholds[middle]! <= threshold) low = middle + 1;
      else high = middle;
    }
    return thresholds[low] ?? Infinity;
  }
}
