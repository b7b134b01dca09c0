/** The error of a request that may not wait, because too many others do. */

/** The message names the option that bounds the room. */
export class WaitQueueFullError extends Error {
  override readonly name = 'WaitQueueFullError';
}
