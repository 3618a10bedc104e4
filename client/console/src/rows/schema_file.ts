// Schema files, as docs/schema.md describes them and common/table/schema_file.cc reads them.

import {create} from '@bufbuild/protobuf';
import {FeatureSchema, SchemaSchema, type Feature, type Schema} from 'proto/schema_pb';

import type {Delimiter} from './csv';
import {visible} from '../parts/text';
import {InputErrors, listOf} from './errors';
import {parseNumberFormat, type NumberFormat} from './number_format';

/** How a table's file is written; not part of a study or a dataset. */
export interface TableFormat {
  delimiter: Delimiter;
  /** Texts that stand for a missing value, in addition to the empty one. */
  missing: string[];
  /** Of the columns whose numbers are not plain decimals, by name. */
  numbers?: ReadonlyMap<string, NumberFormat>;
}

export interface SchemaFile {
  schema: Schema;
  format: TableFormat;
  /** Names of the columns, including the label's, whose bounds or values were or may have been read from private rows. */
  fromRows: string[];
}

const MOST_SCHEMA_BYTES = 1 << 24;
const MOST_FEATURES = 65536, MOST_CLASSES = 4096, MOST_MISSING = 100, MOST_UNIT_BYTES = 64, MOST_WHOLE = 2 ** 53;
const ROOT_MEMBERS = ['label', 'classes', 'target_min', 'target_max', 'features', 'delimiter', 'missing', 'integer', 'unit', 'bounds', 'rows_sha256',
  'number_format'];
const FEATURE_MEMBERS = ['name', 'type', 'min', 'max', 'values', 'public', 'integer', 'unit', 'bounds', 'number_format'];
// Where bounds come from. The last two may leak: the schema is marked, and the curator refuses it unless it is told to accept that.
const ORIGINS = ['declared', 'from public rows', 'from private rows', 'from these rows'];

/** Whether a column's bounds or values were, or may have been, read from private rows. */
function mayLeak(object: Json): boolean {
  return object.bounds === 'from private rows' || object.bounds === 'from these rows';
}

type Json = Record<string, unknown>;

function isObject(value: unknown): value is Json {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Whether inserting, dropping, changing or swapping one letter turns `name` into `meant`. */
function isMisspelling(name: string, meant: string): boolean {
  let a = name.toLowerCase(), b = meant;
  while (a !== '' && b !== '' && a[0] === b[0]) [a, b] = [a.slice(1), b.slice(1)];
  while (a !== '' && b !== '' && a.at(-1) === b.at(-1)) [a, b] = [a.slice(0, -1), b.slice(0, -1)];
  return (a.length === 2 && b.length === 2 && a[0] === b[1] && a[1] === b[0]) || (a.length <= 1 && b.length <= 1);
}

class SchemaParser {
  readonly errors: string[] = [];
  readonly fromRows: string[] = [];
  readonly #numbers = new Map<string, NumberFormat>();
  #missing: string[] = [];

  parse(text: string): SchemaFile {
    const root = this.#json(text);
    this.#checkMembers(root, ROOT_MEMBERS, 'the schema');
    const format = this.#format(root);
    const label = this.#text(root, 'label', 'the schema');
    this.#checkNotes(root, 'the schema');
    const answers = this.#answers(root, label);
    const features = this.#features(root);
    this.#checkDistinct([...features.map(feature => feature.name), label], 'feature or label name');
    if (this.errors.length > 0) throw new InputErrors(this.errors);
    const answersFromPrivateRows = mayLeak(root);
    if (answersFromPrivateRows) this.fromRows.push(label);
    return {schema: create(SchemaSchema, {features, label, answersFromPrivateRows, ...answers}), format, fromRows: this.fromRows};
  }

  #json(text: string): Json {
    let root: unknown;
    try {
      root = JSON.parse(text.replace(/^\ufeff/, ''));
    } catch (error) {
      throw new InputErrors([`the schema is not valid JSON: ${error instanceof Error ? error.message : error}`]);
    }
    if (!isObject(root)) throw new InputErrors(['the schema must be a JSON object']);
    return root;
  }

  #checkMembers(object: Json, known: readonly string[], where: string): void {
    for (const name of Object.keys(object)) {
      if (known.includes(name)) continue;
      const meant = known.find(each => isMisspelling(name, each));
      if (meant !== undefined) this.errors.push(`${where} has the member "${name}"; did you mean "${meant}"? There are: ${listOf(known)}`);
    }
  }

  #text(object: Json, name: string, where: string): string {
    const value = object[name];
    if (typeof value === 'string') return value;
    this.errors.push(`${where} needs the text member "${name}"`);
    return '';
  }

  #number(object: Json, name: string, where: string): number {
    const value = object[name];
    if (typeof value === 'number' && Number.isFinite(value)) return value;
    this.errors.push(`${where} needs the number member "${name}"`);
    return 0;
  }

  #texts(object: Json, name: string, where: string): string[] {
    const value = object[name];
    if (Array.isArray(value) && value.every(each => typeof each === 'string')) return value as string[];
    this.errors.push(`${where} needs the member "${name}", a list of texts`);
    return [];
  }

  #flag(object: Json, name: string, where: string): boolean {
    const value = object[name];
    if (value !== undefined && typeof value !== 'boolean') this.errors.push(`${where}: "${name}" must be true or false`);
    return value === true;
  }

  #unit(object: Json, where: string): string {
    if (object.unit === undefined) return '';
    const unit = this.#text(object, 'unit', where);
    const size = new TextEncoder().encode(unit).length;
    if (size > MOST_UNIT_BYTES) this.errors.push(`${where}: its unit has ${size} bytes; at most ${MOST_UNIT_BYTES} are allowed`);
    if (visible(unit) !== unit) this.errors.push(`${where}: its unit must be UTF-8 without control or invisible characters`);
    return unit;
  }

  #checkNotes(object: Json, where: string): void {
    if (object.bounds !== undefined && !ORIGINS.includes(object.bounds as string)) {
      this.errors.push(`${where}: "bounds" must be ${ORIGINS.map(origin => `"${origin}"`).join(' or ')}`);
    }
  }

  #takeNumberFormat(object: Json, column: string, where: string): void {
    if (object.number_format === undefined) return;
    const format = parseNumberFormat(this.#text(object, 'number_format', where));
    if (typeof format === 'string') this.errors.push(`${where}: "number_format": ${format}`);
    else this.#numbers.set(column, format);
  }

  #checkDistinct(names: readonly string[], what: string): void {
    const seen = new Set<string>();
    for (const name of names) {
      if (name === '') this.errors.push(`a ${what} is empty`);
      else if (seen.has(name)) this.errors.push(`${what} "${name}" is listed twice`);
      seen.add(name);
    }
  }

  #format(root: Json): TableFormat {
    const {delimiter} = root;
    const isKnown = delimiter === ',' || delimiter === ';' || delimiter === '\t';
    if (delimiter !== undefined && !isKnown) this.errors.push('the schema: "delimiter" must be "," or ";" or "\\t" (a tab)');
    if (root.missing !== undefined) this.#missing = this.#texts(root, 'missing', 'the schema');
    if (this.#missing.length > MOST_MISSING) this.errors.push(`"missing" lists ${this.#missing.length} texts; ${MOST_MISSING} are the most`);
    this.#checkDistinct(this.#missing, 'text of "missing"');
    return {delimiter: isKnown ? delimiter : '', missing: this.#missing, numbers: this.#numbers};
  }

  #checkMissing(values: readonly string[], where: string): void {
    for (const text of this.#missing) {
      if (values.includes(text)) this.errors.push(`"missing" lists "${text}", which ${where} lists too: it can be missing or a value, not both`);
    }
  }

  #answers(root: Json, label: string): {classes: string[]} | {target: {min: number; max: number; unit: string}} {
    const hasTarget = root.target_min !== undefined || root.target_max !== undefined;
    if (hasTarget && root.classes !== undefined) this.errors.push('the schema needs "classes", or "target_min" and "target_max", not both');
    if (hasTarget) {
      const min = this.#number(root, 'target_min', 'the schema'), max = this.#number(root, 'target_max', 'the schema');
      if (!(min < max) || !Number.isFinite(max - min)) this.errors.push('the schema: "target_min" must be less than "target_max"');
      this.#flag(root, 'integer', 'the schema');
      this.#takeNumberFormat(root, label, 'the schema');
      return {target: {min, max, unit: this.#unit(root, 'the schema')}};
    }
    for (const name of ['integer', 'unit', 'number_format']) {
      if (root[name] !== undefined) this.errors.push(`the schema has the member "${name}", which is for numbers alone`);
    }
    const classes = this.#texts(root, 'classes', 'the schema');
    if (classes.length < 2) this.errors.push('a schema needs at least two classes');
    if (classes.length > MOST_CLASSES) this.errors.push(`a schema has at most ${MOST_CLASSES} classes, not ${classes.length}: leave some out`);
    this.#checkDistinct(classes, 'class');
    this.#checkMissing(classes, '"classes"');
    return {classes};
  }

  #features(root: Json): Feature[] {
    const list = root.features;
    if (!Array.isArray(list)) {
      this.errors.push('the schema needs the member "features", a list');
      return [];
    }
    if (list.length === 0) this.errors.push('a schema needs at least one feature');
    if (list.length > MOST_FEATURES) {
      this.errors.push(`a schema has at most ${MOST_FEATURES} features, not ${list.length}: leave some out`);
      return [];
    }
    return list.map((object, i) => this.#feature(object, `feature ${i + 1}`));
  }

  #feature(object: unknown, position: string): Feature {
    if (!isObject(object)) {
      this.errors.push(`${position} must be a JSON object`);
      return create(FeatureSchema, {});
    }
    const name = this.#text(object, 'name', position);
    const where = name === '' ? position : `feature "${name}"`;
    this.#checkMembers(object, FEATURE_MEMBERS, where);
    this.#checkNotes(object, where);
    const fromPrivateRows = mayLeak(object);
    if (fromPrivateRows) this.fromRows.push(name);
    if (object.missing !== undefined && typeof object.missing !== 'number') {
      this.errors.push(`${where}: "missing" is declared once for all features, beside "features"`);
    }
    const isPublic = this.#flag(object, 'public', where);
    const type = this.#text(object, 'type', where);
    if (type === 'numeric') return create(FeatureSchema, {name, isPublic, fromPrivateRows, type: {case: 'numeric', value: this.#numeric(object, name, where)}});
    if (type !== 'categorical') {
      if (type !== '') this.errors.push(`${where}: type must be "numeric" or "categorical", not "${type}"`);
      return create(FeatureSchema, {name});
    }
    return create(FeatureSchema, {name, isPublic, fromPrivateRows, type: {case: 'categorical', value: {values: this.#values(object, where)}}});
  }

  #numeric(object: Json, name: string, where: string): {min: number; max: number; unit: string; integer: boolean} {
    const min = this.#number(object, 'min', where), max = this.#number(object, 'max', where);
    const integer = this.#flag(object, 'integer', where);
    if (min > max) this.errors.push(`${where}: min must not exceed max`);
    if (!Number.isFinite(max - min)) this.errors.push(`${where}: min, max and max - min must be finite`);
    const isWhole = (bound: number) => Number.isInteger(bound) && Math.abs(bound) <= MOST_WHOLE;
    if (integer && !(isWhole(min) && isWhole(max))) {
      this.errors.push(`${where} has whole numbers only: min and max must be whole, and at most 2^53 from zero`);
    }
    this.#takeNumberFormat(object, name, where);
    return {min, max, integer, unit: this.#unit(object, where)};
  }

  #values(object: Json, where: string): string[] {
    for (const name of ['integer', 'unit', 'number_format']) {
      if (object[name] !== undefined) this.errors.push(`${where} has the member "${name}", which is for numbers alone`);
    }
    const values = this.#texts(object, 'values', where);
    if (values.length === 0) this.errors.push(`${where} is categorical and needs at least one value`);
    this.#checkDistinct(values, `category of ${where}`);
    this.#checkMissing(values, where);
    return values;
  }
}

/** Throws InputErrors with everything that is wrong. */
export function parseSchemaFile(text: string): SchemaFile {
  return new SchemaParser().parse(text);
}

/** Reads a schema file that the user chose. */
export async function readSchemaFile(file: Blob): Promise<SchemaFile> {
  if (file.size > MOST_SCHEMA_BYTES) throw new InputErrors([`the schema has ${file.size} bytes; ${MOST_SCHEMA_BYTES} are the most`]);
  return parseSchemaFile(await file.text());
}
