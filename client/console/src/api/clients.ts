// The daemon's services, typed: `studies.listStudies({})`. Calls carry the token of the session.

import {Code, ConnectError, createClient, type Interceptor} from '@connectrpc/connect';
import {createConnectTransport} from '@connectrpc/connect-web';
import {AdminService} from 'proto/admin_pb';
import {DatasetService} from 'proto/dataset_pb';
import {ModelService} from 'proto/model_pb';
import {StudyService} from 'proto/study_pb';
import {TrainingService} from 'proto/training_pb';
import {noteAnswer, noteLost, setProbe} from './connection';
import {isLost} from './errors';
import {authorization, keepToken, session, signOut} from './session';

const guard: Interceptor = next => async request => {
  const credential = authorization();
  if (credential !== null) request.header.set('Authorization', credential);
  try {
    const answer = await next(request);
    noteAnswer();
    return answer;
  } catch (error) {
    noteFailure(ConnectError.from(error), credential);
    throw error;
  }
};

function noteFailure(error: ConnectError, credential: string | null): void {
  if (error.code === Code.Canceled) return;
  if (isLost(error)) return noteLost();
  noteAnswer();
  // Skipped if the user has signed in again since, or never did: then the page says what needs a token.
  if (error.code === Code.Unauthenticated && session.get().state === 'signed-in' && credential === authorization()) signOut(error.rawMessage);
}

const transport = createConnectTransport({
  baseUrl: location.origin,
  useBinaryFormat: true,
  interceptors: [guard],
  // A browser shows its client certificate to the daemon's own origin alone.
  fetch: (input, init) => fetch(input, {...init, credentials: 'same-origin', cache: 'no-store', redirect: 'error'}),
});

export const studies = createClient(StudyService, transport);
export const datasets = createClient(DatasetService, transport);
export const models = createClient(ModelService, transport);
export const training = createClient(TrainingService, transport);
export const admin = createClient(AdminService, transport);

/** Resolves to null if the daemon takes calls with `token` ('' for none), else to the reason why not. */
async function tryCall(signal?: AbortSignal): Promise<ConnectError | null> {
  try {
    await studies.listStudies({pageSize: 1}, signal === undefined ? {} : {signal});
    return null;
  } catch (error) {
    const failure = ConnectError.from(error);
    // The caller is known, but in another role, which may see other pages.
    return failure.code === Code.PermissionDenied ? null : failure;
  }
}

let wantsToken = false; // what the daemon said when it was first asked

/** Whether the daemon takes calls without a token. Call it only while nobody is signed in. */
export async function isOpen(): Promise<boolean> {
  return !wantsToken && await tryCall() === null;
}

/** Finds out whether a token is needed. */
export async function beginSession(): Promise<void> {
  const failure = await tryCall();
  wantsToken = failure?.code === Code.Unauthenticated;
  if (wantsToken) session.set({state: 'signed-out', reason: ''});
  else if (failure === null || !isLost(failure)) session.set({state: 'open', reason: ''});
}

/** Keeps `token` if the daemon knows it; throws its error otherwise. */
export async function signIn(token: string): Promise<void> {
  keepToken(token);
  const failure = await tryCall();
  if (failure === null) return session.set({state: 'signed-in', reason: ''});
  keepToken('');
  throw failure;
}

setProbe(async signal => {
  const failure = await tryCall(signal);
  return failure === null || !isLost(failure);
});
