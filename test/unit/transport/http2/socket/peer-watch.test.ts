/** A peer that does not begin, read or answer in time is disconnected, and an idle one stays. */

import { DEFAULT_RULES, jitteredAgeMs, type ConnectionRules } from '../../../../../src/server/transport/port/connection-rules';
import { FrameType } from '../../../../../src/server/transport/http2/frames/frames';
import { LEAN_BOUNDS } from '../../../../../src/server/transport/http2/socket/lean-bounds';
import { PeerWatch } from '../../../../../src/server/transport/http2/socket/peer-watch';
import { CALL_BLOCK, frame, headers, Peer, setting, type Received } from '../peer';

const { handshakeTimeoutMs, stallTimeoutMs } = LEAN_BOUNDS;
const RULES: ConnectionRules = {
  ...DEFAULT_RULES,
  maxAgeMs: 3_600_000,
  maxAgeGraceMs: 60_000,
  keepaliveTimeMs: 50_000,
  keepaliveTimeoutMs: 20_000,
};

function watched({ rules = DEFAULT_RULES, random = 0.5 } = {}) {
  const peer = new Peer((connection, stream) => {
    connection.sendHeaders(stream, CALL_BLOCK, { endStream: false });
    connection.send(stream, Buffer.alloc(100));
    return undefined;
  });
  const socket = { bytesRead: 0, bytesWritten: 0, writableLength: 0, readableEnded: false, paused: false, isPaused: () => socket.paused };
  const watch = new PeerWatch({ socket, connection: peer.connection, bounds: LEAN_BOUNDS, rules, nowMs: 0, random });
  /** Looks every second, as the server does, and answers the last judgement. */
  let nowMs = 0;
  const passMs = (ms: number) => {
    for (const end = nowMs + ms; nowMs < end;) {
      nowMs += 1000;
      peer.nowMs = nowMs;
      const judgement = watch.judge(nowMs);
      if (judgement !== undefined) return judgement;
    }
    return undefined;
  };
  return { peer, socket, watch, passMs };
}

const isPing = ({ type, flags }: Received) => type === FrameType.PING && flags === 0;
const isGoaway = ({ type }: Received) => type === FrameType.GOAWAY;

test('a peer that does not start HTTP/2 is disconnected', () => {
  const { peer, passMs } = watched();
  Object.defineProperty(peer.connection, 'hasSettings', { value: false });
  expect(passMs(handshakeTimeoutMs)).toBeUndefined();
  expect(passMs(1000)).toMatchObject({ reason: 'handshake_timeout', isOver: true });
});

test('a silent peer stays connected without keepalive and maximum age', () => {
  expect(watched().passMs(10 * RULES.maxAgeMs)).toBeUndefined();
});

describe('a peer that does not take its data', () => {
  test('from the socket is disconnected', () => {
    const { socket, passMs } = watched();
    passMs(5000);
    socket.bytesWritten = socket.writableLength = 100;
    expect(passMs(stallTimeoutMs)).toBeUndefined();
    expect(passMs(1000)).toMatchObject({ reason: 'stalled', isOver: true });
  });

  test('from the socket stays connected if it takes a little at times', () => {
    const { socket, passMs } = watched();
    socket.bytesWritten = socket.writableLength = 100;
    for (; socket.writableLength > 1; socket.writableLength--) expect(passMs(stallTimeoutMs - 1000)).toBeUndefined();
    expect(passMs(stallTimeoutMs + 2000)).toMatchObject({ reason: 'stalled' });
  });

  test('for lack of a window is disconnected', () => {
    const { peer, passMs } = watched();
    peer.send(frame(FrameType.SETTINGS, 0, setting(4, 0)));
    passMs(5000);
    peer.send(headers(1));
    expect(peer.connection.isBlocked).toBe(true);
    expect(passMs(stallTimeoutMs)).toBeUndefined();
    expect(passMs(1000)).toMatchObject({ reason: 'stalled', isOver: true });
  });
});

describe('a silent peer', () => {
  const { keepaliveTimeMs, keepaliveTimeoutMs } = RULES;

  test('it gets a PING, and is disconnected without an answer', () => {
    const { peer, passMs } = watched({ rules: RULES });
    expect(passMs(keepaliveTimeMs)).toBeUndefined();
    expect(peer.frames()).toEqual([]);
    expect(passMs(1000)).toBeUndefined();
    expect(peer.frames().filter(isPing)).toHaveLength(1);
    expect(passMs(keepaliveTimeoutMs)).toBeUndefined();
    expect(passMs(1000)).toMatchObject({ reason: 'keepalive', isOver: true });
    expect(peer.frames()).toEqual([]);
  });

  test('it stays connected if it sends anything, and gets another PING', () => {
    const { peer, socket, passMs } = watched({ rules: RULES });
    for (let n = 0; n < 10; n++) {
      expect(passMs(keepaliveTimeMs + keepaliveTimeoutMs)).toBeUndefined();
      const pings = peer.frames().filter(isPing);
      expect(pings).toHaveLength(1);
      peer.send(frame(FrameType.PING, 0, pings[0]!.payload, 1));
      socket.bytesRead += 17;
    }
    expect(peer.connection.isDrained).toBe(false);
  });

  test('it gets no PING while it sends', () => {
    const { peer, socket, passMs } = watched({ rules: { ...RULES, maxAgeMs: 0 } });
    for (let n = 0; n < 100; n++) {
      socket.bytesRead += 1;
      expect(passMs(keepaliveTimeMs - 1000)).toBeUndefined();
    }
    expect(peer.frames().filter(isPing)).toEqual([]);
  });

  test('a peer that is not read from, since it takes nothing, is judged by that', () => {
    const { peer, socket, passMs } = watched({ rules: RULES });
    socket.paused = true;
    socket.bytesWritten = socket.writableLength = 100;
    for (; socket.writableLength > 1; socket.writableLength -= 10) expect(passMs(stallTimeoutMs - 1000)).toBeUndefined();
    expect(peer.frames().filter(isPing)).toEqual([]);
  });
});

describe('the maximum age of a connection', () => {
  // A peer that speaks.
  const lively = (options: { rules?: ConnectionRules; random?: number }) =>
    watched({ rules: { ...RULES, keepaliveTimeMs: 0 }, ...options });

  test.each([
    [0, 0.9],
    [0.5, 1],
    [1, 1.1],
  ])('varies by a tenth (%d)', (random, part) => {
    expect(jitteredAgeMs(RULES.maxAgeMs, random)).toBeCloseTo(part * RULES.maxAgeMs);
    const { peer, passMs } = lively({ random });
    expect(passMs(part * RULES.maxAgeMs - 1000)).toBeUndefined();
    expect(peer.frames()).toEqual([]);
    expect(passMs(2000)).toMatchObject({ reason: 'max_age', isOver: false });
  });

  test('sends one GOAWAY: calls go on, and new ones are answered until the peer knows', () => {
    const { peer, passMs } = lively({});
    expect(passMs(2 * RULES.maxAgeMs)).toMatchObject({ reason: 'max_age' });
    const told = peer.frames();
    expect(told.filter(isGoaway).map(({ payload }) => payload.readUInt32BE(0))).toEqual([2 ** 31 - 1]);
    peer.send(headers(1));
    expect(peer.opened).toHaveLength(1);
    peer.send(frame(FrameType.PING, 0, told.find(isPing)!.payload, 1));
    expect(peer.connection.isDrained).toBe(true);
    expect(passMs(RULES.maxAgeGraceMs - 1000)).toBeUndefined();
    expect(passMs(2000)).toBe('over');
  });

  test('sends the last stream to a peer that does not answer the notice', () => {
    const { peer, passMs } = lively({});
    passMs(2 * RULES.maxAgeMs);
    peer.frames();
    expect(passMs(2000)).toBeUndefined();
    expect(
      peer
        .frames()
        .filter(isGoaway)
        .map(({ payload }) => payload.readUInt32BE(0)),
    ).toEqual([0]);
  });
});

test('a peer that has half-closed, and may be gone, gets a PING every second', () => {
  const { peer, socket, passMs } = watched();
  passMs(5000);
  expect(peer.frames().filter(isPing)).toHaveLength(0);
  socket.readableEnded = true;
  expect(passMs(5000)).toBeUndefined();
  expect(peer.frames().filter(isPing)).toHaveLength(5);
});
