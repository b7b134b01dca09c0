/** Keys that callers choose as long as they may be: a process with little memory keeps none of them whole, in any cache, ledger, table or metric. */
import { readFileSync } from 'node:fs';
import { createClient } from 'redis';
import { httpRequest } from '../../support/clients/http-client';
import { writeConfig } from '../../support/config/temp-config';
import { figure } from '../../support/docs/figure';
import { startWeir, type WeirProcess } from '../../support/processes/weir-process';
import { isLong } from '../../support/random/form';
import { startRedis, type RedisServer } from '../../support/redis/redis-server';

/** A process that kept the keys of a hundred requests whole would end: each has 1 MB. */
const REQUESTS = isLong ? 1_000 : 60;
const HEAP_MIB = isLong ? 300 : 120;
const METRICS_BYTES_MAX = 8 * 1024 * 1024;

const LIMITS = writeConfig('domain: d\ndescriptors: [{ key: k, rate_limit: { unit: hour, requests_per_unit: 10 } }]\n');
const SMALL_HEAP = { NODE_OPTIONS: `--max-old-space-size=${HEAP_MIB}`, TOP_KEYS: 'true', FAILURE_MODE: 'local' };

let weir: WeirProcess | undefined;
let redis: RedisServer | undefined;

afterEach(async () => {
  await weir?.stop();
  await redis?.stop();
  [weir, redis] = [undefined, undefined];
});

/** Just under the bound of a body, with an override limit, so that no rule has to match. */
function body(n: number): object {
  const entries = Array.from({ length: 15 }, (_, i) => ({ key: `${n}-${i}-`.padEnd(65_000, 'k'), value: 'v' }));
  return { domain: 'd', descriptors: [{ entries, limit: { requestsPerUnit: 1, unit: 'HOUR' } }] };
}

/** Sends each request twice: the second is denied, and the denial is remembered. Resolves to the statuses, with the text of other answers. */
async function flood({ httpPort }: WeirProcess): Promise<readonly string[]> {
  const answers: string[] = [];
  for (let n = 0; n < REQUESTS; n += 1) {
    const text = JSON.stringify(body(n));
    for (let again = 0; again < 2; again += 1) {
      const { status, body: answer } = await httpRequest(`http://127.0.0.1:${httpPort}/json`, { method: 'POST', body: text });
      answers.push(status === 200 || status === 429 ? String(status) : `${status} ${answer}`);
    }
  }
  return answers;
}

async function expectAlive({ pid, httpPort, debugPort }: WeirProcess): Promise<void> {
  expect((await httpRequest(`http://127.0.0.1:${httpPort}/healthcheck`)).status).toBe(200);
  const metrics = await httpRequest(`http://127.0.0.1:${debugPort}/metrics`);
  expect(metrics.body.length).toBeLessThan(METRICS_BYTES_MAX);
  const [, kib = '0'] = /VmRSS:\s+(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, 'utf8')) ?? [];
  figure(`RSS ${Math.round(Number(kib) / 1024)} MiB, /metrics ${Math.round(metrics.body.length / 1024)} KiB`);
}

test('a flood of long keys leaves the embedded store alive and decides each request', async () => {
  weir = await startWeir({ config: LIMITS, env: { ...SMALL_HEAP, BACKEND_TYPE: 'memory' } });
  const statuses = await flood(weir);
  expect(statuses.filter((status) => status === '200')).toHaveLength(REQUESTS);
  expect(statuses.filter((status) => status === '429')).toHaveLength(REQUESTS);
  await expectAlive(weir);
});

test('a flood of long keys leaves a Weir on Redis alive, also while Redis is away, and Redis with short keys', async () => {
  redis = await startRedis();
  const env = { REDIS_SOCKET_TYPE: 'tcp', REDIS_URL: `127.0.0.1:${redis.port}`, REDIS_OP_TIMEOUT: '1s' };
  weir = await startWeir({ config: LIMITS, env: { ...SMALL_HEAP, ...env } });
  const statuses = await flood(weir);
  expect(statuses.filter((status) => status === '429')).toHaveLength(REQUESTS);
  const client = await createClient({ url: `redis://127.0.0.1:${redis.port}` }).connect();
  const keys = await client.keys('1{d}*');
  client.destroy();
  expect(keys).toHaveLength(REQUESTS);
  expect(Math.max(...keys.map((key) => key.length))).toBeLessThan(600);
  await redis.stop();
  redis = undefined;
  expect(new Set(await flood(weir))).toEqual(new Set(['429']));
  await expectAlive(weir);
});
