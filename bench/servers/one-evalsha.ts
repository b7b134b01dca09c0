/** A process that decides by RedisStore alone, one EVALSHA for each decision, for many callers at once, on one connection or more. */

import { bucketKey } from '../../src/domain/bucket/bucket-key';
import type { Group } from '../../src/domain/bucket/take';
import { isLimitProblem, makeLimit } from '../../src/domain/rule/limit';
import { RedisStore } from '../../src/state/store/redis/redis-store';
import { storeOptions } from '../../test/support/redis/redis-store';
import type { WorkloadLimit } from '../rows/rows';
import { keyValue } from '../load/calls';
import { keysOf, type KeyChoice } from '../load/keys';

/** Their own buckets: those of the servers beside are counted to the hit. */
const PREFIX = 'one-evalsha:';

export interface OneEvalshaJob {
  readonly callers: number;
  readonly durationMs: number;
  /** The run ends earlier after this number of decisions. */
  readonly decisionsMax?: number;
  readonly entryKey: string;
  readonly limit: WorkloadLimit;
  readonly keys: KeyChoice;
}

export interface OneEvalshaResult {
  readonly decisions: number;
  readonly failed: number;
  readonly elapsedMs: number;
}

const [port = '', connections = '1'] = process.argv.slice(2);
const stores = Array.from({ length: Number(connections) }, () => new RedisStore(storeOptions(Number(port))));
const connected = Promise.all(stores.map((store) => store.connect({ waitMs: 5_000 })));

async function run({
  callers,
  durationMs,
  decisionsMax = Infinity,
  entryKey,
  limit: { requests, unit },
  keys,
}: OneEvalshaJob): Promise<OneEvalshaResult> {
  const limit = makeLimit({ requestsPerUnit: requests, unit, algorithm: 'token_bucket' });
  if (isLimitProblem(limit)) throw new Error(limit.message);
  const nextKey = keysOf(keys);
  const group = (): Group => {
    const entries = [{ key: entryKey, value: keyValue(nextKey()) }];
    const key = bucketKey({ prefix: PREFIX, domain: 'bench', entries, limit });
    return { takes: [{ bucketKey: key, limit, hits: 1, mode: 'enforced', descriptor: 0 }], quotaAlwaysFits: false, shadow: false };
  };
  await connected;
  const startMs = performance.now();
  let [decisions, failed] = [0, 0];
  const caller = async (store: RedisStore): Promise<void> => {
    while (performance.now() - startMs < durationMs && decisions < decisionsMax) {
      const [outcome] = await store.take([group()]);
      if (outcome !== undefined && 'overLimit' in outcome) decisions += 1;
      else failed += 1;
    }
  };
  await Promise.all(Array.from({ length: callers }, (_, number) => caller(stores[number % stores.length]!)));
  return { decisions, failed, elapsedMs: performance.now() - startMs };
}

process.on('message', (job: OneEvalshaJob) => {
  void run(job).then((result) => process.send?.(result));
});
process.on('disconnect', () => process.exit(0));
