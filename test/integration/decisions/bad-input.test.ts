/** Each invalid request has its documented answer, on both stores and transports, and the server goes on. */

import { status } from '@grpc/grpc-js';
import { httpRequest } from '../../support/clients/http-client';
import { startRedis, type RedisServer } from '../../support/redis/redis-server';
import { OK, OVER_LIMIT, RlsClient, type AskedDescriptor } from '../../support/clients/rls-client';
import { writeConfig } from '../../support/config/temp-config';
import { startWeir, type WeirProcess } from '../../support/processes/weir-process';

const CONFIG = writeConfig(`
domain: d
descriptors:
  - key: k
    rate_limit: { unit: hour, requests_per_unit: 3, algorithm: token_bucket }
`);

const WAYS = ['memory', 'redis'].flatMap((store) => ['grpc-js', 'lean'].map((transport) => [store, transport] as const));

describe.each(WAYS)('on the %s store, over %s', (store, transport) => {
  let redis: RedisServer | undefined;
  let weir: WeirProcess;
  let client: RlsClient;
  let nextKey = 0;

  beforeAll(async () => {
    redis = store === 'redis' ? await startRedis() : undefined;
    const url = { REDIS_URL: `redis://127.0.0.1:${redis?.port ?? 0}`, REDIS_OP_TIMEOUT: '1s' };
    weir = await startWeir({ config: CONFIG, env: { TRANSPORT: transport, ...(redis === undefined ? { BACKEND_TYPE: 'memory' } : url) } });
    client = new RlsClient(weir.grpcPort);
  });

  afterAll(async () => {
    client.close();
    expect(await weir.stop()).toBe(0);
    await redis?.stop();
  });

  /** A descriptor on a bucket that no other test uses. */
  function fresh(parts: Partial<AskedDescriptor> = {}): AskedDescriptor {
    nextKey += 1;
    return { entries: { k: `fresh-${nextKey}` }, ...parts };
  }

  test.each<[string, string, AskedDescriptor[], string]>([
    ['an empty domain', '', [{ entries: { k: 'v' } }], 'rate limit domain must not be empty'],
    ['no descriptors', 'd', [], 'rate limit descriptor list must not be empty; send at least one'],
    [
      '10,000 entries',
      'd',
      [{ entries: Object.fromEntries(Array.from({ length: 10_000 }, (_, i) => [`k${i}`, 'v'])) }],
      'descriptors[0].entries has over 64 items; send at most 64',
    ],
    ['a value of 1 MB', 'd', [{ entries: { k: 'x'.repeat(1_000_000) } }], 'has 1000000 bytes; send at most 65536'],
    ['an override with unit 0', 'd', [{ entries: { k: 'v' }, limit: { requests_per_unit: 1, unit: 0 } }], 'unit is UNKNOWN'],
    ['an override with unit 99', 'd', [{ entries: { k: 'v' }, limit: { requests_per_unit: 1, unit: 99 } }], 'unit is 99'],
  ])('%s is answered INVALID_ARGUMENT', async (_what, domain, descriptors, message) => {
    await expect(client.ask(domain, descriptors)).rejects.toMatchObject({
      code: status.INVALID_ARGUMENT,
      details: expect.stringContaining(message) as unknown,
    });
  });

  test.each(['4294967295', '9007199254740991', '18446744073709551615'])('%s hits are denied and take nothing', async (value) => {
    const descriptor = fresh({ hits_addend: { value } });
    expect((await client.ask('d', [descriptor])).overall_code).toBe(OVER_LIMIT);
    const peek = await client.ask('d', [{ ...descriptor, hits_addend: { value: '0' } }]);
    expect(peek).toMatchObject({ overall_code: OK, statuses: [{ code: OK, limit_remaining: 3 }] });
  });

  test('0 hits are a peek, and refunds give hits back, never beyond full', async () => {
    const descriptor = fresh();
    const remainingAfter = async (value: string, isNegative = false) =>
      (await client.ask('d', [{ ...descriptor, hits_addend: { value }, is_negative_hits: isNegative }])).statuses[0]!.limit_remaining;
    expect(await remainingAfter('2')).toBe(1);
    expect(await remainingAfter('0')).toBe(1);
    expect(await remainingAfter('1', true)).toBe(2);
    expect(await remainingAfter('18446744073709551615', true)).toBe(3);
  });

  test('invalid UTF-8 and NUL count as bytes of their own', async () => {
    const values = ['a\x00b', 'a\x01b', '\xff\xfe', '\xff\xfd', '\xef\xbf\xbd', ''];
    for (const value of values) {
      const raw = (hits: number) => client.askRaw({ domain: 'd', hits_addend: hits, descriptors: [{ entries: [{ key: 'k', value }] }] });
      expect((await raw(3)).overall_code).toBe(OK);
      expect((await raw(1)).overall_code).toBe(OVER_LIMIT);
    }
  });

  test('an override of WEEK counts in its own bucket', async () => {
    const descriptor = fresh({ limit: { requests_per_unit: 1, unit: 7 } });
    expect((await client.ask('d', [descriptor])).statuses[0]).toMatchObject({ current_limit: { requests_per_unit: 1, unit: 7 } });
    expect((await client.ask('d', [descriptor])).overall_code).toBe(OVER_LIMIT);
    expect((await client.ask('d', [{ entries: descriptor.entries }])).overall_code).toBe(OK);
  });

  test('an unknown domain or unmatched descriptor is OK without a limit', async () => {
    for (const [domain, entries] of [
      ['unknown', { k: 'v' }],
      ['d', { other: 'v' }],
      ['d', {}],
    ] as const) {
      const response = await client.ask(domain, [{ entries }]);
      expect(response).toMatchObject({ overall_code: OK, statuses: [{ code: OK, limit_remaining: 0 }] });
      expect(response.statuses[0]).not.toHaveProperty('current_limit', expect.anything());
    }
  });

  test('/json answers 200, 429 and 400', async () => {
    const url = `http://127.0.0.1:${weir.httpPort}/json`;
    const body = JSON.stringify({ domain: 'd', hitsAddend: 2, descriptors: [{ entries: [{ key: 'k', value: 'json' }] }] });
    expect((await httpRequest(url, { method: 'POST', body })).status).toBe(200);
    const denied = await httpRequest(url, { method: 'POST', body });
    expect(denied.status).toBe(429);
    expect(JSON.parse(denied.body)).toMatchObject({ overallCode: 'OVER_LIMIT', statuses: [{ code: 'OVER_LIMIT' }] });
    expect((await httpRequest(url, { method: 'POST', body: '{}' })).status).toBe(400);
    expect((await httpRequest(url, { method: 'POST', body: 'no json' })).status).toBe(400);
  });
});
