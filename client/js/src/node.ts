/** A journal in files, for Node. */

import fs from 'node:fs';
import path from 'node:path';
import {randomBytes} from 'node:crypto';
import {CoppiceError} from './errors.js';
import {joinWrites, notRead, writtenByAnother, type JournalKeeper, type JournalWrite, type PlacedWrite} from './journal.js';

const NAME = /^\d{12}$/;
const REPLACES = 1;

function nameOf(place: number): string {
  return String(place).padStart(12, '0');
}

/**
 * A journal in a folder of its own: one file per write, named by its number.
 *
 * Node has no lock that ends with its process, so exclusion is that of the names: a file is written and synced under a name
 * that nobody else has, and then gets its number by link(), which fails where the number is taken. A process that was
 * killed leaves no half-written number, and no lock.
 */
export class FolderJournal implements JournalKeeper {
  #last: number | undefined;

  private constructor(readonly folder: string) {}

  /** Makes the folder if there is none. */
  static async open(folder: string): Promise<FolderJournal> {
    try {
      fs.mkdirSync(folder, {recursive: true, mode: 0o700});
    } catch (cause) {
      throw failed(folder, cause);
    }
    return new FolderJournal(folder);
  }

  async read(): Promise<Uint8Array> {
    // A process that replaces all removes what was: what changed while it was read is read again.
    for (let tries = 0; tries < 100; ++tries) {
      const names = this.#names();
      const writes = this.#writes(names);
      if (writes !== undefined && String(this.#names()) === String(names)) {
        const {bytes, last} = joinWrites(writes);
        this.#last = last;
        this.#clear(writes);
        return bytes;
      }
    }
    throw writtenByAnother();
  }

  async write({replaces, bytes}: JournalWrite): Promise<void> {
    if (this.#last === undefined) throw notRead();
    const place = this.#last + 1;
    const made = path.join(this.folder, `.new-${process.pid}-${randomBytes(8).toString('hex')}`);
    try {
      this.#writeDurably(made, [Uint8Array.of(replaces ? REPLACES : 0), bytes]);
      fs.linkSync(made, path.join(this.folder, nameOf(place)));
      this.#syncFolder();
    } catch (cause) {
      if ((cause as NodeJS.ErrnoException).code === 'EEXIST') throw writtenByAnother();
      throw failed(this.folder, cause);
    } finally {
      fs.rmSync(made, {force: true});
    }
    const names = this.#names();
    // Somebody replaced all, past this number, and removed what had it: then this write is not part of the journal.
    if (Number(names.at(-1)) > place) {
      fs.rmSync(path.join(this.folder, nameOf(place)), {force: true});
      throw writtenByAnother();
    }
    this.#last = place;
    if (replaces) this.#remove(names.filter(name => Number(name) < place));
  }

  close(): void {
    this.#last = undefined;
  }

  #names(): string[] {
    try {
      return fs.readdirSync(this.folder).filter(name => NAME.test(name)).sort();
    } catch (cause) {
      throw failed(this.folder, cause);
    }
  }

  /** Undefined if one vanished meanwhile. */
  #writes(names: readonly string[]): PlacedWrite[] | undefined {
    try {
      return names.map(name => {
        const file = fs.readFileSync(path.join(this.folder, name));
        return {place: Number(name), replaces: file[0] === REPLACES, bytes: new Uint8Array(file.subarray(1))};
      });
    } catch (cause) {
      if ((cause as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
      throw failed(this.folder, cause);
    }
  }

  /** Removes what a killed process left: numbers below the last that replaced all. */
  #clear(writes: readonly PlacedWrite[]): void {
    const first = writes.findLastIndex(write => write.replaces);
    this.#remove(writes.slice(0, Math.max(first, 0)).map(write => nameOf(write.place)));
  }

  /** Overwrites what is no longer needed, so that its blocks keep nothing when they are free. */
  #remove(names: readonly string[]): void {
    for (const name of names) {
      const file = path.join(this.folder, name);
      try {
        const descriptor = fs.openSync(file, 'r+');
        fs.writeSync(descriptor, new Uint8Array(fs.fstatSync(descriptor).size), 0, undefined, 0);
        fs.fdatasyncSync(descriptor);
        fs.closeSync(descriptor);
        fs.unlinkSync(file);
      } catch {
        // The next opening tries again.
      }
    }
  }

  #writeDurably(file: string, parts: readonly Uint8Array[]): void {
    const descriptor = fs.openSync(file, 'wx', 0o600);
    try {
      const bytes = Buffer.concat(parts);
      for (let at = 0; at < bytes.length;) at += fs.writeSync(descriptor, bytes, at);
      fs.fdatasyncSync(descriptor);
    } finally {
      fs.closeSync(descriptor);
    }
  }

  #syncFolder(): void {
    const descriptor = fs.openSync(this.folder, 'r');
    try {
      fs.fsyncSync(descriptor);
    } finally {
      fs.closeSync(descriptor);
    }
  }
}

function failed(folder: string, cause: unknown): CoppiceError {
  const {code, message} = cause as NodeJS.ErrnoException;
  const noRoom = code === 'ENOSPC' || code === 'EDQUOT' || code === 'EFBIG';
  return new CoppiceError(noRoom ? 'resource_exhausted' : 'unavailable', `the journal ${folder}: ${message}`, {cause});
}
