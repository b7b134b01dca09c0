/** A peer receives the headers of answers once, and reads the same fields in later answers. */

import { ANSWER_HEAD, OK_TRAILERS } from '../../../../../src/server/transport/http2/calls/answer-frames';
import { Flag, FRAME_HEADER_BYTES, FrameType } from '../../../../../src/server/transport/http2/frames/frames';
import { HpackDecoder } from '../../../../../src/server/transport/http2/hpack/hpack-decoder';
import { encodeHeaderBlock } from '../../../../../src/server/transport/http2/hpack/hpack-encoder';
import { headersFrame, EncoderDynamicTable } from '../../../../../src/server/transport/http2/connection/encoder-dynamic-table';
import type { Connection } from '../../../../../src/server/transport/http2/connection/connection';
import type { Stream } from '../../../../../src/server/transport/http2/connection/stream';
import { randomFrom } from '../../../../support/random/random';
import { frame, headers, Peer, setting, type Received } from '../peer';

const MESSAGE = Buffer.from('decided');

function answer(connection: Connection, stream: Stream): undefined {
  connection.answer(stream, { head: ANSWER_HEAD, message: MESSAGE, trailers: OK_TRAILERS });
}

/** The bytes of each header block of the frames, and what a peer reads in it. */
function blocks(frames: Received[], decoder: HpackDecoder): { bytes: number; text: string }[] {
  return frames
    .filter(({ type }) => type === FrameType.HEADERS)
    .map(({ payload }) => ({
      bytes: payload.length,
      text: decoder
        .decode(payload)
        .fields.map(({ name, value }) => `${name}: ${value}`)
        .join(', '),
    }));
}

const HEAD = ':status: 200, content-type: application/grpc, grpc-accept-encoding: identity,deflate,gzip';
const TRAILERS = 'grpc-status: 0';

test('the first answer of a connection sends its headers, and every later one four bytes of them', () => {
  const peer = new Peer(answer);
  const decoder = new HpackDecoder();
  const read = [1, 3, 5].map((id) => blocks(peer.send(headers(id)), decoder));
  expect(read.flat().map(({ text }) => text)).toEqual([HEAD, TRAILERS, HEAD, TRAILERS, HEAD, TRAILERS]);
  expect(read.map((answered) => answered.map(({ bytes }) => bytes))).toEqual([
    [ANSWER_HEAD.indexing.length - FRAME_HEADER_BYTES, OK_TRAILERS.indexing.length - FRAME_HEADER_BYTES],
    [3, 1],
    [3, 1],
  ]);
});

test('the peer reads trailers that had to wait for a window, and those after them', () => {
  const peer = new Peer(answer);
  const decoder = new HpackDecoder();
  const first = blocks(peer.send(frame(FrameType.SETTINGS, 0, setting(4, 0)), headers(1), headers(3)), decoder);
  const then = blocks(peer.send(frame(FrameType.SETTINGS, 0, setting(4, 1000)), headers(5)), decoder);
  expect(first.map(({ text }) => text)).toEqual([HEAD, HEAD]);
  expect(then.map(({ text }) => text)).toEqual([TRAILERS, TRAILERS, HEAD, TRAILERS]);
});

test.each([0, 176, 4095])(
  'a peer that sets a table of %i bytes, before its first answer or later, gets full headers each time',
  (bytes) => {
    for (const answersBefore of [0, 1, 2]) {
      const peer = new Peer(answer);
      const decoder = new HpackDecoder();
      for (let id = 1; id <= 2 * answersBefore; id += 2) blocks(peer.send(headers(id)), decoder);
      const read = blocks(peer.send(frame(FrameType.SETTINGS, 0, setting(1, bytes)), headers(101), headers(103)), decoder);
      expect(read.map(({ text }) => text)).toEqual([HEAD, TRAILERS, HEAD, TRAILERS]);
      const plain = [ANSWER_HEAD, OK_TRAILERS].map(({ plainBlock }) => plainBlock.length);
      // The first says before all else that the table is empty now.
      expect(read.map((block) => block.bytes)).toEqual([plain[0]! + 1, plain[1], ...plain]);
    }
  },
);

test('in any order of frames the peer reads the headers that were meant', () => {
  const random = randomFrom();
  const text = (): string => Array.from({ length: 1 + random(20) }, () => String.fromCharCode(97 + random(26))).join('');
  for (let round = 0; round < 300; round += 1) {
    const known = [
      { name: ':status', value: '200' },
      { name: 'content-type', value: text() },
      { name: text(), value: text() },
    ];
    const frames = Array.from({ length: 1 + random(5) }, () =>
      headersFrame(
        Flag.END_HEADERS,
        Array.from({ length: 1 + random(4) }, () => (random(2) === 0 ? known[random(3)]! : { name: text(), value: text() })),
      ),
    );
    const told = new EncoderDynamicTable();
    const decoder = new HpackDecoder();
    for (let turn = 0; turn < 20; turn += 1) {
      const one = frames[random(frames.length)]!;
      const block = random(4) === 0 ? encodeHeaderBlock(one.fields) : told.take(one).subarray(FRAME_HEADER_BYTES);
      expect(decoder.decode(block).fields).toEqual(one.fields);
    }
  }
});
