/** A store that tells how long each call took and why one failed. */

import type { Group } from '../bucket/take';
import { StoreError, type GroupOutcome, type Store, type StoreErrorReason, type TakeOptions } from './store';

export interface StoreMeasure {
  onCall(seconds: number): void;
  onError(reason: StoreErrorReason): void;
}

export class MeasuredStore implements Store {
  constructor(
    private readonly store: Store,
    private readonly measure: StoreMeasure,
  ) {}

  async take(groups: readonly Group[], options?: TakeOptions): Promise<readonly GroupOutcome[]> {
    const startedMs = performance.now();
    try {
      const outcomes = await this.store.take(groups, options);
      for (const outcome of outcomes) if (outcome instanceof StoreError) this.measure.onError(outcome.reason);
      return outcomes;
    } catch (error) {
      this.measure.onError(error instanceof StoreError ? error.reason : 'other');
      throw error;
    } finally {
      this.measure.onCall((performance.now() - startedMs) / 1000);
    }
  }

  close(): Promise<void> {
    return this.store.close();
  }
}
