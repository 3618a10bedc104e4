// Alarms of the daemon: what is wrong, what to do, and which resources they name.

export interface Alarm {
  /** The first sentence. */
  what: string;
  /** The rest: what to do. May be empty. */
  advice: string;
  /** Names such as "studies/a", each once. */
  names: {kind: string; id: string}[];
}

const MOST_NAMES = 10;
const NAMED = /\b(studies|datasets|models)\/([a-z0-9_-]{1,63})/g;

/** Splits an alarm, which the daemon writes in one or two sentences. */
export function readAlarm(text: string): Alarm {
  const stop = /\.\s+/.exec(text);
  const names = new Map([...text.matchAll(NAMED)].map(([name, kind, id]) => [name, {kind: kind!, id: id!}]));
  return {
    what: stop === null ? text : text.slice(0, stop.index + 1),
    advice: stop === null ? '' : text.slice(stop.index + stop[0].length),
    names: [...names.values()].slice(0, MOST_NAMES),
  };
}
