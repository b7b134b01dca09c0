/** Encodes adjustments as arguments of `lua/adjust.lua`, and decodes its reply. The head of that file has the contract. */

import { TRAITS } from '../../../domain/algorithm/algorithms';
import { NOT_ADJUSTED, type Adjustment } from '../../../domain/bucket/take';
import { pushLimit, type ScriptArguments } from './script-wire';
import { ReplyNumbers } from './client/read-reply';

export function encodeAdjustments(adjustments: readonly Adjustment[]): ScriptArguments {
  const args: string[] = [];
  for (const { limit, hits, takenAtUs, usedBefore, overdraftMax = 0, slotId = '' } of adjustments) {
    const { scriptCode, holds } = TRAITS[limit.algorithm];
    args.push(scriptCode, String(hits), String(takenAtUs), String(usedBefore), String(overdraftMax));
    pushLimit(args, limit);
    if (holds === 'slots') args.push(slotId);
  }
  return { keys: adjustments.map(({ bucketKey }) => bucketKey), args };
}

/**
 * Hits applied by each adjustment.
 *
 * @throws ReplyError if the reply is invalid
 */
export function decodeApplied(reply: unknown, adjustments: readonly Adjustment[]): readonly number[] {
  const numbers = new ReplyNumbers(reply);
  const applied = adjustments.map(({ hits }) => numbers.next(NOT_ADJUSTED, Math.abs(hits)));
  numbers.end();
  return applied;
}
