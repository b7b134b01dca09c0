/** A token-bucket decision in this process, on the numbers that `lua/take.lua` keeps in Redis, as text. */

import type { BucketLimit } from '../../src/domain/bucket/take';
import { tokenBucket, type TokenBucketState } from '../../src/domain/algorithm/token-bucket';

/** As in `lua/take.lua`. */
const EXPIRY_MARGIN_US = 2_000_000;

export interface ComputeInput {
  /** What GET answered. */
  readonly stored: string | null;
  readonly limit: BucketLimit;
  readonly nowUs: number;
}

export interface Computed {
  readonly fits: boolean;
  /** The arguments of SET after its key: the bucket with the hit, or as it is now if the hit does not fit. */
  readonly write: readonly string[];
}

export function computeTake({ stored, limit, nowUs }: ComputeInput): Computed {
  const before = stored === null ? tokenBucket.engine.fresh(limit, nowUs) : unpack(stored);
  const state = tokenBucket.engine.advance(before, limit, nowUs);
  const fits = tokenBucket.engine.room(state, limit) >= 1;
  const after = fits ? tokenBucket.engine.charge(state, 1) : state;
  const ttlMs = Math.ceil((tokenBucket.engine.resetAfterUs(after, limit, nowUs) + EXPIRY_MARGIN_US) / 1000);
  return { fits, write: [`${after.used} ${after.rest} ${after.atUs}`, 'PX', String(ttlMs)] };
}

function unpack(stored: string): TokenBucketState {
  const [used, rest, atUs] = stored.split(' ').map(Number);
  if (used === undefined || rest === undefined || atUs === undefined) throw new Error(`"${stored}" is not a bucket`);
  return { used, rest, atUs };
}
