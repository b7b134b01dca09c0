/** The memory of a bucket, in Redis and in the embedded store: the growth when many new buckets are made. */

import { readMetrics, total } from '../../test/faults/run/weir-readings';
import type { TestClient } from '../../test/support/redis/redis-store';
import { startAfresh, usedMemory } from '../support/redis-figures';
import { CONNECTIONS, WORKLOADS } from './rows';
import { startShipped, type Contender } from '../servers/contenders';
import { pin, type Cores } from '../support/cores';
import type { KeyChoice } from '../load/keys';
import type { LoadJob, LoadResult } from '../load/run-load';
import { residentBytes } from '../support/process-usage';
import type { WorkerProcess } from '../support/worker-process';

const STREAMS = 64;
/** More than any fill takes. */
const FILL_MS_MAX = 120_000;
/** Made before the first reading, so that code and tables that grow once are not counted as buckets. */
const WARM_UP_CALLS = 20_000;

export interface BucketsMemoryInput {
  readonly generator: WorkerProcess<LoadJob, LoadResult>;
  readonly admin: TestClient;
  readonly cores: Cores | undefined;
  /** The Weir that counts in the Redis of `admin`. */
  readonly onRedis: Contender;
  readonly redisBuckets: number;
  readonly embeddedBuckets: number;
}

export interface BucketsMemory {
  readonly redis: { readonly buckets: number; readonly bytesPerBucket: number };
  readonly embedded: { readonly buckets: number; readonly bytesPerBucket: number; readonly residentBytes: number };
}

export async function measureBucketsMemory(input: BucketsMemoryInput): Promise<BucketsMemory> {
  return { redis: await measureRedis(input), embedded: await measureEmbedded(input) };
}

async function measureRedis({ generator, admin, onRedis, redisBuckets }: BucketsMemoryInput): Promise<BucketsMemory['redis']> {
  await startAfresh(admin);
  const before = await usedMemory(admin);
  await fill(generator, onRedis.port, { count: redisBuckets, order: 'in_turn' });
  const buckets = await admin.sendCommand<number>(['DBSIZE']);
  return { buckets, bytesPerBucket: ((await usedMemory(admin)) - before) / buckets };
}

async function measureEmbedded({ generator, cores, embeddedBuckets }: BucketsMemoryInput): Promise<BucketsMemory['embedded']> {
  const weir = await startShipped({ TRANSPORT: 'lean' });
  try {
    pin(weir.pid, cores?.server);
    await fill(generator, weir.grpcPort, { count: 1, order: 'in_turn' }, WARM_UP_CALLS);
    const before = residentBytes(weir.pid);
    await fill(generator, weir.grpcPort, { count: embeddedBuckets, order: 'in_turn' });
    const after = residentBytes(weir.pid);
    const buckets = total(await readMetrics([weir]), { name: 'weir_memory_store_buckets' });
    return { buckets, bytesPerBucket: (after - before) / buckets, residentBytes: after };
  } finally {
    await weir.stop();
  }
}

async function fill(generator: BucketsMemoryInput['generator'], port: number, keys: KeyChoice, calls = keys.count): Promise<void> {
  const { failed, broken } = await generator.run({
    host: '127.0.0.1',
    port,
    connections: CONNECTIONS,
    load: { kind: 'closed', streams: STREAMS },
    durationMs: FILL_MS_MAX,
    callsMax: calls,
    asked: WORKLOADS.many.asked,
    keys,
    watchedBelow: 0,
  });
  if (failed > 0) throw new Error(`${failed} calls failed while buckets were made${broken === undefined ? '' : `: ${broken}`}`);
}
