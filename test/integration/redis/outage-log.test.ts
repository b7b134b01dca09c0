/** The log of a Redis outage under load has at most ten lines. */

import { httpRequest } from '../../support/clients/http-client';
import { RlsClient } from '../../support/clients/rls-client';
import { until } from '../../support/clock/until';
import { writeConfig } from '../../support/config/temp-config';
import { figure } from '../../support/docs/figure';
import { startWeir, type WeirProcess } from '../../support/processes/weir-process';
import { startRedis, type RedisServer } from '../../support/redis/redis-server';
import { TcpProxy } from '../../support/servers/tcp-proxy';

const LINES_MAX = 10;
const CALLERS = 16;
const OPENINGS = 8;
const SLOW_MS = 2_000;
const TIMEOUT_MS = 90_000;

const CONFIG = writeConfig(`
domain: d
descriptors:
  - { key: k, rate_limit: { unit: hour, requests_per_unit: 1000000 } }
  - { key: few, rate_limit: { unit: hour, requests_per_unit: 1 } }
`);

interface LogLine {
  readonly code: string;
  readonly level: string;
}

let redis: RedisServer;
let proxy: TcpProxy;
let weir: WeirProcess;
let client: RlsClient;

beforeEach(async () => {
  redis = await startRedis();
  proxy = await TcpProxy.start(redis.port);
  weir = await startWeir({
    config: CONFIG,
    env: {
      REDIS_SOCKET_TYPE: 'tcp',
      REDIS_URL: `127.0.0.1:${proxy.port}`,
      REDIS_OP_TIMEOUT: '100ms',
      REDIS_BREAKER_OPEN: '200ms',
      FAILURE_MODE: 'local',
      CONTROL_DATA: 'true',
      TOP_KEYS: 'true',
      LOG_FORMAT: 'json',
    },
  });
  client = new RlsClient(weir.grpcPort);
});

afterEach(async () => {
  client.close();
  await weir.stop();
  await proxy.stop();
  await redis.stop();
});

/** Callers in a loop for as long as `during` runs; resolves to the lines that were logged meanwhile. */
async function underLoad(during: () => Promise<void>): Promise<readonly LogLine[]> {
  const before = linesOf().length;
  let isRunning = true;
  const call = async (): Promise<void> => {
    while (isRunning) await client.ask('d', [{ entries: { k: 'v' } }, { entries: { few: 'v' } }]);
  };
  const callers = Array.from({ length: CALLERS }, call);
  await during();
  isRunning = false;
  await Promise.all(callers);
  return linesOf().slice(before);
}

function linesOf(): readonly LogLine[] {
  const lines = weir.output().split('\n');
  return lines.filter((line) => line.startsWith('{')).map((line) => JSON.parse(line) as LogLine);
}

function isLogged(code: string): boolean {
  return linesOf().some((line) => line.code === code);
}

async function health(): Promise<string> {
  return (await httpRequest(`http://127.0.0.1:${weir.httpPort}/healthcheck`)).body;
}

async function openings(): Promise<number> {
  const { body } = await httpRequest(`http://127.0.0.1:${weir.debugPort}/metrics`);
  return Number(/^weir_breaker_openings_total (\d+)$/m.exec(body)?.[1]);
}

test(
  'a Redis that dies and returns is a story of at most ten lines',
  async () => {
    const lines = await underLoad(async () => {
      redis.kill('SIGKILL');
      await until(() => isLogged('breaker_opened') && isLogged('control_stale'));
      await redis.restart();
      await until(async () => (await health()) === 'OK' && isLogged('control_synced'));
    });
    const codes = lines.map(({ code }) => code);
    figure(`${codes.length} lines: ${codes.join(', ')}`);
    expect(codes.length).toBeLessThanOrEqual(LINES_MAX);
    // On a busy machine calls may be late, and open the breaker, before the connection is known to be lost.
    expect(lines.find(({ code }) => code === 'redis_lost')).toMatchObject({ level: 'error' });
    for (const code of ['redis_lost', 'redis_connected', 'breaker_opened', 'breaker_closed', 'control_stale', 'control_synced'])
      expect(codes).toContain(code);
    expect(codes.lastIndexOf('redis_connected')).toBeGreaterThan(codes.lastIndexOf('redis_lost'));
    expect(codes.lastIndexOf('breaker_closed')).toBeGreaterThan(codes.lastIndexOf('breaker_opened'));
  },
  TIMEOUT_MS,
);

test(
  'a Redis that is slow again and again, so that the breaker opens many times, is a story of at most ten lines',
  async () => {
    const lines = await underLoad(async () => {
      for (let opening = 1; opening <= OPENINGS; opening += 1) {
        proxy.delayReplies(SLOW_MS);
        await until(async () => (await openings()) >= opening && (await health()).includes('breaker'));
        proxy.delayReplies(0);
        await until(async () => !(await health()).includes('breaker'));
      }
      await until(async () => (await health()) === 'OK');
    });
    const codes = lines.map(({ code }) => code);
    figure(`${await openings()} openings, ${codes.length} lines: ${codes.join(', ')}`);
    expect(codes.length).toBeLessThanOrEqual(LINES_MAX);
    // On a busy machine the control data may be stale before the breaker opens.
    expect(lines.find(({ code }) => code === 'breaker_opened')).toMatchObject({ level: 'error' });
    expect(codes).toContain('breaker_closed');
  },
  TIMEOUT_MS,
);
