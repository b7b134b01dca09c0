/** The two errors of a request without a decision; every other error is a bug. */

/** The request is invalid. The message is for its sender and names the field. */
export class BadRequestError extends Error {
  override readonly name: string = 'BadRequestError';
}

/** Nothing can decide the request now. The message says what is missing, and never contains a bucket key. */
export class UnavailableError extends Error {
  override readonly name: string = 'UnavailableError';
}

/** Converts a thrown value, which in JavaScript may be anything. */
export function asError(thrown: unknown): Error {
  return thrown instanceof Error ? thrown : new Error(String(thrown));
}
