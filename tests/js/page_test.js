// The sample page in headless Chromium, from an empty profile to opting out, on a real daemon with TLS.

'use strict';

const assert = require('node:assert');
const {execFileSync} = require('node:child_process');
const crypto = require('node:crypto');
const fs = require('node:fs');
const https = require('node:https');
const path = require('node:path');
const {after, before, test} = require('node:test');
const {chromium} = require('playwright-core');
const {countReports, createStudy, startDaemon} = require('./survey');

const LONG = process.env.COPPICE_LONG === '1';
const STEP_MS = 300_000; // the machines that test are slow and busy
const TYPES = {'.html': 'text/html; charset=utf-8', '.js': 'text/javascript', '.mjs': 'text/javascript', '.css': 'text/css'};
const VECTORS = path.resolve(__dirname, '../vectors');
const FOLDER = path.join(process.env.COPPICE_JS_DIR, 'sample');

let daemon, server, origin, spki;
let served = (name, text) => text; // what the pages' server makes of a file
let profiles = 0;
const contexts = [];

function serve(request, answer) {
  const {pathname, searchParams} = new URL(request.url, 'https://localhost');
  const name = pathname === '/' ? 'index.html' : pathname.slice(1);
  const folder = {'/test': path.join(process.env.COPPICE_JS_DIR, 'test'), '/check': __dirname, '/vectors': VECTORS}[path.dirname(pathname)];
  const file = path.join(folder ?? FOLDER, path.basename(name));
  if (!fs.existsSync(file)) {
    answer.writeHead(404).end();
    return;
  }
  if (folder !== undefined) {
    const type = TYPES[path.extname(name)] ?? 'application/octet-stream';
    answer.writeHead(200, {'Content-Type': type}).end(fs.readFileSync(file));
    return;
  }
  let text = fs.readFileSync(file, 'utf8');
  if (name === 'index.html') {
    text = text.replaceAll('CURATOR', daemon.curator).replace('KEY', daemon.key).replace('STUDY', searchParams.get('study'));
  }
  answer.writeHead(200, {'Content-Type': TYPES[path.extname(name)], 'Cache-Control': 'no-store'}).end(served(name, text));
}

before(async () => {
  // The pages' own server, whose origin the daemon allows. A port is needed before the daemon is started.
  server = https.createServer(serve);
  await new Promise(resolve => server.listen(0, '127.0.0.1', resolve));
  origin = `https://localhost:${server.address().port}`;
  daemon = await startDaemon(['--http-allow-origin', origin]);
  const cert = fs.readFileSync(daemon.file('certs/server.crt'));
  server.setSecureContext({cert, key: fs.readFileSync(daemon.file('certs/server.key'))});
  spki = crypto.createHash('sha256').update(new crypto.X509Certificate(cert).publicKey.export({type: 'spki', format: 'der'})).digest('base64');
});
after(async () => {
  for (const context of contexts) await context.close().catch(() => undefined); // of tests that failed
  server?.closeAllConnections();
  server?.close();
  await daemon?.remove();
});

const newProfile = () => daemon.file(`profile-${++profiles}`);

/** Chromium with a profile on disk, and what its pages complained of. */
async function launch(profile) {
  const context = await chromium.launchPersistentContext(profile, {
    executablePath: execFileSync('sh', ['-c', 'command -v chromium'], {encoding: 'utf8'}).trim(), locale: 'en-GB',
    args: [`--ignore-certificate-errors-spki-list=${spki}`, '--disable-gpu', '--disable-quic', '--disable-dev-shm-usage',
      '--disable-background-networking', '--disable-component-update'],
  });
  context.setDefaultTimeout(STEP_MS);
  contexts.push(context);
  context.complaints = [];
  context.on('console', message => {
    if (message.type() === 'error' && !/Failed to load resource/.test(message.text())) context.complaints.push(message.text());
  });
  context.on('weberror', error => context.complaints.push(String(error.error())));
  return context;
}

/** Ends the browser as a crash does: its lock in the profile names the process. */
async function kill(context, profile) {
  const pid = Number(fs.readlinkSync(path.join(profile, 'SingletonLock')).split('-').at(-1));
  process.kill(pid, 'SIGKILL');
  await context.close().catch(() => undefined);
  for (const name of ['SingletonLock', 'SingletonSocket', 'SingletonCookie']) fs.rmSync(path.join(profile, name), {force: true});
}

async function ready(page) {
  await page.locator('body[data-ready=yes]').waitFor();
}

async function open(context, study) {
  const page = await context.newPage();
  await page.goto(`${origin}/?study=${study}`);
  await ready(page);
  return page;
}

async function fill(page) {
  await page.getByLabel('How old').fill('44');
  await page.getByLabel('hours').fill('6.5');
  await page.getByLabel('exercise').selectOption('weekly');
  await page.getByLabel('smoke').selectOption('no');
  await page.getByLabel('stressed').selectOption('yes');
}

async function answer(page) {
  await fill(page);
  await page.getByRole('button', {name: 'Answer'}).click();
  await ready(page);
}

const problem = async page => (await page.getByRole('alert').isVisible() ? page.getByRole('alert').innerText() : '');
const left = page => page.locator('#left').innerText();

test('from an empty profile through answer, kill and reload to opting out', async () => {
  await createStudy(daemon, 'whole');
  const profile = newProfile();
  let context = await launch(profile);
  let page = await open(context, 'whole');
  assert.strictEqual(await problem(page), '');
  assert.match(await page.locator('#asked').innerText(), /ε = 1\b.* 2\.72 times/);
  assert.match(await page.locator('#kept').innerText(), /remember|forget/);
  assert.strictEqual(await left(page), '4');
  // The report is made and journaled, but does not get through; then the browser is killed.
  await page.route('**/SubmitReports', route => route.abort());
  const lost = page.waitForEvent('requestfailed', request => request.url().endsWith('/SubmitReports'));
  await fill(page);
  await page.getByRole('button', {name: 'Answer'}).click();
  await lost;
  await kill(context, profile);
  assert.strictEqual(await countReports(daemon, 'whole'), 0);

  context = await launch(profile);
  page = await open(context, 'whole');
  assert.strictEqual(await problem(page), '');
  assert.strictEqual(await countReports(daemon, 'whole'), 1, 'what waited was delivered');
  assert.strictEqual(await left(page), '3');
  assert.match(await page.locator('#history').innerText(), /“whole”, for ε = 1: sent/);
  assert.ok(await page.getByRole('button', {name: 'Answer'}).isDisabled());
  await page.reload();
  await ready(page);
  assert.strictEqual(await countReports(daemon, 'whole'), 1);

  // The journal holds nothing of the row, and after delivery nothing that was sent.
  await page.getByRole('button', {name: 'Opt out'}).click();
  await page.getByRole('button', {name: 'Opt in again'}).waitFor();
  await createStudy(daemon, 'after');
  page = await open(context, 'after');
  assert.match(await page.locator('#opted').innerText(), /You opted out/);
  assert.ok(await page.getByRole('button', {name: 'Answer'}).isDisabled());
  await page.getByRole('button', {name: 'Opt in again'}).click();
  await page.getByRole('button', {name: 'Opt out'}).waitFor();
  await ready(page);
  await answer(page);
  assert.strictEqual(await problem(page), '');
  assert.strictEqual(await left(page), '2');
  assert.strictEqual(await countReports(daemon, 'after'), 1);
  assert.deepStrictEqual(context.complaints, []);
  await context.close();
});

test('killed at each call, a browser answers once', async () => {
  await createStudy(daemon, 'calls');
  const methods = ['GetOffer', 'GetCuratorKeys', 'SubmitReports'];
  const moments = Array(LONG ? 9 : 1).fill(['before', 'after']).flat();
  for (const method of methods) {
    for (const when of moments) {
      const profile = newProfile();
      let context = await launch(profile);
      const page = await open(context, 'calls');
      // "before": the call does not get through; "after": its answer has.
      const isIt = request => request.url().endsWith(`/${method}`);
      if (when === 'before') await page.route(`**/${method}`, () => undefined);
      const reached = when === 'before' ? page.waitForRequest(isIt) : page.waitForResponse(response => isIt(response.request()));
      await fill(page);
      await page.getByRole('button', {name: 'Answer'}).click();
      await reached;
      await kill(context, profile);
      context = await launch(profile);
      const again = await open(context, 'calls');
      if (await again.getByRole('button', {name: 'Answer'}).isEnabled()) await answer(again);
      assert.strictEqual(await left(again), '3', `${method} ${when}`);
      await context.close();
    }
  }
  assert.strictEqual(await countReports(daemon, 'calls'), moments.length * methods.length);
});

test('of two tabs one answers', async () => {
  await createStudy(daemon, 'tabs');
  const context = await launch(newProfile());
  const pages = [await open(context, 'tabs'), await open(context, 'tabs')];
  for (const page of pages) await fill(page);
  for (const page of pages) await page.evaluate(() => delete document.body.dataset.ready);
  await Promise.all(pages.map(page => page.evaluate(() => document.querySelector('form').requestSubmit())));
  await Promise.all(pages.map(ready));
  const told = await Promise.all(pages.map(problem));
  assert.strictEqual(told.filter(text => /another page or process wrote/.test(text)).length, 1, String(told));
  assert.strictEqual(await countReports(daemon, 'tabs'), 1);
  for (const page of pages) {
    await page.reload();
    await ready(page);
    assert.strictEqual(await left(page), '3');
  }
  assert.strictEqual(await countReports(daemon, 'tabs'), 1);
  await context.close();
});

test('a page that was put away and comes back does not write over what others wrote', async () => {
  await createStudy(daemon, 'away');
  const context = await launch(newProfile());
  const page = await open(context, 'away');
  await page.evaluate(() => dispatchEvent(new PageTransitionEvent('pagehide', {persisted: true})));
  await answer(page);
  assert.match(await problem(page), /closed|open the device again/);
  assert.strictEqual(await countReports(daemon, 'away'), 0);
  await answer(page); // the page opened its device anew
  assert.strictEqual(await problem(page), '');
  assert.strictEqual(await countReports(daemon, 'away'), 1);
  await context.close();
});

test('without storage nothing is asked and nothing is answered', async () => {
  await createStudy(daemon, 'refused');
  const context = await launch(newProfile());
  await context.addInitScript(() => {
    Object.defineProperty(globalThis, 'indexedDB', {value: undefined});
  });
  const asked = [];
  context.on('request', request => {
    if (request.url().startsWith(daemon.curator)) asked.push(request.url());
  });
  const page = await open(context, 'refused');
  assert.match(await problem(page), /gives this page no storage/);
  assert.ok(await page.getByRole('button', {name: 'Answer'}).isDisabled());
  assert.deepStrictEqual(asked, []);
  await context.close();
});

test('a library that is not the pinned one does not run', async () => {
  await createStudy(daemon, 'pinned');
  served = (name, text) => (name === 'coppice-device.js' ? `${text}\n// changed` : text);
  const context = await launch(newProfile());
  const page = await context.newPage();
  const refused = page.waitForEvent('console', message => /integrity/.test(message.text()));
  await page.goto(`${origin}/?study=pinned`);
  await refused;
  served = (_name, text) => text;
  assert.strictEqual(await page.locator('body[data-ready=yes]').count(), 0);
  await context.close();
});

test('all vectors hold in a page', async () => {
  const context = await launch(newProfile());
  const page = await context.newPage();
  await page.goto(`${origin}/check/check_vectors.mjs`); // of this origin, and without the sample's policy
  const wrong = await page.evaluate(async names => {
    const [{makeChecker}, imports, wasm] = await Promise.all([import('/check/check_vectors.mjs'), import('/test/crypto.js'),
      fetch('/test/checks.wasm').then(answer => answer.arrayBuffer())]);
    const check = await makeChecker(wasm, imports);
    const wrong = [];
    let all = 0;
    for (const name of names) {
      const found = check(name, await (await fetch(`/vectors/${name}`)).text());
      all += found.cases;
      wrong.push(...found.wrong);
    }
    return all < 15 * names.length ? ['too few cases'] : wrong;
  }, fs.readdirSync(VECTORS).filter(name => name.endsWith('.json')));
  assert.deepStrictEqual(wrong, []);
  await context.close();
});

// Reported, and asserted nowhere: machines differ.
test('what a report costs', async () => {
  await createStudy(daemon, 'cost');
  const context = await launch(newProfile());
  const page = await open(context, 'cost');
  const costs = await page.evaluate(async ({curator, key}) => {
    const {ConnectCarrier, Device} = await import('./coppice-device.js');
    const inner = new ConnectCarrier(curator);
    const costs = [];
    for (let i = 0; i < 20; ++i) {
      let waited = 0;
      const outside = async work => {
        const begin = performance.now();
        const result = await work();
        waited += performance.now() - begin;
        return result;
      };
      let kept = [];
      const journal = {read: async () => new Uint8Array(), close: () => undefined, write: async write => void kept.push(write)};
      const device = await Device.open({journal, curatorKey: key});
      const begin = performance.now();
      await device.visit({curator, study: 'cost', carrier: {carry: call => outside(() => inner.carry(call))}, row: {age: 40, stressed: 'yes'}});
      costs.push(performance.now() - begin - waited);
      device.close();
    }
    return costs;
  }, {curator: daemon.curator, key: daemon.key});
  const sorted = [...costs.slice(1)].sort((a, b) => a - b);
  console.log(`a report takes ${costs[0].toFixed(1)} ms at first, then ${sorted[9].toFixed(1)} (median; ${sorted[0].toFixed(1)} to ${sorted[18].toFixed(1)}), without network`);
  await context.close();
});
