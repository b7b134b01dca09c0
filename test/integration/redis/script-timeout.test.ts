/** Scripts that decide nothing wait for Redis as long as REDIS_OP_TIMEOUT says, on a single server and on a cluster. */

import { httpRequest } from '../../support/clients/http-client';
import { writeConfig } from '../../support/config/temp-config';
import { until } from '../../support/clock/until';
import { startWeir } from '../../support/processes/weir-process';
import { startRedis, type RedisServer } from '../../support/redis/redis-server';
import { freePort } from '../../support/servers/ports';
import { makeTestClient, type TestClient } from '../../support/redis/redis-store';
import { testFromRedis7 } from '../../support/redis/engine-tests';

/** Longer than a script waits at least, and shorter than the setting. */
const PAUSE_MS = 450;
const OP_TIMEOUT = '1s';
const TRIES = 20;

const CONFIG = writeConfig(`
domain: d
descriptors:
  - { key: k, rate_limit: { unit: year, requests_per_unit: 1000, algorithm: fixed_window, reservations: { max_share: 1 } } }
`);

/** A cluster of one server, which has all slots. */
async function formCluster(client: TestClient): Promise<void> {
  await client.sendCommand(['CLUSTER', 'ADDSLOTSRANGE', '0', '16383']);
  await until(async () => ((await client.sendCommand(['CLUSTER', 'INFO'])) as unknown as string).includes('cluster_state:ok'));
}

async function startOne(type: 'single' | 'cluster'): Promise<RedisServer> {
  if (type === 'single') return startRedis();
  return startRedis({ config: ['--cluster-enabled', 'yes', '--cluster-port', String(await freePort())] });
}

const TITLE = 'REDIS_TYPE=%s: a reservation waits for a Redis that pauses for less than REDIS_OP_TIMEOUT';

test.each(['single'] as const)(TITLE, reservesInPause, 60_000);
testFromRedis7.each(['cluster'] as const)(TITLE, reservesInPause, 60_000);

async function reservesInPause(type: 'single' | 'cluster'): Promise<void> {
  const redis = await startOne(type);
  const client = await makeTestClient(redis.port).connect();
  if (type === 'cluster') await formCluster(client);
  const weir = await startWeir({
    config: CONFIG,
    env: { REDIS_TYPE: type, REDIS_URL: `127.0.0.1:${redis.port}`, REDIS_OP_TIMEOUT: OP_TIMEOUT, HTTP_RESERVATIONS_ENABLED: 'true' },
  });
  const reserve = async (id: string) => {
    const body = { domain: 'd', descriptors: [{ entries: [{ key: 'k', value: 'v' }] }], id, hits: '1' };
    const { status } = await httpRequest(`http://127.0.0.1:${weir.httpPort}/v1/reservations`, { body });
    return status;
  };
  await until(async () => (await reserve('before')) === 200);
  // A busy machine may delay an answer beyond the setting, though not each of them.
  const statuses: number[] = [];
  while (!statuses.includes(200) && statuses.length < TRIES) {
    await client.sendCommand(['CLIENT', 'PAUSE', String(PAUSE_MS)]);
    statuses.push(await reserve(`during-${statuses.length}`));
    await client.ping();
  }
  expect(statuses.at(-1)).toBe(200);
  await weir.stop();
  client.destroy();
  await redis.stop();
}
