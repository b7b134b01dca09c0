/**
 * Weir agrees on every field with an independent model in exact fractions.
 *
 * `twins.test.ts` ties the Lua scripts to the TypeScript twin that this file compares.
 */

import fc from 'fast-check';
import type { BucketState } from '../../src/domain/algorithm/algorithms';
import { decideGroup } from '../support/decisions/decide-group';
import { Model } from '../support/model/model';
import { seeded } from '../support/random/random';
import { HIT_ALGORITHMS, schedules, type ScheduleStep } from '../support/random/schedules';

const RUNS = 1_000;
const TIMEOUT_MS = 120_000;

test.each([...HIT_ALGORITHMS, undefined])(
  'model and engine of %s agree (undefined: any mix)',
  (algorithm) => {
    fc.assert(fc.property(schedules(algorithm), runOnBoth), seeded(RUNS));
  },
  TIMEOUT_MS,
);

function runOnBoth(steps: readonly ScheduleStep[]): void {
  const model = new Model();
  const states = new Map<string, BucketState>();
  for (const { nowUs, group } of steps) {
    const { writes, ...verdict } = decideGroup({ group, nowUs, read: (key) => states.get(key) });
    for (const { bucketKey, state } of writes) {
      if (state === undefined) states.delete(bucketKey);
      else states.set(bucketKey, state);
    }
    expect(verdict).toEqual(model.decide({ group, nowUs }));
  }
}
