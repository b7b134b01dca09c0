/** The embedded store: buckets in this process's memory, decided by the TypeScript engines. */

import { isOutsideWindows, type Group, type Settlement } from '../bucket/take';
import { decideGroup, type BucketWrite } from '../engine/decide-group';
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
  private readonly read = (bucketKey: string) => this.table.use(bucketKey);
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
    const nowUs = this.nowUs();
    const outcomes = new Array<GroupOutcome>(groups.length);
    let next = 0;
    for (const group of groups) {
      outcomes[next] = this.decide(group, nowUs);
      next += 1;
    }
    return Promise.resolve(outcomes);
  }

  settle(settlements: readonly Settlement[]): Promise<readonly number[]> {
    const nowUs = this.nowUs();
    const applied = settlements.map((settlement) => {
      const settled = settleBucket({ settlement, nowUs, stored: this.read(settlement.bucketKey) });
      if (settled.write !== undefined) this.write(settled.write, nowUs);
      return settled.applied;
    });
    this.bound({ nowUs, added: settlements.length });
    return Promise.resolve(applied);
  }

  close(): Promise<void> {
    this.table = new BucketTable({ sinceUs: this.nowUs() });
    return Promise.resolve();
  }

  private decide(group: Group, nowUs: number): GroupOutcome {
    if (isOutsideWindows(group, nowUs)) return { outsideAtUs: nowUs };
    const { overLimit, verdicts, writes } = decideGroup({ group, nowUs, read: this.read });
    for (const write of writes) this.write(write, nowUs);
    this.bound({ nowUs, added: group.takes.length });
    return { overLimit, verdicts, nowUs };
  }

  private write({ bucketKey, state, expiresAfterUs }: BucketWrite, nowUs: number): void {
    if (state === undefined) this.table.delete(bucketKey);
    else this.table.set(bucketKey, state, expiresAfterUs === undefined ? undefined : nowUs + expiresAfterUs);
  }

  /** More buckets are looked at than a call can have added, so garbage never outgrows the work. */
  private bound({ nowUs, added }: { readonly nowUs: number; readonly added: number }): void {
    this.table.dropExpired({ nowUs, steps: added + 1 });
    while (this.table.size > this.bucketsMax) {
      this.table.deleteOldest();
      this.evictionCount += 1;
    }
  }
}

/**
 * This machine's clock in microseconds since 1970, read once at start and counted on by the monotonic clock: an
 * operator who sets the clock neither frees nor locks a bucket.
 */
export function monotonicNowUs(): number {
  return Math.floor((performance.timeOrigin + performance.now()) * 1000);
}
