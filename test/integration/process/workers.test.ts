/** Workers share the ports, limits and metrics exactly, and a killed worker is restarted at a bounded rate. */

import { spawnSync } from 'node:child_process';
import { chmodSync, copyFileSync, mkdtempSync, renameSync, rmSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { CONFIG_METRICS, FAIR_METRICS, METRICS, WORKER_METRICS } from '../../../src/server/observability/metrics/metrics';
import { CERTIFICATE_METRIC } from '../../../src/server/observability/metrics/certificate-expiry';
import { LIMIT_METRICS } from '../../../src/server/observability/metrics/rule-limit-metric';
import { DOMAIN_METRICS, RULE_METRICS } from '../../../src/server/observability/metrics/rule-metrics';
import { acceptedBy } from '../../support/processes/accepted-connections';
import { childPidsOf } from '../../support/processes/child-pids';
import { httpRequest } from '../../support/clients/http-client';
import { startRedis, type RedisServer } from '../../support/redis/redis-server';
import { OK, RlsClient } from '../../support/clients/rls-client';
import { writeConfig } from '../../support/config/temp-config';
import { until } from '../../support/clock/until';
import { startWeir, type WeirProcess } from '../../support/processes/weir-process';
import { hangLimitMs } from '../../support/clock/hang-limit';

const WORKERS = 3;
const LIMIT = 100;
const CLIENTS = 12;
const TRY_MS = 20;

const CONFIG = writeConfig(
  `domain: d\ndescriptors: [{ key: k, rate_limit: { unit: year, requests_per_unit: ${LIMIT}, algorithm: fixed_window } }]\n`,
);

describe.each(['grpc-js', 'lean'])('WORKERS=3 over %s', (transport) => {
  let redis: RedisServer;
  let weir: WeirProcess;
  let clients: RlsClient[];

  beforeAll(async () => {
    redis = await startRedis();
    const env = { REDIS_URL: `redis://127.0.0.1:${redis.port}`, REDIS_OP_TIMEOUT: '1s', WORKERS: String(WORKERS), TRANSPORT: transport };
    weir = await startWeir({ config: CONFIG, env });
    // A connection is one worker's: several, so that each worker has some.
    clients = Array.from({ length: CLIENTS }, () => new RlsClient(weir.grpcPort));
  });

  afterAll(async () => {
    for (const client of clients) client.close();
    expect(await weir.stop()).toBe(0);
    expect(weir.output()).toContain('drained');
    await redis.stop();
  });

  test('the workers share one limit, and each of them answers calls', async () => {
    const answers = await Promise.all(
      Array.from({ length: 3 * LIMIT }, (_, i) => clients[i % CLIENTS]!.ask('d', [{ entries: { k: 'shared' } }])),
    );
    expect(answers.filter(({ overall_code: code }) => code === OK)).toHaveLength(LIMIT);
    const accepted = workersOf(weir).map((pid) => acceptedBy(pid, weir.grpcPort));
    expect(accepted.filter((connections) => connections > 0)).toHaveLength(WORKERS);
    expect(accepted.reduce((sum, connections) => sum + connections)).toBe(CLIENTS);
  });

  test('/metrics has every metric of the tables, with the sum of all workers', async () => {
    const text = await metricsOf(weir);
    const served = Array.from(text.matchAll(/^# TYPE (\S+) (\S+)$/gm), ([, name]) => name!).filter((name) =>
      /^(?:weir|ratelimit)_/.test(name),
    );
    const tables = [
      METRICS,
      RULE_METRICS,
      WORKER_METRICS,
      CONFIG_METRICS,
      FAIR_METRICS,
      DOMAIN_METRICS,
      LIMIT_METRICS,
      { CERTIFICATE_METRIC },
    ];
    const names = tables.flatMap((table) => Object.values<{ readonly name: string }>(table)).map(({ name }) => name);
    expect(served.sort()).toEqual([...new Set(names)].sort());
    expect(valueOf(text, METRICS.totalRequests.name)).toBe(3 * LIMIT);
    expect(valueOf(text, RULE_METRICS.withinLimit.name)).toBe(LIMIT);
    expect(valueOf(text, WORKER_METRICS.workers.name)).toBe(WORKERS);
    expect((await httpRequest(`http://127.0.0.1:${weir.debugPort}/rlconfig`)).body).toContain('d.k:');
  });

  test('each worker counts as an instance, and the gauge is not their sum', async () => {
    await untilValue(weir, METRICS.instances.name, WORKERS);
  });

  test('a killed worker is restarted; the others go on, and the counters stay', async () => {
    const before = valueOf(await metricsOf(weir), METRICS.totalRequests.name);
    const [victim] = workersOf(weir);
    process.kill(victim!, 'SIGKILL');
    await untilValue(weir, WORKER_METRICS.restarts.name, 1);
    await untilValue(weir, WORKER_METRICS.workers.name, WORKERS);
    expect(workersOf(weir)).not.toContain(victim);
    const client = new RlsClient(weir.grpcPort);
    await client.ask('d', [{ entries: { k: 'after' } }]);
    client.close();
    expect(valueOf(await metricsOf(weir), METRICS.totalRequests.name)).toBe(before + 1);
  });
});

test('an unusable port stops all workers and is reported once', async () => {
  const first = await startWeir({ config: CONFIG, env: { BACKEND_TYPE: 'memory' } });
  const env = {
    PATH: process.env.PATH,
    REDIS_URL: 'redis://127.0.0.1:1',
    REDIS_CONNECT_TIMEOUT: '10ms',
    WORKERS: '3',
    GRPC_HOST: '127.0.0.1',
    GRPC_PORT: String(first.grpcPort),
    PORT: '0',
    DEBUG_PORT: '0',
  };
  const second = spawnSync(process.execPath, ['dist/main.js', 'serve', '--config', CONFIG], {
    env,
    encoding: 'utf8',
    timeout: hangLimitMs(20_000),
  });
  await first.stop();
  expect(second.status).toBe(1);
  expect(second.stderr.match(/GRPC_PORT: \S+ is in use already/g)).toHaveLength(1);
  expect(second.stderr).toContain('a worker ended with exit code 1 before it served');
});

test('SIGTERM makes all workers answer their calls in flight, and the process exits with 0', async () => {
  const redis = await startRedis();
  const weir = await startWeir({
    config: CONFIG,
    env: { REDIS_URL: `redis://127.0.0.1:${redis.port}`, REDIS_OP_TIMEOUT: '1s', FAILURE_MODE: 'local', WORKERS: '2' },
  });
  const clients = Array.from({ length: 4 }, () => new RlsClient(weir.grpcPort));
  await Promise.all(clients.map((client) => client.ask('d', [{ entries: { k: 'v' } }])));
  // A Redis that is stopped keeps the calls in flight until after the signal; then each worker decides by itself.
  redis.kill('SIGSTOP');
  const inFlight = clients.map((client) => client.ask('d', [{ entries: { k: 'v' } }]));
  await pause();
  const exitCode = weir.stop();
  expect((await Promise.all(inFlight)).map(({ overall_code: code }) => code)).toEqual([OK, OK, OK, OK]);
  expect(await exitCode).toBe(0);
  for (const client of clients) client.close();
  await redis.stop();
});

test('workers end with their parent, however it ends', async () => {
  const redis = await startRedis();
  const weir = await startWeir({ config: CONFIG, env: { REDIS_URL: `redis://127.0.0.1:${redis.port}`, WORKERS: '2' } });
  const workers = workersOf(weir);
  expect(workers).toHaveLength(2);
  weir.kill('SIGKILL');
  await until(() => !workers.some(isRunning));
  expect(workers.filter(isRunning)).toEqual([]);
  await weir.stop();
  await redis.stop();
});

test('a worker that cannot start is reported, and started once it can be', async () => {
  const redis = await startRedis();
  const node = path.join(mkdtempSync(path.join(tmpdir(), 'weir-node-')), 'node');
  copyFileSync(process.execPath, node);
  chmodSync(node, 0o755);
  const weir = await startWeir({
    command: [node, 'dist/main.js', 'serve'],
    config: CONFIG,
    env: { REDIS_URL: `redis://127.0.0.1:${redis.port}`, WORKERS: '2' },
  });
  renameSync(node, `${node}.gone`);
  process.kill(workersOf(weir)[0]!, 'SIGKILL');
  const told = (): boolean =>
    (weir.output().match(/could not start a worker process: spawn .* ENOENT; restart in \d+ ms/g) ?? []).length > 1;
  await until(told);
  await untilValue(weir, WORKER_METRICS.workers.name, 1);
  renameSync(`${node}.gone`, node);
  await untilValue(weir, WORKER_METRICS.workers.name, 2);
  expect(await weir.stop()).toBe(0);
  rmSync(path.dirname(node), { recursive: true });
  await redis.stop();
});

test('a connection to a hung, killed worker closes, and its client reconnects', async () => {
  const redis = await startRedis();
  const weir = await startWeir({ config: CONFIG, env: { REDIS_URL: `redis://127.0.0.1:${redis.port}`, WORKERS: '2' } });
  const [victim] = workersOf(weir);
  process.kill(victim!, 'SIGSTOP');
  const clients = Array.from({ length: CLIENTS }, () => {
    const socket = connect(weir.grpcPort, '127.0.0.1');
    const client = { socket, isGreeted: false, isClosed: false };
    socket
      .on('error', () => undefined)
      .on('data', () => {
        client.isGreeted = true;
      })
      .on('close', () => {
        client.isClosed = true;
      });
    return client;
  });
  // The worker that hangs has one of them; the other one has greeted all the rest.
  const greeted = (): number => clients.filter(({ isGreeted }) => isGreeted).length;
  await until(() => greeted() >= CLIENTS - 1);
  expect([greeted(), clients.filter(({ isClosed }) => isClosed).length]).toEqual([CLIENTS - 1, 0]);
  process.kill(victim!, 'SIGKILL');
  const [waiting] = clients.filter(({ isGreeted }) => !isGreeted);
  await until(() => waiting!.isClosed);
  expect(clients.filter(({ isClosed }) => isClosed)).toEqual([waiting]);
  for (const { socket } of clients) socket.destroy();
  expect(await weir.stop()).toBe(0);
  await redis.stop();
});

/** Its children, by /proc. */
function workersOf({ pid }: WeirProcess): number[] {
  return childPidsOf(pid);
}

function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}

async function metricsOf({ debugPort }: WeirProcess): Promise<string> {
  return (await httpRequest(`http://127.0.0.1:${debugPort}/metrics`)).body;
}

/** The sum of all its series. */
function valueOf(text: string, name: string): number {
  return Array.from(text.matchAll(new RegExp(`^${name}(?:\\{.*\\})? (\\S+)$`, 'gm')), ([, value]) => Number(value)).reduce(
    (sum, value) => sum + value,
    0,
  );
}

async function untilValue(weir: WeirProcess, name: string, expected: number): Promise<void> {
  await until(async () => valueOf(await metricsOf(weir), name) === expected);
}

function pause(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, TRY_MS));
}
