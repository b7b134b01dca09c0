/** A store that tells how long each call took and why one failed. */

import type { Group, Settlement } from '../bucket/take';
import { StoreError, type GroupOutcome, type SettleOutcome, type Store, type StoreErrorReason, type TakeOptions } from './store';

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
    return this.counted(() => this.store.take(groups, options));
  }

  settle(settlements: readonly Settlement[], options?: TakeOptions): Promise<readonly SettleOutcome[]> {
    return this.counted(() => this.store.settle(settlements, options));
  }

  close(): Promise<void> {
    return this.store.close();
  }

  private async counted<Outcome>(call: () => Promise<readonly (Outcome | StoreError)[]>): Promise<readonly (Outcome | StoreError)[]> {
    const startedMs = performance.now();
    try {
      const outcomes = await call();
      for (const outcome of outcomes) if (outcome instanceof StoreError) this.tell(outcome.reason);
      return outcomes;
    } catch (error) {
      this.tell(error instanceof StoreError ? error.reason : 'other');
      throw error;
    } finally {
      this.measure.onCall((performance.now() - startedMs) / 1000);
    }
  }

  private tell(reason: StoreErrorReason): void {
    if (reason !== 'redirected') this.measure.onError(reason);
  }
}
