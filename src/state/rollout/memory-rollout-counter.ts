/** Counts the hits of rollouts in this process. */

import { US_PER_S } from '../../lib/time-units';
import { fieldOf } from '../control/control-record';
import {
  addCounts,
  NO_COUNTS,
  SLOTS_MAX,
  type CountedHits,
  type PartCounts,
  type RolloutCounter,
  type RolloutCounts,
  type RolloutName,
} from './rollout-counter';

interface Kept {
  readonly version: number;
  readonly widthS: number;
  readonly sinceUs: number;
  readonly total: PartCounts;
  readonly slots: ReadonlyMap<number, PartCounts>;
}

/** Rollouts that are counted; beyond this number the oldest is dropped. */
const ROLLOUTS_MAX = 10_000;

export class MemoryRolloutCounter implements RolloutCounter {
  private readonly kept = new Map<string, Kept>();

  /** `nowUs`: microseconds since 1970. */
  constructor(private readonly nowUs: () => number) {}

  add(hits: CountedHits): Promise<RolloutCounts | undefined> {
    const field = nameOf(hits);
    const before = this.kept.get(field);
    const nowUs = this.nowUs();
    if (before === undefined || before.version <= hits.version) {
      this.kept.set(field, sum(before?.version === hits.version ? before : undefined, hits, nowUs));
      const [oldest] = this.kept.keys();
      if (this.kept.size > ROLLOUTS_MAX && oldest !== undefined) this.kept.delete(oldest);
    }
    return this.read(hits);
  }

  read(name: RolloutName): Promise<RolloutCounts | undefined> {
    const kept = this.kept.get(nameOf(name));
    if (kept === undefined) return Promise.resolve(undefined);
    const { version, sinceUs, total, widthS } = kept;
    const slots = Array.from(kept.slots, ([number, counts]) => ({ startUs: number * widthS * US_PER_S, counts }));
    return Promise.resolve({ version, nowUs: this.nowUs(), sinceUs, total, slots });
  }
}

function sum(before: Kept | undefined, { version, widthS, counts }: CountedHits, nowUs: number): Kept {
  const slot = Math.floor(nowUs / US_PER_S / widthS);
  const slots = new Map<number, PartCounts>();
  if (before?.widthS === widthS)
    for (const [number, each] of before.slots) if (Math.abs(slot - number) < SLOTS_MAX) slots.set(number, each);
  const own = slots.get(slot) ?? NO_COUNTS;
  // Last, as in Redis.
  slots.delete(slot);
  slots.set(slot, addCounts(own, counts));
  return { version, widthS, sinceUs: before?.sinceUs ?? nowUs, total: addCounts(before?.total ?? NO_COUNTS, counts), slots };
}

function nameOf({ domain, rule }: RolloutName): string {
  return fieldOf({ domain, name: rule });
}
