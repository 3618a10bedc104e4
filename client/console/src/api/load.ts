// Loading, watching and acting, as hooks. Pages keep what they had when a call fails.

import {useCallback, useEffect, useRef, useState} from 'preact/hooks';
import {connection} from './connection';
import {isCanceled, isPassing} from './errors';
import {useStore} from './store';

export interface Loaded<T> {
  /** What was loaded last; stays when a later load fails. */
  data: T | undefined;
  /** Why the last load failed; null if it did not. */
  error: unknown;
  loading: boolean;
  reload: () => void;
  /** Puts another value in place, such as what a call that changes it has returned. */
  replace: (data: T) => void;
}

export interface LoadOptions {
  /** Loads again at this interval while the page is visible; 0: once. */
  everyMs?: number;
}

/**
 * Calls `load` at first, when `deps` change, when the connection comes back, and every so often.
 * A load that is overtaken is aborted. Data of other `deps` is dropped.
 */
export function useLoad<T>(load: (signal: AbortSignal) => Promise<T>, deps: readonly unknown[], options: LoadOptions = {}): Loaded<T> {
  const [state, setState] = useState<{data: T | undefined; error: unknown; loading: boolean}>({data: undefined, error: null, loading: true});
  const [round, setRound] = useState(0);
  const {epoch} = useStore(connection);
  const everyMs = options.everyMs ?? 0;
  const key = useRef<readonly unknown[]>(deps);
  const isLoading = useRef(false);
  useEffect(() => {
    const abort = new AbortController();
    const isSame = key.current.length === deps.length && deps.every((each, i) => Object.is(each, key.current[i]));
    key.current = deps;
    setState(before => ({data: isSame ? before.data : undefined, error: isSame ? before.error : null, loading: true}));
    isLoading.current = true;
    const end = (change: (before: typeof state) => typeof state) => {
      if (abort.signal.aborted) return;
      isLoading.current = false;
      setState(change);
    };
    load(abort.signal).then(data => end(() => ({data, error: null, loading: false})),
      error => end(before => ({data: before.data, error, loading: false})));
    return () => abort.abort();
  }, [...deps, round, epoch]);
  useEffect(() => {
    if (everyMs === 0) return;
    // A load that takes longer than the interval is waited for, or none would ever end.
    const again = () => { if (document.visibilityState === 'visible' && !connection.get().lost && !isLoading.current) setRound(n => n + 1); };
    const timer = setInterval(again, everyMs);
    document.addEventListener('visibilitychange', again);
    return () => {
      clearInterval(timer);
      document.removeEventListener('visibilitychange', again);
    };
  }, [everyMs, ...deps]);
  const reload = useCallback(() => setRound(n => n + 1), []);
  const replace = useCallback((data: T) => setState({data, error: null, loading: false}), []);
  return {...state, reload, replace};
}

export interface Action<A extends unknown[]> {
  running: boolean;
  error: unknown;
  /** Resolves to whether it worked. A second run while one is under way does nothing. */
  run: (...args: A) => Promise<boolean>;
  /** Aborts what runs, by the signal that `act` was given. */
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
  /** The stream ended by itself: nothing more will come. */
  ended: boolean;
}

/**
 * Follows a server stream, such as `signal => training.watchJob({name}, {signal})`. A stream that breaks
 * is opened again; one that is refused, or ends, is not.
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
