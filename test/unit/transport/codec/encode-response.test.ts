/** The response encoder: what it writes is, byte for byte, what protobufjs writes. */

import fc from 'fast-check';
import type { Code, Decision, DescriptorStatus } from '../../../../src/engine/decision';
import type { Limit } from '../../../../src/rule/limit';
import type { JsonObject, JsonValue } from '../../../../src/rule/rule';
import { UNIT_NAMES } from '../../../../src/rule/unit';
import { encodeResponse } from '../../../../src/transport/codec/encode-response';
import { toWireResponse } from '../../../../src/transport/response';
import { seeded } from '../../../support/random';
import { encodeResponseByProtobufjs } from './protobufjs-codec';

const uint32 = fc.oneof(fc.integer({ min: 0, max: 2 ** 32 - 1 }), fc.constantFrom(0, 127, 128, 16_383, 16_384, 2 ** 31, 2 ** 32 - 1));
const name = fc.oneof(fc.string({ unit: 'grapheme', maxLength: 20 }), fc.constantFrom('', 'n'.repeat(126), 'n'.repeat(127), 'é'.repeat(64), '🙂'.repeat(5000)));
const code = fc.constantFrom<Code>('OK', 'OVER_LIMIT');

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
  },
  { requiredKeys: ['code', 'limitRemaining', 'fits'] },
);
const header = fc.record({ name, value: name });
const { object: metadata } = fc.letrec<{ value: JsonValue; object: JsonObject }>((tie) => ({
  value: fc.oneof(
    { depthSize: 'small' },
    name,
    fc.double(),
    fc.boolean(),
    fc.constant(null),
    fc.array(tie('value'), { maxLength: 4 }),
    tie('object'),
  ),
  object: fc.dictionary(name, tie('value'), { maxKeys: 4, noNullPrototype: true }),
}));
const decision: fc.Arbitrary<Decision> = fc.record(
  { overallCode: code, statuses: fc.array(status, { maxLength: 8 }), fallback: fc.constant(true as const), headers: fc.array(header, { maxLength: 4 }), metadata },
  { requiredKeys: ['overallCode', 'statuses'] },
);

test('the bytes are those that protobufjs makes of the same answer as objects', () => {
  fc.assert(
    fc.property(decision, (answer) => {
      expect(Buffer.from(encodeResponse(answer)).toString('hex')).toBe(encodeResponseByProtobufjs(toWireResponse(answer)).toString('hex'));
    }),
    seeded(1000),
  );
});

test('numbers alone make the buffer as long as it has to be', () => {
  // Longer than whatever was written before.
  const metadata = { list: Array.from({ length: 200_000 }, (_, i) => i / 3) };
  const answer: Decision = { overallCode: 'OK', statuses: [], metadata };
  expect(Buffer.from(encodeResponse(answer)).equals(encodeResponseByProtobufjs(toWireResponse(answer)))).toBe(true);
});
