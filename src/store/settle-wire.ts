/** Settlements as the arguments of `lua/settle.lua`, and its reply. The contract is at the head of that file. */

import type { Settlement } from '../bucket/take';
import { BucketIndexes, encodeLimit, numbersOf, type ScriptArguments } from './script-wire';

export function encodeSettlements(settlements: readonly Settlement[]): ScriptArguments {
  const buckets = new BucketIndexes();
  const args = settlements.flatMap(({ bucketKey, limit, hits, takenAtUs, usedBefore }) => [
    ...buckets.encode(bucketKey, limit),
    String(hits),
    String(takenAtUs),
    String(usedBefore),
    ...encodeLimit(limit),
  ]);
  return { keys: buckets.keys, args };
}

/**
 * Hits applied of each settlement.
 *
 * @throws StoreError if the reply is not what the script answers
 */
export function decodeApplied(reply: unknown, settlements: readonly Settlement[]): readonly number[] {
  const next = numbersOf(reply);
  return settlements.map(() => next());
}
