/** Connections with expensive input delay no other connection, and get their answers in the end. */

import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { Flag, FrameType, PREFACE } from '../../../src/server/transport/http2/frames/frames';
import { figure } from '../../support/docs/figure';
import { Harness } from '../../support/servers/transport-harness';
import { frame, headers } from '../../unit/transport/http2/peer';

const FLOODS = 4;
const REQUESTS = 500;
const FIELDS = 100;
const READ_TIMEOUT_MS = 90_000;
const PATH = '/envoy.service.ratelimit.v3.RateLimitService/ShouldRateLimit';
const CONTENT_TYPE = 'application/grpc';

/** An empty message, which is refused when it is read. */
const NO_DOMAIN = Buffer.alloc(5);

/** Requests of a turn at most, as the clock of the test goes on at each look: a few shares of a few requests. One read brings about sixty. */
const OF_A_TURN_MAX = 40;

/** Fields that are new to the table each time: each is read, put in, and pushes another out. */
function floodOf(flood: number): Buffer {
  const requests = Array.from({ length: REQUESTS }, (_, request) => {
    const pseudo = Buffer.concat([
      Buffer.from([0x83, 0x86, 0x44, PATH.length]),
      Buffer.from(PATH),
      Buffer.from([0x5f, CONTENT_TYPE.length]),
      Buffer.from(CONTENT_TYPE),
    ]);
    const fields = Array.from({ length: FIELDS }, (_, field) => {
      const text = `${flood}${request}`.padStart(6, '0');
      const name = `x${field}`;
      return Buffer.concat([Buffer.from([0x40, name.length]), Buffer.from(name), Buffer.from([text.length]), Buffer.from(text)]);
    });
    const id = 1 + 2 * request;
    return Buffer.concat([
      headers(id, { block: Buffer.concat([pseudo, ...fields]), endStream: false }),
      frame(FrameType.DATA, id, NO_DOMAIN, Flag.END_STREAM),
    ]);
  });
  return Buffer.concat([
    PREFACE,
    frame(FrameType.SETTINGS, 0),
    frame(FrameType.WINDOW_UPDATE, 0, Buffer.from([0x3f, 0, 0, 0])),
    ...requests,
  ]);
}

/** Ends of streams among the frames that a socket brings, counted as they come. */
function countEnds(socket: Socket): { ends: number } {
  const counted = { ends: 0 };
  let rest = Buffer.alloc(0);
  socket.on('data', (chunk: Buffer) => {
    const bytes = Buffer.concat([rest, chunk]);
    let at = 0;
    while (at + 9 <= bytes.length && at + 9 + bytes.readUIntBE(at, 3) <= bytes.length) {
      if (bytes[at + 3]! <= FrameType.HEADERS && (bytes[at + 4]! & Flag.END_STREAM) !== 0) counted.ends += 1;
      at += 9 + bytes.readUIntBE(at, 3);
    }
    rest = bytes.subarray(at);
  });
  return counted;
}

let harness: Harness;
let sockets: Socket[] = [];

afterEach(async () => {
  for (const socket of sockets) socket.destroy();
  await harness.stop();
});

test('the server reads floods of header fields in shares of a turn, and answers each of them in full', async () => {
  let clockMs = 1_000;
  // Each look at the clock is a share later: what is read in a turn does not depend on the machine.
  harness = await Harness.start('lean', { nowMs: () => (clockMs += 1) });
  const client = harness.client();
  const request = { domain: 'edge', descriptors: [{ entries: [{ key: 'user', value: 'zoe' }] }] };
  await harness.ask(request, { client });
  const floods = Array.from({ length: FLOODS }, (_, index) => floodOf(index));
  sockets = floods.map(() => connect({ port: harness.port, host: '127.0.0.1', allowHalfOpen: true }));
  await Promise.all(sockets.map((socket) => once(socket, 'connect')));
  const counted = sockets.map(countEnds);
  let [most, before, isOver] = [0, harness.failures.length, false];
  const tick = (): void => {
    const { length } = harness.failures;
    most = Math.max(most, length - before);
    before = length;
    if (!isOver) setImmediate(tick);
  };
  setImmediate(tick);
  // Those that say at once that it is all are read to their end, too.
  for (const [index, socket] of sockets.entries())
    if (index % 2 === 0) socket.end(floods[index]!);
    else socket.write(floods[index]!);
  let asked = 0;
  const endMs = performance.now() + READ_TIMEOUT_MS;
  while (counted.some(({ ends }) => ends < REQUESTS) && performance.now() < endMs) {
    await harness.ask(request, { client });
    asked += 1;
  }
  isOver = true;
  figure(`${most} of ${FLOODS * REQUESTS} requests in the longest turn, ${asked} others answered meanwhile`);
  expect(harness.failures).toHaveLength(FLOODS * REQUESTS);
  expect(most).toBeLessThanOrEqual(OF_A_TURN_MAX);
  expect(asked).toBeGreaterThan(10);
  expect(counted.map(({ ends }) => ends)).toEqual(Array(FLOODS).fill(REQUESTS));
  expect(harness.faults).toEqual([]);
}, 120_000);
