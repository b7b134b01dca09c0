/**
 * Under a reserve, a request fits if what other classes have kept is left after it; nobody takes that part, and its class can use all of it.
 *
 * Both twins are compared with the definition over the whole bucket, whose hits an independent model counts.
 */

import fc from 'fast-check';
import { ALGORITHMS, type BucketAlgorithm, type BucketState } from '../../src/domain/algorithm/algorithms';
import type { BucketLimit, Group, GroupVerdict } from '../../src/domain/bucket/take';
import { reservedLimit, type Limit } from '../../src/domain/rule/limit';
import { makeReserve, partKept, RESERVE_PARTS, type Reserve } from '../../src/domain/rule/reserve/reserve';
import { decideGroup } from '../support/decisions/decide-group';
import { figure } from '../support/docs/figure';
import { Model } from '../support/model/model';
import { redisOfFile } from '../support/redis/redis-of-file';
import { seeded } from '../support/random/random';
import { nextNowUs, START_US } from '../support/random/schedules';

const RUNS = 1_000;
const TIMEOUT_MS = 120_000;
const KEY = 'bucket';
const CLASSES = ['critical', 'high', 'elevated'];

const redis = redisOfFile();

interface Asked {
  /** Undefined: it says none. */
  readonly name: string | undefined;
  /** Negative: a refund. */
  readonly hits: number;
}

interface Schedule {
  readonly limit: Limit;
  readonly reserve: Reserve;
  readonly steps: readonly { readonly time: number; readonly asked: readonly Asked[] }[];
}

const capacities = fc.oneof(
  { weight: 6, arbitrary: fc.integer({ min: 1, max: 30 }) },
  { weight: 1, arbitrary: fc.integer({ min: 1_000, max: 300_000 }) },
);
const parts = fc.oneof(fc.integer({ min: 1, max: RESERVE_PARTS - 1 }), fc.constantFrom(1, 100_000, 200_000, 500_000, RESERVE_PARTS - 1));

function schedules(algorithm: BucketAlgorithm): fc.Arbitrary<Schedule> {
  const hits = fc.oneof(
    { weight: 6, arbitrary: fc.integer({ min: 1, max: 12 }) },
    { weight: 1, arbitrary: fc.integer({ min: -4, max: -1 }) },
  );
  const asked = fc.record({ name: fc.option(fc.constantFrom(...CLASSES, 'forged'), { nil: undefined }), hits });
  return fc
    .record({
      requests: capacities,
      capacity: capacities,
      windowUs: fc.constantFrom(1_000_000, 7_000_000, 3_600_000_000),
      ofClasses: fc.array(parts, { minLength: 1, maxLength: CLASSES.length }),
      // The same several times in a row is a fold.
      steps: fc.array(
        fc.record({ time: fc.nat(), asked: fc.array(asked, { minLength: 1, maxLength: 6 }), times: fc.integer({ min: 1, max: 4 }) }),
        {
          minLength: 1,
          maxLength: 12,
        },
      ),
    })
    .map(({ requests, capacity, windowUs, ofClasses, steps }) => ({
      limit: {
        algorithm,
        requestsPerUnit: requests,
        capacity: algorithm === 'token_bucket' || algorithm === 'leaky_bucket' ? capacity : requests,
        windowUs,
        unit: 'second',
        unitMultiplier: windowUs / 1_000_000,
        name: '',
      },
      reserve: makeReserve({ entry: 'priority', level: 1, parts: new Map(ofClasses.map((part, i) => [CLASSES[i]!, part])) }),
      steps: steps.map(({ time, asked: each, times }) => ({
        time,
        asked: each.flatMap((one) => Array.from({ length: times }, () => one)),
      })),
    }));
}

/** The hits that are kept from a class: the definition in exact numbers, apart from the code. */
function keptFrom(name: string | undefined, { reserve, limit }: Schedule): number {
  const all = [...reserve.parts.values()];
  const own = name === undefined ? undefined : reserve.parts.get(name);
  const kept = all.filter((part) => own === undefined || part < own).reduce((most, part) => Math.max(most, part), 0);
  return Number((BigInt(limit.capacity) * BigInt(kept)) / BigInt(RESERVE_PARTS));
}

function groupOf({ name, hits }: Asked, { reserve, limit }: Schedule): Group {
  const entries = [{ key: 'k', value: 'v' }, ...(name === undefined ? [] : [{ key: 'priority', value: name }])];
  const own = reservedLimit(limit, partKept(reserve, entries));
  return { takes: [{ bucketKey: KEY, limit: own, hits, mode: 'enforced', descriptor: 0 }], shadow: false, quotaAlwaysFits: false };
}

/** What is left of the whole bucket. */
interface Oracle {
  room(nowUs: number): number;
  apply(asked: Asked, nowUs: number): void;
}

/** The model of groups, asked under the whole limit alone. */
function modelOf(limit: BucketLimit): Oracle {
  const model = new Model();
  const group = (hits: number, peek?: true): Group => ({
    takes: [{ bucketKey: KEY, limit, hits, mode: 'enforced', descriptor: 0, ...(peek && { peek }) }],
    shadow: false,
    quotaAlwaysFits: false,
  });
  return {
    room: (nowUs) => model.decide({ group: group(0, true), nowUs }).verdicts[0]!.remaining,
    apply: ({ hits }, nowUs) => {
      model.decide({ group: group(hits), nowUs });
    },
  };
}

/** Requests in flight: the times at which their slots were taken. */
function slotsOf({ capacity, windowUs }: BucketLimit): Oracle {
  let taken: number[] = [];
  const at = (nowUs: number) => taken.filter((us) => us > nowUs - windowUs);
  return {
    room: (nowUs) => capacity - at(nowUs).length,
    apply: ({ hits }, nowUs) => {
      taken = hits < 0 ? at(nowUs).slice(-hits) : [...at(nowUs), ...Array.from({ length: hits }, () => nowUs)];
    },
  };
}

let fitted = 0;
let denied = 0;

async function runOnAll(schedule: Schedule): Promise<void> {
  await redis.client.flushAll();
  const { limit, steps, reserve } = schedule;
  const states = new Map<string, BucketState>();
  const oracle = limit.algorithm === 'in_flight' ? slotsOf(limit) : modelOf(limit);
  let nowUs = START_US;
  const decide = async (asked: readonly Asked[]): Promise<readonly GroupVerdict[]> => {
    const made = new Map<string, Group>();
    const groups = asked.map((each) => {
      const id = JSON.stringify(each);
      const group = made.get(id) ?? groupOf(each, schedule);
      made.set(id, group);
      return group;
    });
    await redis.setNow(nowUs);
    const outcomes = await redis.store.take(groups);
    const twins = groups.map((group) => {
      const { writes, ...verdict } = decideGroup({ group, nowUs, read: (key) => states.get(key) });
      for (const { bucketKey, state } of writes) {
        if (state === undefined) states.delete(bucketKey);
        else states.set(bucketKey, state);
      }
      return verdict;
    });
    expect(outcomes).toEqual(twins);
    return twins;
  };
  const expectDefined = (asked: Asked, { verdicts: [verdict] }: GroupVerdict) => {
    const room = oracle.room(nowUs);
    const kept = keptFrom(asked.name, schedule);
    const fits = asked.hits < 0 || asked.hits <= room - kept;
    expect([asked, verdict!.fits]).toEqual([asked, fits]);
    if (fits) oracle.apply(asked, nowUs);
    const left = oracle.room(nowUs);
    expect(verdict!.remaining).toBe(Math.max(0, left - kept));
    // Never more than the limit, and what is kept stays, unless its class has used it.
    expect(left).toBeGreaterThanOrEqual(0);
    if (fits && asked.hits > 0) expect(left).toBeGreaterThanOrEqual(kept);
    if (fits) fitted += 1;
    else denied += 1;
  };
  for (const { time, asked } of steps) {
    // Clocks that step back have tests of their own.
    nowUs = Math.max(nowUs, nextNowUs(nowUs, time, limit.windowUs));
    const verdicts = await decide(asked);
    for (const [i, each] of asked.entries()) expectDefined(each, verdicts[i]!);
  }
  // The class with the smallest part can use all that is left, and no more.
  const smallest = Math.min(...reserve.parts.values());
  const name = [...reserve.parts].find(([, part]) => part === smallest)![0];
  const left = oracle.room(nowUs);
  const last =
    left > 0
      ? [
          { name, hits: left },
          { name, hits: 1 },
        ]
      : [{ name, hits: 1 }];
  const verdicts = await decide(last);
  for (const [i, each] of last.entries()) expectDefined(each, verdicts[i]!);
  expect(verdicts.map(({ verdicts: [verdict] }) => verdict!.fits)).toEqual(left > 0 ? [true, false] : [false]);
}

const BOTH: readonly BucketAlgorithm[] = [...ALGORITHMS, 'in_flight'];

test.each(BOTH)(
  'twins of %s agree with the definition for random classes',
  async (algorithm) => {
    fitted = 0;
    denied = 0;
    await fc.assert(fc.asyncProperty(schedules(algorithm), runOnAll), seeded(RUNS));
    figure(`${fitted} requests fitted, ${denied} did not`);
    expect(Math.min(fitted, denied)).toBeGreaterThan(0);
  },
  TIMEOUT_MS,
);
