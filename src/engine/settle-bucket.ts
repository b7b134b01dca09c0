/**
 * One settlement: a bucket put right without any decision. Twin of `lua/include/settle-bucket.lua`: with Redis it runs
 * there, with the embedded store here.
 */

import { isOutside, UNSETTLED, type Settlement } from '../bucket/take';
import { EXPIRY_MARGIN_US, type BucketWrite } from './decide-group';
import { ENGINES, type BucketState } from './engines';

export interface SettledBucket {
  /** Hits charged or given back, or `UNSETTLED`. */
  readonly applied: number;
  /** Absent: nothing was applied. */
  readonly write?: BucketWrite;
}

const NOTHING_APPLIED: SettledBucket = { applied: 0 };

/** Applies a settlement to the state that is stored for its bucket. */
export function settleBucket({ settlement, stored, nowUs }: SettleBucketInput): SettledBucket {
  const { limit, hits } = settlement;
  if (isOutside(limit, nowUs)) return { applied: UNSETTLED };
  const engine = ENGINES[limit.algorithm];
  const state = engine.advance(stored ?? engine.fresh(limit, nowUs), limit, nowUs);
  return hits > 0 ? chargeHits({ settlement, stored, state, nowUs }) : giveBackHits({ settlement, state });
}

interface SettleBucketInput {
  readonly settlement: Settlement;
  readonly stored: BucketState | undefined;
  readonly nowUs: number;
}

function chargeHits({ settlement, stored, state, nowUs }: ChargeHitsInput): SettledBucket {
  const { bucketKey, limit, hits, overdraftMax = 0 } = settlement;
  const engine = ENGINES[limit.algorithm];
  const applied = Math.min(hits, Math.max(0, engine.room(state, limit) + overdraftMax));
  if (applied === 0) return NOTHING_APPLIED;
  const after = engine.charge(state, applied);
  // A limit that never refills does not say how long the bucket matters.
  if (limit.requestsPerUnit === 0 && stored !== undefined) return { applied, write: { bucketKey, state: after } };
  const expiresAfterUs = engine.resetAfterUs(after, limit, nowUs) + EXPIRY_MARGIN_US;
  return { applied, write: { bucketKey, state: after, expiresAfterUs } };
}

interface ChargeHitsInput extends SettleBucketInput {
  /** The stored state at `nowUs`. */
  readonly state: BucketState;
}

/** The bucket is kept as long as it was to be: with less used that is long enough, also under a smaller limit. */
function giveBackHits({ settlement, state }: Pick<ChargeHitsInput, 'settlement' | 'state'>): SettledBucket {
  const { bucketKey, limit, hits, takenAtUs, usedBefore, slotId } = settlement;
  if (isOutside(limit, takenAtUs)) return NOTHING_APPLIED;
  const engine = ENGINES[limit.algorithm];
  const { state: after, given } = engine.giveBack(state, limit, { hits: -hits, takenAtUs, usedBefore, slotId });
  if (given === 0) return NOTHING_APPLIED;
  return { applied: given, write: engine.isUnused(after) ? { bucketKey } : { bucketKey, state: after } };
}
