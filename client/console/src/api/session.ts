// Who is signed in. Only this module's memory holds the token: a reload forgets it.

import {createStore} from './store';

export type SessionState =
  | 'unknown'     // not asked yet
  | 'signed-out'  // the daemon requires a token
  | 'signed-in'   // with a token
  | 'open';       // the daemon has no policy, or a certificate identifies the browser

export interface Session {
  state: SessionState;
  /** Why a token is asked for, in words; empty the first time. */
  reason: string;
}

let token = '';

export const session = createStore<Session>({state: 'unknown', reason: ''});

/** The value of the authorization header, or null. */
export function authorization(): string | null {
  return token === '' ? null : `Bearer ${token}`;
}

export function keepToken(value: string): void {
  token = value;
}

export function signOut(reason = ''): void {
  token = '';
  session.set({state: 'signed-out', reason});
}
