/** Connections, messages and streams are bounded, and silent, stalled and aged peers are disconnected without a lost answer. */

import { readFileSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { connect as connectTls } from 'node:tls';
import { gzipSync } from 'node:zlib';
import { credentials, status, type ChannelCredentials, type Client } from '@grpc/grpc-js';
import type { Decision } from '../../../src/domain/decide/decision';
import { DEFAULT_RULES } from '../../../src/server/transport/port/connection-rules';
import { GRPC_MESSAGE_BYTES_MAX } from '../../../src/server/transport/grpc/grpc-status';
import { FrameType, PREFACE } from '../../../src/server/transport/http2/frames/frames';
import { encodeHeaderBlock } from '../../../src/server/transport/http2/hpack/hpack-encoder';
import { LEAN_BOUNDS } from '../../../src/server/transport/http2/socket/lean-bounds';
import type { WireRequest, WireResponse } from '../../../src/server/transport/messages/wire';
import { makeCertificates } from '../../support/servers/certificates';
import { TcpProxy } from '../../support/servers/tcp-proxy';
import {
  allow,
  deferred,
  Harness,
  proto,
  TRANSPORTS,
  unary,
  type HarnessOptions,
  type Transport,
} from '../../support/servers/transport-harness';
import { until } from '../../support/clock/until';
import { CALL_FIELDS, frame, framesOf, headers, resetOf, setting, type Received } from '../../unit/transport/http2/peer';
import { hangLimitMs } from '../../support/clock/hang-limit';

const REQUEST: WireRequest = { domain: 'edge', descriptors: [{ entries: [{ key: 'user', value: 'zoe' }] }] };
const WAIT_MS = 10_000;

/** How often connections are looked at: in these tests more often than once a second. */
const WATCH_MS = 10;

const certificates = makeCertificates();
const tls = { material: { cert: readFileSync(certificates.server.cert, 'utf8'), key: readFileSync(certificates.server.key, 'utf8') } };

let harness: Harness;
let isTls = false;
const started: Harness[] = [];

/** What a test has started; it is stopped after it. */
async function start(transport: Transport, { bounds, ...options }: HarnessOptions = {}): Promise<void> {
  harness = await Harness.start(transport, { bounds: { watchMs: WATCH_MS, ...bounds }, ...options });
  started.push(harness);
  isTls = options.tls !== undefined;
}

afterEach(async () => {
  for (const one of started.splice(0)) {
    await one.stop();
    expect(one.faults).toEqual([]);
  }
});

function ask(client: Client): Promise<WireResponse> {
  const { path, requestSerialize, responseDeserialize } = proto.rateLimit.ShouldRateLimit;
  return unary({
    client,
    path,
    request: REQUEST,
    serialize: requestSerialize,
    deserialize: responseDeserialize,
    options: { deadline: Date.now() + hangLimitMs(WAIT_MS) },
  });
}

/** A peer that sends frames as they are, and keeps what comes. */
class RawPeer {
  isClosed = false;
  private received: Buffer = Buffer.alloc(0);

  constructor(readonly socket: Socket) {
    socket.on('data', (chunk: Buffer) => {
      this.received = Buffer.concat([this.received, chunk]);
    });
    socket.on('error', () => undefined);
    socket.on('close', () => {
      this.isClosed = true;
    });
  }

  static async open(): Promise<RawPeer> {
    const place = { port: harness.port, host: '127.0.0.1' };
    const peer = new RawPeer(
      isTls ? connectTls({ ...place, ca: readFileSync(certificates.ca.cert), ALPNProtocols: ['h2'] }) : connect(place),
    );
    await new Promise((resolve) => peer.socket.once(isTls ? 'secureConnect' : 'connect', resolve));
    return peer;
  }

  /** One that has said that it speaks HTTP/2. */
  static async begin(...settings: Buffer[]): Promise<RawPeer> {
    const peer = await RawPeer.open();
    peer.send(PREFACE, frame(FrameType.SETTINGS, 0, Buffer.concat(settings)));
    await until(() => peer.frames().length > 0);
    return peer;
  }

  send(...frames: Buffer[]): void {
    this.socket.write(Buffer.concat(frames));
  }

  frames(): Received[] {
    // What has come of a frame is not one yet.
    let end = 0;
    while (end + 9 <= this.received.length && end + 9 + this.received.readUIntBE(end, 3) <= this.received.length)
      end += 9 + this.received.readUIntBE(end, 3);
    return framesOf(this.received.subarray(0, end));
  }
}

function call(streamId: number, { pieces = 1 } = {}): Buffer[] {
  const message = proto.rateLimit.ShouldRateLimit.requestSerialize(REQUEST);
  const body = Buffer.concat([Buffer.from([0, 0, 0, 0, message.length]), message]);
  if (pieces === 1) return [headers(streamId, { endStream: false }), frame(FrameType.DATA, streamId, body, 0x1)];
  return [headers(streamId, { endStream: false }), frame(FrameType.DATA, streamId, body.subarray(0, -1))];
}

test('connections at their maximum age are replaced under load, and no call fails (lean)', async () => {
  await start('lean', { rules: { ...DEFAULT_RULES, maxAgeMs: 150, maxAgeGraceMs: WAIT_MS } });
  const RENEWALS = 10;
  const client = harness.client();
  const isDone = () => harness.connections.ended.length >= RENEWALS;
  const deadline = Date.now() + hangLimitMs(WAIT_MS);
  const asked = await Promise.all(
    Array.from({ length: 16 }, async () => {
      let count = 0;
      for (; !isDone() && Date.now() < deadline; count++) expect(await ask(client)).toMatchObject({ overall_code: 1 });
      return count;
    }),
  );
  expect(harness.connections.ended.slice(0, RENEWALS).map(({ reason }) => reason)).toEqual(Array(RENEWALS).fill('max_age'));
  expect(harness.requests).toHaveLength(asked.reduce((sum, one) => sum + one, 0));
  // The old ones have gone by themselves, long before the end of their grace.
  await until(() => harness.connections.open <= 2);
});

test('a connection at its maximum age closes, and its client reconnects (grpc-js)', async () => {
  await start('grpc-js', { rules: { ...DEFAULT_RULES, maxAgeMs: 300, maxAgeGraceMs: WAIT_MS } });
  const client = harness.client();
  // One call after another: none is on its way when the connection ends, as each comes long before that.
  for (let n = 0; n < 3; n++) {
    await expect(ask(client)).resolves.toMatchObject({ overall_code: 1 });
    await until(() => harness.connections.open === 0);
  }
});

test('a call that outlasts the age of its connection is answered within the grace, and cut off after it', async () => {
  const [maxAgeMs, maxAgeGraceMs] = [1_000, 500];
  let nowMs = 0;
  await start('lean', { rules: { ...DEFAULT_RULES, maxAgeMs, maxAgeGraceMs }, nowMs: () => nowMs });
  const release = [deferred(), deferred()];
  let asked = 0;
  harness.decide = async (request) => {
    await release[asked++]!.promise;
    return allow(request);
  };
  const slow = ask(harness.client());
  await until(() => asked === 1);
  nowMs += 2 * maxAgeMs;
  await until(() => harness.connections.ended.length === 1);
  nowMs += maxAgeGraceMs;
  await sleep(5 * WATCH_MS);
  release[0]!.resolve();
  await expect(slow).resolves.toMatchObject({ overall_code: 1 });
  // Its own deadline would end it too, of which the code is another one.
  const never = expect(ask(harness.client())).rejects.toMatchObject({ code: status.UNAVAILABLE });
  await until(() => asked === 2);
  nowMs += 2 * maxAgeMs;
  await until(() => harness.connections.ended.length === 2);
  nowMs += maxAgeGraceMs + 1;
  await never;
  release[1]!.resolve();
});

describe.each<[Transport, string, HarnessOptions, ChannelCredentials]>([
  ['grpc-js', '', {}, credentials.createInsecure()],
  ['lean', '', {}, credentials.createInsecure()],
  ['lean', ', TLS', { tls }, credentials.createSsl(readFileSync(certificates.ca.cert))],
])('a peer that has gone silent (%s%s)', (transport, _tls, options, shown) => {
  test('the server pings a silent peer and closes its connection; one that answers stays', async () => {
    await start(transport, { ...options, rules: { ...DEFAULT_RULES, keepaliveTimeMs: 200, keepaliveTimeoutMs: 1000 } });
    const proxy = await TcpProxy.start(harness.port);
    const [silent, idle] = [
      harness.client({ target: `127.0.0.1:${proxy.port}`, credentials: shown }),
      harness.client({ credentials: shown }),
    ];
    await Promise.all([ask(silent), ask(idle)]);
    expect(harness.connections.open).toBe(2);
    proxy.silenceOpen();
    await until(() => harness.connections.open === 1);
    expect(harness.connections.ended.map(({ reason }) => reason)).toEqual(transport === 'lean' ? ['keepalive'] : []);
    // It has been idle all the while, on the connection that it had.
    await ask(idle);
    expect(harness.connections.open).toBe(1);
    await proxy.stop();
  });
});

describe('with a clock that the test sets', () => {
  let nowMs = 0;

  beforeEach(async () => {
    nowMs = 1000;
    await start('lean', { nowMs: () => nowMs });
  });

  test('the server closes a connection that sends nothing for 10 s, and not before', async () => {
    const [silent, begun] = [await RawPeer.open(), await RawPeer.begin()];
    nowMs += LEAN_BOUNDS.handshakeTimeoutMs;
    await sleep(5 * WATCH_MS);
    expect(silent.isClosed).toBe(false);
    nowMs += 1;
    await until(() => silent.isClosed);
    expect(harness.connections.ended).toEqual([{ reason: 'handshake_timeout', details: 'no HTTP/2 within 10000 ms (127.0.0.1)' }]);
    expect(begun.isClosed).toBe(false);
    begun.socket.destroy();
  });

  test('a pause of Weir does not count as silence of its peers: it reads what has arrived first', async () => {
    await start('lean', { nowMs: () => nowMs, rules: { ...DEFAULT_RULES, keepaliveTimeMs: 1000, keepaliveTimeoutMs: 1000 } });
    const peer = await RawPeer.begin();
    await sleep(5 * WATCH_MS);
    nowMs += 1001;
    const ping = ({ type, flags }: Received) => type === FrameType.PING && flags === 0;
    await until(() => peer.frames().some(ping));
    await new Promise<void>((resolve) => {
      // Once timers are run next, before sockets are read.
      setImmediate(() => {
        peer.send(frame(FrameType.PING, 0, peer.frames().find(ping)!.payload, 1));
        nowMs += 10_000;
        const end = performance.now() + 3 * WATCH_MS;
        while (performance.now() < end);
        resolve();
      });
    });
    await sleep(5 * WATCH_MS);
    expect(peer.isClosed).toBe(false);
    expect(harness.connections.ended).toEqual([]);
    peer.socket.destroy();
  });

  test('the server closes a connection whose peer opens no window for an answer within 30 s', async () => {
    const peer = await RawPeer.begin(setting(4, 0));
    peer.send(...call(1));
    await until(() => peer.frames().some(({ type }) => type === FrameType.HEADERS));
    await sleep(5 * WATCH_MS);
    expect(peer.isClosed).toBe(false);
    nowMs += LEAN_BOUNDS.stallTimeoutMs + 1;
    await until(() => peer.isClosed);
    expect(harness.connections.ended.map(({ reason }) => reason)).toEqual(['stalled']);
  });

  test.each<[string, HarnessOptions]>([
    ['', {}],
    [' (TLS)', { tls }],
  ])('the server closes a connection whose peer does not read for 30 s%s', async (_tls, options) => {
    await start('lean', { ...options, nowMs: () => nowMs });
    const peer = await RawPeer.begin(setting(4, 2 ** 31 - 1));
    peer.socket.pause();
    const widen = Buffer.alloc(4);
    widen.writeUInt32BE(2 ** 30);
    peer.send(frame(FrameType.WINDOW_UPDATE, 0, widen));
    // Answers of 100,000 bytes, more than the system keeps for a socket.
    const statuses = Array(20_000).fill({ code: 'OK', limitRemaining: 4_294_967_295, fits: true }) as Decision['statuses'];
    harness.decide = () => Promise.resolve({ overallCode: 'OK', statuses });
    for (let n = 0; n < 60; n++) peer.send(...call(1 + 2 * n));
    await until(() => harness.requests.length === 60);
    const observed = harness.connections.ended.length;
    await sleep(5 * WATCH_MS);
    expect(observed).toBe(0);
    nowMs += LEAN_BOUNDS.stallTimeoutMs + 1;
    await until(() => harness.connections.open === 0);
    expect(harness.connections.ended.map(({ reason }) => reason)).toEqual(['stalled']);
    peer.socket.destroy();
  });
});

test('a drain delivers every answer to a slow reader', async () => {
  await start('lean');
  const CALLS = 60;
  const peer = await RawPeer.begin(setting(4, 2 ** 31 - 1));
  const widen = Buffer.alloc(4);
  widen.writeUInt32BE(2 ** 30);
  peer.send(frame(FrameType.WINDOW_UPDATE, 0, widen));
  peer.socket.pause();
  // Answers of 100,000 bytes, more than the system keeps for a socket.
  const statuses = Array(20_000).fill({ code: 'OK', limitRemaining: 4_294_967_295, fits: true }) as Decision['statuses'];
  harness.decide = () => Promise.resolve({ overallCode: 'OK', statuses });
  for (let n = 0; n < CALLS; n++) peer.send(...call(1 + 2 * n));
  await until(() => harness.requests.length === CALLS);
  const drained = harness.server.drain({ timeoutMs: WAIT_MS });
  // The drain waits a second for a word of the peer, and had let go of it a second after that.
  await sleep(2500);
  peer.socket.resume();
  await until(() => peer.isClosed);
  await drained;
  expect(peer.frames().filter(({ type, flags }) => type === FrameType.HEADERS && (flags & 0x1) !== 0)).toHaveLength(CALLS);
});

test('a drain ends once the peer has reset its last call', async () => {
  await start('lean');
  const peer = await RawPeer.begin();
  peer.send(headers(1, { endStream: false }));
  const drained = harness.server.drain({ timeoutMs: 10 * WAIT_MS });
  const goaways = () => peer.frames().filter(({ type }) => type === FrameType.GOAWAY);
  // The first says that there is a drain, and the second which stream was the last.
  await until(() => goaways().length === 2);
  expect(goaways()[1]?.payload.readUInt32BE(0)).toBe(1);
  peer.send(frame(FrameType.RST_STREAM, 1, Buffer.alloc(4)));
  await until(() => peer.isClosed);
  await drained;
});

describe('bounds', () => {
  test('one connection above the bound is rejected and counted, and accepted after another closes', async () => {
    await start('lean', { bounds: { connectionsMax: 3 } });
    const peers = [await RawPeer.begin(), await RawPeer.begin(), await RawPeer.begin()];
    const late = await RawPeer.open();
    await until(() => late.isClosed);
    expect(harness.connections.ended).toEqual([
      { reason: 'too_many', details: '3 connections are open, so the one from 127.0.0.1 was not accepted' },
    ]);
    peers[0]!.socket.destroy();
    await until(() => harness.connections.open === 2);
    const next = await RawPeer.begin();
    for (const { socket } of [...peers, next]) socket.destroy();
  });

  test('unfinished messages above the bound over all connections are rejected, and finished ones make room', async () => {
    const bytes = call(1)[1]!.length - 9;
    await start('lean', { bounds: { unfinishedBytesMax: 2 * bytes } });
    const peers = [await RawPeer.begin(), await RawPeer.begin(), await RawPeer.begin()];
    const answered = (peer: RawPeer, text: string) =>
      peer.frames().some(({ type, payload }) => type === FrameType.HEADERS && payload.toString('latin1').includes(text));
    for (const peer of peers.slice(0, 2)) peer.send(...call(1, { pieces: 2 }));
    await sleep(5 * WATCH_MS);
    peers[2]!.send(...call(1, { pieces: 2 }));
    await until(() => answered(peers[2]!, 'too many bytes of incomplete messages are waiting; retry later'));
    // The others are not touched, and the one that goes makes room.
    peers[0]!.socket.resetAndDestroy();
    await until(() => harness.connections.open === 2);
    peers[2]!.send(...call(3, { pieces: 2 }));
    const message = proto.rateLimit.ShouldRateLimit.requestSerialize(REQUEST);
    for (const [peer, streamId] of [
      [peers[1]!, 1],
      [peers[2]!, 3],
    ] as const) {
      peer.send(frame(FrameType.DATA, streamId, message.subarray(-1), 0x1));
      await until(() => peer.frames().some((one) => one.streamId === streamId && one.type === FrameType.DATA));
      peer.socket.destroy();
    }
    expect(harness.requests).toHaveLength(2);
  });

  test('calls of other methods count against the bound until they are answered', async () => {
    const bytes = 1000;
    await start('lean', { bounds: { unfinishedBytesMax: 2 * bytes } });
    const block = (path: string) =>
      encodeHeaderBlock(CALL_FIELDS.map((field) => (field.name === ':path' ? { ...field, value: path } : field)));
    const [watch, check] = [block('/grpc.health.v1.Health/Watch'), block('/grpc.health.v1.Health/Check')];
    // A name of nothing, at the length of the bound's half.
    const message = Buffer.concat([
      Buffer.from([0, 0, 0, (bytes - 5) >> 8, (bytes - 5) & 0xff, 0x0a, ((bytes - 8) & 0x7f) | 0x80, (bytes - 8) >> 7]),
      Buffer.alloc(bytes - 8, 'x'),
    ]);
    const begin = (streamId: number, of: Buffer, body = message) => [
      headers(streamId, { endStream: false, block: of }),
      frame(FrameType.DATA, streamId, body),
    ];
    const end = (streamId: number) => frame(FrameType.DATA, streamId, Buffer.alloc(0), 0x1);
    const headersOf = (peer: RawPeer, streamId: number) =>
      peer.frames().filter((one) => one.streamId === streamId && one.type === FrameType.HEADERS);
    const isAnswered = (peer: RawPeer, streamId: number) => () => headersOf(peer, streamId).length > 0;
    const [first, second] = [await RawPeer.begin(), await RawPeer.begin()];
    // More watches than there would be room for if they were counted while they are open.
    for (const streamId of [1, 3, 5]) {
      first.send(...begin(streamId, watch), end(streamId));
      await until(isAnswered(first, streamId));
    }
    first.send(...begin(7, check), ...begin(9, check));
    await sleep(5 * WATCH_MS);
    second.send(...begin(1, check));
    await until(isAnswered(second, 1));
    expect(headersOf(second, 1)[0]?.payload.toString('latin1')).toContain('too many bytes of incomplete messages are waiting; retry later');
    // One that comes in one piece is never refused for that, and those that end or go make room.
    second.send(headers(3, { endStream: false, block: check }), frame(FrameType.DATA, 3, Buffer.alloc(5), 0x1));
    await until(isAnswered(second, 3));
    expect(headersOf(second, 3)[0]?.payload.toString('latin1')).not.toContain('too much');
    first.send(end(7));
    await until(isAnswered(first, 7));
    first.socket.resetAndDestroy();
    await until(() => harness.connections.open === 1);
    for (const streamId of [5, 7]) second.send(...begin(streamId, check));
    await sleep(5 * WATCH_MS);
    expect([5, 7].filter((streamId) => isAnswered(second, streamId)())).toEqual([]);
    for (const streamId of [5, 7]) second.send(end(streamId));
    for (const streamId of [5, 7]) await until(isAnswered(second, streamId));
    second.socket.destroy();
  });

  test('compressed messages count with their unpacked size, so small ones take no more memory than others', async () => {
    await start('lean', { bounds: { unfinishedBytesMax: 1.5 * GRPC_MESSAGE_BYTES_MAX } });
    const packed = gzipSync(Buffer.alloc(GRPC_MESSAGE_BYTES_MAX - 1000));
    const prefix = Buffer.from([1, 0, 0, packed.length >> 8, packed.length & 0xff]);
    const block = encodeHeaderBlock([...CALL_FIELDS, { name: 'grpc-encoding', value: 'gzip' }]);
    const of = (streamId: number) => [
      headers(streamId, { endStream: false, block }),
      frame(FrameType.DATA, streamId, Buffer.concat([prefix, packed]), 0x1),
    ];
    const peer = await RawPeer.begin();
    const answerTo = (streamId: number) =>
      peer
        .frames()
        .find((one) => one.streamId === streamId && one.type === FrameType.HEADERS)
        ?.payload.toString('latin1');
    peer.send(...of(1), ...of(3));
    await until(() => answerTo(1) !== undefined && answerTo(3) !== undefined);
    expect([1, 3].map((streamId) => answerTo(streamId)?.includes('too many bytes of incomplete messages'))).toEqual([false, true]);
    peer.send(...of(5));
    await until(() => answerTo(5) !== undefined);
    expect(answerTo(5)).not.toContain('too many bytes of incomplete messages');
    peer.socket.destroy();
  });

  test.each(TRANSPORTS)('SETTINGS announce the bound of streams (%s)', async (transport) => {
    await start(transport, { rules: { ...DEFAULT_RULES, streamsMax: 7 } });
    const peer = await RawPeer.begin();
    const settings = peer.frames().find(({ type, flags }) => type === FrameType.SETTINGS && flags === 0)!.payload;
    const told = new Map(
      Array.from({ length: settings.length / 6 }, (_, index) => [settings.readUInt16BE(6 * index), settings.readUInt32BE(6 * index + 2)]),
    );
    expect(told.get(3)).toBe(7);
    peer.socket.destroy();
  });

  test('one stream above the bound is refused and counted, and may be retried', async () => {
    await start('lean', { rules: { ...DEFAULT_RULES, streamsMax: 2 } });
    const decided = deferred();
    harness.decide = async (request) => {
      await decided.promise;
      return allow(request);
    };
    const peer = await RawPeer.begin();
    for (const streamId of [1, 3, 5]) peer.send(...call(streamId));
    await until(() => resetOf(peer.frames(), 5) !== undefined);
    expect(resetOf(peer.frames(), 5)).toBe(7);
    expect(harness.connections.refused).toBe(1);
    decided.resolve();
    await until(() => peer.frames().filter(({ type }) => type === FrameType.DATA).length === 2);
    peer.send(...call(7));
    await until(() => peer.frames().filter(({ type }) => type === FrameType.DATA).length === 3);
    expect(harness.connections.ended).toEqual([]);
    peer.socket.destroy();
  });
});

test.each<[string, string, Buffer[]]>([
  ['breaks a rule', 'protocol_error', [PREFACE, frame(FrameType.SETTINGS, 0), frame(FrameType.DATA, 0)]],
  ['does not speak HTTP/2', 'protocol_error', [Buffer.from('GET / HTTP/1.1\r\n\r\n')]],
  ['floods', 'flood', [PREFACE, frame(FrameType.SETTINGS, 0), ...Array<Buffer>(5000).fill(frame(FrameType.PING, 0, Buffer.alloc(8)))]],
])('a peer that %s is disconnected and counted as %s', async (_what, reason, frames) => {
  await start('lean');
  const peer = await RawPeer.open();
  peer.send(...frames);
  await until(() => peer.isClosed);
  expect(harness.connections.ended.map((one) => one.reason)).toEqual([reason]);
});
