/** The embedded store: buckets in this process's memory, decided by the TypeScript engines. */

import { isOutsideWindows, type Group, type Settlement } from '../bucket/take';
import { decideGroup, type BucketWrite } from '../engine/decide-group';
import type { BucketState } from '../engine/engines';
import { settleBucket } from '../engine/settle-bucket';
import { FrontOfMap } from './front-of-map';
import type { GroupOutcome, Store } from './store';

export interface MemoryStoreOptions {
  /** The clock, in microseconds since 1970. */
  readonly nowUs: () => number;
  /** Most buckets kept. Beyond it the one not asked for longest is forgotten, and so full again. */
  readonly bucketsMax: number;
}

interface StoredBucket {
  readonly state: BucketState;
  readonly expiresAtUs: number;
}

export class MemoryStore implements Store {
  /** In the order of their last use: the first is the next to be forgotten. */
  private readonly buckets = new Map<string, StoredBucket>();
  private readonly nowUs: () => number;
  private readonly bucketsMax: number;
  private sweep = this.buckets.entries();
  private readonly front = new FrontOfMap(this.buckets);
  private evictionCount = 0;

  constructor({ nowUs, bucketsMax }: MemoryStoreOptions) {
    this.nowUs = nowUs;
    this.bucketsMax = bucketsMax;
  }

  /** Buckets kept just now. */
  get size(): number {
    return this.buckets.size;
  }

  /** Buckets forgotten since the start because there were too many: each may let its limit pass once more. */
  get evictions(): number {
    return this.evictionCount;
  }

  take(groups: readonly Group[]): Promise<readonly GroupOutcome[]> {
    const nowUs = this.nowUs();
    return Promise.resolve(groups.map((group) => this.decide(group, nowUs)));
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
    this.buckets.clear();
    return Promise.resolve();
  }

  private decide(group: Group, nowUs: number): GroupOutcome {
    if (isOutsideWindows(group, nowUs)) return { outsideAtUs: nowUs };
    const { writes, ...verdict } = decideGroup({ group, nowUs, read: (bucketKey) => this.read(bucketKey) });
    for (const write of writes) this.write(write, nowUs);
    this.bound({ nowUs, added: group.takes.length });
    return verdict;
  }

  private write({ bucketKey, state, expiresAfterUs }: BucketWrite, nowUs: number): void {
    const before = this.buckets.get(bucketKey);
    this.buckets.delete(bucketKey);
    const expiresAtUs = expiresAfterUs === undefined ? (before?.expiresAtUs ?? nowUs) : nowUs + expiresAfterUs;
    if (state !== undefined) this.buckets.set(bucketKey, { state, expiresAtUs });
  }

  /** More buckets are looked at than a call can have added, so garbage never outgrows the work. */
  private bound({ nowUs, added }: { readonly nowUs: number; readonly added: number }): void {
    this.dropExpired({ nowUs, steps: added + 1 });
    this.dropSurplus();
  }

  private read(bucketKey: string): BucketState | undefined {
    const bucket = this.buckets.get(bucketKey);
    if (bucket === undefined) return undefined;
    // A bucket that denies is not written; it moves to the end here, or a flood of new keys would wash it out.
    this.buckets.delete(bucketKey);
    this.buckets.set(bucketKey, bucket);
    return bucket.state;
  }

  /** Goes round all buckets, a few at a time: no pause, whatever their number. */
  private dropExpired({ nowUs, steps }: { readonly nowUs: number; readonly steps: number }): void {
    for (let step = 0; step < steps; step += 1) {
      const next = this.sweep.next();
      if (next.done === true) {
        this.sweep = this.buckets.entries();
        return;
      }
      const [bucketKey, { expiresAtUs }] = next.value;
      if (expiresAtUs <= nowUs) this.buckets.delete(bucketKey);
    }
  }

  private dropSurplus(): void {
    this.front.used();
    while (this.buckets.size > this.bucketsMax) {
      const oldest = this.front.next();
      if (oldest === undefined) return;
      this.buckets.delete(oldest);
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
