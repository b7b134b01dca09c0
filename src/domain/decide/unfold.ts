/**
 * A fold: the same group several times in a row, which Lua decides in one step (`times` in `lua/include/decide-group.lua`). This
 * derives the verdicts that the groups would have had one by one.
 */

import { hasUsageReport, namesBucketTwice, neededHits, type Group, type GroupVerdict, type OpenVerdict, type Take } from '../bucket/take';
import { NEVER, type Engine } from '../algorithm/engine';
import { TRAITS, type BucketState } from '../algorithm/algorithms';
import { markDenials } from './denial-rule';

/** A bucket's state at the time of the decision, before the first group, for `ofNumbers` of its engine. */
export type FoundState = readonly [number, number];

/** Whether the verdicts of single groups can be derived from the states found: each bucket occurs once, and only charges change it. */
export function isFoldable(group: Group): boolean {
  if (group.dry === true || hasUsageReport(group)) return false;
  return (
    group.takes.every(({ limit, hits }) => hits >= 0 && TRAITS[limit.algorithm].engine.ofNumbers !== undefined) && !namesBucketTwice(group)
  );
}

/** The verdicts in the order of the groups: the first `allowed` are allowed; all others are denied alike, because they charge nothing. */
export function unfold({ group, times, allowed, found, nowUs }: UnfoldInput): GroupVerdict[] {
  const buckets = group.takes.map((take, i) => new FoldedTake(take, found[i] ?? [0, 0], nowUs));
  const unfolded: GroupVerdict[] = [];
  for (let time = 1; time <= allowed; time += 1) {
    const verdicts = buckets.map((bucket) => bucket.charge());
    markDenials(group, verdicts);
    unfolded.push({ overLimit: false, verdicts, nowUs });
  }
  if (allowed === times) return unfolded;
  const verdicts = buckets.map((bucket) => bucket.describe());
  markDenials(group, verdicts);
  const denied: GroupVerdict = { overLimit: true, verdicts, nowUs };
  while (unfolded.length < times) unfolded.push(denied);
  return unfolded;
}

interface UnfoldInput {
  readonly group: Group;
  /** Number of identical groups. */
  readonly times: number;
  readonly allowed: number;
  /** For each take. */
  readonly found: readonly FoundState[];
  readonly nowUs: number;
}

/** One take of a fold, with its bucket's state after each group. */
class FoldedTake {
  private readonly engine: Engine<BucketState>;
  private state: BucketState;

  constructor(
    private readonly take: Take,
    found: FoundState,
    private readonly nowUs: number,
  ) {
    this.engine = TRAITS[take.limit.algorithm].engine;
    const state = this.engine.ofNumbers?.(found, take.limit, nowUs);
    if (state === undefined) throw new Error('the algorithm does not support folds');
    this.state = state;
  }

  /** The verdict on this take for the next allowed group, charged if it fits. */
  charge(): OpenVerdict {
    if (!this.fits()) return this.describe();
    if (this.take.hits > 0) this.state = this.engine.charge(this.state, this.take.hits);
    return this.verdict({ fits: true });
  }

  /** The verdict on this take for a denied group, which charges nothing. */
  describe(): OpenVerdict {
    return this.verdict({ fits: this.fits() });
  }

  private fits(): boolean {
    const needed = neededHits(this.take, this.take.hits);
    return needed === 0 || needed <= this.engine.room(this.state, this.take.limit);
  }

  private verdict({ fits }: { readonly fits: boolean }): OpenVerdict {
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
