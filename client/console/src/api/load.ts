// Hooks for loading, watching and acting. Pages keep what they had when a call fails.

import {useCallback, useEffect, useRef, useState} from 'preact/hooks';
import {connection} from './connection';
import {isCanceled, isPassing} from './errors';
import {useStore} from './store';

export interface Loaded<T> {
  /** What was loaded last; it stays when a later load fails. */
  data: T | undefined;
  /** Why the last load failed; null if it did not. */
  error: unknown;
  loading: boolean;
  reload: () => void;
  /** Replaces the data, such as with the result of a call that changed it, and gives up a load that is under way. */
  replace: (data: T) => void;
}

export interface LoadOptions {
  /** Loads again at this interval while the page is visible; 0 loads once. */
  everyMs?: number;
}

function areSame(deps: readonly unknown[], others: readonly unknown[]): boolean {
  return deps.length === others.length && deps.every((each, i) => Object.is(each, others[i]));
}

/**
 * Calls `load` at first, when `deps` change, when the connection comes back, and every `everyMs`.
 * Aborts a load that is overtaken. Drops the data of other `deps`.
 */
export function useLoad<T>(load: (signal: AbortSignal) => Promise<T>, deps: readonly unknown[], options: LoadOptions = {}): Loaded<T> {
  const [state, setState] = useState<{data: T | undefined; error: unknown; loading: boolean}>({data: undefined, error: null, loading: true});
  const [round, setRound] = useState(0);
  const {epoch} = useStore(connection);
  const everyMs = options.everyMs ?? 0;
  const key = useRef<readonly unknown[]>(deps);
  const running = useRef<AbortController | null>(null);
  useEffect(() => {
    const abort = new AbortController();
    const isSame = areSame(deps, key.current);
    key.current = deps;
    setState(before => ({data: isSame ? before.data : undefined, error: isSame ? before.error : null, loading: true}));
    running.current = abort;
    const end = (change: (before: typeof state) => typeof state) => {
      if (abort.signal.aborted) return;
      running.current = null;
      setState(change);
    };
    load(abort.signal).then(data => end(() => ({data, error: null, loading: false})),
      error => end(before => ({data: before.data, error, loading: false})));
    return () => abort.abort();
  }, [...deps, round, epoch]);
  useEffect(() => {
    if (everyMs === 0) return;
    // A load that takes longer than the interval may finish, or none ever would.
    const again = () => { if (document.visibilityState === 'visible' && !connection.get().lost && running.current === null) setRound(n => n + 1); };
    const timer = setInterval(again, everyMs);
    document.addEventListener('visibilitychange', again);
    return () => {
      clearInterval(timer);
      document.removeEventListener('visibilitychange', again);
    };
  }, [everyMs, ...deps]);
  const reload = useCallback(() => setRound(n => n + 1), []);
  const replace = useCallback((data: T) => {
    if (!areSame(deps, key.current)) return; // the page shows something else by now
    running.current?.abort();
    running.current = null;
    setState({data, error: null, loading: false});
  }, deps);
  return {...state, reload, replace};
}

export interface Action<A extends unknown[]> {
  running: boolean;
  error: unknown;
  /** Resolves to whether it worked. Does nothing while another run is under way. */
  run: (...args: A) => Promise<boolean>;
  /** Aborts the run, by the signal that `act` was given. */
  cancel: () => void;
  clear: () => void;
}

/** Something that a user starts: a button that creates, seals, uploads. */
export function useAction<A extends unknown[]>(act: (signal: AbortSignal, ...args: A) => Promise<void>): Action<A> {
  const [state, setState] = useState<{running: boolean; error: unknown}>({running: false, error: null});
  const abort = useRef<AbortController | null>(null);
  const latest = useRef(act);
  latest.current = act;
  useEffect(() => () => abort.current?.abort(), []);
  const run = useCallback(async (...args: A) => {
    if (abort.current !== null) return false;
    const controller = abort.current = new AbortController();
    setState({running: true, error: null});
    let error: unknown = null;
    try {
      await latest.current(controller.signal, ...args);
    } catch (failure) {
      error = failure;
    }
    abort.current = null;
    const isSilent = error !== null && controller.signal.aborted && isCanceled(error);
    setState({running: false, error: isSilent ? null : error});
    return error === null;
  }, []);
  const cancel = useCallback(() => abort.current?.abort(), []);
  const clear = useCallback(() => setState({running: false, error: null}), []);
  return {...state, run, cancel, clear};
}

const FIRST_PAUSE_MS = 500, LONGEST_PAUSE_MS = 15_000;

export interface Watched<T> {
  /** The last message. */
  data: T | undefined;
  error: unknown;
  /** The stream ended by itself: nothing more comes. */
  ended: boolean;
}

/**
 * Follows a server stream, such as `signal => training.watchJob({name}, {signal})`. Opens a stream that
 * breaks again, but not one that is refused or ends.
 */
export function useWatch<T>(open: (signal: AbortSignal) => AsyncIterable<T>, deps: readonly unknown[]): Watched<T> {
  const [state, setState] = useState<Watched<T>>({data: undefined, error: null, ended: false});
  const {epoch} = useStore(connection);
  useEffect(() => {
    const abort = new AbortController();
    setState(before => ({...before, error: null, ended: false}));
    void follow(open, abort.signal, setState);
    return () => abort.abort();
  }, [...deps, epoch]);
  return state;
}

async function follow<T>(open: (signal: AbortSignal) => AsyncIterable<T>, signal: AbortSignal,
    set: (change: (before: Watched<T>) => Watched<T>) => void): Promise<void> {
  for (let pause = FIRST_PAUSE_MS; !signal.aborted; pause = Math.min(2 * pause, LONGEST_PAUSE_MS)) {
    try {
      for await (const data of open(signal)) {
        if (signal.aborted) return;
        pause = FIRST_PAUSE_MS;
        set(() => ({data, error: null, ended: false}));
      }
      if (!signal.aborted) set(before => ({...before, error: null, ended: true}));
      return;
    } catch (error) {
      if (signal.aborted) return;
      set(before => ({...before, error}));
      if (!isPassing(error)) return;
    }
    await new Promise(resolve => setTimeout(resolve, pause));
  }
}
