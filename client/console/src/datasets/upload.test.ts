import assert from 'node:assert/strict';
import {test} from 'node:test';
import {parseSchemaFile} from '../rows/schema_file';
import {rowsPerCall, Upload, type Rows, type UploadCalls} from './upload';

const {schema, format} = parseSchemaFile(JSON.stringify({label: 'y', classes: ['a', 'b'], features: [{name: 'x', type: 'numeric', min: 0, max: 1e6}]}));
const ROWS = 25_000;
const FILE = new Blob([`x,y\n${Array.from({length: ROWS}, (_, i) => `${i},${i % 2 ? 'b' : 'a'}\n`).join('')}`]);

class Passing extends Error {}

/** A curator that fails as it is told, before or after it stores a block. */
class FakeCurator implements UploadCalls {
  readonly values: number[] = [];
  isComplete = false;
  waits = 0;
  constructor(readonly faults: ('before' | 'after' | 'stored' | 'complete')[] = []) {}

  #fail(kind: string): void {
    if (this.faults[0] !== kind) return;
    this.faults.shift();
    throw new Passing(kind);
  }

  async stored() {
    this.#fail('stored');
    return this.values.length;
  }

  async append(firstRow: number, rows: Rows) {
    this.#fail('before');
    assert.equal(firstRow, this.values.length, 'the daemon refuses a block that does not follow');
    this.values.push(...(rows.columns![0] as {values: number[]}).values);
    this.#fail('after');
    return this.values.length;
  }

  async complete(firstRow: number) {
    this.#fail('complete');
    assert.equal(firstRow, this.values.length);
    this.isComplete = true;
  }

  isPassing(error: unknown) {
    return error instanceof Passing;
  }

  async wait() {
    ++this.waits;
  }
}

const upload = (curator: UploadCalls, file = FILE, signal = new AbortController().signal) => new Upload(curator, schema, signal, () => {}).run(file, format);

function holdsAll(curator: FakeCurator): void {
  assert.ok(curator.isComplete);
  assert.equal(curator.values.length, ROWS);
  assert.ok(curator.values.every((value, i) => value === i));
}

test('an upload sends every row once, in order, and ends it', async () => {
  const curator = new FakeCurator();
  assert.equal(await upload(curator), ROWS);
  holdsAll(curator);
});

test('answers that are lost before and after a block is stored cost no row and double none', async () => {
  const curator = new FakeCurator(['stored', 'before', 'stored', 'after', 'before', 'complete', 'complete']);
  await upload(curator);
  holdsAll(curator);
  assert.equal(curator.waits, 7);
});

test('an upload goes on in the middle of a block', async () => {
  const curator = new FakeCurator();
  curator.values.push(...Array.from({length: 12_345}, (_, i) => i));
  await upload(curator);
  holdsAll(curator);
});

test('a file with fewer rows than there are is refused, and nothing is ended', async () => {
  const curator = new FakeCurator();
  curator.values.push(...Array.from({length: ROWS + 1}, (_, i) => i));
  await assert.rejects(upload(curator), /choose the file that the upload began with/);
  assert.ok(!curator.isComplete);
});

test('somebody else who uploads is noticed', async () => {
  const curator = new FakeCurator(['before']);
  curator.wait = async () => { curator.values.push(0, 1, 2); };
  await assert.rejects(upload(curator), /somebody else uploads/);
});

test('an error that does not pass ends the upload, and so does an abort', async () => {
  const curator = new FakeCurator();
  curator.append = async () => { throw new Error('refused'); };
  await assert.rejects(upload(curator), /refused/);
  const abort = new AbortController();
  const waiting = new FakeCurator(['before']);
  waiting.wait = async () => abort.abort(new Error('stopped'));
  await assert.rejects(upload(waiting, FILE, abort.signal), /stopped/);
});

test('calls stay small for wide tables', () => {
  assert.equal(rowsPerCall(1), 10_000);
  assert.equal(rowsPerCall(999), 250);
  assert.equal(rowsPerCall(1_000_000), 1);
});
