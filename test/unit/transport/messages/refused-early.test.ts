/** A message beyond a bound is rejected at the first excess element. */

import { FIELDS_MAX } from '../../../../src/domain/descriptor/descriptor-bounds';
import { BadRequestError } from '../../../../src/lib/errors';
import { decodeRequest, decodeStep } from '../../../../src/server/transport/messages/decode-request';
import { WireReader } from '../../../../src/server/transport/messages/wire-reader';
import { bytes, group, number } from './wire-fields';

/** Of the largest message that a transport takes. */
const MESSAGE_BYTES = 4 * 1024 * 1024;

const FIELDS = { id: 3, hits: 4 };

function filled(piece: Buffer): string {
  return Buffer.alloc(MESSAGE_BYTES - (MESSAGE_BYTES % piece.length), piece).toString('latin1');
}

function inDescriptor(content: string): string {
  return bytes(2, Buffer.from(content, 'latin1')).toString('latin1');
}

/** The fastest of some runs: what else goes on only ever adds. */
function fastestMs(runs: number, act: () => void): number {
  return Math.min(
    ...Array.from({ length: runs }, () => {
      const beganMs = performance.now();
      act();
      return performance.now() - beganMs;
    }),
  );
}

function readAll(message: string): void {
  const reader = new WireReader(Infinity);
  reader.begin(message);
  while (reader.more()) reader.skip(reader.tag());
}

const WHOLE = filled(number(15, 0));

const DESCRIPTORS = 'descriptors has over 128 items; send at most 128';
const ENTRIES = 'descriptors[0].entries has over 64 items; send at most 64';
const TOO_MANY = `the message has over ${FIELDS_MAX} fields; send fewer`;

describe.each<[string, (message: string) => unknown]>([
  ['a request', decodeRequest],
  ['a step', (message) => decodeStep(message, FIELDS)],
])('%s', (_what, decode) => {
  test.each<[string, string, string]>([
    ['descriptors', filled(bytes(2, '')), DESCRIPTORS],
    ['entries', inDescriptor(filled(bytes(1, ''))), ENTRIES],
    ['domains', filled(bytes(1, '')), TOO_MANY],
    ['unknown fields', filled(number(15, 0)), TOO_MANY],
    ['groups', filled(group(15)), TOO_MANY],
    ['overrides of one descriptor', inDescriptor(filled(bytes(2, ''))), TOO_MANY],
    ['unknown fields of an override', inDescriptor(bytes(2, Buffer.from(filled(number(15, 0)), 'latin1')).toString('latin1')), TOO_MANY],
  ])('4 MiB of %s are rejected at once', (_of, message, text) => {
    expect(decode(message)).toEqual(new BadRequestError(text));
    expect(fastestMs(20, () => decode(message))).toBeLessThan(
      fastestMs(3, () => {
        readAll(WHOLE);
      }) / 2,
    );
  });

  test('the maximum number of fields is read', () => {
    const most = Buffer.alloc(2 * (FIELDS_MAX - 1), number(15, 0));
    const message = Buffer.concat([bytes(1, 'd'), most]).toString('latin1');
    expect(decode(message)).toMatchObject({ domain: 'd' });
    expect(decode(message + number(15, 0).toString('latin1'))).toEqual(new BadRequestError(TOO_MANY));
  });
});

test('a step is read with all its fields', () => {
  const descriptor = Buffer.concat([bytes(1, Buffer.concat([bytes(1, 'k'), bytes(2, '\xff')])), bytes(3, number(1, 7)), number(4, 1)]);
  const span = Buffer.concat([number(1, -5n), number(2, 7)]);
  const message = Buffer.concat([
    bytes(1, 'd\xff'),
    bytes(2, descriptor),
    number(3, 2n ** 64n - 1n),
    bytes(4, span),
    bytes(5, 'an-id'),
    bytes(20, 'unknown'),
  ]);
  expect(decodeStep(message.toString('latin1'), { hits: 3, ttl: 4, id: 5 })).toEqual({
    domain: 'd\xff',
    descriptors: [{ entries: [{ key: 'k', value: '\xff' }], hits_addend: { value: '7' }, is_negative_hits: true }],
    hits: '18446744073709551615',
    ttl: { seconds: '-5', nanos: 7 },
    id: 'an-id',
  });
});

test('a step without its fields has none of them, and an invalid one is rejected', () => {
  expect(decodeStep('', { hits: 3 })).toEqual({ domain: '', descriptors: [], id: '' });
  for (const wrong of [number(1, 1), bytes(3, ''), Buffer.from([0x0a])]) {
    expect(decodeStep(wrong.toString('latin1'), { hits: 3 })).toEqual(
      new BadRequestError('the message is not valid for this service; check the .proto of the client'),
    );
  }
});
