/** A store that tells how long each call took and why one failed. */

import type { Group, Settlement } from '../bucket/take';
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
    const outcomes = await this.timed(() => this.store.take(groups, options));
    for (const outcome of outcomes) if (outcome instanceof StoreError) this.measure.onError(outcome.reason);
    return outcomes;
  }

  settle(settlements: readonly Settlement[], options?: TakeOptions): Promise<readonly number[]> {
    return this.timed(() => this.store.settle(settlements, options));
  }

  close(): Promise<void> {
    return this.store.close();
  }

  private async timed<Answer>(call: () => Promise<Answer>): Promise<Answer> {
    const startedMs = performance.now();
    try {
      return await call();
    } catch (error) {
      this.measure.onError(error instanceof StoreError ? error.reason : 'other');
      throw error;
    } finally {
      this.measure.onCall((performance.now() - startedMs) / 1000);
    }
  }
}
