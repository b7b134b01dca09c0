/** The error of a request that no limiter can decide, whatever its state: the program that made it is wrong. */

/** The message names the field, and never quotes a key or a value. */
export class InvalidRequestError extends Error {
  override readonly name = 'InvalidRequestError';
}
