/** Groups as the arguments of `lua/take.lua`, and its reply as outcomes. The contract is at the head of that file. */

import type { Group, GroupVerdict, Mode, Verdict } from '../bucket/take';
import type { Algorithm } from '../rule/limit';
import { StoreError, type GroupOutcome } from './store';

const ALGORITHM_CODES: Readonly<Record<Algorithm, string>> = {
  token_bucket: '1',
  fixed_window: '2',
  leaky_bucket: '3',
  sliding_window_log: '4',
  sliding_window_counter: '5',
};
const MODE_CODES: Readonly<Record<Mode, string>> = { enforced: '0', quota: '1', shadow: '2' };
const FLAG_SHADOW = 1;
const FLAG_QUOTA_ALWAYS_FITS = 2;
const GROUP_DENIED = 1;
const GROUP_UNREADABLE = -1;
const GROUP_OUTSIDE_WINDOWS = -2;
const TAKE_FITS = 1;

export interface TakeArguments {
  readonly keys: readonly string[];
  readonly args: readonly string[];
}

export function encodeTakes(groups: readonly Group[]): TakeArguments {
  const indexes = new Map<string, number>();
  const args: string[] = [];
  for (const { takes, shadow, quotaAlwaysFits } of groups) {
    const flags = (shadow ? FLAG_SHADOW : 0) + (quotaAlwaysFits ? FLAG_QUOTA_ALWAYS_FITS : 0);
    args.push(String(flags), String(takes.length));
    for (const { bucketKey, limit, hits, mode, descriptor } of takes) {
      const index = indexes.get(bucketKey) ?? indexes.size + 1;
      indexes.set(bucketKey, index);
      args.push(
        String(index),
        ALGORITHM_CODES[limit.algorithm],
        MODE_CODES[mode],
        String(descriptor),
        String(hits),
        String(limit.windowUs),
        String(limit.requestsPerUnit),
        String(limit.capacity),
        String(limit.edgesUs?.length ?? 0),
        ...(limit.edgesUs?.map(String) ?? []),
      );
    }
  }
  return { keys: [...indexes.keys()], args };
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

function numbersOf(reply: unknown): () => number {
  const values: readonly unknown[] = Array.isArray(reply) ? reply : [];
  let at = 0;
  return () => {
    const value = values[at];
    at += 1;
    if (typeof value !== 'number') throw new StoreError('the store answered something that is no verdict', 'script');
    return value;
  };
}
