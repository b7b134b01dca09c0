/** The messages of the client are those of protobufjs, byte for byte. */

import fc from 'fast-check';
import { decodeResponse, encodeRequest } from '../../../src/program/library/client/rate-limit-codec';
import { toResult } from '../../../src/program/library/limiter/to-result';
import { toWireRequest } from '../../../src/program/library/limiter/to-wire-request';
import { TIME_UNITS } from '../../../src/domain/descriptor/unit';
import { encodeResponse, toWireResponse } from '../../../src/server/transport/messages/response';
import { MalformedError } from '../../../src/server/transport/messages/wire-reader';
import { seeded } from '../../support/random/random';
import { code, name, statuses } from '../transport/messages/arbitrary-statuses';
import { encodeByProtobufjs } from '../transport/messages/protobufjs-codec';

const UINT32_MAX = 2 ** 32 - 1;
const uint32 = fc.oneof(fc.integer({ min: 0, max: UINT32_MAX }), fc.constantFrom(0, 127, 128, 2 ** 31, UINT32_MAX));
const entries = fc.array(fc.tuple(name, name), { maxLength: 4 });
const limit = fc.record(
  { requestsPerUnit: uint32, unit: fc.constantFrom(...TIME_UNITS), unitMultiplier: uint32 },
  { requiredKeys: ['requestsPerUnit', 'unit'] },
);
const hitsAddend = fc.integer({ min: -UINT32_MAX, max: UINT32_MAX });
const descriptor = fc.record({ entries, hitsAddend, limit }, { requiredKeys: ['entries'] });
const request = fc.record(
  { domain: name, descriptors: fc.array(descriptor, { maxLength: 4 }), hitsAddend: fc.integer({ min: 1, max: UINT32_MAX }) },
  { requiredKeys: ['domain', 'descriptors'] },
);
const decision = fc.record(
  { overallCode: code, statuses, headers: fc.array(fc.record({ name, value: name }), { maxLength: 4 }), body: name },
  { requiredKeys: ['overallCode', 'statuses'] },
);

test('requests have the bytes of protobufjs', () => {
  fc.assert(
    fc.property(request, (asked) => {
      const wire = toWireRequest(asked);
      expect(encodeRequest(wire).toString('hex')).toBe(encodeByProtobufjs(wire).toString('hex'));
    }),
    seeded(1000),
  );
});

test('an answer over gRPC and one of this process give the same result', () => {
  fc.assert(
    fc.property(decision, (decided) => {
      expect(toResult(decodeResponse(encodeResponse(decided)))).toEqual(toResult(toWireResponse(decided)));
    }),
    seeded(1000),
  );
});

test('fields that this version does not know are skipped, and bytes of another form are an error', () => {
  const answer = encodeResponse({ overallCode: 'OVER_LIMIT', statuses: [], metadata: { reason: 'x' } });
  expect(decodeResponse(Buffer.concat([answer, Buffer.from('f80101', 'hex')])).overall_code).toBe(2);
  expect(decodeResponse(Buffer.alloc(0)).overall_code).toBeUndefined();
  const random = fc.oneof(
    fc.uint8Array({ maxLength: 60 }),
    fc.tuple(decision, fc.nat(200)).map(([decided, length]) => encodeResponse(decided).subarray(0, length)),
  );
  const failures = { count: 0 };
  fc.assert(
    fc.property(random, (bytes) => {
      try {
        toResult(decodeResponse(Buffer.from(bytes)));
      } catch (error) {
        failures.count += 1;
        expect(error).toBeInstanceOf(MalformedError);
      }
    }),
    seeded(1000),
  );
  expect(failures.count).toBeGreaterThan(0);
});
