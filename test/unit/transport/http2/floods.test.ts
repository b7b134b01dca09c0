/** Each known flood of HTTP/2 is cut off, or starts no more work than streams are allowed. */

import { ANSWER_HEAD, OK_TRAILERS } from '../../../../src/server/transport/http2/calls/answer-frames';
import { ErrorCode } from '../../../../src/server/transport/http2/frames/errors';
import { STREAMS_MAX } from '../../../../src/server/transport/http2/connection/connection';
import { FrameType } from '../../../../src/server/transport/http2/frames/frames';
import { cpuMs } from '../../../support/clock/cpu-time';
import { CALL_BLOCK, frame, headers, Peer, resetOf, setting, uint32 } from './peer';

const { ENHANCE_YOUR_CALM, REFUSED_STREAM } = ErrorCode;

function many(count: number, one: (index: number) => Buffer): Buffer {
  return Buffer.concat(Array.from({ length: count }, (_, index) => one(index)));
}

/** Bytes that one connection may be made to hold ready for a peer that reads nothing, before its input is not read any more. */
const OUTPUT_BYTES_MAX = 256 * 1024;

test.each<[string, string, (index: number) => Buffer]>([
  ['PING', 'CVE-2019-9512', () => frame(FrameType.PING, 0, Buffer.alloc(8))],
  ['SETTINGS', 'CVE-2019-9515', () => frame(FrameType.SETTINGS, 0, setting(3, 100))],
  ['SETTINGS ACK', 'CVE-2019-9515', () => frame(FrameType.SETTINGS, 0, Buffer.alloc(0), 0x1)],
  [
    'PRIORITY',
    'CVE-2019-9513',
    (index) => frame(FrameType.PRIORITY, 1 + 2 * (index % 100_000), Buffer.concat([uint32(0), Buffer.from([16])])),
  ],
  ['WINDOW_UPDATE', 'CVE-2019-9511', () => frame(FrameType.WINDOW_UPDATE, 0, uint32(1))],
  ['unknown frames', 'CVE-2019-9518', () => frame(0xbe, 0)],
  ['GOAWAY', 'CVE-2019-9518', () => frame(FrameType.GOAWAY, 0, uint32(0, 0))],
])('a flood of %s (%s) is cut off, with bounded answers', (_name, _cve, one) => {
  const peer = new Peer();
  const frames = peer.send(many(2500, one));
  expect(peer.goaway(frames)).toBe(ENHANCE_YOUR_CALM);
  expect(frames.reduce((bytes, { payload }) => bytes + 9 + payload.length, 0)).toBeLessThan(OUTPUT_BYTES_MAX);
});

test('the same frames at the rate of keepalive or flow control are not a flood', () => {
  const peer = new Peer();
  for (let second = 0; second < 60; second++) {
    peer.nowMs += 1000;
    peer.send(many(400, () => frame(FrameType.PING, 0, Buffer.alloc(8))));
  }
  expect(peer.connection.isClosed).toBe(false);
});

test('frames of calls that are answered are not a flood at any rate', () => {
  const peer = new Peer((connection, stream) => {
    connection.sendHeaders(stream, CALL_BLOCK, { endStream: true });
    return undefined;
  });
  for (let id = 1; id < 40_000; id += 2)
    peer.send(headers(id), frame(FrameType.PING, 0, Buffer.alloc(8)), frame(FrameType.WINDOW_UPDATE, 0, uint32(1)));
  expect(peer.connection.isClosed).toBe(false);
});

describe('rapid reset (CVE-2023-44487)', () => {
  const pair = (id: number): Buffer => Buffer.concat([headers(id), frame(FrameType.RST_STREAM, id, uint32(ErrorCode.CANCEL))]);

  test('a rapid reset flood is cut off', () => {
    const peer = new Peer();
    const frames = peer.send(many(15_000, (index) => pair(1 + 2 * index)));
    expect(peer.goaway(frames)).toBe(ENHANCE_YOUR_CALM);
    expect(peer.opened.length).toBeLessThanOrEqual(10_001);
  });

  test('a reset call counts until its work is done, so work is bounded by the allowed streams', () => {
    let working = 0;
    const peer = new Peer((connection) => {
      working += 1;
      return {
        onData: () => undefined,
        onEnd: () => undefined,
        onReset: () => {
          connection.countAbandoned(1);
        },
      };
    });
    const frames = peer.send(many(3000, (index) => pair(1 + 2 * index)));
    expect(working).toBe(STREAMS_MAX);
    expect(resetOf(frames, 1 + 2 * STREAMS_MAX)).toBe(REFUSED_STREAM);
    // One is done: the next is taken.
    peer.connection.countAbandoned(-1);
    peer.send(headers(8001));
    expect(working).toBe(STREAMS_MAX + 1);
  });

  test('calls that all time out at once, repeatedly, are not a flood', () => {
    const peer = new Peer();
    let id = -1;
    for (let round = 0; round < 50; round++) {
      const ids = Array.from({ length: 500 }, () => (id += 2));
      peer.send(...ids.map((one) => headers(one)));
      peer.nowMs += 100;
      peer.send(...ids.map((one) => frame(FrameType.RST_STREAM, one, uint32(ErrorCode.INTERNAL_ERROR))));
    }
    expect(peer.connection.isClosed).toBe(false);
    expect(peer.resets).toHaveLength(25_000);
  });

  /** What makes a server reset a stream that it has begun to answer. */
  const PROVOCATIONS: [string, (id: number) => Buffer[]][] = [
    ['WINDOW_UPDATE by 0', (id) => [headers(id), frame(FrameType.WINDOW_UPDATE, id, uint32(0))]],
    ['a window beyond 2^31 - 1', (id) => [headers(id), frame(FrameType.WINDOW_UPDATE, id, uint32(2 ** 31 - 1))]],
    ['PRIORITY of an odd length', (id) => [headers(id), frame(FrameType.PRIORITY, id, Buffer.alloc(4))]],
    ['PRIORITY on itself', (id) => [headers(id), frame(FrameType.PRIORITY, id, Buffer.concat([uint32(id), Buffer.from([16])]))]],
    ['HEADERS after the end', (id) => [headers(id), headers(id)]],
    ['DATA after the end', (id) => [headers(id), frame(FrameType.DATA, id, Buffer.alloc(1))]],
    ['invalid trailers', (id) => [headers(id, { endStream: false }), headers(id)]],
  ];

  test.each(PROVOCATIONS)('resets that the server is made to send (CVE-2025-8671), by %s, count too', (_what, provoke) => {
    const peer = new Peer();
    // Time enough for the frames, not for the resets.
    for (let index = 0; index < 12_000 && !peer.connection.isClosed; index++) {
      if (index % 1000 === 0) peer.nowMs += 1;
      peer.send(...provoke(1 + 2 * index));
    }
    expect(peer.connection.isClosed).toBe(true);
  });

  test.each(PROVOCATIONS)('such resets start no more work than streams are allowed, by %s', (_what, provoke) => {
    let working = 0;
    const peer = new Peer((connection) => {
      working += 1;
      return {
        onData: () => undefined,
        onEnd: () => undefined,
        onReset: () => {
          connection.countAbandoned(1);
        },
      };
    });
    for (let index = 0; index < 3000; index++) {
      peer.nowMs += 10;
      peer.send(...provoke(1 + 2 * index));
    }
    expect(working).toBe(STREAMS_MAX);
  });

  test('streams rejected for their headers (CVE-2019-9514) are cut off, without a call', () => {
    const peer = new Peer();
    const malformed = CALL_BLOCK.subarray(0, 1);
    const frames = peer.send(many(15_000, (index) => headers(1 + 2 * index, { block: malformed })));
    expect(peer.goaway(frames)).toBe(ENHANCE_YOUR_CALM);
    expect(peer.opened).toEqual([]);
  });
});

describe('header blocks', () => {
  test('CONTINUATION without end (CVE-2024-27316) is cut off by the number of frames', () => {
    const peer = new Peer();
    const frames = peer.send(
      frame(FrameType.HEADERS, 1, CALL_BLOCK),
      many(100, () => frame(FrameType.CONTINUATION, 1)),
    );
    expect(peer.goaway(frames)).toBe(ENHANCE_YOUR_CALM);
  });

  test('CONTINUATION without end is cut off by its bytes', () => {
    const peer = new Peer();
    const frames = peer.send(
      frame(FrameType.HEADERS, 1, CALL_BLOCK),
      many(3, () => frame(FrameType.CONTINUATION, 1, Buffer.alloc(16_384))),
    );
    expect(peer.goaway(frames)).toBe(ENHANCE_YOUR_CALM);
  });

  test('a header list above the bound is a refused stream, and the connection lives (CVE-2019-9516, CVE-2016-6581)', () => {
    const peer = new Peer();
    const empty = Buffer.concat(Array<Buffer>(200).fill(Buffer.from([0x00, 0x01, 0x61, 0x00])));
    peer.send(headers(1, { block: Buffer.concat([CALL_BLOCK, empty]) }));
    expect(peer.opened[0]?.head.kind).toBe('too_large');
    expect(peer.connection.isClosed).toBe(false);
    peer.send(headers(3));
    expect(peer.opened[1]?.head.kind).toBe('rate_limit');
  });
});

test('a field indexed once and repeated a thousand times (an HPACK bomb, CVE-2016-6581) is not unpacked', () => {
  const peer = new Peer();
  const value = 'a'.repeat(3900);
  const remembered = Buffer.concat([Buffer.from([0x40, 0x01, 0x78, 0x7f, 0xbd, 0x1d]), Buffer.from(value)]);
  peer.send(headers(1, { block: Buffer.concat([CALL_BLOCK, remembered]) }));
  expect(peer.opened[0]?.head.fields.at(-1)).toEqual({ name: 'x', value });
  for (let id = 3; id < 400; id += 2) peer.send(headers(id, { block: Buffer.concat([CALL_BLOCK, Buffer.alloc(10_000, 0xbe)]) }));
  expect(peer.opened).toHaveLength(200);
  for (const { head } of peer.opened.slice(1)) {
    expect(head.kind).toBe('too_large');
    expect(head.fields.length).toBeLessThan(20);
  }
  expect(peer.connection.isClosed).toBe(false);
});

test('DATA without bytes or end (CVE-2019-9518) is cut off', () => {
  const peer = new Peer();
  const frames = peer.send(
    headers(1, { endStream: false }),
    many(2500, () => frame(FrameType.DATA, 1)),
  );
  expect(peer.goaway(frames)).toBe(ENHANCE_YOUR_CALM);
});

test('DATA of padding alone uses its window and gets it back', () => {
  const peer = new Peer();
  peer.send(headers(1, { endStream: false }));
  for (let index = 0; index < 100; index++)
    peer.send(frame(FrameType.DATA, 1, Buffer.concat([Buffer.from([255]), Buffer.alloc(255)]), 0x8));
  expect(peer.connection.isClosed).toBe(false);
  expect(peer.received).toBe(0);
});

test('streams above the bound are refused, and open ones go on', () => {
  const peer = new Peer();
  const frames = peer.send(many(STREAMS_MAX + 5, (index) => headers(1 + 2 * index, { endStream: false })));
  expect(peer.opened).toHaveLength(STREAMS_MAX);
  expect(resetOf(frames, 1 + 2 * STREAMS_MAX)).toBe(REFUSED_STREAM);
  expect(peer.connection.isClosed).toBe(false);
});

test('SETTINGS that move windows repeatedly (CVE-2019-9515) cost one pass for each frame', () => {
  const payload = Buffer.concat(Array.from({ length: 2700 }, (_, index) => setting(4, index % 2 === 0 ? 0 : 65_535)));
  const cost = (peer: Peer): number =>
    cpuMs(() => {
      for (let index = 0; index < 100; index++) peer.send(frame(FrameType.SETTINGS, 0, payload));
    });
  const [busy, idle] = [new Peer(), new Peer()];
  busy.send(many(STREAMS_MAX, (index) => headers(1 + 2 * index)));
  // Each setting on each stream would be some 276 million steps, hundreds of times the cost without streams.
  const idleMs = cost(idle);
  expect(cost(busy)).toBeLessThan(50 * Math.max(1, idleMs));
});

test.each<[string, number, number | undefined]>([
  ['the maximum number of streams is cut off before it costs much', STREAMS_MAX, ENHANCE_YOUR_CALM],
  ['ten streams are a client in search of its window', 10, undefined],
])('SETTINGS that move the windows of many streams are cut off by their cost: %s', (_what, streams, code) => {
  const peer = new Peer((connection, stream) => {
    connection.send(stream, Buffer.alloc(100_000));
    return undefined;
  });
  peer.send(
    frame(FrameType.SETTINGS, 0, setting(4, 0)),
    many(streams, (index) => headers(1 + 2 * index)),
  );
  const frames = peer.send(many(1000, (index) => frame(FrameType.SETTINGS, 0, setting(4, (1 + (index % 2)) * 2 ** 20))));
  const passes = frames.filter(({ type }) => type === FrameType.SETTINGS).length;
  expect([peer.goaway(frames), passes * streams < 100 * STREAMS_MAX]).toEqual([code, true]);
});

describe('windows opened by one byte at a time (CVE-2019-9511)', () => {
  /** Streams that each have 1000 bytes waiting for a window. */
  function waiting(streams: number): Peer {
    const peer = new Peer((connection, stream) => {
      connection.answer(stream, { head: ANSWER_HEAD, message: Buffer.alloc(1000), trailers: OK_TRAILERS });
      return undefined;
    });
    peer.send(
      frame(FrameType.SETTINGS, 0, setting(4, 0)),
      many(streams, (index) => headers(1 + 2 * index)),
    );
    peer.send(frame(FrameType.WINDOW_UPDATE, 0, uint32(2 ** 30)));
    return peer;
  }

  test('SETTINGS for all streams at once are cut off after a few frames of one byte', () => {
    const peer = waiting(STREAMS_MAX);
    const sent: number[] = [];
    let code: number | undefined;
    for (let window = 1; window < 1000 && code === undefined; window++) {
      const frames = peer.send(frame(FrameType.SETTINGS, 0, setting(4, window)));
      sent.push(frames.filter(({ type }) => type === FrameType.DATA).length);
      code = peer.goaway(frames);
    }
    expect(code).toBe(ENHANCE_YOUR_CALM);
    expect(sent.reduce((sum, count) => sum + count)).toBeLessThan(8 * STREAMS_MAX);
  });

  test('WINDOW_UPDATE for one stream is cut off', () => {
    const peer = waiting(3);
    const frames = peer.send(many(1100, (index) => frame(FrameType.WINDOW_UPDATE, 1 + 2 * (index % 3), uint32(1))));
    expect(peer.goaway(frames)).toBe(ENHANCE_YOUR_CALM);
  });

  test.each<[string, number]>([
    ['that one stream after the other takes whole', 2 ** 24],
    ['that one of them takes, while the others wait for windows of their own', 0],
  ])('WINDOW_UPDATE for the connection visits a few streams for each frame, %s', (_how, initialWindow) => {
    const UPDATES = 200;
    const BYTES = 64;
    // The first takes all that the connection has.
    const peer = new Peer((connection, stream) => {
      connection.send(stream, Buffer.alloc(100_000));
      return undefined;
    });
    peer.send(
      frame(FrameType.SETTINGS, 0, setting(4, initialWindow)),
      many(STREAMS_MAX, (index) => headers(1 + 2 * index)),
    );
    peer.send(frame(FrameType.WINDOW_UPDATE, 1, uint32(2 ** 24)));
    let looks = 0;
    for (const { stream } of peer.opened) {
      const { outbox } = stream;
      Object.defineProperty(stream, 'outbox', { get: () => ((looks += 1), outbox) });
    }
    const frames = peer.send(many(UPDATES, () => frame(FrameType.WINDOW_UPDATE, 0, uint32(BYTES))));
    expect(frames.filter(({ type }) => type === FrameType.DATA).map(({ payload }) => payload.length)).toEqual(
      Array.from({ length: UPDATES }, () => BYTES),
    );
    expect(looks).toBeLessThanOrEqual(2 * UPDATES);
  });

  test('a client with a small window that it keeps open gets its answers', () => {
    const peer = waiting(10);
    for (let round = 0; round < 10; round++) {
      peer.nowMs += 100;
      peer.send(many(10, (index) => frame(FrameType.WINDOW_UPDATE, 1 + 2 * index, uint32(128))));
    }
    expect([peer.connection.isClosed, peer.connection.load]).toEqual([false, 0]);
  });
});

test('a closed window (CVE-2019-9517) holds an answer back, once for each stream, and is logged', () => {
  const peer = new Peer((connection, stream) => {
    connection.answer(stream, { head: ANSWER_HEAD, message: Buffer.alloc(100), trailers: OK_TRAILERS });
    return undefined;
  });
  peer.send(frame(FrameType.SETTINGS, 0, setting(4, 0)));
  const frames = peer.send(many(STREAMS_MAX + 1, (index) => headers(1 + 2 * index)));
  expect(frames.some(({ type }) => type === FrameType.DATA)).toBe(false);
  expect(peer.connection.isBlocked).toBe(true);
  expect(resetOf(frames, 1 + 2 * STREAMS_MAX)).toBe(REFUSED_STREAM);
});
