// Counts how often each number occurs, in two groups, by the rules of common/evaluation/value_counts.cc.

/** Exact up to `maxDistinct` different values; beyond that it rounds each to the nearest of that many even steps. */
export class ValueCounts {
  #counts = new Map<number, [number, number]>();
  #isExact = true;

  constructor(private readonly min: number, private readonly max: number, private readonly maxDistinct: number) {}

  get isExact(): boolean {
    return this.#isExact;
  }

  add(value: number, group: 0 | 1): void {
    this.#count(this.#isExact ? value : this.#round(value), group, 1);
    if (this.#isExact && this.#counts.size > this.maxDistinct) this.#coarsen();
  }

  /** In ascending order of value. */
  sorted(): [number, [number, number]][] {
    return [...this.#counts].sort(([a], [b]) => a - b);
  }

  #count(value: number, group: 0 | 1, times: number): void {
    const found = this.#counts.get(value);
    if (found !== undefined) found[group] += times;
    else this.#counts.set(value, group === 0 ? [times, 0] : [0, times]);
  }

  #round(value: number): number {
    const step = (this.max - this.min) / (this.maxDistinct - 1);
    if (!(step > 0)) return this.min;
    return this.min + step * Math.round((Math.min(Math.max(value, this.min), this.max) - this.min) / step);
  }

  #coarsen(): void {
    const exact = this.#counts;
    this.#isExact = false;
    this.#counts = new Map();
    for (const [value, [first, second]] of exact) {
      this.#count(this.#round(value), 0, first);
      this.#count(this.#round(value), 1, second);
    }
  }
}

/**
 * The area under the ROC curve: the probability that a random member of group 1 has a larger value than one of
 * group 0, with ties counting half. Null if a group is empty.
 */
export function rocArea(values: ValueCounts): number | null {
  let below = 0, seconds = 0, pairs = 0;
  for (const [, [first, second]] of values.sorted()) {
    pairs += second * (below + first / 2);
    below += first;
    seconds += second;
  }
  return below === 0 || seconds === 0 ? null : pairs / (below * seconds);
}
