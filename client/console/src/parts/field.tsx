// Forms.

import type {ComponentChildren, JSX} from 'preact';
import {useId, useRef, useState} from 'preact/hooks';
import {bytes} from './format';
import {Name} from './text';

interface FieldProps {
  label: string;
  /** What the field asks for and why, under the label. */
  hint?: ComponentChildren;
  /** What is wrong with the value; null if nothing is. */
  error?: string | null | undefined;
}

function describedBy(id: string, hint: ComponentChildren, error: string | null | undefined): {'aria-describedby'?: string; 'aria-invalid'?: true} {
  const ids = [...(hint === undefined ? [] : [`${id}-hint`]), ...(error ? [`${id}-error`] : [])];
  return {...(ids.length > 0 ? {'aria-describedby': ids.join(' ')} : {}), ...(error ? {'aria-invalid': true as const} : {})};
}

function Frame({id, label, hint, error, children}: FieldProps & {id: string; children: ComponentChildren}) {
  return <div class="field">
    <label class="field-label" for={id}>{label}</label>
    {hint !== undefined && <span class="field-hint" id={`${id}-hint`}>{hint}</span>}
    {children}
    {error ? <span class="field-error" id={`${id}-error`} role="alert">{error}</span> : null}
  </div>;
}

/** A line of text. */
export function TextField({label, hint, error, value, onValue, ...rest}: FieldProps & {
  value: string; onValue: (value: string) => void;
} & Omit<JSX.InputHTMLAttributes<HTMLInputElement>, 'label' | 'value' | 'onInput' | 'id'>) {
  const id = useId();
  return <Frame id={id} label={label} hint={hint} error={error}>
    <input type="text" autocomplete="off" spellcheck={false} {...rest} id={id} value={value} {...describedBy(id, hint, error)}
      onInput={event => onValue(event.currentTarget.value)}/>
  </Frame>;
}

/** A list to choose from. */
export function SelectField<V extends string>({label, hint, error, value, options, onValue}: FieldProps & {
  value: V; options: readonly (readonly [V, string])[]; onValue: (value: V) => void;
}) {
  const id = useId();
  return <Frame id={id} label={label} hint={hint} error={error}>
    <select id={id} {...describedBy(id, hint, error)} value={value} onChange={event => onValue(event.currentTarget.value as V)}>
      {options.map(([each, text]) => <option key={each} value={each}>{text}</option>)}
    </select>
  </Frame>;
}

/** Yes or no. */
export function CheckField({label, hint, checked, onChecked}: {
  label: ComponentChildren; hint?: ComponentChildren; checked: boolean; onChecked: (checked: boolean) => void;
}) {
  const id = useId();
  return <div class="field check">
    <input type="checkbox" id={id} checked={checked} {...describedBy(id, hint, null)} onChange={event => onChecked(event.currentTarget.checked)}/>
    <label for={id}>{label}</label>
    {hint !== undefined && <span class="field-hint" id={`${id}-hint`}>{hint}</span>}
  </div>;
}

/** A file that the user chooses or drops. Nothing is sent: the page reads it. */
export function FilePicker({label, hint, error, accept, file, onFile}: FieldProps & {
  accept: string; file: File | null; onFile: (file: File | null) => void;
}) {
  const id = useId();
  const input = useRef<HTMLInputElement>(null);
  const [isOver, setOver] = useState(false);
  const drop = (event: JSX.TargetedDragEvent<HTMLDivElement>) => {
    event.preventDefault();
    setOver(false);
    const dropped = event.dataTransfer?.files[0];
    if (dropped !== undefined) onFile(dropped);
  };
  return <Frame id={id} label={label} hint={hint} error={error}>
    <div class={`file ${isOver ? 'over' : ''}`} onDragOver={event => { event.preventDefault(); setOver(true); }}
      onDragLeave={() => setOver(false)} onDrop={drop}>
      <input type="file" id={id} ref={input} accept={accept} {...describedBy(id, hint, error)}
        onChange={event => onFile(event.currentTarget.files?.[0] ?? null)}/>
      {file === null ? <span class="file-none" aria-hidden="true">Choose a file, or drop it here</span>
        : <span class="file-name"><Name text={file.name} most={40}/> <small>{bytes(file.size)}</small></span>}
    </div>
  </Frame>;
}

/** Submits on Enter or by its button; `problem` says why it cannot be submitted yet. */
export function Form({action, running = false, problem, onSubmit, children, extra}: {
  action: string; running?: boolean; problem?: string | null; onSubmit: () => void; children: ComponentChildren; extra?: ComponentChildren;
}) {
  return <form class="form" onSubmit={event => { event.preventDefault(); if (!running && !problem) onSubmit(); }}>
    {children}
    <div class="actions">
      <button type="submit" class="primary" disabled={running || Boolean(problem)}>{running ? 'One moment …' : action}</button>
      {extra}
      {problem ? <span class="problem" role="status">{problem}</span> : null}
    </div>
  </form>;
}
