/** Idle connections up to the maximum of a port keep out no probe. */

import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { HttpServer, textReply, type HttpReply, type Route } from '../../../src/server/transport/http/http-server';
import { httpRequest } from '../../support/clients/http-client';
import { until } from '../../support/clock/until';

const CONNECTIONS_MAX = 16;

let answers: ((reply: HttpReply) => void)[];
let dropped: number;
let faults: Error[];
let server: HttpServer;
let port: number;
const sockets: Socket[] = [];

beforeEach(async () => {
  [answers, dropped, faults] = [[], 0, []];
  server = new HttpServer({
    routes: new Map<string, Route>([
      ['/health', () => textReply(200, 'OK')],
      ['/wait', () => new Promise<HttpReply>((resolve) => answers.push(resolve))],
      ['/wrong', () => ({ ...textReply(200, ''), headers: { 'x-wrong': 'a\nb' } })],
    ]),
    log: { error: ({ err }) => faults.push(err as Error) },
    bounds: { connectionsMax: CONNECTIONS_MAX },
    onTooMany: () => {
      dropped += 1;
    },
  });
  ({ port } = await server.start({ host: '127.0.0.1', port: 0 }));
});

afterEach(async () => {
  for (const socket of sockets.splice(0)) socket.destroy();
  await server.close({ timeoutMs: 0 });
});

async function open(bytes: string): Promise<Socket> {
  const socket = connect(port, '127.0.0.1').on('error', () => undefined);
  sockets.push(socket);
  await once(socket, 'connect');
  if (bytes !== '') socket.write(bytes);
  return socket;
}

const probe = () => httpRequest(`http://127.0.0.1:${port}/health`);

it.each([
  ['say nothing', ''],
  ['have sent half of a head', 'GET /health HTTP/1.1\r\nhost: w'],
  ['keep a connection after an answer', 'GET /health HTTP/1.1\r\nhost: weir\r\n\r\n'],
])('a probe is answered beside the maximum of connections that %s: the oldest one ends', async (_what, bytes) => {
  const idle = [];
  for (let n = 0; n < CONNECTIONS_MAX; n += 1) {
    const socket = await open(bytes);
    if (bytes.endsWith('\r\n\r\n')) await once(socket, 'data');
    idle.push(socket.resume());
  }
  const ended = once(idle[0]!, 'close');
  for (let n = 0; n < 3; n += 1) expect((await probe()).status).toBe(200);
  await ended;
  expect(idle.at(-1)!.destroyed).toBe(false);
  expect(dropped).toBeGreaterThan(0);
});

it('connections that wait for an answer are kept, and the new one ends', async () => {
  const waiting = [];
  for (let n = 0; n < CONNECTIONS_MAX; n += 1) waiting.push(await open('GET /wait HTTP/1.1\r\nhost: weir\r\n\r\n'));
  await until(() => answers.length === CONNECTIONS_MAX);
  const refused = await open('');
  await once(refused.resume(), 'close');
  expect(dropped).toBe(1);
  for (const answer of answers) answer(textReply(200, 'late'));
  await Promise.all(waiting.map((socket) => once(socket, 'data')));
});

it('an answer that Node refuses to send ends its connection with a line of the log', async () => {
  const socket = await open('GET /wrong HTTP/1.1\r\nhost: weir\r\n\r\n');
  await once(socket.resume(), 'close');
  expect(faults.map(({ message }) => message)).toEqual([expect.stringContaining('Invalid character in header')]);
  expect((await probe()).status).toBe(200);
});
