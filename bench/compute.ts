/** A token-bucket decision in this process, on the state that `lua/take.lua` keeps in Redis: same numbers, same text. */

import type { BucketLimit } from '../src/bucket/take';
import { tokenBucket, type TokenBucketState } from '../src/engine/token-bucket';
import { packState } from '../test/support/pack-state';

/** As in `lua/take.lua`. */
const EXPIRY_MARGIN_US = 2_000_000;

export interface ComputeInput {
  /** What GET answered. */
  readonly stored: string | null;
  readonly limit: BucketLimit;
  readonly nowUs: number;
}

/** The arguments of SET after its key, or undefined: the hit does not fit, and nothing is to be written. */
export function compute({ stored, limit, nowUs }: ComputeInput): readonly string[] | undefined {
  const before = stored === null ? tokenBucket.fresh(limit, nowUs) : unpack(stored);
  const state = tokenBucket.advance(before, limit, nowUs);
  if (tokenBucket.room(state, limit) < 1) return undefined;
  const charged = tokenBucket.charge(state, 1);
  const ttlMs = Math.ceil((tokenBucket.resetAfterUs(charged, limit, nowUs) + EXPIRY_MARGIN_US) / 1000);
  return [packState(charged), 'PX', String(ttlMs)];
}

function unpack(stored: string): TokenBucketState {
  const [used, rest, atUs] = stored.split(' ').map(Number);
  if (used === undefined || rest === undefined || atUs === undefined) throw new Error(`"${stored}" is no bucket`);
  return { used, rest, atUs };
}
