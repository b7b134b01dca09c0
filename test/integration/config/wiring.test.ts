/** A request costs Redis one script call, a flood on an exhausted key one command a second, and modes reach the decision. */

import type { WireStatus } from '../../../src/server/transport/messages/wire';
import { httpRequest } from '../../support/clients/http-client';
import { startRedis, type RedisServer } from '../../support/redis/redis-server';
import { makeTestClient } from '../../support/redis/redis-store';
import { OK, OVER_LIMIT, RlsClient, type AskedDescriptor } from '../../support/clients/rls-client';
import { writeConfig } from '../../support/config/temp-config';
import { until } from '../../support/clock/until';
import { startWeir, type WeirProcess } from '../../support/processes/weir-process';

const CONFIG = writeConfig(`
domain: d
descriptors:
  - key: one
    rate_limit: { name: one, unit: year, requests_per_unit: 1, algorithm: token_bucket }
  - key: two
    rate_limit: { unit: year, requests_per_unit: 2, algorithm: fixed_window }
  - key: premium
    rate_limit: { unit: year, requests_per_unit: 9, algorithm: token_bucket, replaces: [{ name: one }] }
  - key: month
    rate_limit: { unit: month, requests_per_unit: 1, algorithm: fixed_window }
  - key: berlin
    rate_limit: { unit: day, requests_per_unit: 1, calendar: true, time_zone: Europe/Berlin }
`);

let redis: RedisServer;

beforeAll(async () => {
  redis = await startRedis();
});

afterAll(() => redis.stop());

/** Keys of one test are no keys of another. */
function keyPrefix(): string {
  return `${expect.getState().currentTestName?.replaceAll(/\W/g, '') ?? ''}-`;
}

async function withWeir(env: Readonly<Record<string, string>>, use: (ask: Ask, weir: WeirProcess) => Promise<void>): Promise<void> {
  const prefix = { CACHE_KEY_PREFIX: keyPrefix() };
  const weir = await startWeir({
    config: CONFIG,
    env: { REDIS_URL: `redis://127.0.0.1:${redis.port}`, REDIS_OP_TIMEOUT: '1s', ...prefix, ...env },
  });
  const client = new RlsClient(weir.grpcPort);
  await use(async (...descriptors) => client.ask('d', descriptors), weir);
  client.close();
  await weir.stop();
}

type Ask = (...descriptors: readonly AskedDescriptor[]) => ReturnType<RlsClient['ask']>;

const ONE = { entries: { one: 'v' } };
const TWO = { entries: { two: 'v' } };
const UNMATCHED = { entries: { unmatched: 'v' } };

async function calls(command: string): Promise<number> {
  const admin = await makeTestClient(redis.port).connect();
  const stats = await admin.info('commandstats');
  admin.destroy();
  return Number(new RegExp(`cmdstat_${command}:calls=(\\d+)`).exec(stats)?.[1] ?? 0);
}

/** What changes with each heartbeat of the one instance of this test. */
async function heartbeat(): Promise<string | null> {
  const admin = await makeTestClient(redis.port).connect();
  const value = await admin.get(`${keyPrefix()}weir:instances`);
  admin.destroy();
  return value;
}

test('a request of three descriptors is one EVALSHA and one TIME, without an EVAL', async () => {
  await withWeir({}, async (ask) => {
    let counted: number[] | undefined;
    for (let attempt = 0; attempt < 5 && counted === undefined; attempt += 1) {
      // Looked at before all else, and after it: one that comes while it is counted shows.
      const [heartbeats, evalsha, time] = [await heartbeat(), await calls('evalsha'), await calls('time')];
      await ask(ONE, TWO, { entries: { premium: 'v' } });
      const after = [(await calls('evalsha')) - evalsha, (await calls('time')) - time, await calls('eval')];
      // A heartbeat in between is an EVALSHA and a TIME of its own: count again.
      if ((await heartbeat()) === heartbeats) counted = after;
    }
    expect(counted).toEqual([1, 1, 0]);
  });
});

test('a new connection loads the script after a restart of Redis, so no call has to carry it', async () => {
  await withWeir({}, async (ask) => {
    await ask(TWO);
    await redis.restart();
    await until(() =>
      ask(TWO).then(
        () => true,
        () => false,
      ),
    );
    expect(await calls('eval')).toBe(0);
  });
});

test.each([
  ['10000', 'at most a call a second', (evalshas: number, seconds: number) => evalshas <= 2 * (1 + seconds)],
  ['0', 'nothing without it', (evalshas: number) => evalshas >= 10],
])('DENY_CACHE_MAX=%s: a thousand requests on an exhausted key cost Redis %s', async (max, _what, holds) => {
  await withWeir({ DENY_CACHE_MAX: max }, async (ask, weir) => {
    await ask(ONE);
    expect(await ask(ONE)).toMatchObject({ overall_code: OVER_LIMIT });
    const startedMs = performance.now();
    const before = await calls('evalsha');
    for (let round = 0; round < 20; round += 1) {
      for (const { overall_code: code } of await Promise.all(Array.from({ length: 50 }, () => ask(ONE)))) expect(code).toBe(OVER_LIMIT);
    }
    const evalshas = (await calls('evalsha')) - before;
    // Heartbeats are among them.
    expect(holds(evalshas, (performance.now() - startedMs) / 1_000)).toBe(true);
    const { body } = await httpRequest(`http://127.0.0.1:${weir.debugPort}/metrics`);
    const cached = Number(/^ratelimit_service_rate_limit_over_limit_with_local_cache\{.*key1="one".*\} (\d+)$/m.exec(body)?.[1] ?? 0);
    expect(Number(/^weir_deny_cache_denials_total (\d+)$/m.exec(body)?.[1])).toBe(cached);
    expect(cached > 0).toBe(max !== '0');
  });
});

test('SHADOW_MODE denies nothing, and statuses still show OVER_LIMIT inside', async () => {
  await withWeir({ SHADOW_MODE: 'true' }, async (ask) => {
    await ask(ONE);
    expect(await ask(ONE, TWO)).toMatchObject({ overall_code: OK, statuses: [{ code: OVER_LIMIT }, { code: OK, limit_remaining: 1 }] });
  });
});

test('QUOTA_MODE denies only when every descriptor is over', async () => {
  await withWeir({ QUOTA_MODE: 'true' }, async (ask) => {
    await ask(ONE);
    expect((await ask(ONE, TWO)).overall_code).toBe(OK);
    expect((await ask(ONE, UNMATCHED)).overall_code).toBe(OK);
    expect((await ask(ONE)).overall_code).toBe(OVER_LIMIT);
  });
});

test('replaces keeps the replaced limit out of the decision', async () => {
  await withWeir({}, async (ask) => {
    await ask(ONE);
    expect((await ask(ONE)).overall_code).toBe(OVER_LIMIT);
    const both = await ask(ONE, { entries: { premium: 'v' } });
    expect(both).toMatchObject({ overall_code: OK, statuses: [{ code: OK, limit_remaining: 0 }, { limit_remaining: 8 }] });
    expect(both.statuses[0]!.current_limit).toBeFalsy();
  });
});

/** A client reads 64-bit numbers as text. */
function secondsOf(duration: WireStatus['duration_until_reset']): number {
  return Number(`${duration?.seconds ?? NaN}`);
}

/** Seconds from now to the next such moment, give or take a few for the call itself. */
function expectReset(resetSeconds: number, toMs: number): void {
  const expected = (toMs - Date.now()) / 1000;
  expect(Math.abs(resetSeconds - expected)).toBeLessThan(10);
}

test('USE_CALENDAR_MONTH_RATE_LIMIT ends a month, configured or in an override, with the month in UTC', async () => {
  await withWeir({ USE_CALENDAR_MONTH_RATE_LIMIT: 'true' }, async (ask) => {
    const now = new Date();
    const monthEnd = Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + 1, 1);
    const override = { requests_per_unit: 5, unit: 5 };
    const { statuses } = await ask({ entries: { month: 'v' } }, { entries: { month: 'w' }, limit: override });
    for (const { duration_until_reset: reset } of statuses) expectReset(secondsOf(reset), monthEnd);
    expect((await ask({ entries: { month: 'v' } })).overall_code).toBe(OVER_LIMIT);
  });
});

test('calendar: true with a time_zone ends the day at midnight of that zone', async () => {
  await withWeir({}, async (ask) => {
    const { statuses } = await ask({ entries: { berlin: 'v' } });
    const parts = new Intl.DateTimeFormat('en-GB', {
      timeZone: 'Europe/Berlin',
      hour: '2-digit',
      minute: '2-digit',
      second: '2-digit',
      hourCycle: 'h23',
    });
    const [hour = 0, minute = 0, second = 0] = parts.format(new Date()).split(':').map(Number);
    const leftSeconds = 86_400 - hour * 3600 - minute * 60 - second;
    // On the two days a year when the clock changes the day is an hour longer or shorter.
    const offBy = Math.abs(secondsOf(statuses[0]!.duration_until_reset) - leftSeconds);
    expect(Math.min(offBy, Math.abs(offBy - 3600))).toBeLessThan(10);
    expect((await ask({ entries: { berlin: 'v' } })).overall_code).toBe(OVER_LIMIT);
  });
});

test('an override with a unit_multiplier counts to its limit in its window', async () => {
  await withWeir({}, async (ask) => {
    const limit = { requests_per_unit: 2, unit: 4, unit_multiplier: { value: 7 } };
    const descriptor = { entries: { one: 'override' }, limit };
    const first = await ask(descriptor);
    expect(first.statuses[0]).toMatchObject({
      limit_remaining: 1,
      current_limit: { requests_per_unit: 2, unit: 4, unit_multiplier: { value: 7 } },
    });
    // A token bucket of 2 in 7 days: one hit is back after three and a half.
    expect(secondsOf(first.statuses[0]!.duration_until_reset)).toBe(302_400);
    expect([(await ask(descriptor)).overall_code, (await ask(descriptor)).overall_code]).toEqual([OK, OVER_LIMIT]);
  });
});
