/** A Weir on a Redis Cluster, and what a load costs both. */

import { RlsClient } from '../../test/support/clients/rls-client';
import { writeConfig } from '../../test/support/config/temp-config';
import type { WeirProcess } from '../../test/support/processes/weir-process';
import { RedisCluster } from '../../test/support/redis/redis-cluster';
import type { LoadJob, LoadResult } from '../load/run-load';
import { CONNECTIONS, SATURATING_STREAMS } from '../rows/rows';
import { startShipped } from '../servers/contenders';
import { pin, type Cores } from '../support/cores';
import { countCalls, redisVersion, resetCounters } from '../support/redis-figures';
import type { WorkerProcess } from '../support/worker-process';
import { keyValue, type Asked } from '../load/calls';

const DOMAIN = 'shards';
export const TENANTS = 100_000;
/** Each shard is asked by one Weir at this rate in the row `per_shard`. */
export const PER_SHARD = 500;
export const TOTAL = 6_000;
export const TOTAL_TWO_SLOTS = 1_500;
const WARM_UP_MS = 2_000;
const CONNECTED_WITHIN_MS = 20_000;
const POLL_MS = 50;

/** The level of a token bucket of a limit for a day stays below 2^53, as in bench/limits.yaml. */
const TOKEN_BUCKETS = `
domain: ${DOMAIN}
hash_tag: tenant
descriptors:
  - { key: tenant, rate_limit: { unit: day, requests_per_unit: 10000 } }
  - { key: user, rate_limit: { unit: day, requests_per_unit: 10000 } }
`;

/** The limit of a tenant. */
export const TENANT: Asked = { domain: DOMAIN, entryKeys: ['tenant'] };

/** A limit of a tenant, and one without the entry of `hash_tag`: their buckets are in two slots. */
const TWO_SLOTS: Asked = { domain: DOMAIN, entryKeys: ['tenant', 'user'] };

type Load = LoadJob['load'];

const LOADS = {
  closed: { asked: TENANT, loadOf: (): Load => ({ kind: 'closed', streams: SATURATING_STREAMS }) },
  total: { asked: TENANT, loadOf: (): Load => ({ kind: 'open', perSecond: TOTAL }) },
  per_shard: { asked: TENANT, loadOf: (shards: number): Load => ({ kind: 'open', perSecond: PER_SHARD * shards }) },
  one_slot: { asked: TENANT, loadOf: (): Load => ({ kind: 'open', perSecond: TOTAL_TWO_SLOTS }) },
  two_slots: { asked: TWO_SLOTS, loadOf: (): Load => ({ kind: 'open', perSecond: TOTAL_TWO_SLOTS }) },
} as const;

export type ShardLoadName = keyof typeof LOADS;

export const SHARD_LOADS = Object.keys(LOADS) as readonly ShardLoadName[];

export interface Sharded {
  readonly shards: number;
  readonly cluster: RedisCluster;
  readonly weir: WeirProcess;
  readonly client: RlsClient;
  readonly redisVersion: string;
  stop(): Promise<void>;
}

/** Resolves when all primaries decide. */
export async function startSharded({
  shards,
  cores,
  config = TOKEN_BUCKETS,
}: {
  readonly shards: number;
  readonly cores: Cores | undefined;
  readonly config?: string;
}): Promise<Sharded> {
  const cluster = await RedisCluster.start({ primaries: shards, hasReplicas: false });
  const weir = await startShipped(
    { REDIS_TYPE: 'cluster', REDIS_URL: cluster.url, REDIS_SOCKET_TYPE: 'tcp', REDIS_OP_TIMEOUT: '1s', FAILURE_MODE: 'unavailable' },
    writeConfig(config),
  );
  pin(weir.pid, cores?.server);
  for (const { server } of cluster.servers) pin(server.pid, cores?.load);
  const client = new RlsClient(weir.grpcPort);
  await connected(client);
  return {
    shards,
    cluster,
    weir,
    client,
    redisVersion: await redisVersion(cluster.servers[0]!.client),
    stop: async () => {
      client.close();
      await weir.stop();
      await cluster.stop();
    },
  };
}

/** A start waits for one node; the others are connected a moment later. */
async function connected(client: RlsClient): Promise<void> {
  const endMs = Date.now() + CONNECTED_WITHIN_MS;
  for (;;) {
    const asked = Array.from({ length: 200 }, (_, key) => client.ask(DOMAIN, [{ entries: { tenant: keyValue(key) } }]));
    const failed = (await Promise.allSettled(asked)).find(({ status }) => status === 'rejected');
    if (failed === undefined) return;
    if (Date.now() > endMs) throw new Error('the nodes of the cluster did not decide in time', { cause: failed });
    await new Promise((resolve) => setTimeout(resolve, POLL_MS));
  }
}

export interface ShardFigures {
  readonly perSecond: number;
  readonly failed: number;
  /** Processor time for each decision, in microseconds: of Weir, and of all primaries together. */
  readonly weirUs: number;
  readonly redisUs: number;
  /** Decisions in each script that a primary ran. */
  readonly perScript: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  /** The part of the processor time of Redis that the busiest primary used. */
  readonly busiest: number;
}

export interface LoadInput {
  readonly sharded: Sharded;
  readonly generator: WorkerProcess<LoadJob, LoadResult>;
  readonly name: ShardLoadName;
  readonly durationMs: number;
  readonly seed: number;
}

export async function measureLoad({ sharded, generator, name, durationMs, seed }: LoadInput): Promise<ShardFigures> {
  const { asked, loadOf } = LOADS[name];
  const load = loadOf(sharded.shards);
  const job = jobFor({ sharded, asked, load, durationMs, seed });
  // Code that runs for the first time costs many times as much, and new buckets cost more than known ones.
  if (name === 'closed') await generator.run({ ...job, durationMs: WARM_UP_MS });
  for (const { client } of sharded.cluster.servers) await resetCounters(client);
  const result = await generator.run(job);
  const decisions = result.admitted + result.denied;
  const [weirUs = NaN, ...redisUs] = result.processorUs;
  const redisSumUs = sum(redisUs);
  return {
    perSecond: (decisions * 1_000) / result.elapsedMs,
    failed: result.failed,
    weirUs: weirUs / decisions,
    redisUs: redisSumUs / decisions,
    perScript: decisions / sum(await Promise.all(sharded.cluster.servers.map(({ client }) => scriptsOf(client)))),
    p50Ms: result.latencyMs?.p50 ?? NaN,
    p99Ms: result.latencyMs?.p99 ?? NaN,
    busiest: Math.max(...redisUs) / redisSumUs,
  };
}

export interface JobInput {
  readonly sharded: Sharded;
  readonly asked: Asked;
  readonly load: Load;
  readonly durationMs: number;
  readonly seed: number;
  readonly tenants?: number;
}

/** The processor time of Weir comes first, then that of each primary. */
export function jobFor({ sharded, asked, load, durationMs, seed, tenants = TENANTS }: JobInput): LoadJob {
  return {
    host: '127.0.0.1',
    port: sharded.weir.grpcPort,
    connections: CONNECTIONS,
    load,
    durationMs,
    asked,
    keys: { count: tenants, order: { seed } },
    watchedBelow: tenants,
    meteredPids: [sharded.weir.pid, ...sharded.cluster.servers.map(({ server }) => server.pid)],
  };
}

async function scriptsOf(client: Parameters<typeof countCalls>[0]): Promise<number> {
  return (await countCalls(client)).get('evalsha') ?? 0;
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}
