/** A store that reports the duration of each call and the reasons of failures. */

import { monotonicNowMs } from '../../../lib/clock';
import type { Group, Adjustment } from '../../../domain/bucket/take';
import type { GroupOutcome, AdjustOutcome, Store, TakeOptions } from '../port/store';
import { StoreError, type StoreErrorReason } from '../port/store-error';

export interface StoreMeasure {
  onCall(seconds: number): void;
  onError(reason: StoreErrorReason): void;
}

export class MeasuredStore implements Store {
  constructor(
    private readonly store: Store,
    private readonly measure: StoreMeasure,
  ) {}

  take(groups: readonly Group[], options?: TakeOptions): Promise<readonly GroupOutcome[]> {
    const startedMs = monotonicNowMs();
    return this.counted(this.store.take(groups, options), startedMs);
  }

  adjust(adjustments: readonly Adjustment[], options?: TakeOptions): Promise<readonly AdjustOutcome[]> {
    const startedMs = monotonicNowMs();
    return this.counted(this.store.adjust(adjustments, options), startedMs);
  }

  close(): Promise<void> {
    return this.store.close();
  }

  /** Not async: with the embedded store every call passes here. */
  private counted<Outcome>(
    call: Promise<readonly (Outcome | StoreError)[]>,
    startedMs: number,
  ): Promise<readonly (Outcome | StoreError)[]> {
    return call.then(
      (outcomes) => {
        for (const outcome of outcomes) if (outcome instanceof StoreError) this.report(outcome.reason);
        this.measure.onCall((monotonicNowMs() - startedMs) / 1000);
        return outcomes;
      },
      (error: unknown) => {
        this.report(error instanceof StoreError ? error.reason : 'other');
        this.measure.onCall((monotonicNowMs() - startedMs) / 1000);
        throw error;
      },
    );
  }

  private report(reason: StoreErrorReason): void {
    if (reason !== 'redirected') this.measure.onError(reason);
  }
}
