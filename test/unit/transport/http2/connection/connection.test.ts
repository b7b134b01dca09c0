/** Errors of HTTP/2 have the codes of RFC 9113, and random frames never cause a fault. */

import fc from 'fast-check';
import { ByteBudget } from '../../../../../src/server/transport/byte-budget';
import { Connection } from '../../../../../src/server/transport/http2/connection/connection';
import { ErrorCode } from '../../../../../src/server/transport/http2/frames/errors';
import { Flag, FrameType, PREFACE } from '../../../../../src/server/transport/http2/frames/frames';
import { encodeHeaderBlock } from '../../../../../src/server/transport/http2/hpack/hpack-encoder';
import { seeded } from '../../../../support/random/random';
import { CALL_BLOCK, CALL_FIELDS, frame, framesOf, headers, Peer, resetOf, setting, uint32 } from '../peer';

const { PROTOCOL_ERROR, FLOW_CONTROL_ERROR, STREAM_CLOSED, FRAME_SIZE_ERROR, COMPRESSION_ERROR } = ErrorCode;
const { DATA, HEADERS, PRIORITY, RST_STREAM, SETTINGS, PUSH_PROMISE, PING, GOAWAY, WINDOW_UPDATE, CONTINUATION } = FrameType;

const none = Buffer.alloc(0);
const answered = headers(1);

describe('errors of the connection and their codes', () => {
  test.each<[string, number, Buffer[]]>([
    ['a frame that is too long', FRAME_SIZE_ERROR, [Buffer.from([0, 0x40, 1, 0, 0, 0, 0, 0, 1])]],
    ['DATA without a stream', PROTOCOL_ERROR, [frame(DATA, 0)]],
    ['DATA of a stream that has not begun', PROTOCOL_ERROR, [frame(DATA, 1)]],
    [
      'DATA with more padding than frame',
      PROTOCOL_ERROR,
      [headers(1, { endStream: false }), frame(DATA, 1, Buffer.from([2, 0]), Flag.PADDED)],
    ],
    ['DATA that is padded and empty', PROTOCOL_ERROR, [headers(1, { endStream: false }), frame(DATA, 1, none, Flag.PADDED)]],
    ['HEADERS without a stream', PROTOCOL_ERROR, [headers(0)]],
    ['HEADERS of an even stream', PROTOCOL_ERROR, [headers(2)]],
    ['HEADERS of a stream that was left out', PROTOCOL_ERROR, [headers(5), headers(3)]],
    ['HEADERS with an invalid header block', COMPRESSION_ERROR, [headers(1, { block: Buffer.from([0x80]) })]],
    ['HEADERS shorter than their priority', PROTOCOL_ERROR, [frame(HEADERS, 1, uint32(0), Flag.PRIORITY | Flag.END_HEADERS)]],
    ['another frame within a header block', PROTOCOL_ERROR, [frame(HEADERS, 1, CALL_BLOCK), frame(PING, 0, Buffer.alloc(8))]],
    ['an unknown frame within a header block', PROTOCOL_ERROR, [frame(HEADERS, 1, CALL_BLOCK), frame(0xbe, 1)]],
    ['the CONTINUATION of another stream', PROTOCOL_ERROR, [frame(HEADERS, 1, CALL_BLOCK), frame(CONTINUATION, 3, none, Flag.END_HEADERS)]],
    ['CONTINUATION of nothing', PROTOCOL_ERROR, [frame(CONTINUATION, 1, none, Flag.END_HEADERS)]],
    ['PRIORITY without a stream', PROTOCOL_ERROR, [frame(PRIORITY, 0, Buffer.alloc(5))]],
    ['RST_STREAM without a stream', PROTOCOL_ERROR, [frame(RST_STREAM, 0, uint32(0))]],
    ['RST_STREAM of a stream that has not begun', PROTOCOL_ERROR, [frame(RST_STREAM, 1, uint32(0))]],
    ['RST_STREAM of an odd length', FRAME_SIZE_ERROR, [answered, frame(RST_STREAM, 1, Buffer.alloc(3))]],
    ['SETTINGS of a stream', PROTOCOL_ERROR, [frame(SETTINGS, 1)]],
    ['SETTINGS of an odd length', FRAME_SIZE_ERROR, [frame(SETTINGS, 0, Buffer.alloc(5))]],
    ['SETTINGS ACK that says something', FRAME_SIZE_ERROR, [frame(SETTINGS, 0, setting(3, 1), Flag.ACK)]],
    ['ENABLE_PUSH of 2', PROTOCOL_ERROR, [frame(SETTINGS, 0, setting(2, 2))]],
    ['INITIAL_WINDOW_SIZE of 2^31', FLOW_CONTROL_ERROR, [frame(SETTINGS, 0, setting(4, 2 ** 31))]],
    ['MAX_FRAME_SIZE of 16383', PROTOCOL_ERROR, [frame(SETTINGS, 0, setting(5, 16_383))]],
    ['MAX_FRAME_SIZE of 2^24', PROTOCOL_ERROR, [frame(SETTINGS, 0, setting(5, 2 ** 24))]],
    ['PUSH_PROMISE', PROTOCOL_ERROR, [frame(PUSH_PROMISE, 1, uint32(2))]],
    ['PING of a stream', PROTOCOL_ERROR, [frame(PING, 1, Buffer.alloc(8))]],
    ['PING of an odd length', FRAME_SIZE_ERROR, [frame(PING, 0, Buffer.alloc(7))]],
    ['GOAWAY of a stream', PROTOCOL_ERROR, [frame(GOAWAY, 1, Buffer.alloc(8))]],
    ['WINDOW_UPDATE by 0', PROTOCOL_ERROR, [frame(WINDOW_UPDATE, 0, uint32(0))]],
    ['WINDOW_UPDATE of an odd length', FRAME_SIZE_ERROR, [frame(WINDOW_UPDATE, 0, Buffer.alloc(3))]],
    ['WINDOW_UPDATE of a stream that has not begun', PROTOCOL_ERROR, [frame(WINDOW_UPDATE, 1, uint32(1))]],
    ['a connection window over 2^31 - 1', FLOW_CONTROL_ERROR, [frame(WINDOW_UPDATE, 0, uint32(2 ** 31 - 1))]],
    [
      'INITIAL_WINDOW_SIZE that puts a stream over 2^31 - 1',
      FLOW_CONTROL_ERROR,
      [answered, frame(WINDOW_UPDATE, 1, uint32(1000)), frame(SETTINGS, 0, setting(4, 2 ** 31 - 1))],
    ],
    [
      'DATA of a stream that its peer has reset',
      STREAM_CLOSED,
      [headers(1, { endStream: false }), frame(RST_STREAM, 1, uint32(8)), frame(DATA, 1)],
    ],
    [
      'HEADERS of a stream that its peer has reset',
      STREAM_CLOSED,
      [headers(1, { endStream: false }), frame(RST_STREAM, 1, uint32(8)), headers(1)],
    ],
  ])('%s ends the connection', (_what, code, frames) => {
    const peer = new Peer();
    expect(peer.goaway(peer.send(...frames))).toBe(code);
    expect(peer.faults).toEqual([]);
    // Nothing is taken after it.
    expect(peer.send(frame(PING, 0, Buffer.alloc(8)))).toEqual([]);
  });

  test.each([
    ['HTTP/1.1', Buffer.from('GET / HTTP/1.1\r\nHost: weir\r\n\r\n')],
    ['TLS', Buffer.from([0x16, 0x03, 0x01, 0x02, 0x00])],
    ['no SETTINGS first', Buffer.concat([PREFACE, frame(PING, 0, Buffer.alloc(8))])],
  ])('%s instead of the preface ends the connection', (_name, bytes) => {
    const fresh = new Connection({
      waiting: new ByteBudget(),
      nowMs: () => 0,
      onFault: () => undefined,
      onOutput: () => undefined,
      open: () => {
        throw new Error('nothing to open');
      },
    });
    fresh.push(bytes);
    expect(fresh.isClosed).toBe(true);
    expect(framesOf(Buffer.from(fresh.takeOutput())).at(-1)).toMatchObject({ type: GOAWAY, streamId: 0 });
  });
});

describe('errors of a stream that keep the connection', () => {
  const fields = (change: (fields: { name: string; value: string }[]) => { name: string; value: string }[]) =>
    headers(1, { block: encodeHeaderBlock(change([...CALL_FIELDS])) });

  test.each<[string, number, Buffer[]]>([
    ['a name with capitals', PROTOCOL_ERROR, [fields((all) => [...all, { name: 'X-Upper', value: '' }])]],
    ['an empty name', PROTOCOL_ERROR, [fields((all) => [...all, { name: '', value: 'v' }])]],
    ['a line break in a value', PROTOCOL_ERROR, [fields((all) => [...all, { name: 'x', value: 'a\r\nb' }])]],
    ['an unknown pseudo-header', PROTOCOL_ERROR, [fields((all) => [{ name: ':test', value: 'v' }, ...all])]],
    ['a pseudo-header of responses', PROTOCOL_ERROR, [fields((all) => [{ name: ':status', value: '200' }, ...all])]],
    ['a pseudo-header after others', PROTOCOL_ERROR, [fields((all) => [...all, { name: ':authority', value: 'v' }])]],
    ['a pseudo-header twice', PROTOCOL_ERROR, [fields((all) => [{ name: ':method', value: 'POST' }, ...all])]],
    ['no :method', PROTOCOL_ERROR, [fields((all) => all.slice(1))]],
    ['no :scheme', PROTOCOL_ERROR, [fields((all) => all.filter(({ name }) => name !== ':scheme'))]],
    ['no :path', PROTOCOL_ERROR, [fields((all) => all.filter(({ name }) => name !== ':path'))]],
    ['an empty :path', PROTOCOL_ERROR, [fields((all) => all.map((field) => (field.name === ':path' ? { ...field, value: '' } : field)))]],
    ['connection', PROTOCOL_ERROR, [fields((all) => [...all, { name: 'connection', value: 'keep-alive' }])]],
    [
      'te that is not trailers',
      PROTOCOL_ERROR,
      [fields((all) => [...all.filter(({ name }) => name !== 'te'), { name: 'te', value: 'gzip' }])],
    ],
    ['content-length that is not what came', PROTOCOL_ERROR, [fields((all) => [...all, { name: 'content-length', value: '1' }])]],
    [
      'HEADERS that depend on themselves',
      PROTOCOL_ERROR,
      [frame(HEADERS, 1, Buffer.concat([uint32(1), Buffer.from([16]), CALL_BLOCK]), Flag.PRIORITY | Flag.END_HEADERS)],
    ],
    ['PRIORITY that depends on itself', PROTOCOL_ERROR, [answered, frame(PRIORITY, 1, Buffer.concat([uint32(1), Buffer.from([16])]))]],
    ['PRIORITY of an odd length', FRAME_SIZE_ERROR, [answered, frame(PRIORITY, 1, Buffer.alloc(4))]],
    ['WINDOW_UPDATE by 0', PROTOCOL_ERROR, [answered, frame(WINDOW_UPDATE, 1, uint32(0))]],
    ['a window over 2^31 - 1', FLOW_CONTROL_ERROR, [answered, frame(WINDOW_UPDATE, 1, uint32(2 ** 31 - 1))]],
    ['DATA after the end', STREAM_CLOSED, [answered, frame(DATA, 1)]],
    ['HEADERS after the end', STREAM_CLOSED, [answered, headers(1)]],
    ['a second HEADERS that is not the end', PROTOCOL_ERROR, [headers(1, { endStream: false }), headers(1, { endStream: false })]],
    ['trailers with a pseudo-header', PROTOCOL_ERROR, [headers(1, { endStream: false }), headers(1)]],
    [
      'more DATA than its window',
      FLOW_CONTROL_ERROR,
      [headers(1, { endStream: false }), ...Array<Buffer>(5).fill(frame(DATA, 1, Buffer.alloc(16_384)))],
    ],
  ])('%s ends the stream', (what, code, frames) => {
    // Nothing is given back as window here.
    const peer = new Peer(
      what === 'more DATA than its window'
        ? () => ({ onData: () => undefined, onEnd: () => undefined, onReset: () => undefined })
        : undefined,
    );
    expect(resetOf(peer.send(...frames), 1)).toBe(code);
    expect(peer.connection.isClosed).toBe(false);
    expect(peer.connection.load).toBe(0);
  });

  test('late frames for a stream that the server has ended are ignored', () => {
    const peer = new Peer((connection, stream) => {
      connection.sendHeaders(stream, CALL_BLOCK, { endStream: true });
      return undefined;
    });
    const frames = peer.send(headers(1, { endStream: false }), frame(DATA, 1, Buffer.alloc(100)), frame(DATA, 1, none, Flag.END_STREAM));
    expect(resetOf(frames, 1)).toBe(ErrorCode.NO_ERROR);
    expect(peer.connection.isClosed).toBe(false);
  });
});

test('the same frames mean the same in any pieces', () => {
  const frames = Buffer.concat([
    headers(1, { endStream: false }),
    frame(DATA, 1, Buffer.alloc(300)),
    frame(PING, 0, Buffer.from('12345678')),
    frame(DATA, 1, none, Flag.END_STREAM),
    frame(HEADERS, 3, CALL_BLOCK.subarray(0, 10), Flag.END_STREAM),
    frame(CONTINUATION, 3, CALL_BLOCK.subarray(10), Flag.END_HEADERS),
  ]);
  const whole = new Peer();
  const expected = whole.send(frames);
  fc.assert(
    fc.property(fc.array(fc.integer({ min: 1, max: 60 }), { minLength: 1 }), (sizes) => {
      const peer = new Peer();
      for (let at = 0, turn = 0; at < frames.length; turn++) {
        const size = sizes[turn % sizes.length]!;
        peer.connection.push(frames.subarray(at, at + size));
        at += size;
      }
      expect(peer.frames()).toEqual(expected);
      expect([peer.received, peer.ended]).toEqual([300, [1, 3]]);
    }),
    seeded(200),
  );
});

test('random frames leave a connection that lives or one that closed with a code, never a fault', () => {
  const anyFrame = fc.record({
    type: fc.integer({ min: 0, max: 11 }),
    streamId: fc.integer({ min: 0, max: 9 }),
    flags: fc.nat(255),
    payload: fc.oneof(fc.uint8Array({ maxLength: 40 }), fc.constant(CALL_BLOCK)),
  });
  fc.assert(
    fc.property(fc.array(anyFrame, { maxLength: 30 }), (frames) => {
      const peer = new Peer();
      for (const { type, streamId, flags, payload } of frames) peer.connection.push(frame(type, streamId, Buffer.from(payload), flags));
      const output = peer.frames();
      expect(peer.faults).toEqual([]);
      if (peer.connection.isClosed) expect(output.at(-1)?.type).toBe(GOAWAY);
      else expect(peer.connection.load).toBeLessThanOrEqual(5);
    }),
    seeded(3000),
  );
});

describe('windows', () => {
  const big = Buffer.from(Array.from({ length: 100_000 }, (_, index) => index % 251));

  test('sent data respects the windows of stream and connection and the frame size, and arrives whole', () => {
    const peer = new Peer();
    peer.send(headers(1), headers(3));
    for (const { stream } of peer.opened) {
      peer.connection.sendHeaders(stream, CALL_BLOCK, { endStream: false });
      peer.connection.send(stream, big);
      peer.connection.endWith(stream, CALL_BLOCK);
    }
    const got = new Map([1, 3].map((id) => [id, { bytes: [] as Buffer[], ended: false, window: 65_535 }]));
    let window = 65_535;
    for (let turn = 0; turn < 200 && ![...got.values()].every(({ ended }) => ended); turn++) {
      for (const { type, streamId, flags, payload } of peer.frames()) {
        const stream = got.get(streamId);
        if (stream === undefined) continue;
        expect(payload.length).toBeLessThanOrEqual(16_384);
        if (type === DATA) {
          stream.bytes.push(payload);
          stream.window -= payload.length;
          window -= payload.length;
          expect(stream.window).toBeGreaterThanOrEqual(0);
        }
        if (flags & Flag.END_STREAM) stream.ended = true;
      }
      expect(window).toBeGreaterThanOrEqual(0);
      window += 3000;
      got.get(1 + 2 * (turn % 2))!.window += 3000;
      peer.connection.push(Buffer.concat([frame(WINDOW_UPDATE, 0, uint32(3000)), frame(WINDOW_UPDATE, 1 + 2 * (turn % 2), uint32(3000))]));
    }
    for (const { bytes, ended } of got.values()) expect([Buffer.concat(bytes).equals(big), ended]).toEqual([true, true]);
    expect(peer.connection.load).toBe(0);
  });

  test('received data returns as window, so that a long message arrives', () => {
    const peer = new Peer();
    peer.send(headers(1, { endStream: false }));
    const window = { stream: 65_535, connection: 1024 * 1024 };
    for (let index = 0; index < 300; index++) {
      window.stream -= 16_384;
      window.connection -= 16_384;
      expect(Math.min(window.stream, window.connection)).toBeGreaterThanOrEqual(0);
      for (const { type, streamId, payload } of peer.send(frame(DATA, 1, Buffer.alloc(16_384)))) {
        if (type === WINDOW_UPDATE) window[streamId === 0 ? 'connection' : 'stream'] += payload.readUInt32BE(0);
      }
    }
    expect(peer.received).toBe(300 * 16_384);
  });

  test("unread data of a stream that was reset returns to the connection's window", () => {
    const peer = new Peer(() => ({ onData: () => undefined, onEnd: () => undefined, onReset: () => undefined }));
    let back = 0;
    for (let id = 1; id < 200; id += 2) {
      const frames = peer.send(headers(id, { endStream: false }), frame(DATA, id, Buffer.alloc(16_384)), frame(RST_STREAM, id, uint32(8)));
      for (const { type, streamId, payload } of frames) if (type === WINDOW_UPDATE && streamId === 0) back += payload.readUInt32BE(0);
    }
    expect(back).toBeGreaterThanOrEqual(1024 * 1024);
    expect(peer.connection.isClosed).toBe(false);
  });

  test('SETTINGS that close and open a window hold the answer and release it', () => {
    const peer = new Peer();
    peer.send(frame(SETTINGS, 0, setting(4, 0)), headers(1));
    peer.connection.send(peer.opened[0]!.stream, Buffer.from('answer'));
    expect(peer.frames().some(({ type }) => type === DATA)).toBe(false);
    const [data] = peer.send(frame(SETTINGS, 0, setting(4, 100))).filter(({ type }) => type === DATA);
    expect(data?.payload.toString()).toBe('answer');
  });
});

describe('drain', () => {
  test('streams opened before the peer knew of the drain are answered, and the last GOAWAY has the last of them', () => {
    const peer = new Peer();
    peer.send(headers(1));
    peer.connection.startDrain();
    const notice = peer.frames();
    expect(notice.map(({ type }) => type)).toEqual([GOAWAY, PING]);
    expect(notice[0]?.payload.readUInt32BE(0)).toBe(2 ** 31 - 1);
    peer.send(headers(3));
    expect(peer.opened).toHaveLength(2);
    const [last] = peer.send(frame(PING, 0, notice[1]!.payload, Flag.ACK));
    expect(last).toMatchObject({ type: GOAWAY, payload: uint32(3, 0) });
    expect(peer.connection.isDrained).toBe(true);
    peer.connection.finishDrain();
    expect(peer.frames()).toEqual([]);
    // After that it is the peer's mistake, and harmless.
    peer.send(headers(5, { endStream: false }), frame(DATA, 5, none, Flag.END_STREAM));
    expect([peer.opened.length, peer.connection.isClosed]).toEqual([2, false]);
  });

  test('a drain closes a connection whose peer resets its last stream, although nothing is left to send', () => {
    const peer = new Peer();
    peer.send(headers(1), headers(3));
    peer.connection.startDrain();
    peer.connection.finishDrain();
    peer.frames();
    const before = peer.outputs;
    peer.send(frame(RST_STREAM, 0x1, uint32(ErrorCode.CANCEL)));
    expect([peer.connection.load, peer.outputs]).toEqual([1, before]);
    peer.send(frame(RST_STREAM, 0x3, uint32(ErrorCode.CANCEL)));
    expect([peer.connection.load, peer.outputs]).toEqual([0, before + 1]);
  });

  test('a peer that does not answer the notice still gets the last stream', () => {
    const peer = new Peer();
    peer.send(headers(1));
    peer.connection.startDrain();
    peer.frames();
    peer.connection.finishDrain();
    expect(peer.frames()).toMatchObject([{ type: GOAWAY, payload: uint32(1, 0) }]);
  });
});
