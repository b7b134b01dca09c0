/** The embedded store: buckets in the memory of this process, decided by the TypeScript engines. */

import { USED_UP_FOR_SHORT } from '../../../domain/bucket/forget-rank';
import { isGroupOutside, type Group, type Adjustment } from '../../../domain/bucket/take';
import { decideGroup, type Buckets } from '../../../domain/decide/decide-group';
import type { BucketState } from '../../../domain/algorithm/algorithms';
import { adjustBucket } from '../../../domain/decide/adjust-bucket';
import { BucketTable } from './bucket-table/bucket-table';
import type { GroupOutcome, Store } from '../port/store';

export interface MemoryStoreOptions {
  /** The clock, in microseconds since 1970. */
  readonly nowUs: () => number;
  /** Most buckets. Beyond it one is evicted in the order of `src/domain/bucket/forget-rank.ts`, and so is full again. */
  readonly bucketsMax: number;
  /** Called for each bucket that is evicted before it is full again. */
  readonly onForgotten?: (forgotten: Forgotten) => void;
}

export interface Forgotten {
  /** Whether no hit was left in it. */
  readonly usedUp: boolean;
}

/** Buckets to check for expiry before one is evicted. */
const STEPS_WHEN_FULL = 16;

const FORGOTTEN_USED_UP: Forgotten = { usedUp: true };
const FORGOTTEN_PARTLY_USED: Forgotten = { usedUp: false };

export class MemoryStore implements Store {
  private readonly nowUs: () => number;
  private readonly bucketsMax: number;
  private table: BucketTable;
  /** Storage for the current call. */
  private readonly buckets: Buckets = {
    read: (bucketKey) => this.table.use(bucketKey),
    write: (bucketKey, state, expiresAfterUs, rank) => {
      this.write(bucketKey, state, expiresAfterUs, rank);
    },
  };
  /** Time of the current call. */
  private callUs = 0;
  private evictionCount = 0;
  private usedUpEvictionCount = 0;
  private readonly onForgotten: MemoryStoreOptions['onForgotten'];

  constructor({ nowUs, bucketsMax, onForgotten }: MemoryStoreOptions) {
    this.nowUs = nowUs;
    this.bucketsMax = bucketsMax;
    this.onForgotten = onForgotten;
    this.table = new BucketTable({ sinceUs: nowUs() });
  }

  /** Current number of buckets. */
  get size(): number {
    return this.table.size;
  }

  /** Buckets evicted since the start for lack of room: each may admit its limit once more. */
  get evictions(): number {
    return this.evictionCount;
  }

  /** The part of `evictions` without any hit left. */
  get usedUpEvictions(): number {
    return this.usedUpEvictionCount;
  }

  take(groups: readonly Group[]): Promise<readonly GroupOutcome[]> {
    return Promise.resolve(this.decide(groups));
  }

  adjust(adjustments: readonly Adjustment[]): Promise<readonly number[]> {
    return Promise.resolve(this.apply(adjustments));
  }

  /** Like `take`, within this turn of the event loop. */
  decide(groups: readonly Group[]): readonly GroupOutcome[] {
    const nowUs = this.nowUs();
    this.callUs = nowUs;
    const outcomes = new Array<GroupOutcome>(groups.length);
    let next = 0;
    let added = 0;
    for (const group of groups) {
      this.table.beginGroup(group.takes);
      outcomes[next] = isGroupOutside(group, nowUs) ? { outsideAtUs: nowUs } : decideGroup({ group, nowUs, buckets: this.buckets });
      added += group.takes.length;
      next += 1;
    }
    this.bound({ nowUs, steps: added + groups.length });
    return outcomes;
  }

  /** Like `adjust`, within this turn of the event loop; as if it were that time, for hits of a time before. */
  apply(adjustments: readonly Adjustment[], nowUs = this.nowUs()): readonly number[] {
    this.callUs = nowUs;
    const applied = adjustments.map((adjustment) => {
      const { applied: hits, write } = adjustBucket({ adjustment, nowUs, stored: this.table.use(adjustment.bucketKey) });
      if (write !== undefined) this.write(write.bucketKey, write.state, write.expiresAfterUs, write.rank);
      return hits;
    });
    this.bound({ nowUs, steps: 2 * adjustments.length });
    return applied;
  }

  close(): Promise<void> {
    this.table = new BucketTable({ sinceUs: this.nowUs() });
    return Promise.resolve();
  }

  /** Drops a bucket; returns whether there was one. */
  forget(bucketKey: string): boolean {
    return this.table.delete(bucketKey);
  }

  /** Calls `visit` with the keys of the next buckets; see `BucketTable.walkKeys`. */
  walkKeys(...walk: Parameters<BucketTable['walkKeys']>): ReturnType<BucketTable['walkKeys']> {
    return this.table.walkKeys(...walk);
  }

  private write(bucketKey: string, state: BucketState | undefined, expiresAfterUs: number | undefined, rank: number | undefined): void {
    if (state === undefined) this.table.delete(bucketKey);
    else this.table.set(bucketKey, state, expiresAfterUs === undefined ? undefined : this.callUs + expiresAfterUs, rank);
  }

  /** Runs once for each call. Checks more buckets than a call can add, so that expired ones never accumulate. */
  private bound({ nowUs, steps }: { readonly nowUs: number; readonly steps: number }): void {
    this.table.dropExpired({ nowUs, steps });
    while (this.table.size > this.bucketsMax) {
      this.table.dropExpired({ nowUs, steps: STEPS_WHEN_FULL });
      if (this.table.size > this.bucketsMax) this.forgetOne();
    }
  }

  private forgetOne(): void {
    const usedUp = this.table.forgetOne(this.bucketsMax) >= USED_UP_FOR_SHORT;
    this.evictionCount += 1;
    if (usedUp) this.usedUpEvictionCount += 1;
    this.onForgotten?.(usedUp ? FORGOTTEN_USED_UP : FORGOTTEN_PARTLY_USED);
  }
}
