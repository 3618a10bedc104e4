// Reads ledgers in pages, also from a daemon that does not know pages and sends a ledger whole.

import type {Dataset, LedgerEntry} from 'proto/dataset_pb';
import {datasets} from '../api/clients';

export interface LedgerPage {
  entries: LedgerEntry[];
  /** Number of the first of these entries. */
  first: number;
  total: number;
  /** The dataset when its ledger had `total` entries. */
  dataset: Dataset;
}

function pageOf(dataset: Dataset, first: number, most: number): LedgerPage {
  const {ledger, ledgerEntries} = dataset;
  if (ledgerEntries > 0n) return {entries: ledger, first, total: Number(ledgerEntries), dataset};
  return {entries: ledger.slice(first, first + most), first, total: ledger.length, dataset};
}

export async function readLedgerPage(name: string, first: number, most: number, signal: AbortSignal): Promise<LedgerPage> {
  const {dataset} = await datasets.getDataset({name, firstEntry: BigInt(first), maxEntries: most}, {signal});
  if (dataset === undefined) throw new Error('The daemon answered without the dataset.');
  return pageOf(dataset, first, most);
}

/** The number of entries in the ledger of a dataset that a call returned. */
export function ledgerLength(dataset: Dataset): number {
  return dataset.ledgerEntries > 0n ? Number(dataset.ledgerEntries) : dataset.ledger.length;
}

const ENTRIES_A_CALL = 500;

/** Reads every entry up to the end at the first call, oldest first, in pages. Resolves to the dataset as of then. */
export async function readWholeLedger(name: string, signal: AbortSignal, onEntries: (entries: LedgerEntry[], share: number) => void): Promise<Dataset> {
  let page = await readLedgerPage(name, 0, ENTRIES_A_CALL, signal);
  const {total, dataset} = page;
  for (let first = 0;;) {
    const entries = page.entries.slice(0, total - first);
    if (entries.length === 0) return dataset;
    first += entries.length;
    onEntries(entries, first / total);
    if (first >= total) return dataset;
    page = await readLedgerPage(name, first, ENTRIES_A_CALL, signal);
  }
}
