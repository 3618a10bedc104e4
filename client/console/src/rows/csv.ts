// Reads CSV by the rules of common/table/csv_file.cc, so that the console and the commands read a file
// alike: only RFC 4180 quoting counts as quoting; blanks around an unquoted field are dropped; empty lines
// are skipped. It is fed piece by piece and holds one row at a time.

import {InputError} from './errors';

/** '' detects it: comma, semicolon or tab, whichever the header line has most of. */
export type Delimiter = '' | ',' | ';' | '\t';

export interface CsvSink {
  /** Line numbers count from 1; `line` is where the row begins. */
  onHeader(names: string[], line: number): void;
  onRow(fields: string[], line: number, lastLine: number): void;
}

const MOST_FIELD_CHARACTERS = 1 << 20; // or an open quote would swallow the file

const BLANKS_AT_START = /^[\t-\r ]+/; // those of ASCII

const enum At { RowStart, FieldStart, Unquoted, Quoted, QuoteInQuoted, AfterQuoted }

export function findDelimiter(text: string): Exclude<Delimiter, ''> {
  const counts = {',': 0, ';': 0, '\t': 0};
  let quoted = false;
  for (const c of text) {
    if (!quoted && (c === '\n' || c === '\r')) break;
    if (c === '"') quoted = !quoted;
    if (!quoted && (c === ',' || c === ';' || c === '\t')) ++counts[c];
  }
  if (counts[','] >= counts[';'] && counts[','] >= counts['\t']) return ',';
  return counts[';'] >= counts['\t'] ? ';' : '\t';
}

export class CsvReader {
  #delimiter: Delimiter;
  #begun = false;
  #start = ''; // text before there is a whole line, to detect the delimiter in
  #at = At.RowStart;
  #fields: string[] = [];
  #field = '';
  #line = 1;
  #rowLine = 1;
  #quoteLine = 1;
  #header: string[] | null = null;

  constructor(delimiter: Delimiter, private readonly sink: CsvSink) {
    this.#delimiter = delimiter;
  }

  /** Throws InputError where the text is not CSV. */
  add(text: string): void {
    if (this.#begun) return this.#parse(text);
    this.#start += text;
    const trimmed = this.#start.replace(BLANKS_AT_START, '');
    if (!/[\n\r]/.test(trimmed) && this.#start.length < MOST_FIELD_CHARACTERS) return;
    this.#begin(trimmed);
  }

  /** Must be called once, after all text. */
  finish(): void {
    if (!this.#begun) this.#begin(this.#start.replace(BLANKS_AT_START, ''));
    if (this.#at === At.Quoted) {
      throw this.#error(this.#quoteLine, `a quoted field that starts here is never closed: close the quote of ${this.#columnName()}`);
    }
    if (this.#at !== At.RowStart) this.#endRow();
    if (this.#header === null) throw new InputError('line 1: the file is empty; the first line must name the columns');
  }

  #begin(trimmed: string): void {
    this.#begun = true;
    if (this.#delimiter === '') this.#delimiter = findDelimiter(trimmed);
    const start = this.#start;
    this.#start = '';
    this.#parse(start);
  }

  #parse(text: string): void {
    const delimiter = this.#delimiter;
    for (let i = 0; i < text.length; ++i) {
      const c = text[i]!;
      const isEnd = c === '\n' || c === '\r';
      const isBlank = (c === ' ' || c === '\t') && c !== delimiter;
      switch (this.#at) {
        case At.RowStart:
        case At.FieldStart:
          if (isBlank) break;
          if (this.#at === At.RowStart) {
            if (isEnd) break;
            this.#rowLine = this.#line;
          }
          if (isEnd) {
            this.#endRow();
          } else if (c === delimiter) {
            this.#endField('');
          } else if (c === '"') {
            this.#at = At.Quoted;
            this.#quoteLine = this.#line;
          } else {
            i = this.#takeRun(text, i, delimiter);
          }
          break;
        case At.Unquoted:
          if (isEnd) this.#endRow();
          else if (c === delimiter) this.#endField(trimBlanksAtEnd(this.#field));
          else i = this.#takeRun(text, i, delimiter);
          break;
        case At.Quoted: {
          if (c === '"') {
            this.#at = At.QuoteInQuoted;
            break;
          }
          let end = text.indexOf('"', i);
          if (end < 0) end = text.length;
          const run = text.slice(i, end);
          for (let feed = run.indexOf('\n'); feed >= 0; feed = run.indexOf('\n', feed + 1)) ++this.#line;
          this.#grow(run);
          i = end - 1;
          continue; // its line feeds count
        }
        case At.QuoteInQuoted:
          if (c === '"') {
            this.#grow('"');
            this.#at = At.Quoted;
          } else if (isEnd) {
            this.#endRow();
          } else if (c === delimiter) {
            this.#endField(this.#field);
          } else if (isBlank) {
            this.#at = At.AfterQuoted;
          } else {
            throw this.#openQuote();
          }
          break;
        case At.AfterQuoted:
          if (isEnd) this.#endRow();
          else if (c === delimiter) this.#endField(this.#field);
          else if (!isBlank) throw this.#openQuote();
          break;
      }
      if (c === '\n') ++this.#line;
    }
  }

  /** Takes characters that can only belong to an unquoted field, and returns the position of the last one. */
  #takeRun(text: string, from: number, delimiter: string): number {
    let to = from;
    for (; to < text.length; ++to) {
      const c = text[to]!;
      if (c === delimiter || c === '\n' || c === '\r') break;
      if (c === '"') throw this.#error(this.#line, 'a quote inside a field must be doubled and the whole field quoted');
    }
    this.#at = At.Unquoted;
    this.#grow(text.slice(from, to));
    return to - 1;
  }

  #grow(text: string): void {
    if (this.#field.length + text.length > MOST_FIELD_CHARACTERS) {
      throw this.#error(this.#at === At.Quoted ? this.#quoteLine : this.#rowLine,
        `a field has more than ${MOST_FIELD_CHARACTERS} characters; is a quote left open? See ${this.#columnName()}`);
    }
    this.#field += text;
  }

  #endField(text: string): void {
    this.#fields.push(text);
    this.#field = '';
    this.#at = At.FieldStart;
  }

  #endRow(): void {
    if (this.#at === At.Unquoted) this.#endField(trimBlanksAtEnd(this.#field));
    else this.#endField(this.#field); // quoted, or empty after a delimiter
    const fields = this.#fields;
    this.#fields = [];
    this.#at = At.RowStart;
    if (this.#header !== null) return this.sink.onRow(fields, this.#rowLine, this.#line);
    this.#header = fields;
    this.sink.onHeader(fields, this.#rowLine);
  }

  #columnName(): string {
    const column = this.#fields.length;
    return this.#header === null || column >= this.#header.length ? `field ${column + 1}` : `column "${this.#header[column]}"`;
  }

  #openQuote(): InputError {
    if (this.#quoteLine < this.#line) {
      return this.#error(this.#quoteLine, `a quoted field that starts here goes on to a quote on line ${this.#line} that does not end it: `
        + `close the quote of ${this.#columnName()}, or double those that belong to its text`);
    }
    return this.#error(this.#line, 'a quote inside a field must be doubled and the whole field quoted');
  }

  #error(line: number, text: string): InputError {
    return new InputError(`line ${line}: ${text}`);
  }
}

/** The text of a field without quotes. */
export function trimBlanks(text: string): string {
  return trimBlanksAtEnd(text.replace(/^[ \t]+/, ''));
}

function trimBlanksAtEnd(text: string): string {
  let end = text.length;
  while (end > 0 && (text[end - 1] === ' ' || text[end - 1] === '\t')) --end;
  return text.slice(0, end);
}
