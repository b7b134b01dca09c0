/** What is remembered of header blocks: never an answer that decoding would not have given. */

import fc from 'fast-check';
import { HeaderBlocks } from '../../../../../src/transport/http2/connection/header-blocks';
import { HpackDecoder } from '../../../../../src/transport/http2/hpack/hpack-decoder';
import { readRequestHead } from '../../../../../src/transport/http2/connection/request-head';
import { seeded } from '../../../../support/random/random';
import { CALL_BLOCK } from '../peer';

function literal(firstByte: number, value: string): Buffer {
  return Buffer.concat([Buffer.from([firstByte, 0x01, 0x78, value.length]), Buffer.from(value)]);
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

test('a known block is not decoded again', () => {
  const blocks = new HeaderBlocks();
  const first = blocks.decode(CALL_BLOCK, 0, CALL_BLOCK.length);
  expect(blocks.decode(CALL_BLOCK, 0, CALL_BLOCK.length)).toBe(first);
  expect(blocks.decode(Buffer.concat([Buffer.alloc(3), CALL_BLOCK]), 3, 3 + CALL_BLOCK.length)).toBe(first);
});
