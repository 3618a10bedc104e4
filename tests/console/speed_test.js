// How long the console lets people wait, on this machine: the first page, large forests, long ledgers. Prints what it
// measures. It checks what makes the pages quick on any machine, the sizes of files and the number of elements; the times
// themselves only with COPPICE_SPEED=1, on an idle machine.

'use strict';

const assert = require('node:assert');
const fs = require('node:fs');
const path = require('node:path');
const {after, before, test} = require('node:test');
const {answerCalls} = require('./support/answers');
const {Console, launch} = require('./support/browser');
const {Daemon} = require('./support/daemon');
const {fill, writeTables} = require('./support/tables');

const MOST_ASSET_BYTES = 300_000, FIRST_PAGE_MS = 1000, STEP_MS = 100;
const TREES = 64, LEAVES = 1000, ENTRIES = 10_000, MOST_ELEMENTS = 3000;

let daemon, browser;

before(async () => {
  daemon = await Daemon.start();
  await fill(daemon);
  browser = await launch([daemon]);
});

after(async () => {
  await browser?.close();
  await daemon?.remove();
});

const median = numbers => [...numbers].sort((a, b) => a - b)[Math.floor(numbers.length / 2)];
const assertQuick = (milliseconds, most) => assert.ok(process.env.COPPICE_SPEED !== '1' || milliseconds < most, `${milliseconds} ms`);
const report = (what, value) => console.log(`# ${what}: ${typeof value === 'number' ? value.toFixed(1) : value}`);

const opened = async (options, act) => {
  const shown = await Console.open(browser, daemon, options);
  try {
    await act(shown, shown.page);
    assert.deepStrictEqual(shown.complaints, []);
  } catch (error) {
    await shown.picture('failed-speed');
    throw error;
  } finally {
    await shown.close();
  }
};

/** Clicks `name` again and again; how long until the browser has drawn what follows, each time. */
const clickTimes = (page, name, times) => page.evaluate(async ([text, count]) => {
  const found = [];
  for (let i = 0; i < count; ++i) {
    const button = [...document.querySelectorAll('main button')].find(each => each.textContent === text && !each.disabled);
    if (button === undefined) break;
    const start = performance.now();
    button.click();
    await new Promise(resolve => requestAnimationFrame(() => setTimeout(resolve)));
    found.push(performance.now() - start);
    await new Promise(resolve => setTimeout(resolve, 30));
  }
  return found;
}, [name, times]);

test('all files together are small', () => {
  const assets = path.join(process.env.COPPICE_CONSOLE_DIR, 'assets');
  const sizes = [path.join(process.env.COPPICE_CONSOLE_DIR, 'index.html.gz'),
    ...fs.readdirSync(assets).filter(name => name.endsWith('.gz')).map(name => path.join(assets, name))].map(file => fs.statSync(file).size);
  const total = sizes.reduce((sum, size) => sum + size, 0);
  report('bytes of all files, compressed', total);
  assert.ok(sizes.length > 5 && total < MOST_ASSET_BYTES, `${total} bytes`);
});

test('the first page is small, and there within a second', async () => {
  const times = [];
  let bytes = 0;
  for (let i = 0; i < 3; ++i) {
    await opened({}, async (shown, page) => {
      await page.getByLabel('Token').waitFor();
      // The browser notes a paint a moment after the elements are there.
      await page.waitForFunction(() => performance.getEntriesByName('first-contentful-paint').length > 0);
      const found = await page.evaluate(() => ({paint: performance.getEntriesByName('first-contentful-paint')[0].startTime,
        entries: [...performance.getEntriesByType('navigation'), ...performance.getEntriesByType('resource')].map(entry => [entry.name, entry.encodedBodySize, entry.decodedBodySize])}));
      times.push(found.paint);
      bytes = found.entries.reduce((sum, [, size]) => sum + size, 0);
      const scripts = found.entries.filter(([name]) => name.endsWith('.js'));
      assert.ok(scripts.length > 0 && scripts.every(([, encoded, decoded]) => encoded < decoded), 'scripts come compressed');
    });
  }
  report('milliseconds to the first page, median of 3', median(times));
  report('bytes that the first page loads', bytes);
  assertQuick(median(times), FIRST_PAGE_MS);
});

test('a study of 64 trees with 1,000 leaves each is fluid', async () => {
  const wide = {label: 'class', classes: ['a', 'b', 'c'], features: Array.from({length: 12}, (_, i) => ({name: `feature-${i}`, type: 'numeric', min: 0, max: 1}))};
  const tables = writeTables(daemon, wide, {public: 6000, private: 300}, 'wide-');
  await daemon.coppice(['study', 'create', '--study', 'wide', '--public', tables.public, '--schema', tables.schema, '--epsilon', '4', '--mechanism', 'direct',
    '--split-rule', 'random_max_edge', '--depth', '16', '--trees', String(TREES), '--min-leaf', '3']);
  const {study} = (await daemon.call('StudyService/GetStudy', {name: 'studies/wide'})).body;
  const leaves = study.forest.trees.map(({kinds}) => kinds.filter(kind => kind === 'SPLIT_KIND_LEAF').length);
  report('leaves of a tree, median', median(leaves));
  assert.ok(leaves.length === TREES && median(leaves) >= LEAVES, `${leaves.length} trees of ${median(leaves)} leaves`);
  await daemon.coppice(['collect', 'simulate', '--study', 'wide', '--data', tables.private]);
  await daemon.coppice(['model', 'build', '--study', 'wide', '--model', 'wide', '--estimator', 'prune']);
  for (const route of [['studies', 'wide', 'trees'], ['models', 'wide', 'trees']]) {
    await opened({}, async (shown, page) => {
      await shown.signIn();
      await shown.go(...route);
      await page.getByRole('tree').waitFor();
      const steps = await clickTimes(page, 'Next', TREES - 1);
      assert.strictEqual(steps.length, TREES - 1, 'all trees were stepped through');
      report(`${route[0]}: milliseconds to step to another tree, median`, median(steps));
      report(`${route[0]}: the same, most`, Math.max(...steps));
      assertQuick(median(steps), STEP_MS);
      const all = await clickTimes(page, 'Open all', 1);
      report(`${route[0]}: milliseconds to open all of a tree`, all[0]);
      assertQuick(all[0], STEP_MS);
      const elements = await page.evaluate(() => document.querySelectorAll('*').length);
      report(`${route[0]}: elements in the page`, elements);
      assert.ok(elements < MOST_ELEMENTS, `${elements} elements`);
    });
  }
});

// The entries are made up: so many jobs would take an hour.
test('a ledger of 10,000 entries is fluid', () => opened({}, async (shown, page) => {
  const {dataset} = (await daemon.call('DatasetService/GetDataset', {name: 'datasets/patients'})).body;
  const entry = i => ({kind: i % 2 === 0 ? 'LEDGER_ENTRY_KIND_RESERVED' : 'LEDGER_ENTRY_KIND_SETTLED', unixSeconds: String(1_700_000_000 + i), job: `jobs/j${i >> 1}`,
    cost: {epsilonNanos: '100000'}, submitter: 'the-trainer', hash: Buffer.alloc(32, i).toString('base64'),
    releases: i % 2 === 0 ? [] : [{what: 'counts of leaves', mechanism: 'discrete Laplace', epsilonNanos: '100000', times: '1'}]});
  let asked = 0;
  await answerCalls(page, 'DatasetService/GetDataset', request => {
    const first = Number(request.firstEntry ?? 0), most = Number(request.maxEntries ?? 0) || ENTRIES;
    asked = Math.max(asked, most);
    return {dataset: {...dataset, ledgerEntries: String(ENTRIES), ledger: Array.from({length: Math.max(0, Math.min(most, ENTRIES - first))}, (_, i) => entry(first + i))}};
  });
  await shown.signIn();
  await shown.go('datasets', 'patients');
  await page.getByText(/of 10,000 entries/).waitFor();
  const times = [];
  for (const name of ['Next', 'Next', 'Last', 'Previous', 'First']) {
    const start = Date.now(), before = await page.getByText(/of 10,000 entries/).innerText();
    await page.getByRole('navigation', {name: /Pages of/}).getByRole('button', {name, exact: true}).click();
    await page.waitForFunction(text => [...document.querySelectorAll('main .pager span')].some(each => /of 10,000/.test(each.textContent) && each.textContent !== text), before);
    times.push(Date.now() - start);
  }
  report('milliseconds to another page of 10,000 entries, median', median(times));
  assertQuick(median(times), STEP_MS + 500);
  assert.ok(asked <= 200, `the page asked for ${asked} entries at once`);
  const elements = await page.evaluate(() => document.querySelectorAll('*').length);
  report('elements in the page', elements);
  assert.ok(elements < MOST_ELEMENTS, `${elements} elements`);
}));
