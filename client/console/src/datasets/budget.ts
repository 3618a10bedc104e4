// Sums of charges. Exact: whole numbers of billionths, 10^-18 and 10^-12.

import {LedgerEntryKind, type LedgerEntry} from 'proto/dataset_pb';
import {delta, epsilon} from '../parts/format';

export interface Spent {
  epsilonNanos: bigint;
  deltaAtto: bigint;
  rhoPico: bigint;
}

const NOTHING: Spent = {epsilonNanos: 0n, deltaAtto: 0n, rhoPico: 0n};

/** 10^-12 as a number, exact: 500000000000n → "0.5". */
export function rho(pico: bigint): string {
  const digits = pico.toString().padStart(13, '0');
  const part = digits.slice(-12).replace(/0+$/, '');
  return part === '' ? digits.slice(0, -12) : `${digits.slice(0, -12)}.${part}`;
}

/** The same with nine digits, rounded up, so that spending never looks smaller than it is. */
export function shortRho(pico: bigint): string {
  return rho((pico + 999n) / 1000n * 1000n);
}

/** "ε 0.5", "ε 0.5, δ 1e-6". */
export function costText(cost: {epsilonNanos: bigint; deltaAtto: bigint} | undefined): string {
  if (cost === undefined) return '–';
  return `ε ${epsilon(cost.epsilonNanos)}${cost.deltaAtto > 0n ? `, δ ${delta(cost.deltaAtto)}` : ''}`;
}

/** 10^-18 as a decimal number, exact and without an exponent, for spreadsheets. */
export function exactDelta(atto: bigint): string {
  const digits = atto.toString().padStart(19, '0');
  const part = digits.slice(-18).replace(/0+$/, '');
  return part === '' ? digits.slice(0, -18) : `${digits.slice(0, -18)}.${part}`;
}

/** The share of `part` in `total`, from 0 to 1, for drawing alone. */
export function shareOf(part: bigint, total: bigint): number {
  if (total <= 0n) return 0;
  return Math.min(1, Number(part * 1_000_000n / total) / 1e6);
}

/** 7n of 8n → "87.5 %". Rounded up, so that the rest never looks larger than it is. */
export function percentSpent(part: bigint, total: bigint): string {
  if (total <= 0n) return '–';
  const tenths = (part * 1000n + total - 1n) / total;
  return `${tenths / 10n}.${tenths % 10n} %`;
}

/** What an entry adds to the spending; negative for a refund. */
function changeOf(entry: LedgerEntry): Spent {
  const cost = entry.cost;
  if (cost === undefined) return NOTHING;
  switch (entry.kind) {
    case LedgerEntryKind.RESERVED:
    case LedgerEntryKind.WRITTEN_OFF:
      return {epsilonNanos: cost.epsilonNanos, deltaAtto: cost.deltaAtto, rhoPico: cost.rhoPico};
    case LedgerEntryKind.RETURNED:
      return {epsilonNanos: -cost.epsilonNanos, deltaAtto: -cost.deltaAtto, rhoPico: -cost.rhoPico};
    default:
      return NOTHING;
  }
}

export interface SpenderSum {
  /** Name of the policy's entry; '' if it is not known. */
  submitter: string;
  kind: 'jobs' | 'written off';
  jobs: number;
  returned: number;
  spent: Spent;
}

/** Adds up a ledger, entry by entry, per submitter of jobs. */
export class SpenderSums {
  readonly #sums = new Map<string, SpenderSum>();
  entries = 0;

  add(entry: LedgerEntry): void {
    ++this.entries;
    const change = changeOf(entry);
    if (change === NOTHING) return;
    const kind = entry.kind === LedgerEntryKind.WRITTEN_OFF ? 'written off' : 'jobs';
    const key = `${kind}/${entry.submitter}`;
    const sum = this.#sums.get(key) ?? {submitter: entry.submitter, kind, jobs: 0, returned: 0, spent: NOTHING};
    this.#sums.set(key, {...sum,
      jobs: sum.jobs + (entry.kind === LedgerEntryKind.RESERVED ? 1 : 0),
      returned: sum.returned + (entry.kind === LedgerEntryKind.RETURNED ? 1 : 0),
      spent: {epsilonNanos: sum.spent.epsilonNanos + change.epsilonNanos, deltaAtto: sum.spent.deltaAtto + change.deltaAtto,
        rhoPico: sum.spent.rhoPico + change.rhoPico}});
  }

  /** The largest spenders first. */
  sorted(): SpenderSum[] {
    return [...this.#sums.values()].sort((a, b) => {
      const difference = b.spent.rhoPico - a.spent.rhoPico || b.spent.epsilonNanos - a.spent.epsilonNanos;
      return difference > 0n ? 1 : difference < 0n ? -1 : a.submitter < b.submitter ? -1 : 1;
    });
  }
}
