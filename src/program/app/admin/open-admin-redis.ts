/** Opens the thread's own connections to Redis, so that admin requests and decisions do not wait for each other. */

import { Registry } from 'prom-client';
import { monotonicNowMs, monotonicNowUs } from '../../../lib/clock';
import { toByteString } from '../../../domain/descriptor/byte-string';
import { Health } from '../../../server/observability/health';
import type { Logger } from '../../../server/observability/log/logger';
import { makeMetrics } from '../../../server/observability/metrics/metrics';
import { measureStore } from '../../../server/observability/metrics/store-measure';
import { EventLoopLag } from '../../../state/resilience/event-loop-lag';
import type { StoreChoice } from '../../../configuration/settings/redis/store-choice';
import type { Settings } from '../../../configuration/settings/table/settings';
import type { RulesInForce } from '../../../configuration/source/rules-in-force';
import { MemoryStore } from '../../../state/store/memory/memory-store';
import { Breakers } from '../../../server/observability/breakers';
import { openRedis, type OpenedRedis } from '../deciding/open-redis';
import type { TopKeys } from '../../../state/top/top-keys';
import { PublishedTopKeys } from '../../../state/top/published-top-keys';
import { PublishedTexts } from '../../../state/instances/published-texts';
import { RedisExchange } from '../../../state/top/redis-exchange';
import { inParts } from '../deciding/open-redis-store';
import { VERSION } from '../context/version';
import { RedisBuckets } from '../../../administration/admin/redis-buckets';

/** An operator waits longer than Envoy: the deadline of a command, at least, in milliseconds. */
const OP_TIMEOUT_MS = 2_000;

export interface OpenAdminRedisInput {
  readonly settings: Settings;
  readonly choice: Extract<StoreChoice, { kind: 'redis' }>;
  readonly log: Logger;
  readonly rules: RulesInForce;
  /** Drops cached denials of the deciding process. */
  readonly onReset: (bucketKeys: readonly string[]) => Promise<void>;
}

export interface OpenedAdminRedis {
  readonly buckets: RedisBuckets;
  readonly run: OpenedRedis['run'];
  /** The top keys that all processes have published. */
  readonly top: TopKeys;
  close(): Promise<void>;
}

export async function openAdminRedis({ settings: given, choice, log, rules, onReset }: OpenAdminRedisInput): Promise<OpenedAdminRedis> {
  const settings = { ...given, redisOpTimeoutMs: Math.max(OP_TIMEOUT_MS, given.redisOpTimeoutMs) };
  const health = new Health();
  // The metrics of the deciding process count decisions only; those of this thread are published nowhere.
  const metrics = makeMetrics({
    registry: new Registry(),
    version: VERSION,
    store: 'redis',
    memoryStore: new MemoryStore({ nowUs: monotonicNowUs, bucketsMax: 1 }),
    rules,
  });
  const passed = () => ({ decisions: 0, hits: 0 });
  const parts = {
    settings,
    health,
    log,
    metrics,
    passed,
    breakers: new Breakers({ health, log, metrics, passed }),
    ownLag: new EventLoopLag(),
  };
  const open = (connection: typeof choice.connection, name: 'redis' | 'redis_per_second') =>
    openRedis({ ...parts, connection, measure: measureStore(metrics, name), degraded: name, onConnected: () => undefined });
  const main = open(choice.connection, 'redis');
  const second = choice.perSecond && open(choice.perSecond, 'redis_per_second');
  const store = inParts({ settings, choice, metrics, main, second, onGivenBack: () => undefined });
  const wait = { waitMs: settings.redisConnectTimeoutMs };
  await Promise.all([main.connect(wait), second?.connect(wait)]);
  const buckets = new RedisBuckets({
    store,
    main,
    second,
    isCluster: 'seeds' in choice.connection.place,
    keyPrefix: settings.cacheKeyPrefix,
    isSpread: (domain) => rules.ruleSet?.domains.get(toByteString(domain))?.hashTag !== undefined,
    onReset,
  });
  const run: OpenedRedis['run'] = (call, options) => main.run(call, options);
  const texts = new PublishedTexts({ run, keyPrefix: settings.cacheKeyPrefix });
  const exchange = new RedisExchange(texts, '');
  const top = new PublishedTopKeys({ exchange, nowMs: monotonicNowMs });
  return { buckets, run, top, close: () => store.close() };
}
