// The parts that every page is made of.

import type {ComponentChildren} from 'preact';
import {useEffect, useRef, useState} from 'preact/hooks';
import {relative, time} from './format';
import {Name, visible} from './text';

export interface PageProps {
  /** Text of the h1 and of the browser's tab. */
  title: string;
  /** The part that the page shows: "Trees". For the browser's tab and screen readers. */
  part?: string;
  /** What kind of page it is: "Study". Stands above the title. */
  kind?: string;
  /** Where `kind` leads. */
  kindHref?: string;
  /** One sentence under the title. */
  lead?: ComponentChildren;
  /** Buttons and links at the end of the title's line. */
  actions?: ComponentChildren;
  children?: ComponentChildren;
}

/** A page with its one h1, which has the focus when the page is opened. */
export function Page({title, part, kind, kindHref, lead, actions, children}: PageProps) {
  const heading = useRef<HTMLHeadingElement>(null);
  useEffect(() => {
    document.title = `${visible(title)}${part === undefined ? '' : `: ${part}`} – Coppice`;
    heading.current?.focus({preventScroll: true});
    window.scrollTo(0, 0);
  }, [title, part]);
  return <article class="page">
    <header class="page-head">
      {kind !== undefined && <p class="kind">{kindHref === undefined ? kind : <a href={kindHref}>{kind}</a>}</p>}
      <div class="title-line">
        <h1 tabIndex={-1} ref={heading}><Name text={title} most={200}/>{part !== undefined && <span class="hidden">: {part}</span>}</h1>
        {actions !== undefined && <div class="actions">{actions}</div>}
      </div>
      {lead !== undefined && <p class="lead">{lead}</p>}
    </header>
    {children}
  </article>;
}

/** Links to the pages of one thing; `current` is the address of this page. */
export function SubNav({label, links, current}: {label: string; links: readonly (readonly [string, string])[]; current: string}) {
  const list = useRef<HTMLUListElement>(null);
  useEffect(() => list.current?.querySelector('[aria-current]')?.scrollIntoView({block: 'nearest', inline: 'nearest'}), [current]);
  return <nav class="subnav" aria-label={label}><ul ref={list}>{links.map(([name, address]) =>
    <li key={address}><a href={address} {...(address === current ? {'aria-current': 'page' as const} : {})}>{name}</a></li>)}</ul></nav>;
}

/** A part of a page under an h2. `aside` is at the end of the heading's line. */
export function Section({title, aside, children}: {title: string; aside?: ComponentChildren; children?: ComponentChildren}) {
  return <section aria-label={title}>
    <div class="section-head"><h2>{title}</h2>{aside !== undefined && <div class="aside">{aside}</div>}</div>
    {children}
  </section>;
}

export interface Figure {
  name: string;
  value: ComponentChildren;
  note?: ComponentChildren;
}

/** The main figures, large; the first one in the accent's colour. */
export function Figures({figures}: {figures: readonly Figure[]}) {
  return <dl class="figures">{figures.map(({name, value, note}) =>
    <div key={name}><dt>{name}</dt><dd><b>{value}</b><span>{note}</span></dd></div>)}</dl>;
}

/** Sentences in a list. */
export function Sentences({texts}: {texts: readonly ComponentChildren[]}) {
  return <ul class="says">{texts.map((text, i) => <li key={i}>{typeof text === 'string' ? visible(text) : text}</li>)}</ul>;
}

export function Remark({children}: {children: ComponentChildren}) {
  return <p class="remark">{children}</p>;
}

/** Names and values in two columns, for what matters less than figures. */
export function Facts({facts}: {facts: readonly (readonly [string, ComponentChildren] | false | null | undefined)[]}) {
  return <dl class="facts">{facts.map(fact => fact &&
    <div key={fact[0]}><dt>{fact[0]}</dt><dd>{fact[1]}</dd></div>)}</dl>;
}

export type Tone = 'good' | 'busy' | 'warn' | 'bad' | 'quiet';

const MARKS: Record<Tone, string> = {good: '●', busy: '◐', warn: '▲', bad: '✕', quiet: '○'};

/** A state in a word, or in a `sentence`, with a mark of its own shape, as colour alone is not enough. */
export function State({tone, sentence = false, children}: {tone: Tone; sentence?: boolean; children: ComponentChildren}) {
  return <span class={`state ${tone} ${sentence ? 'sentence' : ''}`}><span class="mark" aria-hidden="true">{MARKS[tone]}</span>{children}</span>;
}

/** Seconds since 1970 as "3 min ago", with the date in the tooltip; `exact` shows the date. "–" for 0. */
export function When({at, exact = false}: {at: bigint | number; exact?: boolean}) {
  if (Number(at) === 0) return <>–</>;
  const date = time(at);
  return exact ? <time class="when">{date}</time> : <time class="when" title={date}>{relative(at)}</time>;
}

/** A command that does the same as the page, with a button that copies it. */
export function Command({text}: {text: string}) {
  const [copied, setCopied] = useState(false);
  const copy = async () => {
    await navigator.clipboard.writeText(text);
    setCopied(true);
    setTimeout(() => setCopied(false), 1500);
  };
  return <div class="command">
    <pre tabIndex={0}><code>{visible(text)}</code></pre>
    {typeof navigator !== 'undefined' && navigator.clipboard !== undefined &&
      <button type="button" class="small" onClick={() => void copy().catch(() => {})}>{copied ? 'Copied' : 'Copy'}</button>}
    <span class="hidden" role="status">{copied ? 'The command was copied.' : ''}</span>
  </div>;
}

/** Shown where nothing exists yet: what would be here, how to make it, and the command that makes it too. */
export function Empty({title, children, command, action}: {
  title: string; children?: ComponentChildren; command?: string; action?: ComponentChildren;
}) {
  return <div class="empty">
    <p class="empty-title">{title}</p>
    {children !== undefined && <p>{children}</p>}
    {action !== undefined && <p>{action}</p>}
    {command !== undefined && <><p class="or">{action === undefined ? 'The command:' : 'Or by the command line:'}</p><Command text={command}/></>}
  </div>;
}
