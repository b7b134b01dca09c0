/** Random statuses of descriptors, with the numbers and texts whose length on the wire changes. */

import fc from 'fast-check';
import type { Code, DescriptorStatus } from '../../../../src/domain/decide/decision';
import { UNIT_NAMES } from '../../../../src/domain/descriptor/unit';
import type { Limit } from '../../../../src/domain/rule/limit';

const uint32 = fc.oneof(fc.integer({ min: 0, max: 2 ** 32 - 1 }), fc.constantFrom(0, 127, 128, 16_383, 16_384, 2 ** 31, 2 ** 32 - 1));
export const name = fc.oneof(
  fc.string({ unit: 'grapheme', maxLength: 20 }),
  fc.constantFrom('', 'n'.repeat(126), 'n'.repeat(127), 'é'.repeat(64), '🙂'.repeat(5000)),
);
export const code = fc.constantFrom<Code>('OK', 'OVER_LIMIT');

const limit: fc.Arbitrary<Limit> = fc.record({
  requestsPerUnit: uint32,
  unit: fc.constantFrom(...UNIT_NAMES),
  unitMultiplier: fc.oneof(uint32, fc.constant(1)),
  name,
  algorithm: fc.constant('token_bucket' as const),
  windowUs: fc.constant(1),
  capacity: uint32,
});
const status: fc.Arbitrary<DescriptorStatus> = fc.record(
  {
    code,
    currentLimit: limit,
    limitRemaining: fc.oneof(uint32, fc.constantFrom(-1, 2 ** 32)),
    durationUntilResetUs: fc.oneof(uint32, fc.integer({ min: 0, max: 2 ** 53 - 1 })),
    fits: fc.boolean(),
    denies: fc.boolean(),
  },
  { requiredKeys: ['code', 'limitRemaining', 'fits', 'denies'] },
);

export const statuses = fc.array(status, { maxLength: 8 });
