/**
 * Applies one settlement, which changes a bucket without a verdict. Twin of `lua/include/settle-bucket.lua`, which runs in
 * Redis; this code runs in the embedded store.
 */

import { isOutside } from '../algorithm/window';
import { forgetRank } from '../bucket/forget-rank';
import { UNSETTLED, type Settlement } from '../bucket/take';
import { EXPIRY_MARGIN_US, type BucketWrite } from './decide-group';
import { TRAITS, type BucketState } from '../algorithm/algorithms';

export interface SettledBucket {
  /** Hits charged or given back, or `UNSETTLED`. */
  readonly applied: number;
  /** Absent: nothing was applied. */
  readonly write?: BucketWrite;
}

const NOTHING_APPLIED: SettledBucket = { applied: 0 };

/** Applies a settlement to the stored state of its bucket. */
export function settleBucket({ settlement, stored, nowUs }: SettleBucketInput): SettledBucket {
  const { limit, hits } = settlement;
  if (isOutside(limit, nowUs)) return { applied: UNSETTLED };
  const engine = TRAITS[limit.algorithm].engine;
  const state = engine.advance(stored ?? engine.fresh(limit, nowUs), limit, nowUs);
  return hits > 0 ? chargeHits({ settlement, stored, state, nowUs }) : giveBackHits({ settlement, state, nowUs });
}

interface SettleBucketInput {
  readonly settlement: Settlement;
  readonly stored: BucketState | undefined;
  readonly nowUs: number;
}

function chargeHits({ settlement, stored, state, nowUs }: ChargeHitsInput): SettledBucket {
  const { bucketKey, limit, hits, overdraftMax = 0 } = settlement;
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

interface ChargeHitsInput extends SettleBucketInput {
  /** The stored state at `nowUs`. */
  readonly state: BucketState;
}

/** Keeps the bucket's expiry: with less used it is long enough, under a smaller limit too. */
function giveBackHits({ settlement, state, nowUs }: Omit<ChargeHitsInput, 'stored'>): SettledBucket {
  const { bucketKey, limit, hits, takenAtUs, usedBefore, slotId } = settlement;
  if (isOutside(limit, takenAtUs)) return NOTHING_APPLIED;
  const engine = TRAITS[limit.algorithm].engine;
  const { state: after, given } = engine.giveBack(state, limit, { hits: -hits, takenAtUs, usedBefore, slotId });
  if (given === 0) return NOTHING_APPLIED;
  if (engine.isUnused(after)) return { applied: given, write: { bucketKey } };
  const rank = forgetRank(engine.room(after, limit), limit.capacity, engine.resetAfterUs(after, limit, nowUs));
  return { applied: given, write: { bucketKey, state: after, rank } };
}
