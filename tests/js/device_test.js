// The package in Node, with its journal in a folder, on a real daemon with TLS. How many reports the curator counted shows
// whether a device answered twice: each randomization has a ticket of its own.

'use strict';

const assert = require('node:assert');
const {spawn} = require('node:child_process');
const fs = require('node:fs');
const path = require('node:path');
const {after, before, test} = require('node:test');
const {pathToFileURL} = require('node:url');
const {countReports, createStudy, startDaemon} = require('./survey');

const LONG = process.env.COPPICE_LONG === '1';
const ROW = {age: 40, sleep: 6.5, exercise: 'weekly', smokes: 'no', stressed: 'yes'};

let daemon;
let journals = 0;

before(async () => {
  daemon = await startDaemon();
});
after(() => daemon?.remove());

const newFolder = () => daemon.file(`journal-${++journals}`);

/** Starts a visitor; `lines` are those that it prints, and `ended` says how it ended. */
function start(options) {
  const child = spawn(process.execPath, [path.join(__dirname, 'visitor.mjs'),
    JSON.stringify({curator: daemon.curator, key: daemon.key, row: ROW, ...options})],
    {env: {...process.env, NODE_EXTRA_CA_CERTS: daemon.file('certs/ca.crt')}, stdio: ['ignore', 'pipe', 'inherit']});
  const visitor = {child, text: ''};
  child.stdout.on('data', part => { visitor.text += part; });
  visitor.ended = new Promise(resolve => child.once('close', (code, signal) => resolve({code, signal})));
  return visitor;
}

async function visit(options) {
  const visitor = start(options);
  const {signal} = await visitor.ended;
  if (signal === 'SIGKILL') return null;
  return JSON.parse(visitor.text.trim().split('\n').at(-1));
}

test('a device answers, remembers that it did, and does not answer again', async () => {
  await createStudy(daemon, 'once');
  const folder = newFolder();
  const first = await visit({folder, study: 'once'});
  assert.deepStrictEqual([first.answer.code, first.answeredNow, first.delivered], ['ok', true, 1]);
  assert.deepStrictEqual([first.state.spentEpsilon, first.state.leftEpsilon, first.state.waiting, first.studies], [1, 7, 0, ['once']]);
  const second = await visit({folder, study: 'once'});
  assert.deepStrictEqual([second.answer.code, second.answeredNow, second.delivered], ['ok', false, 0]);
  assert.strictEqual(await countReports(daemon, 'once'), 1);
});

test('killed before or after any write or call, it answers once', async () => {
  await createStudy(daemon, 'killed');
  const {events} = await visit({folder: newFolder(), study: 'killed'});
  assert.ok(events >= 8, `${events} events`);
  for (let stopAt = 0; stopAt < events; ++stopAt) {
    const folder = newFolder();
    assert.strictEqual(await visit({folder, study: 'killed', stopAt}), null);
    const later = await visit({folder, study: 'killed'});
    assert.deepStrictEqual([stopAt, later.answer.code, later.state.waiting, later.state.answers], [stopAt, 'ok', 0, 1]);
  }
  assert.strictEqual(await countReports(daemon, 'killed'), 1 + events);
});

test('of two processes over one journal one answers, and the other is told', async () => {
  await createStudy(daemon, 'two');
  const folder = newFolder(), waitFor = daemon.file('go');
  const both = [start({folder, study: 'two', waitFor}), start({folder, study: 'two', waitFor})];
  while (both.some(({child, text}) => child.exitCode === null && !text.includes('open'))) await new Promise(resolve => setTimeout(resolve, 20));
  fs.writeFileSync(waitFor, '');
  await Promise.all(both.map(({ended}) => ended));
  const outcomes = both.map(({text}) => JSON.parse(text.trim().split('\n').at(-1)));
  const refused = outcomes.filter(({error}) => error !== undefined);
  assert.strictEqual(refused.length, 1, JSON.stringify(outcomes));
  assert.match(refused[0].message, /another page or process wrote/);
  const after = await visit({folder, study: 'two'});
  assert.deepStrictEqual([after.answer.code, after.answeredNow], ['ok', false]);
  assert.strictEqual(await countReports(daemon, 'two'), 1);
});

// A write that is refused, one of which nobody learns that it was kept, or a call that is lost on its way there or back.
test('faults of storage and network at random moments never make it answer twice', async () => {
  const schedules = LONG ? 1000 : 40;
  await createStudy(daemon, 'faults');
  const child = spawn(process.execPath, [path.join(__dirname, 'faults.mjs'), JSON.stringify(
    {curator: daemon.curator, key: daemon.key, study: 'faults', row: ROW, schedules, seed: Number(process.env.COPPICE_SEED ?? Date.now())})],
    {env: {...process.env, NODE_EXTRA_CA_CERTS: daemon.file('certs/ca.crt')}, stdio: ['ignore', 'inherit', 'inherit']});
  assert.strictEqual(await new Promise(resolve => child.once('close', resolve)), 0);
  assert.strictEqual(await countReports(daemon, 'faults'), schedules);
});

test('an opted-out device asks nothing, and a policy is not exceeded', async () => {
  await createStudy(daemon, 'declined', '5');
  const {CoppiceError, Device} = await import(pathToFileURL(path.join(process.env.COPPICE_JS_DIR, 'dist/coppice-device.js')));
  const {FolderJournal} = await import(pathToFileURL(path.join(process.env.COPPICE_JS_DIR, 'dist/node.js')));
  const folder = newFolder();
  const open = async () => Device.open({journal: await FolderJournal.open(folder), curatorKey: daemon.key});
  const calls = [];
  const carrier = {carry: async call => {
    calls.push(call.method);
    throw new CoppiceError('unavailable', 'nobody is asked here');
  }};
  let device = await open();
  await device.optOut();
  device.close();
  device = await open();
  assert.strictEqual((await device.state()).optedOut, true);
  await assert.rejects(device.visit({curator: daemon.curator, study: 'declined', row: ROW, carrier}), {code: 'failed_precondition'});
  assert.deepStrictEqual(calls, []);
  await device.optOut(false);
  await device.visit({curator: daemon.curator, study: 'declined', row: ROW, carrier});
  assert.strictEqual(calls.length, 1);
  await assert.rejects(device.giveUp('declined'), {code: 'not_found'});
  const above = await visit({folder: newFolder(), study: 'declined'});
  assert.deepStrictEqual([above.answer.code, above.state.answers], ['failed_precondition', 0]);
  assert.strictEqual(await countReports(daemon, 'declined'), 0);
});
