import {CoppiceError} from './errors.js';

/** One write of a journal: behind what is kept or, where it replaces, in the place of all of it. */
export interface JournalWrite {
  readonly replaces: boolean;
  readonly bytes: Uint8Array;
}

/**
 * Where a device's journal is kept. The library decides what is in it; a keeper has the disk.
 *
 * Guarantee  a write is durable when its promise resolves, and is otherwise as if it had never been. Of two keepers of
 *            one journal that have read the same, one alone can write; the other one is refused and has to be opened anew.
 * Errors     `aborted`: another page or process wrote meanwhile; `unavailable`: the storage failed; `resource_exhausted`: no
 *            room; `data_loss`: what is there is no journal.
 */
export interface JournalKeeper {
  /** All that was written so far. Called before any write, and again where another one wrote first. */
  read(): Promise<Uint8Array>;
  write(write: JournalWrite): Promise<void>;
  close(): void;
}

/** A record of a keeper that numbers its writes; numbers are never used twice. */
export interface PlacedWrite extends JournalWrite {
  readonly place: number;
}

/** The bytes of a journal from its writes, in order: they begin with the last that replaces all before it. */
export function joinWrites(writes: readonly PlacedWrite[]): {bytes: Uint8Array; last: number} {
  const first = writes.findLastIndex(write => write.replaces);
  if (writes.length > 0 && first < 0) throw incomplete();
  const kept = writes.slice(Math.max(first, 0));
  if (kept.some((write, i) => write.place !== kept[0]!.place + i)) throw incomplete();
  const bytes = new Uint8Array(kept.reduce((sum, write) => sum + write.bytes.length, 0));
  let at = 0;
  for (const write of kept) {
    bytes.set(write.bytes, at);
    at += write.bytes.length;
  }
  return {bytes, last: kept.at(-1)?.place ?? -1};
}

function incomplete(): CoppiceError {
  return new CoppiceError('data_loss', 'the journal lacks a write in its midst; restore it, or clear it and lose what it remembers');
}

export function writtenByAnother(): CoppiceError {
  return new CoppiceError('aborted', 'another page or process wrote the journal meanwhile; open the device again');
}

export function notRead(): CoppiceError {
  return new CoppiceError('failed_precondition', 'the journal is closed, or was not read yet; open the device again');
}
