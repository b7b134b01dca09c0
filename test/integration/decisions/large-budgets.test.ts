/** Weir counts a budget above 2^32 exactly, and says the true numbers in metadata and headers where the fields of an answer cannot. */

import { startRedis, type RedisServer } from '../../support/redis/redis-server';
import { OK, OVER_LIMIT, RlsClient } from '../../support/clients/rls-client';
import { writeConfig } from '../../support/config/temp-config';
import { startWeir, type WeirProcess } from '../../support/processes/weir-process';

const LIMIT = Number.MAX_SAFE_INTEGER;
const UINT32_MAX = 2 ** 32 - 1;

const CONFIG = writeConfig(`
domain: llm
algorithm: fixed_window
descriptors:
  - key: team
    rate_limit: { unit: year, unit_multiplier: 100, requests_per_unit: ${LIMIT}, response_headers: reference }
  - key: draft
    rate_limit: { unit: year, unit_multiplier: 100, requests_per_unit: ${LIMIT}, response_headers: ietf }
`);

describe.each(['memory', 'redis'])('on the %s store', (store) => {
  let redis: RedisServer | undefined;
  let weir: WeirProcess;
  let client: RlsClient;

  beforeAll(async () => {
    redis = store === 'redis' ? await startRedis() : undefined;
    const backend =
      redis === undefined ? { BACKEND_TYPE: 'memory' } : { REDIS_URL: `redis://127.0.0.1:${redis.port}`, REDIS_OP_TIMEOUT: '1s' };
    weir = await startWeir({ config: CONFIG, env: { RESPONSE_DECISION_METADATA: 'true', ...backend } });
    client = new RlsClient(weir.grpcPort);
  });

  afterAll(async () => {
    client.close();
    expect(await weir.stop()).toBe(0);
    await redis?.stop();
  });

  function ask(key: string, hits: bigint, isNegative = false) {
    return client.ask('llm', [{ entries: { [key]: 'a' }, hits_addend: { value: String(hits) }, is_negative_hits: isNegative }]);
  }

  test('the answer shows the largest uint32, the metadata and the headers the true numbers', async () => {
    const first = await ask('team', 5n * 2n ** 32n);
    const left = String(BigInt(LIMIT) - 5n * 2n ** 32n);
    expect(first).toMatchObject({
      overall_code: OK,
      statuses: [{ code: OK, limit_remaining: UINT32_MAX, current_limit: { requests_per_unit: UINT32_MAX } }],
    });
    const headers = new Map((first.response_headers_to_add ?? []).map(({ key, value }) => [key, value]));
    expect(headers.get('RateLimit-Limit')).toBe(String(LIMIT));
    expect(headers.get('RateLimit-Remaining')).toBe(left);
    const metadata = JSON.stringify(first.dynamic_metadata);
    expect(metadata).toContain(left);
    expect(metadata).toContain('"saturated"');
  });

  test('a cost is charged to the last unit, and refunded', async () => {
    expect((await ask('team', BigInt(LIMIT) - 5n * 2n ** 32n)).overall_code).toBe(OK);
    expect((await ask('team', 1n)).overall_code).toBe(OVER_LIMIT);
    expect((await ask('team', 3n, true)).statuses[0]!.limit_remaining).toBe(3);
    expect((await ask('team', 4n)).overall_code).toBe(OVER_LIMIT);
    expect((await ask('team', 3n)).overall_code).toBe(OK);
  });

  test('headers of structured fields show at most 15 digits', async () => {
    const { response_headers_to_add: headers = [] } = await ask('draft', 1n);
    expect(headers.find(({ key }) => key === 'RateLimit')?.value).toContain('r=999999999999999;');
    expect(headers.find(({ key }) => key === 'RateLimit-Policy')?.value).toContain('q=999999999999999;');
  });
});
