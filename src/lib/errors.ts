/** The two errors of a request without a decision; every other error is a bug. */

import { isNativeError } from 'node:util/types';

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
  // Errors of Node may be of another realm, where `instanceof` does not know them.
  return thrown instanceof Error || isNativeError(thrown) ? thrown : new Error(String(thrown));
}
