/** gRPC's codes, which the library's errors have. */
export const CODES = [
  'ok', 'canceled', 'unknown', 'invalid_argument', 'deadline_exceeded', 'not_found', 'already_exists',
  'permission_denied', 'resource_exhausted', 'failed_precondition', 'aborted', 'out_of_range', 'unimplemented',
  'internal', 'unavailable', 'data_loss', 'unauthenticated',
] as const;
export type Code = (typeof CODES)[number];

/** What is wrong, where, and what to do; never a value of the row. */
export class CoppiceError extends Error {
  override readonly name = 'CoppiceError';
  constructor(readonly code: Code, message: string, options?: ErrorOptions) {
    super(message, options);
  }
}

export function codeOf(number: number): Code {
  return CODES[number] ?? 'unknown';
}
