/** The HTTP and debug ports answer each request with its documented status, and end slow bodies with 408. */

import { once } from 'node:events';
import { request } from 'node:http';
import { connect } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { Registry } from 'prom-client';
import { UnavailableError } from '../../../src/lib/errors';
import { makeMetrics } from '../../../src/server/observability/metrics/metrics';
import { PrometheusText } from '../../../src/server/observability/metrics/prometheus-text';
import { readMetrics } from '../../../src/server/observability/metrics/metrics-snapshot';
import { debugRoutes } from '../../../src/server/transport/http/debug-routes';
import { httpRoutes, JSON_BODY_BYTES_MAX } from '../../../src/server/transport/http/http-routes';
import { HttpServer } from '../../../src/server/transport/http/http-server';
import { httpRequest } from '../../support/clients/http-client';
import { allow, deferred, Harness } from '../../support/servers/transport-harness';
import { until } from '../../support/clock/until';

const BODY = '{"domain":"edge","descriptors":[{"entries":[{"key":"user","value":"zoe"}]}]}';

/** Far longer than a close without a request takes. */
const CLOSED_MS = 10_000;

describe('the HTTP port', () => {
  let harness: Harness;
  let server: HttpServer;
  let base: string;

  beforeEach(async () => {
    harness = new Harness('grpc-js');
    harness.health.serve();
    const { routes } = httpRoutes({ answerCalls: harness.answerCalls, health: harness.health });
    server = new HttpServer({ routes, log: { error: ({ err }) => harness.faults.push(err) } });
    base = `http://127.0.0.1:${(await server.start({ host: '127.0.0.1', port: 0 })).port}`;
  });

  afterEach(() => server.close({ timeoutMs: 0 }));

  function postJson(body: string | Uint8Array<ArrayBuffer>): Promise<Response> {
    return fetch(`${base}/json`, { method: 'POST', body });
  }

  it('/json answers an allowed request 200, in protojson', async () => {
    const response = await postJson(BODY);
    expect(response.status).toBe(200);
    expect(response.headers.get('content-type')).toBe('application/json');
    expect(await response.json()).toEqual({ overallCode: 'OK', statuses: [{ code: 'OK' }] });
    expect(harness.requests).toEqual([{ domain: 'edge', descriptors: [{ entries: [{ key: 'user', value: 'zoe' }] }], hits: 1 }]);
  });

  it('/json answers a denied request 429, with any method', async () => {
    harness.decide = () => Promise.resolve({ overallCode: 'OVER_LIMIT', statuses: [] });
    expect((await fetch(`${base}/json?x=1`, { method: 'PUT', body: BODY })).status).toBe(429);
  });

  it.each([
    ['no JSON', '{', 400, /^the body is not JSON in UTF-8; post a RateLimitRequest, such as \{"domain":"shop",.*\}\n$/],
    ['no body', '', 400, /^the body is empty; post a RateLimitRequest as JSON/],
    ['an unknown field', '{"domain":"edge","hits":1}', 400, /^hits is not a known field; did you mean hits_addend\?\n$/],
    ['a bad request', '{"domain":""}', 400, /^rate limit domain must not be empty\n$/],
  ])('/json answers %s with a line of text', async (_name, body, status, text) => {
    const response = await postJson(body);
    expect(response.status).toBe(status);
    expect(response.headers.get('content-type')).toMatch(/^text\/plain/);
    expect(await response.text()).toMatch(text);
    expect(harness.failures).toEqual(['bad_request']);
  });

  it('/json answers 503 if nothing can decide, and 500 without details for an error', async () => {
    harness.decide = () => Promise.reject(new UnavailableError('redis does not answer'));
    const unavailable = await postJson(BODY);
    expect([unavailable.status, await unavailable.text()]).toEqual([503, 'redis does not answer\n']);
    harness.decide = () => Promise.reject(new Error('key user=zoe broke'));
    const fault = await postJson(BODY);
    expect([fault.status, await fault.text()]).toEqual([500, 'internal error; see the log of the rate limit service\n']);
  });

  it.each(['http://weir.example/healthcheck', 'HTTPS://weir.example:8080/healthcheck?x=/y'])(
    'the port answers a target that is a whole URL: %s',
    async (target) => {
      const { port, hostname } = new URL(base);
      const answered = new Promise<number | undefined>((resolve, reject) => {
        // As it is written, which fetch does not.
        request({ host: hostname, port, path: target }, ({ statusCode }) => {
          resolve(statusCode);
        })
          .once('error', reject)
          .end();
      });
      expect(await answered).toBe(200);
    },
  );

  it('the port answers 413 to a body above its bound, announced or not, and goes on', async () => {
    const large = new Uint8Array(JSON_BODY_BYTES_MAX + 1);
    expect((await postJson(large)).status).toBe(413);
    const chunked = await fetch(`${base}/json`, { method: 'POST', body: new Blob([large]).stream(), duplex: 'half' });
    expect(chunked.status).toBe(413);
    expect((await postJson(BODY)).status).toBe(200);
  });

  it.each([
    ['too large', ''],
    ['no JSON from its first byte', 'x'],
  ])('a client that closes its connection after a body that is %s reads the whole reply', async (_name, first) => {
    // Larger than what the kernel buffers, so that most of the body is still to be sent when it is rejected.
    const bytes = 64 * 2 ** 20;
    const socket = connect({ host: '127.0.0.1', port: Number(new URL(base).port) });
    const failed: Error[] = [];
    socket.once('error', (error) => failed.push(error));
    const chunks: Buffer[] = [];
    socket.on('data', (chunk: Buffer) => chunks.push(chunk));
    const length = first === '' ? bytes : JSON_BODY_BYTES_MAX;
    socket.write(`POST /json HTTP/1.1\r\nhost: weir\r\nconnection: close\r\ncontent-length: ${length}\r\n\r\n${first}`);
    socket.write(Buffer.alloc(length - first.length));
    await once(socket, 'close');
    expect(failed).toEqual([]);
    expect(Buffer.concat(chunks).toString()).toMatch(first === '' ? /^HTTP\/1.1 413 / : /^HTTP\/1.1 400 /);
  });

  it('/healthcheck reports health and what is degraded', async () => {
    const get = async (): Promise<[number, string]> => {
      const response = await fetch(`${base}/healthcheck`);
      return [response.status, await response.text()];
    };
    expect(await get()).toEqual([200, 'OK']);
    harness.health.degrade('degraded: redis');
    expect(await get()).toEqual([200, 'OK\ndegraded: redis\n']);
    harness.health.recover('degraded: redis');
    expect(await get()).toEqual([200, 'OK']);
    harness.health.startDrain();
    expect((await get())[0]).toBe(500);
  });

  it('/ lists the endpoints of the port', async () => {
    const response = await fetch(base);
    expect(response.status).toBe(200);
    const text = await response.text();
    expect(text).toContain('/json: POST a rate limit request');
    expect(text).toContain('/healthcheck');
    expect((await fetch(base, { method: 'POST' })).status).toBe(405);
  });

  it('the port answers 408 to a slow body and closes the connection', async () => {
    const { routes } = httpRoutes({ answerCalls: harness.answerCalls, health: harness.health });
    const hasty = new HttpServer({
      routes,
      log: { error: () => undefined },
      bounds: { requestTimeoutMs: 200, headersTimeoutMs: 200, checkMs: 20 },
    });
    const { port } = await hasty.start({ host: '127.0.0.1', port: 0 });
    const slow = connect(port, '127.0.0.1');
    const received: Buffer[] = [];
    slow.on('error', () => undefined).on('data', (data: Buffer) => received.push(data));
    slow.write('POST /json HTTP/1.1\r\nhost: weir\r\ncontent-length: 100\r\n\r\n{');
    await once(slow, 'close');
    expect(Buffer.concat(received).toString()).toMatch(/^HTTP\/1\.1 408 /);
    await hasty.close({ timeoutMs: 0 });
  });

  it.each(['POST', 'PUT', 'DELETE', 'PATCH'])('the port answers %s of /healthcheck 405, with the allowed methods', async (method) => {
    const response = await fetch(`${base}/healthcheck`, { method });
    expect([response.status, response.headers.get('allow'), await response.text()]).toEqual([
      405,
      'GET, HEAD, OPTIONS',
      'the method must be one of GET, HEAD, OPTIONS\n',
    ]);
    for (const probe of ['GET', 'HEAD', 'OPTIONS']) expect((await fetch(`${base}/healthcheck`, { method: probe })).status).toBe(200);
  });

  it("the port accepts a path with the server's name before it", async () => {
    const { port } = new URL(base);
    const status = new Promise((resolve, reject) => {
      request({ host: '127.0.0.1', port, path: `${base}/json?x`, method: 'POST' }, (response) => {
        resolve(response.resume().statusCode);
      })
        .on('error', reject)
        .end(BODY);
    });
    expect(await status).toBe(200);
  });

  it('the port answers 404 to other paths', async () => {
    for (const path of ['/metrics', '/json/', '//json', '/%', '/json%3fx', '/js%6fn', '/%68ealthcheck'])
      expect((await fetch(`${base}${path}`)).status).toBe(404);
  });

  it('the port closes once open requests are answered', async () => {
    const arrived = deferred();
    const decided = deferred();
    harness.decide = async (request) => {
      arrived.resolve();
      await decided.promise;
      return allow(request);
    };
    const inFlight = postJson(BODY);
    await arrived.promise;
    const closed = server.close({ timeoutMs: 10_000 });
    decided.resolve();
    expect((await inFlight).status).toBe(200);
    await closed;
    await expect(postJson(BODY)).rejects.toThrow();
  });

  it.each([
    ['has said nothing', ''],
    ['goes on with a request that is answered', 'GET /nowhere HTTP/1.1\r\nhost: weir\r\ncontent-length: 9\r\n\r\nab'],
  ])('a drain does not wait for a connection that %s', async (_what, bytes) => {
    const peer = connect(Number(new URL(base).port), '127.0.0.1');
    peer.on('error', () => undefined);
    await once(peer, 'connect');
    peer.write(bytes);
    if (bytes !== '') await once(peer, 'data');
    // What comes after it was accepted later.
    expect((await postJson(BODY)).status).toBe(200);
    const ended = once(peer.resume(), 'close');
    const closed = Promise.all([ended, server.close({ timeoutMs: 5 * CLOSED_MS })]).then(() => 'closed');
    await expect(Promise.race([closed, sleep(CLOSED_MS, 'held', { ref: false })])).resolves.toBe('closed');
  });
});

describe('the debug port', () => {
  const registry = new Registry();
  const prometheus = new PrometheusText({});
  const metrics = {
    contentType: prometheus.contentType,
    text: async () => prometheus.write(await readMetrics(registry)),
    read: () => readMetrics(registry),
  };
  const routes = debugRoutes({ configLines: () => Promise.resolve(['edge.user: unit=MINUTE requests_per_unit=3']), metrics });
  const server = new HttpServer({ routes, log: { error: () => undefined } });
  let base: string;

  beforeAll(async () => {
    const { shouldRateLimitError } = makeMetrics({ registry, version: '1.2.3', store: 'memory' });
    shouldRateLimitError.inc({ err_type: 'redis_error' }, 3);
    base = `http://127.0.0.1:${(await server.start({ host: '127.0.0.1', port: 0 })).port}`;
  });

  afterAll(() => server.close({ timeoutMs: 0 }));

  it.each([
    ['/', '/metrics: the metrics, for Prometheus\n/rlconfig: the configuration in force, a line for each limit\n/stats: '],
    ['/rlconfig', 'edge.user: unit=MINUTE requests_per_unit=3\n'],
    ['/metrics', 'weir_build_info{version="1.2.3",store="memory"} 1\n'],
    ['/metrics', 'nodejs_eventloop_lag_seconds'],
  ])('the debug port serves %s', async (path, text) => {
    const response = await fetch(base + path);
    expect(response.status).toBe(200);
    expect(await response.text()).toContain(text);
  });

  it.each(['/', '/metrics', '/stats', '/rlconfig'])('the debug port answers 405 to any method of %s except GET and HEAD', async (path) => {
    for (const method of ['POST', 'PUT', 'DELETE', 'OPTIONS']) {
      const response = await fetch(base + path, { method });
      expect([response.status, response.headers.get('allow')]).toEqual([405, 'GET, HEAD']);
    }
    const head = await fetch(base + path, { method: 'HEAD' });
    expect([head.status, await head.text()]).toEqual([200, '']);
  });

  test('the debug port sends long texts with gzip to clients that accept it', async () => {
    const manyRules = debugRoutes({
      configLines: () => Promise.resolve(Array<string>(2000).fill('edge.user: unit=MINUTE requests_per_unit=3')),
      metrics,
    });
    const long = new HttpServer({ routes: manyRules, log: { error: () => undefined } });
    const url = `http://127.0.0.1:${(await long.start({ host: '127.0.0.1', port: 0 })).port}/rlconfig`;
    const plain = await httpRequest(url, { headers: { 'accept-encoding': 'gzip;q=0, br' } });
    expect([plain.headers['content-encoding'], plain.headers.vary, plain.body]).toEqual([
      undefined,
      'accept-encoding',
      'edge.user: unit=MINUTE requests_per_unit=3\n'.repeat(2000),
    ]);
    const packed = await fetch(url, { headers: { 'accept-encoding': 'gzip' } });
    expect([packed.headers.get('content-encoding'), packed.headers.get('vary'), await packed.text()]).toEqual([
      'gzip',
      'accept-encoding',
      plain.body,
    ]);
    await long.close({ timeoutMs: 0 });
  });

  test('a text of one chunk has its length, with HEAD too', async () => {
    for (const method of ['GET', 'HEAD']) {
      const { headers } = await fetch(`${base}/rlconfig`, { method, headers: { 'accept-encoding': 'gzip' } });
      expect([headers.get('content-length'), headers.get('content-encoding'), headers.get('vary')]).toEqual([
        '43',
        null,
        'accept-encoding',
      ]);
    }
  });

  test('a client that does not read a long reply is disconnected, and the number of such replies is bounded', async () => {
    const body = Array.from({ length: 400 }, () => Buffer.alloc(64 * 1024, 'x'));
    const bounds = { longRepliesMax: 1, longReplyKeptMs: 600_000, replyTimeoutMs: 500 };
    const replyOf = (chunks: readonly Buffer[]) => () => ({ status: 200, contentType: 'text/plain', body: chunks });
    const long = new HttpServer({
      routes: new Map([
        ['/long', replyOf(body)],
        ['/short', replyOf(body.slice(0, 1))],
        ['/empty', replyOf([])],
      ]),
      log: { error: () => undefined },
      bounds,
    });
    const { port } = await long.start({ host: '127.0.0.1', port: 0 });
    const deaf = connect(port, '127.0.0.1').on('error', () => undefined);
    deaf.write('GET /long HTTP/1.1\r\nhost: weir\r\n\r\n');
    await once(deaf, 'readable');
    expect((await fetch(`http://127.0.0.1:${port}/long`)).status).toBe(503);
    expect((await fetch(`http://127.0.0.1:${port}/short`)).status).toBe(200);
    expect((await fetch(`http://127.0.0.1:${port}/empty`)).status).toBe(200);
    // Without its data being read: the server closes the connection by itself.
    await until(async () => (await fetch(`http://127.0.0.1:${port}/long`)).status === 200);
    deaf.destroy();
    await long.close({ timeoutMs: 0 });
  });

  test('clients that do not read a long reply do not keep out others: the oldest of them ends', async () => {
    const body = Array.from({ length: 400 }, () => Buffer.alloc(64 * 1024, 'x'));
    const long = new HttpServer({
      routes: new Map([['/long', () => ({ status: 200, contentType: 'text/plain', body })]]),
      log: { error: () => undefined },
      bounds: { longRepliesMax: 3, longReplyKeptMs: 0, replyTimeoutMs: 600_000 },
    });
    const { port } = await long.start({ host: '127.0.0.1', port: 0 });
    const deaf = [];
    for (let n = 0; n < 3; n += 1) {
      const socket = connect(port, '127.0.0.1').on('error', () => undefined);
      socket.write('GET /long HTTP/1.1\r\nhost: weir\r\n\r\n');
      await once(socket, 'readable');
      deaf.push(socket);
    }
    const scrape = await httpRequest(`http://127.0.0.1:${port}/long`);
    expect([scrape.status, scrape.body.length]).toEqual([200, 400 * 64 * 1024]);
    await once(deaf[0]!.resume(), 'close');
    expect(deaf.slice(1).map(({ destroyed }) => destroyed)).toEqual([false, false]);
    for (const socket of deaf) socket.destroy();
    await long.close({ timeoutMs: 0 });
  });

  test('/stats has the metrics under their names in statsd, and memory, as JSON', async () => {
    const response = await fetch(`${base}/stats`);
    expect(response.headers.get('content-type')).toBe('application/json');
    const { stats, memory } = (await response.json()) as { stats: Record<string, number>; memory: Record<string, number> };
    expect(stats).toMatchObject({ 'ratelimit.service.call.should_rate_limit.redis_error': 3, 'weir.grpc_connections': 0 });
    expect(Object.keys(stats)).toEqual(Object.keys(stats).sort());
    expect(memory.heapUsed).toBeGreaterThan(1_000_000);
  });
});
