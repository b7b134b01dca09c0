/** A call of any method reads its messages in any pieces, and ends with its status. */

import { setImmediate as nextTurn } from 'node:timers/promises';
import { deflateSync, gzipSync } from 'node:zlib';
import { status } from '@grpc/grpc-js';
import type { AnswerStream, GrpcMethod, MethodAnswer } from '../../../../../src/server/transport/grpc/grpc-method';
import { ByteBudget } from '../../../../../src/server/transport/byte-budget';
import { ErrorCode } from '../../../../../src/server/transport/http2/frames/errors';
import { FrameType } from '../../../../../src/server/transport/http2/frames/frames';
import { HpackDecoder } from '../../../../../src/server/transport/http2/hpack/hpack-decoder';
import { encodeHeaderBlock } from '../../../../../src/server/transport/http2/hpack/hpack-encoder';
import { openMethodCall } from '../../../../../src/server/transport/http2/calls/method-call';
import { TurnQueue } from '../../../../../src/server/transport/turn-queue';
import { until } from '../../../../support/clock/until';
import { CALL_FIELDS, Peer, frame, headers, resetOf, setting, uint32, type Received } from '../peer';

const BYTES_MAX = 1000;
const BUDGET_BYTES = 100_000;

interface Opened {
  readonly answers: AnswerStream;
  readonly events: string[];
}

let opened: Opened[];
let faults: unknown[];
let budget: ByteBudget;
let turns: TurnQueue;
let answer: (message: Buffer, call: { readonly timeoutMs?: number }) => Promise<MethodAnswer>;
let onMessage: (message: Buffer, answers: AnswerStream) => void;
let peer: Peer;

function streamMethod(path: string, requests: 'one' | 'many'): GrpcMethod {
  return {
    kind: 'stream',
    requests,
    path,
    bytesMax: BYTES_MAX,
    open: (answers) => {
      const events: string[] = [];
      opened.push({ answers, events });
      return {
        onMessage: (message) => {
          events.push(message.toString());
          onMessage(message, answers);
        },
        onEnd: () => events.push('end'),
        onClose: () => events.push('close'),
        onDrained: () => events.push('drained'),
      };
    },
  };
}

const METHODS: readonly GrpcMethod[] = [
  { kind: 'unary', path: '/u', bytesMax: BYTES_MAX, answer: (message, call) => answer(message, call) },
  streamMethod('/one', 'one'),
  streamMethod('/many', 'many'),
];

beforeEach(() => {
  opened = [];
  faults = [];
  budget = new ByteBudget(BUDGET_BYTES);
  turns = new TurnQueue();
  answer = (message) => Promise.resolve({ message });
  onMessage = () => undefined;
  peer = new Peer((connection, stream) => {
    const { head } = peer.opened.at(-1)!;
    const methods = new Map(METHODS.map((method) => [method.path, method]));
    return openMethodCall(
      { methods, budget, turns, readMs: () => peer.nowMs, onFault: (error) => faults.push(error) },
      { connection, stream, head },
    );
  });
});

afterEach(() => {
  expect(peer.faults).toEqual([]);
  peer.connection.close();
  // Whatever became of a call, it holds nothing.
  expect(budget.take(BUDGET_BYTES)).toBe(true);
});

function head(path: string, extra: Readonly<Record<string, string>> = {}): Buffer {
  const fields = CALL_FIELDS.map((field) => (field.name === ':path' ? { ...field, value: path } : field));
  return headers(1, {
    endStream: false,
    block: encodeHeaderBlock([...fields, ...Object.entries(extra).map(([name, value]) => ({ name, value }))]),
  });
}

function framed(message: Buffer | string, flag = 0): Buffer {
  const bytes = Buffer.from(message as string);
  return Buffer.concat([Buffer.from([flag]), uint32(bytes.length), bytes]);
}

function data(bytes: Buffer, { end = true } = {}): Buffer {
  return frame(FrameType.DATA, 1, bytes, end ? 1 : 0);
}

/** The answers and the end, as a client has them. */
function answered(frames: Received[]): { messages: string[]; code: number | undefined; details: string | undefined } {
  const decoder = new HpackDecoder();
  const fields = frames.filter(({ type }) => type === FrameType.HEADERS).flatMap(({ payload }) => decoder.decode(payload).fields);
  const of = (wanted: string) => fields.find(({ name }) => name === wanted)?.value;
  const bytes = Buffer.concat(frames.filter(({ type }) => type === FrameType.DATA).map(({ payload }) => payload));
  const messages: string[] = [];
  for (let at = 0; at < bytes.length; at += 5 + bytes.readUInt32BE(at + 1))
    messages.push(bytes.toString('latin1', at + 5, at + 5 + bytes.readUInt32BE(at + 1)));
  const code = of('grpc-status');
  return { messages, code: code === undefined ? undefined : Number(code), details: of('grpc-message') };
}

/** All frames until the call has ended. */
async function settled(first: Received[]): Promise<Received[]> {
  const frames = [...first];
  await until(() => {
    frames.push(...peer.frames());
    return answered(frames).code !== undefined;
  });
  return frames;
}

test('one message has one answer, in any pieces', async () => {
  const bytes = framed('hello');
  const pieces = Array.from(bytes, (_, index) => data(bytes.subarray(index, index + 1), { end: index === bytes.length - 1 }));
  expect(answered(await settled(peer.send(head('/u'), ...pieces)))).toEqual({ messages: ['hello'], code: 0, details: undefined });
});

test.each<[string, Buffer[], number, RegExp]>([
  ['no message', [data(Buffer.alloc(0))], status.UNIMPLEMENTED, /^Received no request message for method \/(u|one)$/],
  ['half a message', [data(framed('hello').subarray(0, 7))], status.INTERNAL, /^Received a message that ends early$/],
  ['half a prefix', [data(Buffer.alloc(3))], status.INTERNAL, /^Received a message that ends early$/],
  [
    'two messages',
    [data(Buffer.concat([framed('a'), framed('b')]))],
    status.UNIMPLEMENTED,
    /^Received a second request message for method/,
  ],
  [
    'two messages with an incomplete second one',
    [data(framed('a'), { end: false }), data(Buffer.alloc(1), { end: false })],
    status.UNIMPLEMENTED,
    /^Received a second request message for method/,
  ],
  [
    'a message that is too large, by its length',
    [data(Buffer.concat([Buffer.from([0]), uint32(BYTES_MAX + 1)]), { end: false })],
    status.RESOURCE_EXHAUSTED,
    /^Received message larger than max \(1001 vs. 1000\)$/,
  ],
  [
    'one that is too large, in one piece',
    [data(framed(Buffer.alloc(BYTES_MAX + 1)))],
    status.RESOURCE_EXHAUSTED,
    /^Received message larger than max \(1001 vs. 1000\)$/,
  ],
  [
    'a compressed one without an encoding',
    [data(framed('a', 1))],
    status.INTERNAL,
    /^Received a compressed message without grpc-encoding$/,
  ],
])('%s is rejected, for unary methods and streams', async (_what, frames, code, details) => {
  for (const path of ['/u', '/one']) {
    peer = new Peer((connection, stream) => {
      const methods = new Map(METHODS.map((method) => [method.path, method]));
      return openMethodCall(
        { methods, budget, turns, readMs: () => 0, onFault: (error) => faults.push(error) },
        { connection, stream, head: peer.opened.at(-1)!.head },
      );
    });
    expect(answered(await settled(peer.send(head(path), ...frames)))).toEqual({
      messages: [],
      code,
      details: expect.stringMatching(details) as string,
    });
  }
});

test('an unknown method is UNIMPLEMENTED at once, before the message', () => {
  expect(answered(peer.send(head('/x')))).toEqual({
    messages: [],
    code: status.UNIMPLEMENTED,
    details: 'The server does not implement the method /x',
  });
});

test('an invalid timeout is INTERNAL', () => {
  expect(answered(peer.send(head('/u', { 'grpc-timeout': 'soon' })))).toMatchObject({
    code: status.INTERNAL,
    details: 'Invalid grpc-timeout value "soon"',
  });
});

test.each<[string, Buffer[]]>([
  ['path', [head(`/${'%'.repeat(10_000)}`)]],
  ['grpc-timeout', [head('/u', { 'grpc-timeout': '%'.repeat(10_000) })]],
  ['grpc-encoding', [head('/u', { 'grpc-encoding': '%'.repeat(10_000) }), data(framed('a', 1))]],
])('an error that repeats a long %s fits in one frame', async (_name, sent) => {
  const frames = await settled(peer.send(...sent));
  expect(answered(frames).code).toEqual(expect.any(Number));
  expect(Math.max(...frames.map(({ payload }) => payload.length))).toBeLessThan(2048);
});

test.each<[string, Buffer]>([
  ['gzip', gzipSync('hello')],
  ['deflate', deflateSync('hello')],
])('%s is unpacked, for unary methods and streams', async (encoding, packed) => {
  expect(answered(await settled(peer.send(head('/u', { 'grpc-encoding': encoding }), data(framed(packed, 1)))))).toMatchObject({
    messages: ['hello'],
    code: 0,
  });
  onMessage = (message, answers) => {
    answers.write(message);
  };
  const block = (path: string) =>
    encodeHeaderBlock([
      ...CALL_FIELDS.map((field) => (field.name === ':path' ? { ...field, value: path } : field)),
      { name: 'grpc-encoding', value: encoding },
    ]);
  peer.send(
    headers(3, { endStream: false, block: block('/many') }),
    frame(FrameType.DATA, 3, Buffer.concat([framed(packed, 1), framed('plain'), framed(packed, 1)]), 1),
  );
  await until(() => opened[0]!.events.includes('end'));
  expect(opened[0]!.events).toEqual(['hello', 'plain', 'hello', 'end']);
});

test.each<[string, string, Buffer, number, string]>([
  ['another encoding', 'snappy', Buffer.from('a'), status.UNIMPLEMENTED, 'Received message compressed with unsupported encoding "snappy"'],
  ['what is not packed', 'gzip', Buffer.from('a'), status.INTERNAL, 'Failed to decompress message'],
  [
    'what becomes too large',
    'gzip',
    gzipSync(Buffer.alloc(BYTES_MAX + 1)),
    status.RESOURCE_EXHAUSTED,
    'Received message that decompresses to a size larger than 1000',
  ],
])('%s is rejected', async (_what, encoding, packed, code, details) => {
  expect(answered(await settled(peer.send(head('/u', { 'grpc-encoding': encoding }), data(framed(packed, 1)))))).toEqual({
    messages: [],
    code,
    details,
  });
});

test('a stream answers one message any number of times, and ends with its status', () => {
  onMessage = (message, answers) => {
    answers.write(Buffer.concat([message, Buffer.from('1')]));
    answers.write(Buffer.concat([message, Buffer.from('2')]));
  };
  const frames = peer.send(head('/one'), data(framed('a')));
  opened[0]!.answers.end({ code: status.FAILED_PRECONDITION, details: 'é' });
  opened[0]!.answers.write(Buffer.from('late'));
  expect(answered([...frames, ...peer.frames()])).toEqual({ messages: ['a1', 'a2'], code: status.FAILED_PRECONDITION, details: '%C3%A9' });
  expect(opened[0]!.events).toEqual(['a', 'end', 'close']);
});

test('a stream without an answer ends with headers and trailers', () => {
  peer.send(head('/many'), data(Buffer.alloc(0)));
  expect(opened[0]!.events).toEqual(['end']);
  opened[0]!.answers.end();
  const frames = peer.frames();
  expect(frames.filter(({ type }) => type === FrameType.HEADERS)).toHaveLength(2);
  expect(answered(frames)).toEqual({ messages: [], code: 0, details: undefined });
});

test('messages of a stream are answered as they arrive, before its end', () => {
  onMessage = (message, answers) => {
    answers.write(message);
  };
  expect(answered(peer.send(head('/many'), data(Buffer.concat([framed('a'), framed('b').subarray(0, 5)]), { end: false })))).toMatchObject({
    messages: ['a'],
    code: undefined,
  });
  expect(answered(peer.send(data(Buffer.from('b'), { end: false }))).messages).toEqual(['b']);
});

test("a peer that does not take a stream's answers is not read from, so nothing piles up", async () => {
  onMessage = (_message, answers) => {
    answers.write(Buffer.alloc(10_000));
  };
  const message = framed(Buffer.alloc(20));
  peer.send(frame(FrameType.SETTINGS, 0, setting(4, 0)), head('/many'));
  let sent = 0;
  let widened = 0;
  // As much as the stream's window lets it send, and what it is given back.
  for (; sent + message.length <= 65_535 + widened; sent += message.length) {
    for (const one of peer.send(data(message, { end: false })))
      if (one.type === FrameType.WINDOW_UPDATE && one.streamId === 1) widened += one.payload.readUInt32BE(0);
  }
  expect(sent).toBeLessThan(70_000);
  expect(opened[0]!.events).toHaveLength(7);
  const count = sent / message.length;
  peer.send(frame(FrameType.WINDOW_UPDATE, 0, uint32(2 ** 30)), frame(FrameType.WINDOW_UPDATE, 1, uint32(2 ** 30)));
  await until(() => opened[0]!.events.filter((event) => event !== 'drained').length === count);
  expect(opened[0]!.events).toContain('drained');
});

test('messages wait while the peer takes no answers, and are all handed over afterwards', async () => {
  const seen: string[] = [];
  onMessage = (message) => {
    seen.push(message.toString());
  };
  peer.send(head('/many'), data(framed('a'), { end: false }));
  peer.connection.choke();
  peer.send(data(Buffer.concat([framed('b'), framed('c')])));
  for (let turn = 0; turn < 20; turn += 1) await nextTurn();
  expect(seen).toEqual(['a']);
  peer.connection.release();
  await until(() => seen.length === 3);
});

test('many messages in one piece are answered a few per turn over all streams, and all in the end', async () => {
  const counts = new Map<AnswerStream, number>();
  onMessage = (_message, answers) => {
    counts.set(answers, (counts.get(answers) ?? 0) + 1);
  };
  const block = encodeHeaderBlock(CALL_FIELDS.map((field) => (field.name === ':path' ? { ...field, value: '/many' } : field)));
  const bytes = Buffer.concat(Array<Buffer>(20).fill(framed('a')));
  const total = () => [...counts.values()].reduce((sum, count) => sum + count, 0);
  for (const id of [1, 3, 5]) peer.send(headers(id, { endStream: false, block }), frame(FrameType.DATA, id, bytes, 1));
  expect([...counts.values()]).toEqual([4, 4, 4]);
  for (let before = 0; total() > before && total() < 60;) {
    before = total();
    await nextTurn();
    expect(total() - before).toBeLessThanOrEqual(4);
    await nextTurn();
  }
  await until(() => opened.every(({ events }) => events.at(-1) === 'end'));
  expect([...counts.values()]).toEqual([20, 20, 20]);
});

test('waiting messages are dropped with their call', async () => {
  peer.send(
    head('/many'),
    data(Buffer.concat(Array<Buffer>(20).fill(framed('a')))),
    frame(FrameType.RST_STREAM, 1, uint32(ErrorCode.CANCEL)),
  );
  for (let turn = 0; turn < 10; turn += 1) await nextTurn();
  expect(opened[0]!.events).toEqual(['a', 'a', 'a', 'a', 'close']);
});

test('thousands of messages in one piece are answered in a loop, without recursion', async () => {
  onMessage = (_message, answers) => {
    answers.write(Buffer.alloc(1));
  };
  for (let left = 4; left > 0; left -= 1)
    peer.send(...(left === 4 ? [head('/many')] : []), data(Buffer.concat(Array<Buffer>(3000).fill(framed(''))), { end: left === 1 }));
  await until(() => opened[0]!.events.length === 12_001);
});

test('the deadline ends a call with DEADLINE_EXCEEDED in any state', async () => {
  answer = () =>
    new Promise((resolve) =>
      setTimeout(() => {
        resolve({ message: Buffer.from('late') });
      }, 5),
    );
  peer.send(head('/u', { 'grpc-timeout': '50m' }), data(framed('a')));
  expect(peer.connection.endLate(49)).toBe(50);
  expect(peer.connection.endLate(50)).toBe(Infinity);
  expect(answered(peer.frames())).toEqual({ messages: [], code: status.DEADLINE_EXCEEDED, details: 'Deadline exceeded' });
  // What is under way counts until it is over.
  expect(peer.connection.load).toBe(1);
  await until(() => peer.connection.load === 0);
});

test('the deadline of a stream that has answered ends it with trailers', () => {
  onMessage = (message, answers) => {
    answers.write(message);
  };
  const frames = peer.send(head('/one', { 'grpc-timeout': '50m' }), data(framed('a')));
  peer.connection.endLate(50);
  expect(answered([...frames, ...peer.frames()])).toEqual({
    messages: ['a'],
    code: status.DEADLINE_EXCEEDED,
    details: 'Deadline exceeded',
  });
  expect(opened[0]!.events).toEqual(['a', 'end', 'close']);
});

test('a unary method gets the time that is left', async () => {
  let timeoutMs: number | undefined;
  answer = (message, call) => {
    ({ timeoutMs } = call);
    return Promise.resolve({ message });
  };
  peer.send(head('/u', { 'grpc-timeout': '50m' }));
  peer.nowMs = 20;
  await settled(peer.send(data(framed('a'))));
  expect(timeoutMs).toBe(30);
});

test('a call that is reset is closed once, and nothing is sent for it', () => {
  peer.send(head('/many'), data(framed('a'), { end: false }), frame(FrameType.RST_STREAM, 1, uint32(ErrorCode.CANCEL)));
  opened[0]!.answers.write(Buffer.from('late'));
  opened[0]!.answers.end();
  expect(opened[0]!.events).toEqual(['a', 'close']);
  expect(peer.frames()).toEqual([]);
  expect(peer.connection.load).toBe(0);
});

test('a call that is reset while its message is unpacked counts until that is done', async () => {
  const packed = gzipSync(Buffer.from('a'));
  const message = Buffer.concat([Buffer.from([1]), uint32(packed.length), packed]);
  peer.send(head('/u', { 'grpc-encoding': 'gzip' }), data(message), frame(FrameType.RST_STREAM, 1, uint32(ErrorCode.CANCEL)));
  expect(peer.connection.load).toBe(1);
  // A thread unpacks it: on a busy host that takes longer than any number of turns.
  await until(() => peer.connection.load === 0);
});

test('a closed connection closes its calls', () => {
  peer.send(head('/one'), data(framed('a')));
  peer.connection.close();
  expect(opened[0]!.events).toEqual(['a', 'end', 'close']);
});

test('a fault of a method ends its call without details, and is logged', async () => {
  const failed = new Error('key user=zoe');
  onMessage = () => {
    throw failed;
  };
  answer = () => Promise.reject(failed);
  const details = 'internal error; see the log of the rate limit service';
  expect(answered(peer.send(head('/one'), data(framed('a'))))).toEqual({ messages: [], code: status.INTERNAL, details });
  const block = encodeHeaderBlock(CALL_FIELDS.map((field) => (field.name === ':path' ? { ...field, value: '/u' } : field)));
  expect(answered(await settled(peer.send(headers(3, { endStream: false, block }), frame(FrameType.DATA, 3, framed('a'), 1))))).toEqual({
    messages: [],
    code: status.INTERNAL,
    details,
  });
  expect(faults).toEqual([failed, failed]);
});

test('a message above the bound of all connections is RESOURCE_EXHAUSTED', () => {
  budget.take(BUDGET_BYTES - 3);
  expect(answered(peer.send(head('/u'), data(framed('a'), { end: false })))).toMatchObject({
    code: status.RESOURCE_EXHAUSTED,
    details: 'too many bytes of incomplete messages are waiting; retry later',
  });
  budget.giveBack(BUDGET_BYTES - 3);
});

test('a call that is answered before its end sends RST_STREAM with NO_ERROR', () => {
  expect(resetOf(peer.send(head('/x')), 1)).toBe(ErrorCode.NO_ERROR);
});
