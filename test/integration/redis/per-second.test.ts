/** A request over two Redis servers is all or nothing, and only available servers are charged. */

import { httpRequest } from '../../support/clients/http-client';
import { startRedis, type RedisServer } from '../../support/redis/redis-server';
import { makeTestClient } from '../../support/redis/redis-store';
import { OK, OVER_LIMIT, RlsClient, type AskedDescriptor } from '../../support/clients/rls-client';
import { writeConfig } from '../../support/config/temp-config';
import { until } from '../../support/clock/until';
import { startWeir, type WeirProcess } from '../../support/processes/weir-process';
import { hangLimitMs } from '../../support/clock/hang-limit';

const TIMEOUT_MS = 60_000;

const CONFIG = writeConfig(`
domain: d
descriptors:
  - key: second
    rate_limit: { unit: second, requests_per_unit: 1000000, algorithm: token_bucket }
  - key: seconds
    rate_limit: { unit: second, unit_multiplier: 2, requests_per_unit: 10, algorithm: token_bucket }
  - key: year
    rate_limit: { unit: year, requests_per_unit: 3, algorithm: token_bucket }
  - key: plenty
    rate_limit: { unit: year, requests_per_unit: 1000, algorithm: token_bucket }
  - key: both
    rate_limits:
      - { unit: second, requests_per_unit: 10, algorithm: fixed_window }
      - { unit: year, requests_per_unit: 5, algorithm: fixed_window }
`);

let main: RedisServer;
let perSecond: RedisServer;
let weir: WeirProcess;
/** Another one, which decides by itself what Redis does not. */
let local: WeirProcess;
let client: RlsClient;

beforeEach(async () => {
  [main, perSecond] = [await startRedis(), await startRedis()];
  const env = {
    REDIS_URL: `redis://127.0.0.1:${main.port}`,
    REDIS_PERSECOND: 'true',
    REDIS_PERSECOND_SOCKET_TYPE: 'tcp',
    REDIS_PERSECOND_URL: `127.0.0.1:${perSecond.port}`,
    REDIS_OP_TIMEOUT: '1s',
  };
  weir = await startWeir({ config: CONFIG, env });
  client = new RlsClient(weir.grpcPort);
  local = await startWeir({ config: CONFIG, env: { ...env, FAILURE_MODE: 'local', REDIS_OP_TIMEOUT: '50ms' } });
}, TIMEOUT_MS);

afterEach(async () => {
  client.close();
  await Promise.all([weir.stop(), local.stop()]);
  await Promise.all([main.stop(), perSecond.stop()]);
}, TIMEOUT_MS);

function of(key: string): AskedDescriptor {
  return { entries: { [key]: 'v' } };
}

async function keysOf({ port }: RedisServer): Promise<string[]> {
  const admin = await makeTestClient(port).connect();
  const keys = await admin.keys('*');
  admin.destroy();
  return keys.sort();
}

test('each bucket is on the server of its window', async () => {
  for (const key of ['second', 'seconds', 'year', 'both']) expect((await client.ask('d', [of(key)])).overall_code).toBe(OK);
  expect(await keysOf(main)).toEqual(['1{d}fw31536000|both=v', '1{d}tb2|seconds=v', '1{d}tb31536000|year=v', 'weir:instances']);
  // Some may have expired already; a heartbeat may have been there.
  const bySecond = ['1{d}fw1|both=v', '1{d}tb1|second=v', 'weir:instances'];
  expect((await keysOf(perSecond)).filter((key) => !bySecond.includes(key))).toEqual([]);
  expect(weir.output()).toContain(`connected to Redis at redis://127.0.0.1:${perSecond.port}/0`);
});

test('a request over both servers is all or nothing', async () => {
  const request = [of('second'), of('year')];
  for (let i = 0; i < 3; i += 1) expect((await client.ask('d', request)).overall_code).toBe(OK);
  const denied = await client.ask('d', [{ ...of('second'), hits_addend: { value: '900000' } }, of('year')]);
  expect([denied.overall_code, denied.statuses.map(({ code }) => code)]).toEqual([OVER_LIMIT, [OK, OVER_LIMIT]]);
  // Charged, it would not let this pass.
  expect((await client.ask('d', [{ ...of('second'), hits_addend: { value: '900000' } }])).overall_code).toBe(OK);
});

test('without one of the two servers the other decides its buckets, and health names the absent one', async () => {
  perSecond.kill('SIGKILL');
  await until(async () => (await httpRequest(`http://127.0.0.1:${weir.httpPort}/healthcheck`)).body === 'OK\ndegraded: redis per second\n');
  await until(() => weir.output().includes(`no Redis at redis://127.0.0.1:${perSecond.port}/0 (limits of one second) (`));
  await expect(client.ask('d', [of('second'), of('year')])).rejects.toMatchObject({ details: 'Redis is not connected' });
  const { overall_code: code, statuses } = await client.ask('d', [of('year')]);
  expect([code, statuses[0]!.limit_remaining]).toEqual([OK, 2]);
});

test.each(['SIGKILL', 'SIGSTOP'] as const)(
  "after %s of one server the log names it, and it is charged for all admitted hits when it is back, never by the other's answer",
  async (signal) => {
    const asker = new RlsClient(local.grpcPort);
    const metric = async (name: string): Promise<number> => {
      const { body } = await httpRequest(`http://127.0.0.1:${local.debugPort}/metrics`);
      return Number(new RegExp(`^${name} (\\S+)$`, 'm').exec(body)?.[1]);
    };
    let fallbacks = 0;
    /** Whether Redis has decided it. */
    const isDecided = async (key: string): Promise<boolean> => {
      const { overall_code: code, dynamic_metadata: metadata } = await asker.ask('d', [of(key)], { timeoutMs: hangLimitMs(5_000) });
      expect(code).toBe(OK);
      if (metadata) fallbacks += 1;
      return !metadata;
    };
    main.kill(signal);
    // Fewer than open the breaker, and then more than do.
    for (const calls of [3, 6]) {
      for (let i = 0; i < calls; i += 1) expect(await isDecided('plenty')).toBe(false);
      // On a busy machine the other one takes longer than 50 ms now and then, too.
      await until(() => isDecided('second'));
      // As long as a charge may take, and what pauses after one that failed.
      await new Promise((resolve) => setTimeout(resolve, 1_200));
    }
    expect(local.output()).toMatch(
      new RegExp(
        `the circuit breaker of Redis at redis://127.0.0.1:${main.port}/0 opened: too many commands failed in a row \\(${signal === 'SIGKILL' ? 'Redis is not connected' : '.*'}\\)`,
      ),
    );
    expect(await metric('weir_fallback_hits_total\\{failure_mode="local"\\}')).toBe(fallbacks);
    expect(await metric('weir_charge_back_lost_hits_total')).toBe(0);
    if (signal === 'SIGSTOP') main.kill('SIGCONT');
    else await main.restart();
    // Peeks, which charge nothing however often they are asked.
    let remaining = 1_000;
    await until(async () => {
      const { statuses, dynamic_metadata: metadata } = await asker.ask('d', [{ ...of('plenty'), hits_addend: { value: '0' } }]);
      if (!metadata) remaining = statuses[0]!.limit_remaining;
      return remaining <= 991 && (await metric('weir_charged_back_hits_total')) >= 9;
    });
    // Stopped, it has run those too whose answers were not awaited: of nine calls those that were sent to it.
    expect(remaining).toBeGreaterThanOrEqual(signal === 'SIGKILL' ? 991 : 982);
    // What its own second has long given back is not charged.
    expect(await metric('weir_charged_back_hits_total')).toBeLessThanOrEqual(fallbacks);
    expect(await metric('weir_charge_back_lost_hits_total')).toBe(0);
    asker.close();
  },
  TIMEOUT_MS,
);
