/** A remembered header block gives the headers that decoding it again gives. */

import fc from 'fast-check';
import { HeaderBlocks } from '../../../../../src/server/transport/http2/connection/header-blocks';
import { HpackDecoder } from '../../../../../src/server/transport/http2/hpack/hpack-decoder';
import { readRequestHead, SHOULD_RATE_LIMIT_PATH } from '../../../../../src/server/transport/http2/connection/request-head';
import { seeded } from '../../../../support/random/random';
import { CALL_BLOCK } from '../peer';

function literal(firstByte: number, value: string): Buffer {
  return Buffer.concat([Buffer.from([firstByte, 0x01, 0x78, value.length]), Buffer.from(value)]);
}

function namedLiteral(firstByte: number, [name, value]: readonly [string, string]): Buffer {
  return Buffer.concat([Buffer.from([firstByte, name.length]), Buffer.from(name), Buffer.from([value.length]), Buffer.from(value)]);
}

/** Blocks that read the table, some of which change it: the same bytes mean one thing now and another later. */
const BLOCKS = [
  CALL_BLOCK,
  Buffer.from([0xbe]),
  Buffer.concat([CALL_BLOCK, Buffer.from([0xbe])]),
  Buffer.from([0x82, 0xbf]),
  literal(0x40, 'a'),
  literal(0x40, 'b'),
  literal(0x00, 'c'),
  Buffer.from([0x20, 0x3f, 0xe1, 0x1f]),
  literal(0x00, 'd'.repeat(100)),
];

test('a repeated block has the headers that decoding it again gives', () => {
  fc.assert(
    fc.property(fc.array(fc.constantFrom(...BLOCKS), { maxLength: 40 }), (blocks) => {
      const [remembering, decoder] = [new HeaderBlocks(), new HpackDecoder()];
      for (const block of blocks) {
        let expected;
        try {
          expected = readRequestHead(decoder.decode(block));
        } catch (error) {
          expect(() => remembering.decode(block, 0, block.length)).toThrow((error as Error).message);
          return;
        }
        expect(remembering.decode(block, 0, block.length)).toEqual(expected);
      }
    }),
    seeded(2000),
  );
});

test('a call that differs from the last one in some values has the head that reading all of it gives', () => {
  const values = {
    traceparent: ['00-1', '00-2', '00-2\r\n'],
    'grpc-timeout': ['20m', '30m', 'soon'],
    'content-type': ['application/grpc', 'application/grpc+proto', 'text/plain'],
    'content-length': ['5', '6', '-1'],
    te: ['trailers', 'gzip'],
    ':path': [SHOULD_RATE_LIMIT_PATH, '/other'],
  };
  const changes = Object.entries(values).flatMap(([name, texts]) => texts.map((value) => ({ name, value })));
  fc.assert(
    fc.property(fc.array(fc.constantFrom(...changes), { maxLength: 40 }), fc.constantFrom(0x00, 0x40), (steps, firstByte) => {
      const [remembering, decoder] = [new HeaderBlocks(), new HpackDecoder()];
      const fields = new Map([
        [':method', 'POST'],
        [':scheme', 'http'],
        ...Object.entries(values).map(([name, [first = '']]) => [name, first] as const),
      ]);
      const pseudoFirst = () => [...fields].sort(([a], [b]) => Number(b.startsWith(':')) - Number(a.startsWith(':')));
      for (const { name, value } of steps) {
        fields.set(name, value);
        const block = Buffer.concat(pseudoFirst().map((field) => namedLiteral(firstByte, field)));
        expect(remembering.decode(block, 0, block.length)).toEqual(readRequestHead(decoder.decode(block)));
      }
    }),
    seeded(500),
  );
});

test('a known block is not decoded again', () => {
  const blocks = new HeaderBlocks();
  const first = blocks.decode(CALL_BLOCK, 0, CALL_BLOCK.length);
  expect(blocks.decode(CALL_BLOCK, 0, CALL_BLOCK.length)).toBe(first);
  expect(blocks.decode(Buffer.concat([Buffer.alloc(3), CALL_BLOCK]), 3, 3 + CALL_BLOCK.length)).toBe(first);
});
