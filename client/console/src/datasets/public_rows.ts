// Public rows go with one request, so they are read as a whole.

import type {Schema} from 'proto/schema_pb';
import {readTable, toRowBlock, type Block} from '../rows/read_table';
import type {TableFormat} from '../rows/schema_file';
import type {Rows} from './upload';

// As many as the daemon takes.
export const MOST_PUBLIC_ROWS = 20_000;

export async function readPublicRows(schema: Schema, format: TableFormat, file: File, signal: AbortSignal): Promise<Rows> {
  const blocks: Block[] = [];
  await readTable(file, schema, {format, labels: 'required', blockRows: MOST_PUBLIC_ROWS, maxRows: MOST_PUBLIC_ROWS, signal, onBlock: block => { blocks.push(block); }});
  return toRowBlock(blocks[0]!, schema);
}
