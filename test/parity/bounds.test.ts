/** Each algorithm stays within its bound in any window. */

import fc from 'fast-check';
import { ALGORITHMS, type BucketAlgorithm, type BucketState } from '../../src/domain/algorithm/algorithms';
import type { BucketLimit, Group } from '../../src/domain/bucket/take';
import { decideGroup, type GroupDecision } from '../support/decisions/decide-group';
import { groupOf, take } from '../support/decisions/groups';
import { admit, limitOf, nextArrivalUs, smallLimits, START_US, stretches, type Arrival } from '../support/model/one-bucket';
import { seeded } from '../support/random/random';
import { schedules } from '../support/random/schedules';

const RUNS = 1_000;
const WINDOW_US = 1_000_000;

interface Case {
  readonly limit: BucketLimit;
  readonly arrivals: readonly Arrival[];
}

function cases(algorithm: BucketAlgorithm): fc.Arbitrary<Case> {
  const arrival = fc.record({ step: fc.nat(), hits: fc.integer({ min: 1, max: 4 }) });
  return fc
    .record({ limit: smallLimits(algorithm, WINDOW_US), steps: fc.array(arrival, { minLength: 1, maxLength: 60 }) })
    .map(({ limit, steps }) => {
      let atUs = START_US;
      const arrivals = steps.map(({ step, hits }) => {
        atUs = nextArrivalUs(atUs, step, WINDOW_US);
        return { atUs, hits };
      });
      return { limit, arrivals };
    });
}

/** Holds for every run of admitted arrivals: `most` says how many hits may pass within a number of microseconds. */
function neverMore(algorithm: BucketAlgorithm, most: (limit: BucketLimit, elapsedUs: number) => number): void {
  const holds = ({ limit, arrivals }: Case): void => {
    for (const { first, last, hits } of stretches(admit(limit, arrivals))) {
      const elapsedUs = last.atUs - first.atUs;
      const bound = most(limit, elapsedUs);
      if (hits > bound) throw new Error(`${hits} hits passed in ${elapsedUs} µs; ${bound} may`);
    }
  };
  fc.assert(fc.property(cases(algorithm), holds), seeded(RUNS));
}

/** Whole hits that flow in at the limit's rate; exact, since these products are small. */
function flowing({ requestsPerUnit, windowUs }: BucketLimit, elapsedUs: number): number {
  return Math.floor((requestsPerUnit * elapsedUs) / windowUs);
}

function sum(arrivals: readonly Arrival[]): number {
  return arrivals.reduce((total, { hits }) => total + hits, 0);
}

describe('an algorithm never admits more than', () => {
  test('token bucket: its burst plus the refill, in any time', () => {
    neverMore('token_bucket', (limit, elapsedUs) => limit.capacity + flowing(limit, elapsedUs));
  });

  test('leaky bucket: one plus its burst plus the leaked hits, in any time', () => {
    neverMore('leaky_bucket', (limit, elapsedUs) => limit.capacity + flowing(limit, elapsedUs));
  });

  test('fixed window: twice the limit in any window', () => {
    neverMore('fixed_window', ({ capacity }, elapsedUs) => (elapsedUs < WINDOW_US ? 2 * capacity : Infinity));
  });

  test('fixed window: the limit in each window of the clock', () => {
    const holds = ({ limit, arrivals }: Case): void => {
      const admitted = admit(limit, arrivals);
      for (const index of new Set(admitted.map(({ atUs }) => Math.floor(atUs / WINDOW_US)))) {
        const inWindow = admitted.filter(({ atUs }) => Math.floor(atUs / WINDOW_US) === index);
        expect(sum(inWindow)).toBeLessThanOrEqual(limit.capacity);
      }
    };
    fc.assert(fc.property(cases('fixed_window'), holds), seeded(RUNS));
  });

  test('sliding window log: the limit in any window', () => {
    neverMore('sliding_window_log', ({ capacity }, elapsedUs) => (elapsedUs < WINDOW_US ? capacity : Infinity));
  });

  test('requests in flight: the number of slots in any hold, without releases', () => {
    neverMore('in_flight', ({ capacity }, elapsedUs) => (elapsedUs < WINDOW_US ? capacity : Infinity));
  });

  test('sliding window counter: the limit plus the refill, and one less than twice the limit in any window', () => {
    neverMore('sliding_window_counter', (limit, elapsedUs) =>
      elapsedUs < WINDOW_US ? Math.min(limit.capacity + flowing(limit, elapsedUs), 2 * limit.capacity - 1) : Infinity,
    );
  });
});

describe('each bound can be reached: ten a second, in under a second', () => {
  const end = { atUs: START_US + WINDOW_US - 1, hits: 10 };
  const ones = (atUs: number): Arrival[] => Array.from({ length: 10 }, () => ({ atUs, hits: 1 }));

  test.each([
    { algorithm: 'token_bucket', passed: 19 },
    { algorithm: 'leaky_bucket', passed: 20 },
    { algorithm: 'fixed_window', passed: 20 },
    { algorithm: 'sliding_window_log', passed: 10 },
    { algorithm: 'sliding_window_counter', passed: 19 },
  ] as const)('$algorithm admits $passed', ({ algorithm, passed }) => {
    const limit = limitOf({ algorithm, requestsPerUnit: 10, windowUs: WINDOW_US, burst: 10 });
    const arrivals = [end, { atUs: end.atUs, hits: 1 }, ...ones(end.atUs + WINDOW_US - 1)];
    expect(sum(admit(limit, arrivals))).toBe(passed);
  });

  test.each([
    { algorithm: 'token_bucket', passed: 10 },
    { algorithm: 'leaky_bucket', passed: 11 },
    { algorithm: 'fixed_window', passed: 20 },
    { algorithm: 'sliding_window_log', passed: 10 },
    { algorithm: 'sliding_window_counter', passed: 10 },
  ] as const)('$algorithm admits $passed within two microseconds at an edge', ({ algorithm, passed }) => {
    const limit = limitOf({ algorithm, requestsPerUnit: 10, windowUs: WINDOW_US, burst: 10 });
    expect(sum(admit(limit, [end, { atUs: end.atUs, hits: 1 }, ...ones(end.atUs + 1)]))).toBe(passed);
  });
});

/** Decides a whole schedule, each group as `change` has it. */
function decideAll(steps: readonly { readonly nowUs: number; readonly group: Group }[], change: (group: Group) => Group) {
  const states = new Map<string, BucketState>();
  const decisions: GroupDecision[] = [];
  for (const { nowUs, group } of steps) {
    const decision = decideGroup({ group: change(group), nowUs, read: (key) => states.get(key) });
    for (const { bucketKey, state } of decision.writes) {
      if (state === undefined) states.delete(bucketKey);
      else states.set(bucketKey, state);
    }
    decisions.push(decision);
  }
  return { states, decisions };
}

describe('groups', () => {
  test('the order of takes changes no verdict and no state, apart from usage reports', () => {
    const holds = (planned: Parameters<typeof decideAll>[0]): void => {
      // Reports on one bucket are charged in their order, each down to an overdraft of its own.
      const steps = planned.map(({ nowUs, group }) => ({
        nowUs,
        group: {
          ...group,
          takes: group.takes.map(({ bucketKey, limit, hits, mode, descriptor }) => ({ bucketKey, limit, hits, mode, descriptor })),
        },
      }));
      const forwards = decideAll(steps, (group) => group);
      const backwards = decideAll(steps, (group) => ({ ...group, takes: [...group.takes].reverse() }));
      expect(backwards.states).toEqual(forwards.states);
      forwards.decisions.forEach(({ overLimit, verdicts }, i) => {
        expect(backwards.decisions[i]).toMatchObject({ overLimit, verdicts: [...verdicts].reverse() });
      });
    };
    fc.assert(fc.property(schedules(), holds), seeded(RUNS));
  });

  test.each(ALGORITHMS)('%s: duplicates in a group equal one take of their sum', (algorithm) => {
    const parts = fc.array(fc.array(fc.integer({ min: 1, max: 5 }), { minLength: 1, maxLength: 4 }), { minLength: 1, maxLength: 10 });
    const holds = (limit: BucketLimit, groups: readonly (readonly number[])[]): void => {
      const steps = groups.map((hits, i) => ({
        nowUs: START_US + i * 150_000,
        group: groupOf(hits.map((each) => take('a', { limit, hits: each }))),
      }));
      const apart = decideAll(steps, (group) => group);
      const summed = decideAll(steps, ({ takes }) =>
        groupOf([take('a', { limit, hits: takes.reduce((total, { hits }) => total + hits, 0) })]),
      );
      expect(apart.states).toEqual(summed.states);
      apart.decisions.forEach(({ overLimit, verdicts }, i) => {
        expect(overLimit).toBe(summed.decisions[i]?.overLimit);
        for (const verdict of verdicts) expect(verdict).toEqual(summed.decisions[i]?.verdicts[0]);
      });
    };
    fc.assert(fc.property(smallLimits(algorithm, WINDOW_US), parts, holds), seeded(RUNS));
  });
});
