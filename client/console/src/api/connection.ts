// Whether the daemon can be reached. Calls report what they met; while the connection is lost, one small
// call probes again and again, and pages reload when it is back.

import {createStore} from './store';

const FIRST_PAUSE_MS = 1000, LONGEST_PAUSE_MS = 15_000;

export interface Connection {
  lost: boolean;
  /** Increases each time that the connection comes back. */
  epoch: number;
}

export const connection = createStore<Connection>({lost: false, epoch: 0});

/** Resolves to whether the daemon answers, with whatever answer. */
export type Probe = (signal: AbortSignal) => Promise<boolean>;

let probe: Probe | null = null;
let pause = FIRST_PAUSE_MS;
// At most one of these is set: the wait for the next probe, or the probe that runs.
let timer: ReturnType<typeof setTimeout> | null = null;
let running: AbortController | null = null;

export function setProbe(call: Probe): void {
  probe = call;
}

export function noteAnswer(): void {
  const {lost, epoch} = connection.get();
  if (!lost) return;
  if (timer !== null) clearTimeout(timer);
  timer = null;
  pause = FIRST_PAUSE_MS;
  connection.set({lost: false, epoch: epoch + 1});
}

export function noteLost(): void {
  const {lost, epoch} = connection.get();
  if (!lost) connection.set({lost: true, epoch});
  if (timer === null && running === null) askAfter(pause);
}

/** Probes at once instead of after the pause, and gives up a probe that has no answer yet. */
export function askNow(): void {
  if (timer !== null) clearTimeout(timer);
  running?.abort();
  running = null;
  pause = FIRST_PAUSE_MS;
  askAfter(0);
}

function askAfter(milliseconds: number): void {
  timer = setTimeout(() => void ask(), milliseconds);
}

async function ask(): Promise<void> {
  timer = null;
  const mine = running = new AbortController();
  const answered = probe !== null && await probe(mine.signal).catch(() => false);
  if (running !== mine) return; // askNow() goes on
  running = null;
  if (answered) return noteAnswer();
  if (!connection.get().lost) return;
  pause = Math.min(2 * pause, LONGEST_PAUSE_MS);
  askAfter(pause);
}

if (typeof window !== 'undefined') window.addEventListener('online', askNow);
