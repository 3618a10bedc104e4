// Reads a user's CSV file in blocks, as rows for the API. The file stays in the browser; pages send only
// what they say they send.

import type {MessageInitShape} from '@bufbuild/protobuf';
import type {RowBlockSchema} from 'proto/dataset_pb';
import type {Schema} from 'proto/schema_pb';
import {CsvReader} from './csv';
import {classEncoder, encodeTarget, fieldEncoder, type EncodedField} from './encode';
import {InputError, listOf} from './errors';
import {formatText, plainNumber} from './number_format';
import type {TableFormat} from './schema_file';

/** The number of fields that were changed on reading. */
export interface ReadNotes {
  clamped: number;
  rounded: number;
  unknown: number;
  missing: number;
  clampedTargets: number;
}

export interface Block {
  /** Number of rows before this block. */
  firstRow: number;
  rows: number;
  /** One per feature, with `rows` values each. */
  columns: Float64Array[];
  /** For classification: one per row. */
  labels: Uint32Array;
  /** For regression: one per row. */
  targets: Float64Array;
}

export interface ReadOptions {
  format?: TableFormat;
  /** 'ignored': the label's column may be missing, and is not read. */
  labels: 'required' | 'ignored';
  /** Refuses fields that would be clamped, rounded or read as "other". */
  strict?: boolean;
  blockRows?: number;
  maxRows?: number;
  maxBytes?: number;
  signal?: AbortSignal;
  /** Share of the file that was read, from 0 to 1. */
  onProgress?: (share: number) => void;
  /** The next block is read when the promise resolves. */
  onBlock: (block: Block) => void | Promise<void>;
}

const DEFAULT_BLOCK_ROWS = 10_000, DEFAULT_MAX_ROWS = 1 << 26, DEFAULT_MAX_BYTES = 4 * 2 ** 30;
const PIECE_BYTES = 1 << 18;

/** What a column of the file is. */
type ColumnRole = {kind: 'ignored'} | {kind: 'label'} | {kind: 'feature'; feature: number};

class TableSink {
  readonly notes: ReadNotes = {clamped: 0, rounded: 0, unknown: 0, missing: 0, clampedTargets: 0};
  readonly full: Block[] = [];
  rows = 0;
  #roles: ColumnRole[] = [];
  #block: Block;
  readonly #encoders: ((text: string) => EncodedField)[];
  readonly #classOf: (text: string) => number;
  readonly #missing: Set<string>;

  constructor(private readonly schema: Schema, private readonly options: ReadOptions) {
    this.#encoders = schema.features.map(fieldEncoder);
    this.#classOf = classEncoder(schema);
    this.#missing = new Set(options.format?.missing ?? []);
    this.#block = this.#newBlock();
  }

  onHeader(names: string[], line: number): void {
    this.#roles = names.map(() => ({kind: 'ignored'}));
    this.schema.features.forEach((feature, i) => this.#map(names, feature.name, {kind: 'feature', feature: i}, line));
    if (this.options.labels === 'required') this.#map(names, this.schema.label, {kind: 'label'}, line);
  }

  onRow(fields: string[], line: number, lastLine: number): void {
    this.#checkFields(fields.length, line, lastLine);
    const maxRows = this.options.maxRows ?? DEFAULT_MAX_ROWS;
    if (this.rows >= maxRows) throw new InputError(`the file has more than ${maxRows} rows: split it`);
    const block = this.#block, row = block.rows;
    for (const column of block.columns) column[row] = NaN;
    for (let c = 0; c < fields.length; ++c) {
      const role = this.#roles[c]!;
      if (role.kind === 'ignored') continue;
      const text = this.#missing.has(fields[c]!) ? '' : fields[c]!;
      if (role.kind === 'feature') block.columns[role.feature]![row] = this.#feature(role.feature, this.#plain(this.schema.features[role.feature]!.name, text, line), line);
      else this.#label(this.#plain(this.schema.label, text, line), row, line);
    }
    ++this.rows;
    if (++block.rows === this.#blockRows) this.#endBlock();
  }

  finish(): void {
    if (this.#block.rows > 0) this.#endBlock();
    if (this.rows === 0) throw new InputError('the file has no rows');
  }

  get #blockRows(): number {
    return this.options.blockRows ?? DEFAULT_BLOCK_ROWS;
  }

  #newBlock(): Block {
    const rows = this.#blockRows, isRegression = this.schema.target !== undefined;
    return {firstRow: this.rows, rows: 0, columns: this.schema.features.map(() => new Float64Array(rows)),
      labels: new Uint32Array(isRegression ? 0 : rows), targets: new Float64Array(isRegression ? rows : 0)};
  }

  #endBlock(): void {
    const {firstRow, rows, columns, labels, targets} = this.#block;
    this.full.push({firstRow, rows, columns: columns.map(column => column.subarray(0, rows)), labels: labels.subarray(0, rows), targets: targets.subarray(0, rows)});
    this.#block = this.#newBlock();
  }

  #map(names: string[], name: string, role: ColumnRole, line: number): void {
    const found = names.indexOf(name);
    if (found < 0) {
      const has = names.length > 1 ? `its columns: ${listOf(names)}`
        : `its one column: ${names[0]} (a comma, semicolon or tab must stand between fields, the schema's "delimiter" if it has one)`;
      throw new InputError(`line ${line}: column "${name}" of the schema is missing from the header; ${has}`);
    }
    if (names.indexOf(name, found + 1) >= 0) throw new InputError(`line ${line}: column "${name}" appears twice`);
    this.#roles[found] = role;
  }

  #checkFields(fields: number, line: number, lastLine: number): void {
    if (fields === this.#roles.length) return;
    const why = lastLine > line ? `; it goes on to line ${lastLine}: is a quote left open?`
      : fields > this.#roles.length ? '; a field that holds the delimiter must be quoted' : '';
    throw new InputError(`line ${line}: the row has ${fields} fields, the header ${this.#roles.length} columns${why}`);
  }

  /** A number that its column writes in another way, as a plain decimal. */
  #plain(column: string, text: string, line: number): string {
    const format = this.options.format?.numbers?.get(column);
    if (format === undefined || text === '') return text;
    const plain = plainNumber(text, format);
    if (plain === null) throw new InputError(`line ${line}: column "${column}" must be a number written as ${formatText(format)}`);
    return plain;
  }

  #feature(feature: number, text: string, line: number): number {
    const {value, note} = this.#encoders[feature]!(text);
    if (note === 'none') return value;
    const refuse = (what: string) => new InputError(`line ${line}: column "${this.schema.features[feature]!.name}" ${what}`);
    if (note === 'unreadable') {
      throw refuse('must be a finite decimal number, or empty where it is missing; declare texts for missing values ("missing" in the schema file)');
    }
    if (this.options.strict && note !== 'missing') throw refuse('does not fit the schema, and strict was asked for');
    ++this.notes[note];
    return value;
  }

  #label(text: string, row: number, line: number): void {
    if (this.schema.target === undefined) {
      const label = this.#classOf(text);
      if (label < 0) {
        throw new InputError(`line ${line}: label "${this.schema.label}" must be one of the ${this.schema.classes.length} classes of the schema: ${listOf(this.schema.classes)}`);
      }
      this.#block.labels[row] = label;
      return;
    }
    const {value, note} = encodeTarget(this.schema, text);
    if (note === 'unreadable') throw new InputError(`line ${line}: target "${this.schema.label}" must be a finite decimal number`);
    if (note === 'clamped') {
      if (this.options.strict) throw new InputError(`line ${line}: target "${this.schema.label}" is outside its bounds, and strict was asked for`);
      ++this.notes.clampedTargets;
    }
    this.#block.targets[row] = value;
  }
}

/** Text of a file in UTF-8, piece by piece. */
async function* textOf(file: Blob, signal: AbortSignal | undefined): AsyncGenerator<{text: string; end: number}> {
  const decoder = new TextDecoder('utf-8', {fatal: true});
  for (let begin = 0; begin < file.size; begin += PIECE_BYTES) {
    signal?.throwIfAborted();
    const end = Math.min(begin + PIECE_BYTES, file.size);
    const bytes = new Uint8Array(await file.slice(begin, end).arrayBuffer());
    if (begin === 0 && ((bytes[0] === 0xff && bytes[1] === 0xfe) || (bytes[0] === 0xfe && bytes[1] === 0xff))) {
      throw new InputError('the file must be text in UTF-8: it is UTF-16; convert it with iconv -f UTF-16 -t UTF-8');
    }
    let text: string;
    try {
      text = decoder.decode(bytes, {stream: end < file.size});
    } catch {
      throw new InputError(`near byte ${begin + 1} the file holds a character that is no UTF-8: if it is Latin-1, convert it with iconv -f LATIN1 -t UTF-8`);
    }
    if (text.includes('\0')) throw new InputError('the file holds a NUL: it must be text in UTF-8');
    yield {text, end};
  }
}

/**
 * Reads `file` by `schema`. Errors are InputErrors that name the line and never a value; an abort throws the
 * signal's reason. Holds at most two blocks.
 */
export async function readTable(file: Blob, schema: Schema, options: ReadOptions): Promise<{rows: number; notes: ReadNotes}> {
  const maxBytes = options.maxBytes ?? DEFAULT_MAX_BYTES;
  if (file.size > maxBytes) throw new InputError(`the file has ${file.size} bytes; ${maxBytes} are the most`);
  const sink = new TableSink(schema, options);
  const reader = new CsvReader(options.format?.delimiter ?? '', sink);
  const pass = async () => {
    for (let block = sink.full.shift(); block !== undefined; block = sink.full.shift()) {
      options.signal?.throwIfAborted();
      await options.onBlock(block);
    }
  };
  for await (const {text, end} of textOf(file, options.signal)) {
    reader.add(text);
    await pass();
    options.onProgress?.(end / file.size);
  }
  reader.finish();
  sink.finish();
  await pass();
  return {rows: sink.rows, notes: sink.notes};
}

/** Converts a block for AppendRows and MeasureCurve. */
export function toRowBlock(block: Block, schema: Schema): MessageInitShape<typeof RowBlockSchema> {
  const columns = block.columns.map(values => ({values: Array.from(values)}));
  return schema.target === undefined ? {columns, labels: Array.from(block.labels)} : {columns, targets: Array.from(block.targets)};
}

/** Converts a block for Predict and CreateStudy. */
export function toRows(block: Block): {values: number[]}[] {
  return Array.from({length: block.rows}, (_, row) => ({values: block.columns.map(column => column[row]!)}));
}

/** What was changed, in words: "3 fields clamped to the public bounds". */
export function noteTexts(notes: ReadNotes): string[] {
  const texts: string[] = [];
  const add = (count: number, what: string) => { if (count > 0) texts.push(`${count} ${count === 1 ? 'field' : 'fields'} ${what}`); };
  add(notes.clamped, 'clamped to the public bounds');
  add(notes.rounded, 'rounded to a whole number');
  add(notes.unknown, 'outside the public vocabulary taken as "other"');
  add(notes.missing, 'missing');
  add(notes.clampedTargets, 'to predict clamped to the public bounds');
  return texts;
}
