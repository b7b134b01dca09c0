/**
 * A fold: the same group several times in a row, which Lua decides in one step (`times` in `lua/include/decide-group.lua`). Here it
 * becomes the verdicts that its groups would have had one by one.
 */

import { hasUsageReport, NEVER, neededHits, type Group, type GroupVerdict, type Take, type Verdict } from '../bucket/take';
import type { Engine } from './engine';
import { ENGINES, type BucketState } from './engines';

/** A bucket's state at the time of the decision, before the first group, as its engine's `ofNumbers` takes it. */
export type FoundState = readonly [number, number];

/** Whether the group's verdicts can be told one by one from the states that are found: each bucket once, and nothing but charges. */
export function isFoldable(group: Group): boolean {
  const { takes, dry } = group;
  if (dry === true || hasUsageReport(group)) return false;
  return takes.every(
    ({ bucketKey, limit, hits }, i) =>
      hits >= 0 && ENGINES[limit.algorithm].ofNumbers !== undefined && takes.findIndex((take) => take.bucketKey === bucketKey) === i,
  );
}

/** The verdicts of the groups in their order: the first `allowed` are, and all others are denied alike, since they charge nothing. */
export function unfold({ group, times, allowed, found, nowUs }: UnfoldInput): GroupVerdict[] {
  const buckets = group.takes.map((take, i) => new FoldedTake(take, found[i] ?? [0, 0], nowUs));
  const unfolded: GroupVerdict[] = [];
  for (let time = 1; time <= allowed; time += 1) {
    unfolded.push({ overLimit: false, verdicts: buckets.map((bucket) => bucket.charge()), nowUs });
  }
  if (allowed === times) return unfolded;
  const denied: GroupVerdict = { overLimit: true, verdicts: buckets.map((bucket) => bucket.describe()), nowUs };
  while (unfolded.length < times) unfolded.push(denied);
  return unfolded;
}

interface UnfoldInput {
  readonly group: Group;
  /** How often it came. */
  readonly times: number;
  readonly allowed: number;
  /** Of each take. */
  readonly found: readonly FoundState[];
  readonly nowUs: number;
}

/** One take of a fold, and its bucket as one group after the other leaves it. */
class FoldedTake {
  private readonly engine: Engine<BucketState>;
  private state: BucketState;

  constructor(
    private readonly take: Take,
    found: FoundState,
    private readonly nowUs: number,
  ) {
    this.engine = ENGINES[take.limit.algorithm];
    const state = this.engine.ofNumbers?.(found, take.limit, nowUs);
    if (state === undefined) throw new Error('a fold of an algorithm that has none');
    this.state = state;
  }

  /** The verdict on this take of the next group that is allowed, which charges it if it fits. */
  charge(): Verdict {
    if (!this.fits()) return this.describe();
    if (this.take.hits > 0) this.state = this.engine.charge(this.state, this.take.hits);
    return this.verdict({ fits: true });
  }

  /** The verdict on this take of a group that is denied, which charges nothing. */
  describe(): Verdict {
    return this.verdict({ fits: this.fits() });
  }

  private fits(): boolean {
    const needed = neededHits(this.take, this.take.hits);
    return needed === 0 || needed <= this.engine.room(this.state, this.take.limit);
  }

  private verdict({ fits }: { readonly fits: boolean }): Verdict {
    const { engine, state, nowUs } = this;
    const { limit } = this.take;
    const room = engine.room(state, limit);
    const retryAfterUs = fits ? 0 : this.retryAfterUs();
    const resetAfterUs = engine.resetAfterUs(state, limit, nowUs);
    if (fits || room >= 0) return { fits, remaining: Math.max(0, room), retryAfterUs, resetAfterUs };
    return { fits, remaining: 0, retryAfterUs, resetAfterUs, debt: -room };
  }

  private retryAfterUs(): number {
    const { limit } = this.take;
    const needed = neededHits(this.take, this.take.hits);
    return needed > limit.capacity ? NEVER : this.engine.retryAfterUs(this.state, limit, needed, this.nowUs);
  }
}
