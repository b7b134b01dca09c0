/** The last error of Redis that this process met, with its time: what operators ask first about an instance. */

import type { StoreErrorReason } from '../../state/store/port/store-error';
import type { StoreMeasure } from '../../state/store/layers/measured-store';

export interface RememberedError {
  /** `redis` or `redis_per_second`. */
  readonly store: string;
  readonly reason: string;
  readonly atMs: number;
}

export class LastStoreError {
  private last: RememberedError | undefined;

  constructor(private readonly nowMs: () => number) {}

  get facts(): RememberedError | undefined {
    return this.last;
  }

  /** The measure, which also remembers errors. */
  remembering(store: string, measure: StoreMeasure): StoreMeasure {
    return {
      onCall: (seconds) => {
        measure.onCall(seconds);
      },
      onError: (reason) => {
        measure.onError(reason);
        this.remember(store, reason);
      },
    };
  }

  /** While the breaker is open nobody asks Redis: the error that opened it says more. */
  private remember(store: string, reason: StoreErrorReason): void {
    if (reason !== 'breaker') this.last = { store, reason, atMs: this.nowMs() };
  }
}
