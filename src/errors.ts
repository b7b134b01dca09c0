/** The two ways a request ends without a decision; every other error is a fault of ours. */

/** The request itself can't be decided. The message is for its sender and names the field. */
export class BadRequestError extends Error {
  override readonly name: string = 'BadRequestError';
}

/** Nothing can decide just now. The message says what is missing, and never holds a bucket key. */
export class UnavailableError extends Error {
  override readonly name: string = 'UnavailableError';
}

/** What was thrown, which JavaScript lets be anything. */
export function asError(thrown: unknown): Error {
  return thrown instanceof Error ? thrown : new Error(String(thrown));
}
