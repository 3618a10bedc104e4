import type {Core} from './core.js';

export interface Column {
  readonly name: string;
  /** `id`: what a study that is joined by an id shows of the row. The label is a `class` or a `target`. */
  readonly kind: 'number' | 'category' | 'class' | 'target' | 'id';
  /** Sent in the clear. */
  readonly isPublic: boolean;
  /** Of numbers. */
  readonly min: number;
  readonly max: number;
  /** Of categories and classes. */
  readonly values: readonly string[];
}

/** What a study asks. */
export interface Terms {
  readonly study: string;
  readonly epsilon: number;
  readonly mechanism: string;
  /** The label last. */
  readonly columns: readonly Column[];
}

/**
 * A row by its columns' names. What is null, undefined or left out is missing; a text that fits none of the values is
 * missing or "other", and numbers are clamped to their bounds.
 */
export type Row = Readonly<Record<string, string | number | null | undefined>>;

const KINDS = [undefined, 'number', 'category', 'class', 'target', 'id'] as const;

export function readColumns(core: Core, schema: number): Column[] {
  return Array.from({length: core.call('schema_columns', schema)}, (_, at) => {
    core.check('schema_column', schema, at);
    return {
      name: core.text(core.call('column_name')) ?? '',
      kind: KINDS[core.call('column_kind')] ?? 'id',
      isPublic: core.call('column_is_public') === 1,
      min: core.call('column_min'),
      max: core.call('column_max'),
      values: Array.from({length: core.call('column_values')}, (_unused, value) => core.text(core.call('schema_value', schema, at, value)) ?? ''),
    };
  });
}

export function readTerms(core: Core, terms: number): Terms {
  return {
    study: core.text(core.call('terms_study', terms)) ?? '',
    epsilon: Number(core.callBig('terms_epsilon', terms)) / 1e9,
    mechanism: core.text(core.call('terms_mechanism', terms)) ?? '',
    columns: readColumns(core, core.call('terms_schema', terms)),
  };
}

export function setRow(core: Core, row: number, values: Row): void {
  for (const [name, value] of Object.entries(values)) {
    core.lend(({text, bytes}) => {
      if (typeof value === 'number') {
        core.call('row_number', row, text(name), value);
      } else if (typeof value === 'string') {
        const utf8 = new TextEncoder().encode(value);
        core.call('row_text', row, text(name), bytes(utf8), utf8.length);
      }
    });
  }
}
