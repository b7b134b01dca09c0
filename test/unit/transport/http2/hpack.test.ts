/** HPACK follows RFC 7541. */

import fc from 'fast-check';
import { ConnectionError, ErrorCode } from '../../../../src/server/transport/http2/frames/errors';
import { HEADER_FIELDS_MAX, HEADER_LIST_BYTES_MAX, HpackDecoder } from '../../../../src/server/transport/http2/hpack/hpack-decoder';
import { encodeHeaderBlock } from '../../../../src/server/transport/http2/hpack/hpack-encoder';
import { seeded } from '../../../support/random/random';

function decode(decoder: HpackDecoder, hex: string): [string, string][] {
  return decoder.decode(Buffer.from(hex.replaceAll(' ', ''), 'hex')).fields.map(({ name, value }) => [name, value]);
}

const FIRST = [
  [':method', 'GET'],
  [':scheme', 'http'],
  [':path', '/'],
  [':authority', 'www.example.com'],
];
const SECOND = [...FIRST, ['cache-control', 'no-cache']];
const THIRD = [
  [':method', 'GET'],
  [':scheme', 'https'],
  [':path', '/index.html'],
  [':authority', 'www.example.com'],
  ['custom-key', 'custom-value'],
];

describe('RFC 7541, appendix C', () => {
  test.each([
    ['C.2.1', '400a 6375 7374 6f6d 2d6b 6579 0d63 7573 746f 6d2d 6865 6164 6572', [['custom-key', 'custom-header']]],
    ['C.2.2', '040c 2f73 616d 706c 652f 7061 7468', [[':path', '/sample/path']]],
    ['C.2.3', '1008 7061 7373 776f 7264 0673 6563 7265 74', [['password', 'secret']]],
    ['C.2.4', '82', [[':method', 'GET']]],
  ])('%s', (_name, hex, fields) => {
    expect(decode(new HpackDecoder(), hex)).toEqual(fields);
  });

  test.each([
    [
      'C.3, without Huffman',
      [
        '8286 8441 0f77 7777 2e65 7861 6d70 6c65 2e63 6f6d',
        '8286 84be 5808 6e6f 2d63 6163 6865',
        '8287 85bf 400a 6375 7374 6f6d 2d6b 6579 0c63 7573 746f 6d2d 7661 6c75 65',
      ],
    ],
    [
      'C.4, with Huffman',
      [
        '8286 8441 8cf1 e3c2 e5f2 3a6b a0ab 90f4 ff',
        '8286 84be 5886 a8eb 1064 9cbf',
        '8287 85bf 4088 25a8 49e9 5ba9 7d7f 8925 a849 e95b b8e8 b4bf',
      ],
    ],
  ])('%s: three requests on one connection', (_name, blocks) => {
    const decoder = new HpackDecoder();
    expect(blocks.map((hex) => decode(decoder, hex))).toEqual([FIRST, SECOND, THIRD]);
  });

  test.each([
    [
      'C.5, without Huffman',
      [
        '4803 3330 3258 0770 7269 7661 7465 611d 4d6f 6e2c 2032 3120 4f63 7420 3230 3133 2032 303a 3133 3a32 3120 474d 546e 1768 7474 7073 3a2f 2f77 7777 2e65 7861 6d70 6c65 2e63 6f6d',
        '4803 3330 37c1 c0bf',
        '88c1 611d 4d6f 6e2c 2032 3120 4f63 7420 3230 3133 2032 303a 3133 3a32 3220 474d 54c0 5a04 677a 6970 7738 666f 6f3d 4153 444a 4b48 514b 425a 584f 5157 454f 5049 5541 5851 5745 4f49 553b 206d 6178 2d61 6765 3d33 3630 303b 2076 6572 7369 6f6e 3d31',
      ],
    ],
    [
      'C.6, with Huffman',
      [
        '4882 6402 5885 aec3 771a 4b61 96d0 7abe 9410 54d4 44a8 2005 9504 0b81 66e0 82a6 2d1b ff6e 919d 29ad 1718 63c7 8f0b 97c8 e9ae 82ae 43d3',
        '4883 640e ffc1 c0bf',
        '88c1 6196 d07a be94 1054 d444 a820 0595 040b 8166 e084 a62d 1bff c05a 839b d9ab 77ad 94e7 821d d7f2 e6c7 b335 dfdf cd5b 3960 d5af 2708 7f36 72c1 ab27 0fb5 291f 9587 3160 65c0 03ed 4ee5 b106 3d50 07',
      ],
    ],
  ])('%s: three responses with a table of 256 bytes, which evicts', (_name, blocks) => {
    const decoder = new HpackDecoder();
    decoder.decode(Buffer.from('3fe101', 'hex'));
    const date = 'Mon, 21 Oct 2013 20:13:21 GMT';
    const first = [
      [':status', '302'],
      ['cache-control', 'private'],
      ['date', date],
      ['location', 'https://www.example.com'],
    ];
    expect(decode(decoder, blocks[0]!)).toEqual(first);
    expect(decode(decoder, blocks[1]!)).toEqual([[':status', '307'], ...first.slice(1)]);
    expect(decode(decoder, blocks[2]!)).toEqual([
      [':status', '200'],
      ['cache-control', 'private'],
      ['date', 'Mon, 21 Oct 2013 20:13:22 GMT'],
      ['location', 'https://www.example.com'],
      ['content-encoding', 'gzip'],
      ['set-cookie', 'foo=ASDJKHQKBZXOQWEOPIUAXQWEOIU; max-age=3600; version=1'],
    ]);
  });
});

test('encoded fields decode to the same, and leave no entry in the table', () => {
  const text = fc.string({ unit: fc.integer({ min: 0, max: 255 }).map((byte) => String.fromCharCode(byte)), maxLength: 300 });
  const field = fc.record({
    name: fc.oneof(text, fc.constantFrom(':status', 'content-type', 'grpc-status')),
    value: fc.oneof(text, fc.constantFrom('200', '0')),
  });
  fc.assert(
    fc.property(fc.array(field, { maxLength: 6 }), (fields) => {
      const decoder = new HpackDecoder();
      expect(decoder.decode(encodeHeaderBlock(fields)).fields).toEqual(fields);
      expect(decoder.generation).toBe(0);
    }),
    seeded(500),
  );
});

describe('invalid header blocks', () => {
  test.each([
    ['index 0', '80'],
    ['an index beyond both tables', 'be'],
    ['a name of an index beyond both tables', '7e 00'],
    ['a table of over 4096 bytes', '3fe2 1f'],
    ['a new table size after a field', '82 20'],
    ['an integer without end', 'ff ffff ffff ffff ffff'],
    ['an integer that ends early', 'ff'],
    ['a name that ends early', '40 0a 63'],
    ['a value that is missing', '40 01 63'],
    ['a Huffman text that holds the end', '00 85 ff ff ff ff fc 00'],
    ['a Huffman text padded with zeroes', '00 81 00 00'],
    ['a Huffman text padded with a whole byte', '00 82 1f ff 00'],
  ])('%s is a COMPRESSION_ERROR', (_name, hex) => {
    try {
      decode(new HpackDecoder(), hex);
    } catch (error) {
      expect(error).toBeInstanceOf(ConnectionError);
      expect((error as ConnectionError).code).toBe(ErrorCode.COMPRESSION_ERROR);
      return;
    }
    throw new Error('was decoded');
  });

  test('random bytes are fields or a COMPRESSION_ERROR', () => {
    fc.assert(
      fc.property(fc.array(fc.uint8Array({ maxLength: 60 }), { maxLength: 4 }), (blocks) => {
        const decoder = new HpackDecoder();
        try {
          for (const block of blocks) decoder.decode(Buffer.from(block));
        } catch (error) {
          expect(error).toMatchObject({ name: 'ConnectionError', code: ErrorCode.COMPRESSION_ERROR });
        }
      }),
      seeded(3000),
    );
  });
});

describe('bounds', () => {
  test('a bomb of indexed fields is counted, not kept (CVE-2016-6581)', () => {
    const decoder = new HpackDecoder();
    decoder.decode(Buffer.concat([Buffer.from([0x40, 0x01, 0x78, 0x7f, 0x80, 0x1e]), Buffer.alloc(127 + 3840, 0x61)]));
    const list = decoder.decode(Buffer.alloc(60_000, 0xbe));
    expect(list.tooLarge).toBe(true);
    expect(list.fields.length).toBeLessThanOrEqual(HEADER_LIST_BYTES_MAX / 3968);
  });

  test('too many small literal fields are rejected', () => {
    const list = new HpackDecoder().decode(Buffer.alloc(HEADER_FIELDS_MAX + 1, 0x82));
    expect(list.tooLarge).toBe(true);
    expect(new HpackDecoder().decode(Buffer.alloc(HEADER_FIELDS_MAX, 0x82)).tooLarge).toBe(false);
  });

  test('a field larger than the table empties it', () => {
    const decoder = new HpackDecoder();
    decode(decoder, '4001 6101 62');
    decoder.decode(Buffer.concat([Buffer.from([0x40, 0x01, 0x78, 0x7f, 0x81, 0x1f]), Buffer.alloc(127 + 1 + 31 * 128, 0x61)]));
    expect(() => decoder.decode(Buffer.from([0xbe]))).toThrow('index');
  });
});
