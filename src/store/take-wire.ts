/** Groups as the arguments of `lua/take.lua`, and its reply as outcomes. The contract is at the head of that file. */

import type { Group, GroupVerdict, Mode, Verdict } from '../bucket/take';
import { BucketIndexes, encodeLimit, numbersOf, type ScriptArguments } from './script-wire';
import { StoreError, type GroupOutcome } from './store';

const MODE_CODES: Readonly<Record<Mode, string>> = { enforced: '0', quota: '1', shadow: '2' };
const FLAG_SHADOW = 1;
const FLAG_QUOTA_ALWAYS_FITS = 2;
const FLAG_DRY = 4;
const GROUP_DENIED = 1;
const GROUP_UNREADABLE = -1;
const GROUP_OUTSIDE_WINDOWS = -2;
const TAKE_FITS = 1;

export function encodeTakes(groups: readonly Group[]): ScriptArguments {
  const buckets = new BucketIndexes();
  const args: string[] = [];
  for (const { takes, shadow, quotaAlwaysFits, dry } of groups) {
    const flags = (shadow ? FLAG_SHADOW : 0) + (quotaAlwaysFits ? FLAG_QUOTA_ALWAYS_FITS : 0) + (dry === true ? FLAG_DRY : 0);
    args.push(String(flags), String(takes.length));
    for (const { bucketKey, limit, hits, mode, descriptor } of takes) {
      const bucket = buckets.encode(bucketKey, limit);
      args.push(...bucket, MODE_CODES[mode], String(descriptor), String(hits), ...encodeLimit(limit));
    }
  }
  return { keys: buckets.keys, args };
}

/**
 * @throws StoreError if the reply is not what the script answers
 */
export function decodeReply(reply: unknown, groups: readonly Group[]): readonly GroupOutcome[] {
  const next = numbersOf(reply);
  const nowUs = next();
  return groups.map((group): GroupOutcome => {
    const code = next();
    if (code === GROUP_UNREADABLE) {
      return new StoreError('the store holds something that is no bucket under the key of one', 'script');
    }
    if (code === GROUP_OUTSIDE_WINDOWS) return { outsideAtUs: nowUs };
    const verdicts = group.takes.map(
      (): Verdict => ({ fits: next() === TAKE_FITS, remaining: next(), retryAfterUs: next(), resetAfterUs: next() }),
    );
    return { overLimit: code === GROUP_DENIED, verdicts, nowUs } satisfies GroupVerdict;
  });
}
