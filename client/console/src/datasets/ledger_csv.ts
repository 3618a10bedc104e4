// A ledger as a CSV file: one line per entry, and one for each release that a job made.

import {LedgerEntryKind, LedgerEntryKindSchema, type Dataset, type LedgerEntry} from 'proto/dataset_pb';
import {idOf} from '../api/ids';
import {nameOf} from '../parts/enums';
import {epsilon, hex} from '../parts/format';
import {exactDelta, rho} from './budget';
import {knowsRho, neighboursOf} from './words';

const COLUMNS = ['dataset', 'neighbouring', 'entry', 'time_utc', 'what', 'job', 'submitter', 'epsilon', 'delta', 'rho',
  'release', 'mechanism', 'release_epsilon', 'release_times', 'release_part', 'hash'];

/** Quotes a field for spreadsheets where it must be quoted, and never lets it be a formula. */
export function csvField(text: string): string {
  const safe = /^[=+\-@\t\r]/.test(text) ? `'${text}` : text;
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}

function line(fields: readonly string[]): string {
  return `${fields.map(csvField).join(',')}\r\n`;
}

/** The file as texts of a few entries each. Add `entries` in order, starting with entry 0. */
export class LedgerCsv {
  readonly parts: string[] = [line(COLUMNS)];
  #next = 0;

  constructor(private readonly dataset: Dataset) {}

  add(entries: readonly LedgerEntry[]): void {
    this.parts.push(entries.map(entry => this.#entry(entry)).join(''));
  }

  #entry(entry: LedgerEntry): string {
    const isOpening = entry.kind === LedgerEntryKind.OPENED;
    const cost = isOpening ? this.dataset.cap : entry.cost;
    const head = [idOf(this.dataset.name), neighboursOf(this.dataset), String(this.#next++),
      new Date(1000 * Number(entry.unixSeconds)).toISOString(), nameOf(LedgerEntryKindSchema, entry.kind), idOf(entry.job), entry.submitter];
    const releases = entry.kind === LedgerEntryKind.SETTLED ? entry.releases : [];
    return line([...head, epsilon(cost?.epsilonNanos ?? 0n), exactDelta(cost?.deltaAtto ?? 0n),
      knowsRho(entry.cost) ? rho(entry.cost!.rhoPico) : '', '', '', '', '', '', hex(entry.hash)])
      + releases.map(release => line([...head, '', '', '', release.what, release.mechanism, epsilon(release.epsilonNanos),
        String(release.times), release.part === '' ? 'all rows' : release.part, ''])).join('');
  }
}
