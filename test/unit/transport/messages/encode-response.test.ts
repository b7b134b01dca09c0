/** The response encoder writes the bytes of protobufjs. */

import fc from 'fast-check';
import type { Decision } from '../../../../src/domain/decide/decision';
import type { JsonObject, JsonValue } from '../../../../src/domain/rule/rule';
import { encodeResponse, toWireResponse } from '../../../../src/server/transport/messages/response';
import { seeded } from '../../../support/random/random';
import { code, name, statuses } from './arbitrary-statuses';
import { encodeResponseByProtobufjs } from './protobufjs-codec';

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
  {
    overallCode: code,
    statuses,
    fallback: fc.constant(true as const),
    headers: fc.array(header, { maxLength: 4 }),
    body: name,
    metadata,
  },
  { requiredKeys: ['overallCode', 'statuses'] },
);

test('the bytes equal those of protobufjs for the same answer as objects', () => {
  fc.assert(
    fc.property(decision, (answer) => {
      expect(Buffer.from(encodeResponse(answer)).toString('hex')).toBe(encodeResponseByProtobufjs(toWireResponse(answer)).toString('hex'));
    }),
    seeded(1000),
  );
});

test('numbers alone determine the length of the buffer', () => {
  // Longer than whatever was written before.
  const metadata = { list: Array.from({ length: 200_000 }, (_, i) => i / 3) };
  const answer: Decision = { overallCode: 'OK', statuses: [], metadata };
  expect(Buffer.from(encodeResponse(answer)).equals(encodeResponseByProtobufjs(toWireResponse(answer)))).toBe(true);
});
