// Sends the rows of a file, block by block, and resumes where the curator has stopped.

import type {MessageInitShape} from '@bufbuild/protobuf';
import type {RowBlockSchema} from 'proto/dataset_pb';
import type {Schema} from 'proto/schema_pb';
import {readTable, toRowBlock, type Block, type ReadNotes} from '../rows/read_table';
import {InputError} from '../rows/errors';
import type {TableFormat} from '../rows/schema_file';

export type Rows = MessageInitShape<typeof RowBlockSchema>;

/** The calls that an upload makes; each resolves to the number of rows on the curator's disk. */
export interface UploadCalls {
  stored: (signal: AbortSignal) => Promise<number>;
  append: (firstRow: number, rows: Rows, signal: AbortSignal) => Promise<number>;
  complete: (firstRow: number, signal: AbortSignal) => Promise<void>;
  /** Whether a call that failed with `error` may succeed later. */
  isPassing: (error: unknown) => boolean;
  /** Waits until another try is worthwhile. */
  wait: (signal: AbortSignal) => Promise<void>;
}

const MOST_VALUES = 250_000, MOST_ROWS = 10_000;

/** Small enough to show progress and to stay below a request's limit. */
export function rowsPerCall(features: number): number {
  return Math.min(Math.max(Math.floor(MOST_VALUES / (features + 1)), 1), MOST_ROWS);
}

/** Reads the file without sending anything. */
export async function checkRows(file: Blob, schema: Schema, format: TableFormat, signal: AbortSignal,
    onProgress: (share: number) => void): Promise<{rows: number; notes: ReadNotes}> {
  return readTable(file, schema, {format, labels: 'required', signal, onProgress, onBlock: () => {}});
}

/** `block` without its first `rows` rows. */
function dropRows(block: Block, rows: number): Block {
  return {firstRow: block.firstRow + rows, rows: block.rows - rows, columns: block.columns.map(column => column.subarray(rows)),
    labels: block.labels.subarray(rows), targets: block.targets.subarray(rows)};
}

/**
 * Sends the rows of `file` that the curator lacks, then says that these were all. Looks up what became of a
 * call whose answer was lost before it repeats it, so no row is stored twice. Skips stored rows by number.
 */
export class Upload {
  #stored = 0;

  constructor(private readonly calls: UploadCalls, private readonly schema: Schema, private readonly signal: AbortSignal,
    private readonly onStored: (rows: number) => void) {}

  async run(file: Blob, format: TableFormat): Promise<number> {
    const already = await this.#patiently(() => this.calls.stored(this.signal));
    this.#note(already);
    const {rows} = await readTable(file, this.schema, {format, labels: 'required', blockRows: rowsPerCall(this.schema.features.length), signal: this.signal,
      onBlock: block => this.#send(block)});
    if (rows < this.#stored) throw new InputError(`the curator has ${this.#stored} rows, and this file ${rows}: choose the file that the upload began with`);
    await this.#patiently(() => this.calls.complete(this.#stored, this.signal));
    return this.#stored;
  }

  async #send(block: Block): Promise<void> {
    const end = block.firstRow + block.rows;
    while (this.#stored < end) {
      const rest = this.#stored > block.firstRow ? dropRows(block, this.#stored - block.firstRow) : block;
      try {
        this.#note(await this.calls.append(rest.firstRow, toRowBlock(rest, this.schema), this.signal));
      } catch (error) {
        await this.#pauseAfter(error);
        const stored = await this.#patiently(() => this.calls.stored(this.signal));
        if (stored !== rest.firstRow && stored !== end) {
          throw new InputError(`the curator has ${stored} rows where ${rest.firstRow} or ${end} were expected: somebody else uploads to this dataset`);
        }
        this.#note(stored);
      }
    }
  }

  async #patiently<T>(call: () => Promise<T>): Promise<T> {
    for (;;) {
      try {
        return await call();
      } catch (error) {
        await this.#pauseAfter(error);
      }
    }
  }

  async #pauseAfter(error: unknown): Promise<void> {
    if (this.signal.aborted || !this.calls.isPassing(error)) throw error;
    await this.calls.wait(this.signal);
    this.signal.throwIfAborted();
  }

  #note(stored: number): void {
    this.#stored = stored;
    this.onStored(stored);
  }
}
