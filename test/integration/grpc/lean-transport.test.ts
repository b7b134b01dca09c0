/** A connection of the lean transport carries any mix of calls and survives any input, and a drain loses no answer. */

import { once } from 'node:events';
import * as http2 from 'node:http2';
import { connect } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { Client, compressionAlgorithms, credentials, status } from '@grpc/grpc-js';
import type { Decision } from '../../../src/domain/decide/decision';
import { STREAMS_MAX } from '../../../src/server/transport/http2/connection/connection';
import { ErrorCode } from '../../../src/server/transport/http2/frames/errors';
import { PREFACE, FrameType } from '../../../src/server/transport/http2/frames/frames';
import { encodeHeaderBlock } from '../../../src/server/transport/http2/hpack/hpack-encoder';
import { SHOULD_RATE_LIMIT_PATH } from '../../../src/server/transport/http2/connection/request-head';
import type { WireRequest, WireResponse } from '../../../src/server/transport/messages/wire';
import { slowness } from '../../support/clock/slowness';
import { deferred, allow, Harness, proto, unary } from '../../support/servers/transport-harness';
import { CALL_FIELDS, frame, framesOf, headers, resetOf, uint32, type Received } from '../../unit/transport/http2/peer';

const OK_REQUEST: WireRequest = { domain: 'edge', descriptors: [{ entries: [{ key: 'user', value: 'zoe' }] }] };

const MESSAGE = proto.rateLimit.ShouldRateLimit.requestSerialize(OK_REQUEST);

/** What Node.js reads of a socket at once. */
const READ_BYTES = 65_536;

const UNKNOWN_FRAME = 0xbe;

/** Far longer than it takes, and far less than a silence may last. */
const LET_GO_MS = 10_000;

/** Of grpc.health.v1, on the wire. */
const SERVING = 1;
const NOT_SERVING = 2;

let harness: Harness;

beforeEach(async () => {
  harness = await Harness.start('lean');
});

afterEach(async () => {
  await harness.stop();
  expect(harness.faults).toEqual([]);
});

function decide(client: Client, request = OK_REQUEST): Promise<WireResponse> {
  const { path, requestSerialize, responseDeserialize } = proto.rateLimit.ShouldRateLimit;
  return unary({ client, path, request, serialize: requestSerialize, deserialize: responseDeserialize });
}

function check(client: Client): Promise<object> {
  const { path, requestSerialize, responseDeserialize } = proto.health.Check!;
  return unary({ client, path, request: {}, serialize: requestSerialize, deserialize: responseDeserialize });
}

/** Sends frames as they are, and reads until `until`, or the connection's end. */
function raw(bytes: Buffer, until: (frames: Received[]) => boolean): Promise<Received[]> {
  return new Promise((resolve, reject) => {
    const socket = connect(harness.port, '127.0.0.1');
    let received = Buffer.alloc(0);
    const finish = (): void => {
      socket.destroy();
      resolve(framesOf(received));
    };
    socket.on('data', (chunk: Buffer) => {
      received = Buffer.concat([received, chunk]);
      if (until(framesOf(received))) finish();
    });
    socket.on('end', finish);
    socket.on('error', reject);
    socket.write(Buffer.concat([PREFACE, frame(FrameType.SETTINGS, 0), bytes]));
  });
}

test('a connection carries any mix of calls', async () => {
  const client = harness.client();
  const calls = Array.from({ length: 600 }, (_, index) => (index % 3 === 0 ? check(client) : decide(client)));
  const answers = await Promise.all(calls);
  for (const [index, answer] of answers.entries()) expect(answer).toMatchObject(index % 3 === 0 ? { status: 1 } : { overall_code: 1 });
  expect(harness.requests).toHaveLength(400);
});

test('an unknown method is UNIMPLEMENTED', async () => {
  const { requestSerialize, responseDeserialize } = proto.health.Check!;
  const asked = unary({
    client: harness.client(),
    path: '/no.such/Method',
    request: {},
    serialize: requestSerialize,
    deserialize: responseDeserialize,
  });
  await expect(asked).rejects.toMatchObject({ code: status.UNIMPLEMENTED });
});

test('a compressed request is decided', async () => {
  const client = new Client(`127.0.0.1:${harness.port}`, credentials.createInsecure(), {
    'grpc.default_compression_algorithm': compressionAlgorithms.gzip,
    'grpc.use_local_subchannel_pool': 1,
  });
  await expect(decide(client)).resolves.toMatchObject({ overall_code: 1 });
  client.close();
});

test('a message of many frames is decided', async () => {
  const value = 'x'.repeat(60_000);
  await decide(harness.client(), { domain: 'edge', descriptors: Array.from({ length: 20 }, () => ({ entries: [{ key: 'k', value }] })) });
  expect(harness.requests[0]?.descriptors.map(({ entries }) => entries[0]?.value.length)).toEqual(Array(20).fill(60_000));
});

test.each(['GET', 'POST', 'HEAD'])('%s without gRPC is answered 415, and the port goes on', async (method) => {
  const session = http2.connect(`http://127.0.0.1:${harness.port}`);
  const request = session.request({ ':method': method, ':path': '/' });
  request.end();
  const [answer] = await Promise.all([
    new Promise<http2.IncomingHttpHeaders & http2.IncomingHttpStatusHeader>((resolve) => request.once('response', resolve)),
    new Promise((resolve) => request.resume().once('end', resolve)),
  ]);
  expect(answer[':status']).toBe(415);
  session.close();
  await expect(decide(harness.client())).resolves.toMatchObject({ overall_code: 1 });
});

test.each([0, 100, 4096, 65_536])('a client with a table of %d bytes for header fields reads every answer', async (headerTableSize) => {
  const session = http2.connect(`http://127.0.0.1:${harness.port}`, { settings: { headerTableSize } });
  // Its bound is in force once it knows that we know.
  await new Promise((resolve) => session.once('localSettings', resolve));
  for (const path of ['/', SHOULD_RATE_LIMIT_PATH, SHOULD_RATE_LIMIT_PATH, '/']) {
    const request = session.request({
      ':method': 'POST',
      ':path': path,
      ...(path === '/' ? {} : { 'content-type': 'application/grpc' }),
    });
    request.end(Buffer.concat([Buffer.from([0, 0, 0, 0, MESSAGE.length]), MESSAGE]));
    const [answer] = await Promise.all([
      new Promise<http2.IncomingHttpHeaders & http2.IncomingHttpStatusHeader>((resolve) => request.once('response', resolve)),
      new Promise((resolve) => request.resume().once('end', resolve)),
    ]);
    expect(answer[':status']).toBe(path === '/' ? 415 : 200);
  }
  expect(harness.requests).toHaveLength(2);
  session.close();
});

test('calls that are answered before their request ends make room for any number of others', async () => {
  const session = http2.connect(`http://127.0.0.1:${harness.port}`);
  const begin = (): http2.ClientHttp2Stream =>
    session.request({ ':method': 'POST', ':path': '/grpc.health.v1.Health/Check', 'content-type': 'application/grpc', te: 'trailers' });
  // More than may be open at once on a connection, each with the length of a message that is too large, and without an end.
  for (let left = STREAMS_MAX + 100; left > 0; left -= 100) {
    const answered = Array.from({ length: 100 }, async () => {
      const request = begin();
      request.on('error', () => undefined);
      request.write(Buffer.from([0, 255, 255, 255, 255, 1]));
      const [answer] = (await once(request, 'response')) as [http2.IncomingHttpHeaders];
      return answer['grpc-status'];
    });
    expect(new Set(await Promise.all(answered))).toEqual(new Set([String(status.RESOURCE_EXHAUSTED)]));
  }
  const last = begin();
  last.end(Buffer.alloc(5));
  const [answer] = (await once(last, 'response')) as [http2.IncomingHttpHeaders];
  expect(answer[':status']).toBe(200);
  session.destroy();
});

test('a health watch that starts before its peer knows of the drain reports the drain and ends', async () => {
  const block = encodeHeaderBlock(
    CALL_FIELDS.map((field) => (field.name === ':path' ? { ...field, value: '/grpc.health.v1.Health/Watch' } : field)),
  );
  const watch = (streamId: number) =>
    Buffer.concat([headers(streamId, { endStream: false, block }), frame(FrameType.DATA, streamId, Buffer.alloc(5), 0x1)]);
  const ofStream = (frames: Received[], wanted: number) => frames.filter(({ streamId }) => streamId === wanted);
  const hasEnded = (frames: Received[], wanted: number) =>
    ofStream(frames, wanted).some(({ flags, type }) => type === FrameType.HEADERS && (flags & 0x1) !== 0);
  const socket = connect(harness.port, '127.0.0.1');
  let received = Buffer.alloc(0);
  socket.on('data', (chunk: Buffer) => {
    received = Buffer.concat([received, chunk]);
  });
  const heard = async (until: (frames: Received[]) => boolean): Promise<void> => {
    while (!until(framesOf(received))) await once(socket, 'data');
  };
  socket.write(Buffer.concat([PREFACE, frame(FrameType.SETTINGS, 0), watch(1)]));
  await heard((frames) => ofStream(frames, 1).some(({ type }) => type === FrameType.DATA));
  const begunMs = performance.now();
  const drained = harness.server.drain({ timeoutMs: 2 * LET_GO_MS });
  await heard((frames) => frames.some(({ type }) => type === FrameType.GOAWAY));
  socket.write(watch(3));
  await heard((frames) => hasEnded(frames, 1) && hasEnded(frames, 3));
  const said = [1, 3].map((streamId) =>
    ofStream(framesOf(received), streamId)
      .filter(({ type, payload }) => type === FrameType.DATA && payload.length > 0)
      .map(({ payload }) => payload.at(-1)),
  );
  expect(said).toEqual([[SERVING, NOT_SERVING], [NOT_SERVING]]);
  await drained;
  expect(performance.now() - begunMs).toBeLessThan(LET_GO_MS * slowness());
});

test('headers above the bound are RESOURCE_EXHAUSTED', async () => {
  const block = encodeHeaderBlock([...CALL_FIELDS, ...Array.from({ length: 200 }, () => ({ name: 'x', value: 'y' }))]);
  const frames = await raw(headers(1, { block }), (all) => all.some(({ type }) => type === FrameType.HEADERS));
  expect(frames.find(({ type }) => type === FrameType.HEADERS)?.payload.toString('latin1')).toContain(
    'headers of over 32768 bytes or 128 fields',
  );
});

test('a call with repeated headers is answered', async () => {
  const fields = CALL_FIELDS.map((field) => (field.name === ':path' ? { ...field, value: '/grpc.health.v1.Health/Check' } : field));
  const block = encodeHeaderBlock([
    ...fields,
    { name: 'content-type', value: 'application/grpc' },
    { name: 'user-agent', value: 'a' },
    { name: 'user-agent', value: 'b' },
  ]);
  const body = frame(FrameType.DATA, 1, Buffer.alloc(5), 0x1);
  const frames = await raw(Buffer.concat([headers(1, { block, endStream: false }), body]), (all) =>
    all.some(({ type }) => type === FrameType.DATA),
  );
  expect(frames.find(({ type }) => type === FrameType.DATA)?.payload.at(-1)).toBe(SERVING);
});

test.each<[string, Buffer, string]>([
  ['no message', Buffer.alloc(0), 'Received no request message'],
  ['a message that ends early', Buffer.from([0, 0, 0, 0, 9, 1]), 'Received a message that ends early'],
  ['half a prefix', Buffer.from([0, 0]), 'Received a message that ends early'],
  ['two messages', Buffer.from([0, 0, 0, 0, 0, 0, 0, 0, 0, 0]), 'Received a second request message'],
  ['a message said to be compressed', Buffer.from([1, 0, 0, 0, 0]), 'Received a compressed message without grpc-encoding'],
  ['a message of 4 GiB', Buffer.from([0, 255, 255, 255, 255, 1]), 'Received message larger than max'],
])('the server rejects %s at once', async (_what, body, details) => {
  const frames = await raw(Buffer.concat([headers(1, { endStream: false }), frame(FrameType.DATA, 1, body, 0x1)]), (all) =>
    all.some(({ type }) => type === FrameType.HEADERS),
  );
  expect(decodeURIComponent(frames.find(({ type }) => type === FrameType.HEADERS)!.payload.toString('latin1'))).toContain(details);
  expect(harness.requests).toEqual([]);
});

test('each call ends after its own deadline in any order, and calls without one are answered late', async () => {
  const decided = deferred();
  harness.decide = async (request) => {
    await decided.promise;
    return allow(request);
  };
  const timeouts = ['2000H', '90m', '30m', undefined, '60m'];
  const calls = timeouts.map((timeout, i) => {
    const block = encodeHeaderBlock([...CALL_FIELDS, ...(timeout === undefined ? [] : [{ name: 'grpc-timeout', value: timeout }])]);
    const body = Buffer.concat([Buffer.from([0, 0, 0, 0, MESSAGE.length]), MESSAGE]);
    return Buffer.concat([headers(2 * i + 1, { block, endStream: false }), frame(FrameType.DATA, 2 * i + 1, body, 0x1)]);
  });
  const endsOf = (frames: Received[]) => frames.filter(({ type, flags }) => type === FrameType.HEADERS && (flags & 0x1) !== 0);
  const startedMs = performance.now();
  const endedMs = new Map<number, number>();
  const frames = await raw(Buffer.concat(calls), (all) => {
    for (const { streamId } of endsOf(all)) if (!endedMs.has(streamId)) endedMs.set(streamId, performance.now() - startedMs);
    if (endsOf(all).length === 3) decided.resolve();
    return endsOf(all).length === timeouts.length;
  });
  const ends = endsOf(frames).map(({ streamId, payload }) => ({ streamId, isLate: payload.includes('Deadline exceeded') }));
  // Those of a busy machine may pass together.
  const [exceeded, answered] = [ends.slice(0, 3), ends.slice(3)];
  expect(exceeded.toSorted((a, b) => a.streamId - b.streamId)).toEqual([3, 5, 9].map((streamId) => ({ streamId, isLate: true })));
  expect(answered).toEqual([1, 7].map((streamId) => ({ streamId, isLate: false })));
  for (const [streamId, deadlineMs] of [
    [3, 90],
    [5, 30],
    [9, 60],
  ] as const)
    expect(endedMs.get(streamId)).toBeGreaterThanOrEqual(deadlineMs);
});

test('a peer that does not speak HTTP/2 gets a GOAWAY and is disconnected', async () => {
  const socket = connect(harness.port, '127.0.0.1');
  socket.write('GET / HTTP/1.1\r\nhost: weir\r\n\r\n');
  const chunks: Buffer[] = [];
  socket.on('data', (chunk: Buffer) => chunks.push(chunk));
  await new Promise((resolve) => socket.once('close', resolve));
  expect(Buffer.concat(chunks).toString('latin1')).toContain('this port speaks HTTP/2 with prior knowledge');
});

test('the server closes the connection and its calls when the peer hangs up', async () => {
  const other = encodeHeaderBlock(
    CALL_FIELDS.map((field) => (field.name === ':path' ? { ...field, value: '/grpc.health.v1.Health/Check' } : field)),
  );
  const socket = connect({ port: harness.port, host: '127.0.0.1', allowHalfOpen: true });
  const halves = [
    headers(1, { endStream: false }),
    frame(FrameType.DATA, 1, Buffer.concat([Buffer.from([0, 0, 0, 0, MESSAGE.length]), MESSAGE.subarray(1)])),
    headers(3, { endStream: false, block: other }),
  ];
  socket.end(Buffer.concat([PREFACE, frame(FrameType.SETTINGS, 0), ...halves]));
  // Its own side stays open: only the server can end this.
  await new Promise((resolve) => socket.resume().once('end', resolve));
  socket.destroy();
  expect(harness.requests).toEqual([]);
});

test('a peer that half-closes its connection still gets its answer', async () => {
  const decided = deferred();
  harness.decide = async (request) => {
    await decided.promise;
    return allow(request);
  };
  const body = Buffer.concat([Buffer.from([0, 0, 0, 0, MESSAGE.length]), MESSAGE]);
  const socket = connect({ port: harness.port, host: '127.0.0.1', allowHalfOpen: true });
  socket.end(Buffer.concat([PREFACE, frame(FrameType.SETTINGS, 0), headers(1, { endStream: false }), frame(FrameType.DATA, 1, body, 0x1)]));
  const chunks: Buffer[] = [];
  socket.on('data', (chunk: Buffer) => chunks.push(chunk));
  const closed = new Promise((resolve) => socket.once('close', resolve));
  setTimeout(decided.resolve, 50);
  await closed;
  expect(framesOf(Buffer.concat(chunks)).filter(({ streamId, type }) => streamId === 1 && type === FrameType.DATA)).toHaveLength(1);
});

test('a peer that half-closes right after its calls gets the answers at once', async () => {
  const body = Buffer.concat([Buffer.from([0, 0, 0, 0, MESSAGE.length]), MESSAGE]);
  const calls = Buffer.concat(
    Array.from({ length: 100 }, (_, index) => [
      headers(1 + 2 * index, { endStream: false }),
      frame(FrameType.DATA, 1 + 2 * index, body, 0x1),
    ]).flat(),
  );
  const begin = Buffer.concat([PREFACE, frame(FrameType.SETTINGS, 0)]);
  // As much as one read takes: then the end is read in the same turn.
  let left = READ_BYTES - begin.length - calls.length;
  const padding: Buffer[] = [];
  for (; left > 0; left -= padding.at(-1)!.length) padding.push(frame(UNKNOWN_FRAME, 0, Buffer.alloc(Math.min(16_384, left - 9))));
  for (let round = 0; round < 50; round += 1) {
    const socket = connect({ port: harness.port, host: '127.0.0.1', allowHalfOpen: true });
    socket.end(Buffer.concat([begin, ...padding, calls]));
    const chunks: Buffer[] = [];
    socket.on('data', (chunk: Buffer) => chunks.push(chunk));
    socket.on('error', () => undefined);
    await new Promise((resolve) => socket.once('close', resolve));
    expect([round, framesOf(Buffer.concat(chunks)).filter(({ type }) => type === FrameType.DATA).length]).toEqual([round, 100]);
  }
});

test('a dead peer with an open health watch is disconnected when that is noticed, without a wait for silence', async () => {
  const block = encodeHeaderBlock(
    CALL_FIELDS.map((field) => (field.name === ':path' ? { ...field, value: '/grpc.health.v1.Health/Watch' } : field)),
  );
  const socket = connect({ port: harness.port, host: '127.0.0.1' });
  socket.write(
    Buffer.concat([
      PREFACE,
      frame(FrameType.SETTINGS, 0),
      headers(1, { endStream: false, block }),
      frame(FrameType.DATA, 1, Buffer.alloc(5), 0x1),
    ]),
  );
  let received = Buffer.alloc(0);
  while (!framesOf(received).some(({ streamId, type }) => streamId === 1 && type === FrameType.DATA)) {
    const [chunk] = (await once(socket, 'data')) as [Buffer];
    received = Buffer.concat([received, chunk]);
  }
  expect(harness.connections.open).toBe(1);
  // With nothing left to read, and so a FIN and no RST: as a process that ends.
  socket.destroy();
  const deadlineMs = performance.now() + LET_GO_MS;
  while (harness.connections.open > 0 && performance.now() < deadlineMs) await new Promise((resolve) => setTimeout(resolve, 10));
  expect(harness.connections.open).toBe(0);
});

test('a peer that half-closes and has reset its running calls is disconnected when they end', async () => {
  const [begun, decided] = [deferred(), deferred()];
  harness.decide = async (request) => {
    begun.resolve();
    await decided.promise;
    return allow(request);
  };
  const body = Buffer.concat([Buffer.from([0, 0, 0, 0, MESSAGE.length]), MESSAGE]);
  const socket = connect({ port: harness.port, host: '127.0.0.1', allowHalfOpen: true });
  socket.resume();
  const closed = new Promise((resolve) => socket.once('close', resolve));
  socket.write(
    Buffer.concat([PREFACE, frame(FrameType.SETTINGS, 0), headers(1, { endStream: false }), frame(FrameType.DATA, 1, body, 0x1)]),
  );
  await begun.promise;
  socket.end(frame(FrameType.RST_STREAM, 1, uint32(ErrorCode.CANCEL)));
  setTimeout(decided.resolve, 100);
  // Not kept for: a timer that is left would keep jest.
  const late = sleep(LET_GO_MS, 'still there', { ref: false });
  expect(await Promise.race([closed, late])).not.toBe('still there');
});

test('an answer that cannot be sent ends its own call, and the others of the same read are answered', async () => {
  const { requestSerialize } = proto.rateLimit.ShouldRateLimit;
  const callOf = (streamId: number, domain: string) => {
    const message = requestSerialize({ ...OK_REQUEST, domain });
    const prefix = Buffer.alloc(5);
    prefix.writeUInt32BE(message.length, 1);
    return [headers(streamId, { endStream: false }), frame(FrameType.DATA, streamId, Buffer.concat([prefix, message]), 1)];
  };
  const unsaid: unknown = { overallCode: 'OK' };
  harness.decide = (request) => Promise.resolve(request.domain === 'bad' ? (unsaid as Decision) : allow(request));
  const frames = await raw(Buffer.concat([callOf(1, 'a'), callOf(3, 'bad'), callOf(5, 'c')].flat()), (received) =>
    received.some(({ streamId, flags, type }) => streamId === 5 && type === FrameType.HEADERS && (flags & 1) === 1),
  );
  expect(frames.filter(({ type, flags }) => type === FrameType.HEADERS && (flags & 1) === 1).map(({ streamId }) => streamId)).toEqual([
    1, 5,
  ]);
  expect(resetOf(frames, 3)).toBe(ErrorCode.INTERNAL_ERROR);
  expect(harness.failures).toEqual(['fault']);
  expect(harness.faults.splice(0)).toEqual([expect.any(TypeError)]);
});
