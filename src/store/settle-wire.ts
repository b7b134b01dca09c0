/** Settlements as the arguments of `lua/settle.lua`, and its reply. The contract is at the head of that file. */

import type { Settlement } from '../bucket/take';
import { ALGORITHM_CODES, pushLimit, ReplyNumbers, type ScriptArguments } from './script-wire';

export function encodeSettlements(settlements: readonly Settlement[]): ScriptArguments {
  const args: string[] = [];
  for (const { limit, hits, takenAtUs, usedBefore, overdraftMax = 0, slotId = '' } of settlements) {
    args.push(ALGORITHM_CODES[limit.algorithm], String(hits), String(takenAtUs), String(usedBefore), String(overdraftMax));
    pushLimit(args, limit);
    if (limit.algorithm === 'in_flight') args.push(slotId);
  }
  return { keys: settlements.map(({ bucketKey }) => bucketKey), args };
}

/**
 * Hits applied of each settlement.
 *
 * @throws StoreError if the reply is not what the script answers
 */
export function decodeApplied(reply: unknown, settlements: readonly Settlement[]): readonly number[] {
  const numbers = new ReplyNumbers(reply);
  const applied = settlements.map(() => numbers.next());
  numbers.end();
  return applied;
}
