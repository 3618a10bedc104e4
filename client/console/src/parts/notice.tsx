// What a user should know now: errors, warnings, progress, questions.

import type {ComponentChildren} from 'preact';
import {useEffect, useRef, useState} from 'preact/hooks';
import {explain, isLost} from '../api/errors';
import {ConnectError} from '@connectrpc/connect';
import {visible} from './text';

export type NoticeKind = 'error' | 'warning' | 'info' | 'done';

const WORDS: Record<NoticeKind, string> = {error: 'Error', warning: 'Warning', info: 'Note', done: 'Done'};

/** A box with a title; screen readers announce errors at once. */
export function Notice({kind = 'info', title, children, action}: {
  kind?: NoticeKind; title: ComponentChildren; children?: ComponentChildren; action?: ComponentChildren;
}) {
  return <div class={`notice ${kind}`} role={kind === 'error' ? 'alert' : 'status'}>
    <p class="notice-title"><span class="notice-kind">{WORDS[kind]}</span> {title}</p>
    {children !== undefined && children !== '' && <div class="notice-text">{children}</div>}
    {action !== undefined && <div class="actions">{action}</div>}
  </div>;
}

/** What went wrong, and what to do. Empty for null; a lost connection has its own banner. */
export function Failure({error, retry}: {error: unknown; retry?: () => void}) {
  if (error === null || error === undefined) return null;
  if (isLost(ConnectError.from(error))) return null;
  const {title, text, advice} = explain(error);
  return <Notice kind="error" title={title}
    {...(retry === undefined ? {} : {action: <button type="button" class="small" onClick={retry}>Try again</button>})}>
    <p><bdi>{visible(text)}</bdi></p>{advice !== '' && <p class="advice">{advice}</p>}
  </Notice>;
}

/** Shown while something loads, after a moment, so that quick answers do not flicker. */
export function Loading({what = 'Loading'}: {what?: string}) {
  const [isSlow, setSlow] = useState(false);
  useEffect(() => {
    const timer = setTimeout(() => setSlow(true), 300);
    return () => clearTimeout(timer);
  }, []);
  return <p class="loading" role="status">{isSlow ? `${what} …` : ''}</p>;
}

/** A bar for work whose end is known (`share` from 0 to 1), or not (undefined). `note`: "3 of 10 MB". */
export function Progress({label, share, note}: {label: string; share?: number | undefined; note?: string}) {
  const percent = share === undefined ? undefined : Math.round(100 * Math.min(Math.max(share, 0), 1));
  return <div class="progress">
    <div class="progress-line"><span>{label}</span><span class="n">{note ?? (percent === undefined ? '' : `${percent} %`)}</span></div>
    <progress aria-label={label} max={100} {...(percent === undefined ? {} : {value: percent})}/>
    {/* Announced in steps of a quarter only. */}
    <span class="hidden" role="status">{percent === undefined ? label : `${label}: ${25 * Math.floor(percent / 25)} %`}</span>
  </div>;
}

export interface ConfirmProps {
  title: string;
  /** What it costs and what it cannot undo. */
  children: ComponentChildren;
  /** What the button says: "Seal the study". */
  action: string;
  danger?: boolean;
  /** For what cannot be undone: the user types this first. */
  typed?: string;
  running?: boolean;
  error?: unknown;
  onConfirm: () => void;
  onClose: () => void;
}

/** Asks before an act. Escape and "Keep as it is" change nothing. */
export function Confirm({title, children, action, danger = false, typed, running = false, error, onConfirm, onClose}: ConfirmProps) {
  const dialog = useRef<HTMLDialogElement>(null);
  const [text, setText] = useState('');
  useEffect(() => {
    const shown = dialog.current;
    shown?.showModal();
    return () => shown?.close();
  }, []);
  const isReady = !running && (typed === undefined || text === typed);
  return <dialog ref={dialog} aria-labelledby="confirm-title" onCancel={event => { event.preventDefault(); if (!running) onClose(); }}>
    <form method="dialog" onSubmit={event => { event.preventDefault(); if (isReady) onConfirm(); }}>
      <h2 id="confirm-title">{title}</h2>
      <div class="confirm-text">{children}</div>
      {typed !== undefined && <label class="field"><span class="field-label">Type <code>{visible(typed)}</code> to go on</span>
        <input type="text" value={text} autocomplete="off" spellcheck={false} onInput={event => setText(event.currentTarget.value)}/></label>}
      <Failure error={error}/>
      <div class="actions end">
        <button type="button" onClick={onClose} disabled={running}>Keep as it is</button>
        <button type="submit" class={danger ? 'danger' : 'primary'} disabled={!isReady}>{running ? 'One moment …' : action}</button>
      </div>
    </form>
  </dialog>;
}
