// Tables, and paging through long ones.

import type {ComponentChildren} from 'preact';
import {useEffect, useRef, useState} from 'preact/hooks';
import {useLoad, type Loaded} from '../api/load';
import {count} from './format';

export interface Column<T> {
  head: string;
  cell: (row: T, index: number) => ComponentChildren;
  /** Right-aligned, digits under digits. */
  number?: boolean;
}

export interface TableProps<T> {
  /** What the table shows, in words, for screen readers; also shown above the table unless `quiet`. */
  caption: string;
  quiet?: boolean;
  columns: readonly Column<T>[];
  rows: readonly T[];
  rowKey: (row: T, index: number) => string | number;
  /** Shown instead of a table without rows. */
  empty?: ComponentChildren;
}

/** The first column heads the rows. Wide tables scroll within themselves. */
export function Table<T>({caption, quiet = false, columns, rows, rowKey, empty}: TableProps<T>) {
  if (rows.length === 0 && empty !== undefined) return <>{empty}</>;
  return <figure class="table">
    {!quiet && <figcaption>{caption}</figcaption>}
    <div class="scroll" role="region" tabIndex={0} aria-label={caption}>
      <table aria-label={caption}>
        <thead><tr>{columns.map(({head, number}) => <th key={head} scope="col" class={number ? 'n' : ''}>{head}</th>)}</tr></thead>
        <tbody>{rows.map((row, i) => <tr key={rowKey(row, i)}>{columns.map(({head, cell, number}, c) =>
          c === 0 ? <th key={head} scope="row" class={number ? 'n' : ''}>{cell(row, i)}</th>
            : <td key={head} class={number ? 'n' : ''}>{cell(row, i)}</td>)}</tr>)}</tbody>
      </table>
    </div>
  </figure>;
}

/** Pages through `total` rows that are known by their number: "51 to 100 of 10,000". */
export function Pager({first, size, total, onFirst, what = 'rows'}: {
  first: number; size: number; total: number; onFirst: (first: number) => void; what?: string;
}) {
  if (total <= size && first === 0) return null;
  const last = Math.min(first + size, total);
  const lastPage = Math.max(0, Math.floor((total - 1) / size) * size);
  return <nav class="pager" aria-label={`Pages of ${what}`}>
    <button type="button" class="small" disabled={first === 0} onClick={() => onFirst(0)}>First</button>
    <button type="button" class="small" disabled={first === 0} onClick={() => onFirst(Math.max(0, first - size))}>Previous</button>
    <span role="status">{count(first + 1)} to {count(last)} of {count(total)} {what}</span>
    <button type="button" class="small" disabled={last >= total} onClick={() => onFirst(first + size)}>Next</button>
    <button type="button" class="small" disabled={last >= total} onClick={() => onFirst(lastPage)}>Last</button>
  </nav>;
}

export interface Pages<T> extends Loaded<{items: T[]; nextPageToken: string}> {
  page: number;
  hasNext: boolean;
  next: () => void;
  previous: () => void;
}

/** A list that the daemon returns page by page, such as `token => studies.listStudies({pageToken: token})`. */
export function usePages<T>(load: (pageToken: string, signal: AbortSignal) => Promise<{items: T[]; nextPageToken: string}>,
    deps: readonly unknown[] = [], options: {everyMs?: number} = {}): Pages<T> {
  const [tokens, setTokens] = useState<string[]>(['']);
  const isFirst = useRef(true);
  useEffect(() => {
    if (!isFirst.current) setTokens(['']);
    isFirst.current = false;
  }, deps);
  const token = tokens[tokens.length - 1]!;
  const loaded = useLoad(signal => load(token, signal), [...deps, token], options);
  const nextToken = loaded.data?.nextPageToken ?? '';
  return {
    ...loaded,
    page: tokens.length - 1,
    hasNext: nextToken !== '',
    next: () => { if (nextToken !== '') setTokens([...tokens, nextToken]); },
    previous: () => { if (tokens.length > 1) setTokens(tokens.slice(0, -1)); },
  };
}

/** The buttons of usePages(); none if there is one page. */
export function PageButtons<T>({pages, what}: {pages: Pages<T>; what: string}) {
  if (pages.page === 0 && !pages.hasNext) return null;
  return <nav class="pager" aria-label={`Pages of ${what}`}>
    <button type="button" class="small" disabled={pages.page === 0} onClick={pages.previous}>Previous</button>
    <span role="status">Page {pages.page + 1} of {what}</span>
    <button type="button" class="small" disabled={!pages.hasNext} onClick={pages.next}>Next</button>
  </nav>;
}
