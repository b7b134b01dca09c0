/** The answer to a reservation step has the bytes of protobufjs, and one JSON form. */

import fc from 'fast-check';
import { encodeHealth, encodeHealthList } from '../../../../src/server/transport/messages/health-codec';
import { loadProto } from '../../../../src/server/transport/messages/proto';
import {
  encodeKuadrantCommitted,
  encodeKuadrantReserved,
  encodeReserved,
  encodeStepAnswer,
  reservedJson,
  stepJson,
  toWireReserved,
  toWireStepAnswer,
} from '../../../../src/server/transport/messages/reservation-answers';
import type { ReserveAnswer, StepAnswer } from '../../../../src/state/reservation/reservation-service';
import { seeded } from '../../../support/random/random';
import { statuses } from './arbitrary-statuses';

const { reservations, kuadrant, health } = loadProto();

const hits = fc.oneof(fc.maxSafeNat(), fc.constantFrom(0, 127, 128, 2 ** 32));
const text = fc.oneof(fc.string({ unit: 'grapheme', maxLength: 20 }), fc.constantFrom('', 'n'.repeat(127), 'n'.repeat(128)));
const spanUs = fc.oneof(fc.maxSafeNat(), fc.constantFrom(0, 1, 999_999, 1_000_000));
const code = fc.constantFrom('OK' as const, 'OVER_LIMIT' as const);
const state = fc.constantFrom('held' as const, 'committed' as const, 'released' as const, 'lapsed' as const);
const record = fc.record({ state, granted: hits, actual: hits, cut: hits, isLate: fc.boolean(), isUnknown: fc.boolean() });

const reserved: fc.Arbitrary<ReserveAnswer> = fc
  .record({
    decision: fc.record({ overallCode: code, statuses }),
    id: text,
    granted: hits,
    expiresInUs: spanUs,
    isShareExhausted: fc.boolean(),
    known: fc.option(record, { nil: undefined }),
    isDegraded: fc.boolean(),
  })
  // Only the state of the record is read.
  .map(({ known, ...answer }) =>
    known === undefined ? answer : { ...answer, known: known as unknown as ReserveAnswer['known'] & object },
  );

const step: fc.Arbitrary<StepAnswer> = fc.record({
  id: text,
  record,
  expiresInUs: spanUs,
  isChanged: fc.boolean(),
  isDegraded: fc.boolean(),
});

interface Written<Answer> {
  readonly encode: (answer: Answer) => Buffer;
  readonly byProtobufjs: (message: object) => Buffer;
  readonly toWire: (answer: Answer) => object;
}

function check<Answer>(answers: fc.Arbitrary<Answer>, { encode, byProtobufjs, toWire }: Written<Answer>): void {
  fc.assert(
    fc.property(answers, (answer) => {
      expect(encode(answer).toString('hex')).toBe(byProtobufjs(toWire(answer)).toString('hex'));
    }),
    seeded(500),
  );
}

test('the answer to Reserve is encoded', () => {
  check(reserved, { encode: encodeReserved, byProtobufjs: reservations.Reserve!.responseSerialize, toWire: toWireReserved });
});

test.each(['Commit', 'Release', 'Extend'])('the answer to %s is encoded', (name) => {
  check(step, { encode: encodeStepAnswer, byProtobufjs: reservations[name]!.responseSerialize, toWire: toWireStepAnswer });
});

test("the answers of Kuadrant's service are encoded", () => {
  check(reserved, {
    encode: encodeKuadrantReserved,
    byProtobufjs: kuadrant.Reserve!.responseSerialize,
    toWire: (answer) => ({ code: toWireReserved(answer).code, reservation_id: answer.id }),
  });
  check(fc.boolean(), {
    encode: encodeKuadrantCommitted,
    byProtobufjs: kuadrant.Commit!.responseSerialize,
    toWire: (isReleased) => ({ reservation_released: isReleased }),
  });
});

test('the JSON of an answer is that of the same answer as a gRPC client gets it', () => {
  const received = (name: string, bytes: Buffer) => reservations[name]!.responseDeserialize(bytes);
  fc.assert(
    fc.property(reserved, step, (reserve, other) => {
      const texts = [reservedJson(toWireReserved(reserve)), stepJson(toWireStepAnswer(other))].map((json) => JSON.stringify(json));
      expect(JSON.stringify(reservedJson(received('Reserve', encodeReserved(reserve))))).toBe(texts[0]);
      expect(JSON.stringify(stepJson(received('Commit', encodeStepAnswer(other))))).toBe(texts[1]);
    }),
    seeded(300),
  );
});

test.each([1, 2, 3])('the health %i is encoded', (servingStatus) => {
  expect(encodeHealth(servingStatus)).toEqual(health.Check!.responseSerialize({ status: servingStatus }));
  const statuses = { '': { status: servingStatus }, ratelimit: { status: servingStatus } };
  expect(encodeHealthList(['', 'ratelimit'], servingStatus)).toEqual(health.List!.responseSerialize({ statuses }));
});
