/** The response encoder: what it writes is, byte for byte, what protobufjs writes. */

import fc from 'fast-check';
import { encodeResponse } from '../../../../src/transport/codec/encode-response';
import type { WireLimit, WireResponse, WireStatus } from '../../../../src/transport/wire';
import { seeded } from '../../../support/random';
import { encodeResponseByProtobufjs } from './protobufjs-codec';

const uint32 = fc.oneof(fc.integer({ min: 0, max: 2 ** 32 - 1 }), fc.constantFrom(0, 127, 128, 16_383, 16_384, 2 ** 31, 2 ** 32 - 1));
const name = fc.oneof(fc.string({ unit: 'grapheme', maxLength: 20 }), fc.constantFrom('', 'n'.repeat(126), 'n'.repeat(127), 'é'.repeat(64), '🙂'.repeat(5000)));
const code = fc.constantFrom<1 | 2>(1, 2);

const limit: fc.Arbitrary<WireLimit> = fc.record(
  { requests_per_unit: uint32, unit: fc.integer({ min: 1, max: 7 }), name, unit_multiplier: fc.record({ value: uint32 }) },
  { requiredKeys: ['requests_per_unit', 'unit'] },
);
const status: fc.Arbitrary<WireStatus> = fc.record(
  { code, current_limit: limit, limit_remaining: uint32, duration_until_reset: fc.record({ seconds: fc.oneof(uint32, fc.integer({ min: 0, max: 2 ** 53 - 1 })) }) },
  { requiredKeys: ['code', 'limit_remaining'] },
);
const response: fc.Arbitrary<WireResponse> = fc.record(
  {
    overall_code: code,
    statuses: fc.array(status, { maxLength: 8 }),
    dynamic_metadata: fc.constant({ fields: { decided_by: { stringValue: 'fallback' }, other: { stringValue: 'é' } } }),
  },
  { requiredKeys: ['overall_code', 'statuses'] },
);

test('the bytes are those of protobufjs', () => {
  fc.assert(
    fc.property(response, (answer) => {
      expect(Buffer.from(encodeResponse(answer)).toString('hex')).toBe(encodeResponseByProtobufjs(answer).toString('hex'));
    }),
    seeded(1000),
  );
});
