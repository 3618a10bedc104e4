// Several numbers in one field: "1000, 10000" or "0.5 1 2".

import {cut, visible} from './text';

export interface ListRules<T> {
  /** What the numbers are, for messages: "epsilons from 0.01 to 20". */
  what: string;
  most: number;
  /** Returns null for a text that is no such number. */
  parse: (text: string) => T | null;
  /** Whether an empty field is a list of none. */
  mayBeEmpty?: boolean;
}

export type NumberList<T> = {values: T[]; problem: null} | {values: null; problem: string};

// "10,000" is ten thousand to one reader, and 10 and 0 to another.
const THOUSANDS = /(?:^|[;\s,])(\d{1,3}(?:,\d{3})+)(?=$|[;\s,])/;
const MOST_SHOWN = 24;

function refuse(problem: string): {values: null; problem: string} {
  return {values: null, problem};
}

/** Commas, semicolons and blanks separate. Refuses a comma that may stand between thousands. */
export function parseNumbers<T>(text: string, {what, most, parse, mayBeEmpty = false}: ListRules<T>): NumberList<T> {
  const thousands = THOUSANDS.exec(text)?.[1];
  if (thousands !== undefined) {
    return refuse(`"${cut(thousands, MOST_SHOWN)}" may be one number or several: leave the comma out, or put a blank after it.`);
  }
  const parts = text.split(/[,;\s]+/).filter(part => part !== '');
  if (parts.length === 0 && !mayBeEmpty) return refuse(`Give 1 to ${most} ${what}, by commas.`);
  if (parts.length > most) return refuse(`These are ${parts.length} numbers: give at most ${most} ${what}.`);
  const values: T[] = [];
  for (const part of parts) {
    const value = parse(part);
    if (value === null) return refuse(`"${visible(cut(part, MOST_SHOWN))}" does not fit: give 1 to ${most} ${what}, by commas.`);
    values.push(value);
  }
  return {values, problem: null};
}
