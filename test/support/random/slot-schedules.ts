/** Random schedules of requests in flight on a few buckets, beside a token bucket: what the twins must agree on. */

import fc from 'fast-check';
import { slotIdOf } from '../../../src/domain/bucket/slot-id';
import type { BucketLimit, Group, Adjustment, Take } from '../../../src/domain/bucket/take';
import type { Mode } from '../../../src/domain/rule/mode';
import { TEN_PER_SECOND } from '../decisions/groups';
import { nextNowUs, START_US, type ScheduleStep, type SettlingStep } from './schedules';

const HOLDS_US = [1_000_000, 7_000_000, 60_000_000];
const KEYS = ['slots-0', 'slots-1', 'slots-2'];
const IDS = ['a', 'b', 'c', 'd', 'e'].map(slotIdOf);

const capacity = fc.oneof(
  { weight: 6, arbitrary: fc.integer({ min: 1, max: 6 }) },
  { weight: 1, arbitrary: fc.constantFrom(0, 1, 40, 10_000) },
);
const slotId = fc.oneof({ weight: 3, arbitrary: fc.constantFrom(...IDS) }, { weight: 1, arbitrary: fc.constant(undefined) });
const hits = fc.oneof(
  { weight: 5, arbitrary: fc.integer({ min: 1, max: 3 }) },
  { weight: 3, arbitrary: fc.integer({ min: -3, max: -1 }) },
  { weight: 1, arbitrary: fc.constant(0) },
);
const mode = fc.oneof(
  { weight: 4, arbitrary: fc.constant<Mode>('enforced') },
  { weight: 1, arbitrary: fc.constantFrom<Mode>('quota', 'shadow') },
);
const oneOfTen = fc.integer({ min: 0, max: 9 }).map((tenth) => tenth === 0);

function limitOf(size: number, windowUs: number): BucketLimit {
  return { algorithm: 'in_flight', windowUs, requestsPerUnit: size, capacity: size };
}

/** How long slots are held may be another time each group, and is the same for all of it. */
function slotTake(windowUs: number): fc.Arbitrary<Omit<Take, 'descriptor'>> {
  return fc
    .record({ bucketKey: fc.constantFrom(...KEYS), capacity, slotId, hits, mode, isPeek: oneOfTen, isRefund: oneOfTen })
    .map(({ bucketKey, capacity: size, slotId: id, hits: asked, mode: own, isPeek, isRefund }) => {
      const take = { bucketKey, limit: limitOf(size, windowUs), hits: asked, mode: own };
      if (isPeek) return { ...take, hits: 0, peek: true as const };
      const named = id === undefined ? take : { ...take, hits: Math.sign(asked), slotId: id };
      // A release holds whatever the verdict is, but where a failure mode has made a plain refund of it.
      return asked < 0 && !isRefund ? { ...named, overdraftMax: 0 } : named;
    });
}

const otherTake = fc
  .record({ hits: fc.integer({ min: -3, max: 8 }), mode })
  .map(({ hits: asked, mode: own }): Omit<Take, 'descriptor'> => ({ bucketKey: 'tokens', limit: TEN_PER_SECOND, hits: asked, mode: own }));

function group(windowUs: number): fc.Arbitrary<Group> {
  const take = fc.oneof({ weight: 5, arbitrary: slotTake(windowUs) }, { weight: 1, arbitrary: otherTake });
  return fc
    .record({ takes: fc.array(take, { minLength: 1, maxLength: 5 }), shadow: oneOfTen, quotaAlwaysFits: fc.boolean(), isDry: oneOfTen })
    .map(({ takes, shadow, quotaAlwaysFits, isDry }) => ({
      takes: takes.map((each, descriptor) => ({ ...each, descriptor })),
      shadow,
      quotaAlwaysFits,
      ...(isDry && { dry: true as const }),
    }));
}

type PlannedAdjustment = Omit<Adjustment, 'takenAtUs'> & { readonly stepsAgo: number };

function adjustment(windowUs: number): fc.Arbitrary<PlannedAdjustment> {
  return fc
    .record({ bucketKey: fc.constantFrom(...KEYS), capacity, slotId, hits: fc.integer({ min: -3, max: 4 }), stepsAgo: fc.nat(4) })
    .map(({ bucketKey, capacity: size, slotId: id, hits: asked, stepsAgo }) => {
      const parts = { bucketKey, limit: limitOf(size, windowUs), hits: asked, usedBefore: 0, stepsAgo };
      return asked < 0 && id !== undefined ? { ...parts, hits: -1, slotId: id } : parts;
    });
}

/** What is given back is mostly of a time at which there was a step. */
export function slotSchedules(): fc.Arbitrary<readonly (ScheduleStep | SettlingStep)[]> {
  const step = fc.constantFrom(...HOLDS_US).chain((windowUs) =>
    fc.record({
      windowUs: fc.constant(windowUs),
      time: fc.nat(),
      stays: fc.boolean(),
      group: group(windowUs),
      adjustments: fc.option(fc.array(adjustment(windowUs), { minLength: 1, maxLength: 3 }), { freq: 4 }),
    }),
  );
  return fc.array(step, { minLength: 1, maxLength: 14 }).map((steps) => {
    const times = [START_US];
    return steps.map(({ windowUs, time, stays, group: asked, adjustments }): ScheduleStep | SettlingStep => {
      const lastUs = times.at(-1) ?? START_US;
      const nowUs = stays ? lastUs + (time % 3) : nextNowUs(lastUs, time, windowUs);
      times.push(nowUs);
      // Of one in five.
      if (adjustments === null || time % 5 !== 0) return { nowUs, group: asked };
      return {
        nowUs,
        adjustments: adjustments.map(({ stepsAgo, ...parts }) => ({ ...parts, takenAtUs: times.at(-1 - stepsAgo) ?? START_US + 1 })),
      };
    });
  });
}
