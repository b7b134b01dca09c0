/** A store whose failures a test switches on and off, around another one. */

import type { Group, Adjustment } from '../../../src/domain/bucket/take';
import type { GroupOutcome, AdjustOutcome, Store } from '../../../src/state/store/port/store';
import { StoreError, type StoreErrorReason } from '../../../src/state/store/port/store-error';

export interface Failure {
  readonly reason: StoreErrorReason;
  /** Default: true. */
  readonly mayHaveRun?: boolean;
  /** It runs all the same: only its answer is lost. */
  readonly runs?: boolean;
  /** Default: every call. */
  readonly only?: 'take' | 'adjust';
  /** Only groups with one of these buckets, each by itself. Default: every call as a whole. */
  readonly keys?: readonly string[];
}

export class SwitchedStore implements Store {
  failing: Failure | undefined;
  /** Calls of each kind that came in. */
  readonly asked = { take: 0, adjust: 0 };
  /** Awaited before each call is answered. */
  hold: Promise<void> | undefined;

  constructor(private readonly store: Store) {}

  take(groups: readonly Group[]): Promise<readonly GroupOutcome[]> {
    const { keys } = this.failing ?? {};
    return keys === undefined ? this.answer('take', () => this.store.take(groups)) : this.takeAllBut(keys, groups);
  }

  adjust(adjustments: readonly Adjustment[]): Promise<readonly AdjustOutcome[]> {
    return this.answer('adjust', () => this.store.adjust(adjustments));
  }

  close(): Promise<void> {
    return this.store.close();
  }

  private async takeAllBut(keys: readonly string[], groups: readonly Group[]): Promise<readonly GroupOutcome[]> {
    const outcomes: GroupOutcome[] = [];
    for (const group of groups) {
      const isOne = group.takes.some(({ bucketKey }) => keys.includes(bucketKey));
      outcomes.push(
        ...(isOne
          ? await this.answer('take', () => this.store.take([group])).catch((error: unknown) => [error as StoreError])
          : await this.store.take([group])),
      );
    }
    return outcomes;
  }

  private async answer<Answer>(kind: 'take' | 'adjust', call: () => Promise<Answer>): Promise<Answer> {
    this.asked[kind] += 1;
    const { failing } = this;
    await this.hold;
    if (failing === undefined || (failing.only !== undefined && failing.only !== kind)) return call();
    if (failing.runs === true) await call();
    throw new StoreError('no', failing.reason, { mayHaveRun: failing.mayHaveRun ?? true });
  }
}
