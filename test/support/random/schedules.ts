/** Random schedules of groups and adjustments on a few buckets: what the twins, and of groups the model, must agree on. */

import fc from 'fast-check';
import { LOG_LIMIT_MAX } from '../../../src/domain/algorithm/sliding-window-log';
import { ALGORITHMS, TOTAL_ALGORITHM, type Algorithm } from '../../../src/domain/algorithm/algorithms';
import type { BucketLimit, Group, Adjustment, Take } from '../../../src/domain/bucket/take';
import type { Mode } from '../../../src/domain/rule/mode';
import { LIMIT_MAX, UINT32_MAX } from '../../../src/domain/rule/limit';
import { HITS_MAX } from '../../../src/domain/descriptor/descriptor';

export interface ScheduleStep {
  readonly nowUs: number;
  readonly group: Group;
}

export interface SettlingStep {
  readonly nowUs: number;
  readonly adjustments: readonly Adjustment[];
}

export const START_US = 1_800_000_000_000_000;

/** Seconds to years; primes and powers, so that neither divides evenly into the other. */
const WINDOWS_US = [1_000_000, 7_000_000, 60_000_000, 3_600_000_000, 86_400_000_000, 31_536_000_000_000];

const requestsPerUnit = fc.oneof(
  { weight: 6, arbitrary: fc.integer({ min: 1, max: 20 }) },
  { weight: 1, arbitrary: fc.constantFrom(0, 1, 3, 1000, 300_000, UINT32_MAX, UINT32_MAX + 1, LIMIT_MAX - 1, LIMIT_MAX) },
  { weight: 1, arbitrary: fc.integer({ min: 0, max: UINT32_MAX }) },
  { weight: 1, arbitrary: fc.maxSafeNat() },
);

const hits = fc.oneof(
  { weight: 8, arbitrary: fc.integer({ min: 0, max: 12 }) },
  { weight: 2, arbitrary: fc.integer({ min: -12, max: -1 }) },
  { weight: 1, arbitrary: fc.constantFrom(HITS_MAX, -HITS_MAX, LIMIT_MAX, UINT32_MAX) },
  { weight: 1, arbitrary: fc.maxSafeNat() },
);

/** Around what fits at once, so that large limits are used up too. */
const besideCapacity = fc.oneof({ weight: 3, arbitrary: fc.constant(undefined) }, { weight: 1, arbitrary: fc.constantFrom(-1, 0, 1) });

const mode = fc.oneof(
  { weight: 4, arbitrary: fc.constant<Mode>('enforced') },
  { weight: 1, arbitrary: fc.constantFrom<Mode>('quota', 'shadow') },
);

const kind = fc.oneof(
  { weight: 5, arbitrary: fc.constant('admission' as const) },
  { weight: 3, arbitrary: fc.constant('report' as const) },
  { weight: 1, arbitrary: fc.constant('peek' as const) },
);

const overdraftMax = fc.oneof(
  { weight: 4, arbitrary: fc.integer({ min: 0, max: 20 }) },
  { weight: 1, arbitrary: fc.constantFrom(1000, UINT32_MAX, LIMIT_MAX) },
);

/** Every algorithm that counts hits. */
export const HIT_ALGORITHMS: readonly Algorithm[] = [...ALGORITHMS, TOTAL_ALGORITHM];

const PLAIN_ALGORITHMS: readonly Algorithm[] = ['token_bucket', 'leaky_bucket', 'fixed_window'];

/** A bucket keeps its algorithm and window, since its key names them; its limit may be another one at each take. */
interface BucketPlan {
  readonly bucketKey: string;
  readonly algorithm: Algorithm;
  readonly windowUs: number;
}

/** As `makeLimit` does it, but for limits that it refuses: the engines must not mind them. */
function limitOn({ algorithm, windowUs }: BucketPlan, requestsPerUnit: number, burst: number | null): BucketLimit {
  const limit = { algorithm, windowUs, requestsPerUnit, capacity: requestsPerUnit };
  switch (algorithm) {
    case 'token_bucket':
      return { ...limit, capacity: burst ?? requestsPerUnit };
    case 'leaky_bucket':
      return { ...limit, capacity: requestsPerUnit === 0 ? 0 : 1 + Math.min(burst ?? 0, LIMIT_MAX - 1) };
    case 'sliding_window_log':
      return { ...limit, requestsPerUnit: requestsPerUnit % LOG_LIMIT_MAX, capacity: requestsPerUnit % LOG_LIMIT_MAX };
    case 'fixed_window':
    case 'sliding_window_counter':
    case 'budget':
      return limit;
  }
}

function takeOn(plans: readonly BucketPlan[]): fc.Arbitrary<Omit<Take, 'descriptor'>> {
  return fc
    .record({
      plan: fc.constantFrom(...plans),
      requestsPerUnit,
      burst: fc.option(requestsPerUnit),
      hits,
      besideCapacity,
      mode,
      kind,
      overdraftMax,
    })
    .map(({ plan, burst, kind, overdraftMax, ...parts }) => {
      const limit = limitOn(plan, parts.requestsPerUnit, burst);
      const { bucketKey } = plan;
      const hits = parts.besideCapacity === undefined ? parts.hits : Math.max(0, limit.capacity + parts.besideCapacity);
      const take = { bucketKey, limit, hits, mode: parts.mode };
      if (kind === 'peek') return { ...take, hits: 0, peek: true as const };
      if (kind === 'admission' || hits === 0) return take;
      // As makeLimit bounds a log, and overdraftMaxOf all.
      const most = limit.algorithm === 'sliding_window_log' ? LOG_LIMIT_MAX : LIMIT_MAX - limit.capacity;
      return { ...take, overdraftMax: Math.min(overdraftMax, most) };
    });
}

function groupOn(plans: readonly BucketPlan[]): fc.Arbitrary<Group> {
  return fc
    .record({
      takes: fc.array(fc.tuple(takeOn(plans), fc.boolean()), { minLength: 1, maxLength: 4 }),
      shadow: fc.integer({ min: 0, max: 9 }).map((tenth) => tenth === 0),
      quotaAlwaysFits: fc.boolean(),
    })
    .map(({ takes, ...flags }) => {
      let descriptor = 0;
      return {
        ...flags,
        takes: takes.map(([take, sameDescriptor], i) => {
          // A descriptor has one mode, so only a take of the same mode can join the one before.
          if (i > 0 && !(sameDescriptor && takes[i - 1]?.[0].mode === take.mode)) descriptor += 1;
          return { ...take, descriptor };
        }),
      };
    });
}

/** Steps of time: none, a few µs, parts of a window, to its edge, far, exactly a window; and back: any way, 1 s, 1 h, a window. */
export function nextNowUs(nowUs: number, step: number, windowUs: number): number {
  switch (step % 11) {
    case 0:
      return nowUs;
    case 1:
      return nowUs + (step % 1_000);
    case 2:
      return nowUs + Math.floor((windowUs * (step % 97)) / 97);
    case 3:
      return nowUs - (nowUs % windowUs) + windowUs;
    case 4:
      return nowUs - (nowUs % windowUs) + windowUs - 1;
    case 5:
      return nowUs + 3 * windowUs + (step % 1_009);
    case 6:
      return nowUs + (step % 1_000_003);
    case 7:
      return nowUs + windowUs;
    case 8:
      return nowUs - windowUs;
    case 9:
      return nowUs - (step % 2 === 0 ? 1_000_000 : 3_600_000_000);
    default:
      return nowUs - (step % 3_600_000_000);
  }
}

/** Schedules on up to three buckets, of this algorithm or, left out, of any. */
export function schedules(algorithm?: Algorithm): fc.Arbitrary<readonly ScheduleStep[]> {
  return bucketPlans(algorithm).chain((buckets) => {
    const step = fc.record({ time: fc.nat(), group: groupOn(buckets) });
    return fc.array(step, { minLength: 1, maxLength: 12 }).map((steps) => {
      let nowUs = START_US;
      return steps.map(({ time, group }) => {
        nowUs = nextNowUs(nowUs, time, group.takes[0]?.limit.windowUs ?? 1_000_000);
        return { nowUs, group };
      });
    });
  });
}

/** The same, of plain groups alone: as many hits as may be taken, by enforced takes, no bucket twice (`lua/include/charge-plain.lua`). */
export function plainSchedules(): fc.Arbitrary<readonly ScheduleStep[]> {
  return fc
    .constantFrom(...PLAIN_ALGORITHMS)
    .chain((algorithm) => schedules(algorithm).map((steps) => steps.map(({ nowUs, group }) => ({ nowUs, group: plainOf(group) }))));
}

function plainOf({ takes }: Group): Group {
  const first = takes.filter(({ bucketKey }, i) => takes.findIndex((other) => other.bucketKey === bucketKey) === i);
  const plain = first.map(({ bucketKey, descriptor, limit, hits }): Take => {
    const requestsPerUnit = Math.max(1, limit.requestsPerUnit);
    return { bucketKey, descriptor, mode: 'enforced', hits: Math.max(1, Math.abs(hits)), limit: { ...limit, requestsPerUnit } };
  });
  return { takes: plain, shadow: false, quotaAlwaysFits: false };
}

/** The same with dry groups and adjustments among them; hits given back are mostly of a time at which there was a step. */
export function settlingSchedules(algorithm?: Algorithm): fc.Arbitrary<readonly (ScheduleStep | SettlingStep)[]> {
  return bucketPlans(algorithm).chain((buckets) => {
    const step = fc.record({
      time: fc.nat(),
      group: groupOn(buckets),
      kind: fc.constantFrom('take', 'dry', 'adjust', 'adjust'),
      adjustments: fc.array(adjustmentOn(buckets), { minLength: 1, maxLength: 3 }),
    });
    return fc.array(step, { minLength: 1, maxLength: 12 }).map((steps) => {
      const times = [START_US];
      return steps.map(({ time, group, kind, adjustments }) => {
        const nowUs = nextNowUs(times.at(-1) ?? START_US, time, adjustments[0]?.limit.windowUs ?? 1_000_000);
        times.push(nowUs);
        if (kind !== 'adjust') return { nowUs, group: kind === 'dry' ? { ...group, dry: true } : group };
        return {
          nowUs,
          adjustments: adjustments.map(({ stepsAgo, ...parts }) => ({ ...parts, takenAtUs: times.at(-1 - stepsAgo) ?? START_US + 1 })),
        };
      });
    });
  });
}

interface PlannedAdjustment extends Omit<Adjustment, 'takenAtUs'> {
  readonly stepsAgo: number;
}

function adjustmentOn(plans: readonly BucketPlan[]): fc.Arbitrary<PlannedAdjustment> {
  return fc
    .record({ take: takeOn(plans), isGivenBack: fc.boolean(), stepsAgo: fc.nat(4), usedBefore: fc.nat(12) })
    .map(({ take: { bucketKey, limit, hits, overdraftMax }, isGivenBack, ...parts }) => {
      if (isGivenBack) return { ...parts, bucketKey, limit, hits: -Math.abs(hits) };
      return { ...parts, bucketKey, limit, hits, ...(overdraftMax !== undefined && { overdraftMax }) };
    });
}

function bucketPlans(algorithm: Algorithm | undefined): fc.Arbitrary<readonly BucketPlan[]> {
  const plan = fc.record({
    algorithm: algorithm === undefined ? fc.constantFrom(...HIT_ALGORITHMS) : fc.constant(algorithm),
    windowUs: fc.constantFrom(...WINDOWS_US),
  });
  return fc.array(plan, { minLength: 1, maxLength: 3 }).map((plans) => plans.map((each, i) => ({ ...each, bucketKey: `bucket-${i}` })));
}
