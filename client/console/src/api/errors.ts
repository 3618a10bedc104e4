// Says in words what went wrong, and what to do about it.

import {Code, ConnectError} from '@connectrpc/connect';
import {InputError} from '../rows/errors';

export interface Explained {
  title: string;
  /** What the daemon said, or the browser. */
  text: string;
  /** What to do; may be empty, if the text says it. */
  advice: string;
}

/** Whether the daemon gave no answer at all. */
export function isLost(error: ConnectError): boolean {
  // connect-web turns a failed fetch into Unknown, with the browser's own error as its cause.
  return error.code === Code.Unavailable || (error.code === Code.Unknown && error.cause instanceof TypeError);
}

/** Whether the same call may succeed in a moment: a stream broke, or a daemon restarts. */
export function isPassing(error: unknown): boolean {
  const failure = ConnectError.from(error);
  return isLost(failure) || failure.code === Code.Unknown || failure.code === Code.DeadlineExceeded || failure.code === Code.Aborted;
}

/** Whether the daemon is older than this console and lacks the call. */
export function isUnimplemented(error: unknown): boolean {
  const failure = ConnectError.from(error);
  return failure.code === Code.Unimplemented || failure.rawMessage.startsWith('there is no such method here');
}

export function isNotFound(error: unknown): boolean {
  return ConnectError.from(error).code === Code.NotFound;
}

export function isCanceled(error: unknown): boolean {
  return ConnectError.from(error).code === Code.Canceled || (error instanceof DOMException && error.name === 'AbortError');
}

/** The daemon's messages begin in lower case and end without a full stop. */
function asSentence(text: string): string {
  const begun = text.charAt(0).toUpperCase() + text.slice(1);
  return /[.!?]$/.test(begun) || begun === '' ? begun : `${begun}.`;
}

export function explain(error: unknown): Explained {
  if (error instanceof InputError) return {title: '1 thing is wrong with the table', text: asSentence(error.message), advice: ''};
  if (error instanceof Error && !(error instanceof ConnectError) && !(error instanceof TypeError)) {
    return {title: 'This did not work', text: asSentence(error.message), advice: ''};
  }
  const failure = ConnectError.from(error);
  if (isLost(failure)) {
    return {title: 'The daemon cannot be reached', text: failure.rawMessage,
      advice: 'The console asks again by itself. Check that coppiced runs, and that you are on its network.'};
  }
  if (isUnimplemented(failure)) {
    return {title: 'This daemon does not know the call', text: 'It is older than this console, or a part of it is turned off.',
      advice: 'Bring coppiced up to date; the rest of the console works.'};
  }
  if (failure.code === Code.Unauthenticated && /showed no token|certificate has none/.test(failure.rawMessage)) {
    return {title: 'This needs a token', text: asSentence(failure.rawMessage), advice: 'Sign in with a token of that role: the button is at the top.'};
  }
  return {title: TITLES[failure.code] ?? 'The daemon refused', text: asSentence(failure.rawMessage), advice: ADVICE[failure.code] ?? ''};
}

const TITLES: Partial<Record<Code, string>> = {
  [Code.InvalidArgument]: 'The daemon cannot use this',
  [Code.NotFound]: 'There is no such thing',
  [Code.AlreadyExists]: 'The name is taken',
  [Code.PermissionDenied]: 'Your role does not allow this',
  [Code.Unauthenticated]: 'The daemon did not take the token',
  [Code.FailedPrecondition]: 'Not now',
  [Code.ResourceExhausted]: 'A limit is reached',
  [Code.DeadlineExceeded]: 'It took too long',
  [Code.Aborted]: 'Somebody else was faster',
  [Code.DataLoss]: 'Data is damaged',
  [Code.Internal]: 'The daemon failed',
};

const ADVICE: Partial<Record<Code, string>> = {
  [Code.DeadlineExceeded]: 'Try again; a smaller request takes less time.',
  [Code.Aborted]: 'Load the page again and look before you repeat it.',
  [Code.Internal]: 'The daemon\'s log has more, under the time of this call.',
  [Code.DataLoss]: 'The operator should look at the daemon\'s log: docs/operating.md says what to do.',
};
