/** Hand-checked timelines hold for the TypeScript engines. */

import type { BucketState } from '../../../src/domain/algorithm/algorithms';
import { decideGroup } from '../../support/decisions/decide-group';
import { loadTimelines, toStepOutcome } from '../../support/decisions/timelines';

test.each(loadTimelines())('$name', ({ steps }) => {
  const states = new Map<string, BucketState>();
  for (const { nowUs, group, expected } of steps) {
    const { writes, ...verdict } = decideGroup({ group, nowUs, read: (key) => states.get(key) });
    for (const { bucketKey, state } of writes) {
      if (state === undefined) states.delete(bucketKey);
      else states.set(bucketKey, state);
    }
    expect(toStepOutcome(verdict, expected.why)).toEqual(expected);
  }
});
