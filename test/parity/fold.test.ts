/** Groups folded into one are decided exactly as one by one, in Redis and in its TypeScript twin. */

import fc from 'fast-check';
import { RESP_TYPES } from '@redis/client';
import { ALGORITHMS, type BucketState } from '../../src/domain/algorithm/algorithms';
import type { Group } from '../../src/domain/bucket/take';
import { isFoldable } from '../../src/domain/decide/unfold';
import type { GroupOutcome } from '../../src/state/store/port/store';
import { encodeTakes } from '../../src/state/store/redis/take-wire';
import { decideGroup } from '../support/decisions/decide-group';
import { groupOf, LIMITS, take, TEN_PER_SECOND } from '../support/decisions/groups';
import { redisOfFile } from '../support/redis/redis-of-file';
import { seeded } from '../support/random/random';
import { schedules } from '../support/random/schedules';

const RUNS = 150;
const TIMEOUT_MS = 120_000;
const TIMES_MAX = 200;
const START_US = 1_800_000_000_000_000;
const FOLDABLE = ALGORITHMS.filter((algorithm) => algorithm !== 'sliding_window_log');

const redis = redisOfFile();

beforeEach(() => redis.client.flushAll());

/** The groups as one call names them: by number, each as often as its number comes. */
interface Burst {
  readonly nowUs: number;
  readonly groups: readonly Group[];
}

/** Every group of a schedule many times; some of them, one after the other or mixed, in one call. */
function bursts(algorithm?: (typeof ALGORITHMS)[number]): fc.Arbitrary<readonly Burst[]> {
  const times = fc.oneof(
    { weight: 3, arbitrary: fc.integer({ min: 1, max: 12 }) },
    { weight: 1, arbitrary: fc.integer({ min: 1, max: TIMES_MAX }) },
  );
  return schedules(algorithm).chain((steps) =>
    fc
      .tuple(
        ...steps.map(({ nowUs, group }, i) =>
          fc
            .record({ times, isPlain: fc.integer({ min: 0, max: 9 }), other: fc.nat(i), mixed: fc.boolean() })
            .map((parts) => ({ ...parts, nowUs, group })),
        ),
      )
      .map((planned) => {
        const made = planned.map(({ group, isPlain }) => (isPlain === 0 ? group : plain(group)));
        return planned.map(({ nowUs, times: count, other, mixed }, i): Burst => {
          const own = Array.from({ length: count }, () => made[i]!);
          return { nowUs, groups: mixed ? own.flatMap((group) => [group, made[other]!]) : own };
        });
      }),
  );
}

/** The group without what keeps it from being folded. */
function plain({ takes, ...flags }: Group): Group {
  const first = takes.filter(({ bucketKey }, i) => takes.findIndex((other) => other.bucketKey === bucketKey) === i);
  return {
    ...flags,
    takes: first.map(({ overdraftMax, ...each }) => ({ ...each, hits: overdraftMax === undefined ? Math.abs(each.hits) : 1 })),
  };
}

/** The same, but no two are one object. */
function copies(groups: readonly Group[]): readonly Group[] {
  return groups.map((group) => ({ ...group }));
}

/** By the TypeScript twin, on states that do not expire. */
function decideOn(states: Map<string, BucketState>, group: Group, nowUs: number): GroupOutcome {
  const { writes, ...verdict } = decideGroup({ group, nowUs, read: (key) => states.get(key) });
  for (const { bucketKey, state } of writes) {
    if (state === undefined) states.delete(bucketKey);
    else states.set(bucketKey, state);
  }
  return verdict;
}

function keysOf(groups: readonly Group[]): string[] {
  return [...new Set(groups.flatMap(({ takes }) => takes.map(({ bucketKey }) => bucketKey)))];
}

/** Time passes as the test says, and no bucket expires on the way. */
async function keepAll(groups: readonly Group[]): Promise<void> {
  await Promise.all(keysOf(groups).map((key) => redis.client.persist(key)));
}

async function storedBytes(groups: readonly Group[]): Promise<readonly (string | null)[]> {
  const keys = keysOf(groups);
  const stored = await redis.client.withTypeMapping({ [RESP_TYPES.BLOB_STRING]: Buffer }).mGet(keys);
  return stored.map((value) => value?.toString('latin1') ?? null);
}

describe.each([...FOLDABLE, undefined])('%s (undefined: any mix)', (algorithm) => {
  test(
    'a fold equals its groups decided one by one, and leaves the same state',
    async () => {
      await fc.assert(
        fc.asyncProperty(bursts(algorithm), async (all) => {
          const states = new Map<string, BucketState>();
          const touched = all.flatMap(({ groups }) => groups);
          const outcomes: unknown[] = [];
          await redis.client.flushAll();
          for (const { nowUs, groups } of all) {
            await redis.setNow(nowUs);
            outcomes.push(await redis.store.take(groups));
            await keepAll(groups);
          }
          const folded = await storedBytes(touched);
          await redis.client.flushAll();
          for (const [i, { nowUs, groups }] of all.entries()) {
            await redis.setNow(nowUs);
            const single = await redis.store.take(copies(groups));
            await keepAll(groups);
            expect(outcomes[i]).toEqual(single);
            expect(groups.map((group) => decideOn(states, group, nowUs))).toEqual(single);
          }
          expect(await storedBytes(touched)).toEqual(folded);
        }),
        seeded(RUNS),
      );
    },
    TIMEOUT_MS,
  );
});

test('states ahead of the clock are brought to now, also by denied folds', async () => {
  for (const algorithm of FOLDABLE) {
    const limit = LIMITS[algorithm];
    await redis.setNow(START_US);
    await redis.store.take([groupOf([take(algorithm, { limit, hits: limit.capacity })])]);
    const denied = groupOf([take(algorithm, { limit })]);
    await redis.setNow(START_US - 3_600_000_000);
    const outcomes = await redis.store.take([denied, denied, denied]);
    await redis.client.flushAll();
    await redis.setNow(START_US);
    await redis.store.take([groupOf([take(algorithm, { limit, hits: limit.capacity })])]);
    await redis.setNow(START_US - 3_600_000_000);
    expect(outcomes).toEqual(await redis.store.take(copies([denied, denied, denied])));
  }
});

describe('groups fold', () => {
  const [a, b] = [groupOf([take('a')]), groupOf([take('b')])];
  const placesOf = (...groups: Group[]) => encodeTakes(groups).folds?.map(({ places }) => places);

  test('equal objects fold across groups on other buckets', () => {
    expect(placesOf(a, b, a, a, b)).toEqual([
      [0, 2, 3],
      [1, 4],
    ]);
  });

  test('groups do not fold across a group on one of their buckets, since each is decided on the last state', () => {
    const both = groupOf([take('a'), take('c')]);
    expect(placesOf(a, both, a, a)).toEqual([[0], [1], [2, 3]]);
    expect(placesOf(a, a, { ...a }, a)).toEqual([[0, 1], [2], [3]]);
  });

  test.each([
    ['dry', { ...a, dry: true } as const],
    ['with a refund', groupOf([take('a'), take('b', { hits: -1 })])],
    ['with a bucket twice', groupOf([take('a'), take('a')])],
    ['of a log', groupOf([take('a', { limit: LIMITS.sliding_window_log })])],
  ])('a group does not fold %s', (_what, group) => {
    expect(isFoldable(group)).toBe(false);
    expect(placesOf(group, group)).toEqual([[0], [1]]);
  });

  test('a hot key takes a few arguments for any number of groups', () => {
    const { keys, args } = encodeTakes(Array.from({ length: 100 }, () => a));
    expect([keys.length, args.length]).toEqual([1, 6]);
  });

  test('groups of one shape are written once, followed by their keys', () => {
    const { keys, args } = encodeTakes(Array.from({ length: 100 }, (_, i) => groupOf([take(`key-${i}`, { limit: TEN_PER_SECOND })])));
    expect([keys.length, args.length]).toEqual([100, 6]);
  });
});
