/** `/check` answers a decision with its status, headers and body, for any method, during a drain and without Redis. */

import { Agent, request } from 'node:http';
import type { Decision } from '../../../src/domain/decide/decision';
import { UnavailableError } from '../../../src/lib/errors';
import { descriptorPlans } from '../../../src/configuration/settings/table/descriptor-plans';
import { httpRoutes } from '../../../src/server/transport/http/http-routes';
import { HttpServer } from '../../../src/server/transport/http/http-server';
import { httpRequest } from '../../support/clients/http-client';
import { until } from '../../support/clock/until';
import { writeConfig } from '../../support/config/temp-config';
import { startWeir } from '../../support/processes/weir-process';
import { freePort } from '../../support/servers/ports';
import { allow, Harness } from '../../support/servers/transport-harness';

const DENIED: Decision = {
  overallCode: 'OVER_LIMIT',
  statuses: [],
  headers: [
    { name: 'RateLimit', value: '"a";r=0;t=3' },
    { name: 'Retry-After', value: '3' },
    { name: 'Content-Type', value: 'application/json' },
  ],
  body: '{"error":"slow down"}',
};

describe('the route', () => {
  let harness: Harness;
  let server: HttpServer;
  let base: string;
  let outcomes: string[];
  let isConfigured: boolean;

  beforeEach(async () => {
    harness = new Harness('grpc-js');
    outcomes = [];
    isConfigured = true;
    const parsed = descriptorPlans().parse('client=client_ip; tenant=header:x-tenant,route=query:route');
    if (parsed === undefined || !('value' in parsed)) throw new Error('not parsed');
    const { routes } = httpRoutes({
      answerCalls: harness.answerCalls,
      health: harness.health,
      isConfigured: () => isConfigured,
      check: {
        plan: { domain: 'shop', descriptors: parsed.value, trustedHops: 0, hitsHeader: 'x-cost' },
        onChecked: (outcome) => outcomes.push(outcome),
      },
    });
    server = new HttpServer({ routes, log: { error: ({ err }) => harness.faults.push(err) } });
    base = `http://127.0.0.1:${(await server.start({ host: '127.0.0.1', port: 0 })).port}`;
  });

  afterEach(() => server.close({ timeoutMs: 0 }));

  it('/check answers 200 with the headers of the decision and no body', async () => {
    harness.decide = (asked) => Promise.resolve({ ...allow(asked), headers: [{ name: 'RateLimit', value: '"a";r=9;t=0' }] });
    const headers = { 'x-forwarded-for': '10.0.0.1, 192.0.2.7', 'x-tenant': 'gold', 'x-cost': '5' };
    const response = await httpRequest(`${base}/check?route=login`, { headers });
    expect(response).toMatchObject({ status: 200, headers: { ratelimit: '"a";r=9;t=0', 'content-length': '0' }, body: '' });
    expect(harness.requests).toEqual([
      {
        domain: 'shop',
        descriptors: [
          { entries: [{ key: 'client', value: '192.0.2.7' }] },
          {
            entries: [
              { key: 'tenant', value: 'gold' },
              { key: 'route', value: 'login' },
            ],
          },
        ],
        hits: 5,
        saysHits: true,
      },
    ]);
    expect(outcomes).toEqual(['allowed']);
  });

  it('/check answers a denial 429, or the status of ?deny, with headers, body and content type of the decision', async () => {
    harness.decide = () => Promise.resolve(DENIED);
    for (const [path, status] of [
      ['/check', 429],
      ['/check?deny=403', 403],
    ] as const) {
      expect(await httpRequest(`${base}${path}`)).toMatchObject({
        status,
        headers: { ratelimit: '"a";r=0;t=3', 'retry-after': '3', 'content-type': 'application/json' },
        body: '{"error":"slow down"}',
      });
    }
    expect(outcomes).toEqual(['denied', 'denied']);
  });

  it.each(['GET', 'POST', 'PUT', 'DELETE', 'PATCH', 'OPTIONS'])('/check answers %s', async (method) => {
    harness.decide = () => Promise.resolve(DENIED);
    expect(await httpRequest(`${base}/check`, { method })).toMatchObject({ status: 429, body: '{"error":"slow down"}' });
  });

  it('/check answers HEAD without a body', async () => {
    harness.decide = () => Promise.resolve(DENIED);
    expect(await httpRequest(`${base}/check`, { method: 'HEAD' })).toMatchObject({
      status: 429,
      headers: { 'retry-after': '3', 'content-length': '21' },
      body: '',
    });
  });

  it('/check drops a body of any size, and the connection goes on after a small one', async () => {
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    const sockets = new Set<unknown>();
    const send = (body: Buffer): Promise<number> =>
      new Promise((resolve, reject) => {
        const outgoing = request(`${base}/check`, { method: 'POST', agent }, (response) => {
          sockets.add(response.socket);
          response.resume().once('end', () => {
            resolve(response.statusCode ?? 0);
          });
        });
        outgoing.once('error', reject).end(body);
      });
    for (const size of [0, 10, 60 * 1024, 10]) expect(await send(Buffer.alloc(size))).toBe(200);
    expect(sockets.size).toBe(1);
    // The rest of a large body is not read, so its connection ends.
    for (const size of [4 * 1024 * 1024, 10]) expect(await send(Buffer.alloc(size))).toBe(200);
    expect(sockets.size).toBe(2);
    agent.destroy();
  });

  it.each([
    ['/check?route=a&route=b', {}, 400, /given twice/, 'bad_request'],
    ['/check?client=1', {}, 400, /parameter that no descriptor reads/, 'bad_request'],
    ['/check', { 'x-cost': 'ten' }, 400, /x-cost \(CHECK_HITS_HEADER\) must be one whole number/, 'bad_request'],
  ])('/check answers %s with %j by a line of text', async (path, headers, status, text, outcome) => {
    const response = await httpRequest(`${base}${path}`, { headers });
    expect(response.status).toBe(status);
    expect(response.body).toMatch(text);
    expect(outcomes).toEqual([outcome]);
    expect(harness.failures).toEqual([outcome]);
  });

  it('/check answers 503 if nothing can decide, and 500 without details for an error', async () => {
    harness.decide = () => Promise.reject(new UnavailableError('redis does not answer'));
    expect(await httpRequest(`${base}/check`)).toMatchObject({ status: 503, body: 'redis does not answer\n' });
    harness.decide = () => Promise.reject(new Error('client=192.0.2.7 broke'));
    expect(await httpRequest(`${base}/check`)).toMatchObject({
      status: 500,
      body: 'internal error; see the log of the rate limit service\n',
    });
    expect(outcomes).toEqual(['unavailable', 'fault']);
  });

  it('/check warns in a header of a domain that is not configured', async () => {
    isConfigured = false;
    const { status, headers } = await httpRequest(`${base}/check`);
    expect([status, headers['x-weir-warning']]).toEqual([200, 'the domain is not configured, so no limit applies']);
  });

  it('/check refuses headers above the bound of the port, and nothing is counted', async () => {
    const { status } = await httpRequest(`${base}/check`, { headers: { 'x-forwarded-for': '1.2.3.4, '.repeat(2000) } });
    expect(status).toBe(431);
    expect(harness.requests).toEqual([]);
  });
});

describe('the process', () => {
  const CONFIG = writeConfig(`
domain: shop
descriptors:
  - key: client
    rate_limit: {unit: hour, requests_per_unit: 2}
`);
  const CHECK = { CHECK_DOMAIN: 'shop', CHECK_DESCRIPTORS: 'client=client_ip', RESPONSE_HEADERS: 'ietf', BACKEND_TYPE: 'memory' };

  const ask = (port: number, client: string) => httpRequest(`http://127.0.0.1:${port}/check`, { headers: { 'x-forwarded-for': client } });

  it('serves /check only with CHECK_DOMAIN, and names it on its index page', async () => {
    const [without, served] = [
      await startWeir({ config: CONFIG, env: { BACKEND_TYPE: 'memory' } }),
      await startWeir({ config: CONFIG, env: CHECK }),
    ];
    expect((await ask(without.httpPort, '192.0.2.1')).status).toBe(404);
    expect((await httpRequest(`http://127.0.0.1:${without.httpPort}/`)).body).not.toContain('/check');
    const off = await httpRequest(`http://127.0.0.1:${without.httpPort}/check`);
    expect(off).toMatchObject({ status: 404, body: 'not found: CHECK_DOMAIN is not set, so /check is not served\n' });
    expect((await httpRequest(`http://127.0.0.1:${served.httpPort}/`)).body).toContain('/check: ');
    const statuses: number[] = [];
    for (let n = 0; n < 3; n += 1) statuses.push((await ask(served.httpPort, '192.0.2.1')).status);
    expect(statuses).toEqual([200, 200, 429]);
    expect((await ask(served.httpPort, '192.0.2.2')).status).toBe(200);
    const { body } = await httpRequest(`http://127.0.0.1:${served.debugPort}/metrics`);
    expect(body).toMatch(/^weir_checks_total\{outcome="allowed"\} 3$/m);
    expect(body).toMatch(/^weir_checks_total\{outcome="denied"\} 1$/m);
    expect(body).toMatch(/^weir_checks_total\{outcome="fault"\} 0$/m);
    await Promise.all([without.stop(), served.stop()]);
  });

  it('answers /check without Redis by the failure mode of the limit', async () => {
    const modes = { open: 200, closed: 429, unavailable: 503 };
    const rules = Object.keys(modes).map(
      (mode) => `  - {key: mode, value: ${mode}, rate_limit: {unit: hour, requests_per_unit: 2, failure_mode: ${mode}}}`,
    );
    const weir = await startWeir({
      config: writeConfig(`domain: shop\ndescriptors:\n${rules.join('\n')}\n`),
      env: { CHECK_DOMAIN: 'shop', CHECK_DESCRIPTORS: 'mode=query:mode', REDIS_URL: `redis://127.0.0.1:${await freePort()}` },
    });
    for (const [mode, status] of Object.entries(modes))
      expect((await httpRequest(`http://127.0.0.1:${weir.httpPort}/check?mode=${mode}`)).status).toBe(status);
    await weir.stop();
  });

  it('answers /check while it drains, after the health has failed', async () => {
    const weir = await startWeir({ config: CONFIG, env: { ...CHECK, DRAIN_DELAY: '2s' } });
    weir.kill('SIGTERM');
    await until(async () => (await httpRequest(`http://127.0.0.1:${weir.httpPort}/healthcheck`)).status === 500);
    expect((await ask(weir.httpPort, '192.0.2.1')).status).toBe(200);
    await weir.stop();
  });
});
