// Reads ledgers in pages, also from a daemon that knows no pages and sends a ledger whole.

import type {Dataset, LedgerEntry} from 'proto/dataset_pb';
import {datasets} from '../api/clients';

export interface LedgerPage {
  entries: LedgerEntry[];
  /** Number of the first of them. */
  first: number;
  total: number;
}

function pageOf(dataset: Dataset, first: number, most: number): LedgerPage {
  const {ledger, ledgerEntries} = dataset;
  if (ledgerEntries > 0n) return {entries: ledger, first, total: Number(ledgerEntries)};
  return {entries: ledger.slice(first, first + most), first, total: ledger.length};
}

export async function readLedgerPage(name: string, first: number, most: number, signal: AbortSignal): Promise<LedgerPage> {
  const {dataset} = await datasets.getDataset({name, firstEntry: BigInt(first), maxEntries: most}, {signal});
  if (dataset === undefined) throw new Error('The daemon answered without the dataset.');
  return pageOf(dataset, first, most);
}

/** How many entries the ledger of an answered dataset has. */
export function ledgerLength(dataset: Dataset): number {
  return dataset.ledgerEntries > 0n ? Number(dataset.ledgerEntries) : dataset.ledger.length;
}

const ENTRIES_A_CALL = 500;

/** Every entry, oldest first, a few hundred at a time. Stops at the length that the ledger had at the first call. */
export async function readWholeLedger(name: string, signal: AbortSignal, onEntries: (entries: LedgerEntry[], share: number) => void): Promise<void> {
  let total = Infinity;
  for (let first = 0; first < total;) {
    const page = await readLedgerPage(name, first, ENTRIES_A_CALL, signal);
    total = Math.min(total, page.total);
    const entries = page.entries.slice(0, total - first);
    if (entries.length === 0) return;
    first += entries.length;
    onEntries(entries, first / total);
  }
}
