/** The embedded store: buckets in this process's memory, decided by the TypeScript engines. */

import { isOutsideWindows, type Group, type Settlement } from '../bucket/take';
import { decideGroup, type Buckets } from '../engine/decide-group';
import type { BucketState } from '../engine/engines';
import { settleBucket } from '../engine/settle-bucket';
import { BucketTable } from './bucket-table/bucket-table';
import type { GroupOutcome, Store } from './store';

export interface MemoryStoreOptions {
  /** The clock, in microseconds since 1970. */
  readonly nowUs: () => number;
  /** Most buckets kept. Beyond it the one not asked for longest is forgotten, and so full again. */
  readonly bucketsMax: number;
}

export class MemoryStore implements Store {
  private readonly nowUs: () => number;
  private readonly bucketsMax: number;
  private table: BucketTable;
  /** What the call in hand reads and writes. */
  private readonly buckets: Buckets = {
    read: (bucketKey) => this.table.use(bucketKey),
    write: (bucketKey, state, expiresAfterUs) => { this.write(bucketKey, state, expiresAfterUs); },
  };
  /** The time of the call in hand. */
  private callUs = 0;
  private evictionCount = 0;

  constructor({ nowUs, bucketsMax }: MemoryStoreOptions) {
    this.nowUs = nowUs;
    this.bucketsMax = bucketsMax;
    this.table = new BucketTable({ sinceUs: nowUs() });
  }

  /** Buckets kept just now. */
  get size(): number {
    return this.table.size;
  }

  /** Buckets forgotten since the start because there were too many: each may let its limit pass once more. */
  get evictions(): number {
    return this.evictionCount;
  }

  take(groups: readonly Group[]): Promise<readonly GroupOutcome[]> {
    return Promise.resolve(this.decide(groups));
  }

  settle(settlements: readonly Settlement[]): Promise<readonly number[]> {
    return Promise.resolve(this.apply(settlements));
  }

  /** As `take`, in this turn of the event loop. */
  decide(groups: readonly Group[]): readonly GroupOutcome[] {
    const nowUs = this.nowUs();
    this.callUs = nowUs;
    const outcomes = new Array<GroupOutcome>(groups.length);
    let next = 0;
    let added = 0;
    for (const group of groups) {
      outcomes[next] = isOutsideWindows(group, nowUs) ? { outsideAtUs: nowUs } : decideGroup({ group, nowUs, buckets: this.buckets });
      added += group.takes.length;
      next += 1;
    }
    this.bound({ nowUs, steps: added + groups.length });
    return outcomes;
  }

  /** As `settle`, in this turn of the event loop. */
  apply(settlements: readonly Settlement[]): readonly number[] {
    const nowUs = this.nowUs();
    this.callUs = nowUs;
    const applied = settlements.map((settlement) => {
      const { applied: hits, write } = settleBucket({ settlement, nowUs, stored: this.table.use(settlement.bucketKey) });
      if (write !== undefined) this.write(write.bucketKey, write.state, write.expiresAfterUs);
      return hits;
    });
    this.bound({ nowUs, steps: 2 * settlements.length });
    return applied;
  }

  close(): Promise<void> {
    this.table = new BucketTable({ sinceUs: this.nowUs() });
    return Promise.resolve();
  }

  private write(bucketKey: string, state: BucketState | undefined, expiresAfterUs: number | undefined): void {
    if (state === undefined) this.table.delete(bucketKey);
    else this.table.set(bucketKey, state, expiresAfterUs === undefined ? undefined : this.callUs + expiresAfterUs);
  }

  /** Once for a call. More buckets are looked at than it can have added, so garbage never outgrows the work. */
  private bound({ nowUs, steps }: { readonly nowUs: number; readonly steps: number }): void {
    this.table.dropExpired({ nowUs, steps });
    while (this.table.size > this.bucketsMax) {
      this.table.deleteOldest();
      this.evictionCount += 1;
    }
  }
}
