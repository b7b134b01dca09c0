/** Bodies in tiny chunks and many requests in one packet stop no decision of others. */

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import path from 'node:path';
import { LINGER, type PacedSocket } from '../../../src/lib/wire/paced-socket';
import { JsonBodies } from '../../../src/server/transport/http/http-body';
import { forMethods, HttpServer, textReply, type Route } from '../../../src/server/transport/http/http-server';
import { startAdminServer, TOKENS, type AdminHarness } from '../../support/admin/admin-server';
import { RlsClient } from '../../support/clients/rls-client';
import { until } from '../../support/clock/until';
import { writeConfig } from '../../support/config/temp-config';
import { figure } from '../../support/docs/figure';
import { startWeir } from '../../support/processes/weir-process';
import { isLong } from '../../support/random/form';

const HEAD = (target: string, headers = '') => `POST ${target} HTTP/1.1\r\nhost: weir\r\ntransfer-encoding: chunked\r\n${headers}\r\n`;

const ATTACK = path.resolve(__dirname, '..', '..', 'support', 'clients', 'chunk-flood.cjs');

/** 64 KiB on the wire. */
const ONE_BYTE_CHUNKS = Buffer.from('1\r\n \r\n'.repeat(10_923));

/** The parser has read at most this of a body in small chunks: 2,048 of 6 bytes, and a slice. */
const PARSED_MAX = 16 * 1024;

/** Sends for as long as the peer reads, until the connection ends, and resolves to the answer. */
async function flood(port: number, head: string): Promise<{ readonly answer: string; readonly sent: number }> {
  const socket = connect({ host: '127.0.0.1', port, allowHalfOpen: true });
  const chunks: Buffer[] = [];
  let hasEnded = false;
  socket.on('error', () => undefined);
  socket.on('data', (chunk: Buffer) => chunks.push(chunk));
  socket.once('end', () => {
    hasEnded = true;
  });
  socket.write(head);
  const send = () => {
    while (!socket.destroyed && !hasEnded) if (!socket.write(ONE_BYTE_CHUNKS)) return;
    socket.end();
  };
  socket.on('drain', send);
  socket.once('end', send);
  send();
  await once(socket, 'close');
  return { answer: Buffer.concat(chunks).toString('latin1'), sent: socket.bytesWritten };
}

describe('bodies in chunks of one byte', () => {
  const bodies = new JsonBodies();
  let parsed: Socket | undefined;
  let pieces = 0;
  const seen =
    (route: Route): Route =>
    (request) => {
      parsed = request.socket;
      request.on('data', () => {
        pieces += 1;
      });
      return route(request);
    };
  const server = new HttpServer({
    routes: new Map<string, Route>([
      [
        '/read',
        seen(async (request) => {
          const read = await bodies.read(request, { bytesMax: 1024 * 1024 }, (body) => Promise.resolve({ body }));
          return 'status' in read
            ? textReply(read.status, read.message)
            : textReply(400, read.body instanceof Error ? read.body.message : `read ${read.body.length} bytes`);
        }),
      ],
      ['/get', seen(forMethods(['GET'], () => textReply(200, 'ok')))],
      [
        '/dropped',
        seen((request) => {
          request.resume();
          return textReply(200, 'ok');
        }),
      ],
    ]),
    log: {
      error: ({ err }) => {
        throw err;
      },
    },
  });
  let port: number;
  let admin: AdminHarness;

  beforeAll(async () => {
    ({ port } = await server.start({ host: '127.0.0.1', port: 0 }));
    admin = await startAdminServer();
  });

  beforeEach(() => {
    parsed = undefined;
    pieces = 0;
  });

  afterAll(async () => {
    await server.close({ timeoutMs: 0 });
    await admin.close();
  });

  it.each([
    ['a route that reads them', '/read', 400, /has over 2048 chunks of under 32 bytes/],
    ['a route that drops them', '/dropped', 200, /ok$/],
    ['a route that refuses them', '/get', 405, /GET/],
    ['a path that does not exist', '/nowhere', 404, /not found/],
  ])('%s answers, reads no more of them, and ends the connection', async (_what, target, status, text) => {
    const { answer, sent } = await flood(port, HEAD(target));
    expect(answer).toMatch(new RegExp(`^HTTP/1.1 ${status} `));
    expect(answer).toMatch(/\r\nconnection: close\r\n/i);
    expect(answer).toMatch(text);
    expect(pieces).toBeLessThanOrEqual(2_300);
    const { parsedBytes = 0 } = (parsed ?? {}) as Partial<PacedSocket>;
    expect(parsedBytes).toBeLessThanOrEqual(PARSED_MAX);
    // What the kernel holds is beyond the bound.
    expect(sent).toBeLessThan(LINGER.bytes + 32 * 1024 * 1024);
  });

  it.each([
    ['without a token', 'PUT', '/v1/blocks/x', '', 401],
    ['on a path that does not exist', 'POST', '/nowhere', `authorization: Bearer ${TOKENS.admin}\r\n`, 404],
    ['with a token', 'PUT', '/v1/blocks/x', `authorization: Bearer ${TOKENS.admin}\r\ncontent-type: application/json\r\n`, 400],
  ])('the admin API answers them %s, and ends the connection', async (_what, method, target, headers, status) => {
    const { answer } = await flood(Number(new URL(admin.url).port), HEAD(target, headers).replace('POST', method));
    expect(answer).toMatch(new RegExp(`^HTTP/1.1 ${status} `));
    expect(answer).toMatch(/\r\nconnection: close\r\n/i);
    expect(admin.errors).toEqual([]);
  });

  it('a body of some small chunks is read, and one of large chunks has no bound but its size', async () => {
    const answers: string[] = [];
    for (const chunk of ['1\r\n \r\n'.repeat(2_000), `40\r\n${' '.repeat(64)}\r\n`.repeat(16_000)]) {
      const socket = connect(port, '127.0.0.1');
      const chunks: Buffer[] = [];
      socket.on('data', (data: Buffer) => chunks.push(data));
      socket.write(`${HEAD('/read')}${chunk}0\r\n\r\n`);
      await until(() => Buffer.concat(chunks).includes('\r\n\r\n'));
      answers.push(Buffer.concat(chunks).toString());
      socket.destroy();
    }
    for (const answer of answers) {
      expect(answer).toMatch(/keep-alive/i);
      expect(answer).toMatch(/read \d+ bytes/);
    }
  });

  it('a small body after its answer leaves the connection open', async () => {
    const socket = connect(port, '127.0.0.1');
    const chunks: Buffer[] = [];
    socket.on('data', (data: Buffer) => chunks.push(data));
    const answers = () =>
      Buffer.concat(chunks)
        .toString()
        .match(/HTTP\/1.1 200/g)?.length ?? 0;
    for (let n = 1; n <= 3; n += 1) {
      socket.write('POST /dropped HTTP/1.1\r\nhost: weir\r\ncontent-length: 4\r\n\r\n');
      await until(() => answers() === n);
      socket.write('body');
    }
    socket.destroy();
  });
});

describe('many requests in one packet', () => {
  const REQUESTS = 1_500;

  it('they are answered over several turns of the loop, in which others are answered', async () => {
    const turns: number[] = [];
    let turn = 0;
    const count = setInterval(() => {
      turn += 1;
    }, 0);
    const server = new HttpServer({
      routes: new Map<string, Route>([
        [
          '/',
          forMethods(['GET'], () => {
            turns.push(turn);
            return textReply(200, 'ok');
          }),
        ],
      ]),
      log: { error: () => undefined },
    });
    const { port } = await server.start({ host: '127.0.0.1', port: 0 });
    const socket = connect(port, '127.0.0.1');
    const chunks: Buffer[] = [];
    socket.on('data', (data: Buffer) => chunks.push(data));
    socket.write('GET / HTTP/1.1\r\nhost: weir\r\n\r\n'.repeat(REQUESTS));
    await until(() => turns.length === REQUESTS);
    await until(
      () =>
        (
          Buffer.concat(chunks)
            .toString()
            .match(/200 OK/g) ?? []
        ).length === REQUESTS,
    );
    clearInterval(count);
    expect(new Set(turns).size).toBeGreaterThan(3);
    socket.destroy();
    await server.close({ timeoutMs: 0 });
  });
});

/** Both in one run, on the same machine: how much later decisions come. */
describe('decisions during an attack', () => {
  const SECONDS = isLong ? 5 : 1;
  const CONNECTIONS = 4;

  it.each(['/json', '/nowhere'])('four connections with chunks of one byte to %s leave decisions quick', async (target) => {
    const weir = await startWeir({ config: writeConfig('domain: d\ndescriptors: [{ key: k }]\n'), env: { BACKEND_TYPE: 'memory' } });
    const client = new RlsClient(weir.grpcPort);
    const measure = async (): Promise<{ readonly p50: number; readonly p99: number }> => {
      const times: number[] = [];
      const endMs = performance.now() + SECONDS * 1_000;
      while (performance.now() < endMs) {
        const startedMs = performance.now();
        await client.ask('d', [{ entries: { k: 'v' } }], { timeoutMs: 60_000 });
        times.push(performance.now() - startedMs);
      }
      times.sort((one, other) => one - other);
      return { p50: times[Math.floor(times.length / 2)]!, p99: times[Math.floor(times.length * 0.99)]! };
    };
    await measure();
    const calm = await measure();
    // A process of its own, so that its work delays no caller.
    const attack = spawn(process.execPath, [ATTACK, String(weir.httpPort), target, String(CONNECTIONS)], { stdio: 'inherit' });
    const attacked = await measure();
    attack.kill('SIGKILL');
    const shown = ({ p50, p99 }: typeof calm) => `p50 ${p50.toFixed(2)} ms, p99 ${p99.toFixed(2)} ms`;
    figure(`calm ${shown(calm)}; attacked ${shown(attacked)}`);
    client.close();
    await weir.stop();
    // It was more than a hundredfold. A second is too short to measure it on a busy machine.
    if (isLong) expect(attacked.p50).toBeLessThan(20 * Math.max(calm.p50, 1));
  });
});
