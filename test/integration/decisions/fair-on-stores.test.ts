/** Limits with fair are divided on a Redis Cluster, and where limits per second have a Redis of their own. */

import { status } from '@grpc/grpc-js';
import { RlsClient } from '../../support/clients/rls-client';
import { until } from '../../support/clock/until';
import { hangLimitMs } from '../../support/clock/hang-limit';
import { writeConfig } from '../../support/config/temp-config';
import { dividedLimits } from '../../support/decisions/divided-limits';
import { startWeir } from '../../support/processes/weir-process';
import { RedisCluster } from '../../support/redis/redis-cluster';
import { startRedis } from '../../support/redis/redis-server';
import { makeTestClient, type TestClient } from '../../support/redis/redis-store';

const TIMEOUT_MS = 180_000;
const INSTANCES = 2;
const CONFIG = writeConfig(`
domain: d
descriptors:
  - key: second
    rate_limit: { unit: second, requests_per_unit: 3 }
    fair: { entry: tenant }
  - key: seconds
    rate_limit: { unit: second, unit_multiplier: 3, requests_per_unit: 3 }
    fair: { entry: tenant }
`);

async function onCluster() {
  const cluster = await RedisCluster.start({ hasReplicas: false });
  const clients = cluster.servers.map(({ client }) => client);
  return { env: { REDIS_TYPE: 'cluster', REDIS_URL: cluster.url }, clients, stop: () => cluster.stop() };
}

async function onTwo() {
  const [main, perSecond] = [await startRedis(), await startRedis()];
  const client = await makeTestClient(main.port).connect();
  const env = {
    REDIS_URL: `127.0.0.1:${main.port}`,
    REDIS_PERSECOND: 'true',
    REDIS_PERSECOND_SOCKET_TYPE: 'tcp',
    REDIS_PERSECOND_URL: `127.0.0.1:${perSecond.port}`,
  };
  return {
    env,
    clients: [client],
    stop: async () => {
      client.destroy();
      await main.stop();
      await perSecond.stop();
    },
  };
}

/** The tenants of the demand that is in Redis, for each limit and window. */
async function boards(clients: readonly TestClient[]): Promise<readonly string[]> {
  const all: string[] = [];
  for (const client of clients) for (const key of await client.keys('weir:fair:*')) all.push((await client.hKeys(key)).sort().join());
  return all;
}

test.each([
  ['a cluster', onCluster],
  ['a Redis for limits per second', onTwo],
])(
  'on %s the demand at all instances is in one place, and each instance divides by it',
  async (_, start) => {
    const { env, clients: stores, stop } = await start();
    const all = { ...env, REDIS_OP_TIMEOUT: '1s' };
    const weirs = await Promise.all(Array.from({ length: INSTANCES }, () => startWeir({ config: CONFIG, env: all })));
    const clients = weirs.map(({ grpcPort }) => new RlsClient(grpcPort));
    // Each tenant asks at an instance of its own.
    const ask = (key: string, i: number) =>
      clients[i]!.ask('d', [{ entries: { [key]: 'large', tenant: `tenant-${i}` }, hits_addend: { value: '3' } }], {
        timeoutMs: hangLimitMs(5_000),
      });
    await until(
      async () => {
        const asked = await Promise.allSettled(['second', 'seconds'].flatMap((key) => [0, 1].map((i) => ask(key, i))));
        // A start does not wait for all nodes of a cluster.
        for (const each of asked) if (each.status === 'rejected') expect(each.reason).toMatchObject({ code: status.UNAVAILABLE });
        return (await Promise.all(weirs.map(dividedLimits))).every((count) => count === 2);
      },
      { timeoutMs: 60_000 },
    );
    expect(await boards(stores)).toContain('tenant-0,tenant-1');
    for (const client of clients) client.close();
    await Promise.all(weirs.map((weir) => weir.stop()));
    await stop();
  },
  TIMEOUT_MS,
);
