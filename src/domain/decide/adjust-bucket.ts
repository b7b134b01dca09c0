/**
 * Applies one adjustment, which changes a bucket without a verdict. Twin of `lua/include/adjust-bucket.lua`, which runs in
 * Redis; this code runs in the embedded store.
 */

import { isOutside } from '../algorithm/window';
import { forgetRank } from '../bucket/forget-rank';
import { NOT_ADJUSTED, type Adjustment } from '../bucket/take';
import { EXPIRY_MARGIN_US, type BucketWrite } from './decide-group';
import { TRAITS, type BucketState } from '../algorithm/algorithms';

export interface AdjustedBucket {
  /** Hits charged or given back, or `NOT_ADJUSTED`. */
  readonly applied: number;
  /** Absent: nothing was applied. */
  readonly write?: BucketWrite;
}

const NOTHING_APPLIED: AdjustedBucket = { applied: 0 };

/** Applies an adjustment to the stored state of its bucket. */
export function adjustBucket({ adjustment, stored, nowUs }: AdjustBucketInput): AdjustedBucket {
  const { limit, hits } = adjustment;
  if (isOutside(limit, nowUs)) return { applied: NOT_ADJUSTED };
  const engine = TRAITS[limit.algorithm].engine;
  const state = engine.advance(stored ?? engine.fresh(limit, nowUs), limit, nowUs);
  return hits > 0 ? chargeHits({ adjustment, stored, state, nowUs }) : giveBackHits({ adjustment, stored, state, nowUs });
}

interface AdjustBucketInput {
  readonly adjustment: Adjustment;
  readonly stored: BucketState | undefined;
  readonly nowUs: number;
}

function chargeHits({ adjustment, stored, state, nowUs }: ChargeHitsInput): AdjustedBucket {
  const { bucketKey, limit, hits, overdraftMax = 0 } = adjustment;
  const engine = TRAITS[limit.algorithm].engine;
  const applied = Math.min(hits, Math.max(0, engine.room(state, limit) + overdraftMax));
  if (applied === 0) return NOTHING_APPLIED;
  const after = engine.charge(state, applied);
  // A limit that never refills does not define an expiry.
  if (limit.requestsPerUnit === 0 && stored !== undefined) return { applied, write: { bucketKey, state: after } };
  const resetAfterUs = engine.resetAfterUs(after, limit, nowUs);
  const rank = forgetRank(engine.room(after, limit), limit.capacity, resetAfterUs);
  return { applied, write: { bucketKey, state: after, expiresAfterUs: resetAfterUs + EXPIRY_MARGIN_US, rank } };
}

interface ChargeHitsInput extends AdjustBucketInput {
  /** The stored state at `nowUs`. */
  readonly state: BucketState;
}

/** Keeps the bucket's expiry: with less used it is long enough, under a smaller limit too. Only a budget gets hits back before it exists. */
function giveBackHits({ adjustment, stored, state, nowUs }: ChargeHitsInput): AdjustedBucket {
  const { bucketKey, limit, hits, takenAtUs, usedBefore, slotId } = adjustment;
  if (isOutside(limit, takenAtUs)) return NOTHING_APPLIED;
  const engine = TRAITS[limit.algorithm].engine;
  const { state: after, given } = engine.giveBack(state, limit, { hits: -hits, takenAtUs, usedBefore, slotId });
  if (given === 0) return NOTHING_APPLIED;
  if (engine.isUnused(after)) return { applied: given, write: { bucketKey } };
  const resetAfterUs = engine.resetAfterUs(after, limit, nowUs);
  const rank = forgetRank(engine.room(after, limit), limit.capacity, resetAfterUs);
  if (stored !== undefined) return { applied: given, write: { bucketKey, state: after, rank } };
  return { applied: given, write: { bucketKey, state: after, expiresAfterUs: resetAfterUs + EXPIRY_MARGIN_US, rank } };
}
