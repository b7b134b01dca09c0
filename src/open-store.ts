/** Opens the store that counts in Redis: one Redis or two, what decides while they can't, and the count of those that share them. */

import { monotonicNowMs, monotonicNowUs } from './clock';
import type { Settings } from './config/settings';
import type { StoreChoice } from './config/store-choice';
import type { Health } from './observability/health';
import type { Logger } from './observability/logger';
import type { Metrics } from './observability/metrics';
import { StoreLog } from './observability/store-log';
import { measureStore } from './observability/store-measure';
import { Breakers, openRedis, type OpenedRedis } from './open-redis';
import { FallbackReservations } from './reservation/fallback-reservations';
import { RedisReservations } from './reservation/redis-reservations';
import type { OnLapsed, Reservations } from './reservation/reservations';
import { HEARTBEAT_TTL_MS, Instances } from './resilience/instances';
import { slotOf, SLOTS } from './store/cluster-slots';
import { OneByOneStore } from './store/one-by-one-store';
import { isPerSecond, PerSecondStore } from './store/per-second-store';
import { SplitStore, type SplitStoreOptions } from './store/split-store';
import { StoreError, type Store } from './store/store';
import { wrapRedis, type WrapRedisOptions } from './wrap-redis';

const DEGRADED_REDIS = 'degraded: redis';
const DEGRADED_REDIS_PER_SECOND = 'degraded: redis per second';

const INSTANCES_MAX = 1_000;

/** Kept in this instance while Redis is away. */
const FALLBACK_RESERVATIONS_MAX = 10_000;

/** How long a process that ends waits for Redis to hear of it, in milliseconds. */
const LEAVE_MS = 100;

export interface OpenStoreInput extends Pick<WrapRedisOptions, 'lastKnownMax' | 'accountsMax' | 'local'> {
  readonly settings: Settings;
  /** Processes that serve on this machine under these settings. */
  readonly workers: number;
  readonly choice: Extract<StoreChoice, { kind: 'redis' }>;
  readonly onLapsed: OnLapsed;
  readonly health: Health;
  readonly log: Logger;
  readonly metrics: Metrics;
}

export interface OpenedStore {
  readonly store: Store;
  readonly reservations: Reservations;
  /** Says in Redis that this instance is one no more. */
  readonly leave: () => Promise<void>;
}

/** Resolves without Redis after REDIS_CONNECT_TIMEOUT: degraded, and trying on. */
export async function openStore(input: OpenStoreInput): Promise<OpenedStore> {
  const { settings, choice, health, log, metrics, lastKnownMax, accountsMax, local } = input;
  const parts = { settings, health, log, metrics, breakers: new Breakers({ health, log, metrics }) };
  // What has been lost meanwhile may have been what denied.
  const onSecond = () => { denyCache.clear(); };
  const onMain = () => {
    denyCache.clear();
    void instances.beat();
  };
  const main = openRedis({ ...parts, measure: measureStore(metrics, 'redis'), connection: choice.connection, degraded: DEGRADED_REDIS, onConnected: onMain });
  const second =
    choice.perSecond &&
    openRedis({ ...parts, measure: measureStore(metrics, 'redis_per_second'), connection: choice.perSecond, degraded: DEGRADED_REDIS_PER_SECOND, onConnected: onSecond });
  const { store, denyCache } = wrapRedis(inParts({ settings, choice, metrics, main, second, onGivenBack: (settlements) => { denyCache.forget(settlements); } }), {
    denyCacheMax: settings.denyCacheMax,
    lastKnownMax,
    accountsMax,
    failureMode: settings.failureMode,
    local,
    instances: () => instances.count,
    isThere: ({ bucketKey, limit }) => (second !== undefined && isPerSecond(limit) ? second : main).isThere(bucketKey),
    ...toldOf(metrics, log),
  });
  const instances = makeInstances(input, { main, second, onCount: () => { store.chargeBack(); } });
  metrics.instances.set(instances.count);

  const wait = { waitMs: settings.redisConnectTimeoutMs };
  await Promise.all([main.connect(wait), second?.connect(wait)]);
  instances.start();
  const redis = new RedisReservations({
    run: (call, options) => main.run(call, options),
    slotOf: ({ bucketKey, limit }) => {
      if (second !== undefined && isPerSecond(limit)) return undefined;
      return 'seeds' in choice.connection.place ? slotOf(bucketKey) : 0;
    },
    keyPrefix: settings.cacheKeyPrefix,
    onGivenBack: (legs) => { denyCache.forget(legs); },
    onLapsed: input.onLapsed,
  });
  const reservations = new FallbackReservations({ redis, store, nowUs: monotonicNowUs, recordsMax: FALLBACK_RESERVATIONS_MAX, onLapsed: input.onLapsed });
  return { store, reservations, leave: () => instances.leave({ waitMs: LEAVE_MS }) };
}

/** What the layers around Redis tell metrics and log. */
function toldOf(metrics: Metrics, log: Logger): Pick<WrapRedisOptions, 'onDenied' | 'onFallback' | 'onChargedBack' | 'onLost' | 'onUndecided'> {
  const storeLog = new StoreLog({ log, nowMs: monotonicNowMs });
  return {
    onDenied: () => {
      metrics.denyCacheDenials.inc();
    },
    onFallback: ({ local, open }) => {
      metrics.fallbackDecisions.inc();
      metrics.fallbackHits.inc({ failure_mode: 'local' }, local);
      metrics.fallbackHits.inc({ failure_mode: 'open' }, open);
    },
    onChargedBack: (hits) => {
      metrics.chargedBackHits.inc(hits);
    },
    onLost: (hits, cause) => {
      metrics.chargeBackLostHits.inc(hits);
      storeLog.hitsLost(hits, cause);
    },
    onUndecided: (error) => { storeLog.undecided(error); },
  };
}

interface BothRedis {
  readonly main: OpenedRedis;
  /** Undefined: there is one Redis. */
  readonly second: OpenedRedis | undefined;
}

interface InstancesParts extends BothRedis {
  readonly onCount: () => void;
}

/** Those that share the first Redis: only there are they counted. */
function makeInstances({ settings, workers, choice, log, metrics }: OpenStoreInput, { main, second, onCount }: InstancesParts): Instances {
  const heart = { key: `${settings.cacheKeyPrefix}weir:instances`, ttlMs: HEARTBEAT_TTL_MS, instancesMax: INSTANCES_MAX };
  let isToldOfHeartbeat = false;
  return new Instances({
    beat: (heartbeat) => {
      // Only to show that it answers in time.
      second?.beat({ ...heart, ...heartbeat }).catch(() => undefined);
      return main.beat({ ...heart, ...heartbeat });
    },
    // Each worker has a share of its own.
    assumed: settings.failureModeInstances * workers,
    onCount: (count) => {
      metrics.instances.set(count);
      onCount();
    },
    onError: (error) => {
      // One that is refused counts nobody, though Redis may well decide: told once.
      if (isToldOfHeartbeat || !(error instanceof StoreError) || error.reason !== 'script') return;
      isToldOfHeartbeat = true;
      log.warn(`no heartbeat in Redis at ${choice.connection.description}, so instances are not counted: ${error.message}`);
    },
    nowMs: monotonicNowMs,
  });
}

interface InPartsInput extends BothRedis, Pick<OpenStoreInput, 'settings' | 'choice' | 'metrics'> {
  readonly onGivenBack: SplitStoreOptions['onGivenBack'];
}

/** One Redis, or two; where a request's buckets may be in several places, they are taken all or nothing. */
function inParts({ settings, choice, metrics, main, second, onGivenBack }: InPartsInput): Store {
  const isCluster = 'seeds' in choice.connection.place;
  if (second === undefined && !isCluster) return main.store;
  const isSecondCluster = choice.perSecond !== undefined && 'seeds' in choice.perSecond.place;
  const both = second && new PerSecondStore(main.store, second.store);
  return new OneByOneStore(new SplitStore(both ?? main.store, {
    partOf: ({ bucketKey, limit }) => {
      const isOfSecond = second !== undefined && isPerSecond(limit);
      // Each slot of each Redis is a part, and a Redis that is no cluster is one.
      const slot = (isOfSecond ? isSecondCluster : isCluster) ? slotOf(bucketKey) : 0;
      return isOfSecond ? SLOTS + slot : slot;
    },
    timeoutMs: settings.redisOpTimeoutMs,
    onHitsLost: (hits) => {
      metrics.hitsLost.inc(hits);
    },
    onGivenBack,
  }));
}
