/** Opens the store in Redis: one or two Redis servers, the fallback during an outage, and the count of instances. */

import { monotonicNowMs, monotonicNowUs } from '../../../lib/clock';
import type { Settings } from '../../../configuration/settings/table/settings';
import type { StoreChoice } from '../../../configuration/settings/redis/store-choice';
import type { Passed } from '../../../server/observability/log/absence-log';
import type { Health } from '../../../server/observability/health';
import { event } from '../../../server/observability/log/log-event';
import type { Logger } from '../../../server/observability/log/logger';
import type { Metrics } from '../../../server/observability/metrics/metrics';
import { RedisEngine } from '../../../server/observability/redis-engine';
import { RedisEviction } from '../../../server/observability/redis-eviction';
import { StoreLog } from '../../../server/observability/log/store-log';
import { LastStoreError, type RememberedError } from '../../../server/observability/last-store-error';
import { measureStore } from '../../../server/observability/metrics/store-measure';
import { Breakers } from '../../../server/observability/breakers';
import { openRedis, type OpenedRedis } from './open-redis';
import { FallbackReservations } from '../../../state/reservation/fallback-reservations';
import { RedisReservations } from '../../../state/reservation/redis-reservations';
import type { RunScript } from '../../../state/store/redis/redis-store';
import type { OnLapsed, Reservations } from '../../../state/reservation/reservations';
import type { EngineFacts } from '../../../state/instances/instance-facts';
import { HEARTBEAT_TTL_MS, Instances, instancesKey } from '../../../state/instances/instances';
import { PublishedTexts } from '../../../state/instances/published-texts';
import { EventLoopLag } from '../../../state/resilience/event-loop-lag';
import { OutageFile, type OutageState } from '../../../state/resilience/outage-file';
import { slotOf, SLOTS } from '../../../state/store/redis/cluster-slots';
import { OneByOneStore } from '../../../state/store/layers/one-by-one-store';
import { isPerSecond, PerSecondStore } from '../../../state/store/layers/per-second-store';
import { SplitStore, type SplitStoreOptions } from '../../../state/store/layers/split-store';
import type { Store } from '../../../state/store/port/store';
import { StoreError } from '../../../state/store/port/store-error';
import type { TopExchange } from '../../../state/top/exchange';
import { RedisExchange } from '../../../state/top/redis-exchange';
import type { LeaseStoreOptions } from '../../../state/resilience/lease-store';
import { wrapRedis, type WrapRedisOptions, type WrappedRedis } from '../../../state/resilience/wrap-redis';

const DEGRADED_REDIS = 'degraded: redis';
const DEGRADED_REDIS_PER_SECOND = 'degraded: redis per second';

const INSTANCES_MAX = 1_000;

/** Bound of reservations kept in this instance during an outage. */
const FALLBACK_RESERVATIONS_MAX = 10_000;
const FALLBACK_RESERVATIONS_BYTES_MAX = 16 * 1024 * 1024;

/** How often hits of leases that are over go back, in milliseconds. */
const SWEEP_MS = 500;

/** How long a process that ends waits for Redis to record that, in milliseconds. */
const LEAVE_MS = 100;

export interface OpenRedisStoreInput extends Pick<WrapRedisOptions, 'lastKnownMax' | 'accountsMax' | 'local'> {
  readonly settings: Settings;
  /** The number of serving processes with these settings on this machine. */
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
  /** Runs a script on the first Redis; absent: the store is in memory. */
  readonly run?: RunScript | undefined;
  /** Drops cached denials of buckets that were reset; absent: there are none. */
  readonly forget?: ((bucketKeys: readonly string[]) => void) | undefined;
  /** The name of this process in its heartbeats; absent: there are none. */
  readonly name?: string | undefined;
  /** Records in Redis that this instance has left. */
  readonly leave: () => Promise<void>;
  /** The last error of Redis. Absent: the store is in memory. */
  readonly lastError?: (() => RememberedError | undefined) | undefined;
  /** The engines of the Redis servers. Absent: the store is in memory. */
  readonly engines?: (() => readonly EngineFacts[]) | undefined;
  /** Shares top keys with other processes. Absent: there are none. */
  readonly exchange?: TopExchange;
}

/** Resolves after REDIS_CONNECT_TIMEOUT even without Redis: degraded, and still connecting. */
export async function openRedisStore(input: OpenRedisStoreInput): Promise<OpenedStore> {
  const { settings } = input;
  const file = openOutageFile(input);
  const state = await file?.read();
  const redis = new RedisParts(input, file, state?.instances);
  const { main, second, store, denyCache, leases, instances, lastError } = redis;
  redis.goOn(state);
  const wait = { waitMs: settings.redisConnectTimeoutMs };
  await Promise.all([main.connect(wait), second?.connect(wait)]);
  instances.start();
  return {
    store,
    reservations: makeReservations(input, redis),
    run: (call, options) => main.run(call, options),
    forget: (bucketKeys) => {
      denyCache.forget(bucketKeys.map((bucketKey) => ({ bucketKey })));
      leases.forget(bucketKeys);
    },
    name: instances.name,
    lastError: () => lastError.facts,
    engines: () => redis.engines.flatMap(({ facts }) => facts),
    exchange: makeExchange(settings, main, instances.name),
    leave: () => redis.leave(),
  };
}

/** One or two Redis servers and what is made of them. They connect later, so their callbacks find all parts made. */
class RedisParts implements BothRedis {
  readonly main: OpenedRedis;
  readonly second: OpenedRedis | undefined;
  readonly store: WrappedRedis['store'];
  readonly denyCache: WrappedRedis['denyCache'];
  readonly leases: WrappedRedis['leases'];
  readonly instances: Instances;
  readonly lastError = new LastStoreError(() => Date.now());
  readonly engines: RedisEngine[] = [];
  private readonly ownLag = new EventLoopLag();
  private readonly sweeping: NodeJS.Timeout;
  private readonly passedWithout = { decisions: 0, hits: 0 };

  constructor(
    private readonly input: OpenRedisStoreInput,
    private readonly file: OutageFile | undefined,
    instancesBefore = 1,
  ) {
    const { main, second } = this.openServers();
    this.main = main;
    this.second = second;
    const { store, denyCache, leases } = wrapRedis(this.inParts(), this.wrapOptions());
    this.store = store;
    this.denyCache = denyCache;
    this.leases = leases;
    this.sweeping = setInterval(() => void leases.sweep(), SWEEP_MS).unref();
    const onCount = () => {
      store.chargeBack();
    };
    this.instances = makeInstances(input, { main, second, onCount, instancesBefore });
    input.metrics.instances.set(this.instances.count);
  }

  private openServers(): BothRedis {
    const { settings, choice, health, log, metrics } = this.input;
    const passed = () => ({ ...this.passedWithout });
    const seen = new RedisEviction({ health, log, metrics, nowMs: monotonicNowMs });
    const breakers = new Breakers({ health, log, metrics, passed });
    const common = { settings, health, log, metrics, passed, breakers, ownLag: this.ownLag };
    const ofStore = (store: 'redis' | 'redis_per_second') => {
      const engine = new RedisEngine({ log, metrics, store, timeoutMs: settings.redisOpTimeoutMs });
      this.engines.push(engine);
      return { eviction: { seen, store }, engine, measure: this.lastError.remembering(store, measureStore(metrics, store)) };
    };
    // The Redis may have lost the buckets that caused cached denials, and those that leases were charged to.
    const forgetBuckets = () => {
      this.denyCache.clear();
      this.leases.clear();
    };
    const onMain = () => {
      forgetBuckets();
      void this.instances.beat();
    };
    const { connection, perSecond } = choice;
    return {
      main: openRedis({ ...common, ...ofStore('redis'), connection, degraded: DEGRADED_REDIS, onConnected: onMain }),
      second:
        perSecond &&
        openRedis({
          ...common,
          ...ofStore('redis_per_second'),
          connection: perSecond,
          degraded: DEGRADED_REDIS_PER_SECOND,
          onConnected: forgetBuckets,
        }),
    };
  }

  private inParts(): Store {
    const { settings, choice, metrics } = this.input;
    const { main, second } = this;
    const onGivenBack: SplitStoreOptions['onGivenBack'] = (adjustments) => {
      this.denyCache.forget(adjustments);
    };
    return inParts({ settings, choice, metrics, main, second, onGivenBack });
  }

  private wrapOptions(): WrapRedisOptions {
    const { settings, metrics, log, lastKnownMax, accountsMax, local } = this.input;
    const { main, second, passedWithout } = this;
    return {
      denyCacheMax: settings.denyCacheMax,
      lastKnownMax,
      accountsMax,
      failureMode: settings.failureMode,
      local,
      instances: () => this.instances.count,
      isThere: ({ bucketKey, limit }) => (second !== undefined && isPerSecond(limit) ? second : main).isThere(bucketKey),
      ...(this.file && {
        onChange: () => this.file?.changed(),
        onCharging: () => this.file?.settle() ?? Promise.resolve(),
      }),
      leases: { leases: settings.leases, onHits: countLeaseHits(metrics) },
      ...reportTo({ metrics, log, passedWithout }),
    };
  }

  /** Goes on with the local shares of the process before. */
  goOn(state: OutageState | undefined): void {
    const { file, store, instances, input } = this;
    if (state !== undefined) {
      store.restore(state.accounts);
      const { length: buckets } = state.accounts;
      const sentence = `FAILURE_MODE_FILE ${input.settings.failureModeFile ?? ''} was read: the local shares of ${buckets} bucket(s) go on`;
      input.log.info(event('failure_mode_file_read', { path: input.settings.failureModeFile, buckets }), sentence);
    }
    file?.follow({ instances: () => instances.count, kept: () => store.kept() });
  }

  async leave(): Promise<void> {
    this.ownLag.close();
    clearInterval(this.sweeping);
    await Promise.all([this.instances.leave({ waitMs: LEAVE_MS }), this.file?.close()]);
  }
}

/** Undefined: a restart forgets the local shares. */
function openOutageFile({ settings, log }: OpenRedisStoreInput): OutageFile | undefined {
  const { failureModeFile: path, cacheKeyPrefix: keyPrefix } = settings;
  if (path === undefined) return undefined;
  const onTrouble = (sentence: string): void => {
    log.warn(event('failure_mode_file_ignored', { path }), sentence);
  };
  return new OutageFile({ path, keyPrefix, onTrouble, nowMs: monotonicNowMs });
}

function makeReservations({ settings, onLapsed }: OpenRedisStoreInput, { main, second, store, denyCache }: RedisParts): Reservations {
  const redis = new RedisReservations({
    run: (call, options) => main.run(call, options),
    slotOf: ({ bucketKey, limit }) => {
      if (second !== undefined && isPerSecond(limit)) return undefined;
      return main.separatesSlots() ? slotOf(bucketKey) : 0;
    },
    keyPrefix: settings.cacheKeyPrefix,
    onGivenBack: (legs) => {
      denyCache.forget(legs);
    },
    onLapsed,
  });
  return new FallbackReservations({
    redis,
    store,
    nowUs: monotonicNowUs,
    recordsMax: FALLBACK_RESERVATIONS_MAX,
    bytesMax: FALLBACK_RESERVATIONS_BYTES_MAX,
    onLapsed,
  });
}

function makeExchange(settings: OpenRedisStoreInput['settings'], main: Pick<OpenedRedis, 'run'>, name: string): RedisExchange {
  return new RedisExchange(
    new PublishedTexts({ run: (call, options) => main.run(call, options), keyPrefix: settings.cacheKeyPrefix }),
    name,
  );
}

interface ReportInput extends Pick<OpenRedisStoreInput, 'metrics' | 'log'> {
  /** Counts decisions without Redis. */
  readonly passedWithout: { -readonly [Field in keyof Passed]: number };
}

/** Reports the events of the layers around Redis to metrics and log. */
function reportTo({
  metrics,
  log,
  passedWithout,
}: ReportInput): Pick<WrapRedisOptions, 'onDenied' | 'onFallback' | 'onChargedBack' | 'onLost' | 'onUndecided'> {
  const storeLog = new StoreLog({ log, nowMs: monotonicNowMs });
  return {
    onDenied: () => {
      metrics.denyCacheDenials.inc();
    },
    onFallback: ({ local, open }) => {
      passedWithout.decisions += 1;
      passedWithout.hits += local + open;
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
    onUndecided: (error) => {
      storeLog.undecided(error);
    },
  };
}

function countLeaseHits({
  leaseHits,
  leaseHitsCharged,
  leaseHitsUsed,
  leaseHitsGivenBack,
  leaseHitsLost,
}: Metrics): LeaseStoreOptions['onHits'] {
  const counters = { charged: leaseHitsCharged, used: leaseHitsUsed, givenBack: leaseHitsGivenBack, lost: leaseHitsLost };
  return (event, hits) => {
    counters[event].inc(hits);
    leaseHits.inc(event === 'charged' ? hits : -hits);
  };
}

interface BothRedis {
  readonly main: OpenedRedis;
  /** Undefined: there is only one Redis. */
  readonly second: OpenedRedis | undefined;
}

interface InstancesParts extends BothRedis {
  readonly onCount: () => void;
  /** The last count of the process before. */
  readonly instancesBefore: number;
}

/** Counts instances in the first Redis only, which all of them share. */
function makeInstances(
  { settings, workers, choice, log, metrics }: OpenRedisStoreInput,
  { main, second, onCount, instancesBefore }: InstancesParts,
): Instances {
  const heart = { key: instancesKey(settings.cacheKeyPrefix), ttlMs: HEARTBEAT_TTL_MS, instancesMax: INSTANCES_MAX };
  let isHeartbeatLogged = false;
  return new Instances({
    beat: (heartbeat) => {
      // Sent only to show that the second Redis answers in time.
      second?.beat({ ...heart, ...heartbeat }).catch(() => undefined);
      return main.beat({ ...heart, ...heartbeat });
    },
    // Each worker has its own share.
    assumed: Math.max(settings.failureModeInstances * workers, instancesBefore),
    onCount: (count) => {
      metrics.instances.set(count);
      onCount();
    },
    onError: (error) => {
      // Redis may still decide although it rejects heartbeats, so nothing else shows this. It is logged once.
      if (isHeartbeatLogged || !(error instanceof StoreError) || error.reason !== 'script') return;
      isHeartbeatLogged = true;
      log.warn(
        event('heartbeat_refused', { address: choice.connection.description, error: error.message }),
        `Redis at ${choice.connection.description} rejected the heartbeat, so instances are not counted: ${error.message}`,
      );
    },
    nowMs: monotonicNowMs,
  });
}

interface InPartsInput extends BothRedis, Pick<OpenRedisStoreInput, 'settings' | 'choice' | 'metrics'> {
  readonly onGivenBack: SplitStoreOptions['onGivenBack'];
}

/** Wraps one or two Redis servers, so that a request with buckets in several places is still decided as a whole. */
export function inParts({ settings, choice, metrics, main, second, onGivenBack }: InPartsInput): Store {
  const both = second && new PerSecondStore(main.store, second.store);
  const parts = new OneByOneStore(
    new SplitStore(both ?? main.store, {
      partOf: ({ bucketKey, limit }) => {
        const isOfSecond = second !== undefined && isPerSecond(limit);
        // The unit is a slot, or a whole server.
        const slot = (isOfSecond ? second : main).separatesSlots() ? slotOf(bucketKey) : 0;
        return isOfSecond ? SLOTS + slot : slot;
      },
      timeoutMs: settings.redisOpTimeoutMs,
      onHitsLost: (hits) => {
        metrics.hitsLost.inc(hits);
      },
      onGivenBack,
    }),
  );
  if (second !== undefined || 'seeds' in choice.connection.place) return parts;
  // One server decides a request as a whole, unless its engine refuses a script with keys of several slots.
  const chosen = () => (main.separatesSlots() ? parts : main.store);
  return {
    take: (groups, options) => chosen().take(groups, options),
    adjust: (adjustments, options) => chosen().adjust(adjustments, options),
    close: () => main.store.close(),
  };
}
