/** Encodes settlements as arguments of `lua/settle.lua`, and decodes its reply. The head of that file has the contract. */

import { TRAITS } from '../../../domain/algorithm/algorithms';
import { UNSETTLED, type Settlement } from '../../../domain/bucket/take';
import { pushLimit, type ScriptArguments } from './script-wire';
import { ReplyNumbers } from './client/read-reply';

export function encodeSettlements(settlements: readonly Settlement[]): ScriptArguments {
  const args: string[] = [];
  for (const { limit, hits, takenAtUs, usedBefore, overdraftMax = 0, slotId = '' } of settlements) {
    const { scriptCode, holds } = TRAITS[limit.algorithm];
    args.push(scriptCode, String(hits), String(takenAtUs), String(usedBefore), String(overdraftMax));
    pushLimit(args, limit);
    if (holds === 'slots') args.push(slotId);
  }
  return { keys: settlements.map(({ bucketKey }) => bucketKey), args };
}

/**
 * Hits applied by each settlement.
 *
 * @throws ReplyError if the reply is invalid
 */
export function decodeApplied(reply: unknown, settlements: readonly Settlement[]): readonly number[] {
  const numbers = new ReplyNumbers(reply);
  const applied = settlements.map(({ hits }) => numbers.next(UNSETTLED, Math.abs(hits)));
  numbers.end();
  return applied;
}
