/** A budget (`unit: total`) is spent once, outlives a restart of Redis with its file, and is raised by credits alone. */

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { callAdmin } from '../../support/admin/admin-client';
import { tokenLine, TOKENS } from '../../support/admin/admin-server';
import { OK, OVER_LIMIT, RlsClient } from '../../support/clients/rls-client';
import { until } from '../../support/clock/until';
import { writeConfig } from '../../support/config/temp-config';
import { startWeir, type WeirProcess } from '../../support/processes/weir-process';
import { runWeir } from '../../support/processes/command';
import { startRedis, type RedisServer } from '../../support/redis/redis-server';
import { makeTestClient } from '../../support/redis/redis-store';
import { freePort } from '../../support/servers/ports';

const CONFIG = writeConfig(`
domain: llm
descriptors:
  - key: customer
    rate_limit: { name: prepaid, unit: total, requests_per_unit: 100, response_headers: ietf, response_body: problem, show: { unit: EUR, divide: 100 } }
  - key: minute
    rate_limit: { unit: minute, requests_per_unit: 100 }
`);

const folder = mkdtempSync(path.join(tmpdir(), 'weir-budgets-'));
const tokenFile = path.join(folder, 'token');
writeFileSync(tokenFile, TOKENS.admin);

afterAll(() => {
  rmSync(folder, { recursive: true });
});

interface Credit {
  readonly given: readonly { readonly hits: number; readonly remaining: number }[];
  readonly warnings: readonly { readonly code: string }[];
}

describe.each(['memory', 'redis'])('on the %s store', (store) => {
  let redis: RedisServer | undefined;
  let weir: WeirProcess;
  let client: RlsClient;
  let adminPort: number;

  beforeAll(async () => {
    redis = store === 'redis' ? await startRedis() : undefined;
    adminPort = await freePort();
    writeFileSync(path.join(folder, 'tokens'), tokenLine('ann', 'admin', TOKENS.admin));
    const backend =
      redis === undefined ? { BACKEND_TYPE: 'memory' } : { REDIS_URL: `redis://127.0.0.1:${redis.port}`, REDIS_OP_TIMEOUT: '1s' };
    weir = await startWeir({
      config: CONFIG,
      env: {
        ...backend,
        CONTROL_DATA: 'true',
        ADMIN_PORT: String(adminPort),
        ADMIN_TOKENS_FILE: path.join(folder, 'tokens'),
        RESPONSE_DECISION_METADATA: 'true',
      },
    });
    client = new RlsClient(weir.grpcPort);
  });

  afterAll(async () => {
    client.close();
    expect(await weir.stop()).toBe(0);
    await redis?.stop();
  });

  const ask = (value: string, hits: number, parts: object = {}) =>
    client.ask('llm', [{ entries: { customer: value }, hits_addend: { value: String(hits) }, ...parts }]);

  async function credit(value: string, hits: number, id: string): Promise<Credit> {
    const body = { domain: 'llm', entries: [{ key: 'customer', value }], hits, id, reason: 'paid' };
    const answer = await callAdmin(`http://127.0.0.1:${adminPort}`, { token: TOKENS.admin, method: 'POST', path: '/v1/credits', body });
    expect(answer.status).toBe(200);
    return answer.json as Credit;
  }

  test('it is spent once, and a denial says that no wait helps', async () => {
    expect(await ask('a', 60)).toMatchObject({ overall_code: OK, statuses: [{ limit_remaining: 40, current_limit: { name: 'prepaid' } }] });
    expect((await ask('a', 41)).overall_code).toBe(OVER_LIMIT);
    expect((await ask('a', 40)).overall_code).toBe(OK);
    const denied = await ask('a', 1);
    expect(denied.overall_code).toBe(OVER_LIMIT);
    const names = (denied.response_headers_to_add ?? []).map(({ key, value }) => `${key}: ${value}`);
    expect(names).toContain('RateLimit: "prepaid";r=0;t=3153600000');
    expect(names.join()).not.toContain('Retry-After');
    expect(denied.statuses[0]?.current_limit?.unit ?? 0).toBe(0);
    const metadata = JSON.stringify(denied.dynamic_metadata);
    expect(metadata).toContain('"TOTAL"');
    expect(metadata).toContain('"EUR"');
    expect(String(denied.raw_body)).toContain('The budget \\"prepaid\\" of 100 in total does not cover the request.');
    expect(String(denied.raw_body)).not.toContain('at once');
  });

  test('a credit raises it beyond its limit once, also of a customer who has not come yet', async () => {
    expect(await credit('a', 250, 'pay-1')).toMatchObject({ given: [{ hits: 250, remaining: 250 }], warnings: [] });
    expect(await credit('a', 250, 'pay-1')).toMatchObject({ given: [] });
    await until(async () => (await ask('a', 200)).overall_code === OK);
    expect(await ask('a', 50)).toMatchObject({ overall_code: OK, statuses: [{ limit_remaining: 0 }] });
    expect(await credit('new', 20, 'pay-2')).toMatchObject({ given: [{ hits: 20, remaining: 120, show: { unit: 'EUR', divide: 100 } }] });
    expect((await ask('new', 121)).overall_code).toBe(OVER_LIMIT);
    expect((await ask('new', 120)).overall_code).toBe(OK);
  });

  test('people read it in its unit', async () => {
    const env = { WEIR_ADMIN_URL: `http://127.0.0.1:${adminPort}`, WEIR_ADMIN_TOKEN_FILE: tokenFile };
    await ask('read', 25);
    const show = await runWeir(['bucket', 'show', '--domain', 'llm', '--descriptor', 'customer=read'], { env });
    expect(show.stdout).toMatch(/1 EUR in total\s+0\.75 EUR\s+0 EUR\s+now\s+never/);
    const explain = await runWeir(['bucket', 'explain', '--domain', 'llm', '--descriptor', 'customer=read'], { env });
    expect(explain.stdout).toMatch(/prepaid=1 EUR\/total\s+0\.75 EUR/);
    const give = ['credit', '--domain', 'llm', '--descriptor', 'customer=read', '--hits', '150', '--reason', 'paid'];
    expect((await runWeir(give, { env })).stdout).toMatch(/1\.5 EUR\s+2\.25 EUR/);
  });

  test('a rate that a request brings replaces it, and counts by itself', async () => {
    const limit = { requests_per_unit: 5, unit: 'MINUTE' };
    expect(await ask('rate', 3, { limit })).toMatchObject({ overall_code: OK, statuses: [{ limit_remaining: 2 }] });
    expect(await ask('rate', 1)).toMatchObject({ overall_code: OK, statuses: [{ limit_remaining: 99 }] });
  });

  test('an override in total replaces its size, one by the minute has no effect and says so', async () => {
    const put = (requests_per_unit: number, unit: string, id: string) =>
      callAdmin(`http://127.0.0.1:${adminPort}`, {
        token: TOKENS.admin,
        method: 'PUT',
        path: `/v1/overrides/llm/${id}`,
        body: { entries: [{ key: 'customer', value: id }], limit: { requests_per_unit, unit } },
      });
    expect((await put(300, 'total', 'large')).json).toMatchObject({ warnings: [] });
    await until(async () => (await ask('large', 200)).overall_code === OK);
    expect((await put(300, 'minute', 'wrong')).json).toMatchObject({ warnings: [{ code: 'impossible_values' }] });
  });

  test('its bucket has no TTL, and a Redis that keeps a file has it after a restart', async () => {
    if (redis === undefined) return;
    const root = await makeTestClient(redis.port).connect();
    const keys = (await root.keys('*')).filter((key) => key.includes('}bu'));
    expect(keys.length).toBeGreaterThan(2);
    for (const key of keys) expect(await root.pTTL(key)).toBe(-1);
    const before = await Promise.all(keys.map((key) => root.get(key)));
    await root.sendCommand(['SAVE']);
    root.destroy();
    await redis.restart();
    const again = await makeTestClient(redis.port).connect();
    expect(await Promise.all(keys.map((key) => again.get(key)))).toEqual(before);
    again.destroy();
    await until(async () => (await ask('a', 1).catch(() => undefined))?.overall_code === OVER_LIMIT);
  });
});
