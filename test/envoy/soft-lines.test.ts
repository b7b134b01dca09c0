/** Behind a real Envoy the backend and the client get the headers of soft lines, the access log its metadata, and no decision costs another command. */

import { httpRequest } from '../support/clients/http-client';
import { RlsClient } from '../support/clients/rls-client';
import { until } from '../support/clock/until';
import { writeConfig } from '../support/config/temp-config';
import { startWeir, type WeirProcess } from '../support/processes/weir-process';
import { makeTestClient } from '../support/redis/redis-store';
import { startRedis, type RedisServer } from '../support/redis/redis-server';
import { TRANSPORTS } from '../support/servers/transport-harness';
import { startGateway, warmUp } from './chain/gateway';

const SOFT =
  'soft: [{ at: 50%, response_headers: { x-quota: half } }, { at: 80%, request_headers: { x-tier: economy }, response_headers: { x-quota: soon } }]';
const config = (soft: string) =>
  writeConfig(`
domain: payments
algorithm: fixed_window
descriptors:
  - key: plan
    value: free
    descriptors:
      - key: merchant
        rate_limit: { unit: year, requests_per_unit: 1000000 }
  - key: path
    value: /login
    descriptors:
      - key: client
        rate_limit: { unit: year, requests_per_unit: 10, ${soft} }
  - key: k
    rate_limit: { unit: year, requests_per_unit: 10, ${soft} }
`);
const TIMEOUT_MS = 60_000;

let redis: RedisServer;

beforeAll(async () => {
  redis = await startRedis();
}, TIMEOUT_MS);

afterAll(() => redis.stop());

test(
  'the backend and the client get the headers of the lines that are passed, and the access log the highest',
  async () => {
    const weir = await startWeir({ config: config(SOFT), env: { BACKEND_TYPE: 'memory' } });
    const gateway = await startGateway({
      weirGrpcPort: weir.grpcPort,
      replacements: { '%RESPONSE_FLAGS%': '%RESPONSE_FLAGS% soft=%DYNAMIC_METADATA(envoy.filters.http.ratelimit:soft_at)%' },
    });
    await warmUp(gateway);
    const seen: (readonly [number, unknown, unknown])[] = [];
    for (let i = 0; i < 11; i += 1) {
      const { status, headers } = await gateway.get('/login', { merchant: 'm', client: 'c' });
      seen.push([status, headers['x-quota'], status === 200 ? gateway.backendHeaders()['x-tier'] : undefined]);
    }
    expect(seen).toEqual([
      ...Array.from({ length: 4 }, () => [200, undefined, undefined]),
      ...Array.from({ length: 3 }, () => [200, 'half', undefined]),
      ...Array.from({ length: 3 }, () => [200, 'soon', 'economy']),
      [429, undefined, undefined],
    ]);
    await until(() => gateway.output().split('soft=80').length === 4);
    expect(gateway.output().split('soft=50')).toHaveLength(4);
    await gateway.stop();
    await weir.stop();
  },
  TIMEOUT_MS,
);

describe.each(TRANSPORTS)('over %s', (transport) => {
  let weirs: readonly WeirProcess[];

  beforeAll(async () => {
    const env = { REDIS_URL: `127.0.0.1:${redis.port}`, REDIS_OP_TIMEOUT: '1s', TRANSPORT: transport, DENY_CACHE_MAX: '0' };
    weirs = await Promise.all(
      [SOFT, ''].map((soft, i) => startWeir({ config: config(soft), env: { ...env, CACHE_KEY_PREFIX: `${transport}${i}:` } })),
    );
  }, TIMEOUT_MS);

  afterAll(async () => {
    for (const weir of weirs) await weir.stop();
  });

  test('the answer has the headers and the metadata, and Redis gets no further command', async () => {
    const admin = makeTestClient(redis.port);
    await admin.connect();
    const costs: number[] = [];
    for (const { grpcPort } of weirs) {
      const client = new RlsClient(grpcPort);
      await client.ask('payments', [{ entries: { k: 'warm' } }]);
      await admin.sendCommand(['CONFIG', 'RESETSTAT']);
      for (let i = 0; i < 7; i += 1) await client.ask('payments', [{ entries: { k: 'a' } }]);
      costs.push(Number(/cmdstat_evalsha:calls=(\d+)/.exec(await admin.sendCommand<string>(['INFO', 'commandstats']))?.[1]));
      const answer = await client.ask('payments', [{ entries: { k: 'a' } }]);
      const isSoft = grpcPort === weirs[0]!.grpcPort;
      expect(answer.request_headers_to_add ?? []).toEqual(isSoft ? [{ key: 'x-tier', value: 'economy' }] : []);
      expect(answer.response_headers_to_add ?? []).toEqual(isSoft ? [{ key: 'x-quota', value: 'soon' }] : []);
      client.close();
    }
    // Heartbeats are scripts, too.
    expect(Math.abs(costs[0]! - costs[1]!)).toBeLessThanOrEqual(2);
    admin.destroy();
  });

  test('/json and /check have them too', async () => {
    const [{ httpPort }] = weirs as [WeirProcess];
    const ask = () =>
      httpRequest(`http://127.0.0.1:${httpPort}/json`, {
        body: { domain: 'payments', descriptors: [{ entries: [{ key: 'k', value: 'j' }] }] },
      });
    for (let i = 0; i < 7; i += 1) await ask();
    expect(JSON.parse((await ask()).body)).toMatchObject({
      requestHeadersToAdd: [{ key: 'x-tier', value: 'economy' }],
      responseHeadersToAdd: [{ key: 'x-quota', value: 'soon' }],
      dynamicMetadata: { soft_at: 80 },
    });
  });
});
