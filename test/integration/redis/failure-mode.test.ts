/** Without Redis the failure mode of a limit decides, and Redis is charged afterwards for admitted hits. */

import { status } from '@grpc/grpc-js';
import { httpRequest } from '../../support/clients/http-client';
import { startRedis, type RedisServer } from '../../support/redis/redis-server';
import { OK, RlsClient } from '../../support/clients/rls-client';
import { writeConfig } from '../../support/config/temp-config';
import { until } from '../../support/clock/until';
import { startWeir, type WeirProcess } from '../../support/processes/weir-process';
import { hangLimitMs } from '../../support/clock/hang-limit';

const TIMEOUT_MS = 60_000;
/** A heartbeat counts for 15 s, and a lower count is believed after as long again. */
const SLOWLY = { timeoutMs: 40_000 };
const INSTANCES = 2;

/** Each decision is counted here by who made it: a busy machine is not to be taken for a Redis that is away. Few time out before none is sent. */
const PATIENT = { REDIS_OP_TIMEOUT: '1s', REDIS_BREAKER_FAILURES: '2' };

/** Nothing comes back within the test: the limit is by year, and all hits may come at once. */
const CONFIG = writeConfig(`
domain: d
descriptors:
  - { key: default, rate_limit: { unit: year, requests_per_unit: 10, algorithm: token_bucket } }
  - { key: open, rate_limit: { unit: year, requests_per_unit: 10, algorithm: token_bucket, failure_mode: open } }
  - { key: closed, rate_limit: { unit: year, requests_per_unit: 10, algorithm: token_bucket, failure_mode: closed } }
  - { key: unavailable, rate_limit: { unit: year, requests_per_unit: 1000000, algorithm: token_bucket, failure_mode: unavailable } }
`);

let redis: RedisServer;
let processes: WeirProcess[];
let clients: RlsClient[];

beforeEach(async () => {
  redis = await startRedis();
  processes = [];
  for (let i = 0; i < INSTANCES; i += 1) {
    processes.push(
      await startWeir({
        config: CONFIG,
        env: { REDIS_URL: `redis://127.0.0.1:${redis.port}`, ...PATIENT, REDIS_BREAKER_OPEN: '1m', FAILURE_MODE: 'local' },
      }),
    );
  }
  clients = processes.map(({ grpcPort }) => new RlsClient(grpcPort));
}, TIMEOUT_MS);

afterEach(async () => {
  for (const client of clients) client.close();
  await Promise.all(processes.map((weir) => weir.stop()));
  await redis.stop();
});

/** Makes a number of calls, and returns how many are admitted. */
async function admittedOf(client: RlsClient, key: string, calls: number): Promise<number> {
  let admitted = 0;
  for (let i = 0; i < calls; i += 1) {
    const { overall_code: code } = await client.ask('d', [{ entries: { [key]: 'v' } }], { timeoutMs: hangLimitMs(5_000) });
    if (code === OK) admitted += 1;
  }
  return admitted;
}

async function metric(weir: WeirProcess, name: string): Promise<number> {
  const { body } = await httpRequest(`http://127.0.0.1:${weir.debugPort}/metrics`);
  return Number(new RegExp(`^${name.replace(/[{}]/g, '\\$&')} (\\S+)$`, 'm').exec(body)?.[1]);
}

async function untilCounted(): Promise<void> {
  for (const weir of processes) await until(async () => (await metric(weir, 'weir_instances')) === INSTANCES, SLOWLY);
}

async function remainingInRedis(key: string): Promise<number> {
  const { statuses, dynamic_metadata: metadata } = await clients[0]!.ask('d', [{ entries: { [key]: 'v' }, hits_addend: { value: '0' } }]);
  expect(metadata).toBeFalsy();
  return statuses[0]!.limit_remaining;
}

test.each(['SIGKILL', 'SIGSTOP'] as const)(
  'after %s of Redis each failure mode decides, then Redis decides and is charged for the admitted hits',
  async (signal) => {
    await untilCounted();
    expect(await admittedOf(clients[0]!, 'default', 2)).toBe(2);
    redis.kill(signal);
    // local: 0.8 of ten for two instances are four each; the first knows that eight are left, and has 0.8 of four.
    expect(await Promise.all(clients.map((client) => admittedOf(client, 'default', 10)))).toEqual([3, 4]);
    expect(await admittedOf(clients[0]!, 'open', 20)).toBe(20);
    expect(await admittedOf(clients[0]!, 'closed', 5)).toBe(0);
    await expect(clients[0]!.ask('d', [{ entries: { unavailable: 'v' } }])).rejects.toMatchObject({ code: status.UNAVAILABLE });

    const body = JSON.stringify({ domain: 'd', descriptors: [{ entries: [{ key: 'open', value: 'v' }] }] });
    const json = await httpRequest(`http://127.0.0.1:${processes[0]!.httpPort}/json`, { method: 'POST', body });
    expect(JSON.parse(json.body)).toMatchObject({ overallCode: 'OK', dynamicMetadata: { decided_by: 'fallback' } });
    expect(await metric(processes[0]!, 'weir_fallback_decisions_total')).toBe(36);
    expect(await metric(processes[0]!, 'weir_fallback_hits_total{failure_mode="local"}')).toBe(3);
    expect(await metric(processes[0]!, 'weir_fallback_hits_total{failure_mode="open"}')).toBe(21);
    expect(await metric(processes[0]!, 'weir_breaker_open')).toBe(1);
    const health = await httpRequest(`http://127.0.0.1:${processes[0]!.httpPort}/healthcheck`);
    expect([health.status, health.body]).toEqual([200, expect.stringContaining('degraded: redis breaker open')]);

    if (signal === 'SIGSTOP') redis.kill('SIGCONT');
    else await redis.restart();
    for (const client of clients) {
      await until(
        () =>
          client.ask('d', [{ entries: { unavailable: 'v' } }]).then(
            () => true,
            () => false,
          ),
        SLOWLY,
      );
    }
    expect(await metric(processes[0]!, 'weir_breaker_open')).toBe(0);
    expect(await metric(processes[0]!, 'weir_breaker_openings_total')).toBe(1);
    // Killed, it has forgotten the first two. Stopped, it has yet run the calls whose answers were not awaited, and is
    // charged for as much as is left.
    await until(async () => (await remainingInRedis('default')) === (signal === 'SIGKILL' ? 3 : 0), SLOWLY);
    expect(await metric(processes[0]!, 'weir_charge_back_lost_hits_total')).toBe(0);
  },
  TIMEOUT_MS,
);

test(
  'an instance that ends no longer counts',
  async () => {
    await untilCounted();
    const [stays, leaves] = processes;
    await leaves!.stop();
    await until(async () => (await metric(stays!, 'weir_instances')) === 1, SLOWLY);
  },
  TIMEOUT_MS,
);
