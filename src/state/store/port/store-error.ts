/** Why a store did not decide. */

import { UnavailableError } from '../../../lib/errors';

/**
 * Each reason is a metric series, except `redirected`, which is not a failure but a wrong node or a retry. `own_lag`: this
 * process ran late, so the state of the store is unknown.
 */
export type StoreErrorReason =
  'timeout' | 'caller_timeout' | 'own_lag' | 'connection' | 'script' | 'overload' | 'redirected' | 'breaker' | 'other';

interface StoreErrorOptions extends ErrorOptions {
  readonly mayHaveRun?: boolean;
  readonly isMoving?: boolean;
}

/** The store did not decide. Callers see the message, so it never contains a bucket key. */
export class StoreError extends UnavailableError {
  override readonly name = 'StoreError';
  /** False if the store certainly did not run the call, and charged nothing. */
  readonly mayHaveRun: boolean;
  /** Buckets are being moved to another server, and nothing has run: what was asked together may be decided if asked one by one. */
  readonly isMoving: boolean;

  constructor(
    message: string,
    readonly reason: StoreErrorReason,
    { mayHaveRun = true, isMoving = false, ...options }: StoreErrorOptions = {},
  ) {
    super(message, options);
    this.mayHaveRun = mayHaveRun;
    this.isMoving = isMoving;
  }
}

/** One group cannot be decided, and was not charged, because the key of one of its buckets holds other data. Other groups are not affected. */
export class BucketError extends StoreError {
  constructor(
    message: string,
    /** Candidates for the key, for the operator, never for callers. */
    readonly bucketKeys: readonly string[],
  ) {
    super(message, 'script', { mayHaveRun: false });
  }
}

/** The waiting limit is reached: the call is shed, and no fallback decides it. */
export function overloadError(callsMax: number): StoreError {
  return new StoreError(`over ${callsMax} calls are waiting for Redis`, 'overload', { mayHaveRun: false });
}

export function isMoving(error: unknown): boolean {
  return error instanceof StoreError && error.isMoving;
}

/** Passes StoreErrors on; other errors are bugs and are thrown. */
export function storeErrorOf(error: unknown): StoreError {
  if (error instanceof StoreError) return error;
  throw error;
}
