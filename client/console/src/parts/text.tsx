// Untrusted text: names of features, classes and resources, messages. It is shown as text, isolated from
// the reading direction around it, with its invisible characters made visible.

// Control characters, invisible characters, marks that change the reading direction, lone surrogates. common/base/printable.cc
// has the same characters, for terminals.
const INVISIBLE = /[\u0000-\u001f\u007f-\u009f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202e\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb]|[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]|[\u{1bca0}-\u{1bca3}\u{1d173}-\u{1d17a}\u{e0000}-\u{e0fff}]/u;
const EVERY_INVISIBLE = new RegExp(INVISIBLE.source, 'gu');

function escapeOf(character: string): string {
  return `\\u{${character.codePointAt(0)!.toString(16)}}`;
}

/** `text` with invisible characters as escapes: "a\u{202e}b". For titles, attributes and messages. */
export function visible(text: string): string {
  return text.replace(EVERY_INVISIBLE, escapeOf);
}

/** `text` in at most `most` characters, the last one "…" if some are left out. Never splits a character. */
export function cut(text: string, most: number): string {
  if (text.length <= most) return text;
  let end = most - 1;
  const last = text.charCodeAt(end - 1);
  if (last >= 0xd800 && last <= 0xdbff) --end;
  return `${text.slice(0, end)}…`;
}

export interface NameProps {
  text: string;
  /** The most characters to show; the rest is in the tooltip. */
  most?: number;
}

const MOST_IN_TOOLTIP = 2000;

/** A name, or other short untrusted text. */
export function Name({text, most = 60}: NameProps) {
  const shown = cut(text, most);
  const parts: (string | preact.JSX.Element)[] = [];
  let done = 0;
  for (const found of shown.matchAll(EVERY_INVISIBLE)) {
    parts.push(shown.slice(done, found.index), <span class="escape">{escapeOf(found[0])}</span>);
    done = found.index + found[0].length;
  }
  parts.push(shown.slice(done));
  const title = shown === text ? undefined : visible(cut(text, MOST_IN_TOOLTIP));
  return <bdi {...(title === undefined ? {} : {title})}>{text === '' ? <span class="escape">(empty)</span> : parts}</bdi>;
}

/** Names separated by commas: the first `most` of them, and how many more. */
export function Names({texts, most = 12}: {texts: readonly string[]; most?: number}) {
  return <>{texts.slice(0, most).map((text, i) => <>{i > 0 ? ', ' : ''}<Name text={text} most={40}/></>)}
    {texts.length > most ? ` and ${texts.length - most} more` : ''}</>;
}
