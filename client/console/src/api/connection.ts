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

let probe: (() => Promise<boolean>) | null = null;
let pause = FIRST_PAUSE_MS;
let timer: ReturnType<typeof setTimeout> | null = null;

/** Sets the call that tells whether the daemon answers, with whatever answer. */
export function setProbe(call: () => Promise<boolean>): void {
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
  if (timer === null) timer = setTimeout(ask, pause);
}

/** Probes at once instead of after the pause. */
export function askNow(): void {
  if (timer !== null) clearTimeout(timer);
  pause = FIRST_PAUSE_MS;
  timer = setTimeout(ask, 0);
}

async function ask(): Promise<void> {
  const answered = probe !== null && await probe().catch(() => false);
  timer = null;
  if (answered) return noteAnswer();
  pause = Math.min(2 * pause, LONGEST_PAUSE_MS);
  if (connection.get().lost) timer = setTimeout(ask, pause);
}

if (typeof window !== 'undefined') window.addEventListener('online', askNow);
