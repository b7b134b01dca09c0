/** Connections with expensive input delay no other connection, and get their answers in the end. */

import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { Flag, FrameType, PREFACE } from '../../../src/server/transport/http2/frames/frames';
import { figure } from '../../support/docs/figure';
import { Harness } from '../../support/servers/transport-harness';
import { frame, headers } from '../../unit/transport/http2/peer';

const FLOODS = 4;
const REQUESTS = 2000;
const FIELDS = 100;
const READ_TIMEOUT_MS = 90_000;

/** Fields that are new to the table each time: each is read, put in, and pushes another out. */
function floodOf(flood: number): Buffer {
  const requests = Array.from({ length: REQUESTS }, (_, request) => {
    const pseudo = Buffer.from([0x83, 0x86, 0x44, 1, 0x61]);
    const fields = Array.from({ length: FIELDS }, (_, field) => {
      const text = `${flood}${request}`.padStart(6, '0');
      const name = `x${field}`;
      return Buffer.concat([Buffer.from([0x40, name.length]), Buffer.from(name), Buffer.from([text.length]), Buffer.from(text)]);
    });
    return headers(1 + 2 * request, { block: Buffer.concat([pseudo, ...fields]), endStream: true });
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
  harness = await Harness.start('lean');
  const client = harness.client();
  const request = { domain: 'edge', descriptors: [{ entries: [{ key: 'user', value: 'zoe' }] }] };
  await harness.ask(request, { client });
  const floods = Array.from({ length: FLOODS }, (_, index) => floodOf(index));
  sockets = floods.map(() => connect({ port: harness.port, host: '127.0.0.1', allowHalfOpen: true }));
  await Promise.all(sockets.map((socket) => once(socket, 'connect')));
  const counted = sockets.map(countEnds);
  // Processor time, as the machine may have others to run; the longest turn against all of them together.
  const turns: number[] = [];
  const state = { isOver: false };
  let last = process.cpuUsage();
  const tick = (): void => {
    const { user, system } = process.cpuUsage(last);
    last = process.cpuUsage();
    turns.push((user + system) / 1000);
    if (!state.isOver) setImmediate(tick);
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
  state.isOver = true;
  const total = turns.reduce((sum, ms) => sum + ms, 0);
  // A collection of the heap, whose threads count too, falls into one or two turns. Each flood that were read at once would be one turn more.
  const [longest = NaN, , third = NaN] = turns.toSorted((one, other) => other - one);
  figure(`longest turn ${longest.toFixed(1)} ms, third longest ${third.toFixed(1)} of ${total.toFixed(0)} ms`);
  expect(third).toBeLessThan(total / 10);
  expect(asked).toBeGreaterThan(10);
  expect(counted.map(({ ends }) => ends)).toEqual(Array(FLOODS).fill(REQUESTS));
  expect(harness.faults).toEqual([]);
}, 120_000);
