/** The request decoder reads what protobufjs reads, and never throws. */

import fc from 'fast-check';
import { BadRequestError } from '../../../../src/lib/errors';
import * as codec from '../../../../src/server/transport/messages/decode-request';
import { toRequest } from '../../../../src/server/transport/messages/request';
import type { WireRequest } from '../../../../src/server/transport/messages/wire';
import { seeded } from '../../../support/random/random';
import { decodeByProtobufjs, encodeByProtobufjs } from './protobufjs-codec';
import { bytes, group, number, tag, varint } from './wire-fields';

const NO_MESSAGE = 'the message is not a valid envoy.service.ratelimit.v3.RateLimitRequest';

function decodeRequest(message: Buffer): WireRequest | BadRequestError {
  return codec.decodeRequest(message.toString('latin1'));
}

function decoded(message: Buffer): WireRequest {
  const request = decodeRequest(message);
  if (request instanceof BadRequestError) throw request;
  return request;
}

/** What is decided by: the request as the domain has it, or that there is none. */
function meaning(read: () => WireRequest): unknown {
  try {
    return toRequest(read());
  } catch {
    return 'refused';
  }
}

const raw = fc.uint8Array({ maxLength: 12 }).map((content) => Buffer.from(content));
const uint64 = fc.oneof(
  fc.bigInt({ min: 0n, max: 2n ** 64n - 1n }),
  fc.constantFrom(0n, 1n, 2n ** 32n, 2n ** 53n, 2n ** 63n - 1n, 2n ** 63n, 2n ** 64n - 1n),
);
const uint32 = fc.oneof(fc.integer({ min: 0, max: 2 ** 32 - 1 }), fc.constantFrom(0, 127, 128, 2 ** 31, 2 ** 32 - 1));

/** Fields that nobody knows, groups among them. */
const unknown = fc.letrec<{ field: Buffer }>((self) => ({
  field: fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    fc.tuple(fc.integer({ min: 5, max: 5000 }), uint64).map(([field, value]) => number(field, value)),
    fc.tuple(fc.integer({ min: 5, max: 5000 }), raw).map(([field, content]) => bytes(field, content)),
    fc
      .tuple(fc.integer({ min: 5, max: 5000 }), fc.uint8Array({ minLength: 4, maxLength: 4 }))
      .map(([field, content]) => Buffer.concat([tag(field, 5), content])),
    fc
      .tuple(fc.integer({ min: 5, max: 5000 }), fc.uint8Array({ minLength: 8, maxLength: 8 }))
      .map(([field, content]) => Buffer.concat([tag(field, 1), content])),
    fc
      .tuple(fc.integer({ min: 5, max: 5000 }), fc.array(self('field'), { maxLength: 3 }))
      .map(([field, fields]) => group(field, ...fields)),
  ),
})).field;

/** Fields in any order and any number, unknown ones between; of embedded messages, at most one each, since protobufjs replaces them. */
function message(repeatable: fc.Arbitrary<Buffer>[], once: fc.Arbitrary<Buffer>[] = []): fc.Arbitrary<Buffer> {
  return fc
    .tuple(fc.array(fc.oneof(...repeatable, unknown), { maxLength: 6 }), ...once.map((field) => fc.option(field, { nil: Buffer.alloc(0) })))
    .chain(([many, ...single]) => fc.shuffledSubarray([...many, ...single], { minLength: many.length + single.length }))
    .map((fields) => Buffer.concat(fields));
}

const wrappedUint32 = message([uint32.map((value) => number(1, value))]);
const wrappedUint64 = message([uint64.map((value) => number(1, value))]);
const override = message(
  [uint32.map((value) => number(1, value)), fc.integer({ min: -2, max: 9 }).map((value) => number(2, value))],
  [wrappedUint32.map((content) => bytes(3, content))],
);
const entry = message([raw.map((content) => bytes(1, content)), raw.map((content) => bytes(2, content))]);
const descriptor = message(
  [entry.map((content) => bytes(1, content)), fc.integer({ min: 0, max: 2 }).map((value) => number(4, value))],
  [override.map((content) => bytes(2, content)), wrappedUint64.map((content) => bytes(3, content))],
);
const request = message([
  fc.uint8Array({ minLength: 1, maxLength: 8 }).map((content) => bytes(1, Buffer.from(content))),
  descriptor.map((content) => bytes(2, content)),
  uint32.map((value) => number(3, value)),
]);

describe('beside protobufjs', () => {
  test('both decode every message that an encoder may write: any order, repeats, unknown fields, groups', () => {
    fc.assert(
      fc.property(request, (content) => {
        expect(meaning(() => decoded(content))).toEqual(meaning(() => decodeByProtobufjs(content)));
      }),
      seeded(3000),
    );
  });

  test('a message cut short is rejected where protobufjs rejects it, and reads the same where it does not', () => {
    fc.assert(
      fc.property(request, fc.nat(), (content, at) => {
        const cut = content.subarray(0, at % (content.length + 1));
        expect(meaning(() => decoded(cut))).toEqual(meaning(() => decodeByProtobufjs(cut)));
      }),
      seeded(2000),
    );
  });

  test('damaged bytes never throw, and accepted ones read as in protobufjs', () => {
    fc.assert(
      fc.property(request, fc.array(fc.tuple(fc.nat(), fc.nat(255)), { minLength: 1, maxLength: 3 }), (content, damage) => {
        const damaged = Buffer.from(content);
        for (const [at, byte] of damage) if (damaged.length > 0) damaged[at % damaged.length] = byte;
        const ours = meaning(() => decoded(damaged));
        // Stricter in wire types, other than protobufjs in doubled submessages and in varints longer than they need to be.
        if (ours !== 'refused' && isPlain(damaged)) expect(ours).toEqual(meaning(() => decodeByProtobufjs(damaged)));
      }),
      seeded(3000),
    );
  });

  test('random bytes give a result, never an exception', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 300 }), (content) => {
        const answer = decodeRequest(Buffer.from(content));
        if (answer instanceof BadRequestError) expect(answer.message).toMatch(/^(?:the message is no|descriptors)/);
      }),
      seeded(3000),
    );
  });
});

/** Whether what protobufjs writes again, after reading, is read by us as before: it has no doubled submessages then. */
function isPlain(content: Buffer): boolean {
  try {
    const again = encodeByProtobufjs(decodeByProtobufjs(content));
    return JSON.stringify(decodeRequest(again)) === JSON.stringify(decodeRequest(content));
  } catch {
    return false;
  }
}

describe('by the rules of protobuf', () => {
  const oneDescriptor = (...fields: Buffer[]) => decoded(Buffer.concat([bytes(1, 'd'), bytes(2, Buffer.concat(fields))])).descriptors?.[0];

  test('the last of a repeated scalar wins', () => {
    expect(decoded(Buffer.concat([bytes(1, 'a'), number(3, 5), bytes(1, 'b'), number(3, 7)]))).toEqual({
      domain: 'b',
      descriptors: [],
      hits_addend: 7,
    });
  });

  test('a submessage that occurs twice is merged', () => {
    expect(
      oneDescriptor(
        bytes(2, number(1, 9)),
        bytes(2, Buffer.concat([number(2, 4), bytes(3, number(1, 6))])),
        bytes(2, bytes(3, Buffer.alloc(0))),
      ),
    ).toEqual({
      entries: [],
      limit: { requests_per_unit: 9, unit: 4, unit_multiplier: { value: 6 } },
    });
    expect(oneDescriptor(bytes(3, number(1, 8)), bytes(3, Buffer.alloc(0)))).toEqual({ entries: [], hits_addend: { value: '8' } });
  });

  test('present and empty differs from absent', () => {
    expect(oneDescriptor(bytes(3, Buffer.alloc(0)))).toEqual({ entries: [], hits_addend: {} });
    expect(oneDescriptor()).toEqual({ entries: [] });
  });

  test.each([
    [2n ** 64n - 1n, '18446744073709551615'],
    [2n ** 63n, '9223372036854775808'],
    [2n ** 53n + 1n, '9007199254740993'],
    [2n ** 32n, '4294967296'],
    [0n, '0'],
  ])('a uint64 of %s is exact', (value, digits) => {
    expect(oneDescriptor(bytes(3, number(1, value)))?.hits_addend).toEqual({ value: digits });
  });

  test('varints of up to ten bytes are read', () => {
    for (let length = 1; length <= 10; length++) {
      expect(decoded(Buffer.concat([number(3, 5, { bytes: length }), bytes(1, 'after')]))).toMatchObject({
        domain: 'after',
        hits_addend: 5,
      });
    }
    expect(decodeRequest(number(3, 5, { bytes: 11 }))).toEqual(new BadRequestError(NO_MESSAGE));
  });

  test('a number beyond 32 bits loses its upper bits, a bool does not', () => {
    expect(decoded(number(3, 2n ** 40n + 3n)).hits_addend).toBe(3);
    expect(oneDescriptor(number(4, 2n ** 40n))).toEqual({ entries: [], is_negative_hits: true });
    expect(oneDescriptor(bytes(2, number(2, -1)))?.limit).toEqual({ unit: -1 });
  });

  test('bytes that are not UTF-8 stay as they are', () => {
    expect(decoded(bytes(1, Buffer.from([0xff, 0x00, 0xc3]))).domain).toBe('\xff\0\xc3');
  });

  test('a packed scalar, and every other known field under another wire type, is rejected', () => {
    const wrong = [
      bytes(3, varint(1)),
      number(1, 1),
      number(2, 1),
      group(2),
      Buffer.concat([tag(3, 5), Buffer.alloc(4)]),
      bytes(2, number(1, 1)),
      bytes(2, bytes(4, varint(1))),
    ];
    for (const content of wrong) expect(decodeRequest(content)).toEqual(new BadRequestError(NO_MESSAGE));
  });

  test.each<[string, Buffer]>([
    ['field number 0', Buffer.from([0x00, 0x00])],
    ['field number 0 in two bytes', Buffer.from([0x80, 0x00, 0x00])],
    ['a tag of six bytes', Buffer.from([0xa8, 0x80, 0x80, 0x80, 0x80, 0x00, 0x00])],
    ['the end of a group that was not begun', tag(9, 4)],
    ['the end of another group', Buffer.concat([tag(9, 3), tag(10, 4)])],
    ['a group without end', tag(9, 3)],
    ['101 groups in each other', Buffer.concat([...Array<Buffer>(101).fill(tag(9, 3)), ...Array<Buffer>(101).fill(tag(9, 4))])],
    ['wire type 6', tag(9, 6)],
    ['wire type 7', tag(9, 7)],
    [
      'a length beyond its submessage, within the message',
      Buffer.concat([bytes(2, Buffer.concat([tag(1, 2), varint(5)])), bytes(1, 'long enough')]),
    ],
    ['a length of 2^32', Buffer.concat([tag(1, 2), varint(2n ** 32n)])],
    ['a length of 2^64 - 1', Buffer.concat([tag(1, 2), varint(2n ** 64n - 1n)])],
    ['fixed64 cut short', Buffer.concat([tag(9, 1), Buffer.alloc(7)])],
  ])('%s is rejected', (_name, content) => {
    expect(decodeRequest(content)).toEqual(new BadRequestError(NO_MESSAGE));
  });

  test('100 nested groups are skipped', () => {
    expect(
      decoded(Buffer.concat([...Array<Buffer>(100).fill(tag(9, 3)), ...Array<Buffer>(100).fill(tag(9, 4)), bytes(1, 'd')])).domain,
    ).toBe('d');
  });

  test('an excess of elements is rejected at the first one', () => {
    expect(decodeRequest(Buffer.concat(Array<Buffer>(129).fill(bytes(2, ''))))).toEqual(
      new BadRequestError('descriptors has over 128 items; send at most 128'),
    );
    const entries = bytes(2, Buffer.concat(Array<Buffer>(65).fill(bytes(1, ''))));
    expect(decodeRequest(Buffer.concat([bytes(2, ''), entries]))).toEqual(
      new BadRequestError('descriptors[1].entries has over 64 items; send at most 64'),
    );
  });
});
