import assert from 'node:assert/strict';
import {afterEach, test} from 'node:test';
import {askNow, connection, noteAnswer, noteLost, setProbe} from './connection';

/** Probes that end when the test says so. */
class Probes {
  readonly signals: AbortSignal[] = [];
  readonly #ends: ((answered: boolean) => void)[] = [];

  readonly ask = (signal: AbortSignal): Promise<boolean> => {
    this.signals.push(signal);
    return new Promise(resolve => { this.#ends.push(resolve); });
  };

  async end(i: number, answered: boolean): Promise<void> {
    this.#ends[i]!(answered);
    await settled();
  }
}

// The tests say when a pause is over; Node 18 cannot mock timers.
const waiting = new Map<number, {call: () => void; milliseconds: number}>();
let timers = 0;
Object.assign(globalThis, {
  setTimeout: (call: () => void, milliseconds: number) => { waiting.set(++timers, {call, milliseconds}); return timers; },
  clearTimeout: (timer: number) => { waiting.delete(timer); },
});

async function settled(): Promise<void> {
  for (let i = 0; i < 10; ++i) await Promise.resolve();
}

/** Ends all pauses; returns how long they were. */
async function passPauses(): Promise<number[]> {
  const over = [...waiting.values()];
  waiting.clear();
  for (const {call} of over) call();
  await settled();
  return over.map(({milliseconds}) => milliseconds);
}

afterEach(async () => {
  noteAnswer();
  waiting.clear();
});

async function lose(): Promise<Probes> {
  const probes = new Probes();
  setProbe(probes.ask);
  noteLost();
  await passPauses();
  assert.equal(probes.signals.length, 1);
  return probes;
}

test('a lost connection is probed after growing pauses until there is an answer', async () => {
  const probes = await lose(), {epoch} = connection.get();
  await probes.end(0, false);
  assert.deepEqual(await passPauses(), [2000]);
  await probes.end(1, false);
  assert.deepEqual(await passPauses(), [4000]);
  await probes.end(2, true);
  assert.deepEqual(connection.get(), {lost: false, epoch: epoch + 1});
  assert.deepEqual(await passPauses(), []);
});

test('asking now during a probe gives it up and begins no second loop', async () => {
  const probes = await lose();
  askNow();
  assert.deepEqual(await passPauses(), [0]);
  assert.deepEqual(probes.signals.map(signal => signal.aborted), [true, false]);
  await probes.end(0, false);
  await probes.end(1, false);
  assert.deepEqual(await passPauses(), [2000]);
  assert.equal(probes.signals.length, 3);
  await probes.end(2, true);
});

test('a call that is lost during a probe begins no second loop', async () => {
  const probes = await lose();
  noteAnswer();
  noteLost();
  assert.deepEqual(await passPauses(), []);
  await probes.end(0, false);
  assert.equal((await passPauses()).length, 1);
  await probes.end(1, true);
});
