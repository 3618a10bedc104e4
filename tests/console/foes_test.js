// What foes try through a browser: names that are markup, a daemon that lies, pages of other origins.

'use strict';

const assert = require('node:assert');
const crypto = require('node:crypto');
const fs = require('node:fs');
const http = require('node:http');
const https = require('node:https');
const path = require('node:path');
const {after, before, test} = require('node:test');
const {changeAnswers} = require('./support/answers');
const {Console, launch} = require('./support/browser');
const {Daemon, ROOT} = require('./support/daemon');
const {fill, writeTables} = require('./support/tables');

const SCRIPT = 'window.hacked = "ran"; document.title = "hacked"';
const MARKUP = [
  `<script>${SCRIPT}</script>`, `</script><script>${SCRIPT}</script>`, `<img src=x onerror='${SCRIPT}'>`, `"><svg onload='${SCRIPT}'>`,
  `javascript:${SCRIPT}`, '{{constructor.constructor("alert(1)")()}}', '<style>*{display:none}</style>', `<iframe srcdoc="<script>parent.${SCRIPT}</script>">`,
];
const TURNS = '\u202eevil\u202c\u2066\u200f\u061c';  // turns the reading direction
const LONG = 'x<b>'.repeat(2500);
// Characters that must not reach a reader as they are.
const UNSEEN = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f\u061c\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff]/;

const HOSTILE = {
  label: '</title><script>', classes: [MARKUP[0], `${TURNS}no`, LONG],
  features: [
    ...MARKUP.map((name, i) => ({name, type: 'numeric', min: 0, max: 1 + i})),
    {name: `${TURNS}age`, type: 'numeric', min: 0, max: 1, unit: '<u>'},
    {name: LONG, type: 'numeric', min: 0, max: 1},
    {name: '__proto__', type: 'categorical', values: ['constructor', 'toString', ...MARKUP.slice(0, 3), `${TURNS}value`]},
  ],
};

let daemon, withCertificate, browser, shown;

before(async () => {
  daemon = await Daemon.start();
  withCertificate = await Daemon.start({withCertificate: true});
  await fill(daemon);
  const tables = writeTables(daemon, HOSTILE, {public: 90, private: 150}, 'hostile-');
  await daemon.coppice(['study', 'create', '--study', 'hostile', '--public', tables.public, '--schema', tables.schema, '--epsilon', '4',
    '--mechanism', 'optimized_unary', '--depth', '5', '--trees', '3', '--min-leaf', '2']);
  await daemon.coppice(['collect', 'simulate', '--study', 'hostile', '--data', tables.private]);
  await daemon.coppice(['model', 'build', '--study', 'hostile', '--model', 'hostile']);
  await daemon.coppice(['dataset', 'create', '--dataset', 'hostile', '--data', tables.private, '--schema', tables.schema, '--epsilon-total', '10']);
  await daemon.coppice(['train', 'submit', '--dataset', 'hostile', '--algorithm', 'spe', '--epsilon', '2', '--job', 'hostile-job', '--wait']);
  browser = await launch([daemon, withCertificate]);
});

after(async () => {
  await browser?.close();
  await daemon?.remove();
  await withCertificate?.remove();
});

const opened = async (options, act) => {
  shown = await Console.open(browser, options.daemon ?? daemon, options);
  try {
    await act(shown.page);
  } catch (error) {
    await shown.picture('failed-foes');
    throw error;
  } finally {
    await shown.close();
  }
};

/** Nothing ran, nothing became an element, and the page is no wider than its window. */
async function assertHarmless(page, what) {
  const found = await page.evaluate(() => ({
    hacked: window.hacked, scripts: document.scripts.length, strange: document.querySelectorAll('#app :is(script,img,iframe[src],base,link,meta,style,object,embed,u)').length,
    width: document.documentElement.scrollWidth, window: window.innerWidth,
  }));
  assert.strictEqual(found.hacked, undefined, `${what}: a script ran`);
  assert.strictEqual(found.scripts, 1, `${what}: scripts`);
  assert.strictEqual(found.strange, 0, `${what}: markup became elements`);
  assert.ok(found.width <= found.window, `${what}: ${found.width} px wide`);
  const text = await page.locator('body').innerText();
  assert.doesNotMatch(text, UNSEEN, `${what}: unseen characters are shown as they are`);
  assert.ok((await page.title()) !== 'hacked' && !UNSEEN.test(await page.title()), `${what}: the title`);
}

const PAGES = [['studies'], ['studies', 'hostile'], ['studies', 'hostile', 'accuracy'], ['studies', 'hostile', 'trees'], ['studies', 'hostile', 'terms'],
  ['studies', '~new'], ['models'], ['models', 'hostile'], ['models', 'hostile-job'], ['datasets'], ['datasets', 'hostile'], ['operations']];

test('names that are markup, turn the direction or are long stay text', () => opened({}, async page => {
  await shown.signIn();
  for (const parts of PAGES) {
    await shown.go(...parts);
    await assertHarmless(page, parts.join('/'));
  }
  assert.deepStrictEqual(shown.complaints, []);
  await shown.go('studies', 'hostile', 'terms');
  const text = await shown.text();
  assert.ok(text.includes(MARKUP[0].slice(0, 40)), 'markup is shown as it is written');
  assert.ok(text.includes('\\u{202e}'), 'what turns the direction is shown as an escape');
  assert.ok(!text.includes(LONG), 'long names are cut');
}));

test('addresses that are markup, or of nothing, stay text', () => opened({}, async page => {
  await shown.signIn();
  for (const id of [...MARKUP, TURNS, LONG, '../../..', '%', 'a/b', '\u0000', '__proto__', 'constructor']) {
    for (const family of ['studies', 'models', 'datasets', id]) {
      await shown.go(family, id);
      await assertHarmless(page, `${family}/${id.slice(0, 40)}`);
    }
  }
  await page.evaluate(() => { location.hash = '#/studies/%E0%A4%A'; });  // no UTF-8
  await shown.settle();
  await assertHarmless(page, 'an address that cannot be decoded');
  assert.deepStrictEqual(shown.complaints, []);
}));

const LIES = {
  'a page instead of a message': {status: 200, contentType: 'text/html', body: `<script>${SCRIPT}</script>`},
  'bytes that are no message': {status: 200, contentType: 'application/proto', body: Buffer.from('ffffffffffffff', 'hex')},
  'half a message': {status: 200, contentType: 'application/proto', body: Buffer.from('0affffff7f', 'hex')},
  'nothing': {status: 200, contentType: 'application/proto', body: ''},
  'an error that is markup': {status: 400, contentType: 'application/json',
    body: JSON.stringify({code: 'invalid_argument', message: MARKUP.join(' ') + TURNS + LONG})},
  'an error of no known code': {status: 418, contentType: 'application/json', body: JSON.stringify({code: '<b>', message: null, details: 'x'})},
  'a proxy\'s error': {status: 502, contentType: 'text/html', body: '<h1>Bad gateway</h1>'},
  'another way': {status: 302, headers: {location: 'https://elsewhere.invalid/'}, body: ''},
};

for (const [lie, answer] of Object.entries(LIES)) {
  test(`a daemon that answers with ${lie}`, () => opened({}, async page => {
    await shown.signIn();
    await page.route('**/coppice.v1.*/Get*', route => route.fulfill(answer));
    await page.route('**/coppice.v1.*/List*', route => route.fulfill(answer));
    await page.route('**/coppice.v1.*/Watch*', route => route.fulfill(answer));
    for (const parts of [['datasets', 'job', 'second'], ['studies', 'survey'], ['models', 'survey-model'], ['datasets', 'patients'], ['operations'], ['models'], ['studies']]) {
      await shown.go(...parts);
      await page.waitForTimeout(100);
      await assertHarmless(page, `${lie}, ${parts.join('/')}`);
      assert.ok(await page.getByRole('heading', {level: 1}).count() === 1, 'the page has its heading still');
    }
    await page.unrouteAll({behavior: 'ignoreErrors'});
    await page.getByRole('link', {name: 'Models'}).click();
    await page.getByRole('link', {name: 'survey-model'}).first().waitFor();  // it goes on with an honest one
    assert.deepStrictEqual(shown.complaints.filter(text => text.startsWith('exception')), []);
  }));
}

test('trees that are no trees, and numbers that are none', () => opened({}, async page => {
  await changeAnswers(page, daemon, 'StudyService/GetStudy', ({study}) => {
    study.createdUnixSeconds = 9223372036854775807n;
    study.counts.forEach(each => { each.reports = 18446744073709551615n; each.outcome = 77; });
    study.alarms.forEach(alarm => Object.assign(alarm, {raised: true, value: NaN, text: MARKUP[2]}));
    study.state = 42;
    study.forest.trees.forEach((tree, i) => {
      if (i === 0) tree.kinds.fill(2);
      if (i === 1) tree.kinds.length = 1;
      if (i === 2) tree.features.fill(4294967295);
      tree.thresholds.fill(NaN);
    });
  });
  await shown.signIn();
  for (const part of [[], ['accuracy'], ['trees'], ['terms']]) {
    await shown.go('studies', 'survey', ...part);
    await assertHarmless(page, `a lie, ${part}`);
  }
  await shown.go('studies', 'survey', 'trees');
  for (let tree = 0; tree < 3; ++tree) {
    await assertHarmless(page, `tree ${tree}`);
    const next = page.getByRole('button', {name: 'Next'});
    if (await next.isEnabled()) await next.click();
  }
  assert.deepStrictEqual(shown.complaints, []);
}));

test('documents run no script, load nothing and lead nowhere', () => opened({}, async page => {
  const elsewhere = 'https://elsewhere.invalid/';
  const bad = `${MARKUP.join('')}<script src="${elsewhere}s.js"></script><img src="${elsewhere}i.png"><link rel="stylesheet" href="${elsewhere}c.css">
    <meta http-equiv="refresh" content="0;url=${elsewhere}"><base href="${elsewhere}"><form action="${elsewhere}" method="post"><button id="send">send</button></form>
    <a id="top" href="${elsewhere}" target="_top">top</a><a id="script" href="javascript:parent.hacked=1">script</a><p id="end">the end</p>
    <style>p{position:fixed}</style><iframe src="${elsewhere}"></iframe><object data="${elsewhere}"></object>`;
  await changeAnswers(page, daemon, 'StudyService/ForecastStudy', answer => {
    answer.forecast.page = answer.forecast.page.replace(/<meta[^>]*Content-Security-Policy[^>]*>/i, '').replace('</body>', `${bad}</body>`);
  });
  await shown.signIn();
  await shown.go('studies', 'survey', 'accuracy');
  await page.getByRole('button', {name: 'Forecast', exact: true}).click();
  await page.getByText('As a page to print').click();
  const frame = page.frameLocator('iframe');
  await frame.locator('#end').waitFor();
  assert.strictEqual(await page.locator('iframe').getAttribute('sandbox'), 'allow-same-origin allow-modals');
  for (const id of ['send', 'top', 'script']) await frame.locator(`#${id}`).evaluate(element => element.click());
  await page.waitForTimeout(500);
  assert.strictEqual(await page.evaluate(() => window.hacked), undefined);
  assert.strictEqual(await frame.locator('#end').evaluate(element => getComputedStyle(element).position), 'static', 'another style was taken');
  assert.ok(page.url().startsWith(daemon.origin), 'the page was led away');
  const asked = shown.complaints.filter(text => text.startsWith('request: '));
  assert.deepStrictEqual(asked.filter(text => !text.includes(elsewhere)), []);
  const {wentOut} = await page.evaluate(url => ({wentOut: performance.getEntriesByType('resource').some(entry => entry.name.startsWith(url))}), elsewhere);
  assert.ok(!wentOut);
  assert.notDeepStrictEqual(shown.complaints.filter(text => text.includes('refused') || text.includes('Content Security Policy') || text.includes('sandbox')), [],
    'the browser refused nothing: did the document arrive?');
}));

test('the policies are those that were agreed on, on every file', async () => {
  const style = crypto.createHash('sha256');
  for (const name of ['chart.css', 'page.css']) style.update(fs.readFileSync(path.join(ROOT, 'common/pages/style', name)));
  const policy = `default-src 'none'; script-src 'self'; style-src 'self' 'sha256-${style.digest('base64')}'; connect-src 'self'; img-src 'self' data:; `
    + "frame-ancestors 'none'; base-uri 'none'; form-action 'none'; require-trusted-types-for 'script'; trusted-types coppice";
  const files = fs.readdirSync(path.join(process.env.COPPICE_CONSOLE_DIR, 'assets')).filter(name => !name.endsWith('.gz')).map(name => `/assets/${name}`);
  assert.ok(files.length >= 3);
  for (const file of ['/', ...files]) {
    const {status, headers} = await daemon.send('GET', file);
    assert.strictEqual(status, 200, file);
    assert.strictEqual(headers['content-security-policy'], policy, file);
    assert.deepStrictEqual(['x-content-type-options', 'x-frame-options', 'referrer-policy', 'cross-origin-opener-policy', 'cross-origin-resource-policy',
      'set-cookie', 'access-control-allow-origin'].map(name => headers[name]), ['nosniff', 'DENY', 'no-referrer', 'same-origin', 'same-origin', undefined, undefined], file);
  }
  assert.strictEqual((await daemon.send('GET', '/')).headers['cache-control'], 'no-cache');
  const page = (await daemon.send('GET', '/')).body.toString();
  assert.doesNotMatch(page, /<style|<script(?![^>]*src=)|\son[a-z]+=|https?:\/\/(?!www\.w3\.org)/i);
});

// --- Pages of other origins ---

/** Serves `html` on 127.0.0.1, which is another site, and as https://localhost of another port, the same site. */
async function servePages(html) {
  const answer = (request, response) => response.writeHead(200, {'Content-Type': 'text/html; charset=utf-8'}).end(html);
  const servers = [http.createServer(answer), https.createServer({cert: fs.readFileSync(withCertificate.file('certs/server.crt')),
    key: fs.readFileSync(withCertificate.file('certs/server.key'))}, answer)];
  for (const server of servers) await new Promise(resolve => server.listen(0, '127.0.0.1', resolve));
  return {urls: [`http://127.0.0.1:${servers[0].address().port}/`, `https://localhost:${servers[1].address().port}/`],
    close: () => servers.forEach(server => { server.closeAllConnections?.(); server.close(); })};
}

/** Run by a page of another origin: every way that pages have to send something. What it could read. */
async function attack(curator) {
  const message = JSON.stringify({name: 'studies/target'});
  const url = method => `${curator}/coppice.v1.StudyService/${method}`;
  const outcomes = {};
  const attempt = async (name, act) => {
    outcomes[name] = await Promise.race([act().then(String, () => 'failed'), new Promise(resolve => setTimeout(resolve, 4000, 'failed'))]);
  };
  const post = (method, options) => fetch(url(method), {method: 'POST', body: message, credentials: 'include', ...options});
  for (const method of ['SealStudy', 'DeleteStudy']) {
    await attempt(`${method} as JSON`, () => post(method, {headers: {'Content-Type': 'application/json'}}).then(answer => answer.text()));
    await attempt(`${method} as JSON of nobody`, () => post(method, {credentials: 'omit', headers: {'Content-Type': 'application/json'}}).then(answer => answer.text()));
    await attempt(`${method} as text`, () => post(method, {headers: {'Content-Type': 'text/plain'}}).then(answer => answer.text()));
    await attempt(`${method} blindly`, () => post(method, {mode: 'no-cors', headers: {'Content-Type': 'text/plain'}}).then(answer => answer.text()).then(text => text || 'failed'));
    await attempt(`${method} by a beacon`, async () => { navigator.sendBeacon(url(method), new Blob([message], {type: 'text/plain'})); return 'failed'; });
    for (const enctype of ['text/plain', 'application/x-www-form-urlencoded', 'multipart/form-data']) {
      await attempt(`${method} by a form, ${enctype}`, () => new Promise((resolve, reject) => {
        const frame = Object.assign(document.createElement('iframe'), {name: `f${Math.random()}`, onload: () => {
          try { if (frame.contentDocument.body.innerText !== '') resolve(frame.contentDocument.body.innerText); } catch { reject(new Error()); }
        }});
        document.body.append(frame);
        const form = Object.assign(document.createElement('form'), {method: 'post', action: url(method), enctype, target: frame.name});
        // As text, {"name":"studies/target","a":"="} goes out.
        form.append(Object.assign(document.createElement('input'), {name: '{"name":"studies/target","a":"', value: '"}'}));
        document.body.append(form);
        form.submit();
      }));
    }
    await attempt(`${method} by GET`, () => fetch(`${url(method)}?encoding=json&connect=v1&message=${encodeURIComponent(message)}`, {credentials: 'include'}).then(answer => answer.text()));
  }
  await attempt('its page', () => fetch(`${curator}/`, {credentials: 'include'}).then(answer => answer.text()));
  await attempt('a frame of it', () => new Promise((resolve, reject) => {
    const frame = Object.assign(document.createElement('iframe'), {src: `${curator}/`, onload: () => {
      try { resolve(frame.contentDocument.title || 'failed'); } catch { resolve(frame.contentWindow.length === undefined ? 'shown' : 'failed'); }
    }});
    document.body.append(frame);
    setTimeout(reject, 3000);
  }));
  const popup = window.open(`${curator}/`);
  // The opener policy cuts the two apart once the page comes: the window looks closed to the page that opened it.
  for (let tries = 0; tries < 600 && popup !== null && !popup.closed; ++tries) await new Promise(resolve => setTimeout(resolve, 100));
  outcomes['a window of it'] = popup === null || popup.closed ? 'failed' : 'held';
  return outcomes;
}

for (const credential of ['a client certificate in the browser', 'a token in the console beside']) {
  test(`pages of other origins change and read nothing, with ${credential}`, async () => {
    const curator = credential.includes('certificate') ? withCertificate : daemon;
    const target = async () => (await curator.call('StudyService/GetStudy', {name: 'studies/target'})).body.study?.state;
    const tables = writeTables(curator, HOSTILE, {public: 60}, 'target-');
    await curator.coppice(['study', 'create', '--study', 'target', '--public', tables.public, '--schema', tables.schema, '--epsilon', '1', '--depth', '3']);
    // Playwright shows the certificate by a proxy of its own, whose authority Chromium does not know.
    const context = curator === daemon ? {} : {ignoreHTTPSErrors: true, clientCertificates: [
      {origin: curator.origin, certPath: curator.file('certs/client.crt'), keyPath: curator.file('certs/client.key')}]};
    const pages = await servePages('<!doctype html><title>another</title><body></body>');
    try {
      for (const url of pages.urls) {
        await opened({daemon: curator, context}, async page => {
          if (curator === daemon) await shown.signIn();
          await page.getByRole('link', {name: 'target'}).waitFor();  // the console itself may call
          const before = curator.calls().length;
          const other = await shown.context.newPage();
          await other.goto(url);
          for (const [name, outcome] of Object.entries(await other.evaluate(attack, curator.origin))) {
            assert.strictEqual(outcome, 'failed', `${url}: ${name}`);
          }
          for (const frame of other.frames().slice(1)) assert.strictEqual(await frame.locator('#app').count(), 0, 'the console is in a frame');
          const ran = curator.calls().slice(before).filter(line => !line.includes('/ListStudies'));  // the console's own
          assert.deepStrictEqual(ran, [], 'a call was run');
          assert.strictEqual(await target(), 'STUDY_STATE_OPEN');
        });
      }
    } finally {
      pages.close();
    }
  });
}
