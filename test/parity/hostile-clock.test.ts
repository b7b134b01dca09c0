/** A clock step of a second or an hour has a bounded effect, and blocks for at most one refill or window. */

import fc from 'fast-check';
import { ALGORITHMS, type Algorithm } from '../../src/domain/algorithm/algorithms';
import type { BucketLimit, Verdict } from '../../src/domain/bucket/take';
import { groupOf, take } from '../support/decisions/groups';
import { admit, limitOf, nextArrivalUs, OneBucket, smallLimits, START_US, stretches, type Arrival } from '../support/model/one-bucket';
import { seeded } from '../support/random/random';
import { openClockedRedis, type ClockedRedis } from '../support/redis/redis-store';
import { startRedis, type RedisServer } from '../support/redis/redis-server';

const RUNS = 1_000;
const SECOND_US = 1_000_000;
const HOUR_US = 3600 * SECOND_US;
const STEPS_US = [SECOND_US, HOUR_US, -SECOND_US, -HOUR_US];
const WINDOWS_US = [SECOND_US, 60 * SECOND_US, HOUR_US];

/** An arrival, and what the clock had done up to it. */
interface ClockedArrival extends Arrival {
  /** Real time; `atUs` is what the clock says. */
  readonly trueUs: number;
  /** Every step of the clock so far, in microseconds. */
  readonly stepsUs: readonly number[];
}

interface Case {
  readonly limit: BucketLimit;
  readonly arrivals: readonly ClockedArrival[];
}

function cases(algorithm: Algorithm): fc.Arbitrary<Case> {
  const arrival = fc.record({
    step: fc.nat(),
    hits: fc.integer({ min: 1, max: 4 }),
    clockStepUs: fc.oneof({ weight: 9, arbitrary: fc.constant(0) }, { weight: 1, arbitrary: fc.constantFrom(...STEPS_US) }),
  });
  return fc
    .constantFrom(...WINDOWS_US)
    .chain((windowUs) => fc.record({ limit: smallLimits(algorithm, windowUs), steps: fc.array(arrival, { minLength: 1, maxLength: 60 }) }))
    .map(({ limit, steps }) => {
      let [atUs, trueUs, stepsUs]: [number, number, readonly number[]] = [START_US, 0, []];
      const arrivals = steps.map(({ step, hits, clockStepUs }) => {
        const nextUs = nextArrivalUs(atUs, step, limit.windowUs);
        trueUs += nextUs - atUs;
        atUs = nextUs + clockStepUs;
        if (clockStepUs !== 0) stepsUs = [...stepsUs, clockStepUs];
        return { atUs, hits, trueUs, stepsUs };
      });
      return { limit, arrivals };
    });
}

/**
 * What may pass in so much real time with these steps of the clock in it: the table of `docs/algorithms.md`, times the
 * window in microseconds, so that every term is an integer.
 */
function boundTimesWindow(
  { algorithm, capacity, requestsPerUnit, windowUs }: BucketLimit,
  elapsedUs: number,
  stepsUs: readonly number[],
): number {
  const forward = stepsUs.filter((stepUs) => stepUs > 0);
  const back = stepsUs.length - forward.length;
  const full = capacity * windowUs;
  if (algorithm === 'token_bucket' || algorithm === 'leaky_bucket') {
    return forward.reduce((total, stepUs) => total + Math.min(full, requestsPerUnit * stepUs), full + requestsPerUnit * elapsedUs);
  }
  if (elapsedUs >= windowUs) return Infinity;
  if (algorithm === 'sliding_window_log') return full * (1 + forward.length);
  if (algorithm === 'fixed_window') return full * (2 + 2 * forward.length + back);
  return full * (1 + stepsUs.length) + requestsPerUnit * elapsedUs;
}

test.each(ALGORITHMS)('%s: steps of the clock admit no more than documented', (algorithm) => {
  const holds = ({ limit, arrivals }: Case): void => {
    for (const { first, last, hits } of stretches(admit(limit, arrivals))) {
      const elapsedUs = last.trueUs - first.trueUs;
      const most = boundTimesWindow(limit, elapsedUs, last.stepsUs.slice(first.stepsUs.length));
      if (hits * limit.windowUs > most) throw new Error(`${hits} hits passed in ${elapsedUs} µs; ${most / limit.windowUs} may`);
    }
  };
  fc.assert(fc.property(cases(algorithm), holds), seeded(RUNS));
});

/** One full refill or window; the counter forgets a hit when its window and the next one are over. */
function longestLockUs({ algorithm, capacity, requestsPerUnit, windowUs }: BucketLimit): number {
  if (algorithm === 'sliding_window_counter') return 2 * windowUs;
  if (algorithm === 'token_bucket' || algorithm === 'leaky_bucket') return Math.ceil((capacity * windowUs) / requestsPerUnit);
  return windowUs;
}

const POLLS = 10;

type Decide = (arrival: Arrival) => Verdict | Promise<Verdict>;

/**
 * Uses up the bucket, steps the clock back, and polls until the hits fit: when they were promised to, and no later than
 * one full refill after the first poll.
 */
async function driveLock({ limit, hits, atUs, stepUs, decide }: DriveLockInput): Promise<void> {
  expect(await decide({ atUs, hits: limit.capacity })).toMatchObject({ fits: true });
  const afterStepUs = atUs + stepUs;
  const { fits, retryAfterUs } = await decide({ atUs: afterStepUs, hits });
  expect(fits).toBe(false);
  expect(retryAfterUs).toBeLessThanOrEqual(longestLockUs(limit));
  for (let poll = 1; poll <= POLLS; poll += 1) {
    const waitedUs = Math.floor(((retryAfterUs - 1) * poll) / POLLS);
    expect(await decide({ atUs: afterStepUs + waitedUs, hits })).toMatchObject({ fits: false, retryAfterUs: retryAfterUs - waitedUs });
  }
  expect(await decide({ atUs: afterStepUs + retryAfterUs, hits })).toMatchObject({ fits: true });
}

interface DriveLockInput {
  readonly limit: BucketLimit;
  readonly hits: number;
  readonly atUs: number;
  readonly stepUs: number;
  readonly decide: Decide;
}

test.each(ALGORITHMS)('%s: a step back blocks for at most one full refill', async (algorithm) => {
  const locks = fc
    .constantFrom(...WINDOWS_US)
    .chain((windowUs) => smallLimits(algorithm, windowUs))
    .filter(({ capacity }) => capacity > 0)
    .chain((limit) =>
      fc.record({
        limit: fc.constant(limit),
        hits: fc.integer({ min: 1, max: limit.capacity }),
        // An edge of every window: no hits of the counter's window before, which a step could make weigh less.
        atUs: fc.constant(START_US),
        stepUs: fc.constantFrom(-SECOND_US, -HOUR_US),
      }),
    );
  const holds = (lock: Omit<DriveLockInput, 'decide'>): Promise<void> => {
    const bucket = new OneBucket(lock.limit);
    return driveLock({ ...lock, decide: (arrival) => bucket.take(arrival) });
  };
  await fc.assert(fc.asyncProperty(locks, holds), seeded(RUNS));
});

describe('fixed windows admit twice at an edge that a step back repeats', () => {
  test.each([
    { algorithm: 'fixed_window', passed: 30 },
    { algorithm: 'sliding_window_counter', passed: 10 },
    { algorithm: 'sliding_window_log', passed: 10 },
  ] as const)('$algorithm at ten a second admits $passed in two microseconds', ({ algorithm, passed }) => {
    const limit = limitOf({ algorithm, requestsPerUnit: 10, windowUs: SECOND_US, burst: 0 });
    const ones = (atUs: number): Arrival[] => Array.from({ length: 10 }, () => ({ atUs, hits: 1 }));
    const arrivals = [...ones(START_US - 1), ...ones(START_US), ...ones(START_US - 1), ...ones(START_US)];
    expect(admit(limit, arrivals)).toHaveLength(passed);
  });
});

describe('in Redis', () => {
  let server: RedisServer;
  let redis: ClockedRedis;

  beforeAll(async () => {
    server = await startRedis();
  });

  beforeEach(async () => {
    redis = await openClockedRedis(server);
  });

  afterEach(() => redis.close());

  afterAll(() => server.stop());

  function inRedis(limit: BucketLimit): Decide {
    return async ({ atUs, hits }) => {
      await redis.setNow(atUs);
      const [outcome] = await redis.store.take([groupOf([take('a', { limit, hits })])]);
      if (outcome === undefined || !('verdicts' in outcome)) throw outcome instanceof Error ? outcome : new Error('not decided');
      return outcome.verdicts[0]!;
    };
  }

  const limits = ALGORITHMS.map((algorithm) => limitOf({ algorithm, requestsPerUnit: 5, windowUs: 60 * SECOND_US, burst: 5 }));
  const backSteps = limits.flatMap((limit) => [-SECOND_US, -HOUR_US].map((stepUs) => ({ limit, stepUs, algorithm: limit.algorithm })));
  const forwardSteps = limits.flatMap((limit) => [SECOND_US, HOUR_US].map((stepUs) => ({ limit, stepUs, algorithm: limit.algorithm })));

  test.each(backSteps)('$algorithm: a step of $stepUs µs blocks for at most one full refill', async ({ limit, stepUs }) => {
    await driveLock({ limit, hits: 1, atUs: START_US, stepUs, decide: inRedis(limit) });
  });

  test.each(forwardSteps)('$algorithm: a step of $stepUs µs admits at most one capacity early', async ({ limit, stepUs }) => {
    const decide = inRedis(limit);
    const admitted: number[] = [];
    for (const atUs of [START_US, START_US + stepUs]) {
      let passed = 0;
      while ((await decide({ atUs, hits: 1 })).fits) passed += 1;
      admitted.push(passed);
    }
    const early = stepUs === HOUR_US ? limit.capacity : 0;
    expect(admitted).toEqual([limit.capacity, early]);
  });
});
