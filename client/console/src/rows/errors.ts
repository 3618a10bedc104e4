// What is wrong with a user's file.

/** One error, in words. Never quotes a value, which may be private. */
export class InputError extends Error {}

/** All errors, in order. */
export class InputErrors extends InputError {
  constructor(readonly errors: readonly string[]) {
    super(errors.length === 1 ? errors[0]! : `${errors[0]} (and ${errors.length - 1} more)`);
  }
}

const MOST_LISTED = 12;

/** `"age", "job" and 7 more`, the way the daemon's messages list names. */
export function listOf(names: readonly string[]): string {
  const listed = names.slice(0, MOST_LISTED).map(name => name.length > 80 ? `${name.slice(0, 80)}…` : name).join(', ');
  return names.length > MOST_LISTED ? `${listed} and ${names.length - MOST_LISTED} more` : listed;
}
