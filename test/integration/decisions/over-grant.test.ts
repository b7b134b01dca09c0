/** Two processes on one Redis, or one on the embedded store, never admit more than one bucket holds. */

import type { WireResponse } from '../../../src/server/transport/messages/wire';
import { isLong } from '../../support/random/form';
import { startRedis, type RedisServer } from '../../support/redis/redis-server';
import { OK, RlsClient } from '../../support/clients/rls-client';
import { until } from '../../support/clock/until';
import { writeConfig } from '../../support/config/temp-config';
import { startWeir, type WeirProcess } from '../../support/processes/weir-process';
import { figure } from '../../support/docs/figure';

const CALLERS = 64;
const DURATION_MS = isLong ? 3_000 : 1_500;
const BURST = 10;
const PER_SECOND = 10;
const TIMEOUT_MS = 60_000;

const CONFIG = writeConfig(`
domain: load
descriptors:
  - key: client
    rate_limit: { unit: second, requests_per_unit: ${PER_SECOND}, burst: ${BURST}, algorithm: token_bucket }
`);

interface Admission {
  readonly sentMs: number;
  readonly answeredMs: number;
}

interface Run {
  readonly admissions: readonly Admission[];
  readonly denied: number;
  readonly startedMs: number;
}

/** All callers on one key until the time is over, spread over the processes. */
async function runCallers(processes: readonly WeirProcess[]): Promise<Run> {
  const clients = processes.map(({ grpcPort }) => new RlsClient(grpcPort));
  const admissions: Admission[] = [];
  let denied = 0;
  // A busy machine may have lost or not yet made its connection to Redis.
  for (const client of clients)
    await until(() =>
      client.ask('load', [{ entries: { client: 'warm-up' } }]).then(
        () => true,
        () => false,
      ),
    );
  const startedMs = performance.now();
  const call = async (client: RlsClient): Promise<void> => {
    while (performance.now() - startedMs < DURATION_MS) {
      const sentMs = performance.now();
      const response: WireResponse = await client.ask('load', [{ entries: { client: 'hot' } }]);
      if (response.overall_code === OK) admissions.push({ sentMs, answeredMs: performance.now() });
      else denied += 1;
    }
  };
  await Promise.all(Array.from({ length: CALLERS }, (_, i) => call(clients[i % clients.length]!)));
  for (const client of clients) client.close();
  return { admissions, denied, startedMs };
}

/** A decision fell between its call and its answer, so the bounds take the side of it that is on the safe side. */
function expectExact({ admissions, denied, startedMs }: Run): void {
  const atMost = BURST + PER_SECOND * ((Math.max(...admissions.map(({ answeredMs }) => answeredMs)) - startedMs) / 1000);
  const firstMs = Math.min(...admissions.map(({ answeredMs }) => answeredMs));
  const lastMs = Math.max(...admissions.map(({ sentMs }) => sentMs));
  const atLeast = Math.floor(BURST + PER_SECOND * ((lastMs - firstMs) / 1000)) - 1;
  figure(`${admissions.length} admitted, bound ${atMost.toFixed(2)}, ${denied} denied`);
  expect(admissions.length).toBeLessThanOrEqual(atMost);
  expect(admissions.length).toBeGreaterThanOrEqual(atLeast);
  expect(denied).toBeGreaterThan(CALLERS);
}

describe(`burst 10, 10/s, 64 callers on one key for ${DURATION_MS} ms`, () => {
  let redis: RedisServer;

  beforeAll(async () => {
    redis = await startRedis();
  });

  afterAll(() => redis.stop());

  test(
    'two processes on one Redis admit exactly what one bucket holds',
    async () => {
      const env = { REDIS_SOCKET_TYPE: 'tcp', REDIS_URL: `127.0.0.1:${redis.port}`, REDIS_OP_TIMEOUT: '1s' };
      const processes = await Promise.all([startWeir({ config: CONFIG, env }), startWeir({ config: CONFIG, env })]);
      const run = await runCallers(processes);
      await Promise.all(processes.map((process) => process.stop()));
      expectExact(run);
    },
    TIMEOUT_MS,
  );

  test(
    'one process on the embedded store admits exactly what one bucket holds',
    async () => {
      const weir = await startWeir({ config: CONFIG, env: { BACKEND_TYPE: 'memory' } });
      const run = await runCallers([weir]);
      await weir.stop();
      expectExact(run);
    },
    TIMEOUT_MS,
  );
});
