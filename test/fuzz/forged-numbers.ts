/** Replies of the scripts as lists of numbers, forged and read by themselves: a million cost what a thousand cost over a socket. */

import { NEVER } from '../../src/domain/algorithm/engine';
import { NOT_ADJUSTED, type Group, type Adjustment, type Take, type Verdict } from '../../src/domain/bucket/take';
import { loadScript } from '../../src/state/store/redis/script-loader';
import { decodeApplied, encodeAdjustments } from '../../src/state/store/redis/adjust-wire';
import type { GroupOutcome } from '../../src/state/store/port/store';
import { ReplyError } from '../../src/state/store/redis/client/reply-error';
import { StoreError } from '../../src/state/store/port/store-error';
import { decodeReply, encodeTakes } from '../../src/state/store/redis/take-wire';
import type { Random } from '../support/random/random';
import type { RedisStore } from '../../src/state/store/redis/redis-store';

/** What was asked of Redis, and what it answered. */
export interface Sample {
  readonly reply: readonly unknown[];
  /** What is wrong with what is read out of a reply to it; undefined: nothing. Throws what reading throws. */
  readonly read: (reply: unknown) => string | undefined;
}

/** No wait, and no hits of a bucket, are beyond these. */
const WAIT_US_MAX = 200 * 366 * 86_400 * 1_000_000;
const HITS_MAX = Number.MAX_SAFE_INTEGER;

const VALUES: readonly unknown[] = [
  0,
  -0,
  -1,
  -2,
  -3,
  -4,
  -5,
  -6,
  1,
  2,
  7,
  100,
  65_536,
  2 ** 31,
  2 ** 32,
  2 ** 32 + 1,
  2 ** 53 - 1,
  2 ** 53,
  -(2 ** 53),
  9.2e18,
  -9.2e18,
  1.5,
  Infinity,
  -Infinity,
  NaN,
  null,
  undefined,
  '',
  '5',
  '1800000000000000',
  'a key',
  true,
  [],
  [1],
  {},
  new Error('an error within a list'),
];

const takeScript = loadScript('take');
const adjustScript = loadScript('adjust');

export async function sampleTake(store: RedisStore, groups: readonly Group[]): Promise<Sample> {
  const { keys, args, folds } = encodeTakes(groups);
  const reply = await store.run({ script: takeScript, keys, args, read: (raw) => raw as readonly unknown[] });
  return { reply, read: (forged) => faultOfOutcomes(groups, decodeReply(forged, { groups, folds })) };
}

export async function sampleAdjust(store: RedisStore, adjustments: readonly Adjustment[]): Promise<Sample> {
  const { keys, args } = encodeAdjustments(adjustments);
  const reply = await store.run({ script: adjustScript, keys, args, read: (raw) => raw as readonly unknown[] });
  return { reply, read: (forged) => faultOfApplied(adjustments, decodeApplied(forged, adjustments)) };
}

/** Reads a number of forged replies, and returns how many were rejected. Throws at the first that is accepted though no script answers it. */
export function fuzzNumbers({
  samples,
  random,
  replies,
}: {
  readonly samples: readonly Sample[];
  readonly random: Random;
  readonly replies: number;
}): number {
  let refused = 0;
  for (let i = 0; i < replies; i += 1) {
    const sample = samples[random(samples.length)]!;
    const forged = forgeList(sample.reply, samples[random(samples.length)]!.reply, random);
    try {
      const fault = sample.read(forged);
      if (fault !== undefined)
        throw new Error(`${fault}, out of the reply ${JSON.stringify(forged)} in place of ${JSON.stringify(sample.reply)}`);
    } catch (error) {
      if (!(error instanceof ReplyError)) throw error;
      refused += 1;
    }
  }
  return refused;
}

function forgeList(reply: readonly unknown[], other: readonly unknown[], random: Random): unknown {
  const list = [...reply];
  const at = random(Math.max(1, list.length));
  switch (random(8)) {
    case 0:
      return list.slice(0, at);
    case 1:
      return [...list, ...other.slice(0, random(4))];
    case 2:
      return other;
    case 3:
      list.splice(at, 1);
      return list;
    case 4:
      list.splice(at, 0, list[random(Math.max(1, list.length))]);
      return list;
    case 5:
      return VALUES[random(VALUES.length)];
    default:
      for (let forged = 0; forged <= random(3); forged += 1) list[random(Math.max(1, list.length))] = VALUES[random(VALUES.length)];
      return list;
  }
}

function faultOfOutcomes(groups: readonly Group[], outcomes: readonly GroupOutcome[]): string | undefined {
  if (outcomes.length !== groups.length) return `${outcomes.length} outcomes of ${groups.length} groups`;
  for (const [i, { takes }] of groups.entries()) {
    const outcome = outcomes[i];
    if (outcome === undefined) return 'a group without an outcome';
    if (outcome instanceof StoreError) continue;
    if ('outsideAtUs' in outcome) {
      if (!isWhole(outcome.outsideAtUs, 0, Number.MAX_SAFE_INTEGER)) return `a time of ${outcome.outsideAtUs} us`;
      continue;
    }
    if (!isWhole(outcome.nowUs, 0, Number.MAX_SAFE_INTEGER)) return `a time of ${outcome.nowUs} us`;
    if (outcome.verdicts.length !== takes.length) return `${outcome.verdicts.length} verdicts on ${takes.length} takes`;
    for (const [n, take] of takes.entries()) {
      const fault = faultOfVerdict(outcome.verdicts[n]!, take);
      if (fault !== undefined) return fault;
    }
  }
  return undefined;
}

function faultOfVerdict({ remaining, resetAfterUs, retryAfterUs, debt = 0, cut = 0 }: Verdict, { limit, hits }: Take): string | undefined {
  const { algorithm, capacity } = limit;
  // Credits may raise a budget above its capacity.
  if (!isWhole(remaining, 0, algorithm === 'budget' ? Number.MAX_SAFE_INTEGER : capacity)) return `${remaining} hits left of ${capacity}`;
  if (!isWhole(resetAfterUs, 0, WAIT_US_MAX)) return `a reset after ${resetAfterUs} us`;
  if (!isWhole(retryAfterUs, NEVER, WAIT_US_MAX)) return `a retry after ${retryAfterUs} us`;
  if (!isWhole(debt, 0, HITS_MAX)) return `a debt of ${debt} hits`;
  return isWhole(cut, 0, Math.max(0, hits)) ? undefined : `${cut} of ${hits} hits cut off`;
}

function faultOfApplied(adjustments: readonly Adjustment[], applied: readonly number[]): string | undefined {
  if (applied.length !== adjustments.length) return `${applied.length} outcomes of ${adjustments.length} adjustments`;
  const wrong = adjustments.findIndex(({ hits }, i) => !isWhole(applied[i]!, NOT_ADJUSTED, Math.abs(hits)));
  return wrong < 0 ? undefined : `${applied[wrong]} of ${adjustments[wrong]!.hits} hits applied`;
}

function isWhole(value: number, min: number, max: number): boolean {
  return Number.isInteger(value) && value >= min && value <= max;
}
