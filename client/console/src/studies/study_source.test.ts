import assert from 'node:assert/strict';
import {test} from 'node:test';
import {create} from '@bufbuild/protobuf';
import {ReportOutcome, StudySchema, StudyState} from 'proto/study_pb';
import {StudySource} from './study_source';

/** A daemon with studies, which counts what it is asked. */
class FakeDaemon {
  names: string[];
  received = 10n;
  state = StudyState.OPEN;
  now = 0;
  asked: string[] = [];

  constructor(names: string[]) {
    this.names = names;
  }

  #study(name: string) {
    return {name, state: this.state, received: this.received, counts: [{outcome: ReportOutcome.ACCEPTED, reports: this.received}]};
  }

  source(name: string): StudySource {
    return new StudySource(name, {
      get: async () => {
        this.asked.push('get');
        const alarms = this.received > 0n ? [{name: 'tree', value: Number(this.received)}] : [];
        return create(StudySchema, {...this.#study(name), terms: {study: name}, forest: {trees: [{}]}, alarms});
      },
      // The token is the last name of the page before, as no client may know.
      list: async ({pageSize, pageToken}) => {
        this.asked.push(`list ${pageSize}`);
        const after = this.names.filter(each => each > pageToken), page = after.slice(0, pageSize);
        return {studies: page.map(each => create(StudySchema, this.#study(each))), nextPageToken: after.length > page.length ? page.at(-1)! : ''};
      },
    }, () => this.now);
  }

  /** What was asked since the last call. */
  takeAsked(): string[] {
    return this.asked.splice(0);
  }
}

const SIGNAL = new AbortController().signal;
const MANY = Array.from({length: 250}, (_, i) => `studies/${String(i).padStart(3, '0')}`);

test('the trees of a study are sent once, and then what changes', async () => {
  const daemon = new FakeDaemon(MANY), source = daemon.source('studies/130');
  await source.load(SIGNAL);
  assert.deepEqual(daemon.takeAsked(), ['get']);
  daemon.received = 20n;
  const study = await source.load(SIGNAL);
  assert.deepEqual(daemon.takeAsked(), ['list 100', 'list 100', 'list 30']);
  assert.equal(study.received, 20n);
  assert.equal(study.counts[0]!.reports, 20n);
  assert.deepEqual([study.terms.study, study.forest!.trees.length, study.alarms[0]!.value], ['studies/130', 1, 10]);
  assert.equal((await source.load(SIGNAL)).name, 'studies/130');
  assert.deepEqual(daemon.takeAsked(), ['list 1']);
});

test('a study is found where others were made or deleted before it', async () => {
  for (const name of ['studies/000', 'studies/100', 'studies/249']) {
    const daemon = new FakeDaemon(MANY), source = daemon.source(name);
    for (const names of [MANY, ['studies/', ...MANY], [...MANY, `${name.slice(0, -1)}${Number(name.at(-1)) - 1}x`].sort(), [name]]) {
      daemon.names = names;
      for (let i = 0; i < 3; ++i) assert.equal((await source.load(SIGNAL)).name, name);
      const asked = daemon.takeAsked();
      assert.equal(asked.filter(each => each === 'get').length, names === MANY ? 1 : 0);
      assert.equal(asked.at(-1), 'list 1');
    }
  }
});

test('alarms are told anew after a minute, with the first report and when the state changes', async () => {
  const daemon = new FakeDaemon(['studies/a']), source = daemon.source('studies/a');
  daemon.received = 0n;
  await source.load(SIGNAL);
  daemon.received = 5n;
  assert.equal((await source.load(SIGNAL)).alarms[0]!.value, 5);
  daemon.received = 6n;
  assert.equal((await source.load(SIGNAL)).alarms[0]!.value, 5);
  assert.ok(!source.hasOldAlarms());
  daemon.now = 60_000;
  assert.ok(source.hasOldAlarms());
  assert.equal((await source.load(SIGNAL)).alarms[0]!.value, 6);
  assert.ok(!source.hasOldAlarms());
  daemon.state = StudyState.SEALED;
  daemon.received = 7n;
  const sealed = await source.load(SIGNAL);
  assert.deepEqual([sealed.state, sealed.alarms[0]!.value], [StudyState.SEALED, 7]);
});

test('what the list lacks is asked for by its name', async () => {
  const daemon = new FakeDaemon(['studies/a']), source = daemon.source('studies/a');
  await source.load(SIGNAL);
  daemon.names = [];
  await source.load(SIGNAL);
  assert.deepEqual(daemon.takeAsked(), ['get', 'list 100', 'get']);
});
