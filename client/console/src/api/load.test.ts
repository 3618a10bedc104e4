import assert from 'node:assert/strict';
import {afterEach, test} from 'node:test';
import {h, options, render} from 'preact';
import {useLoad, type Loaded} from './load';

// All that Preact asks of a document for a component that draws nothing.
Object.assign(globalThis, {document: {}});
options.requestAnimationFrame = call => { setTimeout(call); };
const place = {childNodes: [], firstChild: null, namespaceURI: 'http://www.w3.org/1999/xhtml'} as unknown as Element;

interface Call {
  dep: string;
  signal: AbortSignal;
  end: (data: string) => void;
}

/** A component that loads, with loads that end when the test says so. */
class Page {
  readonly calls: Call[] = [];
  loaded!: Loaded<string>;

  readonly #Component = ({dep}: {dep: string}) => {
    this.loaded = useLoad(signal => new Promise<string>(end => { this.calls.push({dep, signal, end}); }), [dep]);
    return null;
  };

  async show(dep: string): Promise<void> {
    render(h(this.#Component, {dep}), place);
    await drawn();
  }
}

/** Waits until what was set is drawn and its effects have run. */
async function drawn(): Promise<void> {
  for (let i = 0; i < 5; ++i) await new Promise(resolve => setTimeout(resolve));
}

afterEach(() => render(null, place));

test('what replaces the data is not overwritten by a load that began before', async () => {
  const page = new Page();
  await page.show('a');
  page.calls[0]!.end('first');
  await drawn();
  page.loaded.reload();
  await drawn();
  assert.equal(page.calls.length, 2);
  page.loaded.replace('changed');
  await drawn();
  assert.ok(page.calls[1]!.signal.aborted);
  page.calls[1]!.end('as it was before');
  await drawn();
  assert.equal(page.loaded.data, 'changed');
  assert.equal(page.loaded.loading, false);
});

test('a load that begins after the data was replaced is taken', async () => {
  const page = new Page();
  await page.show('a');
  page.loaded.replace('changed');
  page.loaded.reload();
  await drawn();
  page.calls[1]!.end('as it is now');
  await drawn();
  assert.equal(page.loaded.data, 'as it is now');
});

test('what replaces the data of other deps changes nothing', async () => {
  const page = new Page();
  await page.show('a');
  const {replace} = page.loaded;
  await page.show('b');
  replace('of a');
  page.calls[1]!.end('of b');
  await drawn();
  assert.deepEqual([page.calls[1]!.dep, page.loaded.data], ['b', 'of b']);
});
