// What the values of the daemon's enumerations are called, and what they mean: by the names and the comments in
// proto/, which the terminal and the reference of the protocol show too.

import type {DescEnum} from '@bufbuild/protobuf';
import {MEANINGS} from 'proto/meanings';

/** "bad_ticket", as commands print it. A number that only a newer daemon knows stays a number. */
export function nameOf(type: DescEnum, value: number): string {
  const known = type.value[value];
  return known === undefined ? String(value) : known.name.slice(type.sharedPrefix?.length ?? 0).toLowerCase();
}

/** "bad ticket". */
export function wordOf(type: DescEnum, value: number): string {
  return nameOf(type, value).replaceAll('_', ' ');
}

/** "This curator did not issue its ticket for these terms. Drop the report." */
export function meaningOf(type: DescEnum, value: number): string {
  return MEANINGS[type.typeName]?.[value] ?? 'This console does not know it.';
}
