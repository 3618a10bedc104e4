// Signing in and out, roles, and a daemon that goes away and comes back.

'use strict';

const assert = require('node:assert');
const fs = require('node:fs');
const {after, before, test} = require('node:test');
const {Console, launch} = require('./support/browser');
const {Daemon, pause} = require('./support/daemon');
const {fill} = require('./support/tables');

let daemon, browser, shown;

before(async () => {
  daemon = await Daemon.start();
  await fill(daemon);
  browser = await launch([daemon]);
});

after(async () => {
  await browser?.close();
  await daemon?.remove();
});

const opened = async (options, act) => {
  shown = await Console.open(browser, daemon, options);
  try {
    await act(shown.page);
    assert.deepStrictEqual(shown.complaints, []);
  } catch (error) {
    await shown.picture('failed-session');
    throw error;
  } finally {
    await shown.close();
  }
};

test('a wrong token is refused in words, and the right one then works', () => opened({}, async page => {
  await page.getByLabel('Token').fill('coppice_0000000000000000000000000000000000000000000');
  await page.getByRole('button', {name: 'Sign in'}).click();
  await page.getByRole('alert').filter({hasText: /token is not known/}).waitFor();
  assert.strictEqual(await page.getByRole('navigation', {name: 'Main'}).count(), 0);
  await shown.signIn();
  await page.getByRole('link', {name: 'survey'}).waitFor();
}));

test('a role that is too low is told so, and nothing happens', () => opened({route: '#/studies/survey'}, async page => {
  await shown.signIn('analyst');
  await page.getByRole('button', {name: 'Seal …'}).click();
  await page.getByRole('dialog').getByRole('button', {name: 'Seal the study'}).click();
  const alert = page.getByRole('dialog').getByRole('alert');
  await alert.waitFor();
  assert.match(await alert.innerText(), /Your role does not allow this[^]*(admin|role)/);
  await page.keyboard.press('Escape');
  await page.getByRole('dialog').waitFor({state: 'detached'});
  assert.match(await shown.text(), /Takes reports/);
  assert.strictEqual((await daemon.call('StudyService/GetStudy', {name: 'studies/survey'})).body.study.state, 'STUDY_STATE_OPEN');
}));

test('a device has no pages, and is told why', () => opened({}, async page => {
  await shown.signIn('device');
  await page.getByRole('alert').filter({hasText: 'Your role does not allow this'}).waitFor();
}));

const tracesOf = page => page.evaluate(async () => {
  const fields = [...document.querySelectorAll('input,textarea')].map(field => field.value);
  const databases = await indexedDB.databases?.() ?? [];
  return JSON.stringify([document.documentElement.outerHTML, fields, location.href, history.state, document.cookie, name, document.title,
    {...localStorage}, {...sessionStorage}, databases, await caches.keys(), (await navigator.serviceWorker?.getRegistrations?.() ?? []).length,
    performance.getEntries().map(entry => entry.name)]);
});

test('the token is in no storage, address, page or log', () => opened({}, async page => {
  const token = daemon.tokens.admin, secret = token.replace(/^coppice_/, '');
  const urls = [];
  page.on('request', request => urls.push(request.url()));
  await shown.signIn();
  for (const route of [['studies'], ['studies', 'survey'], ['datasets'], ['models'], ['operations']]) {
    await shown.go(...route);
    assert.ok(!(await tracesOf(page)).includes(secret), `the token is on ${route.join('/')}`);
  }
  assert.ok(urls.length > 3 && !urls.join().includes(secret), 'the token is in an address');
  assert.deepStrictEqual(await shown.context.cookies(), []);
  assert.ok(daemon.log().includes(' call ') && !daemon.log().includes(secret), 'the token is in the log');
  // Before that, the trace would be found: the field has it while it is typed.
  await page.getByRole('button', {name: 'Sign out'}).click();
  await page.getByLabel('Token').fill(token);
  assert.ok((await tracesOf(page)).includes(secret), 'this test sees fields');
}));

/** How often `text` is in the memory of the page's scripts. */
async function timesInMemory(page, text) {
  const devtools = await page.context().newCDPSession(page), parts = [];
  devtools.on('HeapProfiler.addHeapSnapshotChunk', ({chunk}) => parts.push(chunk));
  await devtools.send('HeapProfiler.collectGarbage');
  await devtools.send('HeapProfiler.takeHeapSnapshot', {reportProgress: false});
  await devtools.detach();
  return parts.join('').split(text).length - 1;
}

test('signing out forgets, and so does a reload', () => opened({route: '#/studies'}, async page => {
  await shown.signIn();
  await page.getByRole('link', {name: 'survey'}).click();
  await page.getByRole('heading', {name: 'survey'}).waitFor();
  const secret = daemon.tokens.admin.replace(/^coppice_/, '');
  assert.ok(await timesInMemory(page, secret) > 0, 'this test sees the memory');
  const credentials = [];
  page.on('request', request => credentials.push(request.headers().authorization ?? ''));
  await page.getByRole('button', {name: 'Sign out'}).click();
  await page.getByLabel('Token').waitFor();
  credentials.length = 0;  // what was sent before
  assert.ok(!(await shown.text()).includes('Accepted reports'), 'the page still shows the study');
  assert.strictEqual(await page.getByLabel('Token').inputValue(), '');
  assert.strictEqual(await timesInMemory(page, secret), 0, 'the token is in memory still');
  await page.goBack();
  await pause(300);
  await page.getByLabel('Token').waitFor();
  await pause(6000);  // longer than a page that polls would wait
  assert.deepStrictEqual(credentials.filter(text => text !== ''), [], 'a call carried the token after signing out');
  await shown.signIn();
  await page.reload();
  await page.getByLabel('Token').waitFor();
}));

test('a token that is taken out of the policy ends the session', async () => {
  const policy = fs.readFileSync(daemon.file('policy.json'), 'utf8');
  await opened({route: '#/studies'}, async page => {
    await shown.signIn('trainer');
    await page.getByRole('link', {name: 'survey'}).click();
    await page.getByRole('heading', {name: 'survey'}).waitFor();
    const without = JSON.parse(policy);
    without.tokens = without.tokens.filter(({name}) => name !== 'the-trainer');
    fs.writeFileSync(daemon.file('policy.json'), JSON.stringify(without));
    daemon.process.kill('SIGHUP');
    await page.getByText('You were signed out').waitFor();
  });
  fs.writeFileSync(daemon.file('policy.json'), policy);
  daemon.process.kill('SIGHUP');
});

test('a daemon that dies and comes back: a banner, the page stays, and goes on by itself', () => opened({route: '#/studies/survey'}, async page => {
  await shown.signIn();
  await page.getByText('Accepted reports').waitFor();
  const banner = page.getByRole('status').filter({hasText: 'The daemon cannot be reached'});
  assert.strictEqual(await banner.count(), 0);
  shown.mayBeLost = true;
  await daemon.kill();
  await banner.waitFor();
  assert.ok((await banner.boundingBox()).height > 10, 'the banner is for everybody to see');
  assert.match(await shown.text(), /Accepted reports\s+400/);
  await daemon.serveAgain();
  await banner.waitFor({state: 'detached'});
  shown.mayBeLost = false;
  assert.match(await shown.text(), /Accepted reports\s+400/);
  await daemon.coppice(['study', 'seal', '--study', 'survey']);
  await shown.go('studies');
  await page.getByText('sealed').waitFor();
}));
