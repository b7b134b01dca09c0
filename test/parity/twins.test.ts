/** The Lua scripts and their TypeScript twin agree on every field of every verdict, and on every stored state. */

import fc from 'fast-check';
import { RESP_TYPES } from '@redis/client';
import type { BucketState } from '../../src/domain/algorithm/algorithms';
import type { Group, Adjustment } from '../../src/domain/bucket/take';
import type { BucketWrite } from '../../src/domain/decide/decide-group';
import { adjustBucket } from '../../src/domain/decide/adjust-bucket';
import { decideGroup } from '../support/decisions/decide-group';
import { packState } from '../support/redis/pack-state';
import { redisOfFile } from '../support/redis/redis-of-file';
import { seeded } from '../support/random/random';
import {
  HIT_ALGORITHMS,
  plainSchedules,
  schedules,
  settlingSchedules,
  type ScheduleStep,
  type SettlingStep,
} from '../support/random/schedules';
import { slotSchedules } from '../support/random/slot-schedules';

const RUNS = 1_000;
const TIMEOUT_MS = 120_000;

const redis = redisOfFile();

test.each([...HIT_ALGORITHMS, undefined])(
  'twins of %s agree (undefined: any mix)',
  async (algorithm) => {
    await fc.assert(fc.asyncProperty(schedules(algorithm), runOnBoth), seeded(RUNS));
  },
  TIMEOUT_MS,
);

test.each([...HIT_ALGORITHMS, undefined])(
  'twins of %s agree with dry groups and adjustments in between (undefined: any mix)',
  async (algorithm) => {
    await fc.assert(fc.asyncProperty(settlingSchedules(algorithm), runOnBoth), seeded(RUNS));
  },
  TIMEOUT_MS,
);

test(
  'twins agree on plain groups, which the script decides on its straight path',
  async () => {
    await fc.assert(fc.asyncProperty(plainSchedules(), runOnBoth), seeded(RUNS));
  },
  TIMEOUT_MS,
);

test(
  'twins of requests in flight agree, beside a token bucket, with dry groups and adjustments in between',
  async () => {
    await fc.assert(fc.asyncProperty(slotSchedules(), runOnBoth), seeded(RUNS));
  },
  TIMEOUT_MS,
);

async function runOnBoth(steps: readonly (ScheduleStep | SettlingStep)[]): Promise<void> {
  await redis.client.flushAll();
  const states = new Map<string, BucketState>();
  for (const step of steps) {
    await redis.setNow(step.nowUs);
    if ('group' in step) {
      expect(await redis.store.take([step.group])).toEqual([decide(step.group, { states, nowUs: step.nowUs })]);
    } else {
      const expected = step.adjustments.map((adjustment) => adjust(adjustment, { states, nowUs: step.nowUs }));
      expect(await redis.store.adjust(step.adjustments)).toEqual(expected);
    }
    const limits = new Map(('group' in step ? step.group.takes : step.adjustments).map(({ bucketKey, limit }) => [bucketKey, limit]));
    const keys = [...limits.keys()];
    const stored = await redis.client.withTypeMapping({ [RESP_TYPES.BLOB_STRING]: Buffer }).mGet(keys);
    expect(stored.map((value) => value?.toString('latin1') ?? null)).toEqual(
      keys.map((key) => (states.has(key) ? packState(states.get(key)!, limits.get(key)!) : null)),
    );
  }
}

/** What the TypeScript twin works on. */
interface Memory {
  readonly states: Map<string, BucketState>;
  readonly nowUs: number;
}

function decide(group: Group, { states, nowUs }: Memory) {
  const { writes, ...verdict } = decideGroup({ group, nowUs, read: (key) => states.get(key) });
  for (const write of writes) apply(write, states);
  return verdict;
}

function adjust(adjustment: Adjustment, { states, nowUs }: Memory): number {
  const { applied, write } = adjustBucket({ adjustment, nowUs, stored: states.get(adjustment.bucketKey) });
  if (write !== undefined) apply(write, states);
  return applied;
}

function apply({ bucketKey, state }: BucketWrite, states: Map<string, BucketState>): void {
  if (state === undefined) states.delete(bucketKey);
  else states.set(bucketKey, state);
}
