/** Reloads under load cause no error, mixture or step back, and a bad set leaves the last good one in force. */

import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { status } from '@grpc/grpc-js';
import type { WireResponse } from '../../../src/server/transport/messages/wire';
import { childPidsOf } from '../../support/processes/child-pids';
import { ConfigMap, swapSymlink, type Files } from '../../support/config/config-map';
import { isLong } from '../../support/random/form';
import { httpRequest } from '../../support/clients/http-client';
import { startRedis, type RedisServer } from '../../support/redis/redis-server';
import { OK, RlsClient, type AskedDescriptor } from '../../support/clients/rls-client';
import { until } from '../../support/clock/until';
import { startWeir, type WeirProcess } from '../../support/processes/weir-process';
import { figure } from '../../support/docs/figure';

const SWAP_MS = 100;
const SWAPS = isLong ? 60 : 18;
const SWAPS_MAX = 90;
const CALLERS = 8;

/** Limits that all change together: whoever sees two of them in one answer has seen a mixture. */
const FIRST_LIMIT = 1_000_000;

/** Every third set is bad, in its second file only: its first one must not be seen either. */
function isBad(version: number): boolean {
  return version % 3 === 2;
}

function setOf(version: number): Files {
  const limit = `{ unit: year, requests_per_unit: ${FIRST_LIMIT + version}, algorithm: fixed_window }`;
  const rules = (names: readonly string[]) => names.map((name) => `  - { key: ${name}, rate_limit: ${limit} }\n`).join('');
  return {
    'a.yaml': `domain: a\ndescriptors:\n${rules(['one', 'two'])}`,
    'b.yaml': isBad(version)
      ? 'domain: b\ndescriptors: [{ key: one, rate_limit: { unit: eon'
      : `domain: b\ndescriptors:\n${rules(['one', 'two'])}`,
    'notes.txt': `not: [yaml ${version}`,
  };
}

const BOTH: readonly AskedDescriptor[] = [{ entries: { one: 'v' } }, { entries: { two: 'v' } }];

/** The set that an answer was given by. */
function versionOf({ statuses }: WireResponse): number {
  const limits = statuses.map(({ current_limit: limit }) => Number(limit?.requests_per_unit) - FIRST_LIMIT);
  expect(new Set(limits).size).toBe(1);
  return limits[0]!;
}

function pause(ms = 10): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

async function debugPage(weir: WeirProcess, page: string): Promise<string> {
  return (await httpRequest(`http://127.0.0.1:${weir.debugPort}${page}`)).body;
}

async function metricOf(weir: WeirProcess, name: string): Promise<number> {
  return Number(new RegExp(`^${name}(?:\\{[^}]*\\})? (\\S+)$`, 'm').exec(await debugPage(weir, '/metrics'))?.[1]);
}

async function untilMetric(weir: WeirProcess, name: string, value: number): Promise<void> {
  await until(async () => (await metricOf(weir, name)) === value);
}

async function healthOf(weir: WeirProcess): Promise<{ readonly status: number; readonly body: string }> {
  const { status: code, body } = await httpRequest(`http://127.0.0.1:${weir.httpPort}/healthcheck`);
  return { status: code, body };
}

const ERRORS = 'ratelimit_service_config_load_error';
const LOADS = 'ratelimit_service_config_load_success';
const GENERATION = 'weir_config_generation';
const LAST_GOOD = 'weir_config_last_load_good';

let redis: RedisServer;
let home: string;

beforeAll(async () => {
  redis = await startRedis();
});

afterAll(() => redis.stop());

beforeEach(() => {
  home = mkdtempSync(path.join(tmpdir(), 'weir-reload-'));
});

afterEach(() => {
  rmSync(home, { recursive: true });
});

function redisEnv(): Record<string, string> {
  return { REDIS_URL: `redis://127.0.0.1:${redis.port}`, REDIS_OP_TIMEOUT: '1s', CACHE_KEY_PREFIX: path.basename(home) };
}

describe.each([
  ['embedded', 1],
  ['redis', 1],
  ['redis', 2],
] as const)('%s, WORKERS=%d', (store, workers) => {
  test('symlinks swapped every 100 ms under load, with bad files between, cause no error, mixture or step back', async () => {
    const map = new ConfigMap(setOf(0), path.join(home, 'config'));
    const env = store === 'redis' ? redisEnv() : { BACKEND_TYPE: 'memory' };
    const weir = await startWeir({ config: map.directory, env: { ...env, WORKERS: String(workers) } });
    const clients = Array.from({ length: CALLERS }, () => new RlsClient(weir.grpcPort));
    const seen = new Set<number>();
    let isOver = false;
    let calls = 0;
    const callers = clients.map(async (client) => {
      for (let latest = 0; !isOver; calls += 1) {
        const answer = await client.ask(calls % 2 === 0 ? 'a' : 'b', BOTH);
        expect(answer.overall_code).toBe(OK);
        const version = versionOf(answer);
        expect(version).toBeGreaterThanOrEqual(latest);
        latest = version;
        seen.add(version);
      }
    });
    let swaps = 0;
    const swapping = (async () => {
      const isSeen = async () => seen.size > 3 && (await metricOf(weir, ERRORS)) > 0;
      // On a busy machine a set may need longer to be read than it is there: then more of them come, and stay longer. The last one is good.
      for (let stayMs = SWAP_MS; swaps < SWAPS || (swaps < SWAPS_MAX && !(await isSeen())); stayMs += swaps < SWAPS ? 0 : SWAP_MS) {
        for (let version = swaps + 1; version <= swaps + 3; version += 1) {
          await pause(stayMs);
          map.swap(setOf(version));
        }
        swaps += 3;
      }
      // Some of the sets came and went before they had come to rest; the last one has not.
      await until(async () => {
        const answers = await Promise.all(clients.map((client) => client.ask('b', BOTH)));
        return answers.every((answer) => versionOf(answer) === swaps);
      });
    })();
    await Promise.race([swapping, Promise.all(callers)]);
    isOver = true;
    await Promise.all(callers);
    expect([...seen].filter(isBad)).toEqual([]);
    expect(seen.size).toBeGreaterThan(3);
    figure(`${calls.toLocaleString('en')} calls, ${seen.size} of ${swaps + 1} sets seen, ${await metricOf(weir, ERRORS)} refused`);
    expect(await metricOf(weir, ERRORS)).toBeGreaterThan(0);
    expect(await metricOf(weir, LOADS)).toBe(await metricOf(weir, GENERATION));
    for (const client of clients) client.close();
    expect(await weir.stop()).toBe(0);
  });

  test('a bad set leaves the last good one in force; log, metrics, health and /rlconfig report it until a good one comes', async () => {
    const file = (name: string) => path.join(home, 'root', 'config', name);
    mkdirSync(path.dirname(file('a')), { recursive: true });
    const good = setOf(0);
    writeFileSync(file('a.yaml'), good['a.yaml']!);
    const env = store === 'redis' ? redisEnv() : { BACKEND_TYPE: 'memory' };
    const weir = await startWeir({
      env: { ...env, WORKERS: String(workers), RUNTIME_ROOT: path.join(home, 'root'), HEALTHY_WITH_AT_LEAST_ONE_CONFIG_LOADED: 'true' },
    });
    const clients = Array.from({ length: CALLERS }, () => new RlsClient(weir.grpcPort));
    const health = await healthOf(weir);
    const rules = await debugPage(weir, '/rlconfig');
    expect(rules).not.toContain('#');
    writeFileSync(file('bad.yaml'), 'domain: ""\ndescriptors: [{ key: k, rate_limit: { unit: eon, requests_per_unit: 1 } }]\n');
    await untilMetric(weir, ERRORS, 1);
    const problems = [
      `${file('bad.yaml')}:1:9: domain: must not be empty`,
      `${file('bad.yaml')}:2:45: descriptors[0].rate_limit.unit: unknown unit "eon"`,
    ];
    const shown = await debugPage(weir, '/rlconfig');
    expect(shown.startsWith(`${rules}# config: last good, generation 1; the last configuration loaded was rejected:\n`)).toBe(true);
    for (const problem of problems) {
      expect(shown).toContain(`\n# ${problem}`);
      expect(weir.output()).toContain(problem);
    }
    expect(weir.output()).toContain('generation 1, the last good one, stays in force');
    expect(await metricOf(weir, LAST_GOOD)).toBe(0);
    for (let i = 0; i < CALLERS; i += 1) await until(async () => (await healthOf(weir)).body.includes('config: last good\n'));
    expect((await healthOf(weir)).status).toBe(200);
    for (const client of clients) expect((await client.ask('a', BOTH)).statuses[0]?.current_limit?.requests_per_unit).toBe(FIRST_LIMIT);

    const { 'a.yaml': next } = setOf(1);
    writeFileSync(file('a.yaml'), next!);
    rmSync(file('bad.yaml'));
    await untilMetric(weir, GENERATION, 2);
    for (let i = 0; i < CALLERS; i += 1) await until(async () => (await healthOf(weir)).body === health.body);
    expect(await debugPage(weir, '/rlconfig')).not.toContain('#');
    expect(await metricOf(weir, LAST_GOOD)).toBe(1);
    expect(weir.output()).toContain('configuration generation 2 is in force: 1 domain(s)');
    for (const client of clients) expect(versionOf(await client.ask('a', BOTH))).toBe(1);
    // What was counted by rule goes on: by the descriptor, 2 x CALLERS hits.
    expect(await metricOf(weir, 'ratelimit_service_rate_limit_total_hits')).toBe(2 * CALLERS);
    for (const client of clients) client.close();
    expect(await weir.stop()).toBe(0);
  });

  test('SIGHUP reloads the files, changed or not, and used hits stay used', async () => {
    // Below a root that is swapped, only a swap or SIGHUP counts.
    const release = (limit: number) => {
      mkdirSync(path.join(home, 'release/config'), { recursive: true });
      writeFileSync(
        path.join(home, 'release/config/a.yaml'),
        `domain: a\ndescriptors: [{ key: k, rate_limit: { unit: year, requests_per_unit: ${limit} } }]\n`,
      );
    };
    release(10);
    symlinkSync('release', path.join(home, 'current'));
    const env = store === 'redis' ? redisEnv() : { BACKEND_TYPE: 'memory' };
    const weir = await startWeir({ env: { ...env, WORKERS: String(workers), RUNTIME_ROOT: path.join(home, 'current') } });
    const client = new RlsClient(weir.grpcPort);
    const ask = async () => (await client.ask('a', [{ entries: { k: 'v' } }])).statuses[0]?.limit_remaining;
    expect([await ask(), await ask(), await ask()]).toEqual([9, 8, 7]);
    weir.kill('SIGHUP');
    await untilMetric(weir, GENERATION, 2);
    expect(await ask()).toBe(6);
    release(20);
    weir.kill('SIGHUP');
    await untilMetric(weir, GENERATION, 3);
    expect(await ask()).toBe(15);
    release(4);
    swapSymlink({ link: path.join(home, 'current'), target: 'release' });
    await untilMetric(weir, GENERATION, 4);
    expect(await ask()).toBe(0);
    expect(await metricOf(weir, LOADS)).toBe(4);
    client.close();
    expect(await weir.stop()).toBe(0);
  });
});

test('a restarted worker uses the last good set while the files are bad', async () => {
  const file = path.join(home, 'a.yaml');
  writeFileSync(file, setOf(0)['a.yaml']!);
  const weir = await startWeir({ config: file, env: { ...redisEnv(), WORKERS: '2' } });
  writeFileSync(file, setOf(3)['a.yaml']!);
  await untilMetric(weir, GENERATION, 2);
  writeFileSync(file, 'domain: [');
  await untilMetric(weir, ERRORS, 1);
  const workers = childPidsOf(weir.pid);
  expect(workers).toHaveLength(2);
  // As a terminal that closes tells every process: workers are told by the one that runs them.
  for (const worker of workers) process.kill(worker, 'SIGHUP');
  weir.kill('SIGHUP');
  await untilMetric(weir, ERRORS, 2);
  expect(await metricOf(weir, 'weir_worker_restarts_total')).toBe(0);
  for (const worker of workers) process.kill(worker, 'SIGKILL');
  await untilMetric(weir, 'weir_worker_restarts_total', 2);
  await untilMetric(weir, 'weir_workers', 2);
  expect(await metricOf(weir, GENERATION)).toBe(2);
  const clients = Array.from({ length: CALLERS }, () => new RlsClient(weir.grpcPort));
  for (const client of clients) expect(versionOf(await client.ask('a', BOTH))).toBe(3);
  expect(await healthOf(weir)).toEqual({ status: 200, body: 'OK\nconfig: last good\n' });
  for (const client of clients) client.close();
  await weir.stop();
});

describe('without a good configuration at the start, from RUNTIME_ROOT', () => {
  const NEVER = { status: 500, body: 'NOT_SERVING\nconfig: none yet\n' };

  test.each([1, 2])('health is off and calls are UNAVAILABLE until a good configuration loads (WORKERS=%d)', async (workers) => {
    const weir = await startWeir({
      env: { ...redisEnv(), WORKERS: String(workers), RUNTIME_ROOT: path.join(home, 'root') },
      healthStatus: 500,
    });
    const client = new RlsClient(weir.grpcPort);
    expect(await healthOf(weir)).toEqual(NEVER);
    expect(weir.output()).toContain(`${path.join(home, 'root/config')}: does not exist; set RUNTIME_ROOT`);
    expect(await debugPage(weir, '/rlconfig')).toContain('# config: none yet; the last configuration loaded was rejected:\n');
    await expect(client.ask('a', BOTH)).rejects.toMatchObject({
      code: status.UNAVAILABLE,
      details: expect.stringContaining('no configuration is loaded yet') as unknown,
    });
    expect([await metricOf(weir, GENERATION), await metricOf(weir, ERRORS), await metricOf(weir, LOADS)]).toEqual([0, 1, 0]);
    const map = new ConfigMap(setOf(0), path.join(home, 'root/config'));
    await until(async () => (await healthOf(weir)).body === 'OK');
    await untilMetric(weir, GENERATION, 1);
    expect(versionOf(await client.ask('a', BOTH))).toBe(0);
    map.swap(setOf(1));
    await untilMetric(weir, GENERATION, 2);
    client.close();
    expect(await weir.stop()).toBe(0);
  });

  test('FORCE_START_WITHOUT_INITIAL_CONFIG turns health on, unless HEALTHY_WITH_AT_LEAST_ONE_CONFIG_LOADED is set', async () => {
    const env = { ...redisEnv(), RUNTIME_ROOT: path.join(home, 'root'), FORCE_START_WITHOUT_INITIAL_CONFIG: 'true' };
    const forced = await startWeir({ env });
    expect(await healthOf(forced)).toEqual({ status: 200, body: 'OK\nconfig: none yet\n' });
    await forced.stop();
    const both = await startWeir({ env: { ...env, HEALTHY_WITH_AT_LEAST_ONE_CONFIG_LOADED: 'true' }, healthStatus: 500 });
    expect(await healthOf(both)).toEqual(NEVER);
    await both.stop();
  });
});

test.each([1, 2])(
  'HEALTHY_WITH_AT_LEAST_ONE_CONFIG_LOADED keeps health off while the configuration is empty (WORKERS=%d)',
  async (workers) => {
    const directory = path.join(home, 'root/config');
    mkdirSync(directory, { recursive: true });
    const env = {
      ...redisEnv(),
      WORKERS: String(workers),
      RUNTIME_ROOT: path.join(home, 'root'),
      HEALTHY_WITH_AT_LEAST_ONE_CONFIG_LOADED: 'true',
    };
    const weir = await startWeir({ env, healthStatus: 500 });
    const client = new RlsClient(weir.grpcPort);
    expect(await healthOf(weir)).toEqual({ status: 500, body: 'NOT_SERVING\nconfig: no domain\n' });
    // It decides all the same: there is no limit.
    expect((await client.ask('a', BOTH)).overall_code).toBe(OK);
    writeFileSync(path.join(directory, 'a.yaml'), setOf(0)['a.yaml']!);
    await untilMetric(weir, GENERATION, 2);
    for (let i = 0; i < CALLERS; i += 1) await until(async () => (await healthOf(weir)).body === 'OK');
    rmSync(path.join(directory, 'a.yaml'));
    await untilMetric(weir, GENERATION, 3);
    for (let i = 0; i < CALLERS; i += 1) await until(async () => (await healthOf(weir)).status === 500);
    client.close();
    expect(await weir.stop()).toBe(0);
  },
);
