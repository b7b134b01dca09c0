/** The HTTP and debug ports over real connections: /json, /healthcheck, /rlconfig, /metrics, and the drain. */

import { once } from 'node:events';
import { request } from 'node:http';
import { connect } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { Registry } from 'prom-client';
import { UnavailableError } from '../../src/errors';
import { makeMetrics } from '../../src/observability/metrics';
import { readMetrics } from '../../src/observability/reading';
import { debugRoutes } from '../../src/transport/debug-routes';
import { httpRoutes, JSON_BODY_BYTES_MAX } from '../../src/transport/http-routes';
import { HttpServer } from '../../src/transport/http-server';
import { allow, deferred, Harness } from '../support/transport-harness';

const BODY = '{"domain":"edge","descriptors":[{"entries":[{"key":"user","value":"zoe"}]}]}';

/** Far longer than a close without a request takes. */
const CLOSED_MS = 2_000;

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

  it('answers an allowed request 200, in protojson', async () => {
    const response = await postJson(BODY);
    expect(response.status).toBe(200);
    expect(response.headers.get('content-type')).toBe('application/json');
    expect(await response.json()).toEqual({ overallCode: 'OK', statuses: [{ code: 'OK' }] });
    expect(harness.requests).toEqual([{ domain: 'edge', descriptors: [{ entries: [{ key: 'user', value: 'zoe' }] }], hits: 1 }]);
  });

  it('answers a denied request 429, whatever its method', async () => {
    harness.decide = () => Promise.resolve({ overallCode: 'OVER_LIMIT', statuses: [] });
    expect((await fetch(`${base}/json?x=1`, { method: 'PUT', body: BODY })).status).toBe(429);
  });

  it.each([
    ['no JSON', '{', 400, /^the body is no JSON in UTF-8; send a RateLimitRequest as protojson writes it\n$/],
    ['no body', '', 400, /^the body is no JSON/],
    ['an unknown field', '{"domain":"edge","hits":1}', 400, /^hits is no known field; take it out\n$/],
    ['a bad request', '{"domain":""}', 400, /^rate limit domain must not be empty\n$/],
  ])('answers %s with a line of text', async (_name, body, status, text) => {
    const response = await postJson(body);
    expect(response.status).toBe(status);
    expect(response.headers.get('content-type')).toMatch(/^text\/plain/);
    expect(await response.text()).toMatch(text);
    expect(harness.failures).toEqual(['bad_request']);
  });

  it('answers 503 if nothing can decide, and 500 without a word about a fault', async () => {
    harness.decide = () => Promise.reject(new UnavailableError('redis does not answer'));
    const unavailable = await postJson(BODY);
    expect([unavailable.status, await unavailable.text()]).toEqual([503, 'redis does not answer\n']);
    harness.decide = () => Promise.reject(new Error('key user=zoe broke'));
    const fault = await postJson(BODY);
    expect([fault.status, await fault.text()]).toEqual([500, 'internal error; see the log of the rate limit service\n']);
  });

  it.each(['http://weir.example/healthcheck', 'HTTPS://weir.example:8080/healthcheck?x=/y'])('answers a target that is a whole URL: %s', async (target) => {
    const { port, hostname } = new URL(base);
    const answered = new Promise<number | undefined>((resolve, reject) => {
      // As it is written, which fetch does not.
      request({ host: hostname, port, path: target }, ({ statusCode }) => { resolve(statusCode); }).once('error', reject).end();
    });
    expect(await answered).toBe(200);
  });

  it('answers 413 to a body over its bound, announced or not, and lives on', async () => {
    const large = new Uint8Array(JSON_BODY_BYTES_MAX + 1);
    expect((await postJson(large)).status).toBe(413);
    const chunked = await fetch(`${base}/json`, { method: 'POST', body: new Blob([large]).stream(), duplex: 'half' });
    expect(chunked.status).toBe(413);
    expect((await postJson(BODY)).status).toBe(200);
  });

  it('tells the health, with what is degraded', async () => {
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

  it('takes a path with escapes, and with the name of the server before it', async () => {
    expect((await fetch(`${base}/js%6fn`, { method: 'POST', body: BODY })).status).toBe(200);
    const { port } = new URL(base);
    const status = new Promise((resolve, reject) => {
      request({ host: '127.0.0.1', port, path: `${base}/json?x`, method: 'POST' }, (response) => { resolve(response.resume().statusCode); }).on('error', reject).end(BODY);
    });
    expect(await status).toBe(200);
  });

  it('answers 404 to the rest', async () => {
    for (const path of ['/metrics', '/json/', '//json', '/%', '/json%3fx']) expect((await fetch(`${base}${path}`)).status).toBe(404);
  });

  it('closes when open requests are answered', async () => {
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
  ])('does not wait for a connection that %s', async (_what, bytes) => {
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
  const metrics = { contentType: registry.contentType, metrics: () => registry.metrics(), read: () => readMetrics(registry) };
  const routes = debugRoutes({ configLines: () => ['edge.user: unit=MINUTE requests_per_unit=3'], metrics });
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
  ])('serves %s', async (path, text) => {
    const response = await fetch(base + path);
    expect(response.status).toBe(200);
    expect(await response.text()).toContain(text);
  });

  test('serves /stats: the metrics under their names in statsd, and memory, as JSON', async () => {
    const response = await fetch(`${base}/stats`);
    expect(response.headers.get('content-type')).toBe('application/json');
    const { stats, memory } = (await response.json()) as { stats: Record<string, number>; memory: Record<string, number> };
    expect(stats).toMatchObject({ 'ratelimit.service.call.should_rate_limit.redis_error': 3, 'weir.grpc_connections': 0 });
    expect(Object.keys(stats)).toEqual(Object.keys(stats).sort());
    expect(memory.heapUsed).toBeGreaterThan(1_000_000);
  });
});
